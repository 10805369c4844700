"""Texts of the pages: one gettext catalogue per language, by key, and which language a reader gets.

The catalogues are read as they are written (`locale/<language>.po`), so there is no build step.
Does not belong here: what a page shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from types import MappingProxyType
from zoneinfo import ZoneInfo

from babel import Locale
from babel.dates import format_date, format_datetime
from babel.messages.pofile import read_po
from babel.numbers import format_decimal
from fastapi import Request

from tgv_dagster.understand.values import YES_OR_NO

LANGUAGES = ("de", "fr", "en")
FALLBACK = "en"
LANGUAGE_COOKIE = "tgv_language"
LOCALES = Path(__file__).parent / "locale"
ZONE = ZoneInfo("Europe/Berlin")
"""Moments are shown in the time of both countries the product is made for."""


@cache
def texts(language: str) -> Mapping[str, str]:
    """Every text of a language by its key; KeyError for a language that is not ours."""
    if language not in LANGUAGES:
        raise KeyError(language)
    with (LOCALES / f"{language}.po").open("rb") as stream:
        catalogue = read_po(stream, locale=language)
    return MappingProxyType({str(m.id): str(m.string) for m in catalogue if m.id})


def language_of(request: Request) -> str:
    """The language the reader chose, else the best by Accept-Language (RFC 9110, 12.5.4)."""
    chosen = request.cookies.get(LANGUAGE_COOKIE)
    if chosen in LANGUAGES:
        return chosen
    best, best_weight = FALLBACK, 0.0
    for item in request.headers.get("accept-language", "").split(","):
        tag, _, parameter = item.strip().partition(";")
        language = tag.strip().lower().split("-")[0]
        weight = _weight(parameter)
        if language in LANGUAGES and weight > best_weight:
            best, best_weight = language, weight
    return best


def _weight(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if not name:
        return 1.0
    try:
        weight = float(value) if name.strip() == "q" else 0.0
    except ValueError:
        return 0.0
    return weight if 0 <= weight <= 1 else 0.0


_GROUP_OF = {"confidentiality_level": "level", **dict.fromkeys(map(str, YES_OR_NO), "yes_or_no")}
"""Fields whose words are labelled under another name than their own."""


class Speaker:
    """Texts, labels, dates and numbers in one language, as the templates use them."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._texts = texts(language)
        self._locale = Locale.parse("en_GB" if language == "en" else language)

    def say(self, key: str, **values: object) -> str:
        """The text of a key with its values put in (`%(name)s`); KeyError when there is none."""
        text = self._texts[key]
        return text % values if values else text

    def label(self, group: str, word: str | None) -> str:
        """The text of a word of a closed set; a word we do not know stands for itself."""
        return self._texts.get(f"{group}.{word}", word or "–")

    def knows(self, key: str) -> bool:
        """Whether there is a text of this key."""
        return key in self._texts

    def day(self, value: date | str | None) -> str:
        """A day as people write it; what is no day stands as it is."""
        if isinstance(value, str):
            try:
                value = date.fromisoformat(value)
            except ValueError:
                return str(value)
        return "–" if value is None else format_date(value, "medium", locale=self._locale)

    def shown(self, field: str, value: str | None) -> str:
        """A stored value as people read it: days and words of closed sets; others as they are."""
        if value is None:
            return "–"
        group = _GROUP_OF.get(field, field)
        if self.knows(f"{group}.{value}"):
            return self.label(group, value)
        try:
            if "T" in value:
                return self.moment(datetime.fromisoformat(value))
            return self.day(value) if "date" in field or "deadline" in field else value
        except ValueError:
            return value

    def moment(self, value: datetime | None) -> str:
        """A moment with its minutes, in `ZONE`."""
        if value is None:
            return "–"
        return format_datetime(value, "short", tzinfo=ZONE, locale=self._locale)

    def number(self, value: Decimal | float | None) -> str:
        """A number with the separators of the language."""
        return "–" if value is None else format_decimal(value, locale=self._locale)
