"""A drop that only the innermost circle may see, now or for a while (UPL-17)."""

from __future__ import annotations

import base64
import io
import zipfile
from datetime import UTC, datetime

import pytest
from web_builders import Service

from tgv_dagster import flow
from tgv_dagster.arrive import rights
from tgv_dagster.know.lifecycle import set_access
from tgv_dagster.store.scope import Scope, ScopeError

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
    """Who of the tenant sees the document; every page, list and search agrees."""
    people = ("anna", "emil", "vera", "eva")
    seen = {p for p in people if service.get(f"/d/{number}", p).status_code == 200}
    for person in people:
        listed = service.get("/api/documents?limit=500", person).json()
        assert (number in {row["id"] for row in listed["documents"]}) == (person in seen), person
        assert listed["total"] == len(listed["documents"])
        assert (service.get(f"/api/documents/{number}/bytes", person).status_code == 200) == (
            person in seen
        )
    return seen


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


def test_before_its_day_only_the_uploader_and_the_manager_see_it(service: Service) -> None:
    (number,) = taken(service, "d.txt", WORDS.format(3).encode(), visible_from="2999-01-01")
    (past,) = taken(service, "e.txt", WORDS.format(4).encode(), visible_from="2020-01-01")
    assert readers(service, number) == {"anna", "emil"}, "who manages waits for no day"
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
    made_anew(service, number)
    assert service.rows("SELECT persons FROM documents WHERE id = %s", number) == [(before,)]
    assert before


def made_anew(service: Service, number: int) -> None:
    """The row of the document is lost and comes back from its arrival."""
    ((arrival,),) = service.rows("SELECT id FROM arrivals WHERE document_id = %s", number)
    service.rows("UPDATE arrivals SET outcome = 'pending' WHERE id = %s", arrival)
    service.rows(
        "UPDATE flow_ledger SET state = 'pending', attempt = 0 WHERE stage = 'triage'"
        " AND subject_id = %s",
        arrival,
    )
    service.rows("DELETE FROM documents WHERE id = %s", number)
    flow.run_until_idle(service.installation)


CLOSED = [
    ({"persons": "vera"}, {"anna", "emil", "vera"}),
    ({"persons": "emil"}, {"anna", "emil"}),
    ({"persons": "Eva "}, {"anna", "emil"}),  # she may not see this entity at all
    ({"persons": "vera", "visible_from": "2999-01-01"}, {"anna", "emil"}),
    ({"persons": "vera", "visible_from": "2020-01-01"}, {"anna", "emil", "vera"}),
]


@pytest.mark.parametrize(("fields", "expected"), CLOSED)
def test_a_circle_is_seen_by_its_persons_its_uploader_and_the_manager(
    service: Service, fields: dict[str, str], expected: set[str]
) -> None:
    word = f"kreis{'-'.join(fields.values())}".replace(" ", "")
    (number,) = taken(service, f"{word}.txt", f"{WORDS.format(word)}\n".encode(), **fields)
    assert readers(service, number) == expected
    assert service.rows(
        "SELECT value, set_by FROM document_values WHERE document_id = %s AND origin = 'human'",
        number,
    ) == [("streng_vertraulich", "emil")]
    service.rows("UPDATE user_mandant_roles SET ceiling = 'streng_vertraulich'")
    assert readers(service, number) == expected, "a ceiling opens no circle"
    service.rows("UPDATE user_mandant_roles SET ceiling = NULL")
    made_anew(service, number)
    assert readers(service, number) == expected


def test_a_circle_is_told_on_the_page_and_to_no_search_outside(service: Service) -> None:
    (number,) = taken(service, "kreisel.txt", b"Der Zinkenkreisel wird geheim.", persons="vera")
    page = service.get(f"/d/{number}", "vera", headers={"Accept-Language": "en"}).text
    assert "only for Emil, Vera and" in page
    for person, found in (("vera", True), ("anna", True), ("eva", False)):
        answer = service.post("/api/search", person, json={"q": "Zinkenkreisel"}).json()
        assert (number in {card["document_id"] for card in answer["cards"]}) == found, person
        export = service.get("/export/documents.csv?provider=", person)
        assert (f'"{number}"' in export.text) == found, person


