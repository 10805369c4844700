"""What people decide about cases: answer, release, dismiss. Every decision carries a name.

What follows from an answer is done by the stages (the case re-enqueues). Cards are executed in
`execution`; how a case is raised stands in `store.cases`.
"""

from __future__ import annotations

from typing import Any

from psycopg.types.json import Jsonb

from tgv_dagster.clarify import answering, approvals
from tgv_dagster.clarify.answering import Answer, Values
from tgv_dagster.clarify.approvals import Circumstance
from tgv_dagster.clarify.cases import (
    BeingRebuilt,
    CaseClosed,
    CaseNotFound,
    CaseRow,
    NotAnswerable,
    get_case,
    hold,
    list_cases,
)
from tgv_dagster.store import ledger
from tgv_dagster.store.actions import Action
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.levels import Role, rank_of
from tgv_dagster.store.organisation import SERVICE_LOGIN
from tgv_dagster.store.scope import Scope
from tgv_dagster.store.stages import STAGES, Stage, Subject
from tgv_dagster.understand.evidence import Field

__all__ = [
    "CaseClosed",
    "CaseNotFound",
    "CaseRow",
    "NotAnswerable",
    "answer",
    "dismiss",
    "get_case",
    "list_cases",
    "release",
]


def release(database: Database, scope: Scope, case_id: int) -> str:
    """Give a parked or held item another try; returns the stage that will run again.

    Of a case about several items, all that nobody has decided singly.

    Raises CaseNotFound, CaseClosed, ScopeError, NotAnswerable (the case parks nothing).
    """
    approvals.require(scope, Action.RELEASE)
    case = _open_case(database, scope, case_id)
    stage = case.evidence.get("stage")
    if stage is None:
        raise NotAnswerable("This case holds nothing back; answer or dismiss it.")
    with database.worker() as connection:
        hold(connection, case_id, case.document_id)
        parked = _parked_by(connection, case)
        decide(connection, case_id, "released", {"stage": stage}, scope.principal)
        _close_cards(connection, scope, case_id, "executed", {"stage": stage})
        for subject_id in parked:
            put_back(connection, Stage(stage), subject_id)
        tell(connection, scope, case, "case.released", f"released to {stage}")
    return str(stage)


def _parked_by(connection: Connection, case: CaseRow) -> list[int]:
    """What the case holds back now: its subject, or of several those whose card is open."""
    if "subjects" not in case.evidence:
        return [int(case.subject.partition(":")[2])]
    rows = connection.execute(
        "SELECT (arguments ->> 'subject_id')::bigint FROM cards"
        " WHERE case_id = %s AND state = 'pending' AND action = %s ORDER BY id",
        (case.id, Action.RELEASE),
    ).fetchall()
    return [row[0] for row in rows]


def put_back(connection: Connection, stage: Stage, subject_id: int) -> None:
    """Make a parked or held item pending again, with its own row saying so."""
    if not ledger.release(connection, stage, subject_id):
        ledger.enqueue(connection, stage, [subject_id], again=True)
    if STAGES[stage].subject is Subject.ARRIVAL:
        connection.execute(
            "UPDATE arrivals SET outcome = 'pending', outcome_reason = NULL"
            " WHERE id = %s AND outcome = 'parked'",
            (subject_id,),
        )
    else:
        connection.execute(
            "UPDATE documents SET state = 'active', held_gate = NULL, held_reason = NULL"
            " WHERE id = %s AND state = 'held'",
            (subject_id,),
        )


def dismiss(database: Database, scope: Scope, case_id: int, *, reason: str) -> None:
    """Close a case without effect, with the person's reason; the item stays as it is."""
    if not reason.strip():
        raise NotAnswerable("Say why the case is dismissed.")
    scope.require(Role.EDITOR)
    case = _open_case(database, scope, case_id)
    with database.worker() as connection:
        hold(connection, case_id, case.document_id)
        decide(connection, case_id, "dismissed", {"reason": reason}, scope.principal)
        _close_cards(connection, scope, case_id, "rejected", {"reason": "case_dismissed"})
        tell(connection, scope, case, "case.dismissed", reason)


