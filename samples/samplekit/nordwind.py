"""Paper and contracts of the joinery in Hamburg (`nordwind/nordwind-gmbh`), as PDF."""

from datetime import date
from decimal import Decimal

from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.platypus import Flowable, Spacer

from samplekit.money import Totals, long_day, money, numeric_day, position, totals
from samplekit.paper import (
    BAR,
    CYRILLIC,
    GREEN,
    SANS,
    SERIF,
    TYPED,
    Contract,
    Letter,
    contract_pdf,
    grid,
    heading,
    invoice_table,
    letter_pdf,
    para,
    paragraphs,
)
from samplekit.parties import (
    FINANZAMT,
    GRUNDWERK,
    HOLZKONTOR,
    KITA,
    OREKH,
    TIDEWACHT,
    WATTMEER,
    Firm,
    grouped,
    own,
)
from samplekit.sample import Sample
from samplekit.scan import fax_scan, grey_scan

FOLDER = "nordwind/nordwind-gmbh"
NORDWIND = own("nordwind-gmbh")
STATEMENT_PASSWORD = "Windmark2026"
_TO_NORDWIND = (NORDWIND.name, "Buchhaltung", NORDWIND.street, NORDWIND.town)


def supplier_invoice() -> bytes:
    """Timber for the day nursery: the invoice most other samples refer to."""
    lines = (
        position("Leimholzplatte Eiche A/B, 27 mm, 2000 x 800 mm", "12", "Stk", "68.50"),
        position("Multiplex Birke BB/BB, 18 mm, 2500 x 1250 mm", "8", "Stk", "44.75"),
        position("Anlieferung mit Ladebordwand", "1", "Psch", "65.50"),
    )
    body: list[Flowable] = [
        *paragraphs(
            SANS,
            "Sehr geehrte Damen und Herren,",
            "für die Lieferung vom 26.02.2026 (Lieferschein LS-77120, Bauvorhaben Kita Elbufer) "
            "berechnen wir Ihnen wie folgt:",
        ),
        *invoice_table(lines, totals(lines, "19"), "de", SANS),
        *paragraphs(
            SANS,
            "Bitte überweisen Sie den Gesamtbetrag ohne Abzug bis zum 16.03.2026 unter Angabe der "
            "Rechnungsnummer auf das unten genannte Konto. Die Ware bleibt bis zur vollständigen "
            "Bezahlung unser Eigentum.",
            "Mit freundlichen Grüßen<br/>Holzkontor Altland GmbH",
        ),
    ]
    info = (
        ("Rechnungsnummer", "RE-2026-0318"),
        ("Rechnungsdatum", "02.03.2026"),
        ("Kundennummer", "10442"),
        ("Liefertag", "26.02.2026"),
        ("Ihr Auftrag", "P-2026-014"),
    )
    return letter_pdf(
        Letter(
            HOLZKONTOR,
            _TO_NORDWIND,
            "Rechnung RE-2026-0318",
            body,
            SANS,
            info,
            claim="Platten · Schnittholz · Furniere",
        )
    )


def credit_note() -> bytes:
    """Two damaged boards are credited against the timber invoice."""
    lines = (position("Multiplex Birke BB/BB, 18 mm, Transportschaden", "2", "Stk", "44.75"),)
    body = [
        *paragraphs(
            SANS,
            "Sehr geehrte Damen und Herren,",
            "zwei Platten aus der Lieferung vom 26.02.2026 kamen mit gestoßenen Kanten bei Ihnen "
            "an. Wir schreiben Ihnen dafür zu unserer Rechnung RE-2026-0318 vom 02.03.2026 gut:",
        ),
        *invoice_table(lines, totals(lines, "19"), "de", SANS),
        *paragraphs(SANS, "Der Betrag wird mit der offenen Rechnung verrechnet."),
    ]
    info = (
        ("Gutschrift Nr.", "GS-2026-0044"),
        ("Datum", "20.03.2026"),
        ("Kundennummer", "10442"),
    )
    return letter_pdf(
        Letter(
            HOLZKONTOR,
            _TO_NORDWIND,
            "Gutschrift GS-2026-0044",
            body,
            SANS,
            info,
            claim="Platten · Schnittholz · Furniere",
        )
    )


