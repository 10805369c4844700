"""Workbooks, HTML, XML and JSON become the same rows with labels as a CSV."""

import io
import json
import zipfile
from datetime import date, datetime, time
from decimal import Decimal

import openpyxl
import pytest

from tgv_dagster.tables.model import FileTables, SetAside, TableUnreadable
from tgv_dagster.tables.reading.columns import (
    ColumnKind,
    examine_column,
    typed,
)
from tgv_dagster.tables.reading.files import read_tables


def workbook(rows: list[list[object]], *, merged: str = "", epoch_1904: bool = False) -> bytes:
    book = openpyxl.Workbook()
    if epoch_1904:
        book.epoch = datetime(1904, 1, 1)
    sheet = book.active
    assert sheet is not None
    for row in rows:
        sheet.append(row)
    if merged:
        sheet.merge_cells(merged)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def column(found: FileTables, label: str) -> list[object]:
    table = found.tables[0]
    return typed(table, examine_column(table, label)).to_list()


def test_a_sheet_with_preamble_and_typed_cells() -> None:
    """TAB-22, FIN-12: a sheet is a table like any other."""
    data = workbook(
        [
            ["Stundenzettel Januar"],
            [],
            ["Datum", "Stunden", "Beginn", "Tätigkeit"],
            [date(2026, 1, 31), 7.5, time(8, 30), "Büro"],
            [date(2026, 1, 30), 8, time(9, 0), ""],
        ]
    )
    found = read_tables(data)

    assert found.tables[0].header_line == 3
    assert column(found, "Datum") == [date(2026, 1, 31), date(2026, 1, 30)]
    assert column(found, "Stunden") == [Decimal("7.5"), Decimal("8.0")]
    assert column(found, "Beginn") == [time(8, 30), time(9, 0)]


def test_dates_of_the_1904_system_are_the_same_days() -> None:
    rows: list[list[object]] = [["Datum", "Betrag"], [date(2026, 1, 31), 1.5]]

    assert column(read_tables(workbook(rows, epoch_1904=True)), "Datum") == [date(2026, 1, 31)]


def test_merged_headings_join_their_columns() -> None:
    data = workbook(
        [
            ["Mitarbeiter", "Zeit", None, "Projekt"],
            [None, "Beginn", "Ende", None],
            ["Anna", time(8), time(9), "Kita"],
            ["Emil", time(9), time(10), "Kita"],
        ],
        merged="B1:C1",
    )

    assert read_tables(data).tables[0].labels[1:3] == ("Zeit Beginn", "Zeit Ende")


def test_a_formula_without_stored_result_sets_its_row_aside() -> None:
    rows: list[list[object]] = [["Datum", "Betrag"], [date(2026, 1, 31), 1.5]]
    data = workbook([*rows, [date(2026, 1, 30), "=B2*2"]])
    table = read_tables(data).tables[0]

    assert table.height == 1
    assert [(a.first_line, a.reason) for a in table.aside] == [(3, SetAside.UNSOLVED_FORMULA)]


def test_dates_as_text_among_real_dates_are_one_column() -> None:
    rows: list[list[object]] = [["Datum", "x"], [date(2026, 1, 31), "a"], ["30.01.2026", "b"]]

    assert column(read_tables(workbook(rows)), "Datum") == [date(2026, 1, 31), date(2026, 1, 30)]


def test_numbers_a_sheet_has_already_cut_are_no_numbers() -> None:
    rows: list[list[object]] = [["Nummer", "x"], [4111111111111111, "a"], [12, "b"]]
    table = read_tables(workbook(rows)).tables[0]

    assert examine_column(table, "Nummer").kind is ColumnKind.TEXT


def ods(rows: list[list[str]]) -> bytes:
    cells = "".join(
        "<table:table-row>"
        + "".join(f"<table:table-cell {cell}</table:table-cell>" for cell in row)
        + "</table:table-row>"
        for row in rows
    )
    kinds = "urn:oasis:names:tc:opendocument:xmlns"
    content = (
        f'<office:document-content xmlns:office="{kinds}:office:1.0"'
        f' xmlns:table="{kinds}:table:1.0" xmlns:text="{kinds}:text:1.0"><office:body>'
        f'<office:spreadsheet><table:table table:name="Blatt">{cells}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", f'<m:manifest xmlns:m="{kinds}:manifest:1.0"/>')
    return stream.getvalue()


def test_an_ods_sheet_is_the_same_case() -> None:
    text = 'office:value-type="string"><text:p>{}</text:p>'
    number = 'office:value-type="float" office:value="{0}"><text:p>{0}</text:p>'
    day = 'office:value-type="date" office:date-value="{0}"><text:p>{0}</text:p>'
    data = ods(
        [
            [text.format("Datum"), text.format("Betrag")],
            [day.format("2026-01-31"), number.format("1.5")],
            [day.format("2026-01-30"), number.format("2")],
        ]
    )
    found = read_tables(data)

    assert column(found, "Datum") == [date(2026, 1, 31), date(2026, 1, 30)]
    assert column(found, "Betrag") == [Decimal("1.5"), Decimal("2.0")]


def test_every_sheet_is_a_table_or_is_listed_with_its_reason() -> None:
    book = openpyxl.Workbook()
    first = book.active
    assert first is not None
    for row in (["Datum", "Betrag"], [date(2026, 1, 31), 1.5]):
        first.append(row)
    book.create_sheet("Leer")
    stream = io.BytesIO()
    book.save(stream)

    found = read_tables(stream.getvalue())

    assert len(found.tables) == 1
    assert found.skipped == (("Leer", "no cells"),)


def test_a_sheet_with_one_far_cell_does_not_end_the_reader() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["Datum", "Betrag"], [date(2026, 1, 31), 1.5]):
        sheet.append(row)
    sheet["XFD1048576"] = "weit"
    stream = io.BytesIO()
    book.save(stream)

    found = read_tables(stream.getvalue())

    assert found.tables[0].labels[:2] == ("Datum", "Betrag")


