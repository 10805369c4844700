"""Blobs in a directory of this machine or of a mounted volume.

Belongs here: the order of system calls that makes a blob durable (RAW-01, RAW-02). Does not
belong here: naming (model.py), reading the source (source.py), anything remote.

Under the root: `tgv-store.json` (the marker of a store), and per bucket `sha256/ab/cd/<hash>`,
`manifests/<name>` and `incoming/` for files being written. The marker is what tells an empty
store from a volume that is not mounted.
"""

import errno
import fcntl
import hashlib
import json
import os
import stat
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from tgv_dagster.store.blobs import model
from tgv_dagster.store.blobs.common import StoreBase, missing, require_same
from tgv_dagster.store.blobs.errors import (
    BlobMissing,
    ContentConflict,
    ReadBackMismatch,
    StoreFailed,
    StoreNotThere,
    from_os_error,
)
from tgv_dagster.store.blobs.source import CHUNK, Content, pour
from tgv_dagster.store.blobs.walk import Entry, walk_tree

_STALE_SECONDS = 3600.0
_SETTLED_MAX = 20_000
_GROUP = 128
"""Files that are made durable together at most; each is open until then."""
_WAITERS = 8
"""Threads that wait for the disk, when there is as much to wait for."""
_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_NO_DIRECTORY_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)

_Each = Callable[[Callable[[Any], None], Collection[Any]], None]
"""Calls the first on each of the second."""


class Step(StrEnum):
    """The boundaries between the steps of writing one file, in their order."""

    TEMP_CREATED = "temp created"
    WRITTEN = "written"
    SYNCED = "synced"
    READ_BACK = "read back"
    LINKED = "linked"
    DIRECTORY_SYNCED = "directory synced"
    TEMP_REMOVED = "temp removed"


@dataclass(frozen=True, slots=True)
class Swept:
    """What the sweep of unfinished files found: removed, and kept as young or still written."""

    removed: int
    kept: int


@dataclass(frozen=True, slots=True)
class _Temp:
    fd: int
    path: Path


@dataclass(frozen=True, slots=True)
class _Written:
    """A file that is written and not durable yet, with the name it is to get."""

    temp: _Temp
    final: Path
    content: Content