def reminder() -> bytes:
    """First reminder: invoice less credit note plus a fee."""
    rows = [
        ["Beleg", "Datum", "Fällig am", "Betrag EUR"],
        ["Rechnung RE-2026-0318", "02.03.2026", "16.03.2026", "1.482,15"],
        ["Gutschrift GS-2026-0044", "20.03.2026", "", "-106,51"],
        ["Mahngebühr", "13.04.2026", "", "5,00"],
        ["Offener Betrag", "", "", "1.380,64"],
    ]
    body: list[Flowable] = [
        *paragraphs(
            SANS,
            "Sehr geehrte Damen und Herren,",
            "sicher haben Sie nur übersehen, dass die folgende Rechnung noch nicht vollständig "
            "bezahlt ist:",
        ),
        grid(rows, (70, 32, 32, 36), SANS, right=(3,), bold_last=True),
        Spacer(1, 8),
        *paragraphs(
            SANS,
            "Bitte gleichen Sie den offenen Betrag bis zum 23.04.2026 aus. Hat sich Ihre Zahlung "
            "mit diesem Schreiben gekreuzt, betrachten Sie es bitte als gegenstandslos.",
            "Mit freundlichen Grüßen<br/>i. A. Levke Harms, Debitorenbuchhaltung",
        ),
    ]
    info = (("Datum", "13.04.2026"), ("Kundennummer", "10442"), ("Mahnstufe", "1"))
    return letter_pdf(
        Letter(
            HOLZKONTOR,
            _TO_NORDWIND,
            "Zahlungserinnerung zu Rechnung RE-2026-0318",
            body,
            SANS,
            info,
            claim="Platten · Schnittholz · Furniere",
        )
    )


def delivery_note() -> bytes:
    """The delivery note of the timber, before scanning; it names no amounts."""
    rows = [
        ["Pos.", "Artikel", "Menge", "Einheit"],
        ["1", "Leimholzplatte Eiche A/B, 27 mm, 2000 x 800 mm", "12", "Stk"],
        ["2", "Multiplex Birke BB/BB, 18 mm, 2500 x 1250 mm", "8", "Stk"],
    ]
    body: list[Flowable] = [
        grid(rows, (15, 105, 25, 25), TYPED, right=(2,)),
        Spacer(1, 10),
        *paragraphs(
            TYPED,
            "Lieferanschrift: Baustelle Kita Elbufer, Strandhaferweg 2, 22587 Hamburg",
            "Ware vollständig und ohne sichtbare Mängel erhalten:",
            "26.02.2026, 07:40 Uhr          gez. M. Petersen",
        ),
    ]
    info = (
        ("Lieferschein", "LS-77120"),
        ("Lieferdatum", "26.02.2026"),
        ("Fahrer", "B. Wulff"),
    )
    return letter_pdf(Letter(HOLZKONTOR, _TO_NORDWIND, "Lieferschein LS-77120", body, TYPED, info))


