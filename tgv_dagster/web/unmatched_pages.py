"""Unmatched money: bookings without a receipt and receipts without a booking; as sheets, too."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from tgv_dagster.installation import Installation
from tgv_dagster.store.scope import Scope
from tgv_dagster.web import pages
from tgv_dagster.web.asked import day_of
from tgv_dagster.web.errors import NotAskable
from tgv_dagster.web.principals import Service, Viewer
from tgv_dagster.web.search_pages import Form, spreadsheet
from tgv_dagster.web.texts import Speaker, language_of
from tgv_dagster.web.unmatched_view import MOST_ROWS, OpenMoney, open_money

router = APIRouter(include_in_schema=False)

MOST_EXPORTED = 10_000
First = Annotated[str, Query(alias="from", max_length=10)]
Last = Annotated[str, Query(alias="to", max_length=10)]


class Side(StrEnum):
    """Which of the two lists."""

    BOOKINGS = "bookings"
    RECEIPTS = "receipts"


@router.get("/unmatched")
def page(
    request: Request, service: Service, scope: Viewer, first: First = "", last: Last = ""
) -> HTMLResponse:
    """What is open in a span of days; in all time when none is asked."""
    found = _found(service, scope, first, last)
    return pages.render(request, "unmatched.html", found=found, first=first, last=last)


@router.get("/export/unmatched-{side}.{form}")
def export(
    side: Side, form: Form, request: Request, service: Service, scope: Viewer,
    first: First = "", last: Last = "",
) -> Response:  # fmt: skip
    """One of the lists as a spreadsheet, the first `MOST_EXPORTED` rows."""
    speaker = Speaker(language_of(request))
    found = _found(service, scope, first, last, limit=MOST_EXPORTED)
    if side is Side.BOOKINGS:
        keys = ("unmatched.booking", "deadlines.day", "field.entity", "field.amount_gross",
                "field.currency", "unmatched.counterparty", "unmatched.purpose",
                "unmatched.proposed")  # fmt: skip
        rows = [
            (b.id, b.day, b.entity, b.amount, b.currency, b.counterparty, b.purpose, b.document_id)
            for b in found.bookings
        ]
    else:
        keys = ("document.number", "deadlines.day", "field.entity", "column.title",
                "field.provider", "field.amount_gross", "field.currency")  # fmt: skip
        rows = [
            (r.document_id, r.day, r.entity, r.title, r.provider, r.amount, r.currency)
            for r in found.receipts
        ]
    header = [speaker.say(key) for key in keys]
    return spreadsheet(form, speaker.say(f"unmatched.{side}"), header, rows)


def _found(
    service: Installation, scope: Scope, first: str, last: str, *, limit: int = MOST_ROWS
) -> OpenMoney:
    """Both lists of the span asked for. Raises NotAskable."""
    start, end = day_of(first), day_of(last)
    if start is not None and end is not None and end < start:
        raise NotAskable("`from` lies after `to`.")
    return open_money(service.database, scope, first=start, last=end, limit=limit)
