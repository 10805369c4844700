"""The sensor of the ledger: work that is due although no gate brought it starts a run.

Retries after a wait, expired claims, released cases and batches beyond the first come back here.
"""

from __future__ import annotations

from sensors.decide import Seen
from sensors.gate_sensor import FLOW_TAG, Watch, gate_sensor
from tgv_dagster.installation import Installation
from tgv_dagster.store import ledger
from tgv_dagster.store.stages import Stage


def look_at_ledger(installation: Installation, _settled: str) -> Seen:
    """How much is due per stage; one indexed read when nothing is."""
    with installation.database.worker() as connection:
        if not ledger.any_due(connection):
            return Seen()
        counts = {stage: ledger.pending_count(connection, stage) for stage in Stage}
    return Seen(tuple(f"{stage}={count}" for stage, count in counts.items() if count))


SENSORS = (
    gate_sensor(
        Watch(
            name="pending_sensor",
            gate="ledger",
            says="Starts a run when a stage of the flow has work that is due.",
            look=look_at_ledger,
            job_name="intake",
            every_seconds=10,
            busy_tag=(FLOW_TAG, "yes"),
        )
    ),
)
