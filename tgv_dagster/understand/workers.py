"""Reader processes: hostile files are read in limited, reusable, replaceable processes.

Here: starting, limiting, timing out, killing and renewing the processes, and the talk over their
pipes. Not here: reading (`extraction`). Run as a module, this file is such a process.
"""

import contextlib
import gc
import os
import queue
import resource
import selectors
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from pydantic import TypeAdapter

from tgv_dagster.arrive.filetype import Family, FileType
from tgv_dagster.understand.extracted import (
    MEMORY_REACHED,
    Extraction,
    ExtractionSettings,
    Status,
)

_LENGTH = struct.Struct("<I")
_RESULT_BYTES = 192 * 2**20
_OWN_BYTES = 100 * 2**20
_LEAST_BYTES = 320 * 2**20
_FILE_BYTES = 4 * 2**30
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TESSDATA_PREFIX", "LD_LIBRARY_PATH")


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of the pool: bytes for all processes together, seconds of one call, calls a process.

    `memory_bytes` is shared out evenly; a file that needs more gets it all, alone.
    """

    memory_bytes: int = 1400 * 2**20
    call_seconds: float = 600.0
    cpu_seconds: int = 600
    calls: int = 250


@dataclass(frozen=True, slots=True)
class _Call:
    path: Path
    file_type: FileType
    settings: ExtractionSettings


@dataclass(frozen=True, slots=True)
class _Start:
    memory_bytes: int
    cpu_seconds: int


_CALLS = TypeAdapter(_Call)
_STARTS = TypeAdapter(_Start)


class _DeadError(Exception):
    """The process ended or was ended; the message is the reason."""


class _Process:
    """One reader process and its pipes."""

    def __init__(self, limits: Limits, memory_bytes: int) -> None:
        root = str(Path(__file__).resolve().parents[2])
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        environment |= {
            "PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH")))),
            "OMP_THREAD_LIMIT": "1",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "MALLOC_ARENA_MAX": "2",
        }
        self.calls = 0
        self.memory_bytes = memory_bytes
        self._limits = limits
        self._process = subprocess.Popen(
            [sys.executable, "-m", __spec__.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
            bufsize=0,
        )
        self._send(_STARTS.dump_json(_Start(memory_bytes, limits.cpu_seconds)))

    def call(self, call: _Call) -> bytes:
        """The answer to one call. Raises _DeadError; the process is then of no more use."""
        self.calls += 1
        self._send(_CALLS.dump_json(call))
        deadline = time.monotonic() + self._limits.call_seconds
        length = _LENGTH.unpack(self._receive(_LENGTH.size, deadline))[0]
        if length > _RESULT_BYTES:
            raise _DeadError("the result is too large")
        return self._receive(length, deadline)

    def worn(self) -> bool:
        """Whether it has done its calls, or keeps more than half its memory between calls."""
        return self.calls >= self._limits.calls or self._resident() > self.memory_bytes // 2

    def end(self) -> None:
        """Kill the process with its children and collect it."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._process.wait()

    def _resident(self) -> int:
        try:
            pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        except (OSError, IndexError):
            return 0
        return int(pages) * resource.getpagesize()

    def _send(self, payload: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(_LENGTH.pack(len(payload)) + payload)
        except OSError:
            # It died before; reading from it will tell how.
            return

    def _receive(self, length: int, deadline: float) -> bytes:
        assert self._process.stdout is not None
        parts = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while len(parts) < length:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    seconds = self._limits.call_seconds
                    raise _DeadError(f"reading took longer than {seconds:g} seconds")
                block = os.read(self._process.stdout.fileno(), min(1 << 20, length - len(parts)))
                if not block:
                    raise _DeadError(self._epitaph())
                parts += block
        return bytes(parts)

    def _epitaph(self) -> str:
        code = self._process.wait()
        if -code == signal.SIGXCPU:
            return f"reading took more than {self._limits.cpu_seconds} CPU seconds"
        if code < 0:
            return f"the reader process died ({signal.Signals(-code).name})"
        return f"the reader process ended with code {code}"


class ExtractionPool:
    """A few reader processes, started when first needed; safe to use from several threads."""

    def __init__(
        self,
        settings: ExtractionSettings | None = None,
        *,
        workers: int | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.settings = settings or ExtractionSettings()
        self.limits = limits or Limits()
        most = max(1, self.limits.memory_bytes // _LEAST_BYTES)
        self.workers = max(1, min(workers or os.cpu_count() or 1, most))
        self._share = self.limits.memory_bytes // self.workers
        self._idle: queue.LifoQueue[_Process] = queue.LifoQueue()
        self._slots = threading.Semaphore(self.workers)
        self._alone = threading.Lock()
        self._closed = False

    def __enter__(self) -> "ExtractionPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all idle processes; the ones at work end with their call."""
        self._closed = True
        self._end_idle()

    def extract(
        self, source: Path, file_type: FileType, settings: ExtractionSettings | None = None
    ) -> Extraction:
        """Read one file in a process. Never raises for a file: a dead process is an outcome.

        A file that needs more than one process's share of memory is read once more, alone. A PDF
        whose reading died is read once more without OCR, so that its text layer is not lost.
        """
        call = _Call(source.resolve(), file_type, settings or self.settings)
        found, died = self._attempt(call)
        if found.reason == MEMORY_REACHED and self.workers > 1:
            found, died = self._attempt(call, alone=True)
        if not died or file_type.family is not Family.PDF or not call.settings.ocr:
            return found
        plain, _ = self._attempt(replace(call, settings=replace(call.settings, ocr=False)))
        if not plain.text.strip():
            return found
        reason = f"text layer only: {found.reason}"
        return replace(plain, status=Status.TRUNCATED, reason=reason)

    def extract_many(
        self, jobs: Iterable[tuple[Path, FileType]], settings: ExtractionSettings | None = None
    ) -> Iterator[tuple[Path, Extraction]]:
        """Read many files on all processes, in the order given, a few ahead of the consumer."""
        ahead: list[tuple[Path, Future[Extraction]]] = []
        with ThreadPoolExecutor(self.workers) as threads:
            for path, file_type in jobs:
                ahead.append((path, threads.submit(self.extract, path, file_type, settings)))
                if len(ahead) > 2 * self.workers:
                    first, future = ahead.pop(0)
                    yield first, future.result()
            for path, future in ahead:
                yield path, future.result()

    def _attempt(self, call: _Call, *, alone: bool = False) -> tuple[Extraction, bool]:
        """The outcome, and whether it is that the process died."""
        with self._room(alone=alone):
            process = self._process(self.limits.memory_bytes if alone else self._share)
            usable = False
            try:
                answer = process.call(call)
                usable = not alone and not process.worn()
            except _DeadError as error:
                return Extraction(Status.FAILED, str(error)), True
            finally:
                if usable and not self._closed:
                    self._idle.put(process)
                else:
                    process.end()
        return Extraction.from_json(answer), False

    @contextlib.contextmanager
    def _room(self, *, alone: bool) -> Iterator[None]:
        """One slot, or (one thread at a time) all of them, so that the memory is free."""
        if not alone:
            with self._slots:
                yield
            return
        with self._alone, contextlib.ExitStack() as taken:
            for _ in range(self.workers):
                taken.enter_context(self._slots)
            self._end_idle()
            yield

    def _process(self, memory_bytes: int) -> _Process:
        if memory_bytes == self._share:
            with contextlib.suppress(queue.Empty):
                return self._idle.get_nowait()
        return _Process(self.limits, memory_bytes)

    def _end_idle(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().end()


# --- inside the process --------------------------------------------------------------------------


def _serve() -> None:
    """Answer calls until the pipe closes; whoever owns the other end may die at any time."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    calls: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, calls), daemon=True).start()
    start = _STARTS.validate_json(calls.get())
    _limit(start)
    from tgv_dagster.understand.extraction import extract

    # Pages make many short-lived objects: searching them for cycles after every 700 costs much.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    while True:
        call = _CALLS.validate_json(calls.get())
        _renew_cpu(start.cpu_seconds)
        answer = extract(call.path, call.file_type, call.settings).to_json()
        answers.write(_LENGTH.pack(len(answer)))
        view = memoryview(answer)
        while view:
            view = view[answers.write(view) :]


def _listen(source: BinaryIO, calls: "queue.Queue[bytes]") -> None:
    """Read calls in a thread of its own: when the pipe closes, the process goes, busy or not."""
    while True:
        head = source.read(_LENGTH.size)
        payload = source.read(_LENGTH.unpack(head)[0]) if len(head) == _LENGTH.size else b""
        if not payload:
            os._exit(0)
        calls.put(payload)


def _limit(start: _Start) -> None:
    status = Path("/proc/self/statm")
    mapped = int(status.read_text().split()[0]) * resource.getpagesize() if status.exists() else 0
    most = mapped + max(64 * 2**20, start.memory_bytes - _OWN_BYTES)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES, _FILE_BYTES))


def _renew_cpu(seconds: int) -> None:
    """The soft limit counts from the start of the process, so it moves with every call."""
    used = sum(os.times()[:2])
    resource.setrlimit(resource.RLIMIT_CPU, (int(used) + seconds + 1, resource.RLIM_INFINITY))


if __name__ == "__main__":
    _serve()
