"""Working material answers questions in the scope of the reader and nothing beyond."""

from __future__ import annotations

import io

import openpyxl
import pytest
from table_flow import execute, organised, rows, scope_of, states, taken

from tgv_dagster.store.db import Database
from tgv_dagster.store.levels import Level
from tgv_dagster.store.scope import ScopeError
from tgv_dagster.tables.querying import QueryRefused, ask, keep
from tgv_dagster.tables.rendering import Form, rendered
from tgv_dagster.tables.working import WorkingNotFound

TABLE = "Ort;Menge;Datum\nHamburg;1,50;31.01.2026\nLyon;2,25;30.01.2026\nHamburg;0,50;29.01.2026\n"


@pytest.fixture
def office(database: Database) -> Database:
    return organised(database)


def working(office: Database, text: str = TABLE) -> int:
    facts = taken(office, text.encode(), name="mengen.csv")
    if states(office, facts)[0][1] == "asked":
        execute(office, facts, "working")
    return facts.document_id


def test_sums_are_exact(office: Database) -> None:
    document = working(office)
    sql = f'SELECT "Ort", sum("Menge") AS m FROM d{document} GROUP BY "Ort" ORDER BY "Ort"'

    found = ask(office, scope_of(office, "vera"), [document], sql)

    assert [(place, str(sum_)) for place, sum_ in found.frame.rows()] == [
        ("Hamburg", "2.00"),
        ("Lyon", "2.25"),
    ]
    assert (found.sources, found.level) == ((document,), Level.INTERNAL)


def test_a_result_has_the_highest_level_of_its_sources(office: Database) -> None:
    """UPL-19: working material is read inside the walls."""
    first, second = working(office), working(office, TABLE.replace("Lyon", "Brest"))
    with office.worker() as connection:
        connection.execute(
            "UPDATE documents SET confidentiality_level = 'vertraulich' WHERE id = %s", (second,)
        )
    anna = scope_of(office, "anna")
    sql = f"SELECT count(*) AS n FROM d{first} JOIN d{second} USING (Ort)"
    found = ask(office, anna, [first, second], sql)

    number = keep(office, anna, found, title="Vergleich")

    assert found.level is Level.CONFIDENTIAL
    assert rows(
        office, "SELECT document_id FROM artefact_sources WHERE artefact_id = %s", number
    ) == [(first,), (second,)]
    for login, seen in (("anna", 1), ("vera", 0)):
        with office.reading(scope_of(office, login)) as connection:
            assert connection.execute("SELECT count(*) FROM artefacts").fetchone() == (seen,)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM \"READ_CSV\" /* */ ('/etc/passwd')",
        "DROP TABLE d1",
        "SELECT * FROM d999999",
        "nonsense",
    ],
)
def test_a_query_reads_no_file_and_changes_nothing(office: Database, sql: str) -> None:
    document = working(office)

    with pytest.raises(QueryRefused):
        ask(office, scope_of(office, "anna"), [document], sql)


def test_who_may_not_see_the_document_may_not_ask_it(office: Database) -> None:
    document = working(office)

    with pytest.raises(WorkingNotFound):
        ask(office, scope_of(office, "sven", "sued"), [document], f"SELECT 1 FROM d{document}")


def test_a_viewer_asks_and_stores_nothing(office: Database) -> None:
    document = working(office)
    vera = scope_of(office, "vera")
    found = ask(office, vera, [document], f"SELECT * FROM d{document}")

    with pytest.raises(ScopeError):
        keep(office, vera, found, title="x")


def test_the_workbook_names_its_sources(office: Database) -> None:
    document = working(office)
    found = ask(office, scope_of(office, "anna"), [document], f"SELECT * FROM d{document}")
    book = openpyxl.load_workbook(io.BytesIO(rendered(found, Form.XLSX, title="Mengen")))

    assert [cell.value for cell in book["result"][1]] == ["Ort", "Menge", "Datum"]
    assert book["sources"]["B4"].value == f"/d/{document}"
