"""Tables: how often reading is silently wrong or asks, and what a million rows cost.

`python bench/tables.py rates` runs the generator, `speed` the large file, and `corpus DIRECTORY...`
reads real files and prints one line for each.
"""

from __future__ import annotations

import io
import json
import random
import resource
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import polars as pl

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "tables"))

from table_generator import make
from table_judge import judge

from tgv_dagster.bank.reading import read_bank_file
from tgv_dagster.tables.bank_rows import bank_file
from tgv_dagster.tables.model import TableUnreadable
from tgv_dagster.tables.reading.columns import frame_of
from tgv_dagster.tables.recognising import Recognised, Schema, recognise_file
from tgv_dagster.tables.rows import readings_of
from tgv_dagster.tables.signature import Match
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
    written = io.BytesIO()
    written.write(b"Datum;Name;Betrag;Whrg;Verwendungszweck;IBAN;Zeit;Notiz\n")
    for i in range(ROWS):
        written.write(
            f"{1 + i % 28:02}.{1 + i % 12:02}.2026;Müller {i};{i % 9000},{i % 100:02};EUR;"
            f"Zweck Nr. {i * 7};DE{i:020};{i % 24:02}:{i % 60:02};x\n".encode()
        )
    return written.getvalue()


def speed() -> None:
    """A confirmed and a new signature against Polars reading text and parsing strictly, in turns.

    Processor seconds stand beside wall time, because other processes move only the latter. The
    confirmed one is a bank table with its memory: read, recognised, mapped columns typed. The new
    one is read, examined, proposed, and every column typed. The peak is that of the process.
    """
    data = _large()
    schema = _schema(data)
    runs = {"bare": _bare, "confirmed": lambda d: _confirmed(d, schema), "new": _new}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for _ in range(5):
        for name, act in runs.items():
            wall, used = time.perf_counter(), time.process_time()
            act(data)
            times[name].append((time.perf_counter() - wall, time.process_time() - used))
    best = {
        name: tuple(min(side) for side in zip(*found, strict=True)) for name, found in times.items()
    }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{len(data) / 2**20:.0f} MiB")
    for name, (wall, used) in best.items():
        print(
            f"{name}: {wall:.2f} s = {wall / best['bare'][0]:.2f} x,"
            f" processor {used:.2f} s = {used / best['bare'][1]:.2f} x"
        )
    print(f"peak {peak:.0f} MiB")


def _bare(data: bytes) -> pl.DataFrame:
    frame = pl.read_csv(data, separator=";", infer_schema=False)
    return frame.with_columns(
        pl.col("Datum").str.to_date("%d.%m.%Y", strict=True),
        pl.col("Betrag").str.replace(",", ".", literal=True).cast(pl.Decimal(38, 2), strict=True),
        pl.col("Zeit").str.to_time("%H:%M", strict=True),
    )


def _schema(data: bytes) -> Schema:
    (found,), _ = recognise_file(data[: data.find(b"\n", 2**16) + 1])
    assert found.mapping.target is Target.BANK, found.proposal
    mapping = replace(found.mapping, readings=readings_of(found.table, found.mapping))
    return Schema(1, found.signature, mapping, {})


def _confirmed(data: bytes, schema: Schema) -> pl.DataFrame:
    (found,), _ = recognise_file(data, (schema,))
    assert found.match is Match.EXACT
    return frame_of(found.table, found.columns)


def _new(data: bytes) -> pl.DataFrame:
    (found,), _ = recognise_file(data)
    return frame_of(found.table, found.columns)


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
    if beside.exists() and not found.by_standard:
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
