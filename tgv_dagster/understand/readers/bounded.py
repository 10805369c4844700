"""A piece of work in a forked process that is killed at a time limit.

Here: the fork, the answer through a pipe, the kill. Not here: the reader processes themselves
(`workers`), which run many files; this bounds one call inside such a process that keeps no limit
of its own, as Tesseract's search for the layout of a page.
"""

import os
import pickle
import resource
import select
import signal
import time
from collections.abc import Callable
from typing import NoReturn, TypeVar

from tgv_dagster.understand.extracted import ReaderError

T = TypeVar("T")


class TimeLimitError(ReaderError):
    """The work was killed at its time limit."""


class EngineDiedError(ReaderError):
    """The process of the work ended without an answer."""


def in_child(work: Callable[[], T], seconds: float, cpu_seconds: int) -> T:
    """The result of `work`, done in a copy of this process within both limits.

    The CPU limit tells a hopeless work from a busy machine, and holds also when this process dies.

    What this process holds (a loaded engine, an image) is shared and not copied. Raises
    TimeLimitError, EngineDiedError, MemoryError, and the ReaderError that the work raises.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        _answer(work, writing, cpu_seconds)
    os.close(writing)
    try:
        raw, in_time = _received(reading, time.monotonic() + seconds)
    finally:
        os.close(reading)
        os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not in_time or status == -signal.SIGXCPU:
        raise TimeLimitError("page time limit: the engine was stopped")
    if not raw:
        raise EngineDiedError("the process that read it died")
    done, result = pickle.loads(raw)
    if not done:
        raise result
    return result


def _received(reading: int, deadline: float) -> tuple[bytes, bool]:
    """All bytes until the other end closes, and whether it did so in time."""
    parts = bytearray()
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return b"", False
        block = os.read(reading, 1 << 20)
        if not block:
            return bytes(parts), True
        parts += block


def _answer(work: Callable[[], object], writing: int, cpu_seconds: int) -> NoReturn:
    """Work in the child and leave without any clean-up of what belongs to the parent."""
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
        try:
            answer = (True, work())
        except (ReaderError, MemoryError) as error:
            answer = (False, error)
        view = memoryview(pickle.dumps(answer))
        while view:
            view = view[os.write(writing, view) :]
    finally:
        os._exit(0)
