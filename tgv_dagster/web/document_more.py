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
MOST_MAILS = 50
MOST_NAMES = 500
"""Message-IDs that are followed through a thread of mails."""


@dataclass(frozen=True, slots=True)
class Related:
    """Another document: `kind` is parent (it came out of that one) or part."""

    kind: str
    document_id: int
    title: str


@dataclass(frozen=True, slots=True)
class ThreadMail:
    """A mail of the thread, by its text or else its first document that the reader sees."""

    document_id: int
    title: str
    sender: str | None
    at: datetime
    is_this: bool


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
    day; `circle`: names of the only ones who see it, None = no circle (UPL-17). `thread`: the
    mails that are reached from this one by what they answer, oldest first, with this one; empty
    when there is no other."""

    seen_by: str
    persons: tuple[str, ...]
    circle: tuple[str, ...] | None
    links: tuple[Related, ...]
    thread: tuple[ThreadMail, ...]
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
        mails = connection.execute(
            _THREAD, {"id": document_id, "most": MOST_MAILS, "names": MOST_NAMES}
        ).fetchall()
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
        thread=tuple(ThreadMail(*row) for row in mails) if len(mails) > 1 else (),
        bookings=tuple(LinkedBooking(*row) for row in bookings),
        chunks=tuple(Passage(*row) for row in chunks),
        history=tuple(Happened(*row) for row in history),
    )


_LINKS = """
    WITH own AS (SELECT id, parent_id FROM arrivals WHERE document_id = %(id)s)
    SELECT kind, d.id, coalesce(nullif(d.title, ''), d.file_name) FROM (
        SELECT 'parent' AS kind, p.document_id FROM own JOIN arrivals p ON p.id = own.parent_id
        UNION SELECT 'part', c.document_id FROM own JOIN arrivals c ON c.parent_id = own.id
        UNION SELECT 'part', s.document_id FROM own JOIN arrivals s ON s.parent_id = own.parent_id
    ) found JOIN documents d ON d.id = found.document_id
    WHERE d.id <> %(id)s ORDER BY 1, 2 LIMIT %(most)s
"""


_THREAD = """
    WITH RECURSIVE named AS (
        SELECT n.name FROM documents d LEFT JOIN arrivals a ON a.document_id = d.id
        CROSS JOIN LATERAL unnest(ARRAY[d.message_id, d.in_reply_to]
            || string_to_array(a.origin ->> 'references', ' ')) n (name)
        WHERE d.id = %(id)s AND n.name <> ''
        UNION
        SELECT n.name FROM named JOIN LATERAL (
            SELECT id, message_id, in_reply_to FROM documents WHERE message_id = named.name
            UNION SELECT id, message_id, in_reply_to FROM documents WHERE in_reply_to = named.name
        ) d ON true LEFT JOIN arrivals a ON a.document_id = d.id
        CROSS JOIN LATERAL unnest(ARRAY[d.message_id, d.in_reply_to]
            || string_to_array(a.origin ->> 'references', ' ')) n (name)
        WHERE n.name <> ''
    ), reached AS (SELECT name FROM named LIMIT %(names)s)
    SELECT id, title, mail_from, sent, is_this FROM (
        SELECT DISTINCT ON (d.message_id) d.id,
            coalesce(nullif(d.mail_subject, ''), nullif(d.title, ''), d.file_name) AS title,
            d.mail_from, coalesce((a.origin ->> 'mail_date')::timestamptz, d.date_received) AS sent,
            bool_or(d.id = %(id)s) OVER (PARTITION BY d.message_id) AS is_this
        FROM reached JOIN documents d ON d.message_id = reached.name
        LEFT JOIN arrivals a ON a.document_id = d.id
        ORDER BY d.message_id, d.part_role <> 'body', d.id
    ) mails ORDER BY sent, id LIMIT %(most)s
"""
"""The mails connected by Message-ID, In-Reply-To and References, among those the reader sees."""


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
