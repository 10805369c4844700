"""Identifiers: normal form, right check digits only, labels in several languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.understand import identifiers
from tgv_dagster.understand.identifiers import IdentifierKind


def _found(text: str, language: str | None = "de") -> list[tuple[str, str]]:
    return [(i.kind.value, i.value) for i in identifiers.find(text, language)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("USt-IdNr. DE136695976", ("vat_id", "DE136695976")),
        ("USt-ID: DE 136 695 976", ("vat_id", "DE136695976")),
        ("N° de TVA FR 604 219 388 61Facture", ("vat_id", "FR60421938861")),
        ("BTW NL810433941B01", ("vat_id", "NL810433941B01")),
        ("P.IVA 00743110157", ("vat_id", "IT00743110157")),
        ("IBAN DE92 7607 0012 0750 0077 00", ("iban", "DE92760700120750007700")),
        ("IBAN: NL50INGB0683251309 BIC", ("iban", "NL50INGB0683251309")),
        ("CH44 3199 9123 0008 8901 2", ("iban", "CH4431999123000889012")),
        ("B 421 938 861 RCS Paris", ("siren", "421938861")),
        ("SIRET 732 829 320 00074", ("siret", "73282932000074")),
        ("Amtsgericht Köln HRB 12345", ("register_no", "HRB 12345")),
        ("HR B Nr. 372876", ("register_no", "HRB 372876")),
        ("Handelsregisternummer: H A 123", ("register_no", "HRA 123")),
        ("FN 123456a", ("register_no", "FN 123456A")),
        ("Steuernummer 201/113/40209", ("tax_no", "20111340209")),
        ("info@Hetzner.de", ("email", "info@hetzner.de")),
        ("www.Alpha.example", ("domain", "alpha.example")),
        ("Tel.: 089/99822-0", ("phone", "+4989998220")),
        ("+33 4 72 07 08 56", ("phone", "+33472070856")),
        ("Rechnungsnummer: R0005532486", ("invoice_no", "R0005532486")),
        ("Rechnung Nr. 42 vom 31.01.2014", ("invoice_no", "42")),
        ("Rechnung # RE-20171118/506 von", ("invoice_no", "RE-20171118/506")),
        ("Facture n°562044387 du", ("invoice_no", "562044387")),
        ("Facture FA-2017-0010", ("invoice_no", "FA-2017-0010")),
        ("Invoice INV/2023/03/0008", ("invoice_no", "INV/2023/03/0008")),
        ("Fattura n. 88/2026", ("invoice_no", "88/2026")),
        ("Счет № 148 от", ("invoice_no", "148")),
        ("Kundennummer: K0100077603", ("customer_no", "K0100077603")),
        ("Account Number: 1123 4567 2345 8765", ("customer_no", "1123456723458765")),
        ("Contrat d'entretien n° FSC-2023-118", ("contract_no", "FSC-2023-118")),
        ("Ordernummer: 12572103", ("order_no", "12572103")),
    ],
)
def test_an_identifier_is_found_in_normal_form(text: str, expected: tuple[str, str]) -> None:
    assert expected in _found(text)


@pytest.mark.parametrize(
    "text",
    [
        "USt-IdNr. DE123456789",
        "IBAN DE92 7607 0012 0750 0077 01",
        "IBAN DE54 5004 **** **** **** 00",
        "SIRET 732 829 320 00075",
        "Steuernummer 1/2/3",
        "Rechnung 2024",
        "Rechnung vom 12.03.2024",
        "Total facture 24.99",
        "Tel. 12",
        "HRB",
        "a@b",
    ],
)
def test_wrong_check_digits_and_other_numbers_are_not_taken(text: str) -> None:
    kinds = {"vat_id", "iban", "siret", "tax_no", "invoice_no", "phone", "register_no", "email"}
    assert [found for found in _found(text) if found[0] in kinds] == []


def test_another_documents_number_is_not_this_documents_number() -> None:
    text = "Facture n° F2\nN° de facture associée : F1"
    assert [value for kind, value in _found(text, "fr") if kind == "invoice_no"] == ["F2"]


def test_a_register_number_knows_its_court() -> None:
    text = "Deutsche Bank AG Nürnberg\nRegistergericht Ansbach, HRB 6089"
    (register,) = [i for i in identifiers.find(text) if i.kind is IdentifierKind.REGISTER_NO]
    assert register.detail == "Ansbach"


def test_an_iban_is_no_vat_id() -> None:
    assert [kind for kind, _ in _found("DE02120300000000202051")] == ["iban"]


@given(st.text(max_size=80))
def test_finding_never_fails_and_points_into_the_text(text: str) -> None:
    for identifier in identifiers.find(text, "de"):
        assert 0 <= identifier.span[0] < identifier.span[1] <= len(text)


@given(st.lists(st.integers(0, 9), min_size=22, max_size=22))
def test_random_digits_give_an_iban_only_with_a_right_checksum(digits: list[int]) -> None:
    raw = "DE" + "".join(map(str, digits[:20]))
    found = [value for kind, value in _found(f"IBAN {raw}") if kind == "iban"]
    rearranged = raw[4:] + "1314" + raw[2:4]
    assert (found == [raw]) == (int(rearranged) % 97 == 1)


@pytest.mark.parametrize("unit", ["DE12 ", "a@b.", "HRB 1 ", "Tel: 030 1 ", "Rechnung Nr. ", "IT"])
def test_long_texts_are_searched(unit: str) -> None:
    text = unit * (120_000 // len(unit))
    assert len(identifiers.find(text, "de")) <= len(text)


def test_a_number_stands_under_its_head_among_other_heads() -> None:
    head = "Numéro de facture    Date de facture    Échéance"
    text = f"{head}\n2024-90048    04/09/2024    18/09/2024"
    (found,) = [i for i in identifiers.find(text, "fr") if i.kind is IdentifierKind.INVOICE_NO]
    assert (found.value, found.labelled) == ("2024-90048", True)


@pytest.mark.parametrize(
    "line",
    [
        "Référence : Facture 77-4274550 du 08/10/2025",
        "Bezug: Rechnung 77-4274550 vom 08.10.2025",
        "Our reference: Tax Invoice 77-4274550 dated 08/10/2025",
        "Riferimento: Fattura 77-4274550 del 08/10/2025",
    ],
)
def test_the_number_of_the_document_referred_to_is_not_its_own(line: str) -> None:
    found = identifiers.find(line, None)
    assert "77-4274550" not in {i.value for i in found if i.kind is IdentifierKind.INVOICE_NO}
