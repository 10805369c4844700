"""Kinds of documents from titles, words and formats; doubled vocabularies in one register."""

from __future__ import annotations

import pytest

from tgv_dagster.understand import doctypes
from tgv_dagster.understand.doctypes import (
    VOCABULARY_PAIRS,
    ContractType,
    DocType,
    PairKind,
    TypeFacts,
)
from tgv_dagster.understand.evidence import Field

SURE = 0.8
PDF = TypeFacts(media_type="application/pdf")
GREETING = "Sehr geehrte Damen und Herren,\n{}\nMit freundlichen Grüßen\nA. Kern"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Rechnung Nr. 42\nRechnungsbetrag 119,00", DocType.INVOICE),
        ("R E C H N U N G\nNr. 42", DocType.INVOICE),
        ("Stromrechnung 2025\nNetto 10,00", DocType.INVOICE),
        ("Facture FA-2017-0010\nTotal TTC 10,00", DocType.INVOICE),
        ("INVOICE\nInvoice number 7", DocType.INVOICE),
        ("Fattura n. 88/2026", DocType.INVOICE),
        ("Счет на оплату № 148 от 11 марта", DocType.INVOICE),
        ("Gutschrift GS-1\nzu unserer Rechnung RE-1", DocType.CREDIT_NOTE),
        ("Avoir n° 12\navoir sur facture F1", DocType.CREDIT_NOTE),
        ("Credit note 5\nInvoice 4", DocType.CREDIT_NOTE),
        ("Gutschrift (Selbst ausgestellte Rechnung) Nr. 5", DocType.INVOICE),
        ("2. Mahnung\nRechnung RE-1 ist überfällig", DocType.REMINDER),
        ("Zahlungserinnerung zu Rechnung RE-1", DocType.REMINDER),
        ("Sollecito di pagamento\nFattura 5 insoluta", DocType.REMINDER),
        ("Quittung\nBetrag dankend erhalten", DocType.RECEIPT),
        ("REWE\nSumme 5,00\nGegeben bar 10,00\nRückgeld 5,00\nKasse 3", DocType.RECEIPT),
        ("Ticket de caisse\nTotal 5,00\nRendu 1,00", DocType.RECEIPT),
        ("Lieferschein LS-77120\nWare erhalten", DocType.DELIVERY_NOTE),
        ("Angebot Nr. 5\nbieten wir Ihnen an", DocType.OFFER),
        ("Devis n° 12\nbon pour accord", DocType.OFFER),
        ("Auftragsbestätigung 12", DocType.ORDER),
        ("Mietvertrag über Gewerberäume\nVermieter, Mieter, Kaution", DocType.LEASE),
        ("Dienstleistungsvertrag\n§ 1 Vertragsgegenstand\nGerichtsstand", DocType.CONTRACT),
        ("Contrat d'entretien n° 5\nci-après, préavis, tacite reconduction", DocType.CONTRACT),
        ("Contratto di locazione turistica\nlocatore, conduttore", DocType.LEASE),
        ("Договор\nстороны, предмет договора", DocType.CONTRACT),
        ("Versicherungsschein BH-1\nVersicherungssumme", DocType.INSURANCE),
        ("Attestation d'assurance\nNous attestons, garanties", DocType.INSURANCE),
        ("Kontoauszug Nr. 3\nAlter Kontostand 5,00\nValuta", DocType.BANK_STATEMENT),
        ("Bescheid für 2024 über Einkommensteuer\nFinanzamt, Einspruch", DocType.TAX_NOTICE),
        ("Avis d'imposition : cotisation foncière", DocType.TAX_NOTICE),
        ("Entgeltabrechnung Februar 2026\nGesamtbrutto, Lohnsteuer", DocType.PAYSLIP),
        ("Bulletin de paie – mars 2026\nSalaire brut, cotisations", DocType.PAYSLIP),
        ("Busta paga\nretribuzione, trattenute", DocType.PAYSLIP),
        ("Arbeitsunfähigkeitsbescheinigung\nhiermit wird bestätigt", DocType.CERTIFICATE),
        ("Stundenzettel KW 3\nArbeitsbeginn Arbeitsende", DocType.TIME_SHEET),
        ("Fahrtenbuch 2026\nkm-Stand Reisezweck", DocType.LOGBOOK),
        (GREETING.format("wir ziehen um."), DocType.LETTER),
        (GREETING.format("Ihr Vertrag und die Rechnung liegen bei."), DocType.LETTER),
        ("Madame, Monsieur,\nnous déménageons.\nVeuillez agréer", DocType.LETTER),
        ("Уважаемый господин Брандт!\nС уважением, Иван", DocType.LETTER),
    ],
)
def test_a_kind_is_recognised_by_its_words(text: str, expected: DocType) -> None:
    verdict = doctypes.classify(text, PDF)
    assert (verdict.doc_type, verdict.confidence >= SURE) == (expected, True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nebenkostenabrechnung 2025\nIhr Anteil 312,40 EUR", DocType.OTHER),
        ("Betriebskostenabrechnung für 2025\nNachzahlung 84,10 EUR", DocType.OTHER),
        ("Heizkostenabrechnung\nNutzer 12\nGuthaben 18,20 EUR", DocType.OTHER),
        ("Reisekostenabrechnung\nMitarbeiter A. Kern\nSumme 212,00 EUR", DocType.OTHER),
        ("Provisionsabrechnung März 2026\nGesamt 900,00 EUR", DocType.OTHER),
        ("Note de frais - mars 2026\nTotal 88,00 EUR", DocType.OTHER),
        ("Lohnabrechnung März 2026\nGesamtbrutto 3.100,00", DocType.PAYSLIP),
        ("Depotabrechnung\nKurswert 1.200,00 EUR", DocType.BANK_STATEMENT),
        ("Kreditkartenabrechnung\nNeuer Saldo 410,22 EUR", DocType.BANK_STATEMENT),
        ("Stromabrechnung 2025\nRechnungsbetrag 810,00 EUR", DocType.INVOICE),
        ("Jahresverbrauchsabrechnung\nZahlbar bis 01.04.2026", DocType.INVOICE),
    ],
)
def test_a_settlement_is_no_invoice_by_its_ending(text: str, expected: DocType) -> None:
    verdict = doctypes.classify(text, PDF)
    assert (verdict.doc_type, verdict.confidence >= SURE) == (expected, True)


