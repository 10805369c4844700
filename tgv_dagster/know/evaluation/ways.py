"""Both ways of one question apart, by the production functions, for measures that look behind the
cards: the full rank of a document, and other joins of the same two lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tgv_dagster.know.balance import (
    BalanceSettings,
    Hit,
    WayResult,
    balance,
)
from tgv_dagster.know.evaluation.stock import ALL, Stock
from tgv_dagster.know.queries import NothingToSearch, QueryTerms, understand
from tgv_dagster.know.search import SearchParts
from tgv_dagster.know.spaces import active_space
from tgv_dagster.know.vectors import ScanSettings, search_vectors
from tgv_dagster.know.wording import hit_filters, wall_terms
from tgv_dagster.know.words import MAX_LIMIT
from tgv_dagster.store import tuning
from tgv_dagster.store.scope import Scope

DEPTH = 60
"""Hits of each way that are looked at."""

_SCAN = ScanSettings(tuning.EXACT_SCAN_ROWS, tuning.RERANK_ROWS)


@dataclass(frozen=True, slots=True)
class Ways:
    """The hits of each way, best first, and the question they belong to."""

    question: str
    vector: tuple[Hit, ...]
    words: tuple[Hit, ...]

    def balanced(self, *, words_first: bool = False) -> list[int]:
        """Documents in the order of rule A″, without a floor."""
        result = balance(
            WayResult(self.vector),
            WayResult(self.words),
            settings=BalanceSettings(words_first=words_first),
            floor=None,
            question=self.question,
        )
        return list(dict.fromkeys(card.document_id for card in result.cards))


def ways_of(stock: Stock, question: str, shelf: str = ALL, depth: int = DEPTH) -> Ways:
    """Ask each way of a stock on its own, as `ways_in`."""
    return ways_in(stock.parts, stock.scope(shelf), question, depth)


def ways_in(parts: SearchParts, scope: Scope, question: str, depth: int = DEPTH) -> Ways:
    """Ask each way on its own, behind the walls of the reader. Raises ValueError for a question
    with nothing to look up."""
    terms = understand(question)
    if isinstance(terms, NothingToSearch):
        raise ValueError(f"nothing to search: {terms.reason}")
    with parts.database.reading(scope) as connection:
        space = active_space(connection)
        vector = parts.embedder.embed_query(terms.for_vector, None)
        near = search_vectors(
            connection, parts.sizes, space, vector, scope, _SCAN, limit=depth
        ).hits
        row = connection.execute("SELECT now()").fetchone()
    assert row is not None
    walls, asked = wall_terms(scope, row[0]), hit_filters(scope)
    by_word = parts.words.search(terms, walls, asked, min(depth, MAX_LIMIT))
    return Ways(
        question,
        tuple(Hit(hit.document_id, hit.chunk_id, hit.score) for hit in near),
        tuple(Hit(hit.document_id, hit.chunk_id, hit.score) for hit in by_word),
    )


def keys_of(stock: Stock, documents: Sequence[int]) -> list[str]:
    """The keys of documents, each once, in order."""
    return list(dict.fromkeys(stock.keys[document] for document in documents))


def askable(question: str) -> bool:
    """Whether a question holds anything to look up."""
    return isinstance(understand(question), QueryTerms)
