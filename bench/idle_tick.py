"""What an idle look costs the database: `python -m bench.idle_tick`.

Prints one markdown table. Statements are counted in the server's own log, tuples written in its
statistics; both are of the product's database alone. A look is what the sensors of the folder and
of the ledger do in a tick, Dagster's own storage left out.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from sensors.folder import look_at_folder
from sensors.pending import look_at_ledger
from tgv_dagster.arrive.folder import FolderGate, FolderSettings
from tgv_dagster.installation import Installation
from tgv_dagster.settings import Settings
from tgv_dagster.store import embedded
from tgv_dagster.store.db import connect

TICKS = 20
FILES = 5_000
_STATEMENT = re.compile(r"(?:statement|execute [^:]*):\s*(\w*)", re.IGNORECASE)
_READS = frozenset({"select", "with"})
_WRITES = frozenset({"insert", "update", "delete", "merge", "copy", "truncate", "create"})


@dataclass(frozen=True, slots=True)
class Cost:
    """Per look: statements that read, statements that write, tuples written, milliseconds."""

    reads: float
    writes: float
    tuples: float
    milliseconds: float

    @property
    def row(self) -> str:
        """The cells of the table."""
        return (
            f"{self.reads:.2f} | {self.writes:.2f} | {self.tuples:.2f} | {self.milliseconds:.1f} ms"
        )


class Meter:
    """Counts what reaches the product's database."""

    def __init__(self, installation: Installation, log: Path) -> None:
        self._url = installation.database.url
        self._log = log
        with connect(self._url, autocommit=True) as connection:
            connection.execute("ALTER DATABASE tgv SET log_statement = 'all'")

    def cost(self, look: Callable[[], object]) -> Cost:
        """What one look costs, as the mean of many."""
        look()
        tuples, at = self._written(), self._log.stat().st_size
        started = time.perf_counter()
        for _ in range(TICKS):
            look()
        took = time.perf_counter() - started
        with self._log.open("rb") as log:
            log.seek(at)
            words = [word.lower() for word in _STATEMENT.findall(log.read().decode())]
        return Cost(
            reads=sum(word in _READS for word in words) / TICKS,
            writes=sum(word in _WRITES for word in words) / TICKS,
            tuples=(self._written() - tuples) / TICKS,
            milliseconds=took / TICKS * 1000,
        )

    def _written(self) -> int:
        with connect(self._url, autocommit=True) as connection:
            connection.execute("SET log_statement = 'none'")
            connection.execute("SELECT pg_stat_force_next_flush()")
            row = connection.execute(
                "SELECT tup_inserted + tup_updated + tup_deleted FROM pg_stat_database"
                " WHERE datname = current_database()"
            ).fetchone()
        assert row is not None
        return int(row[0])


def main() -> None:
    """Measure and print."""
    with TemporaryDirectory(prefix="tgv-bench-", ignore_cleanup_errors=True) as scratch:
        home = Path(scratch) / "home"
        settings = Settings(home=home, move_taken=False, stable_seconds=0)  # pyright: ignore[reportCallIssue]
        installation = Installation.open(settings)
        meter = Meter(installation, home / "postgres" / "log")
        installation.close()
        installation = Installation.open(settings)
        print("| idle look | reads | writes | tuples written | time |")
        print("|---|---|---|---|---|")
        show("folder, empty", meter.cost(lambda: look_at_folder(installation, "")))
        settled = fill_and_take(installation)
        for name, memory in (("remembered", settled), ("first after a start", "")):
            cost = meter.cost(lambda: look_at_folder(installation, memory))  # noqa: B023
            show(f"folder, {FILES:,} taken files lie there, {name}", cost)
        finish_work(installation)
        show(f"ledger, {FILES:,} items done", meter.cost(lambda: look_at_ledger(installation, "")))
        installation.close()
        embedded.stop(home / "postgres")


def show(name: str, cost: Cost) -> None:
    """Print one row."""
    print(f"| {name} | {cost.row} |")


def fill_and_take(installation: Installation) -> str:
    """Files that have arrived and stay where they are; returns what a sensor remembers of them."""
    inbox = installation.settings.inbox_path
    inbox.mkdir(exist_ok=True)
    for number in range(FILES):
        (inbox / f"{number}.txt").write_text(f"Notiz {number}")
    gate = FolderGate(
        installation.database,
        installation.blobs,
        FolderSettings(inbox, stable_seconds=0, move=False),
    )
    for _taken in gate.take(FILES):
        pass
    return look_at_folder(installation, "").look


def finish_work(installation: Installation) -> None:
    """Nothing is due any more."""
    with installation.database.worker() as connection:
        connection.execute("UPDATE flow_ledger SET state = 'done'")
    with installation.database.owner(autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE flow_ledger")


if __name__ == "__main__":
    main()
