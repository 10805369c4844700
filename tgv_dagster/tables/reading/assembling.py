"""From rows of cells to a raw table: what workbooks, lists and markup have in common.

A cell is text, or text with the kind that the source itself states. Does not belong here: opening
files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

import numpy as np
import polars as pl

from tgv_dagster.tables.lexicon import known_labels
from tgv_dagster.tables.model import (
    AsideRow,
    Choice,
    Native,
    Question,
    QuestionKind,
    RawTable,
    SetAside,
    TableUnreadable,
)
from tgv_dagster.tables.reading.dialect import looks_typed
from tgv_dagster.tables.reading.header import clean_labels, find_header, usual_width
from tgv_dagster.tables.reading.sums import without_sums
from tgv_dagster.tables.reading.tidying import tidy

MOST_ROWS = 1_048_576
_HEAD_ROWS = 300
_KIND = pl.Enum([str(kind) for kind in Native])


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell; `text` is what is stored as raw, `native` what the source says it is."""

    text: str
    native: Native = Native.TEXT


EMPTY = Cell("")


@dataclass(frozen=True, slots=True)
class Row:
    """One row with its place in the source (1-based) and whether a formula in it is unsolved."""

    line: int
    cells: tuple[Cell, ...]
    unsolved: bool = False


def from_grid(sheet: str, rows: Sequence[Row], *, header: int | None = None) -> RawTable:
    """A table out of a grid whose labels stand in some row.

    `header` is the line of the labels when it is known (0 = there is none). Raises TableUnreadable
    when the grid has fewer than two columns.
    """
    full = [row for row in rows if any(cell.text.strip() for cell in row.cells)]
    full = _without_left_margin(full)
    if not full:
        raise TableUnreadable("no cells")
    texts = [tuple(cell.text for cell in row.cells) for row in full]
    width = usual_width(Counter(_used(row) for row in texts))
    if width < 2:
        raise TableUnreadable("one column only; that is a list, not a table")
    index, certain = _header_index(full, width, header)
    labels = list(texts[index]) if index is not None else [""] * width
    labels = _joined_labels(texts, index, labels)
    body = full[index + 1 :] if index is not None else full
    width = max([_used(tuple(labels)), *(_used(tuple(c.text for c in r.cells)) for r in body)])
    labels = [*labels, *[""] * (width - len(labels))][:width]
    question = () if certain else (_header_question(full, texts, index),)
    return without_sums(
        tidy(
            replace(
                _table(sheet, clean_labels(labels), body),
                header_line=0 if index is None else full[index].line,
                preamble=tuple(" ".join(t for t in text if t) for text in texts[: index or 0]),
                questions=question,
            )
        )
    )


def parts_of(rows: Sequence[Row]) -> tuple[Sequence[Row], ...]:
    """The tables that stand one below the other in a grid, cut before each heading of its own.

    A block between empty rows begins a table when its first row names columns and values follow;
    everything else belongs to the table above it, or is the preamble of the first.
    """
    blocks: list[list[Row]] = []
    for row in rows:
        if not any(cell.text.strip() for cell in row.cells):
            continue
        if not blocks or row.line > blocks[-1][-1].line + 1:
            blocks.append([])
        blocks[-1].append(row)
    begins = [
        number
        for number, block in enumerate(blocks)
        if _begins_table(block) or (number and _begins_other(blocks[number - 1], block))
    ]
    begins = [
        begin
        for begin, end in pairwise([*begins, len(blocks)])
        if sum(map(_is_valued, chain.from_iterable(blocks[begin:end]))) >= 2
    ]
    if len(begins) < 2:
        return (rows,)
    ends = [*begins[1:], len(blocks)]
    return tuple(
        [row for block in blocks[start:end] for row in block]
        for start, end in zip([0, *begins[1:]], ends, strict=True)
    )


def _begins_table(block: Sequence[Row]) -> bool:
    head = [cell.text.strip() for cell in block[0].cells]
    full = [text for text in head if text]
    if len(full) < 3 or known_labels(tuple(full)) < 2:
        return False
    if _is_valued(block[0]):
        return False
    return any(map(_is_valued, block[1:]))


