"""Reminders: the open amount with its fees, proven by the printed sum or asked."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tgv_dagster.understand import reminders


@pytest.mark.parametrize(
    ("text", "language", "amount"),
    [
        (
            "Offener Betrag: 1.190,00 EUR\nMahnkosten: 5,00 EUR\nSumme: 1.195,00 EUR",
            "de",
            "1195.00",
        ),
        (
            "Rechnung 118 vom 02.03.2026 1.000,00 EUR\nRechnung 119 vom 09.03.2026 200,00 EUR\n"
            "Mahngebühr 5,00 EUR\nVerzugszinsen 1,50 EUR\nGesamtforderung 1.206,50 EUR",
            "de",
            "1206.50",
        ),
        (
            "Facture F-77 du 02/03/2026 : 1 190,00 €\nIndemnité forfaitaire 40,00 €\n"
            "Montant total dû 1 230,00 €",
            "fr",
            "1230.00",
        ),
        (
            "Invoice PF-2  GBP 1,190.00\nLate payment fee GBP 40.00\nTotal GBP 1,230.00",
            "en",
            "1230.00",
        ),
        (
            "Fattura n. 12 EUR 1.190,00\nSpese di sollecito EUR 5,00\nTotale EUR 1.195,00",
            "it",
            "1195.00",
        ),
        ("Unsere Rechnung über 1.190,00 EUR ist noch offen.", "de", "1190.00"),
    ],
)
def test_the_demanded_amount_is_the_open_one_with_its_fees(
    text: str, language: str, amount: str
) -> None:
    found = reminders.demand(text, language)
    assert found is not None
    assert found.total is not None
    assert found.total.value == Decimal(amount)


@pytest.mark.parametrize(
    "text",
    [
        "Offener Betrag 1.190,00 EUR\nzzgl. Mahngebühren 5,00 EUR\nBitte zahlen Sie.",
        "Rechnung 118 1.000,00 EUR\nMahngebühr 5,00 EUR\nGesamtforderung 1.050,00 EUR",
    ],
)
def test_fees_that_no_printed_sum_contains_are_asked(text: str) -> None:
    found = reminders.demand(text, "de")
    assert found is not None
    assert found.total is None
    assert len(found.choices) == 2


def test_a_fee_that_a_sentence_threatens_with_is_not_demanded() -> None:
    text = (
        "Offener Betrag 1.190,00 EUR\nBei weiterem Verzug berechnen wir eine Mahngebühr von 40 EUR."
    )
    found = reminders.demand(text, "de")
    assert found is None or found.choices == ()
