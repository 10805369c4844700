"""Learned rules of a tenant: reading them, approving one, switching one off with its effect undone.

Here belongs the life of a rule after its proposal (LEARN-05, LEARN-06). Its deeds are executed as
cards, under a person's name. Values a rule set stand beside the machine's, so switching it off puts
the machine's in force at once; the questions it answered are asked again by the stages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tgv_dagster.clarify.cases import CaseNotFound
from tgv_dagster.clarify.execution import (
    CardOutcome,
    Deed,
    Executor,
    Footing,
    Moved,
    Order,
    Receipt,
    execute,
    get_card,
)
from tgv_dagster.store import ledger
from tgv_dagster.store.actions import Action, RuleArguments
from tgv_dagster.store.cards import NewCard, propose
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.levels import Role
from tgv_dagster.store.scope import Scope
from tgv_dagster.store.stages import Stage
from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.learned import item_of, rule_name, rule_of
from tgv_dagster.understand.rules import decide
from tgv_dagster.understand.values import show_on_document


@dataclass(frozen=True, slots=True)
class LearnedRule:
    """A learned rule with its scope, origin and simulation; `values_in_force` it set right now."""

    id: int
    name: str
    mandant_id: int | None
    scope: dict[str, Any]
    origin: dict[str, Any]
    condition: dict[str, Any]
    effect: dict[str, Any]
    state: str
    simulation: dict[str, Any]
    case_id: int | None
    approved_by: str | None
    switched_off_by: str | None
    created_at: datetime
    changed_at: datetime
    values_in_force: int


def list_rules(database: Database, scope: Scope) -> tuple[LearnedRule, ...]:
    """The rules of the tenant, newest first. Raises ScopeError for whoever does not manage it."""
    scope.require(Role.MANDANT_ADMIN)
    with database.reading(scope) as connection:
        rows = connection.execute(
            """
            SELECT r.id, r.mandant_id, r.scope, r.origin, r.condition, r.effect, r.state,
                r.simulation, r.case_id, r.approved_by, r.switched_off_by, r.created_at,
                r.changed_at, count(v.id)
            FROM pattern_rules r LEFT JOIN document_values v
              ON v.origin = 'rule' AND v.active AND v.rule_id = 'learned:' || r.id
            GROUP BY r.id ORDER BY r.id DESC
            """
        ).fetchall()
    return tuple(LearnedRule(row[0], rule_name(row[0]), *row[1:]) for row in rows)


def switch_off(executor: Executor, scope: Scope, rule_id: int) -> CardOutcome:
    """Switch one rule off, as a card in the rule's own conversation that is executed at once.

    Raises CaseNotFound, ScopeError, and what executing a card raises.
    """
    scope.require(Role.MANDANT_ADMIN)
    footing = _look(executor.database, scope, RuleArguments(rule_id=rule_id))
    with executor.database.worker() as connection:
        row = connection.execute(
            "SELECT case_id FROM pattern_rules WHERE id = %s", (rule_id,)
        ).fetchone()
        if row is None or row[0] is None:
            raise CaseNotFound(f"There is no rule {rule_id}.")
        standing = connection.execute(
            "SELECT id FROM cards WHERE case_id = %s AND state = 'pending' AND action = %s"
            " AND basis = jsonb_build_object('state', %s::text, 'fingerprint', %s::text)",
            (row[0], Action.SWITCH_RULE_OFF, footing.basis["state"], footing.basis["fingerprint"]),
        ).fetchone()
        card = NewCard(Action.SWITCH_RULE_OFF, {"rule_id": rule_id}, scope.principal, footing.basis)
        card_id = propose(connection, row[0], card) if standing is None else int(standing[0])
    get_card(executor, scope, card_id)
    return execute(executor, scope, card_id)


def _look(database: Database, scope: Scope, arguments: RuleArguments) -> Footing:
    with database.reading(scope) as connection:
        row = connection.execute(
            "SELECT state, fingerprint FROM pattern_rules WHERE id = %s", (arguments.rule_id,)
        ).fetchone()
    if row is None:
        raise CaseNotFound(f"There is no rule {arguments.rule_id}.")
    return Footing({"state": row[0], "fingerprint": row[1]})


def _approve(connection: Connection, scope: Scope, order: Order) -> Receipt:
    assert isinstance(order.arguments, RuleArguments)
    row = connection.execute(
        "UPDATE pattern_rules SET state = 'approved', approved_by = %s, changed_at = now()"
        " WHERE id = %s AND state = 'proposed'"
        " RETURNING mandant_id, scope ->> 'entity', condition, effect",
        (scope.principal, order.arguments.rule_id),
    ).fetchone()
    if row is None:
        raise Moved
    again = _open_matching(connection, order.arguments.rule_id, *row)
    return Receipt({"rule": rule_name(order.arguments.rule_id), "asked_again": len(again)})


def _open_matching(
    connection: Connection,
    rule_id: int,
    mandant_id: int | None,
    entity: str | None,
    condition: dict[str, Any],
    effect: dict[str, str],
) -> list[int]:
    """Documents with an open question the rule may answer are understood again; returns them."""
    rule = rule_of(rule_id, mandant_id, entity, condition, effect)
    rows = connection.execute(
        """
        SELECT DISTINCT d.id, d.entity, d.cues FROM documents d JOIN cases c ON c.document_id = d.id
        WHERE d.mandant_id = %s AND d.cues IS NOT NULL AND c.state = 'open'
          AND EXISTS (SELECT 1 FROM jsonb_array_elements(c.open_points) p
                WHERE p ->> 'field' = ANY (%s))
        """,
        (mandant_id, list(effect)),
    ).fetchall()
    matching = [
        document_id
        for document_id, own, cues in rows
        if decide((rule,), item_of(cues, mandant_id=mandant_id, entity=own)).matched
    ]
    _understand_again(connection, matching)
    return matching


def _understand_again(connection: Connection, documents: list[int]) -> None:
    ledger.enqueue(connection, Stage.TRIAGE, ledger.arrivals_of(connection, documents), again=True)
    ledger.enqueue(connection, Stage.DEEPEN, documents, again=True)


def _switch_off(connection: Connection, scope: Scope, order: Order) -> Receipt:
    assert isinstance(order.arguments, RuleArguments)
    return Receipt(_off(connection, scope, order.arguments.rule_id))


def _off(connection: Connection, scope: Scope, rule_id: int) -> dict[str, Any]:
    """Off, its values out of force, the machine's back, and what it answered asked again."""
    row = connection.execute(
        "UPDATE pattern_rules SET state = 'off', switched_off_by = %s, changed_at = now()"
        " WHERE id = %s AND state <> 'off' RETURNING id",
        (scope.principal, rule_id),
    ).fetchone()
    if row is None:
        raise Moved
    documents = connection.execute(
        """
        SELECT d.id FROM documents d WHERE EXISTS (SELECT 1 FROM document_values v
            WHERE v.document_id = d.id AND v.rule_id = %s AND v.origin = 'rule')
        ORDER BY d.id FOR NO KEY UPDATE
        """,
        (rule_name(rule_id),),
    ).fetchall()
    gone = connection.execute(
        "DELETE FROM document_values WHERE rule_id = %s AND origin = 'rule'"
        " RETURNING document_id, field",
        (rule_name(rule_id),),
    ).fetchall()
    fields: dict[int, set[Field]] = {}
    for document_id, field in gone:
        fields.setdefault(document_id, set()).add(Field(field))
    for (document_id,) in documents:
        show_on_document(connection, document_id, taken_back=fields.get(document_id, set()))
    touched = [document_id for (document_id,) in documents]
    _understand_again(connection, touched)
    ledger.enqueue(connection, Stage.WORDS, touched, again=True)
    return {"rule": rule_name(rule_id), "documents": len(touched), "values": len(gone)}


def _unapprove(connection: Connection, scope: Scope, order: Order) -> Mapping[str, Any]:
    assert isinstance(order.arguments, RuleArguments)
    return _off(connection, scope, order.arguments.rule_id)


def _refuse(connection: Connection, scope: Scope, arguments: RuleArguments) -> None:
    """A refused rule is off; only lessons learned since propose it again."""
    connection.execute(
        "UPDATE pattern_rules SET state = 'off', switched_off_by = %s, changed_at = now()"
        " WHERE id = %s AND state = 'proposed'",
        (scope.principal, arguments.rule_id),
    )


APPROVE_RULE = Deed(_look, _approve, _unapprove, refuse=_refuse)
SWITCH_RULE_OFF = Deed(_look, _switch_off)
