"""Pages for people: templates, who is signed in, and errors that can be read.

Every text comes from `texts`; every value is escaped by the template engine. Does not belong
here: what a page shows; the routers hand it over.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tgv_dagster.web import forms
from tgv_dagster.web.limits import PAGE_POLICY
from tgv_dagster.web.texts import Speaker, language_of

_HERE = Path(__file__).parent
STATIC = _HERE / "static"
_PAGES = frozenset(
    ("", "d", "l", "login", "logout", "tenant", "language", "drop", "inbox", "search", "chain")
) | frozenset(("deadlines", "unmatched", "parked", "settings", "export"))
_NO_PAGES = frozenset(("api", "static", "healthz", "readyz", "openapi.json"))
"""First parts of paths that are pages, and that never are."""

NAVIGATION = (
    ("/drop", "nav.drop"),
    ("/inbox", "nav.inbox"),
    ("/search", "nav.search"),
    ("/deadlines", "nav.deadlines"),
    ("/unmatched", "nav.unmatched"),
    ("/parked", "nav.parked"),
    ("/chain", "nav.chain"),
    ("/settings", "nav.settings"),
)
"""Place and text of each entry at the top of every page."""

FRAGMENT = "hx-request"
"""The header by which the page's own script asks for a part of a page."""


def is_page(request: Request) -> bool:
    """Whether a person's browser asks: these routes answer with pages, errors included."""
    first = request.url.path.split("/", 2)[1]
    asks_for_page = "text/html" in request.headers.get("accept", "")
    return first in _PAGES or (asks_for_page and first not in _NO_PAGES)


def is_fragment(request: Request) -> bool:
    """Whether only a part of the page is asked for."""
    return FRAGMENT in request.headers


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(
    request: Request,
    template: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    with_form: bool = False,
    **context: Any,
) -> HTMLResponse:
    """A page in the reader's language; `viewer` in it is who is signed in, or None.

    `with_form`: it holds a form for people who are not signed in yet.
    """
    speaker = Speaker(language_of(request))
    html = (
        _environment()
        .get_template(template)
        .render(
            language=speaker.language,
            say=speaker.say,
            label=speaker.label,
            shown=speaker.shown,
            day=speaker.day,
            moment=speaker.moment,
            number=speaker.number,
            money=speaker.money,
            viewer=getattr(request.state, "scope", None),
            by_session=getattr(request.state, "by_session", False),
            csrf=forms.token_for(request) if with_form else forms.known_token(request),
            navigation=NAVIGATION,
            here=request.url.path if status < 400 else "/",
            query=str(request.query_params) if status < 400 else "",
            **context,
        )
    )
    return HTMLResponse(
        html.encode("utf-8", "replace"),
        status_code=status,
        headers={
            "Content-Language": speaker.language,
            "Vary": "Accept-Language, Authorization, Cookie, HX-Request",
            "Content-Security-Policy": PAGE_POLICY,
            **(headers or {}),
        },
    )


def error_page(
    request: Request, status: int, code: str, headers: Mapping[str, str], detail: str | None
) -> HTMLResponse:
    """What went wrong and what helps, in the reader's language.

    `detail` is what the server says of this very case (CLAR-05), in its own words.
    """
    speaker = Speaker(language_of(request))
    candidates = (f"error.{code}", f"error.{status}", "error.other")
    key = next(k for k in candidates if speaker.knows(f"{k}.title"))
    answer = render(
        request,
        "error.html",
        status=status,
        headers=headers,
        with_form=status == 401,
        code=status,
        key=key,
        detail=detail,
        next_page=_next_page(request),
    )
    if status == 401:
        forms.hand_out(request, answer)
    return answer


def _next_page(request: Request) -> str:
    """Where to go after signing in: the page that was asked for, when it only shows something."""
    if request.method != "GET" or is_fragment(request):
        return "/"
    query = request.url.query
    path = quote(request.url.path)
    return f"{path}?{query}" if query else path
