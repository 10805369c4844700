"""Address columns: two or three parties side by side in the head of a paper.

Here belongs cutting such a head into columns and saying which side of the document each one is: by
the label on top, by contacts that only a sender prints, and by what is left for the other one. Text
with kept positions and text whose gaps were closed to two blanks are both read: where a line has
fewer cells than columns, its cell goes to the column below which it stands, or to the one that
still lacks its town. Which firm stands in a column belongs to `parties`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tgv_dagster.understand.amounts import Offsets


class PartyRole(StrEnum):
    """Sides of a document."""

    SUPPLIER = "supplier"
    BILL_TO = "bill_to"
    SHIP_TO = "ship_to"
    MENTIONED = "mentioned"


@dataclass(frozen=True, slots=True)
class Cell:
    """A stretch of a line between column gaps; `column` is its distance from the line start."""

    start: int
    end: int
    line: int
    first: bool
    column: int


@dataclass(frozen=True, slots=True)
class AddressColumn:
    """The cells of one party from top to bottom, its side, and whether a label says so."""

    cells: tuple[Cell, ...]
    role: PartyRole | None
    labelled: bool

    def holds(self, position: int) -> bool:
        """Whether a place of the text lies in this column."""
        return any(cell.start <= position < cell.end for cell in self.cells)


POSTCODE = re.compile(
    r"(?:^|[,·•|] ?|(?<=\s))(?:[A-Z]{1,2}[ -]{1,3})?[0-9]{4,6} [A-ZÄÖÜÉÈА-Я][\w.' -]{2,}"
    r"|[A-Z]{1,2}[0-9][0-9A-Z]? [0-9][A-Z]{2}(?!\w)|[A-Z]{2} [0-9]{5}(?![0-9])"
)
CONTACT = re.compile(
    r"@|www\.|(?:tel|fon|fax)\b|\+[0-9]{2}|iban|bic|\bhr[ab]\b|rcs|siret|ust-?id", re.IGNORECASE
)
_HEAD_LINES, _FOOT_LINES = 40, 3
_MOST_COLUMNS = 3
_ALIGNED = 3
_LEAST_DEPTH = 3

LabelOf = Callable[[Cell], PartyRole | None]


def find(text: str, cells: Sequence[Cell], label_of: LabelOf) -> tuple[AddressColumn, ...]:
    """The columns of every head of addresses; empty where parties stand one below the other.

    `label_of` gives the side that a cell names when a label opens it; columns that all have one of
    their own, with a name and a street below it, need no town.
    """
    found: list[AddressColumn] = []
    for rows in _regions(cells):
        columns = _columns(text, rows)
        addressed = [any(POSTCODE.search(text[c.start : c.end]) for c in col) for col in columns]
        headed = {label_of(column[0]) for column in columns if column} - {None}
        deep = all(len(column) >= _LEAST_DEPTH for column in columns)
        if sum(addressed) >= 2 or (deep and len(headed) == len(columns) >= 2):
            found += _sides(text, columns, label_of)
    return tuple(found)


def _regions(cells: Sequence[Cell]) -> Iterator[list[list[Cell]]]:
    """Neighbouring lines of which at least two have several cells."""
    rows: dict[int, list[Cell]] = {}
    for cell in cells:
        if cell.line >= _HEAD_LINES:
            break
        rows.setdefault(cell.line, []).append(cell)
    region: list[list[Cell]] = []
    for line in range(_HEAD_LINES + 1):
        if line in rows:
            region.append(rows[line])
            continue
        if sum(len(row) > 1 for row in region) >= 2:
            yield region
        region = []


def _columns(text: str, rows: list[list[Cell]]) -> list[list[Cell]]:
    """The cells of a region by column."""
    widths = Counter(len(row) for row in rows if 1 < len(row) <= _MOST_COLUMNS)
    if not widths:
        return []
    count = max(widths, key=lambda width: (widths[width], width))
    starts = [_steady([row[n].column for row in rows if len(row) == count]) for n in range(count)]
    columns: list[list[Cell]] = [[] for _ in range(count)]
    opened = False
    for row in rows:
        opened = opened or len(row) > 1
        if len(row) == count:
            for column, cell in zip(columns, row, strict=True):
                column.append(cell)
        elif len(row) < count and opened:
            for cell in row:
                place = _place(text, cell, columns, starts)
                if place is not None:
                    columns[place].append(cell)
    return columns


def _steady(starts: list[int]) -> int | None:
    """Where a column begins, None where its cells do not stand below each other."""
    return starts[0] if max(starts) - min(starts) <= _ALIGNED else None


def _place(
    text: str, cell: Cell, columns: list[list[Cell]], starts: list[int | None]
) -> int | None:
    """The column of a cell that stands alone on its line, None when nothing tells."""
    kept = len(columns[0]) > 1 and all(start is not None for start in starts)
    if cell.column and kept:
        near = [abs(cell.column - start) for start in starts if start is not None]
        return near.index(min(near)) if min(near) <= _ALIGNED else None
    if POSTCODE.search(text[cell.start : cell.end]):
        lacking = [
            n for n, column in enumerate(columns)
            if column and not any(POSTCODE.search(text[c.start : c.end]) for c in column)
        ]  # fmt: skip
        return lacking[0] if len(lacking) == 1 else None
    return 0 if kept and cell.column == starts[0] else None


def _sides(
    text: str, columns: list[list[Cell]], label_of: LabelOf
) -> list[AddressColumn]:  # fmt: skip
    """Labels first, then contacts, then what is left over for the one column without a side."""
    roles: list[PartyRole | None] = [
        next((role for cell in column[:2] if (role := label_of(cell)) is not None), None)
        for column in columns
    ]
    labelled = [role is not None for role in roles]
    if not any(labelled):
        sends = [any(CONTACT.search(text[c.start : c.end]) for c in column) for column in columns]
        if sum(sends) == 1:
            roles[sends.index(True)] = PartyRole.SUPPLIER
    open_ones = [
        n for n, column in enumerate(columns)
        if roles[n] is None and any(POSTCODE.search(text[c.start : c.end]) for c in column)
    ]  # fmt: skip
    missing = {PartyRole.SUPPLIER, PartyRole.BILL_TO} - set(roles)
    if len(open_ones) == 1 and len(missing) == 1:
        roles[open_ones[0]] = missing.pop()
    return [
        AddressColumn(tuple(column), role, named)
        for column, role, named in zip(columns, roles, labelled, strict=True)
    ]


def column_at(columns: Sequence[AddressColumn], position: int) -> AddressColumn | None:
    """The column around a place."""
    return next((column for column in columns if column.holds(position)), None)


def name_span(column: AddressColumn, text: str, *, below_label: bool) -> Offsets | None:
    """The first cell that is no label alone: the name of the party."""
    cells = column.cells[1:] if below_label and len(column.cells) > 1 else column.cells
    for cell in cells:
        if text[cell.start : cell.end].strip(" :*-"):
            return cell.start, cell.end
    return None
