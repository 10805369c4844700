"""The sensor of the intake mailbox: it searches, the run fetches (MAIL-02, MAIL-05, MAIL-06)."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sensors.decide import Seen, digest
from sensors.gate_sensor import FLOW_TAG, Watch, gate_sensor
from tgv_dagster.arrive import mail_ledger, mailbox
from tgv_dagster.arrive.mail_access import SWITCH, is_configured, is_switched_on
from tgv_dagster.installation import Installation
from tgv_dagster.settings import LEAST_POLL_SECONDS


def why_at_rest(installation: Installation) -> str | None:
    """Why the mailbox is not watched, None when it is; asks nothing of the server."""
    settings = installation.settings
    if not is_configured(settings):
        return "no mailbox is configured (TGV_MAIL_HOST, TGV_MAIL_USER)"
    if settings.mail_poll_seconds is None:
        return "no background poller (TGV_MAIL_INTAKE_POLL_SEC is empty or 0)"
    with installation.database.worker() as connection:
        if not is_switched_on(connection):
            return f"switched off: {SWITCH} is not exactly 'true'"
    return None


@dataclass
class MailboxLook:
    """A look at the mailbox at most once per rhythm.

    The time of the last look lives in the process: a restart looks once more, which changes
    nothing at the server.
    """

    _looked_at: float | None = None

    def __call__(self, installation: Installation, _settled: str) -> Seen:
        """What lies unseen and is not finished, as keys; writes nothing."""
        seconds = installation.settings.mail_poll_seconds
        if seconds is None:
            return Seen()
        with installation.database.worker() as connection:
            wait = mail_ledger.seconds_until_due(connection, distance=seconds)
        now = time.monotonic()
        if wait > 0 or (self._looked_at is not None and now - self._looked_at < seconds):
            return Seen()
        self._looked_at = now
        parts = mailbox.parts_of(installation.database, installation.blobs, installation.settings)
        looked = mailbox.look(parts)
        keys = tuple(f"{looked.place.uidvalidity}:{uid}" for uid in looked.wanted)
        return Seen(keys, 0, digest(keys))


SENSORS = (
    gate_sensor(
        Watch(
            name="mail_sensor",
            gate="mail",
            says="Searches the intake mailbox and starts a run when unseen mails lie there.",
            look=MailboxLook(),
            job_name="intake",
            every_seconds=LEAST_POLL_SECONDS,
            busy_tag=(FLOW_TAG, "yes"),
            at_rest=why_at_rest,
        )
    ),
)
