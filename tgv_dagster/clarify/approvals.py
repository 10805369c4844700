"""Approvals: who may execute which action, read from the one policy file `approvals.yaml`.

Here belongs the policy and the question whether a scope satisfies it. The walls are not part of
it; they stand in the database and are asked again at every execution (CLAR-03, FLOW-11, ACT-17).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tgv_dagster.store.actions import Action
from tgv_dagster.store.levels import Role
from tgv_dagster.store.scope import Scope, ScopeError


class PolicyError(ValueError):
    """The policy file cannot be used; the message lists every fault."""


class Circumstance(StrEnum):
    """What makes an action weigh more; the executor finds it out from the present state."""

    LOOSER = "looser"
    OTHER_TENANT = "other_tenant"


class _Text(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    de: Annotated[str, Field(min_length=1)]
    fr: Annotated[str, Field(min_length=1)]
    en: Annotated[str, Field(min_length=1)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    least_role: Role
    circumstances: dict[Circumstance, Role] = Field(default_factory=dict)
    why: _Text


@dataclass(frozen=True, slots=True)
class Approval:
    """The policy of one action; `circumstances` name the role needed when they hold."""

    action: Action
    least_role: Role
    circumstances: Mapping[Circumstance, Role]
    de: str
    fr: str
    en: str

    def role_for(self, found: Collection[Circumstance]) -> Role:
        """The least role under these circumstances."""
        needed = [self.least_role, *(r for c, r in self.circumstances.items() if c in found)]
        return max(needed, key=lambda role: role.rank)


@cache
def load() -> Mapping[Action, Approval]:
    """The shipped policy. Raises PolicyError when the file is wrong."""
    path = resources.files("tgv_dagster.clarify") / "approvals.yaml"
    return parse(path.read_text(encoding="utf-8"))


def parse(text: str) -> Mapping[Action, Approval]:
    """A policy from YAML: every action exactly once. Raises PolicyError."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise PolicyError(f"approvals are no YAML: {error}") from error
    if not isinstance(data, dict):
        raise PolicyError("approvals: a mapping of actions is expected")
    faults = [f"{name}: no such action" for name in data if name not in set(Action)]
    faults += [f"{action}: no entry" for action in Action if action not in data]
    found: dict[Action, Approval] = {}
    for action in Action:
        try:
            entry = _Entry.model_validate(data.get(action))
        except ValidationError as error:
            faults += [f"{action}: {fault['msg']}" for fault in error.errors() if action in data]
            continue
        why = entry.why
        found[action] = Approval(
            action, entry.least_role, entry.circumstances, why.de, why.fr, why.en
        )
    if faults:
        raise PolicyError("approvals: " + "; ".join(faults))
    return found


def require(scope: Scope, action: Action, found: Collection[Circumstance] = ()) -> None:
    """Raise ScopeError, naming the role, unless the scope may execute the action."""
    role = load()[action].role_for(found)
    if not scope.role.at_least(role):
        named = f" ({', '.join(sorted(found))})" if found else ""
        raise ScopeError(f"{action}{named} needs the role {role}.")


def may(scope: Scope, action: str) -> bool:
    """Whether the scope's role is enough for the action in its lightest form."""
    return action in set(Action) and scope.role.at_least(load()[Action(action)].least_role)
