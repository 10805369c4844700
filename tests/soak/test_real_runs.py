"""`make run` as a person starts it, killed with its whole process group, and started again."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest
from flow_walks import batch, came_out, check_finished, check_now, put, rows
from shared_builders import ORGANISATION

from tgv_dagster.installation import Installation
from tgv_dagster.settings import Settings
from tgv_dagster.store import embedded

PROJECT = Path(__file__).resolve().parent.parent.parent
KILLS = 6
SEED = random.SystemRandom().randrange(1 << 32)
"""Another one each time; pytest shows it when the proof fails."""

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]


@dataclass(frozen=True, slots=True)
class House:
    """A data folder and a person's own folder, both temporary."""

    home: Path
    inbox: Path

    def start(self) -> subprocess.Popen[bytes]:
        """`make run` in a process group of its own."""
        return subprocess.Popen(
            ["make", "run", f"INBOX={self.inbox}"],
            cwd=PROJECT,
            env=os.environ | {"TGV_HOME": str(self.home), "COLUMNS": "200"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def run_whole(self) -> str:
        """A run to its end; returns what it printed."""
        process = self.start()
        output = process.communicate()[0].decode()
        assert process.returncode == 0, output
        return output

    def run_and_kill(self, seconds: float) -> bool:
        """A run that is killed after so many seconds; False when it was done before."""
        process = self.start()
        try:
            process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            children = _own_processes(process.pid)
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            _, alive = psutil.wait_procs(children, timeout=20)
            assert not alive, f"still alive: {alive}"
            return True
        return False

    @contextmanager
    def opened(self) -> Iterator[Installation]:
        """The installation as it is, for looking."""
        installation = Installation.open(
            Settings(home=self.home, inbox=self.inbox, move_taken=False)  # pyright: ignore[reportCallIssue]
        )
        yield installation
        installation.close()


def _own_processes(pid: int) -> list[psutil.Process]:
    """What the run started, without the database, which is to outlive it."""
    children = psutil.Process(pid).children(recursive=True)
    return [child for child in children if "postgres" not in " ".join(child.cmdline())]


@contextmanager
def house() -> Iterator[House]:
    with TemporaryDirectory(prefix="tgv-soak-", ignore_cleanup_errors=True) as scratch:
        found = House(Path(scratch) / "home", Path(scratch) / "inbox")
        found.inbox.mkdir()
        (found.inbox / "organisation.yaml").write_text(ORGANISATION)
        yield found
        embedded.stop(found.home / "postgres")


def test_real_runs_are_killed_and_the_next_one_completes() -> None:
    chance = random.Random(SEED)
    with house() as untouched:
        put(untouched.inbox, batch("00001"))
        started = time.monotonic()
        untouched.run_whole()
        whole = time.monotonic() - started
        with untouched.opened() as installation:
            check_finished(installation, batch("00001"))
            expected = came_out(installation, "00001")

    with house() as killed:
        kills = number = 0
        while kills < KILLS:
            number += 1
            files = batch(f"{number:05}")
            put(killed.inbox, files)
            if not killed.run_and_kill(chance.uniform(1.0, whole)):
                continue
            kills += 1
            with killed.opened() as installation:
                check_now(installation, files)
        output = killed.run_whole()
        with killed.opened() as installation:
            for round_number in range(1, number + 1):
                name = f"{round_number:05}"
                check_finished(installation, batch(name))
                assert came_out(installation, name) == expected
            (arrived,) = rows(installation, "SELECT count(*) FROM arrivals")[0]
        assert str(arrived) in output
        assert killed.run_whole()
        with killed.opened() as installation:
            assert rows(installation, "SELECT count(*) FROM arrivals") == [(arrived,)]
