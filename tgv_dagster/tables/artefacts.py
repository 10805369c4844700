"""Kept results of questions to working material, and their ways out (TAB-03, TAB-05).

An artefact is a question with its sources: opening it asks again in the scope of the reader, so
that a source that closed or rose closes the result too. Into knowledge it goes as any paper does,
by `save_raw`, through the gate `output`.
"""

from __future__ import annotations

import hashlib
import io
import re
from dataclasses import dataclass
from datetime import UTC, datetime

from tgv_dagster.arrive.gates import GateKind, NewArrival, Origin, RawKind, arrival_key
from tgv_dagster.arrive.raw import SavedRaw, bucket_for, save_raw
from tgv_dagster.store.blobs import BlobStore
from tgv_dagster.store.db import Database
from tgv_dagster.store.levels import Level, Role, rank_of
from tgv_dagster.store.scope import Scope
from tgv_dagster.tables.querying import QueryResult, ask
from tgv_dagster.tables.rendering import MEDIA_TYPES, Form, rendered
from tgv_dagster.tables.working import WorkingNotFound

_UNNAMEABLE = re.compile(r"[^\w .,()+-]+")
MOST_LISTED = 100


class ArtefactNotFound(LookupError):
    """There is no such artefact for this reader."""


@dataclass(frozen=True, slots=True)
class Artefact:
    """A kept question. `kind`: table or plot; `level`: at least the highest of its sources.

    `knowledge`: the document it became, when it was handed in and this reader sees that document.
    """

    id: int
    title: str
    kind: str
    level: str
    sql: str
    sources: tuple[int, ...]
    created_by: str
    created_at: datetime
    knowledge: int | None

    @property
    def forms(self) -> tuple[Form, ...]:
        """The forms it is offered in."""
        return tuple(Form) if self.kind == "plot" else (Form.XLSX, Form.PDF)


def artefacts(
    database: Database, scope: Scope, *, document_id: int | None = None, number: int | None = None
) -> tuple[Artefact, ...]:
    """Kept results whose every source this reader sees, the newest first.

    `document_id` narrows to what was made from a document, `number` to one artefact.
    """
    with database.reading(scope) as connection:
        rows = connection.execute(
            """
            SELECT a.id, a.title, a.kind, a.confidentiality_level, a.basis ->> 'sql',
                array_agg(s.document_id ORDER BY s.document_id), a.created_by, a.created_at,
                (SELECT max(d.id) FROM documents d WHERE d.raw_sha256 = a.raw_sha256)
            FROM artefacts a JOIN artefact_sources s ON s.artefact_id = a.id
            WHERE (%(document)s::bigint IS NULL OR a.id IN (
                    SELECT artefact_id FROM artefact_sources WHERE document_id = %(document)s))
              AND (%(number)s::bigint IS NULL OR a.id = %(number)s)
            GROUP BY a.id
            HAVING count(*) = count((SELECT d.id FROM documents d
                WHERE d.id = s.document_id AND d.state = 'active'))
            ORDER BY a.id DESC LIMIT %(most)s
            """,
            {"document": document_id, "number": number, "most": MOST_LISTED},
        ).fetchall()
    return tuple(
        Artefact(number, title, kind, level, asked, tuple(sources), by, at, became)
        for number, title, kind, level, asked, sources, by, at, became in rows
    )


def opened(database: Database, scope: Scope, number: int) -> tuple[Artefact, QueryResult]:
    """An artefact with its answer of today.

    Raises ArtefactNotFound also when a source is closed to the reader or no working material any
    more, `querying.QueryRefused` when the question does not fit its sources any more.
    """
    found = artefacts(database, scope, number=number)
    if not found:
        raise ArtefactNotFound(f"There is no artefact {number}.")
    try:
        return found[0], ask(database, scope, found[0].sources, found[0].sql)
    except WorkingNotFound as error:
        raise ArtefactNotFound(f"There is no artefact {number}.") from error


def into_knowledge(database: Database, blobs: BlobStore, scope: Scope, number: int) -> SavedRaw:
    """Hand an artefact in as a PDF document of its tenant, at least as closed as its sources.

    The same result handed in again is the same arrival. Raises ScopeError, ArtefactNotFound,
    `querying.QueryRefused`, and the faults of `save_raw`.
    """
    scope.require(Role.EDITOR)
    artefact, result = opened(database, scope, number)
    content = rendered(result, Form.PDF, title=artefact.title)
    level = max(Level(artefact.level), result.level, key=rank_of)
    with database.reading(scope) as connection:
        row = connection.execute(
            """
            SELECT m.slug, CASE WHEN count(DISTINCT d.entity) = 1 AND count(d.entity) = count(*)
                THEN min(d.entity) END, max(d.visible_from), bool_or(a.is_test)
            FROM artefacts a JOIN artefact_sources s ON s.artefact_id = a.id
            JOIN documents d ON d.id = s.document_id JOIN mandanten m ON m.id = a.mandant_id
            WHERE a.id = %s GROUP BY m.slug
            """,
            (number,),
        ).fetchone()
    if row is None:
        raise ArtefactNotFound(f"There is no artefact {number}.")
    mandant, entity, visible_from, is_test = row
    with database.worker() as connection:
        bucket = bucket_for(connection, entity=entity, mandant=mandant)
    links = ", ".join(f"/d/{source}" for source in artefact.sources)
    saved = save_raw(
        database,
        blobs,
        NewArrival(
            gate=GateKind.OUTPUT,
            arrival_key=arrival_key(GateKind.OUTPUT, number, hashlib.sha256(content).hexdigest()),
            bucket=bucket,
            file_name=file_name(artefact, Form.PDF),
            received_at=datetime.now(UTC),
            kind=RawKind.OUTPUT,
            uploader=scope.principal,
            intent_text=f"{artefact.title} (artefact {number} of {links})",
            mandant=mandant,
            entity_hint=entity,
            media_type=MEDIA_TYPES[Form.PDF],
            origin=Origin(
                level_floor=str(level),
                visible_from=visible_from and visible_from.isoformat(),
            ),
            is_test=is_test,
        ),
        io.BytesIO(content),
    )
    with database.worker() as connection:
        connection.execute(
            "UPDATE artefacts SET (raw_sha256, storage_bucket, raw_key) ="
            " (SELECT sha256, storage_bucket, raw_key FROM raw_items WHERE id = %s) WHERE id = %s",
            (saved.raw_item_id, number),
        )
    return saved


def file_name(artefact: Artefact, form: Form) -> str:
    """The name of the file that leaves."""
    stem = _UNNAMEABLE.sub("_", artefact.title).strip(" ._") or "result"
    return f"{stem[:100]}.{form}"
