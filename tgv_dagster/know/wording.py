"""The words stage: the word index follows the chunk table, in batches and as a whole.

Here belongs how chunk rows reach the index and how a reader's scope becomes its walls. The engine
stands in `words`, the chunks come from `chunking`. The index is a view: whatever is wrong with it
is mended by building it anew beside.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from tgv_dagster.know.generations import WriterBusy
from tgv_dagster.know.word_model import (
    AxisDate,
    BuildIncomplete,
    BuildReport,
    HitFilters,
    IndexDamaged,
    IndexedAxis,
    IndexMissing,
    IndexOutdated,
    WallTerms,
    WordIndexError,
    WordRow,
)
from tgv_dagster.know.word_schema import refusal
from tgv_dagster.know.words import WordIndex
from tgv_dagster.store import ledger
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.ledger import Claim
from tgv_dagster.store.pull import BatchReport, NotNow, Unworkable, pull, worker_name
from tgv_dagster.store.scope import Scope
from tgv_dagster.store.stages import LIVE, Stage

WAIT_SECONDS = 2.0
"""How long a batch waits for another writer before it leaves its documents pending."""

COMMIT_CHARACTERS = 20_000_000
"""Text of one commit, at most (a single larger document is one commit)."""

INDEXED = "indexed"
LEFT_OUT = "left_out"
"""The document has no chunk that may be in the word index: none at all, or under a legal lock."""

_POLL_SECONDS = 0.2
_UNUSABLE = (IndexMissing, IndexOutdated, IndexDamaged)


def wall_terms(scope: Scope, now: dt.datetime) -> WallTerms:
    """The walls of a scope at a moment (the database's own clock), as `store.walls` reads them."""
    return WallTerms(
        mandant_id=scope.mandant_id,
        entities=scope.visible_entities,
        project_code=scope.project_code,
        max_level_rank=scope.confidentiality_max,
        person=scope.user_id,
        include_test=scope.include_test,
        now=now,
        is_super=scope.is_owner,
        is_manager=scope.is_manager,
    )


def hit_filters(scope: Scope) -> HitFilters:
    """What a scope narrows besides its walls."""
    return HitFilters(document_id=scope.context_doc_id, period=scope.period)


# --- rows --------------------------------------------------------------------------------------

_ROWS = """
    SELECT c.id, c.document_id, c.content, c.mandant_id, c.entity, c.level_rank, c.source_type,
        c.project_code, c.is_test, c.visible_from, c.persons,
        (c.date_received AT TIME ZONE m.timezone)::date, c.invoice_date, c.circle
    FROM rag_chunks c JOIN documents d ON d.id = c.document_id
    JOIN mandanten m ON m.id = c.mandant_id
    WHERE c.active AND c.restricted_until IS NULL AND d.state = 'active'
"""


def _word_row(row: Sequence) -> WordRow:
    dates = zip((IndexedAxis.DATE_RECEIVED, IndexedAxis.INVOICE_DATE), row[11:13], strict=True)
    return WordRow(
        chunk_id=row[0],
        document_id=row[1],
        text=row[2],
        mandant_id=row[3],
        entity=row[4],
        level_rank=row[5],
        source_type=row[6],
        project_code=row[7],
        is_test=row[8],
        visible_from=row[9],
        persons=tuple(row[10]),
        circle=None if row[13] is None else tuple(row[13]),
        dates=tuple(AxisDate(axis, day) for axis, day in dates if day is not None),
    )


def rows_of(connection: Connection, document_ids: Sequence[int]) -> tuple[WordRow, ...]:
    """The rows that the index should hold for these documents."""
    found = connection.execute(
        (_ROWS + " AND c.document_id = ANY (%s) ORDER BY c.id").encode(), (list(document_ids),)
    )
    return tuple(_word_row(row) for row in found)


def rows_of_chunks(connection: Connection, chunk_ids: Sequence[int]) -> tuple[WordRow, ...]:
    """The rows that the index should hold for these chunks."""
    found = connection.execute(
        (_ROWS + " AND c.id = ANY (%s) ORDER BY c.id").encode(), (list(chunk_ids),)
    )
    return tuple(_word_row(row) for row in found)


def expected_count(connection: Connection) -> int:
    """How many rows the index should hold."""
    row = connection.execute(f"SELECT count(*) FROM ({_ROWS}) due".encode()).fetchone()
    assert row is not None
    return int(row[0])


# --- the stage ---------------------------------------------------------------------------------


def index_words(
    database: Database,
    words: WordIndex,
    *,
    limit: int,
    wait_seconds: float = WAIT_SECONDS,
    progress: Callable[[int, int], None] | None = None,
) -> BatchReport:
    """Bring pending documents into the index, or out of it; each ends as indexed or left_out.

    Few commits for the whole batch. While somebody else writes, the documents stay pending. An
    index that is missing, outdated or damaged is built anew beside.
    """
    batch = _Batch(database, words, wait_seconds)
    return pull(
        database, Stage.WORDS, batch.finish, limit=limit, progress=progress, begin=batch.write
    )


@dataclass(frozen=True, slots=True)
class Followed:
    """Whether the index holds the present state of some documents; `reason` says why not yet."""

    done: bool
    reason: str = ""


def follow_now(
    database: Database,
    words: WordIndex,
    document_ids: Sequence[int],
    *,
    wait_seconds: float = WAIT_SECONDS,
) -> Followed:
    """Bring pending documents into or out of the index at once, outside the daily run.

    What does not succeed now stays pending for the daily run.
    """
    with database.worker() as connection:
        claims = ledger.claim(
            connection,
            Stage.WORDS,
            limit=len(document_ids),
            worker=worker_name(),
            subjects=document_ids,
        )
        taken = {claim.subject_id for claim in claims}
        open_elsewhere = _open(connection, set(document_ids) - taken)
    if open_elsewhere:
        _give_back(database, claims)
        return Followed(False, "another worker is bringing this document into the word index")
    batch = _Batch(database, words, wait_seconds)
    try:
        batch.write(claims)
        for claim in claims:
            batch.finish(claim)
    except NotNow as wait:
        _give_back(database, claims)
        return Followed(False, str(wait))
    except (WordIndexError, Unworkable, ledger.ClaimLost, OSError) as error:
        _give_back(database, claims)
        return Followed(False, f"the word index could not be written: {type(error).__name__}")
    return Followed(True)


def _open(connection: Connection, document_ids: Collection[int]) -> bool:
    row = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM flow_ledger WHERE stage = %s AND generation = %s"
        " AND subject_id = ANY (%s) AND state <> 'done')",
        (Stage.WORDS, LIVE, list(document_ids)),
    ).fetchone()
    assert row is not None
    return bool(row[0])


