"""A scripted IMAP server on a real socket, for what Dovecot cannot be made to do.

It speaks the part of IMAP4rev1 that a reader of one folder needs, and misbehaves exactly where a
test's `Script` says so. Every command it got stands in `commands`.
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

HOST = "127.0.0.1"
USER, PASSWORD = "post@example.com", "geheim-1"


@dataclass(slots=True)
class Stored:
    """A mail in the folder and how the server lies about it.

    Attributes:
        announced: RFC822.SIZE to tell, None = the true one.
        answer: "normal", "silent" (OK without FETCH), "nil" (body NIL), "quoted" (body as a
            quoted string), "no" (NO), "garbage" (an answer line that is not IMAP),
            "short" (every slice comes half as long as asked for).
        drops: the connection breaks this many times in the middle of the body literal.
    """

    uid: int
    raw: bytes
    announced: int | None = None
    answer: str = "normal"
    drops: int = 0
    seen: bool = False
    listed: bool = True


@dataclass(slots=True)
class Script:
    """The folder and the misbehaviour of one server.

    Attributes:
        uidvalidity: per connection, the last value for all further ones; None = refused.
        search: "normal", "no", "bad", "silent" (OK without SEARCH), "empty", "split" (one line
            per UID), "twice" (every UID two times), "garbage".
        badcharset: SEARCH CHARSET is refused.
        partial: "normal", "ignored" (whole body for every request) or "refused".
        max_line: longest command line in bytes; a longer one is answered with BAD.
        store: "normal", "no", "silent" (OK, flag not set), "drop" (breaks off once).
        greeting: what a new connection hears; noise: untagged lines before every answer.
    """

    mails: list[Stored] = field(default_factory=list)
    uidvalidity: list[int | None] = field(default_factory=lambda: [100])
    search: str = "normal"
    badcharset: bool = False
    partial: str = "normal"
    max_line: int = 8_192
    store: str = "normal"
    capabilities: str = "IMAP4rev1 AUTH=PLAIN AUTH=XOAUTH2"
    folders: tuple[bytes, ...] = (b"INBOX",)
    noise: tuple[bytes, ...] = ()
    greeting: bytes = b"* OK ready"
    read_only: bool = False
    sasl: bool = True
    drop_at_command: str = ""


class FaultyImap:
    """The running server; `commands` holds every command line, literals included."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.commands: list[bytes] = []
        self.connections = 0
        self._socket = socket.create_server((HOST, 0))
        self.port: int = self._socket.getsockname()[1]
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def named(self, word: str) -> list[bytes]:
        """The commands that contain a word."""
        return [one for one in self.commands if word.encode() in one.upper()]

    def stop(self) -> None:
        """Close the port and every connection."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                connected, _ = self._socket.accept()
            except OSError:
                return
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open.append(connected)
            number = self.connections
            self.connections += 1
            talk = _Talk(self, connected, number)
            threading.Thread(target=talk.run, daemon=True).start()


@contextmanager
def faulty_imap(script: Script) -> Iterator[FaultyImap]:
    """Run a scripted server."""
    server = FaultyImap(script)
    try:
        yield server
    finally:
        server.stop()


class _Hangup(Exception):
    pass


class _Talk:
    """One connection."""

    def __init__(self, server: FaultyImap, connected: socket.socket, number: int) -> None:
        self._server = server
        self._script = server.script
        self._socket = connected
        self._file = connected.makefile("rb")
        validities = self._script.uidvalidity
        self._validity = validities[min(number, len(validities) - 1)]
        self._examined = True

    def run(self) -> None:
        with suppress(OSError, _Hangup, ValueError):
            self._line(self._script.greeting)
            while command := self._read_command():
                self._server.commands.append(command)
                self._answer(command)
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _read_command(self) -> bytes:
        command = b""
        while True:
            line = self._file.readline()
            if not line:
                return b""
            literal = re.search(rb"\{(\d+)(\+?)\}\r\n$", line)
            if literal is None:
                return command + line.rstrip(b"\r\n")
            if not literal[2]:
                self._line(b"+ go on")
            command += line[: literal.start()] + self._file.read(int(literal[1]))

    def _answer(self, command: bytes) -> None:
        tag, _, rest = command.partition(b" ")
        words = rest.split(b" ")
        name = words[0].upper()
        if name == b"UID":
            name = b"UID " + words[1].upper()
        if len(command) > self._script.max_line:
            self._line(tag + b" BAD command line too long")
            return
        if self._script.drop_at_command and self._script.drop_at_command.encode() in name:
            self._script.drop_at_command = ""
            raise _Hangup
        for one in self._script.noise:
            self._line(one)
        handlers = {
            b"CAPABILITY": self._capability,
            b"LOGIN": self._ok,
            b"AUTHENTICATE": self._authenticate,
            b"NOOP": self._ok,
            b"SELECT": self._select,
            b"EXAMINE": self._select,
            b"STATUS": self._status,
            b"UID SEARCH": self._search,
            b"UID FETCH": self._fetch,
            b"UID STORE": self._store,
            b"LOGOUT": self._logout,
        }
        handlers.get(name, self._bad)(tag, rest)

    def _ok(self, tag: bytes, rest: bytes) -> None:
        self._line(tag + b" OK done")

    def _bad(self, tag: bytes, rest: bytes) -> None:
        self._line(tag + b" BAD unknown command")

    def _capability(self, tag: bytes, rest: bytes) -> None:
        self._line(b"* CAPABILITY " + self._script.capabilities.encode("ascii"))
        self._ok(tag, rest)

    def _authenticate(self, tag: bytes, rest: bytes) -> None:
        if not self._script.sasl:
            self._line(tag + b" NO no such mechanism")
            return
        self._line(b"+ ")
        self._server.commands.append(self._file.readline().strip())
        self._ok(tag, rest)

    def _logout(self, tag: bytes, rest: bytes) -> None:
        self._line(b"* BYE")
        self._ok(tag, rest)
        raise _Hangup

    def _select(self, tag: bytes, rest: bytes) -> None:
        name = rest.partition(b" ")[2].strip(b'"')
        if name not in self._script.folders:
            self._line(tag + b" NO no such folder")
            return
        self._examined = rest.upper().startswith(b"EXAMINE")
        self._line(f"* {len(self._mails())} EXISTS".encode())
        self._line(b"* FLAGS (\\Seen)")
        if self._validity is not None:
            self._line(f"* OK [UIDVALIDITY {self._validity}] valid".encode())
        read_only = self._examined or self._script.read_only
        self._line(tag + (b" OK [READ-ONLY] done" if read_only else b" OK [READ-WRITE] done"))

    def _status(self, tag: bytes, rest: bytes) -> None:
        counts = {b"MESSAGES": len(self._mails()), b"UNSEEN": len(self._unseen())}
        for item, count in counts.items():
            if item in rest.upper():
                name = rest.split(b" ")[1]
                self._line(b"* STATUS " + name + f" ({item.decode()} {count})".encode())
                self._ok(tag, rest)
                return
        self._line(tag + b" NO not that item")

    def _search(self, tag: bytes, rest: bytes) -> None:
        mode = self._script.search
        if b"CHARSET" in rest.upper() and self._script.badcharset:
            self._line(tag + b" NO [BADCHARSET (US-ASCII)] charset not supported")
            return
        if mode in ("no", "bad"):
            self._line(tag + b" " + mode.upper().encode() + b" search failed")
            return
        uids = [one.uid for one in self._matching(rest)]
        if mode == "split":
            for uid in uids:
                self._line(f"* SEARCH {uid}".encode())
        elif mode == "garbage":
            self._line(b"* SEARCH one two")
        elif mode != "silent":
            listed = [] if mode == "empty" else uids * 2 if mode == "twice" else uids
            self._line(("* SEARCH " + " ".join(map(str, listed))).rstrip().encode())
        self._ok(tag, rest)

    def _matching(self, rest: bytes) -> list[Stored]:
        upper = rest.upper()
        found = self._unseen() if b"UNSEEN" in upper else self._mails()
        header = re.search(rb'HEADER MESSAGE-ID "?([^" ]+)"?', rest, re.IGNORECASE)
        if header is None:
            return found
        return [one for one in found if header[1] in one.raw.partition(b"\r\n\r\n")[0]]

    def _store(self, tag: bytes, rest: bytes) -> None:
        uids = _uid_set(rest.split(b" ")[2])
        mode = self._script.store
        if mode == "drop":
            self._script.store = "normal"
            raise _Hangup
        if mode == "no" or self._examined:
            self._line(tag + b" NO not allowed")
            return
        for number, one in enumerate(self._mails(), start=1):
            if one.uid in uids and mode == "normal":
                one.seen = True
                self._line(f"* {number} FETCH (UID {one.uid} FLAGS (\\Seen))".encode())
        self._ok(tag, rest)

    def _fetch(self, tag: bytes, rest: bytes) -> None:
        uids = _uid_set(rest.split(b" ")[2])
        asked = rest.upper()
        if self._script.partial == "refused" and b"PEEK[]<" in asked:
            self._line(tag + b" BAD partial fetch not supported")
            return
        for number, one in enumerate(self._mails(), start=1):
            if one.uid not in uids:
                continue
            if one.answer == "no":
                self._line(tag + b" NO this mail cannot be read")
                return
            self._fetch_one(number, one, asked)
        self._ok(tag, rest)

    def _fetch_one(self, number: int, one: Stored, asked: bytes) -> None:
        if one.answer == "garbage" and b"BODY" not in asked:
            self._line(f"* {number} FETCH (UID {one.uid} FLAGS (\\Seen".encode())
            return
        wants_body = b"BODY.PEEK[]" in asked
        if one.answer == "silent" and wants_body:
            return
        size = len(one.raw) if one.announced is None else one.announced
        flags = "\\Seen" if one.seen else ""
        facts = f"UID {one.uid} RFC822.SIZE {size} FLAGS ({flags})"
        facts += ' INTERNALDATE "01-Jan-2024 10:00:00 +0100"'
        if b"HEADER.FIELDS" in asked:
            header = one.raw.partition(b"\r\n\r\n")[0].split(b"\r\n")
            lines = [line for line in header if line.lower().startswith(b"message-id:")]
            body = b"\r\n".join(lines) + b"\r\n\r\n"
            self._literal(f"{facts} BODY[HEADER.FIELDS (MESSAGE-ID)]", body, number, one)
        elif wants_body:
            self._body(number, one, asked, facts)
        else:
            self._line(f"* {number} FETCH ({facts})".encode())

    def _body(self, number: int, one: Stored, asked: bytes, facts: str) -> None:
        partial = re.search(rb"PEEK\[\]<(\d+)\.(\d+)>", asked)
        name, body = "BODY[]", one.raw
        if partial and self._script.partial != "ignored":
            start, length = int(partial[1]), int(partial[2])
            length = length // 2 if one.answer == "short" else length
            name, body = f"BODY[]<{start}>", one.raw[start : start + length]
        if one.answer == "nil":
            self._line(f"* {number} FETCH ({facts} {name} NIL)".encode())
        elif one.answer == "quoted":
            quoted = body.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
            self._line(f"* {number} FETCH ({facts} {name} ".encode() + b'"' + quoted + b'")')
        else:
            self._literal(f"{facts} {name}", body, number, one)

    def _literal(self, head: str, body: bytes, number: int, one: Stored) -> None:
        self._line(f"* {number} FETCH ({head} {{{len(body)}}}".encode())
        if one.drops:
            one.drops -= 1
            self._socket.sendall(body[: len(body) // 2])
            raise _Hangup
        self._socket.sendall(body)
        self._line(b")")

    def _mails(self) -> list[Stored]:
        return [one for one in self._script.mails if one.listed]

    def _unseen(self) -> list[Stored]:
        return [one for one in self._mails() if not one.seen]

    def _line(self, line: bytes) -> None:
        self._socket.sendall(line + b"\r\n")


def _uid_set(text: bytes) -> set[int]:
    uids: set[int] = set()
    for piece in text.split(b","):
        first, _, last = piece.partition(b":")
        uids.update(range(int(first), int(last or first) + 1))
    return uids
