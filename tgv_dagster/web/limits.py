"""What holds for every request and every answer: the size of a body, and the headers of safety.

The size is checked while a body arrives, so that nobody fills the memory or the disk of the
service with one request; the framework's own limit answers in another shape than ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

DEFAULT_BODY_BYTES = 1 << 20

NOTHING_RUNS = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self';"
    " img-src 'self'; frame-src 'self'; frame-ancestors 'none'; base-uri 'none';"
    " form-action 'self'"
)
FRAME_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox;"
    " frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
)
BYTES_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"

SAFETY: Mapping[str, str] = MappingProxyType(
    {
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
        "Content-Security-Policy": NOTHING_RUNS,
    }
)
"""Set on every answer that does not say otherwise itself."""


class SafetyHeaders:
    """Adds `SAFETY` to every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                for name, value in SAFETY.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, sending if scope["type"] == "http" else send)


class BodyLimit:
    """Refuses a body that is, or says it will be, larger than its route takes (413).

    The refusal is raised where the body is read, so that a caller without a token hears that
    first.
    """

    def __init__(self, app: ASGIApp, *, routes: Mapping[str, int]) -> None:
        """`routes`: bytes that single paths take; all others take `DEFAULT_BODY_BYTES`."""
        self._app = app
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with a counted body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._routes.get(scope["path"], DEFAULT_BODY_BYTES)
        declared = _declared(Headers(scope=scope))
        received = 0

        async def counting() -> Message:
            nonlocal received
            if declared > limit:
                raise HTTPException(413)
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise HTTPException(413)
            return message

        await self._app(scope, counting, send)


def _declared(headers: Headers) -> int:
    value = headers.get("content-length", "")
    return int(value) if value.isascii() and value.isdecimal() else 0
