"""Rule A″ beside other joins, and floors: the same questions, distractors after the gold.

Here belong the comparison of rule A″ with RRF and weighted fusion, and the measurement of honest
emptiness. Nothing here changes what an answer does: a person sets a switch or a floor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tgv_dagster.know.evaluation.cross_lingual import gold
from tgv_dagster.know.evaluation.fusion import reciprocal_ranks, weighted
from tgv_dagster.know.evaluation.measures import Floor, Quality, floor_at, quality, rank_of
from tgv_dagster.know.evaluation.questions import Pairs, Study
from tgv_dagster.know.evaluation.stock import ALL, Stock, StockDocument
from tgv_dagster.know.evaluation.template_corpus import passages
from tgv_dagster.know.evaluation.ways import Ways, askable, keys_of, ways_of

IDENTIFIED = 60
"""Questions that name a firm, a thing and a number of one near-duplicate."""

RECALL = 0.95

JOINS: Mapping[str, Callable[[Ways], list[int]]] = {
    "A″ (vector leads)": lambda ways: ways.balanced(),
    "A″, words first": lambda ways: ways.balanced(words_first=True),
    "RRF": lambda ways: reciprocal_ranks((ways.vector, ways.words)),
    "weighted .7/.3": lambda ways: weighted((ways.vector, ways.words), (0.7, 0.3)),
    "weighted .5/.5": lambda ways: weighted((ways.vector, ways.words), (0.5, 0.5)),
    "vector alone": lambda ways: [hit.document_id for hit in ways.vector],
    "words alone": lambda ways: [hit.document_id for hit in ways.words],
}
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, its class, the key that answers it, and the shelf it is asked of."""

    kind: str
    text: str
    key: str
    shelf: str


@dataclass(frozen=True, slots=True)
class Balancing:
    """Quality by join and class of questions, over `distractors` inserted after the gold."""

    space_id: str
    distractors: int
    joins: Mapping[str, Mapping[str, Quality]]


@dataclass(frozen=True, slots=True)
class Emptiness:
    """The floor of a space at the stated recall, and what a whole search says below it.

    empty: nonsense questions of which nothing at all is shown; only_unverified: those of which
    only word hits, labelled unverified, are shown.
    """

    space_id: str
    windows: int
    floor: Floor
    empty: float
    only_unverified: float
    best_real: tuple[float, ...]
    best_nonsense: tuple[float, ...]
    best_unanswerable: tuple[float, ...]


def documents(pairs: Pairs, distractors: int) -> list[StockDocument]:
    """The gold first, then near-duplicates of what the identified questions ask for."""
    return [
        *gold(pairs),
        *(
            StockDocument(f"template/{number}", passage.text)
            for number, passage in enumerate(passages(IDENTIFIED + distractors))
        ),
    ]


def questions(pairs: Pairs) -> list[Asked]:
    """Every question of the comparison: own language, other language, and identified."""
    asked = [
        Asked("same language", w[language].ask, f"{topic}/{language}", language)
        for topic, w in pairs.topics.items()
        for language in ("de", "fr")
    ]
    asked += [
        Asked(
            "cross-lingual",
            w[kind.asked_in].ask,
            f"{topic}/{kind.document_in}",
            kind.document_in,
        )
        for topic, w in pairs.topics.items()
        for kind in pairs.kinds
    ]
    asked += [
        Asked("identifiers", passage.question, f"template/{number}", ALL)
        for number, passage in enumerate(passages(IDENTIFIED))
    ]
    return [question for question in asked if askable(question.text)]


def compare(stock: Stock, asked: list[Asked], distractors: int) -> Balancing:
    """Every join over the same two lists of every question."""
    ranks: dict[str, dict[str, list[int | None]]] = {name: {} for name in JOINS}
    for question in asked:
        ways = ways_of(stock, question.text, question.shelf)
        for name, join in JOINS.items():
            found = keys_of(stock, join(ways))[:_SHOWN]
            ranks[name].setdefault(question.kind, []).append(rank_of(question.key, found))
    return Balancing(
        stock.embedder.space.space_id,
        distractors,
        {
            name: {kind: quality(found) for kind, found in kinds.items()}
            for name, kinds in ranks.items()
        },
    )


def emptiness(stock: Stock, asked: list[Asked], study: Study) -> Emptiness:
    """The floor that keeps RECALL of the questions in the own or another language.

    A real question counts with the score of its document. One whose document is not among the
    nearest is lost by rank, with any floor or none, and does not count. Identified questions differ
    from nonsense by their words and are left to the word way.
    """
    real = [
        score
        for question in asked
        if question.kind != "identifiers"
        for score in _scores(ways_of(stock, question.text, question.shelf), stock, question.key)
    ]
    nonsense = [ways_of(stock, text) for text in study.nonsense]
    best_nonsense = [_best(ways) for ways in nonsense]
    unanswerable = [_best(ways_of(stock, text)) for text in study.unanswerable]
    floor = floor_at(RECALL, real, best_nonsense, unanswerable)
    below = [ways for ways, best in zip(nonsense, best_nonsense, strict=True) if best < floor.value]
    silent = sum(not ways.words for ways in below)
    return Emptiness(
        stock.embedder.space.space_id,
        len(stock.keys),
        floor,
        empty=silent / len(nonsense),
        only_unverified=(len(below) - silent) / len(nonsense),
        best_real=tuple(real),
        best_nonsense=tuple(best_nonsense),
        best_unanswerable=tuple(unanswerable),
    )


def _scores(ways: Ways, stock: Stock, key: str) -> list[float]:
    """The score of the document of a question, nothing when it was not found."""
    return [hit.score for hit in ways.vector if stock.keys[hit.document_id] == key][:1]


def _best(ways: Ways) -> float:
    return ways.vector[0].score if ways.vector else -1.0
