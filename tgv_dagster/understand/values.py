"""Values of a document: write what was found, and let the strongest origin show on the document.

Human values outrank rules, rules outrank machine values, and a human value survives every rebuild
(issue of all rooms). `document_values` is the only place of extracted values; the columns of
`documents` repeat the effective ones for filters and figures.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation

from psycopg import sql
from psycopg.types.json import Jsonb

from tgv_dagster.store.db import Connection
from tgv_dagster.store.stages import LIVE
from tgv_dagster.understand.evidence import Field, Finding, FindingValue, Origin, Span

COLUMN_OF: dict[Field, str] = {
    Field.DOC_TYPE: "doc_type",
    Field.ENTITY: "entity",
    Field.PROVIDER: "provider",
    Field.DIRECTION: "direction",
    Field.LANGUAGE: "language",
    Field.PROJECT_CODE: "project_code",
    Field.CONFIDENTIALITY_LEVEL: "confidentiality_level",
    Field.AMOUNT_GROSS: "amount_gross",
    Field.CURRENCY: "currency",
    Field.INVOICE_DATE: "invoice_date",
    Field.SERVICE_DATE: "service_date",
    Field.DUE_DATE: "due_date",
    Field.ACCOUNTING_PERIOD: "accounting_period",
    Field.RIGHTS_VERBATIM_OK: "rights_verbatim_ok",
    Field.RIGHTS_COPYRIGHT_HOLDER: "rights_copyright_holder",
    Field.RIGHTS_MODEL_RELEASE: "rights_model_release",
    Field.RIGHTS_POST_MORTEM: "rights_post_mortem",
}
"""Fields that stand as columns of `documents` too."""

_STRENGTH = {Origin.HUMAN: 2, Origin.RULE: 1, Origin.MACHINE: 0}


@dataclass(frozen=True, slots=True)
class StoredValue:
    """One active value as stored; `text` None means checked and not there."""

    field: Field
    text: str | None
    origin: Origin
    confidence: float | None
    rule_id: str | None


def as_text(value: object) -> str | None:
    """The stored form of a value: ISO dates, plain decimals, `true`/`false`."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value)


_DATES = frozenset(f for f in Field if f.endswith("_date")) | {Field.NOTICE_DEADLINE}
_AMOUNTS = frozenset(f for f in Field if f.startswith("amount_"))
YES_OR_NO = frozenset(
    {
        Field.AUTO_RENEWAL,
        Field.RIGHTS_VERBATIM_OK,
        Field.RIGHTS_MODEL_RELEASE,
        Field.RIGHTS_POST_MORTEM,
    }
)
"""Fields whose values are `true` and `false`."""


def from_text(field: Field, text: str | None) -> FindingValue | None:
    """The typed value of a stored one; ValueError for text that is no value of this field."""
    if text is None:
        return None
    if field in _DATES:
        return date.fromisoformat(text)
    if field in _AMOUNTS:
        try:
            return Decimal(text)
        except InvalidOperation as error:
            raise ValueError(f"{text!r} is no amount") from error
    if field is Field.NOTICE_PERIOD_DAYS:
        return int(text)
    if field in YES_OR_NO:
        return text == "true"
    return text


def write_values(
    connection: Connection,
    document_id: int,
    findings: Sequence[Finding],
    *,
    set_by: str,
    version: str,
    generation: int = LIVE,
) -> tuple[Field, ...]:
    """Replace what the step `set_by` wrote before; human values are never touched.

    Returns the fields that the step stated before and states no more. In another generation than
    the daily one the values are written beside, inactive.
    """
    before = connection.execute(
        "DELETE FROM document_values WHERE document_id = %s AND generation = %s AND set_by = %s"
        " AND origin <> 'human' RETURNING field",
        (document_id, generation, set_by),
    ).fetchall()
    with connection.cursor() as cursor:
        cursor.executemany(
            """
            INSERT INTO document_values (document_id, field, value, checked_none, origin,
                confidence, evidence, rule_id, set_by, version, generation, active)
            VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
            """,
            [
                (
                    document_id,
                    f.field,
                    as_text(f.value),
                    f.checked_none,
                    f.origin,
                    f.confidence,
                    _evidence(f.span, f.note),
                    f.rule_id,
                    set_by,
                    version,
                    generation,
                    generation == LIVE,
                )
                for f in findings
            ],
        )
    stated = {str(f.field) for f in findings}
    return tuple(sorted({Field(row[0]) for row in before if row[0] not in stated}))


