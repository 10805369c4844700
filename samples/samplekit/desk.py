"""Everything that is not paper: Office files, tables, notes, calendar, card, the receipt."""

from collections.abc import Sequence
from datetime import date

from samplekit.office import Rows, csv, docx, ods, rtf, xlsx
from samplekit.parties import (
    GRUNDWERK,
    HOLZKONTOR,
    KITA,
    LICHTWERK,
    SPANFANG,
    TARNFIELD,
    grouped,
    own,
)
from samplekit.sample import Sample
from samplekit.scan import receipt_photo

NORDWIND = own("nordwind-gmbh")
ATELIER = own("atelier-sarl")
GERMAN = "nordwind/nordwind-gmbh"
FRENCH = "nordwind/atelier-sarl"
HOME = "familie-brandt/familie-brandt"


def service_contract() -> bytes:
    """A German service contract whose start is reached by reference to § 2."""
    return docx(
        "Wartungsvertrag Absauganlage",
        SPANFANG.name,
        [
            "# Wartungsvertrag Absauganlage WV-25-066",
            f"zwischen {SPANFANG.name}, {SPANFANG.street}, {SPANFANG.town} (Auftragnehmer) und "
            f"{NORDWIND.name}, {NORDWIND.street}, {NORDWIND.town} (Auftraggeber).",
            "# § 1 Gegenstand",
            "Der Auftragnehmer wartet die Späneabsaugung Typ SF 4000 mit zwei Filterhäusern. Die "
            "Dauer der Pflichten richtet sich nach § 2.",
            "# § 2 Laufzeit",
            "Dieser Vertrag tritt am 1. Juli 2025 in Kraft und läuft 24 Monate. Er verlängert "
            "sich um jeweils zwölf Monate, wenn er nicht mit einer Frist von sechs Wochen zum "
            "Ende der Laufzeit in Textform gekündigt wird.",
            "# § 3 Vergütung",
            [
                ["Leistung", "Turnus", "Preis netto"],
                ["Filterwechsel und Reinigung", "halbjährlich", "384,00 EUR"],
                ["Prüfung Funkenlöschung", "jährlich", "265,00 EUR"],
            ],
            "Alle Preise verstehen sich zuzüglich der gesetzlichen Umsatzsteuer. Anfahrten im "
            "Stadtgebiet sind enthalten.",
            "# § 4 Haftung",
            "Der Auftragnehmer haftet für Vorsatz und grobe Fahrlässigkeit.",
            "Lübeck, den 12. Juni 2025, gez. Heiko Lorenzen        gez. Jonas Brandt",
        ],
    )


def charges_letter() -> bytes:
    """A French letter of the property manager about service charges."""
    return docx(
        "Régularisation des charges 2025",
        "Régie Pralong et Filles SARL",
        [
            "# Régie Pralong et Filles",
            "51 cours des Lanternes, 69003 Lyon",
            f"{ATELIER.name}, {ATELIER.street}, {ATELIER.town}",
            "Lyon, le 12 mars 2026",
            "Objet : régularisation des charges de l'exercice 2025",
            "Madame,",
            "Nous avons arrêté le compte des charges de l'immeuble pour l'année 2025. Votre "
            "quote-part est la suivante :",
            [
                ["Poste", "Quote-part"],
                ["Entretien des parties communes", "612,40 €"],
                ["Ascenseur", "208,08 €"],
                ["Provisions versées", "-688,00 €"],
                ["Solde à régler", "132,48 €"],
            ],
            "Nous vous remercions de régler ce solde avant le 15 avril 2026. Les pièces sont à "
            "votre disposition à l'agence le mardi matin.",
            "À compter du 1er mai 2026, la provision mensuelle passera de 57,33 € à 68,00 €.",
            "Veuillez agréer, Madame, nos salutations distinguées.",
            "Élodie Pralong",
        ],
    )


