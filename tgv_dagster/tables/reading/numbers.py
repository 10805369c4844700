"""Numbers as people write them, per column: which readings fit every cell, and the exact values.

A reading is a decimal sign. Grouping follows from it, with the groups of two of lakhs and crores
beside a point; signs may stand before or behind, as brackets, or as S/H, D/C marks; spaces may be
U+0020, U+00A0, U+202F or U+2009. Nothing lenient: a cell fits a reading wholly or not at all
(domain notes A2).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

import polars as pl

_SPACE = "[ \u00a0\u202f\u2009]"
_MINUS = "[-\u2212\u2013]"
_UNIT = "(?:€|EUR|Euro|\\$|USD|£|GBP|CHF|Fr\\.|%|h|km|kg)"
_MARK = "(?:[SHDC]|Soll|Haben|DR|CR|Dr|Cr)"
_BEFORE = rf"^\s*(?:{_MINUS}|\(|{_UNIT}{_SPACE}?{_MINUS})"
_NEGATIVE = rf"{_BEFORE}|{_MINUS}\s*(?:{_UNIT})?\s*$|(?:[SD]|Soll|DR|Dr)\s*$"


class Decimal(StrEnum):
    """The decimal sign of a column."""

    COMMA = "comma"
    POINT = "point"


_PLAIN = {
    Decimal.COMMA: r"^-?\d{1,15}(?:,\d+)?$",
    Decimal.POINT: r"^-?\d{1,15}(?:\.\d+)?$",
}
"""Cells without grouping, marks or units: most columns have nothing else."""

_HEAD = 64
_SIGNS = {Decimal.COMMA: (",", r"\."), Decimal.POINT: (r"\.", ",")}


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """How the cells of a column read as numbers.

    `readings` fit every cell. `differ` is a cell whose value depends on the reading, if there is
    one. `units`: marks of currency or measure that occur. `text_like`: digits that are names.
    """

    readings: tuple[Decimal, ...] = ()
    differ: str | None = None
    units: tuple[str, ...] = ()
    text_like: bool = False


def pattern(decimal: Decimal) -> str:
    """The regular expression that a cell of this reading fulfils."""
    point, group = _SIGNS[decimal]
    whole = "|".join(
        (r"\d+", *(rf"[1-9]\d{{0,2}}(?:{g}\d{{3}})+" for g in (group, _SPACE, "['\u2019]")))
    )
    if decimal is Decimal.POINT:
        whole += r"|[1-9]\d?(?:,\d\d)+,\d{3}"
    core = rf"(?:(?:{whole})(?:{point}\d+)?|{point}\d+)"
    sign = rf"(?:{_MINUS}|\+)"
    plain = rf"{sign}?{_SPACE}?(?:{_UNIT}{_SPACE}?{sign}?)?{_SPACE}?{core}"
    behind = rf"(?:{_SPACE}?{sign})?(?:{_SPACE}?{_UNIT})?(?:{_SPACE}?{_MARK})?"
    brackets = rf"\({_SPACE}?(?:{_UNIT}{_SPACE}?)?{core}{_SPACE}?(?:{_UNIT})?\)"
    return rf"^\s*(?:{plain}{behind}|{brackets})\s*$"


def examine(cells: pl.Series) -> NumberColumn:
    """Try both readings on the non-empty cells of a column (a String series without blanks)."""
    head = cells.head(_HEAD)
    tried = [d for d in Decimal if bool(head.str.contains(pattern(d)).all())]
    plain = {d: bool(cells.str.contains(_PLAIN[d]).all()) for d in tried}
    fitting = tuple(d for d in tried if plain[d] or bool(cells.str.contains(pattern(d)).all()))
    if not fitting:
        return NumberColumn()
    return NumberColumn(
        fitting,
        _differing(cells) if len(fitting) > 1 else None,
        () if any(plain.values()) else _units(cells),
        text_like=_text_like(cells),
    )


def values(cells: pl.Series, decimal: Decimal) -> pl.Series:
    """Exact values of cells; null where a cell does not fit the reading (or is empty)."""
    frame = cells.alias("cell").to_frame()
    cell = pl.col("cell")
    if bool(cells.str.contains(_PLAIN[decimal]).all()):
        digits = cell if decimal is Decimal.POINT else cell.str.replace(",", ".", literal=True)
        negative = None
    else:
        point = "," if decimal is Decimal.COMMA else "."
        fitting = pl.when(cell.str.contains(pattern(decimal))).then(cell)
        digits = fitting.str.replace_all(rf"[^0-9{point}]|\.$|^Fr\.", "")
        digits = digits.str.replace(point, ".", literal=True)
        negative = cell.str.contains(_NEGATIVE)
    cleaned = frame.select(digits.alias("digits")).to_series()
    scale = (cleaned.str.len_bytes() - 1 - cleaned.str.find(".", literal=True)).max()
    number = cleaned.cast(pl.Decimal(38, int(scale or 0)), strict=False)  # type: ignore[arg-type]
    if negative is None:
        return number.alias(cells.name)
    minus = frame.select(negative.alias("minus")).to_series()
    signed = pl.DataFrame({"n": number, "m": minus}).select(
        pl.when(pl.col("m")).then(-pl.col("n")).otherwise(pl.col("n"))
    )
    return signed.to_series().cast(pl.Decimal(38, int(scale or 0))).alias(cells.name)  # type: ignore[arg-type]


def shown(cell: str, decimal: Decimal) -> str:
    """One cell as this reading has it, for a question."""
    value = values(pl.Series([cell]), decimal).item()
    return "" if value is None else str(value)


def _differing(cells: pl.Series) -> str | None:
    """A cell with exactly one group or decimal sign that both readings accept."""
    found = cells.filter(cells.str.contains(r"\d[.,]\d{3}(?:\D|$)")).head(1)
    return None if not len(found) else found.item()


def _units(cells: pl.Series) -> tuple[str, ...]:
    units = cells.str.extract(rf"({_UNIT})").drop_nulls().unique()
    return tuple(sorted(units.to_list()))


def _text_like(cells: pl.Series) -> bool:
    """Leading zeros or more digits than a number of bookkeeping has: names, not quantities."""
    return bool(cells.str.contains(r"^\s*[-+]?0\d|\d{16}").any())


NUMBER = re.compile(pattern(Decimal.COMMA) + "|" + pattern(Decimal.POINT))
"""Whether one text is a number in some reading."""
