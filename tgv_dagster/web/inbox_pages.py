"""Pages of the clarify room: the inbox, one case as a conversation, and what is parked (CLAR-02).

Each form calls the same function as the route for programs, with the rights of the person; the
card comes from the server, the page says only which one (ACT-01 to ACT-07). Does not belong here:
what a decision does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from tgv_dagster import vollzug
from tgv_dagster.clarify import conversation, decisions
from tgv_dagster.clarify.cases import CaseHead, CaseRow, NotAnswerable, case_heads
from tgv_dagster.clarify.conversation import Conversation
from tgv_dagster.clarify.execution import CardRow
from tgv_dagster.installation import Installation
from tgv_dagster.store.scope import Scope
from tgv_dagster.understand.doctypes import DocType
from tgv_dagster.understand.evidence import Field
from tgv_dagster.web import originals, pages, previews
from tgv_dagster.web.choices import choices_of
from tgv_dagster.web.document_view import DocumentNotFound, DocumentView, document_view
from tgv_dagster.web.evidence_view import Place, place_of
from tgv_dagster.web.originals import Original
from tgv_dagster.web.principals import Editor, Service, Viewer
from tgv_dagster.web.schemas import Number
from tgv_dagster.web.texts import language_of

router = APIRouter(include_in_schema=False)

MOST_CASES = 50
MOST_PICTURES = 100
VALUE = "value."
"""Beginning of the names of fields that carry the value of an open point."""

NONE = "none."
"""Beginning of the names of boxes that say "looked, there is none"."""

Line = Annotated[str, Form(max_length=300)]


@dataclass(frozen=True, slots=True)
class OpenPoint:
    """One question of a case, as the page asks it. `choices` are what the machine found."""

    field: str
    kind: str
    reason: str
    choices: tuple[str, ...]
    offered: tuple[tuple[str, str], ...]
    is_date: bool


@router.get("/inbox")
def inbox(request: Request, service: Service, scope: Viewer) -> Response:
    """The oldest open case, with the list of the others beside it."""
    cases = case_heads(service.database, scope, limit=MOST_CASES + 1)
    if cases:
        return _shown(request, service, scope, cases[0].id, cases)
    return pages.render(request, "inbox.html", cases=[], talk=None, document=None, place=None)


@router.get("/inbox/{case_id}")
def case(case_id: Number, request: Request, service: Service, scope: Viewer) -> HTMLResponse:
    """One case: what is open, the place in the document, the card, the conversation."""
    cases = case_heads(service.database, scope, limit=MOST_CASES + 1)
    return _shown(request, service, scope, case_id, cases)


def _shown(
    request: Request,
    service: Installation,
    scope: Scope,
    case_id: int,
    cases: tuple[CaseHead, ...],
) -> HTMLResponse:
    talk = conversation.read(vollzug.executor_of(service), scope, case_id)
    document = _document(service, scope, talk.case)
    points = _points(talk.case, service, scope)
    place = _place(service, scope, talk.case, document)
    return pages.render(
        request,
        "inbox.html",
        cases=cases[:MOST_CASES],
        more=len(cases) > MOST_CASES,
        talk=talk,
        points=points,
        cards={card.id: card for card in talk.cards},
        accepted=_acceptable(talk),
        next_case=_after(cases, case_id),
        document=document,
        place=place,
        framed=_framed(document, place),
        waiting=_waiting(service, scope, talk.case),
    )


def _framed(document: DocumentView | None, place: Place | None) -> str | None:
    """The original stands in a frame where no place of its text is marked."""
    if document is None or place is None or place.marked:
        return None
    return previews.FRAMED.get(document.media_type or "")


def _waiting(service: Installation, scope: Scope, row: CaseRow) -> dict[int, Original]:
    """The pictures the case is about that are no documents yet, as far as the reader sees them."""
    if row.document_id is not None:
        return {}
    subjects = [int(one["subject_id"]) for one in row.evidence.get("subjects", ())]
    own = [] if row.arrival_id is None else [row.arrival_id]
    return originals.waiting_pictures(service.database, scope, [*subjects, *own][:MOST_PICTURES])


def _document(service: Installation, scope: Scope, row: CaseRow) -> DocumentView | None:
    if row.document_id is None:
        return None
    try:
        return document_view(service.database, scope, row.document_id)
    except DocumentNotFound:
        return None


def _place(service: Installation, scope: Scope, row: CaseRow, document: DocumentView | None):
    """Where the first open point that has evidence stands, else the first page."""
    if document is None:
        return None
    asked = {str(point.get("field")) for point in row.open_points}
    values = (v for v in (*document.values, *document.dates) if v.field in asked)
    shown = next((v for v in values if v.source.page is not None), None)
    return place_of(service.database, scope, document.id, shown)


def _points(row: CaseRow, service: Installation, scope: Scope) -> tuple[OpenPoint, ...]:
    found = {str(c.get("field")): tuple(map(str, c.get("values", ()))) for c in row.choices}
    known = choices_of(service.database, scope)
    offered = {
        Field.ENTITY: known.entities,
        Field.PROJECT_CODE: known.projects,
        Field.DOC_TYPE: tuple((word, word) for word in DocType),
        Field.CONFIDENTIALITY_LEVEL: tuple((word, word) for word in known.levels),
    }
    return tuple(
        OpenPoint(
            field=str(point["field"]),
            kind=str(point.get("kind", "")),
            reason=str(point.get("reason", "")),
            choices=found.get(str(point["field"]), ()),
            offered=offered.get(Field(point["field"]), ()),
            is_date=str(point["field"]).endswith(("_date", "_deadline")),
        )
        for point in row.open_points
        if point.get("field") in set(Field)
    )


def _acceptable(talk: Conversation) -> CardRow | None:
    """The card that one key accepts: open, executable and this person's to execute."""
    fit = (c for c in reversed(talk.cards) if c.state == "pending" and c.executable)
    return next((card for card in fit if card.may_execute), None)


