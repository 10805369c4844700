"""The registry: every kind once, states explicit, no dormant specialist."""

from __future__ import annotations

import pytest

from tgv_dagster.deepen import registry
from tgv_dagster.deepen.registry import BuildState, RegistryError
from tgv_dagster.deepen.specialists import SPECIALISTS
from tgv_dagster.understand.doctypes import CONTRACT_KINDS, DocType
from tgv_dagster.understand.evidence import Field

MINIMAL = "kinds:\n" + "".join(
    f"  {kind.value}: {{specialist: letter, state: built}}\n" for kind in DocType
)


def test_the_shipped_registry_and_the_code_agree() -> None:
    assert registry.problems(registry.load(), SPECIALISTS.keys()) == ()


def test_every_kind_has_exactly_one_entry() -> None:
    kinds = [entry.doc_type for entry in registry.load().entries]
    assert sorted(kinds) == sorted(DocType)


def test_states_are_explicit_and_plans_follow_them() -> None:
    shipped = registry.load()
    assert shipped.skill_plan(DocType.INVOICE) == ("booking",)
    table = shipped.entry(DocType.TABLE)
    assert (table.state, table.where) == (BuildState.ELSEWHERE, "tables")
    assert shipped.skill_plan(DocType.TABLE) == ("table_recogniser",)
    assert shipped.skill_plan(DocType.PHOTO) == ()


def test_contracts_require_their_start_and_look_for_the_rest() -> None:
    for kind in CONTRACT_KINDS:
        entry = registry.load().entry(kind)
        assert entry.required == (Field.CONTRACT_START_DATE,)
        assert {Field.NOTICE_PERIOD_DAYS, Field.AUTO_RENEWAL} <= set(entry.looked_for)


def test_axes_are_date_fields_with_names_of_their_own() -> None:
    for entry in registry.load().entries:
        assert all(axis.value.endswith(("_date", "_deadline", "_period")) for axis in entry.axes)


def test_adding_a_kind_changes_only_the_registry() -> None:
    moved = registry.parse(
        MINIMAL.replace("photo: {specialist: letter", "photo: {specialist: booking")
    )
    assert moved.skill_plan(DocType.PHOTO) == ("booking",)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[]", "kinds"),
        ("kinds: [1", "no YAML"),
        ("kinds: {}", "invoice: no entry"),
        (MINIMAL.replace("invoice:", "invoise:"), "invoise"),
        (MINIMAL.replace("built", "sometime", 1), "sometime"),
        (MINIMAL.replace("built", "elsewhere", 1), "where"),
        (MINIMAL.replace("state: built", "state: built, where: here", 1), "where"),
        (MINIMAL.replace("state: built", "state: built, requires: []", 1), "unknown keys"),
        (MINIMAL.replace("state: built", "state: built, required: [date]", 1), "date"),
        (MINIMAL.replace("specialist: letter, ", "", 1), "specialist"),
        (MINIMAL.replace("{specialist: letter, state: built}", "3", 1), "mapping"),
    ],
)
def test_a_wrong_registry_names_its_fault(text: str, fault: str) -> None:
    with pytest.raises(RegistryError, match=fault):
        registry.parse(text)


def test_problems_name_missing_and_dormant_specialists() -> None:
    found = registry.problems(registry.parse(MINIMAL), {"dormant"})
    assert "specialist dormant has no caller" in found
    assert "invoice: specialist letter is built nowhere" in found
    planned = registry.parse(MINIMAL.replace("built", "planned", 1))
    assert any("called planned" in fault for fault in registry.problems(planned, {"letter"}))


def test_a_field_is_required_or_looked_for_but_not_both() -> None:
    both = MINIMAL.replace(
        "state: built", "state: built, required: [due_date], looked_for: [due_date]", 1
    )
    assert any("both" in fault for fault in registry.problems(registry.parse(both), {"letter"}))
