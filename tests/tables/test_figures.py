"""Figures of time and trips: in the scope of the reader, each with its source."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from table_flow import MORNING, NOON, execute, export, organised, scope_of, states, taken

from tgv_dagster.intervals.odometers import Exchange
from tgv_dagster.store.db import Database
from tgv_dagster.tables.figures import (
    Trip,
    commute_days,
    flat_rates,
    hours_per_project,
    logbook,
    rates,
)
from tgv_dagster.tables.refused_trips import exchange_odometer

LOGBOOK = (
    "Datum;Kennzeichen;Km Start;Km Ende;Zweck;Projekt\n"
    "28.01.2026;HH-TG 1;1000;1030;Arbeitsweg;Umbau Kita\n"
    "29.01.2026;HH-TG 1;1030;1130;Baustelle;Umbau Kita\n"
    "30.01.2026;HH-TG 1;1130;1140;Baustelle;Unbekannt Nord\n"
)


@pytest.fixture
def office(database: Database) -> Database:
    return organised(database)


def trip(day: date, km: str, purpose: str) -> Trip:
    return Trip(
        1, day, "HH-TG 1", "nord-gmbh", None, Decimal(0), Decimal(km), purpose, "needs_review", 7
    )


def test_hours_per_project_and_month_with_their_documents(office: Database) -> None:
    facts = taken(office, export(MORNING, NOON))
    execute(office, facts, "take_over")

    (found,) = hours_per_project(office, scope_of(office, "anna"))

    assert (found.month, found.project_code, str(found.hours)) == ("2026-01", "P-1", "2.50")
    assert found.documents == (facts.document_id,)
    assert hours_per_project(office, scope_of(office, "sven", "sued")) == ()


def test_a_logbook_is_imported_through_its_projects_and_read_with_its_source(
    office: Database,
) -> None:
    """TAB-41, TAB-49, TAB-50, FLOW-13: a figure leads to its rows and document."""
    rows = LOGBOOK.rsplit("\n", 2)[0] + "\n"
    facts = taken(office, rows.encode(), name="fahrtenbuch.csv")
    execute(office, facts, "take_over")

    found = logbook(office, scope_of(office, "anna"), year=2026)

    assert [(t.entity, str(t.km), t.document_id) for t in found] == [
        ("nord-gmbh", "30.0", facts.document_id),
        ("nord-gmbh", "100.0", facts.document_id),
    ]
    assert logbook(office, scope_of(office, "anna"), year=2025) == ()


def test_a_period_row_that_spans_trips_is_not_counted_on_top(office: Database) -> None:
    lines = LOGBOOK.splitlines()
    first = "\n".join([*lines[:3], ""])
    execute(office, taken(office, first.encode(), name="fahrtenbuch.csv"), "take_over")
    spanning = f"{lines[0]}\n31.01.2026;HH-TG 1;1000;1130;Januar;Umbau Kita\n"

    facts = taken(office, spanning.encode(), name="fahrtenbuch2.csv")

    assert states(office, facts) == [(1, "imported", 0, 0, 1)]
    assert len(logbook(office, scope_of(office, "anna"))) == 2


def test_trips_a_new_odometer_had_refused_come_in_once_a_person_says_so(office: Database) -> None:
    lines = LOGBOOK.splitlines()
    execute(
        office, taken(office, "\n".join([*lines[:3], ""]).encode(), name="eins.csv"), "take_over"
    )
    after = f"{lines[0]}\n04.05.2026;HH-TG 1;1130;1150;Kunde;Umbau Kita\n"
    again = after + "05.05.2026;HH-TG 1;1010;1050;Kunde;Umbau Kita\n"
    facts = taken(office, again.encode(), name="zwei.csv")
    assert states(office, facts) == [(1, "imported", 1, 0, 1)]
    told = Exchange(
        "nord-gmbh", "HH-TG 1", date(2026, 5, 5), Decimal(1150), Decimal(1000), "new odometer"
    )

    with office.worker() as connection:
        _, due = exchange_odometer(connection, told, by="anna")

    assert due == (facts.document_id,)
    taken(office, again.encode(), facts)
    assert states(office, facts) == [(1, "undone", 1, 0, 1), (2, "imported", 2, 0, 0)]
    assert [str(t.km) for t in logbook(office, scope_of(office, "anna"))].count("40.0") == 1


def test_a_commute_counts_once_a_day_in_whole_kilometres_by_the_rate_of_its_year() -> None:
    trips = [
        trip(date(2025, 1, 8), "30.9", "Arbeitsweg hin"),
        trip(date(2025, 1, 8), "31.5", "Arbeitsweg zurück"),
        trip(date(2026, 1, 8), "30.9", "Trajet domicile-travail"),
    ]

    assert [(d.one_way_km, str(d.euro)) for d in commute_days(trips)] == [
        (30, "9.80"),
        (30, "11.40"),
    ]


def test_private_ways_and_commutes_are_no_business_kilometres() -> None:
    trips = [
        trip(date(2026, 1, 8), "10", "Baustelle"),
        trip(date(2026, 1, 9), "20", "privat"),
        trip(date(2026, 1, 10), "30", "Arbeitsweg"),
    ]
    (found,) = flat_rates(trips)

    assert (found.km, str(found.euro), found.documents) == (Decimal(10), "3.00", (7,))


def test_a_year_without_a_rate_has_no_amount() -> None:
    assert flat_rates([trip(date(2001, 1, 8), "10", "Baustelle")])[0].euro is None


def test_every_rate_names_its_source_and_none_claims_a_review() -> None:
    assert all(rate.source for rate in rates())
    assert not flat_rates([trip(date(2026, 1, 8), "10", "Baustelle")])[0].reviewed
