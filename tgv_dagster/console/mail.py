"""Commands of mail intake: the same functions as the HTTP routes and the jobs.

Belongs here: options and what is printed. Does not belong here: any decision about mails.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import typer
from rich.markup import escape

from tgv_dagster import mailing
from tgv_dagster.arrive import mail_ledger
from tgv_dagster.arrive.mail_access import is_switched_on, set_switch
from tgv_dagster.arrive.mail_drop import drop_mails
from tgv_dagster.arrive.mail_ledger import MailOutcome
from tgv_dagster.arrive.mailbox import MailReport
from tgv_dagster.arrive.upload import Drop, DroppedFile
from tgv_dagster.console.common import (
    AS_OPTION,
    MANDANT_OPTION,
    err,
    opened,
    out,
    person_scope,
    scope_of,
    table_of,
)
from tgv_dagster.effect import dispatching
from tgv_dagster.installation import Installation
from tgv_dagster.store.levels import Role

mail_app = typer.Typer(help="The intake mailbox, and mails as files.", no_args_is_help=True)


def _owner(installation: Installation, login: str) -> None:
    """The mailbox is infrastructure: owner of the installation only (MAIL-03)."""
    scope_of(installation.database, login, None).require(Role.SUPER_ADMIN)


@mail_app.command("poll")
def poll(
    apply: bool = typer.Option(True, help="--no-apply only looks: no row, no flag."),
    login: str = AS_OPTION,
) -> None:
    """Fetch what is unseen, secure, enter, dispatch, stamp."""
    with opened() as installation:
        _owner(installation, login)
        done = mailing.poll(installation, apply=apply)
        _show(done.report)
        if done.gate_closed:
            err.print(f"[red]Nothing was stamped: {escape(done.gate_closed)}[/red]")
        if done.stamps is not None:
            told = ", ".join(f"{n} {name}" for name, n in sorted(done.stamps.outcomes.items()))
            out.print(f"Stamps: {told or 'none'}")
        if done.dispatch_failed:
            out.print(f"{done.dispatch_failed} dispatches failed; `tgv mail retry-dispatch`.")


@mail_app.command("backfill")
def backfill(
    seit: datetime | None = typer.Option(
        None, "--seit", formats=["%Y-%m-%d"], help="From this day of arrival on."
    ),
    limit: int = typer.Option(1, help="At most 200; the first call is made with 1."),
    apply: bool = typer.Option(False, help="Secure what is missing instead of measuring."),
    login: str = AS_OPTION,
) -> None:
    """Go over the whole mailbox, read mails included; sets no flag."""
    with opened() as installation:
        _owner(installation, login)
        since = None if seit is None else seit.date()
        report = mailing.backfill(installation, since=since, limit=limit, apply=apply)
        if report.applied:
            mailing.work_on(installation)
        _show(report)


@mail_app.command("drop")
def drop(
    files: list[Path] = typer.Argument(..., exists=True, dir_okay=False),
    login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Hand over mails as files; they go the way of a fetched mail."""
    with opened() as installation, ExitStack() as stack:
        scope = person_scope(installation.database, login, mandant)
        dropped = [DroppedFile(p.name, stack.enter_context(p.open("rb"))) for p in files]
        queue = drop_mails(installation.database, installation.blobs, scope, Drop(), dropped)
        for result in queue:
            out.print(f"{escape(result.name)}: {result.status} {escape(result.reason)}".rstrip())
        mailing.work_on(installation)
        mailing.settle(installation)


@mail_app.command("mark-seen")
def mark_seen(
    uids: list[int] = typer.Option([], "--uid", help="May be given several times."),
    message_ids: list[str] = typer.Option([], "--message-id", help="May be given several times."),
    login: str = AS_OPTION,
) -> None:
    """Set the Seen flag on exactly the mails named; each fails on its own."""
    with opened() as installation:
        _owner(installation, login)
        report = mailing.mark(
            installation.settings, uids=tuple(uids), message_ids=tuple(message_ids)
        )
        for one in report.results:
            named = one.message_id or one.uid
            out.print(f"{escape(str(named))}: {one.outcome} {escape(one.detail)}".rstrip())
        if report.failures:
            raise typer.Exit(1)


