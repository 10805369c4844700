"""The register of vector spaces: which there are, which one is active, and the change of it.

A change of model goes: register the new space, fill it beside (`embedding.fill_space`), evaluate,
switch once (ING-21, EVAL-33). Exactly one space is active and its name stands in every trace
(ING-11). Here also belong the partition of a space and the cache of its vectors. What does not
belong here: models and how they are asked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from psycopg import sql
from pydantic import SecretStr

from tgv_dagster.know import halfvec
from tgv_dagster.know.balance import Doubt
from tgv_dagster.know.embeddings import (
    E5_SMALL,
    KNOWN_SPACES,
    MISTRAL_EMBED,
    NO_CENTRING,
    USE_DENOISED,
    CacheKey,
    Embedder,
    EmbeddingError,
    EmbeddingSpace,
    ScoreFloor,
    Vectors,
)
from tgv_dagster.know.openai_endpoint import EmbeddingCost, EndpointSettings, OpenAIEmbedder
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.remote import remote_ceiling
from tgv_dagster.store.tuning import Tuning
from tgv_dagster.store.walls import APP_ROLE, WORKER_ROLE

_LOCK = 7_260_402  # any fixed number: one change of the partitions at a time per database
FLOOR_KEY, CHECKED_KEY = "P_MIN_SCORE", "P_CHECKED_SCORE"
DOUBT_KEYS = ("P_DOUBT_SCORE", "P_DOUBT_MARGIN", "P_DOUBT_AGREEING")


class SpaceError(EmbeddingError):
    """Base of the errors of this module."""


class NoActiveSpace(SpaceError):
    """No space is active; `ensure_spaces` makes the default one active."""


class UnknownSpace(SpaceError):
    """A space that is not registered, or a model that nothing here can run."""


class SpaceChanged(SpaceError):
    """An embedder of a space that is not the active one (any more)."""


class NotEvaluated(SpaceError):
    """A space without the evaluation that the switch names (EVAL-33)."""


class SpaceIncomplete(SpaceError):
    """A space that does not hold every window yet cannot become active."""


# --- the register ------------------------------------------------------------------------------


def ensure_spaces(database: Database, spaces: Sequence[EmbeddingSpace] = KNOWN_SPACES) -> None:
    """Register these spaces with a partition each; the first becomes active when none is.

    Creating a partition needs the owner's right; when nothing is missing, only the worker reads.
    """
    with database.worker() as connection:
        missing = [space for space in spaces if not _is_there(connection, space)]
        active = connection.execute("SELECT 1 FROM embedding_spaces WHERE active").fetchone()
    if not missing and active is not None:
        return
    with database.owner() as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        for space in spaces:
            _register(connection, space)
            _create_partition(connection, space)
        connection.execute(
            "UPDATE embedding_spaces SET active = true WHERE space_id = %s"
            " AND NOT EXISTS (SELECT 1 FROM embedding_spaces WHERE active)",
            (spaces[0].space_id,),
        )


def partition_name(space_id: str) -> str:
    """Name of the partition that holds the vectors of a space."""
    return f"chunk_vectors_{hashlib.sha256(space_id.encode()).hexdigest()[:16]}"


def _is_there(connection: Connection, space: EmbeddingSpace) -> bool:
    row = connection.execute(
        "SELECT to_regclass(%s) IS NOT NULL FROM embedding_spaces WHERE space_id = %s",
        (partition_name(space.space_id), space.space_id),
    ).fetchone()
    return row is not None and bool(row[0])


def _register(connection: Connection, space: EmbeddingSpace) -> None:
    connection.execute(
        """
        INSERT INTO embedding_spaces (space_id, model, version, centring, dimension, floor_note)
        VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (space_id) DO NOTHING
        """,
        (
            space.space_id,
            space.model,
            space.version,
            space.centring,
            space.dimension,
            f"tuning value {floor_key(space)}",
        ),
    )


def _create_partition(connection: Connection, space: EmbeddingSpace) -> None:
    """The vectors of one space. Nobody reads a partition but through its parent's walls."""
    name = sql.Identifier(partition_name(space.space_id))
    exists = connection.execute(
        "SELECT to_regclass(%s)", (partition_name(space.space_id),)
    ).fetchone()
    if exists is not None and exists[0] is not None:
        return
    connection.execute(
        sql.SQL(
            "CREATE TABLE {} PARTITION OF chunk_vectors"
            " (CONSTRAINT one_dimension CHECK (vector_dims(emb) = {})) FOR VALUES IN ({})"
        ).format(name, sql.Literal(space.dimension), sql.Literal(space.space_id))
    )
    for statement in (
        "ALTER TABLE {} ALTER COLUMN emb SET STORAGE PLAIN",
        "ALTER TABLE {} ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE {} FORCE ROW LEVEL SECURITY",
        f"REVOKE ALL ON {{}} FROM {APP_ROLE}, {WORKER_ROLE}",
    ):
        connection.execute(sql.SQL(statement).format(name))  # pyright: ignore[reportArgumentType]


