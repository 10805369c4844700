"""Deadlines: the computed days of a contract, each with the derivation that made it.

Here belongs calendar arithmetic on stated facts; nothing is read from text and nothing asks for
today's date. `as_of` is given where the next of a series is wanted.

Two rules give a notice deadline: `start_plus_period` and `end_minus_period` (DATE-14). Where the
document states its end or renewal itself, both are known, and a person decides when they differ,
unless the document says to which day the notice is given ("zum Ablauf", "before the end"), or the
day counted from the start had passed on `as_of`: nobody can act on it any more, so it is no rival.
An end that is only computed from the start is no second opinion: then the rule that counts back
from it holds, because a notice has to reach the end of a term and not its beginning. Every
candidate stays in the derivation.
"""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from tgv_dagster.deepen.contract_periods import Period, Unit
from tgv_dagster.understand.evidence import Field, OpenPoint, OpenPointKind


class DeadlineRule(StrEnum):
    """Rules of computation, named in every derivation."""

    START_PLUS_PERIOD = "start_plus_period"
    END_MINUS_PERIOD = "end_minus_period"
    TERM_END = "term_end"
    NEXT_RENEWAL = "next_renewal"
    STATUTE = "statute"


@dataclass(frozen=True, slots=True)
class Derivation:
    """A computed day with everything it was computed from (DATE-15).

    `inputs` are the facts by name; `source` names the document they stand in.
    """

    rule: DeadlineRule
    value: date
    inputs: tuple[tuple[str, str], ...]
    source: str

    def __str__(self) -> str:
        facts = ", ".join(f"{name} {value}" for name, value in self.inputs)
        origin = f" ({self.source})" if self.source else ""
        return f"{self.rule}: {facts} = {self.value.isoformat()}{origin}"


@dataclass(frozen=True, slots=True)
class ContractFacts:
    """What a contract states; None is not stated. `source` names the document.

    `open_ended` is a contract that says itself that it has no end; `notice_to_an_end` one that
    says that its notice is given to an end of the term, month, quarter or year.
    """

    start: date | None = None
    end: date | None = None
    next_renewal: date | None = None
    notice: Period | None = None
    term: Period | None = None
    renewal: Period | None = None
    auto_renewal: bool | None = None
    open_ended: bool = False
    notice_to_an_end: bool = False
    source: str = ""


@dataclass(frozen=True, slots=True)
class DeadlineVerdict:
    """Computed days; `notice_deadline` is None while two rules with stated facts disagree."""

    notice_deadline: Derivation | None
    contract_end: Derivation | None
    next_renewal: Derivation | None
    candidates: tuple[Derivation, ...]
    open_points: tuple[OpenPoint, ...]


def compute(facts: ContractFacts, as_of: date | None = None) -> DeadlineVerdict:
    """End, next renewal and notice deadline of a contract, computed in one go (DATE-14).

    `as_of` chooses the renewal that comes next; without it the first one is taken. When the notice
    for that renewal came too late already, the deadline is the one of the renewal after it.
    """
    end = _computed_end(facts)
    renewal = _computed_renewal(facts, as_of)
    candidates = tuple(_notice_candidates(facts, end, renewal, as_of))
    values = {candidate.value for candidate in candidates}
    points: tuple[OpenPoint, ...] = ()
    end_is_stated = facts.end is not None or facts.next_renewal is not None
    open_choice = end_is_stated and not facts.notice_to_an_end
    if len(values) > 1 and open_choice and not _start_day_has_passed(candidates, as_of):
        points = (
            OpenPoint(
                OpenPointKind.CONFLICT,
                Field.NOTICE_DEADLINE,
                "; ".join(str(candidate) for candidate in candidates),
                tuple(sorted(value.isoformat() for value in values)),
            ),
        )
    agreed = None if points or not candidates else candidates[-1]
    return DeadlineVerdict(agreed, end, renewal, candidates, points)


def _start_day_has_passed(candidates: tuple[Derivation, ...], as_of: date | None) -> bool:
    """Whether the day counted from the start cannot be kept any more."""
    counted = [c.value for c in candidates if c.rule is DeadlineRule.START_PLUS_PERIOD]
    return as_of is not None and any(value < as_of for value in counted)


def start_plus_period(start: date, days: int) -> date:
    """The start plus plain days; the start day itself is not counted."""
    return start + timedelta(days=days)


def end_minus_period(end: date, period: Period) -> date:
    """The last day on which a notice of this length still reaches the end.

    Counted backwards it is the latest day D with D + period <= end, months clamped forward; plain
    subtraction would be days too early (30 June less 3 months is 31 March).
    """
    months = period.months
    if months is None:
        return end - timedelta(days=period.days)
    day = add_months(end, -months)
    while add_months(day + timedelta(days=1), months) <= end:
        day += timedelta(days=1)
    return day


