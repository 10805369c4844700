"""Balances across statements: does a new statement continue what is recorded for its account?

Pure. A statement that touches a recorded one must open with the balance that one closed with; one
that overlaps recorded ones must run through their closing balances. What lies further apart is a
gap and no fault: the check of coverage shows it (domain rules on money invariants).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from itertools import accumulate

from tgv_dagster.bank.frame import Line, Statement

_TOUCHING = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Point:
    """A recorded statement, by its balances."""

    statement_id: int
    number: str | None
    opening: Decimal
    opening_day: date
    closing: Decimal
    closing_day: date


def first_day(statement: Statement) -> date | None:
    """The first day the statement has anything to say about."""
    opened = statement.opening.day if statement.opening else None
    return min((line.booking_date for line in statement.booked), default=opened)


def continued(
    statement: Statement, points: Sequence[Point], moved: Mapping[int, Decimal]
) -> frozenset[int]:
    """Recorded statements that end where this one begins: their bookings are others.

    Without this, the second of two statements of one day would find its fee of 10.00 already
    recorded by the first. `moved` sums what each recorded statement booked from the first day of
    this one on: where that is nothing, beginning before or after it is the same balance, and equal
    lines are the same lines.
    """
    begin = first_day(statement)
    if statement.opening is None or begin is None:
        return frozenset()
    days = (begin, statement.opening.day)
    waiting = [p for p in points if p.closing == statement.opening.amount and p.closing_day in days]
    found: set[int] = set()
    while waiting:
        point = waiting.pop()
        if point.statement_id in found or not moved.get(point.statement_id):
            continue
        found.add(point.statement_id)
        waiting += [
            p for p in points if p.closing == point.opening and p.closing_day == point.opening_day
        ]
    return frozenset(found)


def broken_chain(statement: Statement, points: Sequence[Point]) -> str | None:
    """Why the balances of this statement contradict the recorded ones; None when they do not."""
    begin = first_day(statement)
    if statement.opening is None or begin is None:
        return None
    inside = [p for p in points if p.closing_day >= begin]
    before = [p for p in points if p.closing_day < begin]
    if before and not inside:
        last = max(p.closing_day for p in before)
        ends = {p.closing for p in before if p.closing_day == last}
        touching = statement.opening.day - last <= _TOUCHING
        if touching and statement.opening.amount not in ends:
            return f"it does not open with the balance that is recorded for {last}"
    return _contradiction(statement, statement.opening.amount, inside)


def _contradiction(statement: Statement, opening: Decimal, points: Sequence[Point]) -> str | None:
    booked = statement.booked
    last = max((line.booking_date for line in booked), default=None)
    for point in points:
        if last is None or point.closing_day >= last:
            continue
        if point.closing not in _balances_on(point.closing_day, opening, booked):
            return f"it contradicts the balance that is recorded for {point.closing_day}"
    return None


def _balances_on(day: date, opening: Decimal, lines: Sequence[Line]) -> set[Decimal]:
    """Every balance the account may have had on a day, in both orders of the lines of that day."""
    start = opening + sum((x.amount for x in lines if x.booking_date < day), Decimal(0))
    of_day = [x.amount for x in lines if x.booking_date == day]
    return set(accumulate(of_day, initial=start)) | set(accumulate(of_day[::-1], initial=start))
