"""The embedded server starts whatever a killed start or a killed server left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from shared_builders import server_directory

from tgv_dagster.store import embedded

START = (
    "import sys; from pathlib import Path; from tgv_dagster.store import embedded;"
    " embedded.start(Path(sys.argv[1]), shared_buffers_mb=16)"
)


@pytest.fixture
def place() -> Iterator[Path]:
    with server_directory() as data_dir:
        yield data_dir


@contextmanager
def stranger() -> Iterator[int]:
    """A process of the user Postgres runs as, which is no Postgres."""
    user = "pgserver" if os.geteuid() == 0 else None
    with subprocess.Popen(["sleep", "600"], user=user) as process:
        yield process.pid
        process.kill()


def answers(data_dir: Path) -> bool:
    with psycopg.connect(embedded.start(data_dir, shared_buffers_mb=16)) as connection:
        return connection.execute("SELECT 1").fetchone() == (1,)


def test_a_start_killed_while_the_directory_is_made_is_made_good(place: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", START, str(place)], start_new_session=True)
    while not list(place.parent.glob(f"*{place.name}*/PG_VERSION")):
        assert process.poll() is None
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()

    assert answers(place)
    assert [path.name for path in place.parent.iterdir() if path.is_dir()] == [place.name]


@pytest.mark.parametrize("first_line", ["{pid}\n", "", "no number\n"])
def test_locks_of_a_server_that_is_gone_do_not_stop_the_next(place: Path, first_line: str) -> None:
    assert answers(place)
    kept = (place / "postmaster.pid").read_text().partition("\n")[2]
    embedded.stop(place)
    with stranger() as pid:
        left = first_line.format(pid=pid)
        (place / "postmaster.pid").write_text(left + (kept if left else ""))
        (place / ".s.PGSQL.5432.lock").write_text(left)

        assert answers(place)


def test_a_killed_server_is_started_again_with_its_data(place: Path) -> None:
    with psycopg.connect(embedded.start(place, shared_buffers_mb=16)) as connection:
        connection.execute("CREATE TABLE kept (n int)")
    os.kill(int((place / "postmaster.pid").read_text().splitlines()[0]), signal.SIGKILL)

    with psycopg.connect(embedded.start(place, shared_buffers_mb=16)) as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)
