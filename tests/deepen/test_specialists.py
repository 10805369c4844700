"""Specialists: required fields filled or asked, "checked, none" said, nothing replaced."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tgv_dagster.deepen.registry import BuildState, load
from tgv_dagster.deepen.specialists import SpecialistInput, SpecialistResult, specialise
from tgv_dagster.store.levels import Level
from tgv_dagster.understand.doctypes import DocType
from tgv_dagster.understand.evidence import Field, Finding, FindingValue, Origin

LEASE = (
    "Mietvertrag\n§ 3 Mietzeit\nDas Mietverhältnis wird mit Wirkung vom 01.04.2024 auf die Dauer "
    "von zehn Jahren geschlossen. Es endet am 31.03.2034, ohne dass es einer Kündigung bedarf."
)
INSURANCE = (
    "Versicherungsschein BH-1\nBeginn der Versicherung 01.12.2003, mittags 12 Uhr. Der Vertrag "
    "läuft ein Jahr und verlängert sich danach stillschweigend von Jahr zu Jahr, wenn er nicht "
    "drei Monate vor dem Ablauf in Textform gekündigt wird."
)


def _stated(field: Field, value: FindingValue, origin: Origin = Origin.MACHINE) -> Finding:
    return Finding(field, value, origin, 0.95, None, "test")


def _run(
    doc_type: DocType, text: str, *findings: Finding, asked: tuple[Field, ...] = ()
) -> SpecialistResult:
    return specialise(
        SpecialistInput(
            doc_type,
            (text,),
            findings,
            frozenset(asked),
            "de",
            as_of=date(2026, 11, 15),
            source="#7",
        )
    )


def _values(result: SpecialistResult) -> dict[Field, FindingValue | None]:
    return {found.field: found.value for found in result.findings}


def _asked(result: SpecialistResult) -> dict[Field, str]:
    return {point.field: point.kind.value for point in result.open_points}


def test_a_lease_gets_start_end_and_no_renewal() -> None:
    result = _run(DocType.LEASE, LEASE)
    values = _values(result)
    assert values[Field.CONTRACT_START_DATE] == date(2024, 4, 1)
    assert values[Field.CONTRACT_END_DATE] == date(2034, 3, 31)
    assert values[Field.AUTO_RENEWAL] is False
    assert values[Field.CONTRACT_TYPE] == "lease"
    assert values[Field.NOTICE_PERIOD_DAYS] is None
    assert result.open_points == ()


def test_an_insurance_gets_its_renewal_and_a_deadline_that_still_can_be_kept() -> None:
    result = _run(DocType.INSURANCE, INSURANCE)
    values = _values(result)
    assert values[Field.CONTRACT_START_DATE] == date(2003, 12, 1)
    assert values[Field.NEXT_RENEWAL_DATE] == date(2026, 12, 1)
    assert values[Field.NOTICE_PERIOD_DAYS] == 90
    assert values[Field.AUTO_RENEWAL] is True
    assert values[Field.CONTRACT_END_DATE] is None
    assert values[Field.NOTICE_DEADLINE] == date(2027, 8, 31)
    assert _asked(result) == {}
    assert {str(d.rule) for d in result.derivations} == {
        "start_plus_period",
        "end_minus_period",
        "next_renewal",
    }


def test_a_computed_deadline_carries_start_length_and_document() -> None:
    text = "Der Vertrag beginnt am 01.01.2024. Kündigungsfrist: 90 Tage."
    result = _run(DocType.CONTRACT, text)
    (deadline,) = [f for f in result.findings if f.field is Field.NOTICE_DEADLINE]
    assert deadline.value == date(2024, 3, 31)
    assert deadline.rule_id == "deadline.start_plus_period"
    for part in ("2024-01-01", "90 days", "#7"):
        assert part in deadline.note


def test_a_denied_start_is_checked_none_and_not_asked() -> None:
    result = _run(DocType.INSURANCE, "Antrag\nVersicherungsbeginn: keine\nMonatsbeitrag entfällt")
    (start,) = [f for f in result.findings if f.field is Field.CONTRACT_START_DATE]
    assert start.checked_none
    assert start.span is not None
    assert Field.CONTRACT_START_DATE not in _asked(result)


def test_a_missing_start_is_asked_and_not_invented() -> None:
    result = _run(DocType.CONTRACT, "Vertrag\nDie Parteien vereinbaren Stillschweigen.")
    assert _asked(result) == {Field.CONTRACT_START_DATE: "unknown"}
    assert Field.CONTRACT_START_DATE not in _values(result)


def test_rival_starts_and_notices_are_asked_with_their_values() -> None:
    text = (
        "Vertragsbeginn 01.01.2020\nVertragsbeginn 01.02.2020\n"
        "Der Kunde kündigt mit einer Frist von 90 Tagen. Die Firma kündigt mit einer Frist von "
        "14 Tagen."
    )
    result = _run(DocType.CONTRACT, text)
    assert _asked(result)[Field.CONTRACT_START_DATE] == "conflict"
    (notice,) = [p for p in result.open_points if p.field is Field.NOTICE_PERIOD_DAYS]
    assert notice.choices == ("90", "14")


def test_a_start_by_reference_without_date_is_asked() -> None:
    result = _run(DocType.CONTRACT, "Der Vertrag beginnt mit der Übergabe.")
    assert _asked(result)[Field.CONTRACT_START_DATE] == "low_confidence"


def test_an_employment_contract_is_closed_to_most() -> None:
    level = _stated(Field.CONFIDENTIALITY_LEVEL, Level.INTERNAL.value, Origin.RULE)
    text = "Arbeitsvertrag\nDas Arbeitsverhältnis beginnt am 01.04.2024."
    values = _values(_run(DocType.CONTRACT, text, level))
    assert values[Field.CONFIDENTIALITY_LEVEL] == Level.STRICT.value
    strict = _stated(Field.CONFIDENTIALITY_LEVEL, Level.STRICT.value, Origin.RULE)
    assert Field.CONFIDENTIALITY_LEVEL not in _values(_run(DocType.CONTRACT, text, strict))


def test_a_stated_value_is_not_replaced() -> None:
    human = _stated(Field.CONTRACT_START_DATE, date(2001, 1, 1), Origin.HUMAN)
    result = _run(DocType.LEASE, LEASE, human)
    assert Field.CONTRACT_START_DATE not in _values(result)


def test_what_triage_asked_is_not_asked_again() -> None:
    result = _run(DocType.INVOICE, "Rechnung", asked=(Field.INVOICE_DATE, Field.AMOUNT_GROSS))
    assert not {Field.INVOICE_DATE, Field.AMOUNT_GROSS} & set(_asked(result))
    assert Field.INVOICE_NUMBER in _asked(result)


ISSUED = _stated(Field.INVOICE_DATE, date(2026, 3, 2))


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ("zahlbar innerhalb von 14 Tagen", date(2026, 3, 16)),
        ("Zahlungsziel: 30 Tage", date(2026, 4, 1)),
        ("30 Tage netto", date(2026, 4, 1)),
        ("Die Rechnung ist sofort fällig.", date(2026, 3, 2)),
        ("Règlement à 30 jours", date(2026, 4, 1)),
        ("payable à réception", date(2026, 3, 2)),
        ("Payment within 10 days", date(2026, 3, 12)),
        ("Terms: net 45", date(2026, 4, 16)),
        ("Pagamento a 60 giorni", date(2026, 5, 1)),
        ("30 jours fin de mois, règlement à 30 jours fin de mois", None),
        ("zahlbar innerhalb von 10 Tagen mit 2 % Skonto", None),
        ("zahlbar innerhalb 14 Tagen, Zahlungsziel: 30 Tage", None),
        ("Widerruf innerhalb von 14 Tagen", None),
        ("", None),
    ],
)
def test_a_due_date_follows_from_plain_terms(terms: str, expected: date | None) -> None:
    values = _values(_run(DocType.INVOICE, f"Rechnung\n{terms}", ISSUED))
    assert values[Field.DUE_DATE] == expected


def test_a_printed_due_date_wins_over_the_terms() -> None:
    printed = _stated(Field.DUE_DATE, date(2026, 5, 5))
    result = _run(DocType.INVOICE, "zahlbar innerhalb von 14 Tagen", ISSUED, printed)
    assert Field.DUE_DATE not in _values(result)


def test_the_booking_month_follows_the_invoice_date_before_the_receipt() -> None:
    received = _stated(Field.DATE_RECEIVED, date(2026, 4, 9))
    both = _values(_run(DocType.INVOICE, "", ISSUED, received))
    assert both[Field.ACCOUNTING_PERIOD] == "2026-03"
    only = _values(_run(DocType.INVOICE, "", received))
    assert only[Field.ACCOUNTING_PERIOD] == "2026-04"


def test_a_sum_that_does_not_add_up_is_asked() -> None:
    amounts = (
        _stated(Field.AMOUNT_NET, Decimal("100.00")),
        _stated(Field.AMOUNT_TAX, Decimal("19.00")),
        _stated(Field.AMOUNT_GROSS, Decimal("129.00")),
    )
    assert _asked(_run(DocType.INVOICE, "", *amounts))[Field.AMOUNT_GROSS] == "conflict"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Entgeltabrechnung Februar 2026\nEintritt 01.08.2019", "2026-02"),
        ("Bulletin de paie – mars 2026", "2026-03"),
        ("Abrechnungsmonat 02/2026\nUrlaub bis Dezember 2026", "2026-02"),
    ],
)
def test_a_payslip_belongs_to_its_month(text: str, expected: str) -> None:
    assert _values(_run(DocType.PAYSLIP, text))[Field.ACCOUNTING_PERIOD] == expected


def test_a_kind_without_built_specialist_says_so() -> None:
    planned = _run(DocType.PHOTO, "")
    assert (planned.state, planned.findings) == (BuildState.PLANNED, ())
    elsewhere = _run(DocType.TABLE, "")
    assert (elsewhere.state, elsewhere.specialist) == (BuildState.ELSEWHERE, "table_recogniser")


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(DocType)), st.text(max_size=200))
def test_every_field_of_a_built_kind_is_stated_checked_or_asked(
    doc_type: DocType, text: str
) -> None:
    entry = load().entry(doc_type)
    result = _run(doc_type, text)
    settled = set(_values(result)) | set(_asked(result))
    if entry.state is BuildState.BUILT:
        assert set(entry.required) | set(entry.looked_for) <= settled
