"""Intervals of one key never share space unnoticed, whatever the order they came in (INTV)."""

from __future__ import annotations

from datetime import date, time
from decimal import Decimal
from xml.etree import ElementTree

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tgv_dagster.intervals import frames
from tgv_dagster.intervals.balances import STATEMENTS, Break, balance_breaks
from tgv_dagster.intervals.compare import compare
from tgv_dagster.intervals.model import (
    FRAME,
    KEY_SEPARATOR,
    RULES,
    FindingKind,
    IntervalKind,
    Report,
)
from tgv_dagster.intervals.picture import picture
from tgv_dagster.intervals.weigh import weigh

Row = tuple[str, int, int | None, str]


def frame(*rows: Row, prefix: str = "r", batch: str | None = None) -> pl.DataFrame:
    """Rows of (key, start, end, source), named r0, r1, …"""
    return pl.DataFrame(
        [
            (f"{prefix}{number}", key, start, end, source, batch)
            for number, (key, start, end, source) in enumerate(rows)
        ],
        schema=FRAME,
        orient="row",
    )


def trips(*rows: Row) -> Report:
    return compare(frame(*rows), IntervalKind.TRIPS)


def kinds(report: Report) -> list[FindingKind]:
    return [finding.kind for finding in report.findings]


def test_touching_ends_share_nothing() -> None:
    report = trips(("car", 0, 100, "log"), ("car", 100, 250, "log"))
    assert (report.errors, report.gaps, report.findings) == (0, 0, ())


def test_a_tick_too_far_is_an_overlap_of_one_tick() -> None:
    (finding,) = trips(("car", 0, 101, "log"), ("car", 100, 250, "app")).findings
    assert finding.kind is FindingKind.OVERLAP
    assert finding.ticks == 1
    assert finding.rows == ("r0", "r1")
    assert finding.sources == ("app", "log")


def test_a_gap_is_told_for_odometers_and_is_no_error() -> None:
    report = trips(("car", 0, 100, "log"), ("car", 130, 250, "log"))
    assert (report.errors, report.gaps) == (0, 1)
    (gap,) = report.findings
    assert (gap.kind, gap.start, gap.end, gap.ticks) == (FindingKind.GAP, 100, 130, 30)
    assert not gap.kind.is_error
    assert gap.rows == ("r0", "r1")


def test_a_gap_between_time_entries_is_a_break_and_told_to_nobody() -> None:
    report = compare(
        frame(("anna", 0, 3600, "toggl"), ("anna", 7200, 9000, "toggl")), IntervalKind.TIME_ENTRIES
    )
    assert report.findings == ()


def test_other_vehicles_and_entities_never_collide() -> None:
    assert trips(("car", 0, 100, "log"), ("van", 0, 100, "log"), ("car 2", 50, 60, "x")).errors == 0


def test_a_period_row_over_single_trips_counts_its_kilometres_twice() -> None:
    """The logbook of the incident: single trips stayed, and one row over all of them came on top.

    302 km would have stood in the tax year twice.
    """
    single = [("car", start, start + 1510, "logbook") for start in (10_000, 11_510)]
    (finding,) = trips(*single, ("car", 10_000, 13_020, "yearly export")).findings
    assert finding.kind is FindingKind.SPANNING
    assert finding.ticks == 3020
    assert finding.count == 3
    assert finding.sources == ("logbook", "yearly export")


def test_two_rows_that_are_each_unsuspicious_are_reported_together() -> None:
    assert kinds(trips(("car", 0, 60, "a"), ("car", 40, 100, "b"))) == [FindingKind.OVERLAP]


def test_an_old_version_beside_the_new_one_is_an_incomplete_replacement() -> None:
    old = frame(("car", 0, 60, "app"), ("car", 60, 90, "app"), prefix="old", batch="import 1")
    new = frame(("car", 0, 55, "app"), prefix="new", batch="import 2")
    (finding,) = compare(pl.concat([old, new]), IntervalKind.TRIPS).findings
    assert finding.kind is FindingKind.INCOMPLETE_REPLACEMENT
    assert set(finding.rows) == {"old0", "new0"}


