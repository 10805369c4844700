"""Jobs of the mailbox beside the flow: a poll by hand, a backfill, the daily balance.

The HTTP service starts them for calls that are too long for a request (MAIL-54). What they do
stands in `tgv_dagster.mailing`, which the console and the service call as well. Run configuration
holds dates and numbers only, never a secret.
"""

from datetime import date

import dagster as dg

from resources.door import Door
from sensors.gate_sensor import FLOW_TAG
from tgv_dagster import mailing
from tgv_dagster.arrive.mail_access import is_configured
from tgv_dagster.arrive.mailbox import MailReport

TIMEZONE = "Europe/Berlin"
_LIMIT = {"dagster/max_runtime": str(6 * 3600)}


class BackfillConfig(dg.Config):
    """How far a backfill goes; `seit` is a day as YYYY-MM-DD or empty for all mails."""

    seit: str = ""
    limit: int = 1
    apply: bool = False


@dg.op
def poll_mailbox(context: dg.OpExecutionContext, door: dg.ResourceParam[Door]) -> None:
    """One poll: secure, enter, dispatch, stamp."""
    with door.discreetly("mail_poll"):
        done = mailing.poll(door.installation())
    _tell(context, done.report)
    if done.gate_closed:
        raise dg.Failure(description=f"Nothing was stamped: {done.gate_closed}")


@dg.op
def backfill_mailbox(
    context: dg.OpExecutionContext, config: BackfillConfig, door: dg.ResourceParam[Door]
) -> None:
    """One backfill; it cannot stamp."""
    with door.discreetly("mail_backfill"):
        since = date.fromisoformat(config.seit) if config.seit else None
        report = mailing.backfill(
            door.installation(), since=since, limit=config.limit, apply=config.apply
        )
    _tell(context, report)


@dg.op
def balance_mailbox(context: dg.OpExecutionContext, door: dg.ResourceParam[Door]) -> None:
    """Count the mailbox against the ledger; without a mailbox nothing is measured."""
    with door.discreetly("mail_balance"):
        installation = door.installation()
        if not is_configured(installation.settings):
            context.log.info("No mailbox is configured; the balance stays unmeasured.")
            return
        found = mailing.balance(installation)
    context.log.info(
        f"{found.total} mails: {found.stored} stored, {found.parked} parked, {found.skipped}"
        f" skipped, {found.under_way} under way, {found.waiting} waiting, {found.failed} failed,"
        f" {found.missing} missing."
    )


def _tell(context: dg.OpExecutionContext, report: MailReport) -> None:
    context.log.info(
        f"{report.total} mails in the folder, {report.matching} matching, {report.wanted} to do,"
        f" {len(report.taken)} worked on, {report.cut_off} left."
    )


@dg.job(
    executor_def=dg.in_process_executor,
    description="One poll of the intake mailbox by hand, with the flow behind it and the stamps.",
    tags={**_LIMIT, FLOW_TAG: "yes"},
)
def mail_poll() -> None:
    """One step: the poll."""
    poll_mailbox()


@dg.job(
    executor_def=dg.in_process_executor,
    description="Go over the whole mailbox, read mails included; sets no flag.",
    tags=_LIMIT,
)
def mail_backfill() -> None:
    """One step: the backfill."""
    backfill_mailbox()


@dg.job(
    executor_def=dg.in_process_executor,
    description="The completeness balance of the mailbox; fetches no body.",
    tags=_LIMIT,
)
def mail_balance() -> None:
    """One step: the balance."""
    balance_mailbox()


JOBS = [mail_poll, mail_backfill, mail_balance]

SCHEDULES = [
    dg.ScheduleDefinition(
        name="mail_balance_schedule",
        job=mail_balance,
        cron_schedule="35 5 * * *",
        execution_timezone=TIMEZONE,
        default_status=dg.DefaultScheduleStatus.RUNNING,
    )
]
