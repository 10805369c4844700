"""The dispatch stage: hand a finished document to whoever works on with it.

Which followers a document kind has stands in `FOLLOWERS`; a follower's failure stays on the
document with its text, is listed and can be retried without the mailbox (MAIL-33, MAIL-41). What
would be counted twice is held before any follower sees it (DEDUP-02). With the switch off nothing
is dispatched (MAIL-32): documents stay pending, and go on when it is on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tgv_dagster.effect.duplicates import guard_effect
from tgv_dagster.store import ledger, switches
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.ledger import Claim
from tgv_dagster.store.pull import BatchReport, pull
from tgv_dagster.store.stages import LIVE, Stage

Follower = Callable[[Connection, int], None]
"""Works on with one document in the given transaction; raises to report a failure."""

FOLLOWERS: Mapping[str, Follower] = {}
"""Follower by document type; the table flow and the finance flow register theirs here."""


SWITCH = "use_dispatch"
"""Key in `system_config`; only the value `true` lets a follower work. The schema sets it once."""

SWITCHED_OFF = "switched_off"
"""Outcome of a document whose dispatch waits for the switch."""


def is_switched_on(connection: Connection) -> bool:
    """Whether followers may work."""
    return switches.is_on(connection, SWITCH)


def set_switch(connection: Connection, *, on: bool, by: str) -> int:
    """Turn dispatch on or off, as an event; how many waiting documents go on now."""
    switches.turn(connection, SWITCH, on=on, by=by, kind="dispatch.switch", what="dispatch")
    return _enqueue_waiting(connection) if on else 0


def _enqueue_waiting(connection: Connection) -> int:
    """Make pending again what passed the stage while the switch was off."""
    rows = connection.execute(
        "SELECT d.id FROM documents d JOIN flow_ledger l ON l.subject_id = d.id"
        " AND l.stage = %s AND l.generation = %s AND l.state = 'done'"
        " WHERE d.dispatch_state = 'pending'",
        (Stage.DISPATCH, LIVE),
    ).fetchall()
    return ledger.enqueue(connection, Stage.DISPATCH, [row[0] for row in rows], again=True)


def dispatch_documents(
    database: Database,
    *,
    limit: int,
    followers: Mapping[str, Follower] = FOLLOWERS,
    progress: Callable[[int, int], None] | None = None,
) -> BatchReport:
    """Dispatch pending documents; a failed follower is recorded and never undoes the entry."""

    def handle(claim: Claim) -> str:
        with database.worker() as connection:
            if not is_switched_on(connection):
                ledger.complete(connection, claim)
                return SWITCHED_OFF
            row = connection.execute(
                "SELECT doc_type FROM documents WHERE id = %s", (claim.subject_id,)
            ).fetchone()
            guard_effect(connection, claim.subject_id)
        follower = followers.get(row[0] or "") if row is not None else None
        error = None if follower is None else _follow(database, follower, claim.subject_id)
        with database.worker() as connection:
            connection.execute(
                "UPDATE documents SET dispatch_state = %s, dispatch_error = %s,"
                " dispatched_at = CASE WHEN %s::text IS NULL THEN now() END,"
                " flow_stage = 'effect', updated_at = now() WHERE id = %s",
                ("done" if error is None else "failed", error, error, claim.subject_id),
            )
            ledger.complete(connection, claim)
        return "done" if error is None else "failed"

    return pull(database, Stage.DISPATCH, handle, limit=limit, progress=progress)


def retry_failed(database: Database) -> int:
    """Make every failed dispatch pending again; returns how many."""
    with database.worker() as connection:
        rows = connection.execute(
            "UPDATE documents SET dispatch_state = 'pending', dispatch_error = NULL"
            " WHERE dispatch_state = 'failed' RETURNING id"
        ).fetchall()
        ledger.enqueue(connection, Stage.DISPATCH, [row[0] for row in rows], again=True)
    return len(rows)


def _follow(database: Database, follower: Follower, document_id: int) -> str | None:
    try:
        with database.worker() as connection:
            follower(connection, document_id)
    except Exception as error:  # noqa: BLE001 - the boundary: the text of any failure is kept
        return f"{type(error).__name__}: {error}"[:2000]
    return None
