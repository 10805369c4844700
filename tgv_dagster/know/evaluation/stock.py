"""A stock to ask: documents in a database of its own, through the production stages.

Here belongs how an evaluation gets its database, its documents and its readers. Documents come in
the order they are given, so that distractors can be inserted after the gold. What does not belong
here: questions and measures.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tgv_dagster.know.chunking import cut_chunks
from tgv_dagster.know.chunks import ChunkSettings
from tgv_dagster.know.embedding import embed_chunks, fill_space
from tgv_dagster.know.embeddings import Embedder, EmbeddingSpace, Vectors
from tgv_dagster.know.search import SearchAnswer, SearchParts, search
from tgv_dagster.know.spaces import (
    DOUBT_KEYS,
    Evaluation,
    checked_key,
    ensure_spaces,
    floor_key,
    record_evaluation,
    switch_space,
)
from tgv_dagster.know.wording import index_words, open_words
from tgv_dagster.know.words import WordIndex
from tgv_dagster.store import ledger, migrate, organisation, tuning
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

SHELVES = ("stock", "de", "fr", "en", "ru", "it")
"""Entities of the one tenant: the distractors, and the gold by its language. A reader sees the
distractors and one language, so that a translation is no answer to a question."""

ALL = "all"
DATABASE = "tgv_evaluation"
_EVERYTHING = 10_000_000


@dataclass(frozen=True, slots=True)
class StockDocument:
    """One document to be stored: `key` names it in the questions, `shelf` is its entity."""

    key: str
    text: str
    shelf: str = "stock"


@dataclass(slots=True)
class RememberedEmbedder:
    """An embedder that asks its model once per text, over all stocks of an evaluation."""

    inner: Embedder
    passages: dict[str, Vectors] = field(default_factory=dict)

    @property
    def space(self) -> EmbeddingSpace:
        """The space of the model behind."""
        return self.inner.space

    def embed_passages(self, texts: Sequence[str], languages: Sequence[str | None]) -> Vectors:
        """As the model behind; equal texts are the same passage whatever their language."""
        new = [text for text in dict.fromkeys(texts) if text not in self.passages]
        if new:
            vectors = self.inner.embed_passages(new, [None] * len(new))
            self.passages.update(zip(new, vectors, strict=True))
        if not texts:
            return self.inner.embed_passages([], [])
        return np.stack([self.passages[text] for text in texts])

    def embed_query(self, text: str, language: str | None) -> Vectors:
        """As the model behind."""
        return self.inner.embed_query(text, language)


@dataclass(slots=True)
class Stock:
    """A filled database with what is needed to ask it. `keys`: key by document number."""

    database: Database
    words: WordIndex
    embedder: Embedder
    keys: dict[int, str]

    def scope(self, shelf: str = ALL) -> Scope:
        """The reader of the distractors and one language, or of everything."""
        return Scope.for_principal(self.database, f"reads-{shelf}", source="evaluation")

    @property
    def parts(self) -> SearchParts:
        """What the production search needs."""
        return SearchParts.of(self.database, self.words, self.embedder)

    def ask(self, question: str, shelf: str = ALL) -> SearchAnswer:
        """The production search on behalf of a reader."""
        return search(self.parts, self.scope(shelf), question)

    def change_model(self, embedder: Embedder) -> None:
        """Fill the space of another model beside and switch to it, as an installation does."""
        ensure_spaces(self.database, [embedder.space])
        while fill_space(self.database, embedder, limit=_EVERYTHING):
            pass
        begun = Evaluation(embedder.space.space_id, "open", "this run is the evaluation", {})
        name = record_evaluation(self.database, begun, by="evaluation")
        switch_space(self.database, embedder, by="evaluation", evaluation=name)
        self.embedder = embedder


@contextmanager
def built(
    url: str, documents: Sequence[StockDocument], embedder: Embedder, settings: ChunkSettings
) -> Iterator[Stock]:
    """A stock on the server of `url`, dropped at the end. Raises what the database refuses."""
    with _own_database(url) as own, tempfile.TemporaryDirectory(prefix="tgv-evaluation-") as folder:
        migrate.upgrade(own)
        database = Database(own, pool_size=3)
        try:
            _prepare(database, embedder, settings)
            keys = _insert(database, documents)
            cut_chunks(database, limit=_EVERYTHING)
            embed_chunks(database, embedder, limit=_EVERYTHING)
            words = open_words(database, Path(folder) / "words")
            try:
                index_words(database, words, limit=_EVERYTHING)
                yield Stock(database, words, embedder, keys)
            finally:
                words.close()
        finally:
            database.close()


@contextmanager
def _own_database(url: str) -> Iterator[str]:
    """A database of this run's own; one that a killed run left behind is dropped first."""
    name = sql.Identifier(DATABASE)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))
        connection.execute(sql.SQL("CREATE DATABASE {}").format(name))
    try:
        yield make_conninfo(**(conninfo_to_dict(url) | {"dbname": DATABASE}))  # pyright: ignore[reportArgumentType]
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))


