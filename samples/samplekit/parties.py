"""The invented firms, authorities and people that write to our three entities.

Own entities come from `organisation.yaml`, so that a name stands in one place only. No bank code,
VAT id or register number here is assigned to anyone; the check digits are right.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ORGANISATION = Path(__file__).parents[1] / "organisation.yaml"


@dataclass(frozen=True, slots=True)
class Firm:
    """A sender or receiver of letters; empty strings are left out on paper."""

    name: str
    street: str
    town: str
    country: str
    vat_id: str = ""
    register: str = ""
    phone: str = ""
    mail: str = ""
    bank: str = ""
    iban: str = ""
    bic: str = ""
    manager: str = ""
    siret: str = ""

    @property
    def address(self) -> tuple[str, ...]:
        """Name, street and town as the lines of an address window."""
        return self.name, self.street, self.town


def grouped(iban: str) -> str:
    """An IBAN in groups of four, as it stands on paper."""
    return " ".join(iban[start : start + 4] for start in range(0, len(iban), 4))


@cache
def _entities() -> dict[str, dict[str, Any]]:
    organisation = yaml.safe_load(ORGANISATION.read_text(encoding="utf-8"))
    return {entity["slug"]: entity for entity in organisation["entities"]}


def own(slug: str) -> Firm:
    """One of our entities as a firm; raises KeyError for a slug `organisation.yaml` lacks."""
    entity = _entities()[slug]
    address = entity["address"]
    return Firm(
        name=entity["legal_name"],
        street=address["street"],
        town=f"{address['postcode']} {address['city']}",
        country=entity["country"],
        vat_id=entity["vat_ids"][0] if entity["vat_ids"] else "",
        register=entity["register_no"] or "",
        mail=entity["intake_mail"],
        iban=entity["ibans"][0],
    )


HOLZKONTOR = Firm(
    "Holzkontor Altland GmbH",
    "Deichgrafenallee 18",
    "21129 Hamburg",
    "DE",
    vat_id="DE999200132",
    register="Amtsgericht Hamburg HRB 299201",
    phone="040 66969 180",
    mail="buchhaltung@holzkontor-altland.example",
    bank="Elbufer Handelsbank AG",
    iban="DE14999000250099201318",
    bic="XELHDEH1XXX",
    manager="Torben Quast",
)
LICHTWERK = Firm(
    "Lichtwerk Sandkamp GmbH",
    "Am Glühfaden 4",
    "24539 Neumünster",
    "DE",
    vat_id="DE999300272",
    register="Amtsgericht Kiel HRB 299302",
    phone="040 66969 340",
    mail="rechnung@lichtwerk-sandkamp.example",
    bank="Geestbank eG",
    iban="DE42999000330077300150",
    bic="XGEEDEH1XXX",
    manager="Aylin Sander",
)
BUEROKOLOSS = Firm(
    "Bürokoloss Versand GmbH",
    "Aktenkamp 101",
    "28217 Bremen",
    "DE",
    vat_id="DE999400386",
    register="Amtsgericht Bremen HRB 299403",
    phone="040 66969 410",
    mail="faktura@buerokoloss.example",
    bank="Weserkreditbank",
    iban="DE63999000410012344300",
    bic="XWESDEB1XXX",
    manager="Ole Brinkmeier",
)
TIDEWACHT = Firm(
    "Tidewacht Versicherung AG",
    "Leuchtturmplatz 1",
    "28195 Bremen",
    "DE",
    vat_id="DE999500498",
    register="Amtsgericht Bremen HRB 199504",
    phone="040 66969 500",
    mail="vertrag@tidewacht.example",
    bank="Weserkreditbank",
    iban="DE81999000580000450070",
    bic="XWESDEB1XXX",
    manager="Dr. Wiebke Aldag (Vorsitz)",
)
SPANFANG = Firm(
    "Spanfang Absaugtechnik GmbH",
    "Filterstieg 9",
    "23560 Lübeck",
    "DE",
    vat_id="DE999800710",
    register="Amtsgericht Lübeck HRB 299807",
    phone="040 66969 800",
    mail="service@spanfang.example",
    bank="Travebank eG",
    iban="DE41999000740027182818",
    bic="XTRADEH1XXX",
    manager="Heiko Lorenzen",
)
GRUNDWERK = Firm(
    "Grundwerk Windschot Immobilien KG",
    "Kontorhof 30",
    "22767 Hamburg",
    "DE",
    vat_id="DE999700661",
    register="Amtsgericht Hamburg HRA 199706",
    phone="040 66969 700",
    mail="verwaltung@grundwerk-windschot.example",
    bank="Elbufer Handelsbank AG",
    iban="DE73999000900008080800",
    bic="XELHDEH1XXX",
    manager="Friederike Vollmers",
)
KITA = Firm(
    "Kita Elbufer gGmbH", "Strandhaferweg 2", "22587 Hamburg", "DE", manager="Sabine Oelrich"
)
WATTMEER = Firm(
    "Wattmeer Energie GmbH",
    "Umspannweg 50",
    "25813 Husum",
    "DE",
    vat_id="DE999150842",
    register="Amtsgericht Flensburg HRB 299915",
    phone="040 66969 915",
    mail="kundenservice@wattmeer-energie.example",
    bank="Geestbank eG",
    iban="DE27999001160016180339",
    bic="XGEEDEH1XXX",
    manager="Nils Ketelsen",
)
BAUMARKT = Firm(
    "Schraubenkiste Baumarkt", "Industriebogen 77", "22525 Hamburg", "DE", vat_id="DE999250978"
)
FINANZAMT = Firm("Finanzamt Hamburg-Deichtor", "Steuerbrücke 5", "20097 Hamburg", "DE")
ZAHNARZT = Firm(
    "Zahnarztpraxis Dr. Imke Thode",
    "Backenzahnweg 3",
    "21129 Hamburg",
    "DE",
    phone="040 66969 032",
    mail="praxis@dr-thode.example",
    bank="Sparbund Süderdeich",
    iban="DE48999001080005550123",
    bic="XSPBDEH1XXX",
)
PERLFISCH = Firm(
    "Perlfisch Krankenzusatz VVaG",
    "Muschelgang 12",
    "24103 Kiel",
    "DE",
    register="Amtsgericht Kiel HRB 199733",
    phone="040 66969 733",
    mail="antrag@perlfisch.example",
)
FAEHRHAUS = Firm(
    "Baugenossenschaft Altes Fährhaus eG",
    "Fährhausstieg 1",
    "21129 Hamburg",
    "DE",
    register="Amtsgericht Hamburg GnR 99817",
    phone="040 66969 061",
    mail="mieter@altes-faehrhaus.example",
)
PAPETERIE = Firm(
    "Papeterie des Bruyères Bleues SARL",
    "8 rue du Papier Vergé",
    "69002 Lyon",
    "FR",
    vat_id="FR94999002025",
    register="RCS Lyon 999 002 025",
    phone="04 65 71 20 25",
    mail="compta@bruyeres-bleues.example",
    bank="Banque du Vieux Pont",
    iban="FR7699997000110002211003302",
    bic="XBVPFR21XXX",
    manager="Maud Teyssier",
    siret="999 002 025 00016",
)
FROID = Firm(
    "Froid Service des Collines SAS",
    "27 chemin de la Bise",
    "69100 Villeurbanne",
    "FR",
    vat_id="FR08999003031",
    register="RCS Lyon 999 003 031",
    phone="04 65 71 30 31",
    mail="contrats@froid-collines.example",
    bank="Banque du Vieux Pont",
    iban="FR7699996000210004433221152",
    bic="XBVPFR21XXX",
    manager="Hervé Clavel",
    siret="999 003 031 00013",
)
EAUX = Firm(
    "Eaux des Deux Collines SA",
    "3 quai du Compteur",
    "69009 Lyon",
    "FR",
    vat_id="FR49999004047",
    register="RCS Lyon 999 004 047",
    phone="04 65 71 40 47",
    mail="clients@eaux-deux-collines.example",
    bank="Banque du Vieux Pont",
    iban="FR7699995000310006655443367",
    bic="XBVPFR21XXX",
    siret="999 004 047 00018",
)
REGIE = Firm(
    "Régie Pralong et Filles SARL",
    "51 cours des Lanternes",
    "69003 Lyon",
    "FR",
    vat_id="FR54999005051",
    register="RCS Lyon 999 005 051",
    phone="04 65 71 50 51",
    mail="gestion@regie-pralong.example",
    siret="999 005 051 00019",
)
GARAGE = Firm(
    "Garage du Pont Tournant SAS",
    "6 rue de la Bielle",
    "69007 Lyon",
    "FR",
    vat_id="FR95999006067",
    register="RCS Lyon 999 006 067",
    phone="04 65 71 60 67",
    mail="atelier@pont-tournant.example",
    siret="999 006 067 00014",
)
LARKMOOR = Firm(
    "Larkmoor Software Ltd",
    "40 Quillfeather Yard",
    "London SE1 9ZZ",
    "GB",
    vat_id="GB999001197",
    register="Company No. 99001197",
    phone="+44 20 7946 0119",
    mail="billing@larkmoor.example",
    bank="Example Clearing Bank",
    iban="GB62XMPL99900112345678",
    bic="XMPLGB2LXXX",
)
TARNFIELD = Firm(
    "Tarnfield Hosting Ltd",
    "2 Rackmount Lane",
    "Sheffield S3 9ZZ",
    "GB",
    vat_id="GB999001240",
    register="Company No. 99001240",
    phone="+44 20 7946 0240",
    mail="accounts@tarnfield.example",
)
MARMI = Firm(
    "Marmi Valdisera S.r.l.",
    "Via della Cava Bianca 11",
    "54033 Carrara (MS)",
    "IT",
    vat_id="IT99010010157",
    register="REA MS-990100",
    mail="amministrazione@marmi-valdisera.example",
    bank="Banca delle Apuane Esempio",
    iban="IT87A9999999998000012345678",
    bic="XAPUIT21XXX",
)
ULIVELLA = Firm(
    "Casa Ulivella di Bruna Torchetti",
    "Salita dei Limoni 5",
    "19032 Lerici (SP)",
    "IT",
    mail="bruna@casa-ulivella.example",
    iban="IT35T9999999998000099887766",
    bank="Banca delle Apuane Esempio",
    bic="XAPUIT21XXX",
)
OREKH = Firm(
    "ТОО «Ореховая роща»",
    "ул. Грецкая, 99",
    "050099 Алматы, Казахстан",
    "KZ",
    phone="+7 727 000 01 48",
    mail="sbyt@orekh-roscha.example",
    bank="АО «Пример Банк»",
    iban="KZ149990012345678901",
    bic="XPRMKZKAXXX",
    manager="Асель Жумабаева",
)
