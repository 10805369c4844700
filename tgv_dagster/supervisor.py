"""A handful of long-running processes started together, watched, and stopped together.

Here belongs starting, logging, noticing an early end and stopping cleanly. Which processes the
product needs belongs to whoever calls `supervise`.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

START_SECONDS = 120.0
STOP_SECONDS = 15.0
LOG_BYTES = 5_000_000
"""A log longer than this is put aside; one former log is kept."""
_LOOK_SECONDS = 0.5
_ROTATE_SECONDS = 60.0


class PortBusy(RuntimeError):
    """A port is taken by another program; the message names it and the remedy."""


class ProcessEnded(RuntimeError):
    """A process ended by itself; the message names it and its log."""


@dataclass(frozen=True, slots=True)
class Service:
    """One process: what to run, what it is called, and the loopback port it answers on, if any."""

    name: str
    command: tuple[str, ...]
    port: int | None = None
    environment: dict[str, str] = field(default_factory=dict)


def require_free(ports: Sequence[int]) -> None:
    """Raise PortBusy when one of these loopback ports is taken."""
    for port in ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as error:
                raise PortBusy(
                    f"Port {port} is taken by another program. Stop it (perhaps another `tgv ui`),"
                    " or name another port with TGV_UI_PORT or TGV_HTTP_PORT."
                ) from error


def supervise(
    services: Sequence[Service],
    logs: Path,
    *,
    on_ready: Callable[[], None] = lambda: None,
    until: Callable[[], bool] = lambda: False,
    stop_seconds: float = STOP_SECONDS,
) -> None:
    """Start the services, wait until those with a port answer, run until Ctrl-C or one ends.

    Each writes to `<logs>/<name>.log`, readable by its owner only. On the way out all are told to
    stop and get `stop_seconds` for it. `until` is asked twice a second and ends it, too. Raises
    PortBusy, ProcessEnded.
    """
    require_free([service.port for service in services if service.port is not None])
    logs.mkdir(parents=True, exist_ok=True)
    put_long_logs_aside(logs)
    running: list[tuple[Service, subprocess.Popen[bytes]]] = []
    former = signal.signal(signal.SIGTERM, _interrupt)
    try:
        for service in services:
            running.append((service, _start(service, logs)))
            _await(running, service, logs)
        on_ready()
        rotated = time.monotonic()
        while not until():
            _require_alive(running, logs)
            if time.monotonic() - rotated > _ROTATE_SECONDS:
                put_long_logs_aside(logs)
                rotated = time.monotonic()
            time.sleep(_LOOK_SECONDS)
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, former)
        _stop([process for _, process in running], stop_seconds)


def put_long_logs_aside(logs: Path) -> None:
    """Copy each long log beside itself and empty it; who writes to it goes on at its new start."""
    for path in logs.glob("*.log"):
        if path.stat().st_size > LOG_BYTES:
            aside = path.with_suffix(".log.1")
            shutil.copyfile(path, aside)
            aside.chmod(0o600)
            os.truncate(path, 0)


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _start(service: Service, logs: Path) -> subprocess.Popen[bytes]:
    path = logs / f"{service.name}.log"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.fchmod(descriptor, 0o600)
    # Dagster's servers take SIGTERM as they take Ctrl-C, which a shell's background ignores.
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        # A session of its own: Ctrl-C reaches us alone, and we stop the rest in order.
        return subprocess.Popen(
            service.command,
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            env={**os.environ, **service.environment},
            start_new_session=True,
        )
    finally:
        signal.signal(signal.SIGINT, former)
        os.close(descriptor)


def _await(
    running: Sequence[tuple[Service, subprocess.Popen[bytes]]], service: Service, logs: Path
) -> None:
    if service.port is None:
        return
    deadline = time.monotonic() + START_SECONDS
    while not answers(service.port):
        _require_alive(running, logs)
        if time.monotonic() > deadline:
            raise ProcessEnded(
                f"{service.name} did not answer within {START_SECONDS:.0f} s; "
                f"see {logs / service.name}.log."
            )
        time.sleep(0.1)


def answers(port: int) -> bool:
    """Whether something listens on this loopback port."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _require_alive(running: Sequence[tuple[Service, subprocess.Popen[bytes]]], logs: Path) -> None:
    for service, process in running:
        if process.poll() is not None:
            raise ProcessEnded(
                f"{service.name} ended by itself (code {process.returncode}); "
                f"see {logs / service.name}.log."
            )


def _stop(processes: Sequence[subprocess.Popen[bytes]], seconds: float) -> None:
    """Ask all to stop, last started first; after the grace whole process groups are killed."""
    for process in reversed(processes):
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
    deadline = time.monotonic() + seconds
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(0.1, deadline - time.monotonic()))
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
