"""Layout: words with positions become lines in reading order, rows of tables kept whole.

Here: pure geometry, the same for a text layer and for OCR. Not here: where words come from.
Coordinates: any unit, origin top left, y downwards, text running left to right. Plain lists and
loops: a page has some dozen runs, for which array calls cost more than they save.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

HYPHEN = "\ufffe"
"""Ends a word that goes on in the next input word, over the end of a line."""

_SEPARATORS = ("", " ", "  ", "\n", "\n\n")
_JOIN, _BLANK, _GAP, _LINE, _PARAGRAPH = range(5)
_WIDE_GAP = 1.2
_PROSE_CHARS = 24
_PROSE_ROWS = 5
_OPEN_ROWS = 6

Box = Sequence[float]


@dataclass(frozen=True, slots=True)
class Laid:
    """Text in reading order, the span of each word in it, and which input word stands there."""

    text: str
    spans: list[tuple[int, int]]
    order: list[int]


@dataclass(slots=True)
class _Segment:
    """Neighbouring words of one drawn line without a wide gap between them."""

    first: int
    last: int
    x0: float
    x1: float
    left: tuple[float, float]
    right: tuple[float, float]
    middle: float
    chars: int
    prose: bool


_Row = list[_Segment]
_MIDDLE = attrgetter("middle")
_LEFT_EDGE = attrgetter("x0")


def lay_out(words: list[str], lines: Sequence[int], boxes: Sequence[Box]) -> Laid:
    """Arrange `words` or runs of words (in drawing order, with line numbers and boxes).

    Drawing order is kept where it runs down the page; otherwise rows are rebuilt from positions,
    and two columns of prose are read one after the other.
    """
    if not words:
        return Laid("", [], [])
    separators = _as_drawn(words, lines, boxes)
    if separators is not None:
        return _join(words, list(range(len(words))), separators, boxes)
    order, separators = _rebuild(words, lines, boxes)
    return _join([words[index] for index in order], order, separators, boxes)


def _as_drawn(words: list[str], lines: Sequence[int], boxes: Sequence[Box]) -> list[int] | None:
    """Separators when drawing order is reading order: every line stands below the one before.

    None when it is not, or when long runs stand side by side so often that they may be columns.
    """
    separators: list[int] = []
    beside = 0
    line = lines[0]
    _, top, right, low = start = boxes[0]
    for index in range(1, len(boxes)):
        x0, y0, x1, y1 = box = boxes[index]
        high = y1 - y0
        if lines[index] == line:
            size = min(low - top, high)
            gap = x0 - right
            if gap < -size or abs(y0 + y1 - top - low) > 1.4 * size:
                return None
            wide = gap > _WIDE_GAP * size
            separators.append(_GAP if wide else _BLANK)
            if wide and min(len(words[index]), len(words[index - 1])) >= _PROSE_CHARS:
                beside += 1
        else:
            line = lines[index]
            if y0 + y1 - start[1] - start[3] <= min(start[3] - start[1], high):
                return None
            separators.append(_LINE)
            start = box
        top, right, low = y0, x1, y1
    return separators if beside < _PROSE_ROWS else None


def _middle(box: Box) -> float:
    return (box[1] + box[3]) / 2


def _join(
    ordered: list[str], order: list[int], separators: list[int], boxes: Sequence[Box]
) -> Laid:
    _mark_paragraphs(order, separators, boxes)
    before = ["", *(_SEPARATORS[code] for code in separators)]
    text = "".join(chain.from_iterable(zip(before, ordered, strict=True)))
    if HYPHEN in text:
        ordered = _unhyphened(ordered, order, separators)
        before = ["", *(_SEPARATORS[code] for code in separators)]
        text = "".join(chain.from_iterable(zip(before, ordered, strict=True)))
    at = 0
    spans: list[tuple[int, int]] = []
    for pad, word in zip(before, ordered, strict=True):
        start = at + len(pad)
        at = start + len(word)
        spans.append((start, at))
    return Laid(text, spans, order)


def _mark_paragraphs(order: list[int], separators: list[int], boxes: Sequence[Box]) -> None:
    """A line that keeps more distance than usual begins a paragraph."""
    pitches: list[tuple[float, int]] = []
    for place, code in enumerate(separators):
        if code == _LINE:
            above, below = boxes[order[place]], boxes[order[place + 1]]
            pitches.append((abs(below[1] + below[3] - above[1] - above[3]), place))
    if len(pitches) < 3:
        return
    least = 1.6 * sorted(pitches)[len(pitches) // 2][0]
    for pitch, place in pitches:
        if pitch > least:
            separators[place] = _PARAGRAPH


def _unhyphened(ordered: list[str], order: list[int], separators: list[int]) -> list[str]:
    """Join a word over its line end; the hyphen goes when small letters follow."""
    mended = list(ordered)
    for place, word in enumerate(ordered):
        if not word.endswith(HYPHEN):
            continue
        follows = place + 1 < len(order) and order[place + 1] == order[place] + 1
        if follows:
            separators[place] = _JOIN
        lower = follows and ordered[place + 1][:1].islower()
        mended[place] = word[:-1] if lower else word[:-1] + "-"
    return mended


def _rebuild(
    words: list[str], lines: Sequence[int], boxes: Sequence[Box]
) -> tuple[list[int], list[int]]:
    order: list[int] = []
    separators: list[int] = []
    for row in _reading_order(_rows(_segments(words, lines, boxes))):
        for place, segment in enumerate(row):
            if order:
                separators.append(_between(row, place))
            order.extend(range(segment.first, segment.last + 1))
            separators.extend([_BLANK] * (segment.last - segment.first))
    return order, separators


def _between(row: _Row, place: int) -> int:
    if place == 0:
        return _LINE
    segment, before = row[place], row[place - 1]
    gap, size = segment.x0 - before.x1, segment.left[1] - segment.left[0]
    if gap > 0.9 * size:
        return _GAP
    return _JOIN if gap < 0.08 * size and before.chars + segment.chars > 2 else _BLANK


def _segments(words: list[str], lines: Sequence[int], boxes: Sequence[Box]) -> list[_Segment]:
    found: list[_Segment] = []
    first = 0
    for index in range(1, len(words) + 1):
        if index < len(words) and not _breaks(lines, boxes, index):
            continue
        a, b = boxes[first], boxes[index - 1]
        text = words[first] if first == index - 1 else " ".join(words[first:index])
        prose = len(text) >= _PROSE_CHARS and text.count(" ") >= 3
        left, right = (a[1], a[3]), (b[1], b[3])
        middle = (a[1] + a[3]) / 2
        found.append(_Segment(first, index - 1, a[0], b[2], left, right, middle, len(text), prose))
        first = index
    return found


def _breaks(lines: Sequence[int], boxes: Sequence[Box], index: int) -> bool:
    if lines[index] != lines[index - 1]:
        return True
    before, box = boxes[index - 1], boxes[index]
    size = min(before[3] - before[1], box[3] - box[1])
    gap = box[0] - before[2]
    return gap > _WIDE_GAP * size or gap < -size or abs(_middle(box) - _middle(before)) > 0.7 * size


def _rows(segments: list[_Segment]) -> list[_Row]:
    """Put segments that stand beside each other into one row; rows from top to bottom.

    One sweep down the page does it where rows are level and apart; where two segments of a row
    would lie upon each other, every segment is compared with its neighbours.
    """
    segments.sort(key=_MIDDLE)
    rows: list[_Row] = []
    top = low = 0.0
    for segment in segments:
        upper, lower = segment.left
        if rows and min(low, lower) - max(top, upper) >= 0.5 * min(low - top, lower - upper):
            rows[-1].append(segment)
        else:
            rows.append([segment])
            top, low = upper, lower
    for row in rows:
        if len(row) > 1:
            row.sort(key=_LEFT_EDGE)
            right = row[0].x1
            for segment in row[1:]:
                if segment.x0 < right - 0.3 * (segment.left[1] - segment.left[0]):
                    return _rows_compared(segments)
                right = segment.x1
    return rows


def _rows_compared(segments: list[_Segment]) -> list[_Row]:
    rows: list[_Row] = []
    lows: list[float] = []
    for segment in segments:
        (top, low), (end_top, end_low) = segment.left, segment.right
        top, low = min(top, end_top), max(low, end_low)
        for place in range(len(rows) - 1, max(-1, len(rows) - 1 - _OPEN_ROWS), -1):
            if lows[place] > top and _fits(rows[place], segment):
                rows[place].append(segment)
                rows[place].sort(key=_LEFT_EDGE)
                lows[place] = max(lows[place], low)
                break
        else:
            rows.append([segment])
            lows.append(low)
    rows.sort(key=lambda row: row[0].middle)
    return rows


def _fits(row: _Row, new: _Segment) -> bool:
    before = after = None
    slack = 0.3 * (new.left[1] - new.left[0])
    for old in row:
        if old.x1 <= new.x0 + slack:
            before = old
        elif new.x1 <= old.x0 + slack:
            after = after or old
        else:
            return False
    if before and not _level(before.right, new.left):
        return False
    return not (after and not _level(new.right, after.left))


def _level(a: tuple[float, float], b: tuple[float, float]) -> bool:
    shared = min(a[1], b[1]) - max(a[0], b[0])
    return shared >= 0.5 * min(a[1] - a[0], b[1] - b[0])


def _reading_order(rows: list[_Row]) -> list[_Row]:
    """Split bands of prose columns; everything else stays row by row."""
    gutter = _gutter(rows)
    if gutter is None:
        return rows
    ordered: list[_Row] = []
    band: list[_Row] = []
    for row in [*rows, None]:
        if row is not None and not any(s.x0 < gutter - 1 and s.x1 > gutter + 1 for s in row):
            band.append(row)
            continue
        ordered += _columns(band, gutter)
        band = []
        if row is not None:
            ordered.append(row)
    return ordered


def _columns(band: list[_Row], gutter: float) -> list[_Row]:
    if sum(_is_prose_pair(row) for row in band) < _PROSE_ROWS:
        return band
    left = [[s for s in row if s.x1 <= gutter + 1] for row in band]
    right = [[s for s in row if s.x1 > gutter + 1] for row in band]
    return [row for row in left if row] + _reading_order([row for row in right if row])


def _is_prose_pair(row: _Row) -> bool:
    return sum(s.prose for s in row) >= 2


def _gutter(rows: list[_Row]) -> float | None:
    """The x between two columns of prose, or None when the page is not set in columns."""
    pairs = [row for row in rows if _is_prose_pair(row)]
    shared = [row for row in rows if len(row) > 1]
    if len(pairs) < _PROSE_ROWS or len(pairs) < 0.5 * len(shared):
        return None
    edges: list[tuple[float, float]] = []
    for row in pairs:
        prose = [s for s in row if s.prose]
        edges.append((prose[0].x1, prose[1].x0))
    edges.sort(key=lambda e: e[1])
    start = edges[len(edges) // 4][1]
    end = max((e[0] for e in edges if e[0] < start), default=start)
    return (start + end) / 2
