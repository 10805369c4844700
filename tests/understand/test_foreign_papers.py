"""Papers of kinds, currencies and habits nobody prepared for: right, asked, and never made up."""

from __future__ import annotations

from datetime import date

import pytest
from understanding_papers import VOCABULARY

from tgv_dagster.deepen.specialists import SpecialistInput, specialise
from tgv_dagster.understand.doctypes import DocType
from tgv_dagster.understand.triage import TriageInput, triage
from tgv_dagster.understand.values import as_text

HEAD = (
    "Kranich Spedition KG\nLindenallee 4\n04109 Leipzig\nTel. 0341 5550188\n\n"
    "Alpha Werkstatt GmbH\nHafenweg 3\n50667 Köln\n\n"
)


def _read(text: str) -> tuple[DocType, dict[str, str], set[str]]:
    """The kind, the stated values and the fields that are asked."""
    first = triage(TriageInput(pages=(text,), vocabulary=VOCABULARY, media_type="application/pdf"))
    asked = frozenset(point.field for point in first.open_points)
    then = specialise(
        SpecialistInput(
            first.doc_type, (text,), first.findings, asked, first.language, as_of=date(2026, 11, 30)
        )
    )
    stated = {
        str(found.field): said
        for found in (*then.findings, *first.findings)
        if (said := as_text(found.value)) is not None
    }
    points = {str(point.field) for point in (*first.open_points, *then.open_points)}
    return first.doc_type, stated, points


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        (
            HEAD + "Leipzig, 12.05.2026\n\n2. Mahnung\n\nRechnung 2026-118 vom 02.03.2026"
            "  1.190,00 EUR\nMahngebühr  5,00 EUR\nVerzugszinsen  12,40 EUR\n"
            "Offener Gesamtbetrag  1.207,40 EUR\nBitte überweisen Sie bis zum 26.05.2026.",
            DocType.REMINDER,
            {"letter_date": "2026-05-12", "due_date": "2026-05-26", "amount_due": "1207.40"},
        ),
        (
            HEAD + "Schlussrechnung Nr. 2026-90\nRechnungsdatum 04.05.2026\nLeistung netto"
            " 10.000,00 EUR\nMwSt 19 % 1.900,00 EUR\nGesamtbetrag 11.900,00 EUR\nabzgl."
            " Abschlagsrechnung 2026-41 vom 01.03.2026 -5.950,00 EUR\nRestbetrag 5.950,00 EUR",
            DocType.INVOICE,
            {
                "invoice_number": "2026-90",
                "invoice_date": "2026-05-04",
                "amount_gross": "11900.00",
            },
        ),
        (
            HEAD + "Gutschrift Nr. G-12\nDatum 04.05.2026\nzu Rechnung 2026-77 vom 01.04.2026\n"
            "Netto -100,00 EUR\nMwSt 19 % -19,00 EUR\nGesamtbetrag -119,00 EUR",
            DocType.CREDIT_NOTE,
            {"invoice_number": "G-12", "invoice_date": "2026-05-04", "amount_gross": "-119.00"},
        ),
        (
            HEAD + "Rechnung Nr. 2026-77\nDatum 04.05.2026\nNetto 1.000,00 EUR\n19 % MwSt 190,00"
            " EUR\nBrutto 1.190,00 EUR\nBei Zahlung bis 11.05.2026 abzgl. 2 % Skonto: 1.166,20"
            " EUR",
            DocType.INVOICE,
            {"amount_gross": "1190.00", "invoice_date": "2026-05-04"},
        ),
        (
            "Schreinerei Habegger AG\nUetlibergstrasse 138\n8045 Zürich\n\nAlpha Werkstatt GmbH\n"
            "Hafenweg 3\n50667 Köln\n\nRechnung Nr. 10978\nDatum: 12. Mai 2026\nNetto CHF"
            " 1'250.00\nMWST 8.1% CHF 101.25\nTotal CHF 1'351.25",
            DocType.INVOICE,
            {"currency": "CHF", "amount_gross": "1351.25", "provider": "Schreinerei Habegger AG"},
        ),
        (
            "Sakura Tools KK\n1-2-3 Ginza, Tokyo\n\nBill to: Alpha Werkstatt GmbH\n\nINVOICE\n"
            "Invoice No. JP-1188\nInvoice date: 2026-05-12\nSubtotal JPY 120,000\nConsumption tax"
            " 10% JPY 12,000\nTotal JPY 132,000",
            DocType.INVOICE,
            {"currency": "JPY", "amount_gross": "132000"},
        ),
        (
            "Pennine Freight Limited\n22 Canal Street\nLeeds LS1 4AB\n\nInvoice to: Alpha Werkstatt"
            " GmbH\nHafenweg 3\n50667 Köln\n\nInvoice no. PF-2201\nInvoice date: 04/05/2026\nNet"
            " total EUR 2,400.00\nVAT 0% reverse charge 0.00\nInvoice total EUR 2,400.00\nDue date"
            " 03/06/2026",
            DocType.INVOICE,
            {
                "amount_gross": "2400.00",
                "amount_tax": "0.00",
                "invoice_date": "2026-05-04",
                "due_date": "2026-06-03",
            },
        ),
        (
            "Sammy Tools LLC\n1 Main Street\nHouston, TX 77001\n\nBill To:\nAlpha Werkstatt GmbH\n"
            "Hafenweg 3\n50667 Köln\n\nINVOICE\nInvoice # 88-A\nDate: 04/05/2026\nSubtotal"
            " $1,000.00\nSales Tax $82.50\nTotal $1,082.50",
            DocType.INVOICE,
            {"invoice_date": "2026-04-05", "amount_gross": "1082.50", "currency": "USD"},
        ),
        (
            "Finanzamt Köln-Mitte\nBlaubach 7\n50676 Köln\n\nAlpha Werkstatt GmbH\nHafenweg 3\n"
            "50667 Köln\n\nKöln, 03.06.2026\nBescheid für 2024 über Körperschaftsteuer\nFestgesetzt"
            " werden 12.400,00 EUR\nBitte zahlen Sie spätestens am 06.07.2026 2.400,00 EUR",
            DocType.TAX_NOTICE,
            {"letter_date": "2026-06-03", "due_date": "2026-07-06"},
        ),
        (
            "Alpha Werkstatt GmbH\nEntgeltabrechnung für Mai 2026\nPersonalnummer 0017\nGreta"
            " Muster\nSteuerklasse I\nGesamtbrutto 3.450,00\nLohnsteuer 412,33\nNettoverdienst"
            " 2.287,11\nAuszahlungsbetrag 2.287,11 EUR",
            DocType.PAYSLIP,
            {"accounting_period": "2026-05"},
        ),
        (
            HEAD + "Lieferschein Nr. LS-4471\nLieferdatum: 11.05.2026\nBestellnummer 88123\n3 Stk"
            " Regal",
            DocType.DELIVERY_NOTE,
            {"service_date": "2026-05-11", "order_number": "88123"},
        ),
        (
            "Immobilière Garance SAS\n3 rue Verte\n59000 Lille\n\nQuittance de loyer\nMois de mai"
            " 2026\nLocataire : Beta Atelier SARL\nTotal 1 350,00 €\nPayé le 03/05/2026\nFait à"
            " Lille, le 05/05/2026",
            DocType.RECEIPT,
            {"invoice_date": "2026-05-05", "amount_gross": "1350.00"},
        ),
        (
            HEAD + "Lieferschein 8810023  Datum: 20.05.2026\nAuftrag 4500771\n10 Flachstahl\n"
            "Ware erhalten: ________\nEigentumsvorbehalt bis zur Zahlung der Rechnung.",
            DocType.DELIVERY_NOTE,
            {"letter_date": "2026-05-20"},
        ),
        (
            "T. Hargreaves Plumbing Ltd\nUnit 4, Mill Lane, Leeds LS9 8AB\nTO: Alpha Werkstatt"
            " GmbH, Hafenweg 3, Cologne\nSALES INVOICE  No: 3382  Tax point: 05/06/2026\nGoods"
            " total  £137.60\nVAT @ 20%  £27.52\nTo pay  £165.12",
            DocType.INVOICE,
            {"amount_gross": "165.12", "amount_net": "137.60", "amount_tax": "27.52"},
        ),
        (
            "Finanzamt Köln-Mitte  50674 Köln, 11.06.2026\nSteuernummer 215/5811/0472\nAlpha"
            " Werkstatt GmbH\nHafenweg 3\n50667 Köln\n\nBescheid für 2024 über"
            " Körperschaftsteuer\nFestgesetzt werden 8.412,00\nEinspruch",
            DocType.TAX_NOTICE,
            {"letter_date": "2026-06-11"},
        ),
        (
            HEAD + "2. Abschlagsrechnung AR-08 Datum 30.06.2026\nForderung netto 25.000,00\n"
            "Umsatzsteuer 19 % 4.750,00\nZahlbetrag 29.750,00 EUR\nfällig am 21.07.2026",
            DocType.INVOICE,
            {"invoice_date": "2026-06-30", "amount_gross": "29750.00", "due_date": "2026-07-21"},
        ),
        (
            HEAD + "Rechnung: 90017733\nRechnungsdatum: 11.11.2025\nNettobetrag 516,50\nMwSt 19 %"
            " 98,14\nRechnungsendbetrag 614,64 EUR\nFällig: 11.12.2025",
            DocType.INVOICE,
            {"invoice_number": "90017733", "due_date": "2025-12-11"},
        ),
        (
            HEAD + "Schlussrechnung AR-08\nDatum 30.06.2026\nNetto 40.000,00\nabzüglich der 1."
            " Abschlagsrechnung AR-03 15.000,00\nfällig am 21.07.2026",
            DocType.INVOICE,
            {"invoice_number": "AR-08"},
        ),
        (
            HEAD + "Rechnungsnummer  Kundennummer  Datum  Seite\nM 7712 09381 66  4500918822 "
            " 08.04.2026  1/2\nNettobetrag 103,82\n19 % Umsatzsteuer 19,73\nRechnungsbetrag"
            " 123,55 EUR",
            DocType.INVOICE,
            {"invoice_number": "M77120938166", "customer_number": "4500918822"},
        ),
        (
            "Papeterie Gutenberg SAS\n69002 Lyon\nBeta Atelier SARL\n9 rue du Port\n69001 Lyon\n"
            "AVOIR N° AV-0091\nLyon, le 18 mai 2026\nTotal HT -32,50 €\nTVA 20 % -6,50 €\n"
            "Net à votre crédit TTC -39,00 €",
            DocType.CREDIT_NOTE,
            {"amount_gross": "-39.00", "amount_net": "-32.50", "invoice_date": "2026-05-18"},
        ),
        (
            "Assurances du Dauphiné\nATTESTATION D'ASSURANCE RESPONSABILITÉ CIVILE"
            " PROFESSIONNELLE\nNous attestons que la société Beta Atelier SARL est titulaire du"
            " contrat n° RC 4471 208.",
            DocType.INSURANCE,
            {"entity": "beta"},
        ),
        (
            HEAD + "Rechnung Nr. 2026-77\nDatum 30.06.2026\nTotal exkl. MwSt. 1'170.00\n"
            "MwSt 8.1 % 94.77\nTotal CHF inkl. MwSt. 1'264.77",
            DocType.INVOICE,
            {"currency": "CHF", "amount_gross": "1264.77"},
        ),
        (
            "Acque del Garda S.p.A.\nBolletta n. 2026/884120 del 11/04/2026\nIntestatario: Alpha"
            " Werkstatt GmbH\nTotale imponibile 96,40\nIVA 10% 9,64\nTotale da pagare EUR"
            " 106,04\nScadenza 02/05/2026",
            DocType.INVOICE,
            {"invoice_number": "2026/884120", "invoice_date": "2026-04-11"},
        ),
    ],
)
def test_a_paper_of_another_habit_is_read(text: str, kind: DocType, values: dict[str, str]) -> None:
    doc_type, stated, _ = _read(text)
    assert doc_type is kind
    assert {name: stated.get(name) for name in values} == values


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (
            HEAD + "Rechnung Nr. C-1 vom 02.04.2026\nNetto 10,00 EUR\nMwSt 19 % 1,90 EUR\n"
            "Gesamt 11,90 EUR\n\nKranich Spedition KG\nRechnung Nr. C-2 vom 09.04.2026\n"
            "Netto 20,00 EUR\nMwSt 19 % 3,80 EUR\nGesamt 23,80 EUR",
            "amount_gross",
        ),
        (
            HEAD + "Rechnung Nr. 2O26-l17\nDatum: 12.05.2026\nNetto 2.400,00\nMwSt 19 % 456,00\n"
            "Rechnungsbetrag 2.856,00 EUR",
            "invoice_number",
        ),
        (
            HEAD + "Rechnung 2026-5514\nRechnungsdatum 01.04.2026\nTotal  137,60 EUR\n"
            "MwSt 20 %  27,52 EUR\nAlles zusammen macht 165,12 EUR",
            "amount_gross",
        ),
        (
            HEAD + "Rechnung 2026-5513\nRechnungsdatum 01.04.2026\nNettobetrag  100,00 EUR\n"
            "MwSt 19 %  19,00 EUR\nRechnungsbetrag  191,00 EUR",
            "amount_gross",
        ),
        (
            "Direction générale des Finances publiques\nCentre des finances publiques de Lyon\n\n"
            "Beta Atelier SARL\n9 rue du Port\n69001 Lyon\n\nAVIS D'IMPÔT 2026\nMontant restant à"
            " payer 1 234,00 €\nDate limite de paiement 15/09/2026",
            "letter_date",
        ),
        (
            HEAD.replace("Spedition", "Sped1tion") + "Rechnunq Nr. 2O26-77\nDatum O4.O5.2O26\n"
            "Netto 1.OOO,OO EUR\nMwSt 19 % 19O,00 EUR\nGesamtbetrag 1.190,00 EUR",
            "doc_type",
        ),
    ],
)
def test_what_a_paper_leaves_open_is_asked_and_not_stated(text: str, asked: str) -> None:
    _, stated, points = _read(text)
    assert asked in points
    assert stated.get(asked) in (None, "unknown")


