"""A connection to the one intake mailbox: settings, TLS, login, opening the folder (MAIL-01).

Belongs here: everything that reading (`imap`) and stamping (`imap_seen`) have in common, the
errors included. Does not belong here: what is read or stamped.

IMAPClient does TLS, login, folder names and the parsing of answers. Its own `fetch` and `search`
take no UID ranges and refuse split answers, so UID commands go through `Connection.uid`.
"""

from __future__ import annotations

import imaplib
import ssl
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from imapclient import IMAPClient, SocketTimeout
from imapclient.exceptions import CapabilityError, IMAPClientError, LoginError
from imapclient.imap_utf7 import decode as decode_utf7
from imapclient.response_parser import parse_fetch_response

MIB = 1024 * 1024
COMMAND_CHARACTERS = 1_000
CHUNK_UIDS = 500


class TlsMode(StrEnum):
    """How the connection is protected. `NONE` is for a server on the same machine."""

    IMPLICIT = "tls"
    STARTTLS = "starttls"
    NONE = "none"


class ImapError(Exception):
    """The mailbox could not be worked with; the message says why."""


class NoCredentials(ImapError):
    """Neither password nor access token is set (MAIL-20: 503 at the HTTP door)."""


class MailboxUnreachable(ImapError):
    """No connection: name, network, TLS or time limit."""


class LoginRefused(ImapError):
    """The server refused the credentials or offers no way to give them."""


class FolderRefused(ImapError):
    """The folder cannot be opened under any spelling of its name."""


class SearchRefused(ImapError):
    """SEARCH was not answered with OK, or its answer contradicts the folder (MAIL-26)."""


class SessionLost(ImapError):
    """The connection broke off in the middle of the work."""


class ValidityChanged(ImapError):
    """The folder's UIDVALIDITY is another one than before: its UIDs mean other mails."""


class CommandRefused(ImapError):
    """The server answered NO or BAD to a command, or with something that is not IMAP."""


@dataclass(frozen=True, slots=True)
class ImapSettings:
    """Where the intake mailbox is and how it is opened.

    Attributes:
        host, port: the server; port None = 993 for implicit TLS, else 143.
        user: login name. password or access_token (XOAUTH2); the token wins.
        tls: how the connection is protected; verify: check certificate and host name.
        ca_file: PEM file of an own certificate authority.
        folder: name as people read it or in modified UTF-7.
        connect_timeout, read_timeout: seconds.
        size_limit: bytes; a bigger mail is not fetched, only its headers (known fault 31).
        slice_bytes: bytes asked for at a time.
    """

    host: str
    user: str
    port: int | None = None
    password: str | None = field(default=None, repr=False)
    access_token: str | None = field(default=None, repr=False)
    tls: TlsMode = TlsMode.IMPLICIT
    verify: bool = True
    ca_file: Path | None = None
    folder: str = "INBOX"
    connect_timeout: float = 20.0
    read_timeout: float = 120.0
    size_limit: int = 100 * MIB
    slice_bytes: int = MIB

    def require_credentials(self) -> None:
        """Raise NoCredentials when there is nothing to log in with."""
        if not (self.user and (self.password or self.access_token)):
            raise NoCredentials("No IMAP user with password or access token is configured.")


@dataclass(frozen=True, slots=True)
class OpenFolder:
    """The answer to opening a folder; None where the server did not say."""

    name: str
    uidvalidity: int | None
    uid_next: int | None
    total: int
    writable: bool


@dataclass(frozen=True, slots=True)
class FetchItem:
    """One FETCH answer with a UID: its data items by upper-case name."""

    sequence: int
    uid: int
    items: dict[bytes, object]


