"""Equal corrections in one scope make one rule; everything else makes none."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.clarify.condensing import ENOUGH, Lesson, condense
from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.learned import item_of, rule_of
from tgv_dagster.understand.rules import decide

LESSON = Lesson(1, 1, 1, "nord-gmbh", Field.PROVIDER, "Meier GmbH", {"provider": "Meier"}, "anna")


def alike(count: int, lesson: Lesson = LESSON, *, first: int = 1) -> list[Lesson]:
    """The same lesson on different documents."""
    return [replace(lesson, id=n, document_id=n) for n in range(first, first + count)]


def test_three_equal_lessons_make_one_rule_with_scope_and_origin() -> None:
    (rule,) = condense(alike(ENOUGH))
    assert (rule.mandant_id, rule.entity) == (1, "nord-gmbh")
    assert (rule.condition, rule.field, rule.value) == (
        {"provider": "meier"},
        Field.PROVIDER,
        "Meier GmbH",
    )
    assert (rule.lessons, rule.documents, rule.authors) == ((1, 2, 3), (1, 2, 3), ("anna",))


def test_two_are_not_enough_and_one_document_counts_once() -> None:
    assert condense(alike(ENOUGH - 1)) == ()
    assert condense([replace(LESSON, id=n) for n in range(1, 10)]) == ()


def test_lessons_of_other_scopes_are_not_equal() -> None:
    mixed = [
        *alike(2),
        *alike(2, replace(LESSON, entity="nord-sarl"), first=10),
        *alike(2, replace(LESSON, mandant_id=2), first=20),
    ]
    assert condense(mixed) == ()


def test_a_contradiction_under_the_same_mark_makes_no_rule() -> None:
    other = replace(LESSON, id=9, document_id=9, value="Meier AG")
    assert condense([*alike(ENOUGH), other]) == ()


def test_the_more_telling_mark_is_taken() -> None:
    lesson = replace(LESSON, cues={"provider": "Meier", "doc_type": "invoice", "sender": "a@b.de"})
    (rule,) = condense(alike(ENOUGH, lesson))
    assert rule.condition == {"provider": "meier", "doc_type": "invoice"}


def test_without_a_mark_nothing_is_learned() -> None:
    assert condense(alike(10, replace(LESSON, cues={"file_name": "a.pdf"}))) == ()


def test_the_fingerprint_is_that_of_the_rule_and_not_of_its_lessons() -> None:
    (first,) = condense(alike(ENOUGH))
    (second,) = condense(alike(ENOUGH + 4, first=50))
    assert first.fingerprint == second.fingerprint


_CUE = st.text(alphabet="abAB *?[]!-.", min_size=1, max_size=12).filter(str.strip)


@given(
    st.fixed_dictionaries({}, optional={
        "provider": _CUE, "doc_type": _CUE, "sender": _CUE, "folder": _CUE,
    })
)  # fmt: skip
def test_a_rule_holds_for_what_it_was_learned_from(cues: dict[str, str]) -> None:
    for rule in condense(alike(ENOUGH, replace(LESSON, cues=cues))):
        stored = rule_of(1, 1, "nord-gmbh", dict(rule.condition), {"provider": rule.value})
        own = item_of(cues, mandant_id=1, entity="nord-gmbh")
        assert decide((stored,), own).matched == ("learned:1",)
        assert not decide((stored,), replace(own, mandant_id=2)).matched
        assert not decide((stored,), replace(own, entity_slug="nord-sarl")).matched
