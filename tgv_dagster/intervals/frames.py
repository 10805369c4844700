"""Interval frames from the tables and statements that hold intervals.

One function per kind; each takes a frame with the columns of its table and gives one of the schema
`FRAME`. A test row never shares a key with a real one.
"""

from __future__ import annotations

import polars as pl

from tgv_dagster.intervals.model import FRAME, KEY_SEPARATOR, RULES, IntervalKind

_SECONDS_PER_DAY = 86_400
_NOTHING = pl.lit(None, pl.String)


def trips(rows: pl.DataFrame) -> pl.DataFrame:
    """Trips by odometer: one key per entity, vehicle and odometer of it (INTV-07).

    Columns: `row`, `entity`, `vehicle`, `km_start`, `km_end`, `is_test`, `source`, `batch` where
    rows know their import, and `segment` where a vehicle has had more than one odometer.
    """
    ticks = RULES[IntervalKind.TRIPS].ticks_per_unit
    key = _key("entity", "vehicle", "is_test")
    if "segment" in rows.columns:
        later = pl.lit(KEY_SEPARATOR) + pl.col("segment").cast(pl.String)
        key = key + pl.when(pl.col("segment") > 0).then(later).otherwise(pl.lit(""))
    return _frame(
        rows,
        key,
        _scaled("km_start", ticks),
        _scaled("km_end", ticks),
    )


def time_entries(rows: pl.DataFrame) -> pl.DataFrame:
    """Time entries by the clock on the wall: one key per tenant and person.

    Columns: `row`, `mandant_id`, `benutzername`, `datum`, `startzeit`, `endzeit` (null: the entry
    ends after `minutes`; before the start: on the next day), `minutes`, `is_test`, `source`.
    """
    start = pl.col("datum").to_physical().cast(pl.Int64) * _SECONDS_PER_DAY + _second("startzeit")
    length = _second("endzeit") - _second("startzeit")
    length = pl.when(length < 0).then(length + _SECONDS_PER_DAY).otherwise(length)
    length = length.fill_null(pl.col("minutes").cast(pl.Int64) * 60)
    return _frame(rows, _key("mandant_id", "benutzername", "is_test"), start, start + length)


def validities(rows: pl.DataFrame, *key: str, first: str, last: str) -> pl.DataFrame:
    """Whole days from `first` to `last`, both included; a null `last` is open.

    Contract validities, tariffs and bank statements have this form. `key` names the columns that
    make up the key; `row` and `source` must be there, `batch` may be.
    """
    start = pl.col(first).to_physical().cast(pl.Int64)
    return _frame(rows, _key(*key), start, pl.col(last).to_physical().cast(pl.Int64) + 1)


def periods(rows: pl.DataFrame, *key: str, period: str) -> pl.DataFrame:
    """Accounting periods: the month that `period` names as `YYYY-MM`."""
    first = (pl.col(period) + "-01").str.to_date("%Y-%m-%d")
    start = first.to_physical().cast(pl.Int64)
    following = first.dt.offset_by("1mo").to_physical().cast(pl.Int64)
    return _frame(rows, _key(*key), start, following)


def _frame(rows: pl.DataFrame, key: pl.Expr, start: pl.Expr, end: pl.Expr) -> pl.DataFrame:
    batch = pl.col("batch") if "batch" in rows.columns else _NOTHING
    return rows.select(
        pl.col("row").cast(pl.String),
        key.alias("key"),
        start.cast(pl.Int64).alias("start"),
        end.cast(pl.Int64).alias("end"),
        pl.col("source").cast(pl.String),
        batch.cast(pl.String).alias("batch"),
    ).match_to_schema(FRAME)


def _key(*columns: str) -> pl.Expr:
    return pl.concat_str(
        [pl.col(name).cast(pl.String).fill_null("") for name in columns], separator=KEY_SEPARATOR
    )


def _scaled(column: str, ticks: int) -> pl.Expr:
    return (pl.col(column) * ticks).round(0).cast(pl.Int64)


def _second(column: str) -> pl.Expr:
    return pl.col(column).to_physical().cast(pl.Int64) // 1_000_000_000
