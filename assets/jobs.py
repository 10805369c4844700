"""Jobs and schedules: which assets and checks run together, and when.

All jobs run in one process: a job of many small steps costs an eighth of what a process per step
costs (architecture §4). Checks that may be unmeasured stand in the audit job alone, because a
failed step elsewhere in a run would show them as failed.
"""

from collections.abc import Sequence
from datetime import timedelta

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from resources.door import Door
from sensors.gate_sensor import FLOW_TAG
from tgv_dagster.audit import ledger
from tgv_dagster.audit.register import CHECKPOINTS
from tgv_dagster.rebuild import switch
from tgv_dagster.runs import prune

TIMEZONE = "Europe/Berlin"
LONGEST_RUN_SECONDS = 6 * 3600
KEEP_RUNS_DAYS = 30
KEEP_VERDICTS = timedelta(days=800)
"""Verdicts are the history of the invariants; two years stay, the newest of each for ever."""
LIMIT = {"dagster/max_runtime": str(LONGEST_RUN_SECONDS)}


def flow_jobs(steps: Sequence[str], shown: Sequence[str]) -> list[UnresolvedAssetJobDefinition]:
    """The flow alone, for one batch, and the flow with everything that shows its state."""
    gates = dg.AssetSelection.checks(
        *(
            dg.AssetCheckKey(dg.AssetKey(which.found_at.asset), which.id)
            for which in CHECKPOINTS
            if which.gate
        )
    )
    intake = dg.define_asset_job(
        "intake",
        selection=dg.AssetSelection.assets(*steps).without_checks() | gates,
        description="One batch through the flow: what arrived becomes findable.",
        executor_def=dg.in_process_executor,
        tags={**LIMIT, FLOW_TAG: "yes"},
    )
    daily_flow = dg.define_asset_job(
        "daily_flow",
        selection=dg.AssetSelection.assets(*steps, *shown).without_checks() | gates,
        description="The whole flow and the pictures of its state, behind its gates.",
        executor_def=dg.in_process_executor,
        tags={**LIMIT, FLOW_TAG: "yes"},
    )
    return [intake, daily_flow]


def audit_job(notices: Sequence[dg.AssetChecksDefinition]) -> UnresolvedAssetJobDefinition:
    """Every invariant of the register measured; nothing in it fails a run."""
    keys = [key for checks in notices for key in checks.check_keys]
    return dg.define_asset_job(
        "audit",
        selection=dg.AssetSelection.assets("verdicts").without_checks()
        | dg.AssetSelection.checks(*keys),
        description="The audit register: every invariant measured, every verdict kept.",
        executor_def=dg.in_process_executor,
        tags=LIMIT,
    )


class SwitchConfig(dg.Config):
    """Which finished generation becomes the one in force, and who decided it."""

    generation_id: int
    by: str


@dg.op
def switch_to_generation(
    context: dg.OpExecutionContext, config: SwitchConfig, door: dg.ResourceParam[Door]
) -> None:
    """Put a re-computed generation in force; readers see the old one or the new one."""
    with door.discreetly("switch_generation"):
        switch(door.installation(), config.generation_id, config.by)
    context.log.info(f"Generation {config.generation_id} is in force.")


@dg.job(
    executor_def=dg.in_process_executor,
    description="Put a re-computed generation in force after looking at its comparison.",
    tags=LIMIT,
)
def switch_generation() -> None:
    """One step: the switch."""
    switch_to_generation()


@dg.op
def prune_histories(context: dg.OpExecutionContext, door: dg.ResourceParam[Door]) -> None:
    """Delete old runs, ticks and verdicts."""
    pruned = prune(context.instance, keep_days=KEEP_RUNS_DAYS)
    with door.discreetly("housekeeping"), door.installation().database.worker() as connection:
        verdicts = ledger.prune(connection, keep_for=KEEP_VERDICTS)
    context.log.info(
        f"Deleted {pruned.runs} runs, {pruned.messages} messages, {verdicts} verdicts; "
        f"purged the ticks of {pruned.ticks} sensors and schedules."
    )


@dg.job(
    executor_def=dg.in_process_executor,
    description="Delete what Dagster keeps for ever otherwise: old runs, ticks and verdicts.",
    tags=LIMIT,
)
def housekeeping() -> None:
    """One step: pruning."""
    prune_histories()


def schedules(
    daily_flow: UnresolvedAssetJobDefinition, audit: UnresolvedAssetJobDefinition
) -> list[dg.ScheduleDefinition]:
    """What runs by the clock: the whole flow at dawn, then the audit, housekeeping at night."""
    times: list[tuple[UnresolvedAssetJobDefinition | dg.JobDefinition, str]] = [
        (daily_flow, "15 5 * * *"),
        (audit, "45 5 * * *"),
        (housekeeping, "30 3 * * *"),
    ]
    return [
        dg.ScheduleDefinition(
            name=f"{job.name}_schedule",
            job=job,
            cron_schedule=cron,
            execution_timezone=TIMEZONE,
            default_status=dg.DefaultScheduleStatus.RUNNING,
        )
        for job, cron in times
    ]
