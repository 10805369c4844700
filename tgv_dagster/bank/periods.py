"""Closing a month of an entity: from then on the database itself refuses every change in it.

The lock is final; what turns out wrong later is reversed by a booking of an open month (domain
rules B4). Closing with its reports comes with the books; this is only the lock.
"""

from __future__ import annotations

import re

from tgv_dagster.bank.frame import BankFileError
from tgv_dagster.store.db import Connection
from tgv_dagster.store.events import Event, record


class PeriodError(BankFileError):
    """The month cannot be locked; the message says why."""


def lock_period(connection: Connection, *, entity: str, period: str, author: str) -> int:
    """Lock the month `YYYY-MM` of an entity; returns how many bookings are locked with it.

    Raises PeriodError for an unknown entity, a word that is no month, or a month locked before.
    """
    if not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", period):
        raise PeriodError("A period is written as year and month: 2026-03.")
    known = connection.execute(
        "SELECT mandant_id FROM entities WHERE slug = %s", (entity,)
    ).fetchone()
    if known is None:
        raise PeriodError("There is no such entity.")
    # The lock first: a booking that is under way ends before, and the next one sees the lock.
    connection.execute("SELECT pg_advisory_xact_lock(period_lock_key(%s, %s))", (entity, period))
    done = connection.execute(
        "SELECT locked_at FROM accounting_periods WHERE entity = %s AND period = %s",
        (entity, period),
    ).fetchone()
    if done is not None and done[0] is not None:
        raise PeriodError("This month is locked already.")
    locked = connection.execute(
        "UPDATE txn_master SET state = 'locked' WHERE entity = %s AND state <> 'locked'"
        " AND coalesce(accounting_period, to_char(booking_date, 'YYYY-MM')) = %s",
        (entity, period),
    ).rowcount
    connection.execute(
        "INSERT INTO accounting_periods (entity, period, locked_at, locked_by)"
        " VALUES (%s, %s, now(), %s) ON CONFLICT (entity, period) DO UPDATE"
        " SET locked_at = now(), locked_by = excluded.locked_by",
        (entity, period, author),
    )
    record(
        connection,
        Event(
            kind="bank.period_locked",
            author=author,
            object=f"period:{entity}:{period}",
            reason="a person locked the month",
            is_human=True,
            entity=entity,
            mandant_id=known[0],
            payload={"bookings": locked},
        ),
    )
    return locked
