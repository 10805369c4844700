"""Cutting a document into chunks to be shown and windows to be embedded: pure and exact.

Here belongs where a text is cut. Small windows find and larger chunks explain, so the text is
first cut into windows at its structure and chunks are runs of whole windows. What does not belong
here: reading pages, detecting languages, walls, storing.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from itertools import pairwise
from typing import Protocol

import regex

PAGE_SEPARATOR = "\n\n"
"""Stands between two pages in the text of a document; its characters belong to the page before."""


class PageText(Protocol):
    """One page as extraction yields it: its number as shown to people, and its text."""

    @property
    def number(self) -> int: ...

    @property
    def text(self) -> str: ...


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """Sizes in characters: a chunk with its overlap, the overlap alone, a window at most.

    Raises ValueError unless 0 <= overlap < size and window >= 1.
    """

    size: int
    overlap: int
    window: int = 300

    def __post_init__(self) -> None:
        if not 0 <= self.overlap < self.size or self.window < 1:
            raise ValueError("chunk settings need 0 <= overlap < size and window >= 1")


@dataclass(frozen=True, slots=True)
class Chunk:
    """One chunk; spans are half open, in characters of the document text.

    text is the document text from span_start to span_end. The cores of all chunks partition the
    document text; the overlap [span_start, core_start) lies outside the core and belongs to the
    core before. windows cover every character of the span that is not white space, each at most
    `ChunkSettings.window` long, in order, without overlap. language is filled by the caller.
    """

    no: int
    text: str
    span_start: int
    span_end: int
    core_start: int
    core_end: int
    page_from: int
    page_to: int
    windows: tuple[tuple[int, int], ...]
    language: str | None = None


def document_text(pages: Sequence[PageText]) -> str:
    """The text all spans refer to."""
    return PAGE_SEPARATOR.join(page.text for page in pages)


def cut(pages: Sequence[PageText], settings: ChunkSettings) -> tuple[Chunk, ...]:
    """Cut a document at pages, headings, paragraphs, table rows, sentences, words, in this order.

    Linear in the length of the text, the same for the same input. A text without anything but
    white space has no chunks. Source: ING-02, ING-03.
    """
    text = document_text(pages)
    if not text.strip():
        return ()
    starts = _page_starts(pages)
    bounds = _windows(text, starts[1:], settings)
    cores = _cores(bounds, settings)
    return tuple(
        _chunk(no, text, core, bounds, settings, pages, starts) for no, core in enumerate(cores)
    )


def _page_starts(pages: Sequence[PageText]) -> list[int]:
    starts, at = [], 0
    for page in pages:
        starts.append(at)
        at += len(page.text) + len(PAGE_SEPARATOR)
    return starts


def _chunk(
    no: int,
    text: str,
    core: tuple[int, int],
    bounds: "_Bounds",
    settings: ChunkSettings,
    pages: Sequence[PageText],
    starts: list[int],
) -> Chunk:
    core_start, core_end = core
    start = _overlap_start(text, core_start, settings.overlap)
    return Chunk(
        no=no,
        text=text[start:core_end],
        span_start=start,
        span_end=core_end,
        core_start=core_start,
        core_end=core_end,
        page_from=pages[bisect_right(starts, start) - 1].number,
        page_to=pages[bisect_right(starts, core_end - 1) - 1].number,
        windows=tuple(_clipped(text, bounds.positions, start, core_end)),
    )


def _clipped(text: str, positions: list[int], start: int, end: int) -> Iterator[tuple[int, int]]:
    """The windows of the document inside one span, without those of nothing but white space."""
    first, last = bisect_right(positions, start), bisect_right(positions, end - 1)
    for low, high in pairwise([start, *positions[first:last], end]):
        if not text[low:high].isspace():
            yield low, high


# --- where to cut ------------------------------------------------------------------------------


class Level(IntEnum):
    """How good a place to cut is; higher is better."""

    ANYWHERE = 0
    WORD = 1
    LINE = 2
    SENTENCE = 3
    ROW = 4
    PARAGRAPH = 5
    HEADING = 6
    PAGE = 7


_LEAST_OF_CHUNK = {
    Level.PAGE: 0.25,
    Level.HEADING: 0.4,
    Level.PARAGRAPH: 0.5,
    Level.ROW: 0.6,
    Level.SENTENCE: 0.7,
    Level.LINE: 0.8,
    Level.WORD: 0.9,
}
"""Share of the size below which a place of that level is too early to be taken: a good place may
leave a chunk half full, a mere space may not."""

_LEAST_OF_WINDOW = {
    Level.HEADING: 0.1,
    Level.PARAGRAPH: 0.3,
    Level.ROW: 0.6,
    Level.SENTENCE: 0.5,
    Level.LINE: 0.6,
    Level.WORD: 0.7,
}
"""The same for windows: lower, because chunks can only be cut where a window ends."""

_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_SENTENCE = re.compile(r"[.!?\u2026\u061f\u06d4\u0964][)\]\"'»”’]{0,3}\s+|[\u3002\uff01\uff1f]")
_LINE = re.compile(r"\n+")
_WORD = re.compile(r"\s+")
_ROW = re.compile(r"(?<=\n)(?=[^\n]{0,400}?(?:\t|\||;[^\n]{0,80};|[^\s][ ]{3,}[^\s]))")
_HEADING = regex.compile(
    r"(?<=\n)(?:(?=#{1,6}[ ]\S|§{1,2}[ ]?\d)"
    r"|(?=\d{1,2}(?:\.\d{1,2}){0,4}\.?[ ]\p{Lu}[^\n]{2,80}\n)"
    r"|(?=(?:Artikel|Article|ARTICLE|Articolo|Art\.|Abschnitt|Section|SECTION|Kapitel|Chapitre"
    r"|Chapter|Anlage|Annexe|Annex|Titre|Teil|Статья|Раздел)[ ][\dIVXLC])"
    r"|(?=\p{Lu}{4,40}(?:[ ]\p{Lu}{1,40}){0,8}[ ]?:?[ ]{0,8}\n))"
)
_LOOK_AHEAD = 500


def _last_end(pattern: re.Pattern[str], text: str, low: int, high: int) -> int:
    """The last place behind a match inside [low, high], -1 for none."""
    place = -1
    for match in pattern.finditer(text, low, high):
        place = match.end()
    return place


def _last_start(
    pattern: re.Pattern[str] | regex.Pattern[str], text: str, low: int, high: int
) -> int:
    """The last place in [low, high] before which to cut; what follows may lie behind `high`."""
    place = -1
    for match in pattern.finditer(text, low, min(len(text), high + _LOOK_AHEAD)):
        if match.start() > high:
            break
        place = match.start()
    return place


_FINDERS: tuple[tuple[Level, Callable[[str, int, int], int]], ...] = (
    (Level.HEADING, partial(_last_start, _HEADING)),
    (Level.PARAGRAPH, partial(_last_end, _PARAGRAPH)),
    (Level.ROW, partial(_last_start, _ROW)),
    (Level.SENTENCE, partial(_last_end, _SENTENCE)),
    (Level.LINE, partial(_last_end, _LINE)),
    (Level.WORD, partial(_last_end, _WORD)),
)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Ends of the windows of a document, ascending, the last one its length, and their levels."""

    positions: list[int]
    levels: list[Level]


