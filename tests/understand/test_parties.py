"""Parties: sides by label and layout, company names as written, one sender under one name."""

from __future__ import annotations

import pytest
from understanding_papers import VOCABULARY, Invoice

from tgv_dagster.understand import identifiers, parties, vocabulary
from tgv_dagster.understand.parties import EntityEvidence, Layout


def _evidence(text: str) -> dict[str, EntityEvidence]:
    matches = vocabulary.find_matches(VOCABULARY, text, identifiers.find(text))
    return {found.slug: found for found in parties.entity_evidence(Layout(text), matches)}


def _names(text: str) -> list[str]:
    matches = vocabulary.find_matches(VOCABULARY, text, identifiers.find(text))
    spans = tuple(match.span for match in matches)
    found = parties.company_names(Layout(text), spans, identifiers.find(text), "")
    return [company.name for company in found]


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("Rechnungsempfänger: Alpha Werkstatt GmbH", "bill_to"),
        ("Bill to:\nAlpha Werkstatt GmbH", "bill_to"),
        ("Facturé à\nAlpha Werkstatt GmbH", "bill_to"),
        ("Spett.le\nAlpha Werkstatt GmbH", "bill_to"),
        ("An: Alpha Werkstatt GmbH", "bill_to"),
        ("Anbieter: Nordlicht IT GmbH, Kunde: Alpha Werkstatt GmbH", "bill_to"),
        (
            "Alpha Werkstatt GmbH\nHerrn Geschäftsführer Alt\nHafenweg 3\n50667 Köln\n\nText",
            "bill_to",
        ),
        ("zwischen Alpha Werkstatt GmbH, vertreten durch X, Mieter,", "bill_to"),
        ("Ihre USt-IdNr. DE136695976", "bill_to"),
        ("Verkäufer\nName: Alpha Werkstatt GmbH", "supplier"),
        ("Alpha Werkstatt GmbH · Hafenweg 3 · 50667 Köln", "supplier"),
        ("Überweisung an IBAN DE02 1203 0000 0000 2020 51", "supplier"),
        ("Lieferadresse: Alpha Werkstatt GmbH", "ship_to"),
    ],
)
def test_the_side_of_an_entity(text: str, side: str) -> None:
    found = _evidence(text)["alpha"]
    sides = {"bill_to": found.bill_to, "supplier": found.supplier, "ship_to": found.ship_to}
    assert max(sides, key=lambda name: sides[name]) == side
    assert sides[side] >= 1.2


def test_the_head_of_a_mail_bills_nobody() -> None:
    text = "From: a@b.example\nTo: rechnung@alpha.example\nDate: Tue, 17 Nov 2026\nSubject: Hallo"
    assert Layout(text).foreign_bill_to(()) is None


@pytest.mark.parametrize(
    "line",
    [
        "Frau Greta Gamma, Am Deich 1, 21129 Hamburg",
        "Sehr geehrte Frau Greta Gamma,",
        "Mme Greta Gamma, Am Deich 1",
        "An Frau Dr. Greta Gamma",
    ],
)
def test_who_is_addressed_beside_the_data_of_a_sender_is_the_receiver(line: str) -> None:
    """A craftsman's own line marks a sender, and the receiver's line may stand right under it."""
    head = "Malerbetrieb Quast, Inhaber Jörg Quast, Bäckerstr. 9, 21335 Lüneburg"
    found = _evidence(f"{head}\n{line}\nRechnung Nr. 88\nSumme 740,00")["gamma"]
    assert found.bill_to > found.supplier


def test_a_name_in_passing_has_no_side() -> None:
    found = _evidence("Wir trafen die Alpha Werkstatt GmbH auf der Messe.")["alpha"]
    assert (found.bill_to, found.supplier, found.ship_to) == (0.0, 0.0, 0.0)
    assert not found.identified


def test_two_labels_on_one_head_line_govern_nobody() -> None:
    found = _evidence("Rechnungsadresse  Lieferadresse\nAlpha Werkstatt GmbH  Omega AG")["alpha"]
    assert max(found.bill_to, found.ship_to) < 3


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ACME GmbH", "ACME GmbH"),
        ("ACME GmbH, Str. 1, 10115 Berlin", "ACME GmbH"),
        ("ACME GmbH · Str. 1 · 10115 Berlin", "ACME GmbH"),
        ("Geliefert von Müller & Söhne GmbH & Co. KG", "Müller & Söhne GmbH & Co. KG"),
        ("Cloudy Metrics, Inc.\nMarket St", "Cloudy Metrics, Inc."),
        ("Papeterie du Centre SARL, 3 rue Haute", "Papeterie du Centre SARL"),
        ("Au bon moulin SARL - 84340 Malaucène", "Au bon moulin SARL"),
        ("La SCI des Quais, 4 quai Rambaud", "SCI des Quais"),
        ("bol.com b.v.\nUtrecht", "bol.com b.v."),
        ("Marmi Valdisera S.r.l.\nmarmi", "Marmi Valdisera S.r.l."),
        ("ООО «Северный лес»\nСчет", "ООО «Северный лес»"),
        ("Finanzamt Köln-Mitte\nBescheid", "Finanzamt Köln-Mitte"),
        ("Beispiel\u00a0AG\nWeg 1", "Beispiel AG"),
        ("PRODID:-//Winterfeld Software GmbH//Kalender 12//DE", "Winterfeld Software GmbH"),
        ("--- Winterfeld Software GmbH ---", "Winterfeld Software GmbH"),
    ],
)
def test_a_company_is_named_as_written(text: str, name: str) -> None:
    assert _names(text)[0] == name


def test_own_names_and_receivers_are_no_supplier() -> None:
    assert _names(Invoice().text())[0] == "Holzhandel Brink GmbH"
    assert "Alpha Werkstatt GmbH" not in _names(Invoice().text())


def test_a_foreign_receiver_is_named() -> None:
    layout = Layout("Bill to:\nOmega Trading Ltd\n1 Dock Road")
    assert layout.foreign_bill_to(()) == "Omega Trading Ltd"
    text = "Bill to:\nAlpha Werkstatt GmbH"
    matches = vocabulary.find_matches(VOCABULARY, text, ())
    assert Layout(text).foreign_bill_to(matches) is None


@pytest.mark.parametrize(
    "unit", ["Alpha Werkstatt GmbH Kunde: Rechnung ", "GmbH ", "· ", "Kunde:\n", "12345 Ort\n"]
)
def test_an_endless_text_is_read(unit: str) -> None:
    text = unit * (40_000 // len(unit))
    assert isinstance(_names(text), list)
