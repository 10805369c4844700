"""Statutory notice rules: which law gives a notice, and the last day it can be received.

The rules are data (`notice_rules.yaml`) with source, validity and reviewer; here belong their
shape, the check of the file and the arithmetic. A rule that nobody signed off is computed and
named, and a person decides. Holidays of single states are left out on purpose: without them the
counted working day is never too late.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any

import yaml
from dateutil.easter import easter

from tgv_dagster.deepen import deadlines
from tgv_dagster.deepen.contract_periods import Period, Unit


class NoticeRuleError(ValueError):
    """The file of rules is wrong; the message lists every fault."""


class Kind(StrEnum):
    """How a rule gives its day."""

    WORKING_DAY = "working_day"
    BEFORE_END = "before_end"
    ANY_TIME = "any_time"
    BOUNDS = "bounds"


class Ends(StrEnum):
    """To which days a notice may be given."""

    MONTH = "month"
    HALF_MONTH = "half_month"
    QUARTER = "quarter"
    YEAR = "year"
    TERM_YEARS = "term_years"


@dataclass(frozen=True, slots=True)
class NoticeRule:
    """One statutory rule; `longer` are more months, `steps` other lengths, by years since start.

    `reviewer` is empty while nobody signed it off.
    """

    id: str
    jurisdiction: str
    subject: str
    source: str
    valid_from: date
    kind: Kind
    party: str = ""
    valid_to: date | None = None
    reviewer: str = ""
    note: str = ""
    nth: int = 0
    period: Ends = Ends.MONTH
    after: int = 0
    longer: tuple[tuple[int, int], ...] = ()
    length: Period | None = None
    ends: Ends = Ends.MONTH
    every: int = 0
    first: int = 0
    steps: tuple[tuple[int, Period], ...] = ()
    least: Period | None = None
    most: Period | None = None

    def holds_on(self, day: date) -> bool:
        """Whether the rule is law on a day."""
        return self.valid_from <= day and (self.valid_to is None or day <= self.valid_to)


@dataclass(frozen=True, slots=True)
class NextNotice:
    """The next chance under a rule: last day of receipt, and the day on which it ends.

    `last_day` is None where notice may be given on any day; `disputed` names a later arguable day.
    """

    rule: NoticeRule
    last_day: date | None
    ends_on: date
    disputed: date | None = None


def find(jurisdiction: str, subject: str, day: date, *, party: str = "") -> NoticeRule | None:
    """The rule in force on a day; None when the data has none."""
    return next(
        (
            rule
            for rule in load()
            if (rule.jurisdiction, rule.subject) == (jurisdiction, subject)
            and party in (rule.party, "")
            and rule.holds_on(day)
        ),
        None,
    )


def next_notice(rule: NoticeRule, start: date, as_of: date) -> NextNotice | None:
    """The next day on which a notice received from `as_of` on still ends a contract in time.

    `start` is the first day of the contract, from which years are counted. None for a rule of
    bounds, which gives no day.
    """
    if rule.kind is Kind.WORKING_DAY:
        return _by_working_day(rule, start, as_of)
    if rule.kind is Kind.BEFORE_END:
        return _before_end(rule, start, as_of)
    if rule.kind is Kind.ANY_TIME and rule.length is not None:
        return NextNotice(rule, None, _after(as_of, rule.length))
    return None


def is_within(rule: NoticeRule, agreed: Period) -> bool:
    """Whether an agreed length keeps the bounds of a rule."""
    low = rule.least is None or rule.least.days <= agreed.days
    return low and (rule.most is None or agreed.days <= rule.most.days)


# --- arithmetic ----------------------------------------------------------------------------------

_SATURDAY, _SUNDAY = 5, 6


def working_day(first: date, nth: int) -> date:
    """The nth working day from a day on; Saturdays count, Sundays and national holidays do not."""
    day, counted = first, 0
    while True:
        counted += day.weekday() != _SUNDAY and not _is_holiday(day)
        if counted == nth:
            return day
        day += timedelta(days=1)


def _is_holiday(day: date) -> bool:
    """Holidays of all German states."""
    fixed = {(1, 1), (5, 1), (10, 3), (12, 25), (12, 26)}
    return (day.month, day.day) in fixed or (day - easter(day.year)).days in (-2, 1, 39, 50)


def _by_working_day(rule: NoticeRule, start: date, as_of: date) -> NextNotice:
    months = 3 if rule.period is Ends.QUARTER else 1
    first = date(as_of.year, (as_of.month - 1) // months * months + 1, 1)
    while working_day(first, rule.nth) < as_of:
        first = deadlines.add_months(first, months)
    day = working_day(first, rule.nth)
    more = max((extra for years, extra in rule.longer if _years(start, day) >= years), default=0)
    length = months * (rule.after + 1) + more
    ends_on = deadlines.add_months(first, length) - timedelta(days=1)
    disputed = day + timedelta(days=2) if day.weekday() == _SATURDAY else None
    return NextNotice(rule, day, ends_on, disputed)


def _before_end(rule: NoticeRule, start: date, as_of: date) -> NextNotice | None:
    assert rule.length is not None
    length, ends = rule.length, rule.ends
    for years, longer in rule.steps:
        if _years(start, as_of) >= years:
            length, ends = longer, Ends.MONTH
    for end in _ends(rule, ends, start, as_of):
        last = deadlines.end_minus_period(end, length)
        if last >= as_of:
            return NextNotice(rule, last, end)
    return None


_MOST_ENDS = 400


def _ends(rule: NoticeRule, ends: Ends, start: date, as_of: date) -> Iterator[date]:
    """The days to which notice may be given, from before `as_of` on."""
    if ends is Ends.TERM_YEARS:
        for count in range(_MOST_ENDS):
            years = rule.first + count * rule.every
            yield deadlines.term_end(start, Period(years, Unit.YEAR))
        return
    first = date(as_of.year, 1, 1)
    step = {Ends.QUARTER: 3, Ends.YEAR: 12}.get(ends, 1)
    for count in range(_MOST_ENDS):
        opens = deadlines.add_months(first, count * step)
        if ends is Ends.HALF_MONTH:
            yield opens.replace(day=15)
        yield deadlines.add_months(opens, step) - timedelta(days=1)


def _years(start: date, day: date) -> int:
    """Full years from a start to a day."""
    return day.year - start.year - ((day.month, day.day) < (start.month, start.day))


def _after(day: date, length: Period) -> date:
    if length.months is not None:
        return deadlines.add_months(day, length.months)
    return day + timedelta(days=length.days)


# --- the file ------------------------------------------------------------------------------------


@cache
def load() -> tuple[NoticeRule, ...]:
    """The shipped rules. Raises NoticeRuleError when the file is wrong."""
    path = resources.files("tgv_dagster.deepen") / "notice_rules.yaml"
    return parse(path.read_text(encoding="utf-8"))


def parse(text: str) -> tuple[NoticeRule, ...]:
    """Rules from YAML. Raises NoticeRuleError listing every fault."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise NoticeRuleError(f"notice rules are no YAML: {error}") from error
    listed = data.get("rules") if isinstance(data, dict) else None
    if not isinstance(listed, list):
        raise NoticeRuleError("notice rules: a list `rules` is expected")
    rules: list[NoticeRule] = []
    faults: list[str] = []
    for position, raw in enumerate(listed, start=1):
        try:
            rules.append(_rule(raw))
        except (ValueError, TypeError, KeyError) as error:
            name = raw.get("id", position) if isinstance(raw, Mapping) else position
            faults.append(f"rule {name}: {error}")
    names = [rule.id for rule in rules]
    twice = sorted({name for name in names if names.count(name) > 1})
    faults += [f"rule {name}: named twice" for name in twice]
    if faults:
        raise NoticeRuleError("notice rules: " + "; ".join(faults))
    return tuple(rules)


