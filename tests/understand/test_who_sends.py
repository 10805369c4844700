"""Who sends a paper: heads of two columns, feet, titles that tell it, and what is nobody's name."""

from __future__ import annotations

import pytest
from understanding_papers import VOCABULARY

from tgv_dagster.understand.doctypes import DocType
from tgv_dagster.understand.entity import Direction
from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.triage import TriageInput, TriageResult, triage

US = ("Alpha Werkstatt GmbH", "Hafenweg 3", "50667 Köln")
THEM = ("Lauterbach Bürobedarf GmbH", "Lindenallee 4", "04109 Leipzig")
SUMS = (
    "Rechnungsnummer: L-2026-881\nRechnungsdatum: 02.03.2026\n\nRegal  100,00 EUR\n"
    "Nettobetrag  100,00 EUR\nMwSt. 19 %  19,00 EUR\nRechnungsbetrag  119,00 EUR"
)


def _read(*head: str, foot: str = "") -> TriageResult:
    text = "\n".join(head) + "\n\nRechnung\n" + SUMS + foot
    return triage(TriageInput(pages=(text,), vocabulary=VOCABULARY, media_type="application/pdf"))


def _side_by_side(left: tuple[str, ...], right: tuple[str, ...], gap: int) -> list[str]:
    """Two blocks on the same lines: positions kept, or gaps closed to two blanks (`gap` 0)."""
    longest = max(len(left), len(right))
    rows = zip(
        left + ("",) * (longest - len(left)), right + ("",) * (longest - len(right)), strict=True
    )
    return [
        (f"{one:<{gap}}{two}" if gap else f"{one}  {two}".strip()).rstrip() for one, two in rows
    ]


@pytest.mark.parametrize("gap", [0, 44])
@pytest.mark.parametrize("ours_first", [True, False])
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (("Rechnung an", *US), THEM),
        (US, ("Von", *THEM)),
        (("An", *US), ("Von", *THEM)),
        ((*US, "Deutschland"), (*THEM, "Tel. 0341 5550188")),
        (("Rechnungsempfänger", *US), (*THEM, "www.lauterbach.example")),
        ((*US, "Deutschland"), (*THEM, "USt-IdNr. FR40303265045")),
    ],
)
def test_the_supplier_beside_the_receiver(
    gap: int, ours_first: bool, ours: tuple[str, ...], theirs: tuple[str, ...]
) -> None:
    pair = (ours, theirs) if ours_first else (theirs, ours)
    result = _read(*_side_by_side(*pair, gap))
    assert result.provider == THEM[0]
    assert (result.entity_slug, result.direction) == ("alpha", Direction.IN)


def test_a_stranger_beside_the_supplier_is_nobody_of_ours_and_no_supplier() -> None:
    stranger = ("Rechnung an", "Oakridge Tooling Limited", "5 Mill Lane", "04317 Leipzig")
    result = _read(*_side_by_side(THEM, stranger, 40))
    assert result.entity_slug is None
    assert result.provider in (None, THEM[0])


def test_two_addresses_without_any_sign_are_asked() -> None:
    result = _read(*_side_by_side(US, THEM, 0))
    assert result.direction is not Direction.OUT
    assert result.provider in (None, THEM[0])


def test_our_own_bill_with_two_columns_goes_out() -> None:
    rows = _side_by_side(("Von", *US), ("An", *THEM), 0)
    result = _read(*rows)
    assert (result.entity_slug, result.direction) == ("alpha", Direction.OUT)
    assert result.provider == US[0]


@pytest.mark.parametrize(
    "register",
    [
        "Amtsgericht Leipzig HRB 31877",
        "SIRET 732 829 320 00074",
        "USt-IdNr. DE136695976 - Geschäftsführer: U. Brandt",
    ],
)
def test_the_firm_in_the_foot_is_the_supplier_and_its_bank_is_not(register: str) -> None:
    foot = (
        f"\n\n{THEM[0]}  Volksbank Leipzig eG  {register}\n"
        f"{THEM[1]}  IBAN FR14 2004 1010 0505 0001 3M02 606\n{THEM[2]}"
    )
    assert _read(*US, foot=foot).provider == THEM[0]


@pytest.mark.parametrize(
    "title",
    [
        "Rechnung von Lauterbach Bürobedarf GmbH",
        "Invoice from Lauterbach Bürobedarf GmbH",
        "Facture émise par Lauterbach Bürobedarf GmbH",
        "Fattura emessa da Lauterbach Bürobedarf GmbH",
    ],
)
def test_a_title_tells_the_supplier(title: str) -> None:
    assert _read(title, "", f"An: {US[0]}", *US[1:]).provider == THEM[0]


def test_a_country_code_is_nobodys_name() -> None:
    result = _read("CH – 9527 Niederhelfenschwil", "CH 8045 Zürich", "", *US)
    assert result.provider != "CH"


@pytest.mark.parametrize(
    "line",
    [
        "Vorherige Rechnung 11-204 vom 05.01.2026",
        "Facture précédente 11-204 du 05/01/2026",
        "Previous invoice 11-204 of 5 January 2026",
        "Fattura precedente 11-204 del 05/01/2026",
        "Previous invoice number: 11-204",
    ],
)
def test_an_earlier_paper_gives_neither_number_nor_day(line: str) -> None:
    result = _read(*THEM, "Tel. 0341 5550188", "", *US, "", line)
    number, day = result.finding(Field.INVOICE_NUMBER), result.finding(Field.INVOICE_DATE)
    assert number is not None and number.value == "L-2026-881"
    assert day is not None and str(day.value) == "2026-03-02"


@pytest.mark.parametrize(
    ("title", "number"),
    [
        ("FACTURE\nN° 4471-B", "4471-B"),
        ("FACTURE\nN°\nR471820", "R471820"),
        ("Facture d'hôtel BD/9055", "BD/9055"),
        ("Invoice\nInvoice number                            R950728", "R950728"),
    ],
)
def test_a_number_under_or_behind_its_title(title: str, number: str) -> None:
    text = f"Hôtel Garance SARL\n1 rue Verte\n69003 Lyon\n\n{title}\nTotal TTC 120,00 EUR"
    result = triage(TriageInput(pages=(text,), vocabulary=VOCABULARY))
    found = result.finding(Field.INVOICE_NUMBER)
    assert found is not None and found.value == number


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("Office services agreement", DocType.CONTRACT),
        ("Framework agreement for cleaning services", DocType.CONTRACT),
        ("Hotel invoice KF/4863", DocType.INVOICE),
    ],
)
def test_an_english_title_in_sentence_case_is_a_title(title: str, kind: DocType) -> None:
    text = f"{title}\n\nProvider: Bramley Estates Limited\nCustomer: Alpha Werkstatt GmbH\n"
    result = triage(TriageInput(pages=(text,), vocabulary=VOCABULARY, media_type="application/pdf"))
    assert result.doc_type is kind
