"""What the two protocols with directories and renames share (SFTP, WebDAV).

Belongs here: the marker of a store, making directories, walking, sweeping. Does not belong here:
any request; the driver modules send them.
"""

import io
import json
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import BinaryIO

from tgv_dagster.store.blobs import model
from tgv_dagster.store.blobs.errors import StoreNotThere
from tgv_dagster.store.blobs.remote import RetryPolicy
from tgv_dagster.store.blobs.walk import Entry, walk_tree


class StagingDriver(ABC):
    """Temporary file, read back, rename: the base of the drivers with directories.

    root: the directory of the store on the server, without a slash at its end.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._made: set[str] = set()

    @property
    def stages(self) -> bool:
        """A file is sent under a temporary name."""
        return True

    @abstractmethod
    def stat(self, path: str) -> int | None:
        """See `Driver.stat`."""

    @abstractmethod
    def send(self, path: str, file: BinaryIO, size: int) -> bool:
        """See `Driver.send`."""

    @abstractmethod
    def publish(self, staged: str, final: str) -> bool:
        """See `Driver.publish`."""

    @abstractmethod
    def remove(self, path: str) -> bool:
        """See `Driver.remove`."""

    @abstractmethod
    def make_directory(self, path: str) -> bool:
        """Make one directory at an absolute path, or find it; False when its parent is missing."""

    @abstractmethod
    def list_directory(self, path: str) -> list[Entry] | None:
        """List the directory at a store path with bare names, None when there is none."""

    def settle(self, bucket: str, *, create: bool) -> None:
        """See `Driver.settle`. The marker tells a store from the place where one is mounted."""
        if self.stat(model.MARKER) is not None:
            return
        if not create:
            raise StoreNotThere(
                f"{self._root} is not there or holds no store",
                f"Mount the volume on the server; a store has the file {model.MARKER} in its root",
            )
        self._make_absolute(self._root)
        note = json.dumps({"format": 1, "id": str(uuid.uuid4())}).encode()
        staged = f"{model.MARKER}.{uuid.uuid4().hex}"
        self.send(staged, io.BytesIO(note), len(note))
        if not self.publish(staged, model.MARKER):
            self.remove(staged)

    def walk(self, prefix: str, retry: RetryPolicy) -> Iterator[Entry]:
        """See `Driver.walk`."""
        return walk_tree(lambda path: retry.run(lambda: self.list_directory(path)), prefix)

    def sweep(self, bucket: str, stale_seconds: float) -> int:
        """See `Driver.sweep`. A server's clock may differ from ours, so the age is generous."""
        incoming = f"{bucket}/{model.INCOMING}"
        limit = time.time() - stale_seconds
        entries = self.list_directory(incoming) or []
        stale = [entry for entry in entries if not entry.is_directory and entry.modified < limit]
        return sum(self.remove(f"{incoming}/{entry.path}") for entry in stale)

    def absolute(self, path: str) -> str:
        """Return the path on the server for a path in the store."""
        return f"{self._root}/{path}" if path else self._root

    def make_parents(self, path: str) -> None:
        """Make the directories a store path needs.

        A new bucket needs the marker, so that nothing is written where no store is mounted.
        """
        parent = path.rpartition("/")[0]
        if not parent or parent in self._made:
            return
        bucket = parent.partition("/")[0]
        if bucket not in self._made:
            self.settle(bucket, create=False)
        self._make_absolute(self.absolute(parent))
        self._made.update({bucket, parent})

    def forget_directories(self) -> None:
        """Look at the directories again: one that was there is gone."""
        self._made.clear()

    def _make_absolute(self, path: str) -> None:
        """Make a directory and what is missing above it."""
        if self.make_directory(path):
            return
        parent = path.rpartition("/")[0]
        if not parent:
            raise StoreNotThere(
                f"{path} cannot be made on the server", "Check the path in the store's address"
            )
        self._make_absolute(parent)
        if not self.make_directory(path):
            raise StoreNotThere(
                f"{path} vanished while it was made", "Check that the volume stays mounted"
            )
