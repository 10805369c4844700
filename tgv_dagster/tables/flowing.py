"""The tables stage: every structured file of a tenant goes to the recogniser (TAB-47, TRI-13).

A confirmed signature is imported at once; anything else becomes a case with its card; a file no
reader understands is recorded with its reason (FMT-05). Bank formats of their own belong to `bank`.
Here: which documents are looked at, their bytes, and the outcome in `table_imports`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from psycopg.types.json import Jsonb

from tgv_dagster.bank.reading import HEAD, Guess, sniff
from tgv_dagster.store import ledger
from tgv_dagster.store.blobs import BlobMissing, BlobStore
from tgv_dagster.store.cases import CaseKind, NewCase, SubjectKind, close_solved, open_case
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.ledger import Claim
from tgv_dagster.store.pull import BatchReport, Unworkable, pull
from tgv_dagster.store.stages import Stage
from tgv_dagster.tables import memory, working
from tgv_dagster.tables.asking import AUTHOR, cards_of, evidence_of, open_values
from tgv_dagster.tables.assignment import Assigned, Finding, assign
from tgv_dagster.tables.deeds import basis_of
from tgv_dagster.tables.importing import (
    Import,
    book_rows,
    goes_by_project,
    import_rows,
    told_aside,
)
from tgv_dagster.tables.model import Dialect, TableUnreadable
from tgv_dagster.tables.projects import allowed_projects
from tgv_dagster.tables.reading.delimited import Settled
from tgv_dagster.tables.reading.files import SUFFIXES
from tgv_dagster.tables.recognising import Recognised, recognise_file
from tgv_dagster.tables.rows import project_values
from tgv_dagster.tables.signature import Match
from tgv_dagster.tables.stored import pack, shape_of
from tgv_dagster.tables.targets import Target

NOT_A_TABLE = "not_a_table"
_INTENT_CHARACTERS = 600
_BANK_FORMATS = (Guess.CAMT, Guess.MT940, Guess.OFX, Guess.UNSUPPORTED)


@dataclass(frozen=True, slots=True)
class Facts:
    """What the stage knows about a document."""

    document_id: int
    mandant_id: int
    entity: str | None
    level: str | None
    is_test: bool
    sha256: str
    bucket: str
    raw_key: str
    file_name: str
    intent: str


def take_tables(
    database: Database,
    blobs: BlobStore,
    *,
    limit: int,
    progress: Callable[[int, int], None] | None = None,
) -> BatchReport:
    """Recognise the structured files among the documents that were not looked at yet."""
    with database.worker() as connection:
        _enqueue(connection, limit)

    def handle(claim: Claim) -> str:
        with database.worker() as connection:
            facts = _facts(connection, claim.subject_id)
        content = _content(blobs, facts)
        with database.worker() as connection:
            outcome = NOT_A_TABLE if content is None else take(connection, facts, content)
            ledger.complete(connection, claim)
        return outcome

    return pull(database, Stage.TABLES, handle, limit=limit, progress=progress)


def take(connection: Connection, facts: Facts, content: bytes) -> str:
    """Recognise one file in the caller's transaction; returns the outcome of its tables."""
    schemas = memory.schemas_of(connection, facts.mandant_id)
    settled, headers, hidden = _settled(connection, facts.document_id)
    try:
        found, tables = recognise_file(
            content,
            schemas,
            hint=f"{facts.file_name} {facts.intent}",
            settled=settled,
            headers=headers,
            hidden=hidden,
        )
    except TableUnreadable as error:
        _record_unreadable(connection, facts, str(error))
        return "unreadable"
    outcomes = {_take_table(connection, facts, one) for one in found}
    for name, reason in tables.skipped:
        _record_unreadable(connection, facts, reason, sheet=name)
    return "asked" if "asked" in outcomes else sorted(outcomes)[0]


def again(connection: Connection, documents: Iterable[int]) -> int:
    """Make documents due for this stage once more; returns how many."""
    return ledger.enqueue(connection, Stage.TABLES, documents, again=True)


def _take_table(connection: Connection, facts: Facts, found: Recognised) -> str:
    standing = connection.execute(
        "SELECT state FROM table_imports WHERE document_id = %s AND sheet = %s"
        " AND state IN ('imported', 'working')",
        (facts.document_id, found.table.sheet),
    ).fetchone()
    if standing is not None:
        return str(standing[0])
    job = _open(connection, facts, found)
    if found.by_standard:
        _close(connection, facts)
        working.keep(connection, job, found.table, found.mapping)
        return "working"
    assigned = _assigned(connection, facts, found)
    if found.match is Match.EXACT and found.schema is not None and not open_values(assigned):
        return _remembered(connection, facts, found, job, assigned)
    _ask(connection, facts, found, job, assigned)
    return "asked"


