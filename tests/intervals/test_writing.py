"""Interval tables have one writer, and the database holds it to its word (INTV-03, INTV-08)."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date, time
from typing import Any

import polars as pl
import psycopg
import pytest

from tgv_dagster.installation import Installation
from tgv_dagster.intervals.compare import compare
from tgv_dagster.intervals.model import FindingKind, IntervalKind
from tgv_dagster.intervals.writing import (
    IntervalClash,
    IntervalTable,
    Written,
    remove,
    stored,
    write,
)

Trip = tuple[float, float, str]
TRIPS, ENTRIES = IntervalTable.TRIPS, IntervalTable.TIME_ENTRIES


def trips(*rows: Trip, vehicle: str = "HH-T 1", **more: Any) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "entity": "nord-gmbh", "vehicle": vehicle, "trip_date": date(2026, 1, 5),
                "km_start": start, "km_end": end, "source": source, **more,
            }
            for start, end, source in rows
        ]
    )  # fmt: skip


def entry(start: time, end: time | None, minutes: int, **more: Any) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "entity": "nord-gmbh", "benutzername": "anna", "datum": date(2026, 1, 5),
                "startzeit": start, "endzeit": end, "minutes": minutes, "source": "toggl", **more,
            }
        ],
        schema_overrides={"endzeit": pl.Time},
    )  # fmt: skip


def put(
    installation: Installation,
    rows: pl.DataFrame,
    table: IntervalTable = TRIPS,
    replaced: Sequence[int] = (),
) -> Written:
    with installation.database.worker() as connection:
        return write(connection, table, rows, replaced=replaced)


def kilometres(installation: Installation) -> list[tuple[float, float]]:
    with installation.database.worker() as connection:
        rows = connection.execute("SELECT km_start, km_end FROM fahrtenbuch ORDER BY 1, 2")
        return [(float(start), float(end)) for start, end in rows]


def test_the_spanning_row_of_the_incident_is_reported_and_not_inserted(
    installation: Installation,
) -> None:
    first = put(installation, trips((1000, 1151, "logbook"), (1151, 1302, "logbook")))
    assert len(first.ids) == 2
    second = put(
        installation,
        trips((1000, 1151, "logbook"), (1151, 1302, "logbook"), (1000, 1302, "yearly export")),
    )
    assert (second.known, second.refused, second.ids) == ((0, 1), (2,), ())
    assert second.report.findings[0].kind is FindingKind.SPANNING
    assert second.report.findings[0].ticks == 3020
    assert kilometres(installation) == [(1000.0, 1151.0), (1151.0, 1302.0)]


def test_a_row_is_accepted_by_its_place_and_keeps_what_it_carries(
    installation: Installation,
) -> None:
    written = put(
        installation,
        trips((0, 10, "log"), (5, 20, "log"), (20.5, 30, "log"), purpose="Baustelle",
              provenance='{"import_id": "i-7", "line": 3}'),
    )  # fmt: skip
    assert (written.accepted, written.refused) == ((2,), (0, 1))
    with installation.database.worker() as connection:
        row = connection.execute(
            "SELECT id, purpose, provenance ->> 'line', check_status, mandant_id IS NOT NULL"
            " FROM fahrtenbuch"
        ).fetchall()
    assert row == [(written.ids[0], "Baustelle", "3", "needs_review", True)]


def test_the_worker_itself_may_not_write_an_interval_table(installation: Installation) -> None:
    put(installation, trips((0, 10, "log")))
    for statement in (
        "INSERT INTO fahrtenbuch (entity, vehicle, trip_date, km_start, km_end, source)"
        " VALUES ('nord-gmbh', 'HH-T 1', '2026-01-05', 0, 10, 'form')",
        "UPDATE fahrtenbuch SET km_end = 99",
        "DELETE FROM fahrtenbuch",
        "TRUNCATE fahrtenbuch",
        "INSERT INTO prf_timetrack (benutzername, datum, startzeit, minutes, source)"
        " VALUES ('anna', '2026-01-05', '08:00', 60, 'form')",
    ):
        with (
            pytest.raises(psycopg.errors.InsufficientPrivilege),
            installation.database.worker() as connection,
        ):
            connection.execute(statement.encode())


def test_what_is_no_part_of_the_interval_may_still_change(installation: Installation) -> None:
    put(installation, trips((0, 10, "log")))
    with installation.database.worker() as connection:
        connection.execute("UPDATE fahrtenbuch SET check_status = 'ok', project_code = 'P-1'")


@pytest.mark.parametrize("number", [0, 1])
def test_the_database_refuses_shared_space_on_its_own(
    installation: Installation, number: int
) -> None:
    put(installation, trips((0, 10, "log"), (10, 20, "log")))
    row = [(5, 12), (0, 20)][number]
    with (
        pytest.raises(psycopg.errors.ExclusionViolation),
        installation.database.worker() as connection,
    ):
        connection.execute(
            "SELECT write_trips(jsonb_build_array(jsonb_build_object('entity', 'nord-gmbh',"
            " 'vehicle', 'HH-T 1', 'trip_date', '2026-01-06', 'km_start', %s::int,"
            " 'km_end', %s::int, 'source', 'chat')), '{}')",
            row,
        )
    assert kilometres(installation) == [(0.0, 10.0), (10.0, 20.0)]


def test_two_writers_at_once_never_share_space(installation: Installation) -> None:
    def one(number: int) -> bool:
        try:
            return bool(put(installation, trips((0, 10, f"writer {number}"))).ids)
        except IntervalClash:
            return False

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(one, range(4)))
    assert results.count(True) == 1
    assert kilometres(installation) == [(0.0, 10.0)]


def test_a_correction_keeps_its_id_and_leaves_no_old_version(installation: Installation) -> None:
    old = put(installation, trips((0, 10, "log"), (10, 20, "log")))
    corrected = put(installation, trips((0, 9, "log"), id=old.ids[0]), replaced=[old.ids[0]])
    assert corrected.ids == (old.ids[0],)
    assert kilometres(installation) == [(0.0, 9.0), (10.0, 20.0)]


def test_a_correction_that_does_not_fit_takes_nothing_away(installation: Installation) -> None:
    old = put(installation, trips((0, 10, "log"), (10, 20, "log")))
    corrected = put(installation, trips((0, 12, "log"), (30, 40, "log")), replaced=[old.ids[0]])
    assert (corrected.ids, corrected.refused) == ((), (0, 1))
    assert kilometres(installation) == [(0.0, 10.0), (10.0, 20.0)]


def test_a_whole_replacement_leaves_no_old_row(installation: Installation) -> None:
    old = put(installation, trips((0, 10, "log"), (10, 20, "log")))
    new = put(installation, trips((0, 20, "log")), replaced=old.ids)
    assert len(new.ids) == 1
    assert kilometres(installation) == [(0.0, 20.0)]


def test_an_undo_takes_rows_out(installation: Installation) -> None:
    ids = put(installation, trips((0, 10, "log"), (10, 20, "log"))).ids
    with installation.database.worker() as connection:
        remove(connection, TRIPS, ids[:1])
    assert kilometres(installation) == [(10.0, 20.0)]


def test_time_entries_of_a_person_are_weighed_within_their_tenant(
    installation: Installation,
) -> None:
    """DEDUP-11: one person works one entry at a time."""
    assert put(installation, entry(time(8), time(10), 120), ENTRIES).accepted == (0,)
    assert put(installation, entry(time(9), None, 30), ENTRIES).refused == (0,)
    other_tenant = entry(time(9), None, 30, entity="haus-sued")
    assert put(installation, other_tenant, ENTRIES).accepted == (0,)
    night = put(installation, entry(time(23), time(1), 120), ENTRIES)
    assert night.accepted == (0,)
    with installation.database.worker() as connection:
        assert compare(stored(connection, ENTRIES), IntervalKind.TIME_ENTRIES).errors == 0


def test_a_night_that_reaches_into_the_morning_clashes_in_the_database_too(
    installation: Installation,
) -> None:
    put(installation, entry(time(23), time(1), 120), ENTRIES)
    with (
        pytest.raises(psycopg.errors.ExclusionViolation),
        installation.database.worker() as connection,
    ):
        connection.execute(
            "SELECT write_time_entries(jsonb_build_array(jsonb_build_object('entity', 'nord-gmbh',"
            " 'benutzername', 'anna', 'datum', '2026-01-06', 'startzeit', '00:30',"
            " 'minutes', 60, 'source', 'chat')), '{}')"
        )


def test_many_rows_come_in_several_calls_and_keep_their_order(installation: Installation) -> None:
    count = 20_500
    rows = pl.DataFrame({"n": range(count)}).select(
        pl.lit("nord-gmbh").alias("entity"), pl.lit("HH-T 9").alias("vehicle"),
        pl.lit(date(2026, 1, 5)).alias("trip_date"), pl.col("n").cast(pl.Int64).alias("km_start"),
        (pl.col("n") + 1).cast(pl.Int64).alias("km_end"), pl.lit("log").alias("source"),
    )  # fmt: skip
    written = put(installation, rows)
    assert len(written.ids) == count
    with installation.database.worker() as connection:
        found = connection.execute("SELECT id FROM fahrtenbuch ORDER BY km_start").fetchall()
    assert [row[0] for row in found] == list(written.ids)


def test_a_stored_end_of_24_hours_is_the_first_moment_of_the_next_day(
    installation: Installation,
) -> None:
    with installation.database.owner() as connection:
        connection.execute(
            "INSERT INTO prf_timetrack (entity, benutzername, datum, startzeit, endzeit, minutes,"
            " source) VALUES ('nord-gmbh', 'anna', '2026-01-05', '22:00', '24:00', 120, 'toggl'),"
            " ('nord-gmbh', 'bert', '2026-01-05', '00:00', '24:00', 1440, 'toggl')"
        )
    with installation.database.worker() as connection:
        lengths = stored(connection, ENTRIES).select(pl.col("end") - pl.col("start"))
    assert sorted(lengths.to_series()) == [7_200, 86_400]

    inside = put(installation, entry(time(23), time(23, 30), 30), ENTRIES)
    following = put(installation, entry(time(0), time(1), 60, datum=date(2026, 1, 6)), ENTRIES)
    assert (inside.refused, following.accepted) == ((0,), (0,))
