"""Tables for spreadsheets: CSV and XLSX in which no cell is ever a formula.

A spreadsheet runs a text that begins with one of `= + - @`, whatever blanks, control or invisible
characters stand before it, and in its wide and small forms, too; a CSV read with another separator
begins a cell after each comma, tab or line break. Such a text gets an apostrophe in front; in XLSX
every text is stored as a text besides. Numbers, amounts and days stay what they are. Rows are
written as they come, to a file, so that an export of any length needs no more memory than a short
one. Does not belong here: what stands in a table.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import IO, Any

from openpyxl import Workbook
from openpyxl.cell.cell import WriteOnlyCell

from tgv_dagster.web.texts import minor_units


@dataclass(frozen=True, slots=True)
class Money:
    """An amount with the decimals of its currency; None is an empty cell."""

    amount: Decimal | None
    currency: str | None = None

    def written(self, mark: str) -> str:
        """With this decimal mark and no separators of thousands, as a spreadsheet reads it."""
        if self.amount is None:
            return ""
        own = -int(self.amount.normalize().as_tuple().exponent)
        places = max(minor_units(self.currency), own)
        return f"{self.amount + 0:.{places}f}".replace(".", mark)

    @property
    def form(self) -> str:
        """The number format of a cell."""
        places = minor_units(self.currency)
        return f"#,##0.{'0' * places}" if places else "#,##0"


Cell = str | int | Decimal | Money | date | datetime | None
CSV_TYPE = "text/csv; charset=utf-8"
XLSX_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_UNSEEN = (
    r"[\s\u0000-\u0020\u007f-\u00a0\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3000\ufeff]*"
)
_STARTS = r"[=+\-@|%＝＋－＠｜％﹦﹢﹣﹫﹪−⁼⁺⁻₌₊₋]"
_DANGEROUS = re.compile(f"{_UNSEEN}{_STARTS}|[\t\r\n]")
_INNER = re.compile(rf"([,;\t\r\n]\"*)(?={_STARTS})")
"""Where another separator would begin a cell; after a blank it begins none."""
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_MOST_CHARACTERS = 32_000


def harmless(text: str) -> str:
    """The text as a cell that no spreadsheet runs; control characters become blanks."""
    clean = _UNWRITABLE.sub(" ", text)[:_MOST_CHARACTERS]
    clean = _INNER.sub(r"\1'", clean)
    return f"'{clean}" if _DANGEROUS.match(clean) else clean


def write_csv(
    out: IO[bytes], header: Sequence[str], rows: Iterable[Sequence[Cell]], *, mark: str = "."
) -> None:
    """UTF-8 with a sign that Excel understands, separated by semicolons (DE, FR).

    `mark` is the decimal mark of amounts.
    """
    text = io.TextIOWrapper(out, encoding="utf-8-sig", newline="", write_through=False)
    writer = csv.writer(text, delimiter=";", quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(map(harmless, header))
    for row in rows:
        writer.writerow([_as_text(cell, mark) for cell in row])
    text.flush()
    text.detach()


def write_xlsx(
    out: IO[bytes], title: str, header: Sequence[str], rows: Iterable[Sequence[Cell]]
) -> None:
    """One sheet of that title."""
    book = Workbook(write_only=True)
    sheet = book.create_sheet(re.sub(r"[\[\]:*?/\\]", " ", harmless(title))[:31])
    sheet.append([_as_cell(sheet, value) for value in header])
    for row in rows:
        sheet.append([_as_cell(sheet, value) for value in row])
    book.save(out)


def _as_text(cell: Cell, mark: str) -> str:
    if cell is None:
        return ""
    if isinstance(cell, Money):
        return cell.written(mark)
    return harmless(cell) if isinstance(cell, str) else str(cell)


def _as_cell(sheet: Any, value: Cell) -> Any:
    if value is None or (isinstance(value, int | date) and not isinstance(value, datetime)):
        return value
    cell = WriteOnlyCell(sheet)
    if isinstance(value, Money):
        cell.value, cell.number_format = value.amount, value.form
    elif isinstance(value, datetime):
        cell.value = value.replace(tzinfo=None)
    elif isinstance(value, str):
        cell.value = harmless(value)
        cell.data_type = "s"  # a text that looks like a formula stays a text
    else:
        cell.value = value
    return cell
