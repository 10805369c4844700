"""Routes of signing in and out, of the tenant a person acts in, and of the language.

Belongs here: the forms and their cookies. Does not belong here: passwords (`passwords`), sessions
(`sessions`), and what a person may do.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from tgv_dagster.installation import Installation
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.scope import ScopeError, memberships_of
from tgv_dagster.web import forms, pages, passwords, sessions, sign_on
from tgv_dagster.web.errors import NotFound
from tgv_dagster.web.principals import ANONYMOUS, Service, Viewer, record_denial, route_of, scope_of
from tgv_dagster.web.sessions import LONGEST, SessionHolder
from tgv_dagster.web.sign_on import Provider
from tgv_dagster.web.texts import LANGUAGE_COOKIE, LANGUAGES
from tgv_dagster.web.throttle import Throttle

router = APIRouter(include_in_schema=False)

SIGN_ON_COOKIE = "tgv_sign_on"
_YEAR = 365 * 24 * 3600
Line = Annotated[str, Form(max_length=300)]
Path = Annotated[str, Form(alias="next", max_length=2000)]


@router.get("/")
def home(scope: Viewer) -> Response:
    """People start where something waits for them."""
    return RedirectResponse("/inbox", status_code=303)


@router.get("/login")
def sign_in_page(request: Request, next: str = "/") -> HTMLResponse:
    """The form to sign in."""
    return _form(request, next)


@router.post("/login")
async def sign_in(
    request: Request,
    service: Service,
    login: Line = "",
    password: Line = "",
    next: Path = "/",
    sent: Annotated[str, Form(alias=forms.TOKEN_FIELD)] = "",
) -> Response:
    """Begin a session. Whatever was wrong, the answer is the same; the event names it."""
    if not forms.is_ours(request, sent):
        return await run_in_threadpool(_refused, request, service, "", next, "stale form", "stale")
    return await run_in_threadpool(
        _sign_in, request, service, login.strip().lower(), password, next
    )


def _sign_in(
    request: Request, service: Installation, login: str, password: str, next_page: str
) -> Response:
    throttle: Throttle = request.app.state.throttle
    wait = throttle.seconds_to_wait(login)
    if wait:
        return _refused(request, service, login, next_page, "too many attempts", "slow", wait)
    user_id = passwords.verify(service.database, login, password)
    if user_id is None:
        throttle.failed(login)
        return _refused(request, service, login, next_page, "wrong login or password", "wrong")
    throttle.succeeded(login)
    found = _first_tenant(service, login)
    if found is None:
        return _refused(request, service, login, next_page, "no current membership", "wrong")
    return _begun(request, service, user_id, found, forms.local_path(next_page))


@router.get("/login/provider")
def leave_for_provider(request: Request, service: Service, next: str = "/") -> Response:
    """Send the browser to the provider, with a secret that proves it when it is back."""
    provider = _provider(request)
    next_page = forms.local_path(next)
    try:
        away = sign_on.depart(service.database, provider, next_page)
    except sign_on.Refused as refused:
        return _refused(request, service, "", next_page, str(refused), "provider")
    answer = RedirectResponse(away.url, status_code=303)
    seconds = int(sign_on.PATIENCE.total_seconds())
    forms.set_cookie(request, answer, SIGN_ON_COOKIE, away.browser_secret, max_age=seconds)
    return answer


@router.get(sign_on.BACK_PATH)
def back_from_provider(
    request: Request,
    service: Service,
    state: Annotated[str, Query(max_length=300)] = "",
    code: Annotated[str, Query(max_length=4000)] = "",
) -> Response:
    """Begin the session of whom the provider proved; everybody else gets one answer."""
    provider = _provider(request)
    secret = request.cookies.get(SIGN_ON_COOKIE, "")
    try:
        back = sign_on.arrive(
            service.database, provider, state=state, code=code, browser_secret=secret
        )
    except sign_on.Refused as refused:
        answer = _refused(request, service, refused.login, "/", str(refused), "provider")
    else:
        found = _first_tenant(service, back.login)
        if found is not None:
            answer = _begun(request, service, back.user_id, found, back.next_page)
        else:
            reason = "no current membership"
            answer = _refused(request, service, back.login, "/", reason, "provider")
    answer.delete_cookie(SIGN_ON_COOKIE, path="/")
    return answer


def _provider(request: Request) -> Provider:
    provider: Provider | None = request.app.state.provider
    if provider is None:
        raise NotFound
    return provider


def _first_tenant(service: Installation, login: str) -> SessionHolder | None:
    """Where a person starts: the owner over all tenants, others in the first of theirs."""
    try:
        memberships = memberships_of(service.database, login)
    except ScopeError:
        return None
    holders = (SessionHolder(0, login, m.mandant_slug) for m in memberships)
    with service.database.worker() as connection:
        return next((h for h in holders if scope_of(connection, h) is not None), None)


def _begun(
    request: Request, service: Installation, user_id: int, holder: SessionHolder, next_page: str
) -> Response:
    old = request.cookies.get(forms.SESSION_COOKIE)
    with service.database.worker() as connection:
        secret = sessions.begin(connection, user_id, mandant=holder.mandant, instead_of=old)
        record(
            connection,
            Event(
                kind="session.begun",
                author=holder.login,
                is_human=True,
                object=f"user:{user_id}",
                reason=f"in {holder.mandant or 'all tenants'}",
            ),
        )
    answer = RedirectResponse(next_page, status_code=303)
    seconds = int(LONGEST.total_seconds())
    forms.set_cookie(request, answer, forms.SESSION_COOKIE, secret, max_age=seconds)
    answer.delete_cookie(forms.FORM_COOKIE, path="/")
    return answer


def _refused(
    request: Request, service: Installation, login: str, next_page: str, reason: str, said: str,
    wait: int = 0,
) -> Response:  # fmt: skip
    """The form again, with what is said to everybody; the event says whose login it was."""
    with service.database.worker() as connection:
        row = connection.execute(
            "SELECT login FROM users WHERE login = %s", (login.replace("\x00", ""),)
        ).fetchone()
    who = ANONYMOUS if row is None else str(row[0])
    record_denial(service.database, who, None, route_of(request), reason)
    headers = {"Retry-After": str(wait)} if wait else {}
    status = {"slow": 429, "stale": 403}.get(said, 401)
    return _form(request, next_page, said=said, status=status, headers=headers)


def _form(
    request: Request, next_page: str, *, said: str | None = None, status: int = 200,
    headers: dict[str, str] | None = None,
) -> HTMLResponse:  # fmt: skip
    answer = pages.render(
        request, "login.html", status=status, headers=headers, said=said, with_form=True,
        next_page=forms.local_path(next_page), provider=request.app.state.provider,
    )  # fmt: skip
    forms.hand_out(request, answer)
    return answer


@router.post("/logout")
def sign_out(request: Request, service: Service, scope: Viewer) -> Response:
    """End this session."""
    secret = request.cookies.get(forms.SESSION_COOKIE, "")
    with service.database.worker() as connection:
        sessions.end(connection, secret)
        record(
            connection,
            Event(
                kind="session.ended",
                author=scope.principal,
                is_human=True,
                object=f"user:{scope.user_id}",
                reason="signed out",
                mandant_id=scope.mandant_id,
            ),
        )
    answer = RedirectResponse("/login", status_code=303)
    answer.delete_cookie(forms.SESSION_COOKIE, path="/")
    return answer


@router.post("/tenant")
def change_tenant(
    request: Request,
    service: Service,
    scope: Viewer,
    mandant: Annotated[str, Form(max_length=63)] = "",
) -> Response:
    """Begin another session in another tenant of the same person; this one ends."""
    if not request.state.by_session:
        raise ScopeError("A token stays in its tenant.")
    holder = SessionHolder(0, scope.principal, mandant or None)
    with service.database.worker() as connection:
        found = scope_of(connection, holder)
    if found is None:
        raise ScopeError("You have no membership in that tenant.")
    return _begun(request, service, scope.user_id, holder, "/")


@router.post("/language")
def change_language(
    request: Request,
    language: Annotated[str, Form(max_length=2)] = "",
    next: Path = "/",
) -> Response:
    """Remember the language; nothing else depends on it, so anybody may."""
    answer = RedirectResponse(forms.local_path(next), status_code=303)
    if language in LANGUAGES:
        forms.set_cookie(request, answer, LANGUAGE_COOKIE, language, max_age=_YEAR)
    return answer
