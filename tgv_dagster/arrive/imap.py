"""Reading the intake mailbox: look, search, measure, fetch (MAIL-02, MAIL-26, MAIL-50, MAIL-52).

Belongs here: everything that leaves the mailbox as it is. A Session opens the folder read-only
(EXAMINE) and asks with BODY.PEEK[], so it sets no flag whatever the server does; it never asks
for ENVELOPE (known fault 22). Does not belong here: stamping (`imap_seen`), which routes that
must not stamp cannot reach from here (MAIL-13, MAIL-17), and remembering anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from enum import StrEnum
from types import TracebackType
from typing import BinaryIO, Self, TypeVar

from imapclient.datetime_util import format_criteria_date

from tgv_dagster.arrive.imap_connection import (
    CommandRefused,
    Connection,
    FetchItem,
    ImapError,
    ImapSettings,
    OpenFolder,
    SearchRefused,
    SessionLost,
    ValidityChanged,
    chunked,
    compress,
)
from tgv_dagster.arrive.mime_headers import read_mail_headers
from tgv_dagster.arrive.mime_wire import read_headers

SEARCH_WINDOW = 50_000
STUB_BYTES = 64 * 1024

_FACTS = "UID RFC822.SIZE INTERNALDATE FLAGS"
_PARTIAL_KEY = re.compile(rb"BODY\[\](?:<(\d+)>)?")
_STUB_SUBJECT = re.compile(
    r"retrieval using the imap4? protocol failed for the following message", re.IGNORECASE
)
_STUB_TEXT = re.compile(
    rb"the server could ?n.{0,6}t retrieve the following message", re.IGNORECASE
)

T = TypeVar("T")


class FetchOutcome(StrEnum):
    """What became of one fetch. Only `FETCHED` and `SIZE_DIFFERS` gave a mail."""

    FETCHED = "fetched"
    SIZE_DIFFERS = "size_differs"
    EMPTY = "empty"
    GONE = "gone"
    TOO_LARGE = "too_large"
    STUB = "stub"
    DUPLICATE_UID = "duplicate_uid"
    REFUSED = "refused"
    CONNECTION_LOST = "connection_lost"
    VALIDITY_CHANGED = "validity_changed"


@dataclass(frozen=True, slots=True)
class Unseen:
    """Search for mails without the Seen flag."""


@dataclass(frozen=True, slots=True)
class Everything:
    """Search for all mails, read ones included (MAIL-09)."""


@dataclass(frozen=True, slots=True)
class Since:
    """Search for mails that arrived on or after a day, by INTERNALDATE (known fault 32)."""

    day: date


@dataclass(frozen=True, slots=True)
class WithMessageId:
    """Search for mails with exactly this Message-ID, brackets or not."""

    message_id: str


Criterion = Unseen | Everything | Since | WithMessageId


@dataclass(frozen=True, slots=True)
class Mailbox:
    """What a look at the folder saw; UIDVALIDITY None = the server does not tell it."""

    folder: str
    uidvalidity: int | None
    uid_next: int | None
    total: int
    unseen: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MailFacts:
    """Size in bytes as announced, arrival and flag of one mail, without its bytes."""

    uid: int
    size: int | None
    internal_date: datetime | None
    seen: bool


@dataclass(frozen=True, slots=True)
class Listing:
    """Facts of many mails; every UID asked for stands in exactly one of the three."""

    facts: tuple[MailFacts, ...]
    gone: tuple[int, ...]
    failed: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Fetched:
    """The outcome of fetching one mail.

    Attributes:
        received: bytes written to the target; announced: RFC822.SIZE, None when not told.
        headers: header bytes of a mail above the size limit, else b"".
        detail: what the server said, where it said something.
    """

    uid: int
    uidvalidity: int | None
    outcome: FetchOutcome
    received: int = 0
    announced: int | None = None
    internal_date: datetime | None = None
    seen: bool = False
    headers: bytes = b""
    detail: str = ""

    @property
    def complete(self) -> bool:
        """Whether the target holds a whole mail."""
        return self.outcome in (FetchOutcome.FETCHED, FetchOutcome.SIZE_DIFFERS)


@dataclass(frozen=True, slots=True)
class Resolved:
    """A Message-ID and the mails that carry it; no UID means unresolved."""

    message_id: str
    uids: tuple[int, ...]


class Session(AbstractContextManager["Session"]):
    """A read-only session on the intake folder, for one run (known faults 29 and 40).

    A connection that breaks is opened anew once per operation, and only if the folder is still
    the same one (UIDVALIDITY).
    """

    def __init__(self, settings: ImapSettings) -> None:
        """Nothing is opened before the context is entered."""
        self._settings = settings
        self._connection: Connection | None = None
        self._validity: int | None = None

    def __enter__(self) -> Self:
        """Connect. Raises NoCredentials, MailboxUnreachable, LoginRefused, FolderRefused."""
        self._connection = Connection(self._settings, writable=False)
        self._validity = self._connection.folder.uidvalidity
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Log out."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def uidvalidity(self) -> int | None:
        """UIDVALIDITY under which this session's UIDs are valid; None = unknown."""
        return self._validity

    def look(self) -> Mailbox:
        """What is there and what is unseen, after a NOOP.

        Raises SearchRefused, SessionLost, ValidityChanged.
        """
        unseen = self.search(Unseen())
        folder = self._folder()
        return Mailbox(folder.name, self._validity, folder.uid_next, folder.total, unseen)

    def search(self, criterion: Criterion) -> tuple[int, ...]:
        """UIDs that meet a criterion, ascending, each once.

        Raises SearchRefused on any answer but OK and on an empty answer that the folder
        contradicts (MAIL-26, OBS-08), SessionLost, ValidityChanged.
        """
        return self._again_if_lost(lambda connection: _search(connection, criterion))

    def resolve(self, message_ids: Iterable[str]) -> tuple[Resolved, ...]:
        """UIDs of the mails behind each Message-ID, in the order given (MAIL-21, MAIL-22).

        Raises as `search`.
        """
        return tuple(Resolved(one, self.search(WithMessageId(one))) for one in message_ids)

    def facts(self, uids: Sequence[int]) -> Listing:
        """Sizes, arrival and flags. A chunk the server refuses is asked mail by mail.

        Raises SessionLost, ValidityChanged.
        """
        return self._again_if_lost(lambda connection: _listing(connection, uids))

    def fetch(self, uid: int, target: BinaryIO) -> Fetched:
        """Write one mail to `target` (seekable) slice by slice.

        Whatever is wrong with the mail or the connection is an outcome; only the target's own
        OSError (disk full) is raised. After an outcome that is not complete the target is
        empty, except for `STUB`, where it holds the server's substitute.
        """
        try:
            return self._again_if_lost(lambda connection: self._fetched(connection, uid, target))
        except SessionLost as error:
            return self._failed(uid, FetchOutcome.CONNECTION_LOST, target, str(error))
        except ValidityChanged as error:
            return self._failed(uid, FetchOutcome.VALIDITY_CHANGED, target, str(error))

    def reconnect(self) -> None:
        """Open the connection anew.

        Raises ValidityChanged when the folder is another one now, else as `__enter__`.
        """
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._connection = Connection(self._settings, writable=False)
        found = self._connection.folder.uidvalidity
        if found != self._validity:
            raise ValidityChanged(f"UIDVALIDITY was {self._validity} and is {found}.")

    def _again_if_lost(self, work: Callable[[Connection], T]) -> T:
        try:
            if self._connection is None:
                raise SessionLost("The session is not open.")
            return work(self._connection)
        except SessionLost as first:
            self._reopen(first)
            assert self._connection is not None
            return work(self._connection)

    def _reopen(self, first: SessionLost) -> None:
        try:
            self.reconnect()
        except ValidityChanged:
            raise
        except ImapError as error:
            raise SessionLost(f"{first}; again: {error}") from error

    def _folder(self) -> OpenFolder:
        if self._connection is None:
            raise SessionLost("The session is not open.")
        return self._connection.folder

    def _fetched(self, connection: Connection, uid: int, target: BinaryIO) -> Fetched:
        try:
            return _fetch(connection, self._settings, self._validity, uid, target)
        except CommandRefused as error:
            return self._failed(uid, FetchOutcome.REFUSED, target, str(error))

    def _failed(self, uid: int, outcome: FetchOutcome, target: BinaryIO, detail: str) -> Fetched:
        _emptied(target)
        return Fetched(uid, self._validity, outcome, detail=detail)


