"""Routes of the learning loop: the learned rules of a tenant, and switching one off.

Approving one is executing the card of its case (`GET /api/inbox`, kind `rule`).
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from tgv_dagster import vollzug
from tgv_dagster.clarify import rules_of_tenant
from tgv_dagster.web.clarify import CardOutcomeOut, outcome_out
from tgv_dagster.web.errors import documented
from tgv_dagster.web.principals import Editor, Service, Viewer
from tgv_dagster.web.schemas import JsonObject, Number

router = APIRouter(prefix="/api/rules", tags=["clarify"])


class RuleState(StrEnum):
    """States of a learned rule."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    OFF = "off"


class RuleOut(BaseModel):
    """A learned rule: where it holds, what it came from, what it does.

    `simulation` is what it would have done to past documents when it was proposed;
    `values_in_force` counts what it set right now, among the documents you may see.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "id": 3,
                "name": "learned:3",
                "mandant_id": 1,
                "scope": {"mandant_id": 1, "entity": "nord-gmbh"},
                "origin": {"lessons": [4, 7, 9], "documents": [17, 21, 30], "authors": ["emil"]},
                "condition": {"provider": "meier bau", "doc_type": "invoice"},
                "effect": {"provider": "Meier Bau GmbH"},
                "state": "approved",
                "simulation": {
                    "matching": 12,
                    "agrees": 3,
                    "fills": 9,
                    "changes": 0,
                    "contradicts": 0,
                    "examples": [17, 21],
                    "contradicted": [],
                    "truncated": False,
                },
                "case_id": 8,
                "approved_by": "anna",
                "switched_off_by": None,
                "created_at": "2026-03-02T09:00:00Z",
                "changed_at": "2026-03-02T10:00:00Z",
                "values_in_force": 2,
            }
        }
    )

    id: int
    name: str
    mandant_id: int | None
    scope: JsonObject
    origin: JsonObject
    condition: JsonObject
    effect: JsonObject
    state: RuleState
    simulation: JsonObject
    case_id: int | None
    approved_by: str | None
    switched_off_by: str | None
    created_at: datetime
    changed_at: datetime
    values_in_force: int


class RulesOut(BaseModel):
    """Rules, newest first."""

    rules: list[RuleOut]


@router.get(
    "",
    summary="List learned rules",
    response_model=RulesOut,
    responses=documented(401, 403, 503),
)
def rules(service: Service, scope: Viewer) -> RulesOut:
    """The learned rules of your tenant; for its manager."""
    found = rules_of_tenant.list_rules(service.database, scope)
    return RulesOut(rules=[RuleOut.model_validate(rule, from_attributes=True) for rule in found])


@router.post(
    "/{rule_id}/off",
    summary="Switch a learned rule off",
    response_model=CardOutcomeOut,
    responses=documented(401, 403, 404, 409, 422, 503),
)
def off(rule_id: Number, service: Service, scope: Editor) -> CardOutcomeOut:
    """A card in the rule's conversation, executed at once; its values are taken back."""
    return outcome_out(vollzug.switch_rule_off(service, scope, rule_id))