def outgoing_invoice() -> bytes:
    """Our own invoice to the day nursery: direction out."""
    line = "Innenausbau Kita Elbufer, 1. Abschlag gemäß Angebot A-2026-009"
    lines = (position(line, "1", "Psch", "18000.00"),)
    body = [
        *paragraphs(
            GREEN,
            "Sehr geehrte Frau Oelrich,",
            "nach Baufortschritt stellen wir Ihnen für das Projekt P-2026-014 den ersten Abschlag "
            "in Rechnung. Leistungszeitraum: 02.03.2026 bis 27.03.2026.",
        ),
        *invoice_table(lines, totals(lines, "19"), "de", GREEN),
        *paragraphs(
            GREEN,
            "Zahlbar bis 10.04.2026 auf unser Geschäftskonto "
            f"IBAN {grouped(NORDWIND.iban)}, Hafenbank Windmark eG.",
            "Mit freundlichen Grüßen<br/>Jonas Brandt, Geschäftsführer",
        ),
    ]
    info = (("Rechnung Nr.", "NW-2026-0041"), ("Datum", "27.03.2026"), ("Projekt", "P-2026-014"))
    footer = (
        NORDWIND.address,
        ("Hafenbank Windmark eG", f"IBAN {grouped(NORDWIND.iban)}", "BIC XHAFDEH1XXX"),
        (NORDWIND.register, f"USt-IdNr. {NORDWIND.vat_id}", "Geschäftsführer Jonas Brandt"),
    )
    return letter_pdf(
        Letter(
            NORDWIND,
            KITA.address,
            "Abschlagsrechnung NW-2026-0041",
            body,
            GREEN,
            info,
            footer,
            claim="Möbel · Innenausbau · Montage",
        )
    )


def liability_policy() -> bytes:
    """An old liability policy; its start stands in a sentence of its own, not as a field."""
    rows = [
        ["Leistung", "Versicherungssumme"],
        ["Personen- und Sachschäden pauschal", "3.000.000 EUR"],
        ["Vermögensschäden", "100.000 EUR"],
        ["Tätigkeitsschäden an fremden Bauteilen", "50.000 EUR"],
    ]
    body: list[Flowable] = [
        *paragraphs(
            SERIF,
            "Sehr geehrter Herr Brandt,",
            "vielen Dank für Ihr Vertrauen. Mit diesem Versicherungsschein bestätigen wir Ihnen "
            "den Schutz Ihres Betriebes gegen die gesetzliche Haftpflicht aus dem "
            "Tischlerhandwerk mit Montagearbeiten bei Kunden.",
        ),
        grid(rows, (110, 50), SERIF, right=(1,)),
        Spacer(1, 8),
        heading("Dauer des Vertrages", SERIF),
        *paragraphs(
            SERIF,
            "Beginn der Versicherung 01.12.2003, mittags 12 Uhr. Der Vertrag läuft ein Jahr und "
            "verlängert sich danach stillschweigend von Jahr zu Jahr, wenn er nicht drei Monate "
            "vor dem Ablauf in Textform gekündigt wird. Hauptfälligkeit ist der 1. Dezember.",
        ),
        heading("Beitrag", SERIF),
        *paragraphs(
            SERIF,
            "Der Jahresbeitrag beträgt 860,00 EUR zuzüglich 16 % Versicherungsteuer 137,60 EUR, "
            "zusammen 997,60 EUR. Die Selbstbeteiligung je Schaden ist 250,00 EUR.",
            "Bremen, den 14. November 2003",
        ),
    ]
    info = (("Versicherungsschein", "BH-4471-0093"), ("Sparte", "Betriebshaftpflicht"))
    footer = (TIDEWACHT.address, (TIDEWACHT.register, "Vorstand: Dr. Wiebke Aldag (Vorsitz)"))
    return letter_pdf(
        Letter(
            TIDEWACHT,
            (NORDWIND.name, NORDWIND.street, NORDWIND.town),
            "Versicherungsschein zur Betriebshaftpflichtversicherung",
            body,
            SERIF,
            info,
            footer,
            claim="gegründet am Deich, zu Hause in Bremen",
        )
    )