def looks_like_stub(head: bytes) -> bool:
    """Whether a mail is the server's own "could not be retrieved" substitute (known fault 19)."""
    if b"the following message" not in head:
        return False
    block = read_headers(head, 0, len(head), top=True)
    headers, _ = read_mail_headers(block, "")
    named = _STUB_SUBJECT.match(headers.subject or "") is not None
    return named and _STUB_TEXT.search(head[block.body_start :]) is not None


def _search(connection: Connection, criterion: Criterion) -> tuple[int, ...]:
    try:
        connection.noop()
        match criterion:
            case Unseen():
                return _agreeing(connection, "UNSEEN", "UNSEEN")
            case Everything():
                return _agreeing(connection, "ALL", "MESSAGES")
            case Since(day):
                midnight = datetime.combine(day, time.min)
                return _windowed(connection, "SINCE", format_criteria_date(midnight).decode())
            case WithMessageId(message_id):
                return _by_message_id(connection, message_id)
    except CommandRefused as error:
        raise SearchRefused(str(error)) from error


def _agreeing(connection: Connection, criterion: str, counter: str) -> tuple[int, ...]:
    """Search; an empty answer must agree with the folder's count, at the second look at least."""
    announced: int | None = None
    for _ in range(2):
        found = _windowed(connection, criterion)
        if found:
            return found
        announced = connection.announced(counter)
        if not announced:
            return ()
        connection.noop()
    raise SearchRefused(f"SEARCH {criterion} lists no mail, the folder counts {announced}.")


