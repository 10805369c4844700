"""Counts the statements that really go to Postgres, on the wire between client and server.

A relay on a Unix socket reads the client's messages (PostgreSQL documentation, "Message Formats":
one type byte, four bytes of length that count themselves) and passes everything on.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from psycopg.conninfo import conninfo_to_dict, make_conninfo

_STATEMENTS = (b"Q", b"E")
"""A simple query, or the execution of a prepared one."""


class Tap:
    """The running count over all connections."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.statements = 0
        self._lock = threading.Lock()

    @contextmanager
    def counting(self) -> Iterator[list[int]]:
        """The statements of the block, as the only item of the list after it."""
        found: list[int] = []
        before = self.statements
        yield found
        found.append(self.statements - before)

    def add(self) -> None:
        """One more."""
        with self._lock:
            self.statements += 1


@contextmanager
def tapped(database_url: str, folder: Path) -> Iterator[Tap]:
    """A tap in front of the server of `database_url`; its `url` leads through it."""
    parts: dict[str, Any] = conninfo_to_dict(database_url)
    port = str(parts.get("port", "5432"))
    server = f"{parts['host']}/.s.PGSQL.{port}"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / f".s.PGSQL.{port}"))
        listening.listen()
        tap = Tap(make_conninfo(**(parts | {"host": str(folder), "port": port})))
        threading.Thread(target=_accept, args=(listening, server, tap), daemon=True).start()
        yield tap


def _accept(listening: socket.socket, server: str, tap: Tap) -> None:
    with suppress(OSError):  # closed at the end of the test
        while True:
            client = listening.accept()[0]
            upstream = socket.socket(socket.AF_UNIX)
            upstream.connect(server)
            for target, arguments in (
                (_requests, (client, upstream, tap)),
                (_answers, (upstream, client)),
            ):
                threading.Thread(target=target, args=arguments, daemon=True).start()


def _requests(client: socket.socket, upstream: socket.socket, tap: Tap) -> None:
    with suppress(OSError, EOFError), upstream:
        head = _exactly(client, 4)  # the start-up message has no type byte
        upstream.sendall(head + _exactly(client, int.from_bytes(head) - 4))
        while True:
            kind, length = _exactly(client, 1), _exactly(client, 4)
            body = _exactly(client, int.from_bytes(length) - 4)
            if kind in _STATEMENTS:
                tap.add()
            upstream.sendall(kind + length + body)


def _answers(upstream: socket.socket, client: socket.socket) -> None:
    with suppress(OSError), client:
        while data := upstream.recv(1 << 16):
            client.sendall(data)


def _exactly(source: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = source.recv(count - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data