def workshop_lease() -> bytes:
    """A commercial lease over two pages: start "mit Wirkung vom", fixed end, indexation."""
    clauses = (
        (
            "§ 1 Mietgegenstand",
            (
                "(1) Vermietet werden im Gebäude Windschotweg 7, 22769 Hamburg, die "
                "Werkstatthalle im Erdgeschoss mit rund 640 m², das Holzlager mit rund 110 m² "
                "und zwei Büroräume im ersten Obergeschoss mit zusammen 48 m². Die Lage ergibt "
                "sich aus dem als Anlage 1 beigefügten Plan.",
                "(2) Zum Mietgegenstand gehören sechs Stellplätze auf dem Hof sowie die "
                "gemeinsame Nutzung der Laderampe. Die Flächenangaben dienen der Beschreibung; "
                "Abweichungen bis drei vom Hundert ändern die Miete nicht.",
                "(3) Der Mieter übernimmt die Räume im besichtigten Zustand. Die Krananlage wird "
                "vor der Übergabe auf Kosten des Vermieters geprüft; das Prüfbuch wird übergeben.",
            ),
        ),
        (
            "§ 2 Nutzung",
            (
                "(1) Die Räume werden zum Betrieb einer Tischlerei mit Lager und Verwaltung "
                "überlassen. Eine andere Nutzung braucht die vorherige Zustimmung des Vermieters "
                "in Textform.",
                "(2) Genehmigungen, die allein den Betrieb des Mieters betreffen, holt der "
                "Mieter auf eigene Kosten ein. Maschinen mit mehr als zwei Tonnen Gewicht werden "
                "nur auf den im Plan schraffierten Flächen aufgestellt.",
            ),
        ),
        (
            "§ 3 Mietzeit",
            (
                "(1) Das Mietverhältnis wird mit Wirkung vom 01.04.2024 auf die Dauer von zehn "
                "Jahren geschlossen. Es endet am 31.03.2034, ohne dass es einer Kündigung bedarf.",
                "(2) Der Mieter kann die Verlängerung um einmal fünf Jahre verlangen. Das "
                "Verlangen muss dem Vermieter spätestens zwölf Monate vor dem Ende der festen "
                "Mietzeit in Textform zugehen.",
                "(3) Setzt der Mieter den Gebrauch nach Ablauf fort, verlängert sich das "
                "Mietverhältnis dadurch nicht; § 545 BGB ist ausgeschlossen.",
            ),
        ),
        (
            "§ 4 Miete und Nebenkosten",
            (
                "(1) Die Miete beträgt monatlich 4.850,00 EUR. Hinzu kommt eine Vorauszahlung "
                "auf die Betriebskosten von 780,00 EUR. Auf beides schuldet der Mieter die "
                "gesetzliche Umsatzsteuer, derzeit 19 %, das sind 1.069,70 EUR; zusammen "
                "6.699,70 EUR.",
                "(2) Der Gesamtbetrag ist monatlich im Voraus, spätestens am dritten Werktag, "
                f"auf das Konto IBAN {grouped(GRUNDWERK.iban)} zu zahlen.",
                "(3) Über die Betriebskosten wird jährlich abgerechnet, und zwar bis zum 30. "
                "November des folgenden Jahres.",
            ),
        ),
        (
            "§ 5 Wertsicherung",
            (
                "(1) Verändert sich der vom Statistischen Bundesamt veröffentlichte "
                "Verbraucherpreisindex für Deutschland gegenüber dem Stand bei Vertragsbeginn "
                "oder bei der letzten Anpassung um mehr als fünf vom Hundert, so ändert sich die "
                "Miete im gleichen Verhältnis vom Beginn des übernächsten Monats an.",
                "(2) Die Anpassung wirkt auf schriftliche Mitteilung hin; rückwirkend für "
                "höchstens drei Monate.",
            ),
        ),
        (
            "§ 6 Sicherheit",
            (
                "Der Mieter stellt eine Kaution von 14.550,00 EUR durch Bankbürgschaft. Sie ist "
                "bei Übergabe der Räume vorzulegen und wird spätestens sechs Monate nach "
                "Rückgabe freigegeben, soweit keine Ansprüche offen sind.",
            ),
        ),
        (
            "§ 7 Erhaltung und Umbauten",
            (
                "(1) Dach und Fach erhält der Vermieter. Schönheitsreparaturen, Wartung der Tore "
                "und der Absauganlage sowie kleine Instandhaltungen bis 500,00 EUR im Einzelfall "
                "und 3.000,00 EUR im Jahr trägt der Mieter.",
                "(2) Umbauten darf der Mieter nach Zustimmung vornehmen. Einrichtungen, die er "
                "einbringt, kann er bei Vertragsende mitnehmen, muss dann aber den früheren "
                "Zustand wiederherstellen.",
                "(3) Für die Brandlast im Holzlager gilt das abgestimmte Schutzkonzept vom "
                "08.01.2024. Heißarbeiten in der Halle sind dem Vermieter zwei Tage zuvor zu "
                "melden.",
            ),
        ),
        (
            "§ 8 Kündigung aus wichtigem Grund",
            (
                "Das Recht beider Seiten zur außerordentlichen Kündigung bleibt unberührt. Der "
                "Vermieter kann insbesondere kündigen, wenn der Mieter mit zwei Monatsmieten in "
                "Rückstand gerät und trotz Mahnung nicht binnen zehn Tagen zahlt.",
            ),
        ),
        (
            "§ 9 Schlussbestimmungen",
            (
                "Änderungen dieses Vertrages bedürfen der Textform. Ist eine Bestimmung "
                "unwirksam, so bleiben die übrigen wirksam. Gerichtsstand ist Hamburg.",
            ),
        ),
    )
    return contract_pdf(
        Contract(
            "Mietvertrag über Gewerberäume",
            (
                f"zwischen der {GRUNDWERK.name}, {GRUNDWERK.street}, {GRUNDWERK.town}, vertreten "
                "durch Friederike Vollmers, <b>Vermieter</b>,",
                f"und der {NORDWIND.name}, bisher Lattenkamp 88, 22299 Hamburg, vertreten durch "
                "ihren Geschäftsführer Jonas Brandt, <b>Mieter</b>.",
            ),
            clauses,
            ("Friederike Vollmers (Vermieter)", "Jonas Brandt (Mieter)"),
            "Hamburg, den 15. Februar 2024",
            "Seite",
        )
    )


