"""Coverage of an account by its statements: every statement adds up, and follows the one before.

Days without a statement are gaps of `IntervalKind.STATEMENTS`; here belongs the arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

import polars as pl

STATEMENTS = pl.Schema(
    {
        "row": pl.String,
        "key": pl.String,
        "opening_date": pl.Date,
        "closing_date": pl.Date,
        "opening": pl.Decimal(18, 2),
        "movements": pl.Decimal(18, 2),
        "closing": pl.Decimal(18, 2),
    }
)
"""One statement of one account and currency (`key`); `movements` is the sum of its bookings."""


class Break(StrEnum):
    """What does not fit."""

    UNKNOWN = "unknown"
    DOES_NOT_ADD_UP = "does_not_add_up"
    DOES_NOT_FOLLOW = "does_not_follow"


@dataclass(frozen=True, slots=True)
class BalanceBreak:
    """One statement that does not fit, and by how much (0 when a figure is missing)."""

    kind: Break
    key: str
    row: str
    row_before: str | None
    difference: Decimal


def balance_breaks(statements: pl.DataFrame) -> tuple[BalanceBreak, ...]:
    """Statements whose opening and movements do not give the closing balance, or whose opening is
    not the closing balance of the statement before; a missing figure is told, never assumed.

    Raises polars.exceptions.SchemaError when the frame is not of the schema `STATEMENTS`.
    """
    if statements.schema != STATEMENTS:
        raise pl.exceptions.SchemaError(f"statements have {STATEMENTS}, not {statements.schema}")
    figures = ("opening", "movements", "closing")
    unknown = statements.filter(pl.any_horizontal(pl.col(name).is_null() for name in figures))
    off = statements.with_columns(
        (pl.col("opening") + pl.col("movements") - pl.col("closing")).alias("difference")
    ).filter(pl.col("difference") != 0)
    ordered = statements.sort("key", "opening_date", "closing_date", "row")
    torn = ordered.with_columns(
        pl.col("row").shift().over("key").alias("row_before"),
        (pl.col("opening") - pl.col("closing").shift().over("key")).alias("difference"),
    ).filter(pl.col("difference") != 0)
    return (
        *(
            BalanceBreak(Break.UNKNOWN, row["key"], row["row"], None, Decimal(0))
            for row in unknown.iter_rows(named=True)
        ),
        *(
            BalanceBreak(Break.DOES_NOT_ADD_UP, row["key"], row["row"], None, row["difference"])
            for row in off.iter_rows(named=True)
        ),
        *(
            BalanceBreak(
                Break.DOES_NOT_FOLLOW, row["key"], row["row"], row["row_before"], row["difference"]
            )
            for row in torn.iter_rows(named=True)
        ),
    )
