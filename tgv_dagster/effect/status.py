"""Where everything stands: arrivals by outcome, documents by stage, work waiting, cases, indexes.

One snapshot with its moment (OBS-02), seen through a scope; the sums show that nothing is lost:
every arrival is pending or in exactly one outcome. Nothing here changes anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.levels import Role
from tgv_dagster.store.scope import Scope


@dataclass(frozen=True, slots=True)
class WorkCount:
    """Items of one stage in one state; `oldest` is when the oldest was enqueued."""

    stage: str
    state: str
    items: int
    oldest: datetime


@dataclass(frozen=True, slots=True)
class FlowStatus:
    """The snapshot. `work` is None for readers who may not see the whole installation."""

    at: datetime
    arrivals: dict[str, int]
    documents: dict[str, int]
    finance: dict[str, int]
    states: dict[str, int]
    dispatch: dict[str, int]
    open_cases: dict[str, int]
    chunks: int
    unindexed: dict[str, int]
    work: tuple[WorkCount, ...] | None

    @property
    def arrived(self) -> int:
        """All arrivals the reader may see."""
        return sum(self.arrivals.values())


def flow_status(database: Database, scope: Scope) -> FlowStatus:
    """The snapshot of everything in scope, in a constant number of statements."""
    with database.reading(scope) as connection:
        row = connection.execute("SELECT now(), (SELECT count(*) FROM rag_chunks WHERE active)")
        moment, chunks = row.fetchone() or (None, 0)
        assert moment is not None
        return FlowStatus(
            at=moment,
            arrivals=_counts(connection, "outcome FROM arrivals"),
            documents=_counts(connection, "flow_stage FROM documents WHERE state = 'active'"),
            finance=_counts(
                connection, "finance_stage FROM documents WHERE finance_stage IS NOT NULL"
            ),
            states=_counts(connection, "state FROM documents"),
            dispatch=_counts(connection, "dispatch_state FROM documents WHERE state = 'active'"),
            open_cases=_counts(connection, "kind FROM cases WHERE state = 'open'"),
            chunks=chunks,
            unindexed=_counts(
                connection, "index_filter FROM documents WHERE index_filter IS NOT NULL"
            ),
            work=_work(connection) if _sees_all(scope) else None,
        )


def _sees_all(scope: Scope) -> bool:
    return scope.role is Role.SUPER_ADMIN and scope.mandant_id is None


def _counts(connection: Connection, source: str) -> dict[str, int]:
    column = source.split(" ", 1)[0]
    statement = f"SELECT {source} GROUP BY {column} ORDER BY {column}".replace(
        f"SELECT {column}", f"SELECT {column}, count(*)", 1
    )
    return {str(name): int(count) for name, count in connection.execute(statement.encode())}


def _work(connection: Connection) -> tuple[WorkCount, ...]:
    rows = connection.execute(
        "SELECT stage, state, count(*), min(enqueued_at) FROM flow_ledger"
        " WHERE state <> 'done' AND generation = 0 GROUP BY stage, state ORDER BY stage, state"
    ).fetchall()
    return tuple(WorkCount(*row) for row in rows)
