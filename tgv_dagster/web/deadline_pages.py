"""Pages of deadlines: the list of a span of days, and the same as a spreadsheet."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from tgv_dagster.installation import Installation
from tgv_dagster.store.scope import Scope
from tgv_dagster.web import pages
from tgv_dagster.web.asked import day_of
from tgv_dagster.web.deadline_view import Deadlines, deadlines
from tgv_dagster.web.errors import NotAskable
from tgv_dagster.web.principals import Service, Viewer
from tgv_dagster.web.search_pages import MOST_EXPORTED, Form, spreadsheet
from tgv_dagster.web.texts import Speaker, language_of

router = APIRouter(include_in_schema=False)

Day = Annotated[str, Query(max_length=10)]


@router.get("/deadlines")
def page(
    request: Request,
    service: Service,
    scope: Viewer,
    first: Annotated[str, Query(alias="from", max_length=10)] = "",
    last: Annotated[str, Query(alias="to", max_length=10)] = "",
) -> HTMLResponse:
    """What has to be done from a day on; from today when none is asked."""
    found = _found(service, scope, first, last)
    return pages.render(request, "deadlines.html", found=found, first=first, last=last)


@router.get("/export/deadlines.{form}")
def export(
    form: Form,
    request: Request,
    service: Service,
    scope: Viewer,
    first: Annotated[str, Query(alias="from", max_length=10)] = "",
    last: Annotated[str, Query(alias="to", max_length=10)] = "",
) -> Response:
    """The same list as a spreadsheet."""
    speaker = Speaker(language_of(request))
    columns = ("deadlines.day", "deadlines.kind", "document.number", "column.title",
               "field.entity", "field.provider", "deadlines.derivation")  # fmt: skip
    found = _found(service, scope, first, last, limit=MOST_EXPORTED + 1)
    rows = [
        (
            row.day,
            speaker.label("field", row.kind),
            row.document_id,
            row.title,
            row.entity,
            row.partner,
            row.derivation,
        )
        for row in found.rows
    ]
    return spreadsheet(form, speaker, "deadlines.title", columns, rows)


def _found(
    service: Installation, scope: Scope, first: str, last: str, *, limit: int = 200
) -> Deadlines:
    """The deadlines of the span asked for. Raises NotAskable."""
    start, end = day_of(first) or date.today(), day_of(last)
    if end is not None and end < start:
        raise NotAskable("`from` lies after `to`.")
    return deadlines(service.database, scope, first=start, last=end, limit=limit)
