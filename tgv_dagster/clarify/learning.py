"""Capture: every correction of a person becomes a learning event with scope and cues (LEARN-01).

Here belongs writing the event, in the transaction of the correction. How equal events condense into
a rule stands in `condensing`, how a rule is read back in `understand.learned`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tgv_dagster.store.db import Connection
from tgv_dagster.understand.evidence import Field


@dataclass(frozen=True, slots=True)
class Correction:
    """What a person decided: per field what stood before and what stands now (None = none)."""

    document_id: int
    values: Mapping[Field, tuple[str | None, str | None]]
    author: str
    case_id: int | None = None
    card_id: int | None = None


def capture(connection: Connection, correction: Correction) -> int:
    """Record one learning event per field, a confirmation included; returns how many.

    The scope is tenant and entity of the document; the cues are what triage could look at.
    """
    with connection.cursor() as cursor:
        cursor.executemany(
            """
            INSERT INTO learning_events (mandant_id, document_id, scope, cues, field, old_value,
                new_value, origin, author, case_id, card_id)
            SELECT mandant_id, id, jsonb_build_object('mandant_id', mandant_id, 'entity', entity),
                coalesce(cues, '{}'), %s, %s, %s, %s, %s, %s, %s
            FROM documents WHERE id = %s
            """,
            [
                (
                    field,
                    old,
                    new,
                    "case" if correction.case_id is not None else "document",
                    correction.author,
                    correction.case_id,
                    correction.card_id,
                    correction.document_id,
                )
                for field, (old, new) in correction.values.items()
            ],
        )
    return len(correction.values)


def withdraw(connection: Connection, card_id: int) -> int:
    """What was taken back teaches nothing any more; returns how many events."""
    return connection.execute(
        "UPDATE learning_events SET withdrawn_at = now()"
        " WHERE card_id = %s AND withdrawn_at IS NULL",
        (card_id,),
    ).rowcount