def costing() -> bytes:
    """The costing of the day nursery: working material, never a booking."""
    head = ["Gewerk", "Material EUR", "Stunden", "Satz EUR", "Summe EUR"]
    rows: list[tuple[str, float, float, float]] = [
        ("Garderoben", 3240.0, 62.5, 58.0),
        ("Spielpodest", 2185.5, 48.0, 58.0),
        ("Fensterbänke", 960.8, 22.0, 58.0),
        ("Küchenzeile", 4410.0, 71.0, 61.5),
    ]
    lines = [[*row, row[1] + row[2] * row[3]] for row in rows]
    total = sum(float(line[4]) for line in lines)
    amount = "#,##0.00"
    sheets: dict[str, Rows] = {
        "Kalkulation": [head, *lines, ["Summe", None, None, None, total]],
        "Annahmen": [
            ["Annahme", "Wert"],
            ["Projekt", "P-2026-014 Kita Elbufer"],
            ["Zuschlag Wagnis", 0.04],
            ["Stand", date(2026, 2, 18)],
        ],
    }
    formats = {"Material EUR": amount, "Satz EUR": amount, "Summe EUR": amount}
    return xlsx(sheets, formats)


def logbook() -> bytes:
    """A driver's logbook; kilometre readings follow each other."""
    head = ["Datum", "Von", "Nach", "Zweck", "km Beginn", "km Ende", "Art"]
    trips = [
        (date(2026, 3, 3), "Werkstatt", "Kita Elbufer", "Aufmaß", 48210, 48228, "geschäftlich"),
        (date(2026, 3, 3), "Kita Elbufer", "Werkstatt", "Rückfahrt", 48228, 48246, "geschäftlich"),
        (date(2026, 3, 7), "Werkstatt", "Lüneburg", "privat", 48246, 48355, "privat"),
        (date(2026, 3, 10), "Werkstatt", "Sankt Annen", "Montage", 48355, 48371, "geschäftlich"),
        (date(2026, 3, 10), "Sankt Annen", "Werkstatt", "Rückfahrt", 48371, 48387, "geschäftlich"),
    ]
    return xlsx({"HH-NW 417": [head, *[list(trip) for trip in trips]]}, {"Datum": "dd.mm.yyyy"})


def stock_list() -> bytes:
    """What lies in the timber store, as OpenDocument."""
    rows: Rows = [
        ["Artikel", "Holzart", "Stärke mm", "Bestand", "Einheit", "Gezählt am"],
        ["Leimholzplatte", "Eiche", 27, 31, "Stk", date(2026, 3, 30)],
        ["Multiplex", "Birke", 18, 44, "Stk", date(2026, 3, 30)],
        ["Furnier", "Nussbaum", 0.6, 22.5, "m²", date(2026, 3, 31)],
        ["Kantholz", "Lärche", 60, 118, "lfm", date(2026, 3, 31)],
    ]
    return ods("Holzlager", rows)


def guild_letter() -> bytes:
    """An invitation as Rich Text."""
    return rtf(
        [
            "Vereinigung hanseatischer Tischlereien e. V.",
            "Hamburg, den 9. März 2026",
            f"{NORDWIND.name}, {NORDWIND.street}, {NORDWIND.town}",
            "Einladung zur Mitgliederversammlung",
            "Liebe Kolleginnen und Kollegen,",
            "wir laden Sie herzlich zur Jahresversammlung am 21. April 2026 um 18 Uhr in den "
            "Saal der Alten Seilerei ein. Auf der Tagesordnung stehen der Kassenbericht, die "
            "Wahl der Kassenprüfer und ein Vortrag über staubarmes Schleifen.",
            "Der Mitgliedsbeitrag bleibt bei 180,00 EUR im Jahr.",
            "Mit kollegialem Gruß, Gesche Rademacher, Vorsitzende",
        ]
    )


def hosting_invoice() -> bytes:
    """An English invoice as a web page, addressed to the Lyon firm."""
    page = f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Invoice TH-60418</title>