def answer(database: Database, scope: Scope, case_id: int, values: Values) -> tuple[str, ...]:
    """Answer open points of a document's case; returns the points that are still open.

    Human values outrank machine values from now on. The document is worked on again. A case with
    points left stays open. Raises NotAnswerable for a field the case does not ask, BeingRebuilt.
    """
    scope.require(Role.EDITOR)
    case = _open_case(database, scope, case_id)
    if case.document_id is None:
        raise NotAnswerable("This case is not about a document's values; release or dismiss it.")
    answering.check_form(values)
    answering.check_rights(database, scope, case.document_id, values)
    approvals.require(scope, Action.ANSWER, answer_circumstances(database, scope, case, values))
    with database.worker() as connection:
        return answering.give(connection, scope, Answer(case_id, case.document_id, values))


def answer_circumstances(
    database: Database, scope: Scope, case: CaseRow, values: Values
) -> frozenset[Circumstance]:
    """Whether an answer would loosen the document's level."""
    level = values.get(Field.CONFIDENTIALITY_LEVEL)
    if level is None:
        return frozenset()
    with database.reading(scope) as connection:
        row = connection.execute(
            "SELECT confidentiality_level FROM documents WHERE id = %s", (case.document_id,)
        ).fetchone()
    if row is not None and row[0] is not None and rank_of(level) < rank_of(row[0]):
        return frozenset({Circumstance.LOOSER})
    return frozenset()


def _open_case(database: Database, scope: Scope, case_id: int) -> CaseRow:
    try:
        case = get_case(database, scope, case_id)
    except CaseNotFound:
        _say_if_rebuilt(database, scope, case_id)
        raise
    if case.state != "open":
        raise CaseClosed(f"Case {case_id} was decided by {case.decided_by}: {case.state}.")
    return case


def _say_if_rebuilt(database: Database, scope: Scope, case_id: int) -> None:
    """A case whose document is being built anew is hidden for a moment; say that, not "nothing".

    Only to who could see it by the walls that stand on the case itself.
    """
    with database.worker() as connection:
        row = connection.execute(
            """
            SELECT c.document_id FROM cases c WHERE c.id = %s AND c.document_id IS NOT NULL
              AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.id = c.document_id)
              AND (%s::integer IS NULL OR c.mandant_id = %s) AND c.level_rank <= %s
              AND (%s::text[] IS NULL OR c.entity = ANY (%s::text[])) AND NOT c.is_test
            """,
            (
                case_id,
                scope.mandant_id,
                scope.mandant_id,
                scope.confidentiality_max,
                *([None if scope.visible_entities is None else list(scope.visible_entities)] * 2),
            ),
        ).fetchone()
    if row is not None:
        raise BeingRebuilt(row[0])


def decide(
    connection: Connection, case_id: int, state: str, decision: dict[str, Any], by: str
) -> None:
    """Close a case once: the second caller gets CaseClosed (ACT-06)."""
    result = connection.execute(
        "UPDATE cases SET state = %s, decision = %s, decided_by = %s, decided_at = now()"
        " WHERE id = %s AND state = 'open'",
        (state, Jsonb(decision), by, case_id),
    )
    if result.rowcount != 1:
        raise CaseClosed(f"Case {case_id} has just been decided by somebody else.")


def _close_cards(
    connection: Connection, scope: Scope, case_id: int, state: str, result: dict[str, Any]
) -> None:
    """The cards of a case that was decided by another door show the same (ACT-10)."""
    connection.execute(
        "UPDATE cards SET state = %s, executed_by = %s, executed_at = now(), result = %s"
        " WHERE case_id = %s AND state = 'pending'",
        (state, scope.principal, Jsonb(result), case_id),
    )


def tell(connection: Connection, scope: Scope, case: CaseRow, kind: str, reason: str) -> None:
    """The event of a decision, with the person's name."""
    record(
        connection,
        Event(
            kind=kind,
            author=scope.principal,
            is_human=scope.principal != SERVICE_LOGIN,
            object=f"case:{case.id}",
            reason=reason[:300],
            mandant_id=scope.mandant_id,
            payload={"subject": case.subject},
        ),
    )
