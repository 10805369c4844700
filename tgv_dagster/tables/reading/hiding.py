"""Hidden sheets, rows and columns: read like any other, told, and asked about where sums differ.

A bank must not lose a line because somebody filtered it away; a person who hid wrong lines must not
find them booked. So everything is read, what is hidden is a remark, and hidden rows that change a
total are a question (`all` or `visible`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl

from tgv_dagster.tables.model import Choice, Question, QuestionKind, RawTable, SetAside
from tgv_dagster.tables.reading.columns import ColumnKind, examine_column, typed
from tgv_dagster.tables.reading.tidying import aside_row, keep_rows

ALL, VISIBLE = "all", "visible"
_SUMMED = (ColumnKind.NUMBER, ColumnKind.DURATION)
_MOST_SAMPLES = 4
_MOST_RANGES = 8


@dataclass(frozen=True, slots=True)
class Hiding:
    """What a sheet hides; rows and columns by their 1-based number."""

    sheet: bool
    rows: tuple[int, ...]
    columns: tuple[int, ...]


def remarked(table: RawTable, hiding: Hiding, answer: str | None) -> RawTable:
    """The table with remarks about what is hidden, and the question where a total depends on it.

    `answer` is what a person said: `all` asks nothing, `visible` sets hidden rows aside.
    """
    hidden = np.isin(table.first_lines, list(hiding.rows))
    said: list[str] = []
    if hiding.sheet:
        said.append("the sheet is hidden, and read")
    if hidden.any():
        lines = _ranges(table.first_lines[hidden].tolist())
        said.append(f"{int(hidden.sum())} of {table.height} rows are hidden (lines {lines})")
    if hiding.columns:
        letters = ", ".join(_letter(number) for number in hiding.columns[:20])
        said.append(f"hidden columns are read: {letters}")
    table = replace(table, remarks=(*table.remarks, *said))
    if not hidden.any() or answer == ALL:
        return table
    if answer == VISIBLE:
        aside = tuple(aside_row(table, int(r), SetAside.HIDDEN) for r in np.flatnonzero(hidden))
        return keep_rows(table, ~hidden, aside)
    everything, visible = _totals(table, hidden)
    if everything == visible:
        return table
    question = Question(
        QuestionKind.HIDDEN_ROWS,
        "",
        (Choice(ALL, everything), Choice(VISIBLE, visible)),
        suggested=ALL,
    )
    return replace(table, questions=(*table.questions, question))


def _totals(
    table: RawTable, hidden: np.ndarray
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """Sums of the columns that differ, over all rows and over the visible ones."""
    visible_rows = pl.Series(~hidden)
    found: list[tuple[tuple[str, str], tuple[str, str]]] = []
    for label in table.labels:
        column = examine_column(table, label)
        if column.kind not in _SUMMED:
            continue
        values = typed(table, column)
        everything, visible = values.sum(), values.filter(visible_rows).sum()
        if everything != visible:
            found.append(((label, str(everything)), (label, str(visible))))
    shown = found[:_MOST_SAMPLES]
    return tuple(a for a, _ in shown), tuple(b for _, b in shown)


def _ranges(numbers: Sequence[int]) -> str:
    """`5-7, 12`: numbers in order, neighbours together."""
    breaks = [0, *(i for i, (a, b) in enumerate(pairwise(numbers), 1) if b != a + 1), len(numbers)]
    spans = [(numbers[start], numbers[end - 1]) for start, end in pairwise(breaks)]
    told = [f"{a}" if a == b else f"{a}-{b}" for a, b in spans[:_MOST_RANGES]]
    return ", ".join(told) + (" …" if len(spans) > _MOST_RANGES else "")


def _letter(number: int) -> str:
    name = ""
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(65 + rest) + name
    return name