def term_end(start: date, period: Period) -> date:
    """The last day of a term that begins with the start day (sections 187(2), 188(2) BGB)."""
    months = period.months
    if months is None:
        return start + timedelta(days=period.days - 1)
    if start.day == 1:
        return add_months(start, months) - timedelta(days=1)
    index = start.year * 12 + start.month - 1 + months
    year, month = divmod(index, 12)
    last = monthrange(year, month + 1)[1]
    return date(year, month + 1, min(start.day - 1, last))


def add_months(day: date, months: int) -> date:
    """The same day of the month some months later, the last day where it does not exist."""
    index = day.year * 12 + day.month - 1 + months
    year, month = divmod(index, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def renewal_dates(start: date, term: Period, renewal: Period, count: int) -> tuple[date, ...]:
    """The first days of the first `count` renewed periods, each counted from the start."""
    return tuple(term_end(start, _sum(term, renewal, k)) + timedelta(days=1) for k in range(count))


def _sum(term: Period, renewal: Period, times: int) -> Period:
    """Term plus some renewals; in months where both are, so that clamping never adds up."""
    if term.months is not None and renewal.months is not None:
        return Period(term.months + renewal.months * times, Unit.MONTH)
    return Period(term.days + renewal.days * times, Unit.DAY)


def _computed_end(facts: ContractFacts) -> Derivation | None:
    """The end of a fixed term; a contract that renews has a renewal and no end (DATE-29)."""
    if facts.end is not None or facts.auto_renewal or facts.open_ended:
        return None
    if facts.start is None or facts.term is None:
        return None
    inputs = (_fact(Field.CONTRACT_START_DATE, facts.start), ("term", str(facts.term)))
    value = term_end(facts.start, facts.term)
    return Derivation(DeadlineRule.TERM_END, value, inputs, facts.source)


_MOST_RENEWALS = 400


def _computed_renewal(facts: ContractFacts, as_of: date | None) -> Derivation | None:
    coming = _renewals_after(facts, as_of)
    if facts.next_renewal is not None or not coming:
        return None
    inputs = (
        *_renewal_facts(facts),
        *(() if as_of is None else (("as_of", as_of.isoformat()),)),
    )
    return Derivation(DeadlineRule.NEXT_RENEWAL, coming[0], inputs, facts.source)


def _renewal_facts(facts: ContractFacts) -> tuple[tuple[str, str], ...]:
    assert facts.start is not None
    return (
        _fact(Field.CONTRACT_START_DATE, facts.start),
        ("term", str(facts.term)),
        ("renewal", str(facts.renewal or facts.term)),
    )


def _renewals_after(facts: ContractFacts, as_of: date | None) -> tuple[date, ...]:
    """The coming renewals of a contract that renews by itself, next one first."""
    if not facts.auto_renewal or facts.start is None or facts.term is None:
        return ()
    renewal = facts.renewal or facts.term
    count = 1 if as_of is None else _MOST_RENEWALS
    series = renewal_dates(facts.start, facts.term, renewal, count)
    return tuple(day for day in series if as_of is None or day > as_of)


def _notice_candidates(
    facts: ContractFacts, end: Derivation | None, renewal: Derivation | None, as_of: date | None
) -> list[Derivation]:
    if facts.notice is None:
        return []
    days = facts.notice.days
    length = (Field.NOTICE_PERIOD_DAYS.value, f"{days} ({facts.notice})")
    found: list[Derivation] = []
    if facts.start is not None:
        inputs = (_fact(Field.CONTRACT_START_DATE, facts.start), length)
        value = start_plus_period(facts.start, days)
        found.append(Derivation(DeadlineRule.START_PLUS_PERIOD, value, inputs, facts.source))
    last_day = _last_day(facts, end, renewal)
    if last_day is not None:
        name, value = last_day
        if renewal is not None:
            value = _still_open(facts, facts.notice, value, as_of)
        inputs = ((name, value.isoformat()), length)
        latest = end_minus_period(value, facts.notice)
        found.append(Derivation(DeadlineRule.END_MINUS_PERIOD, latest, inputs, facts.source))
    return found


def _last_day(
    facts: ContractFacts, end: Derivation | None, renewal: Derivation | None
) -> tuple[str, date] | None:
    """The day before the next renewal, else the end: whatever comes by itself."""
    next_renewal = facts.next_renewal or (renewal.value if renewal is not None else None)
    if next_renewal is not None:
        return f"day before {Field.NEXT_RENEWAL_DATE}", next_renewal - timedelta(days=1)
    last = facts.end or (end.value if end is not None else None)
    return None if last is None else (Field.CONTRACT_END_DATE.value, last)


def _still_open(facts: ContractFacts, notice: Period, coming: date, as_of: date | None) -> date:
    """The last day of the first period that a notice given on `as_of` can still end."""
    if as_of is None:
        return coming
    ends = (day - timedelta(days=1) for day in _renewals_after(facts, as_of))
    return next((end for end in ends if end_minus_period(end, notice) >= as_of), coming)


def _fact(field: Field, value: date) -> tuple[str, str]:
    return field.value, value.isoformat()
