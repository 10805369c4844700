"""The words of interval consistency: kinds, the frame that is compared, findings and reports."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import polars as pl

KEY_SEPARATOR = "\x1f"
"""Between the parts of a key; no name contains it, so two keys never become one."""


class IntervalKind(StrEnum):
    """Every kind of interval the product knows."""

    TRIPS = "trips"
    TIME_ENTRIES = "time_entries"
    PERIODS = "periods"
    VALIDITIES = "validities"
    STATEMENTS = "statements"
    TARIFFS = "tariffs"


@dataclass(frozen=True, slots=True)
class KindRule:
    """How one kind is judged.

    A tick is the smallest step that the kind knows; `ticks_per_unit` ticks are one `unit`. A gap
    is an error for no kind: it is a warning where `gap_is_told`, and natural elsewhere. With
    `is_open_ended` a missing end means "until further notice", otherwise it is a fault.
    """

    unit: str
    ticks_per_unit: int
    gap_is_told: bool
    is_open_ended: bool


RULES: dict[IntervalKind, KindRule] = {
    IntervalKind.TRIPS: KindRule("km", 10, gap_is_told=True, is_open_ended=False),
    IntervalKind.TIME_ENTRIES: KindRule("h", 3600, gap_is_told=False, is_open_ended=False),
    IntervalKind.PERIODS: KindRule("d", 1, gap_is_told=True, is_open_ended=False),
    IntervalKind.VALIDITIES: KindRule("d", 1, gap_is_told=False, is_open_ended=True),
    IntervalKind.STATEMENTS: KindRule("d", 1, gap_is_told=True, is_open_ended=False),
    IntervalKind.TARIFFS: KindRule("d", 1, gap_is_told=True, is_open_ended=True),
}

FRAME = pl.Schema(
    {
        "row": pl.String,
        "key": pl.String,
        "start": pl.Int64,
        "end": pl.Int64,
        "source": pl.String,
        "batch": pl.String,
    }
)
"""What is compared: an id of the row, the key inside which space is exclusive (entity and vehicle,
person, account), the half-open interval `[start, end)` in ticks, the origin of the row, and the
import it came with (null for a row that no import brought)."""

FOREVER = 2**40
"""The end of an open interval: later than any day, small enough to be added up a million times."""


class FindingKind(StrEnum):
    """What can be wrong about intervals of one key."""

    NO_SOURCE = "no_source"
    INVALID = "invalid"
    SPANNING = "spanning"
    INCOMPLETE_REPLACEMENT = "incomplete_replacement"
    REPEATED = "repeated"
    OVERLAP = "overlap"
    GAP = "gap"

    @property
    def is_error(self) -> bool:
        """Whether rows of this finding may not stand together; a gap only wants an explanation."""
        return self is not FindingKind.GAP


MAX_ROWS = 50
"""Rows named by one finding; `count` says how many there are."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where intervals of a key do not fit.

    `start` and `end` bound the space in ticks; `ticks` is what is occupied more than once, or for
    a gap what nobody occupies. `rows` and `sources` name the rows (at most `MAX_ROWS`).
    """

    kind: FindingKind
    key: str
    start: int
    end: int
    ticks: int
    rows: tuple[str, ...]
    sources: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Report:
    """A whole comparison: what was compared, and the findings.

    `errors` and `gaps` count all findings; `findings` holds at most the asked number of them,
    errors first, and is complete unless `is_truncated`.
    """

    kind: IntervalKind
    rows: int
    keys: int
    errors: int
    gaps: int
    findings: tuple[Finding, ...]

    @property
    def is_truncated(self) -> bool:
        """Whether there are more findings than are listed."""
        return len(self.findings) < self.errors + self.gaps
