"""Builders of rows, walls and searches for the tests of the word index."""

import datetime as dt
from dataclasses import replace
from typing import Any

from tgv_dagster.know.queries import QueryTerms, understand
from tgv_dagster.know.word_model import HitFilters, WallTerms, WordRow
from tgv_dagster.know.words import WordIndex

NOW = dt.datetime(2026, 9, 1, 12, tzinfo=dt.UTC)


def row(chunk_id: int, text: str, **changed: Any) -> WordRow:
    plain = WordRow(
        chunk_id=chunk_id,
        document_id=chunk_id,
        text=text,
        mandant_id=1,
        entity="nord-gmbh",
        level_rank=1,
        source_type="document",
    )
    return replace(plain, **changed)


def wall(**changed: Any) -> WallTerms:
    plain = WallTerms(
        mandant_id=1,
        entities=None,
        project_code=None,
        max_level_rank=3,
        person=None,
        include_test=False,
        now=NOW,
    )
    return replace(plain, **changed)


def terms(question: str) -> QueryTerms:
    understood = understand(question)
    assert isinstance(understood, QueryTerms)
    return understood


def found(
    index: WordIndex,
    question: str,
    seen_by: WallTerms | None = None,
    filters: HitFilters | None = None,
) -> list[int]:
    hits = index.search(terms(question), seen_by or wall(), filters)
    return [hit.chunk_id for hit in hits]


def fill(index: WordIndex, *rows: WordRow) -> None:
    with index.writer() as writer:
        writer.apply(rows, ())
