"""Counts for the pictures of the flow: who belongs where, what lies in which stage, how old.

Every summary is one set-based statement over the whole installation; it names tenants, entities,
stages and gates, never a document's words. For a reader behind walls these counts do not exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tgv_dagster.store.db import Connection


@dataclass(frozen=True, slots=True)
class Belonging:
    """One entity: its tenant, kind and bucket, and how much belongs to it."""

    mandant: str
    entity: str
    kind: str
    bucket: str
    projects: int
    accounts: int
    documents: int


@dataclass(frozen=True, slots=True)
class RawCount:
    """Raw items of one bucket that came through one gate."""

    bucket: str
    gate: str
    state: str
    items: int
    size: int
    newest: datetime | None


@dataclass(frozen=True, slots=True)
class StageCount:
    """Items of one stage in one state of the ledger."""

    stage: str
    state: str
    items: int
    oldest: datetime


@dataclass(frozen=True, slots=True)
class CaseCount:
    """Open cases of one kind, by age in days: 0 to 1, 2 to 7, 8 to 14, older."""

    kind: str
    age: str
    cases: int


@dataclass(frozen=True, slots=True)
class Untouched:
    """Documents of one tenant, kind and month of receipt, and how many of them needed nobody."""

    mandant: str
    kind: str
    month: str
    documents: int
    needed_nobody: int


AGES = ("0-1 days", "2-7 days", "8-14 days", "older")


def who_belongs_where(connection: Connection) -> tuple[Belonging, ...]:
    """Every entity of every tenant."""
    rows = connection.execute(
        """
        SELECT m.slug, e.slug, e.kind, e.bucket,
            (SELECT count(*) FROM prf_projects p WHERE p.entity_key = e.slug),
            (SELECT count(*) FROM md_accounts a WHERE a.entity = e.slug),
            (SELECT count(*) FROM documents d WHERE d.entity = e.slug)
        FROM entities e JOIN mandanten m ON m.id = e.mandant_id
        WHERE NOT e.is_test ORDER BY m.slug, e.slug
        """
    ).fetchall()
    return tuple(Belonging(*row) for row in rows)


def raw_layer(connection: Connection) -> tuple[RawCount, ...]:
    """Raw items by bucket, first gate and state; copies into another bucket show gate `copy`."""
    rows = connection.execute(
        """
        SELECT r.bucket, coalesce(a.gate, 'copy'), r.state, count(*), sum(r.size),
            max(a.received_at)
        FROM raw_items r
        LEFT JOIN LATERAL (SELECT gate, received_at FROM arrivals WHERE raw_item_id = r.id
            ORDER BY id LIMIT 1) a ON true
        GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
        """
    ).fetchall()
    return tuple(
        RawCount(bucket, gate, state, items, int(size), newest)
        for bucket, gate, state, items, size, newest in rows
    )


def stages(connection: Connection) -> tuple[StageCount, ...]:
    """The ledger of the daily flow by stage and state."""
    rows = connection.execute(
        "SELECT stage, state, count(*), min(enqueued_at) FROM flow_ledger WHERE generation = 0"
        " GROUP BY stage, state"
    ).fetchall()
    return tuple(StageCount(*row) for row in rows)


def documents_by_stage(connection: Connection) -> dict[tuple[str, str], int]:
    """Documents by (room they stand in, state)."""
    rows = connection.execute(
        "SELECT flow_stage, state, count(*) FROM documents WHERE NOT is_test GROUP BY 1, 2"
    ).fetchall()
    return {(room, state): count for room, state, count in rows}


def open_cases(connection: Connection) -> tuple[CaseCount, ...]:
    """Open cases by kind and age."""
    rows = connection.execute(
        """
        SELECT kind, CASE
            WHEN created_at > now() - interval '2 days' THEN %s
            WHEN created_at > now() - interval '8 days' THEN %s
            WHEN created_at > now() - interval '15 days' THEN %s
            ELSE %s END, count(*)
        FROM cases WHERE state = 'open' AND NOT is_test GROUP BY 1, 2 ORDER BY 1, 2
        """,
        AGES,
    ).fetchall()
    return tuple(CaseCount(*row) for row in rows)


def needed_nobody(connection: Connection, *, months: int = 12) -> tuple[Untouched, ...]:
    """Per tenant, kind and month: documents about which no case was ever opened and no person
    decided a value (FLOW-02). What is parked before it becomes a document counts in its case.
    """
    rows = connection.execute(
        """
        SELECT coalesce(m.slug, '-'), coalesce(d.doc_type, 'unknown'),
            to_char(d.date_received AT TIME ZONE 'UTC', 'YYYY-MM'), count(*),
            count(*) FILTER (WHERE c.document_id IS NULL AND v.document_id IS NULL)
        FROM documents d LEFT JOIN mandanten m ON m.id = d.mandant_id
        LEFT JOIN (SELECT DISTINCT document_id FROM cases) c ON c.document_id = d.id
        LEFT JOIN (SELECT DISTINCT document_id FROM document_values WHERE origin = 'human') v
          ON v.document_id = d.id
        WHERE NOT d.is_test AND d.state <> 'trashed'
          AND d.date_received >= now() - make_interval(months => %s)
        GROUP BY 1, 2, 3 ORDER BY 3, 1, 2
        """,
        (months,),
    ).fetchall()
    return tuple(Untouched(*row) for row in rows)
