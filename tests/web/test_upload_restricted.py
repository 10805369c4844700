"""A drop that only the innermost circle may see, now or for a while (UPL-17)."""

from __future__ import annotations

import io
import zipfile

import pytest
from web_builders import Service

from tgv_dagster import flow

WORDS = "Nordlicht GmbH\nRechnung Nr. {}\nRechnungsdatum 02.03.2026\nGesamtbetrag 119,00 EUR\n"


def taken(service: Service, name: str, content: bytes, **fields: str) -> list[int]:
    """Hand a file over as emil, walk the flow; the documents that came out of it."""
    sent = service.upload("emil", (name, content), entity="nord-gmbh", **fields)
    assert sent.status_code == 202, sent.text
    arrival = sent.json()["files"][0]["arrival_id"]
    flow.run_until_idle(service.installation)
    return [
        number
        for (number,) in service.rows(
            "SELECT document_id FROM arrivals WHERE (id = %s OR parent_id = %s)"
            " AND document_id IS NOT NULL",
            arrival,
            arrival,
        )
    ]


def readers(service: Service, number: int) -> set[str]:
    """Who of the tenant sees the document."""
    people = ("anna", "emil", "vera")
    return {p for p in people if service.get(f"/d/{number}", p).status_code == 200}


def test_a_level_asked_for_is_a_floor_and_its_uploader_keeps_sight(service: Service) -> None:
    (number,) = taken(service, "a.txt", WORDS.format(1).encode(), level="streng_vertraulich")
    (usual,) = taken(service, "b.txt", WORDS.format(2).encode())
    assert readers(service, number) == {"anna", "emil"}
    assert "vera" in readers(service, usual)
    assert service.rows(
        "SELECT set_by, value FROM document_values WHERE document_id = %s AND origin = 'human'",
        number,
    ) == [("emil", "streng_vertraulich")]


def test_a_floor_never_loosens(service: Service) -> None:
    payslip = "Nordlicht GmbH\nLohnabrechnung März 2026\nPersonalnummer 17\nSteuerklasse 1\n"
    (number,) = taken(service, "c.txt", payslip.encode(), level="oeffentlich")
    ((level,),) = service.rows("SELECT confidentiality_level FROM documents WHERE id = %s", number)
    assert level != "oeffentlich"
    assert service.rows(
        "SELECT count(*) FROM document_values WHERE document_id = %s AND origin = 'human'", number
    ) == [(0,)]


def test_before_its_day_only_the_uploader_sees_it(service: Service) -> None:
    (number,) = taken(service, "d.txt", WORDS.format(3).encode(), visible_from="2999-01-01")
    (past,) = taken(service, "e.txt", WORDS.format(4).encode(), visible_from="2020-01-01")
    assert readers(service, number) == {"emil"}
    assert readers(service, past) == {"anna", "emil", "vera"}


def test_what_comes_out_of_the_file_is_restricted_too(service: Service) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("inside.txt", WORDS.format(5))
    mail = (
        b"From: a@example.org\r\nTo: b@example.org\r\nSubject: Angebot\r\n"
        b"Message-ID: <restricted@example.org>\r\nDate: Mon, 02 Mar 2026 10:00:00 +0100\r\n"
        b"Content-Type: text/plain; charset=utf-8\r\n\r\nGuten Tag, anbei Rechnung Nr. 6.\r\n"
    )
    for name, content in (("f.zip", packed.getvalue()), ("g.eml", mail)):
        numbers = taken(service, name, content, level="streng_vertraulich")
        assert numbers, name
        for number in numbers:
            assert "vera" not in readers(service, number), name


def test_named_persons_stand_on_a_row_that_is_made_anew(service: Service) -> None:
    (number,) = taken(service, "h.txt", WORDS.format(7).encode(), level="vertraulich")
    ((before,),) = service.rows("SELECT persons FROM documents WHERE id = %s", number)
    service.rows("UPDATE documents SET persons = '{}' WHERE id = %s", number)
    assert readers(service, number) == {"anna"}
    ((arrival,),) = service.rows("SELECT id FROM arrivals WHERE document_id = %s", number)
    service.rows("UPDATE arrivals SET outcome = 'pending' WHERE id = %s", arrival)
    service.rows(
        "UPDATE flow_ledger SET state = 'pending', attempt = 0 WHERE stage = 'triage'"
        " AND subject_id = %s",
        arrival,
    )
    service.rows("DELETE FROM documents WHERE id = %s", number)
    flow.run_until_idle(service.installation)
    assert service.rows("SELECT persons FROM documents WHERE id = %s", number) == [(before,)]
    assert before


@pytest.mark.parametrize("fields", [{"level": "geheim"}, {"visible_from": "morgen"}])
def test_what_is_no_level_or_day_is_refused(service: Service, fields: dict[str, str]) -> None:
    sent = service.upload("emil", ("i.txt", b"i"), entity="nord-gmbh", **fields)
    assert sent.status_code == 422
