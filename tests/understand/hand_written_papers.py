"""Papers written by hand in five languages, some of them nasty, with what is true of each.

`truth` maps fields to the printed value as stored text; None for the entity means that no own
entity follows from the paper. Names, numbers and addresses are invented.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper as text and its truth."""

    name: str
    text: str
    truth: dict[str, str | None] = field(default_factory=dict)


PAPERS = (
    Paper(
        "swiss",
        """\
Malerei Huber AG
Seestrasse 12
8002 Zürich
Tel. 044 123 45 67   info@malerei-huber.example

Alpha Werkstatt GmbH
Hafenweg 3
D-50667 Köln

Zürich, 14. März 2026

Rechnung Nr. 2026-0412
MWST-Nr. CHE-116.281.710 MWST

Fassadenarbeiten pauschal                    CHF  12'500.00
Gerüst                                       CHF   1'980.50
Zwischentotal                                CHF  14'480.50
MWST 8.1 %                                   CHF   1'172.92
Total inkl. MWST                             CHF  15'653.42

Zahlbar innert 30 Tagen netto
IBAN CH93 0076 2011 6238 5295 7
""",
        {
            "doc_type": "invoice",
            "entity": "alpha",
            "direction": "in",
            "invoice_number": "2026-0412",
            "invoice_date": "2026-03-14",
            "amount_net": "14480.50",
            "amount_tax": "1172.92",
            "amount_gross": "15653.42",
            "currency": "CHF",
            "due_date": "2026-04-13",
            "language": "de",
        },
    ),
    Paper(
        "uk",
        """\
BRIGHTLEAF CONSULTING LIMITED
INVOICE

Invoice to                      Invoice No:    BL/2291
Alpha Werkstatt GmbH            Invoice Date:  03 April 2026
Hafenweg 3                      Tax Point:     03 April 2026
50667 Köln                      Terms:         30 days
Germany

Description                                 Days    Rate       Amount
Workshop facilitation March 2026            2.5     £880.00    £2,200.00
Travel                                                         £149.60

                                            Subtotal           £2,349.60
                                            VAT @ 0%           £0.00
                                            Total Due          £2,349.60

Brightleaf Consulting Limited. Registered in England No. 04567891. VAT Reg. No. GB 123 4567 82
Registered office: 1 High Street, Bath BA1 1AA
""",
        {
            "doc_type": "invoice",
            "entity": "alpha",
            "direction": "in",
            "invoice_number": "BL/2291",
            "invoice_date": "2026-04-03",
            "amount_gross": "2349.60",
            "amount_tax": "0.00",
            "currency": "GBP",
            "language": "en",
        },
    ),
    Paper(
        "us_saas",
        """\
Cloudy Metrics, Inc.
548 Market St
San Francisco, CA 94104
billing@cloudymetrics.example

Receipt from Cloudy Metrics, Inc.
Invoice number   8F3A-0042
Receipt number   2210-5541
Date paid        March 4, 2026
Payment method   Visa - 4242

Bill to
Beta Atelier SARL
9 rue du Port
69001 Lyon
France

$49.00 paid on March 4, 2026

Description          Qty   Unit price   Amount
Team plan            1     $49.00       $49.00
Mar 4 - Apr 4, 2026
Subtotal                                $49.00
Total                                   $49.00
Amount paid                             $49.00
""",
        {
            "entity": "beta",
            "direction": "in",
            "amount_gross": "49.00",
            "currency": "USD",
            "language": "en",
        },
    ),
    Paper(
        "acompte_fr",
        """\
MENUISERIE DUVAL EURL
12 impasse des Lilas 69003 LYON
Tél : 04 78 12 34 56
SIRET : 732 829 320 00074   TVA : FR 44 732829320

FACTURE N° 2026/118                       Lyon, le 02/02/2026

                                          Beta Atelier SARL
                                          9 rue du Port
                                          69001 Lyon

Désignation                    Qté      P.U. HT      Total HT
Portes sur mesure               4       650,00       2 600,00
Pose                            1       480,00         480,00

                               Total HT               3 080,00
                               TVA 10 %                 308,00
                               Total TTC              3 388,00
                               Acompte versé le 10/01/2026  -1 000,00
                               Reste à payer          2 388,00

Date d'échéance : 04/03/2026
Pénalités de retard : 3 fois le taux légal. Indemnité forfaitaire : 40 €
""",
        {
            "doc_type": "invoice",
            "entity": "beta",
            "direction": "in",
            "invoice_number": "2026/118",
            "invoice_date": "2026-02-02",
            "due_date": "2026-03-04",
            "amount_net": "3080.00",
            "amount_tax": "308.00",
            "amount_gross": "3388.00",
            "amount_due": "2388.00",
            "language": "fr",
        },
    ),
    Paper(
        "ritenuta_it",
        """\
Studio Legale Avv. Paola Neri
Via Roma 1, 20121 Milano
P.IVA 00743110157

Spett.le
Beta Atelier SARL
9 rue du Port
69001 Lyon

Fattura n. 17 del 12/03/2026

Onorari                                   1.000,00
Cassa previdenza 4%                          40,00
Imponibile                                1.040,00
IVA 22%                                     228,80
Totale fattura                            1.268,80
Ritenuta d'acconto 20%                     -200,00
Netto a pagare                            1.068,80 EUR
Pagamento entro il 11/04/2026
""",
        {
            "doc_type": "invoice",
            "entity": "beta",
            "direction": "in",
            "invoice_number": "17",
            "invoice_date": "2026-03-12",
            "due_date": "2026-04-11",
            "amount_net": "1040.00",
            "amount_tax": "228.80",
            "amount_gross": "1268.80",
            "currency": "EUR",
            "language": "it",
        },
    ),
    Paper(
        "telecom_prev",
        """\
Rheinnetz Telekom GmbH
Postfach 10 01 00, 50441 Köln

Alpha Werkstatt GmbH
Hafenweg 3
50667 Köln

Ihre Rechnung für April 2026
Rechnungsnummer 880 221 7745
Rechnungsdatum 05.05.2026
Kundennummer 55 102 338

Saldo letzte Rechnung                              64,90 €
Zahlung vom 12.04.2026                            -64,90 €
Monatlicher Grundpreis 01.05.2026 - 31.05.2026     49,95 €
Verbindungen 01.04.2026 - 30.04.2026                4,59 €
Summe netto                                        54,54 €
Umsatzsteuer 19 %                                  10,36 €
Rechnungsbetrag                                    64,90 €
Der Betrag wird am 19.05.2026 von Ihrem Konto DE02 **** **** **** 2020 51 abgebucht.
Rheinnetz Telekom GmbH, Geschäftsführer: Ute Kamp, HRB 55511 Amtsgericht Köln, USt-IdNr.
DE136695977
""",
        {
            "doc_type": "invoice",
            "entity": "alpha",
            "direction": "in",
            "invoice_date": "2026-05-05",
            "due_date": "2026-05-19",
            "amount_net": "54.54",
            "amount_tax": "10.36",
            "amount_gross": "64.90",
            "currency": "EUR",
            "language": "de",
        },
    ),
    Paper(
        "hotel",
        """\
Hotel Alpenblick KG · Bergstraße 4 · 82467 Garmisch

Frau
Greta Gamma
Am Deich 1
21129 Hamburg

Rechnung 44120          Zimmer 12
Anreise: 07.02.2026     Abreise: 10.02.2026
Datum: 10.02.2026

07.02.2026  Übernachtung    95,00
08.02.2026  Übernachtung    95,00
09.02.2026  Übernachtung    95,00
10.02.2026  Frühstück       36,00

Gesamt brutto              321,00 EUR
enthaltene MwSt  7 %  aus 285,00   18,64
enthaltene MwSt 19 %  aus  36,00    5,75
Betrag dankend erhalten - EC-Karte
""",
        {
            "entity": "gamma",
            "direction": "in",
            "invoice_date": "2026-02-10",
            "amount_gross": "321.00",
            "currency": "EUR",
            "language": "de",
        },
    ),
    Paper(
        "thermal",
        """\
    BAUMARKT KOLBE
   Industriestr. 9
   50933 Köln
  St.-Nr. 201/113/40209

Schrauben 5x60      4,99 B
Dübel               3,49 B
Silikon weiß        6,95 B
-----------------------
SUMME   EUR        15,43
Geg. EC            15,43

MwSt  B 19%  Netto 12,97
      MwSt 2,46 Brutto 15,43

12.03.26  17:42   Kasse 3
Vielen Dank für Ihren Einkauf
""",
        {
            "doc_type": "receipt",
            "amount_gross": "15.43",
            "invoice_date": "2026-03-12",
            "language": "de",
        },
    ),
    Paper(
        "reminder_multi",
        """\
Papier Nord GmbH · Ring 1 · 20095 Hamburg

Alpha Werkstatt GmbH
Hafenweg 3
50667 Köln

Hamburg, 20.05.2026

Zweite Mahnung
Kundennummer 4711

Sehr geehrte Damen und Herren,
folgende Rechnungen sind noch offen:
Rechnung   Datum        Fällig       Betrag
10001      02.03.2026   16.03.2026   119,00 €
10007      09.03.2026   23.03.2026    59,50 €
Mahngebühr                             5,00 €
Offener Gesamtbetrag                 183,50 €
Bitte überweisen Sie bis spätestens 30.05.2026.
""",
        {
            "doc_type": "reminder",
            "entity": "alpha",
            "direction": "in",
            "letter_date": "2026-05-20",
            "due_date": "2026-05-30",
            "amount_due": "183.50",
            "language": "de",
        },
    ),
    Paper(
        "offer",
        """\
Holzhandel Brink GmbH
Sägeweg 8, 20097 Hamburg, Tel. 040 99999

Alpha Werkstatt GmbH
Hafenweg 3
50667 Köln
                                  Hamburg, den 03.06.2026
Angebot Nr. A-2026-55
gültig bis 30.06.2026

Eiche furniert   10 m²   45,00   450,00
Summe netto                      450,00 EUR
MwSt 19 %                         85,50 EUR
Gesamtbetrag                     535,50 EUR
""",
        {
            "doc_type": "offer",
            "entity": "alpha",
            "letter_date": "2026-06-03",
            "language": "de",
        },
    ),
    Paper(
        "order_conf",
        """\
Auftragsbestätigung AB-9981
Datum: 01.07.2026
Kunde: Alpha Werkstatt GmbH
Ihre Bestellung vom 28.06.2026, Bestellnummer B-77
Liefertermin: 15.07.2026
Gesamtbetrag 1.190,00 EUR
Holzhandel Brink GmbH
""",
        {
            "doc_type": "order",
            "entity": "alpha",
            "letter_date": "2026-07-01",
            "order_number": "B-77",
        },
    ),
    Paper(
        "gutschrift_neg",
        """\
Holzhandel Brink GmbH
Alpha Werkstatt GmbH
Hafenweg 3
50667 Köln
Rechnungskorrektur RK-12
Datum: 09.08.2026
zu Rechnung RE-2026-17 vom 02.03.2026
Nettobetrag -50,00 EUR
USt 19 % -9,50 EUR
Gesamtbetrag -59,50 EUR
""",
        {
            "doc_type": "credit_note",
            "entity": "alpha",
            "invoice_date": "2026-08-09",
            "amount_gross": "-59.50",
            "invoice_number": "RK-12",
        },
    ),
    Paper(
        "carry",
        """\
Rechnung 5512                                      Seite 1
Holzhandel Brink GmbH, Sägeweg 8, 20097 Hamburg
An: Alpha Werkstatt GmbH
Rechnungsdatum 11.11.2025
Pos 1  Balken     1.000,00
Pos 2  Latten       500,00
Zwischensumme     1.500,00
Übertrag          1.500,00

Rechnung 5512                                      Seite 2
Übertrag          1.500,00
Pos 3  Schrauben    250,00
Nettosumme        1.750,00
MwSt. 19 %          332,50
Bruttosumme       2.082,50 EUR
""",
        {
            "doc_type": "invoice",
            "entity": "alpha",
            "invoice_number": "5512",
            "invoice_date": "2025-11-11",
            "amount_net": "1750.00",
            "amount_tax": "332.50",
            "amount_gross": "2082.50",
        },
    ),
    Paper(
        "lease_fr",
        """\
BAIL COMMERCIAL
Entre les soussignés :
La SCI des Quais, 4 quai Rambaud, 69002 Lyon, ci-après « le Bailleur »,
et la société Beta Atelier SARL, 9 rue du Port, 69001 Lyon, ci-après « le Preneur »,
il a été convenu ce qui suit.
Article 1 - Désignation
Un local de 120 m² au rez-de-chaussée.
Article 2 - Durée
Le présent bail est consenti et accepté pour une durée de neuf années entières et consécutives qui
commenceront à courir le 1er septembre 2022 pour se terminer le 31 août 2031.
Le preneur pourra donner congé à l'expiration de chaque période triennale moyennant un préavis
de six mois.
Article 3 - Loyer
Le loyer annuel est fixé à 18 000 € HT, payable à compter du 1er octobre 2022, révisable selon
l'indice ILC.
Fait à Lyon, le 20 juillet 2022
""",
        {
            "doc_type": "lease",
            "entity": "beta",
            "direction": "in",
            "contract_start_date": "2022-09-01",
            "contract_end_date": "2031-08-31",
            "notice_period_days": "180",
            "language": "fr",
        },
    ),
    Paper(
        "employment",
        """\
Anstellungsvertrag
zwischen Alpha Werkstatt GmbH, Hafenweg 3, 50667 Köln (Arbeitgeber)
und Frau Lena Kern, geboren am 03.04.1990 (Arbeitnehmerin)
§ 1 Beginn
Frau Kern wird mit Wirkung zum 1. Juli 2025 als Buchhalterin eingestellt. Die Probezeit endet am
31.12.2025.
§ 2 Vergütung
Das Gehalt beträgt ab dem 01.01.2026 brutto 3.400,00 EUR.
§ 3 Kündigung
Die Kündigungsfrist beträgt drei Monate zum Quartalsende.
Köln, den 02.06.2025
""",
        {
            "doc_type": "contract",
            "entity": "alpha",
            "confidentiality_level": "streng_vertraulich",
            "contract_start_date": "2025-07-01",
            "notice_period_days": "90",
            "contract_type": "employment",
        },
    ),
    Paper(
        "ins_en",
        """\
POLICY SCHEDULE
Insurer: Harbour Mutual Insurance Ltd
Policyholder: Alpha Werkstatt GmbH
Policy number: HM-99120
Period of insurance: 1 January 2026 to 31 December 2026
Premium: EUR 1,250.00
The policy renews automatically unless cancelled 60 days before the end of the period of
insurance.
""",
        {
            "doc_type": "insurance",
            "entity": "alpha",
            "contract_start_date": "2026-01-01",
            "contract_number": "HM-99120",
            "notice_period_days": "60",
            "auto_renewal": "true",
        },
    ),
    Paper(
        "phone",
        """\
Mobilfunkvertrag
Kunde: Greta Gamma, Am Deich 1, 21129 Hamburg
Vertragsnummer: M-55-1
Vertragsbeginn: 15.03.2025
Mindestlaufzeit: 24 Monate
Kündigungsfrist: 1 Monat zum Ende der Mindestlaufzeit, danach jederzeit mit einer Frist von 1
Monat kündbar.
Der Vertrag verlängert sich nach der Mindestlaufzeit auf unbestimmte Zeit.
Anbieter: Deichfunk GmbH
""",
        {
            "doc_type": "contract",
            "entity": "gamma",
            "contract_start_date": "2025-03-15",
            "notice_period_days": "30",
        },
    ),
    Paper(
        "letter_fr",
        """\
Syndicat des Copropriétaires
12 rue des Fleurs, 69004 Lyon

Beta Atelier SARL
9 rue du Port
69001 Lyon

Lyon, le 8 avril 2026

Objet : travaux de façade

Madame, Monsieur,
Les travaux débuteront le 4 mai 2026 et le loyer reste dû.
Veuillez agréer l'expression de nos salutations distinguées.
""",
        {
            "doc_type": "letter",
            "entity": "beta",
            "direction": "in",
            "letter_date": "2026-04-08",
            "language": "fr",
        },
    ),
    Paper(
        "bank_pdf",
        """\
Hafenbank eG
Kontoauszug Nr. 4/2026     Konto DE02 1203 0000 0000 2020 51
Kontoinhaber: Alpha Werkstatt GmbH
Alter Kontostand vom 31.03.2026              10.250,00 H
Buchungstag Valuta Buchungstext              Betrag
02.04. 02.04. Überweisung Holzhandel Brink   119,00 S
15.04. 15.04. Gutschrift Kita                2.380,00 H
Neuer Kontostand vom 30.04.2026              12.511,00 H
""",
        {
            "doc_type": "bank_statement",
            "entity": "alpha",
        },
    ),
    Paper(
        "to_other",
        """\
Rechnung 900
Holzhandel Brink GmbH · Sägeweg 8 · 20097 Hamburg
Delta Bau AG
Turmweg 1
60311 Frankfurt
Rechnungsdatum: 01.02.2026
Lieferadresse: Alpha Werkstatt GmbH, Hafenweg 3, 50667 Köln
Gesamtbetrag 119,00 EUR
""",
        {
            "entity": None,
        },
    ),
    Paper(
        "outgoing_en",
        """\
Alpha Werkstatt GmbH
Hafenweg 3, 50667 Köln
VAT ID DE136695976

Bill to:
Northern Lights Ltd
5 Dock Road
London E1 6AN

Invoice No. A-1009
Date: 12 May 2026
Net total 1,000.00 EUR
VAT 0% reverse charge 0.00 EUR
Total 1,000.00 EUR
IBAN DE02 1203 0000 0000 2020 51
""",
        {
            "doc_type": "invoice",
            "entity": "alpha",
            "direction": "out",
            "invoice_number": "A-1009",
            "invoice_date": "2026-05-12",
            "amount_gross": "1000.00",
            "currency": "EUR",
        },
    ),
    Paper(
        "quarter_space",
        """\
Facture F-2026-9
Papeterie du Centre SARL, 3 rue Haute, 69005 Lyon
Client : Beta Atelier SARL
Date de facturation : 07/01/2026
Total HT 12 345,60 €
TVA (20 %) 2 469,12 €
Total TTC 14 814,72 €
""",
        {
            "doc_type": "invoice",
            "entity": "beta",
            "amount_net": "12345.60",
            "amount_gross": "14814.72",
            "invoice_date": "2026-01-07",
        },
    ),
    Paper(
        "de_space_group",
        """\
Rechnung 77
Holzhandel Brink GmbH
Kunde: Alpha Werkstatt GmbH
Rechnungsdatum: 07.01.2026
Netto 12 345,60 EUR
USt 19 % 2 345,66 EUR
Brutto 14 691,26 EUR
""",
        {
            "doc_type": "invoice",
            "amount_net": "12345.60",
            "amount_gross": "14691.26",
        },
    ),
    Paper(
        "ru_invoice",
        """\
ООО «Северный лес»
Счет на оплату № 55 от 3 февраля 2026 г.
Покупатель: Alpha Werkstatt GmbH
Итого без НДС 100 000,00 руб.
НДС 20% 20 000,00 руб.
Всего к оплате 120 000,00 руб.
Оплатить до 17.02.2026
""",
        {
            "doc_type": "invoice",
            "entity": "alpha",
            "invoice_number": "55",
            "invoice_date": "2026-02-03",
            "due_date": "2026-02-17",
            "amount_gross": "120000.00",
            "currency": "RUB",
            "language": "ru",
        },
    ),
    Paper(
        "tax_de",
        """\
Finanzamt Köln-Mitte
Steuernummer 201/113/40209
Bescheid für 2024 über Umsatzsteuer
vom 05.06.2026
An Alpha Werkstatt GmbH
Festsetzung: 5.210,00 EUR
Bitte zahlen Sie bis spätestens 10.07.2026: 1.310,00 EUR
Rechtsbehelfsbelehrung: Einspruch innerhalb eines Monats
""",
        {
            "doc_type": "tax_notice",
            "entity": "alpha",
            "letter_date": "2026-06-05",
            "due_date": "2026-07-10",
            "confidentiality_level": "vertraulich",
        },
    ),
    Paper(
        "two_page_contract_start_ref",
        """\
Servicevertrag
Anbieter: Nordlicht IT GmbH, Kunde: Alpha Werkstatt GmbH
§ 1 Gegenstand
Der Beginn und die Dauer richten sich nach § 7 dieses Vertrages.
§ 2 Vergütung
Die Vergütung beträgt monatlich 250,00 EUR und erhöht sich ab dem 01.01.2027 um 3 %.
§ 7 Laufzeit
(1) Der Vertrag läuft ab dem 15.10.2025 für 36 Monate.
(2) Er verlängert sich um jeweils 12 Monate, sofern er nicht mit einer Frist von drei Monaten
zum Ende der Laufzeit gekündigt wird.
""",
        {
            "doc_type": "contract",
            "entity": "alpha",
            "contract_start_date": "2025-10-15",
            "notice_period_days": "90",
            "auto_renewal": "true",
            "contract_type": "maintenance",
        },
    ),
    Paper(
        "nda",
        """\
Non-Disclosure Agreement
between Alpha Werkstatt GmbH and Northern Lights Ltd
This Agreement shall become effective on the date of the last signature.
The term is five (5) years. Governing law: Germany.
Signed on 3 March 2026          Signed on 9 March 2026
""",
        {
            "doc_type": "contract",
            "entity": "alpha",
            "contract_start_date": "2026-03-09",
        },
    ),
    Paper(
        "person_at",
        """\
Kanzlei Stern & Partner
Rechtsanwälte
Domplatz 1 · 50667 Köln

Alpha Werkstatt GmbH
Herrn Geschäftsführer Max Alt
Hafenweg 3
50667 Köln

Köln, 12.02.2026
Rechnung Nr. 26/0087
Leistungszeitraum: 01.01.2026 - 31.01.2026
Honorar netto            800,00 €
USt 19 %                 152,00 €
Rechnungsbetrag          952,00 €
Bitte überweisen Sie den Betrag bis zum 26.02.2026 auf unser Konto.
""",
        {
            "doc_type": "invoice",
            "entity": "alpha",
            "direction": "in",
            "invoice_number": "26/0087",
            "invoice_date": "2026-02-12",
            "due_date": "2026-02-26",
            "amount_gross": "952.00",
            "service_start_date": "2026-01-01",
            "service_end_date": "2026-01-31",
        },
    ),
    Paper(
        "subcontractor_mention",
        """\
Rechnung 2026-5
Maler Klein, Gartenstr. 2, 50667 Köln
An
Bauunion Rhein GmbH
Rheinufer 10
50667 Köln
Rechnungsdatum: 03.03.2026
Leistung: Anstrich Halle der Alpha Werkstatt GmbH
Netto 1.000,00  MwSt 19% 190,00  Brutto 1.190,00 EUR
""",
        {
            "entity": None,
            "invoice_date": "2026-03-03",
            "amount_gross": "1190.00",
        },
    ),
    Paper(
        "thread_two_entities",
        """\
Hallo,
die Alpha Werkstatt GmbH und die Beta Atelier SARL haben den Termin bestätigt.
Viele Grüße
Tom
""",
        {
            "entity": None,
        },
    ),
    Paper(
        "kuendigung_best",
        """\
Deichfunk GmbH
Funkweg 1
20095 Hamburg

Greta Gamma
Am Deich 1
21129 Hamburg

Hamburg, 05.05.2026
Kündigungsbestätigung Vertrag M-55-1

Sehr geehrte Frau Gamma,
wir bestätigen die Kündigung Ihres Vertrages mit Wirkung zum 14.03.2027.
Mit freundlichen Grüßen
""",
        {
            "doc_type": "letter",
            "entity": "gamma",
            "direction": "in",
            "letter_date": "2026-05-05",
        },
    ),
    Paper(
        "replacing_contract",
        """\
Wartungsvertrag
zwischen Nordlicht IT GmbH (Auftragnehmer) und Alpha Werkstatt GmbH (Auftraggeber)
Dieser Vertrag ersetzt den Vertrag vom 01.01.2010 in der Fassung vom 15.06.2015.
§ 2 Dauer
Der Vertrag beginnt am 01.01.2026 und läuft zunächst drei Jahre. Preise gelten ab dem 01.07.2026.
Eine Kündigung ist mit einer Frist von sechs Monaten zum Ende der Laufzeit möglich.
Köln, den 20.11.2025
""",
        {
            "doc_type": "contract",
            "entity": "alpha",
            "contract_start_date": "2026-01-01",
            "notice_period_days": "180",
        },
    ),
    Paper(
        "en_ordinal",
        """\
LEASE AGREEMENT
This Lease is made on the 3rd day of March 2021 between Dock Estates Ltd (the Landlord) and
Alpha Werkstatt GmbH (the Tenant).
1. Term. The term shall commence on April 1, 2021 and shall end on March 31, 2026.
2. Rent. The rent of GBP 1,200.00 is payable from 1 May 2021.
3. Notice. Either party may terminate this lease by giving six months' prior written notice.
""",
        {
            "doc_type": "lease",
            "entity": "alpha",
            "direction": "in",
            "contract_start_date": "2021-04-01",
            "contract_end_date": "2026-03-31",
            "notice_period_days": "180",
        },
    ),
    Paper(
        "gross_first",
        """\
Rechnung 4471-A
Holzhandel Brink GmbH, Sägeweg 8, 20097 Hamburg
Rechnungsempfänger: Alpha Werkstatt GmbH
Rechnungsdatum: 05.06.2026
Bruttobetrag        119,00 €
enthaltene MwSt 19% 19,00 €
Nettobetrag         100,00 €
""",
        {
            "doc_type": "invoice",
            "entity": "alpha",
            "amount_gross": "119.00",
            "amount_net": "100.00",
            "amount_tax": "19.00",
            "invoice_number": "4471-A",
            "invoice_date": "2026-06-05",
        },
    ),
    Paper(
        "us_numbers_german",
        """\
Rechnung INV-77
Globex Corp., Springfield, IL 62701, USA
Rechnung an: Alpha Werkstatt GmbH
Rechnungsdatum: 02/13/2026
Fällig: 03/05/2026
Zwischensumme $1,234.50
Steuer $0.00
Gesamtbetrag $1,234.50
""",
        {
            "doc_type": "invoice",
            "entity": "alpha",
            "amount_gross": "1234.50",
            "currency": "USD",
            "invoice_date": "2026-02-13",
        },
    ),
    Paper(
        "guthaben",
        """\
Stadtwerke Köln
Jahresabrechnung Strom 2025
Alpha Werkstatt GmbH
Hafenweg 3
50667 Köln
Rechnungsnummer: 7700123
Rechnungsdatum: 20.01.2026
Nettobetrag 500,00 €
USt 19 % 95,00 €
Rechnungsbetrag 595,00 €
Geleistete Abschläge 720,00 €
Guthaben 125,00 €
""",
        {
            "doc_type": "invoice",
            "entity": "alpha",
            "amount_gross": "595.00",
            "amount_net": "500.00",
            "invoice_number": "7700123",
        },
    ),
    Paper(
        "skonto",
        """\
Rechnung Nr. 88-12
Eisen Voss GmbH · Amboss 1 · 44135 Dortmund
Alpha Werkstatt GmbH
Hafenweg 3
50667 Köln
Datum 01.04.2026
Summe netto 2.000,00 €
19 % MwSt. 380,00 €
Gesamtbetrag 2.380,00 €
Bei Zahlung bis 11.04.2026 abzgl. 2 % Skonto 47,60 €, zahlbar 2.332,40 €
Zahlbar bis 01.05.2026 ohne Abzug
""",
        {
            "doc_type": "invoice",
            "entity": "alpha",
            "amount_gross": "2380.00",
            "due_date": "2026-05-01",
            "invoice_date": "2026-04-01",
            "invoice_number": "88-12",
        },
    ),
    Paper(
        "fr_avoir",
        """\
Papeterie du Centre SARL
3 rue Haute 69005 Lyon
AVOIR N° AV-2026-3
Date : 15/03/2026
Client : Beta Atelier SARL
Avoir sur facture n° F-2026-9 du 07/01/2026
Total HT -100,00 €
TVA 20 % -20,00 €
Total TTC -120,00 €
""",
        {
            "doc_type": "credit_note",
            "entity": "beta",
            "invoice_number": "AV-2026-3",
            "invoice_date": "2026-03-15",
            "amount_gross": "-120.00",
        },
    ),
    Paper(
        "it_contract",
        """\
CONTRATTO DI LOCAZIONE COMMERCIALE
Tra la società Immobiliare Po S.r.l., con sede in Torino (locatore) e Beta Atelier SARL, con
sede in Lione (conduttore)
Art. 1 Durata
La locazione avrà durata di anni sei con decorrenza dal 1° ottobre 2024 e si rinnova tacitamente
per ulteriori sei anni, salvo disdetta da comunicare con preavviso di dodici mesi.
Art. 2 Canone
Il canone annuo è di euro 12.000,00 e sarà aggiornato dal 1° ottobre 2025 secondo l'indice ISTAT.
""",
        {
            "doc_type": "lease",
            "entity": "beta",
            "contract_start_date": "2024-10-01",
            "notice_period_days": "360",
            "auto_renewal": "true",
        },
    ),
    Paper(
        "en_employment",
        """\
EMPLOYMENT AGREEMENT
between Alpha Werkstatt GmbH (the Employer) and Ms Jane Roe, born on 3 May 1988 (the Employee)
1. Commencement. The employment will begin on 1 September 2025. The probation period ends on 28
February 2026.
2. Salary. Gross salary of EUR 4,000 from 1 January 2026.
""",
        {
            "doc_type": "contract",
            "entity": "alpha",
            "confidentiality_level": "streng_vertraulich",
            "contract_start_date": "2025-09-01",
        },
    ),
    Paper(
        "sick_note",
        """\
Arbeitsunfähigkeitsbescheinigung
Arbeitgeber: Alpha Werkstatt GmbH
arbeitsunfähig seit 02.03.2026
voraussichtlich bis 09.03.2026
festgestellt am 02.03.2026
""",
        {
            "doc_type": "certificate",
            "entity": "alpha",
            "confidentiality_level": "streng_vertraulich",
        },
    ),
    Paper(
        "it_manual_diag",
        """\
Bedienungsanleitung Diagnose
Das Diagnosegerät prüft Therapie nicht. Alpha Werkstatt GmbH USt-IdNr. DE136695976
""",
        {
            "entity": "alpha",
            "confidentiality_level": "intern",
        },
    ),
    Paper(
        "shared_tenant_mail",
        """\
Guten Tag Familie Gamma,
anbei die Unterlagen für die Alpha Werkstatt GmbH.
""",
        {
            "entity": None,
        },
    ),
    Paper(
        "delivery",
        """\
LIEFERSCHEIN Nr. L-991
Eisen Voss GmbH · Amboss 1 · 44135 Dortmund
Alpha Werkstatt GmbH
Hafenweg 3
50667 Köln
Lieferdatum: 30.03.2026
Ihre Bestellung: B-12 vom 25.03.2026
4 Stk Profil
Ware erhalten: __________
""",
        {
            "doc_type": "delivery_note",
            "entity": "alpha",
            "service_date": "2026-03-30",
        },
    ),
    Paper(
        "receipt_fr",
        """\
BOULANGERIE MARTIN
TICKET DE CAISSE
Pain 2,40
Croissant 3,30
TOTAL EUR 5,70
ESPECES 10,00
RENDU 4,30
dont TVA 5,5% 0,30
Le 14/02/2026 à 08:12
Merci de votre visite
""",
        {
            "doc_type": "receipt",
            "amount_gross": "5.70",
            "invoice_date": "2026-02-14",
            "currency": "EUR",
        },
    ),
    Paper(
        "leasing",
        """\
Leasingvertrag LV-8812
Leasinggeber: Autobank AG
Leasingnehmer: Alpha Werkstatt GmbH
Leasingbeginn: 01.05.2024
Laufzeit: 48 Monate
Rate monatlich 399,00 EUR
""",
        {
            "doc_type": "contract",
            "entity": "alpha",
            "contract_start_date": "2024-05-01",
            "contract_end_date": "2028-04-30",
        },
    ),
    Paper(
        "uk_date_amb",
        """\
Invoice No. 55
Acme Trading Ltd
Bill to: Alpha Werkstatt GmbH
Invoice Date: 03/04/2026
Total: £120.00
VAT Registration GB 980 7806 84
""",
        {
            "doc_type": "invoice",
            "entity": "alpha",
            "invoice_date": "2026-04-03",
            "currency": "GBP",
        },
    ),
    Paper(
        "tax_fr_amounts",
        """\
DIRECTION GÉNÉRALE DES FINANCES PUBLIQUES
Avis d'impôt sur les revenus 2025
Beta Atelier SARL
9 rue du Port
69001 Lyon
Date d'établissement : 20/07/2026
Montant à payer : 1 250,00 €
Date limite de paiement : 15/09/2026
""",
        {
            "doc_type": "tax_notice",
            "entity": "beta",
            "due_date": "2026-09-15",
            "amount_due": "1250.00",
        },
    ),
    Paper(
        "multi_currency",
        """\
Invoice 9001
Globex Ltd
Bill to: Alpha Werkstatt GmbH
Invoice date: 2026-02-01
Total USD 1,100.00
Equivalent EUR 1,000.00
""",
        {
            "doc_type": "invoice",
            "entity": "alpha",
            "amount_gross": "1100.00",
            "currency": "USD",
        },
    ),
    Paper(
        "quoted_old_invoice",
        """\
Holzhandel Brink GmbH
Sägeweg 8
20097 Hamburg
Alpha Werkstatt GmbH
Hafenweg 3
50667 Köln

Hamburg, 10.04.2026
Ihre Reklamation zu Rechnung RE-2026-17 vom 02.03.2026
Sehr geehrte Damen und Herren,
wir prüfen den Rechnungsbetrag von 119,00 EUR.
Mit freundlichen Grüßen
""",
        {
            "doc_type": "letter",
            "entity": "alpha",
            "letter_date": "2026-04-10",
        },
    ),
    Paper(
        "payslip_en",
        """\
PAYSLIP March 2026
Employer: Alpha Werkstatt GmbH
Employee: Jane Roe
Gross pay 4,000.00
National Insurance 300.00
Net pay 3,100.00 EUR
Pay date 31/03/2026
""",
        {
            "doc_type": "payslip",
            "entity": "alpha",
            "accounting_period": "2026-03",
            "confidentiality_level": "streng_vertraulich",
        },
    ),
)
