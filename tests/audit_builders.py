"""Builders for audit tests: a document as the flow leaves it, with one fact changed at a time."""

from __future__ import annotations

import hashlib
import io
import itertools
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from tgv_dagster.arrive.gates import GateKind, NewArrival, arrival_key
from tgv_dagster.arrive.raw import SavedRaw, save_raw
from tgv_dagster.audit import ledger
from tgv_dagster.audit.register import checkpoint
from tgv_dagster.audit.verdict import Verdict
from tgv_dagster.installation import Installation
from tgv_dagster.store.blobs import blob_key
from tgv_dagster.store.ledger import enqueue
from tgv_dagster.store.stages import Stage

_numbers = itertools.count(1)
RECEIVED = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
TEXT = "Rechnung 4711 vom 2. März"


def measure(installation: Installation, name: str) -> Verdict:
    """Hold, measure and keep one checkpoint, as a run does."""
    return ledger.evaluate(installation, checkpoint(name), run_id=None)


def sql(installation: Installation, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """One statement on the worker's connection; the rows it returns, if any."""
    with installation.database.worker() as connection:
        cursor = connection.execute(query.encode(), parameters or None)
        return cursor.fetchall() if cursor.description else []


def arrive(
    installation: Installation, content: bytes | None = None, *, is_test: bool = False
) -> SavedRaw:
    """Secure bytes through the one way in."""
    number = next(_numbers)
    body = content if content is not None else f"file {number}".encode()
    arrival = NewArrival(
        gate=GateKind.UPLOAD,
        arrival_key=arrival_key(GateKind.UPLOAD, "builder", number),
        bucket="nord-gmbh",
        file_name=f"file-{number}.txt",
        received_at=RECEIVED,
        mandant="nord",
        entity_hint="nord-gmbh",
        is_test=is_test,
    )
    return save_raw(installation.database, installation.blobs, arrival, io.BytesIO(body))


@dataclass(frozen=True, slots=True)
class Row:
    """Facts of a document row that tests change."""

    entity: str | None = "nord-gmbh"
    doc_type: str | None = "letter"
    confidentiality_level: str | None = "intern"
    flow_stage: str = "effect"
    file_class: str = "file"
    part_role: str = "file"
    is_test: bool = False
    text: str = TEXT
    project_code: str | None = None


def document(installation: Installation, **facts: Any) -> int:
    """A document that went the whole way: arrival, text, values, chunk, ledger; returns its id."""
    row = replace(Row(), **facts)
    saved = arrive(installation, is_test=row.is_test)
    with installation.database.worker() as connection:
        created = connection.execute(
            "INSERT INTO document_numbers (mandant_id, raw_sha256, part_role, arrival_uid)"
            " SELECT mandant_id, %s, %s, uid FROM arrivals WHERE id = %s RETURNING id",
            (saved.sha256, row.part_role, saved.arrival_id),
        ).fetchone()
        assert created is not None
        document_id = int(created[0])
        connection.execute(
            "INSERT INTO documents (id, entity, mandant_id, raw_sha256, raw_item_id,"
            " storage_bucket, raw_key, part_role, file_class, file_name, doc_type, language,"
            " confidentiality_level, flow_stage, is_test, project_code, date_received,"
            " dispatch_state)"
            " SELECT %s, %s, mandant_id, %s, raw_item_id, 'nord-gmbh', %s, %s, %s, file_name, %s,"
            " 'de', %s, %s, %s, %s, received_at, 'done' FROM arrivals WHERE id = %s",
            (
                document_id, row.entity, saved.sha256, blob_key(saved.sha256), row.part_role,
                row.file_class, row.doc_type, row.confidentiality_level, row.flow_stage,
                row.is_test, row.project_code, saved.arrival_id,
            ),
        )  # fmt: skip
        connection.execute(
            "INSERT INTO extractions (raw_sha256, part_role, engine_version, status, characters,"
            " pages, result) VALUES (%s, %s, 'test', 'complete', %s, 1, '{}')",
            (saved.sha256, row.part_role, len(row.text)),
        )
        connection.execute(
            "INSERT INTO document_values (document_id, field, value, origin, set_by, version)"
            " VALUES (%s, 'doc_type', %s, 'machine', 'triage', '1'),"
            " (%s, 'language', 'de', 'machine', 'triage', '1')",
            (document_id, row.doc_type, document_id),
        )
        connection.execute(
            "UPDATE arrivals SET outcome = 'entered', document_id = %s WHERE id = %s",
            (document_id, saved.arrival_id),
        )
        if row.entity is not None and row.confidentiality_level is not None and row.text:
            _chunk(connection, document_id, row.text)
        for stage in (Stage.DEEPEN, Stage.FILE, Stage.CHUNK, Stage.WORDS, Stage.DISPATCH):
            enqueue(connection, stage, [document_id])
        connection.execute(
            "UPDATE flow_ledger SET state = 'done' WHERE subject_id IN (%s, %s)",
            (document_id, saved.arrival_id),
        )
    return document_id


def bypass_the_gate(installation: Installation) -> int:
    """A document row that somebody wrote past the gate: no arrival knows it; returns its id."""
    document_id = document(installation)
    sql(installation, "UPDATE arrivals SET document_id = NULL WHERE document_id = %s", document_id)
    return document_id


def remove_bytes(installation: Installation, document_id: int) -> None:
    """Somebody deletes the bytes of a document from the store."""
    bucket, key = place_of_bytes(installation, document_id)
    assert installation.blobs.delete(bucket, key)


def place_of_bytes(installation: Installation, document_id: int) -> tuple[str, str]:
    """Bucket and key of a document's bytes."""
    rows = sql(
        installation, "SELECT storage_bucket, raw_key FROM documents WHERE id = %s", document_id
    )
    return rows[0][0], rows[0][1]


def _chunk(connection: Any, document_id: int, text: str) -> None:
    connection.execute(
        "INSERT INTO rag_chunks (document_id, chunk_no, content, content_sha256, span_start,"
        " span_end, core_start, core_end, page_from, page_to, windows, mandant_id, entity,"
        " project_code, confidentiality_level, persons, is_test, source_type, source_key,"
        " date_received)"
        " SELECT id, 0, %s, %s, 0, %s, 0, %s, 1, 1, ARRAY[int4range(0, %s)], mandant_id, entity,"
        " project_code, confidentiality_level, persons, is_test, 'document', id::text,"
        " date_received FROM documents WHERE id = %s",
        (
            text,
            hashlib.sha256(text.encode()).hexdigest(),
            len(text),
            len(text),
            len(text),
            document_id,
        ),
    )
