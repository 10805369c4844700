"""Events about runs and checks: what failed, told once, in the words of the product.

Who notices a failure belongs to the sensors; here belongs what is written about it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tgv_dagster.store.db import Connection
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.organisation import SERVICE_LOGIN


@dataclass(frozen=True, slots=True)
class FailedRun:
    """A run that failed, with the names of the steps that did."""

    run_id: str
    job: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A check that did not pass in a run."""

    run_id: str
    checkpoint: str
    asset: str
    severity: str


def tell_failed_run(connection: Connection, failed: FailedRun) -> bool:
    """Record the failed run; False when it was told before."""
    return _tell_once(
        connection,
        Event(
            kind="run.failed",
            author=SERVICE_LOGIN,
            object=f"run:{failed.run_id}",
            reason=f"the run of {failed.job} failed",
            payload={"job": failed.job, "steps": list(failed.steps)},
        ),
    )


def tell_failed_check(connection: Connection, failed: FailedCheck) -> bool:
    """Record the failed check of a run; False when it was told before."""
    return _tell_once(
        connection,
        Event(
            kind="check.failed",
            author=SERVICE_LOGIN,
            object=f"check:{failed.run_id}:{failed.checkpoint}",
            reason=f"{failed.checkpoint} did not pass on {failed.asset}",
            payload={"severity": failed.severity, "asset": failed.asset},
        ),
    )


def _tell_once(connection: Connection, event: Event) -> bool:
    """A sensor tick may be repeated after a crash; the event is not."""
    known = connection.execute(
        "SELECT 1 FROM agent_events WHERE object = %s AND kind = %s LIMIT 1",
        (event.object, event.kind),
    ).fetchone()
    if known is None:
        record(connection, event)
    return known is None