def _remembered(
    connection: Connection,
    facts: Facts,
    found: Recognised,
    job: Import,
    assigned: tuple[Assigned, ...],
) -> str:
    """A confirmed signature: written as it was confirmed, without a question (TAB-08)."""
    assert found.schema is not None
    _close(connection, facts)
    if found.mapping.target is Target.WORKING:
        working.keep(connection, job, found.table, found.mapping, found.schema.id)
        return "working"
    if found.mapping.target is Target.BANK:
        report = book_rows(
            connection,
            job,
            found.table,
            found.mapping,
            found.schema.id,
            by=AUTHOR,
            level=facts.level,
        )
        return str(report.state)
    allowed = {
        p.code: p
        for p in allowed_projects(connection, mandant_id=facts.mandant_id, is_test=facts.is_test)
    }
    projects = {a.value.key: allowed[a.project] if a.project else None for a in assigned}
    import_rows(connection, job, found.table, found.mapping, found.schema.id, projects)
    return "imported"


def _assigned(connection: Connection, facts: Facts, found: Recognised) -> tuple[Assigned, ...]:
    """Every value of the file with its project: as confirmed, else as proposed (TAB-32)."""
    if not goes_by_project(found.mapping.target):
        return ()
    allowed = allowed_projects(connection, mandant_id=facts.mandant_id, is_test=facts.is_test)
    proposed = assign(project_values(found.table, found.mapping), allowed)
    known = found.schema.projects if found.schema is not None else {}
    codes = {project.code for project in allowed}
    return tuple(_confirmed(one, known, codes) for one in proposed)


def _confirmed(one: Assigned, known: dict[str, str | None], codes: set[str]) -> Assigned:
    if one.value.key not in known:
        return one
    project = known[one.value.key]
    if project is None:
        return replace(one, project=None, finding=Finding.EMPTY)
    if project not in codes:
        return replace(one, project=None, finding=Finding.NONE)
    return replace(one, project=project, finding=Finding.SURE)


def _ask(
    connection: Connection,
    facts: Facts,
    found: Recognised,
    job: Import,
    assigned: tuple[Assigned, ...],
) -> None:
    _close(connection, facts)
    basis = basis_of(job.id, found.signature.key)
    sheet = f" ({found.table.sheet})" if found.table.sheet else ""
    reason = f"table{sheet}: {found.match} schema, generation {_generation(connection, job.id)}"
    open_case(
        connection,
        NewCase(
            kind=CaseKind.NEW_SCHEMA,
            subject_kind=SubjectKind.DOCUMENT,
            subject_key=str(facts.document_id),
            reason=f"{reason}, reading {len(found.questions)}/{job.id}",
            author=AUTHOR,
            mandant_id=facts.mandant_id,
            entity=facts.entity,
            document_id=facts.document_id,
            confidentiality_level=facts.level,
            evidence=evidence_of(found, assigned),
            is_test=facts.is_test,
            cards=cards_of(found, facts.document_id, assigned, basis),
        ),
    )


def _close(connection: Connection, facts: Facts) -> None:
    close_solved(
        connection,
        subject_kind=SubjectKind.DOCUMENT,
        subject_key=str(facts.document_id),
        by=AUTHOR,
        kinds=(CaseKind.NEW_SCHEMA,),
    )


def _generation(connection: Connection, import_id: int) -> int:
    row = connection.execute(
        "SELECT generation FROM table_imports WHERE id = %s", (import_id,)
    ).fetchone()
    assert row is not None
    return int(row[0])


def _open(connection: Connection, facts: Facts, found: Recognised) -> Import:
    """The row of this table: the one that is asked, or a new generation."""
    table = found.table
    row = connection.execute(
        """
        INSERT INTO table_imports (mandant_id, document_id, raw_sha256, sheet, generation, state,
            target, signature, match, mapping, shape, rows, aside, aside_rows, cells, is_test)
        VALUES (%(tenant)s, %(document)s, %(sha)s, %(sheet)s, 1 + coalesce((
            SELECT max(generation) FROM table_imports
            WHERE document_id = %(document)s AND sheet = %(sheet)s), 0),
            'asked', %(target)s, %(signature)s, %(match)s, %(mapping)s, %(shape)s, %(rows)s,
            %(aside)s, %(aside_rows)s, %(cells)s, %(test)s)
        ON CONFLICT (document_id, sheet) WHERE state <> 'undone' DO UPDATE SET state = 'asked',
            reason = NULL, target = excluded.target, signature = excluded.signature,
            match = excluded.match, mapping = excluded.mapping, shape = excluded.shape,
            rows = excluded.rows, aside = excluded.aside, aside_rows = excluded.aside_rows,
            cells = excluded.cells
        RETURNING id
        """,
        {
            "tenant": facts.mandant_id,
            "document": facts.document_id,
            "sha": facts.sha256,
            "sheet": table.sheet,
            "target": str(found.mapping.target),
            "signature": found.signature.key,
            "match": str(found.match),
            "mapping": Jsonb(found.mapping.as_json()),
            "shape": Jsonb(shape_of(table)),
            "rows": table.height,
            "aside": len(table.aside),
            "aside_rows": Jsonb(told_aside(table.aside)),
            "cells": pack(table),
            "test": facts.is_test,
        },
    ).fetchone()
    assert row is not None
    return Import(
        int(row[0]),
        facts.mandant_id,
        facts.document_id,
        facts.sha256,
        table.sheet,
        facts.file_name,
        facts.is_test,
    )


