"""The poll's seam to the Seen flag: the only intake route that has one (MAIL-08, MAIL-35).

Belongs here: building the function that stamps, and proving a mail by its hash where the server
tells no UIDVALIDITY. Does not belong here: which mails may be stamped (`effect.seen_stamps`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from tgv_dagster.arrive.imap import Session
from tgv_dagster.arrive.imap_connection import ImapSettings
from tgv_dagster.arrive.imap_seen import SeenStamper, Stamp, StampOutcome
from tgv_dagster.store.blobs.source import pour

__all__ = ["MarkSeen", "Stamp", "StampOutcome", "Stampable", "seen_marker"]

_IN_MEMORY = 4 << 20


@dataclass(frozen=True, slots=True)
class Stampable:
    """One mail that may be stamped: exactly this UID under this UIDVALIDITY, with this hash."""

    ledger_id: int
    uid: int
    uidvalidity: int | None
    sha256: str


MarkSeen = Callable[[Sequence[Stampable]], tuple[Stamp, ...]]
"""Stamps exactly the given mails; one result each, in their order. Raises ImapError."""


def seen_marker(settings: ImapSettings) -> MarkSeen:
    """The stamping function of the poll; a session of its own for each call (known fault 29)."""

    def mark(mails: Sequence[Stampable]) -> tuple[Stamp, ...]:
        same = _proven(settings, [one for one in mails if one.uidvalidity is None])
        with SeenStamper(settings) as stamper:
            return tuple(
                stamper.mark_seen([one.uid], uidvalidity=one.uidvalidity)[0]
                if one.uidvalidity is not None or one.ledger_id in same
                else Stamp(one.uid, StampOutcome.VALIDITY_CHANGED, "another mail has this UID now")
                for one in mails
            )

    return mark


def _proven(settings: ImapSettings, mails: Sequence[Stampable]) -> set[int]:
    """Ledger ids of those mails that still have the bytes that were secured (known fault 2)."""
    if not mails:
        return set()
    proven: set[int] = set()
    with (
        Session(settings) as session,
        tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as spool,
    ):
        target: BinaryIO = spool  # pyright: ignore[reportAssignmentType] - typed as IO[bytes]
        for one in mails:
            if session.fetch(one.uid, target).complete:
                target.seek(0)
                if pour(target, lambda _piece: None).sha256 == one.sha256:
                    proven.add(one.ledger_id)
    return proven
