"""An exchanged odometer starts a new segment of its vehicle; a person says when (INTV-07)."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import polars as pl
import psycopg
import pytest

from tgv_dagster.audit.measures.intervals import intervals_consistent
from tgv_dagster.audit.verdict import State
from tgv_dagster.installation import Installation
from tgv_dagster.intervals.odometers import (
    Exchange,
    ExchangeRefused,
    record_exchange,
    withdraw_exchange,
)
from tgv_dagster.intervals.writing import IntervalTable, Written, write

EXCHANGED = Exchange(
    "nord-gmbh", "HH-T 1", date(2026, 3, 1), Decimal(200_000), Decimal(0), "new odometer"
)


def trips(*rows: tuple[str, float, float]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "entity": "nord-gmbh", "vehicle": "HH-T 1", "trip_date": date.fromisoformat(day),
                "km_start": start, "km_end": end, "source": "log",
            }
            for day, start, end in rows
        ]
    )  # fmt: skip


def put(installation: Installation, *rows: tuple[str, float, float]) -> Written:
    with installation.database.worker() as connection:
        return write(connection, IntervalTable.TRIPS, trips(*rows))


def exchanged(installation: Installation, **other: Any) -> int:
    told = {name: getattr(EXCHANGED, name) for name in EXCHANGED.__slots__} | other
    with installation.database.worker() as connection:
        return record_exchange(connection, Exchange(**told), by="anna")


def segments(installation: Installation) -> list[tuple[int, float]]:
    with installation.database.worker() as connection:
        rows = connection.execute(
            "SELECT segment, km_start::float FROM fahrtenbuch ORDER BY trip_date, id"
        ).fetchall()
    return [(row[0], row[1]) for row in rows]


OLD, SAME = ("2026-01-05", 0, 40), ("2026-03-05", 0, 40)


def test_kilometres_of_a_new_odometer_are_refused_until_a_person_says_so(
    installation: Installation,
) -> None:
    put(installation, OLD)
    assert put(installation, ("2026-03-05", 10, 50)).refused == (0,)

    exchanged(installation)

    assert put(installation, ("2026-03-05", 10, 50)).accepted == (0,)
    assert segments(installation) == [(0, 0.0), (1, 10.0)]
    assert put(installation, ("2026-03-06", 20, 30)).refused == (0,)
    assert put(installation, ("2026-02-01", 20, 30)).refused == (0,)
    verdict = intervals_consistent(installation)
    assert verdict.state is State.GREEN, verdict


def test_the_same_reading_after_the_exchange_is_no_repetition(installation: Installation) -> None:
    put(installation, OLD)
    exchanged(installation)
    assert put(installation, SAME).accepted == (0,)
    assert put(installation, SAME).known == (0,)


def test_on_the_day_itself_a_trip_belongs_to_the_nearer_reading(installation: Installation) -> None:
    exchanged(installation)
    put(installation, ("2026-03-01", 199_950, 200_000), ("2026-03-01", 0, 30))
    assert sorted(segments(installation)) == [(0, 199_950.0), (1, 0.0)]


def test_trips_that_stand_follow_an_exchange_and_its_withdrawal(installation: Installation) -> None:
    put(installation, ("2026-01-05", 0, 40), ("2026-03-05", 40, 90))
    number = exchanged(installation)
    assert segments(installation) == [(0, 0.0), (1, 40.0)]
    with installation.database.worker() as connection:
        withdraw_exchange(connection, number, by="anna")
    assert segments(installation) == [(0, 0.0), (0, 40.0)]
    assert put(installation, ("2026-03-06", 60, 70)).refused == (0,)


def test_a_withdrawal_that_would_make_trips_share_kilometres_is_refused(
    installation: Installation,
) -> None:
    put(installation, OLD)
    number = exchanged(installation)
    put(installation, SAME)
    with (
        pytest.raises(ExchangeRefused, match="would share kilometres"),
        installation.database.worker() as connection,
    ):
        withdraw_exchange(connection, number, by="anna")
    assert segments(installation) == [(0, 0.0), (1, 0.0)]


def test_a_vehicle_may_have_had_several_odometers(
    installation: Installation,
) -> None:
    put(installation, ("2026-01-05", 0, 40))
    exchanged(installation)
    put(installation, ("2026-03-05", 0, 40), ("2026-05-05", 50, 90))
    exchanged(installation, day=date(2026, 4, 1), km_last=Decimal(45))
    put(installation, ("2026-05-06", 0, 40))
    assert segments(installation) == [(0, 0.0), (1, 0.0), (2, 50.0), (2, 0.0)]
    with (
        pytest.raises(ExchangeRefused),
        installation.database.worker() as connection,
    ):
        withdraw_exchange(connection, 1, by="anna")


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"km_first": Decimal(-1)}, "below zero"),
        ({"vehicle": " "}, "Name the vehicle"),
        ({"reason": ""}, "the reason"),
        ({"entity": "nobody"}, "no such entity"),
    ],
)
def test_an_exchange_that_says_nothing_sensible_is_refused(
    installation: Installation, other: dict[str, Any], said: str
) -> None:
    with pytest.raises(ExchangeRefused, match=said):
        exchanged(installation, **other)


def test_two_exchanges_on_one_day_are_one_too_many(installation: Installation) -> None:
    exchanged(installation)
    with pytest.raises(ExchangeRefused, match="already"):
        exchanged(installation)
    with (
        pytest.raises(ExchangeRefused, match="no exchange 99"),
        installation.database.worker() as connection,
    ):
        withdraw_exchange(connection, 99, by="anna")


def test_the_human_stands_in_the_account(installation: Installation) -> None:
    exchanged(installation)
    with installation.database.worker() as connection:
        row = connection.execute(
            "SELECT author, is_human FROM agent_events WHERE kind = 'odometer.exchange_recorded'"
        ).fetchall()
    assert row == [("anna", True)]


def test_nobody_moves_a_trip_by_writing_its_segment(installation: Installation) -> None:
    put(installation, OLD)
    with (
        pytest.raises(psycopg.errors.InsufficientPrivilege),
        installation.database.worker() as connection,
    ):
        connection.execute("UPDATE fahrtenbuch SET segment = 3")