def test_the_same_space_by_two_origins_is_repeated() -> None:
    assert kinds(trips(("car", 0, 60, "a"), ("car", 0, 60, "b"))) == [FindingKind.REPEATED]


def test_a_row_without_origin_is_told(  # INTV-06
) -> None:
    nameless = pl.concat([frame(("car", 0, 60, "a")), frame(("car", 60, 90, ""), prefix="n")])
    (finding,) = compare(nameless, IntervalKind.TRIPS).findings
    assert (finding.kind, finding.rows) == (FindingKind.NO_SOURCE, ("n0",))


@pytest.mark.parametrize("row", [("car", 60, 40, "a"), ("car", 60, None, "a")])
def test_what_is_no_interval_is_told(row: Row) -> None:
    assert kinds(trips(row)) == [FindingKind.INVALID]


def test_an_empty_interval_occupies_nothing() -> None:
    assert trips(("car", 0, 60, "a"), ("car", 30, 30, "b"), ("car", 60, 90, "a")).findings == ()


def test_an_open_validity_ends_never() -> None:
    report = compare(
        frame(("lease", 0, None, "a"), ("lease", 4000, 5000, "b")), IntervalKind.VALIDITIES
    )
    assert report.errors == 1


def test_a_report_says_when_it_lists_only_a_part() -> None:
    rows = [("car", n, n + 20, "a") for n in range(0, 300, 30)]
    report = compare(frame(*rows), IntervalKind.TRIPS, limit=3)
    assert (len(report.findings), report.gaps, report.is_truncated) == (3, 9, True)


def test_a_frame_of_another_schema_is_refused() -> None:
    with pytest.raises(pl.exceptions.SchemaError):
        compare(pl.DataFrame({"row": ["1"]}), IntervalKind.TRIPS)


# --- against a naive oracle --------------------------------------------------------------------

lengths = st.integers(0, 6)
some_rows = st.lists(
    st.tuples(st.sampled_from(["car", "van"]), st.integers(0, 25), lengths, st.sampled_from("ab")),
    max_size=9,
).map(lambda rows: [(key, start, start + length, source) for key, start, length, source in rows])


def _spaces(rows: list[Row], key: str) -> list[set[int]]:
    return [set(range(start, end or 0)) for name, start, end, _ in rows if name == key]


@settings(deadline=None)
@given(some_rows)
def test_the_comparison_agrees_with_counting_every_tick(rows: list[Row]) -> None:
    report = trips(*rows)
    twice = missing = 0
    for key in ("car", "van"):
        spaces = [space for space in _spaces(rows, key) if space]
        union = set().union(*spaces)
        twice += sum(map(len, spaces)) - len(union)
        missing += len(set(range(min(union), max(union) + 1)) - union) if union else 0
    assert sum(f.ticks for f in report.findings if f.kind.is_error) == twice
    assert sum(f.ticks for f in report.findings if not f.kind.is_error) == missing
    assert report.errors + report.gaps == len(report.findings)


@settings(deadline=None)
@given(some_rows)
def test_every_row_of_a_shared_tick_is_named_and_no_other(rows: list[Row]) -> None:
    named = {row for finding in trips(*rows).findings if finding.kind.is_error
             for row in finding.rows}  # fmt: skip
    colliding = {
        f"r{mine}"
        for mine, (key, start, end, _) in enumerate(rows)
        for other, (key_2, start_2, end_2, _) in enumerate(rows)
        if mine != other
        and key == key_2
        and set(range(start, end or 0)) & set(range(start_2, end_2 or 0))
    }
    assert named == colliding


@settings(deadline=None)
@given(some_rows, st.randoms())
def test_the_order_of_the_rows_says_nothing(rows: list[Row], shuffle) -> None:
    mixed = list(rows)
    shuffle.shuffle(mixed)
    assert [(f.kind, f.key, f.start, f.end, f.ticks) for f in trips(*rows).findings] == [
        (f.kind, f.key, f.start, f.end, f.ticks) for f in trips(*mixed).findings
    ]


