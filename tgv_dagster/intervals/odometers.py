"""Odometers of a vehicle: a person records that one was exchanged, reset or rolled over.

From that day on its trips are another segment of the same vehicle, so that kilometres counted twice
by two odometers share no space. The database moves the trips in the same step and refuses an
exchange after which two of them would share kilometres.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import psycopg

from tgv_dagster.store.db import Connection
from tgv_dagster.store.events import Event, record


class ExchangeRefused(ValueError):
    """The exchange cannot stand as it is; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """An exchange: the last reading of the old odometer and the first of the new one, in km."""

    entity: str
    vehicle: str
    day: date
    km_last: Decimal
    km_first: Decimal
    reason: str


def record_exchange(connection: Connection, exchange: Exchange, *, by: str) -> int:
    """Write the exchange down in the caller's transaction; returns its number.

    Raises ExchangeRefused for readings below zero, a second exchange on one day, an unknown entity,
    a vehicle without a name, or trips that would share kilometres.
    """
    if exchange.km_last < 0 or exchange.km_first < 0:
        raise ExchangeRefused("A reading is not below zero.")
    if not exchange.vehicle.strip() or not exchange.reason.strip():
        raise ExchangeRefused("Name the vehicle as its trips do, and the reason in a few words.")
    try:
        with connection.transaction():
            row = connection.execute(
                "INSERT INTO odometer_exchanges (entity, vehicle, exchanged_on, km_last, km_first,"
                " reason, set_by) VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING id",
                (
                    exchange.entity,
                    exchange.vehicle,
                    exchange.day,
                    exchange.km_last,
                    exchange.km_first,
                    exchange.reason,
                    by,
                ),
            ).fetchone()
    except psycopg.errors.UniqueViolation as error:
        raise ExchangeRefused(
            "This vehicle has an exchange on that day already; withdraw it to correct it."
        ) from error
    except psycopg.errors.ForeignKeyViolation as error:
        raise ExchangeRefused("There is no such entity.") from error
    except psycopg.errors.ExclusionViolation as error:
        raise _clash(error) from error
    assert row is not None
    _tell(connection, int(row[0]), exchange.entity, "recorded", exchange.reason, by)
    return int(row[0])


def withdraw_exchange(connection: Connection, number: int, *, by: str) -> None:
    """Take an exchange back in the caller's transaction; its trips follow.

    Raises ExchangeRefused when there is none of this number in force, or trips written since would
    share kilometres with those before.
    """
    try:
        with connection.transaction():
            row = connection.execute(
                "UPDATE odometer_exchanges SET withdrawn_by = %s, withdrawn_at = now()"
                " WHERE id = %s AND withdrawn_at IS NULL RETURNING entity",
                (by, number),
            ).fetchone()
    except psycopg.errors.ExclusionViolation as error:
        raise _clash(error) from error
    if row is None:
        raise ExchangeRefused(f"There is no exchange {number} in force.")
    _tell(connection, number, row[0], "withdrawn", "a person took it back", by)


def _clash(error: psycopg.errors.ExclusionViolation) -> ExchangeRefused:
    return ExchangeRefused(
        f"Trips {error.diag.message_detail} would share kilometres of one odometer; take their"
        " import back first, or correct day and readings."
    )


def _tell(
    connection: Connection, number: int, entity: str, what: str, reason: str, by: str
) -> None:
    record(
        connection,
        Event(
            kind=f"odometer.exchange_{what}",
            author=by,
            object=f"odometer_exchange:{number}",
            reason=reason[:300],
            is_human=True,
            entity=entity,
        ),
    )
