"""Files that change, are written to or come back while the gate works, and folders that refuse."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tgv_dagster.arrive.folder import FolderGate, FolderSettings
from tgv_dagster.arrive.gates import Taken, TakenStatus
from tgv_dagster.installation import Installation
from tgv_dagster.store.blobs import LocalBlobStore, Step, StoreFull
from tgv_dagster.store.blobs.errors import StoreNotThere


@pytest.fixture
def inbox(installation: Installation) -> Path:
    folder = installation.settings.inbox_path
    folder.mkdir(parents=True)
    return folder


def take(
    installation: Installation,
    *,
    on_step: Callable[[str], None] | None = None,
    on_blob_step: Callable[[Step], None] | None = None,
    limit: int = 1000,
    stable: float = 0.0,
    sleep: Callable[[float], None] = lambda _seconds: None,
) -> dict[str, Taken]:
    gate = FolderGate(
        installation.database,
        LocalBlobStore(Path(installation.settings.blob_target), on_step=on_blob_step),
        FolderSettings(installation.settings.inbox_path, stable_seconds=stable),
        on_step=on_step,
        sleep=sleep,
    )
    return {taken.name: taken for taken in gate.take(limit)}


def secured(installation: Installation) -> list[bytes]:
    """The bytes of every arrival, in the order of their arrival."""
    with installation.database.worker() as connection:
        rows = connection.execute(
            "SELECT r.storage_bucket, r.raw_key FROM arrivals a"
            " JOIN raw_items r ON r.id = a.raw_item_id ORDER BY a.id"
        ).fetchall()
    found = []
    for bucket, key in rows:
        with installation.blobs.open(bucket, key) as handle:
            found.append(handle.read())
    return found


def open_file_cases(installation: Installation) -> list[str]:
    with installation.database.worker() as connection:
        rows = connection.execute(
            "SELECT subject_key FROM cases WHERE subject_kind = 'file' AND state = 'open'"
        ).fetchall()
    return [row[0] for row in rows]


def at(step: str, act: Callable[[], object]) -> Callable[[str], None]:
    """Act at the first boundary of that name."""
    left = [act]

    def on_step(name: str) -> None:
        if name == step and left:
            left.pop()()

    return on_step


def test_a_file_that_changes_while_it_is_read_is_not_stored_as_a_mixture(
    installation: Installation, inbox: Path
) -> None:
    path = inbox / "liste.csv"
    path.write_bytes(b"a;b\n" * 1000)

    def grow(_step: Step) -> None:
        if _step is Step.TEMP_CREATED and path.stat().st_size < 5000:
            path.write_bytes(b"a;b\n" * 2000)

    assert take(installation, on_blob_step=grow)["liste.csv"].status is TakenStatus.WAITING
    assert secured(installation) == []
    assert take(installation)["liste.csv"].status is TakenStatus.TAKEN
    assert secured(installation) == [b"a;b\n" * 2000]
    assert open_file_cases(installation) == []


@pytest.mark.parametrize("step", ["after_raw", "before_move", "side_car_moved"])
def test_what_replaces_a_secured_file_before_it_is_moved_is_taken_too(
    installation: Installation, inbox: Path, step: str
) -> None:
    path = inbox / "brief.txt"
    path.write_bytes(b"first")
    (inbox / "brief.txt.intent.txt").write_text("Ablage")
    first = take(installation, on_step=at(step, lambda: path.write_bytes(b"second version")))
    assert first["brief.txt"].status is TakenStatus.TAKEN
    assert path.read_bytes() == b"second version"
    take(installation)
    assert secured(installation) == [b"first", b"second version"]
    assert not path.exists()
    with installation.database.worker() as connection:
        intents = connection.execute("SELECT intent_text FROM arrivals ORDER BY id").fetchall()
    assert intents == [("Ablage",), ("Ablage",)]


def test_a_file_that_somebody_still_writes_to_waits_however_long_it_rests(
    installation: Installation, inbox: Path
) -> None:
    path = inbox / "protokoll.txt"
    with path.open("wb") as writer:
        writer.write(b"erster Teil ")
        writer.flush()
        os.utime(path, (1, 1))
        waiting = take(installation)["protokoll.txt"]
        assert waiting.status is TakenStatus.WAITING
        assert "writing" in waiting.reason
        writer.write(b"zweiter Teil")
    assert take(installation)["protokoll.txt"].status is TakenStatus.TAKEN
    assert secured(installation) == [b"erster Teil zweiter Teil"]


def test_files_that_wait_never_keep_those_behind_them_from_being_taken(
    installation: Installation, inbox: Path
) -> None:
    for number in range(5):
        (inbox / f"a{number}.pdf").write_bytes(b"%PDF-1.4 and no end yet")
    for number in range(3):
        (inbox / f"b{number}.txt").write_bytes(b"text %d" % number)
    taken = take(installation, limit=2)
    assert sum(t.status is TakenStatus.TAKEN for t in taken.values()) == 2
    assert take(installation, limit=2)["b2.txt"].status is TakenStatus.TAKEN


def test_a_store_that_is_gone_stops_the_gate_and_is_no_fault_of_any_file(
    installation: Installation, inbox: Path
) -> None:
    (inbox / "a.txt").write_bytes(b"a")
    marker = Path(installation.settings.blob_target) / "tgv-store.json"
    hidden = marker.rename(marker.with_suffix(".away"))
    gate = FolderGate(
        installation.database, installation.blobs, FolderSettings(inbox, stable_seconds=0)
    )
    with pytest.raises(StoreNotThere):
        list(gate.take(10))
    assert open_file_cases(installation) == []
    hidden.rename(marker)
    assert [t.status for t in gate.take(10)] == [TakenStatus.TAKEN]


def test_a_full_disk_stops_the_gate_and_the_next_run_takes_the_file(
    installation: Installation, inbox: Path
) -> None:
    (inbox / "a.txt").write_bytes(b"a")

    def full(step: Step) -> None:
        if step is Step.WRITTEN:
            raise StoreFull("writing", "free space")

    with pytest.raises(StoreFull):
        take(installation, on_blob_step=full)
    assert (inbox / "a.txt").exists()
    assert open_file_cases(installation) == []
    assert take(installation)["a.txt"].status is TakenStatus.TAKEN


class Stopped(BaseException):
    """Ends the gate as a kill would, at a place of the test's choice."""


