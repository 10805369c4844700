"""Asking: the open points of a step about a document, kept as one case of that step (CLAR-04).

Here belongs the agreement between what a step asks now and what its open case says. A step that
runs again asks what is open now: a question whose cause is gone is closed, one that is new is
added, and what a person decided or dismissed is not asked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg.types.json import Jsonb

from tgv_dagster.arrive.raw import printable
from tgv_dagster.store.cards import propose
from tgv_dagster.store.cases import CaseKind, NewCase, SubjectKind, cards_of, open_case
from tgv_dagster.store.db import Connection
from tgv_dagster.store.organisation import SERVICE_LOGIN
from tgv_dagster.store.stages import Stage
from tgv_dagster.understand.evidence import OpenPoint, OpenPointKind

_CASE_OF = {
    OpenPointKind.UNKNOWN: CaseKind.UNKNOWN,
    OpenPointKind.CONFLICT: CaseKind.CONFLICT,
    OpenPointKind.LOW_CONFIDENCE: CaseKind.LOW_CONFIDENCE,
    OpenPointKind.SENSITIVE: CaseKind.SENSITIVE,
}


def open_points_case(
    connection: Connection, document_id: int, points: Sequence[OpenPoint], *, step: Stage
) -> None:
    """Bring the case of this step about this document to what is open now.

    The caller holds the document's row. A field that a person has decided is not asked again.
    """
    decided = _decided_fields(connection, document_id)
    case = _case_for(connection, document_id, [p for p in points if p.field not in decided], step)
    standing = connection.execute(
        "SELECT id, open_points, choices FROM cases WHERE document_id = %s AND state = 'open'"
        " AND evidence ->> 'step' = %s ORDER BY id LIMIT 1 FOR UPDATE",
        (document_id, step),
    ).fetchone()
    if standing is None:
        if case is not None and not _dismissed(connection, case):
            open_case(connection, case)
    elif case is None:
        _close(connection, standing[0])
    elif (standing[1], standing[2]) != (list(case.open_points), list(case.choices)):
        _update(connection, standing[0], case)


def _decided_fields(connection: Connection, document_id: int) -> set[str]:
    rows = connection.execute(
        "SELECT field FROM document_values WHERE document_id = %s AND origin = 'human' AND active",
        (document_id,),
    )
    return {row[0] for row in rows}


def _case_for(
    connection: Connection, document_id: int, points: Sequence[OpenPoint], step: Stage
) -> NewCase | None:
    if not points:
        return None
    facts = connection.execute(
        "SELECT mandant_id, entity, confidentiality_level, is_test FROM documents WHERE id = %s",
        (document_id,),
    ).fetchone()
    assert facts is not None
    return NewCase(
        kind=_CASE_OF[points[0].kind],
        subject_kind=SubjectKind.DOCUMENT,
        subject_key=str(document_id),
        reason=", ".join(sorted({f"{p.field} {p.kind}" for p in points})),
        author=SERVICE_LOGIN,
        mandant_id=facts[0],
        entity=facts[1],
        document_id=document_id,
        confidentiality_level=facts[2],
        evidence={"step": str(step)},
        choices=tuple({"field": str(p.field), "values": list(p.choices)} for p in points),
        open_points=tuple(
            {
                "field": str(p.field),
                "kind": str(p.kind),
                "reason": printable(p.reason)[:300],
            }
            for p in points
        ),
        is_test=facts[3],
    )


def _dismissed(connection: Connection, case: NewCase) -> bool:
    """Whether a person said about exactly this question that nothing has to be done."""
    row = connection.execute(
        "SELECT 1 FROM cases WHERE subject_kind = %s AND subject_key = %s AND reason = %s"
        " AND state = 'dismissed' LIMIT 1",
        (case.subject_kind, case.subject_key, case.reason),
    ).fetchone()
    return row is not None


def _close(connection: Connection, case_id: int) -> None:
    """Nothing is open any more: the cause of the questions is gone."""
    _put_cards_down(connection, case_id, keep=[])
    connection.execute(
        "UPDATE cases SET state = 'not_executed', decided_by = %s, decided_at = now(),"
        " decision = '{\"result\": \"the cause is gone\"}', open_points = '[]' WHERE id = %s",
        (SERVICE_LOGIN, case_id),
    )


def _update(connection: Connection, case_id: int, case: NewCase) -> None:
    """The open case asks what is open now; cards that offer something else are put down."""
    offered = {_choices_of(card.choices): card for card in cards_of(case)}
    kept = _put_cards_down(connection, case_id, keep=list(offered))
    for choices, card in offered.items():
        if choices not in kept:
            propose(connection, case_id, card)
    connection.execute(
        "UPDATE cases SET kind = %s, reason = %s, open_points = %s, choices = %s WHERE id = %s",
        (
            case.kind,
            case.reason,
            Jsonb(list(case.open_points)),
            Jsonb(list(case.choices)),
            case_id,
        ),
    )


def _choices_of(choices: Sequence[Any]) -> tuple[str, ...]:
    return tuple(choice.key for choice in choices)


def _put_cards_down(
    connection: Connection, case_id: int, *, keep: Sequence[tuple[str, ...]]
) -> set[tuple[str, ...]]:
    """Close the server's own open cards whose choices are offered no more; returns those kept.

    A card somebody proposed from a person's words stays.
    """
    rows = connection.execute(
        "SELECT id, ARRAY(SELECT c ->> 'key' FROM jsonb_array_elements(choices) c) FROM cards"
        " WHERE case_id = %s AND state = 'pending' AND choices <> '[]' ORDER BY id FOR UPDATE",
        (case_id,),
    ).fetchall()
    gone = [row[0] for row in rows if tuple(row[1]) not in keep]
    connection.execute(
        "UPDATE cards SET state = 'not_executed', executed_by = %s, executed_at = now(),"
        ' result = \'{"reason": "the cause is gone"}\' WHERE id = ANY (%s)',
        (SERVICE_LOGIN, gone),
    )
    return {tuple(row[1]) for row in rows if row[0] not in gone}
