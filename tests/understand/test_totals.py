"""Totals: labelled, under their labels, in rows; proven by arithmetic or not claimed."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.understand import totals
from tgv_dagster.understand.totals import Arithmetic, Total

GERMAN = (
    "Pos 1 Beratung 80,00 €\nSumme netto 100,00 €\nzzgl. 19% MwSt. 19,00 €\n"
    "Rechnungsbetrag 119,00 €"
)
FRENCH = "Total HT 1 000,00 €\nTVA 20% 200,00 €\nTotal TTC 1 200,00 €"
ENGLISH = "Subtotal $ 262.90\nTax 15% on $ 112.90 $ 16.94\nTotal $ 279.84"
ITALIAN = "Imponibile 100,00\nIVA 22% 22,00\nTotale fattura EUR 122,00"
COLUMNS = "BTW % Grondslag BTW bedrag Totaal\n21 % 41,31 8,68 49,99\nFactuur totaal EUR 49,99"
STACKED = "TOTAL HT\n100,00\nMontant TVA\n10,00\nTOTAL TTC\n110,00"
TWO_RATES = "Netto 473,00\n7% USt. 19,25\n19% USt. 37,62\nGesamtbetrag 529,87"
BASES = "Netto 7 %: 100,00\nMwSt 7 %: 7,00\nNetto 19 %: 200,00\nMwSt 19 %: 38,00\nBrutto 345,00"
THREE_RATES = "Total HT 300,00\nTVA 5,5 % 5,50\nTVA 10 % 10,00\nTVA 20 % 20,00\nTotal TTC 335,50"
THREE_BASES = (
    "Imponibile 4% 100,00\nImponibile 10% 100,00\nImponibile 22% 100,00\nImposta 4% 4,00\n"
    "Imposta 10% 10,00\nImposta 22% 22,00\nTotale fattura EUR 336,00"
)
EQUAL_TAXES = "Nettobetrag 370,00\n7 % MwSt 19,00\n19 % MwSt 19,00\nGesamtbetrag 408,00"
RUSSIAN = "Итого без НДС 100,00 руб.\nНДС 20% 20,00 руб.\nВсего к оплате 120,00 руб."


def _value(total: Total | None) -> str | None:
    return None if total is None else str(total.value)


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        (GERMAN, "de", ("100.00", "19.00", "119.00")),
        (FRENCH, "fr", ("1000.00", "200.00", "1200.00")),
        (ENGLISH, "en", ("262.90", "16.94", "279.84")),
        (ITALIAN, "it", ("100.00", "22.00", "122.00")),
        (COLUMNS, "nl", ("41.31", "8.68", "49.99")),
        (STACKED, "fr", ("100.00", "10.00", "110.00")),
        (TWO_RATES, "de", ("473.00", "56.87", "529.87")),
        (RUSSIAN, "ru", ("100.00", "20.00", "120.00")),
        (BASES, "de", ("300.00", "45.00", "345.00")),
        (THREE_RATES, "fr", ("300.00", "35.50", "335.50")),
        (THREE_BASES, "it", ("300.00", "36.00", "336.00")),
        (EQUAL_TAXES, "de", ("370.00", "38.00", "408.00")),
        ("Netto 100,00 MwSt 19,00 Brutto 119,00", "de", ("100.00", "19.00", "119.00")),
        (
            "Nettobetrag -100,00\nUSt. -19,00\nGutschriftsbetrag -119,00",
            "de",
            ("-100.00", "-19.00", "-119.00"),
        ),
        (
            "Zwischensumme 100,00\nMwSt 19,00\nGesamt inkl. MwSt. 119,00",
            "de",
            ("100.00", "19.00", "119.00"),
        ),
    ],
)
def test_three_totals_that_add_up_are_proven(
    text: str, language: str, expected: tuple[str, str, str]
) -> None:
    found = totals.read(text, language)
    assert (_value(found.net), _value(found.tax), _value(found.gross)) == expected
    assert found.arithmetic is Arithmetic.PROVEN
    assert found.gross is not None
    assert found.gross.confidence >= 0.9


def test_a_sum_of_tax_lines_names_each_of_them() -> None:
    found = totals.read(THREE_RATES, "fr")
    assert found.tax is not None
    assert [THREE_RATES[slice(*part)] for part in found.tax.parts] == ["5,50", "10,00", "20,00"]


@pytest.mark.parametrize(
    ("printed", "other"), [("335,50", "353,50"), ("335,50", "335,51"), ("20,00", "20,01")]
)
def test_tax_lines_that_miss_the_total_by_a_cent_prove_nothing(printed: str, other: str) -> None:
    found = totals.read(THREE_RATES.replace(printed, other), "fr")
    assert found.arithmetic is not Arithmetic.PROVEN
    assert found.tax is None


def test_totals_point_at_their_place_in_the_text() -> None:
    found = totals.read(GERMAN, "de")
    assert found.gross is not None
    assert found.gross.span is not None
    assert GERMAN[slice(*found.gross.span)] == "119,00 €"
    assert found.currency == "EUR"


def test_wrong_sums_are_contradicted_and_not_trusted() -> None:
    found = totals.read(
        "Summe netto 1.420,00\nUmsatzsteuer 19% 269,80\nRechnungsbetrag 1.589,80", "de"
    )
    assert found.arithmetic is Arithmetic.CONTRADICTED
    assert found.gross is not None
    assert found.gross.confidence < 0.5


def test_two_equally_labelled_totals_give_none() -> None:
    found = totals.read("Rechnungsbetrag 119,00 €\nRechnungsbetrag 238,00 €", "de")
    assert found.gross is None
    assert set(found.rivals) == {Decimal("119.00"), Decimal("238.00")}


def test_a_known_rate_gives_the_third_total() -> None:
    found = totals.read("Summe EUR 23,80\ninkl. 19% MwSt 3,80", "de")
    assert _value(found.net) == "20.00"
    assert found.net is not None
    assert found.net.span is None
    assert found.arithmetic is Arithmetic.PROVEN


def test_an_exempt_invoice_has_no_tax() -> None:
    text = "Gesamtbetrag 500,00 €\nGemäß § 19 UStG wird keine Umsatzsteuer berechnet."
    found = totals.read(text, "de")
    assert (_value(found.net), _value(found.tax), _value(found.gross)) == ("500.00", "0", "500.00")


def test_prepayment_explains_the_amount_due() -> None:
    text = (
        "Rechnungssumme ohne USt. 177,49\nSteuerbetrag 20,16\nBruttosumme 197,65\n"
        "Erhaltene Anzahlungen 50,00\nZahlbetrag 147,65"
    )
    found = totals.read(text, "de")
    assert (_value(found.gross), _value(found.due)) == ("197.65", "147.65")
    assert found.due is not None
    assert found.due.confidence > 0.9


def test_a_gross_amount_alone_stays_below_certainty() -> None:
    found = totals.read("Endsumme 963,12 €", "de")
    assert found.gross is not None
    assert found.gross.confidence < 0.8
    assert found.arithmetic is Arithmetic.UNPROVEN


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Stammkapital 25.000,00 €",
        "Skonto 2,00 €",
        "USt-IdNr. DE136695976",
        "Wohnfläche 78,40 m², Tel. 030 123456",
        "SARL au capital de 120 000,00 €",
    ],
)
def test_other_amounts_are_no_totals(text: str) -> None:
    found = totals.read(text, "de")
    assert (found.net, found.tax, found.gross) == (None, None, None)


def test_the_currency_may_be_stated_once() -> None:
    assert (
        totals.read("Währung: EUR\nNetto 100,00\nMwSt 19,00\nBrutto 119,00", "de").currency == "EUR"
    )


def _german(value: Decimal) -> str:
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


@given(st.integers(100, 9_000_000), st.sampled_from([7, 19]))
def test_a_printed_invoice_total_is_found(cents: int, rate: int) -> None:
    net = Decimal(cents) / 100
    tax = (net * rate / 100).quantize(Decimal("0.01"))
    text = (
        f"1 Beratung 2 Std. {_german(net / 2)}\n"
        f"Nettobetrag {_german(net)} EUR\n{rate} % USt. {_german(tax)} EUR\n"
        f"Gesamtbetrag {_german(net + tax)} EUR"
    )
    found = totals.read(text, "de")
    assert found.gross is not None
    assert found.gross.value == net + tax
    assert found.net is not None
    assert found.net.value == net
