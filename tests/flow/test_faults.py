"""Faults of the installation in the middle of a batch: a clear error, nothing lost, and the next
run completes."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bad_files import permissions_count
from flow_walks import Batch, batch, check_finished, check_now, letter, put, rows, walk
from shared_builders import database_on, import_test_organisation

from tgv_dagster import flow
from tgv_dagster.installation import Installation
from tgv_dagster.know.generations import Generations
from tgv_dagster.settings import Settings
from tgv_dagster.store import embedded
from tgv_dagster.store.blobs import StoreDenied, StoreFull
from tgv_dagster.store.db import Database, DatabaseUnavailable
from tgv_dagster.store.pull import WAITING, Problem

HOME = "nord/nord-gmbh"


@contextmanager
def opened(url: str, home: Path, **more: object) -> Iterator[Installation]:
    """An installation with the test organisation."""
    settings = Settings(home=home, database_url=url, stable_seconds=0, workers=1, **more)  # pyright: ignore[reportCallIssue, reportArgumentType]
    installation = Installation.open(settings)
    import_test_organisation(installation.database)
    try:
        yield installation
    finally:
        installation.close()


# --- a full disk -------------------------------------------------------------------------------


@contextmanager
def tmpfs(place: Path, size: str) -> Iterator[Path]:
    """Mount a small file system. Raises CalledProcessError where this user may not."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    subprocess.run(mount, check=True, capture_output=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True, capture_output=True)


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _may_mount() -> bool:
    with tempfile.TemporaryDirectory() as scratch:
        try:
            with tmpfs(Path(scratch) / "probe", "64k"):
                return True
        except (subprocess.CalledProcessError, OSError):
            return False


MAY_MOUNT = _may_mount()
NO_LIMIT = resource.getrlimit(resource.RLIMIT_FSIZE)
FULL_DISK = "tmpfs of 2 MiB" if MAY_MOUNT else "file size limit of 128 KiB"


def large_files(count: int, size: int) -> Batch:
    """Files of no known kind that nothing can compress, each different."""
    return {f"{HOME}/{n:02}-gross.bin": b"\x00\x07" + os.urandom(size) for n in range(count)}


def inbox_of(installation: Installation) -> Path:
    return installation.settings.inbox_path


@pytest.mark.parametrize("way", [FULL_DISK])
def test_a_full_disk_stops_intake_and_the_next_run_takes_the_rest(
    database_url: str, tmp_path: Path, way: str
) -> None:
    files = large_files(8, 300_000)
    disk = tmp_path / "disk"
    room = tmpfs(disk, "2m") if MAY_MOUNT else file_size_limit(128 * 1024)
    with room, opened(database_url, tmp_path / "home", blob_url=str(disk)) as installation:
        put(inbox_of(installation), files)
        if MAY_MOUNT:
            with pytest.raises(StoreFull, match="free space"):
                flow.run_until_idle(installation)
            check_now(installation, files)
            assert 0 < len(rows(installation, "SELECT 1 FROM arrivals")) < len(files)
            subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        else:
            assert flow.take_folder(installation).outcomes == {"failed": len(files)}
            resource.setrlimit(resource.RLIMIT_FSIZE, NO_LIMIT)
        flow.run_until_idle(installation)
        check_finished(installation, files)
        must_have_no_file_case(installation)


def must_have_no_file_case(installation: Installation) -> None:
    found = rows(
        installation,
        "SELECT reason FROM cases WHERE subject_kind = 'file' AND state = 'open'",
    )
    assert found == []


def test_a_file_above_the_size_limit_is_named_and_the_others_are_taken(
    installation: Installation,
) -> None:
    files = large_files(1, 300_000) | {f"{HOME}/klein.txt": letter("klein")}
    put(inbox_of(installation), files)
    with file_size_limit(128 * 1024):
        report = flow.take_folder(installation)
    assert report.outcomes == {"failed": 1, "taken": 1}
    assert "file size limit" in report.problems[0].reason
    check_now(installation, files)
    flow.run_until_idle(installation)
    check_finished(installation, files)
    must_have_no_file_case(installation)


# --- a blob store that refuses -----------------------------------------------------------------


