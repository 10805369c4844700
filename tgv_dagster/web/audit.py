"""Routes of the audit room: the checkpoints as they stand now, for the owner."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel

from tgv_dagster.audit.ledger import Entry, latest
from tgv_dagster.audit.register import Severity, Station
from tgv_dagster.audit.verdict import Figure, State
from tgv_dagster.web.errors import documented
from tgv_dagster.web.principals import Owner, Service

router = APIRouter(prefix="/api/audit", tags=["audit"])


class CheckpointOut(BaseModel):
    """One invariant and its verdict. `measured_at` null: never measured."""

    id: str
    station: Station
    severity: Severity
    gate: bool
    statement: str
    limit: str
    remedy: str
    state: State
    reason: str
    figures: dict[str, Figure]
    evidence: list[str]
    measured_at: datetime | None
    counted_since: datetime | None


class CheckpointsOut(BaseModel):
    """All checkpoints of the register, in its order."""

    checkpoints: list[CheckpointOut]


@router.get(
    "/checkpoints",
    summary="All checkpoints with their verdict",
    response_model=CheckpointsOut,
    responses=documented(401, 403, 503),
)
def checkpoints(service: Service, scope: Owner) -> CheckpointsOut:
    """Green, red or unmeasured, each with its reason, clock and limit."""
    with service.database.reading(scope) as connection:
        entries = latest(connection)
    return CheckpointsOut(checkpoints=[_checkpoint(entry) for entry in entries])


def _checkpoint(entry: Entry) -> CheckpointOut:
    which, verdict = entry.checkpoint, entry.verdict
    return CheckpointOut(
        id=which.id,
        station=which.station,
        severity=which.severity,
        gate=which.gate,
        statement=which.statement.en,
        limit=which.limit.en,
        remedy=which.remedy.en,
        state=verdict.state,
        reason=verdict.reason,
        figures=dict(verdict.figures),
        evidence=list(verdict.evidence),
        measured_at=entry.measured_at,
        counted_since=entry.counted_since,
    )