@settings(deadline=None)
@given(some_rows, some_rows)
def test_what_is_accepted_fits_beside_what_stands(existing: list[Row], arriving: list[Row]) -> None:
    standing = _disjoint(existing)
    weighed = weigh(standing, frame(*arriving, prefix="a"), IntervalKind.TRIPS)
    accepted = frame(*arriving, prefix="a").filter(pl.col("row").is_in(list(weighed.accepted)))
    assert compare(pl.concat([standing, accepted]), IntervalKind.TRIPS).errors == 0
    everything = weighed.accepted + weighed.known + weighed.refused
    assert sorted(everything) == sorted(f"a{n}" for n in range(len(arriving)))
    for row in weighed.refused:
        one = frame(*arriving, prefix="a").filter(pl.col("row") == row)
        rest = frame(*arriving, prefix="a").filter(pl.col("row") != row)
        assert compare(pl.concat([standing, rest, one]), IntervalKind.TRIPS).errors > 0


def _disjoint(rows: list[Row]) -> pl.DataFrame:
    """The rows one by one, as far as each fits beside those before it."""
    standing = frame()
    for number, row in enumerate(rows):
        both = pl.concat([standing, frame(row, prefix=f"e{number}-")])
        if compare(both, IntervalKind.TRIPS).errors == 0:
            standing = both
    return standing


# --- before the write --------------------------------------------------------------------------


def test_a_spanning_row_is_refused_and_its_single_rows_enter() -> None:
    arriving = frame(
        ("car", 0, 10, "log"), ("car", 10, 30, "log"), ("car", 0, 30, "yearly"), prefix="a"
    )
    weighed = weigh(frame(), arriving, IntervalKind.TRIPS)
    assert (weighed.accepted, weighed.refused) == (("a0", "a1"), ("a2",))


def test_a_late_entry_with_an_old_date_is_compared_with_everything() -> None:
    """A trip written down in March about January slips under no baseline (INTV-05)."""
    standing = frame(("car", 0, 100, "log"), ("car", 100, 900, "log"))
    late = frame(("car", 40, 60, "hand"), prefix="late")
    weighed = weigh(standing, late, IntervalKind.TRIPS)
    assert weighed.refused == ("late0",)
    assert weighed.report.findings[0].sources == ("hand", "log")


def test_the_same_row_of_the_same_origin_is_known_and_of_another_refused() -> None:
    standing = frame(("car", 0, 100, "log"))
    again = frame(("car", 0, 100, "log"), ("car", 0, 100, "export"), prefix="a")
    weighed = weigh(standing, again, IntervalKind.TRIPS)
    assert (weighed.known, weighed.refused, weighed.accepted) == (("a0",), ("a1",), ())


# --- frames and pictures -----------------------------------------------------------------------


def test_time_entries_cross_midnight_and_end_by_their_minutes() -> None:
    rows = pl.DataFrame(
        {
            "row": [1, 2], "mandant_id": [1, 1], "benutzername": ["anna", "anna"],
            "datum": [date(2026, 1, 1), date(2026, 1, 2)], "startzeit": [time(22), time(0, 30)],
            "endzeit": [time(1), None], "minutes": [180, 45], "is_test": [False, False],
            "source": ["toggl", "hand"],
        }
    )  # fmt: skip
    (finding,) = compare(frames.time_entries(rows), IntervalKind.TIME_ENTRIES).findings
    assert finding.ticks == 30 * 60


def test_a_test_row_never_collides_with_a_real_one() -> None:
    rows = pl.DataFrame(
        {
            "row": [1, 2], "entity": ["e", "e"], "vehicle": ["v", "v"],
            "km_start": [Decimal("0.0")] * 2, "km_end": [Decimal("9.5")] * 2,
            "is_test": [False, True], "source": ["a", "b"],
        }
    )  # fmt: skip
    assert frames.trips(rows).get_column("end").to_list() == [95, 95]
    assert compare(frames.trips(rows), IntervalKind.TRIPS).errors == 0


