"""Unmatched money: what has no counterpart, as sheets too; proposals, and linking by hand.

Does not belong here: what a decision does (`bank.deciding`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi import Form as FormField
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from tgv_dagster.bank import deciding
from tgv_dagster.bank.matching import Proposed
from tgv_dagster.installation import Installation
from tgv_dagster.store.levels import Role
from tgv_dagster.store.scope import Scope
from tgv_dagster.web import pages
from tgv_dagster.web.asked import day_of
from tgv_dagster.web.errors import NotAskable
from tgv_dagster.web.principals import Editor, Service, Viewer
from tgv_dagster.web.schemas import Number
from tgv_dagster.web.search_pages import MOST_EXPORTED, Form, spreadsheet
from tgv_dagster.web.sheets import Money
from tgv_dagster.web.texts import Speaker, language_of
from tgv_dagster.web.unmatched_view import MOST_ROWS, OpenBooking, OpenMoney, open_money

router = APIRouter(include_in_schema=False)

First = Annotated[str, Query(alias="from", max_length=10)]
Last = Annotated[str, Query(alias="to", max_length=10)]


Day = Annotated[str, FormField(max_length=10)]


class Verdict(StrEnum):
    """What a person says to a proposal."""

    CONFIRM = "confirm"
    REJECT = "reject"


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
    return pages.render(
        request,
        "unmatched.html",
        found=found,
        first=first,
        last=last,
        decides=request.state.by_session and scope.role.at_least(Role.MANDANT_ADMIN),
    )


@router.post("/unmatched/{kind}/{number}/{verdict}")
def decide(
    kind: Proposed, number: Number, verdict: Verdict, service: Service, scope: Editor,
    first: Day = "", last: Day = "",
) -> Response:  # fmt: skip
    """Confirm or reject a proposal; the console's `tgv bank decide` is the same act."""
    back = _back(first, last)
    confirm = verdict is Verdict.CONFIRM
    deciding.decide(service.database, scope, kind, number, confirm=confirm)
    return back


@router.post("/unmatched/{txn_id}/link")
def link(
    txn_id: Number, service: Service, scope: Editor,
    document: Annotated[int, FormField(ge=1, le=2**62)], first: Day = "", last: Day = "",
) -> Response:  # fmt: skip
    """Join a booking with a receipt by hand; the console's `tgv bank link` is the same act."""
    back = _back(first, last)
    deciding.link(service.database, scope, txn_id, document)
    return back


def _back(first: str, last: str) -> RedirectResponse:
    """To the same span. Raises NotAskable."""
    asked = {"from": day_of(first), "to": day_of(last)}
    span = urlencode({name: f"{day}" for name, day in asked.items() if day is not None})
    return RedirectResponse(f"/unmatched?{span}" if span else "/unmatched", status_code=303)


@router.get("/export/unmatched-{side}.{form}")
def export(
    side: Side, form: Form, request: Request, service: Service, scope: Viewer,
    first: First = "", last: Last = "",
) -> Response:  # fmt: skip
    """One of the lists as a spreadsheet."""
    speaker = Speaker(language_of(request))
    found = _found(service, scope, first, last, limit=MOST_EXPORTED + 1)
    if side is Side.BOOKINGS:
        keys = ("unmatched.booking", "deadlines.day", "field.entity", "field.amount_gross",
                "unmatched.rest", "field.currency", "unmatched.counterparty", "unmatched.purpose",
                "unmatched.proposed")  # fmt: skip
        rows = [
            (b.id, b.day, b.entity, Money(b.amount, b.currency), Money(b.rest, b.currency),
             b.currency, b.counterparty, b.purpose, _proposed(b, speaker))
            for b in found.bookings
        ]  # fmt: skip
    else:
        keys = ("document.number", "deadlines.day", "field.entity", "column.title",
                "field.provider", "field.amount_gross", "unmatched.rest",
                "field.currency")  # fmt: skip
        rows = [
            (r.document_id, r.day, r.entity, r.title, r.provider, Money(r.amount, r.currency),
             Money(r.rest, r.currency), r.currency)
            for r in found.receipts
        ]  # fmt: skip
    return spreadsheet(form, speaker, f"unmatched.{side}", keys, rows)


def _proposed(booking: OpenBooking, speaker: Speaker) -> str:
    return ", ".join(f"{speaker.label('link_kind', p.kind)} {p.other}" for p in booking.proposals)


def _found(
    service: Installation, scope: Scope, first: str, last: str, *, limit: int = MOST_ROWS
) -> OpenMoney:
    """Both lists of the span asked for. Raises NotAskable."""
    start, end = day_of(first), day_of(last)
    if start is not None and end is not None and end < start:
        raise NotAskable("`from` lies after `to`.")
    return open_money(service.database, scope, first=start, last=end, limit=limit)
