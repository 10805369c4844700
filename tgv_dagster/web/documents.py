"""Routes of documents: their facts, their original, and their page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse
from pydantic import BaseModel, Field

from tgv_dagster.arrive.mail_ledger import ThreadHeaders
from tgv_dagster.tables.artefacts import artefacts
from tgv_dagster.web import originals, pages, previews
from tgv_dagster.web.document_more import surroundings
from tgv_dagster.web.document_view import document_view
from tgv_dagster.web.errors import documented
from tgv_dagster.web.evidence_view import place_of
from tgv_dagster.web.limits import BYTES_POLICY
from tgv_dagster.web.originals import ByteRange, Original
from tgv_dagster.web.principals import Service, Viewer
from tgv_dagster.web.schemas import MAX_NUMBER, Number

router = APIRouter(tags=["documents"])

_MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,90}")


class SourceOut(BaseModel):
    """Where a value comes from."""

    page: int | None
    start: int | None
    end: int | None
    note: str | None
    rule_id: str | None
    set_by: str
    set_at: datetime
    version: str


class ValueOut(BaseModel):
    """One value with its source, origin and confidence (0 to 1)."""

    field: str
    value: str | None
    checked_none: bool
    origin: str
    confidence: float | None
    in_force: bool
    source: SourceOut


class ShownArrivalOut(BaseModel):
    """An arrival that brought the document."""

    arrival_id: int
    gate: str
    file_name: str
    received_at: datetime
    outcome: str


class ThreadOut(BaseModel):
    """The mail around the document; null is not recorded or not a mail.

    `reply`: whether the mail has In-Reply-To or References (`present`, `absent`), or nobody wrote
    that down (`not_recorded`); null for what came in no mail.
    """

    message_id: str | None
    in_reply_to: str | None
    parent_message_id: str | None
    mail_from: str | None
    mail_to: str | None
    mail_subject: str | None
    reply: ThreadHeaders | None
    references: list[str]


class MailMetadataOut(BaseModel):
    """The six facts of the mail around the document; null is not in the mail or not recorded."""

    mail_from: Annotated[str | None, Field(serialization_alias="from")]
    subject: str | None
    date: datetime | None
    message_id: str | None
    is_forwarded: bool | None
    entity_hint: str | None


class DocumentOut(BaseModel):
    """A document. `dates` holds each date axis apart, `values` everything else."""

    id: int
    title: str | None
    file_name: str
    media_type: str | None
    file_class: str
    sha256: str
    size: int | None
    doc_type: str | None
    language: str | None
    provider: str | None
    direction: str | None
    entity: str | None
    entity_quelle: str | None
    project_code: str | None
    confidentiality_level: str | None
    level_known: bool
    visible_from: datetime | None
    state: str
    held_gate: str | None
    held_reason: str | None
    flow_stage: str
    finance_stage: str | None
    date_received: datetime
    intent_text: str | None
    legacy_number: str | None
    mail: MailMetadataOut | None
    thread: ThreadOut
    dates: list[ValueOut]
    values: list[ValueOut]
    arrivals: list[ShownArrivalOut]
    open_cases: list[int]
    chunks: int


@router.get(
    "/api/documents/{document_id}",
    summary="Read a document",
    response_model=DocumentOut,
    responses=documented(401, 404, 422, 503),
)
def document(document_id: Number, service: Service, scope: Viewer) -> DocumentOut:
    """Facts, values with their source, date axes apart, arrivals, open cases."""
    view = document_view(service.database, scope, document_id)
    return DocumentOut.model_validate(view, from_attributes=True)


@router.get(
    "/api/documents/{document_id}/bytes",
    summary="Fetch the original",
    response_class=Response,
    responses={
        200: {"content": {"application/octet-stream": {}}, "description": "the original"},
        206: {"content": {"application/octet-stream": {}}, "description": "the range asked for"},
        304: {"description": "you have these bytes already"},
        410: {"description": "erased"},
        416: {"description": "the range lies outside the file"},
        **documented(401, 403, 404, 422, 503),
    },
)
def original_bytes(
    document_id: Number,
    service: Service,
    scope: Viewer,
    byte_range: Annotated[
        str | None, Header(alias="Range", description="One range, such as bytes=0-1023.")
    ] = None,
    if_range: Annotated[str | None, Header()] = None,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """The bytes as they arrived, as an attachment, never run or shown by the browser.

    A whole file ends early, and so visibly incomplete, when its bytes do not hash to their name.
    """
    original = originals.original_of(service.database, scope, document_id)
    etag = f'"{original.sha256}"'
    headers = {
        "ETag": etag,
        "Accept-Ranges": "bytes",
        "Cache-Control": "private, no-cache",
        "Content-Disposition": disposition(original.file_name),
        "Content-Security-Policy": BYTES_POLICY,
    }
    if if_none_match is not None and etag in if_none_match:
        return Response(status_code=304, headers=headers)
    wanted = byte_range if if_range in (None, etag) else None
    asked = originals.asked_range(wanted, original.size)
    handle = originals.open_original(service.blobs, original)
    if asked is None:
        return _streamed(originals.whole(handle, original), 200, original, original.size, headers)
    headers["Content-Range"] = f"bytes {asked.start}-{asked.end}/{original.size}"
    return _streamed(originals.part(handle, asked), 206, original, _length(asked), headers)


def _length(asked: ByteRange) -> int:
    return asked.end - asked.start + 1


def _streamed(
    pieces: Iterator[bytes], status: int, original: Original, length: int, headers: dict[str, str]
) -> StreamingResponse:
    media_type = original.media_type or ""
    return StreamingResponse(
        pieces,
        status_code=status,
        media_type=media_type if _MEDIA_TYPE.fullmatch(media_type) else "application/octet-stream",
        headers={**headers, "Content-Length": str(length)},
    )


def disposition(file_name: str) -> str:
    """The attachment header of any name: an ASCII stand-in and the real one (RFC 6266, 4.3)."""
    plain = "".join(c if " " <= c <= "~" and c not in '"\\%' else "_" for c in file_name)
    encoded = quote(file_name.encode("utf-8", "replace"), safe="")
    return f"attachment; filename=\"{plain[:150]}\"; filename*=UTF-8''{encoded}"


@router.get(
    "/d/{document_id}",
    summary="The page of a document",
    response_class=HTMLResponse,
    responses={status: {"description": "a page that says so"} for status in (401, 404, 422, 503)},
)
def page(
    document_id: Number,
    request: Request,
    service: Service,
    scope: Viewer,
    field: Annotated[str, Query(max_length=60, description="Show where this field stands.")] = "",
    page: Annotated[int, Query(ge=1, le=MAX_NUMBER)] = 1,
) -> HTMLResponse:
    """The document for people, in German, French or English."""
    view = document_view(service.database, scope, document_id)
    value = next((v for v in (*view.values, *view.dates) if v.field == field and v.in_force), None)
    return pages.render(
        request,
        "document.html",
        document=view,
        more=surroundings(service.database, scope, document_id),
        results=artefacts(service.database, scope, document_id=document_id),
        place=place_of(service.database, scope, document_id, value, page=page),
        framed=previews.FRAMED.get(view.media_type or ""),
        lineage=f"{service.settings.ui_at(_host(request))}/assets/documents?view=lineage",
    )


def _host(request: Request) -> str:
    """The host the reader came by, as it stands in an address."""
    name = request.url.hostname or "127.0.0.1"
    return f"[{name}]" if ":" in name else name