def _windowed(connection: Connection, *criteria: str) -> tuple[int, ...]:
    """Search in windows of sequence numbers: imaplib takes no answer line above a megabyte."""
    total = connection.folder.total
    if total <= SEARCH_WINDOW:
        return connection.search(*criteria)
    found: set[int] = set()
    for start in range(1, total + 1, SEARCH_WINDOW):
        end = start + SEARCH_WINDOW - 1
        found.update(connection.search(f"{start}:{end if end < total else '*'}", *criteria))
    return tuple(sorted(found))


def _by_message_id(connection: Connection, message_id: str) -> tuple[int, ...]:
    """SEARCH matches parts of a header value, so the header of each hit is read too."""
    bare = message_id.strip().strip("<>")
    if not bare:
        return ()
    found: set[int] = set()
    for piece in chunked(_header_candidates(connection, bare)):
        items, _ = _items_of(connection, piece, "UID BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)]")
        found.update(item.uid for item in items if _message_id(item) == bare)
    return tuple(sorted(found))


def _header_candidates(connection: Connection, bare: str) -> tuple[int, ...]:
    if bare.isascii():
        quoted = bare.replace("\\", "\\\\").replace('"', '\\"')
        return connection.search("HEADER", "MESSAGE-ID", f'"{quoted}"')
    try:
        return connection.search_utf8("HEADER", "MESSAGE-ID", bare)
    except CommandRefused:
        # BADCHARSET (known fault 16): every mail's header is read and filtered here.
        return _windowed(connection, "ALL")


def _message_id(item: FetchItem) -> str | None:
    for key, value in item.items.items():
        if key.startswith(b"BODY[HEADER") and isinstance(value, bytes):
            block = read_headers(value, 0, len(value), top=True)
            return read_mail_headers(block, "")[0].message_id
    return None


def _listing(connection: Connection, uids: Sequence[int]) -> Listing:
    facts: list[MailFacts] = []
    gone: list[int] = []
    failed: list[tuple[int, str]] = []
    for piece in chunked(uids):
        for uid, found in _facts_of_piece(connection, piece).items():
            if isinstance(found, MailFacts):
                facts.append(found)
            elif found:
                failed.append((uid, found))
            else:
                gone.append(uid)
    return Listing(tuple(facts), tuple(gone), tuple(failed))


def _facts_of_piece(connection: Connection, piece: tuple[int, ...]) -> dict[int, MailFacts | str]:
    """Facts by UID; a text is the reason why there are none, "" means that the mail is gone."""
    items, refused = _items_of(connection, piece, _FACTS)
    found: dict[int, MailFacts | str] = dict.fromkeys(piece, "")
    sequences: dict[int, int] = {}
    for item in items:
        if item.uid not in found:
            continue
        twice = sequences.setdefault(item.uid, item.sequence) != item.sequence
        found[item.uid] = "two mails have this UID" if twice else _facts(item)
    return found | refused


def _items_of(
    connection: Connection, piece: tuple[int, ...], asked: str
) -> tuple[list[FetchItem], dict[int, str]]:
    """Items of several mails; a refused set is halved until the mail that causes it stands alone.

    The second value is the reason per UID that was refused by itself.
    """
    items: list[FetchItem] = []
    refused: dict[int, str] = {}
    stack = [piece]
    while stack:
        uids = stack.pop()
        try:
            items.extend(connection.fetch(",".join(compress(uids)), asked))
        except CommandRefused as error:
            half = len(uids) // 2
            if half:
                stack += [uids[half:], uids[:half]]
            else:
                refused[uids[0]] = str(error)
    return items, refused


def _facts(item: FetchItem) -> MailFacts:
    size = item.items.get(b"RFC822.SIZE")
    arrived = item.items.get(b"INTERNALDATE")
    flags = item.items.get(b"FLAGS")
    return MailFacts(
        uid=item.uid,
        size=size if isinstance(size, int) else None,
        internal_date=arrived.astimezone(UTC) if isinstance(arrived, datetime) else None,
        seen=isinstance(flags, tuple) and any(_is_seen(flag) for flag in flags),
    )