SENDER = HEAD.partition("\n\n")[0] + "\n\n"
TOTAL = (
    "Rechnung Nr. 2026-77\nDatum 04.05.2026\nNetto 100,00 EUR\nMwSt 19 % 19,00 EUR\nBrutto 119,00"
)
DELIVERED = "Lieferanschrift: Alpha Werkstatt GmbH, Hafenweg 3, 50667 Köln\n"


def test_who_alone_gets_the_goods_is_billed() -> None:
    _, stated, points = _read(SENDER + DELIVERED + TOTAL)
    assert (stated["entity"], stated["direction"]) == ("alpha", "in")
    assert points == set()


@pytest.mark.parametrize(
    "head",
    [
        SENDER + "Delta Bau GmbH\nRing 1\n10115 Berlin\n\n",
        SENDER + "Herrn Otto Meier\nRing 1\n10115 Berlin\n\n",
        "Delta Bau GmbH\nRing 1\n10115 Berlin\n\nKranich Spedition KG, Tel. 0341 5550188\n\n",
    ],
)
def test_who_gets_the_goods_of_another_receiver_is_asked(head: str) -> None:
    _, stated, points = _read(head + DELIVERED + TOTAL)
    assert "entity" in points
    assert stated.get("entity") in (None, "unknown")


@pytest.mark.parametrize(
    ("head", "provider"),
    [
        (
            "Martin Krause\nMalermeister\nWeg 8, 50733 Köln\nSteuernummer 217/5122/0834",
            "Martin Krause",
        ),
        ("Jean-Luc Morel\nÉlectricien\n69003 Lyon\nSIRET 732 829 320 00074", "Jean-Luc Morel"),
        ("Giulia Ferri\nTraduttrice\n20121 Milano\nPartita IVA 01234567897", "Giulia Ferri"),
    ],
)
def test_a_sole_trader_sends_under_a_persons_name(head: str, provider: str) -> None:
    receiver = "\n\nAlpha Werkstatt GmbH\nHafenweg 3\n50667 Köln\n\n"
    _, stated, points = _read(head + receiver + TOTAL)
    assert stated["provider"] == provider
    assert points == set()