@pytest.mark.parametrize(
    ("facts", "text", "expected"),
    [
        (TypeFacts(media_type="text/calendar"), "BEGIN:VCALENDAR", DocType.CALENDAR),
        (TypeFacts(media_type="text/vcard"), "BEGIN:VCARD", DocType.CONTACT_CARD),
        (TypeFacts(media_type="text/csv"), "Name;Wert\na;1", DocType.TABLE),
        (
            TypeFacts(media_type="text/csv"),
            "Buchungstag;Valuta;Buchungstext;Betrag;Saldo\n01.02.2026;...",
            DocType.BANK_STATEMENT,
        ),
        (TypeFacts(media_type="application/x-camt.053+xml"), "", DocType.BANK_STATEMENT),
        (TypeFacts(media_type="image/jpeg"), "", DocType.PHOTO),
        (TypeFacts(media_type="text/plain"), "Aufmaß: 3 Fenster", DocType.NOTE),
        (TypeFacts(media_type="message/rfc822", is_mail_body=True), "Hallo", DocType.MAIL_BODY),
        (
            TypeFacts(is_mail_body=True, subject="Newsletter Mai"),
            "Hier vom Newsletter abmelden",
            DocType.NEWSLETTER,
        ),
        (TypeFacts(is_mail_body=True, is_bulk_mail=True), "Angebote", DocType.NEWSLETTER),
    ],
)
def test_a_kind_is_recognised_by_its_format(facts: TypeFacts, text: str, expected: DocType) -> None:
    verdict = doctypes.classify(text, facts)
    assert (verdict.doc_type, verdict.confidence >= SURE) == (expected, True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Lorem ipsum dolor sit amet",
        "Payment part\nAmount 5.00\nReceipt\nAccount / Payable to",
        "Zwei Wörter",
        "Rechnung\nMietvertrag\nAngebot\nKontoauszug",
    ],
)
def test_without_clear_words_nothing_is_claimed(text: str) -> None:
    assert doctypes.classify(text, PDF).confidence < SURE


def test_the_file_name_supports_but_does_not_decide() -> None:
    named = TypeFacts(media_type="application/pdf", file_name="Rechnung_2026.pdf")
    assert doctypes.classify("Lorem ipsum", named).confidence < SURE


def test_a_verdict_points_at_its_title() -> None:
    text = "Firma\n\nRechnung Nr. 42\nRechnungsbetrag 5,00"
    verdict = doctypes.classify(text, PDF)
    assert verdict.span is not None
    assert text[slice(*verdict.span)].startswith("Rechnung")


def test_every_kind_has_a_german_label() -> None:
    assert len({kind.label_de for kind in DocType}) == len(DocType)


def test_contract_type_words_of_all_languages_are_one_group() -> None:
    for word in ("versicherung", "Insurance", "ASSURANCE", "assicurazione"):
        assert doctypes.canonical_contract_type(word) is ContractType.INSURANCE
    assert doctypes.canonical_contract_type("lease") is ContractType.LEASE
    assert doctypes.canonical_contract_type("frobnicate") is None


def test_each_pair_has_one_canonical_word_that_is_no_alias_elsewhere() -> None:
    for pair in VOCABULARY_PAIRS:
        assert pair.canonical != pair.other
        rivals = [
            p for p in VOCABULARY_PAIRS if p.field == pair.field and p.other == pair.canonical
        ]
        assert rivals == []
    names = {p.canonical for p in VOCABULARY_PAIRS if p.kind is PairKind.NAME}
    assert names <= set(Field)
    aliases = {p.other for p in VOCABULARY_PAIRS if p.kind is PairKind.NAME}
    assert not aliases & set(Field)


def test_a_long_text_is_classified() -> None:
    text = "Mietvertrag\n" + "Der Mieter zahlt die Miete an den Vermieter. " * 4000
    assert doctypes.classify(text, PDF).doc_type is DocType.LEASE
