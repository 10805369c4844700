"""The verdict ledger: what was measured when, and the authority behind every gate.

Here belong keeping and reading verdicts, their age, and the start date of each counter. What is
measured belongs to `register` and `measures`. A verdict that is older than its checkpoint's clock
says nothing any more and reads as unmeasured (CHAIN-05).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version

from psycopg.types.json import Jsonb

from tgv_dagster.audit.register import CHECKPOINTS, Checkpoint, checkpoint
from tgv_dagster.audit.verdict import State, Verdict, unmeasured
from tgv_dagster.installation import Installation
from tgv_dagster.store.db import Connection
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.organisation import SERVICE_LOGIN

CODE_VERSION = version("tgv-dagster")
NEVER_MEASURED = "never measured"
STALE = "the last measurement is too old to say anything"


class GateClosed(RuntimeError):
    """A gate is not green: what stands behind it stops, with the gate's own reason."""

    def __init__(self, gate: str, verdict: Verdict) -> None:
        super().__init__(f"gate {gate} is {verdict.state}: {verdict.reason}")
        self.gate = gate
        self.verdict = verdict


@dataclass(frozen=True, slots=True)
class Entry:
    """A checkpoint as its readers see it now.

    `verdict` is already unmeasured when the last measurement is stale; `measured_at` is the date
    of that last measurement (None: never). `counted_since` is the day the counter went live, so
    that a count of 0 never stands alone (OBS-01, MAIL-71); `counter_version` is the code that
    counted last, `is_live` whether the running code carries the counter.
    """

    checkpoint: Checkpoint
    verdict: Verdict
    measured_at: datetime | None
    counted_since: datetime | None
    counter_version: str | None

    @property
    def is_live(self) -> bool:
        """Whether the running version is the one that counted."""
        return self.counter_version == CODE_VERSION


def keep(
    connection: Connection, which: Checkpoint, verdict: Verdict, *, run_id: str | None = None
) -> None:
    """Append a verdict; the first one of a checkpoint starts its counter.

    A change between the three states becomes an event, so that a gate that turns red is told.
    """
    connection.execute(
        "INSERT INTO checkpoints (id, station, code_version) VALUES (%s, %s, %s)"
        " ON CONFLICT (id) DO UPDATE SET station = excluded.station,"
        " code_version = excluded.code_version",
        (which.id, which.station, CODE_VERSION),
    )
    before = connection.execute(
        "SELECT state FROM verdicts WHERE checkpoint = %s ORDER BY measured_at DESC, id DESC"
        " LIMIT 1",
        (which.id,),
    ).fetchone()
    connection.execute(
        "INSERT INTO verdicts (checkpoint, state, reason, figures, evidence, systemic,"
        " measured_at, run_id) VALUES (%s, %s, %s, %s, %s, %s, clock_timestamp(), %s)",
        (
            which.id,
            verdict.state,
            verdict.reason,
            Jsonb(dict(verdict.figures)),
            list(verdict.evidence),
            verdict.systemic,
            run_id,
        ),
    )
    if before is None or before[0] != verdict.state:
        record(
            connection,
            Event(
                kind=f"checkpoint.{verdict.state}",
                author=SERVICE_LOGIN,
                object=f"checkpoint:{which.id}",
                reason=verdict.reason,
                payload={
                    "before": None if before is None else before[0],
                    "gate": which.gate,
                    "figures": dict(verdict.figures),
                },
            ),
        )