def corporate_tax_notice() -> bytes:
    """The corporation tax assessment, before scanning."""
    rows = [
        ["", "Körperschaftsteuer", "Solidaritätszuschlag"],
        ["Festgesetzt werden", "18.462,00 EUR", "1.015,41 EUR"],
        ["Geleistete Vorauszahlungen", "16.000,00 EUR", "880,00 EUR"],
        ["Verbleiben", "2.462,00 EUR", "135,41 EUR"],
    ]
    body: list[Flowable] = [
        *paragraphs(
            TYPED,
            "Der Bescheid ergeht nach § 164 Abs. 1 AO unter dem Vorbehalt der Nachprüfung.",
        ),
        grid(rows, (64, 53, 53), TYPED, right=(1, 2)),
        Spacer(1, 8),
        *paragraphs(
            TYPED,
            "Bitte zahlen Sie den Restbetrag von 2.597,41 EUR spätestens am 22.06.2026.",
            "Zu versteuerndes Einkommen: 123.080 EUR.",
            "Gegen diesen Bescheid können Sie innerhalb eines Monats nach Bekanntgabe Einspruch "
            "einlegen.",
        ),
    ]
    info = (("Steuernummer", "22/999/00017"), ("Datum", "19.05.2026"), ("Zimmer", "214"))
    footer = (FINANZAMT.address, ("Sprechzeit Mo und Do 8 bis 12 Uhr",))
    return letter_pdf(
        Letter(
            FINANZAMT,
            (NORDWIND.name, NORDWIND.street, NORDWIND.town),
            "Bescheid für 2024 über Körperschaftsteuer und Solidaritätszuschlag",
            body,
            TYPED,
            info,
            footer,
        )
    )


