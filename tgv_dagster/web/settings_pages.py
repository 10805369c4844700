"""The settings page: who one is, the organisation, rules, values, people, tokens, the password.

Does not belong here: what a token or password is (`tokens`, `passwords`).
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from tgv_dagster import vollzug
from tgv_dagster.installation import Installation
from tgv_dagster.store.scope import Scope, ScopeError
from tgv_dagster.web import pages, passwords, tokens
from tgv_dagster.web.errors import NotFound
from tgv_dagster.web.passwords import PasswordError
from tgv_dagster.web.principals import Editor, Service, Viewer
from tgv_dagster.web.schemas import Number
from tgv_dagster.web.settings_view import settings_view, tenant_of, tokens_of
from tgv_dagster.web.throttle import Throttle
from tgv_dagster.web.tokens import NewToken

router = APIRouter(include_in_schema=False)

MOST_DAYS = 365
Line = Annotated[str, Form(max_length=200)]


@router.get("/settings")
def settings(request: Request, service: Service, scope: Viewer) -> HTMLResponse:
    """Everything that is set, as far as this person may see it."""
    return _page(request, service, scope)


def _page(
    request: Request, service: Installation, scope: Scope, *, made: NewToken | None = None
) -> HTMLResponse:
    view = settings_view(service.database, scope)
    return pages.render(request, "settings.html", view=view, made=made)


@router.post("/settings/tokens")
def make_token(
    request: Request,
    service: Service,
    scope: Viewer,
    name: Annotated[str, Form(max_length=100)] = "",
    days: Annotated[int, Form(ge=1, le=MOST_DAYS)] = 90,
) -> HTMLResponse:
    """A token for a program of this person, in this tenant; shown this once."""
    _require_person(request)
    made = tokens.create_token(
        service.database,
        scope.principal,
        mandant=tenant_of(service.database, scope),
        name=name,
        lifetime=timedelta(days=days),
        by=scope.principal,
    )
    return _page(request, service, scope, made=made)


@router.post("/settings/tokens/{token_id}/revoke")
def revoke_token(token_id: Number, request: Request, service: Service, scope: Viewer) -> Response:
    """Close a token at once."""
    _require_person(request)
    if token_id not in {token.id for token in tokens_of(service.database, scope)}:
        raise NotFound
    tokens.revoke_token(service.database, token_id, by=scope.principal)
    return RedirectResponse("/settings", status_code=303)


@router.post("/settings/rules/{rule_id}/off")
def switch_rule_off(rule_id: Number, service: Service, scope: Editor) -> Response:
    """Switch a learned rule off; the values it set are taken back."""
    vollzug.switch_rule_off(service, scope, rule_id)
    return RedirectResponse("/settings#learned", status_code=303)


@router.post("/settings/password")
def change_password(
    request: Request, service: Service, scope: Viewer, old: Line = "", new: Line = ""
) -> Response:
    """Another password for oneself; every session of the person ends."""
    _require_person(request)
    throttle: Throttle = request.app.state.throttle
    guessing = throttle.seconds_to_wait(scope.principal) > 0
    if guessing or passwords.verify(service.database, scope.principal, old) is None:
        throttle.failed(scope.principal)
        raise PasswordError("The present password is not right.")
    passwords.set_password(service.database, scope.principal, new, by=scope.principal)
    return RedirectResponse("/login", status_code=303)


def _require_person(request: Request) -> None:
    """A token makes no further tokens and no password: it would outlive itself."""
    if not request.state.by_session:
        raise ScopeError("Sign in at the pages to do this.")