def test_validities_include_their_last_day_and_periods_their_month() -> None:
    rows = pl.DataFrame(
        {
            "row": [1, 2], "tariff": ["t", "t"], "source": ["a", "b"],
            "since": [date(2026, 1, 1), date(2026, 1, 31)], "until": [date(2026, 1, 31), None],
        }
    )  # fmt: skip
    validities = frames.validities(rows, "tariff", first="since", last="until")
    assert compare(validities, IntervalKind.TARIFFS).findings[0].ticks == 1
    months = pl.DataFrame(
        {"row": [1, 2], "entity": ["e", "e"], "month": ["2026-01", "2026-03"], "source": ["a", "a"]}
    )
    report = compare(frames.periods(months, "entity", period="month"), IntervalKind.PERIODS)
    assert (report.errors, report.findings[0].ticks) == (0, 28)


def test_no_two_keys_become_one() -> None:
    rows = pl.DataFrame(
        {
            "row": [1, 2], "a": ["x y", "x"], "b": ["z", "y z"], "source": ["s", "s"],
            "since": [date(2026, 1, 1)] * 2, "until": [date(2026, 1, 2)] * 2,
        }
    )  # fmt: skip
    keys = frames.validities(rows, "a", "b", first="since", last="until").get_column("key")
    assert keys.to_list() == [f"x y{KEY_SEPARATOR}z", f"x{KEY_SEPARATOR}y z"]


@pytest.mark.parametrize("kind", list(IntervalKind))
def test_every_finding_has_a_picture_of_its_rows(kind: IntervalKind) -> None:
    rows = frame(("k", 0, 10, "a"), ("k", 5, 20, "b & <c>"), ("k", 40, 50, "a"))
    report = compare(rows, kind)
    assert report.findings
    for finding in report.findings:
        drawn = ElementTree.fromstring(picture(finding, rows, kind))
        words = " ".join(element.text or "" for element in drawn.iter())
        assert all(row in words for row in finding.rows)
        assert str(finding.kind) in words


def test_the_picture_of_a_large_finding_stays_small() -> None:
    rows = frame(*[("k", 0, 10 + n, "a") for n in range(500)])
    (finding,) = compare(rows, IntervalKind.TRIPS).findings
    assert finding.count == 500
    assert len(picture(finding, rows, IntervalKind.TRIPS)) < 20_000


def test_every_kind_has_a_rule() -> None:
    assert set(RULES) == set(IntervalKind)


# --- statements --------------------------------------------------------------------------------


def _statements(*rows: tuple[str, int, int, str | None, str, str]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            (f"s{n}", key, date(2026, 1, first), date(2026, 1, last),
             None if opening is None else Decimal(opening), Decimal(moved), Decimal(closing))
            for n, (key, first, last, opening, moved, closing) in enumerate(rows)
        ],
        schema=STATEMENTS, orient="row",
    )  # fmt: skip


def test_statements_that_add_up_and_follow_each_other_say_nothing() -> None:
    assert balance_breaks(_statements(
        ("giro", 1, 10, "100.00", "-20.50", "79.50"), ("giro", 11, 20, "79.50", "0.50", "80.00"),
        ("cash", 1, 10, "5.00", "0.00", "5.00"))) == ()  # fmt: skip


def test_a_statement_that_does_not_add_up_or_follow_is_told_with_its_difference() -> None:
    breaks = balance_breaks(_statements(
        ("giro", 1, 10, "100.00", "-20.50", "79.60"), ("giro", 11, 20, "79.50", "0.50", "80.00"),
        ("giro", 21, 30, None, "1.00", "81.00")))  # fmt: skip
    assert [(found.kind, found.row, found.difference) for found in breaks] == [
        (Break.UNKNOWN, "s2", Decimal(0)),
        (Break.DOES_NOT_ADD_UP, "s0", Decimal("-0.10")),
        (Break.DOES_NOT_FOLLOW, "s1", Decimal("-0.10")),
    ]
