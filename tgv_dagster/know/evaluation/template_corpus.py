"""A stock of near-duplicates: invoices and letters from few templates, one window each.

Shared by the evaluation and the benchmarks of retrieval. Random or clustered vectors would hide
what templates show: thousands of passages that differ in a name, a thing and a number. Same seed,
same stock.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

LONGEST = 300

_TEMPLATES = {
    "de": (
        "Rechnung Nr. {no} der {firm}, {town}, vom {day}.{month}.2026. Wir berechnen Ihnen für "
        "{thing_de} den Betrag von {amount} Euro. Zahlbar innerhalb von {days} Tagen ohne Abzug. "
        "Bitte geben Sie bei Zahlung die Rechnungsnummer an.",
        "Lieferschein {no}. Die {firm} aus {town} lieferte am {day}.{month}.2026 {thing_de}. Die "
        "Ware wurde vollständig und ohne sichtbare Mängel übernommen. Empfang bestätigt.",
        "Mahnung zur Rechnung {no}: Für {thing_de} der {firm}, {town}, stehen noch {amount} Euro "
        "offen. Wir bitten um Ausgleich bis zum {day}.{month}.2026.",
        "Angebot {no} der {firm} in {town}: {thing_de} zum Preis von {amount} Euro netto, gültig "
        "bis {day}.{month}.2026, Lieferzeit {days} Tage nach Auftrag.",
    ),
    "fr": (
        "Facture n° {no} de {firm}, {town}, du {day}/{month}/2026. Nous vous facturons {thing_fr} "
        "pour un montant de {amount} euros, payable sous {days} jours sans escompte.",
        "Bon de livraison {no}. La société {firm} de {town} a livré {thing_fr} le "
        "{day}/{month}/2026. La marchandise a été reçue complète et sans défaut apparent.",
        "Relance de la facture {no} : {amount} euros restent dus à {firm}, {town}, pour "
        "{thing_fr}. Merci de régler avant le {day}/{month}/2026.",
    ),
}

_THINGS = (
    ("Brennholz aus Buche", "du bois de chauffage", "Brennholz"),
    ("drei Fenster aus Eiche", "trois fenêtres en chêne", "Eichenfenster"),
    ("die Reparatur der Heizung", "la réparation du chauffage", "Heizungsreparatur"),
    ("Strom für das Büro", "l'électricité du bureau", "Stromlieferung"),
    ("Druckerpapier und Toner", "du papier et du toner", "Druckerpapier"),
    ("die Reinigung der Treppen", "le nettoyage des escaliers", "Treppenreinigung"),
    ("einen Satz Winterreifen", "un jeu de pneus d'hiver", "Winterreifen"),
    ("die Wartung des Aufzugs", "l'entretien de l'ascenseur", "Aufzugswartung"),
    ("zwei Bürostühle", "deux chaises de bureau", "Bürostühle"),
    ("die Miete der Lagerhalle", "le loyer de l'entrepôt", "Lagermiete"),
    ("Farbe und Pinsel", "de la peinture et des pinceaux", "Malerbedarf"),
    ("die Beratung zur Steuer", "le conseil fiscal", "Steuerberatung"),
    ("Kies für die Einfahrt", "du gravier pour l'allée", "Kies"),
    ("eine Dachrinne aus Zink", "une gouttière en zinc", "Dachrinne"),
    ("den Transport der Möbel", "le transport des meubles", "Möbeltransport"),
    ("Schrauben und Dübel", "des vis et des chevilles", "Schrauben"),
)
THING_NAMES = tuple(name for _, _, name in _THINGS)
_FIRST = (
    "Nord", "Süd", "West", "Ost", "Hafen", "Berg", "Tal", "Wald", "See", "Stein", "Linden", "Ahorn",
    "Birken", "Falken", "Adler", "Möwen", "Sonnen", "Mond", "Sternen", "Brunnen",
)  # fmt: skip
_SECOND = (
    "licht", "werk", "bau", "haus", "hof", "garten", "technik", "handel", "markt", "mühle",
    "stall", "feld", "bach", "ufer", "grund", "platz", "tor", "turm", "brücke", "weg",
)  # fmt: skip
_FORMS = ("GmbH", "SARL", "KG", "AG", "OHG", "e.K.")
TOWNS = (
    "Hamburg", "Lyon", "Kiel", "Bremen", "Nantes", "Köln", "Metz", "Ulm", "Lille", "Mainz",
    "Trier", "Reims",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Passage:
    """One chunk of the stock, with what distinguishes it."""

    text: str
    language: str
    firm: str
    thing: str
    number: str

    @property
    def question(self) -> str:
        """A German question that this passage answers, whatever its language."""
        return f"Was haben wir von {self.firm} zu {self.thing} unter Nummer {self.number}?"


def passages(count: int, *, seed: int = 1) -> list[Passage]:
    """`count` passages, at most `LONGEST` characters each; no two are equal."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        language = chance.choice(("de", "de", "fr"))
        firm = f"{chance.choice(_FIRST)}{chance.choice(_SECOND)} {chance.choice(_FORMS)}"
        thing_de, thing_fr, thing = chance.choice(_THINGS)
        told = f"{chance.randint(10, 99)}-{number:06d}"
        text = chance.choice(_TEMPLATES[language]).format(
            no=told,
            firm=firm,
            town=chance.choice(TOWNS),
            day=chance.randint(1, 28),
            month=chance.randint(1, 12),
            thing_de=thing_de,
            thing_fr=thing_fr,
            amount=f"{chance.randint(20, 9000)},{chance.randint(0, 99):02d}",
            days=chance.choice((7, 10, 14, 21, 30)),
        )
        made.append(Passage(text[:LONGEST], language, firm, thing, told))
    return made
