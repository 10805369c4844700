"""Cases: the only way an exception is raised, for every room.

`open_case` is idempotent per subject and reason while the case is open; each case is a
conversation of its own (a thread). What people decide about cases belongs to `clarify`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from psycopg.types.json import Jsonb

from tgv_dagster.store.db import Connection


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
    return int(row[0])


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