@contextmanager
def read_only(store: Path) -> Iterator[None]:
    """No directory of the store can be written to, not even by root."""
    folders = [store, *(path for path in store.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o500)
    try:
        with permissions_count():
            yield
    finally:
        for folder in folders:
            folder.chmod(0o700)


@pytest.mark.parametrize("after", ["nothing", "folder_arrivals", "mail_parts", "extracted_texts"])
def test_a_store_that_becomes_read_only_stops_the_run_and_holds_nothing_against_a_file(
    installation: Installation, after: str
) -> None:
    files = batch("00001")
    put(inbox_of(installation), files)
    names = ["nothing", *(step.name for step in flow.STEPS)]
    for step in flow.STEPS[: names.index(after)]:
        step.run(installation, None)
    store = Path(installation.settings.blob_target)
    with read_only(store), pytest.raises(StoreDenied, match="write access"):
        flow.run_until_idle(installation)
    check_now(installation, files)
    assert rows(installation, "SELECT 1 FROM flow_ledger WHERE attempt > 1") == []
    flow.run_until_idle(installation)
    check_finished(installation, files)
    must_have_no_file_case(installation)


# --- a database that stops ---------------------------------------------------------------------


def stop_at(server: Path, wanted: int) -> Callable[[object], None]:
    """Stop the server at the boundary of that number, from 1."""
    passed = 0

    def boundary(_name: object) -> None:
        nonlocal passed
        passed += 1
        if passed == wanted:
            embedded.stop(server)

    return boundary


def walk_until_the_server_stops(installation: Installation, server: Path, boundary: int) -> None:
    """A walk of a worker who gives up on a silent server after a second."""
    impatient = Database(installation.database.url, pool_size=2, patience=1.0)
    try:
        walk(
            Installation(installation.settings, impatient, installation.blobs),
            stop_at(server, boundary),
        )
    finally:
        impatient.close()


def test_a_database_that_stops_anywhere_loses_nothing_and_the_next_run_completes(
    server_dir: Path, tmp_path: Path
) -> None:
    url = database_on(embedded.start(server_dir, shared_buffers_mb=16), "postgres")
    with opened(url, tmp_path / "home") as installation:
        for number, boundary in enumerate((3, 70, 140)):
            files = batch(f"{number:05}")
            put(inbox_of(installation), files)
            with pytest.raises(DatabaseUnavailable, match="does not answer"):
                walk_until_the_server_stops(installation, server_dir, boundary)
            embedded.start(server_dir)
            check_now(installation, files)
            flow.run_until_idle(installation)
            check_finished(installation, files)
        assert rows(installation, "SELECT 1 FROM flow_ledger WHERE attempt > 1") == []


def test_a_database_that_comes_back_in_time_is_only_waited_for(
    server_dir: Path, tmp_path: Path
) -> None:
    url = embedded.start(server_dir, shared_buffers_mb=16)
    files = batch("00001")
    with opened(url, tmp_path / "home") as installation:
        put(inbox_of(installation), files)
        restarts = 0

        def restart(done: int, _total: int) -> None:
            nonlocal restarts
            if done == 2 and restarts < 3:
                embedded.stop(server_dir)
                embedded.start(server_dir)
                restarts += 1

        for step in flow.STEPS:
            step.run(installation, restart)
        flow.run_until_idle(installation)
        assert restarts == 3
        check_finished(installation, files)


# --- a word index in other hands ---------------------------------------------------------------


@contextmanager
def locked_by_another_process(index: Path) -> Iterator[None]:
    """Another process is writing to the word index until the block ends."""
    ready, done = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(done[1])
        with Generations(index).writing():
            os.write(ready[1], b"x")
            os.read(done[0], 1)
        os._exit(0)
    os.close(done[0])
    os.read(ready[0], 1)
    try:
        yield
    finally:
        os.close(done[1])
        os.waitpid(child, 0)
        for end in ready:
            os.close(end)


def test_a_locked_word_index_is_named_waited_for_and_caught_up(
    installation: Installation,
) -> None:
    files = batch("00001")
    put(inbox_of(installation), files)
    assert installation.words.count() == 0
    with locked_by_another_process(installation.settings.index_path):
        reports = flow.run_until_idle(installation)
    waited = [problem for report in reports for problem in report.problems if _waits(problem)]
    assert waited
    assert all("another writer" in problem.reason for problem in waited)
    check_now(installation, files)
    assert installation.words.count() == 0
    flow.run_until_idle(installation)
    check_finished(installation, files)


def _waits(problem: Problem) -> bool:
    return problem.outcome == WAITING
