"""From what a person types to what is looked up: pure, bounded, and never a query language.

Here belong stop words, the choice of words, phrases and identifiers of a question, and the text
that is embedded for the vector way. Nothing a user types is ever parsed as an operator, so a
colon, a quote or a bracket can neither fail nor reach a field it was not meant for (known faults
131 and 122). What does not belong here: folding (`understand.folding`), tokens (`identifiers`) and
scoring (`word_query`).
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources

from tgv_dagster.know.identifiers import IdTerm, id_terms
from tgv_dagster.know.stems import compound_ends, grams, stems
from tgv_dagster.understand.folding import collapse, fold, is_unspaced, words

MAX_CHARACTERS = 4_000
MAX_WORDS = 48
MAX_IDS = 16
MAX_PHRASES = 8
MAX_PHRASE_WORDS = 12
_NAME_WORDS = range(2, 5)


class NoSearch(StrEnum):
    """Why a question holds nothing to look up."""

    EMPTY = "empty"
    NO_WORDS = "no_words"
    ONLY_STOP_WORDS = "only_stop_words"


_NO_SEARCH_TEXT = {
    "de": {
        NoSearch.EMPTY: "Nichts zu suchen: Die Frage ist leer.",
        NoSearch.NO_WORDS: "Nichts zu suchen: Die Frage enthält kein Wort und keine Zahl.",
        NoSearch.ONLY_STOP_WORDS: "Nichts zu suchen: Die Frage besteht nur aus Füllwörtern. "
        "Ein Name, ein Gegenstand oder eine Nummer hilft weiter.",
    },
    "fr": {
        NoSearch.EMPTY: "Rien à chercher : la question est vide.",
        NoSearch.NO_WORDS: "Rien à chercher : la question ne contient ni mot ni nombre.",
        NoSearch.ONLY_STOP_WORDS: "Rien à chercher : la question ne contient que des mots vides. "
        "Ajoutez un nom, un objet ou un numéro.",
    },
    "en": {
        NoSearch.EMPTY: "Nothing to search for: the question is empty.",
        NoSearch.NO_WORDS: "Nothing to search for: the question has no word and no number.",
        NoSearch.ONLY_STOP_WORDS: "Nothing to search for: the question has only filler words. "
        "A name, a thing or a number helps.",
    },
}


@dataclass(frozen=True, slots=True)
class NothingToSearch:
    """A question without anything to look up: an answer of its own, not an empty result."""

    reason: NoSearch

    def message(self, language: str) -> str:
        """One sentence for the user in de, fr or en (any other language: en)."""
        return _NO_SEARCH_TEXT.get(language, _NO_SEARCH_TEXT["en"])[self.reason]


@dataclass(frozen=True, slots=True)
class QueryWord:
    """One word of a question in the forms the index holds.

    grams: letter groups that stand together in any compound with the word; ends: the same for the
    ends of a word that may itself be a compound.
    """

    plain: str
    stems: tuple[str, ...] = ()
    grams: tuple[str, ...] = ()
    ends: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """What is looked up for one question.

    words: different words that carry its subject; ids: dates, amounts, identifiers; phrases: runs
    of at least two collapsed words that should stand together; for_vector: the question without
    filler words, to be embedded; truncated: the question was longer than what is looked at;
    stopped: the folded words left out as fillers.
    """

    words: tuple[QueryWord, ...]
    ids: tuple[IdTerm, ...]
    phrases: tuple[tuple[str, ...], ...]
    for_vector: str
    truncated: bool
    stopped: tuple[str, ...]


@cache
def _stop_lists() -> dict[str, frozenset[str]]:
    table = tomllib.loads(
        resources.files("tgv_dagster.know").joinpath("data/stopwords.toml").read_text("utf-8")
    )
    return {
        language: frozenset(words(fold(lists["function"] + " " + lists["colloquial"])))
        for language, lists in table.items()
    }


def stop_words(found: Iterable[str]) -> frozenset[str]:
    """Which of the folded words of one question are fillers.

    Only the lists that fit the question count: "car" is a conjunction in a French question and a
    vehicle in an English one. A list fits with at least half as many hits as the best one.
    """
    different = frozenset(found)
    hits = {language: different & stops for language, stops in _stop_lists().items()}
    best = max((len(hit) for hit in hits.values()), default=0)
    fitting = [hit for hit in hits.values() if hit and 2 * len(hit) >= best]
    return frozenset().union(*fitting)


_QUOTED = re.compile('"([^"\n]{3,200})"|„([^“”\n]{3,200})[“”]|“([^”\n]{3,200})”|«([^»\n]{3,200})»')
_JOINED = re.compile(r"(?<![^\W_])[^\W_]++(?:[-/._:@][^\W_]+)+")
_STRETCH = re.compile(r"\S+")


def understand(question: str) -> QueryTerms | NothingToSearch:
    """The terms of a question, or why there is nothing to look up.

    Any input is answered in time bounded by MAX_CHARACTERS: what is longer is cut at that length
    and marked as truncated.
    """
    text = question[:MAX_CHARACTERS]
    folded = fold(text)
    found = words(folded)
    if not found:
        return NothingToSearch(NoSearch.NO_WORDS if question.strip() else NoSearch.EMPTY)
    stopped = stop_words(found)
    kept = [word for word in dict.fromkeys(found) if word not in stopped]
    ids = id_terms(folded)
    if not kept and not ids:
        return NothingToSearch(NoSearch.ONLY_STOP_WORDS)
    query_words = [form for word in _longer_words(kept) for form in _query_words(word)]
    return QueryTerms(
        words=tuple(query_words[:MAX_WORDS]),
        ids=ids[:MAX_IDS],
        phrases=_phrases(text, found, kept),
        for_vector=_without(text, stopped),
        truncated=len(question) > MAX_CHARACTERS
        or len(query_words) > MAX_WORDS
        or len(ids) > MAX_IDS,
        stopped=tuple(word for word in dict.fromkeys(found) if word in stopped),
    )


def _longer_words(kept: list[str]) -> list[str]:
    """Single letters ("l'échéance") say nothing unless there is nothing else."""
    longer = [word for word in kept if len(word) > 1 or not word.isascii() or word.isdigit()]
    return longer or kept


def _query_words(word: str) -> Iterator[QueryWord]:
    if is_unspaced(word) and len(word) > 2:
        # A run without spaces may be a sentence: any of its pairs may match.
        yield from (QueryWord(plain=pair, grams=(pair,)) for pair in grams(word))
    else:
        yield QueryWord(collapse(word), stems(word), grams(word), compound_ends(word))


def _phrases(text: str, found: list[str], kept: list[str]) -> tuple[tuple[str, ...], ...]:
    """Quoted runs, words joined by a sign ("RE-2026/0815"), and a whole short question: a name."""
    runs: dict[tuple[str, ...], None] = {}
    for match in _QUOTED.finditer(text):
        runs[_collapsed(next(part for part in match.groups() if part))] = None
    for match in _JOINED.finditer(text):
        runs[_collapsed(match.group())] = None
    if len(found) in _NAME_WORDS and len(kept) == len(found):
        runs[tuple(map(collapse, found))] = None
    fitting = [run for run in runs if 2 <= len(run) <= MAX_PHRASE_WORDS]
    return tuple(fitting[:MAX_PHRASES])


def _collapsed(run: str) -> tuple[str, ...]:
    return tuple(map(collapse, words(fold(run))))


def _without(text: str, stopped: frozenset[str]) -> str:
    """The question as typed without its fillers; as it stands when nothing else is left.

    Embedded with fillers, the vector averages over them (RET-44).
    """
    kept = [
        stretch
        for stretch in _STRETCH.findall(text)
        if not (found := words(fold(stretch))) or not stopped.issuperset(found)
    ]
    return " ".join(kept) if any(words(fold(stretch)) for stretch in kept) else text.strip()
