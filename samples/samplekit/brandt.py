"""Paper of the household (`familie-brandt/familie-brandt`), as PDF."""

from reportlab.platypus import Flowable, Spacer

from samplekit.money import position, totals
from samplekit.nordwind import price_circular
from samplekit.paper import (
    BAR,
    SANS,
    SERIF,
    TYPED,
    Contract,
    Letter,
    contract_pdf,
    grid,
    invoice_table,
    letter_pdf,
    para,
    paragraphs,
)
from samplekit.parties import (
    FAEHRHAUS,
    FINANZAMT,
    PERLFISCH,
    ULIVELLA,
    WATTMEER,
    ZAHNARZT,
    grouped,
    own,
)
from samplekit.sample import Sample
from samplekit.scan import grey_scan

FOLDER = "familie-brandt/familie-brandt"
FAMILY = own("familie-brandt")


def power_bill() -> bytes:
    """The yearly electricity bill, before scanning."""
    lines = (
        position("Arbeitspreis 01.01.2025 bis 31.12.2025", "3412", "kWh", "0.2711"),
        position("Grundpreis", "12", "Monate", "7.32"),
    )
    body: list[Flowable] = [
        para("Zähler 1 WTM 0099 3120 · Zählerstand 48.207 kWh · Verbrauch 3.412 kWh", BAR),
        *invoice_table(lines, totals(lines, "19"), "de", BAR),
        *paragraphs(
            BAR,
            "Ihre Abschläge von zusammen 1.140,00 EUR haben wir angerechnet. Es bleibt eine "
            "Nachzahlung von 65,27 EUR, die wir am 09.02.2026 von Ihrem Konto abbuchen.",
            "Ihr neuer Abschlag beträgt ab Februar 101,00 EUR im Monat.",
        ),
    ]
    info = (
        ("Rechnung Nr.", "WE-25-410077"),
        ("Rechnungsdatum", "21.01.2026"),
        ("Kundennummer", "7 410 077"),
    )
    return letter_pdf(
        Letter(
            WATTMEER,
            FAMILY.address,
            "Ihre Stromrechnung für 2025",
            body,
            BAR,
            info,
            claim="Strom aus Wind und Watt",
        )
    )


def income_tax_notice() -> bytes:
    """The income tax assessment with a refund."""
    rows = [
        ["", "Einkommensteuer"],
        ["Festgesetzt werden", "11.846,00 EUR"],
        ["Ab Steuerabzug vom Lohn", "13.130,00 EUR"],
        ["Erstattung", "1.284,00 EUR"],
    ]
    body: list[Flowable] = [
        grid(rows, (110, 60), TYPED, right=(1,), bold_last=True),
        Spacer(1, 8),
        *paragraphs(
            TYPED,
            "Die Erstattung von 1.284,00 EUR wird auf das Konto mit der IBAN "
            f"{grouped(FAMILY.iban)} überwiesen.",
            "Die Aufwendungen für das Arbeitszimmer wurden mit der Jahrespauschale berücksichtigt.",
            "Gegen diesen Bescheid ist innerhalb eines Monats der Einspruch gegeben.",
        ),
    ]
    info = (("Steuernummer", "22/998/00081"), ("Datum", "11.05.2026"))
    footer = (FINANZAMT.address, ("Sprechzeit Mo und Do 8 bis 12 Uhr",))
    recipient = ("Herrn und Frau", "Jonas und Clara Brandt", FAMILY.street, FAMILY.town)
    subject = "Bescheid für 2024 über Einkommensteuer"
    return letter_pdf(Letter(FINANZAMT, recipient, subject, body, TYPED, info, footer))


def dentist_bill() -> bytes:
    """Health data: strictest level, no VAT."""
    rows = [
        ["Datum", "GOZ", "Leistung", "Faktor", "Betrag EUR"],
        ["09.02.2026", "0010", "Eingehende Untersuchung", "2,3", "12,94"],
        ["09.02.2026", "2080", "Füllung, zweiflächig, Zahn 36", "2,3", "71,92"],
        ["09.02.2026", "2197", "Adhäsive Befestigung", "2,3", "16,82"],
        ["17.02.2026", "1040", "Professionelle Zahnreinigung", "2,3", "84,74"],
        ["", "", "Rechnungsbetrag", "", "186,42"],
    ]
    body: list[Flowable] = [
        para("Patientin: Clara Brandt. Diagnose: Karies profunda Zahn 36.", SANS),
        grid(rows, (26, 18, 80, 18, 28), SANS, right=(3, 4), bold_last=True),
        Spacer(1, 8),
        *paragraphs(
            SANS,
            "Die Leistungen sind nach § 4 Nr. 14 UStG von der Umsatzsteuer befreit.",
            "Bitte zahlen Sie bis zum 26.03.2026.",
        ),
    ]
    info = (("Rechnung Nr.", "2026/0387"), ("Datum", "24.02.2026"))
    recipient = ("Clara Brandt", FAMILY.street, FAMILY.town)
    return letter_pdf(
        Letter(ZAHNARZT, recipient, "Rechnung über zahnärztliche Leistungen", body, SANS, info)
    )


