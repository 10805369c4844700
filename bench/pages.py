"""First pages of the operator's service against their own SQL, with many documents and open cases.

Usage: python bench/pages.py [documents] [cases]. Prints, per page, the median of the whole answer
over HTTP, the median of the statements it sends (replayed one after the other on one connection
behind the same walls), and the quotient.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "web")]

import psycopg  # noqa: E402
from web_builders import Browser, Service, browser, document, opened, question, serving  # noqa: E402

from tgv_dagster.store import embedded, migrate  # noqa: E402
from tgv_dagster.store.scope import Scope  # noqa: E402
from tgv_dagster.store.walls import APP_ROLE  # noqa: E402

ROUNDS = 15
READS = ("SELECT", "WITH")
SETTING = "set_config"


def median_ms(work: Callable[[], object]) -> float:
    """Milliseconds of the median of `ROUNDS`, after two to warm up."""
    times = []
    for number in range(ROUNDS + 2):
        started = time.perf_counter()
        work()
        if number >= 2:
            times.append(1000 * (time.perf_counter() - started))
    return statistics.median(times)


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
    service.rows("ANALYZE")
    return number, case


@dataclass(frozen=True)
class Sent:
    """One statement with its values put in; `walled`: a reader sent it."""

    text: str
    walled: bool


def statements_of(ask: Callable[[], object]) -> list[Sent]:
    """What one answer reads; settings of the session and locks are left out."""
    sent: list[Sent] = []
    execute = psycopg.Connection.execute

    def listening(self: Any, query: Any, params: Any = None, **options: Any) -> Any:
        walled = APP_ROLE in self.info.get_parameters().get("options", "")
        sent.append(Sent(psycopg.ClientCursor(self).mogrify(query, params), walled))
        return execute(self, query, params, **options)

    psycopg.Connection.execute = listening
    try:
        ask()
    finally:
        psycopg.Connection.execute = execute
    return [
        s for s in sent if s.text.lstrip().upper().startswith(READS) and "set_config" not in s.text
    ]


def replay(service: Service, scope: Scope, sent: list[Sent]) -> None:
    """The same statements on one connection of each kind."""
    database = service.installation.database
    with database.reading(scope) as reader, database.worker() as worker:
        for statement in sent:
            (reader if statement.walled else worker).execute(statement.text.encode())


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
        ):
            number, case = fill(service, documents, cases)
            scope = Scope.for_principal(
                installation.database, "anna", mandant="nord", source="bench"
            )
            print(f"{documents} documents, {cases} open cases")
            print(f"{'page':<28}{'page ms':>9}{'SQL ms':>9}{'x':>7}{'statements':>12}")
            for path in ("/inbox", f"/inbox/{case}", f"/d/{number}", "/search", "/deadlines",
                         "/parked", "/settings", "/drop"):  # fmt: skip
                ask = partial(_ask, person, path)
                ask()
                sent = statements_of(ask)
                page = median_ms(ask)
                bare = median_ms(partial(replay, service, scope, sent))
                print(f"{path:<28}{page:>9.1f}{bare:>9.1f}{page / bare:>7.2f}{len(sent):>12}")
        embedded.stop(data)


if __name__ == "__main__":
    main()