def _after(cases: tuple[CaseHead, ...], case_id: int) -> int | None:
    """The case to go to next: the one after this, else the first other one."""
    others = [row.id for row in cases if row.id != case_id]
    return next((number for number in others if number > case_id), others[0] if others else None)


async def given_values(request: Request) -> dict[Field, str | None]:
    """What a form gives for each field: a box "there is none", else what was typed or chosen."""
    values: dict[Field, str | None] = {}
    none: set[Field] = set()
    for name, sent in (await request.form()).multi_items():
        text = sent.strip() if isinstance(sent, str) else ""
        if name.startswith(NONE):
            none.add(_field(name.removeprefix(NONE)))
        elif name.startswith(VALUE) and text:
            values[_field(name.removeprefix(VALUE))] = text
    return values | dict.fromkeys(none)


@router.post("/inbox/{case_id}/answer")
def answer(
    case_id: Number,
    service: Service,
    scope: Editor,
    values: Annotated[dict[Field, str | None], Depends(given_values)],
) -> Response:
    """Values for the open points, typed or chosen; empty ones stay open."""
    if not values:
        raise NotAnswerable("No value was given.")
    left = decisions.answer(service.database, scope, case_id, values)
    return _onward(service, scope, case_id, stays=bool(left))


def _field(name: str) -> Field:
    try:
        return Field(name)
    except ValueError:
        raise NotAnswerable("There is no such field.") from None


@router.post("/inbox/{case_id}/say")
def say(
    case_id: Number,
    request: Request,
    service: Service,
    scope: Editor,
    text: Annotated[str, Form(max_length=4000)] = "",
) -> Response:
    """Words of a person; what they state comes back as a card to confirm."""
    executor = vollzug.executor_of(service)
    conversation.post(executor, scope, case_id, text, language=language_of(request))
    return RedirectResponse(f"/inbox/{case_id}", status_code=303)


@router.post("/inbox/{case_id}/release")
def release(case_id: Number, service: Service, scope: Editor) -> Response:
    """Give what is parked another try."""
    decisions.release(service.database, scope, case_id)
    return _onward(service, scope, case_id)


@router.post("/inbox/{case_id}/dismiss")
def dismiss(case_id: Number, service: Service, scope: Editor, reason: Line = "") -> Response:
    """Close without effect, with a reason."""
    decisions.dismiss(service.database, scope, case_id, reason=reason)
    return _onward(service, scope, case_id)


@router.post("/inbox/cards/{card_id}/execute")
def execute(card_id: Number, service: Service, scope: Editor, choice: Line = "") -> Response:
    """Do what the card says, once; the second press gets the stored result."""
    outcome = vollzug.execute(service, scope, card_id, choice=choice or None)
    case_id = outcome.card.case_id
    stays = outcome.repeated or bool(outcome.open_points) or _is_open(service, scope, case_id)
    return _onward(service, scope, case_id, stays=stays)


@router.post("/inbox/cards/{card_id}/reject")
def reject(card_id: Number, service: Service, scope: Editor, reason: Line = "") -> Response:
    """Say no to a card, with a reason."""
    outcome = vollzug.reject(service, scope, card_id, reason=reason)
    return RedirectResponse(f"/inbox/{outcome.card.case_id}", status_code=303)


@router.post("/inbox/cards/{card_id}/withdraw")
def withdraw(card_id: Number, service: Service, scope: Editor, reason: Line = "") -> Response:
    """Take back exactly what the card did."""
    outcome = vollzug.withdraw(service, scope, card_id, reason=reason)
    return RedirectResponse(f"/inbox/{outcome.card.case_id}", status_code=303)


def _is_open(service: Installation, scope: Scope, case_id: int) -> bool:
    rows = case_heads(service.database, scope, limit=1, after_id=case_id - 1)
    return any(row.id == case_id for row in rows)


def _onward(
    service: Installation, scope: Scope, case_id: int, *, stays: bool = False
) -> RedirectResponse:
    """To the next open case, or back to this one while something of it is open."""
    if stays:
        return RedirectResponse(f"/inbox/{case_id}", status_code=303)
    cases = case_heads(service.database, scope, limit=2, after_id=case_id)
    following = next((f"/inbox/{row.id}" for row in cases), "/inbox")
    return RedirectResponse(following, status_code=303)


@router.get("/parked")
def parked(request: Request, service: Service, scope: Viewer) -> HTMLResponse:
    """What is parked or held, each with its reason."""
    cases = case_heads(service.database, scope, parked_only=True, limit=MOST_CASES + 1)
    more = len(cases) > MOST_CASES
    return pages.render(request, "parked.html", cases=cases[:MOST_CASES], more=more)
