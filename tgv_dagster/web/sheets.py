"""Tables for spreadsheets: CSV and XLSX in which no cell is ever a formula.

A spreadsheet runs a text that begins with one of `= + - @`, a tab or a line break. Such a text gets
an apostrophe in front; in XLSX every text is stored as a text besides. Numbers and days stay
numbers and days. Does not belong here: what stands in a table.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal

from openpyxl import Workbook
from openpyxl.cell.cell import WriteOnlyCell

Cell = str | int | Decimal | date | datetime | None
CSV_TYPE = "text/csv; charset=utf-8"
XLSX_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_DANGEROUS = re.compile(r"\s*[=+\-@＝＋－＠|%\t\r\n]")
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_MOST_CHARACTERS = 32_000


def harmless(text: str) -> str:
    """The text as a cell that no spreadsheet runs; control characters become blanks."""
    clean = _UNWRITABLE.sub(" ", text)[:_MOST_CHARACTERS]
    return f"'{clean}" if _DANGEROUS.match(clean) else clean


def to_csv(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> bytes:
    """UTF-8 with a mark that Excel understands, separated by semicolons (DE, FR)."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=";", quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(map(harmless, header))
    for row in rows:
        writer.writerow([_as_text(cell) for cell in row])
    return out.getvalue().encode("utf-8-sig")


def to_xlsx(title: str, header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> bytes:
    """One sheet of that title."""
    book = Workbook(write_only=True)
    sheet = book.create_sheet(re.sub(r"[\[\]:*?/\\]", " ", harmless(title))[:31])
    for row in (header, *rows):
        cells = []
        for value in row:
            cell = WriteOnlyCell(sheet)
            cell.value = _as_cell(value)
            if isinstance(value, str):
                cell.data_type = "s"  # a text that looks like a formula stays a text
            cells.append(cell)
        sheet.append(cells)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _as_text(cell: Cell) -> str:
    if cell is None:
        return ""
    return harmless(cell) if isinstance(cell, str) else str(cell)


def _as_cell(cell: Cell) -> Cell:
    if isinstance(cell, datetime):
        return cell.replace(tzinfo=None)
    return harmless(cell) if isinstance(cell, str) else cell
