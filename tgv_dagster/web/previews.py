"""Routes that show a document without its own code running: pages as pictures, text as text.

A picture is drawn anew in another process, so that no byte of the original reaches the browser. A
web page or drawing stands in a frame under a policy in which nothing runs, loads or leads anywhere.
Does not belong here: the original itself (`documents`).
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from tgv_dagster.installation import Installation
from tgv_dagster.web import originals, rasterise
from tgv_dagster.web.errors import NotFound
from tgv_dagster.web.limits import FRAME_POLICY
from tgv_dagster.web.originals import Original
from tgv_dagster.web.principals import Service, Viewer
from tgv_dagster.web.rasterise import NoPicture
from tgv_dagster.web.schemas import Number

router = APIRouter(include_in_schema=False)

FRAMED = {
    "text/html": "text/html",
    "application/xhtml+xml": "text/html",
    "image/svg+xml": "image/svg+xml",
    "text/plain": "text/plain",
    "text/csv": "text/plain",
    "application/xml": "text/plain",
    "text/xml": "text/plain",
}
"""What may stand in a frame, and what the browser is told it is."""

_MOST_BYTES = 4 * 2**20


@router.get("/d/{document_id}/page/{page}.webp")
def page_picture(
    document_id: Number, page: Number, request: Request, service: Service, scope: Viewer
) -> Response:
    """A page as a picture; 404 where there is none."""
    original = originals.original_of(service.database, scope, document_id)
    if not rasterise.can_draw(original.media_type or ""):
        raise NotFound
    return _drawn(request, service, original, page)


@router.get("/inbox/arrivals/{arrival_id}.webp")
def waiting_picture(
    arrival_id: Number, request: Request, service: Service, scope: Viewer
) -> Response:
    """A picture that waits for a decision and is no document yet; 404 where there is none."""
    waiting = originals.waiting_pictures(service.database, scope, (arrival_id,))
    original = waiting.get(arrival_id)
    if original is None:
        raise NotFound
    return _drawn(request, service, original, 1)


def _drawn(request: Request, service: Installation, original: Original, page: int) -> Response:
    etag = f'"{original.sha256[:32]}-{page}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    with service.blobs.local_path(original.bucket, original.raw_key) as path:
        try:
            picture = rasterise.picture_of(path, page)
        except NoPicture as error:
            raise NotFound from error
    return Response(picture.content, media_type="image/webp", headers=headers)


@router.get("/d/{document_id}/frame")
def frame(document_id: Number, service: Service, scope: Viewer) -> Response:
    """The original of a text, web page or drawing for the frame of the document's page."""
    original = originals.original_of(service.database, scope, document_id)
    shown_as = framed_as(original)
    if shown_as is None:
        raise NotFound
    with originals.open_original(service.blobs, original) as handle:
        content = handle.read(_MOST_BYTES)
    return Response(
        content,
        headers={
            "Content-Type": shown_as,
            "Content-Security-Policy": FRAME_POLICY,
            "X-Frame-Options": "SAMEORIGIN",
        },
    )


def framed_as(original: Original) -> str | None:
    """The type under which the original may stand in a frame; None when it may not."""
    return FRAMED.get((original.media_type or "").partition(";")[0].strip().lower())
