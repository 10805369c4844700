"""Lengths of time in contracts: notice, term, renewal; months stay months."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.deepen import contract_periods
from tgv_dagster.deepen.contract_periods import Anchor, Period, Unit

DAY, WEEK, MONTH, YEAR = Unit.DAY, Unit.WEEK, Unit.MONTH, Unit.YEAR


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Kündigungsfrist: 3 Monate", Period(3, MONTH)),
        ("Die Kündigungsfrist beträgt sechs Wochen zum Quartalsende.", Period(6, WEEK)),
        ("Er kann mit einer Frist von vier Wochen gekündigt werden.", Period(4, WEEK)),
        (
            "wenn er nicht mit einer Frist von 6 Monaten gekündigt wird.\n5.3 Fristlose Kündigung",
            Period(6, MONTH),
        ),
        ("wenn er nicht drei Monate vor dem Ablauf gekündigt wird", Period(3, MONTH)),
        (
            "s'opposer à la reconduction moyennant un préavis de quatre-vingt-dix (90) jours",
            Period(90, DAY),
        ),
        ("résilié six mois avant l'échéance", Period(6, MONTH)),
        ("Either party may terminate upon 90 days' prior written notice.", Period(90, DAY)),
        ("unless it is cancelled 30 days before the period ends", Period(30, DAY)),
        ("notice period of three (3) months applies to termination", Period(3, MONTH)),
        ("disdetta almeno sei mesi prima della scadenza", Period(6, MONTH)),
        ("recesso con preavviso di 3 mesi", Period(3, MONTH)),
    ],
)
def test_the_notice_is_read(text: str, expected: Period) -> None:
    assert contract_periods.notice(text).found.period == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Widerrufsfrist: 14 Tage",
        "Er kann mit einer Frist von zwei Wochen widerrufen und fristlos kündigen.",
        "Die Rechnung ist innerhalb von 14 Tagen zu zahlen.",
        "Die Miete wird drei Monate im Voraus gezahlt.",
        "Garantie: 24 Monate",
        "La mise en demeure reste sans effet pendant quinze jours, résiliation de plein droit.",
    ],
)
def test_other_lengths_are_no_notice(text: str) -> None:
    assert contract_periods.notice(text).found == contract_periods.ABSENT


def test_different_notices_of_the_parties_are_rivals() -> None:
    text = (
        "Der Kunde kann mit einer Frist von 90 Tagen kündigen. "
        "Der Dienstleister kann mit einer Frist von 14 Tagen kündigen."
    )
    found = contract_periods.notice(text).found
    assert (found.period, found.rivals) == (None, (Period(90, DAY), Period(14, DAY)))


@pytest.mark.parametrize(
    ("text", "anchor"),
    [
        ("mit einer Frist von vier Wochen zum Monatsende gekündigt", Anchor.MONTH_END),
        ("Kündigungsfrist sechs Wochen zum Quartalsende", Anchor.QUARTER_END),
        ("jederzeit mit einer Frist von 3 Monaten kündbar, Kündigung", Anchor.ANY_TIME),
        ("Kündigungsfrist 3 Monate", Anchor.TERM_END),
    ],
)
def test_the_anchor_of_a_notice(text: str, anchor: Anchor) -> None:
    assert contract_periods.notice(text).anchor is anchor


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mindestlaufzeit: 24 Monate", Period(24, MONTH)),
        ("wird auf die Dauer von zehn Jahren geschlossen", Period(10, YEAR)),
        ("Der Vertrag läuft ein Jahr und", Period(1, YEAR)),
        ("conclu pour une durée de trois ans à compter du", Period(3, YEAR)),
        ("for an initial term of 12 months", Period(12, MONTH)),
        ("ha una durata di quattro anni", Period(4, YEAR)),
        ("сроком на три года", Period(3, YEAR)),
        ("Garantie 24 Monate", None),
        ("Kündigungsfrist 3 Monate", None),
    ],
)
def test_the_term_is_read(text: str, expected: Period | None) -> None:
    assert contract_periods.term(text).period == expected


@pytest.mark.parametrize(
    ("text", "automatic", "period"),
    [
        (
            "verlängert sich um jeweils 12 Monate, wenn er nicht gekündigt wird",
            True,
            Period(12, MONTH),
        ),
        ("verlängert sich stillschweigend von Jahr zu Jahr", True, Period(1, YEAR)),
        ("tacite reconduction, par périodes d'un an", True, Period(1, YEAR)),
        ("shall automatically renew for successive periods of 12 months", True, Period(12, MONTH)),
        ("si rinnova tacitamente di anno in anno", True, Period(1, YEAR)),
        ("endet am 31.03.2034, ohne dass es einer Kündigung bedarf", False, None),
        ("Das Mietverhältnis verlängert sich dadurch nicht", False, None),
        ("sans tacite reconduction", False, None),
        ("This agreement shall not renew.", False, None),
        ("Die Parteien vereinbaren Stillschweigen.", None, None),
        ("", None, None),
    ],
)
def test_renewal_is_stated_denied_or_not_mentioned(
    text: str, automatic: bool | None, period: Period | None
) -> None:
    found = contract_periods.renewal(text)
    assert (found.automatic, found.period) == (automatic, period)


def test_a_text_that_says_both_is_contradictory() -> None:
    found = contract_periods.renewal("verlängert sich um ein Jahr.\n\nEr endet automatisch.")
    assert (found.automatic, found.contradictory) == (None, True)


def test_lengths_in_days() -> None:
    assert (Period(3, MONTH).days, Period(4, WEEK).days, Period(1, YEAR).days) == (90, 28, 365)
    assert Period(2, YEAR).months == 24
    assert Period(4, WEEK).months is None
    assert (str(Period(1, MONTH)), str(Period(3, MONTH))) == ("1 month", "3 months")


@given(st.integers(1, 99), st.sampled_from([("Tage", DAY), ("Wochen", WEEK), ("Monate", MONTH)]))
def test_any_number_is_read_back(length: int, unit: tuple[str, Unit]) -> None:
    found = contract_periods.notice(f"Kündigungsfrist: {length} {unit[0]}")
    assert found.found.period == Period(length, unit[1])


@given(st.text(max_size=100))
def test_any_text_has_an_outcome(text: str) -> None:
    assert contract_periods.renewal(text).contradictory in (True, False)
    assert contract_periods.notice(text).anchor in Anchor


def test_a_long_contract_is_read() -> None:
    text = "Die Miete ist zu zahlen. " * 6000 + "Die Kündigungsfrist beträgt 3 Monate."
    assert contract_periods.notice(text).found.period == Period(3, MONTH)


@given(st.integers(1, 400), st.sampled_from(list(Unit)))
def test_a_period_is_read_back_as_it_was_written(length: int, unit: Unit) -> None:
    assert Period.parse(str(Period(length, unit))) == Period(length, unit)


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("Er kann mit einer Frist von drei Monaten zum Ablauf gekündigt werden.", True),
        ("The policy renews unless cancelled with three months notice before the end.", True),
        ("Die Kündigungsfrist beträgt drei Monate.", False),
        ("The notice period is three months.", False),
    ],
)
def test_whether_a_notice_says_to_which_day_it_is_given(text: str, stated: bool) -> None:
    found = contract_periods.notice(text)
    assert found.found.period == Period(3, Unit.MONTH)
    assert found.anchor_is_stated is stated
