"""The structure of a text table, found with arrays: where records end and how wide they are.

A regular file (quotes only around whole cells, doubled inside) is read by Polars afterwards; this
module proves beforehand that Polars will see the same records. Anything irregular gives None, and
the careful reader in `delimited` takes over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_CHUNK = 2**18
_NEWLINE, _RETURN = 10, 13


@dataclass(frozen=True, slots=True)
class Structure:
    """Records of a file. Arrays have one entry per record; blank lines are records of width 1.

    `starts`/`ends` are byte offsets (end exclusive, without the line end), lines are 1-based.
    """

    starts: np.ndarray
    ends: np.ndarray
    widths: np.ndarray
    first_lines: np.ndarray
    last_lines: np.ndarray


def structure_of(data: bytes, delimiter: str, quote: str) -> Structure | None:
    """Find the records of UTF-8 bytes; None when the quoting is not regular."""
    if not data or len(delimiter) != 1 or ord(delimiter) > 127:
        return None
    cells = np.frombuffer(data, dtype=np.uint8)
    ends: list[np.ndarray] = []
    bars: list[np.ndarray] = []
    lines: list[np.ndarray] = []
    total_bars = total_lines = total_quotes = 0
    for begin in range(0, len(cells), _CHUNK):
        part = cells[begin : begin + _CHUNK]
        newlines = np.flatnonzero(part == _NEWLINE) + begin
        splits = np.flatnonzero(part == ord(delimiter)) + begin
        line_numbers = np.arange(total_lines + 1, total_lines + 1 + len(newlines))
        total_lines += len(newlines)
        if quote:
            quotes = np.flatnonzero(part == ord(quote)) + begin
            if not _regular(cells, quotes, total_quotes, ord(delimiter), ord(quote)):
                return None
            outside = (np.searchsorted(quotes, newlines) + total_quotes) % 2 == 0
            newlines, line_numbers = newlines[outside], line_numbers[outside]
            splits = splits[(np.searchsorted(quotes, splits) + total_quotes) % 2 == 0]
            total_quotes += len(quotes)
        ends.append(newlines)
        lines.append(line_numbers)
        bars.append(np.searchsorted(splits, newlines) + total_bars)
        total_bars += len(splits)
    if total_quotes % 2:
        return None
    end, bar, line = (np.concatenate(found) for found in (ends, bars, lines))
    if cells[-1] != _NEWLINE:
        end, bar = np.append(end, len(cells)), np.append(bar, total_bars)
        line = np.append(line, total_lines + 1)
    starts = np.append([0], end[:-1] + 1)
    widths = np.diff(bar, prepend=0) + 1
    first_lines = np.append([1], line[:-1] + 1)
    has_return = (end > starts) & (cells[np.maximum(end - 1, 0)] == _RETURN)
    return Structure(starts, end - has_return, widths, first_lines, line)


def _regular(
    cells: np.ndarray, quotes: np.ndarray, before: int, delimiter: int, quote: int
) -> bool:
    """Whether opening quotes begin a cell and closing quotes end one (or double another)."""
    if not len(quotes):
        return True
    opening = quotes[before % 2 :: 2]
    closing = quotes[1 - before % 2 :: 2]
    left = cells[np.maximum(opening - 1, 0)]
    starts = (opening == 0) | np.isin(left, (delimiter, _NEWLINE, quote))
    right = cells[np.minimum(closing + 1, len(cells) - 1)]
    last = closing == len(cells) - 1
    stops = last | np.isin(right, (delimiter, _NEWLINE, _RETURN, quote))
    return bool(starts.all() and stops.all())
