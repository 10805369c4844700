"""Rows of a target out of a table and its mapping: typed, whole, or set aside with the reason.

A row is taken only when every mapped cell fits its reading and its parts agree with each other.
Belongs here: what an entry of time or a trip is made of. Does not belong here: who may have the row
(`projects`), whether it shares space with others (`intervals`), writing it (`importing`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tgv_dagster.tables.assignment import ProjectValue
from tgv_dagster.tables.mapping import TableMapping
from tgv_dagster.tables.model import AsideRow, RawTable, SetAside
from tgv_dagster.tables.reading import dates
from tgv_dagster.tables.reading.columns import Column, ColumnKind, examine_column, typed
from tgv_dagster.tables.reading.numbers import Decimal
from tgv_dagster.tables.reading.tidying import aside_row, every_row, head_of
from tgv_dagster.tables.targets import RULES, Target

AS_TEXT = "text"
"""The reading of a column that is no value, whatever later cells look like."""

_LENGTHS = ("duration", "hours", "break_minutes")
_DAY_SECONDS = 86_400
_TOLERANCE_SECONDS = 60
_UNITS = (1, 60, 3600, 3_600_000)
"""What a number of hours, minutes, seconds or thousandths of them is divided by."""
_WEIGHED_ROWS = 20_000
_NONE = pl.lit(None, pl.String)


@dataclass(frozen=True, slots=True)
class TargetRows:
    """Rows ready for their target. `frame` has `position` (row of the table), `project_key` and
    the columns of the target; what does not fit is in `aside`."""

    frame: pl.DataFrame
    aside: tuple[AsideRow, ...]


def column_of(table: RawTable, mapping: TableMapping, label: str) -> Column:
    """The column as the mapping reads it; without a stored reading as its cells say."""
    reading = mapping.readings.get(label)
    if reading is None:
        return examine_column(table, label)
    if reading == AS_TEXT:
        return Column(label, ColumnKind.TEXT)
    if (table.column(label) == "").all():
        return Column(label, ColumnKind.EMPTY)
    if reading in set(Decimal):
        return Column(label, ColumnKind.NUMBER, reading)
    if label == mapping.fields.get("end"):
        reading = dates.ending(reading)
    elif label in (mapping.fields.get(name) for name in _LENGTHS):
        reading = dates.lasting(reading)
    return Column(label, ColumnKind(dates.form(reading).kind), reading)


def readings_of(table: RawTable, mapping: TableMapping) -> dict[str, str]:
    """Readings of all mapped columns of dates and numbers, as memory keeps them once confirmed."""
    found = dict(mapping.readings)
    for label in mapping.fields.values():
        column = column_of(table, mapping, label)
        if column.kind is ColumnKind.TEXT:
            found.setdefault(label, AS_TEXT)
        elif column.reading:
            found.setdefault(label, column.reading)
    return found


def misfits(table: RawTable, mapping: TableMapping) -> float:
    """Share of filled cells that do not fit their stored reading, in the worst column.

    Of a large table every n-th row is looked at; the import weighs each row itself.
    """
    worst = 0.0
    table = every_row(table, 1 + table.height // _WEIGHED_ROWS)
    for label in mapping.readings:
        used = label in table.labels and label in mapping.fields.values()
        if not used or mapping.readings[label] == AS_TEXT:
            continue
        cells = table.column(label)
        filled = int((cells.str.strip_chars() != "").sum())
        values = typed(table, column_of(table, mapping, label))
        worst = max(worst, (filled - (len(values) - values.null_count())) / max(1, filled))
    return worst


def project_values(table: RawTable, mapping: TableMapping) -> tuple[ProjectValue, ...]:
    """Every distinct project of the whole file with its number of rows (TAB-32)."""
    frame = _project_frame(table, mapping)
    counted = frame.group_by("code", "name", maintain_order=True).len()
    return tuple(ProjectValue(code, name, rows) for code, name, rows in counted.iter_rows())


def probe(table: RawTable, mapping: TableMapping, *, rows: int = 5) -> tuple[dict[str, str], ...]:
    """The first rows as values per field, for the eyes of a person (TAB-11)."""
    shown = {}
    first = head_of(table, rows)
    for name, label in mapping.fields.items():
        values = typed(first, column_of(table, mapping, label)).to_list()
        shown[name] = ["" if value is None else str(value) for value in values]
    return tuple(
        dict(zip(shown, cells, strict=True)) for cells in zip(*shown.values(), strict=True)
    )


def target_rows(table: RawTable, mapping: TableMapping) -> TargetRows:
    """The rows of the mapping's target."""
    frame = _fields(table, mapping)
    made = _entries(frame) if mapping.target is Target.TIME else _trips(frame)
    made = made.with_columns(_project_key(table, mapping))
    faulty = made.filter(pl.col("fault").is_not_null())
    aside = [
        aside_row(table, row, SetAside.UNFIT_VALUE, fault)
        for row, fault in faulty.select("position", "fault").iter_rows()
    ]
    return TargetRows(made.filter(pl.col("fault").is_null()).drop("fault"), tuple(aside))


