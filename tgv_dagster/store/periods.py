"""What the database says when something would change a closed month, told as one error.

The lock itself stands in the database (trigger of `txn_master`); closing a month belongs to
`bank.periods`. Here: recognising the refusal wherever it comes up, with the remedy (FIN-17).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

PERIOD_LOCKED = "period_locked"
"""Name of the constraint with which the database refuses bookings in a locked period."""

REMEDY = (
    "A closed month stays as it is: hand the bookings of open months over by themselves, and"
    " correct the closed one by a reversal in an open month."
)


class PeriodLocked(RuntimeError):
    """A month that somebody closed would have changed; nothing was written."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason.rstrip('. ')}. {REMEDY}")


@contextmanager
def within_open_periods() -> Iterator[None]:
    """Raise PeriodLocked when the database refuses a change for a closed month."""
    try:
        yield
    except psycopg.errors.CheckViolation as error:
        if error.diag.constraint_name != PERIOD_LOCKED:
            raise
        raise PeriodLocked(error.diag.message_primary or "The month is closed") from error
