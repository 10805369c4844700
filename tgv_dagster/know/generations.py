"""Generations of a directory: build beside, switch with one rename, remove what nobody reads.

Here belong the symbolic link that names the generation in force, the lock of the single writer
and the shared locks of readers. All locks are `flock` locks: the kernel drops them when a process
is killed, so there is nothing to recover but leftover directories.
What does not belong here: what the directories hold (`words`).
"""

import fcntl
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_LINK = "current"
_WRITER_LOCK = "writer.lock"
_READERS_LOCK = "readers.lock"
_GENERATION = re.compile(r"gen-(\d+)")
_BUILDING, _TRASH, _NEW_LINK = "building-", "trash-", "current-new-"
_POLL_SECONDS = 0.02


class GenerationError(Exception):
    """Base of the errors of this module."""


class NoGeneration(GenerationError):
    """Nothing has been built here yet: not the same as an empty generation."""


class WriterBusy(GenerationError):
    """Another writer works here; try again later."""


@dataclass(slots=True)
class Held:
    """One generation held for reading: it is not removed before `release`."""

    path: Path
    _descriptor: int

    def release(self) -> None:
        """Let go; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


@dataclass(frozen=True, slots=True)
class Generations:
    """The generations below one directory."""

    root: Path

    def current(self) -> Path | None:
        """The generation in force, None before the first."""
        try:
            return self.root / os.readlink(self.root / _LINK)  # noqa: PTH115 - one call per search
        except FileNotFoundError:
            return None

    def hold(self) -> Held:
        """Hold the generation in force. Raises NoGeneration."""
        while True:
            path = self.current()
            if path is None:
                raise NoGeneration(str(self.root.name))
            try:
                descriptor = os.open(path / _READERS_LOCK, os.O_RDONLY)
            except FileNotFoundError:
                if self.current() == path:
                    raise NoGeneration(f"{self.root.name}: {path.name} is gone") from None
                continue
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            # Between reading the link and locking, the generation may have been swept away.
            if (path / _READERS_LOCK).exists():
                return Held(path, descriptor)
            os.close(descriptor)

    @contextmanager
    def writing(self, wait_seconds: float = 0.0) -> Iterator[None]:
        """Be the single writer. Raises WriterBusy after `wait_seconds`.

        Whatever a killed writer left behind is swept before the body runs.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.root / _WRITER_LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock_exclusively(descriptor, wait_seconds)
            self.sweep()
            yield
        finally:
            os.close(descriptor)

    def prepare(self) -> Path:
        """A new empty directory to build in; nobody sees it before `switch`. Needs `writing`."""
        path = self.root / f"{_BUILDING}{self._last_number() + 1:08d}"
        path.mkdir()
        (path / _READERS_LOCK).touch(mode=0o600)
        return path

    def switch(self, built: Path) -> Path:
        """Put a prepared directory in force with one atomic rename of the link; returns its final
        path. Needs `writing`. Readers see the old generation or the new one, nothing between.
        """
        number = built.name.removeprefix(_BUILDING)
        final = built.rename(self.root / f"gen-{number}")
        _sync_directory(final)
        link = self.root / f"{_NEW_LINK}{number}"
        link.unlink(missing_ok=True)
        link.symlink_to(final.name)
        link.replace(self.root / _LINK)
        _sync_directory(self.root)
        return final

    def discard(self, built: Path) -> None:
        """Remove a prepared directory that is not going to be switched to."""
        shutil.rmtree(built, ignore_errors=True)

    def sweep(self) -> tuple[str, ...]:
        """Remove leftovers of killed writers and old generations without a reader; returns their
        names. Needs `writing`. A generation still read stays for a later sweep.
        """
        current = self.current()
        removed: list[str] = []
        for path in sorted(self.root.iterdir()):
            if path.name.startswith(_NEW_LINK):
                path.unlink()
            elif path.name.startswith((_BUILDING, _TRASH)) or (
                _GENERATION.fullmatch(path.name) and path != current and self._retire(path)
            ):
                shutil.rmtree(path, ignore_errors=True)
                shutil.rmtree(self.root / f"{_TRASH}{path.name}", ignore_errors=True)
                removed.append(path.name)
        return tuple(removed)

    def _retire(self, path: Path) -> bool:
        """Take a generation out of reach, unless somebody reads it."""
        try:
            descriptor = os.open(path / _READERS_LOCK, os.O_RDONLY)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        else:
            path.rename(self.root / f"{_TRASH}{path.name}")
            return True
        finally:
            os.close(descriptor)

    def _last_number(self) -> int:
        numbers = (_GENERATION.fullmatch(path.name) for path in self.root.iterdir())
        return max((int(match.group(1)) for match in numbers if match), default=0)


def _lock_exclusively(descriptor: int, wait_seconds: float) -> None:
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise WriterBusy("another writer is at work") from None
            time.sleep(_POLL_SECONDS)
        else:
            return


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
