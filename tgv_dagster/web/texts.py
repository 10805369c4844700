"""Texts of the pages: one gettext catalogue per language, by key, and which language a reader gets.

The catalogues are read as they are written (`locale/<language>.po`), so there is no build step.
Does not belong here: what a page shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from zoneinfo import ZoneInfo

from babel import Locale
from babel.dates import format_date, format_datetime
from babel.messages.pofile import read_po
from babel.numbers import format_decimal, get_currency_precision, get_decimal_symbol
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
        return "–" if value is None else _day(value, self._locale)

    def shown(self, field: str, value: str | None) -> str:
        """A stored value as people read it: days and words of closed sets; others as they are."""
        if value is None:
            return "–"
        if field.startswith("amount_"):
            return self._amount_of(value)
        group = _GROUP_OF.get(field, field)
        if self.knows(f"{group}.{value}"):
            return self.label(group, value)
        try:
            if "T" in value:
                return self.moment(datetime.fromisoformat(value))
            return self.day(value) if "date" in field or "deadline" in field else value
        except ValueError:
            return value

    def _amount_of(self, text: str) -> str:
        try:
            value = Decimal(text)
        except InvalidOperation:
            return text
        return self.money(value) if value.is_finite() else text

    def moment(self, value: datetime | None) -> str:
        """A moment with its minutes, in `ZONE`."""
        if value is None:
            return "–"
        return _moment(value, self._locale)

    def number(self, value: Decimal | float | None) -> str:
        """A number with the separators of the language."""
        return "–" if value is None else format_decimal(value, locale=self._locale)

    @property
    def decimal_mark(self) -> str:
        """What stands before decimals in this language."""
        return get_decimal_symbol(self._locale)

    def money(self, value: Decimal | None, currency: str | None = None) -> str:
        """An amount with the decimals of its currency (two where it is not known) and its code."""
        if value is None:
            return "–"
        amount = _amount(value, minor_units(currency), self._locale)
        return f"{amount}\u00a0{currency}" if currency else amount


def minor_units(currency: str | None) -> int:
    """How many decimals an amount of this currency has (ISO 4217)."""
    return 2 if currency is None else get_currency_precision(currency)


_MANY = 4096
"""Days and amounts repeat on a page and between pages; writing one costs more than a look-up."""


@lru_cache(_MANY)
def _day(value: date, locale: Locale) -> str:
    return format_date(value, "medium", locale=locale)


@lru_cache(_MANY)
def _moment(value: datetime, locale: Locale) -> str:
    return format_datetime(value, "short", tzinfo=ZONE, locale=locale)


@lru_cache(_MANY)
def _amount(value: Decimal, decimals: int, locale: Locale) -> str:
    places = "0" * decimals
    # Digits that the currency does not have are shown rather than dropped.
    pattern = f"#,##0.{places}{'#' * 6}" if places else f"#,##0.{'#' * 6}"
    return format_decimal(value + 0, pattern, locale=locale)