def active_space(connection: Connection) -> EmbeddingSpace:
    """The space that is written to and searched. Raises NoActiveSpace."""
    row = connection.execute(
        "SELECT model, version, dimension, centring FROM embedding_spaces WHERE active"
    ).fetchone()
    if row is None:
        raise NoActiveSpace("no vector space is active")
    return EmbeddingSpace(*row)


def space_named(connection: Connection, space_id: str) -> EmbeddingSpace:
    """The registered space of this name. Raises UnknownSpace."""
    row = connection.execute(
        "SELECT model, version, dimension, centring FROM embedding_spaces WHERE space_id = %s",
        (space_id,),
    ).fetchone()
    if row is None:
        raise UnknownSpace(f"{space_id[:80]!r} is not registered")
    return EmbeddingSpace(*row)


def floor_key(space: EmbeddingSpace) -> str:
    """Key of the floor of a space in the register of tuning values."""
    return (
        FLOOR_KEY if space.space_id == MISTRAL_EMBED.space_id else f"{FLOOR_KEY}:{space.space_id}"
    )


def checked_key(space: EmbeddingSpace) -> str:
    """Key of the score from which a hit of a space counts as checked."""
    return floor_key(space).replace(FLOOR_KEY, CHECKED_KEY)


def floor_of(values: Tuning, space: EmbeddingSpace) -> ScoreFloor | None:
    """The floor of a space with the condition it was measured under; None = unmeasured (RET-02)."""
    found = values.measured(floor_key(space))
    if found is None:
        return None
    checked = values.measured(checked_key(space))
    return ScoreFloor(
        found.value,
        condition=found.note or "",
        measured_on=None if found.measured_at is None else found.measured_at.date(),
        interim_until=found.expires_when,
        checked=None if checked is None else max(checked.value, found.value),
    )


def doubt_of(values: Tuning, space: EmbeddingSpace) -> Doubt | None:
    """When a question has no answer by this space; None = unmeasured, nothing is doubted."""
    found = [values.measured(f"{key}:{space.space_id}") for key in DOUBT_KEYS]
    score, margin, agreeing = found
    if score is None or margin is None or agreeing is None:
        return None
    return Doubt(score.value, margin.value, int(agreeing.value))


# --- embedders ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the model of a remote space is reached; `allowed_hosts` is the configured EU list."""

    base_url: str
    allowed_hosts: tuple[str, ...]
    api_key: SecretStr | None = None
    euro_per_million: float | None = None


def active_embedder(database: Database, endpoint: Endpoint | None = None) -> Embedder:
    """The embedder of the active space. Raises NoActiveSpace and as `embedder_of`."""
    with database.worker() as connection:
        space = active_space(connection)
    return embedder_of(database, space, endpoint)


def embedder_of(
    database: Database, space: EmbeddingSpace, endpoint: Endpoint | None = None
) -> Embedder:
    """The embedder of a space; every call of a remote model is kept in the log of model calls.

    Raises UnknownSpace for a space whose model neither runs here nor has an endpoint,
    `openai_endpoint.HostNotAllowed` for an endpoint outside the list.
    """
    if space.model == USE_DENOISED.model and space.centring == NO_CENTRING:
        # Importing the model's package takes a second or two; a search by console feels it once.
        from tgv_dagster.know.usem import UseEmbedder

        return UseEmbedder()
    if space == E5_SMALL:
        from tgv_dagster.know.e5 import E5Embedder

        return E5Embedder()
    if endpoint is None:
        raise UnknownSpace(f"{space.space_id}: its model needs an endpoint; set TGV_EMBEDDING_URL")
    settings = EndpointSettings(
        base_url=endpoint.base_url,
        model=space.model,
        space=space,
        allowed_hosts=endpoint.allowed_hosts,
        api_key=endpoint.api_key,
        euro_per_million=endpoint.euro_per_million,
    )
    return OpenAIEmbedder(settings, on_cost=partial(_log_cost, database))


