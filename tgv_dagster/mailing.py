"""Mail intake as its doors call it: HTTP, console and Dagster's jobs share these functions.

Belongs here: switch, credentials, the order poll → flow → gate → stamp, and when a call belongs
into the background. Does not belong here: any step itself, and nothing of HTTP or Dagster.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from tgv_dagster import flow
from tgv_dagster.arrive import mail_balance, mailbox
from tgv_dagster.arrive.mail_access import SwitchedOff, imap_settings, is_switched_on
from tgv_dagster.arrive.mail_balance import Balance
from tgv_dagster.arrive.mailbox import MailReport
from tgv_dagster.arrive.mark_seen import MarkReport, mark_seen
from tgv_dagster.audit import ledger
from tgv_dagster.audit.ledger import GateClosed
from tgv_dagster.audit.register import checkpoint, gates
from tgv_dagster.effect.dispatching import retry_failed
from tgv_dagster.effect.seen_stamps import stamp_finished
from tgv_dagster.installation import Installation
from tgv_dagster.settings import Settings
from tgv_dagster.store.pull import WAITING, BatchReport

BACKGROUND_FROM = 10
"""From so many mails on a call goes to the background when there is a queue (MAIL-54)."""

_MAIL_STEPS = ("folder_arrivals", "mail_fetched", "seen_stamps")


@dataclass(frozen=True, slots=True)
class PollDone:
    """A poll: what was secured, and what the stamping said; None when it did not come to it.

    `dispatch_failed` counts documents whose dispatch failed: no error of the poll (MAIL-33).
    """

    report: MailReport
    stamps: BatchReport | None = None
    dispatch_failed: int = 0
    gate_closed: str = ""


def require_switch(installation: Installation) -> None:
    """Raise SwitchedOff unless the switch is exactly `true` (MAIL-04, MAIL-12)."""
    with installation.database.worker() as connection:
        if not is_switched_on(connection):
            raise SwitchedOff


def parts_of(installation: Installation) -> mailbox.MailboxParts:
    """The gate on this installation's mailbox. Raises NoCredentials, SettingsError."""
    return mailbox.parts_of(installation.database, installation.blobs, installation.settings)


def waiting(installation: Installation) -> int:
    """How many mails a poll would work on; only looks. Raises as `poll` does."""
    require_switch(installation)
    return len(mailbox.look(parts_of(installation)).wanted)


def poll(installation: Installation, *, apply: bool = True) -> PollDone:
    """One poll by hand: fetch, secure, the whole flow, gates, stamp.

    With `apply` false it only looks. Raises SwitchedOff, NoCredentials, SettingsError, PollerBusy,
    PollTooSoon, ImapError and the faults of the installation.
    """
    require_switch(installation)
    parts = parts_of(installation)
    if not apply:
        return PollDone(mailbox.dry_poll(parts))
    report = mailbox.poll(parts)
    failed = work_on(installation)
    try:
        require_gates(installation)
    except GateClosed as closed:
        return PollDone(report, None, failed, str(closed))
    return PollDone(report, flow.stamp_mail(installation), failed)


def work_on(installation: Installation, *, rounds: int = 1000) -> int:
    """Run what is due in the flow, without its gates; how many dispatches failed."""
    steps = [step for step in flow.STEPS if step.name not in _MAIL_STEPS]
    failed = 0
    for _ in range(rounds):
        done = [step.run(installation, None) for step in steps]
        failed += sum(report.outcomes.get("failed", 0) for report in done[-1:])
        if not any(report.claimed > report.outcomes.get(WAITING, 0) for report in done):
            break
    return failed


def require_gates(installation: Installation) -> None:
    """Measure the blocking checks and let pass only behind green ones. Raises GateClosed."""
    for gate in gates():
        ledger.evaluate(installation, checkpoint(gate.id), run_id=None)
        with installation.database.worker() as connection:
            ledger.require_green(connection, gate.id)


def require_backfill(installation: Installation, *, limit: int, apply: bool) -> None:
    """Raise BackfillRefused, SwitchedOff or NoCredentials before anything is asked (MAIL-47)."""
    mailbox.require_backfill(installation.database, limit=limit)
    if apply:
        require_switch(installation)
    parts_of(installation)


def backfill(
    installation: Installation, *, since: date | None = None, limit: int = 1, apply: bool = False
) -> MailReport:
    """Measure the whole mailbox, or with `apply` secure what is missing; never stamps (MAIL-13).

    What was secured is worked on by the flow of its own. Raises BackfillRefused, with `apply` also
    SwitchedOff, and as `poll`.
    """
    require_backfill(installation, limit=limit, apply=apply)
    return mailbox.backfill(parts_of(installation), since=since, limit=limit, apply=apply)


def balance(installation: Installation) -> Balance:
    """Count the mailbox against the ledger (MAIL-56). Raises NoCredentials, ImapError."""
    return mail_balance.balance(parts_of(installation))


def mark(settings: Settings, *, uids: tuple[int, ...], message_ids: tuple[str, ...]) -> MarkReport:
    """Stamp explicitly named mails; hangs on no switch (MAIL-19). Raises as `mark_seen`."""
    return mark_seen(imap_settings(settings), uids=uids, message_ids=message_ids)


def settle(installation: Installation) -> None:
    """Write what became of secured mails, without any stamp: for doors that have none (MAIL-17)."""
    stamp_finished(installation.database, None)


def retry_dispatch(installation: Installation) -> int:
    """Make failed dispatches pending again and run them; returns how many (MAIL-41)."""
    found = retry_failed(installation.database)
    work_on(installation)
    return found