def _organisation() -> str:
    readers = {shelf: ["stock", shelf] for shelf in SHELVES[1:]} | {ALL: list(SHELVES)}
    return "\n".join(
        [
            "mandanten: [{slug: eval, name: Evaluation}]",
            "entities:",
            *(
                f"  - {{slug: {shelf}, mandant: eval, kind: company, legal_name: Shelf {shelf},"
                f" bucket: {shelf}, default_level: intern}}"
                for shelf in SHELVES
            ),
            "users:",
            *(
                f"  - {{login: reads-{name}, name: {name}, roles: [{{mandant: eval,"
                f" role: mandant_admin, entities: [{', '.join(seen)}]}}]}}"
                for name, seen in readers.items()
            ),
        ]
    )


def _prepare(database: Database, embedder: Embedder, settings: ChunkSettings) -> None:
    """The tenant, its readers, the space of the model, and the sizes under test. No floor acts."""
    ensure_spaces(database, [embedder.space])
    with database.worker() as connection:
        tuning.seed(connection)
        for key, value in (
            (floor_key(embedder.space), -1),
            (checked_key(embedder.space), -1),
            (f"{DOUBT_KEYS[0]}:{embedder.space.space_id}", -1),
            ("CHUNK_CHARS", settings.size),
            ("CHUNK_OVERLAP", settings.overlap),
            ("WINDOW_CHARS", settings.window),
        ):
            tuning.set_value(connection, key, str(value), by="evaluation", note="under test")
        organisation.import_organisation(
            connection, organisation.parse(_organisation()), author="evaluation"
        )


def _insert(database: Database, documents: Sequence[StockDocument]) -> dict[int, str]:
    """Documents as filing leaves them, pending for the chunk stage, in the order given."""
    numbers = list(range(1, len(documents) + 1))
    shas = [hashlib.sha256(str(number).encode()).hexdigest() for number in numbers]
    shelves = [document.shelf for document in documents]
    with database.owner() as connection:
        connection.execute(
            "INSERT INTO raw_items (id, bucket, sha256, size, kind, storage_bucket, raw_key,"
            " verified_at) SELECT i, 'b', s, 1, 'file', 'b', 'k', now()"
            " FROM unnest(%s::bigint[], %s::text[]) AS t (i, s)",
            (numbers, shas),
        )
        connection.execute(
            "INSERT INTO document_numbers (id, mandant_id, raw_sha256, part_role, arrival_uid)"
            " SELECT i, e.mandant_id, s, 'file', gen_random_uuid()"
            " FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS t (i, s, slug)"
            " JOIN entities e USING (slug)",
            (numbers, shas, shelves),
        )
        connection.execute(
            "INSERT INTO documents (id, entity, raw_sha256, raw_item_id, file_class, file_name,"
            " confidentiality_level, date_received) SELECT i, slug, s, i, 'file', 'document-' || i,"
            " 'intern', now() FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS t (i, s, slug)",
            (numbers, shas, shelves),
        )
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO extractions (raw_sha256, engine_version, status, characters, pages,"
                " result) VALUES (%s, %s, 'complete', %s, 1, %s)",
                [
                    (sha, ENGINE_VERSION, len(document.text), _extraction(document.text))
                    for sha, document in zip(shas, documents, strict=True)
                ],
            )
        ledger.enqueue(connection, Stage.CHUNK, numbers)
    return dict(zip(numbers, (document.key for document in documents), strict=True))


def _extraction(text: str) -> str:
    pages = (PageText(1, text, Method.NATIVE),)
    return Extraction(Status.COMPLETE, pages=pages).to_json().decode()