def leaves_machine(embedder: Embedder) -> bool:
    """Whether texts that this embedder embeds are sent to somebody else."""
    return isinstance(embedder, OpenAIEmbedder)


def _log_cost(database: Database, cost: EmbeddingCost) -> None:
    with database.worker() as connection:
        connection.execute(
            """
            INSERT INTO model_calls (purpose, provider_host, model, input_hash, input_units,
                cost_eur, status, milliseconds)
            VALUES ('embedding', %s, %s, %s, %s, %s, 'ok', %s)
            """,
            (
                cost.host,
                cost.model,
                cost.input_sha256,
                cost.tokens,
                cost.euro,
                round(cost.seconds * 1000),
            ),
        )


# --- the switch --------------------------------------------------------------------------------

_LACKING = """
    SELECT c.document_id, max(c.level_rank) AS level_rank, max(c.mandant_id) AS mandant_id
    FROM rag_chunks c
    LEFT JOIN (
        SELECT chunk_id, count(*) AS held FROM chunk_vectors
        WHERE space_id = %(space)s GROUP BY chunk_id) v ON v.chunk_id = c.id
    WHERE c.active AND coalesce(v.held, 0) <> cardinality(c.windows)
      AND NOT EXISTS (SELECT 1 FROM flow_ledger l WHERE l.stage = 'embed' AND l.generation = 0
                      AND l.subject_id = c.document_id AND l.state <> 'done')
    GROUP BY c.document_id
"""


