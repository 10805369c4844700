"""Stamping \\Seen, the last step of a run (MAIL-08, MAIL-21 to MAIL-24, MAIL-34, MAIL-42).

Belongs here: the one place that can change a flag. Only the poll and `imap-mark-seen` build a
SeenStamper; drop and backfill have no way to it (MAIL-13, MAIL-17, MAIL-37). Does not belong
here: deciding whether a mail may be stamped (MAIL-35).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Self

from tgv_dagster.arrive.imap_connection import (
    CommandRefused,
    Connection,
    FetchItem,
    ImapError,
    ImapSettings,
    SessionLost,
)


class StampOutcome(StrEnum):
    """What became of one stamp. Only `STAMPED` is a success."""

    STAMPED = "stamped"
    UNKNOWN_UID = "unknown_uid"
    INVALID_UID = "invalid_uid"
    REFUSED = "refused"
    VALIDITY_CHANGED = "validity_changed"
    CONNECTION_LOST = "connection_lost"


@dataclass(frozen=True, slots=True)
class Stamp:
    """The outcome for one UID, with what the server said where it said something."""

    uid: int
    outcome: StampOutcome
    detail: str = ""

    @property
    def stamped(self) -> bool:
        """Whether the mail carries the flag now."""
        return self.outcome is StampOutcome.STAMPED


class SeenStamper(AbstractContextManager["SeenStamper"]):
    """A short session of its own that sets one flag on single, named mails (known fault 29)."""

    def __init__(self, settings: ImapSettings) -> None:
        """Nothing is opened before the context is entered."""
        self._settings = settings
        self._connection: Connection | None = None
        self._validity: int | None = None

    def __enter__(self) -> Self:
        """Connect. Raises NoCredentials, MailboxUnreachable, LoginRefused, FolderRefused.

        FolderRefused is raised for a folder that the server opens read-only, too.
        """
        self._connection = Connection(self._settings, writable=True)
        self._validity = self._connection.folder.uidvalidity
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Log out."""
        self._close()

    @property
    def uidvalidity(self) -> int | None:
        """UIDVALIDITY of the folder as it is now; None = the server does not tell it."""
        return self._validity

    def mark_seen(self, uids: Sequence[int], *, uidvalidity: int | None) -> tuple[Stamp, ...]:
        """Set \\Seen on exactly these mails, one command each, in the order given.

        Every UID has an outcome of its own and none hinders another (MAIL-23, MAIL-24).

        Args:
            uids: UIDs as fetched.
            uidvalidity: the UIDVALIDITY under which they were fetched. With another one the
                UIDs mean other mails, and nothing is stamped.
        """
        return tuple(self._stamp(uid, uidvalidity) for uid in uids)

    def _stamp(self, uid: int, uidvalidity: int | None) -> Stamp:
        if not isinstance(uid, int) or isinstance(uid, bool) or not 0 < uid < 2**32:
            return Stamp(uid, StampOutcome.INVALID_UID)
        try:
            try:
                return self._attempt(uid, uidvalidity)
            except SessionLost:
                # Setting a flag twice is setting it once, so the second try is harmless.
                self._close()
                return self._attempt(uid, uidvalidity)
        except CommandRefused as error:
            return Stamp(uid, StampOutcome.REFUSED, str(error))
        except ImapError as error:
            self._close()
            return Stamp(uid, StampOutcome.CONNECTION_LOST, str(error))

    def _attempt(self, uid: int, uidvalidity: int | None) -> Stamp:
        connection = self._connected()
        if uidvalidity != self._validity:
            detail = f"UIDVALIDITY was {uidvalidity} and is {self._validity}"
            return Stamp(uid, StampOutcome.VALIDITY_CHANGED, detail)
        return _stamp(connection, uid)

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = Connection(self._settings, writable=True)
            self._validity = self._connection.folder.uidvalidity
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _stamp(connection: Connection, uid: int) -> Stamp:
    """Set the flag and believe it only when the server shows it.

    Raises CommandRefused, SessionLost.
    """
    if _shows_seen(connection.store_seen(uid), uid):
        return Stamp(uid, StampOutcome.STAMPED)
    # Servers may leave out the answer for a flag that was set before.
    items = connection.fetch(str(uid), "UID FLAGS")
    if _shows_seen(items, uid):
        return Stamp(uid, StampOutcome.STAMPED)
    if any(item.uid == uid for item in items):
        return Stamp(uid, StampOutcome.REFUSED, "The server took the command and set no flag.")
    return Stamp(uid, StampOutcome.UNKNOWN_UID)


def _shows_seen(items: Sequence[FetchItem], uid: int) -> bool:
    return any(
        isinstance(flag, bytes) and flag.lower() == rb"\seen"
        for item in items
        if item.uid == uid
        for flag in _flags(item)
    )


def _flags(item: FetchItem) -> tuple[object, ...]:
    flags = item.items.get(b"FLAGS")
    return flags if isinstance(flags, tuple) else ()
