"""What a sheet hides, rows of bare sums, and days that a bank does not know yet: told, not lost."""

from __future__ import annotations

import io
import zipfile
from datetime import date

import openpyxl
import pytest
from table_flow import card_of, document, execute, organised, rows, states, taken

from tgv_dagster.bank.frame import Status, faults
from tgv_dagster.store.db import Database
from tgv_dagster.tables.bank_rows import bank_file
from tgv_dagster.tables.model import QuestionKind, RawTable, SetAside
from tgv_dagster.tables.reading.files import read_tables
from tgv_dagster.tables.recognising import recognise_file

HEAD = ["Buchungstag", "Verwendungszweck", "Betrag"]
PAID = [[date(2026, 1, n), f"Zahlung {n}", -10.5 * n] for n in range(1, 8)]
CSV = "Buchungstag;Verwendungszweck;Betrag;Währung\n"


def workbook(
    *, hide: tuple[int, ...] = (), column: str = "", second: str = "", flat: int = 0
) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in [HEAD, *PAID]:
        sheet.append(row)
    for number in hide:
        sheet.row_dimensions[number].hidden = True
    if column:
        sheet.column_dimensions[column].hidden = True
    if second:
        more = book.create_sheet("Zweites")
        more.sheet_state = second
        for row in [HEAD, *PAID]:
            more.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return _flattened(stream.getvalue(), flat) if flat else stream.getvalue()


