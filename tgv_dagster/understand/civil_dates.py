"""Civil dates: the grammar of printed calendar dates, and the order of day and month.

Here belongs what a date looks like in German, French, English, Italian, Dutch, Spanish and
Russian, in figures and in words. Which axis a date stands on belongs to `dates`. Nothing here
asks for today's date: what a document says does not depend on when it is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cache

from tgv_dagster.understand import words
from tgv_dagster.understand.amounts import Offsets

_FIRST_YEAR, _LAST_YEAR = 1900, 2099
_PIVOT = 50


class Order(StrEnum):
    """Order of the parts of a date in figures."""

    DAY_FIRST = "day_first"
    MONTH_FIRST = "month_first"


@dataclass(frozen=True, slots=True)
class RawDate:
    """A date as printed, with each calendar day it may mean.

    `day_first` and `month_first` are the readings of a date in figures; they are equal for
    writings without doubt. `certainty` is what the writing alone deserves.
    """

    span: Offsets
    day_first: date | None
    month_first: date | None
    certainty: float
    settled: bool

    @property
    def proves(self) -> Order | None:
        """The order that alone gives a calendar day."""
        if self.settled or (self.day_first is None) == (self.month_first is None):
            return None
        return Order.MONTH_FIRST if self.day_first is None else Order.DAY_FIRST


@dataclass(frozen=True, slots=True)
class ReadDate:
    """A date after the order is decided; `other` is the second reading when it is not."""

    span: Offsets
    value: date
    other: date | None
    confidence: float


@dataclass(frozen=True, slots=True)
class PartialDate:
    """A month without a day, as "YYYY-MM"; it is never completed to a day."""

    span: Offsets
    value: str


_BEFORE = r"(?<![0-9A-Za-z_])(?<![0-9][./:\-])"
_BEHIND = r"(?![./\-][0-9])"
_FIGURES = re.compile(
    _BEFORE
    + r"([0-9]{1,2})(-|\s?/\s?|\.\s{0,2})([0-9]{1,2})(-|\s?/\s?|\.\s{0,2})"
    + r"([0-9]{4}(?![0-9])|[0-9]{2}(?![0-9A-Za-z]))"
    + _BEHIND
)
_YEAR_FIRST = re.compile(
    _BEFORE + r"([0-9]{4})([./-])([0-9]{1,2})\2([0-9]{1,2})(?![0-9])" + _BEHIND
)


def parse_all(text: str, language: str | None, country: str | None) -> tuple[ReadDate, ...]:
    """Every full calendar date of a text, in order, without overlap; linear in its length.

    A day that does not exist (31.02.2020) is no date and gives none. Day and month of a date in
    figures are ordered by what other dates of the text prove, then by country, then by language;
    an impossible order yields to the other one, an undecided one is marked by `other`.
    """
    folded = words.fold(text)
    raw = list(_scan(folded))
    order = _order(raw, language, country)
    reads = [read for item in raw if (read := _read(item, order)) is not None]
    return tuple(_with_open_starts(folded, reads))


def parse_partial(text: str, taken: tuple[Offsets, ...]) -> tuple[PartialDate, ...]:
    """Months without day ("Januar 2020", "01/2020", "2020-01") outside the spans in `taken`."""
    folded = words.fold(text)
    blocked = sorted(taken)
    found: list[PartialDate] = []
    position = 0
    for match in _grammar().month_year.finditer(folded):
        while position < len(blocked) and blocked[position][1] <= match.start():
            position += 1
        if position < len(blocked) and blocked[position][0] < match.end():
            continue
        month = _month_number(match)
        year = int(match["year"] or match["figure_year"] or match["iso_year"])
        if 1 <= month <= 12 and _FIRST_YEAR <= year <= _LAST_YEAR:
            found.append(PartialDate(match.span(), f"{year:04d}-{month:02d}"))
    return tuple(found)


def _month_number(match: re.Match[str]) -> int:
    if match["month"]:
        return _grammar().months[match["month"]]
    return int(match["figure_month"] or match["iso_month"])


@dataclass(frozen=True, slots=True)
class _Grammar:
    """Patterns in words, built from the month names."""

    day_month: re.Pattern[str]
    month_day: re.Pattern[str]
    month_year: re.Pattern[str]
    open_start: re.Pattern[str]
    months: dict[str, int]


_DAY = r"(?P<day>[0-9]{1,2}|premier|primo)"
_ORDINAL = r"(?:\.|er|st|nd|rd|th|°|ª)?"
_YEAR = r"(?P<year>[0-9]{4})(?![0-9])"
_ANY_DAY = {"premier": 1, "primo": 1}


@cache
def _grammar() -> _Grammar:
    months = _month_names()
    names = "|".join(sorted((re.escape(name) for name in months), key=len, reverse=True))
    month = rf"(?P<month>{names})(?![^\W\d_])\.?"
    linked = r"(?:\s{0,2}(?:of |de |den |di )?|[-/])"
    short = r"\s?[-/.'](?P<short>[0-9]{2})(?![0-9A-Za-z])"
    half = (
        rf"{_BEFORE}(?:(?P<day>[0-9]{{1,2}})(?:\.\s?(?P<figure>[0-9]{{1,2}})\.?|{_ORDINAL})"
        rf"(?:\s{month})?|(?P<month_before>{names})\.?\s(?P<day_behind>[0-9]{{1,2}}))"
    )
    return _Grammar(
        day_month=re.compile(
            rf"{_BEFORE}{_DAY}{_ORDINAL}{linked}{month}"
            rf"(?:,?[\s\-/.]{{0,3}}(?:de |del )?{_YEAR}|{short}){_BEHIND}"
        ),
        month_day=re.compile(
            rf"(?<![0-9A-Za-z_]){month}\s{{1,2}}(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?"
            rf"(?:\s?,\s{{0,2}}|\s){_YEAR}{_BEHIND}"
        ),
        month_year=re.compile(
            rf"(?<![0-9A-Za-z_]){month}\s{{1,2}}(?:de )?{_YEAR}(?![.,/\-][0-9])"
            rf"|{_BEFORE}(?P<figure_month>[0-9]{{1,2}})/(?P<figure_year>[0-9]{{4}})(?![0-9]){_BEHIND}"
            rf"|{_BEFORE}(?P<iso_year>[0-9]{{4}})-(?P<iso_month>[0-9]{{2}})(?![0-9A-Za-z]){_BEHIND}"
        ),
        open_start=re.compile(
            rf"(?P<half>{half})\s{{0,2}}(?:-|bis|au|to|al|until|t/m|по)\s{{0,2}}$"
        ),
        months=months,
    )


def _month_names() -> dict[str, int]:
    months: dict[str, int] = {}
    for languages in words.load("months")["months"].values():
        for number, variants in enumerate(languages, start=1):
            for name in variants:
                for spelled in words.spellings(name):
                    months[spelled] = number
    return months


def _scan(folded: str) -> Iterator[RawDate]:
    """Dates of every writing, ordered by place; the earlier and longer one wins an overlap."""
    found = [
        *_in_figures(folded),
        *_year_first(folded),
        *_in_words(folded, _grammar().day_month),
        *_in_words(folded, _grammar().month_day),
    ]
    position = 0
    for item in sorted(found, key=lambda raw: (raw.span[0], -raw.span[1])):
        if item.span[0] >= position:
            position = item.span[1]
            yield item


def _in_figures(folded: str) -> Iterator[RawDate]:
    for match in _FIGURES.finditer(folded):
        first, mark, second, second_mark, year_text = match.groups()
        if mark.strip() != second_mark.strip():
            continue
        year = _full_year(year_text)
        day_first = calendar_day(year, int(second), int(first))
        month_first = calendar_day(year, int(first), int(second))
        if day_first is None and month_first is None:
            continue
        certainty = 0.98 if len(year_text) == 4 else 0.93
        dotted = mark.strip() == "."
        if dotted and day_first is not None:
            month_first = day_first
        settled = day_first == month_first
        yield RawDate(match.span(), day_first, month_first, certainty, settled)


def _year_first(folded: str) -> Iterator[RawDate]:
    for match in _YEAR_FIRST.finditer(folded):
        value = calendar_day(int(match[1]), int(match[3]), int(match[4]))
        if value is not None:
            yield RawDate(match.span(), value, value, 0.99, True)


def _in_words(folded: str, pattern: re.Pattern[str]) -> Iterator[RawDate]:
    for match in pattern.finditer(folded):
        parts = match.groupdict()
        year = _full_year(parts["year"] or parts["short"])
        day = _ANY_DAY.get(parts["day"]) or int(parts["day"])
        value = calendar_day(year, _grammar().months[parts["month"]], day)
        if value is not None:
            yield RawDate(match.span(), value, value, 0.99, True)


def _full_year(text: str) -> int:
    year = int(text)
    if len(text) == 4:
        return year
    return year + (2000 if year < _PIVOT else 1900)


def calendar_day(year: int, month: int, day: int) -> date | None:
    """The calendar day, None when it does not exist or lies outside 1900..2099."""
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        return None
    try:
        return date(year, month, day)
    except ValueError:
        return None


_MONTH_FIRST_COUNTRIES = frozenset({"US"})
_MIXED_COUNTRIES = frozenset({"CA", "PH"})


def _order(raw: list[RawDate], language: str | None, country: str | None) -> Order | None:
    """The order of day and month in this text, None when the evidence does not settle it."""
    proven = {item.proves for item in raw} - {None}
    usual = _usual_order(language, country)
    if len(proven) > 1:
        return None
    if proven:
        shown = proven.pop()
        return shown if language in (None, "en") or usual == shown else None
    return usual


def _usual_order(language: str | None, country: str | None) -> Order | None:
    if country in _MONTH_FIRST_COUNTRIES:
        return Order.MONTH_FIRST
    if country is not None and country not in _MIXED_COUNTRIES:
        return Order.DAY_FIRST
    if country is not None or language in (None, "en"):
        return None
    return Order.DAY_FIRST


def _read(raw: RawDate, order: Order | None) -> ReadDate | None:
    day_first, month_first = raw.day_first, raw.month_first
    if day_first is None or month_first is None:
        value = day_first or month_first
        if value is None:
            return None
        certainty = min(raw.certainty, 0.85) if raw.proves is Order.MONTH_FIRST else raw.certainty
        return ReadDate(raw.span, value, None, certainty)
    if raw.settled:
        return ReadDate(raw.span, day_first, None, raw.certainty)
    if order is None:
        return ReadDate(raw.span, day_first, month_first, 0.4)
    value = day_first if order is Order.DAY_FIRST else month_first
    return ReadDate(raw.span, value, None, min(raw.certainty, 0.93))


_LOOK_BACK = 28


def _with_open_starts(folded: str, reads: list[ReadDate]) -> Iterator[ReadDate]:
    """The dates, each preceded by the shortened start of its span ("1er au 31 juillet 2015")."""
    floor = 0
    for read in reads:
        begin = max(floor, read.span[0] - _LOOK_BACK)
        match = _grammar().open_start.search(folded[begin : read.span[0]])
        start = None if match is None else _completed(match, read)
        if match is not None and start is not None:
            place = (begin + match.start("half"), begin + match.end("half"))
            yield ReadDate(place, start, None, read.confidence * 0.95)
        yield read
        floor = read.span[1]


def _completed(match: re.Match[str], end: ReadDate) -> date | None:
    """The start of a span whose year, or year and month, stand only at its end."""
    if end.other is not None:
        return None
    name = match["month"] or match["month_before"]
    if name is not None:
        month = _grammar().months[name]
    elif match["figure"] is not None:
        month = int(match["figure"])
    else:
        month = end.value.month
    day = int(match["day"] or match["day_behind"])
    start = calendar_day(end.value.year, month, day)
    if start is not None and start > end.value:
        return calendar_day(end.value.year - 1, month, day)
    return start