def _project_frame(table: RawTable, mapping: TableMapping) -> pl.DataFrame:
    def cells(field: str) -> pl.Series:
        label = mapping.fields.get(field)
        if label is None:
            return pl.Series([""] * table.height, dtype=pl.String)
        return table.column(label).str.strip_chars()

    return pl.DataFrame({"code": cells("project_code"), "name": cells("project")})


def _project_key(table: RawTable, mapping: TableMapping) -> pl.Series:
    both = pl.concat_str(["code", "name"], separator=" | ")
    key = pl.when(pl.col("code") == "").then("name").when(pl.col("name") == "").then("code")
    frame = _project_frame(table, mapping)
    return frame.select(key.otherwise(both).alias("project_key")).to_series()


def _fields(table: RawTable, mapping: TableMapping) -> pl.DataFrame:
    """Every field of the target as a typed column (null when not mapped), with `unfit`: the name
    of a mapped field whose filled cell does not fit its reading."""
    columns = {"position": pl.Series(range(table.height), dtype=pl.Int64)}
    unfit: list[pl.Series] = []
    end_date: pl.Series | None = None
    bare_length = False
    for name in RULES[mapping.target].kinds:
        label = mapping.fields.get(name)
        if label is None:
            columns[name] = pl.Series([None] * table.height, dtype=pl.Null)
            continue
        cells = table.column(label).str.strip_chars()
        read = typed(table, column_of(table, mapping, label))
        # A length as a number is first taken for hours; start and end tell its unit.
        is_hours = name == "duration" and "end" in mapping.fields and read.dtype.is_decimal()
        values = _as_field("hours" if is_hours else name, read, cells)
        bare_length = bare_length or is_hours
        columns[name] = values
        if name == "end" and read.dtype == pl.Datetime and "end_date" not in mapping.fields:
            end_date = read.cast(pl.Date)
        bad = (cells != "") & values.is_null()
        named = pl.DataFrame({"bad": bad}).select(pl.when("bad").then(pl.lit(label)))
        unfit.append(named.to_series())
    if end_date is not None:
        columns["end_date"] = end_date
    frame = pl.DataFrame(columns)
    if bare_length:
        frame = _in_its_unit(frame)
    fault = pl.coalesce([pl.lit(s) for s in unfit]) if unfit else _NONE
    return frame.with_columns(fault.cast(pl.String).alias("unfit"))


