"""Old archives: shown first, complete or refused, taken once, old numbers kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tgv_dagster.archives import ArchiveRefused, Balance, bring_in, read_archive, settled
from tgv_dagster.flow import run_until_idle
from tgv_dagster.installation import Installation
from tgv_dagster.store.scope import Scope, ScopeError
from tgv_dagster.web.legacy import resolve_legacy

HEAD = "Alte Nummer;Datei;Datum;Firma;Link\n"
LINES = (
    "17;a/rechnung.txt;02.01.2019;nord-gmbh;https://alt.example/17\n"
    "18;brief.txt;13.05.2020;Nordlicht Tischlerei GmbH;https://alt.example/18\n"
)


def folder(place: Path, listing: str = HEAD + LINES) -> Path:
    place = place / "archiv"
    (place / "a").mkdir(parents=True)
    (place / "a" / "rechnung.txt").write_text("Rechnung 2019-4 der Stadtwerke")
    (place / "brief.txt").write_text("Guten Tag, anbei der Brief von damals.")
    (place / "liste.csv").write_text(listing)
    return place


def scope_of(installation: Installation, login: str = "anna") -> Scope:
    return Scope.for_principal(installation.database, login, mandant="nord", source="test")


def brought(installation: Installation, place: Path, scope: Scope | None = None) -> Balance:
    scope = scope or scope_of(installation)
    archive = read_archive(place, place / "liste.csv")
    with installation.database.worker() as connection:
        archive = settled(connection, archive, scope)
    return bring_in(installation, scope, archive)


def test_a_folder_with_its_listing_comes_in_once_with_its_old_numbers(
    installation: Installation, tmp_path: Path
) -> None:
    place = folder(tmp_path)

    first, second = brought(installation, place), brought(installation, place)
    run_until_idle(installation)

    assert (first.listed, first.standing, first.taken_now, first.complete) == (2, 2, 2, True)
    assert (second.standing, second.taken_now, second.complete) == (2, 0, True)
    with installation.database.worker() as connection:
        found = connection.execute(
            "SELECT legacy_number, legacy_url, entity, date_received::date::text FROM documents"
            " ORDER BY legacy_number"
        ).fetchall()
    assert found == [
        ("17", "https://alt.example/17", "nord-gmbh", "2019-01-02"),
        ("18", "https://alt.example/18", "nord-gmbh", "2020-05-13"),
    ]
    (link,) = resolve_legacy(installation.database, scope_of(installation), "#17")
    assert link.document_id is not None


def test_a_run_that_was_stopped_is_completed_by_the_next(
    installation: Installation, tmp_path: Path
) -> None:
    place = folder(tmp_path)
    scope = scope_of(installation)
    with installation.database.worker() as connection:
        archive = settled(connection, read_archive(place, place / "liste.csv"), scope)
    bring_in(installation, scope, replace(archive, papers=archive.papers[:1]))

    balance = bring_in(installation, scope, archive)

    assert (balance.standing, balance.taken_now, balance.complete) == (2, 1, True)


def test_what_is_listed_and_not_there_fails_the_balance(
    installation: Installation, tmp_path: Path
) -> None:
    place = folder(tmp_path, HEAD + LINES + "19;weg.txt;13.06.2020;nord-gmbh;\n")
    (place / "neu.txt").write_text("nicht in der Liste")

    balance = brought(installation, place)

    assert (balance.listed, balance.standing, balance.complete) == (3, 2, False)
    assert balance.missing == ("weg.txt",)
    assert read_archive(place, place / "liste.csv").unlisted == ("neu.txt",)


@pytest.mark.parametrize(
    ("listing", "reason"),
    [
        (HEAD + LINES + "17;brief.txt;13.06.2020;nord-gmbh;\n", "not unique"),
        (HEAD + LINES.replace("02.01.2019", "gestern"), "Not every cell"),
        (HEAD + LINES.replace("02.01.2019", "02.01.19").replace("2020", "20"), "--dates"),
        ("Datei;Datum;Firma\na.txt;02.01.2019;nord-gmbh\nb.txt;13.01.2019;nord-gmbh\n", "number"),
        (HEAD + LINES + "20;x\n", "leaves open"),
        ("nur\neine\nSpalte\n", "no listing"),
    ],
)
def test_a_listing_that_leaves_something_open_is_refused(
    listing: str, reason: str, tmp_path: Path
) -> None:
    place = folder(tmp_path, listing)

    with pytest.raises(ArchiveRefused, match=reason):
        read_archive(place, place / "liste.csv")


def test_a_file_outside_of_the_folder_is_never_taken(tmp_path: Path) -> None:
    (tmp_path / "fremd.txt").write_text("x")
    place = folder(tmp_path, HEAD + LINES + "19;../fremd.txt;13.06.2020;nord-gmbh;\n")

    archive = read_archive(place, place / "liste.csv")

    assert archive.missing == ("../fremd.txt",)


def test_an_entity_of_another_tenant_is_none(installation: Installation, tmp_path: Path) -> None:
    place = folder(tmp_path, HEAD + LINES.replace("nord-gmbh", "haus-sued"))

    with pytest.raises(ArchiveRefused, match="No entity of this tenant: haus-sued"):
        brought(installation, place)


def test_only_who_administers_the_tenant_brings_an_archive_in(
    installation: Installation, tmp_path: Path
) -> None:
    with pytest.raises(ScopeError):
        brought(installation, folder(tmp_path), scope_of(installation, "vera"))


def test_an_export_of_paperless_is_an_archive(installation: Installation, tmp_path: Path) -> None:
    place = folder(tmp_path)
    names = ("brief.txt", "a/rechnung.txt", "weg.pdf")
    manifest = [
        {"model": "documents.tag", "pk": 1, "fields": {"name": "Haus"}},
        *(
            {
                "model": "documents.document",
                "pk": number,
                "fields": {"title": name, "created": "2019-01-02T00:00:00+01:00"},
                "__exported_file_name__": name,
            }
            for number, name in enumerate(names, start=41)
        ),
    ]
    (place / "manifest.json").write_text(json.dumps(manifest))
    scope = scope_of(installation)

    with installation.database.worker() as connection:
        archive = settled(connection, read_archive(place), scope, "nord-gmbh")
    balance = bring_in(installation, scope, archive)

    assert [(paper.number, f"{paper.day}") for paper in archive.papers] == [
        ("41", "2019-01-02"),
        ("42", "2019-01-02"),
    ]
    assert (balance.standing, balance.missing) == (2, ("weg.pdf",))
