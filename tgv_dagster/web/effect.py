"""Routes of the effect room: where everything stands."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from tgv_dagster.effect.status import flow_status
from tgv_dagster.web.errors import documented
from tgv_dagster.web.principals import Service, Viewer

router = APIRouter(tags=["effect"])


class WorkOut(BaseModel):
    """Items of one stage in one state."""

    stage: str
    state: str
    items: int
    oldest: datetime


class StatusOut(BaseModel):
    """One snapshot of what you may see. `work` is null unless you see the whole installation."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "at": "2026-03-02T09:00:00Z",
                "arrivals": {"entered": 41, "parked": 1},
                "documents": {"effect": 40, "clarify": 1},
                "finance": {"s1": 12},
                "states": {"active": 41},
                "dispatch": {"done": 40, "pending": 1},
                "open_cases": {"parked": 1},
                "chunks": 212,
                "unindexed": {},
                "work": None,
            }
        }
    )

    at: datetime
    arrivals: dict[str, int]
    documents: dict[str, int]
    finance: dict[str, int]
    states: dict[str, int]
    dispatch: dict[str, int]
    open_cases: dict[str, int]
    chunks: int
    unindexed: dict[str, int]
    work: list[WorkOut] | None


@router.get(
    "/api/status",
    summary="Where everything stands",
    response_model=StatusOut,
    responses=documented(401, 503),
)
def status(service: Service, scope: Viewer) -> StatusOut:
    """Arrivals by outcome, documents by stage, open cases, indexes; with the moment of counting."""
    return StatusOut.model_validate(flow_status(service.database, scope), from_attributes=True)
