"""Stems and letter groups of folded words: what lets "Verträge" meet "Vertrag" and "Mietvertrag".

Both sides of the word search call these functions. What does not belong here: folding itself
(`understand.folding`) and what an index holds of a text (`normalise`).
"""

import re
from functools import cache

import tantivy

from tgv_dagster.understand.folding import collapse, is_unspaced

STEM_LANGUAGES: tuple[str, ...] = ("german", "french", "english", "italian", "russian")
"""Stemmers every word runs through, whatever language a text is labelled with (ING-08, ING-22)."""

GRAM = 4
LONGEST_GRAMMED = 64
_DIGIT = re.compile(r"\d")


@cache
def _stemmers() -> tuple[tuple[str, tantivy.TextAnalyzer], ...]:
    return tuple(
        (
            language,
            tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw())
            .filter(tantivy.Filter.stemmer(language))
            .build(),
        )
        for language in STEM_LANGUAGES
    )


def stems(word: str) -> tuple[str, ...]:
    """The different stems of a folded word over all stemmers; none for a word with digits.

    The German stemmer reads the collapsed spelling, the others the folded one: "issue" and
    "issues" would part ways without their "ue".
    """
    if _DIGIT.search(word):
        return ()
    found = dict.fromkeys(
        analyser.analyze(collapse(word) if language == "german" else word)[0]
        for language, analyser in _stemmers()
    )
    return tuple(found)


def grams(word: str) -> tuple[str, ...]:
    """Letter groups of a folded word: fours of the collapsed spelling, twos where a script writes
    without spaces; none for a shorter word, a word with digits (`identifiers` reads those) and a
    run too long to be one. They let "Vertrag" meet "Mietvertrag".
    """
    unspaced = is_unspaced(word)
    if _DIGIT.search(word) or (len(word) > LONGEST_GRAMMED and not unspaced):
        return ()
    size = 2 if unspaced else GRAM
    spelling = collapse(word)
    return tuple(dict.fromkeys(spelling[i : i + size] for i in range(len(spelling) - size + 1)))


def compound_ends(word: str) -> tuple[tuple[str, ...], ...]:
    """Letter groups of the ends of a long folded word, the last half first: "Mietvertrag" may
    stand in a text as "Vertrag" or as "Miete".
    """
    half = len(collapse(word)) // 2
    if half < GRAM or is_unspaced(word):
        return ()
    spelling = collapse(word)
    ends = (grams(spelling[-half - 1 :]), grams(spelling[: half - 1]))
    return tuple(end for end in ends if end)