def payslip() -> bytes:
    """A payslip: strictest level, for very few eyes."""
    rows = [
        ["Lohnart", "Satz", "Betrag EUR"],
        ["Gehalt", "", "3.480,00"],
        ["Gesamtbrutto", "", "3.480,00"],
        ["Lohnsteuer, Klasse I", "", "-412,33"],
        ["Krankenversicherung", "8,10 %", "-281,88"],
        ["Pflegeversicherung", "1,80 %", "-62,64"],
        ["Rentenversicherung", "9,30 %", "-323,64"],
        ["Arbeitslosenversicherung", "1,30 %", "-45,24"],
        ["Auszahlungsbetrag", "", "2.354,27"],
    ]
    body: list[Flowable] = [
        grid(rows, (100, 30, 40), SANS, right=(1, 2), bold_last=True),
        Spacer(1, 8),
        *paragraphs(
            SANS,
            "Auszahlung am 27.02.2026 auf das hinterlegte Konto. Urlaub: Anspruch 30 Tage, "
            "genommen 4 Tage, Rest 26 Tage.",
            "Persönlich und vertraulich. Diese Abrechnung dient auch als Nachweis für "
            "Sozialversicherungszwecke.",
        ),
    ]
    info = (
        ("Abrechnungsmonat", "Februar 2026"),
        ("Personalnummer", "0017"),
        ("Steuer-ID", "88 129 374 650"),
        ("Eintritt", "01.08.2019"),
    )
    recipient = ("Mareike Petersen", "Knickstieg 8", "22523 Hamburg")
    footer = (NORDWIND.address, (NORDWIND.register,))
    return letter_pdf(
        Letter(NORDWIND, recipient, "Entgeltabrechnung Februar 2026", body, SANS, info, footer)
    )


def locked_statement() -> bytes:
    """A bank statement that opens only with its password."""
    bank = Firm("Hafenbank Windmark eG", "Kaispeicher 2", "20457 Hamburg", "DE")
    rows = [
        ["Buchung", "Text", "Betrag EUR"],
        ["02.02.2026", "Grundwerk Windschot, Miete Februar", "-6.699,70"],
        ["17.02.2026", "Bücherei Sankt Annen, NW-2026-0033", "9.520,00"],
        ["27.02.2026", "Lohn und Gehalt", "-11.804,92"],
    ]
    body: list[Flowable] = [
        *paragraphs(
            BAR, f"Konto {grouped(NORDWIND.iban)}, Alter Kontostand 27.188,95 EUR am 31.01.2026"
        ),
        grid(rows, (30, 100, 40), BAR, right=(2,)),
        Spacer(1, 8),
        *paragraphs(BAR, "Neuer Kontostand 18.204,33 EUR am 28.02.2026"),
    ]
    lock = StandardEncryption(STATEMENT_PASSWORD, ownerPassword="owner", strength=128)
    letter = Letter(bank, NORDWIND.address, "Kontoauszug 2/2026", body, BAR, footer=(bank.address,))
    return letter_pdf(letter, lock)


def russian_invoice() -> bytes:
    """Walnut veneer from Almaty; Russian, euro, no VAT."""
    lines = (
        position("Шпон ореха грецкого, 0,6 мм, сорт А", "60", "м²", "38.00"),
        position("Упаковка и маркировка для экспорта", "1", "усл.", "360.00"),
    )
    net = sum((line.amount for line in lines), Decimal(0))
    body = [
        *paragraphs(
            CYRILLIC,
            "Уважаемый господин Брандт!",
            "Просим оплатить поставку шпона по вашему заказу для объекта «Bücherei Sankt Annen» "
            "(P-2026-021). Поставка на условиях FCA Алматы, отгрузка в течение пяти рабочих дней "
            "после оплаты.",
        ),
        *invoice_table(
            lines,
            Totals(net, Decimal(0), Decimal(0), net),
            "ru",
            CYRILLIC,
            tax_text="НДС 0 % (экспорт)",
        ),
        *paragraphs(
            CYRILLIC,
            "Счёт действителен до 25.03.2026. Цены указаны в евро.",
            "С уважением,<br/>Асель Жумабаева, директор",
        ),
    ]
    info = (
        ("Счёт №", "148"),
        ("Дата", numeric_day(date(2026, 3, 11), "ru")),
        ("БИН", "990340000143"),
    )
    return letter_pdf(
        Letter(
            OREKH,
            NORDWIND.address,
            "Счёт на оплату № 148 от " + long_day(date(2026, 3, 11), "ru") + " г.",
            body,
            CYRILLIC,
            info,
            claim="шпон · массив · ореховая кость",
        )
    )


