"""Pages of the know room: ask, or list documents by their fields; the list as a spreadsheet.

With words it is a question, without them the list by fields. Does not belong here: how anything is
found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup, escape

from tgv_dagster.installation import Installation
from tgv_dagster.know.balance import Card
from tgv_dagster.know.document_list import MOST_ROWS, DocumentPage, query_documents
from tgv_dagster.know.search import SearchAnswer, SearchParts, search
from tgv_dagster.store.scope import Scope
from tgv_dagster.web import asked, pages, sheets
from tgv_dagster.web.asked import Filters
from tgv_dagster.web.choices import choices_of
from tgv_dagster.web.principals import Service, Viewer
from tgv_dagster.web.sheets import Cell
from tgv_dagster.web.texts import Speaker, language_of

router = APIRouter(include_in_schema=False)

PAGE_ROWS = 50
MOST_EXPORTED = 10_000
Asked = Annotated[Filters, Depends(asked.filters)]


class Form(StrEnum):
    """Forms of an export."""

    CSV = "csv"
    XLSX = "xlsx"


@router.get("/search")
def search_page(request: Request, service: Service, scope: Viewer, wanted: Asked) -> HTMLResponse:
    """Cards for a question; without one the documents that the filters leave."""
    answer = _answer(request, service, scope, wanted) if wanted.q else None
    listed = None if wanted.q else _listed(service, scope, wanted)
    return pages.render(
        request,
        "search.html",
        wanted=wanted,
        choices=choices_of(service.database, scope),
        answer=answer,
        snippets=[_marked(card) for card in answer.cards] if answer else [],
        listed=listed,
    )


def _answer(request: Request, service: Installation, scope: Scope, wanted: Filters) -> SearchAnswer:
    sizes = request.app.state.vector_sizes
    parts = SearchParts(service.database, service.words, service.embedder, sizes)
    language = language_of(request)
    return search(parts, scope, wanted.q, filters=wanted.for_search(), language=language)


def _listed(service: Installation, scope: Scope, wanted: Filters) -> DocumentPage:
    offset = (wanted.page - 1) * PAGE_ROWS
    return query_documents(service.database, scope, wanted.for_list(limit=PAGE_ROWS, offset=offset))


def _marked(card: Card) -> Markup:
    """The snippet with the words of the question marked; everything in it escaped."""
    out, at = Markup(), 0
    for start, end in sorted(card.marks):
        if start >= at:
            out += escape(card.snippet[at:start])
            out += Markup("<mark>{}</mark>").format(card.snippet[start:end])
            at = end
    return out + escape(card.snippet[at:])


@router.get("/export/documents.{form}")
def export(
    form: Form, request: Request, service: Service, scope: Viewer, wanted: Asked
) -> Response:
    """The list by fields as a spreadsheet: the first `MOST_EXPORTED` rows of its order."""
    speaker = Speaker(language_of(request))
    columns = (
        "document.number", "column.title", "field.doc_type", "field.provider", "field.entity",
        "field.project_code", "document.level", "field.date_received", "field.invoice_date",
        "field.service_date", "field.due_date", "field.amount_gross", "field.currency",
    )  # fmt: skip
    header = [speaker.say(key) for key in columns]
    rows = list(_rows(service, scope, wanted, speaker))
    return spreadsheet(form, speaker.say("search.documents"), header, rows)


def _rows(
    service: Installation, scope: Scope, wanted: Filters, speaker: Speaker
) -> Iterator[tuple[Cell, ...]]:
    for offset in range(0, MOST_EXPORTED, MOST_ROWS):
        page = query_documents(
            service.database, scope, wanted.for_list(limit=MOST_ROWS, offset=offset)
        )
        for row in page.rows:
            yield (
                row.document_id,
                row.title,
                speaker.label("doc_type", row.doc_type),
                row.provider,
                row.entity,
                row.project_code,
                speaker.label("level", row.confidentiality_level),
                row.date_received,
                row.invoice_date,
                row.service_date,
                row.due_date,
                row.amount_gross,
                row.currency,
            )
        if page.complete:
            return


def spreadsheet(
    form: Form, title: str, header: Sequence[str], rows: Sequence[Sequence[Cell]]
) -> Response:
    """A table as a file to save; nothing in it runs."""
    if form is Form.CSV:
        content, media_type = sheets.to_csv(header, rows), sheets.CSV_TYPE
    else:
        content, media_type = sheets.to_xlsx(title, header, rows), sheets.XLSX_TYPE
    name = f"tgv-{date.today():%Y-%m-%d}.{form}"
    disposition = f'attachment; filename="{name}"'
    return Response(content, media_type=media_type, headers={"Content-Disposition": disposition})