def latest(
    connection: Connection, *, now: datetime | None = None, only: Iterable[str] | None = None
) -> tuple[Entry, ...]:
    """Every checkpoint of the register (or those of `only`) as it stands now; one statement."""
    moment = now or datetime.now(UTC)
    wanted = CHECKPOINTS if only is None else tuple(checkpoint(name) for name in only)
    rows = connection.execute(
        """
        SELECT c.id, c.counted_since, c.code_version, v.state, v.reason, v.figures, v.evidence,
            v.systemic, v.measured_at
        FROM checkpoints c LEFT JOIN LATERAL (
            SELECT * FROM verdicts WHERE checkpoint = c.id
            ORDER BY measured_at DESC, id DESC LIMIT 1) v ON true
        WHERE c.id = ANY (%s)
        """,
        ([which.id for which in wanted],),
    ).fetchall()
    known = {row[0]: row for row in rows}
    return tuple(entry_of(which, known.get(which.id), moment) for which in wanted)


def counted_since(connection: Connection, checkpoint_id: str) -> datetime | None:
    """The day since which this checkpoint is counted, None before its first measurement."""
    row = connection.execute(
        "SELECT counted_since FROM checkpoints WHERE id = %s", (checkpoint_id,)
    ).fetchone()
    return None if row is None else row[0]


def verdict_of_run(connection: Connection, checkpoint_id: str, run_id: str) -> Verdict | None:
    """The verdict that this run measured already, so that one run measures once."""
    row = connection.execute(
        "SELECT state, reason, figures, evidence, systemic FROM verdicts"
        " WHERE checkpoint = %s AND run_id = %s ORDER BY id DESC LIMIT 1",
        (checkpoint_id, run_id),
    ).fetchone()
    return None if row is None else _verdict(*row)


def require_green(connection: Connection, gate: str) -> None:
    """Let pass only behind a gate that was measured in time and that nothing went around.

    Raises GateClosed with the gate's reason; an unmeasured gate is closed like a red one.
    """
    entry = latest(connection, only=[gate])[0]
    if not entry.verdict.opens_gate:
        raise GateClosed(gate, entry.verdict)


def evaluate(installation: Installation, which: Checkpoint, *, run_id: str | None) -> Verdict:
    """Hold what violates a gate, measure, keep the verdict; once per run.

    Never raises for a fault of the measurement: a measurement that breaks says nothing, so it is
    unmeasured with the kind of the fault. A ledger that cannot be written raises.
    """
    if run_id is not None:
        with installation.database.worker() as connection:
            known = verdict_of_run(connection, which.id, run_id)
        if known is not None:
            return known
    try:
        if which.hold is not None:
            which.hold(installation)
        verdict = which.measure(installation)
    except Exception as error:  # noqa: BLE001 - a broken measurement is a state, not a stop
        verdict = unmeasured(f"the measurement broke ({type(error).__name__})")
    with installation.database.worker() as connection:
        keep(connection, which, verdict, run_id=run_id)
    return verdict


def prune(connection: Connection, *, keep_for: timedelta) -> int:
    """Delete verdicts older than this, except the newest of each checkpoint; returns how many."""
    return connection.execute(
        "DELETE FROM verdicts v WHERE v.measured_at < now() - %s AND EXISTS"
        " (SELECT 1 FROM verdicts n WHERE n.checkpoint = v.checkpoint"
        "   AND (n.measured_at, n.id) > (v.measured_at, v.id))",
        (keep_for,),
    ).rowcount


def entry_of(which: Checkpoint, row: tuple | None, now: datetime) -> Entry:
    """How a kept row of `latest` reads at this moment."""
    if row is None or row[3] is None:
        since, counter = (None, None) if row is None else (row[1], row[2])
        return Entry(which, unmeasured(NEVER_MEASURED), None, since, counter)
    _, since, counter, state, reason, figures, evidence, systemic, measured_at = row
    verdict = _verdict(state, reason, figures, evidence, systemic)
    if verdict.state is not State.UNMEASURED and now - measured_at > which.stale_after:
        verdict = unmeasured(STALE, verdict.figures)
    return Entry(which, verdict, measured_at, since, counter)


def _verdict(
    state: str, reason: str, figures: dict, evidence: list[str], systemic: bool
) -> Verdict:
    return Verdict(State(state), reason, figures, tuple(evidence), systemic)