def _flattened(data: bytes, row: int) -> bytes:
    """A row of no height, which the library does not write."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            flat = f'<row ht="0" customHeight="1" r="{row}"'.encode()
            new.writestr(name, old.read(name).replace(f'<row r="{row}"'.encode(), flat))
    return stream.getvalue()


def opendocument(visibility: str) -> bytes:
    """Three rows, the second of them hidden in one way or another."""
    office = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
    cells = "".join(
        f"<table:table-row{f' table:visibility={visibility!r}' if n == 2 else ''}>"
        f'<table:table-cell office:value-type="string"><text:p>Zahlung {n}</text:p>'
        f'</table:table-cell><table:table-cell office:value-type="float" office:value="{n}.5">'
        f"<text:p>{n},5</text:p></table:table-cell></table:table-row>"
        for n in range(1, 4)
    )
    head = "".join(
        f'<table:table-cell office:value-type="string"><text:p>{x}</text:p></table:table-cell>'
        for x in ("Verwendungszweck", "Betrag")
    )
    content = (
        f'<office:document-content xmlns:office="{office}"'
        ' xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
        ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body>'
        '<office:spreadsheet><table:table table:name="Eins">'
        f"<table:table-row>{head}</table:table-row>{cells}"
        "</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
        archive.writestr(
            "META-INF/manifest.xml",
            "<manifest:manifest xmlns:manifest="
            '"urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
            '<manifest:file-entry manifest:full-path="/" manifest:media-type='
            '"application/vnd.oasis.opendocument.spreadsheet"/></manifest:manifest>',
        )
    return stream.getvalue()


def only(data: bytes, **answers: dict[str, str]) -> RawTable:
    (table,) = read_tables(data, **answers).tables  # pyright: ignore[reportArgumentType]
    return table


def asked(table: RawTable) -> dict[str, tuple[tuple[str, str], ...]]:
    return {
        choice.key: choice.samples
        for question in table.questions
        if question.kind is QuestionKind.HIDDEN_ROWS
        for choice in question.choices
    }


@pytest.mark.parametrize("hidden", [{"hide": (3, 4, 6)}, {"hide": (3, 4), "flat": 6}])
def test_hidden_rows_that_change_a_total_are_read_told_and_asked(hidden: dict[str, object]) -> None:
    table = only(workbook(**hidden))  # pyright: ignore[reportArgumentType]

    assert table.height == 7
    assert table.remarks == ("3 of 7 rows are hidden (lines 3-4, 6)",)
    assert asked(table) == {"all": (("Betrag", "-294.0"),), "visible": (("Betrag", "-189.0"),)}


def test_an_answer_settles_which_rows_count() -> None:
    data = workbook(hide=(3,))
    everything, visible = (only(data, hidden={"Sheet": key}) for key in ("all", "visible"))

    assert (everything.height, everything.questions) == (7, ())
    assert (visible.height, visible.questions) == (6, ())
    assert [(row.first_line, row.reason) for row in visible.aside] == [(3, SetAside.HIDDEN)]


def test_hidden_columns_and_sheets_are_read_and_told() -> None:
    assert only(workbook(column="B")).remarks == ("hidden columns are read: B",)
    _, second = read_tables(workbook(second="veryHidden")).tables
    assert (second.height, second.remarks) == (7, ("the sheet is hidden, and read",))
    assert only(workbook()).remarks == ()


@pytest.mark.parametrize("visibility", ["collapse", "filter"])
def test_an_opendocument_sheet_hides_rows_too(visibility: str) -> None:
    table = only(opendocument(visibility))

    assert table.remarks == ("1 of 3 rows are hidden (lines 3)",)
    assert asked(table)["all"] == (("Betrag", "7.5"),)


def test_the_card_asks_which_rows_count_and_the_answer_reads_the_file_again(
    database: Database,
) -> None:
    organised(database)
    content = workbook(hide=(3,))
    facts = taken(database, content, document(database, content, name="konto.xlsx"))
    (evidence,) = rows(
        database, "SELECT evidence FROM cases WHERE document_id = %s", facts.document_id
    )[0]

    assert evidence["remarks"] == ["1 of 7 rows are hidden (lines 3)"]
    assert card_of(database, facts)[1] == ["all", "visible"]
    execute(database, facts, "visible")
    taken(database, content, facts)

    assert states(database, facts)[0][4] == 1
    assert card_of(database, facts)[1][-1] == "working"


def text(*lines: str) -> bytes:
    return (CSV + "".join(f"{line}\n" for line in lines)).encode()


LINES = [f"0{n}.01.2026;Zahlung {n};-{n},50;EUR" for n in range(1, 5)]


@pytest.mark.parametrize(
    ("lines", "sums"),
    [
        ([*LINES, ";;-12,00;"], [6]),
        ([*LINES[:2], ";;-4,00;", *LINES[2:], ";;-8,00;"], [4, 7]),
        ([*LINES[:2], ";;-4,00;", *LINES[2:], ";;-12,00;"], [4, 7]),
    ],
)
def test_a_sum_without_a_word_is_proposed_as_one(lines: list[str], sums: list[int]) -> None:
    (found,), _ = recognise_file(text(*lines))

    assert [(r.first_line, r.reason) for r in found.table.aside] == [
        (n, SetAside.SUM) for n in sums
    ]
    assert [f"line {n} is taken for a sum of Betrag" in said for n, said in
            zip(sums, found.table.remarks, strict=True)] == [True] * len(sums)  # fmt: skip
    file = bank_file(found.table, found.mapping)
    assert (len(file.statements[0].lines), file.refusals) == (4, ())


@pytest.mark.parametrize("last", [";;-12,01;", ";?;-12,00;", "05.01.2026;;-12,00;"])
def test_what_is_no_sum_stays_among_the_rows(last: str) -> None:
    (found,), _ = recognise_file(text(*LINES, last))

    assert (found.table.height, found.table.aside, found.table.remarks) == (5, (), ())


@pytest.mark.parametrize(
    "word", ["offen", "Vorgemerkt", "pending", "en attente", "Ausstehend", "In attesa"]
)
def test_a_word_for_a_day_is_a_line_that_is_not_booked_yet(word: str) -> None:
    """A state in the column of days, as comdirect writes it; no day is invented for a booking."""
    content = (
        "Buchungstag;Wertstellung (Valuta);Vorgang;Buchungstext;Umsatz in EUR\n"
        f"{word};--;Kartenverfügung;Bäckerei;-3,20\n"
        "30.01.2026;30.01.2026;Lastschrift;Stadtwerke;-89,00\n"
        "28.01.2026;28.01.2026;Übertrag;Firma AG;1.190,00\n"
    )
    (found,), _ = recognise_file(content.encode())
    file = bank_file(found.table, found.mapping)

    assert (found.questions, file.refusals, faults(file)) == ((), (), ())
    assert sorted((str(x.amount), x.status) for x in file.statements[0].lines) == [
        ("-3.20", Status.PENDING), ("-89.00", Status.BOOKED), ("1190.00", Status.BOOKED),
    ]  # fmt: skip


def test_any_other_word_for_a_day_is_no_booking() -> None:
    (found,), _ = recognise_file(text(*LINES, "irgendwann;Zahlung;-5,00;EUR"))

    assert found.table.height == 5
    assert found.columns[0].kind == "text"