def test_a_net_amount_is_no_term_of_payment() -> None:
    text = (
        HEAD
        + "INVOICE PF-2\nInvoice date: 14 May 2026\nNet 100.00\nVAT 20% 20.00\nTotal GBP 120.00"
    )
    assert "due_date" not in _read(text)[1]
    assert _read(text.replace("Net 100", "Terms: Net 30\nNet 100"))[1]["due_date"] == "2026-06-13"


@pytest.mark.parametrize(
    ("prose", "start"),
    [
        ("Kranich übernimmt ab dem 1. März 2025 die Reinigung.", "2025-03-01"),
        ("Les prestations débuteront le 1er mars 2025.", "2025-03-01"),
        ("Le présent contrat prend effet le 1er mars 2025.", "2025-03-01"),
        ("The parties agree, with effect from 1 March 2025, that Kranich hauls.", "2025-03-01"),
        ("Il presente contratto decorre dal 1° marzo 2025.", "2025-03-01"),
        ("Kranich ersetzt den Vertrag vom 1. März 2020, der ab dem 1. März 2020 galt.", None),
        ("Kranich liefert ab dem 1. März 2026 zu neuen Preisen.", None),
    ],
)
def test_a_start_in_prose_is_read_or_asked(prose: str, start: str | None) -> None:
    parties = "Kranich Spedition KG, Lindenallee 4, 04109 Leipzig\nund\nAlpha Werkstatt GmbH\n\n"
    _, stated, points = _read("Dienstleistungsvertrag\nzwischen\n" + parties + prose)
    assert stated.get("contract_start_date") == start
    assert ("contract_start_date" in points) is (start is None)


