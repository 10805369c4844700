"""Kept results: every form carries the sources and their level, and the walls hold (TAB-03, 05)."""

from __future__ import annotations

import io
from pathlib import Path

import openpyxl
import pypdfium2
import pytest
from table_flow import execute, organised, rows, scope_of, states, taken

from tgv_dagster.store.blobs import LocalBlobStore
from tgv_dagster.store.db import Database
from tgv_dagster.store.levels import Level
from tgv_dagster.store.scope import ScopeError
from tgv_dagster.tables import artefacts
from tgv_dagster.tables.artefacts import ArtefactNotFound
from tgv_dagster.tables.querying import QueryRefused, ask, keep
from tgv_dagster.tables.rendering import MOST_DRAWN, MOST_PDF_ROWS, Form, rendered, require_drawable

TABLE = "Ort;Menge;Datum\nŁódź <b>;1,50;31.01.2026\nLyon $x$;2,25;30.01.2026\n"
EVERYTHING = 'SELECT "Ort", "Menge" FROM d{0}'


@pytest.fixture
def office(database: Database) -> Database:
    return organised(database)


def working(office: Database, text: str = TABLE) -> int:
    facts = taken(office, text.encode(), name="mengen.csv")
    if states(office, facts)[0][1] == "asked":
        execute(office, facts, "working")
    return facts.document_id


def kept(office: Database, document_id: int, *, kind: str = "table") -> int:
    anna = scope_of(office, "anna")
    result = ask(office, anna, [document_id], EVERYTHING.format(document_id))
    return keep(office, anna, result, title="Mengen je Ort", kind=kind)


def test_every_form_names_its_sources_and_level(office: Database) -> None:
    number = working(office)
    found = ask(office, scope_of(office, "vera"), [number], EVERYTHING.format(number))

    book = openpyxl.load_workbook(io.BytesIO(rendered(found, Form.XLSX, title="Mengen")))
    paper = pypdfium2.PdfDocument(rendered(found, Form.PDF, title="Mengen"))
    drawing = rendered(found, Form.SVG, title="Mengen").decode()

    assert [tuple(c.value for c in row) for row in book["sources"]][1:] == [
        ("level", "intern"), ("complete", "yes"), ("document", f"/d/{number}"),
    ]  # fmt: skip
    text = paper[0].get_textpage().get_text_range().replace("\r\n", "")
    for shown in (text, drawing.replace("&lt;", "<").replace("&gt;", ">")):
        for wanted in ("Łódź <b>", "Lyon $x$", "2.25", f"/d/{number}", "intern"):
            assert wanted in shown
    assert rendered(found, Form.PNG, title="Mengen").startswith(b"\x89PNG")
    assert rendered(found, Form.PDF, title="x") == rendered(found, Form.PDF, title="x")


def test_a_cell_that_looks_like_a_formula_stays_a_text(office: Database) -> None:
    number = working(office, "Ort;Menge\n=1+1;1,50\nLyon;2,25\n")
    found = ask(office, scope_of(office, "vera"), [number], EVERYTHING.format(number))

    book = openpyxl.load_workbook(io.BytesIO(rendered(found, Form.XLSX, title="x")))

    assert (book["result"]["A2"].value, book["result"]["A2"].data_type) == ("=1+1", "s")


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ('SELECT "Ort" FROM {0}', "column of numbers"),
        ('SELECT "Ort", "Menge" FROM {0} WHERE "Ort" = \'x\'', "column of numbers"),
        ('SELECT a."Ort", b."Menge" FROM {0} a CROSS JOIN {0} b', "too many to draw"),
    ],
)
def test_what_cannot_be_drawn_says_why(office: Database, sql: str, says: str) -> None:
    lines = "".join(f"O{n};{n},50\n" for n in range(20))
    number = working(office, "Ort;Menge\n" + lines)
    found = ask(office, scope_of(office, "vera"), [number], sql.format(f"d{number}"))

    with pytest.raises(QueryRefused, match=says):
        require_drawable(found)
    assert MOST_DRAWN < 20 * 20


def test_what_is_too_long_for_paper_says_why(office: Database) -> None:
    lines = "".join(f"O{n};{n},50\n" for n in range(MOST_PDF_ROWS + 1))
    number = working(office, "Ort;Menge\n" + lines)
    found = ask(office, scope_of(office, "vera"), [number], EVERYTHING.format(number))

    with pytest.raises(QueryRefused, match="too many for paper"):
        rendered(found, Form.PDF, title="x")


def test_an_artefact_closes_with_its_source(office: Database) -> None:
    source = working(office)
    number = kept(office, source)
    vera = scope_of(office, "vera")

    assert [a.id for a in artefacts.artefacts(office, vera, document_id=source)] == [number]
    assert artefacts.opened(office, vera, number)[1].frame.height == 2
    with office.worker() as connection:
        connection.execute(
            "UPDATE documents SET confidentiality_level = 'vertraulich' WHERE id = %s", (source,)
        )

    assert artefacts.artefacts(office, vera, document_id=source) == ()
    with pytest.raises(ArtefactNotFound):
        artefacts.opened(office, vera, number)
    assert artefacts.opened(office, scope_of(office, "anna"), number)[1].level is Level.CONFIDENTIAL


def test_an_artefact_of_another_tenant_is_none(office: Database) -> None:
    number = kept(office, working(office))

    with pytest.raises(ArtefactNotFound):
        artefacts.opened(office, scope_of(office, "sven", "sued"), number)


def test_into_knowledge_is_an_arrival_as_closed_as_its_sources(
    office: Database, tmp_path: Path
) -> None:
    """RAW first: the gate `output`, the level of the sources as a floor, once."""
    blobs = LocalBlobStore(tmp_path / "blobs")
    source = working(office)
    number = kept(office, source)
    with office.worker() as connection:
        connection.execute(
            "UPDATE documents SET confidentiality_level = 'vertraulich' WHERE id = %s", (source,)
        )
    anna = scope_of(office, "anna")

    first = artefacts.into_knowledge(office, blobs, anna, number)
    again = artefacts.into_knowledge(office, blobs, anna, number)

    assert (first.new_arrival, again.new_arrival) == (True, False)
    assert rows(
        office,
        "SELECT gate, file_name, entity_hint, origin ->> 'level_floor', a.raw_sha256 IS NOT NULL"
        " FROM arrivals JOIN raw_items r ON r.id = raw_item_id"
        " LEFT JOIN artefacts a ON a.raw_sha256 = r.sha256 WHERE arrivals.id = %s",
        first.arrival_id,
    ) == [("output", "Mengen je Ort.pdf", "nord-gmbh", "vertraulich", True)]
    with pytest.raises(ScopeError):
        artefacts.into_knowledge(office, blobs, scope_of(office, "vera"), number)
