"""Statutory notice rules: the data, the days they give, and when a contract falls under one."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from tgv_dagster.deepen import deadlines, notice_rules
from tgv_dagster.deepen.contract_periods import Period, Unit
from tgv_dagster.deepen.notice_rules import Kind, NoticeRule, NoticeRuleError
from tgv_dagster.deepen.specialists import SpecialistInput, SpecialistResult, specialise
from tgv_dagster.understand.doctypes import DocType
from tgv_dagster.understand.evidence import Field


def _rule(name: str) -> NoticeRule:
    return next(rule for rule in notice_rules.load() if rule.id == name)


@pytest.mark.parametrize(
    ("month", "day"),
    [(1, 5), (2, 3), (3, 3), (4, 3), (5, 5), (6, 3), (7, 3), (8, 4), (9, 3), (10, 4), (11, 3),
     (12, 3)],
)  # fmt: skip
def test_the_third_working_days_of_2027(month: int, day: int) -> None:
    assert notice_rules.working_day(date(2027, month, 1), 3) == date(2027, month, day)


@pytest.mark.parametrize(
    ("rule", "start", "as_of", "last", "ends"),
    [
        ("de.flat.tenant", "2020-01-01", "2027-01-05", "2027-01-05", "2027-03-31"),
        ("de.flat.tenant", "2020-01-01", "2027-01-06", "2027-02-03", "2027-04-30"),
        ("de.flat.landlord", "2024-01-01", "2027-01-05", "2027-01-05", "2027-03-31"),
        ("de.flat.landlord", "2022-01-01", "2027-01-05", "2027-01-05", "2027-06-30"),
        ("de.flat.landlord", "2019-01-01", "2027-01-05", "2027-01-05", "2027-09-30"),
        ("de.business_rooms", "2020-01-01", "2027-01-05", "2027-01-05", "2027-06-30"),
        ("de.business_rooms", "2020-01-01", "2027-01-06", "2027-04-03", "2027-09-30"),
        ("de.employment.basic", "2026-01-01", "2027-02-15", "2027-02-15", "2027-03-15"),
        ("de.employment.basic", "2026-01-01", "2027-02-16", "2027-03-03", "2027-03-31"),
        ("de.employment.employer", "2024-01-01", "2027-01-31", "2027-01-31", "2027-02-28"),
        ("de.employment.employer", "2007-01-01", "2027-01-31", "2027-01-31", "2027-08-31"),
        ("de.insurance.long", "2025-01-01", "2027-01-01", "2027-09-30", "2027-12-31"),
        ("de.insurance.long", "2025-01-01", "2027-10-01", "2028-09-30", "2028-12-31"),
        ("fr.business_lease", "2024-04-01", "2026-09-30", "2026-09-30", "2027-03-31"),
        ("fr.business_lease", "2024-04-01", "2026-10-01", "2029-09-30", "2030-03-31"),
        ("fr.business_lease.prolonged", "2010-04-01", "2027-01-02", "2027-03-31", "2027-09-30"),
        ("fr.insurance", "2025-03-01", "2027-01-01", "2027-12-31", "2028-02-29"),
    ],
)
def test_the_next_notice_under_a_rule(
    rule: str, start: str, as_of: str, last: str, ends: str
) -> None:
    found = notice_rules.next_notice(
        _rule(rule), date.fromisoformat(start), date.fromisoformat(as_of)
    )
    assert found is not None
    assert (found.last_day, found.ends_on) == (date.fromisoformat(last), date.fromisoformat(ends))


def test_a_third_working_day_on_a_saturday_is_safe_and_the_monday_is_named() -> None:
    found = notice_rules.next_notice(_rule("de.flat.tenant"), date(2020, 1, 1), date(2027, 4, 1))
    assert found is not None
    assert (found.last_day, found.disputed) == (date(2027, 4, 3), date(2027, 4, 5))


def test_notice_on_any_day_has_an_end_and_no_last_day() -> None:
    found = notice_rules.next_notice(_rule("de.telecom"), date(2024, 1, 1), date(2027, 1, 31))
    assert found is not None
    assert (found.last_day, found.ends_on) == (None, date(2027, 2, 28))


@pytest.mark.parametrize("name", [r.id for r in notice_rules.load() if r.kind is Kind.BEFORE_END])
def test_day_by_day_the_last_day_still_reaches_its_end_and_the_next_one_does_not(name: str) -> None:
    """Walked day by day: a later receipt never gives an earlier end."""
    rule, start = _rule(name), date(2023, 5, 16)
    ends: list[date] = []
    day = date(2026, 12, 1)
    while day < date(2028, 3, 15):
        found = notice_rules.next_notice(rule, start, day)
        assert found is not None and found.last_day is not None
        assert day <= found.last_day < found.ends_on
        if day == found.last_day:
            following = notice_rules.next_notice(rule, start, day + timedelta(days=1))
            assert following is not None and following.ends_on > found.ends_on
        ends.append(found.ends_on)
        day += timedelta(days=1)
    assert ends == sorted(ends)


@pytest.mark.parametrize(
    ("day", "source"),
    [
        ("2022-02-28", "§ 309 Nr. 9 BGB, old version"),
        ("2022-03-01", "§ 309 Nr. 9 BGB"),
        ("2001-12-31", None),
    ],
)
def test_the_rule_of_the_day_holds(day: str, source: str | None) -> None:
    found = notice_rules.find("DE", "consumer_contract", date.fromisoformat(day))
    assert (None if found is None else found.source) == source


def test_every_rule_names_its_source_and_nobody_signed_off_any() -> None:
    assert all(rule.source and not rule.reviewer for rule in notice_rules.load())


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("rules: 7", "a list `rules` is expected"),
        ("rules: [{id: x}]", "`jurisdiction` is missing"),
        (
            "rules: [{id: x, jurisdiction: DE, subject: flat, source: s, valid_from: 2020-01-01,"
            " kind: before_end}]",
            "`length` is missing",
        ),
        (
            "rules: [{id: x, jurisdiction: DE, subject: flat, source: s, valid_from: soon,"
            " kind: bounds}]",
            "YYYY-MM-DD",
        ),
    ],
)
def test_a_wrong_file_says_what_is_wrong(text: str, fault: str) -> None:
    with pytest.raises(NoticeRuleError, match=fault.replace("(", "[(]")):
        notice_rules.parse(text)


# --- contracts -----------------------------------------------------------------------------------


def _run(doc_type: DocType, text: str, as_of: date = date(2027, 1, 4)) -> SpecialistResult:
    return specialise(
        SpecialistInput(doc_type, (text,), (), language="de", as_of=as_of, source="#9")
    )


FLAT = (
    "Mietvertrag über Wohnraum\nDas Mietverhältnis beginnt am 01.04.2020 und läuft auf unbestimmte"
    " Zeit.\nEs gelten die gesetzlichen Kündigungsfristen des BGB."
)
LEASE_FR = (
    "Bail commercial\nLe bail prend cours le 01/04/2024 pour une durée de neuf ans.\nLe preneur"
    " peut donner congé conformément à l'article L. 145-4 du code de commerce."
)


@pytest.mark.parametrize(
    ("text", "day", "statute"),
    [
        (FLAT, "2027-01-05", "§ 573c (1) BGB"),
        (
            FLAT.replace("Wohnraum", "Geschäftsräume"),
            "2027-01-05",
            "§ 580a (2) BGB",
        ),
        (LEASE_FR, "2029-09-30", "art. L145-4 code de commerce"),
    ],
)
def test_a_notice_left_to_the_law_is_proposed_with_its_statute(
    text: str, day: str, statute: str
) -> None:
    result = _run(DocType.LEASE, text)
    (point,) = [p for p in result.open_points if p.field is Field.NOTICE_DEADLINE]
    assert point.choices == (day,)
    assert statute in point.reason and "not signed off" in point.reason
    (derived,) = [d for d in result.derivations if d.rule == "statute"]
    assert (derived.value.isoformat(), derived.source) == (day, "#9")
    assert Field.NOTICE_DEADLINE not in {f.field for f in result.findings if f.value is not None}


@pytest.mark.parametrize(
    "text",
    [
        FLAT.replace(" des BGB", ""),
        FLAT.replace("BGB", "ABGB"),
        FLAT.replace("des BGB", "des BGB oder nach schweizerischem Recht"),
        FLAT.replace("gesetzlichen Kündigungsfristen", "Vorschriften"),
        FLAT.replace("über Wohnraum", ""),
    ],
)
def test_without_the_law_or_its_subject_no_statute_is_applied(text: str) -> None:
    result = _run(DocType.LEASE, text)
    assert "statute" not in {d.rule for d in result.derivations}


def test_an_agreed_notice_outside_the_law_is_asked() -> None:
    text = (
        "Versicherungsschein\nVersicherungsbeginn: 01.01.2025\nDer Vertrag verlängert sich jeweils"
        " um ein Jahr, wenn er nicht mit einer Frist von sechs Monaten gekündigt wird. Es gilt das"
        " VVG."
    )
    result = _run(DocType.INSURANCE, text)
    reasons = [p.reason for p in result.open_points if p.field is Field.NOTICE_DEADLINE]
    assert reasons == ["the agreed notice of 6 months is outside § 11 (3) VVG"]


def test_the_term_of_a_rule_ends_as_the_deadline_engine_says() -> None:
    assert deadlines.term_end(date(2024, 2, 29), Period(3, Unit.YEAR)) == date(2027, 2, 28)
