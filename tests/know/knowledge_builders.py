"""Builders for the tests of the knowledge room on a real database and a real word index."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from shared_builders import import_test_organisation

from tgv_dagster.know.chunking import cut_chunks
from tgv_dagster.know.embedding import embed_chunks
from tgv_dagster.know.embeddings import EmbeddingSpace, Vectors, require_embeddable, unit
from tgv_dagster.know.search import SearchParts
from tgv_dagster.know.spaces import ensure_spaces
from tgv_dagster.know.wording import index_words, open_words
from tgv_dagster.know.words import WordIndex
from tgv_dagster.store import ledger, tuning
from tgv_dagster.store.db import Database
from tgv_dagster.store.scope import Scope
from tgv_dagster.store.stages import Stage
from tgv_dagster.understand.extracted import (
    ENGINE_VERSION,
    Extraction,
    Method,
    PageText,
    Status,
)
from tgv_dagster.understand.folding import fold
from tgv_dagster.understand.folding import words as words_in

_numbers = itertools.count(1)

SPACE = EmbeddingSpace("bag-of-words-double", "1", 256)


class BagOfWordsEmbedder:
    """A double of a model: equal words, near vectors; counts the texts it is asked for."""

    def __init__(self, space: EmbeddingSpace = SPACE) -> None:
        self.space = space
        self.asked: list[str] = []

    def embed_passages(self, texts: Sequence[str], languages: Sequence[str | None]) -> Vectors:
        require_embeddable(texts, 100_000)
        self.asked += texts
        return unit(np.stack([self._sum(text) for text in texts]))

    def embed_query(self, text: str, language: str | None) -> Vectors:
        require_embeddable([text], 100_000)
        return unit(self._sum(text)[None, :])[0]

    def _sum(self, text: str) -> Vectors:
        return np.sum(
            [_direction(w, self.space.dimension) for w in words_in(fold(text)) or [""]], 0
        )


def _direction(word: str, dimension: int) -> Vectors:
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest())
    return np.random.default_rng(seed).normal(size=dimension).astype(np.float32)


@dataclass(slots=True)
class Knowledge:
    """The test organisation, a word index and the double, with the stages as one call."""

    database: Database
    words: WordIndex
    embedder: BagOfWordsEmbedder

    @classmethod
    def open(cls, database: Database, directory: Path) -> Knowledge:
        import_test_organisation(database)
        ensure_spaces(database, [SPACE])
        with database.worker() as connection:
            tuning.seed(connection)
        return cls(database, open_words(database, directory), BagOfWordsEmbedder())

    @property
    def parts(self) -> SearchParts:
        return SearchParts.of(self.database, self.words, self.embedder)

    def scope(self, login: str = "anna", mandant: str | None = None, **more: bool) -> Scope:
        return Scope.for_principal(self.database, login, mandant=mandant, source="test", **more)

    def add(self, *pages: str, **columns: Any) -> int:
        """A filed document with this text, pending for the chunk stage."""
        return add_document(self.database, pages, **columns)

    def flow(self, limit: int = 1_000) -> None:
        """Run chunk, embed and words until nothing is pending."""
        cut_chunks(self.database, limit=limit)
        embed_chunks(self.database, self.embedder, limit=limit)
        index_words(self.database, self.words, limit=limit)

    def rows(self, statement: str, *values: object) -> list[tuple]:
        with self.database.worker() as connection:
            return connection.execute(statement.encode(), values or None).fetchall()


def add_document(database: Database, pages: Sequence[str], **columns: Any) -> int:
    """Row, number, raw pointer and extraction of a document, and its place in the chunk stage."""
    number = next(_numbers)
    sha = columns.pop("sha", hashlib.sha256(f"{number}".encode()).hexdigest())
    values = {
        "entity": "nord-gmbh",
        "confidentiality_level": "intern",
        "file_name": f"file-{number}.pdf",
        "date_received": "2026-06-01T10:00:00Z",
    } | columns
    with database.worker() as connection:
        raw = connection.execute(
            "INSERT INTO raw_items (bucket, sha256, size, kind, storage_bucket, raw_key,"
            " verified_at) VALUES ('b', %s, 1, 'file', 'b', 'k', now())"
            " ON CONFLICT (bucket, sha256) DO UPDATE SET size = 1 RETURNING id",
            (sha,),
        ).fetchone()
        row = connection.execute(
            "INSERT INTO document_numbers (mandant_id, raw_sha256, part_role, arrival_uid)"
            " VALUES ((SELECT mandant_id FROM entities WHERE slug = %s), %s, 'file',"
            " gen_random_uuid()) RETURNING id",
            (values["entity"], sha),
        ).fetchone()
        assert raw is not None
        assert row is not None
        names = ", ".join(values)
        marks = ", ".join(["%s"] * len(values))
        connection.execute(
            f"INSERT INTO documents (id, raw_sha256, raw_item_id, file_class, {names})"
            f" VALUES (%s, %s, %s, 'file', {marks})".encode(),
            (row[0], sha, raw[0], *values.values()),
        )
        write_text(connection, sha, pages)
        ledger.enqueue(connection, Stage.CHUNK, [row[0]])
    return int(row[0])


def write_text(connection: Any, sha: str, pages: Sequence[str]) -> None:
    """The active extraction of these bytes, in place of an earlier one."""
    extraction = Extraction(
        Status.COMPLETE,
        pages=tuple(PageText(n, text, Method.NATIVE) for n, text in enumerate(pages, 1)),
    )
    connection.execute(
        "INSERT INTO extractions (raw_sha256, engine_version, status, characters, pages, result)"
        " VALUES (%s, %s, 'complete', %s, %s, %s)"
        " ON CONFLICT (raw_sha256, part_role, engine_version, generation)"
        " DO UPDATE SET result = excluded.result, characters = excluded.characters",
        (sha, ENGINE_VERSION, len(extraction.text), len(pages), extraction.to_json().decode()),
    )