def _is_seen(flag: object) -> bool:
    return isinstance(flag, bytes) and flag.lower() == rb"\seen"


def _fetch(
    connection: Connection,
    settings: ImapSettings,
    validity: int | None,
    uid: int,
    target: BinaryIO,
) -> Fetched:
    """Fetch one mail; an empty answer is asked a second time. Raises CommandRefused."""
    fetched = _Reading(connection, settings, validity, uid, target).run()
    if fetched.outcome is FetchOutcome.EMPTY:
        connection.noop()
        fetched = _Reading(connection, settings, validity, uid, target).run()
    return fetched


class _Reading:
    """One attempt to read one mail into its target."""

    def __init__(
        self,
        connection: Connection,
        settings: ImapSettings,
        validity: int | None,
        uid: int,
        target: BinaryIO,
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._validity = validity
        self._uid = uid
        self._target = target
        self._facts = MailFacts(uid, None, None, seen=False)
        self._received = 0

    def run(self) -> Fetched:
        _emptied(self._target)
        items = self._first_items()
        if len({item.sequence for item in items}) > 1:
            return self._outcome(FetchOutcome.DUPLICATE_UID)
        if not items:
            exists = any(one.uid == self._uid for one in self._fetch_items("UID FLAGS"))
            return self._outcome(FetchOutcome.EMPTY if exists else FetchOutcome.GONE)
        self._facts = _facts(items[0])
        whole, first = _slice(items, 0)
        if not first:
            return self._outcome(FetchOutcome.EMPTY)
        if max(self._facts.size or 0, len(first)) > self._settings.size_limit:
            return self._too_large(first)
        self._write(first)
        if not whole and not self._rest(first):
            return self._too_large(first)
        if self._received <= STUB_BYTES and looks_like_stub(first):
            return self._outcome(FetchOutcome.STUB)
        same = self._facts.size in (None, self._received)
        return self._outcome(FetchOutcome.FETCHED if same else FetchOutcome.SIZE_DIFFERS)

    def _first_items(self) -> tuple[FetchItem, ...]:
        try:
            return self._fetch_items(f"{_FACTS} BODY.PEEK[]<0.{self._settings.slice_bytes}>")
        except CommandRefused:
            # A server without partial fetch refuses the request and not the mail.
            return self._fetch_items(f"{_FACTS} BODY.PEEK[]")

    def _rest(self, last: bytes) -> bool:
        """Read slice after slice until one comes short; False when the mail is above the limit.

        The announced size does not end the reading (it is wrong on some servers); it only makes
        the reading go on behind a slice that came short too early.
        """
        announced = self._facts.size or 0
        while len(last) >= self._settings.slice_bytes or self._received < announced:
            last = self._next_slice(announced)
            if not last:
                return True
            self._write(last)
            if self._received > self._settings.size_limit:
                return False
        return True

    def _next_slice(self, announced: int) -> bytes:
        asked = f"UID BODY.PEEK[]<{self._received}.{self._settings.slice_bytes}>"
        try:
            _, found = _slice(self._fetch_items(asked), self._received)
        except CommandRefused:
            if self._received < announced:
                raise
            return b""
        return found

    def _fetch_items(self, asked: str) -> tuple[FetchItem, ...]:
        items = self._connection.fetch(str(self._uid), asked)
        return tuple(item for item in items if item.uid == self._uid)

    def _write(self, piece: bytes) -> None:
        self._target.write(piece)
        self._received += len(piece)

    def _too_large(self, first: bytes) -> Fetched:
        _emptied(self._target)
        block = read_headers(first, 0, len(first), top=True)
        self._received = 0
        return self._outcome(FetchOutcome.TOO_LARGE, headers=first[: block.body_start])

    def _outcome(self, outcome: FetchOutcome, *, headers: bytes = b"") -> Fetched:
        return Fetched(
            uid=self._uid,
            uidvalidity=self._validity,
            outcome=outcome,
            received=self._received,
            announced=self._facts.size,
            internal_date=self._facts.internal_date,
            seen=self._facts.seen,
            headers=headers,
        )


def _slice(items: Sequence[FetchItem], origin: int) -> tuple[bool, bytes]:
    """Body bytes that start at `origin`, and whether they are the whole mail."""
    for item in items:
        for key, value in item.items.items():
            match = _PARTIAL_KEY.fullmatch(key)
            if match is None or not isinstance(value, bytes):
                continue
            if match[1] is None:
                return True, value if origin == 0 else b""
            if int(match[1]) == origin:
                return False, value
    return False, b""


def _emptied(target: BinaryIO) -> None:
    target.seek(0)
    target.truncate()
