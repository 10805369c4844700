"""What every reader does last: empty rows and columns go, lines of sums are set aside.

Only what carries nothing is dropped. Does not belong here: anything that changes a cell.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from tgv_dagster.tables.lexicon import begins_total
from tgv_dagster.tables.model import AsideRow, RawTable, SetAside

_LAST_ROWS = 12
_SEARCHED_ROWS = 100_000
_INCOMPLETE = (SetAside.RAGGED, SetAside.UNSOLVED_FORMULA)


def tidy(table: RawTable) -> RawTable:
    """Drop empty rows and unlabelled empty columns, set lines of sums at the end aside."""
    return _with_ragged_footers(
        _without_footers(_without_blank_columns(_without_blank_rows(table)))
    )


def _with_ragged_footers(table: RawTable) -> RawTable:
    """Incomplete lines behind the last row that begin with the word of a sum are such lines."""
    last = int(table.last_lines[-1]) if table.height else 0
    changed = [
        replace(row, reason=SetAside.FOOTER)
        if row.reason in _INCOMPLETE and row.first_line > last and begins_total(_begin(row.raw))
        else row
        for row in table.aside
    ]
    return replace(table, aside=tuple(changed))


def _is_sum(table: RawTable, row: int) -> bool:
    full = [cell.strip() for cell in table.raw_row(row) if cell.strip()]
    return bool(full) and begins_total(full[0]) and len(full) <= max(2, len(table.labels) // 2)


def _begin_sums(cells: pl.Series) -> np.ndarray:
    words = [cell for cell in cells.unique() if begins_total(cell)]
    return cells.is_in(words).to_numpy()


def _begin(raw: str) -> str:
    return raw.strip(" \t;,|\"'")[:60]


def keep_rows(table: RawTable, keep: np.ndarray, aside: tuple[AsideRow, ...] = ()) -> RawTable:
    """The table with the rows of a boolean mask, and more rows listed as set aside."""
    mask = pl.Series(keep)
    return replace(
        table,
        cells=table.cells.filter(mask),
        first_lines=table.first_lines[keep],
        last_lines=table.last_lines[keep],
        natives={name: kinds.filter(mask) for name, kinds in table.natives.items()},
        aside=(*table.aside, *aside),
    )


def head_of(table: RawTable, rows: int) -> RawTable:
    """The first rows of a table."""
    return replace(
        table,
        cells=table.cells.head(rows),
        first_lines=table.first_lines[:rows],
        last_lines=table.last_lines[:rows],
        natives={name: kinds.head(rows) for name, kinds in table.natives.items()},
    )


def every_row(table: RawTable, step: int) -> RawTable:
    """Every n-th row of a table."""
    return table if step == 1 else keep_rows(table, np.arange(table.height) % step == 0)


def aside_row(table: RawTable, row: int, reason: SetAside, detail: str = "") -> AsideRow:
    """One row of the table as a row set aside."""
    return AsideRow(
        int(table.first_lines[row]),
        int(table.last_lines[row]),
        " | ".join(table.raw_row(row)),
        reason,
        detail,
    )


def _without_blank_rows(table: RawTable) -> RawTable:
    if not table.height:
        return table
    # One column without blanks is proof enough, and nearly every table has one.
    if any(column.str.contains(r"^\S").all() for column in table.cells.iter_columns()):
        return table
    filled = table.cells.select(
        pl.any_horizontal(pl.all().str.strip_chars() != "").alias("filled")
    ).to_series()
    return keep_rows(table, filled.to_numpy())


def _without_blank_columns(table: RawTable) -> RawTable:
    blank = [
        i
        for i, label in enumerate(table.labels)
        if label.startswith("#") and (table.cells.to_series(i).str.strip_chars() == "").all()
    ]
    if not blank or len(blank) == len(table.labels):
        return table
    kept = [i for i in range(len(table.labels)) if i not in blank]
    names = {f"c{old}": f"c{new}" for new, old in enumerate(kept)}
    return replace(
        table,
        labels=tuple(table.labels[i] for i in kept),
        cells=table.cells.select(list(names)).rename(names),
        natives={names[n]: kinds for n, kinds in table.natives.items() if n in names},
    )


def _without_footers(table: RawTable) -> RawTable:
    """Rows whose first word is a sum and that are mostly empty: at the end, or in between where
    the word stands in the first column."""
    keep = np.ones(table.height, dtype=bool)
    for row in range(table.height - 1, max(-1, table.height - 1 - _LAST_ROWS), -1):
        if not _is_sum(table, row):
            break
        keep[row] = False
    if 0 < table.height <= _SEARCHED_ROWS:
        for row in np.flatnonzero(_begin_sums(table.cells.to_series(0))):
            keep[row] = keep[row] and not _is_sum(table, int(row))
    if keep.all():
        return table
    found = tuple(aside_row(table, int(r), SetAside.FOOTER) for r in np.flatnonzero(~keep))
    return keep_rows(table, keep, found)
