"""The words of column labels in German, French and English, read once from `lexicon.yaml`.

Belongs here: normalising labels and looking them up. Does not belong here: deciding what a column
is for; a word is evidence, the values are the other half (`proposal`).
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml

_DIGITS = re.compile(r"\d+")
_UNIT = re.compile(r"\s*[(\[][^)\]]{0,12}[)\]]\s*$")
_HUMP = re.compile(r"([a-zà-ÿ])([A-ZÀ-Þ])")
_APART = re.compile(r"[^a-z0-9#]+")
_SPLITS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "œ": "oe", "æ": "ae"})


@dataclass(frozen=True, slots=True)
class Lexicon:
    """`fields`: known words per target and field, the best first; `text_labels`: columns whose
    digits are text; `totals`: words that begin a line of sums; `apart`: words that make a label
    mean another thing than the rest of it says; `booked`, `pending`, `refused`:
    states; `archive`: columns of a listing of old papers."""

    fields: dict[str, dict[str, tuple[str, ...]]]
    text_labels: frozenset[str]
    totals: frozenset[str]
    apart: frozenset[str]
    booked: frozenset[str]
    pending: frozenset[str]
    refused: frozenset[str]
    archive: dict[str, tuple[str, ...]]


def normal_label(label: str) -> str:
    """A label for comparison: lower case, accents and signs gone, digits as `#` (TAB-08)."""
    text = unicodedata.normalize("NFC", label).strip().lower().translate(_SPLITS)
    text = unicodedata.normalize("NFD", text)
    text = "".join(sign for sign in text if not unicodedata.combining(sign))
    return _APART.sub(" ", _DIGITS.sub("#", text)).strip()


def spaced_label(label: str) -> str:
    """The normal label with words that only a capital begins apart: `accountNum`."""
    return normal_label(_HUMP.sub(r"\1 \2", label))


def bare_label(label: str) -> str:
    """The normal label without a unit in brackets: `Betrag (EUR)` is `betrag`."""
    return normal_label(_UNIT.sub("", label)) or normal_label(label)


@cache
def lexicon() -> Lexicon:
    """The shipped lexicon."""
    text = resources.files("tgv_dagster.tables").joinpath("lexicon.yaml").read_text("utf-8")
    data = yaml.safe_load(text)
    fields = {
        target: {
            name: tuple(dict.fromkeys(map(normal_label, words))) for name, words in known.items()
        }
        for target, known in data["fields"].items()
    }
    sets = ("text_labels", "totals", "apart", "booked", "pending", "refused")
    archive = {name: tuple(map(normal_label, words)) for name, words in data["archive"].items()}
    words = (frozenset(map(normal_label, data[name])) for name in sets)
    return Lexicon(fields, *words, archive=archive)


@cache
def _all_words() -> frozenset[str]:
    known = lexicon()
    words = {w for target in known.fields.values() for names in target.values() for w in names}
    return frozenset(words | known.text_labels)


@cache
def _day_words() -> frozenset[str]:
    fields = lexicon().fields.values()
    days = ("date", "end_date", "booking_date", "value_date")
    return frozenset(word for names in fields for day in days for word in names.get(day, ()))


def known_labels(labels: tuple[str, ...]) -> int:
    """How many of the labels the lexicon knows."""
    words = _all_words()
    return sum(normal_label(x) in words or bare_label(x) in words for x in labels if x.strip())


def archive_words() -> dict[str, tuple[str, ...]]:
    """Words of the columns of a listing of old papers, per field."""
    return lexicon().archive


def holds_text(label: str) -> bool:
    """Whether digits under this label are names, not quantities (account, postcode, number)."""
    words = lexicon().text_labels
    return normal_label(label) in words or bare_label(label) in words


def holds_days(label: str) -> bool:
    """Whether the label names a day, so that eight digits under it may be one."""
    words = _day_words()
    return normal_label(label) in words or bare_label(label) in words


def says_no_day(cell: str) -> bool:
    """Whether a cell of a column of days says that there is none yet: a word for what is pending,
    or a dash."""
    return normal_label(cell) in lexicon().pending or not cell.strip(" -–—")


def begins_total(cell: str) -> bool:
    """Whether a cell begins a line of sums or balances."""
    text = normal_label(cell)
    return any(text == word or text.startswith(f"{word} ") for word in lexicon().totals)
