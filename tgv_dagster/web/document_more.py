"""What stands around a document: who may see it, related documents, passages, what happened to it.

Reads only behind the walls and in a constant number of statements, however long the lists are.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from tgv_dagster.store.db import Database
from tgv_dagster.store.levels import Level, is_known
from tgv_dagster.store.scope import Scope

MOST_CHUNKS = 50
MOST_EVENTS = 50
MOST_LINKS = 50


@dataclass(frozen=True, slots=True)
class Related:
    """Another document: `kind` is parent (it came out of that one), part or reply."""

    kind: str
    document_id: int
    title: str


@dataclass(frozen=True, slots=True)
class LinkedBooking:
    """A booking that this document explains by `amount`; `confirmed` by a person, or proposed."""

    txn_id: int
    day: date
    purpose: str
    amount: Decimal
    currency: str
    confirmed: bool


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage as the knowledge base holds it."""

    page_from: int
    page_to: int
    text: str


@dataclass(frozen=True, slots=True)
class Happened:
    """One event about the document, for readers who may read events."""

    kind: str
    author: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Surroundings:
    """`seen_by`: the level that counts; `persons`: names of those who see it in spite of level and
    day; `circle`: names of the only ones who see it, None = no circle (UPL-17)."""

    seen_by: str
    persons: tuple[str, ...]
    circle: tuple[str, ...] | None
    links: tuple[Related, ...]
    bookings: tuple[LinkedBooking, ...]
    chunks: tuple[Passage, ...]
    history: tuple[Happened, ...]


def surroundings(database: Database, scope: Scope, document_id: int) -> Surroundings:
    """Everything around a document that this reader sees; empty when there is none."""
    with database.reading(scope) as connection:
        facts = connection.execute(
            "SELECT confidentiality_level, persons, circle FROM documents WHERE id = %s",
            (document_id,),
        ).fetchone()
        links = connection.execute(_LINKS, {"id": document_id, "most": MOST_LINKS}).fetchall()
        bookings = connection.execute(_BOOKINGS, (document_id, MOST_LINKS)).fetchall()
        chunks = connection.execute(
            "SELECT page_from, page_to, content FROM rag_chunks WHERE document_id = %s AND active"
            " ORDER BY chunk_no LIMIT %s",
            (document_id, MOST_CHUNKS),
        ).fetchall()
        history = connection.execute(
            "SELECT kind, author, reason, created_at FROM agent_events WHERE object = %s"
            " ORDER BY id DESC LIMIT %s",
            (f"document:{document_id}", MOST_EVENTS),
        ).fetchall()
    level, persons, circle = facts or (None, [], None)
    return Surroundings(
        seen_by=str(level) if is_known(level) else str(Level.STRICT),
        persons=_names(database, persons),
        circle=None if circle is None else _names(database, circle),
        links=tuple(Related(*row) for row in links),
        bookings=tuple(LinkedBooking(*row) for row in bookings),
        chunks=tuple(Passage(*row) for row in chunks),
        history=tuple(Happened(*row) for row in history),
    )


_LINKS = """
    WITH own AS (SELECT id, parent_id FROM arrivals WHERE document_id = %(id)s),
    me AS (SELECT message_id, in_reply_to FROM documents WHERE id = %(id)s)
    SELECT kind, d.id, coalesce(nullif(d.title, ''), d.file_name) FROM (
        SELECT 'parent' AS kind, p.document_id FROM own JOIN arrivals p ON p.id = own.parent_id
        UNION SELECT 'part', c.document_id FROM own JOIN arrivals c ON c.parent_id = own.id
        UNION SELECT 'part', s.document_id FROM own JOIN arrivals s ON s.parent_id = own.parent_id
        UNION SELECT 'reply', r.id FROM me JOIN documents r ON r.message_id = me.in_reply_to
        UNION SELECT 'reply', r.id FROM me JOIN documents r ON r.in_reply_to = me.message_id
    ) found JOIN documents d ON d.id = found.document_id
    WHERE d.id <> %(id)s ORDER BY 1, 2 LIMIT %(most)s
"""


_BOOKINGS = """
    SELECT t.id, t.booking_date, coalesce(nullif(t.counterparty_name, ''), t.purpose), l.amount,
        t.currency, l.state = 'confirmed'
    FROM txn_document_links l JOIN txn_master t ON t.id = l.txn_id
    WHERE l.document_id = %s ORDER BY t.booking_date, t.id LIMIT %s
"""


def _names(database: Database, persons: list[int]) -> tuple[str, ...]:
    """Names of the named persons: whoever sees the document may know with whom."""
    if not persons:
        return ()
    with database.worker() as connection:
        rows = connection.execute(
            "SELECT name FROM users WHERE id = ANY (%s) ORDER BY name", (persons,)
        ).fetchall()
    return tuple(row[0] for row in rows)
