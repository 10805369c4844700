"""What an answer of a model may say: closed sets, values that are values, quotes that are there."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.model_answers import (
    MEANING,
    ClosedSets,
    MalformedAnswer,
    ModelStatement,
    answer_model,
    read_answer,
    schema_of,
)

SETS = ClosedSets(("falkner", "verdier"), (), ("de", "fr"))
TEXT = "Rechnung Nr. 7 vom 02.03.2026\nGesamtbetrag   1.190,00 EUR\nKündigungsfrist drei Monate"


def read(field: Field, value: Any, quote: str | None, text: str = TEXT) -> ModelStatement:
    model = answer_model((field,), SETS)
    content = json.dumps({str(field): {"value": value, "quote": quote}})
    (statement,) = read_answer(model, content, text)
    return statement


@pytest.mark.parametrize(
    ("field", "value", "stored"),
    [
        (Field.AMOUNT_GROSS, "1190.00", "1190.00"),
        (Field.INVOICE_DATE, "2026-03-02", "2026-03-02"),
        (Field.AUTO_RENEWAL, True, "true"),
        (Field.NOTICE_PERIOD_DAYS, 90, "90"),
        (Field.ENTITY, "falkner", "falkner"),
        (Field.ENTITY, None, None),
    ],
)
def test_a_value_of_its_field_is_taken_in_the_stored_form(
    field: Field, value: Any, stored: str | None
) -> None:
    assert read(field, value, None).text == stored


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (Field.DOC_TYPE, "unknown"),
        (Field.DOC_TYPE, "parked"),
        (Field.ENTITY, "stranger"),
        (Field.PROJECT_CODE, "P-1"),
        (Field.LANGUAGE, "xx"),
        (Field.CONFIDENTIALITY_LEVEL, "confidential"),
        (Field.CONTRACT_TYPE, "versicherung"),
        (Field.INVOICE_DATE, "2026-02-31"),
        (Field.INVOICE_DATE, "02.03.2026"),
        (Field.INVOICE_DATE, "1990-1-1"),
        (Field.AMOUNT_GROSS, "1.190,00"),
        (Field.AMOUNT_GROSS, 1190),
        (Field.AMOUNT_GROSS, "NaN"),
        (Field.CURRENCY, "€"),
        (Field.AUTO_RENEWAL, "true"),
        (Field.NOTICE_PERIOD_DAYS, -1),
        (Field.PROVIDER, ""),
        (Field.PROVIDER, "a\nb"),
        (Field.ACCOUNTING_PERIOD, "2026-13"),
    ],
)
def test_what_is_no_value_of_its_field_is_malformed(field: Field, value: Any) -> None:
    with pytest.raises(MalformedAnswer):
        read(field, value, None)


def test_a_value_counts_only_with_a_passage_that_stands_in_the_document() -> None:
    assert read(Field.AMOUNT_GROSS, "1190.00", "gesamtbetrag 1.190,00 EUR").proven
    assert not read(Field.AMOUNT_GROSS, "1190.00", "Gesamtbetrag 2.000,00 EUR").proven
    assert not read(Field.AMOUNT_GROSS, "1190.00", None).proven
    assert not read(Field.AMOUNT_GROSS, "1190.00", "  ").proven
    assert read(Field.DOC_TYPE, "invoice", None).proven
    assert not read(Field.DOC_TYPE, "invoice", "This is an invoice").proven


def test_states_of_the_flow_are_never_offered_as_labels() -> None:
    offered = json.dumps(schema_of(answer_model((Field.DOC_TYPE,), SETS)))
    assert '"invoice"' in offered
    for state in ("unknown", "parked", "held", "pending"):
        assert f'"{state}"' not in offered


def test_every_axis_is_asked_by_its_own_name_and_deadlines_are_not_asked() -> None:
    assert Field.NOTICE_DEADLINE not in MEANING
    axes = [name for name in MEANING if name.endswith("_date")]
    assert len({MEANING[name] for name in axes}) == len(axes) >= 8
    assert not any("date" in MEANING[name].split() for name in axes)


def test_a_missing_and_a_superfluous_field_are_malformed_and_nothing_is_quoted() -> None:
    model = answer_model((Field.DOC_TYPE, Field.ENTITY), SETS)
    secret = "vertraulich-4711"
    for content in ("{}", json.dumps({secret: secret}), secret, f'{{"doc_type": "{secret}"}}'):
        with pytest.raises(MalformedAnswer) as raised:
            read_answer(model, content, TEXT)
        assert secret not in str(raised.value)


@given(st.text(max_size=200))
def test_any_content_is_an_answer_or_malformed(content: str) -> None:
    model = answer_model(tuple(MEANING), SETS)
    try:
        read_answer(model, content, TEXT)
    except MalformedAnswer:
        return
    raise AssertionError("chance text kept to the schema")
