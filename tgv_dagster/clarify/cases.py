"""Reading cases behind the walls, and the errors that people's decisions share.

A person acts within a scope: what the scope cannot see does not exist here. How a case is raised
stands in `store.cases`, what is decided about it in `decisions` and `execution`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tgv_dagster.store.cases import CaseKind
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.scope import Scope


class CaseNotFound(LookupError):
    """There is no such case for this reader."""


class CaseClosed(RuntimeError):
    """The case was decided before; the stored decision is in the message (ACT-07)."""


class NotAnswerable(ValueError):
    """The answer does not fit the case; the message says what would."""


class BeingRebuilt(RuntimeError):
    """The document's row is being made anew at this moment; nothing was written."""

    def __init__(self, document_id: int) -> None:
        super().__init__(f"Document #{document_id} is being built anew; try again in a moment.")


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
    evidence: dict[str, Any]


_COLUMNS = """id, kind, reason, subject_kind || ':' || subject_key, state, created_at, document_id,
    arrival_id, open_points, choices, decided_by, evidence"""


def list_cases(
    database: Database,
    scope: Scope,
    *,
    parked_only: bool = False,
    state: str = "open",
    limit: int = 500,
    after_id: int = 0,
) -> tuple[CaseRow, ...]:
    """Cases that the scope may see, oldest first, in one statement; `after_id` pages on."""
    with database.reading(scope) as connection:
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM cases WHERE state = %s AND (NOT %s OR kind = %s) AND id > %s"
            " ORDER BY id LIMIT %s".encode(),
            (state, parked_only, CaseKind.PARKED, after_id, limit),
        ).fetchall()
    return tuple(case_of(row) for row in rows)


@dataclass(frozen=True, slots=True)
class CaseHead:
    """A case as a list shows it; `fields` are those of its first open points."""

    id: int
    kind: str
    subject: str
    reason: str
    created_at: datetime
    fields: tuple[str, ...]


_HEADS = """
    SELECT id, kind, subject_kind || ':' || subject_key, reason, created_at,
        jsonb_path_query_array(open_points, '$[0 to 2].field')
    FROM cases WHERE state = 'open' AND (NOT %(parked)s OR kind = %(kind)s) AND id > %(after)s
    ORDER BY id LIMIT %(limit)s
"""


def case_heads(
    database: Database, scope: Scope, *, parked_only: bool = False, limit: int, after_id: int = 0
) -> tuple[CaseHead, ...]:
    """Open cases that the scope may see, oldest first, with what a list shows of them."""
    asked = {"parked": parked_only, "kind": CaseKind.PARKED, "after": after_id, "limit": limit}
    with database.reading(scope) as connection:
        rows = connection.execute(_HEADS, asked).fetchall()
    return tuple(CaseHead(*row[:5], fields=tuple(map(str, row[5]))) for row in rows)


def get_case(database: Database, scope: Scope, case_id: int) -> CaseRow:
    """One case; CaseNotFound when it does not exist for this reader."""
    with database.reading(scope) as connection:
        row = connection.execute(
            f"SELECT {_COLUMNS} FROM cases WHERE id = %s".encode(), (case_id,)
        ).fetchone()
    if row is None:
        raise CaseNotFound(f"There is no case {case_id}.")
    return case_of(row)


@dataclass(frozen=True, slots=True)
class HeldCase:
    """A case as locked for a decision."""

    state: str
    open_points: tuple[dict[str, Any], ...]
    decided_by: str | None


def hold(connection: Connection, case_id: int, document_id: int | None) -> HeldCase:
    """Lock document, cards and case, in this order everywhere, the stages included: no deadlock.

    Raises BeingRebuilt when the document's row is not there, CaseNotFound.
    """
    if document_id is not None:
        held = connection.execute(
            "SELECT 1 FROM documents WHERE id = %s FOR NO KEY UPDATE", (document_id,)
        ).fetchone()
        if held is None:
            raise BeingRebuilt(document_id)
    connection.execute("SELECT 1 FROM cards WHERE case_id = %s ORDER BY id FOR UPDATE", (case_id,))
    row = connection.execute(
        "SELECT state, open_points, decided_by FROM cases WHERE id = %s FOR UPDATE", (case_id,)
    ).fetchone()
    if row is None:
        raise CaseNotFound(f"There is no case {case_id}.")
    return HeldCase(row[0], tuple(row[1]), row[2])


def case_of(row: tuple[Any, ...]) -> CaseRow:
    """A case from a row of its columns."""
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
        evidence=row[11],
    )
