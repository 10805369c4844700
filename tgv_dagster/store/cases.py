"""Cases: the only way an exception is raised, for every room.

`open_case` is idempotent per subject and reason while the case is open; each case is a
conversation of its own (a thread) and gets its cards when it is opened, so that what a person may
execute is fixed by then (ACT-03). What people decide about cases belongs to `clarify`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from psycopg.types.json import Jsonb

from tgv_dagster.store.actions import Action
from tgv_dagster.store.cards import Choice, NewCard, propose
from tgv_dagster.store.db import Connection
from tgv_dagster.store.stages import Stage


class CaseKind(StrEnum):
    """Why a person is asked (CLAR-01)."""

    PARKED = "parked"
    UNKNOWN = "unknown"
    CONFLICT = "conflict"
    LOW_CONFIDENCE = "low_confidence"
    SENSITIVE = "sensitive"
    FINANCE_WRITE = "finance_write"
    NEW_ACCOUNT = "new_account"
    NEW_SCHEMA = "new_schema"
    DUPLICATE = "duplicate"
    DEADLINE = "deadline"
    PERIOD_CLOSED = "period_closed"
    LEVEL_VOCABULARY = "level_vocabulary"
    APPROVAL = "approval"
    RULE = "rule"


class SubjectKind(StrEnum):
    """What a case is about."""

    ARRIVAL = "arrival"
    DOCUMENT = "document"
    MAIL = "mail"
    FILE = "file"
    ACCOUNT = "account"
    SCHEMA = "schema"
    VOCABULARY = "vocabulary"
    RUN = "run"
    RULE = "rule"


@dataclass(frozen=True, slots=True)
class NewCase:
    """An exception. `subject_key` identifies the subject within its kind, as text."""

    kind: CaseKind
    subject_kind: SubjectKind
    subject_key: str
    reason: str
    author: str
    mandant_id: int | None = None
    entity: str | None = None
    document_id: int | None = None
    arrival_id: int | None = None
    confidentiality_level: str | None = None
    evidence: dict[str, Any] = field(default_factory=dict)
    choices: tuple[dict[str, Any], ...] = ()
    open_points: tuple[dict[str, Any], ...] = ()
    is_test: bool = False
    cards: tuple[NewCard, ...] = ()


def open_case(connection: Connection, case: NewCase) -> int:
    """Open the case, or return the open one with the same kind, subject and reason.

    Runs in the caller's transaction, so that the exception and its cause stand or fall together.
    """
    key = (case.kind, case.subject_kind, case.subject_key, case.reason)
    existing = _open_id(connection, key)
    if existing is not None:
        return existing
    thread = connection.execute(
        "INSERT INTO threads (mandant_id, entity, kind, subject, created_by)"
        " VALUES (%s, (SELECT slug FROM entities WHERE slug = %s), 'case', %s, %s) RETURNING id",
        (case.mandant_id, case.entity, case.reason[:200], case.author),
    ).fetchone()
    assert thread is not None
    row = connection.execute(
        """
        INSERT INTO cases (kind, subject_kind, subject_key, reason, thread_id, mandant_id, entity,
            document_id, arrival_id, confidentiality_level, evidence, choices, open_points, is_test)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
        ON CONFLICT (kind, subject_kind, subject_key, reason) WHERE state = 'open' DO NOTHING
        RETURNING id
        """,
        (
            *key,
            thread[0],
            case.mandant_id,
            case.entity,
            case.document_id,
            case.arrival_id,
            case.confidentiality_level,
            Jsonb(case.evidence),
            Jsonb(list(case.choices)),
            Jsonb(list(case.open_points)),
            case.is_test,
        ),
    ).fetchone()
    if row is None:  # another worker opened the same case between our two statements
        connection.execute("DELETE FROM threads WHERE id = %s", (thread[0],))
        opened = _open_id(connection, key)
        assert opened is not None
        return opened
    connection.execute(
        "INSERT INTO messages (thread_id, author, is_human, blocks) VALUES (%s, %s, false, %s)",
        (thread[0], case.author, Jsonb([{"kind": "prose", "text": case.reason}])),
    )
    case_id = int(row[0])
    for card in (*case.cards, *cards_of(case)):
        propose(connection, case_id, card)
    return case_id


def cards_of(case: NewCase) -> tuple[NewCard, ...]:
    """The proposals that follow from the case itself: one per question with known answers, and
    another try for each item that is parked: the subject, or those the evidence names as
    `subjects`. A question without known answers is asked in words (ACT-16).
    """
    stage = str(case.evidence.get("stage", ""))
    if case.kind is CaseKind.PARKED and stage in set(Stage) and case.subject_key.isdecimal():
        parked = case.evidence.get("subjects", [{"subject_id": case.subject_key}])
        return tuple(
            NewCard(
                Action.RELEASE,
                {"stage": stage, "subject_id": int(one["subject_id"])},
                case.author,
            )
            for one in parked
        )
    if case.document_id is None:
        return ()
    return tuple(_answers(case, choice) for choice in case.choices if choice.get("values"))


def _answers(case: NewCase, choice: dict[str, Any]) -> NewCard:
    name = str(choice["field"])
    shared = {"document_id": case.document_id}
    return NewCard(
        action=Action.ANSWER,
        arguments=shared | {"values": {}},
        proposed_by=case.author,
        basis={"entity": case.entity} if name == "project_code" else {},
        choices=tuple(
            Choice(f"{name}={value}", str(value), shared | {"values": {name: str(value)}})
            for value in choice["values"]
        ),
    )


def close_solved(
    connection: Connection,
    *,
    subject_kind: SubjectKind,
    subject_key: str,
    by: str,
    kinds: tuple[CaseKind, ...],
) -> int:
    """Close open cases of a subject whose cause is gone; returns how many."""
    result = connection.execute(
        """
        UPDATE cases SET state = 'not_executed', decided_by = %s, decided_at = now(),
            decision = '{"result": "the cause is gone"}'
        WHERE subject_kind = %s AND subject_key = %s AND kind = ANY (%s) AND state = 'open'
        """,
        (by, subject_kind, subject_key, list(kinds)),
    )
    return result.rowcount


def _open_id(connection: Connection, key: tuple[str, str, str, str]) -> int | None:
    row = connection.execute(
        "SELECT id FROM cases WHERE kind = %s AND subject_kind = %s AND subject_key = %s"
        " AND reason = %s AND state = 'open'",
        key,
    ).fetchone()
    return None if row is None else int(row[0])
