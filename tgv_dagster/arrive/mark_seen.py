"""`imap-mark-seen`: set the Seen flag on explicitly named mails and on no other (MAIL-19 to 24).

Belongs here: resolving Message-IDs, stamping one by one, one result per thing that was named.
Does not belong here: the intake; this route knows no ledger row that it would change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tgv_dagster.arrive.imap import Session
from tgv_dagster.arrive.imap_connection import ImapSettings
from tgv_dagster.arrive.imap_seen import SeenStamper

MAX_NAMED = 500
"""UIDs and Message-IDs of one call."""


class NothingNamed(ValueError):
    """Neither UID nor Message-ID was named, or more than one call takes."""


class MarkOutcome(StrEnum):
    """What became of one thing that was named; only `STAMPED` is a success."""

    STAMPED = "stamped"
    UNRESOLVED = "unresolved"
    UNKNOWN_UID = "unknown_uid"
    INVALID_UID = "invalid_uid"
    REFUSED = "refused"
    VALIDITY_CHANGED = "validity_changed"
    CONNECTION_LOST = "connection_lost"


@dataclass(frozen=True, slots=True)
class Marked:
    """One result; `message_id` is None for a UID that was named itself."""

    uid: int | None
    message_id: str | None
    outcome: MarkOutcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class MarkReport:
    """One result per UID named or resolved, and one per Message-ID that matched nothing."""

    results: tuple[Marked, ...]

    @property
    def failures(self) -> int:
        """How many did not end in a stamp; an unresolved Message-ID is one (MAIL-22)."""
        return sum(1 for one in self.results if one.outcome is not MarkOutcome.STAMPED)


def mark_seen(
    settings: ImapSettings, *, uids: Sequence[int] = (), message_ids: Sequence[str] = ()
) -> MarkReport:
    """Stamp exactly the named mails; each fails on its own (MAIL-21, MAIL-23).

    Message-IDs are resolved under the UIDVALIDITY under which they are stamped. Raises
    NothingNamed, ImapError (then nothing was stamped).
    """
    if not uids and not message_ids:
        raise NothingNamed("Name UIDs or Message-IDs; nothing is marked as a whole.")
    if len(uids) + len(message_ids) > MAX_NAMED:
        raise NothingNamed(f"Name at most {MAX_NAMED} mails in one call.")
    named: list[tuple[int | None, str | None]] = [(uid, None) for uid in dict.fromkeys(uids)]
    with Session(settings) as session:
        validity = session.uidvalidity
        for resolved in session.resolve(dict.fromkeys(message_ids)):
            found: tuple[int | None, ...] = resolved.uids or (None,)
            named += [(uid, resolved.message_id) for uid in found]
    with SeenStamper(settings) as stamper:
        return MarkReport(tuple(_mark(stamper, validity, uid, name) for uid, name in named))


def _mark(
    stamper: SeenStamper, validity: int | None, uid: int | None, message_id: str | None
) -> Marked:
    if uid is None:
        return Marked(None, message_id, MarkOutcome.UNRESOLVED, "no mail has this Message-ID")
    stamp = stamper.mark_seen([uid], uidvalidity=validity)[0]
    return Marked(uid, message_id, MarkOutcome(str(stamp.outcome)), stamp.detail)