def refused_insurance() -> bytes:
    """A declined application: the start is written down as none."""
    rows = [
        ["Angaben zum Antrag", ""],
        ["Antragsteller", "Jonas Brandt"],
        ["Tarif", "Zahn Komfort"],
        ["Versicherungsbeginn", "keine"],
        ["Monatsbeitrag", "entfällt"],
    ]
    body: list[Flowable] = [
        *paragraphs(
            SERIF,
            "Sehr geehrter Herr Brandt,",
            "haben Sie Dank für Ihren Antrag auf eine Zahnzusatzversicherung vom 02.02.2026. "
            "Leider können wir ihn nicht annehmen, weil eine laufende Behandlung besteht.",
        ),
        grid(rows, (80, 80), SERIF),
        Spacer(1, 6),
        *paragraphs(
            SERIF,
            "Versicherungsbeginn: keine. Ein Vertrag ist damit nicht zustande gekommen; Beiträge "
            "buchen wir nicht ab.",
            "Nach Abschluss der Behandlung prüfen wir einen neuen Antrag gern.",
        ),
    ]
    info = (("Antrag", "ZK-339018"), ("Datum", "18.02.2026"))
    recipient = ("Jonas Brandt", FAMILY.street, FAMILY.town)
    subject = "Ihr Antrag auf Zahnzusatzversicherung"
    return letter_pdf(Letter(PERLFISCH, recipient, subject, body, SERIF, info))


def parking_lease() -> bytes:
    """A parking space: start written with the month's name, notice in weeks."""
    clauses = (
        (
            "1. Stellplatz",
            (
                "Vermietet wird der Tiefgaragenstellplatz Nr. 41 im Haus Fährhausstieg 1. Der "
                "Stellplatz darf nur zum Abstellen eines zugelassenen Personenwagens genutzt "
                "werden.",
            ),
        ),
        (
            "2. Beginn und Ende",
            (
                "Das Mietverhältnis beginnt am 12. Januar 2020 und läuft auf unbestimmte Zeit. "
                "Es kann von beiden Seiten mit einer Frist von vier Wochen zum Monatsende in "
                "Textform gekündigt werden.",
            ),
        ),
        (
            "3. Miete",
            (
                "Die Miete beträgt 65,00 EUR im Monat und ist bis zum dritten Werktag zu zahlen. "
                "Eine Umsatzsteuer fällt nicht an.",
            ),
        ),
        (
            "4. Schlüssel",
            ("Der Mieter erhält einen Handsender. Für den Verlust haftet er mit 80,00 EUR.",),
        ),
    )
    return contract_pdf(
        Contract(
            "Mietvertrag Stellplatz",
            (
                f"{FAEHRHAUS.name}, {FAEHRHAUS.street}, {FAEHRHAUS.town} (Vermieterin) und",
                f"{FAMILY.name}, {FAMILY.street}, {FAMILY.town} (Mieter) vereinbaren:",
            ),
            clauses,
            ("für die Vermieterin", "Jonas Brandt, Clara Brandt"),
            "Hamburg, 8. Januar 2020",
            "Seite",
            SANS,
        )
    )


def holiday_lease() -> bytes:
    """An Italian holiday let: start "con decorrenza dal"."""
    clauses = (
        (
            "Art. 1 – Oggetto",
            (
                "La locatrice concede in locazione per finalità turistiche l'appartamento al primo "
                "piano di Salita dei Limoni 5, Lerici, arredato, con terrazza e posto auto.",
            ),
        ),
        (
            "Art. 2 – Durata",
            (
                "La locazione ha luogo con decorrenza dal 18 luglio 2026 e termina il 1° agosto "
                "2026, senza necessità di disdetta.",
            ),
        ),
        (
            "Art. 3 – Canone",
            (
                "Il canone è di 1.890,00 EUR per l'intero periodo. Alla firma si versa una "
                "caparra di 567,00 EUR; il saldo di 1.323,00 EUR si paga all'arrivo. Coordinate: "
                f"IBAN {grouped(ULIVELLA.iban)}.",
            ),
        ),
        (
            "Art. 4 – Recesso",
            (
                "In caso di recesso comunicato almeno trenta giorni prima dell'arrivo la caparra "
                "viene restituita.",
            ),
        ),
    )
    return contract_pdf(
        Contract(
            "Contratto di locazione turistica",
            (
                f"Tra {ULIVELLA.name}, {ULIVELLA.street}, {ULIVELLA.town}, <b>locatrice</b>,",
                f"e la famiglia Brandt, Jonas e Clara Brandt, {FAMILY.street}, {FAMILY.town}, "
                "<b>conduttori</b>.",
            ),
            clauses,
            ("Bruna Torchetti", "Clara Brandt"),
            "Lerici, 27 gennaio 2026",
            "pagina",
        )
    )


def samples() -> list[Sample]:
    """Every PDF of this folder; the circular is the same file as in the other tenant."""
    files = {
        "Stromrechnung_2025_Scan.pdf": grey_scan(power_bill(), dpi=200, angle=-0.9, seed=410077),
        "Einkommensteuerbescheid_2024.pdf": income_tax_notice(),
        "Zahnarztrechnung_Clara.pdf": dentist_bill(),
        "Ablehnung_Zahnzusatzversicherung.pdf": refused_insurance(),
        "Mietvertrag_Stellplatz_41.pdf": parking_lease(),
        "Contratto_locazione_Lerici.pdf": holiday_lease(),
        "Preisanpassung_Strom.pdf": price_circular(),
    }
    return [Sample(f"{FOLDER}/{name}", data) for name, data in files.items()]