<style>body{{font-family:sans-serif}} td,th{{padding:4px 12px;text-align:left}}</style></head>
<body>
<h1>{TARNFIELD.name}</h1>
<p>{TARNFIELD.street}, {TARNFIELD.town}, United Kingdom<br>VAT {TARNFIELD.vat_id}</p>
<h2>Invoice TH-60418</h2>
<p>Invoice date: 1 March 2026<br>Payment due: 15 March 2026</p>
<p>Bill to: {ATELIER.name}, {ATELIER.street}, {ATELIER.town}, France<br>
Customer VAT: {ATELIER.vat_id}</p>
<table>
<tr><th>Description</th><th>Months</th><th>Price</th><th>Amount</th></tr>
<tr><td>Web hosting &ldquo;Fell&rdquo;, 1 March 2026 to 28 February 2027</td><td>12</td>
<td>&euro;18.50</td><td>&euro;222.00</td></tr>
<tr><td colspan="3">VAT, reverse charge</td><td>&euro;0.00</td></tr>
<tr><th colspan="3">Total due</th><th>&euro;222.00</th></tr>
</table>
<p>The domain atelier-du-vent.example renews automatically on 1 March 2027 unless you switch renewal
off in your account.</p>
</body></html>
"""
    return page.encode("utf-8")


def site_note() -> bytes:
    """A note from the building site, UTF-8."""
    text = """Aufmaß Kita Elbufer, 3. März 2026 (Mareike)

Gruppenraum 1: Fensterbank links 2,41 m, rechts 2,38 m, Tiefe 32 cm.
Gruppenraum 2: Heizkörper steht 6 cm vor, Blende nötig.
Garderobe: 24 Fächer, Höhe der Bank 28 cm statt 32 cm, Frau Oelrich hat zugestimmt.

Offen: Farbe der Rückwände bis Freitag klären. Schlüssel liegt beim Hausmeister Herrn Ziehm.
"""
    return text.encode("utf-8")


def disposal_note() -> bytes:
    """An old text file in Latin-1 with umlauts."""
    text = (
        "Hinweis für die Werkstatt\r\n\r\n"
        "Lackreste und getränkte Tücher gehören in den roten Behälter mit Deckel.\r\n"
        "Späne von Eiche und Buche getrennt lagern, sie werden dienstags abgeholt.\r\n"
        "Für Rückfragen: Betriebsbeauftragter Jürgen Möhlmann, Durchwahl 47.\r\n"
        "Stand: 15.01.2026\r\n"
    )
    return text.encode("latin-1")


def aunts_letter() -> bytes:
    """A Russian family letter in UTF-16 with byte order mark."""
    text = """Дорогие Клара и Йонас!

Спасибо за фотографии. Я приеду к вам поездом 14 августа 2026 года и останусь до конца месяца.
Пожалуйста, встретьте меня на вокзале в 17:40, чемодан будет тяжёлый.
Сад в этом году цветёт поздно, зато вишни много. Варенье привезу.

