"""Folder intake: per-file cost from 500 to 5,000 small files, and a second look over them.

Prints markdown tables: cost per file from 500 to 5,000 small files and of a second look at the same
folder; the whole flow for 500 files, by step; memory for one large file. Every ratio comes from
one run. The embedded database and the blob store lie in a temporary home on the volume that is
named. The memory of the large file is that of a process of its own, above what it needed to take
a small one.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tgv_dagster import flow
from tgv_dagster.arrive.folder import FolderGate, FolderSettings
from tgv_dagster.arrive.gates import TakenStatus
from tgv_dagster.installation import Installation
from tgv_dagster.settings import Settings
from tgv_dagster.store import embedded, organisation

FEW, MANY = 500, 5_000
LARGE_BYTES = 1_000_000_000
MEBIBYTE = 1 << 20
ORGANISATION = """
mandanten: [{slug: nord, name: Nord}]
entities:
  - {slug: nord-gmbh, mandant: nord, kind: company, legal_name: Nordlicht Tischlerei GmbH,
     country: DE, bucket: nord-gmbh, default_level: intern}
"""


def main() -> None:
    """Measure and print."""
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with TemporaryDirectory(prefix="tgv-bench-", dir=place, ignore_cleanup_errors=True) as scratch:
        home = Path(scratch) / "home"
        with opened(home) as installation:
            print_flow(installation, Path(scratch))
            print_intake(installation, Path(scratch))
            print_memory(installation, Path(scratch))
        embedded.stop(home / "postgres")


@contextmanager
def opened(home: Path) -> Iterator[Installation]:
    """An installation with one tenant."""
    installation = Installation.open(Settings(home=home))  # pyright: ignore[reportCallIssue]
    with installation.database.worker() as connection:
        organisation.import_organisation(
            connection, organisation.parse(ORGANISATION), author="bench"
        )
    yield installation
    installation.close()


def print_intake(installation: Installation, scratch: Path) -> None:
    """Cost per file of the first walk over a folder, and of a second one that finds nothing new."""
    print("\n| small files → rows | first | per file | second | second ÷ first |")
    print("|---|---|---|---|---|")
    for count in (FEW, MANY):
        inbox = filled(scratch / f"inbox-{count}", count)
        first = seconds(lambda: take_all(installation, inbox, count))  # noqa: B023
        second = seconds(lambda: take_all(installation, inbox, 0))  # noqa: B023
        print(
            f"| {count:,} | {first:.1f} s | {first / count * 1000:.1f} ms | {second:.2f} s"
            f" | {second / first:.1%} |"
        )


def print_flow(installation: Installation, scratch: Path) -> None:
    """Seconds of every step for 500 files, from the folder to the last index."""
    inbox = filled(scratch / "flow" / "nord" / "nord-gmbh", FEW)
    installation.settings = installation.settings.model_copy(
        update={"inbox": inbox.parent.parent, "stable_seconds": 0, "move_taken": False}
    )
    spent: dict[str, float] = {step.name: 0.0 for step in flow.STEPS}
    items: Counter[str] = Counter()
    while True:
        moved = 0
        for step in flow.STEPS:
            started = time.perf_counter()
            report = step.run(installation, None)
            spent[step.name] += time.perf_counter() - started
            items[step.name] += report.claimed
            moved += report.claimed
        if not moved:
            break
    print(f"| whole flow, {FEW} files | items | seconds | per item |")
    print("|---|---|---|---|")
    for name, took in spent.items():
        if items[name]:
            print(f"| {name} | {items[name]} | {took:.1f} | {took / items[name] * 1000:.1f} ms |")
    whole = sum(spent.values())
    print(f"| all | {FEW} | {whole:.1f} | {whole / FEW * 1000:.1f} ms |")


def print_memory(installation: Installation, scratch: Path) -> None:
    """Memory a large file needs on its way into the raw layer, above that of a small one."""
    inbox = filled(scratch / "small", 1)
    large = scratch / "large"
    large.mkdir()
    with (large / "gross.bin").open("wb") as file:
        for _ in range(LARGE_BYTES // MEBIBYTE):
            file.write(os.urandom(MEBIBYTE))
    print("\n| one file of 1 GB | seconds | memory above a small file |")
    print("|---|---|---|")
    print(in_child(lambda: memory_row(installation.settings, inbox, large)))


def memory_row(settings: Settings, small: Path, large: Path) -> str:
    """The table row, measured in a process that has taken nothing yet."""
    installation = Installation.open(settings)
    take_all(installation, small, 1)
    before = peak_kibibytes()
    took = seconds(lambda: take_all(installation, large, 1))
    return f"| folder → rows | {took:.1f} | {(peak_kibibytes() - before) / 1024:.1f} MiB |"


def filled(folder: Path, count: int) -> Path:
    """A folder of so many small texts, each different."""
    folder.mkdir(parents=True)
    for number in range(count):
        text = f"Nordlicht Tischlerei GmbH\n\nNotiz {folder.name} {number}\n" + "Zeile Text\n" * 40
        (folder / f"{number:05}.txt").write_text(text)
    return folder


def take_all(installation: Installation, inbox: Path, expected: int) -> None:
    """Take everything in one go; the files stay in place."""
    gate = FolderGate(
        installation.database,
        installation.blobs,
        FolderSettings(inbox, stable_seconds=0, move=False),
    )
    taken = sum(t.status is TakenStatus.TAKEN for t in gate.take(2 * MANY))
    if taken != expected:
        raise RuntimeError(f"{taken} files were taken, {expected} expected")


def peak_kibibytes() -> int:
    """The most memory this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def in_child(measure: Callable[[], str]) -> str:
    """Measure in a forked process and return what it says."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, measure().encode())
        os._exit(0)
    os.wait()
    return os.read(read, 1000).decode()


def seconds(work: Callable[[], None]) -> float:
    """How long `work` takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
