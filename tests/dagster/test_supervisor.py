"""Processes started together, watched, and stopped together."""

from __future__ import annotations

import os
import signal
import socket
import stat
import sys
import textwrap
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tgv_dagster.supervisor import PortBusy, ProcessEnded, Service, supervise


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _program(name: str, code: str, port: int | None = None) -> Service:
    return Service(name, (sys.executable, "-c", textwrap.dedent(code)), port)


def _server(name: str, port: int) -> Service:
    return _program(
        name,
        f"""
        import os, socket, time
        print("pid", os.getpid(), flush=True)
        s = socket.create_server(("127.0.0.1", {port}))
        while True:
            s.accept()[0].close()
        """,
        port,
    )


def _pid(logs: Path, name: str) -> int:
    return int((logs / f"{name}.log").read_text().split()[1])


def test_all_run_until_asked_to_end_and_none_is_left(tmp_path: Path) -> None:
    ready: list[bool] = []
    services = [_server("one", _free_port()), _server("two", _free_port())]
    supervise(services, tmp_path, on_ready=lambda: ready.append(True), until=lambda: bool(ready))
    assert ready == [True]
    for name in ("one", "two"):
        assert not psutil.pid_exists(_pid(tmp_path, name))


def test_a_busy_port_is_named_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortBusy, match=str(port)):
            supervise([_server("one", _free_port()), _server("two", port)], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_early_end_stops_the_others_and_names_the_log(tmp_path: Path) -> None:
    services = [_server("stays", _free_port()), _program("leaves", "raise SystemExit(3)")]
    with pytest.raises(ProcessEnded, match=r"leaves ended by itself \(code 3\)"):
        supervise(services, tmp_path)
    assert not psutil.pid_exists(_pid(tmp_path, "stays"))


def test_a_service_that_dies_before_it_answers_is_told(tmp_path: Path) -> None:
    dies = _program("dies", "raise SystemExit(1)", _free_port())
    with pytest.raises(ProcessEnded, match="dies"):
        supervise([dies], tmp_path)


def test_ctrl_c_ends_it_without_an_error_and_kills_what_does_not_listen(tmp_path: Path) -> None:
    stubborn = _program(
        "stubborn",
        """
        import os, signal, subprocess, sys, time
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        print("pid", child.pid, flush=True)
        time.sleep(600)
        """,
    )

    def interrupt() -> None:
        while not (tmp_path / "stubborn.log").exists() or not _has_line(tmp_path):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    supervise([stubborn], tmp_path, stop_seconds=0.5)
    _has_ended(_pid(tmp_path, "stubborn"))


def _has_ended(pid: int) -> None:
    """Nobody reaps a killed grandchild here, and the kernel needs a moment to end it."""
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        while process.status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)


def _has_line(logs: Path) -> bool:
    return (logs / "stubborn.log").read_text().endswith("\n")


def test_logs_are_for_their_owner_only_and_do_not_grow_for_ever(tmp_path: Path) -> None:
    log = tmp_path / "talks.log"
    log.write_bytes(b"x" * 6_000_000)
    done: list[bool] = []
    service = _server("talks", _free_port())
    supervise([service], tmp_path, on_ready=lambda: done.append(True), until=lambda: bool(done))
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert log.stat().st_size < 1000
    assert (tmp_path / "talks.log.1").stat().st_size == 6_000_000