def _begins_other(before: Sequence[Row], block: Sequence[Row]) -> bool:
    """Whether a block is headed by words in a column that held values before, with values below."""
    head = [cell.text.strip() for cell in block[0].cells]
    full = [text for text in head if text]
    if len(full) < 2 or len(set(full)) < len(full) or _is_valued(block[0]) or len(block) < 2:
        return False
    last, below = before[-1].cells, block[1].cells
    if len(before) < 2 or _used(tuple(c.text for c in below)) != _used(tuple(head)):
        return False
    seen = {cell.text.strip() for row in before for cell in row.cells}
    breaks = [
        place
        for place, text in enumerate(head)
        if text and place < len(last) and looks_typed(_shape(last[place]))
    ]
    return bool(breaks) and not seen & set(full) and _is_valued(block[1])


def _is_valued(row: Row) -> bool:
    return any(map(looks_typed, map(_shape, row.cells)))


def from_records(
    sheet: str, labels: Sequence[str], rows: Sequence[Row], aside: tuple[AsideRow, ...] = ()
) -> RawTable:
    """A table out of records whose labels are certain, as lists of objects have them."""
    made = _table(sheet, clean_labels(labels), rows)
    return without_sums(tidy(replace(made, header_line=1, aside=(*made.aside, *aside))))


def _without_left_margin(rows: list[Row]) -> list[Row]:
    margin = min(
        (next(i for i, c in enumerate(row.cells) if c.text.strip()) for row in rows), default=0
    )
    return [Row(row.line, row.cells[margin:], row.unsolved) for row in rows] if margin else rows


def _used(row: tuple[str, ...]) -> int:
    """Cells up to the last one that is not blank."""
    return max((i for i, cell in enumerate(row, start=1) if cell.strip()), default=0)


def _header_index(rows: list[Row], width: int, header: int | None) -> tuple[int | None, bool]:
    if header == 0:
        return None, True
    if header is not None:
        at = next((i for i, row in enumerate(rows) if row.line == header), None)
        if at is None:
            raise TableUnreadable(f"row {header} does not carry the labels")
        return at, True
    shapes = [tuple(map(_shape, row.cells)) for row in rows[:_HEAD_ROWS]]
    trimmed = [shape[: max(width, _used(shape))] for shape in shapes]
    padded = [(*shape, *[""] * (width - len(shape))) for shape in trimmed]
    found = find_header(padded, width)
    return found.index, found.certain


def _shape(cell: Cell) -> str:
    """The text of a cell; a cell that knows its kind looks like a value, whatever it shows."""
    return cell.text if cell.native is Native.TEXT else "0"


def _joined_labels(texts: list[tuple[str, ...]], index: int | None, labels: list[str]) -> list[str]:
    """Labels under a row of repeated (merged) headings carry the heading too."""
    if not index:
        return labels
    above = texts[index - 1]
    if not any(left and left == right for left, right in pairwise(above)):
        return labels
    above = (*above, *[""] * (len(labels) - len(above)))
    return [
        label if not top or top == label else f"{top} {label}".strip()
        for top, label in zip(above, labels, strict=False)
    ]


def _header_question(rows: list[Row], texts: list[tuple[str, ...]], index: int | None) -> Question:
    first = zip(rows[:5], texts[:5], strict=False)
    choices = (
        Choice("0"),
        *(Choice(str(row.line), ((str(row.line), " | ".join(text)),)) for row, text in first),
    )
    suggested = "0" if index is None else str(rows[index].line)
    return Question(QuestionKind.HEADER, "", choices, suggested=suggested)


def _table(sheet: str, labels: tuple[str, ...], rows: Sequence[Row]) -> RawTable:
    width = len(labels)
    solved = [row for row in rows if not row.unsolved]
    filled = [(*row.cells[:width], *[EMPTY] * (width - len(row.cells))) for row in solved]
    columns = list(zip(*filled, strict=True)) or [()] * width
    lines = np.array([row.line for row in solved], dtype=np.int64)
    kinds = {
        f"c{i}": pl.Series([str(cell.native) for cell in column], dtype=_KIND)
        for i, column in enumerate(columns)
        if any(cell.native is not Native.TEXT for cell in column)
    }
    return RawTable(
        sheet=sheet,
        labels=labels,
        cells=pl.DataFrame(
            {
                f"c{i}": pl.Series([cell.text for cell in column], dtype=pl.String)
                for i, column in enumerate(columns)
            }
        ),
        first_lines=lines,
        last_lines=lines,
        header_line=0,
        natives=kinds,
        aside=tuple(
            AsideRow(
                row.line,
                row.line,
                " | ".join(cell.text for cell in row.cells),
                SetAside.UNSOLVED_FORMULA,
                "a formula has no stored result",
            )
            for row in rows
            if row.unsolved
        ),
    )