@mail_app.command("balance")
def balance(login: str = AS_OPTION) -> None:
    """Count the mailbox against the ledger; fetches no body."""
    with opened() as installation:
        _owner(installation, login)
        found = mailing.balance(installation)
        out.print(
            f"{found.folder}: {found.total} mails = {found.stored} stored + {found.parked} parked"
            f" + {found.skipped} skipped + {found.under_way} under way + {found.waiting} waiting"
            f" + {found.failed} failed + {found.missing} missing"
        )
        if not found.holds:
            out.print(f"Missing UIDs: {', '.join(map(str, found.missing_uids)) or '-'}")
            out.print("`tgv mail backfill` secures them.")
            raise typer.Exit(1)


@mail_app.command("list")
def list_mails(
    outcome: MailOutcome | None = typer.Option(None, help="Only mails that ended so."),
    limit: int = typer.Option(50, min=1, max=1000),
    login: str = AS_OPTION,
) -> None:
    """The mail ledger, newest first; a block by a rule stands apart from a success."""
    with opened() as installation:
        _owner(installation, login)
        with installation.database.worker() as connection:
            rows = mail_ledger.newest(connection, outcome=outcome, limit=limit)
        heads = ("id", "route", "uid", "outcome", "reason", "rule", "thread", "stamped")
        table = table_of(*heads, title="mail ledger")
        for row in rows:
            table.add_row(
                str(row.ledger_id),
                row.route,
                "-" if row.uid is None else str(row.uid),
                row.outcome,
                escape(row.reason),
                escape(row.blocked_by or "-"),
                _thread(row.thread),
                "-" if row.stamped_at is None else f"{row.stamped_at:%Y-%m-%d %H:%M}",
            )
        out.print(table)


@mail_app.command("release")
def release(ledger_id: int, login: str = AS_OPTION) -> None:
    """Let a mail that is parked without bytes be fetched again."""
    with opened() as installation:
        _owner(installation, login)
        with installation.database.worker() as connection:
            done = mail_ledger.release(connection, ledger_id, by=login)
    out.print("Released." if done else "This mail is not parked without bytes.")
    if not done:
        raise typer.Exit(1)


@mail_app.command("retry-dispatch")
def retry_dispatch(login: str = AS_OPTION) -> None:
    """Dispatch again what failed in dispatch; the mailbox is not needed."""
    with opened() as installation:
        _owner(installation, login)
        out.print(f"{mailing.retry_dispatch(installation)} dispatches are pending again.")


@mail_app.command("dispatch-switch")
def dispatch_switch(
    state: str = typer.Argument(..., help="on or off"), login: str = AS_OPTION
) -> None:
    """Let finished documents be handed on, or hold them back until it is on again."""
    if state not in ("on", "off"):
        raise typer.BadParameter("Say on or off.")
    with opened() as installation:
        _owner(installation, login)
        with installation.database.worker() as connection:
            waiting = dispatching.set_switch(connection, on=state == "on", by=login)
        out.print(f"Dispatch is {state}." + (f" {waiting} documents go on." if waiting else ""))


@mail_app.command("switch")
def switch(state: str = typer.Argument(..., help="on or off"), login: str = AS_OPTION) -> None:
    """Turn poll and applied backfills on or off."""
    if state not in ("on", "off"):
        raise typer.BadParameter("Say on or off.")
    with opened() as installation:
        _owner(installation, login)
        with installation.database.worker() as connection:
            set_switch(connection, on=state == "on", by=login)
            out.print("Mail intake is " + ("on." if is_switched_on(connection) else "off."))


def _thread(thread: mail_ledger.Thread) -> str:
    if thread.recorded is mail_ledger.ThreadHeaders.NOT_RECORDED:
        return "not recorded"
    if thread.recorded is mail_ledger.ThreadHeaders.ABSENT:
        return "the mail names none"
    return escape(thread.in_reply_to or ", ".join(thread.references) or "unreadable")


def _show(report: MailReport) -> None:
    counts = Counter(str(one.outcome) for one in report.taken)
    told = ", ".join(f"{n} {name}" for name, n in sorted(counts.items())) or "none"
    out.print(
        f"{report.total} mails in the folder, {report.matching} matching, {report.wanted} to do;"
        f" worked on: {told}; left: {report.cut_off}"
        + ("" if report.applied else " (measured only)")
    )
    for one in report.taken:
        if one.reason:
            out.print(f"  UID {one.uid}: {one.outcome}: {escape(one.reason)}")
    if report.stopped:
        out.print(f"  ended early: {escape(report.stopped)}")
