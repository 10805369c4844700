"""Drift: whether the two indexes hold what the chunk table holds, in number and in content.

Measured for the audit's checks, without changing anything; mending is `wording.rebuild_words` and
the embed stage. Counts here span all tenants and are for checks, never for a reader.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tgv_dagster.know.spaces import active_space
from tgv_dagster.know.word_model import WordIndexError
from tgv_dagster.know.word_schema import row_digest
from tgv_dagster.know.wording import expected_count, rows_of_chunks
from tgv_dagster.know.words import WordIndex
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.stages import Stage

SAMPLE = 500


@dataclass(frozen=True, slots=True)
class WordDrift:
    """The word index against the chunk table.

    expected, indexed: rows; sampled: rows compared by content; missing, differing: chunk ids of
    the sample that are absent or not as the table has them; waiting: documents that the next run
    brings in, so that a difference in number means nothing yet; damaged: files not as written;
    unusable: why the index could not be read at all.
    """

    expected: int
    indexed: int
    sampled: int
    missing: tuple[int, ...]
    differing: tuple[int, ...]
    waiting: int
    damaged: tuple[str, ...]
    unusable: str = ""

    @property
    def sound(self) -> bool:
        """Same number, same content in the sample, every file as it was written."""
        return not (
            self.unusable
            or self.damaged
            or self.missing
            or self.differing
            or self.expected != self.indexed
        )


@dataclass(frozen=True, slots=True)
class SpaceDrift:
    """The vectors of one space against the windows of the active chunks.

    differing: documents (the first hundred) with another number of vectors than windows, or with
    other walls on them, though their embed stage is done.
    """

    space_id: str
    active: bool
    windows: int
    vectors: int
    differing: tuple[int, ...]
    waiting: int

    @property
    def sound(self) -> bool:
        """No finished document differs."""
        return not self.differing


def word_drift(
    database: Database, words: WordIndex, *, sample: int = SAMPLE, seed: int | None = None
) -> WordDrift:
    """Compare count, files and a random sample of rows. `seed` makes the sample repeatable."""
    with database.worker() as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        expected = expected_count(connection)
        waiting = _waiting(connection, Stage.WORDS)
        rows = rows_of_chunks(connection, _sample(connection, sample, seed))
        try:
            state = words.verify()
            # What is damaged on disk is not read: the engine would answer with a panic or worse.
            held = words.identities(row.chunk_id for row in rows) if state.sound else None
        except WordIndexError as error:
            return WordDrift(expected, 0, 0, (), (), waiting, (), unusable=type(error).__name__)
    compared = [] if held is None else [(row, held.get(row.chunk_id)) for row in rows]
    return WordDrift(
        expected=expected,
        indexed=state.chunks,
        sampled=len(compared),
        missing=tuple(row.chunk_id for row, digest in compared if digest is None),
        differing=tuple(
            row.chunk_id for row, digest in compared if digest not in (None, row_digest(row))
        ),
        waiting=waiting,
        damaged=state.damaged,
    )


def _sample(connection: Connection, size: int, seed: int | None) -> list[int]:
    """Ids of chunks drawn evenly from all that the index should hold."""
    ids = [
        row[0]
        for row in connection.execute(
            "SELECT id FROM rag_chunks WHERE active AND restricted_until IS NULL ORDER BY id"
        )
    ]
    return ids if len(ids) <= size else random.Random(seed).sample(ids, size)


def _waiting(connection: Connection, stage: Stage) -> int:
    row = connection.execute(
        "SELECT count(*) FROM flow_ledger WHERE stage = %s AND generation = 0 AND state <> 'done'",
        (stage,),
    ).fetchone()
    assert row is not None
    return int(row[0])


_DIFFERING = """
    SELECT c.document_id
    FROM rag_chunks c LEFT JOIN (
        SELECT chunk_id, count(*) AS vectors FROM chunk_vectors
        WHERE space_id = %(space)s AND active GROUP BY chunk_id) v ON v.chunk_id = c.id
    WHERE c.active AND coalesce(v.vectors, 0) <> cardinality(c.windows)
      AND EXISTS (SELECT 1 FROM flow_ledger l WHERE l.stage = 'embed' AND l.generation = 0
                  AND l.subject_id = c.document_id AND l.state = 'done'
                  AND starts_with(coalesce(l.fingerprint, ''), 'kept_local:') IS FALSE)
    UNION
    SELECT v.document_id
    FROM chunk_vectors v JOIN rag_chunks c ON c.id = v.chunk_id
    WHERE v.space_id = %(space)s AND (
        (v.active, v.document_id, v.mandant_id, v.entity, v.project_code, v.level_rank,
         v.visible_from, v.restricted_until, v.persons, v.circle, v.is_test,
         v.date_received, v.invoice_date)
        IS DISTINCT FROM
        (c.active, c.document_id, c.mandant_id, c.entity, c.project_code, c.level_rank,
         c.visible_from, c.restricted_until, c.persons, c.circle, c.is_test,
         c.date_received, c.invoice_date))
    ORDER BY 1 LIMIT 100
"""


def space_drift(database: Database, space_id: str | None = None) -> SpaceDrift:
    """Compare the vectors of a space, the active one by default, with the chunks' windows.

    In a space beside the active one a document that is not filled in yet differs too. Raises
    `spaces.NoActiveSpace`.
    """
    with database.worker() as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        active = active_space(connection).space_id
        wanted = {"space": space_id or active}
        counts = connection.execute(
            """
            SELECT (SELECT coalesce(sum(cardinality(windows)), 0) FROM rag_chunks WHERE active),
                (SELECT count(*) FROM chunk_vectors WHERE space_id = %(space)s AND active)
            """,
            wanted,
        ).fetchone()
        assert counts is not None
        differing = connection.execute(_DIFFERING.encode(), wanted).fetchall()
        return SpaceDrift(
            space_id=wanted["space"],
            active=wanted["space"] == active,
            windows=int(counts[0]),
            vectors=int(counts[1]),
            differing=tuple(row[0] for row in differing),
            waiting=_waiting(connection, Stage.EMBED),
        )
