"""A contract by chance, with what is true of it; the families of papers decide how it reads."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from tgv_dagster.deepen.evaluation.papers import OWN
from tgv_dagster.understand.evidence import Field

TRAPS = ("signed", "older", "reference", "founded", "long")
_OTHERS = {
    "de": ("Hausverwaltung Seidel GmbH", "Turmstraße 1, 10559 Berlin"),
    "fr": ("Immobilière Garance SAS", "3 rue Verte, 59000 Lille"),
    "en": ("Bramley Estates Limited", "9 Quay Street, Bristol BS1 4DJ"),
    "it": ("Immobiliare Ponte Srl", "Via Roma 2, 40121 Bologna"),
}
MONTHS_WORDS = {
    "de": {1: "ein Monat", 2: "zwei Monate", 3: "drei Monate", 6: "sechs Monate"},
    "fr": {1: "un mois", 2: "deux mois", 3: "trois mois", 6: "six mois"},
    "en": {1: "one month", 2: "two months", 3: "three months", 6: "six months"},
    "it": {1: "un mese", 2: "due mesi", 3: "tre mesi", 6: "sei mesi"},
}
OF_MONTHS = {
    "de": {1: "einem Monat", 2: "zwei Monaten", 3: "drei Monaten", 6: "sechs Monaten"},
    "fr": MONTHS_WORDS["fr"],
    "en": MONTHS_WORDS["en"],
    "it": MONTHS_WORDS["it"],
}


@dataclass(frozen=True, slots=True)
class Deal:
    """What a contract says; `end` None = it names no last day."""

    language: str
    own: str
    other: str
    other_address: str
    start: date
    end: date | None
    notice_months: int
    renews: bool | None
    signed: date
    older: date
    trap: str

    def truth(self, doc_type: str, **changed: str | None) -> dict[Field, str | None]:
        """What is true of the paper; a contract that renews or has no end states no end."""
        plain: dict[str, str | None] = {
            "doc_type": doc_type,
            "entity": next(own.slug for own in OWN if own.legal_name == self.own),
            "contract_start_date": self.start.isoformat(),
            "contract_end_date": None if self.end is None else self.end.isoformat(),
            "notice_period_days": str(self.notice_months * 30),
            "language": self.language,
        }
        if self.renews is not None:
            plain["auto_renewal"] = str(self.renews).lower()
        return {Field(name): value for name, value in (plain | changed).items() if value != "-"}


Family = Callable[[Deal], tuple[str, dict[Field, str | None]]]


def draw(rng: random.Random, language: str, trap: str) -> Deal:
    """A contract by chance."""
    own = rng.choice(OWN)
    other, address = _OTHERS[language]
    start = date(2018 + rng.randrange(9), rng.randrange(1, 13), rng.choice((1, 1, 1, 15)))
    years = rng.choice((1, 2, 3, 5))
    has_end = rng.random() < 0.5
    last = date(start.year + years, start.month, start.day) - timedelta(days=1)
    return Deal(
        language=language,
        own=own.legal_name,
        other=other,
        other_address=address,
        start=start,
        end=last if has_end else None,
        notice_months=rng.choice((1, 2, 3, 6)),
        renews=None if not has_end else rng.random() < 0.4,
        signed=start - timedelta(days=rng.randrange(6, 40)),
        older=start - timedelta(days=rng.randrange(400, 3000)),
        trap=trap,
    )
