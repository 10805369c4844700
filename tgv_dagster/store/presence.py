"""Names of workers, and which of them cannot come back.

A claim of a worker that is gone need not wait for the end of its lease. Only what this machine
knows for certain counts: a process that no longer exists, or a worker of this very process that
stopped without giving back. Nothing here reads or writes the database.
"""

from __future__ import annotations

import os
import socket
import uuid
from functools import cache
from pathlib import Path

_left: set[str] = set()


def worker_name() -> str:
    """A new name: machine, process, start of the process, and a random part."""
    pid = os.getpid()
    return f"{_machine()}:{pid}:{_start_of(pid)}:{uuid.uuid4().hex[:8]}"


def leave(name: str) -> None:
    """A worker of this process stops and could not give back what it held."""
    _left.add(name)


def has_left(name: str) -> bool:
    """Whether `leave` was called with this name, in this process."""
    return name in _left


def is_dead(name: str) -> bool:
    """Whether the process of that worker certainly exists no more; False when nothing is known."""
    machine, _, rest = name.rpartition("/")
    namespace, *process = rest.split(":")
    if f"{machine}/{namespace}" != _machine() or len(process) != 3 or not process[0].isdigit():
        return False
    return _start_of(int(process[0])) != process[1]


@cache
def _machine() -> str:
    """Host, boot and process namespace: together they say what a process number means."""
    boot = _read("/proc/sys/kernel/random/boot_id").strip()[:8]
    try:
        namespace = os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116 - no file, a handle
    except OSError:
        namespace = 0
    return f"{socket.gethostname()}/{boot}/{namespace}"


def _start_of(pid: int) -> str:
    """When the process began, in clock ticks; '' for one that is gone or a zombie."""
    facts = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return facts[19] if len(facts) > 19 and facts[0] not in "ZX" else ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