_PERIODS = ("length", "least", "most")


def _rule(raw: Any) -> NoticeRule:
    if not isinstance(raw, Mapping):
        raise NoticeRuleError("a mapping is expected")
    read: dict[str, Any] = dict(raw)
    for name in ("id", "jurisdiction", "subject", "source", "valid_from", "kind"):
        if not read.get(name):
            raise NoticeRuleError(f"`{name}` is missing")
    if not isinstance(read["valid_from"], date):
        raise NoticeRuleError("`valid_from` must be a day as YYYY-MM-DD")
    read["kind"] = Kind(read["kind"])
    for name in ("ends", "period"):
        if name in read:
            read[name] = Ends(read[name])
    for name in _PERIODS:
        if name in read:
            read[name] = Period.parse(read[name])
    read["longer"] = tuple(sorted(dict(read.get("longer", {})).items()))
    steps = dict(read.get("steps", {}))
    read["steps"] = tuple(sorted((years, Period.parse(length)) for years, length in steps.items()))
    made = NoticeRule(**read)
    if made.kind in (Kind.BEFORE_END, Kind.ANY_TIME) and made.length is None:
        raise NoticeRuleError("`length` is missing")
    if made.kind is Kind.WORKING_DAY and not (made.nth and made.after):
        raise NoticeRuleError("`nth` and `after` are missing")
    if made.ends is Ends.TERM_YEARS and not (made.every and made.first):
        raise NoticeRuleError("`every` and `first` are missing")
    return made
