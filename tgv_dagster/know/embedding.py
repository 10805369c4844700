"""The embed stage: every window of a document's chunks gets its vector in the active space.

Here belongs the way from chunks to rows of vectors: texts of several documents go to the model
together, each document is completed on its own. Also filling another space beside the active one
(ING-21). What does not belong here: models (`usem`, `openai_endpoint`) and the switch (`spaces`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

import numpy as np
import psycopg

from tgv_dagster.know import halfvec
from tgv_dagster.know.embeddings import (
    NO_CENTRING,
    CacheKey,
    Embedder,
    EmbeddingError,
    EmbeddingSpace,
    Vectors,
)
from tgv_dagster.know.openai_endpoint import EndpointFailed
from tgv_dagster.know.spaces import (
    SpaceChanged,
    StoredVectors,
    active_space,
    lacking_documents,
    leaves_machine,
    require_active,
)
from tgv_dagster.store import ledger
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.ledger import Claim
from tgv_dagster.store.pull import BatchReport, NotNow, pull, worker_name
from tgv_dagster.store.remote import remote_ceiling
from tgv_dagster.store.stages import LIVE, STAGES, Stage

MODEL_BATCH = 256
"""Windows in one call of the model."""

GROUP_WINDOWS = 1_024
"""Windows of documents that are prepared together; a larger document is prepared alone."""

EMBEDDED = "embedded"
NOTHING = "nothing_to_embed"
KEPT_LOCAL = "kept_local"
"""Its level keeps the document off a remote endpoint: it is found by words only."""


_OF_GENERATION = (
    f"CASE WHEN %(generation)s = {LIVE} THEN c.active ELSE c.generation = %(generation)s END"
)
"""The daily flow embeds what is in force, whichever generation it came from."""


@dataclass(frozen=True, slots=True)
class _Window:
    """One window: the chunk it belongs to, its number there, its text and language."""

    chunk_id: int
    no: int
    text: str
    language: str | None


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The vectors of one document, in the order of its windows; None with the error instead."""

    windows: tuple[_Window, ...]
    vectors: Vectors | None
    error: EmbeddingError | None = None
    kept_local: bool = False

    @property
    def outcome(self) -> str:
        """How the document ends."""
        if self.kept_local:
            return KEPT_LOCAL
        return EMBEDDED if self.windows else NOTHING


def embed_chunks(
    database: Database,
    embedder: Embedder,
    *,
    limit: int,
    generation: int = LIVE,
    progress: Callable[[int, int], None] | None = None,
) -> BatchReport:
    """Embed pending documents; each ends as embedded, nothing_to_embed or kept_local.

    While another space than the embedder's is active, or its endpoint does not answer, everything
    stays pending.
    """
    run = _Run(database, embedder, _Batch(database, embedder, generation))
    return pull(
        database,
        Stage.EMBED,
        run.handle,
        limit=limit,
        generation=generation,
        progress=progress,
        begin=run.begin,
    )


@dataclass(slots=True)
class _Run:
    """The claims of one run. What was prepared together is written together; where that does not
    work, each document is written on its own and fails or waits on its own.
    """

    database: Database
    embedder: Embedder
    batch: _Batch
    claims: dict[int, Claim] = field(default_factory=dict)
    stored: dict[int, str] = field(default_factory=dict)

    def begin(self, claims: Sequence[Claim]) -> None:
        """Take note of the claims, in their order."""
        self.claims = {claim.subject_id: claim for claim in claims}
        self.batch.queue.extend(self.claims)

    def handle(self, claim: Claim) -> str:
        """Embed and complete one document. Raises NotNow, ClaimLost, EmbeddingError."""
        if claim.subject_id in self.stored:
            return self.stored.pop(claim.subject_id)
        prepared = self.batch.take(claim.subject_id)
        if self.batch.down is not None:
            raise NotNow(str(self.batch.down))
        if prepared.error is not None:
            raise prepared.error
        alone = {claim: prepared}
        company = {
            self.claims[document_id]: other
            for document_id, other in self.batch.ready.items()
            if other.error is None
        }
        if company and self._write_together(alone | company):
            return self.stored.pop(claim.subject_id)
        _store(self.database, self.embedder, alone)
        return prepared.outcome

    def _write_together(self, group: Mapping[Claim, _Prepared]) -> bool:
        try:
            _store(self.database, self.embedder, group)
        except (NotNow, ledger.ClaimLost, psycopg.Error):
            return False
        for claim, prepared in group.items():
            self.batch.ready.pop(claim.subject_id, None)
            self.stored[claim.subject_id] = prepared.outcome
        return True


