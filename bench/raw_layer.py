"""How fast and how lean the raw layer is: `python -m bench.raw_layer [directory]`.

Prints one markdown table. Each throughput stands beside a bare loop that reads, writes and syncs
the same files into one directory on the same volume; rounds alternate, the median counts, and only
the ratio of one run means anything on a shared machine. The memory of the large file is measured
in a process of its own, above what that process used before.
"""

import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tgv_dagster.store.blobs import LocalBlobStore

ROUNDS = 5
LARGE_BYTES = 1 << 30
MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Load:
    """So many files of one size in bytes."""

    name: str
    count: int
    size: int


LOADS = (Load("20 kB × 2,000", 2_000, 20_000), Load("5 MB × 50", 50, 5_000_000))


def main() -> None:
    """Measure and print."""
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    print("| files | bare write + fsync | put | put ÷ bare | again (already there) |")
    print("|---|---|---|---|---|")
    for load in LOADS:
        print(throughput_row(load, place))
    print()
    print("| one file | seconds | memory above start |")
    print("|---|---|---|")
    print(memory_row(place))


def throughput_row(load: Load, place: Path | None) -> str:
    """Return the table row for a load: MB/s bare and stored, and their ratio."""
    bare, stored, again = [], [], []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory(dir=place) as scratch:
            sources = make_sources(Path(scratch) / "in", load)
            store = LocalBlobStore(Path(scratch) / "store")
            bare.append(seconds(lambda: write_bare(sources, Path(scratch) / "bare")))  # noqa: B023
            stored.append(seconds(lambda: put_all(sources, store)))  # noqa: B023
            again.append(seconds(lambda: put_all(sources, store)))  # noqa: B023
    ratio = statistics.median(b / s for b, s in zip(bare, stored, strict=True))
    megabytes = load.count * load.size / 1e6
    speeds = [f"{megabytes / statistics.median(times):.0f} MB/s" for times in (bare, stored, again)]
    return f"| {load.name} | {speeds[0]} | {speeds[1]} | {ratio:.2f} | {speeds[2]} |"


def memory_row(place: Path | None) -> str:
    """Return the table row for one large file: time and peak memory of a forked child."""
    with tempfile.TemporaryDirectory(dir=place) as scratch:
        source = Path(scratch) / "large"
        with source.open("wb") as file:
            for _ in range(LARGE_BYTES // MEBIBYTE):
                file.write(os.urandom(MEBIBYTE))
        read, write = os.pipe()
        if os.fork() == 0:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            took = seconds(lambda: put_all([source], LocalBlobStore(Path(scratch) / "store")))
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            os.write(write, f"| 1 GiB | {took:.1f} | {grown / 1024:.1f} MiB |".encode())
            os._exit(0)
        os.wait()
        return os.read(read, 200).decode()


def make_sources(directory: Path, load: Load) -> list[Path]:
    """Write the files of a load, each different."""
    directory.mkdir()
    paths = [directory / str(number) for number in range(load.count)]
    for path in paths:
        path.write_bytes(os.urandom(load.size))
    return paths


def write_bare(sources: list[Path], directory: Path) -> None:
    """Copy the files with one sync each and no other care."""
    directory.mkdir()
    for source in sources:
        with (directory / source.name).open("wb") as file:
            file.write(source.read_bytes())
            file.flush()
            os.fsync(file.fileno())


def put_all(sources: list[Path], store: LocalBlobStore) -> None:
    """Store the files in one bucket."""
    for source in sources:
        store.put("bench", source)


def seconds(work: Callable[[], None]) -> float:
    """Return how long `work` takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