def _windows(text: str, page_ends: Sequence[int], settings: ChunkSettings) -> _Bounds:
    """Cut the whole text into windows; a page always ends one."""
    budget = max(1, min(settings.window, settings.size - settings.overlap))
    positions: list[int] = []
    levels: list[Level] = []
    at = 0
    for end in (*page_ends, len(text)):
        while end - at > budget:
            at, level = _best_place(text, at, at + budget)
            positions.append(at)
            levels.append(level)
        if end > at:
            positions.append(end)
            levels.append(Level.PAGE)
            at = end
    return _Bounds(positions, levels)


def _best_place(text: str, start: int, limit: int) -> tuple[int, Level]:
    """The best place to cut in (start, limit]."""
    size = limit - start
    for level, find in _FINDERS:
        low = start + max(1, int(size * _LEAST_OF_WINDOW[level]))
        place = find(text, low, limit)
        if low <= place <= limit:
            return place, level
    return _between_signs(text, start, limit), Level.ANYWHERE


_FURTHEST = 32
_JOINER, _VARIATION = "\u200d", range(0xFE00, 0xFE10)


def _parts_sign(text: str, place: int) -> bool:
    """Whether a cut here would part a letter from its mark, a joined emoji or a line end."""
    if not 0 < place < len(text):
        return False
    before, following = text[place - 1], text[place]
    return (
        unicodedata.combining(following) != 0
        or _JOINER in (before, following)
        or ord(following) in _VARIATION
        or (before == "\r" and following == "\n")
    )


def _between_signs(text: str, start: int, limit: int) -> int:
    """A place near `limit` that parts no sign; `limit` itself when there is none."""
    places = range(limit, max(start, limit - _FURTHEST), -1)
    return next((place for place in places if not _parts_sign(text, place)), limit)


# --- chunks from windows -----------------------------------------------------------------------


def _cores(bounds: _Bounds, settings: ChunkSettings) -> Iterator[tuple[int, int]]:
    """Runs of whole windows; all but the first leave room for the overlap before them."""
    positions = bounds.positions
    at, first, budget = 0, 0, settings.size
    while first < len(positions):
        limit = at + budget
        behind = bisect_right(positions, limit, lo=first)
        if behind == len(positions):
            yield at, positions[-1]
            return
        last = _best_window(bounds, first, behind, at, budget)
        yield at, positions[last]
        at, first, budget = positions[last], last + 1, settings.size - settings.overlap


def _best_window(bounds: _Bounds, first: int, behind: int, at: int, budget: int) -> int:
    """Index of the window a core ends with: the best level that is not too early, the last such."""
    best, best_level = behind - 1, Level.ANYWHERE
    for index in range(behind - 1, first - 1, -1):
        level = bounds.levels[index]
        least = _LEAST_OF_CHUNK.get(level, 1.0)
        if level > best_level and bounds.positions[index] - at >= least * budget:
            best, best_level = index, level
    return best


def _overlap_start(text: str, core_start: int, overlap: int) -> int:
    """Where the overlap before a core starts: at a word, never further back than `overlap`."""
    earliest = max(0, core_start - overlap)
    if earliest in (0, core_start):
        return earliest
    if text[earliest - 1].isspace():
        return earliest
    near = min(core_start, earliest + overlap // 4 + 1)
    space = _WORD.search(text, earliest, near)
    if space is not None and space.end() < core_start:
        return space.end()
    places = range(earliest, min(core_start, earliest + _FURTHEST))
    return next((place for place in places if not _parts_sign(text, place)), earliest)
