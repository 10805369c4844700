"""The same bytes in two tenants are two documents, and neither learns of the other."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from flow_walks import Batch, archive, letter, mail, put, rows

from tgv_dagster import flow
from tgv_dagster.effect.status import flow_status
from tgv_dagster.installation import Installation
from tgv_dagster.know.search import SearchParts, search
from tgv_dagster.store.register import TABLES
from tgv_dagster.store.scope import Scope

NORD, SUED = "nord/nord-gmbh", "sued/haus-sued"
KINDS: dict[str, bytes] = {
    "brief.txt": letter("4711", to="Familie Nordlicht"),
    "nachricht.eml": mail("4712"),
    "anlagen.eml": mail("4713", ("eins.txt", letter("4714")), ("zwei.txt", letter("4715"))),
    "paket.zip": archive(drei__txt=letter("4716"), vier__txt=letter("4717")),
}


def arrive(installation: Installation, files: Batch) -> None:
    put(installation.settings.inbox_path, files)
    flow.run_until_idle(installation)


def seen_by(installation: Installation, login: str) -> dict[str, list[str]]:
    """Every row of every table that this reader sees, as text."""
    scope = Scope.for_principal(installation.database, login, source="test")
    found = {}
    with installation.database.reading(scope) as connection:
        for table in TABLES:
            if table.wall is not None:
                statement = f"SELECT to_jsonb(t)::text FROM {table.name} t"
                rows = connection.execute(statement.encode()).fetchall()
                found[table.name] = sorted(row[0] for row in rows)
    return found


def told_to(installation: Installation, login: str) -> list[Any]:
    """What status and search tell this reader."""
    scope = Scope.for_principal(installation.database, login, source="test")
    status = flow_status(installation.database, scope)
    parts = SearchParts.of(installation.database, installation.words, installation.embedder)
    answers = [search(parts, scope, f"Rechnung RE-{n}") for n in range(4711, 4718)]
    return [
        status.arrivals, status.documents, status.states, status.open_cases, status.chunks,
        *(answer.line for answer in answers),
        *(answer.cards for answer in answers),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_tenant_sees_nothing_change_when_the_second_gets_the_same_bytes(
    installation: Installation, kind: str
) -> None:
    arrive(installation, {f"{NORD}/{kind}": KINDS[kind]})
    rows_before, told_before = seen_by(installation, "anna"), told_to(installation, "anna")
    assert rows_before["documents"]
    arrive(installation, {f"{SUED}/{kind}": KINDS[kind]})
    assert seen_by(installation, "anna") == rows_before
    assert told_to(installation, "anna") == told_before


_OF_THE_ARRIVAL = re.compile(
    r"(^|_)(id|ids|uid|sha|sha256|key|hash|at|received|until|span_start|fingerprint|seconds|object)$"
)


def without_identity(row: str) -> str:
    """A row without numbers, hashes and times: what is left is what the flow made of a file."""
    return json.dumps(_without_identity(json.loads(row)), sort_keys=True)


def _without_identity(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {k: _without_identity(v) for k, v in value.items() if not _OF_THE_ARRIVAL.search(k)}


@pytest.mark.parametrize("kind", KINDS)
def test_the_second_tenant_gets_what_he_would_get_without_the_first(
    installation: Installation, kind: str
) -> None:
    """The same file arrives in `sued` alone, is forgotten, and arrives again behind `nord`."""
    name = f"{SUED}/{kind}"
    arrive(installation, {name: KINDS[kind]})
    alone = seen_by(installation, "sven")
    forget(installation)
    arrive(installation, {f"{NORD}/{kind}": KINDS[kind]})
    arrive(installation, {name: KINDS[kind]})
    behind = seen_by(installation, "sven")
    assert alone["documents"]
    for table in alone:
        expected = sorted(map(without_identity, alone[table]))
        assert sorted(map(without_identity, behind[table])) == expected, table


def forget(installation: Installation) -> None:
    """Back to an installation to which nothing has arrived yet."""
    with installation.database.owner() as connection:
        connection.execute("TRUNCATE raw_items, arrivals, document_numbers, flow_ledger, cases,"
                           " threads, mail_parts, extractions, agent_events CASCADE")  # fmt: skip


def documents(installation: Installation) -> list[tuple[Any, ...]]:
    return rows(
        installation,
        "SELECT m.slug, d.file_name, count(a.id), array_agg(a.outcome ORDER BY a.id)"
        " FROM documents d JOIN mandanten m ON m.id = d.mandant_id"
        " JOIN arrivals a ON a.document_id = d.id GROUP BY m.slug, d.id, d.file_name"
        " ORDER BY m.slug, d.file_name",
    )


def test_two_tenants_have_two_documents_and_one_tenant_has_one(
    installation: Installation,
) -> None:
    same = KINDS["brief.txt"]
    arrive(installation, {f"{NORD}/a.txt": same, f"{SUED}/a.txt": same})
    arrive(installation, {f"{NORD}/b.txt": same, f"{SUED}/c.txt": same})
    assert documents(installation) == [
        ("nord", "a.txt", 2, ["entered", "already_here"]),
        ("sued", "a.txt", 2, ["entered", "already_here"]),
    ]


def test_the_same_bytes_twice_in_one_look_are_one_document_with_two_arrivals(
    installation: Installation,
) -> None:
    same = KINDS["brief.txt"]
    arrive(installation, {f"{NORD}/a.txt": same, f"{NORD}/Kita/a.txt": same})
    ((_, _, arrivals, outcomes),) = documents(installation)
    assert arrivals == 2
    assert sorted(outcomes) == ["already_here", "entered"]


def test_neither_tenant_can_find_the_words_of_the_other(
    installation: Installation, tmp_path: Path
) -> None:
    arrive(
        installation,
        {f"{NORD}/a.txt": KINDS["brief.txt"], f"{SUED}/b.txt": b"Notiz der Familie, Kennung x17"},
    )
    ids = dict(rows(installation, "SELECT m.slug, d.id FROM documents d"
                                  " JOIN mandanten m ON m.id = d.mandant_id"))  # fmt: skip
    parts = SearchParts.of(installation.database, installation.words, installation.embedder)
    for login, own, words in (("anna", "nord", "x17"), ("sven", "sued", "RE-4711")):
        scope = Scope.for_principal(installation.database, login, source="test")
        cards = search(parts, scope, words).cards
        assert {card.document_id for card in cards} <= {ids[own]}
