"""What people do with cases: list, answer, release, dismiss. Every decision carries a name.

A person acts within a scope: what the scope cannot see does not exist here. How a case is raised
stands in `store.cases`; what follows from an answer is done by the stages (the case re-enqueues).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from tgv_dagster.clarify.answer_values import fault_of
from tgv_dagster.store import ledger
from tgv_dagster.store.cases import CaseKind
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.levels import Role
from tgv_dagster.store.scope import Scope
from tgv_dagster.store.stages import STAGES, Stage, Subject
from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.values import set_human_value, show_on_document


class CaseNotFound(LookupError):
    """There is no such case for this reader."""


class CaseClosed(RuntimeError):
    """The case was decided before; the stored decision is in the message (ACT-07)."""


class NotAnswerable(ValueError):
    """The answer does not fit the case; the message says what would."""


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One case as a person sees it."""

    id: int
    kind: str
    reason: str
    subject: str
    state: str
    created_at: datetime
    document_id: int | None
    arrival_id: int | None
    open_points: tuple[dict[str, Any], ...]
    choices: tuple[dict[str, Any], ...]
    decided_by: str | None


_COLUMNS = """id, kind, reason, subject_kind || ':' || subject_key, state, created_at, document_id,
    arrival_id, open_points, choices, decided_by"""


def list_cases(
    database: Database,
    scope: Scope,
    *,
    parked_only: bool = False,
    state: str = "open",
    limit: int = 500,
) -> tuple[CaseRow, ...]:
    """Cases that the scope may see, oldest first."""
    with database.reading(scope) as connection:
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM cases WHERE state = %s AND (NOT %s OR kind = %s)"
            " ORDER BY created_at, id LIMIT %s".encode(),
            (state, parked_only, CaseKind.PARKED, limit),
        ).fetchall()
    return tuple(_case(row) for row in rows)


def get_case(database: Database, scope: Scope, case_id: int) -> CaseRow:
    """One case; CaseNotFound when it does not exist for this reader."""
    with database.reading(scope) as connection:
        row = connection.execute(
            f"SELECT {_COLUMNS} FROM cases WHERE id = %s".encode(), (case_id,)
        ).fetchone()
    if row is None:
        raise CaseNotFound(f"There is no case {case_id}.")
    return _case(row)


def release(database: Database, scope: Scope, case_id: int) -> str:
    """Give a parked or held item another try; returns the stage that will run again.

    Raises CaseNotFound, CaseClosed, ScopeError, NotAnswerable (the case parks nothing).
    """
    case = _decidable(database, scope, case_id)
    with database.worker() as connection:
        stage = _stage_of(connection, case_id)
        if stage is None:
            raise NotAnswerable("This case holds nothing back; answer or dismiss it.")
        subject = case.subject.partition(":")[2]
        _decide(connection, case_id, "released", {"stage": stage}, scope.principal)
        if not ledger.release(connection, stage, int(subject)):
            ledger.enqueue(connection, stage, [int(subject)], again=True)
        table = "arrivals" if STAGES[stage].subject is Subject.ARRIVAL else "documents"
        if table == "arrivals":
            connection.execute(
                "UPDATE arrivals SET outcome = 'pending', outcome_reason = NULL"
                " WHERE id = %s AND outcome = 'parked'",
                (int(subject),),
            )
        else:
            connection.execute(
                "UPDATE documents SET state = 'active', held_gate = NULL, held_reason = NULL"
                " WHERE id = %s AND state = 'held'",
                (int(subject),),
            )
        _tell(connection, scope, case, "case.released", f"released to {stage}")
    return str(stage)


def dismiss(database: Database, scope: Scope, case_id: int, *, reason: str) -> None:
    """Close a case without effect, with the person's reason; the item stays as it is."""
    if not reason.strip():
        raise NotAnswerable("Say why the case is dismissed.")
    case = _decidable(database, scope, case_id)
    with database.worker() as connection:
        _decide(connection, case_id, "dismissed", {"reason": reason}, scope.principal)
        _tell(connection, scope, case, "case.dismissed", reason)