Обнимаю вас, тётя Вера
"""
    return text.encode("utf-16")


_TRACKED = """\
Kita Elbufer gGmbH|Kita Elbufer|Aufmaß|Yes|2026-03-03|08:00:00|11:30:00
Kita Elbufer gGmbH|Kita Elbufer|Garderoben zuschneiden|Yes|2026-03-16|07:30:00|12:00:00
Kita Elbufer gGmbH|Kita Elbufer|Garderoben verleimen|Yes|2026-03-17|07:30:00|11:00:00
Pfarrgemeinde|Bücherei Sankt Annen|Regale, Besprechung|Yes|2026-03-17|10:15:00|11:45:00
Pfarrgemeinde|Bücherei Sankt Annen|Montage|Yes|2026-03-18|08:00:00|16:30:00
||Werkstatt aufräumen|No|2026-03-20|13:00:00|14:30:00"""
_TRACKER_HEAD = (
    "User|Email|Client|Project|Task|Description|Billable|Start date|Start time|End date|End time|"
    "Duration|Tags"
)


def time_sheet() -> bytes:
    """A time tracker's export; two rows of 17 March overlap on purpose."""
    person = ["Mareike Petersen", "mareike@nordwind-objektbau.example"]
    lines: list[list[str]] = [list(_TRACKER_HEAD.split("|"))]
    for row in _TRACKED.splitlines():
        client, project, text, billable, day, start, end = row.split("|")
        minutes = _minutes(end) - _minutes(start)
        times = [day, start, day, end, f"{minutes // 60:02}:{minutes % 60:02}:00"]
        lines.append([*person, client, project, "", text, billable, *times, ""])
    return csv(lines, ",", "\n").encode("utf-8")


def _minutes(clock: str) -> int:
    hours, minutes, _ = clock.split(":")
    return int(hours) * 60 + int(minutes)


_GERMAN_STATEMENT = f"""\
Hafenbank Windmark eG|Umsatzanzeige
Konto|{grouped(NORDWIND.iban)}
Zeitraum|01.04.2026 - 30.04.2026
Anfangssaldo|12.907,18 EUR

Buchungstag|Wertstellung|Auftraggeber/Empfänger|Verwendungszweck|IBAN|Betrag|Saldo
01.04.2026|01.04.2026|{GRUNDWERK.name}|Miete April|{GRUNDWERK.iban}|-6.699,70|6.207,48
09.04.2026|09.04.2026|{KITA.name}|Rechnung NW-2026-0041||21.420,00|27.627,48
15.04.2026|15.04.2026|{LICHTWERK.name}|LW-26-1107|{LICHTWERK.iban}|-2.611,57|25.015,91
17.04.2026|17.04.2026|{HOLZKONTOR.name}|RE-2026-0318 abzgl. GS-2026-0044 zzgl. Mahngebühr\
|{HOLZKONTOR.iban}|-1.380,64|23.635,27
29.04.2026|30.04.2026|Gehälter April|Lohn und Gehalt 04/2026||-11.804,92|11.830,35"""
_FRENCH_STATEMENT = f"""\
Compte|{ATELIER.name} {grouped(ATELIER.iban)}
Solde au 28/02/2026|8 214,90
Date|Date de valeur|Libellé|Débit|Crédit
02/03/2026|02/03/2026|VIR RECU BOUTIQUE CROIX-BLANCHE ACOMPTE 2||4 800,00
06/03/2026|06/03/2026|PRLV EAUX DES DEUX COLLINES E2-774120|226,15|
13/03/2026|13/03/2026|VIR TARNFIELD HOSTING LTD TH-60418|222,00|
31/03/2026|31/03/2026|VIR SALAIRE MARS FONTENELLE|1 862,30|
Solde au 31/03/2026|10 704,45"""


def german_statement() -> bytes:
    """A German bank export: Latin-1, five lines before the head, running balance."""
    return csv([line.split("|") for line in _GERMAN_STATEMENT.splitlines()]).encode("latin-1")


def french_statement() -> bytes:
    """A French bank export: UTF-8 with byte order mark, debit and credit in two columns."""
    return csv([line.split("|") for line in _FRENCH_STATEMENT.splitlines()]).encode("utf-8-sig")


def calendar() -> bytes:
    """The handover appointment of the day nursery."""
    lines = (
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Nordwind//Bauplan//DE",
        "BEGIN:VEVENT",
        "UID:abnahme-p-2026-014@nordwind-objektbau.example",
        "DTSTAMP:20260302T080000Z",
        "DTSTART;TZID=Europe/Berlin:20260528T100000",
        "DTEND;TZID=Europe/Berlin:20260528T120000",
        "SUMMARY:Abnahme Kita Elbufer (P-2026-014)",
        "LOCATION:Strandhaferweg 2\\, 22587 Hamburg",
        "DESCRIPTION:Begehung mit Frau Oelrich. Restarbeiten notieren\\, Protokoll unterschreiben.",
        "END:VEVENT",
        "END:VCALENDAR",
    )
    return "".join(f"{line}\r\n" for line in lines).encode("utf-8")


