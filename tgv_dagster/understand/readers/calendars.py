"""Calendars: iCalendar (RFC 5545) and vCalendar 1.0 as text and as plain data (FMT-03).

Here: events, tasks and journal entries with their moments as written, local time beside its zone.
A moment that is none stays empty and is named; nothing is converted, repeated or guessed. Not here:
deadlines of contracts, and the feed that this installation gives out (`deepen.upcoming`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from icalendar import vDDDTypes, vDuration

from tgv_dagster.understand.readers.content_lines import (
    BrokenLine,
    Component,
    ContentLine,
    read_components,
    walk,
)

_KINDS = {"VEVENT": "event", "VTODO": "task", "VJOURNAL": "journal", "VFREEBUSY": "busy"}
_DAY = re.compile(r"\d{8}")
_MOMENT = re.compile(r"\d{8}T\d{6}Z?")
_REPEATS = ("RRULE", "RDATE", "EXDATE", "EXRULE", "RECURRENCE-ID")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. `start` and `end` are civil days for whole days, else moments without a zone;
    `zone` names it (`UTC`, empty: floating). The end of whole days is their last one, inclusive.
    """

    kind: str
    first_line: int
    last_line: int
    summary: str
    start: date | datetime | None
    end: date | datetime | None
    zone: str
    location: str
    description: str
    organiser: str
    attendees: str
    status: str
    repeats: str
    categories: str
    url: str
    uid: str
    calendar: str
    faults: tuple[str, ...]


def read_calendar(data: bytes) -> tuple[tuple[Entry, ...], tuple[BrokenLine, ...]]:
    """Every entry of a file in its order, and what could not be read. Never raises."""
    components, broken = read_components(data)
    found = [
        _entry(inner, outer.text("X-WR-CALNAME") or outer.text("NAME"))
        for outer in components
        for inner in walk([outer])
        if inner.kind in _KINDS
    ]
    return tuple(found), broken


def as_text(entries: tuple[Entry, ...]) -> str:
    """Entries as a person would write them down, for the eye and for the search."""
    return "\n\n".join("\n".join(filter(None, _told(entry))) for entry in entries) + "\n"


def span(entry: Entry) -> str:
    """When it is, as text: `2026-03-01 09:00 – 10:30 Europe/Berlin`, or its days."""
    start, end = entry.start, entry.end
    told = _shown(start)
    if end is not None and end != start:
        moments = isinstance(start, datetime) and isinstance(end, datetime)
        same_day = moments and f"{start:%F}" == f"{end:%F}"
        told += f" – {end:%H:%M}" if same_day else f" – {_shown(end)}"
    return f"{told} {entry.zone}".strip()


def _shown(moment: date | datetime | None) -> str:
    if isinstance(moment, datetime):
        return f"{moment:%Y-%m-%d %H:%M}"
    return "" if moment is None else f"{moment:%Y-%m-%d}"


def _told(entry: Entry) -> list[str]:
    return [
        entry.summary,
        span(entry),
        entry.repeats,
        entry.location,
        entry.organiser,
        entry.attendees,
        entry.categories,
        entry.description,
        entry.url,
    ]


def _entry(found: Component, calendar: str) -> Entry:
    faults: list[str] = []
    start_line = _line(found, "DTSTART")
    end_line = _line(found, "DTEND") or _line(found, "DUE")
    start = _moment(start_line, faults)
    end = _end(start, end_line, _line(found, "DURATION"), faults)
    if start is not None and end is not None and _is_before(end, start):
        faults.append("it ends before it starts")
    if not found.complete:
        faults.append("it never ends in the file")
    zones = {_zone(line) for line in (start_line, end_line) if line is not None}
    return Entry(
        kind=_KINDS[found.kind],
        first_line=found.first_line,
        last_line=found.last_line,
        summary=found.text("SUMMARY"),
        start=start,
        end=end,
        zone=" / ".join(sorted(filter(None, zones))),
        location=found.text("LOCATION"),
        description=found.text("DESCRIPTION"),
        organiser=_people(found, "ORGANIZER"),
        attendees=_people(found, "ATTENDEE"),
        status=found.text("STATUS").lower(),
        repeats="; ".join(f"{x.name} {x.value.strip()}" for x in found.lines if x.name in _REPEATS),
        categories=", ".join(p for x in found.all("CATEGORIES") for p in x.parts(",") if p),
        url=found.text("URL"),
        uid=found.text("UID"),
        calendar=calendar,
        faults=tuple(faults),
    )


def _line(found: Component, name: str) -> ContentLine | None:
    return next(iter(found.all(name)), None)


def _end(
    start: date | datetime | None,
    stated: ContentLine | None,
    duration: ContentLine | None,
    faults: list[str],
) -> date | datetime | None:
    end = _moment(stated, faults)
    if end is None and duration is not None and start is not None:
        end = _after(start, duration, faults)
    whole_days = end is not None and not isinstance(end, datetime)
    if whole_days and stated is not None and stated.name == "DUE":
        return end
    if whole_days and start is not None and end is not None and not isinstance(start, datetime):
        # The end of whole days is the day behind them; some writers give the day itself.
        return max(start, end - timedelta(days=1)) if end >= start else end
    return end


def _after(
    start: date | datetime, duration: ContentLine, faults: list[str]
) -> date | datetime | None:
    try:
        return start + vDuration.from_ical(duration.value.strip())
    except (ValueError, OverflowError):
        faults.append(f"DURATION is none: {duration.value.strip()[:40]}")
        return None


def _moment(line: ContentLine | None, faults: list[str]) -> date | datetime | None:
    if line is None or not line.value.strip():
        return None
    told = line.value.strip()
    try:
        if not _DAY.fullmatch(told) and not _MOMENT.fullmatch(told):
            raise ValueError(told)
        found = vDDDTypes.from_ical(told.removesuffix("Z"))
    except ValueError:
        faults.append(f"{line.name} is no moment: {told[:40]}")
        return None
    return found if isinstance(found, date) else None


def _zone(line: ContentLine) -> str:
    return "UTC" if line.value.strip().endswith("Z") else line.param("TZID")


def _is_before(end: date | datetime, start: date | datetime) -> bool:
    if isinstance(end, datetime) and isinstance(start, datetime):
        return end < start
    return _day(end) < _day(start)


def _day(moment: date | datetime) -> date:
    return moment.date() if isinstance(moment, datetime) else moment


def _people(found: Component, name: str) -> str:
    return "; ".join(_person(line) for line in found.all(name))


def _person(line: ContentLine) -> str:
    address = re.sub(r"^mailto:", "", line.value.strip(), flags=re.IGNORECASE)
    called = line.param("CN").strip()
    if not called or called == address:
        return address
    return f"{called} <{address}>" if address else called
