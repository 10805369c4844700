"""Reader processes: they are limited, replaced when they die, and never stop a run."""

import functools
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from extraction_files import LETTER, picture, picture_pdf, text_pdf, written, zipped
from PIL import Image

from tgv_dagster.arrive.filetype import Family, FileType, sniff_file
from tgv_dagster.understand.extraction import ExtractionSettings, Status
from tgv_dagster.understand.workers import ExtractionPool, Limits


def _children(of: int) -> set[int]:
    """Reader processes below this one."""
    found: set[int] = set()
    for child in psutil.Process(of).children():
        with suppress(psutil.NoSuchProcess):
            if any("understand.workers" in part for part in child.cmdline()):
                found.add(child.pid)
    return found


@pytest.fixture
def readers() -> Callable[[], set[int]]:
    """The reader processes this test started; those of earlier tests' pools are not its own."""
    earlier = _children(os.getpid())
    return lambda: _children(os.getpid()) - earlier


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_process_is_used_again_and_its_answer_is_whole(
    tmp_path: Path, readers: Callable[[], set[int]]
):
    path = written(tmp_path / "a.pdf", text_pdf(LETTER))
    with ExtractionPool(workers=1) as pool:
        first = pool.extract(path, sniff_file(path))
        processes = readers()
        second = pool.extract(path, sniff_file(path))

        assert first == second and first.status is Status.COMPLETE
        assert first.pages[0].text.splitlines() == list(LETTER)
        assert len(processes) == 1 and readers() == processes
    assert not readers()


def test_a_process_is_renewed_after_its_calls(tmp_path: Path, readers: Callable[[], set[int]]):
    path = written(tmp_path / "a.txt", b"Hallo")
    with ExtractionPool(workers=1, limits=Limits(calls=2)) as pool:
        seen = set()
        for _ in range(3):
            assert pool.extract(path, sniff_file(path)).text == "Hallo"
            seen |= readers()
    assert len(seen) == 2


def test_a_process_that_dies_is_a_failed_attempt_and_the_next_file_is_read(
    tmp_path: Path, readers: Callable[[], set[int]]
):
    slow = written(tmp_path / "a.tif", _slow_picture())
    text = written(tmp_path / "a.txt", b"Hallo")
    with ExtractionPool(workers=1) as pool:
        pool.extract(text, sniff_file(text))
        (victim,) = readers()
        threading.Timer(0.4, os.kill, (victim, signal.SIGSEGV)).start()

        found = pool.extract(slow, sniff_file(slow))

        assert found.status is Status.FAILED and "SIGSEGV" in found.reason
        assert pool.extract(text, sniff_file(text)).text == "Hallo"


@functools.cache
def _slow_picture() -> bytes:
    """Pages enough to keep OCR busy for many seconds."""
    pages = [picture(LETTER * 4, size=(1600, 1900), margin=20).convert("1")] * 25
    out = io.BytesIO()
    pages[0].save(out, "TIFF", save_all=True, append_images=pages[1:], compression="packbits")
    return out.getvalue()


@pytest.mark.parametrize(
    ("limits", "word"),
    [(Limits(call_seconds=1.5), "longer than 1.5 seconds"), (Limits(cpu_seconds=1), "CPU seconds")],
)
def test_a_file_that_takes_too_long_ends_with_its_process(
    limits: Limits, word: str, tmp_path: Path, readers: Callable[[], set[int]]
):
    slow = written(tmp_path / "a.tif", _slow_picture())
    text = written(tmp_path / "a.txt", b"Hallo")
    with ExtractionPool(workers=1, limits=limits) as pool:
        pool.extract(text, sniff_file(text))

        found = pool.extract(slow, sniff_file(slow))

        assert found.status is Status.FAILED and word in found.reason
        assert not readers()


def test_a_scan_that_ends_its_process_keeps_its_text_layer(tmp_path: Path):
    cover = ["Deckblatt der Akte, siehe Anlage unten"]
    pages = [picture(LETTER * 3, size=(1654, 2000)).convert("1")] * 12
    path = written(tmp_path / "a.pdf", picture_pdf(*pages, texts=[cover] * 12))
    with ExtractionPool(workers=1, limits=Limits(call_seconds=6)) as pool:
        found = pool.extract(path, sniff_file(path))

    assert found.status is Status.TRUNCATED
    assert "text layer only" in found.reason and "Deckblatt der Akte" in found.text


