"""Old links: `/l/…` leads to the document, or says what became of it (RAW-14)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from tgv_dagster.store.db import Database
from tgv_dagster.store.scope import Scope
from tgv_dagster.web import pages
from tgv_dagster.web.errors import NotFound
from tgv_dagster.web.principals import Service, Viewer

router = APIRouter(tags=["documents"])


class LegacyState(StrEnum):
    """What became of an old link."""

    OLD_STORE = "old_store"
    RECOVERED = "recovered"
    UNRECOVERABLE = "unrecoverable"
    BODY_BY_DESIGN = "body_by_design"


@dataclass(frozen=True, slots=True)
class LegacyLink:
    """One answer to an old link; `old_address` only while the file is at its old place."""

    state: LegacyState
    document_id: int | None
    old_address: str | None


def resolve_legacy(database: Database, scope: Scope, asked: str) -> tuple[LegacyLink, ...]:
    """What an old number (`#1234` or `1234`) or address stands for, as far as the reader may know.

    Several only for the owner, because numbers are unique within a tenant.
    """
    with database.reading(scope) as connection:
        rows = connection.execute(
            """
            SELECT l.state, d.id, l.legacy_url FROM legacy_links l
            LEFT JOIN documents d ON d.id = l.document_id
            WHERE l.legacy_url = %(asked)s OR l.legacy_number = %(number)s
            UNION
            SELECT 'recovered', d.id, NULL FROM documents d
            WHERE d.legacy_number = %(number)s
              AND NOT EXISTS (SELECT 1 FROM legacy_links l WHERE l.document_id = d.id)
            ORDER BY 2
            """,
            {"asked": asked, "number": asked.removeprefix("#")},
        ).fetchall()
    return tuple(_link(LegacyState(state), number, address) for state, number, address in rows)


def _link(state: LegacyState, document_id: int | None, address: str | None) -> LegacyLink:
    there = state is LegacyState.OLD_STORE and address is not None
    safe = there and str(address).startswith(("https://", "http://"))
    return LegacyLink(state, document_id, address if safe else None)


@router.get(
    "/l/{legacy:path}",
    summary="Follow an old link",
    response_class=HTMLResponse,
    responses={302: {"description": "leads to the document's page"}},
)
def follow(legacy: str, request: Request, service: Service, scope: Viewer) -> Response:
    """Lead to the one document behind an old number or address, or say what became of it."""
    query = request.url.query
    asked = f"{legacy}?{query}" if query else legacy
    if "\x00" in asked:
        raise NotFound
    links = resolve_legacy(service.database, scope, asked)
    if not links:
        raise NotFound
    here = {
        link.document_id
        for link in links
        if link.document_id is not None and link.state is not LegacyState.OLD_STORE
    }
    if len(here) == 1 and len(links) == 1:
        return RedirectResponse(f"/d/{here.pop()}", status_code=302)
    return pages.render(request, "legacy.html", links=links)
