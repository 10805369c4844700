"""The factory that makes a sensor of a gate: look, decide, ask for one run per batch.

To add a gate, write its `look` and one `Watch`; see `sensors.folder`. A tick only looks: it takes
nothing, writes nothing into the product's database, and gives up after its time budget.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong
from dataclasses import dataclass

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter

from resources.door import Door
from sensors.decide import LastRun, Memory, Seen, decide, generation_of
from tgv_dagster.installation import Installation

GATE_TAG = "tgv/gate"
FLOW_TAG = "tgv/flow"
"""Tags of runs: the gate a run was started for, and that a run walks the flow."""

TICK_SECONDS = 20.0

_GOING = [
    DagsterRunStatus.QUEUED,
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
]


@dataclass(frozen=True, slots=True)
class Watch:
    """One watched way in.

    `look` gets the installation and the digest of the last look that found nothing new; it reads
    at most once from the database when nothing changed. `busy_tag` names the runs that count as
    being on their way, by default those of the same gate. `at_rest` says why the gate is not
    watched at all, None when it is.
    """

    name: str
    gate: str
    says: str
    look: Callable[[Installation, str], Seen]
    job_name: str
    every_seconds: int
    busy_tag: tuple[str, str] | None = None
    tick_seconds: float = TICK_SECONDS
    at_rest: Callable[[Installation], str | None] | None = None


def gate_sensor(watch: Watch) -> dg.SensorDefinition:
    """The sensor of one gate."""
    bounded = _Bounded()

    @dg.sensor(
        name=watch.name,
        job_name=watch.job_name,
        description=watch.says,
        minimum_interval_seconds=watch.every_seconds,
        default_status=dg.DefaultSensorStatus.RUNNING,
    )
    def tick(
        context: dg.SensorEvaluationContext, door: dg.ResourceParam[Door]
    ) -> dg.SensorResult | dg.SkipReason:
        memory = Memory.from_cursor(context.cursor)
        if watch.at_rest is not None:
            with door.discreetly(watch.name):
                resting = watch.at_rest(door.installation())
            if resting is not None:
                return dg.SkipReason(f"{watch.gate}: {resting}.")
        with door.discreetly(watch.name):
            seen = bounded.look(watch, door.installation(), memory.settled)
        if seen is None:
            return dg.SkipReason(f"The gate did not answer within {watch.tick_seconds:g} s.")
        last = _last_run(context.instance, watch) if seen.ready else None
        decision = decide(watch.gate, memory, seen, last, time.time())
        if decision.run_key is None:
            return dg.SensorResult(
                skip_reason=f"{watch.gate}: {decision.says}.", cursor=decision.memory.to_cursor()
            )
        request = dg.RunRequest(
            run_key=decision.run_key,
            tags={GATE_TAG: watch.gate, FLOW_TAG: "yes", "tgv/waiting": str(len(seen.ready))},
        )
        return dg.SensorResult([request], cursor=decision.memory.to_cursor())

    return tick


class _Bounded:
    """Looks in a thread, so that a share that does not answer cannot stop the other sensors.

    A look that took too long goes on in its thread; no second one is started meanwhile.
    """

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._running: Future[Seen] | None = None

    def look(self, watch: Watch, installation: Installation, settled: str) -> Seen | None:
        """What was seen, None when the gate does not answer in time."""
        if self._running is None:
            self._pool = self._pool or ThreadPoolExecutor(1, thread_name_prefix=watch.name)
            self._running = self._pool.submit(watch.look, installation, settled)
        try:
            seen = self._running.result(watch.tick_seconds)
        except TookTooLong:
            return None
        except BaseException:
            self._running = None
            raise
        self._running = None
        return seen


def _last_run(instance: dg.DagsterInstance, watch: Watch) -> LastRun | None:
    """The newest run of this gate in Dagster's own storage, and whether one is going."""
    own = instance.get_runs(RunsFilter(tags={GATE_TAG: watch.gate}), limit=1)
    key, value = watch.busy_tag or (GATE_TAG, watch.gate)
    active = instance.get_runs_count(RunsFilter(tags={key: value}, statuses=_GOING)) > 0
    if not own and not active:
        return None
    newest = generation_of(own[0].tags.get("dagster/run_key")) if own else 0
    return LastRun(newest, active)
