"""Page of the thresholds of triage, for the owner: a change is simulated first, then saved.

Each form calls the function of the route for programs. Does not belong here: what a threshold does.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from tgv_dagster.clarify import thresholds
from tgv_dagster.understand.thresholds import ThresholdKey
from tgv_dagster.web import pages
from tgv_dagster.web.principals import Owner, Service

router = APIRouter(prefix="/settings/thresholds", include_in_schema=False)

Value = Annotated[float, Form(ge=0, le=1)]


@router.get("")
def page(request: Request, service: Service, _scope: Owner) -> HTMLResponse:
    """Every threshold in force."""
    return pages.render(
        request, "thresholds.html", current=thresholds.current(service.database), tried=None
    )


@router.post("/{key}/simulation")
def simulate(
    key: ThresholdKey, request: Request, service: Service, scope: Owner, value: Value
) -> HTMLResponse:
    """What the change would have done to past documents; nothing is written."""
    tried = thresholds.simulate(service.database, scope, str(key), value)
    return pages.render(
        request, "thresholds.html", current=thresholds.current(service.database), tried=tried
    )


@router.post("/{key}")
def save(key: ThresholdKey, service: Service, scope: Owner, value: Value) -> Response:
    """Simulate once more and set it; the simulation is its account on the settings page."""
    thresholds.save(service.database, scope, str(key), value)
    return RedirectResponse("/settings/thresholds", status_code=303)