def price_circular() -> bytes:
    """A circular to all customers, without an address: it reaches both tenants byte for byte."""
    old, new = money(Decimal("28.41"), "de"), money(Decimal("30.96"), "de")
    body = paragraphs(
        BAR,
        "Liebe Kundinnen und Kunden,",
        "die Entgelte für die Nutzung der Stromnetze steigen zum Jahreswechsel. Deshalb passen wir "
        "unsere Preise zum 1. Januar 2027 an.",
        f"Im Tarif Wattmeer Beständig steigt der Arbeitspreis von {old} auf {new} Cent je "
        "Kilowattstunde. Der Grundpreis bleibt bei 8,71 EUR im Monat. Alle Angaben enthalten die "
        "Umsatzsteuer.",
        "Sie können Ihren Vertrag aus diesem Anlass ohne Frist zum Tag der Änderung kündigen. Für "
        "alle anderen Kündigungen gilt weiterhin eine Frist von vier Wochen.",
        "Ihre Zählernummer und Ihren bisherigen Verbrauch finden Sie in Ihrer letzten "
        "Jahresabrechnung.",
        "Mit sonnigen Grüßen<br/>Ihr Team von Wattmeer Energie",
    )
    info = (("Datum", "28.10.2026"),)
    recipient = ("An alle Kundinnen und Kunden", "im Tarif Wattmeer Beständig")
    subject = "Neue Strompreise ab dem 1. Januar 2027"
    return letter_pdf(
        Letter(WATTMEER, recipient, subject, body, BAR, info, claim="Strom aus Wind und Watt")
    )


def bookkeeping_note() -> bytes:
    """The note a scanner broke off: the full file, which `unsorted` cuts."""
    body = [para("Bitte die Bürgschaftsurkunde zur Kaution Windschotweg ablegen. " * 12, SERIF)]
    letter = Letter(GRUNDWERK, NORDWIND.address, "Bürgschaft zur Mietkaution", body, SERIF)
    return letter_pdf(letter)


def samples() -> list[Sample]:
    """Every PDF of this folder."""
    files = {
        "2026-03-02_Rechnung_Holzkontor_RE-2026-0318.pdf": supplier_invoice(),
        "2026-03-20_Gutschrift_Holzkontor_GS-2026-0044.pdf": credit_note(),
        "2026-04-13_Mahnung_Holzkontor.pdf": reminder(),
        "Lieferschein_LS-77120_Scan.pdf": fax_scan(delivery_note(), angle=0.7, seed=77120),
        "Ausgangsrechnung_NW-2026-0041.pdf": outgoing_invoice(),
        "Versicherungsschein_Betriebshaftpflicht.pdf": liability_policy(),
        "Mietvertrag_Werkstatt_Windschotweg.pdf": workshop_lease(),
        "Bescheid_Koerperschaftsteuer_2024_Scan.pdf": grey_scan(
            corporate_tax_notice(), dpi=150, angle=-0.6, seed=2024
        ),
        "Lohnabrechnung_2026-02_Petersen.pdf": payslip(),
        "Kontoauszug_2026-02_verschluesselt.pdf": locked_statement(),
        "Счёт_148_Ореховая_роща.pdf": russian_invoice(),
        "Wattmeer_Preisanpassung_2027.pdf": price_circular(),
    }
    return [Sample(f"{FOLDER}/{name}", data) for name, data in files.items()]
