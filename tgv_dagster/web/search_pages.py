"""Pages of the know room: ask, or list documents by their fields; the list as a spreadsheet.

With words it is a question, without them the list by fields. Does not belong here: how anything is
found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import date
from enum import StrEnum
from io import SEEK_END
from tempfile import SpooledTemporaryFile
from typing import IO, Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse
from markupsafe import Markup, escape

from tgv_dagster.installation import Installation
from tgv_dagster.know.balance import Card
from tgv_dagster.know.document_list import DocumentPage, every_document, query_documents
from tgv_dagster.know.search import SearchAnswer, SearchParts, search
from tgv_dagster.store.scope import Scope
from tgv_dagster.web import asked, pages, sheets
from tgv_dagster.web.asked import Filters
from tgv_dagster.web.choices import choices_of
from tgv_dagster.web.principals import Service, Viewer
from tgv_dagster.web.sheets import Cell, Money
from tgv_dagster.web.texts import Speaker, language_of

router = APIRouter(include_in_schema=False)

PAGE_ROWS = 50
MOST_EXPORTED = 100_000
_IN_MEMORY = 4 << 20
_PART = 1 << 18
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
    """The list by fields as a spreadsheet, in its order."""
    speaker = Speaker(language_of(request))
    columns = (
        "document.number", "column.title", "field.doc_type", "field.provider", "field.entity",
        "field.project_code", "document.level", "field.date_received", "field.invoice_date",
        "field.service_date", "field.due_date", "field.amount_gross", "field.currency",
    )  # fmt: skip
    asked = wanted.for_list(limit=MOST_EXPORTED + 1, offset=0)
    found = every_document(service.database, scope, asked)
    rows = (
        (
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
            Money(row.amount_gross, row.currency),
            row.currency,
        )
        for row in found
    )
    return spreadsheet(form, speaker, "search.documents", columns, rows)


def spreadsheet(
    form: Form,
    speaker: Speaker,
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Cell]],
) -> Response:
    """A table as a file to save; nothing in it runs. `title` and `columns` are keys of texts.

    It is written to a file first: the database is free again before the reader's line is, and an
    error is told instead of cutting the file. What goes beyond `MOST_EXPORTED` rows is said in the
    last one.
    """
    header = [speaker.say(key) for key in columns]
    shown = _at_most(rows, speaker.say("export.more", rows=MOST_EXPORTED))
    with ExitStack() as stack:
        out = stack.enter_context(SpooledTemporaryFile(max_size=_IN_MEMORY))
        if form is Form.CSV:
            sheets.write_csv(out, header, shown, mark=speaker.decimal_mark)
            media_type = sheets.CSV_TYPE
        else:
            sheets.write_xlsx(out, speaker.say(title), header, shown)
            media_type = sheets.XLSX_TYPE
        size = out.seek(0, SEEK_END)
        kept = stack.pop_all()
    name = f"tgv-{date.today():%Y-%m-%d}.{form}"
    return StreamingResponse(
        _parts(out, kept),
        media_type=media_type,
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "Content-Length": str(size),
        },
    )


def _at_most(rows: Iterable[Sequence[Cell]], more: str) -> Iterator[Sequence[Cell]]:
    for number, row in enumerate(rows):
        if number == MOST_EXPORTED:
            yield (more,)
            return
        yield row


def _parts(file: IO[bytes], kept: ExitStack) -> Iterator[bytes]:
    with kept:
        file.seek(0)
        while part := file.read(_PART):
            yield part
