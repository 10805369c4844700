"""Bank import of 100,000 lines: first time, the same file again, the same bookings in other bytes.

Prints a markdown table. The statement is CAMT.053 over a year of one account, with two equal
lines every day. The third run compares every line with what is recorded, because no hash helps it.
The bare COPY of as many rows into a table without keys, in the same run, is the yardstick.
"""

from __future__ import annotations

import hashlib
import resource
import sys
import time
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

from tgv_dagster.bank.importing import ImportReport, import_bank_file
from tgv_dagster.bank.overlap import Decision
from tgv_dagster.bank.reading import read_bank_file
from tgv_dagster.bank.recording import Source
from tgv_dagster.installation import Installation
from tgv_dagster.settings import Settings
from tgv_dagster.store import embedded, organisation

LINES = 100_000
IBAN = "DE89370400440532013000"
ORGANISATION = f"""
mandanten: [{{slug: nord, name: Nord}}]
entities:
  - {{slug: nord-gmbh, mandant: nord, kind: company, legal_name: Nordlicht Tischlerei GmbH,
     country: DE, bucket: nord-gmbh, default_level: intern}}
md_accounts:
  - {{iban: {IBAN}, entity: nord-gmbh, name: Giro, active: true}}
"""


def main() -> None:
    """Measure and print."""
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with TemporaryDirectory(prefix="tgv-bench-", dir=place, ignore_cleanup_errors=True) as scratch:
        home = Path(scratch) / "home"
        installation = Installation.open(Settings(home=home))  # pyright: ignore[reportCallIssue]
        with installation.database.worker() as connection:
            organisation.import_organisation(
                connection, organisation.parse(ORGANISATION), author="bench"
            )
        print_imports(installation)
        installation.close()
        embedded.stop(home / "postgres")


def print_imports(installation: Installation) -> None:
    """One row per run."""
    content = statement(LINES)
    print(f"{LINES} lines, {len(content) / 1e6:.0f} MB of XML\n")
    print("| run | reading s | import s | new | known |\n|---|---|---|---|---|")
    for name, data in (
        ("first", content),
        ("same bytes", content),
        ("same bookings, other bytes", content + b"\n"),
    ):
        started = time.perf_counter()
        file = read_bank_file(data)
        read = time.perf_counter() - started
        assert file is not None
        started = time.perf_counter()
        with installation.database.worker() as connection:
            report = import_bank_file(connection, file, source(connection, data))
        spent = time.perf_counter() - started
        check(report)
        print(f"| {name} | {read:.1f} | {spent:.1f} | {report.inserted} | {report.known} |")
    print(f"\nbare COPY of as many rows: {timed(lambda: bare_copy(installation)):.1f} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of the process: {peak:.0f} MiB")


def check(report: ImportReport) -> None:
    """Every run accounts for every line."""
    assert report.inserted + report.known == LINES, report


def timed(work: Callable[[], object]) -> float:
    """Seconds of wall time."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def source(connection: object, data: bytes) -> Source:
    """The tenant's own file."""
    row = connection.execute("SELECT id FROM mandanten").fetchone()  # type: ignore[attr-defined]
    return Source(
        mandant_id=row[0],
        sha256=hashlib.sha256(data).hexdigest(),
        document_id=None,
        confidentiality_level="intern",
        is_test=False,
        author="bench",
        decision=Decision.ASK,
    )


def bare_copy(installation: Installation) -> None:
    """The yardstick: the same number of rows of the same width, no key, no trigger."""
    with installation.database.worker() as connection:
        connection.execute("CREATE TEMP TABLE bare (d date, a numeric, t text, r text)")
        with connection.cursor() as cursor, cursor.copy("COPY bare FROM STDIN") as copy:
            for number in range(LINES):
                copy.write_row((date(2026, 1, 1), Decimal(number), "Rechnung", "x" * 600))


def statement(lines: int) -> bytes:
    """One CAMT.053 statement over a year."""
    begin = date(2025, 1, 1)
    total = Decimal(0)
    entries: list[str] = []
    for number in range(lines):
        cents = 1 if number % 137 < 2 else number % 9973 + 1
        amount = Decimal(cents) / 100
        side = "DBIT" if number % 3 else "CRDT"
        total += -amount if number % 3 else amount
        text = "Kontogebuehr" if number % 137 < 2 else f"Rechnung {number:06d} Lieferung"
        day = begin + timedelta(days=number * 365 // lines)
        entries.append(
            f'<Ntry><Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>{side}</CdtDbtInd>'
            f"<Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>{day}</Dt></BookgDt><ValDt><Dt>{day}</Dt>"
            f"</ValDt><NtryDtls><TxDtls><RmtInf><Ustrd>{text}</Ustrd></RmtInf></TxDtls></NtryDtls>"
            "</Ntry>"
        )
    balances = "".join(
        f'<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">{abs(amount)}</Amt>'
        f"<CdtDbtInd>{'DBIT' if amount < 0 else 'CRDT'}</CdtDbtInd><Dt><Dt>{day}</Dt></Dt></Bal>"
        for code, amount, day in (
            ("OPBD", Decimal(0), begin),
            ("CLBD", total, begin + timedelta(days=364)),
        )
    )
    return (
        '<?xml version="1.0"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08">'
        f"<BkToCstmrStmt><Stmt><Id>1</Id><Acct><Id><IBAN>{IBAN}</IBAN></Id><Ccy>EUR</Ccy></Acct>"
        f"{balances}{chr(10).join(entries)}</Stmt></BkToCstmrStmt></Document>"
    ).encode()


if __name__ == "__main__":
    main()
