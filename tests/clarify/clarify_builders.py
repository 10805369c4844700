"""Builders of the clarify room's tests: documents as triage leaves them, questions, people."""

from __future__ import annotations

import io
import itertools
from datetime import UTC, datetime
from typing import Any

from tgv_dagster.arrive.gates import GateKind, NewArrival, arrival_key
from tgv_dagster.arrive.raw import save_raw
from tgv_dagster.clarify import conversation
from tgv_dagster.clarify.execution import CardRow
from tgv_dagster.installation import Installation
from tgv_dagster.store.cases import CaseKind, NewCase, SubjectKind, open_case
from tgv_dagster.store.scope import Scope
from tgv_dagster.vollzug import executor_of, propose_for_document

RECEIVED = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_numbers = itertools.count(1)


def person(installation: Installation, login: str, mandant: str | None = "nord") -> Scope:
    """The scope of a person of the test organisation."""
    return Scope.for_principal(installation.database, login, mandant=mandant, source="test")


def rows(installation: Installation, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """One statement of the flow; its rows, if any."""
    with installation.database.worker() as connection:
        cursor = connection.execute(query.encode(), parameters or None)
        return cursor.fetchall() if cursor.description else []


def document(
    installation: Installation,
    *,
    mandant: str = "nord",
    entity: str | None = "nord-gmbh",
    level: str = "intern",
    content: bytes | None = None,
) -> int:
    """A document as triage leaves it, of bytes of its own unless told; returns its number."""
    number = next(_numbers)
    arrival = NewArrival(
        gate=GateKind.FOLDER,
        arrival_key=arrival_key(GateKind.FOLDER, "clarify", number),
        bucket="intake",
        file_name=f"paper-{number}.txt",
        received_at=RECEIVED,
        mandant=mandant,
        entity_hint=entity,
    )
    saved = save_raw(
        installation.database,
        installation.blobs,
        arrival,
        io.BytesIO(content or f"paper {number}".encode()),
    )
    rows(installation, "DELETE FROM flow_ledger WHERE subject_id = %s", saved.arrival_id)
    ((document_id,),) = rows(
        installation,
        "INSERT INTO document_numbers (mandant_id, raw_sha256, part_role, arrival_uid)"
        " SELECT mandant_id, %s, 'file', uid FROM arrivals WHERE id = %s RETURNING id",
        saved.sha256,
        saved.arrival_id,
    )
    rows(
        installation,
        "INSERT INTO documents (id, mandant_id, entity, raw_sha256, raw_item_id, storage_bucket,"
        " raw_key, file_class, file_name, confidentiality_level, date_received, flow_stage)"
        " SELECT %s, a.mandant_id, %s, r.sha256, r.id, r.storage_bucket, r.raw_key, 'file',"
        " a.file_name, %s, a.received_at, 'clarify'"
        " FROM arrivals a JOIN raw_items r ON r.id = a.raw_item_id WHERE a.id = %s",
        document_id,
        entity,
        level,
        saved.arrival_id,
    )
    rows(
        installation,
        "UPDATE arrivals SET outcome = 'entered', document_id = %s WHERE id = %s",
        document_id,
        saved.arrival_id,
    )
    return int(document_id)


def machine_value(installation: Installation, document_id: int, field: str, value: str) -> None:
    """A value that triage stated."""
    rows(
        installation,
        "INSERT INTO document_values (document_id, field, value, origin, confidence, rule_id,"
        " set_by, version) VALUES (%s, %s, %s, 'machine', 0.9, 'r', 'triage', '1')",
        document_id,
        field,
        value,
    )


def question(installation: Installation, document_id: int, **choices: tuple[str, ...]) -> int:
    """An open case about fields of a document, each with the values it offers."""
    ((mandant_id, entity, level),) = rows(
        installation,
        "SELECT mandant_id, entity, confidentiality_level FROM documents WHERE id = %s",
        document_id,
    )
    with installation.database.worker() as connection:
        return open_case(
            connection,
            NewCase(
                kind=CaseKind.LOW_CONFIDENCE,
                subject_kind=SubjectKind.DOCUMENT,
                subject_key=str(document_id),
                reason=f"question {next(_numbers)}",
                author="tgv",
                mandant_id=mandant_id,
                entity=entity,
                document_id=document_id,
                confidentiality_level=level,
                choices=tuple({"field": f, "values": list(v)} for f, v in choices.items()),
                open_points=tuple({"field": f, "kind": "low_confidence"} for f in choices),
            ),
        )


def cards(installation: Installation, case_id: int, login: str = "anna") -> tuple[CardRow, ...]:
    """The cards of a case, oldest first."""
    scope = person(installation, login)
    return conversation.read(executor_of(installation), scope, case_id).cards


def proposed(
    installation: Installation,
    document_id: int,
    action: str,
    *,
    by: str = "anna",
    **arguments: Any,
) -> CardRow:
    """A card somebody proposed about a document."""
    scope = person(installation, by)
    return propose_for_document(installation, scope, document_id, action, arguments)


def effective(installation: Installation, document_id: int, field: str) -> tuple[Any, ...] | None:
    """Value and origin in force for a field."""
    found = rows(
        installation,
        "SELECT value, origin FROM document_values WHERE document_id = %s AND field = %s AND active"
        " ORDER BY origin = 'human' DESC, origin = 'rule' DESC, id DESC LIMIT 1",
        document_id,
        field,
    )
    return found[0] if found else None


def column(installation: Installation, document_id: int, name: str) -> Any:
    """One column of a document's row."""
    ((value,),) = rows(installation, f"SELECT {name} FROM documents WHERE id = %s", document_id)
    return value
