"""What the cells of a column are, decided over all rows, or asked (domain notes A2).

Candidate readings are a set that each cell narrows down: one left is decided, several are a
question with samples, none leaves the column a text. Digits that are names stay text.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import polars as pl

from tgv_dagster.tables.lexicon import holds_days, holds_text, says_no_day
from tgv_dagster.tables.model import Choice, Native, Question, QuestionKind, RawTable
from tgv_dagster.tables.reading import dates, numbers

MOST_TYPED_COLUMNS = 2000
_CURRENCIES = frozenset({"€", "EUR", "Euro", "$", "USD", "£", "GBP", "CHF", "Fr."})
_SAMPLES = 2
_MANY_ROWS = 50_000
_MOST_WORDS = 8
_A = TypeVar("_A")
_B = TypeVar("_B")


class ColumnKind(StrEnum):
    """The type of a column."""

    EMPTY = "empty"
    TEXT = "text"
    NUMBER = "number"
    DATE = "date"
    DATETIME = "datetime"
    TIME = "time"
    DURATION = "duration"
    BOOLEAN = "boolean"


@dataclass(frozen=True, slots=True)
class Column:
    """What a column is. `reading` is a decimal sign, the key of a date form, or empty.

    `unit` is the one mark of currency or measure all cells carry; `question` asks what the cells
    leave open (`kind` and `reading` then hold the suggestion).
    """

    label: str
    kind: ColumnKind
    reading: str = ""
    unit: str = ""
    question: Question | None = None
    notice: str = ""


def examine_table(table: RawTable) -> tuple[Column, ...]:
    """All columns; beyond 2,000 they stay text, with a notice."""
    if len(table.labels) > MOST_TYPED_COLUMNS:
        notice = f"more than {MOST_TYPED_COLUMNS} columns are not typed"
        return tuple(Column(label, ColumnKind.TEXT, notice=notice) for label in table.labels)
    return tuple(
        each_column(lambda label: examine_column(table, label), table.labels, table.height)
    )


def examine_column(table: RawTable, label: str) -> Column:
    """One column, by what its cells say themselves and by what their text can mean."""
    cells = table.column(label)
    native = table.natives.get(cells.name)
    if native is None:
        return by_text(label, cells)
    filled = cells.str.strip_chars() != ""
    kinds = set(native.filter(filled).unique().to_list())
    if not kinds:
        return Column(label, ColumnKind.EMPTY)
    written = by_text(label, cells.filter(native == Native.TEXT))
    own = kinds - {Native.TEXT}
    if not own:
        return written
    if Native.NUMBER in own and bool(cells.str.contains(r"^-?\d{16,}$").any()):
        return Column(label, ColumnKind.TEXT, notice="numbers beyond the 15 digits a sheet keeps")
    if len(own) == 1 and (written.kind in (*own, ColumnKind.EMPTY)):
        kind = ColumnKind(next(iter(own)))
        return Column(label, kind, written.reading, written.unit, written.question)
    if own <= {Native.DATE, Native.DATETIME} and written.kind in (
        ColumnKind.EMPTY,
        ColumnKind.DATE,
        ColumnKind.DATETIME,
    ):
        return Column(label, ColumnKind.DATETIME, written.reading, "", written.question)
    return Column(label, ColumnKind.TEXT, notice="cells of different kinds")


def by_text(label: str, cells: pl.Series) -> Column:
    """A column of text cells."""
    full = cells.filter(cells.str.strip_chars() != "")
    if holds_days(label):
        full = _without_waiting(full)
    if not len(full):
        return Column(label, ColumnKind.EMPTY)
    if not _shows_digits(full):
        return Column(label, ColumnKind.TEXT)
    if holds_text(label):
        return Column(label, ColumnKind.TEXT)
    fitting = dates.fitting_forms(full, compact=holds_days(label))
    if fitting:
        return _time_column(label, full, fitting)
    return _number_column(label, full)


def typed(table: RawTable, column: Column) -> pl.Series:
    """The values of a column as its kind and reading say; null where empty or unfit."""
    cells = table.column(column.label)
    native = table.natives.get(cells.name)
    if native is None:
        return _typed_text(cells, column).alias(column.label)
    own = _typed_native(cells, native, column)
    written = _typed_text(_only(cells, native == Native.TEXT), column)
    return _joined(own, written, column).alias(column.label)


def frame_of(table: RawTable, columns: tuple[Column, ...]) -> pl.DataFrame:
    """All columns typed, named by their labels."""
    return pl.DataFrame(each_column(lambda column: typed(table, column), columns, table.height))


def each_column(act: Callable[[_A], _B], of: Sequence[_A], rows: int) -> list[_B]:
    """One result per column in their order; large tables side by side, as Polars frees the lock."""
    if rows < _MANY_ROWS:
        return [act(one) for one in of]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return list(threads.map(act, of))


def _without_waiting(full: pl.Series) -> pl.Series:
    """The cells of a column of days without those that say that there is none yet."""
    bare = full.filter(~full.str.contains("[0-9]")).unique()
    waiting = [cell for cell in bare if says_no_day(cell)] if len(bare) <= _MOST_WORDS else []
    return full.filter(~full.is_in(waiting)) if waiting else full


def _shows_digits(full: pl.Series) -> bool:
    """Whether the first cells can be values at all; most text columns end here."""
    return bool(full.head(64).str.contains("[0-9]").all())


def _time_column(label: str, full: pl.Series, fitting: Sequence[str]) -> Column:
    best = dates.form(fitting[0])
    kind = ColumnKind(best.kind)
    if len(fitting) > 1:
        asked = QuestionKind.TWO_DIGIT_YEAR if best.short else QuestionKind.DATE_FORMAT
    elif best.short:
        asked = QuestionKind.TWO_DIGIT_YEAR
    else:
        return Column(label, kind, best.key)
    return Column(label, kind, best.key, question=_date_question(asked, label, full, fitting))


def _date_question(
    kind: QuestionKind, label: str, full: pl.Series, fitting: Sequence[str]
) -> Question:
    samples = full.unique(maintain_order=True).head(_SAMPLES).to_list()
    choices = tuple(
        Choice(key, tuple((cell, dates.shown(cell, key)) for cell in samples)) for key in fitting
    )
    return Question(kind, label, choices, suggested=fitting[0])


def _number_column(label: str, full: pl.Series) -> Column:
    found = numbers.examine(full)
    whole = found.readings
    if not whole or found.text_like:
        return Column(label, ColumnKind.TEXT)
    if len(set(found.units) & _CURRENCIES) > 1 or len(found.units) > 1:
        return Column(label, ColumnKind.TEXT, notice="cells of different units")
    unit = found.units[0] if found.units else ""
    if len(whole) == 1 or found.differ is None:
        return Column(label, ColumnKind.NUMBER, str(whole[0]), unit)
    choices = tuple(
        Choice(str(d), tuple((cell, numbers.shown(cell, d)) for cell in _samples(full, found)))
        for d in whole
    )
    question = Question(QuestionKind.NUMBER_FORMAT, label, choices, suggested=str(whole[0]))
    return Column(label, ColumnKind.NUMBER, str(whole[0]), unit, question)


def _samples(full: pl.Series, found: numbers.NumberColumn) -> list[str]:
    others = [c for c in full.unique(maintain_order=True).head(_SAMPLES) if c != found.differ]
    return [found.differ or "", *others[: _SAMPLES - 1]]


def _typed_text(cells: pl.Series, column: Column) -> pl.Series:
    match column.kind:
        case ColumnKind.NUMBER:
            return numbers.values(cells, numbers.Decimal(column.reading or "point"))
        case ColumnKind.DATE | ColumnKind.DATETIME | ColumnKind.TIME | ColumnKind.DURATION:
            if not column.reading:
                return pl.Series(cells.name, [None] * len(cells), dtype=_DTYPES[column.kind])
            return dates.values(cells, dates.form(column.reading))
        case ColumnKind.BOOLEAN:
            return pl.Series(cells.name, [None] * len(cells), dtype=pl.Boolean)
        case _:
            return cells


_DTYPES: dict[ColumnKind, pl.DataType] = {
    ColumnKind.DATE: pl.Date(),
    ColumnKind.DATETIME: pl.Datetime("us"),
    ColumnKind.TIME: pl.Time(),
    ColumnKind.DURATION: pl.Duration("us"),
}
_NATIVE_FORMS = {
    Native.DATE: "Y-m-d",
    Native.DATETIME: "Y-m-d H:M",
    Native.TIME: "H:M",
    Native.DURATION: "H:M long",
}


def _typed_native(cells: pl.Series, native: pl.Series, column: Column) -> pl.Series:
    """Values of cells that know their kind; readers write them in one fixed form each."""
    if column.kind is ColumnKind.NUMBER:
        return numbers.values(_only(cells, native == Native.NUMBER), numbers.Decimal.POINT)
    if column.kind is ColumnKind.BOOLEAN:
        return cells == "true"
    if column.kind is ColumnKind.DATETIME:
        moments = dates.values(_only(cells, native == Native.DATETIME), dates.form("Y-m-d H:M"))
        days = dates.values(_only(cells, native == Native.DATE), dates.form("Y-m-d"))
        return moments.fill_null(days.cast(pl.Datetime("us")))
    kind = Native(column.kind) if column.kind in set(Native) else Native.TEXT
    if kind not in _NATIVE_FORMS:
        return cells
    return dates.values(_only(cells, native == kind), dates.form(_NATIVE_FORMS[kind]))


def _joined(own: pl.Series, written: pl.Series, column: Column) -> pl.Series:
    if column.kind in (ColumnKind.TEXT, ColumnKind.EMPTY):
        return written if column.kind is ColumnKind.EMPTY else own
    if column.kind is ColumnKind.NUMBER:
        scale = max(own.dtype.scale, written.dtype.scale)  # type: ignore[attr-defined]
        kind = pl.Decimal(38, scale)
        return own.cast(kind).fill_null(written.cast(kind))
    if column.kind is ColumnKind.DATETIME:
        return own.fill_null(written.cast(pl.Datetime("us")))
    if {own.dtype, written.dtype} == {pl.Time, pl.Duration}:
        return own.cast(pl.Duration("us")).fill_null(written.cast(pl.Duration("us")))
    return own.fill_null(written)


def _only(cells: pl.Series, mask: pl.Series) -> pl.Series:
    """The cells where the mask holds; the others become empty."""
    frame = pl.DataFrame({"c": cells, "m": mask})
    return frame.select(pl.when(pl.col("m")).then(pl.col("c")).otherwise(pl.lit(""))).to_series()
