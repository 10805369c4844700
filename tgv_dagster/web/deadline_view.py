"""What has to be done by when: days to pay, to give notice, renewals and ends of contracts.

Reads only behind the walls. How a day was computed belongs to `deepen.deadlines`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from tgv_dagster.deepen.upcoming import derivation_of
from tgv_dagster.store.db import Database
from tgv_dagster.store.scope import Scope
from tgv_dagster.understand.evidence import Field

MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class Deadline:
    """One day on its named axis (`kind` is a field of documents), with its document.

    `derivation`: from what the day was computed, empty where the document states it.
    """

    day: date
    kind: str
    document_id: int
    title: str
    entity: str | None
    partner: str | None
    derivation: str


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Deadlines in order of their day; `truncated`: more follow."""

    rows: tuple[Deadline, ...]
    truncated: bool


def deadlines(
    database: Database, scope: Scope, *, first: date, last: date | None = None,
    limit: int = MOST_ROWS,
) -> Deadlines:  # fmt: skip
    """Deadlines from `first` to `last` (both included), in one statement."""
    with database.reading(scope) as connection:
        rows = connection.execute(
            _DEADLINES, {"first": first, "last": last, "limit": limit + 1}
        ).fetchall()
    return Deadlines(tuple(_deadline(*row) for row in rows[:limit]), len(rows) > limit)


def _deadline(
    day: date,
    kind: str,
    document_id: int,
    title: str,
    entity: str | None,
    partner: str | None,
    stored: list[dict[str, Any]] | None,
) -> Deadline:
    derivation = derivation_of(stored, Field(kind), day)
    return Deadline(day, kind, document_id, title, entity, partner, derivation)


_SPAN = "BETWEEN %(first)s AND coalesce(%(last)s, 'infinity'::date)"
_CONTRACT_DAYS = " UNION ALL ".join(
    f"""SELECT c.{kind}, '{kind}', c.document_id, c.partner,
        nullif(c.derivation, '{{}}')
    FROM prf_contracts c JOIN documents d ON d.id = c.document_id AND d.state = 'active'
    WHERE c.{kind} {_SPAN}"""
    for kind in ("notice_deadline", "next_renewal_date", "contract_end_date")
)
# Days to pay are many: no more of them are read than are shown.
_DEADLINES = f"""
    SELECT found.day, found.kind, d.id, coalesce(nullif(d.title, ''), d.file_name), d.entity,
        coalesce(found.partner, d.provider), found.derivation
    FROM (
        (SELECT due_date AS day, 'due_date' AS kind, id AS document_id, NULL::text AS partner,
            NULL::jsonb AS derivation
        FROM documents WHERE due_date {_SPAN} AND state = 'active'
        ORDER BY due_date, id LIMIT %(limit)s)
        UNION ALL {_CONTRACT_DAYS}
        ORDER BY 1, 3, 2 LIMIT %(limit)s
    ) found JOIN documents d ON d.id = found.document_id
    ORDER BY found.day, d.id, found.kind
"""