class _Sink:
    """Writes to a file and starts its way to the device early, so that the sync waits less."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._written = 0
        self._started = 0

    def write(self, piece: memoryview) -> None:
        _write_all(self._fd, piece)
        self._written += len(piece)
        if self._written - self._started >= CHUNK:
            length = self._written - self._started
            _begin_writing_back(self._fd, self._started, length)
            self._started = self._written


class LocalBlobStore(StoreBase):
    """A `BlobStore` in a directory.

    create: set the store up when the directory carries no marker yet; False when the caller knows
    that blobs must be there, so that an unmounted volume is an error and not a new store.
    stale_seconds: age from which an unfinished file without a living writer is removed.
    on_step: called after each step of a write, for fault injection.
    Raises `StoreNotThere`, `StoreDenied`, `StoreReadOnly`.
    """

    def __init__(
        self,
        root: Path,
        *,
        region: str | None = None,
        create: bool = True,
        stale_seconds: float = _STALE_SECONDS,
        on_step: Callable[[Step], None] | None = None,
    ) -> None:
        self._root = root.absolute()
        self._region = region
        self._on_step = on_step or _no_step
        self._settled: set[Path] = set()
        self._directory_sync = True
        if create:
            self._set_up()
        self._require_root()
        self.swept = self._sweep(stale_seconds)

    @property
    def url(self) -> str:
        """The root as a file address."""
        return self._root.as_uri()

    @property
    def region(self) -> str | None:
        """The region as declared for the machine or volume."""
        return self._region

    @property
    def durability(self) -> model.Durability:
        """File and directory are synced; the file is read from the device again."""
        done = model.Assurance.DONE
        return model.Durability(
            fsynced=done if self._directory_sync else model.Assurance.NOT_OFFERED,
            atomic_rename=done,
            read_back=done,
            no_overwrite=done,
            encrypted=True,
            region=self._region,
        )

    def put(
        self, bucket: str, source: BinaryIO | Path, *, expected_sha256: str | None = None
    ) -> model.StoredBlob:
        """See `BlobStore.put`."""
        (stored,) = self._put_group([model.Incoming(bucket, source, expected_sha256)])
        return stored

    def put_all(self, incoming: Iterable[model.Incoming]) -> tuple[model.StoredBlob, ...]:
        """See `BlobStore.put_all`; the disk is waited for once a group and not once a file."""
        feed = iter(incoming)
        stored: list[model.StoredBlob] = []
        while group := self._put_group(islice(feed, _GROUP)):
            stored += group
        return tuple(stored)

    def open(self, bucket: str, key: str) -> BinaryIO:
        """See `BlobStore.open`."""
        path = self._blob(bucket, key)
        with self._finding(path):
            return os.fdopen(_open_to_read(path), "rb")

    def read_range(self, bucket: str, key: str, start: int, length: int) -> bytes:
        """See `BlobStore.read_range`."""
        model.check_range(start, length)
        with self.open(bucket, key) as file, _typed(f"reading {key}"):
            file.seek(start)
            return file.read(length)

    def size(self, bucket: str, key: str) -> int:
        """See `BlobStore.size`."""
        path = self._blob(bucket, key)
        with self._finding(path):
            return path.lstat().st_size

    def put_sidecar(self, bucket: str, name: str, content: bytes) -> None:
        """See `BlobStore.put_sidecar`."""
        home, final = self._sidecar(bucket, name)
        self._create_files(home, [(final, content)])

    def put_sidecars(self, sidecars: Iterable[model.Sidecar]) -> tuple[bytes, ...]:
        """See `BlobStore.put_sidecars`; the disk is waited for once a group."""
        feed = iter(sidecars)
        standing: list[bytes] = []
        while group := list(islice(feed, _GROUP)):
            standing += self._put_new_sidecars(group)
        return tuple(standing)

    def read_sidecar(self, bucket: str, name: str) -> bytes:
        """See `BlobStore.read_sidecar`."""
        path = self._bucket(bucket) / model.MANIFESTS / model.check_sidecar(name)
        with self._finding(path), os.fdopen(_open_to_read(path), "rb") as file:
            return file.read()

    def delete(self, bucket: str, key: str) -> bool:
        """See `BlobStore.delete`."""
        path = self._blob(bucket, key)
        try:
            with self._finding(path):
                path.unlink()
        except BlobMissing:
            return False
        with _typed(f"deleting {path}"):
            self._sync_directory(path.parent)
        return True

    @contextmanager
    def local_path(self, bucket: str, key: str) -> Iterator[Path]:
        """See `BlobStore.local_path`; the path of the blob itself, so only for reading."""
        self.size(bucket, key)
        yield self._blob(bucket, key)

    def _set_up(self) -> None:
        if self._marker.exists():
            return
        with _typed(f"setting up the store in {self._root}"):
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            note = json.dumps({"format": 1, "id": str(uuid.uuid4())}).encode()
            with suppress(ContentConflict):  # another process set it up at the same moment
                self._create_files(self._root, [(self._marker, note)])

    @property
    def _marker(self) -> Path:
        return self._root / model.MARKER

    def _require_root(self) -> None:
        """Raise `StoreNotThere` unless the root is a store, and not the place it is mounted on."""
        if not self._marker.is_file():
            raise StoreNotThere(
                f"{self._root} is not there or holds no store",
                f"Mount the volume; a store has the file {model.MARKER} in its root",
            )

    def _bucket(self, bucket: str) -> Path:
        return self._root / model.check_bucket(bucket)

    def _blob(self, bucket: str, key: str) -> Path:
        model.sha256_of(key)
        return self._bucket(bucket) / key

    def _home(self, bucket: str) -> Path:
        """Return the directory of the bucket for writing, after a look at the marker."""
        home = self._bucket(bucket)
        self._require_root()
        return home

    @contextmanager
    def _finding(self, path: Path) -> Iterator[None]:
        """Tell a missing file from a missing store, and type every other error."""
        try:
            with _typed(f"reading {path}", absent=False):
                yield
        except (FileNotFoundError, NotADirectoryError) as error:
            self._require_root()
            raise missing(str(path.relative_to(self._root))) from error

    @contextmanager
    def _temporary(self, home: Path) -> Iterator[_Temp]:
        """Lend a new file in the same file system, locked while its writer lives."""
        incoming = home / model.INCOMING
        self._make_directories(incoming)
        self._settled.add(incoming)  # its own entry need not be durable
        path = incoming / f"{uuid.uuid4().hex}.part"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(path, flags, 0o400)
        try:
            with suppress(OSError):  # no locks on this file system: the age protects the file
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield _Temp(fd, path)
        finally:
            with suppress(OSError):  # what cannot be removed now is swept later
                path.unlink()
            os.close(fd)

    def _put_group(self, incoming: Iterable[model.Incoming]) -> list[model.StoredBlob]:
        """Write every blob to a file of its own, then publish them together."""
        written: list[_Written] = []
        with ExitStack() as temporary:
            for one in incoming:
                home = self._home(one.bucket)
                with _typed(f"storing in {home}"):
                    temp = temporary.enter_context(self._temporary(home))
                    content = self._fill(temp, one.source)
                content.expect(one.expected_sha256)
                written.append(_Written(temp, home / model.blob_key(content.sha256), content))
            with _typed(f"storing in {self._root}"):
                created = self._publish(written)
        for _ in written:
            self._on_step(Step.TEMP_REMOVED)
        return [
            model.StoredBlob(
                model.blob_key(one.content.sha256),
                one.content.sha256,
                one.content.size,
                already_there=one.temp.fd not in created,
            )
            for one in written
        ]

    def _fill(self, temp: _Temp, source: BinaryIO | Path) -> Content:
        self._on_step(Step.TEMP_CREATED)
        content = pour(source, _Sink(temp.fd).write)
        self._on_step(Step.WRITTEN)
        return content

    def _publish(self, written: Sequence[_Written]) -> set[int]:
        """Make the written files durable and give them their names; descriptors of the new ones."""
        levels = [level for one in written for level in self._make_directories(one.final.parent)]
        with _side_by_side(len(written)) as each:
            created = self._link([one for one in written if not os.path.lexists(one.final)], each)
            for one in written:
                if one.temp.fd not in created:
                    require_same(str(one.final), _hash_file(one.final), one.content)
            each(self._sync_directory, {one.final.parent: None for one in written})
            # After the sync above, so that a journalling file system has nothing left to write.
            self._settle(list(dict.fromkeys(levels)), each)
        for _ in written:
            self._on_step(Step.DIRECTORY_SYNCED)
        return created

    def _link(self, written: Sequence[_Written], each: _Each) -> set[int]:
        """Sync, read back, and name each file; descriptors of those that got their name."""
        for one in written:
            _begin_writing_back(one.temp.fd)
        each(os.fsync, [one.temp.fd for one in written])
        for _ in written:
            self._on_step(Step.SYNCED)
        each(_read_back, written)
        for _ in written:
            self._on_step(Step.READ_BACK)
        created: set[int] = set()
        for one in written:
            if _name_new(one.temp.path, one.final):
                created.add(one.temp.fd)
            self._on_step(Step.LINKED)
        return created

    def _sidecar(self, bucket: str, name: str) -> tuple[Path, Path]:
        model.check_sidecar(name)
        home = self._home(bucket)
        return home, home / model.MANIFESTS / name

    def _put_new_sidecars(self, sidecars: Sequence[model.Sidecar]) -> list[bytes]:
        """Create those that are not there yet; the content of each as it stands afterwards."""
        new: dict[Path, list[tuple[Path, bytes]]] = {}
        for one in sidecars:
            home, final = self._sidecar(one.bucket, one.name)
            if not os.path.lexists(final):
                new.setdefault(home, []).append((final, one.content))
        created: set[Path] = set()
        for home, files in new.items():
            try:
                self._create_files(home, files)
            except ContentConflict:  # somebody else was first with one of them
                for one in files:
                    with suppress(ContentConflict):
                        self._create_files(home, [one])
            else:
                created.update(final for final, _ in files)
        return [
            one.content
            if self._sidecar(one.bucket, one.name)[1] in created
            else self.read_sidecar(one.bucket, one.name)
            for one in sidecars
        ]

    def _create_files(self, home: Path, files: Sequence[tuple[Path, bytes]]) -> None:
        """Create small immutable files. Raises `ContentConflict` on other content."""
        written: list[_Written] = []
        with _typed(f"writing in {home}"), ExitStack() as temporary:
            for final, content in files:
                temp = temporary.enter_context(self._temporary(home))
                self._on_step(Step.TEMP_CREATED)
                _write_all(temp.fd, memoryview(content))
                self._on_step(Step.WRITTEN)
                digest = hashlib.sha256(content).hexdigest()
                written.append(_Written(temp, final, Content(digest, len(content))))
            self._publish(written)
        for _ in written:
            self._on_step(Step.TEMP_REMOVED)

    def _make_directories(self, directory: Path) -> list[Path]:
        """Create a directory under the root; return the levels whose entry is not durable yet.

        What an earlier write of this process made durable is not looked at again.
        """
        levels: list[Path] = []
        while directory != self._root and not self._is_settled(directory):
            levels.append(directory)
            directory = directory.parent
        for level in reversed(levels):
            with suppress(FileExistsError):
                level.mkdir(mode=0o700)
        return levels

    def _is_settled(self, directory: Path) -> bool:
        """Say whether a directory is known to be durable, and still there."""
        return directory in self._settled and directory.is_dir()

    def _settle(self, levels: list[Path], each: _Each) -> None:
        """Make the entries of new directories durable."""
        each(self._sync_directory, {level.parent: None for level in levels})
        if len(self._settled) > _SETTLED_MAX:
            self._settled.clear()
        self._settled.update(levels)

    def _sync_directory(self, directory: Path) -> None:
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        except OSError as error:
            if error.errno not in _NO_DIRECTORY_SYNC:
                raise
            self._directory_sync = False
        finally:
            os.close(fd)

    def _measure(self, bucket: str, key: str) -> Content:
        path = self._blob(bucket, key)
        with self._finding(path):
            return _hash_file(path)

    def _walk(self, bucket: str, prefix: str) -> Iterator[str]:
        home = self._bucket(bucket)
        self._require_root()
        for entry in walk_tree(lambda path: _list(home / path), prefix):
            yield entry.path

    def _sweep(self, stale_seconds: float) -> Swept:
        """Remove unfinished files of writers that are gone."""
        removed = kept = 0
        limit = time.time() - stale_seconds
        for path in self._root.glob(f"*/{model.INCOMING}/*.part"):
            if _remove_if_stale(path, limit):
                removed += 1
            else:
                kept += 1
        return Swept(removed, kept)


def _no_step(step: Step) -> None:
    """Do nothing between two steps."""


@contextmanager
def _typed(what: str, *, absent: bool = True) -> Iterator[None]:
    """Raise the typed error for an operating system error.

    absent=False leaves "no such file" to the caller, who knows what it means.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError) and not absent:
            raise
        raise from_os_error(error, what) from error


