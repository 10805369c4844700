"""The mailbox gate: look, secure, backfill (MAIL-02, MAIL-09, MAIL-25 to MAIL-28, MAIL-47 to 52).

Belongs here: from a mail on the server to its EML in the raw layer and its row in the ledger, one
mail at a time. Nothing here can set a flag: the session reads only, and no function takes or
builds a stamper (MAIL-13, MAIL-37). Does not belong here: splitting, entering, stamping.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import BinaryIO

from tgv_dagster.arrive import mail_ledger
from tgv_dagster.arrive.gates import (
    GateKind,
    NewArrival,
    Origin,
    PartRole,
    RawKind,
    arrival_key,
)
from tgv_dagster.arrive.imap import (
    Everything,
    Fetched,
    FetchOutcome,
    Session,
    Since,
)
from tgv_dagster.arrive.imap_connection import SessionLost, ValidityChanged
from tgv_dagster.arrive.mail_access import account_of, folder_of, imap_settings
from tgv_dagster.arrive.mail_ledger import (
    HEADER_BYTES,
    MailClaim,
    MailClaimLost,
    MailOutcome,
    MailPlace,
    Route,
    SecuredMail,
)
from tgv_dagster.arrive.raw import SavedRaw, secure_all, write_all_rows
from tgv_dagster.settings import LEAST_POLL_SECONDS, Settings
from tgv_dagster.store.blobs import BlobStore
from tgv_dagster.store.blobs.errors import from_os_error
from tgv_dagster.store.blobs.source import pour
from tgv_dagster.store.db import Connection, Database, DatabaseFull, DatabaseUnavailable
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.organisation import INTAKE_BUCKET, SERVICE_LOGIN
from tgv_dagster.store.presence import worker_name
from tgv_dagster.store.pull import INSTALLATION_FAULTS

logger = logging.getLogger(__name__)

BACKFILL_LIMIT = 200
"""Mails per backfill; more is split by `seit` (MAIL-47 to MAIL-49)."""

POLL_LIMIT = 1000
POLL_SECONDS = 300.0
"""One poll ends after so many mails or seconds; the next one goes on."""

CLAIMED_AT_ONCE = 100
_FIRST_DAY = date(1970, 1, 1)
LOST_IN_A_ROW = 3
SAVED_TOGETHER = 20
SAVED_BYTES = 16 << 20
"""Mails, and bytes, that are made durable together while the next ones are fetched."""
_IN_MEMORY = 1 << 20

OpenSession = Callable[[], AbstractContextManager[Session]]


class PollerBusy(RuntimeError):
    """Somebody else is at the mailbox (MAIL-57)."""

    def __init__(self) -> None:
        super().__init__("Another poll or backfill is at the mailbox; it goes on by itself.")


class PollTooSoon(RuntimeError):
    """The last poll began less than 60 s ago (MAIL-06)."""

    def __init__(self, seconds: float) -> None:
        self.seconds = max(1, int(seconds) + 1)
        super().__init__(f"The last poll began less than a minute ago; in {self.seconds} s again.")


class BackfillRefused(ValueError):
    """The backfill asks for more than it may; the message names the way out."""


def _silent(_step: str) -> None:
    return


@dataclass(frozen=True, slots=True)
class MailboxParts:
    """What the gate works with.

    `together` mails at most are made durable and written down together, beside the one that is
    being fetched; a mail of more than 1 MiB waits on the disk and not in memory (MAIL-50).
    `on_step` hears every step between two durable facts.
    """

    database: Database
    blobs: BlobStore
    open_session: OpenSession
    account: str
    folder: str
    spool: Path
    together: int = SAVED_TOGETHER
    on_step: Callable[[str], None] = field(default=_silent)


@dataclass(frozen=True, slots=True)
class TakenMail:
    """What became of one mail in this call; `reason` is filled unless it was secured."""

    uid: int
    outcome: MailOutcome
    reason: str = ""
    ledger_id: int | None = None


@dataclass(frozen=True, slots=True)
class MailReport:
    """One call at the mailbox.

    Attributes:
        total: mails in the folder, counted before the first FETCH (MAIL-52).
        matching: mails that the search found; wanted: those not finished before.
        taken: one entry per mail that was worked on.
        cut_off: wanted mails that this call leaves for another one.
        applied: False for a call that only looked.
        stopped: why the call ended early, "" when it did not.
    """

    total: int
    matching: int
    wanted: int
    taken: tuple[TakenMail, ...] = ()
    cut_off: int = 0
    applied: bool = False
    stopped: str = ""

    def count(self, outcome: MailOutcome) -> int:
        """Mails of this call that ended so."""
        return sum(1 for one in self.taken if one.outcome is outcome)


@dataclass(frozen=True, slots=True)
class Looked:
    """One look at the folder: its place, total, the UIDs found and those still to be fetched."""

    place: MailPlace
    total: int
    found: tuple[int, ...]
    wanted: tuple[int, ...]


def parts_of(database: Database, blobs: BlobStore, settings: Settings) -> MailboxParts:
    """The gate on the mailbox of these settings; the secret is read anew for each connection.

    Raises NoCredentials, SettingsError.
    """
    imap_settings(settings)
    return MailboxParts(
        database=database,
        blobs=blobs,
        open_session=lambda: Session(imap_settings(settings)),
        account=account_of(settings),
        folder=folder_of(settings),
        spool=settings.home / "spool",
    )


def look(parts: MailboxParts) -> Looked:
    """Search for unseen mails and subtract what the ledger has; writes nothing (MAIL-07).

    Raises ImapError.
    """
    with parts.open_session() as session:
        return _look(parts, session, None, everything=False)


def dry_poll(parts: MailboxParts) -> MailReport:
    """What a poll would fetch; writes no row and sets no flag (MAIL-07). Raises ImapError."""
    seen = look(parts)
    return MailReport(
        seen.total, len(seen.found), len(seen.wanted), cut_off=max(0, len(seen.wanted) - POLL_LIMIT)
    )


def poll(
    parts: MailboxParts, *, limit: int = POLL_LIMIT, seconds: float = POLL_SECONDS
) -> MailReport:
    """Secure the unseen mails that are not finished, each on its own.

    The caller has checked the switch. Raises PollerBusy, PollTooSoon, ImapError, and the faults
    of the installation after giving back what was not begun.
    """
    with mail_ledger.one_poller(parts.database) as alone:
        if not alone:
            raise PollerBusy
        with parts.database.worker() as connection:
            wait = mail_ledger.seconds_until_due(connection, distance=LEAST_POLL_SECONDS)
            if wait > 0:
                raise PollTooSoon(wait)
            mail_ledger.take_back(connection, parts.account, parts.folder)
            mail_ledger.note_poll(connection)
        parts.on_step("poll begun")
        with parts.open_session() as session:
            seen = _look(parts, session, None, everything=False)
            with parts.database.worker() as connection:
                mail_ledger.adopt(connection, seen.place, seen.found)
            return _secure_all(parts, session, seen, Route.POLL, limit=limit, seconds=seconds)


def backfill(
    parts: MailboxParts, *, since: date | None = None, limit: int = 1, apply: bool = False
) -> MailReport:
    """Go over the whole folder, or from a day on, read mails included (MAIL-09).

    Without `apply` it is a measurement (MAIL-11). `since` is the day of arrival at the server.
    Raises BackfillRefused, PollerBusy, ImapError and the faults of the installation.
    """
    require_backfill(parts.database, limit=limit)
    with mail_ledger.one_poller(parts.database) as alone:
        if not alone:
            raise PollerBusy
        with parts.open_session() as session:
            seen = _look(parts, session, since, everything=True)
            if apply:
                with parts.database.worker() as connection:
                    mail_ledger.take_back(connection, parts.account, parts.folder)
                report = _secure_all(parts, session, seen, Route.BACKFILL, limit=limit)
            else:
                report = MailReport(
                    seen.total,
                    len(seen.found),
                    len(seen.wanted),
                    cut_off=max(0, len(seen.wanted) - limit),
                )
    _tell_backfill(parts.database, report, limit)
    return report


def require_backfill(database: Database, *, limit: int) -> None:
    """Refuse a limit above the measured one, and a first call above 1 (MAIL-47, MAIL-53).

    Raises BackfillRefused.
    """
    if limit > BACKFILL_LIMIT:
        raise BackfillRefused(
            f"A backfill takes at most {BACKFILL_LIMIT} mails. Split it by `seit` (a later day "
            "for each call) instead of raising the limit; finished mails are not fetched again."
        )
    if limit < 1:
        raise BackfillRefused("The limit of a backfill is at least 1.")
    with database.worker() as connection:
        first = connection.execute(
            "SELECT NOT EXISTS (SELECT 1 FROM agent_events WHERE kind = 'mail.backfill')"
        ).fetchone()
    if limit > 1 and first is not None and first[0]:
        raise BackfillRefused(
            "The first backfill is made with limit 1: it reports how many mails lie there."
        )


def _look(parts: MailboxParts, session: Session, since: date | None, *, everything: bool) -> Looked:
    seen = session.look()
    found = session.search(_criterion(since)) if everything else seen.unseen
    place = MailPlace(parts.account, parts.folder, seen.uidvalidity)
    with parts.database.worker() as connection:
        wanted = mail_ledger.wanted(connection, place, found)
    return Looked(place, seen.total, found, wanted)


def _criterion(since: date | None) -> Everything | Since:
    """No mail is older than its own clock; servers refuse days from before it."""
    return Everything() if since is None or since < _FIRST_DAY else Since(since)


def _secure_all(
    parts: MailboxParts,
    session: Session,
    seen: Looked,
    route: Route,
    *,
    limit: int,
    seconds: float = float("inf"),
) -> MailReport:
    work = _Securing(parts, session, seen.place, route)
    chosen = seen.wanted[:limit]
    deadline = time.monotonic() + seconds
    taken = tuple(work.each(chosen, deadline))
    return MailReport(
        total=seen.total,
        matching=len(seen.found),
        wanted=len(seen.wanted),
        taken=taken,
        cut_off=max(0, len(seen.wanted) - len(taken)),
        applied=True,
        stopped=work.stopped,
    )


@dataclass(frozen=True, slots=True)
class _Spooled:
    """A fetched mail in its spool; beyond `_IN_MEMORY` bytes that is a file on the disk."""

    claimed: MailClaim
    fetched: Fetched
    source: BinaryIO


class _Securing:
    """The mails of one call, one after the other."""

    def __init__(
        self, parts: MailboxParts, session: Session, place: MailPlace, route: Route
    ) -> None:
        self._parts = parts
        self._session = session
        self._place = place
        self._route = route
        self._worker = worker_name()
        self._lost = 0
        self.stopped = ""
        parts.spool.mkdir(parents=True, exist_ok=True)

    def each(self, uids: Sequence[int], deadline: float) -> Iterator[TakenMail]:
        """Claim in small chunks and secure; what was not begun is given back, whatever ends it."""
        for start in range(0, len(uids), CLAIMED_AT_ONCE):
            if self.stopped or time.monotonic() >= deadline:
                self.stopped = self.stopped or "the time of this call is over"
                return
            with self._parts.database.worker() as connection:
                claims = mail_ledger.claim(
                    connection,
                    self._place,
                    uids[start : start + CLAIMED_AT_ONCE],
                    route=self._route,
                    worker=self._worker,
                )
            self._parts.on_step("claimed")
            yield from self._chunk(claims)

    def _chunk(self, claims: tuple[MailClaim, ...]) -> Iterator[TakenMail]:
        """Fetch one mail after the other while those before are made durable, some together.

        What is written down already is no claim any more, so giving back the whole chunk undoes
        exactly the rest.
        """
        try:
            with ThreadPoolExecutor(1, thread_name_prefix="mail") as pool:
                yield from self._pipelined(pool, claims)
        except MailClaimLost:
            self.stopped = "somebody else took over"
        except Exception as fault:
            # A fault of the installation hits every mail alike; none of these was at fault.
            self._undo(claims, fault)
            raise
        if self.stopped:
            self._undo(claims, None)

    def _pipelined(
        self, pool: ThreadPoolExecutor, claims: tuple[MailClaim, ...]
    ) -> Iterator[TakenMail]:
        saving: Future[tuple[TakenMail, ...]] | None = None
        waiting: list[_Spooled] = []
        for claimed in claims:
            if self.stopped:
                break
            came = self._fetch(claimed)
            if isinstance(came, TakenMail):
                yield came
                continue
            waiting.append(came)
            if self._parts.together == 1:
                yield from self._keep([waiting.pop()])
            elif self._is_enough(waiting):
                if saving is not None:
                    yield from saving.result()
                saving, waiting = pool.submit(self._keep, waiting), []
        if saving is not None:
            yield from saving.result()
        yield from self._keep(waiting)

    def _is_enough(self, waiting: Sequence[_Spooled]) -> bool:
        size = sum(one.fetched.received for one in waiting)
        return len(waiting) >= self._parts.together or size >= SAVED_BYTES

    def _fetch(self, claimed: MailClaim) -> TakenMail | _Spooled:
        assert claimed.uid is not None
        if claimed.attempt > mail_ledger.MAX_ATTEMPTS:
            return self._park(claimed, "its worker ended too often before it was secured", b"")
        spool = tempfile.SpooledTemporaryFile(  # noqa: SIM115 - `_keep` closes it, in its thread
            max_size=_IN_MEMORY, dir=str(self._parts.spool)
        )
        target: BinaryIO = spool  # pyright: ignore[reportAssignmentType] - typed as IO[bytes]
        try:
            fetched = self._session.fetch(claimed.uid, target)
        except OSError as error:  # the spool's own: a full disk hits every mail alike
            spool.close()
            raise from_os_error(error, "spooling a mail") from error
        self._parts.on_step("fetched")
        if not fetched.complete:
            spool.close()
            return self._not_fetched(claimed, fetched)
        self._lost = 0
        return _Spooled(claimed, fetched, target)

    def _keep(self, mails: Sequence[_Spooled]) -> tuple[TakenMail, ...]:
        """Make these mails durable and write them down together, or else each on its own."""
        with ExitStack() as sources:
            for one in mails:
                sources.enter_context(one.source)
            try:
                return self._save(mails)
            except (MailClaimLost, *INSTALLATION_FAULTS):
                raise
            except Exception as error:  # noqa: BLE001 - one mail's fault is its own
                if len(mails) == 1:
                    reason = f"the mail could not be stored: {error}"
                    return (self._fail(mails[0].claimed, reason),)
            return tuple(taken for one in mails for taken in self._keep([one]))

    def _save(self, mails: Sequence[_Spooled]) -> tuple[TakenMail, ...]:
        facts: list[mail_ledger.MailFactsFound] = []

        def arriving() -> Iterator[tuple[NewArrival, BinaryIO]]:
            for one in mails:
                found, arrival = self._arrival(one)
                facts.append(found)
                yield arrival, one.source

        kept = secure_all(self._parts.blobs, arriving())
        with self._parts.database.worker() as connection:
            rows = write_all_rows(connection, kept)
        for _ in mails:
            self._parts.on_step("saved")
        with self._parts.database.worker() as connection:
            ledger_ids = [
                mail_ledger.secured(connection, one.claimed, _secured_mail(one, row, found))
                for one, row, found in zip(mails, rows, facts, strict=True)
            ]
        for _ in mails:
            self._parts.on_step("secured")
        return tuple(
            TakenMail(one.fetched.uid, MailOutcome.SECURED, "", ledger_id)
            for one, ledger_id in zip(mails, ledger_ids, strict=True)
        )

    def _arrival(self, mail: _Spooled) -> tuple[mail_ledger.MailFactsFound, NewArrival]:
        source, fetched = mail.source, mail.fetched
        source.seek(0)
        sha256 = pour(source, lambda _piece: None).sha256
        source.seek(0)
        facts = mail_ledger.facts_of(source.read(HEADER_BYTES))
        source.seek(0)
        return facts, NewArrival(
            gate=GateKind.MAIL,
            # The same bytes are the same mail, whatever UID the server gives it next (MAIL-44).
            arrival_key=arrival_key(GateKind.MAIL, self._place.account, sha256),
            bucket=INTAKE_BUCKET,
            file_name=f"mail-{sha256[:12]}.eml",
            received_at=fetched.internal_date or datetime.now(UTC),
            kind=RawKind.EML,
            part_role=PartRole.MAIL,
            media_type="message/rfc822",
            origin=Origin(
                account=self._place.account,
                mailbox=self._place.folder,
                uidvalidity=fetched.uidvalidity,
                uid=mail.claimed.uid,
                message_id=facts.message_id,
            ),
        )

    def _not_fetched(self, claimed: MailClaim, fetched: Fetched) -> TakenMail:
        said = f": {fetched.detail}" if fetched.detail else ""
        reason = f"{_WHY[fetched.outcome]}{said}"
        if fetched.outcome in _PARK_AT_ONCE:
            size = f" ({fetched.announced} bytes)" if fetched.announced is not None else ""
            return self._park(claimed, reason + size, fetched.headers)
        if fetched.outcome is FetchOutcome.VALIDITY_CHANGED:
            self.stopped = reason
            self._undo((claimed,), None)
            return TakenMail(fetched.uid, MailOutcome.FAILED, reason)
        if fetched.outcome is FetchOutcome.CONNECTION_LOST:
            self._lost += 1
            if self._lost >= LOST_IN_A_ROW:
                self.stopped = reason
        return self._fail(claimed, reason)

    def _fail(self, claimed: MailClaim, reason: str) -> TakenMail:
        assert claimed.uid is not None
        with self._parts.database.worker() as connection:
            outcome = mail_ledger.failed(connection, claimed, reason)
        return TakenMail(claimed.uid, outcome, reason, claimed.ledger_id)

    def _park(self, claimed: MailClaim, reason: str, headers: bytes) -> TakenMail:
        assert claimed.uid is not None
        with self._parts.database.worker() as connection:
            mail_ledger.parked(connection, claimed, reason, headers=headers)
        return TakenMail(claimed.uid, MailOutcome.PARKED, reason, claimed.ledger_id)

    def _undo(self, claims: Sequence[MailClaim], fault: Exception | None) -> None:
        """Give claims back, and say why nothing was created (MAIL-28).

        When the database is gone the claims stay; the next poll takes them back.
        """
        try:
            with self._parts.database.worker() as connection:
                given_back = mail_ledger.give_back(connection, claims)
                if fault is not None:
                    _tell_abort(connection, given_back, fault)
        except (DatabaseUnavailable, DatabaseFull) as error:
            logger.warning("claims stay until the next poll takes them back: %s", error)


def _secured_mail(
    mail: _Spooled, saved: SavedRaw, facts: mail_ledger.MailFactsFound
) -> SecuredMail:
    return SecuredMail(
        raw_item_id=saved.raw_item_id,
        sha256=saved.sha256,
        facts=facts,
        internal_date=mail.fetched.internal_date,
        announced=mail.fetched.announced,
        received=mail.fetched.received,
    )


_PARK_AT_ONCE = frozenset({FetchOutcome.TOO_LARGE, FetchOutcome.STUB, FetchOutcome.DUPLICATE_UID})

_WHY: dict[FetchOutcome, str] = {
    FetchOutcome.EMPTY: "the server gives no bytes for this mail",
    FetchOutcome.GONE: "the mail is no longer in the folder",
    FetchOutcome.TOO_LARGE: "the mail is larger than TGV_MAIL_MAX_MB",
    FetchOutcome.STUB: "the server gave its own notice instead of the mail",
    FetchOutcome.DUPLICATE_UID: "two mails carry this UID",
    FetchOutcome.REFUSED: "the server refused the mail",
    FetchOutcome.CONNECTION_LOST: "the connection broke off",
    FetchOutcome.VALIDITY_CHANGED: "the folder was made anew during the call",
}


def _tell_abort(connection: Connection, claims: Sequence[MailClaim], fault: Exception) -> None:
    kind = "connection" if isinstance(fault, SessionLost | ValidityChanged) else "installation"
    record(
        connection,
        Event(
            kind="mail.aborted",
            author=SERVICE_LOGIN,
            object="mailbox",
            reason=f"fault of the {kind}: {type(fault).__name__}; nothing was created",
            payload={"uids": [one.uid for one in claims]},
        ),
    )


def _tell_backfill(database: Database, report: MailReport, limit: int) -> None:
    with database.worker() as connection:
        record(
            connection,
            Event(
                kind="mail.backfill",
                author=SERVICE_LOGIN,
                object="mailbox",
                reason="applied" if report.applied else "measured only",
                payload={
                    "limit": limit,
                    "total": report.total,
                    "matching": report.matching,
                    "wanted": report.wanted,
                    "taken": len(report.taken),
                    "cut_off": report.cut_off,
                },
            ),
        )