def _give_back(database: Database, claims: Sequence[Claim]) -> None:
    with database.worker() as connection:
        ledger.give_back(connection, claims)


@dataclass(slots=True)
class _Batch:
    """The claimed documents of one run on their way into the index."""

    database: Database
    words: WordIndex
    wait_seconds: float
    busy: str = ""
    indexed: set[int] = field(default_factory=set)
    refused: dict[int, str] = field(default_factory=dict)

    def write(self, claims: Sequence[Claim]) -> None:
        """Apply the present rows of all claimed documents; a busy writer is only remembered."""
        ids = [claim.subject_id for claim in claims]
        if not ids:
            return
        try:
            try:
                self._apply(ids)
            except _UNUSABLE:
                rebuild_words(self.database, self.words, wait_seconds=self.wait_seconds)
                self._note(ids)
        except WriterBusy as busy:
            self.busy = str(busy)

    def finish(self, claim: Claim) -> str:
        """Complete one document. Raises NotNow, Unworkable, ClaimLost.

        The claim is lost when the document changed after its rows were read: then it is pending
        again, and the next run reads what is there by then.
        """
        if self.busy:
            raise NotNow(self.busy)
        if claim.subject_id in self.refused:
            raise Unworkable(f"refused by the word index: {self.refused[claim.subject_id]}")
        with self.database.worker() as connection:
            ledger.complete(connection, claim)
        return INDEXED if claim.subject_id in self.indexed else LEFT_OUT

    def _apply(self, ids: Sequence[int]) -> None:
        with self.words.writer(self.wait_seconds) as writer:
            # Rows are read while nobody else writes: what is committed later is claimed again.
            for part in self._commits(ids):
                with self.database.worker() as connection:
                    rows = rows_of(connection, part)
                writer.apply([row for row in rows if not self._refuses(row)], part)
                self.indexed.update(row.document_id for row in rows)

    def _note(self, ids: Sequence[int]) -> None:
        with self.database.worker() as connection:
            rows = rows_of(connection, ids)
        self.indexed.update(row.document_id for row in rows if not self._refuses(row))

    def _refuses(self, row: WordRow) -> bool:
        reason = refusal(row)
        if reason is not None:
            self.refused[row.document_id] = reason
        return reason is not None

    def _commits(self, ids: Sequence[int]) -> Iterator[list[int]]:
        with self.database.worker() as connection:
            sizes = dict(
                connection.execute(
                    "SELECT document_id, sum(length(content)) FROM rag_chunks"
                    " WHERE document_id = ANY (%s) AND active GROUP BY document_id",
                    (list(ids),),
                ).fetchall()
            )
        part: list[int] = []
        size = 0
        for document_id in ids:
            more = int(sizes.get(document_id, 0))
            if part and size + more > COMMIT_CHARACTERS:
                yield part
                part, size = [], 0
            part.append(document_id)
            size += more
        yield part


# --- the whole index ---------------------------------------------------------------------------


def open_words(database: Database, directory: Path, *, wait_seconds: float = 60.0) -> WordIndex:
    """The index below a directory, built from the chunk table when it cannot be used as it is.

    Raises WriterBusy when another process is still building it after `wait_seconds`.
    """
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            return WordIndex.open(directory)
        except _UNUSABLE:
            pass
        words = WordIndex.at(directory)
        try:
            rebuild_words(database, words, wait_seconds=0.0)
        except WriterBusy:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_POLL_SECONDS)
        else:
            return words


def rebuild_words(
    database: Database,
    words: WordIndex,
    *,
    wait_seconds: float = WAIT_SECONDS,
    progress: Callable[[int, int], None] | None = None,
) -> BuildReport:
    """Build the whole index beside from the chunk table and put it in force.

    Readers keep the former index until the switch, and keep it for good when the build fails.
    Raises WriterBusy, BuildIncomplete.
    """
    with closing(_all_rows(database, progress)) as rows:
        return words.build_beside(rows, wait_seconds=wait_seconds)


def _all_rows(
    database: Database, progress: Callable[[int, int], None] | None
) -> Generator[WordRow, None, None]:
    """Every row, one snapshot, read as it is needed. Raises BuildIncomplete."""
    with database.worker() as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        due, read = expected_count(connection), 0
        with connection.cursor(name="all_chunks") as cursor:
            cursor.itersize = 500
            for row in cursor.execute((_ROWS + " ORDER BY c.id").encode()):
                yield _word_row(row)
                read += 1
                if progress is not None:
                    progress(read, due)
        if read != due:
            raise BuildIncomplete(f"{read} rows read, {due} expected")
