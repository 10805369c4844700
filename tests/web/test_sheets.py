"""Spreadsheets: no cell is a formula, whatever stands in a document."""

from __future__ import annotations

import csv
import io
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import load_workbook

from tgv_dagster.web.sheets import Cell, Money, harmless, write_csv, write_xlsx

HOSTILE = (
    '=HYPERLINK("http://evil.example","Rechnung")',
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1+1",
    "\r=1+1",
    "  =1+1",
    "=cmd|'/c calc'!A0",
    "＝1+1",
    "\n=1+1",
    "\u200b=1+1",
    "\ufeff@SUM(A1)",
    "\u00a0+1",
    "﹦1+1",
    "−1+2",
    "|cmd",
)
STARTS = "=+-@＝＋－＠|%\t\r\n"


def to_csv(header: list[str], rows: list[list[Cell]], mark: str = ".") -> bytes:
    out = io.BytesIO()
    write_csv(out, header, rows, mark=mark)
    return out.getvalue()


def to_xlsx(title: str, header: list[str], rows: list[list[Cell]]) -> bytes:
    out = io.BytesIO()
    write_xlsx(out, title, header, rows)
    return out.getvalue()


def read_csv(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), delimiter=";"))


@pytest.mark.parametrize("text", HOSTILE)
def test_no_cell_begins_like_a_formula(text: str) -> None:
    (_, (cell,)) = read_csv(to_csv(["a"], [[text]]))
    assert cell.startswith("'")
    sheet = load_workbook(io.BytesIO(to_xlsx("t", ["a"], [[text]]))).active
    assert sheet is not None
    stored = sheet.cell(2, 1)
    assert stored.data_type == "s"
    assert str(stored.value).startswith("'")


@given(st.text(max_size=60))
def test_any_text_becomes_a_cell_that_can_be_read_back(text: str) -> None:
    made = harmless(text)
    assert not made.lstrip(" ").startswith(tuple(STARTS))
    (_, (cell,)) = read_csv(to_csv(["a"], [[text]]))
    assert cell == made
    sheet = load_workbook(io.BytesIO(to_xlsx("t", ["a"], [[text]]))).active
    assert sheet is not None
    assert sheet.cell(2, 1).data_type in ("s", "n", "inlineStr")


@pytest.mark.parametrize(
    "text", ["Lieferung,=1+1", "a;@SUM(A1)", "R-1\",=cmd|'/c calc'!A0", "Zeile\n=1+1", "a\t+1+1"]
)
@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_another_separator_begins_no_formula_either(text: str, separator: str) -> None:
    content = to_csv(["a", "b"], [[4711, text]]).decode("utf-8-sig")
    cells = [
        cell for line in csv.reader(io.StringIO(content), delimiter=separator) for cell in line
    ]
    lines = [line for cell in cells for line in cell.splitlines()]
    assert [line for line in lines if line.lstrip('"').startswith(("=", "+", "-", "@"))] == []


@pytest.mark.parametrize("text", ["Muster, -5 Grad", "a - b", "10%", "R-4711", "x, +49 40 1"])
def test_prose_stays_as_it_is(text: str) -> None:
    assert harmless(text) == text


@pytest.mark.parametrize(
    ("money", "mark", "written"),
    [
        (Money(Decimal("-119"), "EUR"), ",", "-119,00"),
        (Money(Decimal("1234567.5"), None), ".", "1234567.50"),
        (Money(Decimal("500"), "JPY"), ",", "500"),
        (Money(Decimal("1.2345"), "EUR"), ",", "1,2345"),
        (Money(None, "EUR"), ",", ""),
    ],
)
def test_amounts_have_the_decimals_of_their_currency(money: Money, mark: str, written: str) -> None:
    assert read_csv(to_csv(["a"], [[money]], mark))[1] == [written]
    sheet = load_workbook(io.BytesIO(to_xlsx("t", ["a"], [[money]]))).active
    assert sheet is not None
    assert sheet.cell(2, 1).value == (None if money.amount is None else float(money.amount))


def test_numbers_and_days_stay_what_they_are() -> None:
    row = [17, Decimal("-12.30"), date(2026, 3, 2), datetime(2026, 3, 2, 9, tzinfo=UTC), None]
    (_, cells) = read_csv(to_csv(["a"] * 5, [row]))
    assert cells == ["17", "-12.30", "2026-03-02", "2026-03-02 09:00:00+00:00", ""]
    sheet = load_workbook(io.BytesIO(to_xlsx("t", ["a"] * 5, [row]))).active
    assert sheet is not None
    values = [cell.value for cell in sheet[2]]
    assert values[:2] == [17, -12.3]
    assert isinstance(values[2], datetime)
    assert isinstance(values[3], datetime)


@pytest.mark.parametrize("title", ["a/b\\c:d*e?f[g]", "x" * 80, "=1+1"])
def test_any_title_names_a_sheet(title: str) -> None:
    names = load_workbook(io.BytesIO(to_xlsx(title, ["a"], []))).sheetnames
    assert len(names) == 1
    assert len(names[0]) <= 31
