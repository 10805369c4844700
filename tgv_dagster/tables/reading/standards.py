"""Calendars and cards as tables: formats whose standard says what a column is, so nothing is asked.

An entry or a card is a row; ways to reach somebody stand in a table of their own, because there are
several of each. Moments are local, as written, beside their zone. The readers are those that give
the text of the document (`understand.readers`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from tgv_dagster.tables.model import (
    AsideRow,
    FileTables,
    Native,
    RawTable,
    SetAside,
    TableUnreadable,
)
from tgv_dagster.tables.reading.assembling import EMPTY, MOST_ROWS, Cell, Row, from_records
from tgv_dagster.understand.readers import calendars, cards
from tgv_dagster.understand.readers.content_lines import BrokenLine

CALENDAR, CARDS = "calendar", "cards"
STANDARD = frozenset((CALENDAR, CARDS))
"""Readers whose tables are working material at once: there is nothing to propose (FMT-03)."""

_ENTRY = (
    "kind", "summary", "start", "end", "zone", "location", "description", "organiser",
    "attendees", "status", "repeats", "categories", "url", "uid", "calendar", "faults",
)  # fmt: skip
_CARD = (
    "card", "name", "family", "given", "additional", "prefix", "suffix", "nickname",
    "organisation", "department", "title", "role", "birthday", "email", "phone", "address",
    "note", "categories", "kind", "uid", "revision",
)  # fmt: skip
_WAY = ("card", "name", "kind", "types", "value", "preferred")


def read_calendar(data: bytes) -> FileTables:
    """One table of all entries. Raises TableUnreadable when there is none."""
    entries, broken = calendars.read_calendar(data)
    if not entries:
        raise TableUnreadable("the calendar holds no entry")
    _check(len(entries))
    rows = [Row(entry.first_line, _entry_cells(entry)) for entry in entries]
    return FileTables((_table("entries", _ENTRY, rows, broken),), reader=CALENDAR)


def read_cards(data: bytes) -> FileTables:
    """A table of the cards and one of the ways to reach them. Raises TableUnreadable."""
    found, broken = cards.read_cards(data)
    if not found:
        raise TableUnreadable("the file holds no card")
    _check(len(found) + sum(len(card.ways) for card in found))
    rows = [Row(card.first_line, _card_cells(n, card)) for n, card in enumerate(found, start=1)]
    ways = [
        Row(card.first_line, _texts(str(n), card.name, *_way_cells(way)))
        for n, card in enumerate(found, start=1)
        for way in card.ways
    ]
    tables = [_table("cards", _CARD, rows, broken)]
    if ways:
        tables.append(_table("ways", _WAY, ways, ()))
    return FileTables(tuple(tables), reader=CARDS)


def _check(rows: int) -> None:
    if rows > MOST_ROWS:
        raise TableUnreadable(f"the file has {rows} records; the limit is {MOST_ROWS}")


def _table(
    sheet: str, labels: Sequence[str], rows: Sequence[Row], broken: Sequence[BrokenLine]
) -> RawTable:
    return from_records(
        sheet,
        labels,
        rows,
        tuple(
            AsideRow(one.line, one.line, one.raw, SetAside.BROKEN_RECORD, one.reason)
            for one in broken
        ),
    )


def _texts(*texts: str) -> tuple[Cell, ...]:
    return tuple(Cell(text) for text in texts)


def _entry_cells(entry: calendars.Entry) -> tuple[Cell, ...]:
    return (
        *_texts(entry.kind, entry.summary),
        _moment(entry.start),
        _moment(entry.end),
        *_texts(
            entry.zone, entry.location, entry.description, entry.organiser, entry.attendees,
            entry.status, entry.repeats, entry.categories, entry.url, entry.uid, entry.calendar,
            "; ".join(entry.faults),
        ),
    )  # fmt: skip


def _moment(moment: date | datetime | None) -> Cell:
    if moment is None:
        return EMPTY
    if isinstance(moment, datetime):
        return Cell(f"{moment:%Y-%m-%d %H:%M:%S}", Native.DATETIME)
    return Cell(f"{moment:%Y-%m-%d}", Native.DATE)


def _card_cells(number: int, card: cards.Card) -> tuple[Cell, ...]:
    return _texts(
        str(number), card.name, card.family, card.given, card.additional, card.prefix, card.suffix,
        card.nickname, card.organisation, card.department, card.title, card.role, card.birthday,
        "; ".join(card.first("email")), "; ".join(card.first("phone")),
        "; ".join(card.first("address")), card.note, card.categories, card.kind, card.uid,
        card.revision,
    )  # fmt: skip


def _way_cells(way: cards.Way) -> tuple[str, ...]:
    return way.kind, ", ".join(way.types), way.value, "yes" if way.preferred else ""
