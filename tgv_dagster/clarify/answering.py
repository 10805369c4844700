"""Giving an answer: a person's values for the open points of a document, in one transaction.

Here belongs what an answer writes: values, open points, what is asked no more, the learning event,
the decision, the conversation. Who may answer is asked before; the doors stand in `decisions` and
`execution`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from tgv_dagster.clarify import condensing
from tgv_dagster.clarify.answer_values import fault_of
from tgv_dagster.clarify.cases import CaseClosed, NotAnswerable, hold
from tgv_dagster.clarify.talk import say
from tgv_dagster.store import ledger
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.organisation import SERVICE_LOGIN
from tgv_dagster.store.scope import Scope
from tgv_dagster.store.stages import Stage
from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.values import set_human_value, show_on_document

Values = Mapping[Field, str | None]


@dataclass(frozen=True, slots=True)
class Answer:
    """Values for a document out of a case. `card_id` None: typed in, not taken from a card.

    `asked_only` holds the values to the fields the case asks; a correction proposed for a document
    names its own fields.
    """

    case_id: int
    document_id: int
    values: Values
    card_id: int | None = None
    asked_only: bool = True


def check_form(values: Values) -> None:
    """Raise NotAnswerable for a value that is none of its field."""
    faults = [
        f"{field} {fault}"
        for field, text in values.items()
        if text is not None and (fault := fault_of(field, text)) is not None
    ]
    if faults:
        raise NotAnswerable("; ".join(faults) + ".")


def check_rights(database: Database, scope: Scope, document_id: int, values: Values) -> None:
    """Raise NotAnswerable for an entity or project that is not the person's to assign.

    An answer never moves a document into another tenant; that is an assignment of its own.
    """
    entity, project = values.get(Field.ENTITY), values.get(Field.PROJECT_CODE)
    if entity is None and project is None:
        return
    with database.reading(scope) as connection:
        row = connection.execute(
            """
            SELECT EXISTS (SELECT 1 FROM entities e JOIN documents d ON d.id = %(document)s
                    WHERE e.slug = %(entity)s
                      AND (d.mandant_id IS NULL OR d.mandant_id = e.mandant_id)),
                EXISTS (SELECT 1 FROM prf_projects p JOIN documents d ON d.id = %(document)s
                    WHERE p.project_code = %(project)s
                      AND p.entity_key = coalesce(%(entity)s, d.entity, p.entity_key))
            """,
            {"document": document_id, "entity": entity, "project": project},
        ).fetchone()
    assert row is not None
    if entity is not None and not row[0]:
        raise NotAnswerable("This entity is not among those you may assign.")
    if project is not None and not row[1]:
        raise NotAnswerable("This project is not among those you may assign.")


def give(connection: Connection, scope: Scope, answer: Answer) -> tuple[str, ...]:
    """Write the answer; returns what the case still asks. The document is worked on again.

    Raises BeingRebuilt, CaseClosed, NotAnswerable (a field that is not asked, or not any more).
    """
    document_id = answer.document_id
    points = _open_points(connection, answer)
    held = connection.execute(
        "SELECT mandant_id FROM documents WHERE id = %s", (document_id,)
    ).fetchone()
    for field, value in answer.values.items():
        set_human_value(
            connection,
            document_id,
            field,
            value,
            by=scope.principal,
            card_id=answer.card_id,
            case_id=answer.case_id,
        )
    show_on_document(connection, document_id)
    left = [point for point in points if point.get("field") not in answer.values]
    _show_on_case(connection, scope, answer, left)
    _close_answered_cards(connection, answer)
    ledger.enqueue(connection, Stage.DEEPEN, [document_id], again=True)
    still_open = tuple(str(point["field"]) for point in left)
    _tell(connection, scope, answer, still_open)
    if held is not None and held[0] is not None:
        condensing.propose_rules(connection, mandant_id=held[0], fields=answer.values)
    return still_open


def _open_points(connection: Connection, answer: Answer) -> list[dict[str, Any]]:
    case = hold(connection, answer.case_id, answer.document_id)
    if case.state != "open":
        raise CaseClosed(f"Case {answer.case_id} was decided by {case.decided_by}.")
    asked = [str(point["field"]) for point in case.open_points]
    foreign = [field for field in answer.values if field not in asked]
    if not answer.values or (foreign and answer.asked_only):
        raise NotAnswerable(f"This case asks for: {', '.join(asked)}.")
    return list(case.open_points)


def _show_on_case(
    connection: Connection, scope: Scope, answer: Answer, left: list[dict[str, Any]]
) -> None:
    if left:
        connection.execute(
            "UPDATE cases SET open_points = %s WHERE id = %s", (Jsonb(left), answer.case_id)
        )
        return
    connection.execute(
        "UPDATE cases SET open_points = '[]', state = 'executed', decided_by = %s,"
        " decided_at = now(), decision = %s WHERE id = %s",
        (scope.principal, Jsonb({"values": _plain(answer.values)}), answer.case_id),
    )


def _close_answered_cards(connection: Connection, answer: Answer) -> None:
    """A card whose question was answered otherwise says so instead of staying open (ACT-10)."""
    connection.execute(
        """
        UPDATE cards SET state = 'not_executed', executed_by = %s, executed_at = now(),
            result = '{"reason": "answered_otherwise"}'
        WHERE case_id = %s AND state = 'pending' AND action = 'answer' AND id IS DISTINCT FROM %s
          AND EXISTS (SELECT 1 FROM jsonb_array_elements(choices) c,
                jsonb_object_keys(c -> 'arguments' -> 'values') k WHERE k = ANY (%s))
        """,
        (
            SERVICE_LOGIN,
            answer.case_id,
            answer.card_id,
            [str(field) for field in answer.values],
        ),
    )


def _tell(
    connection: Connection, scope: Scope, answer: Answer, still_open: tuple[str, ...]
) -> None:
    plain = _plain(answer.values)
    say(
        connection,
        answer.case_id,
        author=scope.principal,
        is_human=True,
        blocks=[{"kind": "answer", "values": plain, "card_id": answer.card_id}],
    )
    say(
        connection,
        answer.case_id,
        author=SERVICE_LOGIN,
        is_human=False,
        blocks=[{"kind": "receipt", "done": sorted(plain), "still_open": list(still_open)}],
    )
    connection.execute(
        "INSERT INTO agent_decisions (case_id, document_id, mandant_id, decision_type, decision,"
        " decided_by, card_id) SELECT %s, id, mandant_id, 'values', %s, %s, %s FROM documents"
        " WHERE id = %s",
        (
            answer.case_id,
            Jsonb({"values": plain}),
            scope.principal,
            answer.card_id,
            answer.document_id,
        ),
    )
    record(
        connection,
        Event(
            kind="case.answered",
            author=scope.principal,
            is_human=True,
            object=f"case:{answer.case_id}",
            reason=", ".join(sorted(plain))[:300],
            mandant_id=scope.mandant_id,
            payload={"subject": f"document:{answer.document_id}", "still_open": list(still_open)},
        ),
    )


def _plain(values: Values) -> dict[str, str | None]:
    return {str(field): value for field, value in values.items()}
