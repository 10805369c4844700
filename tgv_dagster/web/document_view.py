"""One document as its reader may know it: facts, values with their source, dates apart, history.

Reads only behind the walls and in a constant number of statements. Shared by the JSON route and
the page; nothing here decides or changes anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tgv_dagster.arrive.mail_ledger import ThreadHeaders
from tgv_dagster.store.db import Connection, Database, rows_as_dicts
from tgv_dagster.store.levels import is_known
from tgv_dagster.store.scope import Scope
from tgv_dagster.understand.evidence import Field, Origin
from tgv_dagster.understand.values import StoredValue, effective_values

DATE_AXES = (
    Field.DATE_RECEIVED,
    Field.INVOICE_DATE,
    Field.LETTER_DATE,
    Field.SERVICE_DATE,
    Field.SERVICE_START_DATE,
    Field.SERVICE_END_DATE,
    Field.DUE_DATE,
    Field.RECEIPT_STAMP_DATE,
    Field.ACCOUNTING_PERIOD,
    Field.CONTRACT_START_DATE,
    Field.CONTRACT_END_DATE,
    Field.NOTICE_DEADLINE,
    Field.NEXT_RENEWAL_DATE,
)
"""Every axis has a name of its own; there is no plain "date" (DATE-09)."""


class DocumentNotFound(LookupError):
    """There is no such document for this reader."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value comes from: the place in the text (page from 1, characters), rule, who, when.

    `note` is the derivation in words.
    """

    page: int | None
    start: int | None
    end: int | None
    note: str | None
    rule_id: str | None
    set_by: str
    set_at: datetime
    version: str


@dataclass(frozen=True, slots=True)
class ShownValue:
    """One stored value. `value` None with `checked_none`: looked for, and not stated.

    `in_force`: the one that counts for its field; weaker ones stay visible beside it.
    """

    field: str
    value: str | None
    checked_none: bool
    origin: str
    confidence: float | None
    in_force: bool
    source: Source


@dataclass(frozen=True, slots=True)
class ShownArrival:
    """One arrival that brought this document."""

    arrival_id: int
    gate: str
    file_name: str
    received_at: datetime
    outcome: str


@dataclass(frozen=True, slots=True)
class Thread:
    """How a mail document hangs together with others; None is not recorded or not a mail.

    `reply` tells a mail without the headers In-Reply-To and References apart from one of which
    nobody wrote down whether it has them; None for what came in no mail (MAIL-60). The mail around
    a mail inside it, `parent_message_id`, is no reply thread (MAIL-61).
    """

    message_id: str | None
    in_reply_to: str | None
    parent_message_id: str | None
    mail_from: str | None
    mail_to: str | None
    mail_subject: str | None
    reply: ThreadHeaders | None = None
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MailMetadata:
    """The six facts of a mail (MAIL-58); None is not in the mail, or not recorded.

    `date` as the mail states it, ISO 8601; `entity_hint` is what the way of arrival suggests.
    """

    mail_from: str | None
    subject: str | None
    date: datetime | None
    message_id: str | None
    is_forwarded: bool | None
    entity_hint: str | None


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A document. `level_known` False: the stored level is none of ours and counts as strictest."""

    id: int
    title: str | None
    file_name: str
    media_type: str | None
    file_class: str
    sha256: str
    size: int | None
    doc_type: str | None
    language: str | None
    provider: str | None
    direction: str | None
    entity: str | None
    entity_quelle: str | None
    project_code: str | None
    confidentiality_level: str | None
    level_known: bool
    visible_from: datetime | None
    state: str
    held_gate: str | None
    held_reason: str | None
    flow_stage: str
    finance_stage: str | None
    date_received: datetime
    intent_text: str | None
    legacy_number: str | None
    thread: Thread
    mail: MailMetadata | None
    dates: tuple[ShownValue, ...]
    values: tuple[ShownValue, ...]
    arrivals: tuple[ShownArrival, ...]
    open_cases: tuple[int, ...]
    chunks: int


def document_view(database: Database, scope: Scope, document_id: int) -> DocumentView:
    """The document; raises DocumentNotFound when it does not exist for this reader."""
    with database.reading(scope) as connection:
        row = rows_as_dicts(connection).execute(_DOCUMENT, (document_id,)).fetchone()
        if row is None:
            raise DocumentNotFound(f"There is no document {document_id}.")
        values = _values(connection, document_id)
        arrivals = connection.execute(
            "SELECT id, gate, file_name, received_at, outcome FROM arrivals"
            " WHERE document_id = %s ORDER BY received_at, id",
            (document_id,),
        ).fetchall()
        cases = connection.execute(
            "SELECT id FROM cases WHERE document_id = %s AND state = 'open' ORDER BY id",
            (document_id,),
        ).fetchall()
    metadata = _metadata(row)
    thread = _thread(row)
    return DocumentView(
        **row,
        mail=metadata,
        level_known=is_known(row["confidentiality_level"]),
        thread=thread,
        dates=(_receipt(row), *(v for v in values if v.field in DATE_AXES)),
        values=tuple(v for v in values if v.field not in DATE_AXES),
        arrivals=tuple(ShownArrival(*arrival) for arrival in arrivals),
        open_cases=tuple(case[0] for case in cases),
    )


