"""Reading the bytes that are to be stored: once, in pieces, hashed on the way.

Belongs here: the one reader of a path or a stream and the spool file for stores that must know
the hash before they write. Does not belong here: where the bytes go in the end.
"""

import hashlib
import io
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from tgv_dagster.store.blobs.errors import HashMismatch, SourceUnreadable, from_os_error

CHUNK = 1 << 20
_SPOOL_IN_MEMORY = 8 << 20


@dataclass(frozen=True, slots=True)
class Content:
    """The SHA-256 (hex) and the size in bytes of what was read."""

    sha256: str
    size: int

    def expect(self, sha256: str | None) -> None:
        """Raise `HashMismatch` unless the content has the hash the caller announced."""
        if sha256 is not None and sha256 != self.sha256:
            raise HashMismatch(
                f"the bytes hash to {self.sha256} and not to {sha256}",
                "Fetch them again from where they come from",
            )


@dataclass(frozen=True, slots=True)
class Spooled:
    """Content that lies in a temporary file, ready to be sent more than once."""

    content: Content
    file: BinaryIO


class HashedBytes(io.BytesIO):
    """Bytes in memory whose SHA-256 (hex) their owner has computed; they are not hashed again on
    their way in, only when they are read back."""

    def __init__(self, content: bytes, sha256: str) -> None:
        super().__init__(content)
        self.content = Content(sha256, len(content))
        self.whole = memoryview(content)


def pour(source: BinaryIO | Path, write: Callable[[memoryview], object]) -> Content:
    """Hand every piece of `source` to `write` and return what was read.

    Raises `SourceUnreadable`; whatever `write` raises goes through.
    """
    if isinstance(source, HashedBytes):
        write(source.whole)
        return source.content
    digest = hashlib.sha256()
    size = 0
    for piece in _pieces(source):
        digest.update(piece)
        write(piece)
        size += len(piece)
    return Content(digest.hexdigest(), size)


@contextmanager
def spooled(source: BinaryIO | Path, spool_dir: Path | None) -> Iterator[Spooled]:
    """Keep a copy of `source` for the duration of the block: small in memory, else on disk.

    Raises `SourceUnreadable`, `StoreFull` when the spool directory has no room.
    """
    with tempfile.SpooledTemporaryFile(
        _SPOOL_IN_MEMORY, dir=str(spool_dir) if spool_dir else None
    ) as file:

        def keep(piece: memoryview) -> None:
            try:
                file.write(piece)
            except OSError as error:
                raise from_os_error(error, "writing the spool file") from error

        content = pour(source, keep)
        file.seek(0)
        yield Spooled(content, cast("BinaryIO", file))


def _pieces(source: BinaryIO | Path) -> Iterator[memoryview]:
    return _path_pieces(source) if isinstance(source, Path) else _stream_pieces(source)


def _path_pieces(path: Path) -> Iterator[memoryview]:
    """Yield a regular file; the buffer is used again for every piece.

    A file that changes while it is read would be stored as a mixture, so that is an error.
    """
    with _reading(str(path)):
        # O_NONBLOCK: a named pipe must not hold the process until somebody writes to it.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        with _reading(str(path)):
            before = os.fstat(fd)
        if not stat.S_ISREG(before.st_mode):
            raise SourceUnreadable(f"{path} is no regular file", "Name a file")
        buffer = memoryview(bytearray(min(CHUNK, max(before.st_size, 1))))
        size = 0
        while count := _read_into(fd, buffer, path):
            size += count
            yield buffer[:count]
        with _reading(str(path)):
            after = os.fstat(fd)
        if (size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise SourceUnreadable(
                f"{path} changed while it was read", "Wait until it rests, then store it again"
            )
    finally:
        os.close(fd)


def _read_into(fd: int, buffer: memoryview, path: Path) -> int:
    with _reading(str(path)):
        return os.readv(fd, [buffer])


def _stream_pieces(stream: BinaryIO) -> Iterator[memoryview]:
    while True:
        with _reading("the stream"):
            piece = stream.read(CHUNK)
        if not isinstance(piece, bytes | bytearray | memoryview):
            raise SourceUnreadable(
                f"the stream gave {type(piece).__name__} instead of bytes",
                "Open it in binary mode and blocking",
            )
        if not piece:
            return
        yield memoryview(piece)


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Turn an error of the source into `SourceUnreadable`, so it is not taken for the store's.

    ValueError is what a closed file raises.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        raise SourceUnreadable(
            f"reading {what}: {error}", "Check the file and its permissions, then store it again"
        ) from error