def test_a_change_by_a_person_outlives_what_the_uploader_said(service: Service) -> None:
    (number,) = taken(
        service, "spaeter.txt", WORDS.format("spaeter").encode(), persons="vera",
        visible_from="2020-01-01",
    )  # fmt: skip
    scope = Scope.for_principal(service.installation.database, "anna", source="test")
    set_access(
        service.installation.database, service.installation.words, scope, number,
        persons=["emil"], circle=["eva"], visible_from=datetime(2999, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    assert readers(service, number) == {"anna", "emil"}
    made_anew(service, number)
    assert readers(service, number) == {"anna", "emil"}
    ((day,),) = service.rows("SELECT visible_from FROM documents WHERE id = %s", number)
    assert day == datetime(2999, 1, 1, tzinfo=UTC)
    emil = Scope.for_principal(service.installation.database, "emil", source="test")
    for opening in ({"persons": ["emil"]}, {"persons": ["emil"], "circle": ["eva", "vera"]}):
        with pytest.raises(ScopeError):
            set_access(
                service.installation.database, service.installation.words, emil, number,
                visible_from=datetime(2999, 1, 1, tzinfo=UTC), **opening,
            )  # fmt: skip


@pytest.mark.parametrize("fields", [{"persons": "vera"}, {"level": "streng_vertraulich"}])
def test_a_floor_outlives_the_answer_that_names_the_entity(
    service: Service, fields: dict[str, str]
) -> None:
    """Without an entity a document is closed by a rule, which falls when a person names it."""
    text = f"Sehr geehrte Damen und Herren, der Fräser {'-'.join(fields)} steht bereit."
    sent = service.upload("emil", ("ohne.txt", text.encode()), **fields).json()
    flow.run_until_idle(service.installation)
    ((number,),) = service.rows(
        "SELECT document_id FROM arrivals WHERE id = %s", sent["files"][0]["arrival_id"]
    )
    ((case,),) = service.rows(
        "SELECT id FROM cases WHERE document_id = %s AND state = 'open'", number
    )
    answered = service.post(
        f"/api/cases/{case}/answer", "anna", json={"values": {"entity": "nord-gmbh"}}
    )
    assert answered.status_code == 200, answered.text
    flow.run_until_idle(service.installation)
    ((entity, level),) = service.rows(
        "SELECT entity, confidentiality_level FROM documents WHERE id = %s", number
    )
    assert (entity, level) == ("nord-gmbh", "streng_vertraulich")


@pytest.mark.parametrize("persons", ["sven", "otto", "chef", "nobody", "tgv", "anna\u202e"])
def test_only_persons_of_the_tenant_can_be_named_and_the_refusal_is_the_same(
    service: Service, persons: str
) -> None:
    """Who belongs to another tenant, to none, is a service or does not exist: told alike."""
    before = service.rows("SELECT count(*) FROM arrivals")
    sent = service.upload("emil", ("j.txt", b"j"), entity="nord-gmbh", persons=persons)
    assert sent.status_code == 422
    assert sent.json()["error"]["code"] == "persons_unknown"
    assert persons not in sent.text
    assert service.rows("SELECT count(*) FROM arrivals") == before


PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


def test_answers_about_rights_are_human_values_and_come_back_as_they_were(
    service: Service,
) -> None:
    answers = {
        "rights_verbatim_ok": "false",
        "rights_copyright_holder": " Holzkontor\u00a0& Söhne ",
    }
    (number,) = taken(service, "k.txt", b"Der Zitatenhobel bleibt hier.", **answers)

    def stated() -> list[tuple[object, ...]]:
        return service.rows(
            "SELECT field, value, set_by, set_at FROM document_values WHERE document_id = %s"
            " AND origin = 'human' AND active ORDER BY field",
            number,
        )

    before = stated()
    assert [row[:3] for row in before] == [
        ("rights_copyright_holder", "Holzkontor & Söhne", "emil"),
        ("rights_verbatim_ok", "false", "emil"),
    ]
    ((sent_at,),) = service.rows("SELECT received_at FROM arrivals WHERE document_id = %s", number)
    assert {row[3] for row in before} == {sent_at}
    made_anew(service, number)
    assert stated() == before
    service.rows("DELETE FROM document_values WHERE document_id = %s", number)
    made_anew(service, number)
    assert stated() == before, "a lost database loses neither answer nor author nor moment"
    page = service.get(f"/d/{number}", "emil", headers={"Accept-Language": "de"}).text
    assert "Darf wörtlich zitiert werden" in page
    assert "Holzkontor &amp; Söhne" in page
    answer = service.post("/api/search", "emil", json={"q": "Zitatenhobel"}).json()
    (card,) = (c for c in answer["cards"] if c["document_id"] == number)
    assert card["verbatim_ok"] is False
    found = service.get("/search?q=Zitatenhobel", "emil", headers={"Accept-Language": "de"}).text
    assert "nicht wörtlich zitieren" in found


def test_an_answer_stays_with_the_kind_of_file_it_is_asked_of(service: Service) -> None:
    answers = {"rights_verbatim_ok": "true", "rights_copyright_holder": "Anna"}
    sent = service.upload(
        "emil", ("l.txt", b"l"), ("m.png", PNG), entity="nord-gmbh", **answers
    ).json()
    kept = dict(service.rows("SELECT id, origin -> 'rights' FROM arrivals WHERE origin ? 'rights'"))
    text, picture = (kept[file["arrival_id"]] for file in sent["files"])
    assert text == answers
    assert picture == {"rights_copyright_holder": "Anna"}


def test_a_question_that_is_not_asked_here_takes_no_answer_until_it_is(service: Service) -> None:
    answer = {"rights_model_release": "true"}
    refused = service.upload("emil", ("n.png", PNG + b"n"), entity="nord-gmbh", **answer)
    assert refused.status_code == 422
    assert refused.json()["error"]["code"] == "unusable_answer"
    with service.installation.database.worker() as connection:
        rights.switch(connection, rights.Right.MODEL_RELEASE, on=True, by="chef")
    try:
        page = service.get("/drop", "emil", headers={"Accept-Language": "de"}).text
        assert "Haben die abgebildeten Personen eingewilligt?" in page
        assert "Haben die Personen eingewilligt, die zu hören sind?" in page
        taken_now = service.upload("emil", ("n.png", PNG + b"n"), entity="nord-gmbh", **answer)
        assert taken_now.status_code == 202
    finally:
        with service.installation.database.worker() as connection:
            rights.switch(connection, rights.Right.MODEL_RELEASE, on=False, by="chef")
    assert "abgebildeten Personen eingewilligt" not in service.get("/drop", "emil").text


def test_a_second_drop_of_the_same_bytes_changes_no_wall_and_says_so(service: Service) -> None:
    content = WORDS.format("zweimal").encode()
    (number,) = taken(service, "o.txt", content)
    again = service.upload("emil", ("o.txt", content), entity="nord-gmbh", persons="emil").json()
    (file,) = again["files"]
    assert file["status"] == "already_here"
    assert "stay as they are" in file["reason"]
    flow.run_until_idle(service.installation)
    assert "vera" in readers(service, number)


@pytest.mark.parametrize(
    "fields", [{"rights_verbatim_ok": "maybe"}, {"level": "geheim"}, {"visible_from": "morgen"}]
)
def test_what_is_no_level_or_day_is_refused(service: Service, fields: dict[str, str]) -> None:
    sent = service.upload("emil", ("i.txt", b"i"), entity="nord-gmbh", **fields)
    assert sent.status_code == 422
