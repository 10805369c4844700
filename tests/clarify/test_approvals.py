"""The policy is data: every action stands in it, and a wrong file is refused with its faults."""

from __future__ import annotations

from importlib import resources

import pytest
from clarify_builders import person

from tgv_dagster import vollzug
from tgv_dagster.clarify import approvals
from tgv_dagster.clarify.approvals import Circumstance, PolicyError
from tgv_dagster.installation import Installation
from tgv_dagster.store.actions import FORMS, Action
from tgv_dagster.store.levels import Role
from tgv_dagster.store.scope import ScopeError


def test_every_bound_action_has_a_form_and_every_form_a_policy() -> None:
    assert set(FORMS) == set(Action) == set(approvals.load())
    assert {a for a, form in FORMS.items() if form.arguments is None}.isdisjoint(
        vollzug.VOLLZUG_REGISTER
    )


def test_no_action_is_open_to_viewers() -> None:
    assert not any(entry.least_role is Role.VIEWER for entry in approvals.load().values())


def _shipped() -> str:
    path = resources.files("tgv_dagster.clarify") / "approvals.yaml"
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("answer:", "reply:", "reply: no such action"),
        ("least_role: editor", "least_role: everybody", "Input should be"),
        ("{looser: mandant_admin}", "{cheaper: mandant_admin}", "Input should be"),
        ("    de: Wer", "    it: Chi", "Extra inputs"),
        ("answer:", "[", "no YAML"),
    ],
)
def test_a_wrong_policy_is_refused(before: str, after: str, fault: str) -> None:
    with pytest.raises(PolicyError, match=fault):
        approvals.parse(_shipped().replace(before, after, 1))


def test_circumstances_raise_the_role_and_are_named(installation: Installation) -> None:
    emil = person(installation, "emil")
    approvals.require(emil, Action.CHANGE_LEVEL)
    with pytest.raises(ScopeError, match="change_level \\(looser\\) needs the role mandant_admin"):
        approvals.require(emil, Action.CHANGE_LEVEL, {Circumstance.LOOSER})
    approvals.require(person(installation, "anna"), Action.CHANGE_LEVEL, {Circumstance.LOOSER})
