"""The chunk stage: a document's text becomes its chunks, with the walls of the document on each.

Here belongs what is indexed and what keeps a document out of the index (FILE-08). Where a text is
cut stands in `chunks`; vectors and words follow in `embedding` and `wording`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from psycopg.types.range import Range

from tgv_dagster.arrive.gates import PartRole
from tgv_dagster.know.chunks import Chunk, ChunkSettings, cut
from tgv_dagster.store import ledger, tuning
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.ledger import Claim
from tgv_dagster.store.pull import BatchReport, NotNow, Unworkable, pull
from tgv_dagster.store.stages import LIVE, STAGES, Stage
from tgv_dagster.store.tuning import Tuning
from tgv_dagster.understand.extracted import PageText
from tgv_dagster.understand.extracting import stored_extraction
from tgv_dagster.understand.language import UnknownLanguageError, detect


class IndexFilter(StrEnum):
    """Why a document is not in the index; stands in `documents.index_filter`.

    A document under a legal lock (`restricted_until`) keeps its chunks behind a wall that lets
    nobody through, and is left out of the word index.
    """

    NOT_ACTIVE = "not_active"
    NO_TENANT = "no_tenant"
    NO_ENTITY = "no_entity"
    NO_LEVEL = "no_level"
    NO_TEXT = "no_text"


UNCHANGED = "unchanged"
CUT = "cut"


@dataclass(frozen=True, slots=True)
class _Facts:
    """What decides about a document in the index."""

    document_id: int
    state: str
    mandant_id: int | None
    entity: str | None
    level: str | None
    sha256: str
    part_role: PartRole
    languages: tuple[str, ...]

    @property
    def filter(self) -> IndexFilter | None:
        """The first reason that keeps the document out, None when it may enter."""
        if self.state != "active":
            return IndexFilter.NOT_ACTIVE
        if self.mandant_id is None:
            return IndexFilter.NO_TENANT
        if self.entity is None:
            return IndexFilter.NO_ENTITY
        return IndexFilter.NO_LEVEL if self.level is None else None


@dataclass(frozen=True, slots=True)
class _SafePage:
    """A page whose text the database can hold; as many characters as the page it comes from."""

    number: int
    text: str


def chunk_settings(values: Tuning) -> ChunkSettings:
    """The registered sizes; an overlap that fits no chunk is cut to half of one."""
    size = values.integer("CHUNK_CHARS")
    overlap = min(values.integer("CHUNK_OVERLAP"), size // 2)
    return ChunkSettings(size, overlap, values.integer("WINDOW_CHARS"))


def cut_chunks(
    database: Database,
    *,
    limit: int,
    generation: int = LIVE,
    progress: Callable[[int, int], None] | None = None,
) -> BatchReport:
    """Cut pending documents; each ends as cut, unchanged, or filtered with its reason.

    The chunks of a document change in one transaction. In another generation they are written
    beside, inactive.
    """
    settings = chunk_settings(tuning.load(database))

    def handle(claim: Claim) -> str:
        return cut_document(database, claim, settings)

    return pull(
        database, Stage.CHUNK, handle, limit=limit, generation=generation, progress=progress
    )


def cut_document(database: Database, claim: Claim, settings: ChunkSettings) -> str:
    """Bring the chunks of one claimed document up to date and complete the claim.

    Raises Unworkable when the text of the document is not there, NotNow, ClaimLost.
    """
    with database.worker() as connection:
        facts = _facts(connection, claim.subject_id)
        rows = [] if facts.filter else _rows(connection, facts, settings, claim.generation)
        # The walls must not move between here and the chunks that copy them.
        if _facts(connection, claim.subject_id, lock=True) != facts:
            raise NotNow("the document changed while it was cut")
        if not rows:
            return _leave_out(connection, claim, facts.filter or IndexFilter.NO_TEXT)
        outcome = _replace(connection, facts.document_id, rows, claim.generation)
        if claim.generation == LIVE:
            _show(connection, facts.document_id, None)
        _complete(connection, claim, STAGES[Stage.CHUNK].then)
    return outcome


def _show(connection: Connection, document_id: int, reason: IndexFilter | None) -> None:
    connection.execute(
        "UPDATE documents SET index_filter = %s WHERE id = %s AND index_filter IS DISTINCT FROM %s",
        (reason, document_id, reason),
    )


def _complete(connection: Connection, claim: Claim, then: Sequence[Stage]) -> None:
    # The word index knows the daily generation only; others enter it when they are switched to.
    known = [stage for stage in then if claim.generation == LIVE or stage is not Stage.WORDS]
    ledger.complete(connection, claim, then=known)


def _leave_out(connection: Connection, claim: Claim, reason: IndexFilter) -> str:
    """No chunks, and the reason on the document; only one without text still goes on."""
    _delete(connection, claim.subject_id, claim.generation)
    if claim.generation == LIVE:
        _show(connection, claim.subject_id, reason)
    goes_on = reason is IndexFilter.NO_TEXT
    then = STAGES[Stage.CHUNK].then if goes_on else (Stage.WORDS,)
    _complete(connection, claim, then)
    return str(reason)


def _facts(connection: Connection, document_id: int, *, lock: bool = False) -> _Facts:
    row = connection.execute(
        (
            "SELECT d.id, d.state, d.mandant_id, d.entity, d.confidentiality_level, d.raw_sha256,"
            " d.part_role, coalesce((SELECT languages FROM mandanten m WHERE m.id = d.mandant_id),"
            " '{}') FROM documents d WHERE d.id = %s" + (" FOR NO KEY UPDATE OF d" if lock else "")
        ).encode(),
        (document_id,),
    ).fetchone()
    if row is None:
        raise Unworkable("there is no such document")
    return _Facts(
        document_id=row[0],
        state=row[1],
        mandant_id=row[2],
        entity=row[3],
        level=row[4],
        sha256=row[5],
        part_role=PartRole(row[6]),
        languages=tuple(row[7]),
    )


def _rows(
    connection: Connection, facts: _Facts, settings: ChunkSettings, generation: int
) -> list[_Row]:
    extraction = None
    if generation != LIVE:
        extraction = stored_extraction(
            connection, facts.sha256, facts.part_role, generation=generation
        )
    extraction = extraction or stored_extraction(connection, facts.sha256, facts.part_role)
    if extraction is None:
        raise Unworkable("the text of this document is missing; extract it again")
    chunks = cut([_safe(page) for page in extraction.pages], settings)
    return [_row(chunk, facts.languages) for chunk in chunks]


def _safe(page: PageText) -> _SafePage:
    text = page.text.replace("\x00", "\ufffd")
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _SafePage(page.number, text)


# --- rows --------------------------------------------------------------------------------------

_ROW = (
    "chunk_no, content, content_sha256, span_start, span_end, core_start, core_end, page_from,"
    " page_to, windows, language"
)


_Row = tuple[int, str, str, int, int, int, int, int, int, list[Range[int]], str | None]


def _replace(
    connection: Connection, document_id: int, rows: Sequence[_Row], generation: int
) -> str:
    if generation == LIVE and _stored(connection, document_id) == rows:
        return UNCHANGED
    _delete(connection, document_id, generation)
    _insert(connection, document_id, rows, generation)
    return CUT


def _row(chunk: Chunk, languages: Sequence[str]) -> _Row:
    return (
        chunk.no,
        chunk.text,
        hashlib.sha256(chunk.text.encode()).hexdigest(),
        chunk.span_start,
        chunk.span_end,
        chunk.core_start,
        chunk.core_end,
        chunk.page_from,
        chunk.page_to,
        [Range(start, end) for start, end in chunk.windows],
        _language(chunk.text, languages),
    )


def _language(text: str, allowed: Sequence[str]) -> str | None:
    """Metadata, never a filter (ING-09); a code the detector does not know is nobody's language."""
    try:
        return detect(text, allowed).language if allowed else None
    except UnknownLanguageError:
        return None


