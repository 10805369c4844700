"""Rules: first match wins unless continue, scopes end at the wall, no rule matches by mistake."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.understand import rules
from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.rules import (
    Action,
    Assignment,
    Condition,
    Rule,
    RuleError,
    RuleItem,
    Subject,
)

ITEM = RuleItem(
    gate="mail",
    sender="News <info@Shop.example>",
    subject="Newsletter Mai",
    headers=("List-Unsubscribe",),
    file_name="~$rechnung.docx",
    media_type="text/html",
    mandant_id=1,
)


def _when(subject: Subject, *values: str) -> tuple[Condition, ...]:
    return (Condition(subject, values),)


def _block(name: str, conditions: tuple[Condition, ...], **more: object) -> Rule:
    return Rule(name, Action.BLOCK, conditions, **more)  # pyright: ignore[reportArgumentType]


def _assign(name: str, slug: str, *, continues: bool = False) -> Rule:
    return Rule(
        name,
        Action.ASSIGN,
        _when(Subject.GATE, "mail"),
        (Assignment(Field.ENTITY, slug),),
        continues=continues,
    )


@pytest.mark.parametrize(
    ("subject", "value", "holds"),
    [
        (Subject.GATE, "mail", True),
        (Subject.GATE, "folder", False),
        (Subject.SENDER_DOMAIN, "shop.example", True),
        (Subject.SENDER_DOMAIN, "hop.example", False),
        (Subject.SUBJECT_CONTAINS, "newsletter", True),
        (Subject.HAS_HEADER, "list-unsubscribe", True),
        (Subject.NAME_GLOB, "~$*", True),
        (Subject.MEDIA_TYPE, "text/", True),
        (Subject.DOC_TYPE, "invoice", False),
        (Subject.TEXT_CONTAINS, "x", False),
    ],
)
def test_a_condition_looks_at_its_subject(subject: Subject, value: str, holds: bool) -> None:
    decision = rules.decide([_block("r", _when(subject, value))], ITEM)
    assert (decision.blocked_by == "r") is holds


def test_the_first_match_wins() -> None:
    allow = Rule("allow", Action.ALLOW, _when(Subject.GATE, "mail"))
    block = _block("block", _when(Subject.GATE, "mail"))
    assert rules.decide([allow, block], ITEM).blocked_by is None
    assert rules.decide([block, allow], ITEM).blocked_by == "block"


def test_continue_goes_on_and_the_first_value_stays() -> None:
    decision = rules.decide([_assign("a", "alpha", continues=True), _assign("b", "beta")], ITEM)
    assert decision.assigned(Field.ENTITY) == ("a", "alpha")
    assert decision.matched == ("a", "b")


def test_without_continue_a_later_block_is_not_reached() -> None:
    decision = rules.decide([_assign("a", "alpha"), _block("b", _when(Subject.GATE, "mail"))], ITEM)
    assert decision.blocked_by is None


def test_inactive_rules_and_foreign_scopes_are_passed_over() -> None:
    conditions = _when(Subject.GATE, "mail")
    foreign = _block("foreign", conditions, mandant_id=2)
    asleep = _block("asleep", conditions, active=False)
    narrow = _block("narrow", conditions, entity_slug="alpha")
    assert rules.decide([foreign, asleep, narrow], ITEM) == rules.NO_DECISION
    assert rules.decide([_block("own", conditions, mandant_id=1)], ITEM).blocked_by == "own"


def test_all_conditions_must_hold_and_one_value_suffices() -> None:
    both = (*_when(Subject.GATE, "folder", "mail"), *_when(Subject.SUBJECT_CONTAINS, "juni"))
    assert rules.decide([_block("r", both)], ITEM).blocked_by is None
    assert rules.decide([_block("r", both[:1])], ITEM).blocked_by == "r"


def test_a_rule_without_condition_is_refused() -> None:
    with pytest.raises(RuleError, match="everything"):
        _block("r", ())
    with pytest.raises(RuleError, match="without values"):
        _block("r", (Condition(Subject.GATE, ()),))
    with pytest.raises(RuleError, match="without a value"):
        Rule("r", Action.ASSIGN, _when(Subject.GATE, "mail"))


def test_stored_conditions_are_parsed_strictly() -> None:
    parsed = rules.parse_conditions("r", {"gate": ["mail", "drop"], "sender_domain": "a.example"})
    assert parsed[0] == Condition(Subject.GATE, ("mail", "drop"))
    with pytest.raises(RuleError, match="unknown condition 'sender_domian'"):
        rules.parse_conditions("r", {"sender_domian": "a.example"})
    with pytest.raises(RuleError, match="must be text"):
        rules.parse_conditions("r", {"gate": [1]})
    with pytest.raises(RuleError, match="must be text"):
        rules.parse_conditions("r", {"subject_contains": "  "})


@given(st.lists(st.tuples(st.sampled_from(list(Action)), st.booleans(), st.booleans()), max_size=8))
def test_a_block_decides_exactly_when_no_earlier_match_ended_the_search(
    shapes: list[tuple[Action, bool, bool]],
) -> None:
    built = [
        Rule(
            str(index),
            action,
            _when(Subject.GATE, "mail" if matches else "folder"),
            (Assignment(Field.PROJECT_CODE, "P"),) if action is Action.ASSIGN else (),
            continues=continues,
        )
        for index, (action, matches, continues) in enumerate(shapes)
    ]
    expected = None
    for rule, (action, matches, continues) in zip(built, shapes, strict=True):
        if not matches:
            continue
        if action is Action.BLOCK:
            expected = rule.rule_id
            break
        if not continues:
            break
    assert rules.decide(built, ITEM).blocked_by == expected
