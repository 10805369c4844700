"""Tables: how often reading is silently wrong or asks, and what a million rows cost.

`python bench/tables.py rates` runs the generator, `speed` the large file, and `corpus DIRECTORY...`
reads real files and prints one line for each.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from collections import Counter
from pathlib import Path

import polars as pl

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "tables"))

from table_generator import make
from table_judge import judge

from tgv_dagster.bank.reading import read_bank_file
from tgv_dagster.tables.bank_rows import bank_file
from tgv_dagster.tables.mapping import TableMapping
from tgv_dagster.tables.model import TableUnreadable
from tgv_dagster.tables.reading.columns import examine_table, frame_of
from tgv_dagster.tables.reading.delimited import Settled, read_delimited
from tgv_dagster.tables.recognising import Recognised, recognise_file
from tgv_dagster.tables.rows import AS_TEXT, column_of
from tgv_dagster.tables.targets import Target

TABLES = 1000
ROWS = 1_000_000


def rates() -> None:
    """Verdicts over seeded random tables, plain ones also per delimiter and encoding."""
    for plain in (True, False):
        verdicts: Counter[str] = Counter()
        of_dialect: dict[str, Counter[str]] = {}
        for seed in range(TABLES):
            made = make(random.Random(seed), plain=plain)
            found = judge(made)
            verdicts[found.verdict] += 1
            verdicts[f"{found.verdict}: {found.why.split(':')[0]}"] += bool(found.why)
            key = f"{made.layout.delimiter!r} {made.layout.encoding}"
            of_dialect.setdefault(key, Counter())[found.verdict] += 1
        print("plain" if plain else "wild", dict(verdicts))
        if plain:
            for key, counts in sorted(of_dialect.items()):
                print("  ", key, dict(counts))


def _large() -> bytes:
    rows = [
        f"{1 + i % 28:02}.{1 + i % 12:02}.2026;Müller {i};{i % 9000},{i % 100:02};EUR;"
        f"Zweck Nr. {i * 7};DE{i:020};{i % 24:02}:{i % 60:02};x"
        for i in range(ROWS)
    ]
    head = "Datum;Name;Betrag;Whrg;Verwendungszweck;IBAN;Zeit;Notiz"
    return "\n".join((head, *rows, "")).encode()


def speed() -> None:
    """A confirmed and a new signature against Polars reading text and parsing strictly."""
    data = _large()
    bare = _best(lambda: _bare(data))
    table = read_delimited(data).tables[0]
    columns = examine_table(table)
    mapping = TableMapping(
        Target.WORKING,
        readings={c.label: c.reading or AS_TEXT for c in columns},
        dialect=table.dialect,
        encoding=table.encoding,
    )
    confirmed = _best(lambda: _confirmed(data, mapping))
    new = _best(lambda: _new(data))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{len(data) / 2**20:.0f} MiB, bare Polars {bare:.2f} s")
    print(f"confirmed {confirmed:.2f} s = {confirmed / bare:.2f} x")
    print(f"new {new:.2f} s = {new / bare:.2f} x; peak {peak:.0f} MiB")


def _best(act) -> float:
    times = []
    for _ in range(3):
        started = time.perf_counter()
        act()
        times.append(time.perf_counter() - started)
    return min(times)


def _bare(data: bytes) -> pl.DataFrame:
    frame = pl.read_csv(data, separator=";", infer_schema=False)
    return frame.with_columns(
        pl.col("Datum").str.to_date("%d.%m.%Y", strict=True),
        pl.col("Betrag").str.replace(",", ".", literal=True).cast(pl.Decimal(38, 2), strict=True),
        pl.col("Zeit").str.to_time("%H:%M", strict=True),
    )


def _confirmed(data: bytes, mapping: TableMapping) -> pl.DataFrame:
    settled = Settled(mapping.dialect, mapping.encoding)
    table = read_delimited(data, settled).tables[0]
    return frame_of(table, tuple(column_of(table, mapping, label) for label in table.labels))


def _new(data: bytes) -> None:
    (found,), _ = recognise_file(data)
    frame_of(found.table, found.columns)


def corpus(folders: list[str]) -> None:
    """One line per real file: rows, target, what is asked, and whether the expected cells came."""
    totals: Counter[str] = Counter()
    for path in sorted(p for f in folders for p in Path(f).iterdir() if ".expected" not in p.name):
        name = f"{path.parent.name}/{path.name}"
        try:
            found, tables = recognise_file(path.read_bytes(), hint=path.name)
        except TableUnreadable as error:
            totals[f"{path.parent.name} unreadable"] += 1
            print(f"{name}: unreadable: {error}")
            continue
        asked = sorted({str(q.kind) for one in found for q in one.table.questions})
        columns = sorted({str(c.question.kind) for one in found for c in one.columns if c.question})
        targets = sorted({str(one.mapping.target) for one in found})
        aside = sum(len(one.table.aside) for one in found)
        state = "asked" if asked else "columns asked" if columns else "read"
        totals[f"{path.parent.name} {state}"] += 1
        expected = _expected(path, found[0])
        totals[f"{path.parent.name} expected {expected}"] += bool(expected)
        rows = sum(one.table.height for one in found)
        print(f"{name}: {len(found)} tables, {rows} rows, aside {aside}, {targets}", end=", ")
        print(f"{asked or columns} {expected} {list(tables.skipped)}")
    print(dict(totals))


def _expected(path: Path, found: Recognised) -> str:
    """Cells against the expected ones, or amounts against a bank file that means the same."""
    beside = path.with_name(path.name + ".expected.json")
    if beside.exists():
        told = json.loads(beside.read_text("utf-8"))
        records = told if isinstance(told, list) else [told]
        wanted = [[str(value) for value in record.values()] for record in records]
        return "equal" if wanted == [list(row) for row in found.table.cells.rows()] else "different"
    for suffix in ("ofx", "mt940"):
        beside = path.with_name(f"{path.name}.expected.{suffix}")
        if beside.exists():
            bank = read_bank_file(beside.read_bytes())
            wanted = sorted(line.amount for line in bank.lines) if bank else []
            made = sorted(line.amount for line in bank_file(found.table, found.mapping).lines)
            return "amounts equal" if wanted == made else f"amounts differ {wanted} {made}"
    return ""


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["rates"]:
            rates()
        case ["speed"]:
            speed()
        case ["corpus", *folders]:
            corpus(folders)
        case _:
            sys.exit(__doc__)
