"""What every store answers in the same way, whatever lies beneath it.

Belongs here: verdicts, listings and the verified copy, in terms of a few primitives. Does not
belong here: those primitives (local.py, remote.py).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from tgv_dagster.store.blobs import model
from tgv_dagster.store.blobs.errors import (
    BlobDamaged,
    BlobMissing,
    ContentConflict,
    HashMismatch,
    StoreError,
)
from tgv_dagster.store.blobs.source import Content
from tgv_dagster.store.blobs.walk import area_prefix


class StoreBase(ABC):
    """The part of `BlobStore` that is the same for a directory and for a server."""

    @abstractmethod
    def put(
        self, bucket: str, source: BinaryIO | Path, *, expected_sha256: str | None = None
    ) -> model.StoredBlob:
        """See `BlobStore.put`."""

    @abstractmethod
    def put_sidecar(self, bucket: str, name: str, content: bytes) -> None:
        """See `BlobStore.put_sidecar`."""

    @abstractmethod
    def read_sidecar(self, bucket: str, name: str) -> bytes:
        """See `BlobStore.read_sidecar`."""

    @abstractmethod
    def open(self, bucket: str, key: str) -> BinaryIO:
        """See `BlobStore.open`."""

    @abstractmethod
    def size(self, bucket: str, key: str) -> int:
        """See `BlobStore.size`."""

    @abstractmethod
    def _measure(self, bucket: str, key: str) -> Content:
        """Read the whole blob from the store. Raises `BlobMissing` and every other `StoreError`."""

    @abstractmethod
    def _walk(self, bucket: str, prefix: str) -> Iterator[str]:
        """Yield the paths inside a bucket that start with `prefix`, in ascending order."""

    def put_all(self, incoming: Iterable[model.Incoming]) -> tuple[model.StoredBlob, ...]:
        """See `BlobStore.put_all`."""
        return tuple(
            self.put(one.bucket, one.source, expected_sha256=one.expected_sha256)
            for one in incoming
        )

    def put_sidecars(self, sidecars: Iterable[model.Sidecar]) -> tuple[bytes, ...]:
        """See `BlobStore.put_sidecars`."""
        return tuple(self._first_sidecar(one) for one in sidecars)

    def _first_sidecar(self, one: model.Sidecar) -> bytes:
        try:
            return self.read_sidecar(one.bucket, one.name)
        except BlobMissing:
            with suppress(ContentConflict):  # somebody else creates it at this moment
                self.put_sidecar(one.bucket, one.name, one.content)
                return one.content
        return self.read_sidecar(one.bucket, one.name)

    def exists(self, bucket: str, key: str) -> bool:
        """See `BlobStore.exists`."""
        try:
            self.size(bucket, key)
        except BlobMissing:
            return False
        return True

    def verify(self, bucket: str, key: str) -> model.Verification:
        """See `BlobStore.verify`."""
        model.check_bucket(bucket)
        expected = model.sha256_of(key)
        try:
            found = self._measure(bucket, key)
        except BlobMissing:
            return model.Missing()
        except StoreError as error:
            return model.Unreachable(str(error))
        if found.sha256 != expected:
            return model.Damaged(expected, found.sha256, found.size)
        return model.Verified(found.sha256, found.size)

    def iter_keys(self, bucket: str, prefix: str = "") -> Iterator[str]:
        """See `BlobStore.iter_keys`."""
        scope = area_prefix(model.BLOBS, prefix)
        if scope is not None:
            yield from filter(model.is_key, self._walk(bucket, scope))

    def iter_strangers(self, bucket: str) -> Iterator[str]:
        """See `BlobStore.iter_strangers`."""
        ours = (f"{model.MANIFESTS}/", f"{model.INCOMING}/")
        for path in self._walk(bucket, ""):
            if not model.is_key(path) and not path.startswith(ours):
                yield path

    def iter_sidecars(self, bucket: str, prefix: str = "") -> Iterator[str]:
        """See `BlobStore.iter_sidecars`."""
        area = f"{model.MANIFESTS}/"
        for path in self._walk(bucket, area + prefix):
            yield path.removeprefix(area)

    def copy(self, bucket_from: str, key: str, bucket_to: str) -> model.StoredBlob:
        """See `BlobStore.copy`; the bytes pass through this machine, where they are hashed."""
        with self.open(bucket_from, key) as source:
            try:
                return self.put(bucket_to, source, expected_sha256=model.sha256_of(key))
            except HashMismatch as error:
                raise damaged(f"{bucket_from}/{key}", error.problem) from error


def missing(what: str) -> BlobMissing:
    """Return the error for a file that a reachable store does not have."""
    return BlobMissing(
        f"{what} is not in the store",
        "Restore it from the backup or store the original again",
    )


def damaged(what: str, found: str) -> BlobDamaged:
    """Return the error for a blob that does not hash to its name."""
    return BlobDamaged(f"{what} is damaged: {found}", "Restore it from the backup")


def require_same(what: str, found: Content, content: Content) -> None:
    """Raise `ContentConflict` unless what is there already is what was to be stored."""
    if found != content:
        raise ContentConflict(
            f"{what} holds other bytes ({found.sha256}) than those to be stored",
            "It is never overwritten: restore it from the backup or move it away, then store again",
        )
