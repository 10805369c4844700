"""The one way to write trips and time entries: weighed before, guarded by the database as well.

Import, form, chat and correction all come through `write` (INTV-08). The worker's role may not
write these tables itself; the database function that may refuses shared space on its own, so that
two writers at once cannot pass each other by.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import LiteralString

import polars as pl
import psycopg

from tgv_dagster.intervals import frames
from tgv_dagster.intervals.model import IntervalKind, Report
from tgv_dagster.intervals.weigh import weigh
from tgv_dagster.store.db import Connection

AT_ONCE = 20_000
"""Rows handed to the database in one call."""


class IntervalTable(StrEnum):
    """The tables that hold intervals and have one writer."""

    TRIPS = "fahrtenbuch"
    TIME_ENTRIES = "prf_timetrack"


class IntervalClash(RuntimeError):
    """Somebody else wrote into the same space meanwhile; nothing was written, weigh again."""


@dataclass(frozen=True, slots=True)
class Written:
    """What became of the rows: new ids in the order of `accepted`, and positions in the frame.

    `known` stood already, `refused` do not fit; `report` names the findings.
    """

    ids: tuple[int, ...]
    accepted: tuple[int, ...]
    known: tuple[int, ...]
    refused: tuple[int, ...]
    report: Report


def write(
    connection: Connection,
    table: IntervalTable,
    arriving: pl.DataFrame,
    *,
    replaced: Sequence[int] = (),
) -> Written:
    """Write what fits beside the existing rows, in the caller's transaction.

    `arriving` has the columns of the table that it knows; a row with an `id` keeps it, which a
    correction needs. Rows of `replaced` leave in the same step, and only when every row fits: a
    replacement is whole or does not happen (INTV-09). Raises IntervalClash when another
    writer was faster, psycopg errors when a row breaks another rule of its table.
    """
    numbered = _resolved(connection, table, arriving).with_row_index("position")
    weighed = weigh(
        _existing(connection, table, numbered, replaced),
        _frame(table, numbered.with_columns(_name("arriving", "position").alias("row"))),
        _KINDS[table],
    )
    if replaced and weighed.refused:
        weighed = dataclasses.replace(
            weighed, accepted=(), refused=weighed.accepted + weighed.refused
        )
        replaced = ()
    positions = {
        name: tuple(sorted(int(row.partition(":")[2]) for row in rows))
        for name, rows in (
            ("accepted", weighed.accepted),
            ("known", weighed.known),
            ("refused", weighed.refused),
        )
    }
    rows = numbered[list(positions["accepted"])].drop("position")
    ids = _insert(connection, table, rows, list(replaced))
    return Written(ids=ids, report=weighed.report, **positions)


def remove(connection: Connection, table: IntervalTable, ids: Sequence[int]) -> None:
    """Take rows out, for an undo or an erasure, in the caller's transaction."""
    _call(connection, table, "[]", list(ids))


def stored(connection: Connection, table: IntervalTable) -> pl.DataFrame:
    """Every row of the table as an interval frame; rows are named by their id."""
    return _existing(connection, table, None, ())


_KINDS = {
    IntervalTable.TRIPS: IntervalKind.TRIPS,
    IntervalTable.TIME_ENTRIES: IntervalKind.TIME_ENTRIES,
}
_FUNCTIONS: dict[IntervalTable, LiteralString] = {
    IntervalTable.TRIPS: "SELECT write_trips(%s::jsonb, %s::bigint[])",
    IntervalTable.TIME_ENTRIES: "SELECT write_time_entries(%s::jsonb, %s::bigint[])",
}
_TRIP_COLUMNS = pl.Schema(
    {
        "row": pl.String,
        "entity": pl.String,
        "vehicle": pl.String,
        "km_start": pl.Decimal(12, 1),
        "km_end": pl.Decimal(12, 1),
        "is_test": pl.Boolean,
        "source": pl.String,
        "batch": pl.String,
        "segment": pl.Int64,
    }
)
_ENTRY_COLUMNS = pl.Schema(
    {
        "row": pl.String,
        "mandant_id": pl.Int64,
        "benutzername": pl.String,
        "datum": pl.Date,
        "startzeit": pl.Time,
        "endzeit": pl.Time,
        "minutes": pl.Int64,
        "is_test": pl.Boolean,
        "source": pl.String,
        "batch": pl.String,
    }
)
_TRIPS_OF = """
    SELECT id::text, entity, vehicle, km_start, km_end, is_test, source,
        provenance ->> 'import_id', segment
    FROM fahrtenbuch WHERE NOT id = ANY (%(replaced)s)
      AND (%(keys)s::text[] IS NULL OR vehicle = ANY (%(keys)s))
"""
_ENTRIES_OF = """
    SELECT id::text, mandant_id, benutzername, datum, startzeit,
        CASE WHEN endzeit < '24:00' THEN endzeit WHEN startzeit > '00:00' THEN time '00:00' END,
        CASE WHEN endzeit = '24:00' AND startzeit = '00:00' THEN 1440 ELSE minutes END, is_test,
        source, provenance ->> 'import_id'
    FROM prf_timetrack WHERE NOT id = ANY (%(replaced)s)
      AND (%(keys)s::text[] IS NULL OR benutzername = ANY (%(keys)s))
"""


