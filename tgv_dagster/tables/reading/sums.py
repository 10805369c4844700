"""Rows of sums that no word announces: only arithmetic tells them from rows.

Such a row leaves empty what every other row fills, and each of its numbers is the sum of its column
since the last such row, or of everything above. A word for a sum may stand in any of its columns,
and what all rows say alike (a currency) tells nothing. It is set aside with what it sums, never
dropped.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np

from tgv_dagster.tables.lexicon import begins_total
from tgv_dagster.tables.model import RawTable, SetAside
from tgv_dagster.tables.reading.columns import ColumnKind, examine_column, typed
from tgv_dagster.tables.reading.tidying import aside_row, keep_rows

_MOST_ROWS = 100_000
_MOST_COLUMNS = 200
_LEAST_SUMMED = 2
_MOST_SHARE = 0.5
_MOST_SUMS = 200
_MOST_LOOKED_AT = 2_000
_MOST_SHOWN = 120
_MOST_REMARKS = 10

_Numbers = dict[int, list[Decimal | None]]


def without_sums(table: RawTable) -> RawTable:
    """The table with its rows of bare sums set aside as proposed sums."""
    if not _LEAST_SUMMED < table.height <= _MOST_ROWS or len(table.labels) > _MOST_COLUMNS:
        return table
    filled = np.column_stack(
        [(cells.str.strip_chars() != "").to_numpy() for cells in table.cells.iter_columns()]
    )
    shares = filled.mean(axis=0)
    telling = [i for i, share in enumerate(shares) if 1 - _MOST_SHARE <= share < 1]
    if not telling:
        return table
    numbers = _numbers(table)
    others = [i for i in range(len(table.labels)) if i not in numbers and not _is_alike(table, i)]
    partial = np.flatnonzero(~filled[:, telling].all(axis=1)).tolist()
    for row in partial[:_MOST_LOOKED_AT]:
        cells = table.raw_row(row)
        for place in others:
            filled[row, place] &= not begins_total(cells[place])
    bare: np.ndarray = np.logical_and(~filled[:, others].any(axis=1), filled.any(axis=1))
    named = [i for i in others if i in telling and (filled[:, i] | bare).all()]
    if not numbers or not named or not bare.any():
        return table
    candidates = np.flatnonzero(bare).tolist()
    if len(candidates) > _MOST_SUMS:
        return table
    found = {row: said for row in candidates if (said := _sum_of(numbers, bare, row))}
    if not found:
        return table
    aside = tuple(
        aside_row(table, row, SetAside.SUM, f"sum of {', '.join(table.labels[i] for i in of)}")
        for row, of in found.items()
    )
    keep = np.ones(table.height, dtype=bool)
    keep[list(found)] = False
    said = tuple(
        f"line {row.first_line} is taken for a {row.detail} and set aside: {row.raw[:_MOST_SHOWN]}"
        for row in aside[:_MOST_REMARKS]
    )
    return replace(keep_rows(table, keep, aside), remarks=(*table.remarks, *said))


def _is_alike(table: RawTable, place: int) -> bool:
    cells = table.cells.to_series(place).str.strip_chars()
    return cells.filter(cells != "").n_unique() <= 1


def _numbers(table: RawTable) -> _Numbers:
    found: _Numbers = {}
    for place, label in enumerate(table.labels):
        column = examine_column(table, label)
        if column.kind is ColumnKind.NUMBER:
            found[place] = typed(table, column).to_list()
        elif column.kind is ColumnKind.EMPTY:
            found[place] = [None] * table.height
    return found


def _sum_of(numbers: _Numbers, bare: np.ndarray, row: int) -> tuple[int, ...]:
    """The columns that this row sums; none when one of its numbers is neither a sum nor the
    number of the row above, as a balance is."""
    above = np.flatnonzero(bare[:row])
    since = int(above[-1]) + 1 if len(above) else 0
    summed: list[int] = []
    for place, column in numbers.items():
        told = column[row]
        if told is None:
            continue
        everything = [column[r] for r in range(row) if not bare[r]]
        block = [column[r] for r in range(since, row)]
        if told and any(_adds_up(told, terms) for terms in (everything, block)):
            summed.append(place)
        elif told != next((x for x in reversed(everything) if x is not None), None):
            return ()
    return tuple(summed)


def _adds_up(told: Decimal, terms: list[Decimal | None]) -> bool:
    known = [term for term in terms if term is not None]
    return len(known) >= _LEAST_SUMMED and sum(known) == told
