"""The intake chain: stations, checkpoints and their states, once for every picture of it.

The page, the process graph and the metadata in Dagster read this and nothing else (CHAIN-10,
CHAIN-13). IST is measured; SOLL is kept by hand in one file with date and author and carried along
word for word (CHAIN-06 to CHAIN-08). Counts of documents go through the walls of the reader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tgv_dagster.audit.ledger import Entry, latest
from tgv_dagster.audit.register import Station, Text
from tgv_dagster.audit.verdict import State
from tgv_dagster.installation import Installation
from tgv_dagster.store.db import Connection
from tgv_dagster.store.scope import Scope, ScopeError

HISTORY = 30
"""Measurements that the small picture of a checkpoint shows."""

TITLES: Mapping[Station, Text] = {
    Station.ARRIVAL: Text("Eingang", "Arrivée", "Arrival"),
    Station.RAW: Text("Rohschicht", "Couche brute", "Raw layer"),
    Station.TEXT: Text("Text", "Texte", "Text"),
    Station.TRIAGE: Text("Einordnung", "Classement", "Triage"),
    Station.FILING: Text("Ablage", "Rangement", "Filing"),
    Station.KNOWLEDGE: Text("Wissen", "Savoir", "Knowledge"),
    Station.EFFECT: Text("Wirkung", "Effet", "Effect"),
    Station.OPERATION: Text("Betrieb", "Exploitation", "Operation"),
}


@dataclass(frozen=True, slots=True)
class Link:
    """One checkpoint with its last states, oldest first."""

    entry: Entry
    history: tuple[State, ...]


@dataclass(frozen=True, slots=True)
class StationView:
    """One station: its state, its checkpoints, and how much of the reader's stands there."""

    station: Station
    title: Text
    links: tuple[Link, ...]
    items: int

    @property
    def counts(self) -> dict[State, int]:
        """How many checkpoints are in each state, every state named."""
        found = Counter(link.entry.verdict.state for link in self.links)
        return {state: found[state] for state in State}

    @property
    def state(self) -> State:
        """Red when one is red, green when all are green; anything else is unmeasured."""
        counts = self.counts
        if counts[State.RED]:
            return State.RED
        return State.UNMEASURED if counts[State.UNMEASURED] else State.GREEN


@dataclass(frozen=True, slots=True)
class Mailbox:
    """The intake address of one entity of the reader (CHAIN-15)."""

    entity: str
    address: str | None


@dataclass(frozen=True, slots=True)
class Chain:
    """The whole picture at one moment. `soll` stands as its author wrote it."""

    taken_at: datetime
    stations: tuple[StationView, ...]
    mailboxes: tuple[Mailbox, ...]
    entity: str | None
    soll: str


_HISTORY = """
    SELECT checkpoint, array_agg(state ORDER BY measured_at, id) FROM (
        SELECT checkpoint, state, measured_at, id, row_number() OVER (
            PARTITION BY checkpoint ORDER BY measured_at DESC, id DESC) AS n FROM verdicts) v
    WHERE n <= %s GROUP BY checkpoint
"""
_ITEMS = """
    SELECT (SELECT count(*) FROM arrivals), (SELECT count(*) FROM raw_items),
        (SELECT count(*) FROM extractions WHERE active AND generation = 0),
        count(*) FILTER (WHERE doc_type IS NOT NULL),
        count(*) FILTER (WHERE flow_stage IN ('know', 'effect')),
        (SELECT count(DISTINCT document_id) FROM rag_chunks WHERE active),
        count(*) FILTER (WHERE dispatch_state = 'done'),
        (SELECT count(*) FROM cases WHERE state = 'open')
    FROM documents
"""


def read_chain(
    installation: Installation,
    scope: Scope,
    *,
    entity: str | None = None,
    now: datetime | None = None,
) -> Chain:
    """The chain as this reader may see it; four statements, whatever the size of anything.

    `alle` and None narrow nothing (CHAIN-18). Raises ScopeError for an entity that the reader may
    not see, in the same words whether there is one or not.
    """
    narrowed = scope.narrow(entity=entity)
    with installation.database.reading(narrowed) as connection:
        mailboxes = _mailboxes(connection, narrowed.entity)
        items = connection.execute(_ITEMS).fetchall()[0]
    if narrowed.entity is not None and not mailboxes:
        raise ScopeError("This entity is not among those you may see.")
    moment = now or datetime.now(UTC)
    with installation.database.worker() as connection:
        entries = latest(connection, now=moment)
        histories = dict(connection.execute(_HISTORY, (HISTORY,)).fetchall())
    return Chain(
        taken_at=moment,
        stations=tuple(
            _station(station, entries, histories, int(count))
            for station, count in zip(Station, items, strict=True)
        ),
        mailboxes=mailboxes,
        entity=narrowed.entity,
        soll=read_soll(installation.settings.home),
    )


def read_soll(home: Path) -> str:
    """What the chain should be, word for word: the owner's `soll.md`, else the one shipped."""
    own = home / "soll.md"
    path = own if own.is_file() else Path(__file__).with_name("soll.md")
    return path.read_text(encoding="utf-8")


def _mailboxes(connection: Connection, entity: str | None) -> tuple[Mailbox, ...]:
    rows = connection.execute(
        "SELECT slug, intake_mail FROM entities WHERE %(entity)s::text IS NULL OR slug = %(entity)s"
        " ORDER BY slug",
        {"entity": entity},
    ).fetchall()
    return tuple(Mailbox(*row) for row in rows)


def _station(
    station: Station,
    entries: Sequence[Entry],
    histories: Mapping[str, Sequence[str]],
    items: int,
) -> StationView:
    links = tuple(
        Link(entry, tuple(State(state) for state in histories.get(entry.checkpoint.id, ())))
        for entry in entries
        if entry.checkpoint.station is station
    )
    return StationView(station, TITLES[station], links, items)
