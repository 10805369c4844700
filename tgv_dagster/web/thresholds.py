"""Routes of the thresholds of triage: read, simulate on history, set. For the owner.

A threshold is never set without its simulation; the account of the value holds the result.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from tgv_dagster.clarify import thresholds
from tgv_dagster.clarify.thresholds import ThresholdSimulation
from tgv_dagster.understand.thresholds import ThresholdKey
from tgv_dagster.web.errors import documented
from tgv_dagster.web.principals import Owner, Service

router = APIRouter(prefix="/api/thresholds", tags=["clarify"])


class ThresholdsOut(BaseModel):
    """The thresholds in force: below its threshold a value is asked instead of stated."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"thresholds": {"TRIAGE_LEAST_DOC_TYPE": 0.8}}}
    )

    thresholds: dict[str, float]


class ThresholdIn(BaseModel):
    """The confidence below which a value is asked."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"value": 0.85}})

    value: Annotated[float, Field(ge=0, le=1)]


class SimulationOut(BaseModel):
    """What the change would have done to the newest past documents; `extent` says if to all.

    `silent_wrong` of the `judged` newly stated values were decided otherwise by a person.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "key": "TRIAGE_LEAST_PROVIDER",
                "before": 0.8,
                "after": 0.75,
                "documents": 300,
                "nobody_before": 231,
                "nobody_after": 248,
                "newly_stated": 17,
                "no_longer_stated": 0,
                "judged": 9,
                "silent_wrong": 1,
                "extent": "truncated",
            }
        }
    )

    key: str
    before: float
    after: float
    documents: int
    nobody_before: int
    nobody_after: int
    newly_stated: int
    no_longer_stated: int
    judged: int
    silent_wrong: int
    extent: thresholds.Extent


@router.get(
    "",
    summary="Thresholds in force",
    response_model=ThresholdsOut,
    responses=documented(401, 403, 503),
)
def current(service: Service, _scope: Owner) -> ThresholdsOut:
    """Every threshold of triage."""
    return ThresholdsOut(thresholds=thresholds.current(service.database))


@router.post(
    "/{key}/simulation",
    summary="Simulate a threshold",
    response_model=SimulationOut,
    responses=documented(400, 401, 403, 422, 503),
)
def simulate(key: ThresholdKey, body: ThresholdIn, service: Service, scope: Owner) -> SimulationOut:
    """Triage the newest documents twice; nothing is written."""
    return _out(thresholds.simulate(service.database, scope, str(key), body.value))


@router.put(
    "/{key}",
    summary="Set a threshold",
    response_model=SimulationOut,
    responses=documented(400, 401, 403, 422, 503),
)
def save(key: ThresholdKey, body: ThresholdIn, service: Service, scope: Owner) -> SimulationOut:
    """Simulate, then set it; the answer is the simulation that stands as its account."""
    return _out(thresholds.save(service.database, scope, str(key), body.value))


def _out(simulation: ThresholdSimulation) -> SimulationOut:
    return SimulationOut.model_validate(simulation, from_attributes=True)