def _record_unreadable(
    connection: Connection, facts: Facts, reason: str, *, sheet: str = ""
) -> None:
    connection.execute(
        """
        INSERT INTO table_imports (mandant_id, document_id, raw_sha256, sheet, state, reason,
            target, is_test)
        VALUES (%s, %s, %s, %s, 'unreadable', %s, 'working', %s)
        ON CONFLICT (document_id, sheet) WHERE state <> 'undone' DO NOTHING
        """,
        (
            facts.mandant_id,
            facts.document_id,
            facts.sha256,
            sheet,
            reason[:500],
            facts.is_test,
        ),
    )


def _settled(
    connection: Connection, document_id: int
) -> tuple[Settled | None, dict[str, int] | None, dict[str, str] | None]:
    """What people said about how this file is written."""
    rows = connection.execute(
        "SELECT sheet, settled FROM table_imports WHERE document_id = %s AND state = 'asked'"
        " AND settled <> '{}'",
        (document_id,),
    ).fetchall()
    if not rows:
        return None, None, None
    headers = {sheet: told["header"] for sheet, told in rows if told["header"] is not None}
    hidden = {sheet: told["hidden"] for sheet, told in rows if told.get("hidden")}
    return _how_written(rows[0][1]), headers, hidden


def _how_written(told: dict[str, Any]) -> Settled:
    dialect = None
    if told["delimiter"]:
        dialect = Dialect(told["delimiter"], told["quote"], told["escape"])
    return Settled(dialect, told["encoding"], told["header"])


def _enqueue(connection: Connection, limit: int) -> None:
    """Documents whose name or type means a table and that were never looked at."""
    rows = connection.execute(
        """
        SELECT d.id FROM documents d
        WHERE d.mandant_id IS NOT NULL AND d.state = 'active' AND d.part_role = 'file'
          AND d.raw_key IS NOT NULL AND d.flow_stage IN ('clarify', 'know', 'effect')
          AND (lower(substring(d.file_name from '\\.([^.]*)$')) = ANY (%s)
            OR d.media_type ~ '(csv|tab-separated|spreadsheet|ms-excel|json|calendar|vcard)')
          AND NOT EXISTS (SELECT 1 FROM flow_ledger l
              WHERE l.stage = %s AND l.generation = 0 AND l.subject_id = d.id)
        ORDER BY d.id LIMIT %s
        """,
        (list(SUFFIXES), Stage.TABLES, limit),
    ).fetchall()
    ledger.enqueue(connection, Stage.TABLES, [row[0] for row in rows])
    waiting = connection.execute(
        "SELECT t.document_id FROM table_imports t JOIN md_accounts a"
        " ON a.proposed_document = t.document_id AND a.active"
        " WHERE t.state = 'asked' AND t.target = 'txn_master' AND t.schema_id IS NOT NULL"
        " AND EXISTS (SELECT 1 FROM bank_imports b WHERE b.document_id = t.document_id"
        "   AND b.state = 'waiting')"
    ).fetchall()
    ledger.enqueue(connection, Stage.TABLES, [row[0] for row in waiting], again=True)


def _facts(connection: Connection, document_id: int) -> Facts:
    row = connection.execute(
        """
        SELECT d.id, d.mandant_id, d.entity, d.confidentiality_level, d.is_test, d.raw_sha256,
            r.storage_bucket, r.raw_key, d.file_name,
            coalesce((SELECT string_agg(a.intent_text, ' ') FROM arrivals a
                WHERE a.document_id = d.id AND a.intent_text IS NOT NULL), '')
        FROM documents d JOIN raw_items r ON r.id = d.raw_item_id
        WHERE d.id = %s AND d.mandant_id IS NOT NULL AND d.state = 'active'
        """,
        (document_id,),
    ).fetchone()
    if row is None:
        raise Unworkable("there is no active document of a tenant with this number")
    return Facts(*row[:9], intent=row[9][:_INTENT_CHARACTERS])


def _content(blobs: BlobStore, facts: Facts) -> bytes | None:
    """All bytes, or None when they are a bank format of its own."""
    try:
        head = blobs.read_range(facts.bucket, facts.raw_key, 0, HEAD)
        if sniff(head).guess in _BANK_FORMATS:
            return None
        with blobs.local_path(facts.bucket, facts.raw_key) as path:
            return path.read_bytes()
    except BlobMissing as error:
        raise Unworkable(f"the bytes of this document are missing: {error}") from error
