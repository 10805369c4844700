"""Jobs of the storage: a backup each night, a restore rehearsal and a complete pass each month.

What they do stands in `tgv_dagster.backup` and `tgv_dagster.audit.storage`. Without a target
(TGV_BACKUP_URL) backup and rehearsal do nothing and say so; the checkpoint stays unmeasured.
"""

from datetime import UTC, datetime

import dagster as dg

from resources.door import Door
from tgv_dagster import backup
from tgv_dagster.audit.storage import audit_storage

TIMEZONE = "Europe/Berlin"
NO_TARGET = "No target for backups is set (TGV_BACKUP_URL)."
_LIMIT = {"dagster/max_runtime": str(12 * 3600)}


@dg.op
def back_up(context: dg.OpExecutionContext, door: dg.ResourceParam[Door]) -> None:
    """Database and new bytes into the target."""
    with door.discreetly("backup"):
        installation = door.installation()
        target = installation.settings.backup_url
        made = None if target is None else backup.make_backup(installation, target)
    if made is None:
        context.log.warning(NO_TARGET)
        return
    context.log.info(
        f"{made.description.name}: {made.description.items} items, {made.copied} of them new,"
        f" {len(made.missing)} without bytes."
    )


@dg.op
def rehearse_restore(context: dg.OpExecutionContext, door: dg.ResourceParam[Door]) -> None:
    """The newest backup into a database that is thrown away, every byte read in the target."""
    with door.discreetly("restore_rehearsal"):
        installation = door.installation()
        target = installation.settings.backup_url
        proof = None if target is None else backup.rehearse(installation, target)
    if proof is None:
        context.log.warning(NO_TARGET)
        return
    context.log.info(
        f"{proof.description.name}: {proof.verified} of {proof.description.items} items verified,"
        f" {len(proof.differing_tables)} tables differ."
    )


@dg.op
def read_everything(context: dg.OpExecutionContext, door: dg.ResourceParam[Door]) -> None:
    """Every raw item that was not read this month; the next run goes on where this one ended."""
    began = datetime.now(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    with door.discreetly("storage_audit"):
        audit = audit_storage(door.installation(), since=began, seconds=11 * 3600)
    context.log.info(
        f"{audit.read} of {audit.items} items read since {audit.since:%Y-%m-%d}, {audit.left} left;"
        f" states {audit.states}."
    )


def _job(name: str, op: dg.OpDefinition, says: str) -> dg.JobDefinition:
    return dg.GraphDefinition(name=name, node_defs=[op]).to_job(
        executor_def=dg.in_process_executor, tags=_LIMIT, description=says
    )


JOBS = [
    _job("backup", back_up, "Back up the database and every raw byte that is new."),
    _job("restore_rehearsal", rehearse_restore, "Prove that the newest backup comes back whole."),
    _job("storage_audit", read_everything, "Read every raw item again, against its hash."),
]
_TIMES = {
    "backup": "15 2 * * *",
    "restore_rehearsal": "0 3 2 * *",
    "storage_audit": "0 4 3,4,5 * *",
}
SCHEDULES = [
    dg.ScheduleDefinition(
        name=f"{job.name}_schedule",
        job=job,
        cron_schedule=_TIMES[job.name],
        execution_timezone=TIMEZONE,
        default_status=dg.DefaultScheduleStatus.RUNNING,
    )
    for job in JOBS
]