BETA = "Beta Atelier SARL\n9 rue du Port\n69001 Lyon\n\n"


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        (
            "Verkauft von: Lumo Trading Ltd\n\nRechnungsadresse\nAlpha Werkstatt GmbH\nHafenweg 3\n"
            "50667 Köln\n\nRechnung\nRechnungsnummer DE-77\nRechnungsdatum 19 Mai 2026\nZahlbetrag"
            " 29,98 €\nUSt. %  Zwischensumme (ohne USt.)  USt.\n19 %  25,19 €  4,79 €",
            DocType.INVOICE,
            {"entity": "alpha", "direction": "in", "amount_gross": "29.98", "amount_tax": "4.79"},
        ),
        (
            "Rechnung\nRechnungsnummer DE-77\nRechnungsdatum 19 Mai 2026\n\nRechnungsadresse       "
            " Lieferadresse        Verkauft von\nAlpha Werkstatt GmbH        Karl Sommer        "
            "Lumo Trading Ltd\nHafenweg 3        Waldweg 2        USt-IDNr. DE320114477\n50667 Köln"
            "        53113 Bonn\n\nZahlbetrag 29,98 €",
            DocType.INVOICE,
            {"entity": "alpha", "direction": "in", "provider": "Lumo Trading Ltd"},
        ),
        (
            HEAD + "Zollabgaben-Rechnung\nRechnungsnummer: B12\nRechnungsdatum: 27.05.2026\nZoll"
            " 14,20 EUR\nEinfuhrumsatzsteuer 62,81 EUR\nProvision 15,00 EUR\nMwSt 19 % auf"
            " Provision 2,85 EUR\nRechnungsbetrag 94,86 EUR",
            DocType.INVOICE,
            {"amount_gross": "94.86", "amount_net": None},
        ),
        (
            HEAD + "Rechnung Nr. 7731\nDatum 09.06.2026\nGesamtkosten lt. HKP 842,17 EUR\nabzüglich"
            " Festzuschuss 401,56 EUR\nIhr Eigenanteil 440,61 EUR",
            DocType.INVOICE,
            {"amount_gross": "842.17", "amount_due": "440.61"},
        ),
        (
            HEAD + "Rechnung Nr. 4412\nDatum 14.03.2026\nSumme netto\n19 % MwSt.\nGesamtbetrag\n"
            "59,80\n11,36\n71,16 EUR",
            DocType.INVOICE,
            {"amount_gross": "71.16", "amount_net": "59.80"},
        ),
        (
            "Uber\nTotal €23.47\nMay 22, 2026\nHere's your receipt.\nTrip fare €18.20\nBooking Fee"
            " €1.90\nTip €3.37\nVisa 4242 €23.47",
            DocType.RECEIPT,
            {"amount_gross": "23.47", "invoice_date": "2026-05-22"},
        ),
        (
            "CONTRAT D'APPRENTISSAGE\nDate de conclusion    Date de début d'exécution du"
            " contrat    Date de fin du contrat\n20/06/2026    01/09/2026    31/08/2028\n"
            "Employeur : Beta Atelier SARL",
            DocType.CONTRACT,
            {"contract_start_date": "2026-09-01", "contract_end_date": "2028-08-31"},
        ),
        (
            HEAD + "Leipzig, 04.11.2026\nBestätigung Ihrer Kündigung\nVertrag KF 88 120 443\nSehr"
            " geehrte Damen und Herren,\nder Vertrag endet am 01.01.2027.",
            DocType.LETTER,
            {"letter_date": "2026-11-04"},
        ),
        (
            "ENGIE\n\n"
            + BETA
            + "Le 12/01/2026\nVotre échéancier de paiement\n05/02/2026 112,00 €\n"
            "05/03/2026 112,00 €\nFacture de régularisation en janvier 2027",
            DocType.LETTER,
            {"amount_gross": None, "due_date": None},
        ),
        (
            HEAD + "Rechnung Nr. 4412\nDatum 14.03.2026\nNetto 100,00 EUR\nMwSt 19 % 19,00 EUR\n"
            "Rechnungsbetrag 119,00 EUR\n\nAbschlagsplan\n01.05.2026 40,00 EUR",
            DocType.INVOICE,
            {"amount_gross": "119.00"},
        ),
    ],
)
def test_a_paper_of_daily_life_is_read(
    text: str, kind: DocType, values: dict[str, str | None]
) -> None:
    doc_type, stated, _ = _read(text)
    assert doc_type is kind
    assert {name: stated.get(name) for name in values} == values


def test_columns_that_do_not_match_their_labels_are_asked() -> None:
    text = (
        "CONTRAT DE SERVICES\nDate de début du contrat    Date de fin du contrat\n20/06/2026    "
        "01/09/2026    31/08/2028\nClient : Beta Atelier SARL"
    )
    _, stated, points = _read(text)
    assert "contract_end_date" not in stated
    assert "contract_start_date" in points