def _open_to_read(path: Path) -> int:
    """Open a regular file. Raises `StoreFailed` for anything else under that name."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise StoreFailed(f"{path} is no file", "Remove what stands there")
    return fd


def _write_all(fd: int, piece: memoryview) -> None:
    while piece:
        piece = piece[os.write(fd, piece) :]


@contextmanager
def _side_by_side(files: int) -> Iterator[_Each]:
    """Lend what syncs many targets at once, so that one flush of the device serves many of them."""
    if files < _WAITERS:
        yield _one_by_one
        return
    # Threads of this one call: a process that forks must not inherit a pool without its threads.
    with ThreadPoolExecutor(_WAITERS) as pool:

        def each(sync: Callable[[Any], None], targets: Collection[Any]) -> None:
            for done in [pool.submit(_one_by_one, sync, part) for part in _shares(targets)]:
                done.result()

        yield each


def _shares(targets: Collection[Any]) -> list[list[Any]]:
    everything = list(targets)
    return [everything[start::_WAITERS] for start in range(min(_WAITERS, len(everything)))]


def _one_by_one(sync: Callable[[Any], None], targets: Collection[Any]) -> None:
    for target in targets:
        sync(target)


def _begin_writing_back(fd: int, start: int = 0, length: int = 0) -> None:
    """Of a file that is being written Linux takes this advice as "begin"; length 0: to the end."""
    os.posix_fadvise(fd, start, length, os.POSIX_FADV_DONTNEED)


def _read_back(one: _Written) -> None:
    found = _hash_fd(one.temp.fd)
    if found != one.content:
        raise ReadBackMismatch(
            f"{one.final.name} was written and reads back as {found.sha256}",
            "Check the disk for errors; nothing was stored",
        )


def _hash_file(path: Path) -> Content:
    fd = _open_to_read(path)
    try:
        return _hash_fd(fd)
    finally:
        os.close(fd)


def _hash_fd(fd: int) -> Content:
    """Hash a file from its first byte, from the device and not from the page cache."""
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    digest = hashlib.sha256()
    buffer = memoryview(bytearray(min(CHUNK, os.fstat(fd).st_size + 1)))
    size = 0
    while count := os.preadv(fd, [buffer], size):
        digest.update(buffer[:count])
        size += count
    return Content(digest.hexdigest(), size)


def _name_new(temp: Path, final: Path) -> bool:
    """Give the file its final name; False when somebody was first. Never overwrites."""
    try:
        os.link(temp, final, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        return _rename_new(temp, final)
    return True


def _rename_new(temp: Path, final: Path) -> bool:
    """Rename where the file system has no hard links.

    The look before the rename leaves a gap, in which only a writer of the same content can come:
    the name is the hash, and side-cars have one writer each.
    """
    if os.path.lexists(final):
        return False
    temp.rename(final)
    return True


def _list(directory: Path) -> list[Entry] | None:
    """List a directory; None when there is none."""
    try:
        with _typed(f"listing {directory}", absent=False), os.scandir(directory) as entries:
            return [
                Entry(
                    entry.name,
                    is_directory=entry.is_dir(follow_symlinks=False),
                    modified=entry.stat(follow_symlinks=False).st_mtime,
                )
                for entry in entries
            ]
    except (FileNotFoundError, NotADirectoryError):
        return None


def _remove_if_stale(path: Path, limit: float) -> bool:
    """Remove an unfinished file that is older than `limit` and that no living writer locks.

    False for every file that is kept, one that cannot be looked at included.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        if os.fstat(fd).st_mtime >= limit:
            return False
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
    except OSError:
        return False
    finally:
        os.close(fd)
    return True