def lacking_documents(connection: Connection, embedder: Embedder) -> tuple[int, ...]:
    """Documents whose windows are not all in the embedder's space though they may be.

    A document whose embed stage is still open is not among them: it gets the vectors of the space
    that is active then. Nor is one whose level keeps it off a remote endpoint.
    """
    rows = connection.execute(
        (_LACKING + " ORDER BY c.document_id").encode(), {"space": embedder.space.space_id}
    ).fetchall()
    if not leaves_machine(embedder):
        return tuple(row[0] for row in rows)
    ceilings = {m: remote_ceiling(connection, m) for m in {row[2] for row in rows}}
    return tuple(row[0] for row in rows if row[1] <= ceilings[row[2]])


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What was measured of a space: the verdict with its reason, and figures by name (0 to 1)."""

    space_id: str
    verdict: str
    reason: str
    figures: Mapping[str, float]


_EVALUATED = "space.evaluated"


def record_evaluation(database: Database, evaluation: Evaluation, *, by: str) -> str:
    """Keep an evaluation as an event; returns the name by which a switch refers to it."""
    with database.worker() as connection:
        uid = record(
            connection,
            Event(
                kind=_EVALUATED,
                author=by,
                object=f"space:{evaluation.space_id}",
                reason=evaluation.reason,
                payload={"verdict": evaluation.verdict, "figures": dict(evaluation.figures)},
            ),
        )
    return str(uid)


def latest_evaluation(connection: Connection, space: EmbeddingSpace) -> str | None:
    """Name of the newest evaluation of a space."""
    row = connection.execute(
        "SELECT id FROM agent_events WHERE kind = %s AND object = %s ORDER BY id DESC LIMIT 1",
        (_EVALUATED, f"space:{space.space_id}"),
    ).fetchone()
    return None if row is None else str(row[0])


def _require_evaluated(connection: Connection, space_id: str, evaluation: str) -> None:
    row = connection.execute(
        "SELECT 1 FROM agent_events WHERE kind = %s AND object = %s AND id::text = %s",
        (_EVALUATED, f"space:{space_id}", evaluation.strip()),
    ).fetchone()
    if row is None:
        raise NotEvaluated(f"{space_id} has no evaluation {evaluation.strip()[:40]!r}")


def switch_space(database: Database, embedder: Embedder, *, by: str, evaluation: str) -> None:
    """Make the filled and evaluated space of an embedder the active one, at once for everybody.

    `evaluation` names what `record_evaluation` kept of this space (EVAL-33); whether its verdict
    is good enough is for the person to say who switches. Raises UnknownSpace, NotEvaluated,
    SpaceIncomplete. Repeating a switch changes nothing.
    """
    space_id = embedder.space.space_id
    with database.worker() as connection:
        # Who writes vectors reads under this lock which space is active (`require_active`).
        rows = connection.execute(
            "SELECT space_id, active FROM embedding_spaces ORDER BY space_id FOR UPDATE"
        ).fetchall()
        if space_id not in dict(rows):
            raise UnknownSpace(f"{space_id} is not registered")
        if dict(rows)[space_id]:
            return
        _require_evaluated(connection, space_id, evaluation)
        lacking = lacking_documents(connection, embedder)
        if lacking:
            raise SpaceIncomplete(f"{space_id}: {len(lacking)} documents are not in it yet")
        connection.execute("UPDATE embedding_spaces SET active = false WHERE active")
        connection.execute(
            "UPDATE embedding_spaces SET active = true WHERE space_id = %s", (space_id,)
        )
        record(
            connection,
            Event(
                kind="space.switched",
                author=by,
                is_human=True,
                object=f"space:{space_id}",
                reason="the active vector space was changed",
                payload={"evaluation": evaluation},
            ),
        )


def require_active(connection: Connection, space: EmbeddingSpace) -> None:
    """Raise SpaceChanged unless this space is active; it stays so until the transaction ends."""
    row = connection.execute(
        "SELECT active FROM embedding_spaces WHERE space_id = %s FOR SHARE", (space.space_id,)
    ).fetchone()
    if row is None or not row[0]:
        raise SpaceChanged(f"{space.space_id} is not the active vector space")


# --- the cache ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """The embedding cache in the database: by space, tenant and text, with the document a text
    was embedded for. A tenant never hits what another one brought.
    """

    database: Database

    def get_many(self, keys: Sequence[CacheKey]) -> Mapping[CacheKey, Vectors]:
        """The vectors of those keys that are known."""
        found: dict[CacheKey, Vectors] = {}
        wanted = {(key.space_id, int(key.tenant), _content(key)): key for key in keys}
        if not wanted:
            return found
        with self.database.worker() as connection, connection.cursor(binary=True) as cursor:
            cursor.execute(
                """
                SELECT space_id, mandant_id, content_sha256, emb FROM embedding_cache
                JOIN unnest(%s::text[], %s::integer[], %s::text[])
                    AS wanted (space_id, mandant_id, content_sha256)
                    USING (space_id, mandant_id, content_sha256)
                """,
                [list(column) for column in zip(*wanted, strict=True)],
            )
            for space_id, mandant_id, content, value in cursor:
                key = wanted[space_id, mandant_id, content]
                found[key] = halfvec.from_binary([value])[0]
        return found

    def put_many(self, entries: Mapping[CacheKey, Vectors], document_id: int) -> None:
        """Keep vectors; one that is known already stays as it is."""
        self.put_rows([(key, vector, document_id) for key, vector in entries.items()])

    def put_rows(self, rows: Sequence[tuple[CacheKey, Vectors, int]]) -> None:
        """As `put_many` for texts of several documents at once."""
        by_dimension: dict[int, list[tuple[CacheKey, Vectors, int]]] = {}
        for row in rows:
            by_dimension.setdefault(len(row[1]), []).append(row)
        for same in by_dimension.values():
            self._put(same)

    def _put(self, rows: Sequence[tuple[CacheKey, Vectors, int]]) -> None:
        with self.database.worker() as connection:
            count = len(rows)
            halfvec.stage(
                connection, range(1, count + 1), [0] * count, np.stack([row[1] for row in rows])
            )
            connection.execute(
                f"""
                INSERT INTO embedding_cache (space_id, mandant_id, content_sha256, emb, document_id)
                SELECT k.space_id, k.mandant_id, k.content_sha256, s.emb, k.document_id
                FROM unnest(%s::text[], %s::integer[], %s::text[], %s::bigint[]) WITH ORDINALITY
                    AS k (space_id, mandant_id, content_sha256, document_id, row_id)
                JOIN {halfvec.STAGED} s USING (row_id)
                ORDER BY 1, 2, 3 ON CONFLICT DO NOTHING
                """.encode(),
                (
                    [row[0].space_id for row in rows],
                    [int(row[0].tenant) for row in rows],
                    [_content(row[0]) for row in rows],
                    [row[2] for row in rows],
                ),
            )


def _content(key: CacheKey) -> str:
    return f"{key.text_sha256}:{key.language}" if key.language else key.text_sha256
