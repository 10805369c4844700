"""A process killed in the middle of an import leaves all rows or none; the next try is whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from table_flow import card_of, entries, entry, execute, export, organised, rows, states, taken

from tgv_dagster.store.db import Database

CHILD = """
import sys
sys.path[:0] = sys.argv[4:]
from table_flow import executor, scope_of
from tgv_dagster.clarify import execution
from tgv_dagster.store.db import Database
database = Database(sys.argv[1], pool_size=2)
execution.execute(
    executor(database), scope_of(database, "anna"), int(sys.argv[2]), choice=sys.argv[3])
"""
STALL = """
CREATE FUNCTION stall() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.startzeit = '10:00' THEN PERFORM pg_sleep(60); END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER stall AFTER INSERT ON prf_timetrack FOR EACH ROW EXECUTE FUNCTION stall();
"""


def _sleepers(database: Database, *, end: bool = False) -> int:
    """Sessions that sleep in the trigger, as the owner of the server sees them."""
    asked = "count(pg_terminate_backend(pid))" if end else "count(*)"
    with database.owner() as connection:
        found = connection.execute(
            f"SELECT {asked} FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
            " AND datname = current_database()".encode()
        ).fetchone()
    assert found is not None
    return found[0]


def _wait(condition, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it never came so far"
        time.sleep(0.05)


def test_kill_9_in_the_middle_of_an_import_leaves_nothing_and_the_next_try_is_whole(
    database: Database,
) -> None:
    organised(database)
    lines = [
        entry("2026-01-28", f"{h:02}:00:00", f"{h:02}:30:00", "00:30:00") for h in range(6, 16)
    ]
    facts = taken(database, export(*lines))
    card, _ = card_of(database, facts)
    with database.owner() as connection:
        connection.execute(STALL.encode())
    here = Path(__file__).parent
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, database.url, str(card), "take_over", str(here),
         str(here.parent), str(here.parents[1])],
    )  # fmt: skip
    _wait(lambda: _sleepers(database) == 1)

    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    _sleepers(database, end=True)
    _wait(lambda: _sleepers(database) == 0)

    assert entries(database) == []
    assert states(database, facts) == [(1, "asked", 0, 0, 0)]
    assert rows(database, "SELECT count(*) FROM import_schema") == [(0,)]
    with database.owner() as connection:
        connection.execute("DROP TRIGGER stall ON prf_timetrack")
    execute(database, facts, "take_over")
    assert len(entries(database)) == 10