@dataclass(frozen=True, slots=True)
class Part:
    """The documents of one tenant received in the month (UTC) that starts on this day."""

    mandant_id: int
    month: date


def fill_space(
    database: Database,
    embedder: Embedder,
    *,
    limit: int,
    part: Part | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Fill the embedder's space beside the active one, up to `limit` documents of a part or of all.

    Returns how many documents of the part are still lacking: 0 of all means it can be switched to.
    Raises EmbeddingError of the first document that cannot be embedded.
    """
    lacking = lacking_in(database, embedder, part)
    batch = _Batch(database, embedder, LIVE, list(lacking[:limit]))
    for done, document_id in enumerate(lacking[:limit], 1):
        prepared = batch.take(document_id)
        if prepared.error is not None:
            raise prepared.error
        with database.worker() as connection:
            _lock(connection, [document_id])
            _write(connection, embedder, {document_id: prepared}, LIVE)
        if progress is not None:
            progress(done, min(limit, len(lacking)))
    return len(lacking_in(database, embedder, part))


def lacking_in(database: Database, embedder: Embedder, part: Part | None) -> tuple[int, ...]:
    """Documents of a part, or of all, that are not whole in the embedder's space yet."""
    with database.worker() as connection:
        lacking = lacking_documents(connection, embedder)
        if part is None:
            return lacking
        rows = connection.execute(
            "SELECT id FROM documents WHERE id = ANY (%s) AND mandant_id = %s"
            " AND date_trunc('month', date_received AT TIME ZONE 'UTC') = %s ORDER BY id",
            (list(lacking), part.mandant_id, part.month),
        ).fetchall()
    return tuple(row[0] for row in rows)


class _NotKnown(EmbeddingError):
    """A text that the cache does not hold, where no model is asked."""


@dataclass(frozen=True, slots=True)
class _CacheOnly:
    """Stands where an embedder stands and has nothing to ask but the cache before it."""

    space: EmbeddingSpace

    def embed_passages(self, texts: Sequence[str], languages: Sequence[str | None]) -> Vectors:
        raise _NotKnown(f"{len(texts)} texts are not in the cache")

    def embed_query(self, text: str, language: str | None) -> Vectors:
        raise _NotKnown("a question is not in the cache")


def embed_from_cache(database: Database, document_id: int) -> bool:
    """Give one pending document its vectors from the cache alone; False leaves it pending."""
    with database.worker() as connection:
        space = active_space(connection)
        claims = ledger.claim(
            connection, Stage.EMBED, limit=1, worker=worker_name(), subjects=[document_id]
        )
    for claim in claims:
        prepared = _Batch(database, _CacheOnly(space), LIVE, [document_id]).take(document_id)
        try:
            if prepared.error is not None:
                raise NotNow(str(prepared.error))
            _store(database, _CacheOnly(space), {claim: prepared})
        except (NotNow, ledger.ClaimLost):
            with database.worker() as connection:
                ledger.give_back(connection, claims)
            return False
    return bool(claims)


def _store(database: Database, embedder: Embedder, group: Mapping[Claim, _Prepared]) -> None:
    """Write and complete documents in one transaction. Raises NotNow, ClaimLost."""
    with database.worker() as connection:
        _lock(connection, [claim.subject_id for claim in group])
        try:
            require_active(connection, embedder.space)
        except SpaceChanged as changed:
            raise NotNow(str(changed)) from changed
        prepared = {claim.subject_id: one for claim, one in group.items()}
        _write(connection, embedder, prepared, next(iter(group)).generation)
        for claim, one in group.items():
            ledger.complete(
                connection,
                claim,
                then=STAGES[Stage.EMBED].then,
                fingerprint=f"{one.outcome}:{embedder.space.space_id}",
            )


def _lock(connection: Connection, document_ids: Sequence[int]) -> None:
    """Keep the walls of documents still until their vectors carry them."""
    connection.execute(
        "SELECT 1 FROM documents WHERE id = ANY (%s) ORDER BY id FOR NO KEY UPDATE",
        (list(document_ids),),
    )


def _write(
    connection: Connection,
    embedder: Embedder,
    prepared: Mapping[int, _Prepared],
    generation: int,
) -> None:
    """Replace the vectors of documents in one space; walls come from their chunks.

    Raises NotNow when the chunks are no longer those that were embedded.
    """
    space_id, document_ids = embedder.space.space_id, list(prepared)
    connection.execute(
        f"DELETE FROM chunk_vectors v USING rag_chunks c WHERE v.space_id = %(space)s"
        f" AND v.document_id = ANY (%(documents)s) AND c.id = v.chunk_id"
        f" AND {_OF_GENERATION}".encode(),
        {"space": space_id, "documents": document_ids, "generation": generation},
    )
    made = [one for one in prepared.values() if one.windows and one.vectors is not None]
    windows = [window for one in made for window in one.windows]
    if not windows:
        return
    halfvec.stage(
        connection,
        [window.chunk_id for window in windows],
        [window.no for window in windows],
        np.concatenate([one.vectors for one in made if one.vectors is not None]),
    )
    written = connection.execute(
        f"""
        INSERT INTO chunk_vectors (space_id, chunk_id, window_no, document_id, active, mandant_id,
            entity, project_code, level_rank, visible_from, restricted_until, persons, circle,
            is_test, date_received, invoice_date, emb)
        SELECT %s, c.id, s.window_no, c.document_id, c.active, c.mandant_id, c.entity,
            c.project_code, c.level_rank, c.visible_from, c.restricted_until, c.persons,
            c.circle, c.is_test, c.date_received, c.invoice_date, s.emb
        FROM {halfvec.STAGED} s JOIN rag_chunks c
          ON c.id = s.row_id AND c.document_id = ANY (%s)
        """.encode(),
        (space_id, document_ids),
    ).rowcount
    if written != len(windows):
        raise NotNow("the chunks of this document were replaced meanwhile")


# --- preparing ---------------------------------------------------------------------------------


@dataclass(slots=True)
class _Batch:
    """Documents of one run, prepared in groups just before they are needed."""

    database: Database
    embedder: Embedder
    generation: int
    queue: list[int] = field(default_factory=list)
    ready: dict[int, _Prepared] = field(default_factory=dict)
    down: EndpointFailed | None = None

    def take(self, document_id: int) -> _Prepared:
        """The prepared document; prepares it, and what fits beside it, when it is not ready."""
        if self.down is not None:
            return _Prepared((), None, error=self.down)
        if document_id not in self.ready:
            at = self.queue.index(document_id)
            self._prepare(self.queue[at:])
            del self.queue[:at]
        return self.ready.pop(document_id)

    def _prepare(self, document_ids: Sequence[int]) -> None:
        group: list[_Document] = []
        size = 0
        with self.database.worker() as connection:
            for document_id in document_ids:
                document = _load(connection, document_id, self.generation)
                if group and size + len(document.windows) > GROUP_WINDOWS:
                    break
                if leaves_machine(self.embedder):
                    document = _held_back(connection, document)
                group.append(document)
                size += len(document.windows)
        for document, vectors in zip(group, self._vectors(group), strict=True):
            prepared = (
                _Prepared(document.windows, None, error=vectors)
                if isinstance(vectors, EmbeddingError)
                else _Prepared(document.windows, vectors, kept_local=document.kept_local)
            )
            self.ready[document.document_id] = prepared

    def _vectors(self, group: Sequence[_Document]) -> list[Vectors | EmbeddingError]:
        """Vectors by document. Where the group fails as a whole, each is tried on its own.

        An endpoint that does not answer is no document's fault: nothing more is tried in this run.
        """
        try:
            return list(_embed(self.database, self.embedder, group))
        except EndpointFailed as error:
            self.down = error
            return [error] * len(group)
        except EmbeddingError as error:
            if len(group) == 1:
                return [error]
        return [self._vectors([document])[0] for document in group]


@dataclass(frozen=True, slots=True)
class _Document:
    """A document to embed. Without windows there is nothing to do."""

    document_id: int
    mandant_id: int
    level_rank: int
    windows: tuple[_Window, ...]
    kept_local: bool = False


def _load(connection: Connection, document_id: int, generation: int) -> _Document:
    rows = connection.execute(
        "SELECT id, content, span_start, windows, language, mandant_id, level_rank"
        f" FROM rag_chunks c WHERE document_id = %(document)s AND {_OF_GENERATION}"
        " ORDER BY chunk_no".encode(),
        {"document": document_id, "generation": generation},
    ).fetchall()
    windows = [
        _Window(chunk_id, no, content[span.lower - start : span.upper - start], language)
        for chunk_id, content, start, spans, language, _, _ in rows
        for no, span in enumerate(spans)
    ]
    mandant_id, rank = (rows[0][5], max(row[6] for row in rows)) if rows else (0, 0)
    return _Document(document_id, mandant_id, rank, tuple(windows))


def _held_back(connection: Connection, document: _Document) -> _Document:
    """The document without windows when its level is above what may leave the machine."""
    if not document.windows:
        return document
    if document.level_rank <= remote_ceiling(connection, document.mandant_id):
        return document
    return _Document(
        document.document_id, document.mandant_id, document.level_rank, (), kept_local=True
    )


def _embed(database: Database, embedder: Embedder, group: Sequence[_Document]) -> Iterator[Vectors]:
    """Vectors of each document: from the cache, else from the model, each different text once."""
    cache = StoredVectors(database)
    keys = [[_key(embedder, document, window) for window in document.windows] for document in group]
    known = dict(cache.get_many(list(dict.fromkeys(key for row in keys for key in row))))
    missing = {
        key: (document.document_id, window)
        for document, row in zip(group, keys, strict=True)
        for key, window in zip(row, document.windows, strict=True)
        if key not in known
    }
    wanted = list(missing.items())
    for start in range(0, len(wanted), MODEL_BATCH):
        part = wanted[start : start + MODEL_BATCH]
        fresh = embedder.embed_passages(
            [window.text for _, (_, window) in part],
            [window.language for _, (_, window) in part],
        )
        made = [
            (key, vector, document_id)
            for (key, (document_id, _)), vector in zip(part, fresh, strict=True)
        ]
        # Kept part by part: what is paid for survives a failure of the next part.
        cache.put_rows(made)
        known.update((key, vector) for key, vector, _ in made)
    for row in keys:
        yield (
            np.stack([known[key] for key in row])
            if row
            else np.empty((0, embedder.space.dimension), dtype=np.float32)
        )


def _key(embedder: Embedder, document: _Document, window: _Window) -> CacheKey:
    centred = embedder.space.centring != NO_CENTRING
    return CacheKey(
        tenant=str(document.mandant_id),
        space_id=embedder.space.space_id,
        text_sha256=hashlib.sha256(window.text.encode()).hexdigest(),
        language=(window.language or "") if centred else "",
    )
