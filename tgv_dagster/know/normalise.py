"""What a text is indexed as: the terms of its words, stems, letter groups and identifiers.

Here belongs only putting together what `folding` and `identifiers` yield, fast enough for a
rebuild. What does not belong here: which words of a question matter (`queries`) and how a query is
scored (`word_query`).
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from tgv_dagster.know.identifiers import Part, held, read_part, terms_of
from tgv_dagster.know.stems import grams, stems
from tgv_dagster.understand.folding import collapse, compose, without_marks, words

RULES_VERSION = 2
"""Part of the word index fingerprint: raise it whenever a text yields other terms."""

_VOCABULARY = 50_000
"""Different stretches of text whose terms are remembered; about 40 MB when full."""


@dataclass(frozen=True, slots=True)
class IndexTexts:
    """What one text is indexed as: four fields, terms separated by white space.

    plain: every word in order, collapsed; stem: its stems over all languages; compound: letter
    groups of its different words; ids: normalised dates, amounts and identifiers.
    """

    plain: str
    stem: str
    compound: str
    ids: str


@lru_cache(_VOCABULARY)
def _entry(part: str) -> tuple[str, str, str, Part | None]:
    folded = without_marks(part).strip()
    found = words(folded)
    return (
        " ".join(map(collapse, found)),
        " ".join(chain.from_iterable(map(stems, found))),
        " ".join(chain.from_iterable(map(grams, found))),
        read_part(folded),
    )


def index_texts(text: str) -> IndexTexts:
    """The terms of a text for the four fields of the word index."""
    parts = compose(text).split()
    if not parts:
        return IndexTexts("", "", "", "")
    plain, stem, compound, read = zip(*map(_entry, parts), strict=True)
    return IndexTexts(
        plain=" ".join(plain),
        stem=" ".join(stem),
        compound=" ".join(dict.fromkeys(compound)),
        ids=" ".join(held(terms_of(parts, read))),
    )