def test_a_damaged_workbook_is_refused() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("xl/workbook.xml", "<x")

    with pytest.raises(TableUnreadable, match="cannot be read"):
        read_tables(stream.getvalue())


def test_json_objects_are_rows_and_keep_the_digits_they_were_written_with() -> None:
    data = json.dumps([{"datum": "2026-01-31", "betrag": 1.10, "ok": True}, {"datum": None}])
    found = read_tables(data.encode())

    assert column(found, "betrag") == [Decimal("1.1")]
    assert column(found, "ok") == [True]


def test_json_lines_with_a_broken_line_are_refused() -> None:
    with pytest.raises(TableUnreadable):
        read_tables(b'{"a": 1, "b": 2}\n{"a": 1')


def test_the_repeating_element_of_xml_is_the_table() -> None:
    data = b"""<export xmlns="urn:x"><kopf><von>a</von></kopf><zeilen>
      <zeile nr="1"><datum>2026-01-31</datum><betrag>1,50</betrag></zeile>
      <zeile nr="2"><datum>2026-01-30</datum><betrag>2,50</betrag></zeile></zeilen></export>"""
    found = read_tables(data)

    assert found.tables[0].labels == ("@nr", "datum", "betrag")
    assert column(found, "betrag") == [Decimal("1.50"), Decimal("2.50")]


def test_entities_of_xml_stay_closed() -> None:
    data = b"""<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/hostname">]>
      <a><r><x>&e;</x><y>1</y></r><r><x>b</x><y>2</y></r></a>"""

    assert read_tables(data).tables[0].column("x").to_list() == ["", "b"]


def test_html_tables_with_spans() -> None:
    data = b"""<html><body><table><tr><th>Datum</th><th>Art</th><th>Betrag</th></tr>
      <tr><td>31.01.2026</td><td rowspan=2>Miete</td><td>1,00</td></tr>
      <tr><td>30.01.2026</td><td>2,00</td></tr></table></body></html>"""
    found = read_tables(data)

    assert column(found, "Art") == ["Miete", "Miete"]
    assert column(found, "Betrag") == [Decimal("1.00"), Decimal("2.00")]


def test_a_binary_format_without_reader_says_so() -> None:
    with pytest.raises(TableUnreadable, match="binary"):
        read_tables(b"\x00\x01\x02\x03" * 200)


def test_tables_below_each_other_are_several_tables() -> None:
    found = read_tables(
        workbook(
            [
                ["Konto", "Giro"],
                [],
                ["Buchungstag", "Verwendungszweck", "Betrag"],
                [date(2026, 1, 2), "Strom", -3],
                [],
                [date(2026, 1, 3), "Gas", 4],
                [],
                ["Fahrzeug", "Datum", "Km"],
                ["B-XY 1", date(2026, 1, 3), 120],
                ["B-XY 1", date(2026, 1, 4), 130],
            ]
        )
    )

    assert [(table.sheet, table.height, table.questions) for table in found.tables] == [
        ("Sheet", 2, ()),
        ("Sheet (2)", 2, ()),
    ]
    assert found.tables[0].preamble == ("Konto Giro",)


def test_sums_between_and_below_the_rows_are_set_aside() -> None:
    found = read_tables(
        workbook(
            [
                ["Datum", "Verwendungszweck", "Betrag"],
                [date(2026, 1, 2), "Strom", -3],
                ["Zwischensumme", None, -3],
                [date(2026, 1, 3), "Gas", 4],
                ["Summe", None, "=SUM(C2:C4)"],
            ]
        )
    )

    assert column(found, "Datum") == [date(2026, 1, 2), date(2026, 1, 3)]
    assert {row.reason for row in found.tables[0].aside} == {SetAside.FOOTER}