def stop() -> None:
    raise Stopped


@pytest.mark.parametrize("step", ["after_raw", "before_move", "side_car_moved"])
def test_a_secured_file_that_a_stopped_run_left_behind_is_moved_by_the_next(
    installation: Installation, inbox: Path, step: str
) -> None:
    (inbox / "a.txt").write_bytes(b"a")
    (inbox / "a.txt.intent.txt").write_text("alt")
    with pytest.raises(Stopped):
        take(installation, on_step=at(step, stop))
    assert (inbox / "a.txt").exists()
    assert take(installation) == {}
    assert sorted(p.name for p in (inbox / "processed").iterdir()) == [
        "a.txt",
        "a.txt.intent.txt",
    ]
    assert [p.name for p in inbox.iterdir()] == ["processed"]
    assert secured(installation) == [b"a"]


def test_the_case_of_a_file_ends_when_the_file_could_be_taken(
    installation: Installation, inbox: Path
) -> None:
    path = inbox / "a.txt"
    path.write_bytes(b"a")

    def swap() -> None:
        path.unlink()
        path.symlink_to("/etc/hostname")

    failed = take(installation, on_step=at("before_raw", swap))["a.txt"]
    assert failed.status is TakenStatus.FAILED
    assert str(inbox) not in failed.reason
    assert open_file_cases(installation) == ["a.txt"]
    path.unlink()
    path.write_bytes(b"a")
    take(installation)
    assert open_file_cases(installation) == []


def test_the_longest_names_are_moved_and_numbered_like_any_other(
    installation: Installation, inbox: Path
) -> None:
    longest = "ü" * 125 + ".txt"
    for content in (b"1", b"2", b"3"):
        (inbox / longest).write_bytes(content)
        assert take(installation)[longest].reason == ""
    kept = sorted(path.read_bytes() for path in (inbox / "processed").glob("*.txt"))
    assert kept == [b"1", b"2", b"3"]
