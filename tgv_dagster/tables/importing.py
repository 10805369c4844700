"""Writing the rows of a recognised table: one transaction, through the one writer of intervals.

A row goes to its project and through it to entity and tenant; time without a project stays without
organisation, a trip without one is set aside (TAB-30, TAB-46). What shares space with another row
is reported and not written (INTV-03). Nothing here decides what a column means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl
from psycopg.types.json import Jsonb

from tgv_dagster.bank import importing as bank
from tgv_dagster.bank.recording import Source
from tgv_dagster.bank.undoing import undo_import
from tgv_dagster.intervals.writing import IntervalTable, remove, write
from tgv_dagster.store.db import Connection
from tgv_dagster.store.events import Event, record
from tgv_dagster.tables.assignment import Project
from tgv_dagster.tables.bank_rows import bank_file
from tgv_dagster.tables.mapping import TableMapping
from tgv_dagster.tables.model import AsideRow, RawTable, SetAside
from tgv_dagster.tables.reading.tidying import aside_row
from tgv_dagster.tables.rows import target_rows
from tgv_dagster.tables.targets import Target

SOURCE = "table"
"""Origin of every imported row; the same row out of another file is the same row."""

SHOWN_ASIDE = 200
_WRITERS = {Target.TIME: IntervalTable.TIME_ENTRIES, Target.TRIPS: IntervalTable.TRIPS}


@dataclass(frozen=True, slots=True)
class Import:
    """One import: its row in `table_imports`, the document, and the file it came in."""

    id: int
    mandant_id: int
    document_id: int
    sha256: str
    sheet: str
    file_name: str
    is_test: bool


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of the rows: new ones, ones that stood already, and ones set aside."""

    inserted: int
    known: int
    aside: tuple[AsideRow, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """A row that an undo leaves, and why."""

    id: int
    reason: str


def is_importable(target: Target) -> bool:
    """Whether rows of the target are written at all: class 2 never is (TAB-02)."""
    return target.table_class == 1


def goes_by_project(target: Target) -> bool:
    """Whether rows reach their entity through their project; bookings do through their account."""
    return target in _WRITERS


def import_rows(
    connection: Connection,
    job: Import,
    table: RawTable,
    mapping: TableMapping,
    schema_id: int,
    projects: dict[str, Project | None],
) -> ImportReport:
    """Write the rows in the caller's transaction and note the outcome in `table_imports`.

    `projects` answers every value of the file. Raises `IntervalClash` when somebody else wrote into
    the same space meanwhile; then nothing is kept.
    """
    made = target_rows(table, mapping)
    placed = _placed(made.frame, projects)
    homeless: list[AsideRow] = []
    if mapping.target is Target.TRIPS:
        lost = placed.filter(pl.col("entity").is_null())
        homeless = [
            aside_row(table, position, SetAside.NO_PROJECT, key or "")
            for position, key in lost.select("position", "project_key").iter_rows()
        ]
        placed = placed.filter(pl.col("entity").is_not_null())
    rows = placed.with_columns(_provenance(job, table, placed, schema_id)).with_columns(
        pl.lit(SOURCE).alias("source"),
        pl.lit(job.document_id, pl.Int64).alias("document_id"),
        pl.lit("needs_review").alias("check_status"),
        pl.lit(job.is_test).alias("is_test"),
    )
    written = write(connection, _WRITERS[mapping.target], rows.drop("position", "project_key"))
    positions = placed.get_column("position").to_list()
    refused = [
        aside_row(table, positions[row], SetAside.INTERVAL, "shares space with another row")
        for row in written.refused
    ]
    aside = (*table.aside, *made.aside, *homeless, *refused)
    report = ImportReport(len(written.ids), len(written.known), aside)
    _note(connection, job, report, table.height, schema_id)
    return report


def book_rows(
    connection: Connection,
    job: Import,
    table: RawTable,
    mapping: TableMapping,
    schema_id: int,
    *,
    by: str,
    level: str | None,
) -> bank.ImportReport:
    """Hand a bank table to the bank room, in the caller's transaction, and note what it did.

    A table whose account nobody has confirmed stays asked and is due again once it is confirmed.
    """
    source = Source(job.mandant_id, job.sha256, job.document_id, level, job.is_test, by)
    file = bank_file(table, mapping, known_currency=_only_currency(connection, job))
    report = bank.import_bank_file(connection, file, source)
    done = report.state is bank.State.IMPORTED
    connection.execute(
        "UPDATE table_imports SET state = %s, reason = %s, rows = %s, inserted = %s, known = %s,"
        " schema_id = %s WHERE id = %s",
        (
            "imported" if done else "asked",
            report.reason,
            table.height,
            report.inserted,
            report.known,
            schema_id,
            job.id,
        ),
    )
    return report


def unbook_rows(
    connection: Connection, import_id: int, document_id: int, *, by: str
) -> tuple[int, tuple[Kept, ...]]:
    """Undo the bank import of a document; how many bookings left, and which stay with the reason.

    Raises UndoRefused when every booking lies in a closed month.
    """
    row = connection.execute(
        "SELECT id FROM bank_imports WHERE document_id = %s AND state = 'imported'",
        (document_id,),
    ).fetchone()
    removed, kept = 0, ()
    if row is not None:
        done = undo_import(connection, row[0], author=by)
        removed, kept = done.removed, tuple(Kept(k.txn_id, k.reason) for k in done.kept)
    connection.execute(
        "UPDATE table_imports SET state = 'undone', undone_by = %s, undone_at = now()"
        " WHERE id = %s",
        (by, import_id),
    )
    return removed, kept


def _only_currency(connection: Connection, job: Import) -> str | None:
    """The currency of the tenant's accounts when they all have the same one."""
    rows = connection.execute(
        "SELECT DISTINCT currency FROM md_accounts WHERE mandant_id = %s AND active",
        (job.mandant_id,),
    ).fetchall()
    return str(rows[0][0]) if len(rows) == 1 else None


def undo_rows(
    connection: Connection, import_id: int, target: Target, *, by: str
) -> tuple[int, tuple[Kept, ...]]:
    """Take the rows of one import out where they are still as imported (TAB-36).

    Returns how many left, and the rows that stay because somebody worked on them.
    """
    writer = _WRITERS[target]
    found = connection.execute(
        f"SELECT id, check_status FROM {writer}"
        " WHERE provenance ->> 'import_id' = %s ORDER BY id FOR UPDATE".encode(),
        (str(import_id),),
    ).fetchall()
    free = [row_id for row_id, status in found if status == "needs_review"]
    kept = tuple(Kept(row_id, f"it is {status}") for row_id, status in found if row_id not in free)
    if free:
        remove(connection, writer, free)
    connection.execute(
        "UPDATE table_imports SET state = 'undone', undone_by = %s, undone_at = now()"
        " WHERE id = %s",
        (by, import_id),
    )
    return len(free), kept


def _placed(frame: pl.DataFrame, projects: dict[str, Project | None]) -> pl.DataFrame:
    """Rows with project and entity, by the value of the file (TAB-23)."""
    table = pl.DataFrame(
        {
            "project_key": list(projects),
            "project_code": [p.code if p else None for p in projects.values()],
            "entity": [p.entity if p else None for p in projects.values()],
        },
        schema={"project_key": pl.String, "project_code": pl.String, "entity": pl.String},
    )
    return frame.join(table, on="project_key", how="left", maintain_order="left")


def _provenance(job: Import, table: RawTable, rows: pl.DataFrame, schema_id: int) -> pl.Series:
    """Import, file, sheet, physical lines, raw cells and schema of every row, as JSON."""
    positions = rows.get_column("position")
    frame = table.cells.select(pl.concat_list(pl.all()).alias("raw")).with_columns(
        pl.Series("first_line", table.first_lines, dtype=pl.Int64),
        pl.Series("last_line", table.last_lines, dtype=pl.Int64),
    )
    told = frame[positions.to_list()].with_columns(
        pl.lit(str(job.id)).alias("import_id"),
        pl.lit(job.sha256).alias("file"),
        pl.lit(job.file_name).alias("source_file"),
        pl.lit(job.sheet).alias("sheet"),
        pl.lit(schema_id, pl.Int64).alias("schema_id"),
    )
    return told.select(pl.struct(pl.all()).struct.json_encode().alias("provenance")).to_series()


def _note(
    connection: Connection, job: Import, report: ImportReport, rows: int, schema_id: int
) -> None:
    connection.execute(
        "UPDATE table_imports SET state = 'imported', rows = %s, inserted = %s, known = %s,"
        " aside = %s, aside_rows = %s, schema_id = %s WHERE id = %s",
        (
            rows,
            report.inserted,
            report.known,
            len(report.aside),
            Jsonb(told_aside(report.aside)),
            schema_id,
            job.id,
        ),
    )
    record(
        connection,
        Event(
            kind="table.imported",
            author="tables",
            object=f"document:{job.document_id}",
            reason="rows of a confirmed schema",
            mandant_id=job.mandant_id,
            payload={
                "import": job.id,
                "inserted": report.inserted,
                "known": report.known,
                "aside": len(report.aside),
            },
        ),
    )


def told_aside(rows: tuple[AsideRow, ...]) -> list[dict[str, Any]]:
    """The first rows set aside as JSON; the count stands beside them."""
    return [
        {
            "first_line": row.first_line,
            "last_line": row.last_line,
            "raw": row.raw[:2000],
            "reason": str(row.reason),
            "detail": row.detail,
        }
        for row in rows[:SHOWN_ASIDE]
    ]
