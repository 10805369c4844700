"""Where an English paper comes from orders its day and month; contradictory signs are asked."""

from __future__ import annotations

import pytest

from tgv_dagster.deepen.specialists import SpecialistInput, specialise
from tgv_dagster.understand import dates, identifiers, origin_country
from tgv_dagster.understand.doctypes import DocType
from tgv_dagster.understand.evidence import Field


@pytest.mark.parametrize(
    ("text", "country"),
    [
        ("Bramley Estates Limited, Bristol BS1 4DJ", "GB"),
        ("Total 1,850.00 GBP", "GB"),
        ("VAT 20 %", "GB"),
        ("Houston, TX 77001", "US"),
        ("Sammy Tools LLC", "US"),
        ("Sammy Tools LLC, Houston, TX 77001. Your VAT: DE136695976", None),
        ("Harbour Inc., 5 Mill Lane, Leeds LS1 4AB", None),
        ("Delivered in 28195 Bremen", None),
        ("Wilmington, DE 19801", "US"),
        ("nothing to see", None),
    ],
)
def test_the_signs_of_a_country(text: str, country: str | None) -> None:
    assert origin_country.find(text, identifiers.find(text)) == country


@pytest.mark.parametrize(
    ("sender", "day"),
    [("Bramley Estates Limited", "2026-05-04"), ("Bramley Estates LLC", "2026-04-05")],
)
def test_a_contract_in_english_is_read_in_the_order_of_its_country(sender: str, day: str) -> None:
    text = f"Lease agreement\nLandlord: {sender}\nThe tenancy commences on 04/05/2026."
    result = specialise(SpecialistInput(DocType.LEASE, (text,), (), language="en"))
    (start,) = [f for f in result.findings if f.field is Field.CONTRACT_START_DATE]
    assert str(start.value) == day


def test_without_a_sign_both_readings_stay() -> None:
    text = "The tenancy commences on 04/05/2026."
    (mention,) = dates.find(text, "en", origin_country.find(text, ()))
    assert mention.ambiguous
