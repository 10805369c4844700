"""The part of a chunk that a card shows: where the words of the question stand, and which.

Pure functions from windows and terms to a text with marks. What does not belong here: finding
chunks (`vectors`, `words`) and how a door prints a mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tgv_dagster.know.identifiers import held, id_terms
from tgv_dagster.know.queries import QueryTerms, QueryWord
from tgv_dagster.know.stems import stems
from tgv_dagster.understand.folding import collapse, fold, is_unspaced
from tgv_dagster.understand.folding import words as words_in

MOST_CHARACTERS = 300
"""Length of a snippet, at most."""

_BEFORE_FIRST_MARK = 60
_SHORTEST_INSIDE = 4
_STRETCH = re.compile(r"\S+")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Snippet:
    """A text of at most MOST_CHARACTERS; marks are half-open spans of the words of the question."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What counts as a word of the question: forms, what may stand inside a compound, and ids."""

    forms: frozenset[str]
    inside: tuple[str, ...]
    ids: frozenset[str]

    @classmethod
    def of(cls, terms: QueryTerms) -> _Wanted:
        return cls(
            frozenset(form for word in terms.words for form in (word.plain, *word.stems)),
            tuple(word.plain for word in terms.words if _may_stand_inside(word)),
            frozenset(token for term in terms.ids for token in (*term.exact, *term.wide)),
        )

    def is_word(self, word: str) -> bool:
        folded = "".join(words_in(fold(word)))
        plain = collapse(folded)
        return (
            plain in self.forms
            or not self.forms.isdisjoint(stems(folded))
            or any(part in plain for part in self.inside)
        )

    def is_id(self, stretch: str) -> bool:
        return bool(self.ids) and not self.ids.isdisjoint(held(id_terms(fold(stretch))))


def _may_stand_inside(word: QueryWord) -> bool:
    return len(word.plain) >= _SHORTEST_INSIDE or is_unspaced(word.plain)


def snippet_of(windows: Sequence[str], preferred: int | None, terms: QueryTerms | None) -> Snippet:
    """The window to show, cut around the words of the question.

    `preferred` is the window a vector was nearest with: it is shown unless it holds no word of the
    question while another one does. Without terms, or words, a window is shown from its start.
    """
    if not windows:
        return Snippet("")
    texts = [" ".join(text.split()) for text in windows]
    wanted = None if terms is None else _Wanted.of(terms)
    marked = [() if wanted is None else tuple(_marks(text, wanted)) for text in texts]
    best = _choose(texts, marked, preferred)
    return _cut(texts[best], marked[best])


def _marks(text: str, wanted: _Wanted) -> Iterator[tuple[int, int]]:
    for stretch in _STRETCH.finditer(text):
        if wanted.is_id(stretch.group()):
            yield stretch.span()
            continue
        for word in _WORD.finditer(stretch.group()):
            if wanted.is_word(word.group()):
                yield stretch.start() + word.start(), stretch.start() + word.end()


def _choose(
    texts: Sequence[str],
    marked: Sequence[tuple[tuple[int, int], ...]],
    preferred: int | None,
) -> int:
    if preferred is not None and 0 <= preferred < len(texts) and marked[preferred]:
        return preferred
    # Different words count, not repetitions of one.
    different = [
        len({fold(text[start:end]) for start, end in marks})
        for text, marks in zip(texts, marked, strict=True)
    ]
    if max(different) == 0 and preferred is not None and 0 <= preferred < len(texts):
        return preferred
    return different.index(max(different))


def _cut(text: str, marks: tuple[tuple[int, int], ...]) -> Snippet:
    start = _start(text, marks)
    end = min(len(text), start + MOST_CHARACTERS)
    head = "…" if start else ""
    shift = len(head) - start
    if head:
        end = min(end, start + MOST_CHARACTERS - 1)
    return Snippet(
        head + text[start:end],
        tuple((a + shift, b + shift) for a, b in marks if start <= a and b <= end),
    )


def _start(text: str, marks: tuple[tuple[int, int], ...]) -> int:
    """Where the excerpt starts: at a word, so that as many marks as possible lie inside."""
    if len(text) <= MOST_CHARACTERS or not marks:
        return 0
    held_by = [sum(m < a + MOST_CHARACTERS - _BEFORE_FIRST_MARK for m, _ in marks[at:])
               for at, (a, _) in enumerate(marks)]  # fmt: skip
    first = marks[held_by.index(max(held_by))][0]
    wished = max(0, min(first - _BEFORE_FIRST_MARK, len(text) - MOST_CHARACTERS + 1))
    space = text.find(" ", wished, first)
    return 0 if wished == 0 else (first if space < 0 else space + 1)
