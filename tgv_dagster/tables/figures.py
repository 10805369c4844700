"""Figures read from time entries and trips, each with the documents it comes from (TAB-38, 49, 50).

Readers go through a scope; the assets count over all tenants and show no name. Rates of flat-rate
figures are data with source and validity (`rates.yaml`); an unreviewed one says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_DOWN, Decimal
from functools import cache
from importlib import resources

import yaml

from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.scope import Scope
from tgv_dagster.tables.lexicon import normal_label

_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class ProjectHours:
    """Hours of one project in one month (`YYYY-MM`); `project_code` None: given to no project."""

    month: str
    project_code: str | None
    entity: str | None
    hours: Decimal
    entries: int
    unreviewed: int
    documents: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Trip:
    """One line of the logbook, with the document it came from."""

    id: int
    day: date
    vehicle: str
    entity: str
    project_code: str | None
    km_start: Decimal
    km_end: Decimal
    purpose: str
    check_status: str
    document_id: int | None

    @property
    def km(self) -> Decimal:
        """Kilometres of the trip."""
        return self.km_end - self.km_start


@dataclass(frozen=True, slots=True)
class Rate:
    """An amount per kilometre, valid for days from `first` to `last`; `above_km` starts a band."""

    kind: str
    first: date
    last: date | None
    above_km: int
    euro: Decimal
    source: str
    reviewed_by: str | None


@dataclass(frozen=True, slots=True)
class CommuteDay:
    """One day with a way between home and work: one-way kilometres, whole, and the allowance."""

    day: date
    vehicle: str
    one_way_km: int
    euro: Decimal | None
    documents: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FlatRate:
    """Business kilometres of a year and their flat rate; `euro` None where no rate is valid.

    `reviewed`: every rate that was used has been reviewed by a person.
    """

    year: int
    vehicle: str
    km: Decimal
    euro: Decimal | None
    reviewed: bool
    documents: tuple[int, ...]


def hours_per_project(database: Database, scope: Scope) -> tuple[ProjectHours, ...]:
    """Hours per project and month that the scope may see, newest month first."""
    with database.reading(scope) as connection:
        rows = connection.execute(
            """
            SELECT to_char(datum, 'YYYY-MM'), project_code, entity, sum(minutes), count(*),
                count(*) FILTER (WHERE check_status = 'needs_review'),
                array_agg(DISTINCT document_id) FILTER (WHERE document_id IS NOT NULL)
            FROM prf_timetrack GROUP BY 1, 2, 3 ORDER BY 1 DESC, 2 NULLS LAST
            """
        ).fetchall()
    return tuple(
        ProjectHours(
            month,
            project,
            entity,
            (Decimal(minutes) / 60).quantize(_CENT),
            entries,
            unreviewed,
            tuple(documents or ()),
        )
        for month, project, entity, minutes, entries, unreviewed, documents in rows
    )


def logbook(database: Database, scope: Scope, *, year: int | None = None) -> tuple[Trip, ...]:
    """The trips that the scope may see, by vehicle and odometer."""
    with database.reading(scope) as connection:
        rows = connection.execute(
            """
            SELECT id, trip_date, vehicle, entity, project_code, km_start, km_end, purpose,
                check_status, document_id
            FROM fahrtenbuch
            WHERE %(year)s::integer IS NULL OR extract(year FROM trip_date) = %(year)s
            ORDER BY entity, vehicle, km_start, id
            """,
            {"year": year},
        ).fetchall()
    return tuple(Trip(*row) for row in rows)


def is_commute(trip: Trip) -> bool:
    """Whether the purpose names the way between home and work."""
    purpose = f" {normal_label(trip.purpose)} "
    return any(f" {word} " in purpose for word in _commute_words())


def commute_days(trips: Sequence[Trip]) -> tuple[CommuteDay, ...]:
    """One line per day and vehicle with a commute: the shorter way counts, once, in whole km."""
    days: dict[tuple[date, str], list[Trip]] = {}
    for trip in filter(is_commute, trips):
        days.setdefault((trip.day, trip.vehicle), []).append(trip)
    return tuple(
        CommuteDay(
            day,
            vehicle,
            km := int(min(t.km for t in found).to_integral_value(ROUND_DOWN)),
            _banded("commute", day, km),
            _documents(found),
        )
        for (day, vehicle), found in sorted(days.items())
    )


def flat_rates(trips: Sequence[Trip]) -> tuple[FlatRate, ...]:
    """Kilometres of business trips per year and vehicle with their flat rate."""
    groups: dict[tuple[int, str], list[Trip]] = {}
    for trip in trips:
        if not is_commute(trip) and not _is_private(trip):
            groups.setdefault((trip.day.year, trip.vehicle), []).append(trip)
    return tuple(_flat(year, vehicle, found) for (year, vehicle), found in sorted(groups.items()))


def counts_of_entries(connection: Connection) -> tuple[tuple[str, str, int, int], ...]:
    """Month, state, entries and minutes over all tenants, for the pictures of the assets."""
    return tuple(
        (month, status, int(entries), int(minutes))
        for month, status, entries, minutes in connection.execute(
            "SELECT to_char(datum, 'YYYY-MM'), check_status, count(*), sum(minutes)"
            " FROM prf_timetrack WHERE NOT is_test GROUP BY 1, 2 ORDER BY 1, 2"
        ).fetchall()
    )


def counts_of_trips(connection: Connection) -> tuple[tuple[str, str, int], ...]:
    """Month, state and number of trips over all tenants."""
    return tuple(
        (month, status, int(trips))
        for month, status, trips in connection.execute(
            "SELECT to_char(trip_date, 'YYYY-MM'), check_status, count(*) FROM fahrtenbuch"
            " WHERE NOT is_test GROUP BY 1, 2 ORDER BY 1, 2"
        ).fetchall()
    )


def counts_of_tables(connection: Connection) -> tuple[tuple[str, str, int, int], ...]:
    """Target, state, tables and rows over all tenants."""
    return tuple(
        (target, state, int(tables), int(rows))
        for target, state, tables, rows in connection.execute(
            "SELECT target, state, count(*), sum(rows) FROM table_imports WHERE NOT is_test"
            " GROUP BY 1, 2 ORDER BY 1, 2"
        ).fetchall()
    )


@cache
def rates() -> tuple[Rate, ...]:
    """The shipped rates, oldest first."""
    return tuple(
        Rate(
            entry["kind"],
            entry["first"],
            entry.get("last"),
            entry.get("above_km", 0),
            Decimal(str(entry["euro"])),
            entry["source"],
            entry.get("reviewed_by"),
        )
        for entry in _data()["rates"]
    )


@cache
def _data() -> dict:
    text = resources.files("tgv_dagster.tables").joinpath("rates.yaml").read_text("utf-8")
    return yaml.safe_load(text)


@cache
def _commute_words() -> frozenset[str]:
    return frozenset(map(normal_label, _data()["commute_words"]))


def _is_private(trip: Trip) -> bool:
    purpose = f" {normal_label(trip.purpose)} "
    return any(f" {normal_label(word)} " in purpose for word in _data()["private_words"])


def _valid(kind: str, day: date) -> tuple[Rate, ...]:
    found = [r for r in rates() if r.kind == kind and r.first <= day and day <= (r.last or day)]
    return tuple(sorted(found, key=lambda rate: rate.above_km))


def _banded(kind: str, day: date, km: int) -> Decimal | None:
    """Each band of kilometres at its own rate; None where no rate is valid."""
    bands = _valid(kind, day)
    if not bands:
        return None
    ends = [*(band.above_km for band in bands[1:]), km]
    return sum(
        (
            band.euro * max(0, min(end, km) - band.above_km)
            for band, end in zip(bands, ends, strict=True)
        ),
        Decimal(0),
    ).quantize(_CENT)


def _flat(year: int, vehicle: str, trips: Sequence[Trip]) -> FlatRate:
    used = [_valid("business", trip.day)[:1] for trip in trips]
    euro = None
    if all(used):
        amounts = (trip.km * rate[0].euro for trip, rate in zip(trips, used, strict=True))
        euro = sum(amounts, Decimal(0)).quantize(_CENT)
    return FlatRate(
        year,
        vehicle,
        sum((trip.km for trip in trips), Decimal(0)),
        euro,
        all(rate and rate[0].reviewed_by for rate in used),
        _documents(trips),
    )


def _documents(trips: Sequence[Trip]) -> tuple[int, ...]:
    return tuple(sorted({trip.document_id for trip in trips if trip.document_id is not None}))
