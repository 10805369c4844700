"""A sale by chance, with what is true of it; the families of papers decide how it is printed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from tgv_dagster.deepen.evaluation.papers import OWN, written_amount
from tgv_dagster.understand.evidence import Field

LANGUAGES = ("de", "fr", "en", "it")
_RATES = {"de": (19, 7), "fr": (20, 10), "en": (20, 20), "it": (22, 10)}
_MARKS = {"de": "EUR", "fr": "€", "en": "GBP", "it": "EUR"}
_SUPPLIERS = {
    "de": ("Lauterbach Bürobedarf GmbH", "Kranich Spedition KG", "Ohlsen Elektro e.K."),
    "fr": ("Fournitures Lambert SAS", "Transports Girod SARL", "Menuiserie Colas EURL"),
    "en": ("Harrowgate Supplies Ltd", "Pennine Freight Limited", "Quillfeather Studio LLP"),
    "it": ("Forniture Bellandi Srl", "Trasporti Corvino SpA", "Ceramiche Danesi Snc"),
}
_STREETS = {
    "de": ("Lindenallee 4", "04109 Leipzig"),
    "fr": ("8 avenue Foch", "69003 Lyon"),
    "en": ("22 Canal Street", "Leeds LS1 4AB"),
    "it": ("Corso Italia 18", "20122 Milano"),
}
_STRANGERS = {
    "de": ("Hartmut Kessel Gartenbau GmbH", "Am Wall 3", "30159 Hannover"),
    "fr": ("Société Marchand et Fils SA", "2 place du Marché", "44000 Nantes"),
    "en": ("Oakridge Tooling Limited", "5 Mill Lane", "York YO1 7HU"),
    "it": ("Cantieri Rossetti SpA", "Via Dante 7", "16121 Genova"),
}
_GOODS = {
    "de": ("Regalböden", "Transport nach Aufwand", "Kabeltrommel", "Prüfung der Anlage"),
    "fr": ("Étagères métalliques", "Transport régulier", "Bobine de câble", "Contrôle annuel"),
    "en": ("Shelf boards", "Freight forwarding", "Cable drum", "Annual inspection"),
    "it": ("Ripiani metallici", "Trasporto su misura", "Bobina di cavo", "Controllo annuale"),
}


@dataclass(frozen=True, slots=True)
class Sale:
    """What a paper is about; the families decide how it is printed."""

    language: str
    supplier: str
    address: tuple[str, str]
    receiver: tuple[str, ...]
    entity: str | None
    number: str
    issued: date
    due: date
    net: Decimal
    rate: int
    goods: tuple[str, ...]
    order_number: str
    order_day: date
    trap: str = ""

    @property
    def tax(self) -> Decimal:
        """Tax to the cent."""
        return (self.net * self.rate / 100).quantize(Decimal("0.01"))

    @property
    def gross(self) -> Decimal:
        """Net and tax."""
        return self.net + self.tax

    def money(self, value: Decimal) -> str:
        """An amount as this paper prints it."""
        return written_amount(value, self.language, mark=_MARKS[self.language])

    def truth(self, **changed: str | None) -> dict[Field, str | None]:
        """What is true of the paper as an invoice; `changed` by field name."""
        entry = next((own for own in OWN if own.slug == self.entity), None)
        plain: dict[str, str | None] = {
            "doc_type": "invoice",
            "entity": self.entity,
            "provider": self.supplier,
            "invoice_number": self.number,
            "invoice_date": self.issued.isoformat(),
            "due_date": self.due.isoformat(),
            "amount_net": str(self.net),
            "amount_tax": str(self.tax),
            "amount_gross": str(self.gross),
            "currency": "GBP" if self.language == "en" else "EUR",
            "language": self.language,
        }
        if entry is not None:
            plain["direction"] = "in"
        return {Field(name): value for name, value in (plain | changed).items() if value != "-"}


Family = Callable[[Sale], tuple[str, dict[Field, str | None]]]
TRAPS = ("stranger", "order_first", "carried_over", "old_invoice", "delivery_elsewhere")


def draw(rng: random.Random, language: str, trap: str) -> Sale:
    """A sale by chance; a trap changes the receiver or adds what misleads."""
    own = rng.choice(OWN)
    street, city = own.address.split(", ", 1) if own.address else ("", "")
    receiver: tuple[str, ...] = (own.legal_name, street, city)
    entity: str | None = own.slug
    if trap == "stranger":
        receiver, entity = _STRANGERS[language], None
    issued = date(2024, 1, 1) + timedelta(days=rng.randrange(1000))
    number = rng.choice(
        (f"{issued.year}-{rng.randrange(10000, 99999)}", f"R{rng.randrange(100000, 999999)}",
         f"{rng.choice('ABKX')}{rng.choice('DEFT')}/{rng.randrange(1000, 9999)}")
    )  # fmt: skip
    return Sale(
        language=language,
        supplier=rng.choice(_SUPPLIERS[language]),
        address=_STREETS[language],
        receiver=receiver,
        entity=entity,
        number=number,
        issued=issued,
        due=issued + timedelta(days=rng.choice((10, 14, 21, 30, 45))),
        net=Decimal(rng.randrange(900, 2_500_000)) / 100,
        rate=rng.choice(_RATES[language]),
        goods=tuple(rng.sample(_GOODS[language], 2)),
        order_number=f"{rng.randrange(4_000_000, 4_999_999)}",
        order_day=issued - timedelta(days=rng.randrange(5, 60)),
        trap=trap,
    )