_DOCUMENT = """
    SELECT d.id, d.title, d.file_name, d.media_type, d.file_class, d.raw_sha256 AS sha256, r.size,
        d.doc_type, d.language, d.provider, d.direction, d.entity, d.entity_quelle, d.project_code,
        d.confidentiality_level, d.visible_from, d.state, d.held_gate, d.held_reason, d.flow_stage,
        d.finance_stage, d.date_received, d.intent_text, d.legacy_number, d.message_id,
        d.in_reply_to, d.parent_message_id, d.mail_from, d.mail_to, d.mail_subject,
        a.origin ->> 'thread_headers' AS thread_headers,
        a.origin ->> 'references' AS mail_references,
        (a.origin ->> 'mail_date')::timestamptz AS mail_date,
        (a.origin ->> 'is_forwarded')::boolean AS is_forwarded, a.entity_hint,
        (SELECT count(*) FROM rag_chunks c WHERE c.document_id = d.id AND c.active) AS chunks
    FROM documents d LEFT JOIN raw_items r ON r.id = d.raw_item_id
    LEFT JOIN LATERAL (
        SELECT origin, entity_hint FROM arrivals WHERE document_id = d.id
          AND origin ->> 'message_id' IS NOT DISTINCT FROM d.message_id
        ORDER BY origin ->> 'thread_headers' IS NULL, id LIMIT 1) a ON true
    WHERE d.id = %s
"""


def _metadata(row: dict[str, Any]) -> MailMetadata | None:
    """Take the columns of the six facts out of the row; None for what came in no mail."""
    date, is_forwarded, hint = (row.pop(n) for n in ("mail_date", "is_forwarded", "entity_hint"))
    if not (row["message_id"] or row["mail_from"]):
        return None
    return MailMetadata(
        mail_from=row["mail_from"],
        subject=row["mail_subject"],
        date=date,
        message_id=row["message_id"],
        is_forwarded=is_forwarded,
        entity_hint=hint,
    )


def _thread(row: dict[str, Any]) -> Thread:
    """Take the thread's columns out of the row."""
    facts = {name: row.pop(name) for name in _MAIL_FACTS}
    recorded, references = row.pop("thread_headers"), row.pop("mail_references")
    reply = None
    if facts["message_id"] or facts["mail_from"]:
        reply = ThreadHeaders(recorded or ThreadHeaders.NOT_RECORDED)
    return Thread(**facts, reply=reply, references=tuple((references or "").split()))


_MAIL_FACTS = (
    "message_id", "in_reply_to", "parent_message_id", "mail_from", "mail_to", "mail_subject",
)  # fmt: skip


def _receipt(row: dict[str, Any]) -> ShownValue:
    """The receipt axis: known from the arrival, not read from the document."""
    moment: datetime = row["date_received"]
    source = Source(None, None, None, None, None, "arrival", moment, "1")
    return ShownValue(
        field=Field.DATE_RECEIVED,
        value=moment.isoformat(),
        checked_none=False,
        origin=Origin.RULE,
        confidence=1.0,
        in_force=True,
        source=source,
    )


def _values(connection: Connection, document_id: int) -> tuple[ShownValue, ...]:
    in_force = effective_values(connection, document_id)
    rows = connection.execute(
        """
        SELECT field, value, checked_none, origin, confidence, evidence, rule_id, set_by, set_at,
            version FROM document_values WHERE document_id = %s AND active ORDER BY field, id
        """,
        (document_id,),
    ).fetchall()
    shown: list[ShownValue] = []
    for field, value, checked_none, origin, confidence, evidence, rule_id, by, at, version in rows:
        stored = StoredValue(Field(field), value, Origin(origin), confidence, rule_id)
        facts = evidence or {}
        source = Source(
            page=facts.get("page"),
            start=facts.get("start"),
            end=facts.get("end"),
            note=facts.get("note"),
            rule_id=rule_id,
            set_by=by,
            set_at=at,
            version=version,
        )
        counts = in_force.get(stored.field) == stored
        shown.append(ShownValue(field, value, checked_none, origin, confidence, counts, source))
    return tuple(sorted(shown, key=lambda v: (_ORDER[v.field], not v.in_force)))


_ORDER = {str(field): number for number, field in enumerate(Field)}