class Connection:
    """A logged-in connection with one folder open.

    Raises, in every method: SessionLost when the connection breaks, CommandRefused on NO, BAD
    and answers that are not IMAP.
    """

    def __init__(self, settings: ImapSettings, *, writable: bool) -> None:
        """Connect, log in and open the folder, read-only (EXAMINE) unless `writable`.

        Raises NoCredentials, MailboxUnreachable, LoginRefused, FolderRefused.
        """
        settings.require_credentials()
        self._settings = settings
        self._client = _connected(settings)
        try:
            _log_in(self._client, settings)
            self.folder = _opened(self._client, settings.folder, writable=writable)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the connection; an error on the way out is no error of the work done."""
        with suppress(Exception):
            self._client.logout()
        with suppress(Exception):
            self._client.shutdown()

    def noop(self) -> None:
        """Ask for news, so that a search sees mails that came in meanwhile (known fault 40)."""
        with _translated("NOOP"):
            kind, data = self._imap.noop()
            _must_be_ok("NOOP", kind, data)

    def fetch(self, uids: str, items: str) -> tuple[FetchItem, ...]:
        """UID FETCH of a UID set; unsolicited answers without a UID are left out."""
        lines = self.uid("FETCH", uids, f"({items})")
        return _fetch_items(lines)

    def store_seen(self, uid: int) -> tuple[FetchItem, ...]:
        r"""UID STORE +FLAGS (\Seen) of one UID; only a writable connection can."""
        if not self.folder.writable:
            raise CommandRefused("The folder is open read-only.")
        return _fetch_items(self.uid("STORE", str(uid), "+FLAGS", r"(\Seen)", answer="FETCH"))

    def search(self, *criteria: str) -> tuple[int, ...]:
        """UID SEARCH with ASCII criteria; UIDs ascending, each once."""
        return _search_uids(self.uid("SEARCH", *criteria))

    def search_utf8(self, *criteria: str) -> tuple[int, ...]:
        """UID SEARCH CHARSET UTF-8; servers may refuse the charset (known fault 16)."""
        self._forget("SEARCH")
        with _translated("SEARCH"):
            found = self._client.search(
                list(criteria),  # pyright: ignore[reportArgumentType] - annotated too narrowly
                charset="UTF-8",
            )
            return tuple(sorted(set(found)))

    def announced(self, item: str) -> int | None:
        """A number of mails by STATUS (MESSAGES, UNSEEN); None when the server refuses it."""
        try:
            with _translated("STATUS"):
                answer = self._client.folder_status(self.folder.name, [item])
        except CommandRefused:
            return None
        number = answer.get(item.encode("ascii"))
        return number if isinstance(number, int) else None

    def uid(self, command: str, *arguments: str, answer: str | None = None) -> list[object]:
        """A UID command; its untagged answers of the kind `answer` (default: the command)."""
        kind = answer or command
        self._forget(kind)
        with _translated(command):
            status, data = self._imap.uid(command, *arguments)
            _must_be_ok(command, status, data)
        # imaplib gives [None] when there was no untagged answer.
        return [one for one in data if one is not None]

    def _forget(self, kind: str) -> None:
        # Answers that came with an earlier, refused command must not count for this one.
        self._imap.untagged_responses.pop(kind, None)

    @property
    def _imap(self) -> imaplib.IMAP4:
        # IMAPClient offers no other way to send a UID set of ranges.
        return self._client._imap


@contextmanager
def _translated(command: str) -> Iterator[None]:
    """Errors of the libraries as errors of this room."""
    try:
        yield
    except ImapError:
        raise
    except imaplib.IMAP4.readonly as error:
        raise CommandRefused(f"{command}: {error}") from error
    except imaplib.IMAP4.abort as error:
        raise SessionLost(f"{command}: {error}") from error
    except IMAPClientError as error:
        raise CommandRefused(f"{command}: {error}") from error
    except OSError as error:
        raise SessionLost(f"{command}: {type(error).__name__}: {error}") from error
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, AssertionError) as error:
        raise CommandRefused(f"{command}: the answer is not IMAP ({error})") from error


def compress(uids: Sequence[int]) -> tuple[str, ...]:
    """UIDs as ranges ("3:7", "9"), ascending, each UID once (known fault 4)."""
    ranges: list[str] = []
    ordered = sorted(set(uids))
    start = 0
    for position in range(1, len(ordered) + 1):
        if position == len(ordered) or ordered[position] != ordered[position - 1] + 1:
            first, last = ordered[start], ordered[position - 1]
            ranges.append(str(first) if first == last else f"{first}:{last}")
            start = position
    return tuple(ranges)


def chunked(uids: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Cut UIDs into pieces of at most 500 whose ranges fit into 1,000 characters (RFC 2683)."""
    ordered = sorted(set(uids))
    stack = [ordered[i : i + CHUNK_UIDS] for i in range(0, len(ordered), CHUNK_UIDS)][::-1]
    while stack:
        piece = stack.pop()
        if len(piece) > 1 and len(",".join(compress(piece))) > COMMAND_CHARACTERS:
            half = len(piece) // 2
            stack += [piece[half:], piece[:half]]
        else:
            yield tuple(piece)