def answer(
    database: Database, scope: Scope, case_id: int, values: Mapping[Field, str | None]
) -> tuple[str, ...]:
    """Answer open points of a document's case; returns the points that are still open.

    Human values outrank machine values from now on. The document is worked on again. A case with
    points left stays open. Raises NotAnswerable for a field the case does not ask.
    """
    case = _decidable(database, scope, case_id)
    if case.document_id is None:
        raise NotAnswerable("This case is not about a document's values; release or dismiss it.")
    asked = [str(point["field"]) for point in case.open_points]
    foreign = [field for field in values if field not in asked]
    if foreign or not values:
        raise NotAnswerable(f"This case asks for: {', '.join(asked)}.")
    _check_form(values)
    _check_rights(database, scope, values)
    left = tuple(field for field in asked if field not in values)
    with database.worker() as connection:
        for field, value in values.items():
            set_human_value(connection, case.document_id, field, value, by=scope.principal)
        show_on_document(connection, case.document_id)
        decision = {"values": {str(f): v for f, v in values.items()}}
        if left:
            points = [p for p in case.open_points if p["field"] in left]
            connection.execute(
                "UPDATE cases SET open_points = %s WHERE id = %s AND state = 'open'",
                (Jsonb(points), case_id),
            )
        else:
            _decide(connection, case_id, "executed", decision, scope.principal)
        ledger.enqueue(connection, Stage.DEEPEN, [case.document_id], again=True)
        _record_decision(connection, scope, case, decision)
        _tell(connection, scope, case, "case.answered", ", ".join(sorted(values)))
    return left


def _check_form(values: Mapping[Field, str | None]) -> None:
    faults = [
        f"{field} {fault}"
        for field, text in values.items()
        if text is not None and (fault := fault_of(field, text)) is not None
    ]
    if faults:
        raise NotAnswerable("; ".join(faults) + ".")


def _check_rights(database: Database, scope: Scope, values: Mapping[Field, str | None]) -> None:
    entity, project = values.get(Field.ENTITY), values.get(Field.PROJECT_CODE)
    if entity is None and project is None:
        return
    with database.reading(scope) as connection:
        row = connection.execute(
            "SELECT EXISTS (SELECT 1 FROM entities WHERE slug = %s),"
            " EXISTS (SELECT 1 FROM prf_projects WHERE project_code = %s)",
            (entity, project),
        ).fetchone()
    assert row is not None
    if entity is not None and not row[0]:
        raise NotAnswerable("This entity is not among those you may assign (UPL-13).")
    if project is not None and not row[1]:
        raise NotAnswerable("This project is not among those you may assign (UPL-13).")


def _decidable(database: Database, scope: Scope, case_id: int) -> CaseRow:
    scope.require(Role.EDITOR)
    case = get_case(database, scope, case_id)
    if case.state != "open":
        raise CaseClosed(f"Case {case_id} was decided by {case.decided_by}: {case.state}.")
    return case


def _decide(
    connection: Connection, case_id: int, state: str, decision: dict[str, Any], by: str
) -> None:
    """Close once: the second caller finds it closed (ACT-06)."""
    result = connection.execute(
        "UPDATE cases SET state = %s, decision = %s, decided_by = %s, decided_at = now()"
        " WHERE id = %s AND state = 'open'",
        (state, Jsonb(decision), by, case_id),
    )
    if result.rowcount != 1:
        raise CaseClosed(f"Case {case_id} has just been decided by somebody else.")


def _stage_of(connection: Connection, case_id: int) -> Stage | None:
    row = connection.execute(
        "SELECT evidence ->> 'stage' FROM cases WHERE id = %s", (case_id,)
    ).fetchone()
    return Stage(row[0]) if row is not None and row[0] is not None else None


def _record_decision(
    connection: Connection, scope: Scope, case: CaseRow, decision: dict[str, Any]
) -> None:
    connection.execute(
        "INSERT INTO agent_decisions (case_id, document_id, mandant_id, decision_type, decision,"
        " decided_by) SELECT %s, id, mandant_id, 'values', %s, %s FROM documents WHERE id = %s",
        (case.id, Jsonb(decision), scope.principal, case.document_id),
    )


def _tell(connection: Connection, scope: Scope, case: CaseRow, kind: str, reason: str) -> None:
    record(
        connection,
        Event(
            kind=kind,
            author=scope.principal,
            is_human=True,
            object=f"case:{case.id}",
            reason=reason[:300],
            mandant_id=scope.mandant_id,
            payload={"subject": case.subject},
        ),
    )


def _case(row: tuple[Any, ...]) -> CaseRow:
    return CaseRow(
        id=row[0],
        kind=row[1],
        reason=row[2],
        subject=row[3],
        state=row[4],
        created_at=row[5],
        document_id=row[6],
        arrival_id=row[7],
        open_points=tuple(row[8]),
        choices=tuple(row[9]),
        decided_by=row[10],
    )
