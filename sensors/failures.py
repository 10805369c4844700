"""Sensors that turn a failed run and a failed check into events of the product.

An event carries run, job, step and check names, never an error's text; what happened in the step
itself stands in the event `step.stopped` of that step.
"""

import dagster as dg
from dagster import DagsterEventType, DagsterRunStatus

from resources.door import Door
from tgv_dagster.audit.told import FailedCheck, FailedRun, tell_failed_check, tell_failed_run


@dg.run_failure_sensor(
    name="run_failure_sensor",
    description="Writes an event for every failed run.",
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
)
def run_failure_sensor(
    context: dg.RunFailureSensorContext, door: dg.ResourceParam[Door]
) -> dg.SkipReason | None:
    """Tell the failed run with its failed steps, and the checks that failed in it."""
    run = context.dagster_run
    steps = tuple(
        sorted({event.step_key for event in context.get_step_failure_events() if event.step_key})
    )
    with door.discreetly("run_failure_sensor"), door.installation().database.worker() as connection:
        tell_failed_run(connection, FailedRun(run.run_id, run.job_name, steps))
        for failed in failed_checks(context.instance, run.run_id):
            tell_failed_check(connection, failed)


@dg.run_status_sensor(
    name="check_failure_sensor",
    run_status=DagsterRunStatus.SUCCESS,
    description="Writes an event for every check that failed in a run that went through.",
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
)
def check_failure_sensor(
    context: dg.RunStatusSensorContext, door: dg.ResourceParam[Door]
) -> dg.SkipReason | None:
    """Tell the checks that failed without stopping their run."""
    failed = failed_checks(context.instance, context.dagster_run.run_id)
    if not failed:
        return dg.SkipReason("no check failed")
    with (
        door.discreetly("check_failure_sensor"),
        door.installation().database.worker() as connection,
    ):
        for check in failed:
            tell_failed_check(connection, check)
    return None


def failed_checks(instance: dg.DagsterInstance, run_id: str) -> tuple[FailedCheck, ...]:
    """The checks of a run that did not pass."""
    records = instance.get_records_for_run(
        run_id, of_type=DagsterEventType.ASSET_CHECK_EVALUATION
    ).records
    evaluations = [
        record.event_log_entry.dagster_event.asset_check_evaluation_data
        for record in records
        if record.event_log_entry.dagster_event is not None
    ]
    return tuple(
        FailedCheck(
            run_id, evaluation.check_name, evaluation.asset_key.to_user_string(),
            evaluation.severity.value,
        )
        for evaluation in evaluations
        if not evaluation.passed
    )  # fmt: skip


SENSORS = (run_failure_sensor, check_failure_sensor)