def set_human_value(
    connection: Connection,
    document_id: int,
    field: Field,
    value: object,
    *,
    by: str,
    card_id: int | None = None,
    case_id: int | None = None,
    at: datetime | None = None,
) -> None:
    """Record what a person decided; it replaces that person's or another's earlier decision.

    `at` is the moment of the decision where it was made before it is recorded, None = now.
    `card_id` names the card that was executed, so that a withdrawal finds its own rows (CLAR-13).
    There is no way to decide a value that teaches nothing: every one is a learning event, a
    confirmation included, with scope and cues of its document (LEARN-01, FLOW-12).
    """
    before = effective_values(connection, document_id).get(field)
    connection.execute(
        "UPDATE document_values SET active = false WHERE document_id = %s AND field = %s"
        " AND origin = 'human' AND active",
        (document_id, field),
    )
    connection.execute(
        "INSERT INTO document_values (document_id, field, value, checked_none, origin,"
        " confidence, set_by, version, card_id, set_at)"
        " VALUES (%s, %s, %s, %s, 'human', 1.0, %s, 'human', %s, coalesce(%s, now()))",
        (document_id, field, as_text(value), value is None, by, card_id, at),
    )
    connection.execute(
        """
        INSERT INTO learning_events (mandant_id, document_id, scope, cues, field, old_value,
            new_value, origin, author, case_id, card_id)
        SELECT mandant_id, id, jsonb_build_object('mandant_id', mandant_id, 'entity', entity),
            coalesce(cues, '{}'), %s, %s, %s, %s, %s, %s, %s
        FROM documents WHERE id = %s
        """,
        (
            field,
            None if before is None else before.text,
            as_text(value),
            "document" if case_id is None else "case",
            by,
            case_id,
            card_id,
            document_id,
        ),
    )


def withdraw_human_values(connection: Connection, card_id: int) -> dict[int, tuple[Field, ...]]:
    """Take back exactly the values this card wrote; returns the fields per document. What was
    taken back teaches nothing any more.

    A value that somebody set later stays in force. Where the withdrawn one was in force, the
    decision before it is again, unless that was withdrawn too (CLAR-13).
    """
    rows = connection.execute(
        "UPDATE document_values v SET active = false FROM document_values old"
        " WHERE old.id = v.id AND v.card_id = %s AND v.origin = 'human'"
        " RETURNING v.document_id, v.field, v.id, old.active",
        (card_id,),
    ).fetchall()
    connection.execute(
        "UPDATE learning_events SET withdrawn_at = now()"
        " WHERE card_id = %s AND withdrawn_at IS NULL",
        (card_id,),
    )
    touched: dict[int, list[Field]] = {}
    for document_id, field, value_id, was_in_force in rows:
        touched.setdefault(document_id, []).append(Field(field))
        if was_in_force:
            connection.execute(_BEFORE, (document_id, field, value_id))
    for document_id, fields in touched.items():
        show_on_document(connection, document_id, taken_back=fields)
    return {document_id: tuple(fields) for document_id, fields in touched.items()}


_BEFORE = """
    UPDATE document_values SET active = true WHERE id = (
        SELECT v.id FROM document_values v LEFT JOIN cards c ON c.id = v.card_id
        WHERE v.document_id = %s AND v.field = %s AND v.origin = 'human' AND v.id < %s
          AND c.withdrawn_at IS NULL
        ORDER BY v.id DESC LIMIT 1)
"""


def effective_values(
    connection: Connection, document_id: int, *, without: str = ""
) -> dict[Field, StoredValue]:
    """The strongest active value of each field: human, then rule, then the surest machine.

    `without` leaves out what that step wrote, for the step that is about to write anew.
    """
    rows = connection.execute(
        "SELECT field, value, origin, confidence, rule_id FROM document_values"
        " WHERE document_id = %s AND active AND (origin = 'human' OR set_by <> %s) ORDER BY id",
        (document_id, without),
    ).fetchall()
    best: dict[Field, StoredValue] = {}
    for field, text, origin, confidence, rule_id in rows:
        value = StoredValue(Field(field), text, Origin(origin), confidence, rule_id)
        current = best.get(value.field)
        if current is None or _rank(value) > _rank(current):
            best[value.field] = value
    return best


def show_on_document(
    connection: Connection, document_id: int, *, taken_back: Collection[Field] = ()
) -> None:
    """Copy the effective values into the columns of `documents` (one statement).

    A column of a field without any value stays as it is, unless its value was `taken_back`.
    """
    effective = effective_values(connection, document_id)
    columns: dict[str, str | None] = {
        COLUMN_OF[field]: None for field in taken_back if field in COLUMN_OF
    }
    if Field.ENTITY in taken_back:
        columns["entity_quelle"] = None
    columns |= {
        COLUMN_OF[field]: value.text for field, value in effective.items() if field in COLUMN_OF
    }
    entity = effective.get(Field.ENTITY)
    if entity is not None and entity.origin is Origin.HUMAN:
        columns["entity_quelle"] = "human"
    if not columns:
        return
    assignments = sql.SQL(", ").join(
        sql.SQL("{} = {}").format(sql.Identifier(name), sql.Placeholder(name)) for name in columns
    )
    connection.execute(
        sql.SQL(
            "UPDATE documents SET {}, version = version + 1, updated_at = now()"
            " WHERE id = %(document_id)s"
        ).format(assignments),
        {**columns, "document_id": document_id},
    )


def _rank(value: StoredValue) -> tuple[int, float]:
    return (_STRENGTH[value.origin], value.confidence or 0.0)


def _evidence(span: Span | None, note: str) -> Jsonb | None:
    facts: dict[str, object] = {}
    if span is not None:
        facts |= {"page": span.page, "start": span.start, "end": span.end}
    if note:
        facts["note"] = note
    return Jsonb(facts) if facts else None