def test_memory_is_bounded_and_its_end_is_an_outcome(tmp_path: Path):
    Image.new("RGB", (8000, 8000)).save(tmp_path / "a.tif", compression="packbits")
    settings = ExtractionSettings(decode_bytes=2**40)
    limits = Limits(memory_bytes=330 * 2**20)
    with ExtractionPool(settings, workers=1, limits=limits) as pool:
        found = pool.extract(tmp_path / "a.tif", sniff_file(tmp_path / "a.tif"))

    assert found.status is Status.FAILED
    assert "memory" in found.reason or "died" in found.reason


def test_a_file_that_needs_more_than_its_share_is_read_alone(tmp_path: Path):
    image = Image.new("L", (16_000, 16_000), 255)
    image.paste(picture(["Plan Nr. 4711"], size=(9000, 3000), font=900), (500, 500))
    image.save(tmp_path / "a.tif", compression="packbits")
    del image
    text = written(tmp_path / "a.txt", b"Hallo")
    limits = Limits(memory_bytes=1000 * 2**20)
    with ExtractionPool(workers=3, limits=limits) as pool:
        found = pool.extract(tmp_path / "a.tif", sniff_file(tmp_path / "a.tif"))
        assert "4711" in found.text
        assert pool.extract(text, sniff_file(text)).text == "Hallo"


def test_several_threads_share_the_pool(tmp_path: Path, readers: Callable[[], set[int]]):
    paths = [written(tmp_path / f"{n}.txt", f"Datei {n}".encode()) for n in range(24)]
    with ExtractionPool(workers=2) as pool:
        jobs = ((path, sniff_file(path)) for path in paths)
        results = list(pool.extract_many(jobs))

        assert [path for path, _ in results] == paths
        assert [found.text for _, found in results] == [f"Datei {n}" for n in range(24)]
        assert len(readers()) == 2


def test_processes_end_with_the_one_that_started_them(tmp_path: Path):
    """A killed owner leaves no reader behind, not even one at work."""
    slow = written(tmp_path / "a.tif", _slow_picture())
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from tgv_dagster.understand.workers import ExtractionPool\n"
        "from tgv_dagster.arrive.filetype import sniff_file\n"
        f"path = Path({str(slow)!r})\n"
        "ExtractionPool(workers=1).extract(path, sniff_file(path))\n"
    )
    environment = {**os.environ, "PYTHONPATH": _root()}
    owner = os.posix_spawn(sys.executable, [sys.executable, "-c", script], environment)
    try:
        readers = _wait_for(lambda: _children(owner))
    finally:
        os.kill(owner, signal.SIGKILL)
        os.waitpid(owner, 0)
    assert readers and _wait_for(lambda: not any(map(_alive, readers)))


def _root() -> str:
    return str(Path(__file__).resolve().parents[2])


def _wait_for(condition, seconds: float = 30.0):
    """The first true answer, or the last one when time is up."""
    end = time.monotonic() + seconds
    while not (answer := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return answer


def test_embedded_files_are_written_by_the_process(tmp_path: Path):
    path = written(tmp_path / "a.zip", zipped({"b.txt": "Hallo"}))
    with ExtractionPool(workers=1) as pool:
        settings = ExtractionSettings(embedded_dir=tmp_path / "i")
        found = pool.extract(path, sniff_file(path), settings)

    assert (tmp_path / "i" / found.embedded[0].sha256).read_bytes() == b"Hallo"


def test_a_vanished_file_and_an_unknown_one_are_outcomes(tmp_path: Path):
    strange = written(tmp_path / "a.bin", bytes(range(256)) * 9)
    with ExtractionPool(workers=1) as pool:
        gone = pool.extract(tmp_path / "gone", FileType("text/plain", Family.TEXT, ""))
        unknown = pool.extract(strange, sniff_file(strange))

    assert gone.status is Status.FAILED and "No such file" in gone.reason
    assert unknown.status is Status.UNSUPPORTED and unknown.reason


def test_secrets_of_the_owner_do_not_reach_the_readers(
    tmp_path: Path, monkeypatch, readers: Callable[[], set[int]]
):
    monkeypatch.setenv("TGV_DATABASE_URL", "postgresql://geheim")
    path = written(tmp_path / "a.txt", b"Hallo")
    with ExtractionPool(ExtractionSettings(passwords=("geheim",)), workers=1) as pool:
        pool.extract(path, sniff_file(path))
        (reader,) = readers()
        told = (
            Path(f"/proc/{reader}/environ").read_bytes()
            + Path(f"/proc/{reader}/cmdline").read_bytes()
        )

    assert b"geheim" not in told
