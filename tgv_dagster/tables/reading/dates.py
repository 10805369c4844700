"""Dates and times as people write them, per column: which readings fit every cell.

Each reading is a strict form. Day first, month first and year first are all tried where a file can
mean them; what the cells do not rule out is a question (domain notes A2). Times of day and
durations are told apart by their size only.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import StrEnum

import polars as pl


class TimeKind(StrEnum):
    """What the cells of a reading are."""

    DATE = "date"
    DATETIME = "datetime"
    TIME = "time"
    DURATION = "duration"


@dataclass(frozen=True, slots=True)
class Form:
    """One way to write a date or time. `short` years have two digits and are always asked."""

    key: str
    kind: TimeKind
    pattern: str
    formats: tuple[str, ...]
    short: bool = False


_CLOCK = r"\d{1,2}:\d{2}"
_SECONDS = r"(?::\d{2})"
_MIDNIGHT = r"24:00(?::00)?"
"""How the end of a day is written (ISO 8601): the first moment of the next one."""

_DAYS = (
    ("Y-m-d", r"\d{4}-\d{1,2}-\d{1,2}", "%Y-%m-%d", False),
    ("Y/m/d", r"\d{4}/\d{1,2}/\d{1,2}", "%Y/%m/%d", False),
    ("Y.m.d", r"\d{4}\.\d{1,2}\.\d{1,2}", "%Y.%m.%d", False),
    ("d.m.Y", r"\d{1,2}\.\d{1,2}\.\d{4}", "%d.%m.%Y", False),
    ("d.m.y", r"\d{1,2}\.\d{1,2}\.\d{2}", "%d.%m.%y", True),
    ("y.m.d", r"\d{2}\.\d{1,2}\.\d{1,2}", "%y.%m.%d", True),
    ("d/m/Y", r"\d{1,2}/\d{1,2}/\d{4}", "%d/%m/%Y", False),
    ("m/d/Y", r"\d{1,2}/\d{1,2}/\d{4}", "%m/%d/%Y", False),
    ("d/m/y", r"\d{1,2}/\d{1,2}/\d{2}", "%d/%m/%y", True),
    ("m/d/y", r"\d{1,2}/\d{1,2}/\d{2}", "%m/%d/%y", True),
    ("y/m/d", r"\d{2}/\d{1,2}/\d{1,2}", "%y/%m/%d", True),
    ("d-m-Y", r"\d{1,2}-\d{1,2}-\d{4}", "%d-%m-%Y", False),
    ("m-d-Y", r"\d{1,2}-\d{1,2}-\d{4}", "%m-%d-%Y", False),
    ("d-m-y", r"\d{1,2}-\d{1,2}-\d{2}", "%d-%m-%y", True),
    ("y-m-d", r"\d{2}-\d{1,2}-\d{1,2}", "%y-%m-%d", True),
)
COMPACT = Form("Ymd", TimeKind.DATE, r"^\s*(?:19|20)\d{6}\s*$", ("%Y%m%d",))
"""Eight digits: only tried for a column that is meant to hold dates."""

NAMED = Form("d month Y", TimeKind.DATE, r"^\s*\d{1,2}(?:er|\.)?[ -]\p{L}{3,9}\.?[ -]\d{4}\s*$", ())
"""Month by name in German, French or English."""

FORMS: tuple[Form, ...] = (
    *(Form(k, TimeKind.DATE, rf"^\s*{p}\s*$", (f,), s) for k, p, f, s in _DAYS),
    *(
        Form(
            f"{k} H:M",
            TimeKind.DATETIME,
            rf"^\s*{p}[ T]{_CLOCK}{_SECONDS}?(?:\.\d+)?\s*$",
            (f"{f} %H:%M:%S%.f", f"{f} %H:%M"),
            s,
        )
        for k, p, f, s in _DAYS
    ),
    Form(
        "ISO zone",
        TimeKind.DATETIME,
        rf"^\s*\d{{4}}-\d\d-\d\d[ T]{_CLOCK}{_SECONDS}?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)\s*$",
        (),
    ),
    Form("H:M", TimeKind.TIME, r"^\s*(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?\s*$", ()),
    Form("H:M AM", TimeKind.TIME, r"^\s*(?:0?\d|1[0-2]):[0-5]\d(?::[0-5]\d)? ?[AaPp][Mm]\s*$", ()),
    Form("HhM", TimeKind.TIME, r"^\s*(?:[01]?\d|2[0-3]) ?[hH] ?(?:[0-5]\d)?\s*$", ()),
    Form(
        "H:M 24",
        TimeKind.TIME,
        rf"^\s*(?:(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?|{_MIDNIGHT})\s*$",
        (),
    ),
    Form(
        "HhM 24",
        TimeKind.TIME,
        r"^\s*(?:(?:[01]?\d|2[0-3]) ?[hH] ?(?:[0-5]\d)?|24 ?[hH] ?(?:00)?)\s*$",
        (),
    ),
    Form("H:M long", TimeKind.DURATION, r"^\s*-?\d{1,4}:[0-5]\d(?::[0-5]\d)?\s*$", ()),
    Form("HhM long", TimeKind.DURATION, r"^\s*-?\d{1,4} ?[hH] ?(?:[0-5]\d)?\s*$", ()),
    NAMED,
)
_HOURS = r"(?:h|hrs?|hours?|std|stunden?|heures?)\.?"
_MINUTES = r"(?:m|mins?|minutes?|minuten?|mn)\.?"
_SHORT = r"(?:s|secs?|seconds?|sek|sekunden?|secondes?)\.?"
UNITS = Form(
    "length in words",
    TimeKind.DURATION,
    rf"(?i)^\s*-?(?:\d{{1,4}} ?{_HOURS}(?:,? ?\d{{1,2}} ?{_MINUTES})?(?:,? ?\d{{1,2}} ?{_SHORT})?"
    rf"|\d{{1,5}} ?{_MINUTES}(?:,? ?\d{{1,2}} ?{_SHORT})?|\d{{1,6}} ?{_SHORT}"
    r"|PT(?:\d{1,4}H)?(?:\d{1,5}M)?(?:\d{1,6}(?:\.\d+)?S)?)\s*$",
    (),
)
"""Lengths with their units (`1h 30m`, `45 Min.`, `PT1H30M`): tried where no other form fits."""

_TELLS_TIME = rf"(?i)\d ?(?:{_HOURS}|mins?|minutes?|minuten?|mn|secs?|sek)|PT\d"
"""One cell at least has to say so: `45 m` alone may be metres, `30 s` a model."""

_BY_KEY = {form.key: form for form in (*FORMS, COMPACT, UNITS)}

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "januar janvier january jan janv jaenner",
            "februar fevrier february feb fevr fev",
            "maerz mars march mar mrz maer",
            "april avril apr avr",
            "mai may",
            "juni juin june jun",
            "juli juillet july jul juil",
            "august aout aug",
            "september septembre sep sept",
            "oktober octobre october okt oct",
            "november novembre nov",
            "dezember decembre december dez dec",
        ),
        start=1,
    )
    for name in names.split()
}
_HEAD = 64
_NAMED_PARTS = re.compile(r"\s*(\d{1,2})(?:er|\.)?[ -]([^\W\d_]+)\.?[ -](\d{4})\s*")


def form(key: str) -> Form:
    """The form of this key. Raises KeyError."""
    return _BY_KEY[key]


def fitting_forms(cells: pl.Series, *, compact: bool = False) -> tuple[str, ...]:
    """Keys of the forms that fit every cell of a column (a String series without blanks).

    Forms that give the same values everywhere share one entry, the first.
    """
    head = cells.head(_HEAD)
    tried = [f for f in (*FORMS, *((COMPACT,) if compact else ())) if _fits(head, f)]
    found: dict[str, pl.Series] = {}
    for one in tried:
        if one.key.removesuffix(" long").removesuffix(" 24") in found.keys() - {one.key}:
            continue
        read = values(cells, one)
        if read.null_count() or any(
            read.dtype == k.dtype and read.equals(k) for k in found.values()
        ):
            continue
        found[one.key] = read
    if not found and _fits(head, UNITS) and bool(cells.str.contains(_TELLS_TIME).any()):
        return () if values(cells, UNITS).null_count() else (UNITS.key,)
    return tuple(found)


def values(cells: pl.Series, form: Form) -> pl.Series:
    """Values of cells; null where a cell does not fit the form (or is empty).

    Dates are Date, moments are Datetime without a zone (UTC when the form has one), times of day
    are Time, durations are Duration. Times that may name the end of a day are a Duration since its
    beginning; a moment written so is the first of the next day.
    """
    fitting = cells.to_frame("c").select(
        pl.when(pl.col("c").str.contains(form.pattern)).then(pl.col("c").str.strip_chars())
    )
    text = fitting.to_series().alias(cells.name)
    if not form.formats:
        return _by_value(text, form)
    if form.kind is TimeKind.DATE:
        return text.str.to_date(form.formats[0], strict=False)
    text = text.str.replace("T", " ", literal=True)
    if not text.str.contains(" 24:", literal=True).any():
        return _moments(text, form)
    midnight = text.str.contains(rf" {_MIDNIGHT}$").fill_null(False)
    moments = _moments(text.str.replace(rf" {_MIDNIGHT}$", " 00:00:00"), form)
    return moments.dt.offset_by("1d").zip_with(midnight, moments)


def ending(key: str) -> str:
    """The form that reads what this one reads, and 24:00 as the end of the day besides."""
    return f"{key} 24" if f"{key} 24" in _BY_KEY else key


def lasting(key: str) -> str:
    """The form that reads what this one reads, and lengths of a day or more besides."""
    long = f"{key.removesuffix(' 24')} long"
    return long if long in _BY_KEY else key


def _moments(text: pl.Series, form: Form) -> pl.Series:
    read = text.str.to_datetime(form.formats[0], time_unit="us", strict=False)
    if read.null_count() == text.null_count():
        return read
    short = text.str.to_datetime(form.formats[1], time_unit="us", strict=False)
    return read.fill_null(short)


def shown(cell: str, key: str) -> str:
    """One cell as this form has it, for a question."""
    value = values(pl.Series([cell]), form(key)).item()
    return "" if value is None else str(value)


def _fits(head: pl.Series, form: Form) -> bool:
    return bool(head.str.contains(form.pattern).all())


def _by_value(text: pl.Series, form: Form) -> pl.Series:
    """Forms without a format of the library: each distinct cell is read once."""
    read, dtype = _READERS[form.key]
    distinct = text.drop_nulls().unique()
    table = pl.DataFrame(
        {"cell": distinct, "value": pl.Series([read(c) for c in distinct], dtype=dtype)}
    )
    joined = text.to_frame("cell").join(table, on="cell", how="left", maintain_order="left")
    return joined.to_series(1).alias(text.name)


def _named(cell: str) -> date | None:
    match = _NAMED_PARTS.fullmatch(cell)
    assert match is not None
    folded = unicodedata.normalize("NFD", match.group(2).lower().replace("ä", "ae"))
    name = "".join(sign for sign in folded if not unicodedata.combining(sign))
    month = _MONTHS.get(name)
    try:
        return date(int(match.group(3)), month, int(match.group(1))) if month else None
    except ValueError:
        return None


def _moment(cell: str) -> datetime | None:
    try:
        aware = datetime.fromisoformat(cell.replace("Z", "+00:00"))
    except ValueError:
        return None
    return (aware - (aware.utcoffset() or timedelta())).replace(tzinfo=None)


def _clock(cell: str) -> time:
    parts = [int(part) for part in re.findall(r"\d+", cell)]
    hour = parts[0]
    mark = cell[-2:].lower()
    if mark in ("am", "pm"):
        hour = hour % 12 + (12 if mark == "pm" else 0)
    return time(hour, parts[1] if len(parts) > 1 else 0, parts[2] if len(parts) > 2 else 0)


def _duration(cell: str) -> timedelta:
    parts = [int(part) for part in re.findall(r"\d+", cell)]
    hours, minutes, seconds = (*parts, 0, 0)[:3]
    seconds += hours * 3600 + minutes * 60
    return timedelta(seconds=-seconds if cell.startswith("-") else seconds)


def _length(cell: str) -> timedelta | None:
    """Seconds of a length with units; `std` and `stunden` are hours although they begin with s."""
    parts = re.findall(r"(\d+)(?:\.\d+)? ?(st|h|m|s)", cell.lower())
    size = {"st": 3600, "h": 3600, "m": 60, "s": 1}
    seconds = sum(int(number) * size[unit] for number, unit in parts)
    return timedelta(seconds=-seconds if cell.startswith("-") else seconds) if parts else None


_READERS: dict[str, tuple[Callable[[str], object], pl.DataType | type[pl.DataType]]] = {
    NAMED.key: (_named, pl.Date),
    "ISO zone": (_moment, pl.Datetime("us")),
    "H:M": (_clock, pl.Time),
    "H:M AM": (_clock, pl.Time),
    "HhM": (_clock, pl.Time),
    "H:M 24": (_duration, pl.Duration("us")),
    "HhM 24": (_duration, pl.Duration("us")),
    "H:M long": (_duration, pl.Duration("us")),
    "HhM long": (_duration, pl.Duration("us")),
    UNITS.key: (_length, pl.Duration("us")),
}
