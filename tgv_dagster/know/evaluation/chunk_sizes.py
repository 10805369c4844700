"""The chunk-size study: sizes and overlaps, windows against whole chunks, by class (EVAL-01 to 16).

Long letters of near-duplicate sentences hold one answer or one disturber each. Per question the
full rank of the right document and of the disturber is kept; no average decides (EVAL-13).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tgv_dagster.know.chunks import ChunkSettings
from tgv_dagster.know.embeddings import Embedder
from tgv_dagster.know.evaluation.measures import rank_of
from tgv_dagster.know.evaluation.questions import Study, StudyQuestion
from tgv_dagster.know.evaluation.stock import Stock, StockDocument, built
from tgv_dagster.know.evaluation.template_corpus import THING_NAMES, TOWNS
from tgv_dagster.know.evaluation.ways import keys_of, ways_of

WINDOW = 300
_WHOLE_CHUNK = 20_000
_DEEP = 10_000


@dataclass(frozen=True, slots=True)
class QuestionRank:
    """Rank of the right document and of the disturber by the vector way, from 1; the place of the
    right one among the cards of the whole search, None when it is not shown."""

    id: str
    kind: str
    rank: int | None
    disturber: int | None
    card: int | None
    score: float


@dataclass(frozen=True, slots=True)
class SizeResult:
    """One setting: how many chunks it makes, the ranks, and the best score of nonsense (EVAL-14).

    window None: the whole chunk was embedded.
    """

    size: int
    overlap: int
    window: int | None
    chunks: int
    ranks: tuple[QuestionRank, ...]
    best_nonsense: float


def letters(study: Study) -> list[StockDocument]:
    """Letters with an answer or a disturber, then letters of filler alone; the same every time."""
    chance = random.Random(11)
    made = []
    for question in study.questions:
        made.append(_letter(study, chance, _answer_key(question), question.answer, question.depth))
        made.append(_letter(study, chance, _disturber_key(question), question.disturber, 0.5))
    made += [
        _letter(study, chance, f"filler/{number}", "", 0.5)
        for number in range(max(0, study.documents - len(made)))
    ]
    return made


def run(
    url: str, study: Study, embedder: Embedder, *, windows: Sequence[int | None] = (WINDOW, None)
) -> tuple[SizeResult, ...]:
    """Every size with every overlap that fits it, on a stock of its own each (EVAL-12)."""
    documents = letters(study)
    return tuple(
        _one(url, study, documents, embedder, size, overlap, window)
        for window in windows
        for size in study.sizes
        for overlap in study.overlaps
        if overlap < size
    )


def _one(
    url: str,
    study: Study,
    documents: Sequence[StockDocument],
    embedder: Embedder,
    size: int,
    overlap: int,
    window: int | None,
) -> SizeResult:
    settings = ChunkSettings(size, overlap, min(size, window or _WHOLE_CHUNK))
    with built(url, documents, embedder, settings) as stock:
        return SizeResult(
            size,
            overlap,
            window,
            chunks=_chunks(stock),
            ranks=tuple(_ranks(stock, question) for question in study.questions),
            best_nonsense=max(ways_of(stock, text).vector[0].score for text in study.nonsense),
        )


def _chunks(stock: Stock) -> int:
    with stock.database.worker() as connection:
        row = connection.execute("SELECT count(*) FROM rag_chunks WHERE active").fetchone()
    assert row is not None
    return int(row[0])


def _ranks(stock: Stock, question: StudyQuestion) -> QuestionRank:
    near = ways_of(stock, question.ask, depth=_DEEP).vector
    ordered = keys_of(stock, [hit.document_id for hit in near])
    shown = keys_of(stock, [card.document_id for card in stock.ask(question.ask).cards])
    return QuestionRank(
        question.id,
        question.kind,
        rank_of(_answer_key(question), ordered),
        rank_of(_disturber_key(question), ordered),
        rank_of(_answer_key(question), shown),
        near[0].score,
    )


def _letter(
    study: Study, chance: random.Random, key: str, inserted: str, depth: float
) -> StockDocument:
    sentences = list(_filler(study, chance))
    at = round(len(sentences) * depth)
    parts = [*sentences[:at], *([inserted] if inserted else []), *sentences[at:]]
    return StockDocument(key, " ".join(parts))


def _filler(study: Study, chance: random.Random) -> Iterator[str]:
    length = 0
    while length < study.characters:
        sentence = chance.choice(study.filler).format(
            day=chance.randint(1, 28),
            no=f"{chance.randint(10, 99)}-{chance.randint(0, 99_999):05d}",
            town=chance.choice(TOWNS),
            thing=chance.choice(THING_NAMES),
        )
        length += len(sentence) + 1
        yield sentence


def _answer_key(question: StudyQuestion) -> str:
    return f"answer/{question.id}"


def _disturber_key(question: StudyQuestion) -> str:
    return f"disturber/{question.id}"
