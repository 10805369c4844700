"""Class 2: a table as working material, typed and queryable, and never written into a booking.

The typed table lies behind the wall of its document, so a query reads it in the scope of the reader
(TAB-05). A column that nobody decided stays a text. What a query gives is an artefact elsewhere.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

import polars as pl

from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.levels import Level
from tgv_dagster.store.scope import Scope
from tgv_dagster.tables.importing import Import
from tgv_dagster.tables.mapping import TableMapping
from tgv_dagster.tables.model import RawTable
from tgv_dagster.tables.reading.columns import Column, ColumnKind, each_column, frame_of
from tgv_dagster.tables.rows import column_of
from tgv_dagster.tables.stored import to_parquet


class WorkingNotFound(LookupError):
    """There is no such table for this reader."""


@dataclass(frozen=True, slots=True)
class WorkingTable:
    """A table of a document as this reader may query it."""

    document_id: int
    sheet: str
    level: str
    frame: pl.DataFrame


def keep(
    connection: Connection,
    job: Import,
    table: RawTable,
    mapping: TableMapping,
    schema_id: int | None = None,
) -> None:
    """Store the typed table beside its document, in the caller's transaction."""
    connection.execute(
        "UPDATE table_imports SET state = 'working', target = 'working', rows = %s, aside = %s,"
        " working = %s, schema_id = coalesce(%s, schema_id) WHERE id = %s",
        (
            table.height,
            len(table.aside),
            to_parquet(typed_table(table, mapping)),
            schema_id,
            job.id,
        ),
    )


def drop(connection: Connection, import_id: int, *, by: str) -> None:
    """Take working material back; the document and its raw table stay."""
    connection.execute(
        "UPDATE table_imports SET state = 'undone', working = NULL, undone_by = %s,"
        " undone_at = now() WHERE id = %s",
        (by, import_id),
    )


def typed_table(table: RawTable, mapping: TableMapping) -> pl.DataFrame:
    """Every column as its cells say; undecided ones as text."""
    columns = each_column(
        lambda label: _decided(column_of(table, mapping, label)), table.labels, table.height
    )
    return frame_of(table, tuple(columns))


def _decided(column: Column) -> Column:
    return column if column.question is None else Column(column.label, ColumnKind.TEXT)


def working_tables(
    database: Database, scope: Scope, document_id: int | None = None
) -> tuple[WorkingTable, ...]:
    """Working material that the scope may see. Raises WorkingNotFound for a document without."""
    with database.reading(scope) as connection:
        rows = connection.execute(
            """
            SELECT t.document_id, t.sheet, d.confidentiality_level, t.working
            FROM table_imports t JOIN documents d ON d.id = t.document_id
            WHERE t.state = 'working' AND t.working IS NOT NULL AND d.state = 'active'
              AND (%(document)s::bigint IS NULL OR t.document_id = %(document)s)
            ORDER BY t.document_id, t.sheet
            """,
            {"document": document_id},
        ).fetchall()
    if document_id is not None and not rows:
        raise WorkingNotFound(f"Document #{document_id} has no working material.")
    return tuple(
        WorkingTable(
            number,
            sheet,
            level or str(Level.STRICT),
            pl.read_parquet(io.BytesIO(bytes(parquet))),
        )
        for number, sheet, level, parquet in rows
    )
