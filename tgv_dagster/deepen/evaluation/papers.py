"""A labelled paper: its text, what is true of it, and where it belongs.

`truth` maps a field to its stored text; None means that the paper states none, so that any value is
wrong. A field without entry is not judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum

from tgv_dagster.store.levels import Level
from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.vocabulary import EntityEntry, Vocabulary


class Part(StrEnum):
    """Thresholds may be set on TUNING only; figures are reported on TEST."""

    TUNING = "tuning"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class LabelledPaper:
    """One paper. `is_nasty` papers hold traps on purpose; the others are the clean half.

    `folder` is the entity of the folder a paper without addressee arrives in.
    """

    name: str
    family: str
    part: Part
    language: str
    is_nasty: bool
    text: str
    truth: Mapping[Field, str | None]
    folder: str | None = None


OWN = (
    EntityEntry(
        slug="falkner",
        mandant_id=1,
        mandant_slug="nord",
        kind="company",
        legal_name="Falkner Metallbau GmbH",
        vat_ids=("DE136695976",),
        address="Schmiedegasse 12, 28195 Bremen",
        default_level=Level.INTERNAL,
    ),
    EntityEntry(
        slug="verdier",
        mandant_id=1,
        mandant_slug="nord",
        kind="company",
        legal_name="Ateliers Verdier SARL",
        vat_ids=("FR40303265045",),
        address="14 rue des Tanneurs, 67000 Strasbourg",
        default_level=Level.INTERNAL,
    ),
    EntityEntry(
        slug="tessari",
        mandant_id=1,
        mandant_slug="nord",
        kind="company",
        legal_name="Officine Tessari Srl",
        address="Via Mulino 9, 39100 Bolzano",
        default_level=Level.INTERNAL,
    ),
)
VOCABULARY = Vocabulary(OWN, ())


def written_amount(value: Decimal, language: str, *, mark: str = "") -> str:
    """An amount as a paper of this language prints it."""
    plain = f"{value:,.2f}"
    if language == "fr":
        plain = plain.replace(",", " ").replace(".", ",")
    elif language in ("de", "it"):
        plain = plain.translate(str.maketrans(",.", ".,"))
    return f"{plain} {mark}".strip()


MONTHS = {
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "en": "January February March April May June July August September October November December",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre"
    " dicembre",
}


def in_words(day: date, language: str) -> str:
    """A day with the name of its month."""
    month = MONTHS[language].split()[day.month - 1]
    if language == "de":
        return f"{day.day}. {month} {day.year}"
    first = "1er" if language == "fr" and day.day == 1 else str(day.day)
    return f"{first} {month} {day.year}"


def in_figures(day: date, language: str) -> str:
    """A day in figures, day first."""
    return f"{day:%d.%m.%Y}" if language == "de" else f"{day:%d/%m/%Y}"