def _existing(
    connection: Connection,
    table: IntervalTable,
    beside: pl.DataFrame | None,
    replaced: Sequence[int],
) -> pl.DataFrame:
    """Rows of the keys in `beside`, or all of them, without those that are to be replaced."""
    of_trips = table is IntervalTable.TRIPS
    column, query = ("vehicle", _TRIPS_OF) if of_trips else ("benutzername", _ENTRIES_OF)
    keys = None if beside is None else beside.get_column(column).unique().to_list()
    found = connection.execute(query, {"replaced": list(replaced), "keys": keys}).fetchall()
    columns = _TRIP_COLUMNS if of_trips else _ENTRY_COLUMNS
    return _frame(table, pl.DataFrame(found, schema=columns, orient="row"))


def _frame(table: IntervalTable, rows: pl.DataFrame) -> pl.DataFrame:
    """The interval frame of rows that may lack the columns a caller need not know."""
    of_trips = table is IntervalTable.TRIPS
    columns = _TRIP_COLUMNS if of_trips else _ENTRY_COLUMNS
    if "batch" not in rows.columns and rows.schema.get("provenance") == pl.String:
        rows = rows.with_columns(
            pl.col("provenance").str.json_path_match("$.import_id").alias("batch")
        )
    rows = rows.with_columns(
        pl.lit(None, columns[name]).alias(name)
        for name in ("mandant_id", "endzeit", "is_test", "source", "segment")
        if name in columns and name not in rows.columns
    ).with_columns(pl.col("is_test").fill_null(False))
    return frames.trips(rows) if of_trips else frames.time_entries(rows)


def _resolved(connection: Connection, table: IntervalTable, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with the rest of their key, as the database sets it when it writes them."""
    return (
        _odometers(connection, rows) if table is IntervalTable.TRIPS else _tenants(connection, rows)
    )


def _odometers(connection: Connection, rows: pl.DataFrame) -> pl.DataFrame:
    """Trips with the segment of their vehicle that they belong to."""
    exchanged = connection.execute(
        "SELECT DISTINCT entity, vehicle FROM odometer_exchanges WHERE withdrawn_at IS NULL"
    ).fetchall()
    known = pl.DataFrame(
        exchanged, schema={"entity": pl.String, "vehicle": pl.String}, orient="row"
    )
    numbered = rows.with_row_index("_place")
    asked = numbered.join(known, on=["entity", "vehicle"], how="semi")
    if not asked.height:
        return rows
    told = asked.select(
        "_place", "entity", "vehicle", pl.col("trip_date", "km_start", "km_end").cast(pl.String)
    )
    found = connection.execute(
        "SELECT t.place, odometer_segment(t.entity, t.vehicle, t.day::date, t.first::numeric,"
        " t.last::numeric) FROM unnest(%s::int[], %s::text[], %s::text[], %s::text[], %s::text[],"
        " %s::text[]) AS t (place, entity, vehicle, day, first, last)",
        [told.get_column(name).to_list() for name in told.columns],
    ).fetchall()
    segments = pl.DataFrame(found, schema={"_place": pl.UInt32, "segment": pl.Int64}, orient="row")
    return numbered.join(segments, on="_place", how="left", maintain_order="left").drop("_place")


def _tenants(connection: Connection, rows: pl.DataFrame) -> pl.DataFrame:
    """Time entries with the tenant of their entity, as the table's trigger sets it (MOVE-05)."""
    if "entity" not in rows.columns:
        return rows
    found = connection.execute("SELECT slug, mandant_id FROM entities").fetchall()
    tenants = pl.DataFrame(found, schema={"entity": pl.String, "_tenant": pl.Int64}, orient="row")
    given = pl.col("mandant_id") if "mandant_id" in rows.columns else pl.lit(None, pl.Int64)
    return (
        rows.with_columns(pl.col("entity").cast(pl.String))
        .join(tenants, on="entity", how="left", maintain_order="left")
        .with_columns(pl.coalesce("_tenant", given).alias("mandant_id"))
        .drop("_tenant")
    )


def _name(kind: str, column: str) -> pl.Expr:
    return pl.lit(f"{kind}:") + pl.col(column).cast(pl.String)


def _insert(
    connection: Connection, table: IntervalTable, rows: pl.DataFrame, replaced: list[int]
) -> tuple[int, ...]:
    """Ids of the rows, in their order; the first call takes the replaced rows out."""
    numbered = _with_ids(connection, table, rows)
    for start in range(0, max(rows.height, 1), AT_ONCE):
        part = numbered.slice(start, AT_ONCE)
        gone = replaced if start == 0 else []
        if part.height or gone:
            _call(connection, table, part.write_json() if part.height else "[]", gone)
    return tuple(numbered.get_column("id"))


def _with_ids(connection: Connection, table: IntervalTable, rows: pl.DataFrame) -> pl.DataFrame:
    fresh = connection.execute(
        "SELECT nextval(%s::regclass) FROM generate_series(1, %s)",
        (f"{table}_id_seq", rows.height),
    ).fetchall()
    numbers = pl.Series("fresh", [row[0] for row in fresh], dtype=pl.Int64)
    given = pl.col("id").cast(pl.Int64) if "id" in rows.columns else pl.lit(None, pl.Int64)
    return (
        rows.with_columns(numbers)
        .with_columns(pl.coalesce(given, "fresh").alias("id"))
        .drop("fresh")
    )


def _call(connection: Connection, table: IntervalTable, rows: str, replaced: list[int]) -> None:
    try:
        with connection.transaction():
            connection.execute(_FUNCTIONS[table], (rows, replaced))
    except psycopg.errors.ExclusionViolation as error:
        raise IntervalClash(
            f"{error.diag.message_primary} (rows {error.diag.message_detail})"
        ) from error
