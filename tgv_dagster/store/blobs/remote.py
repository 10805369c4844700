"""Blobs in a store behind a network: what is the same for every protocol.

Belongs here: spool, send, read back, publish, retry with back-off, and reading by ranges.
Does not belong here: a protocol; each has a driver module of its own (s3.py, sftp.py, webdav.py).
"""

import hashlib
import io
import logging
import os
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Generic, Protocol, TypeVar

import stamina

from tgv_dagster.store.blobs import model
from tgv_dagster.store.blobs.common import StoreBase, damaged, missing, require_same
from tgv_dagster.store.blobs.errors import (
    ReadBackMismatch,
    StoreDenied,
    StoreError,
    StoreFailed,
    StoreNotThere,
    StoreUnreachable,
    from_os_error,
)
from tgv_dagster.store.blobs.source import Content, Spooled, spooled
from tgv_dagster.store.blobs.walk import Entry

RANGE = 4 << 20
"""Bytes asked for at a time; also what a reader holds in memory."""

_STALE_SECONDS = 24 * 3600.0

_log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long a passing error is retried. Times in seconds."""

    attempts: int = 5
    wait_initial: float = 0.5
    wait_max: float = 10.0
    timeout: float = 120.0

    def run(self, call: Callable[[], T]) -> T:
        """Return what `call` returns; only `StoreUnreachable` is worth another attempt."""
        for attempt in stamina.retry_context(
            on=_is_passing,
            attempts=self.attempts,
            timeout=self.timeout,
            wait_initial=self.wait_initial,
            wait_max=self.wait_max,
        ):
            with attempt:
                return call()
        raise AssertionError("an attempt returns or raises")


def _is_passing(error: Exception) -> bool:
    return isinstance(error, StoreUnreachable) and not isinstance(error, StoreNotThere)


class Driver(Protocol):
    """What one protocol can do with paths `<bucket>/...`. Each method is one attempt.

    Every method raises `StoreUnreachable` for a passing error and another `StoreError` otherwise.
    """

    @property
    def stages(self) -> bool:
        """Whether a file is sent under a temporary name and published by a rename."""
        ...

    def durability(self, region: str | None) -> model.Durability:
        """Return what is known about puts so far."""
        ...

    def settle(self, bucket: str, *, create: bool) -> None:
        """Raise `StoreNotThere` when the place is not the store; set a new one up if `create`."""
        ...

    def stat(self, path: str) -> int | None:
        """Return the size in bytes of a file, None when there is none."""
        ...

    def fetch(self, path: str, start: int, length: int) -> bytes:
        """Return bytes of a file that is there, fewer than `length` only when the store sends less.

        Raises `BlobMissing`.
        """
        ...

    def send(self, path: str, file: BinaryIO, size: int) -> bool:
        """Write a file that must not exist; False when it does. A temporary one is replaced."""
        ...

    def publish(self, staged: str, final: str) -> bool:
        """Rename without overwriting; False when the final name is taken."""
        ...

    def remove(self, path: str) -> bool:
        """Delete a file; False when there was none."""
        ...

    def walk(self, prefix: str, retry: RetryPolicy) -> Iterator[Entry]:
        """Yield the files whose path starts with `prefix`, in ascending order."""
        ...

    def sweep(self, bucket: str, stale_seconds: float) -> int:
        """Remove unfinished uploads older than that and return how many."""
        ...


class RemoteBlobStore(StoreBase):
    """A `BlobStore` over a driver.

    spool_dir: where a file waits while it is sent (None: the system's temporary directory).
    create: as for `LocalBlobStore`. stale_seconds: age from which an unfinished upload of somebody
    is removed, when this process first writes to the bucket.
    """

    def __init__(
        self,
        driver: Driver,
        url: str,
        *,
        region: str | None = None,
        spool_dir: Path | None = None,
        create: bool = True,
        retry: RetryPolicy | None = None,
        stale_seconds: float = _STALE_SECONDS,
    ) -> None:
        self._driver = driver
        self._url = url
        self._region = region
        self._spool_dir = spool_dir
        self._create = create
        self._retry = retry or RetryPolicy()
        self._stale_seconds = stale_seconds
        self._known: set[str] = set()
        self._swept: set[str] = set()

    @property
    def url(self) -> str:
        """The address without any secret."""
        return self._url

    @property
    def region(self) -> str | None:
        """The region as declared."""
        return self._region

    @property
    def durability(self) -> model.Durability:
        """What the driver knows so far; a sync over SFTP is unmeasured before the first put."""
        return self._driver.durability(self._region)

    def put(
        self, bucket: str, source: BinaryIO | Path, *, expected_sha256: str | None = None
    ) -> model.StoredBlob:
        """See `BlobStore.put`."""
        self._enter(bucket)
        with spooled(source, self._spool_dir) as copy:
            copy.content.expect(expected_sha256)
            key = model.blob_key(copy.content.sha256)
            created = self._put_file(bucket, key, copy)
        return model.StoredBlob(
            key, copy.content.sha256, copy.content.size, already_there=not created
        )

    def open(self, bucket: str, key: str) -> BinaryIO:
        """See `BlobStore.open`."""
        path, size = self._find(bucket, key)
        raw = _RangeReader(lambda start, length: self._fetch(path, start, length), size)
        return io.BufferedReader(raw, buffer_size=RANGE)

    def read_range(self, bucket: str, key: str, start: int, length: int) -> bytes:
        """See `BlobStore.read_range`."""
        model.check_range(start, length)
        path, size = self._find(bucket, key)
        wanted = max(0, min(length, size - start))
        pieces = range(start, start + wanted, RANGE)
        end = start + wanted
        return b"".join(self._fetch(path, at, min(RANGE, end - at)) for at in pieces)

    def size(self, bucket: str, key: str) -> int:
        """See `BlobStore.size`."""
        return self._find(bucket, key)[1]

    def put_sidecar(self, bucket: str, name: str, content: bytes) -> None:
        """See `BlobStore.put_sidecar`."""
        model.check_sidecar(name)
        self._enter(bucket)
        with spooled(io.BytesIO(content), self._spool_dir) as copy:
            self._put_file(bucket, f"{model.MANIFESTS}/{name}", copy)

    def read_sidecar(self, bucket: str, name: str) -> bytes:
        """See `BlobStore.read_sidecar`."""
        name = f"{model.MANIFESTS}/{model.check_sidecar(name)}"
        return b"".join(self._ranges(*self._locate(bucket, name)))

    def delete(self, bucket: str, key: str) -> bool:
        """See `BlobStore.delete`."""
        model.sha256_of(key)
        if self._size(bucket, key) is None:
            return False
        self._retry.run(lambda: self._driver.remove(f"{bucket}/{key}"))
        return True

    @contextmanager
    def local_path(self, bucket: str, key: str) -> Iterator[Path]:
        """See `BlobStore.local_path`."""
        path, size = self._find(bucket, key)
        with tempfile.NamedTemporaryFile(dir=self._spool_dir, prefix="tgv-") as file:
            digest = hashlib.sha256()
            for piece in self._ranges(path, size):
                digest.update(piece)
                _spool(file, piece)
            if digest.hexdigest() != model.sha256_of(key):
                raise damaged(path, f"it hashes to {digest.hexdigest()}")
            yield Path(file.name)

    def _enter(self, bucket: str) -> None:
        """Make sure once that the bucket lies in a store, and sweep it."""
        self._confirm(bucket)
        if bucket not in self._swept:
            self._sweep(bucket)
            self._swept.add(bucket)

    def _sweep(self, bucket: str) -> None:
        """Remove unfinished uploads; a login that may not do so can still store."""
        try:
            self._retry.run(lambda: self._driver.sweep(bucket, self._stale_seconds))
        except (StoreDenied, StoreFailed) as error:
            _log.warning("unfinished uploads in %s stay: %s", bucket, error)

    def _confirm(self, bucket: str) -> None:
        """Look once whether the place is the store; only the first contact may set one up."""
        model.check_bucket(bucket)
        if bucket not in self._known:
            create = self._create and not self._known
            self._retry.run(lambda: self._driver.settle(bucket, create=create))
            self._known.add(bucket)

    def _size(self, bucket: str, name: str) -> int | None:
        """Return the size, None when the store is there and the file is not."""
        self._confirm(bucket)
        size = self._retry.run(lambda: self._driver.stat(f"{bucket}/{name}"))
        if size is None:
            self._retry.run(lambda: self._driver.settle(bucket, create=False))
        return size

    def _find(self, bucket: str, key: str) -> tuple[str, int]:
        """Return path and size of a blob. Raises `BlobMissing`, `BadName`."""
        model.sha256_of(key)
        return self._locate(bucket, key)

    def _locate(self, bucket: str, name: str) -> tuple[str, int]:
        size = self._size(bucket, name)
        if size is None:
            raise missing(f"{bucket}/{name}")
        return f"{bucket}/{name}", size

    def _measure(self, bucket: str, key: str) -> Content:
        return self._hash(*self._find(bucket, key))

    def _walk(self, bucket: str, prefix: str) -> Iterator[str]:
        self._confirm(bucket)
        found = False
        for entry in self._driver.walk(f"{bucket}/{prefix}", self._retry):
            found = True
            yield entry.path.removeprefix(f"{bucket}/")
        if not found:
            self._retry.run(lambda: self._driver.settle(bucket, create=False))

    def _put_file(self, bucket: str, name: str, copy: Spooled) -> bool:
        """Store a file under its final name; False when the same content is there already."""
        path = f"{bucket}/{name}"
        there = self._retry.run(lambda: self._driver.stat(path)) is not None
        if not there and self._send_new(bucket, path, copy):
            return True
        require_same(path, self._hash_whole(path), copy.content)
        return False

    def _send_new(self, bucket: str, path: str, copy: Spooled) -> bool:
        """Send, read back, publish; False when somebody else was first."""
        if not self._driver.stages:
            return self._send(path, copy) and self._read_back(path, copy.content)
        staged = f"{bucket}/{model.INCOMING}/{uuid.uuid4().hex}.part"
        published = False
        try:
            self._send(staged, copy)
            self._read_back(staged, copy.content)
            published = self._retry.run(lambda: self._driver.publish(staged, path))
        finally:
            if not published:
                self._discard(staged)
        return published

    def _send(self, path: str, copy: Spooled) -> bool:
        def attempt() -> bool:
            copy.file.seek(0)
            return self._driver.send(path, copy.file, copy.content.size)

        return self._retry.run(attempt)

    def _read_back(self, path: str, content: Content) -> bool:
        """Hash what was sent; what is wrong twice in the same way is removed.

        Twice, because under a final name another writer may have found it right meanwhile.
        Raises `ReadBackMismatch`.
        """
        found = self._hash_whole(path)
        if found == content:
            return True
        again = self._hash_whole(path)
        if again == content:
            return True
        if again == found:
            self._discard(path)
        raise ReadBackMismatch(
            f"{path} was sent and reads back as {again.sha256} ({again.size} bytes)",
            "Check the store and the way to it; nothing was stored",
        )

    def _discard(self, path: str) -> None:
        with suppress(StoreError):  # the error on the way counts; the sweep removes the rest
            self._driver.remove(path)

    def _hash_whole(self, path: str) -> Content:
        size = self._retry.run(lambda: self._driver.stat(path))
        if size is None:
            return Content(hashlib.sha256().hexdigest(), -1)
        return self._hash(path, size)

    def _hash(self, path: str, size: int) -> Content:
        digest = hashlib.sha256()
        for piece in self._ranges(path, size):
            digest.update(piece)
        return Content(digest.hexdigest(), size)

    def _ranges(self, path: str, size: int) -> Iterator[bytes]:
        for start in range(0, size, RANGE):
            yield self._fetch(path, start, min(RANGE, size - start))

    def _fetch(self, path: str, start: int, length: int) -> bytes:
        """Return exactly these bytes. A shorter answer is a fault of the way, not of the blob."""

        def attempt() -> bytes:
            data = self._driver.fetch(path, start, length)
            if len(data) != length:
                raise StoreUnreachable(
                    f"{path} ended after {start + len(data)} bytes on the way",
                    "Check the connection to the store",
                )
            return data

        return self._retry.run(attempt)


class _RangeReader(io.RawIOBase):
    """A seekable raw reader that asks for ranges; each is retried on its own."""

    def __init__(self, fetch: Callable[[int, int], bytes], size: int) -> None:
        super().__init__()
        self._fetch = fetch
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError("seek before the first byte")
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        length = max(0, min(len(buffer), RANGE, self._size - self._at))
        if length:
            buffer[:length] = self._fetch(self._at, length)
            self._at += length
        return length

    def readall(self) -> bytes:
        pieces = iter(lambda: self.read(RANGE), b"")
        return b"".join(piece or b"" for piece in pieces)


class PerThread(Generic[T]):
    """One connection for each thread and process, opened when it is first needed."""

    def __init__(self, connect: Callable[[], T], close: Callable[[T], None]) -> None:
        self._connect = connect
        self._close = close
        self._local = threading.local()

    def get(self) -> T:
        """Return the connection of this thread; a forked child does not use its parent's."""
        connection = self.peek()
        if connection is None:
            connection = self._connect()
            self._local.connection = connection
            self._local.pid = os.getpid()
        return connection

    def peek(self) -> T | None:
        """Return the connection if there is one."""
        mine = getattr(self._local, "pid", None) == os.getpid()
        return self._local.connection if mine else None

    def drop(self) -> None:
        """Close the connection, so that the next use opens a new one."""
        connection = self.peek()
        self._local.pid = None
        self._local.connection = None
        if connection is not None:
            self._close(connection)


def _spool(file: "tempfile._TemporaryFileWrapper[bytes]", piece: bytes) -> None:
    try:
        file.write(piece)
        file.flush()
    except OSError as error:
        raise from_os_error(error, "writing the spool file") from error
