"""Who is asking: from token or session to the scope, for every request anew (ACT-01, ACT-02).

Belongs here: the dependencies that routers name (`Viewer`, `Editor`, `Owner`), and the event of
each denial. Does not belong here: what a scope may see; the walls decide that in the database.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, cast

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from tgv_dagster.installation import Installation
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.levels import Role
from tgv_dagster.store.scope import Scope, ScopeError
from tgv_dagster.web import forms, sessions
from tgv_dagster.web.sessions import SessionEnd, SessionHolder
from tgv_dagster.web.tokens import Holder, Refusal, check_token

SOURCE = "http"
ANONYMOUS = "anonymous"

bearer = HTTPBearer(
    auto_error=False,
    scheme_name="token",
    description="A token made with `tgv token create LOGIN --mandant TENANT`.",
)


class Unauthenticated(Exception):
    """The request carries no valid token or session. The answer is the same for every reason."""


class StaleForm(ScopeError):
    """The form was not made for this session: an old page, or another site (CSRF)."""


def installation_of(request: Request) -> Installation:
    """The installation this service was made for."""
    return cast("Installation", request.app.state.installation)


async def service_of(request: Request) -> Installation:
    """`installation_of` as a dependency; a coroutine, so that it costs no thread."""
    return installation_of(request)


def route_of(request: Request) -> str:
    """Method and template of the route, without any number or word of the request."""
    return f"{request.method} {request.scope['route'].path}"


def record_denied_scope(request: Request, reason: str) -> None:
    """The event of a caller who is known and may not."""
    scope: Scope = request.state.scope
    database = installation_of(request).database
    record_denial(database, scope.principal, scope.mandant_id, route_of(request), reason)


def authenticate(
    database: Database, token: str | None, *, route: str, session: str | None = None
) -> Scope:
    """The scope of the caller in the tenant of the token, or else of the session.

    A refusal is recorded as an event. Raises Unauthenticated.
    """
    with database.worker() as connection:
        if token is None and session is not None:
            holder = sessions.check(connection, session)
        else:
            holder = check_token(connection, token)
        scope = None if isinstance(holder, Refusal | SessionEnd) else scope_of(connection, holder)
    if isinstance(holder, Refusal | SessionEnd):
        record_denial(database, ANONYMOUS, None, route, holder)
        raise Unauthenticated
    if scope is None:
        record_denial(database, holder.login, None, route, Refusal.NO_MEMBERSHIP)
        raise Unauthenticated
    return scope


def scope_of(connection: Connection, holder: Holder | SessionHolder) -> Scope | None:
    """What the holder may see now; None when nothing is left of the membership."""
    try:
        scope = Scope.within(connection, holder.login, mandant=holder.mandant, source=SOURCE)
    except ScopeError:
        return None
    # Over all tenants acts the owner only; whoever is not owner any more holds nothing.
    return None if holder.mandant is None and scope.mandant_id is not None else scope


def require(role: Role, *, whole_installation: bool = False) -> Callable[..., Scope]:
    """A dependency: the caller's scope, when it has at least this role.

    `whole_installation` asks for the owner in a session over all tenants.
    """

    def principal(
        request: Request,
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
        sent: Annotated[str | None, Depends(forms.sent_token)],
    ) -> Scope:
        database, route = installation_of(request).database, route_of(request)
        token = credentials.credentials if credentials else None
        session = request.cookies.get(forms.SESSION_COOKIE)
        scope = authenticate(database, token, route=route, session=session)
        request.state.scope = scope
        request.state.by_session = by_session = token is None
        changes = request.method not in forms.SAFE_METHODS
        if by_session and changes and not forms.is_ours(request, sent):
            raise StaleForm("The form does not belong to this session.")
        scope.require(role)
        if whole_installation and scope.mandant_id is not None:
            raise ScopeError("This needs the owner's token over all tenants.")
        return scope

    return principal


def record_denial(
    database: Database, who: str, mandant_id: int | None, route: str, reason: str
) -> None:
    """One event per denial: who, which route, why; no token, no id, no text of the request."""
    with database.worker() as connection:
        record(
            connection,
            Event(
                kind="http.denied",
                author=who,
                is_human=who != ANONYMOUS,
                object=f"route:{route}",
                reason=reason,
                mandant_id=mandant_id,
            ),
        )


Viewer = Annotated[Scope, Depends(require(Role.VIEWER))]
Editor = Annotated[Scope, Depends(require(Role.EDITOR))]
Owner = Annotated[Scope, Depends(require(Role.SUPER_ADMIN, whole_installation=True))]
Service = Annotated[Installation, Depends(service_of)]