def _in_its_unit(frame: pl.DataFrame) -> pl.DataFrame:
    """A length that was a bare number, in the unit that fits start and end in most rows: hours,
    minutes, seconds (as Kimai exports them) or thousandths. Hours where no other does better."""
    fitting = {
        unit: frame.select(
            ((_span() - _pause() - stated).abs() <= _TOLERANCE_SECONDS)
            | ((_span() - stated).abs() <= _TOLERANCE_SECONDS)
        )
        .to_series()
        .sum()
        for unit, stated in ((unit, pl.col("duration") // unit) for unit in _UNITS)
    }
    best = max(_UNITS, key=lambda unit: fitting[unit])
    return frame.with_columns(pl.col("duration") // best)


def _span() -> pl.Expr:
    """Seconds from start to end; an end before the start is one of the next day."""
    start, end = pl.col("start").cast(pl.Int64), pl.col("end").cast(pl.Int64)
    later = (pl.col("end_date").cast(pl.Date) - pl.col("date")).dt.total_days().fill_null(0)
    night = pl.when((later == 0) & (end < start)).then(1).otherwise(later)
    return end - start + night * _DAY_SECONDS


def _pause() -> pl.Expr:
    return pl.col("break_minutes").cast(pl.Int64).fill_null(0)


def _as_field(name: str, values: pl.Series, cells: pl.Series) -> pl.Series:
    """Values in the form the field needs: days as Date, clocks and lengths as seconds."""
    match name:
        case "date" | "end_date":
            return values.cast(pl.Date) if values.dtype in (pl.Date, pl.Datetime) else _no(values)
        case "start" | "end":
            if values.dtype == pl.Datetime:
                return _seconds(values.dt.time())
            return _seconds(values)
        case "duration" | "hours" | "break_minutes" if values.dtype in (pl.Time, pl.Duration):
            return _seconds(values)
        case "break_minutes" if values.dtype.is_decimal():
            return _seconds_of_whole_minutes(values)
        case "hours" if values.dtype.is_decimal():
            return (values.cast(pl.Float64) * 3600).round().cast(pl.Int64)
        case "minutes" if values.dtype.is_decimal():
            return (values.cast(pl.Float64) * 60).round().cast(pl.Int64)
        case "duration" | "hours" | "minutes" | "break_minutes":
            return _no(values, pl.Int64)
        case "km_start" | "km_end" | "distance":
            return values if values.dtype.is_decimal() else _no(values, pl.Decimal(38, 1))
        case _:
            return pl.Series(values.name, [c or None for c in cells.to_list()], dtype=pl.String)


def _no(values: pl.Series, dtype: pl.DataType | type[pl.DataType] = pl.Date) -> pl.Series:
    return pl.Series(values.name, [None] * len(values), dtype=dtype)


def _seconds_of_whole_minutes(values: pl.Series) -> pl.Series:
    """A break of half a minute is none: it was meant in hours."""
    minutes = values.cast(pl.Float64)
    return (minutes * 60).round().cast(pl.Int64).set(minutes % 1 != 0, None)


def _seconds(values: pl.Series) -> pl.Series:
    if values.dtype == pl.Time:
        return (values.to_physical() // 1_000_000_000).cast(pl.Int64)
    if values.dtype == pl.Duration:
        return values.dt.total_seconds()
    return _no(values, pl.Int64)


def _entries(frame: pl.DataFrame) -> pl.DataFrame:
    """Time entries: person, day, start, end, minutes; a fault where the parts disagree.

    24:00 is the first moment of the next day. An entry of exactly one day has no end of its own, as
    its clock reads the same at both: it ends after its minutes.
    """
    start, end, span, pause = pl.col("start").cast(pl.Int64), pl.col("end"), _span(), _pause()
    stated = pl.coalesce(
        *(pl.col(name).cast(pl.Int64) for name in ("duration", "hours", "minutes"))
    )
    length = pl.coalesce(span - pause, stated)
    person = pl.coalesce(
        pl.col("person").cast(pl.String),
        pl.concat_str([pl.col("person_first"), pl.col("person_last")], separator=" "),
        pl.col("email").cast(pl.String),
    )
    fault = (
        pl.when(pl.col("unfit").is_not_null())
        .then(pl.lit("a cell does not fit: ") + pl.col("unfit"))
        .when(pl.col("date").is_null() | start.is_null() | length.is_null())
        .then(pl.lit("day, start or length is missing"))
        .when(person.is_null())
        .then(pl.lit("the person is missing"))
        .when((span < 0) | (span > _DAY_SECONDS) | (length < 0))
        .then(pl.lit("the entry ends before it starts or lasts more than a day"))
        .when((span == _DAY_SECONDS) & (pause > 0))
        .then(pl.lit("the entry lasts a whole day and has a break"))
        .when(
            ((span - stated).abs() > _TOLERANCE_SECONDS)
            & ((span - pause - stated).abs() > _TOLERANCE_SECONDS)
        )
        .then(pl.lit("start, end and duration disagree"))
    )
    return frame.select(
        "position",
        person.alias("benutzername"),
        (pl.col("date").cast(pl.Date) + pl.duration(days=start // _DAY_SECONDS)).alias("datum"),
        _time(start).alias("startzeit"),
        pl.when(span < _DAY_SECONDS).then(_time(end.cast(pl.Int64))).alias("endzeit"),
        (length / 60).round().cast(pl.Int64).alias("minutes"),
        _text("description", "task").alias("description"),
        fault.alias("fault"),
    )


def _trips(frame: pl.DataFrame) -> pl.DataFrame:
    """Trips: vehicle, day, odometer before and after; a fault where the parts disagree."""
    kind = pl.Decimal(38, 1)
    start = pl.col("km_start").cast(kind)
    distance = pl.col("distance").cast(kind)
    end = pl.coalesce(pl.col("km_end").cast(kind), start + distance)
    vehicle = pl.col("vehicle").cast(pl.String)
    fault = (
        pl.when(pl.col("unfit").is_not_null())
        .then(pl.lit("a cell does not fit: ") + pl.col("unfit"))
        .when(pl.col("date").is_null() | start.is_null() | end.is_null() | vehicle.is_null())
        .then(pl.lit("day, vehicle or odometer is missing"))
        .when(end < start)
        .then(pl.lit("the odometer runs backwards"))
        .when((end - start - distance).abs() > 1)
        .then(pl.lit("odometer and distance disagree"))
    )
    return frame.select(
        "position",
        vehicle.alias("vehicle"),
        pl.col("date").cast(pl.Date).alias("trip_date"),
        start.alias("km_start"),
        end.alias("km_end"),
        _text("purpose", "origin", "destination", "partner", "kind").alias("purpose"),
        fault.alias("fault"),
    )


def _time(seconds: pl.Expr) -> pl.Expr:
    return ((seconds % _DAY_SECONDS) * 1_000_000_000).cast(pl.Time)


def _text(*names: str) -> pl.Expr:
    parts: Sequence[pl.Expr] = [pl.col(name).cast(pl.String) for name in names]
    return pl.concat_str(parts, separator=" · ", ignore_nulls=True)
