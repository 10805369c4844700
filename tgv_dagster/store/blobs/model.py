"""What every byte store has in common: names, answers, and the protocol.

Belongs here: how a blob is named, what a bucket may be called, the frozen answers of a store
and the `BlobStore` protocol (RAW-09, RAW-11, RAW-12). Does not belong here: any input or output.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, Protocol

from tgv_dagster.store.blobs.errors import BadName
from tgv_dagster.store.blobs.regions import RegionStanding, region_standing

BLOBS = "sha256"
MANIFESTS = "manifests"
INCOMING = "incoming"
MARKER = "tgv-store.json"

_SHA256 = re.compile(r"[0-9a-f]{64}")
_KEY = re.compile(rf"{BLOBS}/([0-9a-f]{{2}})/([0-9a-f]{{2}})/([0-9a-f]{{64}})")
_BUCKET = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?")
_SIDECAR_PART = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}")
_SIDECAR_MAX = 512


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """Where a blob stands now. `size` in bytes.

    `already_there`: the same bytes were complete under this key before, or a repeated upload
    found its own first attempt; either way nothing was overwritten.
    """

    key: str
    sha256: str
    size: int
    already_there: bool


@dataclass(frozen=True, slots=True)
class Incoming:
    """A blob to be stored; arguments as of `BlobStore.put`."""

    bucket: str
    source: BinaryIO | Path
    expected_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A small immutable file to be created beside the blobs."""

    bucket: str
    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Verified:
    """The blob was read completely and hashes to its name."""

    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Damaged:
    """The blob was read completely and does not hash to its name."""

    expected_sha256: str
    found_sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Missing:
    """The store was reached and has no such blob."""


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Nothing was measured, so the blob is neither there nor gone."""

    reason: str


Verification = Verified | Damaged | Missing | Unreachable


class Assurance(StrEnum):
    """How far a property of a store is known."""

    DONE = "done"
    PROMISED = "promised"
    NOT_OFFERED = "not offered"
    UNMEASURED = "unmeasured"


@dataclass(frozen=True, slots=True)
class Durability:
    """What a store does for a blob before `put` returns.

    fsynced: forced to stable storage. atomic_rename: the final name appears with the whole
    content or not at all. read_back: hashed again from the store. no_overwrite: the store itself
    refuses a second object under the same name. encrypted: the way to it is. region: as declared.
    """

    fsynced: Assurance
    atomic_rename: Assurance
    read_back: Assurance
    no_overwrite: Assurance
    encrypted: bool
    region: str | None

    @property
    def standing(self) -> RegionStanding:
        """Whether the declared region lies in the European Union (RAW-13)."""
        return region_standing(self.region)


class BlobStore(Protocol):
    """Content-addressed bytes in named buckets (RAW-11, RAW-12).

    Every method may raise `StoreError`: `BadName` for a name no store accepts, `StoreUnreachable`
    when nothing can be said, `StoreDenied`. An unreachable store never looks empty.
    """

    @property
    def url(self) -> str:
        """The address of the store, without any secret."""
        ...

    @property
    def region(self) -> str | None:
        """The region as declared for this store."""
        ...

    @property
    def durability(self) -> Durability:
        """What is known so far about how durable a put is."""
        ...

    def put(
        self, bucket: str, source: BinaryIO | Path, *, expected_sha256: str | None = None
    ) -> StoredBlob:
        """Store the bytes of `source` from its present position to its end (RAW-01).

        Streams in bounded memory. Raises `StoreFull`, `BlobTooLarge`, `StoreReadOnly`,
        `HashMismatch` (not `expected_sha256`), `SourceUnreadable`, `ReadBackMismatch`,
        `ContentConflict` (damaged bytes stand under the key). After an error nothing new is
        visible, with one exception: an error after the blob appeared leaves a complete blob.
        """
        ...

    def put_all(self, incoming: Iterable[Incoming]) -> tuple[StoredBlob, ...]:
        """Store many blobs as `put` does, in their order; what can be waited for together is.

        Sources are asked for one after the other and read before the next is asked for. After an
        error each blob is there whole or not at all.
        """
        ...

    def open(self, bucket: str, key: str) -> BinaryIO:
        """Open a blob for reading, seekable, in bounded memory. Raises `BlobMissing`."""
        ...

    def read_range(self, bucket: str, key: str, start: int, length: int) -> bytes:
        """Return up to `length` bytes from `start`, fewer only at the end of the blob.

        Raises `BlobMissing`.
        """
        ...

    def exists(self, bucket: str, key: str) -> bool:
        """Say whether a blob stands under the key; says nothing about its content."""
        ...

    def size(self, bucket: str, key: str) -> int:
        """Return the size in bytes. Raises `BlobMissing`."""
        ...

    def verify(self, bucket: str, key: str) -> Verification:
        """Read the whole blob and hash it again (RAW-15). Raises only `BadName`."""
        ...

    def iter_keys(self, bucket: str, prefix: str = "") -> Iterator[str]:
        """Yield the keys of a bucket that start with `prefix`, in ascending order."""
        ...

    def iter_strangers(self, bucket: str) -> Iterator[str]:
        """Yield the paths in a bucket that this store did not put there."""
        ...

    def put_sidecar(self, bucket: str, name: str, content: bytes) -> None:
        """Create a small immutable file; the same content again is fine.

        Raises `ContentConflict` when other content stands under `name`.
        """
        ...

    def put_sidecars(self, sidecars: Iterable[Sidecar]) -> tuple[bytes, ...]:
        """Create side-cars unless they are there; the content of each as it stands afterwards.

        The first content under a name wins: no `ContentConflict`.
        """
        ...

    def read_sidecar(self, bucket: str, name: str) -> bytes:
        """Return the content of a side-car. Raises `BlobMissing`."""
        ...

    def iter_sidecars(self, bucket: str, prefix: str = "") -> Iterator[str]:
        """Yield the names of the side-cars that start with `prefix`, in ascending order."""
        ...

    def copy(self, bucket_from: str, key: str, bucket_to: str) -> StoredBlob:
        """Copy a blob into another bucket, hashed on the way and read back there.

        Raises `BlobMissing`, `BlobDamaged` (the original is not what its name says).
        """
        ...

    def delete(self, bucket: str, key: str) -> bool:
        """Remove a blob for good; False when there was none. For the erasure flow alone."""
        ...

    def local_path(self, bucket: str, key: str) -> AbstractContextManager[Path]:
        """Lend a readable path to the blob for the duration of a `with` block.

        A remote blob is spooled to disk and hashed. Raises `BlobMissing`, `BlobDamaged`.
        """
        ...


def blob_key(sha256: str) -> str:
    """Return the key of the blob with this hash (64 lower-case hex digits)."""
    if not _SHA256.fullmatch(sha256):
        raise BadName(f"{sha256!r} is no SHA-256", "Give 64 lower-case hexadecimal digits")
    return f"{BLOBS}/{sha256[:2]}/{sha256[2:4]}/{sha256}"


def is_key(path: str) -> bool:
    """Say whether a path inside a bucket is the key of a blob."""
    match = _KEY.fullmatch(path)
    return match is not None and match[3].startswith(match[1] + match[2])


def sha256_of(key: str) -> str:
    """Return the hash a key stands for. Raises `BadName`."""
    if not is_key(key):
        raise BadName(f"{key!r} is no blob key", "Use the key that put() returned")
    return key[-64:]


def check_bucket(bucket: str) -> str:
    """Return the bucket name. Raises `BadName` for anything that could be a path.

    Lower case only, so that no two names meet on a file system that folds case.
    """
    if not _BUCKET.fullmatch(bucket):
        raise BadName(
            f"{bucket!r} is no bucket name",
            "Use 1 to 63 lower-case letters, digits, '-' or '_', beginning and ending with "
            "a letter or digit",
        )
    return bucket


def check_sidecar(name: str) -> str:
    """Return the side-car name: parts of lower-case letters, digits, '.', '-', '_' between '/'.

    Raises `BadName`.
    """
    if len(name) > _SIDECAR_MAX or not all(
        _SIDECAR_PART.fullmatch(part) for part in name.split("/")
    ):
        raise BadName(
            f"{name!r} is no side-car name",
            "Use lower-case letters, digits, '.', '-' and '_' in parts separated by '/'",
        )
    return name


def check_range(start: int, length: int) -> None:
    """Raise `BadName` for a byte range that lies before the first byte."""
    if start < 0 or length < 0:
        raise BadName(f"bytes {start} + {length} is no range", "Give numbers from 0 upwards")
