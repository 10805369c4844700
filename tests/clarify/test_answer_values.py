"""A person's value has the form of its field, or it is refused with what would fit."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.clarify.answer_values import fault_of
from tgv_dagster.understand.evidence import Field

GOOD = {
    Field.DOC_TYPE: "invoice",
    Field.ENTITY: "nord-gmbh",
    Field.PROVIDER: "Holzkontor & Söhne",
    Field.DIRECTION: "in",
    Field.LANGUAGE: "de",
    Field.PROJECT_CODE: "P-1",
    Field.CONFIDENTIALITY_LEVEL: "streng_vertraulich",
    Field.AMOUNT_NET: "-12.50",
    Field.AMOUNT_TAX: "0",
    Field.AMOUNT_GROSS: "1234567890.99",
    Field.AMOUNT_DUE: "7",
    Field.CURRENCY: "EUR",
    Field.INVOICE_NUMBER: "RE-2026/0318",
    Field.CUSTOMER_NUMBER: "4711",
    Field.CONTRACT_NUMBER: "V 1",
    Field.ORDER_NUMBER: "B1",
    Field.ACCOUNTING_PERIOD: "2026-03",
    Field.CONTRACT_TYPE: "lease",
    Field.NOTICE_PERIOD_DAYS: "90",
    Field.AUTO_RENEWAL: "true",
    Field.RIGHTS_VERBATIM_OK: "false",
    Field.RIGHTS_COPYRIGHT_HOLDER: "Holzkontor & Söhne",
    Field.RIGHTS_MODEL_RELEASE: "true",
    Field.RIGHTS_POST_MORTEM: "true",
}


@pytest.mark.parametrize("field", list(Field))
def test_a_value_of_the_right_form_fits(field: Field) -> None:
    assert fault_of(field, GOOD.get(field, "2026-02-28")) is None


@pytest.mark.parametrize(
    ("field", "text"),
    [
        (Field.DUE_DATE, "infinity"),
        (Field.DUE_DATE, "tomorrow"),
        (Field.DUE_DATE, "2026-02-30"),
        (Field.DUE_DATE, "20260401"),
        (Field.DUE_DATE, "0000-01-01"),
        (Field.DUE_DATE, "２０２６-01-01"),
        (Field.AMOUNT_GROSS, "NaN"),
        (Field.AMOUNT_GROSS, "1e9"),
        (Field.AMOUNT_GROSS, "1.234,56"),
        (Field.AMOUNT_GROSS, "1" * 16),
        (Field.ACCOUNTING_PERIOD, "2026-13"),
        (Field.CONFIDENTIALITY_LEVEL, "streng"),
        (Field.CONFIDENTIALITY_LEVEL, "family_close"),
        (Field.DOC_TYPE, "Rechnung"),
        (Field.DIRECTION, "sideways"),
        (Field.CURRENCY, "euro"),
        (Field.LANGUAGE, "Deutsch"),
        (Field.AUTO_RENEWAL, "maybe"),
        (Field.RIGHTS_VERBATIM_OK, "ja"),
        (Field.NOTICE_PERIOD_DAYS, "-1"),
        (Field.PROVIDER, ""),
        (Field.PROVIDER, "   "),
        (Field.PROVIDER, "two\nlines"),
        (Field.PROVIDER, "x" * 301),
    ],
)
def test_a_value_of_another_form_is_refused_with_a_reason(field: Field, text: str) -> None:
    assert fault_of(field, text)


@given(st.dates())
def test_every_day_of_the_calendar_is_a_date(day: date) -> None:
    assert fault_of(Field.INVOICE_DATE, day.isoformat()) is None


@given(st.sampled_from(list(Field)), st.text(max_size=400))
def test_whatever_fits_can_be_shown_on_one_line(field: Field, text: str) -> None:
    if fault_of(field, text) is None:
        assert text.isprintable()
        assert 0 < len(text) <= 300
