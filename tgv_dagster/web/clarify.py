"""Routes of the clarify room: cases and what people decide about them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from tgv_dagster.clarify import decisions
from tgv_dagster.clarify.decisions import CaseRow
from tgv_dagster.understand.evidence import Field as DocumentField
from tgv_dagster.web.errors import documented
from tgv_dagster.web.principals import Editor, Service, Viewer
from tgv_dagster.web.schemas import JsonObject, Number, Text

router = APIRouter(prefix="/api/cases", tags=["clarify"])

MAX_CASES = 500


class CaseState(StrEnum):
    """States of a case."""

    OPEN = "open"
    EXECUTED = "executed"
    REJECTED = "rejected"
    NOT_EXECUTED = "not_executed"
    RELEASED = "released"
    DISMISSED = "dismissed"


class CaseOut(BaseModel):
    """One case: what is open about its subject, and between what a person may choose."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "id": 4,
                "kind": "unknown",
                "reason": "entity unknown",
                "subject": "document:17",
                "state": "open",
                "created_at": "2026-03-02T09:00:00Z",
                "document_id": 17,
                "arrival_id": None,
                "open_points": [
                    {"field": "entity", "kind": "unknown", "reason": "two names in the address"}
                ],
                "choices": [{"field": "entity", "values": ["nord-gmbh", "nord-sarl"]}],
                "decided_by": None,
            }
        }
    )

    id: int
    kind: str
    reason: str
    subject: str
    state: CaseState
    created_at: datetime
    document_id: int | None
    arrival_id: int | None
    open_points: list[JsonObject]
    choices: list[JsonObject]
    decided_by: str | None


class CasesOut(BaseModel):
    """Cases, oldest first. `truncated`: there are more than were asked for."""

    cases: list[CaseOut]
    truncated: bool


class AnswerIn(BaseModel):
    """Values for the open points; null says "looked, there is none"."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"values": {"entity": "nord-gmbh"}}}
    )

    values: Annotated[dict[DocumentField, Text | None], Field(min_length=1)]


class AnsweredOut(BaseModel):
    """The points that are still open; the case is closed when there are none."""

    still_open: list[str]


class ReleasedOut(BaseModel):
    """The stage that takes the item up again."""

    stage: str


class DismissIn(BaseModel):
    """Why nothing has to be done."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"reason": "Advertising, not needed."}}
    )

    reason: Text


class DismissedOut(BaseModel):
    """The case is closed; its item stays as it is."""

    state: CaseState = CaseState.DISMISSED


@router.get("", summary="List cases", response_model=CasesOut, responses=documented(401, 422, 503))
def cases(
    service: Service,
    scope: Viewer,
    state: CaseState = CaseState.OPEN,
    parked: Annotated[bool, Query(description="Only parked and held items.")] = False,
    limit: Annotated[int, Query(ge=1, le=MAX_CASES)] = 100,
) -> CasesOut:
    """The cases you may see, oldest first."""
    found = decisions.list_cases(
        service.database, scope, parked_only=parked, state=state, limit=limit + 1
    )
    return CasesOut(cases=[_case(row) for row in found[:limit]], truncated=len(found) > limit)


@router.get(
    "/{case_id}",
    summary="Read a case",
    response_model=CaseOut,
    responses=documented(401, 404, 422, 503),
)
def case(case_id: Number, service: Service, scope: Viewer) -> CaseOut:
    """One case with its open points and choices."""
    return _case(decisions.get_case(service.database, scope, case_id))


@router.post(
    "/{case_id}/answer",
    summary="Answer open points",
    response_model=AnsweredOut,
    responses=documented(400, 401, 403, 404, 409, 422, 503),
)
def answer(case_id: Number, body: AnswerIn, service: Service, scope: Editor) -> AnsweredOut:
    """Decide values; yours outrank the machine's, and the document is worked on again."""
    left = decisions.answer(service.database, scope, case_id, body.values)
    return AnsweredOut(still_open=list(left))


@router.post(
    "/{case_id}/release",
    summary="Give a parked item another try",
    response_model=ReleasedOut,
    responses=documented(401, 403, 404, 409, 422, 503),
)
def release(case_id: Number, service: Service, scope: Editor) -> ReleasedOut:
    """Put what the case holds back into the flow."""
    return ReleasedOut(stage=decisions.release(service.database, scope, case_id))


@router.post(
    "/{case_id}/dismiss",
    summary="Close without effect",
    response_model=DismissedOut,
    responses=documented(400, 401, 403, 404, 409, 422, 503),
)
def dismiss(case_id: Number, body: DismissIn, service: Service, scope: Editor) -> DismissedOut:
    """Close the case with your reason; the item stays as it is."""
    decisions.dismiss(service.database, scope, case_id, reason=body.reason)
    return DismissedOut()


def _case(row: CaseRow) -> CaseOut:
    return CaseOut.model_validate(row, from_attributes=True)
