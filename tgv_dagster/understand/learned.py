"""Reading learned rules back: what people taught acts on the next document (LEARN-03, TRI-11).

Here belong the rules as triage and specialists read them, and their effect on what was stated.
A learned value stands beside the machine's and outranks it, so that switching the rule off brings
the machine's back unchanged. How corrections become rules belongs to `clarify.condensing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from tgv_dagster.store.db import Connection
from tgv_dagster.understand.evidence import Field, Finding, OpenPoint, Origin
from tgv_dagster.understand.rules import (
    Action,
    Assignment,
    RoutingDecision,
    Rule,
    RuleItem,
    parse_conditions,
)

CONFIDENCE = 0.9
PREFIX = "learned:"

LEARNABLE = frozenset(
    {
        Field.ENTITY,
        Field.DOC_TYPE,
        Field.PROVIDER,
        Field.PROJECT_CODE,
        Field.DIRECTION,
        Field.LANGUAGE,
        Field.CURRENCY,
        Field.CONTRACT_TYPE,
    }
)
"""Fields that can be the same on every document of a sender. Amounts, dates and numbers differ from
paper to paper, and a level is never set by habit."""

VALUES = LEARNABLE - {Field.ENTITY}
"""Learned values that replace the machine's. An entity only fills what the paper leaves open: it is
handed to `entity.settle`, where the content of the paper stays stronger (FLOW-07)."""

_CUES = ("gate", "sender", "subject", "file_name", "folder", "media_type", "doc_type", "provider")


def rule_name(rule_id: int) -> str:
    """The name under which a learned rule stands in traces and on values."""
    return f"{PREFIX}{rule_id}"


def load_learned(connection: Connection) -> tuple[Rule, ...]:
    """The approved rules, oldest first; each ends at its scope (LEARN-04)."""
    rows = connection.execute(
        "SELECT id, mandant_id, scope ->> 'entity', condition, effect FROM pattern_rules"
        " WHERE state = 'approved' ORDER BY id"
    ).fetchall()
    return tuple(rule_of(*row) for row in rows)


def rule_of(
    rule_id: int,
    mandant_id: int | None,
    entity: str | None,
    condition: dict[str, Any],
    effect: dict[str, str],
) -> Rule:
    """A stored rule as the rule engine reads it. Raises RuleError when it cannot be used."""
    name = rule_name(rule_id)
    return Rule(
        rule_id=name,
        action=Action.ASSIGN,
        conditions=parse_conditions(name, condition),
        assignments=tuple(Assignment(Field(f), value) for f, value in effect.items()),
        mandant_id=mandant_id,
        entity_slug=entity,
        continues=True,
    )


def cues_of(item: RuleItem) -> dict[str, str]:
    """What a learned rule may look at, without the text, as it is stored on the document."""
    return {name: value for name, value in asdict(item).items() if name in _CUES and value}


def item_of(cues: dict[str, Any], *, mandant_id: int | None, entity: str | None) -> RuleItem:
    """The stored cues of a document in its scope, as the rule engine reads them."""
    kept = {name: str(cues[name]) for name in _CUES if name in cues}
    return replace(RuleItem(mandant_id=mandant_id, entity_slug=entity), **kept)


def values_of(decision: RoutingDecision) -> tuple[Finding, ...]:
    """The findings a decision over learned rules makes, each naming its rule."""
    return tuple(
        Finding(item.field, item.value, Origin.RULE, CONFIDENCE, None, rule_id, "learned rule")
        for rule_id, item in decision.assignments
        if item.field in VALUES
    )


def outranked(findings: Sequence[Finding], learned: Sequence[Finding]) -> tuple[Finding, ...]:
    """The learned values that stand: a person's value and a stated rule are not replaced."""
    fixed = {f.field for f in findings if f.origin is not Origin.MACHINE}
    return tuple(finding for finding in learned if finding.field not in fixed)


def answered(points: Sequence[OpenPoint], learned: Sequence[Finding]) -> tuple[OpenPoint, ...]:
    """The questions that no learned value answers."""
    taught = {finding.field for finding in learned}
    return tuple(point for point in points if point.field not in taught)
