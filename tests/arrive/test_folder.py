"""The folder gate: nothing too early, nothing lost, nothing doubled (known-faults 76 to 86)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tgv_dagster.arrive.folder import (
    NOT_YET,
    PATIENCE_SECONDS,
    FolderGate,
    FolderSettings,
    place_of,
)
from tgv_dagster.arrive.gates import Taken, TakenStatus
from tgv_dagster.installation import Installation

PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\nstartxref\n9\n%%EOF\n"


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


def gate(
    installation: Installation,
    inbox: Path,
    *,
    move: bool = True,
    stable: float = 0.0,
    patience: float = PATIENCE_SECONDS,
    on_step: Callable[[str], None] | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.time,
) -> FolderGate:
    return FolderGate(
        installation.database,
        installation.blobs,
        FolderSettings(inbox, stable_seconds=stable, patience_seconds=patience, move=move),
        on_step=on_step,
        sleep=sleep,
        clock=clock,
    )


def put(inbox: Path, relative: str, data: bytes = b"Hallo") -> Path:
    path = inbox / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def take(installation: Installation, inbox: Path, **options: object) -> dict[str, Taken]:
    found = gate(installation, inbox, **options).take(1000)  # pyright: ignore[reportArgumentType]
    return {taken.name: taken for taken in found}


def arrivals(installation: Installation) -> list[tuple[str, str | None, str | None, str | None]]:
    with installation.database.worker() as connection:
        return connection.execute(
            "SELECT a.file_name, m.slug, a.entity_hint, a.intent_text FROM arrivals a"
            " LEFT JOIN mandanten m ON m.id = a.mandant_id ORDER BY a.id"
        ).fetchall()


def test_a_file_is_secured_and_then_moved(installation: Installation, inbox: Path) -> None:
    path = put(inbox, "nord/nord-gmbh/brief.txt")
    taken = take(installation, inbox)["nord/nord-gmbh/brief.txt"]
    assert taken.status is TakenStatus.TAKEN
    assert not path.exists()
    assert (inbox / "processed/nord/nord-gmbh/brief.txt").read_bytes() == b"Hallo"
    assert arrivals(installation) == [("brief.txt", "nord", "nord-gmbh", None)]


def test_folders_say_where_and_side_car_and_deeper_folders_say_why(
    installation: Installation, inbox: Path
) -> None:
    put(inbox, "nord/nord-gmbh/Kita Elbufer/Rechnungen/a.txt")
    put(inbox, "nord/nord-gmbh/Kita Elbufer/Rechnungen/a.txt.intent.txt", b"Schlussrechnung")
    put(inbox, "sued/_unsorted/b.txt", b"b")
    put(inbox, "irgendwo/c.txt", b"c")
    take(installation, inbox)
    assert sorted(arrivals(installation)) == [
        ("a.txt", "nord", "nord-gmbh", "Schlussrechnung\nKita Elbufer / Rechnungen"),
        ("b.txt", "sued", None, None),
        ("c.txt", None, None, "irgendwo"),
    ]
    (side_car,) = inbox.glob("**/*.intent.txt")
    assert "processed" in side_car.parts


def test_an_entity_of_another_tenant_is_no_hint() -> None:
    names = {"nord": frozenset({"nord-gmbh"}), "sued": frozenset({"haus-sued"})}
    place = place_of("nord/haus-sued/x.pdf", names)
    assert (place.mandant, place.entity, place.intent) == ("nord", None, "haus-sued")


def test_a_growing_file_waits_and_is_taken_whole_later(
    installation: Installation, inbox: Path
) -> None:
    path = put(inbox, "scan.pdf", PDF[:40])
    assert take(installation, inbox)["scan.pdf"].status is TakenStatus.WAITING
    path.write_bytes(PDF)
    assert take(installation, inbox)["scan.pdf"].status is TakenStatus.TAKEN
    assert len(arrivals(installation)) == 1


def test_a_file_that_changes_during_the_rest_waits(installation: Installation, inbox: Path) -> None:
    path = put(inbox, "liste.csv", b"a;b\n")
    waited: list[float] = []

    def grow(seconds: float) -> None:
        waited.append(seconds)
        with path.open("ab") as handle:
            handle.write(b"1;2\n")

    assert (
        take(installation, inbox, stable=5.0, sleep=grow)["liste.csv"].status is TakenStatus.WAITING
    )
    assert max(waited) > 1


def test_a_preallocated_file_of_zeros_waits(installation: Installation, inbox: Path) -> None:
    put(inbox, "scan.pdf", PDF[:20] + bytes(4000))
    assert take(installation, inbox)["scan.pdf"].status is TakenStatus.WAITING


def test_a_broken_file_is_taken_after_all_when_it_has_rested_long(
    installation: Installation, inbox: Path
) -> None:
    put(inbox, "broken.pdf", PDF[:40])
    later = time.time() + PATIENCE_SECONDS + 1
    taken = take(installation, inbox, clock=lambda: later)
    assert taken["broken.pdf"].status is TakenStatus.TAKEN


def test_a_short_patience_is_waited_for_in_the_same_look(
    installation: Installation, inbox: Path
) -> None:
    put(inbox, "broken.pdf", PDF[:40])
    put(inbox, "whole.pdf", PDF)
    waited: list[float] = []
    taken = take(
        installation, inbox, patience=20.0, sleep=waited.append,
        clock=lambda: time.time() + sum(waited),
    )  # fmt: skip
    assert {t.status for t in taken.values()} == {TakenStatus.TAKEN}
    assert list(taken) == ["whole.pdf", "broken.pdf"]


def test_bad_names_end_in_a_listed_outcome(installation: Installation, inbox: Path) -> None:
    names = ["a\nb.txt", "ü" * 100 + ".txt", "u\u0308.txt", "leer .txt", "-rf.txt", "$(x).txt"]
    for number, name in enumerate(names):
        put(inbox, name, f"inhalt {number}".encode())
    raw = os.fsencode(inbox) + b"/latin-\xe4.txt"
    Path(os.fsdecode(raw)).write_bytes(b"latin")
    taken = take(installation, inbox)
    assert {t.status for t in taken.values()} == {TakenStatus.TAKEN}
    assert len(arrivals(installation)) == len(names) + 1


def test_links_pipes_locks_and_downloads_are_skipped_with_a_reason(
    installation: Installation, inbox: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("geheim")
    (inbox / "link").symlink_to(outside)
    (inbox / "file-link.txt").symlink_to(outside / "secret.txt")
    os.mkfifo(inbox / "pipe")
    for name in ("~$brief.docx", "x.pdf.part", "y.crdownload", ".DS_Store", "Thumbs.db"):
        put(inbox, name)
    taken = take(installation, inbox)
    assert {t.status for t in taken.values()} == {TakenStatus.SKIPPED}
    assert all(t.reason for t in taken.values())
    assert len(taken) == 8
    assert arrivals(installation) == []


def test_what_was_not_taken_is_listed_with_its_reason(
    installation: Installation, inbox: Path
) -> None:
    put(inbox, "brief.txt")
    put(inbox, "organisation.yaml", b"mandanten: []")
    put(inbox, "nord/organisation.yaml", b"a document of somebody's own")
    (inbox / "link.txt").symlink_to(inbox / "brief.txt")
    take(installation, inbox, move=False)
    put(inbox, "spaeter.txt")
    left = gate(installation, inbox).left_lying()
    assert {name: lying.reason for lying in left for name in lying.names} == {
        "link.txt": "a symbolic link; links are not followed",
        "organisation.yaml": "the settings of this folder, no document",
        "spaeter.txt": NOT_YET,
    }


def test_a_file_that_vanishes_and_one_that_cannot_be_read_do_not_stop_the_next(
    installation: Installation, inbox: Path
) -> None:
    put(inbox, "a-vanishes.txt", b"1")
    put(inbox, "b-directory-gone/x.txt", b"2")
    put(inbox, "c-stays.txt", b"3")

    def vanish(step: str) -> None:
        if step == "before_raw":
            (inbox / "a-vanishes.txt").unlink(missing_ok=True)

    taken = take(installation, inbox, on_step=vanish)
    assert taken["a-vanishes.txt"].status is TakenStatus.SKIPPED
    assert taken["c-stays.txt"].status is TakenStatus.TAKEN


def test_a_file_that_cannot_be_opened_becomes_a_case(
    installation: Installation, inbox: Path
) -> None:
    """A directory put in the file's place stands for every open that fails (root reads all)."""
    path = put(inbox, "x.txt")
    put(inbox, "y.txt", b"other")

    def swap(step: str) -> None:
        if step == "before_raw" and path.is_file():
            path.unlink()
            path.symlink_to("/etc/hostname")

    taken = take(installation, inbox, on_step=swap)
    assert taken["x.txt"].status is TakenStatus.FAILED
    assert taken["y.txt"].status is TakenStatus.TAKEN
    with installation.database.worker() as connection:
        row = connection.execute("SELECT kind, subject_key, state FROM cases").fetchone()
    assert row == ("parked", "x.txt", "open")


