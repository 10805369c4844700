"""Cells of a workbook, read in a process of its own and told as JSON.

Libraries for workbooks end their process on hostile sheets and fill the memory on sparse ones; so
this module runs as a limited child of `workbook`. It knows cells and nothing about tables.
"""

from __future__ import annotations

import datetime
import io
import json
import resource
import sys
import warnings
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

from tgv_dagster.tables.reading import workbook_hidden

MOST_CELLS = 6_000_000
_MOST_COLUMNS = 2000
_MERGE_BYTES = 4 * 2**20
_MIDNIGHT = datetime.time()

Told = list[str] | str | None
"""A cell as JSON: null, text, or [kind, text]."""


class TooLarge(Exception):
    """The workbook has more cells than are read."""


def tell(source: Path, *, packed: bool) -> dict[str, Any]:
    """The sheets of a workbook. Raises whatever the libraries raise; the process is the limit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sheets = _sheets(source, packed=packed)
    stated = _hidden(source) if packed else {}
    for sheet in sheets:
        known = stated.get(sheet["name"], workbook_hidden.nothing())
        sheet["hidden"] = known | {"sheet": known["sheet"] or sheet.get("closed", False)}
    return {"sheets": sheets}


def _sheets(source: Path, *, packed: bool) -> list[dict[str, Any]]:
    if packed and _is_xlsx(source):
        try:
            sheets = _xlsx(source)
            if any(sheet["rows"] or sheet["unsolved"] for sheet in sheets):
                return sheets
        except (TooLarge, MemoryError):
            raise
        except Exception:
            if _has_formulas(source):
                raise
    return _calamine(source)


def _hidden(source: Path) -> dict[str, workbook_hidden.Hidden]:
    with zipfile.ZipFile(source) as archive:
        return workbook_hidden.hidden_parts(archive)


def _is_xlsx(source: Path) -> bool:
    with zipfile.ZipFile(source) as archive:
        names = archive.namelist()
    return "xl/workbook.xml" in names


def _told(value: object) -> Told:
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return ["boolean", "true" if value else "false"]
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, datetime.datetime):
        if value.time() == _MIDNIGHT:
            return ["date", value.date().isoformat()]
        return ["datetime", value.replace(microsecond=0, tzinfo=None).isoformat(" ")]
    if isinstance(value, datetime.date):
        return ["date", value.isoformat()]
    if isinstance(value, datetime.time):
        return ["time", value.replace(microsecond=0, tzinfo=None).isoformat()]
    if isinstance(value, datetime.timedelta):
        return ["duration", _duration(value)]
    return str(value)


def _number(value: float) -> Told:
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e21):
        return ["number", str(int(value))]
    if value != value or value in (float("inf"), float("-inf")):
        return None
    return ["number", format(Decimal(f"{value:.15g}"), "f")]


def _duration(value: datetime.timedelta) -> str:
    seconds = round(abs(value.total_seconds()))
    sign = "-" if value.total_seconds() < 0 else ""
    return f"{sign}{seconds // 3600}:{seconds % 3600 // 60:02}:{seconds % 60:02}"


def _xlsx(source: Path) -> list[dict[str, Any]]:
    import openpyxl

    formulas = _has_formulas(source)
    merged = _merged_ranges(source)
    values = openpyxl.load_workbook(source, read_only=True, data_only=True, keep_links=False)
    written = openpyxl.load_workbook(source, read_only=True, keep_links=False) if formulas else None
    left = MOST_CELLS
    sheets = []
    for sheet in values.worksheets:
        sheet.reset_dimensions()
        rows: dict[int, list[Told]] = {}
        for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
            told = [_told(value) for value in row[:_MOST_COLUMNS]]
            while told and told[-1] is None:
                told.pop()
            if told:
                rows[number] = told
                left -= len(told)
            if left < 0:
                raise TooLarge(f"more than {MOST_CELLS} cells")
        unsolved = [] if written is None else _unsolved(written[sheet.title], rows)
        sheets.append(
            {
                "name": sheet.title,
                "rows": list(rows.items()),
                "unsolved": unsolved,
                "merged": merged.get(sheet.title, []),
            }
        )
    return sheets


def _has_formulas(source: Path) -> bool:
    with zipfile.ZipFile(source) as archive:
        for name in archive.namelist():
            if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                with archive.open(name) as stream:
                    while block := stream.read(1 << 20):
                        if b"<f" in block:
                            return True
    return False


def _unsolved(sheet: Any, rows: dict[int, list[Told]]) -> list[int]:
    """Rows in which a cell has a formula and no stored result."""
    sheet.reset_dimensions()
    found = []
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        stored = rows.get(number, [])
        for column, value in enumerate(row[:_MOST_COLUMNS]):
            is_formula = isinstance(value, str) and value.startswith("=")
            if is_formula and (column >= len(stored) or stored[column] is None):
                found.append(number)
                break
    return found


def _merged_ranges(source: Path) -> dict[str, list[tuple[int, ...]]]:
    import openpyxl

    if source.stat().st_size > _MERGE_BYTES:
        return {}
    try:
        book = openpyxl.load_workbook(source, keep_links=False)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - pivots and charts it cannot parse say nothing about cells
        return {}
    return {
        sheet.title: [
            (r.min_row or 0, r.min_col or 0, r.max_row or 0, r.max_col or 0)
            for r in sheet.merged_cells.ranges
        ]
        for sheet in book.worksheets
    }


def _calamine(source: Path) -> list[dict[str, Any]]:
    import python_calamine

    # From memory: by path the library believes the name of the file, not its content.
    book = python_calamine.load_workbook(io.BytesIO(source.read_bytes()))
    left = MOST_CELLS
    sheets = []
    for meta in book.sheets_metadata:
        if meta.typ is not python_calamine.SheetTypeEnum.WorkSheet:
            sheets.append({"name": meta.name, "rows": [], "unsolved": [], "merged": []})
            continue
        sheet = book.get_sheet_by_name(meta.name)
        above = sheet.start[0] if sheet.start else 0
        rows = []
        for number, row in enumerate(sheet.to_python(skip_empty_area=True), start=above + 1):
            told = [_told(value) for value in row[:_MOST_COLUMNS]]
            left -= len(told)
            if left < 0:
                raise TooLarge(f"more than {MOST_CELLS} cells")
            if any(cell is not None for cell in told):
                rows.append((number, told))
        margin = sheet.start[1] if sheet.start else 0
        ranges = sheet.merged_cell_ranges or []
        sheets.append(
            {
                "name": meta.name,
                "rows": rows,
                "closed": meta.visible is not python_calamine.SheetVisibleEnum.Visible,
                "unsolved": [],
                "merged": [
                    (a[0] + 1, a[1] + 1 - margin, b[0] + 1, b[1] + 1 - margin) for a, b in ranges
                ],
            }
        )
    return sheets


def _main() -> int:
    source, packed, memory, seconds = sys.argv[1:5]
    resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        told = tell(Path(source), packed=packed == "packed")
    except Exception as error:  # noqa: BLE001 - the boundary: any fault is told to the parent
        told = {"fault": f"{type(error).__name__}: {error}"[:500]}
    json.dump(told, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(_main())
