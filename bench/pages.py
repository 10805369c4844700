"""First pages of the operator's service against their own SQL, with many documents and open cases.

Usage: python bench/pages.py [documents] [cases]. Prints, per page, the median of the whole answer
over HTTP, the median of what it asks the database (the same reads in the same transactions behind
the same walls, by turns with the page), the quotient, and the number of reads.
"""

from __future__ import annotations

import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "web")]

import psycopg  # noqa: E402
from fastapi.routing import APIRoute  # noqa: E402
from web_builders import Browser, Service, booking, browser, document, opened, question, serving  # noqa: E402

from tgv_dagster.store import embedded, migrate  # noqa: E402
from tgv_dagster.store.scope import Scope  # noqa: E402
from tgv_dagster.web.app import ROUTERS  # noqa: E402

ROUNDS = 7
LONG_MS = 2000
OWNERS = frozenset({"/settings/thresholds"})
"""Pages that only the owner of the installation opens."""

READS = ("SELECT", "WITH")
SETTING = "set_config"


def side_by_side(page: Callable[[], object], bare: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds of the medians of `ROUNDS`, by turns, after two to warm up.

    What takes more than a few seconds is done three times.
    """
    times: tuple[list[float], list[float]] = ([], [])
    rounds, number = ROUNDS, -2
    while number < rounds:
        for work, kept in zip((page, bare), times, strict=True):
            started = time.perf_counter()
            work()
            taken = 1000 * (time.perf_counter() - started)
            if taken > LONG_MS:
                rounds = 3
            if number >= 0:
                kept.append(taken)
        number += 1
    return statistics.median(times[0]), statistics.median(times[1])


def fill(service: Service, documents: int, cases: int) -> tuple[int, int]:
    """Many documents and open cases like one each; returns the numbers of those."""
    number = document(service, title="Rechnung Holzkontor")
    case = question(service, number, "due_date")
    service.rows(
        "INSERT INTO document_numbers (id, mandant_id, raw_sha256, part_role, arrival_uid)"
        " SELECT 1000 + n, 1, md5(n::text) || md5(n::text), 'file', gen_random_uuid()"
        " FROM generate_series(1, %s) n",
        documents,
    )
    service.rows(
        "INSERT INTO documents (id, mandant_id, entity, raw_sha256, raw_item_id, file_class,"
        " file_name, title, doc_type, confidentiality_level, date_received, invoice_date, due_date)"
        " SELECT 1000 + n, mandant_id, entity, md5(n::text) || md5(n::text), raw_item_id, 'file',"
        " 'Beleg ' || n, 'Beleg ' || n, 'invoice', 'intern', now() - n * interval '1 minute',"
        " current_date - n %% 900, current_date - 450 + n %% 900"
        " FROM documents, generate_series(1, %s) n WHERE id = %s",
        documents,
        number,
    )
    service.rows(
        "INSERT INTO cases (kind, subject_kind, subject_key, reason, thread_id, mandant_id, entity,"
        " document_id, confidentiality_level, open_points)"
        " SELECT kind, subject_kind, (1000 + n)::text, reason, thread_id, mandant_id, entity,"
        " 1000 + n, confidentiality_level, open_points FROM cases, generate_series(1, %s) n"
        " WHERE id = %s",
        cases,
        case,
    )
    service.rows(
        "UPDATE documents SET amount_gross = 10 + id % 90, currency = 'EUR' WHERE id > 1000"
    )
    booking(service, number, "intern")
    service.rows(
        "INSERT INTO txn_master (mandant_id, entity, account_id, booking_date, amount, currency,"
        " purpose, counterparty_name, row_key, source, confidentiality_level)"
        " SELECT mandant_id, entity, account_id, current_date - n %% 900, -10 - n %% 90, currency,"
        " 'Rechnung ' || n, 'Kontor ' || n %% 500, 'bench-' || n, source, confidentiality_level"
        " FROM txn_master, generate_series(1, %s) n",
        documents // 4,
    )
    service.rows(
        "INSERT INTO txn_document_links (txn_id, document_id, amount, state, set_by)"
        " SELECT t.id, d.id, abs(t.amount), CASE WHEN t.id % 5 = 0 THEN 'proposed'"
        " ELSE 'confirmed' END, 'bench' FROM txn_master t JOIN documents d"
        " ON d.id = 1000 + substr(t.row_key, 7)::int AND d.amount_gross = abs(t.amount)"
        " WHERE t.row_key LIKE 'bench-%'",
    )
    service.rows("ANALYZE")
    return number, case


@dataclass(frozen=True)
class Sent:
    """One transaction of an answer with its reads, values put in; `walled`: a reader's."""

    walled: bool
    reads: list[str]


def sent_by(service: Service, ask: Callable[[], object]) -> list[Sent]:
    """The transactions of one answer; writes and locks are left out."""
    sent: list[Sent] = []
    database, cursor = service.installation.database, psycopg.Cursor
    reading, worker, execute = database.reading, database.worker, cursor.execute

    @contextmanager
    def door(opening: Any, walled: bool) -> Iterator[Any]:
        with opening as connection:
            sent.append(Sent(walled, []))
            yield connection

    def listening(self: Any, query: Any, params: Any = None, **options: Any) -> Any:
        text = psycopg.ClientCursor(self.connection).mogrify(query, params)
        if sent and text.lstrip().upper().startswith(READS) and SETTING not in text:
            sent[-1].reads.append(text)
        return execute(self, query, params, **options)

    database.reading = lambda scope: door(reading(scope), True)  # pyright: ignore[reportAttributeAccessIssue]
    database.worker = lambda: door(worker(), False)  # pyright: ignore[reportAttributeAccessIssue]
    cursor.execute = listening  # pyright: ignore[reportAttributeAccessIssue]
    try:
        ask()
    finally:
        cursor.execute = execute
        del database.reading, database.worker
    return sent


def replay(service: Service, scope: Scope, sent: list[Sent]) -> None:
    """The same reads in the same transactions behind the same walls, and nothing else."""
    database = service.installation.database
    for one in sent:
        with database.reading(scope) if one.walled else database.worker() as connection:
            for text in one.reads:
                cursor = connection.execute(text.encode())
                if cursor.description:
                    cursor.fetchall()


def paths_of(number: int, case: int) -> tuple[str, ...]:
    """Every page and export, from the routes, with the numbers of what exists."""
    known = {
        "document_id": str(number),
        "case_id": str(case),
        "page": "1",
        "form": "csv",
        "side": "bookings",
    }
    left_out = ("/d/{document_id}/frame", "/d/{document_id}/page/{page}.webp", "/")
    elsewhere = ("/api/", "/healthz", "/readyz", "/legacy", "/login", "/l/")
    templates = sorted(
        route.path
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
        and "GET" in (route.methods or ())
        and not route.path.startswith(elsewhere)
        and route.path not in left_out
    )
    templates.sort(key=lambda path: path.startswith("/export"))
    paths = [re.sub(r"\{(\w+)\}", lambda m: known.get(m[1], "1"), t) for t in templates]
    return ("/search?q=Holzkontor", *paths, "/export/unmatched-receipts.csv")


def _ask(person: Browser, path: str) -> None:
    person.get(path).raise_for_status()


def main() -> None:
    """Print the table."""
    documents, cases = (int(a) for a in (sys.argv[1:3] or ("100000", "10000")))
    with tempfile.TemporaryDirectory(prefix="bench-pages-", ignore_cleanup_errors=True) as folder:
        data = Path(folder) / "postgres"
        url = embedded.start(data, shared_buffers_mb=512)
        migrate.upgrade(url)
        with (
            opened(url, Path(folder) / "home") as installation,
            serving(installation) as service,
            browser(service, "anna") as person,
            browser(service, "chef") as owner,
        ):
            number, case = fill(service, documents, cases)
            scope = Scope.for_principal(
                installation.database, "anna", mandant="nord", source="bench"
            )
            above = Scope.for_principal(installation.database, "chef", source="bench")
            print(f"{documents} documents, {cases} open cases")
            print(f"{'page':<38}{'page ms':>9}{'SQL ms':>9}{'x':>7}{'statements':>12}")
            for path in paths_of(number, case):
                ask = partial(_ask, owner if path in OWNERS else person, path)
                ask()
                sent = sent_by(service, ask)
                reads = sum(len(one.reads) for one in sent)
                page, bare = side_by_side(
                    ask, partial(replay, service, above if path in OWNERS else scope, sent)
                )
                print(
                    f"{path:<38}{page:>9.1f}{bare:>9.1f}{page / bare:>7.2f}{reads:>12}", flush=True
                )
        embedded.stop(data)


if __name__ == "__main__":
    main()
