"""Deadlines: calendar arithmetic against golden values and a brute-force oracle."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.deepen import deadlines
from tgv_dagster.deepen.contract_periods import Period, Unit
from tgv_dagster.deepen.deadlines import ContractFacts, DeadlineRule
from tgv_dagster.understand.evidence import Field, OpenPointKind


def _months(count: int) -> Period:
    return Period(count, Unit.MONTH)


@pytest.mark.parametrize(
    ("end", "period", "expected"),
    [
        (date(2027, 6, 30), _months(3), date(2027, 3, 31)),
        (date(2027, 2, 28), _months(1), date(2027, 1, 31)),
        (date(2026, 12, 31), _months(3), date(2026, 9, 30)),
        (date(2027, 1, 14), _months(3), date(2026, 10, 14)),
        (date(2024, 2, 29), _months(1), date(2024, 1, 31)),
        (date(2027, 9, 30), _months(6), date(2027, 3, 31)),
        (date(2027, 5, 30), _months(3), date(2027, 2, 28)),
        (date(2027, 3, 31), _months(1), date(2027, 2, 28)),
        (date(2027, 3, 31), Period(2, Unit.WEEK), date(2027, 3, 17)),
        (date(2028, 2, 29), _months(3), date(2027, 11, 30)),
        (date(2027, 1, 1), Period(30, Unit.DAY), date(2026, 12, 2)),
        (date(2027, 6, 30), Period(1, Unit.YEAR), date(2026, 6, 30)),
    ],
)
def test_the_last_day_of_notice(end: date, period: Period, expected: date) -> None:
    assert deadlines.end_minus_period(end, period) == expected


@pytest.mark.parametrize(
    ("start", "months", "expected"),
    [
        (date(2026, 2, 1), 12, date(2027, 1, 31)),
        (date(2027, 1, 31), 1, date(2027, 2, 28)),
        (date(2027, 1, 30), 1, date(2027, 2, 28)),
        (date(2027, 1, 31), 2, date(2027, 3, 30)),
        (date(2024, 2, 29), 12, date(2025, 2, 28)),
        (date(2024, 2, 29), 48, date(2028, 2, 28)),
        (date(2027, 3, 1), 12, date(2028, 2, 29)),
        (date(2026, 8, 31), 6, date(2027, 2, 28)),
        (date(2026, 12, 15), 24, date(2028, 12, 14)),
    ],
)
def test_the_end_of_a_term(start: date, months: int, expected: date) -> None:
    assert deadlines.term_end(start, _months(months)) == expected


_days = st.dates(date(2000, 1, 1), date(2060, 12, 31))


@given(_days, st.integers(1, 36))
def test_notice_counts_back_as_a_walk_day_by_day_does(end: date, months: int) -> None:
    found = deadlines.end_minus_period(end, _months(months))
    day = end - timedelta(days=31 * months + 5)
    latest = day
    while day <= end:
        if deadlines.add_months(day, months) <= end:
            latest = day
        day += timedelta(days=1)
    assert found == latest


@given(_days, st.integers(1, 36))
def test_a_later_end_never_gives_an_earlier_last_day(end: date, months: int) -> None:
    following = deadlines.end_minus_period(end + timedelta(days=1), _months(months))
    assert deadlines.end_minus_period(end, _months(months)) <= following


@given(_days, st.integers(1, 60))
def test_a_term_ends_a_day_before_the_same_day_where_that_exists(start: date, months: int) -> None:
    end = deadlines.term_end(start, _months(months))
    following = deadlines.add_months(start, months)
    assert end == following - timedelta(days=1) or following.day < start.day


def test_the_seed_formula_counts_plain_days_without_the_start() -> None:
    assert deadlines.start_plus_period(date(2024, 1, 1), 90) == date(2024, 3, 31)


def test_a_deadline_carries_its_derivation() -> None:
    facts = ContractFacts(start=date(2024, 1, 1), notice=Period(90, Unit.DAY), source="#7317")
    verdict = deadlines.compute(facts)
    derived = verdict.notice_deadline
    assert derived is not None
    assert (derived.rule, derived.value) == (DeadlineRule.START_PLUS_PERIOD, date(2024, 3, 31))
    text = str(derived)
    assert "contract_start_date 2024-01-01" in text
    assert "90 (90 days)" in text
    assert "#7317" in text


def test_two_rules_that_differ_become_a_question() -> None:
    facts = ContractFacts(start=date(2024, 1, 1), end=date(2026, 12, 31), notice=_months(3))
    verdict = deadlines.compute(facts)
    assert verdict.notice_deadline is None
    (point,) = verdict.open_points
    assert (point.kind, point.field) == (OpenPointKind.CONFLICT, Field.NOTICE_DEADLINE)
    assert point.choices == ("2024-03-31", "2026-09-30")


def test_an_end_computed_from_the_start_is_no_second_opinion() -> None:
    facts = ContractFacts(start=date(2024, 1, 1), term=_months(12), notice=_months(3))
    verdict = deadlines.compute(facts)
    assert verdict.open_points == ()
    assert verdict.notice_deadline is not None
    assert verdict.notice_deadline.rule is DeadlineRule.END_MINUS_PERIOD
    assert verdict.notice_deadline.value == date(2024, 9, 30)
    assert [str(c.rule) for c in verdict.candidates] == ["start_plus_period", "end_minus_period"]


def test_a_notice_to_an_end_is_counted_back_without_a_question() -> None:
    facts = ContractFacts(
        start=date(2024, 1, 1), end=date(2026, 12, 31), notice=_months(3), notice_to_an_end=True
    )
    verdict = deadlines.compute(facts)
    assert verdict.open_points == ()
    assert verdict.notice_deadline is not None
    assert verdict.notice_deadline.value == date(2026, 9, 30)


def test_a_printed_renewal_is_a_fact_of_its_own() -> None:
    facts = ContractFacts(
        start=date(2024, 1, 1), next_renewal=date(2027, 1, 1), notice=_months(3), auto_renewal=True
    )
    assert deadlines.compute(facts).open_points != ()


@pytest.mark.parametrize(
    ("as_of", "deadline"),
    [
        (date(2026, 8, 31), date(2026, 8, 31)),
        (date(2026, 9, 1), date(2027, 8, 31)),
        (date(2026, 11, 30), date(2027, 8, 31)),
        (date(2026, 12, 1), date(2027, 8, 31)),
    ],
)
def test_a_missed_window_gives_the_next_one(as_of: date, deadline: date) -> None:
    facts = ContractFacts(
        start=date(2003, 12, 1), term=_months(12), auto_renewal=True, notice=_months(3)
    )
    verdict = deadlines.compute(facts, as_of)
    assert verdict.notice_deadline is not None
    assert verdict.notice_deadline.value == deadline


def test_two_rules_that_agree_give_one_deadline() -> None:
    facts = ContractFacts(
        start=date(2024, 1, 1), end=date(2024, 1, 29), notice=Period(14, Unit.DAY)
    )
    verdict = deadlines.compute(facts)
    assert verdict.notice_deadline is not None
    assert verdict.notice_deadline.value == date(2024, 1, 15)
    assert verdict.open_points == ()


def test_a_fixed_term_gives_the_end_and_a_renewing_one_does_not() -> None:
    facts = ContractFacts(start=date(2024, 4, 1), term=Period(10, Unit.YEAR))
    fixed = deadlines.compute(facts)
    assert fixed.contract_end is not None
    assert fixed.contract_end.value == date(2034, 3, 31)
    renewing = deadlines.compute(
        ContractFacts(start=date(2024, 4, 1), term=Period(1, Unit.YEAR), auto_renewal=True)
    )
    assert renewing.contract_end is None
    assert renewing.next_renewal is not None
    assert renewing.next_renewal.value == date(2025, 4, 1)


def test_an_open_ended_contract_gets_no_end() -> None:
    facts = ContractFacts(start=date(2024, 4, 1), term=Period(1, Unit.YEAR), open_ended=True)
    assert deadlines.compute(facts).contract_end is None


def test_the_next_renewal_is_counted_from_the_first_start() -> None:
    facts = ContractFacts(
        start=date(2003, 12, 1),
        term=Period(1, Unit.YEAR),
        renewal=Period(1, Unit.YEAR),
        auto_renewal=True,
        notice=_months(3),
    )
    verdict = deadlines.compute(facts, as_of=date(2026, 11, 15))
    assert verdict.next_renewal is not None
    assert verdict.next_renewal.value == date(2026, 12, 1)
    assert verdict.candidates[-1].value == date(2027, 8, 31)
    later = deadlines.compute(facts, as_of=date(2026, 12, 1))
    assert later.next_renewal is not None
    assert later.next_renewal.value == date(2027, 12, 1)


def test_clamped_renewals_do_not_drift() -> None:
    days = deadlines.renewal_dates(date(2027, 1, 31), _months(1), _months(1), 3)
    assert days == (date(2027, 3, 1), date(2027, 3, 31), date(2027, 5, 1))


@given(_days, st.integers(1, 48), st.integers(1, 24), st.dates(date(2000, 1, 1), date(2030, 1, 1)))
def test_history_does_not_change_with_the_day_of_reading(
    start: date, term: int, renewal: int, as_of: date
) -> None:
    facts = ContractFacts(
        start=start, term=_months(term), renewal=_months(renewal), auto_renewal=True
    )
    found = deadlines.compute(facts, as_of).next_renewal
    series = deadlines.renewal_dates(start, _months(term), _months(renewal), 400)
    assert found is not None
    assert found.value in series
    assert found.value > as_of or found.value == series[0]


def test_nothing_stated_gives_nothing() -> None:
    verdict = deadlines.compute(ContractFacts())
    assert (verdict.notice_deadline, verdict.contract_end, verdict.next_renewal) == (
        None,
        None,
        None,
    )
    assert verdict.candidates == ()


def test_a_start_day_that_has_passed_is_no_rival_of_the_day_before_the_end() -> None:
    facts = ContractFacts(start=date(2024, 1, 1), end=date(2027, 12, 31), notice=_months(3))
    early = deadlines.compute(facts, date(2024, 3, 31))
    assert [point.field for point in early.open_points] == [Field.NOTICE_DEADLINE]
    later = deadlines.compute(facts, date(2024, 4, 1))
    assert later.open_points == ()
    assert later.notice_deadline is not None
    assert later.notice_deadline.value == date(2027, 9, 30)
    assert [str(c.rule) for c in later.candidates] == ["start_plus_period", "end_minus_period"]
