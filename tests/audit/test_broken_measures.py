"""A measurement that breaks or grows old says nothing: unmeasured with its reason, for each one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from audit_builders import document
from psycopg import sql

from tgv_dagster.audit import ledger
from tgv_dagster.audit.register import CHECKPOINTS, Checkpoint
from tgv_dagster.audit.verdict import State, Verdict, green, red
from tgv_dagster.installation import Installation
from tgv_dagster.store.register import TABLES

SECONDS = 30.0
NO_TABLE = {
    "storage_region", "gates_turn_red", "test_rows_are_filtered", "intervals_have_one_writer",
    "field_has_writer", "index_has_reader", "backups_restorable", "learning_condensed",
    "events_chain", "mailbox_balance",
}  # fmt: skip
"""They read settings, the catalogue, the source, verdicts or events, which nobody holds here, or
nothing where no mailbox is set."""


@pytest.mark.parametrize("which", CHECKPOINTS, ids=lambda which: which.id)
@pytest.mark.parametrize("kept", [green("fine"), red("broken")], ids=["green", "red"])
def test_a_measurement_older_than_its_clock_says_nothing(which: Checkpoint, kept: Verdict) -> None:
    measured = datetime(2026, 3, 2, tzinfo=UTC)
    row = (which.id, measured, "1", kept.state, kept.reason, {}, [], False, measured)
    in_time = ledger.entry_of(which, row, measured + which.stale_after)
    too_old = ledger.entry_of(which, row, measured + which.stale_after + timedelta(seconds=1))
    assert in_time.verdict.state is kept.state
    assert (too_old.verdict.state, too_old.verdict.reason) == (State.UNMEASURED, ledger.STALE)


@contextmanager
def locked_tables(installation: Installation) -> Iterator[None]:
    """Every table but those of the verdicts is held by somebody else."""
    kept = {"checkpoints", "verdicts", "agent_events", "event_payloads"}
    with installation.database.owner() as owner:
        for table in TABLES:
            if table.name not in kept:
                owner.execute(
                    sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(
                        sql.Identifier(table.name)
                    )
                )
        yield
        owner.rollback()


def end_waiting(installation: Installation, measuring: threading.Thread) -> bool:
    """End the connection of the measurement as soon as it waits; False when it never does."""
    deadline = time.monotonic() + SECONDS
    while measuring.is_alive() and time.monotonic() < deadline:
        with installation.database.owner(autocommit=True) as owner:
            ended = owner.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event_type = 'Lock'"
            ).fetchall()
        if ended:
            return True
        time.sleep(0.02)
    return False


def test_a_database_that_goes_away_in_the_middle_is_unmeasured_for_every_checkpoint(
    installation: Installation,
) -> None:
    document(installation)
    interrupted: set[str] = set()
    for which in CHECKPOINTS:
        found: list[Verdict] = []

        def measure(which: Checkpoint = which, found: list[Verdict] = found) -> None:
            found.append(ledger.evaluate(installation, which, run_id=None))

        measuring = threading.Thread(target=measure)
        with locked_tables(installation):
            measuring.start()
            if end_waiting(installation, measuring):
                interrupted.add(which.id)
        measuring.join(SECONDS)
        (verdict,) = found
        if which.id in interrupted:
            assert verdict.state is State.UNMEASURED, which.id
            assert verdict.reason.startswith("the measurement broke ("), which.id
    assert interrupted >= {
        which.id
        for which in CHECKPOINTS
        if which.id not in NO_TABLE and not which.id.startswith("lost_ops_feature_")
    }
