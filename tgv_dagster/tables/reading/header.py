"""Which row carries the labels: preamble above, rows below, or a question when nothing tells.

Pure functions over the first rows of a table. Evidence for a header is the contrast with the rows
below (values of a type under a label of none) or words of the lexicon.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tgv_dagster.tables.lexicon import known_labels
from tgv_dagster.tables.reading.dialect import looks_typed

_SPACES = re.compile(r"\s+")
_SEARCHED = 60
_BELOW = 200
_CONTRAST = 0.8
_WIDE = 12
"""Cells beyond this many do not make a row weigh more."""

_DISTINCT = 0.8

Rows = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class HeaderFound:
    """Index of the header row (None: the first row is data already) and whether that is proven."""

    index: int | None
    certain: bool


@dataclass(frozen=True, slots=True)
class _Candidate:
    index: int
    typed: float
    contrast: int
    words: int
    filled: int


def find_header(rows: Rows, width: int) -> HeaderFound:
    """Find the header among the first rows; `width` is the usual number of cells of a row."""
    found = [c for i in range(min(len(rows), _SEARCHED)) if (c := _candidate(rows, i, width))]
    if not found:
        return HeaderFound(None, certain=False)
    best = max(found, key=lambda c: (c.words >= 2, round(c.typed, 3), c.words, c.filled, -c.index))
    if best.contrast or _by_words(best, found):
        return HeaderFound(best.index, certain=not _headless(rows, best, width))
    return HeaderFound(best.index, certain=False)


def usual_width(rows_of: Mapping[int, int]) -> int:
    """The width of the rows that hold most cells, from the number of rows per width.

    A preamble of pairs outweighs no table.
    """
    counts = {width: rows for width, rows in rows_of.items() if width > 1} or rows_of
    return max(counts, key=lambda w: (counts[w] * min(w, _WIDE), w)) if counts else 0


def clean_labels(cells: Sequence[str]) -> tuple[str, ...]:
    """Labels as columns are named: trimmed, blank ones by number, repeated ones counted."""
    seen: Counter[str] = Counter()
    labels = []
    for number, cell in enumerate(cells, start=1):
        label = _SPACES.sub(" ", cell).strip() or f"#{number}"
        seen[label] += 1
        labels.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return tuple(labels)


def _by_words(best: _Candidate, found: list[_Candidate]) -> bool:
    """Words alone prove a header when it has two of them and no other row has as many."""
    others = [c.words for c in found if c.index != best.index]
    return best.words >= 2 and best.words > max(others, default=0)


def _candidate(rows: Rows, index: int, width: int) -> _Candidate | None:
    row = [cell.strip() for cell in rows[index]]
    if not _label_like(row, width):
        return None
    below = [r for r in rows[index + 1 : index + 1 + _BELOW] if abs(len(r) - len(row)) <= 1]
    typed = 0.0
    contrast = 0
    for column, label in enumerate(row):
        cells = [r[column].strip() for r in below if column < len(r)]
        full = [cell for cell in cells if cell]
        if not label or not full:
            continue
        share = sum(map(looks_typed, full)) / len(full)
        typed += share
        contrast += share >= _CONTRAST
    return _Candidate(index, typed, contrast, known_labels(tuple(row)), sum(map(bool, row)))


def _label_like(row: list[str], width: int) -> bool:
    full = [cell for cell in row if cell]
    if abs(len(row) - width) > 1 or len(full) < min(width, max(2, (width + 1) // 2)):
        return False
    if any(map(looks_typed, full)) or full[0].endswith(":"):
        return False
    return len(set(full)) >= _DISTINCT * len(full)


def _headless(rows: Rows, best: _Candidate, width: int) -> bool:
    """Whether rows like those of the table stand above the header: it may be one of them.

    One full row above may be a heading over groups of columns.
    """
    above = rows[: best.index]
    values = any(
        len(row) == width and sum(looks_typed(cell) for cell in row if cell.strip()) * 2 >= width
        for row in above
    )
    full = sum(sum(bool(cell.strip()) for cell in row) >= max(3, best.filled) for row in above)
    return values or full > 1