def contact_card() -> bytes:
    """A business card as vCard 4."""
    lines = (
        "BEGIN:VCARD",
        "VERSION:4.0",
        "FN:Aylin Sander",
        "N:Sander;Aylin;;;",
        "ORG:Lichtwerk Sandkamp GmbH",
        "TITLE:Geschäftsführerin",
        "EMAIL;TYPE=work:aylin.sander@lichtwerk-sandkamp.example",
        "TEL;TYPE=work;VALUE=uri:tel:+494066969340",
        "ADR;TYPE=work:;;Am Glühfaden 4;Neumünster;;24539;Deutschland",
        "END:VCARD",
    )
    return "".join(f"{line}\r\n" for line in lines).encode("utf-8")


def till_receipt() -> Sequence[str]:
    """The lines of the hardware store's receipt."""
    return (
        "     SCHRAUBENKISTE BAUMARKT",
        "   Industriebogen 77, 22525 Hamburg",
        "      USt-IdNr. DE999250978",
        "",
        "Senkkopfschraube 4x40  500 St    12,99",
        "Montagekleber 310 ml",
        "   2 x 8,49                      16,98",
        "Schleifpapier P120, Rolle        17,35",
        "",
        "SUMME                  EUR       47,32",
        "Bar                    EUR       50,00",
        "Rückgeld               EUR        2,68",
        "",
        "MwSt 19 %   netto 39,76   MwSt 7,56",
        "",
        "11.03.2026  12:38   Bon 4471  Kasse 3",
        "   Vielen Dank für Ihren Einkauf!",
    )


def samples() -> list[Sample]:
    """Every file that is not paper, with the two notes of the people who dropped a file."""
    files = {
        f"{GERMAN}/Wartungsvertrag_Absauganlage.docx": service_contract(),
        f"{GERMAN}/Kalkulation_Kita_Elbufer.xlsx": costing(),
        f"{GERMAN}/Fahrtenbuch_2026-03.xlsx": logbook(),
        f"{GERMAN}/Lagerliste.ods": stock_list(),
        f"{GERMAN}/Einladung_Mitgliederversammlung.rtf": guild_letter(),
        f"{GERMAN}/Notiz_Aufmaß_Elbufer.txt": site_note(),
        f"{GERMAN}/Hinweis_Entsorgung.txt": disposal_note(),
        f"{GERMAN}/export_2026-03.csv": time_sheet(),
        f"{GERMAN}/Umsaetze_2026-04.csv": german_statement(),
        f"{GERMAN}/Abnahme_Kita_Elbufer.ics": calendar(),
        f"{GERMAN}/Aylin_Sander.vcf": contact_card(),
        f"{GERMAN}/image.jpg": receipt_photo(till_receipt(), seed=4471),
        f"{GERMAN}/image.jpg.intent.txt": (
            "Quittung für Schrauben und Kleber, gehört zum Projekt Kita Elbufer. "
            "Mareike hat bar ausgelegt.\n"
        ).encode(),
        f"{FRENCH}/Régularisation_charges_2025.docx": charges_letter(),
        f"{FRENCH}/invoice_TH-60418.html": hosting_invoice(),
        f"{FRENCH}/releve_2026-03.csv": french_statement(),
        f"{FRENCH}/Invoice_LARK-20931.pdf.intent.txt": (
            b"This one belongs to the Atelier, please enter it there.\n"
        ),
        f"{HOME}/Письмо_от_тёти_Веры.txt": aunts_letter(),
    }
    return [Sample(path, data) for path, data in files.items()]
