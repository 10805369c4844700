"""Cards of people and firms: vCard 2.1, 3.0 and 4.0 as text and as plain data (FMT-03).

Here: names, organisations, ways to reach somebody, as the card has them. A photo is counted, not
read. Not here: whether two cards are one person, and the master of contacts (CONT-15, CONT-20).
"""

from __future__ import annotations

from dataclasses import dataclass

from tgv_dagster.understand.readers.content_lines import (
    BrokenLine,
    Component,
    ContentLine,
    read_components,
    walk,
)

_WAYS = {
    "EMAIL": "email", "TEL": "phone", "ADR": "address", "URL": "url", "IMPP": "message",
    "X-SOCIALPROFILE": "profile", "RELATED": "related", "MEMBER": "member",
}  # fmt: skip
_NO_TYPES = {"PREF", "INTERNET", "X-INTERNET"}


@dataclass(frozen=True, slots=True)
class Way:
    """One way to reach somebody: kind, what the card says about it (work, cell), value."""

    kind: str
    types: tuple[str, ...]
    value: str
    preferred: bool


@dataclass(frozen=True, slots=True)
class Card:
    """One card; texts are empty where the card says nothing. Dates stay as they are written,
    because a birthday may lack its year."""

    first_line: int
    last_line: int
    name: str
    family: str
    given: str
    additional: str
    prefix: str
    suffix: str
    nickname: str
    organisation: str
    department: str
    title: str
    role: str
    birthday: str
    note: str
    categories: str
    kind: str
    uid: str
    revision: str
    pictures: int
    ways: tuple[Way, ...]

    def first(self, kind: str) -> tuple[str, ...]:
        """Values of one kind of way, the preferred ones first."""
        found = [way for way in self.ways if way.kind == kind]
        return tuple(way.value for way in sorted(found, key=lambda way: not way.preferred))


def read_cards(data: bytes) -> tuple[tuple[Card, ...], tuple[BrokenLine, ...]]:
    """Every card of a file in its order, and what could not be read. Never raises."""
    components, broken = read_components(data)
    return tuple(_card(c) for c in walk(components) if c.kind == "VCARD"), broken


def as_text(cards: tuple[Card, ...]) -> str:
    """Cards as a person would write them down, for the eye and for the search."""
    return "\n\n".join("\n".join(filter(None, _told(card))) for card in cards) + "\n"


def _told(card: Card) -> list[str]:
    return [
        card.name,
        f"({card.nickname})" if card.nickname else "",
        " · ".join(filter(None, (card.title, card.role))),
        " · ".join(filter(None, (card.organisation, card.department))),
        *(" ".join(filter(None, (way.value, _bracketed(way.types)))) for way in card.ways),
        card.birthday and f"* {card.birthday}",
        card.categories,
        card.note,
    ]


def _bracketed(types: tuple[str, ...]) -> str:
    return f"({', '.join(types)})" if types else ""


def _card(found: Component) -> Card:
    names = _padded(found, "N", 5)
    organisation, *units = _padded(found, "ORG", 1)
    family, given, additional, prefix, suffix = names[:5]
    ways = tuple(way for line in found.lines if (way := _way(line)) is not None)
    composed = " ".join(filter(None, (prefix, given, additional, family, suffix)))
    return Card(
        first_line=found.first_line,
        last_line=found.last_line,
        name=found.text("FN") or composed or organisation,
        family=family,
        given=given,
        additional=additional,
        prefix=prefix,
        suffix=suffix,
        nickname=found.text("NICKNAME"),
        organisation=organisation,
        department=", ".join(filter(None, units)),
        title=found.text("TITLE"),
        role=found.text("ROLE"),
        birthday=found.text("BDAY"),
        note="\n".join(line.text().strip() for line in found.all("NOTE")),
        categories=", ".join(p for line in found.all("CATEGORIES") for p in line.parts(",") if p),
        kind=(found.text("KIND") or found.text("X-ADDRESSBOOKSERVER-KIND")).lower(),
        uid=found.text("UID"),
        revision=found.text("REV"),
        pictures=sum(line.name in ("PHOTO", "LOGO") for line in found.lines),
        ways=ways,
    )


def _padded(found: Component, name: str, length: int) -> tuple[str, ...]:
    parts = next((line.parts() for line in found.lines if line.name == name), ())
    told = tuple(part.replace(",", ", ") if name == "N" else part for part in parts)
    return (*(" ".join(part.split()) for part in told), *[""] * (length - len(told)))


def _way(line: ContentLine) -> Way | None:
    kind = _WAYS.get(line.name)
    if kind is None or line.is_binary:
        return None
    if kind == "address":
        lines = (" ".join(part.split()) for part in line.parts())
        value = ", ".join(filter(None, lines))
    else:
        value = line.text().strip()
        for scheme in ("tel:", "mailto:"):
            value = value[len(scheme) :] if value.lower().startswith(scheme) else value
    if not value:
        return None
    types = [word.strip() for told in line.params.get("TYPE", ()) for word in told.split(",")]
    preferred = "PREF" in map(str.upper, types) or line.param("PREF") == "1"
    shown = tuple(t.lower() for t in types if t and t.upper() not in _NO_TYPES)
    return Way(kind, shown, value, preferred)
