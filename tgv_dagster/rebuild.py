"""Rebuild: everything derived from the raw layer, or one step beside what is in force.

`rebuild_all` truncates exactly the derived tables and walks the flow again; `restore_from_raw`
fills an empty database from blobs and manifests alone (RAW-06). `rebuild_step` writes another
generation beside, compares, and `switch` puts it in force; readers never see half of it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from psycopg.types.json import Jsonb

from tgv_dagster.arrive.gates import PartRole
from tgv_dagster.arrive.raw import arrival_of, first_stage, record_manifest
from tgv_dagster.flow import run_until_idle
from tgv_dagster.installation import Installation
from tgv_dagster.know.chunking import cut_chunks
from tgv_dagster.know.embedding import embed_chunks
from tgv_dagster.store import ledger
from tgv_dagster.store.blobs import blob_key
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.ledger import Claim
from tgv_dagster.store.organisation import INTAKE_BUCKET, unsorted_buckets
from tgv_dagster.store.pull import BatchReport, pull
from tgv_dagster.store.register import derived_tables
from tgv_dagster.store.stages import LIVE, STAGES, Stage, Subject
from tgv_dagster.understand.extracting import (
    load_arrived,
    read_bytes,
    stored_extraction,
    write_extraction,
)
from tgv_dagster.understand.triaging import TRIAGE_VERSION, decide
from tgv_dagster.understand.values import write_values

Progress = Callable[[int, int], None]


class RebuildError(RuntimeError):
    """The rebuild cannot be done or switched; the message says why."""


@dataclass(frozen=True, slots=True)
class RebuildScope:
    """Which documents: a tenant, a month of receipt, a kind, or single numbers; None = any."""

    mandant_id: int | None = None
    month: date | None = None
    doc_type: str | None = None
    document_ids: tuple[int, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """The facts for the generation's row."""
        return {
            "mandant_id": self.mandant_id,
            "month": None if self.month is None else self.month.isoformat(),
            "doc_type": self.doc_type,
            "document_ids": None if self.document_ids is None else list(self.document_ids),
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """The generation beside against what is in force, per document; counts and ids, never text."""

    generation_id: int
    step: Stage
    documents: int
    same: int
    changed: int
    only_new: int
    only_old: int
    failed: int
    examples: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Content of what can be rebuilt, as one hash per part, with its counts."""

    documents: str
    values: str
    chunks: str
    counts: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """A whole rebuild: content before and after, and what the flow reported."""

    before: Fingerprint
    after: Fingerprint
    reports: tuple[BatchReport, ...]

    @property
    def equal(self) -> bool:
        """Whether the rebuilt content is the content that was there."""
        return self.before == self.after


# --- everything -----------------------------------------------------------------------------------


def fingerprint(database: Database) -> Fingerprint:
    """Hashes over documents, active values and active chunks, each independent of row order."""
    with database.worker() as connection:
        documents = _digest(
            connection,
            "SELECT concat_ws('|', id, mandant_id, entity, entity_quelle, raw_sha256, part_role,"
            " file_name, doc_type, provider, language, direction, confidentiality_level,"
            " project_code, date_received, invoice_date, due_date, amount_gross, currency, state)"
            " AS row FROM documents",
        )
        values = _digest(
            connection,
            "SELECT concat_ws('|', document_id, field, coalesce(value, '-'), origin, rule_id)"
            " AS row FROM document_values WHERE active",
        )
        chunks = _digest(
            connection,
            "SELECT concat_ws('|', document_id, chunk_no, content_sha256, core_start, core_end,"
            " entity, level_rank) AS row FROM rag_chunks WHERE active",
        )
    return Fingerprint(documents[0], values[0], chunks[0], (documents[1], values[1], chunks[1]))


def rebuild_all(
    installation: Installation,
    *,
    by: str,
    walk: Callable[[], tuple[BatchReport, ...]] | None = None,
) -> RebuildReport:
    """Truncate everything derived and both indexes, then walk the flow again.

    Document numbers, human values, cases and events stay; bytes come from the raw layer alone.
    `walk` replaces the plain walk (the console shows progress).
    """
    before = fingerprint(installation.database)
    with installation.database.worker() as connection:
        _truncate_derived(connection)
        _start_over(connection)
        record(
            connection,
            Event("rebuild.started", by, "installation", "everything derived is built again"),
        )
    _drop_word_index(installation)
    reports = walk() if walk is not None else run_until_idle(installation)
    return RebuildReport(before, fingerprint(installation.database), reports)


def restore_from_raw(installation: Installation, *, by: str) -> int:
    """Fill raw items, arrivals and document numbers from the manifests beside the bytes.

    For a database that was lost; the organisation has to be imported before. Existing rows stay.
    Returns how many arrivals were found; the flow then enters them under their old numbers.
    """
    database, blobs = installation.database, installation.blobs
    with database.worker() as connection:
        buckets = _buckets(connection)
    manifests = [
        json.loads(blobs.read_sidecar(bucket, name))
        for bucket in buckets
        for name in blobs.iter_sidecars(bucket, "arrivals/")
    ]
    for manifest in _parents_first(manifests):
        with database.worker() as connection:
            arrival_id = record_manifest(connection, manifest, blob_key(manifest["sha256"]))
            ledger.enqueue(connection, first_stage(arrival_of(manifest)), [arrival_id])
    numbers = [
        json.loads(blobs.read_sidecar(bucket, name))
        for bucket in buckets
        for name in blobs.iter_sidecars(bucket, "documents/")
    ]
    with database.worker() as connection:
        _restore_numbers(connection, numbers)
        record(
            connection,
            Event(
                "rebuild.restored_from_raw",
                by,
                "installation",
                "arrivals and numbers were read from the manifests",
                payload={"arrivals": len(manifests), "numbers": len(numbers)},
            ),
        )
    return len(manifests)


def _parents_first(manifests: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """A part refers to its mail, so the mail's row comes first, however deep they are nested."""
    by_uid = {manifest["uid"]: manifest for manifest in manifests}

    def depth(manifest: dict[str, Any]) -> int:
        steps, parent = 0, manifest.get("parent_uid")
        while parent in by_uid and steps < len(by_uid):
            steps, parent = steps + 1, by_uid[parent].get("parent_uid")
        return steps

    yield from sorted(manifests, key=lambda m: (depth(m), m["received_at"], m["uid"]))


def _restore_numbers(connection: Connection, numbers: list[dict[str, Any]]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO document_numbers (id, mandant_id, raw_sha256, part_role, arrival_uid)"
            " VALUES (%(document_id)s, (SELECT id FROM mandanten WHERE slug = %(mandant)s),"
            " %(raw_sha256)s, %(part_role)s, %(arrival_uid)s) ON CONFLICT DO NOTHING",
            numbers,
        )
    connection.execute(
        "SELECT setval(pg_get_serial_sequence('document_numbers', 'id'),"
        " greatest((SELECT coalesce(max(id), 0) FROM document_numbers),"
        " nextval(pg_get_serial_sequence('document_numbers', 'id')) - 1, 1))"
    )


def _buckets(connection: Connection) -> tuple[str, ...]:
    rows = connection.execute("SELECT DISTINCT bucket FROM entities").fetchall()
    return tuple(sorted({row[0] for row in rows} | {*unsorted_buckets(connection), INTAKE_BUCKET}))


def _truncate_derived(connection: Connection) -> None:
    whole = [table.name for table in derived_tables() if table.keep is None]
    connection.execute(f"TRUNCATE {', '.join(whole)}".encode())
    for table in derived_tables():
        if table.keep is not None:
            connection.execute(f"DELETE FROM {table.name} WHERE NOT ({table.keep})".encode())


def _start_over(connection: Connection) -> None:
    """Every arrival that is not a taken-apart container is pending again."""
    rows = connection.execute(
        "UPDATE arrivals SET outcome = 'pending', outcome_reason = NULL"
        " WHERE outcome NOT IN ('split', 'erased') RETURNING id, part_role"
    ).fetchall()
    for stage, wanted in ((Stage.SPLIT, True), (Stage.EXTRACT, False)):
        ledger.enqueue(
            connection, stage, [row[0] for row in rows if (row[1] == PartRole.MAIL) is wanted]
        )


def _drop_word_index(installation: Installation) -> None:
    installation.words.close()
    shutil.rmtree(installation.settings.index_path, ignore_errors=True)
    installation.__dict__.pop("words", None)


def _digest(connection: Connection, rows: str) -> tuple[str, int]:
    found = connection.execute(
        "SELECT coalesce(encode(sha256(convert_to(string_agg(md5(row), '' ORDER BY md5(row)),"
        f" 'UTF8')), 'hex'), ''), count(*) FROM ({rows}) r".encode()
    ).fetchone()
    assert found is not None
    return str(found[0]), int(found[1])


# --- one step beside -----------------------------------------------------------------------------


def rebuild_step(
    installation: Installation,
    step: Stage,
    scope: RebuildScope,
    by: str,
    *,
    progress: Progress | None = None,
) -> Comparison:
    """Compute one step of the documents in scope again, beside what is in force, and compare.

    Steps: extract, triage, chunk (with its vectors), embed (chunks with vectors asked anew from
    the model). Raises RebuildError for any other step.
    """
    if step not in _STEPS:
        raise RebuildError(f"{step} cannot be built beside; use one of {', '.join(_STEPS)}")
    database = installation.database
    with database.worker() as connection:
        documents = _in_scope(connection, scope)
        generation = _new_generation(connection, step, scope, by)
        subjects = documents
        if STAGES[step].subject is Subject.ARRIVAL:
            subjects = ledger.arrivals_of(connection, documents)
        stage = Stage.CHUNK if step is Stage.EMBED else step
        ledger.enqueue(connection, stage, subjects, generation=generation)
        if step is Stage.EMBED:
            _forget_vectors(connection, documents)
    failed = _STEPS[step](installation, generation, len(subjects), progress)
    with database.worker() as connection:
        comparison = _compare(connection, step, generation, documents, failed)
        connection.execute(
            "UPDATE generations SET state = 'ready', comparison = %s WHERE id = %s",
            (Jsonb(_comparison_json(comparison)), generation),
        )
    return comparison


def switch(installation: Installation, generation_id: int, by: str) -> int:
    """Put a finished generation in force; returns how many documents changed.

    One transaction for the rows; the word index follows in the same call. Human values are not
    touched. Raises RebuildError unless the generation is ready.
    """
    database = installation.database
    with database.worker() as connection:
        step = _claim_generation(connection, generation_id, "active", by)
        documents = _SWITCHES[step](connection, generation_id)
        follow = _FOLLOWS[step]
        ledger.enqueue(connection, follow, documents, again=True)
    run_until_idle(installation)
    return len(documents)


def drop(installation: Installation, generation_id: int, by: str) -> None:
    """Throw a generation away; what is in force stays. Raises RebuildError unless it is ready."""
    with installation.database.worker() as connection:
        _claim_generation(connection, generation_id, "dropped", by)
        for table in ("extractions", "document_values", "rag_chunks", "flow_ledger"):
            condition = "" if table == "flow_ledger" else " AND NOT active"
            connection.execute(
                f"DELETE FROM {table} WHERE generation = %s{condition}".encode(), (generation_id,)
            )


def _in_scope(connection: Connection, scope: RebuildScope) -> list[int]:
    rows = connection.execute(
        """
        SELECT id FROM documents WHERE state = 'active'
          AND (%(mandant_id)s::integer IS NULL OR mandant_id = %(mandant_id)s)
          AND (%(month)s::date IS NULL OR (date_received >= %(month)s::date
               AND date_received < %(month)s::date + interval '1 month'))
          AND (%(doc_type)s::text IS NULL OR doc_type = %(doc_type)s)
          AND (%(document_ids)s::bigint[] IS NULL OR id = ANY (%(document_ids)s::bigint[]))
        ORDER BY id
        """,
        scope.to_json(),
    ).fetchall()
    return [row[0] for row in rows]


def _new_generation(connection: Connection, step: Stage, scope: RebuildScope, by: str) -> int:
    row = connection.execute(
        "INSERT INTO generations (step, scope, code_version, created_by) VALUES (%s, %s, %s, %s)"
        " RETURNING id",
        (step, Jsonb(scope.to_json()), TRIAGE_VERSION, by),
    ).fetchone()
    assert row is not None
    return int(row[0])


def _claim_generation(connection: Connection, generation_id: int, state: str, by: str) -> Stage:
    row = connection.execute(
        "UPDATE generations SET state = %s, switched_at = now() WHERE id = %s AND state = 'ready'"
        " RETURNING step",
        (state, generation_id),
    ).fetchone()
    if row is None:
        raise RebuildError(f"Generation {generation_id} is not ready to be switched or dropped.")
    record(
        connection,
        Event(f"rebuild.{state}", by, f"generation:{generation_id}", f"{row[0]} is {state}"),
    )
    return Stage(row[0])


def _forget_vectors(connection: Connection, documents: list[int]) -> None:
    connection.execute("DELETE FROM embedding_cache WHERE document_id = ANY (%s)", (documents,))


def _extract_beside(
    installation: Installation, generation: int, total: int, progress: Progress | None
) -> int:
    database = installation.database

    def handle(claim: Claim) -> str:
        with database.worker() as connection:
            arrived = load_arrived(connection, claim.subject_id)
        extraction, _ = read_bytes(database, installation.blobs, installation.extraction, arrived)
        with database.worker() as connection:
            write_extraction(connection, arrived, extraction, 0.0, generation=generation)
            ledger.complete(connection, claim)
        return str(extraction.status)

    return _drain(database, Stage.EXTRACT, handle, generation, total, progress)


def _triage_beside(
    installation: Installation, generation: int, total: int, progress: Progress | None
) -> int:
    database = installation.database

    def handle(claim: Claim) -> str:
        with database.worker() as connection:
            arrived = load_arrived(connection, claim.subject_id)
            extraction = stored_extraction(connection, arrived.sha256, arrived.part_role)
            number = connection.execute(
                "SELECT id FROM document_numbers WHERE arrival_uid = %s AND part_role = %s",
                (arrived.uid, arrived.part_role),
            ).fetchone()
            if extraction is None or number is None:
                raise RebuildError("the document has no text or no number")
            decision = decide(connection, arrived, extraction)
            write_values(
                connection,
                number[0],
                decision.triage.findings,
                set_by="triage",
                version=TRIAGE_VERSION,
                generation=generation,
            )
            ledger.complete(connection, claim)
        return "triaged"

    return _drain(database, Stage.TRIAGE, handle, generation, total, progress)


def _chunk_beside(
    installation: Installation, generation: int, total: int, progress: Progress | None
) -> int:
    database = installation.database
    failed = 0
    while True:
        cut = cut_chunks(database, limit=200, generation=generation, progress=progress)
        embedded = embed_chunks(
            database, installation.embedder, limit=200, generation=generation, progress=progress
        )
        failed += _failures(cut) + _failures(embedded)
        if cut.claimed == 0 and embedded.claimed == 0:
            return failed


def _drain(
    database: Database,
    stage: Stage,
    handle: Callable[[Claim], str],
    generation: int,
    total: int,
    progress: Progress | None,
) -> int:
    done = failed = 0
    while True:
        report = pull(database, stage, handle, limit=200, generation=generation)
        done, failed = done + report.claimed, failed + _failures(report)
        if progress is not None:
            progress(done, total)
        if report.claimed == 0:
            return failed


def _failures(report: BatchReport) -> int:
    return sum(report.outcomes.get(name, 0) for name in ("parked", "held", "retry"))


_STEPS: dict[Stage, Callable[[Installation, int, int, Progress | None], int]] = {
    Stage.EXTRACT: _extract_beside,
    Stage.TRIAGE: _triage_beside,
    Stage.CHUNK: _chunk_beside,
    Stage.EMBED: _chunk_beside,
}

_FOLLOWS: dict[Stage, Stage] = {
    Stage.EXTRACT: Stage.CHUNK,
    Stage.TRIAGE: Stage.DEEPEN,
    Stage.CHUNK: Stage.WORDS,
    Stage.EMBED: Stage.WORDS,
}
"""What is done again after a switch, so that nothing downstream stays behind."""

_CHUNKS_OF = (
    "SELECT document_id AS id, md5(string_agg(concat_ws(':', chunk_no, content_sha256, core_start,"
    " core_end), ',' ORDER BY chunk_no)) AS content FROM rag_chunks WHERE {which}"
    " GROUP BY document_id"
)
_VECTORS_OF = (
    "SELECT document_id AS id, md5(string_agg(md5(emb::text), ',' ORDER BY md5(emb::text)))"
    " AS content FROM chunk_vectors WHERE chunk_id IN (SELECT id FROM rag_chunks WHERE {which})"
    " GROUP BY document_id"
)
_CONTENT: dict[Stage, str] = {
    Stage.EXTRACT: (
        "SELECT d.id, md5(e.status || e.result) AS content FROM documents d JOIN extractions e"
        " ON e.raw_sha256 = d.raw_sha256 AND e.part_role = d.part_role WHERE {which}"
    ),
    Stage.TRIAGE: (
        "SELECT document_id AS id, md5(string_agg(concat_ws(':', field, coalesce(value, '-')),"
        " ',' ORDER BY field, value)) AS content FROM document_values"
        " WHERE set_by = 'triage' AND {which} GROUP BY document_id"
    ),
    Stage.CHUNK: _CHUNKS_OF,
    Stage.EMBED: _VECTORS_OF,
}


def _compare(
    connection: Connection, step: Stage, generation: int, documents: list[int], failed: int
) -> Comparison:
    old = _CONTENT[step].format(which="active")
    new = _CONTENT[step].format(which="generation = %(generation)s")
    rows = connection.execute(
        f"SELECT coalesce(o.id, n.id), o.content, n.content FROM ({old}) o FULL JOIN ({new}) n"
        " ON n.id = o.id WHERE coalesce(o.id, n.id) = ANY (%(documents)s) ORDER BY 1".encode(),
        {"generation": generation, "documents": documents},
    ).fetchall()
    changed = [row[0] for row in rows if row[1] is not None and row[2] not in (None, row[1])]
    return Comparison(
        generation_id=generation,
        step=step,
        documents=len(documents),
        same=sum(1 for row in rows if row[1] is not None and row[1] == row[2]),
        changed=len(changed),
        only_new=sum(1 for row in rows if row[1] is None),
        only_old=sum(1 for row in rows if row[2] is None),
        failed=failed,
        examples=tuple(changed[:10]),
    )


def _comparison_json(comparison: Comparison) -> dict[str, Any]:
    return {
        name: getattr(comparison, name)
        for name in ("documents", "same", "changed", "only_new", "only_old", "failed")
    } | {"examples": list(comparison.examples)}


def _switch_extractions(connection: Connection, generation: int) -> list[int]:
    connection.execute(
        "DELETE FROM extractions o USING extractions n WHERE n.generation = %s AND o.active"
        " AND o.raw_sha256 = n.raw_sha256 AND o.part_role = n.part_role AND o.generation <> %s",
        (generation, generation),
    )
    rows = connection.execute(
        "WITH now_live AS (UPDATE extractions SET active = true, generation = %s"
        " WHERE generation = %s RETURNING raw_sha256, part_role)"
        " SELECT d.id FROM documents d JOIN now_live l"
        " ON l.raw_sha256 = d.raw_sha256 AND l.part_role = d.part_role",
        (LIVE, generation),
    ).fetchall()
    return [row[0] for row in rows]


def _switch_values(connection: Connection, generation: int) -> list[int]:
    connection.execute(
        "DELETE FROM document_values WHERE active AND origin <> 'human' AND set_by = 'triage'"
        " AND document_id IN (SELECT document_id FROM document_values WHERE generation = %s)",
        (generation,),
    )
    rows = connection.execute(
        "UPDATE document_values SET active = true, generation = %s WHERE generation = %s"
        " RETURNING document_id",
        (LIVE, generation),
    ).fetchall()
    return sorted({row[0] for row in rows})


def _switch_chunks(connection: Connection, generation: int) -> list[int]:
    rows = connection.execute(
        "SELECT DISTINCT document_id FROM rag_chunks WHERE generation = %s", (generation,)
    ).fetchall()
    documents = [row[0] for row in rows]
    connection.execute(
        "DELETE FROM rag_chunks WHERE document_id = ANY (%s) AND active", (documents,)
    )
    connection.execute(
        "UPDATE rag_chunks SET active = true, generation = %s WHERE generation = %s",
        (LIVE, generation),
    )
    connection.execute(
        "UPDATE chunk_vectors SET active = true WHERE document_id = ANY (%s) AND NOT active",
        (documents,),
    )
    return documents


_SWITCHES: dict[Stage, Callable[[Connection, int], list[int]]] = {
    Stage.EXTRACT: _switch_extractions,
    Stage.TRIAGE: _switch_values,
    Stage.CHUNK: _switch_chunks,
    Stage.EMBED: _switch_chunks,
}
