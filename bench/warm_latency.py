"""From a file in the watched folder to a hit of the search, with the daemon of `tgv ui` warm.

Starts the real processes in a temporary home, waits until a first file went through, then drops one
file at a time and asks until the search shows it. Prints a markdown table, in seconds. The asking
costs a part of the processors, so the figure is an upper bound.
"""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tgv_dagster.installation import Installation
from tgv_dagster.know.search import SearchParts, search
from tgv_dagster.settings import Settings
from tgv_dagster.store import embedded, organisation

FILES = 7
LONGEST_WAIT = 180.0
LOOK_SECONDS = 0.1
ORGANISATION = """
mandanten: [{slug: nord, name: Nord}]
entities:
  - {slug: nord-gmbh, mandant: nord, kind: company, legal_name: Nordlicht Tischlerei GmbH,
     country: DE, bucket: nord-gmbh, default_level: intern}
"""


def main() -> None:
    """Measure and print."""
    with TemporaryDirectory(prefix="tgv-bench-", ignore_cleanup_errors=True) as scratch:
        home, inbox = Path(scratch) / "home", Path(scratch) / "inbox"
        inbox.mkdir()
        settings = Settings(home=home, inbox=inbox)  # pyright: ignore[reportCallIssue]
        installation = Installation.open(settings)
        with installation.database.worker() as connection:
            organisation.import_organisation(
                connection, organisation.parse(ORGANISATION), author="bench"
            )
        try:
            with warm_services(home, inbox):
                first = until_found(installation, inbox, 0)
                times = [until_found(installation, inbox, number) for number in range(1, FILES)]
        finally:
            installation.close()
            embedded.stop(home / "postgres")
    print("| one new file, daemon warm | seconds |\n|---|---|")
    print(f"| the first after the start | {first:.1f} |")
    print(f"| the {len(times)} after it, median | {statistics.median(times):.1f} |")
    print(f"| quickest and slowest of them | {min(times):.1f} to {max(times):.1f} |")


@contextmanager
def warm_services(home: Path, inbox: Path) -> Iterator[None]:
    """`tgv ui` with ports of its own, ended with all its processes."""
    ports = {
        f"TGV_{name}_PORT": str(port)
        for name, port in zip(("UI", "HTTP"), free_ports(), strict=True)
    }
    process = subprocess.Popen(
        [sys.executable, "-c", "from tgv_dagster.cli import main; main()", "ui"],
        env=os.environ | ports | {"TGV_HOME": str(home), "TGV_INBOX": str(inbox)},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=60)


def free_ports() -> tuple[int, int]:
    """Two free ports; the one above each is free as well when nothing else starts now."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


def until_found(installation: Installation, inbox: Path, number: int) -> float:
    """Drop one letter and ask for its word until the search shows it; seconds."""
    word = f"Zirbelholz{number:03}"
    folder = inbox / "nord" / "nord-gmbh"
    folder.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    (folder / f"brief-{number}.txt").write_text(
        f"Nordlicht Tischlerei GmbH\nHamburg, 3. März 2026\n\nAngebot {word} für eine Treppe.\n"
    )
    while time.monotonic() - started < LONGEST_WAIT:
        if is_found(installation, word):
            return time.monotonic() - started
        time.sleep(LOOK_SECONDS)
    raise SystemExit(f"not findable after {LONGEST_WAIT:.0f} s: {word}")


def is_found(installation: Installation, word: str) -> bool:
    """Whether the search shows a card with this word."""
    parts = SearchParts.of(installation.database, installation.words, installation.embedder)
    answer = search(parts, installation.service_scope(source="bench"), word)
    return any(word in card.snippet for card in answer.cards)


if __name__ == "__main__":
    main()