def folder_spellings(name: str) -> tuple[str, ...]:
    """The names a folder may have been written as: as given, composed, out of modified UTF-7."""
    spellings = [name, unicodedata.normalize("NFC", name)]
    if name.isascii() and "&" in name:
        with suppress(ValueError, UnicodeError, IndexError):
            spellings.append(decode_utf7(name.encode("ascii")))
    return tuple(dict.fromkeys(spellings))


def _connected(settings: ImapSettings) -> IMAPClient:
    timeout = SocketTimeout(settings.connect_timeout, settings.read_timeout)
    implicit = settings.tls is TlsMode.IMPLICIT
    try:
        context = None if settings.tls is TlsMode.NONE else _tls_context(settings)
        client = IMAPClient(
            settings.host,
            port=settings.port or (993 if implicit else 143),
            ssl=implicit,
            ssl_context=context,
            timeout=timeout,  # pyright: ignore[reportArgumentType] - annotated too narrowly
        )
        if settings.tls is TlsMode.STARTTLS:
            # Refused when not offered: going on in the clear would give the password away.
            client.starttls(context)
    except (OSError, IMAPClientError) as error:
        where = f"{settings.host}:{settings.port or ''}".rstrip(":")
        raise MailboxUnreachable(f"{where}: {type(error).__name__}: {error}") from error
    client.normalise_times = False
    # IMAPClient turns imaplib's debugging on, which formats every body into a log line.
    client._imap.debug = 0
    return client


def _tls_context(settings: ImapSettings) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(settings.ca_file) if settings.ca_file else None)
    if not settings.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _log_in(client: IMAPClient, settings: ImapSettings) -> None:
    try:
        if settings.access_token:
            client.oauth2_login(settings.user, settings.access_token)
            return
        password = settings.password or ""
        # LOGIN carries ASCII only; SASL PLAIN carries UTF-8.
        plain_only = not (settings.user + password).isascii()
        if plain_only or client.has_capability("LOGINDISABLED"):
            client.plain_login(settings.user, password)
        else:
            client.login(settings.user, password)
    except imaplib.IMAP4.abort as error:
        raise MailboxUnreachable(f"The connection ended at login: {error}") from error
    except (LoginError, CapabilityError, IMAPClientError) as error:
        raise LoginRefused(f"{settings.user}: {error}") from error
    except OSError as error:
        raise MailboxUnreachable(f"The connection ended at login: {error}") from error


def _opened(client: IMAPClient, name: str, *, writable: bool) -> OpenFolder:
    refusals: list[str] = []
    for spelling in folder_spellings(name):
        try:
            with _translated("SELECT" if writable else "EXAMINE"):
                answer = client.select_folder(spelling, readonly=not writable)
        except CommandRefused as error:
            refusals.append(str(error))
            continue
        except SessionLost as error:
            raise MailboxUnreachable(str(error)) from error
        validity = _number(answer.get(b"UIDVALIDITY")) or _validity_by_status(client, spelling)
        return OpenFolder(
            name=spelling,
            uidvalidity=validity,
            uid_next=_number(answer.get(b"UIDNEXT")),
            total=_number(answer.get(b"EXISTS")) or 0,
            writable=writable,
        )
    raise FolderRefused(f"{name}: {'; '.join(refusals)}")


def _validity_by_status(client: IMAPClient, name: str) -> int | None:
    try:
        with _translated("STATUS"):
            return _number(client.folder_status(name, ["UIDVALIDITY"]).get(b"UIDVALIDITY"))
    except CommandRefused:
        return None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def _must_be_ok(command: str, kind: str, data: Sequence[object]) -> None:
    if kind != "OK":
        said = data[0] if data else b""
        text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        raise CommandRefused(f"{command} answered {kind}: {text}")


def _search_uids(lines: Sequence[object]) -> tuple[int, ...]:
    uids: set[int] = set()
    for line in lines:
        if not line:
            continue
        words = line.split(b"(")[0].split() if isinstance(line, bytes) else []
        if not all(word.isdigit() for word in words):
            raise CommandRefused(f"SEARCH: the answer is not IMAP ({line!r:.60})")
        uids.update(int(word) for word in words)
    return tuple(sorted(uids - {0}))


def _fetch_items(lines: Sequence[object]) -> tuple[FetchItem, ...]:
    with _translated("FETCH"):
        parsed = parse_fetch_response(
            list(lines),  # pyright: ignore[reportArgumentType] - imaplib's own mixed list
            normalise_times=False,
            uid_is_key=False,
        )
    return tuple(
        FetchItem(sequence, uid, dict(items))
        for sequence, items in parsed.items()
        if isinstance(uid := items.get(b"UID"), int)
    )
