"""Routes of coming deadlines: a list for programs, a calendar for people's own calendars.

Both show what the reader may see and nothing else. Calendar programs cannot send a bearer token, so
the feed takes the same token as the password of HTTP Basic; it never stands in an address.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBasic, HTTPBasicCredentials
from pydantic import BaseModel

from tgv_dagster.deepen import upcoming
from tgv_dagster.deepen.upcoming import Upcoming
from tgv_dagster.installation import Installation
from tgv_dagster.store.scope import Scope
from tgv_dagster.web import forms
from tgv_dagster.web.errors import documented
from tgv_dagster.web.principals import (
    Service,
    Unauthenticated,
    Viewer,
    authenticate,
    bearer,
    route_of,
)
from tgv_dagster.web.texts import language_of

router = APIRouter(tags=["deadlines"])
FEED_PATH = "/deadlines.ics"
CHALLENGE = 'Bearer realm="tgv", Basic realm="tgv", charset="UTF-8"'

basic = HTTPBasic(
    auto_error=False,
    scheme_name="calendar",
    description="For calendar programs: any user name, a token as the password.",
)


class DeadlineOut(BaseModel):
    """One coming day. `day` is the last safe one, `derivation` says from what it was computed."""

    document_id: int
    entity: str | None
    partner: str | None
    what: str
    day: date
    days_left: int
    rule: str | None
    derivation: str


@router.get(
    "/api/deadlines",
    summary="Contract deadlines that come up",
    response_model=list[DeadlineOut],
    responses=documented(401, 503),
)
def deadlines(service: Service, scope: Viewer) -> list[DeadlineOut]:
    """Who, what, the last safe day and its derivation, nearest first, for the next 400 days."""
    today = datetime.now(UTC).date()
    return [
        DeadlineOut(
            document_id=item.document_id,
            entity=item.entity,
            partner=item.partner,
            what=item.what,
            day=item.day,
            days_left=item.days_left(today),
            rule=item.rule,
            derivation=item.derivation,
        )
        for item in _listed(service, scope, today)
    ]


@router.get(
    FEED_PATH,
    summary="The same as a calendar to subscribe to",
    response_class=Response,
    responses={
        200: {"content": {"text/calendar": {}}, "description": "an iCalendar file"},
        **documented(401, 503),
    },
)
def feed(
    request: Request,
    service: Service,
    token: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    login: Annotated[HTTPBasicCredentials | None, Depends(basic)],
) -> Response:
    """All-day entries with stable identities: a moved deadline moves its entry."""
    sent = token.credentials if token else login.password if login else None
    session = request.cookies.get(forms.SESSION_COOKIE)
    try:
        scope = authenticate(service.database, sent, route=route_of(request), session=session)
    except Unauthenticated:
        return Response(status_code=401, headers={"WWW-Authenticate": CHALLENGE})
    items = _listed(service, scope, datetime.now(UTC).date())
    content = upcoming.calendar(items, language=language_of(request), address=_address(service))
    return Response(
        content,
        media_type="text/calendar; charset=utf-8",
        headers={"Cache-Control": "private, no-cache"},
    )


def _listed(service: Installation, scope: Scope, today: date) -> tuple[Upcoming, ...]:
    with service.database.reading(scope) as connection:
        return upcoming.upcoming(connection, today)


def _address(service: Installation) -> str:
    settings = service.settings
    base = settings.public_url or f"http://{settings.http_host}:{settings.http_port}"
    return f"{base.rstrip('/')}/d/"
