"""Workbooks (XLSX, XLS, XLSB, ODS): every sheet a raw table, or skipped with its reason.

Cells come from a limited child process (`workbook_cells`). Merged headings are spread over their
columns; a row whose formula has no stored result is set aside, never read as empty.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from tgv_dagster.tables.model import FileTables, Native, RawTable, TableUnreadable
from tgv_dagster.tables.reading import workbook_cells
from tgv_dagster.tables.reading.assembling import EMPTY, Cell, Row, from_grid, parts_of
from tgv_dagster.tables.reading.hiding import Hiding, remarked

_MEMORY_BYTES = 2 * 2**30
_SECONDS = 120
_HEAD_ROWS = 60
_OLE = b"\xd0\xcf\x11\xe0"
_PACKED = b"PK"
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")


def is_workbook(data: bytes) -> bool:
    """Whether the bytes are a ZIP or OLE container, as workbooks are."""
    return data.startswith((_PACKED, _OLE))


def read_workbook(
    data: bytes,
    headers: dict[str, int] | None = None,
    hidden: dict[str, str] | None = None,
) -> FileTables:
    """Read all sheets.

    `headers` gives the row of the labels per sheet where it is settled, `hidden` which rows of it
    count (`hiding`).

    Raises TableUnreadable: damaged, encrypted, too large, or no sheet holds a table.
    """
    suffix = ".xlsx" if data.startswith(_PACKED) else ".xls"
    with tempfile.NamedTemporaryFile(prefix="tgv-workbook-", suffix=suffix) as file:
        file.write(data)
        file.flush()
        told = _told(Path(file.name), packed=data.startswith(_PACKED))
    tables: list[RawTable] = []
    skipped: list[tuple[str, str]] = []
    for sheet in told["sheets"]:
        hides = sheet["hidden"]
        hiding = Hiding(hides["sheet"], tuple(hides["rows"]), tuple(hides["columns"]))
        for number, rows in enumerate(parts_of(_rows(sheet)), start=1):
            name = str(sheet["name"]) + (f" ({number})" if number > 1 else "")
            try:
                table = from_grid(name, rows, header=(headers or {}).get(name))
                tables.append(remarked(table, hiding, (hidden or {}).get(name)))
            except TableUnreadable as error:
                skipped.append((name, str(error)))
    if not tables:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in skipped[:5])
        raise TableUnreadable(f"no sheet holds a table ({reasons})")
    return FileTables(tuple(tables), tuple(skipped), reader="workbook")


def _told(path: Path, *, packed: bool) -> dict[str, Any]:
    root = str(Path(__file__).resolve().parents[3])
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment |= {"PYTHONPATH": root, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", workbook_cells.__name__, str(path)]
    command += ["packed" if packed else "ole", str(_MEMORY_BYTES), str(_SECONDS)]
    try:
        done = subprocess.run(
            command, capture_output=True, env=environment, timeout=2 * _SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise TableUnreadable(f"reading took longer than {2 * _SECONDS} seconds") from None
    if done.returncode != 0:
        raise TableUnreadable(f"the reader process ended with code {done.returncode}")
    told = json.loads(done.stdout)
    if "fault" in told:
        raise TableUnreadable(f"the workbook cannot be read: {told['fault']}")
    return told


def _rows(sheet: dict[str, Any]) -> list[Row]:
    unsolved = frozenset(sheet["unsolved"])
    rows = [
        Row(number, tuple(map(_cell, told)), number in unsolved) for number, told in sheet["rows"]
    ]
    known = {row.line for row in rows}
    rows += [Row(number, (), unsolved=True) for number in unsolved - known]
    return _spread(sorted(rows, key=lambda row: row.line), sheet["merged"])


def _cell(told: object) -> Cell:
    if told is None:
        return EMPTY
    if isinstance(told, str):
        return Cell(told)
    assert isinstance(told, list)
    return Cell(told[1], Native(told[0]))


def _spread(rows: list[Row], merged: list[list[int]]) -> list[Row]:
    """Merged cells at the top of a sheet are headings: every cell they cover shows them."""
    at = {row.line: index for index, row in enumerate(rows)}
    changed = list(rows)
    for top, left, bottom, right in merged:
        if top not in at or at[top] >= _HEAD_ROWS or left < 1:
            continue
        cells = changed[at[top]].cells
        if len(cells) < left or cells[left - 1].native is not Native.TEXT:
            continue
        for line in range(top, min(bottom, top + 3) + 1):
            if line in at:
                row = changed[at[line]]
                changed[at[line]] = replace(row, cells=_filled(row, left, right, cells[left - 1]))
    return changed


def _filled(row: Row, left: int, right: int, cell: Cell) -> tuple[Cell, ...]:
    cells = [*row.cells, *[EMPTY] * (right - len(row.cells))]
    for column in range(left - 1, right):
        if not cells[column].text:
            cells[column] = cell
    return tuple(cells)
