"""Forms of the pages: the token that shows that a form is ours, and where a form may lead.

The token is derived from the secret in the reader's cookie, so that nothing is stored and a new
session makes every older form void. Does not belong here: what a session may do.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from urllib.parse import urlsplit

from fastapi import Request, Response

SESSION_COOKIE = "tgv_session"
FORM_COOKIE = "tgv_form"
TOKEN_FIELD = "csrf"
TOKEN_HEADER = "x-csrf-token"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
_FORM_SECONDS = 3600


def new_secret() -> str:
    """32 random bytes as text."""
    return secrets.token_urlsafe(32)


def token_of(secret: str) -> str:
    """The token of every form of the session with this secret."""
    return hashlib.sha256(b"form:" + secret.encode()).hexdigest()


def secret_of(request: Request) -> str | None:
    """The secret in the reader's cookie: of the session, else of the sign-in form."""
    for name in (SESSION_COOKIE, FORM_COOKIE):
        secret = request.cookies.get(name, "")
        if _SECRET.fullmatch(secret):
            return secret
    return None


def known_token(request: Request) -> str:
    """The token of the reader's session; empty for programs, which send no forms."""
    secret = secret_of(request)
    return "" if secret is None else token_of(secret)


def token_for(request: Request) -> str:
    """The token to put into a form of this answer; makes a secret where there is none."""
    fresh: str | None = getattr(request.state, "form_secret", None)
    secret = fresh or secret_of(request)
    if secret is None:
        secret = request.state.form_secret = new_secret()
    return token_of(secret)


def hand_out(request: Request, answer: Response) -> None:
    """Send a secret that `token_for` made along with the answer that holds its form."""
    secret: str | None = getattr(request.state, "form_secret", None)
    if secret is not None:
        set_cookie(request, answer, FORM_COOKIE, secret, max_age=_FORM_SECONDS)


def is_ours(request: Request, sent: str | None) -> bool:
    """Whether the token that was sent belongs to the cookie that came with it."""
    secret = secret_of(request)
    return secret is not None and hmac.compare_digest(token_of(secret), sent or "")


async def sent_token(request: Request) -> str | None:
    """The token of a request: in its header, else in its form."""
    header = request.headers.get(TOKEN_HEADER)
    if header is not None or request.method in SAFE_METHODS:
        return header
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        return None
    form = await request.form()
    value = form.get(TOKEN_FIELD)
    return value if isinstance(value, str) else None


def set_cookie(
    request: Request, answer: Response, name: str, value: str, *, max_age: int | None
) -> None:
    """A cookie no script reads and no other site sends along with a form.

    It is `Secure` where the service knows that people reach it by TLS (`TGV_PUBLIC_URL`).
    """
    settings = request.app.state.installation.settings
    answer.set_cookie(
        name,
        value,
        max_age=max_age,
        path="/",
        httponly=True,
        samesite="lax",
        secure=(settings.public_url or "").startswith("https://"),
    )


def local_path(asked: str | None) -> str:
    """The path to lead to after a form: on this service and nowhere else (`/` otherwise)."""
    if not asked or not asked.startswith("/") or asked.startswith("//"):
        return "/"
    if "\\" in asked or any(ord(c) <= 32 or ord(c) == 127 for c in asked):
        return "/"
    parts = urlsplit(asked)
    return "/" if parts.scheme or parts.netloc else asked