def _stored(connection: Connection, document_id: int) -> list[_Row]:
    """The chunks in force when all of them are of the daily generation, else nothing."""
    rows = connection.execute(
        f"SELECT {_ROW}, generation FROM rag_chunks WHERE document_id = %s AND active"
        " ORDER BY chunk_no".encode(),
        (document_id,),
    ).fetchall()
    return [row[:-1] for row in rows] if all(row[-1] == LIVE for row in rows) else []


def _delete(connection: Connection, document_id: int, generation: int) -> None:
    """Vectors go with their chunks; the daily generation takes the place of whatever is active."""
    connection.execute(
        "DELETE FROM rag_chunks WHERE document_id = %s AND (generation = %s OR (active AND %s))",
        (document_id, generation, generation == LIVE),
    )


def _insert(
    connection: Connection, document_id: int, rows: Iterable[_Row], generation: int
) -> None:
    """COPY beside, then one INSERT that takes every wall from the document (ING-13, ING-16).

    COPY does not know row level security, so it fills a table of this session.
    """
    connection.execute(
        "CREATE TEMP TABLE IF NOT EXISTS staged_chunks (chunk_no int4, content text,"
        " content_sha256 text, span_start int4, span_end int4, core_start int4, core_end int4,"
        " page_from int4, page_to int4, windows int4range[], language text) ON COMMIT DELETE ROWS"
    )
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY pg_temp.staged_chunks ({_ROW}) FROM STDIN".encode()) as copy,
    ):
        for row in rows:
            copy.write_row(row)
    connection.execute(
        f"""
        INSERT INTO rag_chunks (document_id, generation, active, {_ROW}, mandant_id, entity,
            project_code, confidentiality_level, visible_from, restricted_until, persons, circle,
            is_test, source_type, source_key, date_received, invoice_date)
        SELECT d.id, %s, %s, {_ROW.replace("language", "s.language")}, d.mandant_id, d.entity,
            d.project_code, d.confidentiality_level, d.visible_from, d.restricted_until,
            d.persons, d.circle, d.is_test, d.file_class, d.raw_sha256 || '/' || d.part_role,
            d.date_received, d.invoice_date
        FROM pg_temp.staged_chunks s JOIN documents d ON d.id = %s ORDER BY s.chunk_no
        """.encode(),
        (generation, generation == LIVE, document_id),
    )