def test_a_duplicate_is_taken_and_said_to_be_here(installation: Installation, inbox: Path) -> None:
    put(inbox, "nord/nord-gmbh/a.txt")
    take(installation, inbox)
    put(inbox, "nord/nord-gmbh/kopie.txt")
    assert take(installation, inbox)["nord/nord-gmbh/kopie.txt"].already_here


def test_a_second_look_finds_nothing_new_when_files_stay(
    installation: Installation, inbox: Path
) -> None:
    put(inbox, "a.txt")
    assert gate(installation, inbox, move=False).waiting()
    take(installation, inbox, move=False)
    assert not gate(installation, inbox, move=False).waiting()
    assert take(installation, inbox, move=False) == {}
    assert (inbox / "a.txt").exists()


def test_a_source_that_cannot_be_moved_stays_and_is_not_taken_twice(
    installation: Installation, inbox: Path
) -> None:
    put(inbox, "a.txt")
    (inbox / "processed").write_text("a file where the folder should be")
    taken = take(installation, inbox)["a.txt"]
    assert taken.status is TakenStatus.TAKEN
    assert "stays" in taken.reason
    assert "a.txt" not in take(installation, inbox)


def test_a_file_of_the_same_name_in_processed_is_never_overwritten(
    installation: Installation, inbox: Path
) -> None:
    for data in (b"1", b"2", b"3"):
        put(inbox, "a.txt", data)
        take(installation, inbox)
    kept = sorted(p.read_bytes() for p in (inbox / "processed").iterdir())
    assert kept == [b"1", b"2", b"3"]


def test_two_gates_on_one_folder_double_nothing(installation: Installation, inbox: Path) -> None:
    for number in range(30):
        put(inbox, f"{number}.txt", f"datei {number}".encode())
    threads = [
        threading.Thread(target=lambda: list(gate(installation, inbox).take(100))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(arrivals(installation)) == 30
    assert len(list((inbox / "processed").iterdir())) == 30


def test_a_whole_mail_goes_to_the_infrastructure_bucket(
    installation: Installation, inbox: Path
) -> None:
    put(
        inbox,
        "nord/mail.eml",
        b"From: a@b.example\r\nSubject: x\r\nDate: Mon, 2 Mar 2026 10:00:00 +0100\r\n\r\nHallo\r\n",
    )
    take(installation, inbox)
    with installation.database.worker() as connection:
        row = connection.execute("SELECT bucket, kind FROM raw_items").fetchone()
    assert row == ("intake", "eml")
