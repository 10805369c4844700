"""Routes of the know room: ask the knowledge base, and list documents by their fields."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from tgv_dagster.installation import Installation
from tgv_dagster.know.balance import Card, Emptiness, ValidationStatus, WayState, Weg
from tgv_dagster.know.document_list import (
    MOST_ROWS,
    DocumentQuery,
    ListAxis,
    Order,
    query_documents,
)
from tgv_dagster.know.search import SearchAnswer, SearchFilters, SearchParts, search
from tgv_dagster.know.structured import Asked, FieldAnswer
from tgv_dagster.know.vectors import VectorSizes
from tgv_dagster.know.word_model import IndexedAxis
from tgv_dagster.store.scope import Period, Scope
from tgv_dagster.web.errors import NotAskable, documented
from tgv_dagster.web.principals import Service, Viewer
from tgv_dagster.web.schemas import MAX_NUMBER, ShortText, Slug, Text
from tgv_dagster.web.texts import language_of

router = APIRouter(tags=["know"])

MAX_CARDS = 100


class CardOut(BaseModel):
    """One source. `geprueft`: it passed a measured floor; `weg`: the way that found it.

    `marks`: half-open spans of the snippet that are words of the question; `source`: how prose
    names it; `verbatim_ok`: whether its words may be quoted outside, null = nobody said.
    """

    document_id: int
    title: str
    snippet: str
    marks: list[tuple[int, int]] = []
    page: int | None
    weg: Weg
    geprueft: bool
    validation_status: ValidationStatus
    ai_suggested: bool
    score: float
    source: str
    link: str
    verbatim_ok: bool | None = None


class FieldHitOut(BaseModel):
    """One document found by the value of a field; `asked`: what of the question it answers."""

    document_id: int
    title: str
    asked: Asked
    field: str
    value: str
    source: str
    link: str


class FieldsOut(BaseModel):
    """What dates, amounts, numbers and parties answer: `used` of `of` matching documents."""

    hits: list[FieldHitOut]
    used: int
    of: int
    state: WayState


class WayOut(BaseModel):
    """How one way ended; failed is not empty."""

    state: WayState
    hits: int
    milliseconds: float


class SearchOut(BaseModel):
    """Cards in order, the line above them, and how they came about.

    `acting` names every filter that acted, your ceiling among them; `reasons` why a way failed.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "line": "1 Treffer, 1 ungeprüft",
                "cards": [
                    {
                        "document_id": 17,
                        "title": "Rechnung RE-2026-0318",
                        "snippet": "Eichenplatten, 12 Stück …",
                        "page": 1,
                        "weg": "wortsuche",
                        "geprueft": False,
                        "validation_status": "ai_unverified",
                        "ai_suggested": True,
                        "score": 7.2,
                        "source": "#17",
                        "link": "/d/17",
                    }
                ],
                "fields": {"hits": [], "used": 0, "of": 0, "state": "complete"},
                "emptiness": "none",
                "acting": ["confidentiality_level ≤ intern"],
                "stopped": ["die"],
                "ways": {
                    "vektor": {"state": "complete", "hits": 0, "milliseconds": 9.1},
                    "wortsuche": {"state": "complete", "hits": 1, "milliseconds": 2.4},
                },
                "reasons": [],
            }
        }
    )

    line: str
    cards: list[CardOut]
    fields: FieldsOut
    emptiness: Emptiness
    acting: list[str]
    stopped: list[str]
    ways: dict[Weg, WayOut]
    reasons: list[str]


@router.get(
    "/api/search",
    summary="Ask the knowledge base",
    response_model=SearchOut,
    responses=documented(401, 403, 422, 503),
)
def ask(
    request: Request,
    service: Service,
    scope: Viewer,
    q: Annotated[Text, Query(description="Any words, in any language.", examples=["Eichenholz"])],
    entity: Annotated[Slug | None, Query()] = None,
    project: Annotated[ShortText | None, Query()] = None,
    document: Annotated[int | None, Query(ge=1, le=MAX_NUMBER)] = None,
    axis: Annotated[
        IndexedAxis | None, Query(description="The date axis of `from` and `to`.")
    ] = None,
    first: Annotated[date | None, Query(alias="from")] = None,
    last: Annotated[date | None, Query(alias="to")] = None,
    limit: Annotated[int | None, Query(ge=1, le=MAX_CARDS)] = None,
) -> SearchOut:
    """Both ways, one list; what you may not see is not there, and nothing counts it."""
    filters = SearchFilters(
        entity=entity,
        project_code=project or None,
        document_id=document,
        period=_period(axis, first, last),
    )
    return _asked(request, service, scope, q, filters, limit)


class SearchIn(BaseModel):
    """A question in the body, where no log of addresses keeps it."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    q: Text = Field(description="Any words, in any language.", examples=["Eichenholz"])
    entity: Slug | None = None
    project: ShortText | None = None
    document: int | None = Field(default=None, ge=1, le=MAX_NUMBER)
    axis: IndexedAxis | None = Field(default=None, description="The date axis of `from` and `to`.")
    first: date | None = Field(default=None, alias="from")
    last: date | None = Field(default=None, alias="to")
    limit: int | None = Field(default=None, ge=1, le=MAX_CARDS)


@router.post(
    "/api/search",
    summary="Ask the knowledge base, the question in the body",
    response_model=SearchOut,
    responses=documented(401, 403, 422, 503),
)
def ask_in_body(request: Request, service: Service, scope: Viewer, question: SearchIn) -> SearchOut:
    """The same search with the same answer as `GET /api/search`."""
    filters = SearchFilters(
        entity=question.entity,
        project_code=question.project or None,
        document_id=question.document,
        period=_period(question.axis, question.first, question.last),
    )
    return _asked(request, service, scope, question.q, filters, question.limit)


def _asked(
    request: Request,
    service: Installation,
    scope: Scope,
    question: str,
    filters: SearchFilters,
    limit: int | None,
) -> SearchOut:
    sizes: VectorSizes = request.app.state.vector_sizes
    parts = SearchParts(service.database, service.words, service.embedder, sizes)
    answer = search(
        parts, scope, question, filters=filters, limit=limit, language=language_of(request)
    )
    return _answer(answer)


def _period(axis: StrEnum | None, first: date | None, last: date | None) -> Period | None:
    """The span of days on its named axis; raises NotAskable for a span without one."""
    if axis is None and first is None and last is None:
        return None
    if axis is None or (first is None and last is None):
        raise NotAskable("A span of days needs `axis` and `from` or `to`; there is no plain date.")
    if first is not None and last is not None and last < first:
        raise NotAskable("`from` lies after `to`.")
    return Period(axis, first, last)


def _answer(answer: SearchAnswer) -> SearchOut:
    trace = answer.trace
    return SearchOut(
        line=answer.line,
        cards=[_card(card) for card in answer.cards],
        fields=_fields(answer.fields),
        emptiness=answer.emptiness,
        acting=list(answer.acting),
        stopped=list(answer.stopped),
        ways={
            Weg.VEKTOR: WayOut(
                state=trace.vector_state, hits=trace.vector_hits, milliseconds=trace.vector_ms
            ),
            Weg.WORTSUCHE: WayOut(
                state=trace.words_state, hits=trace.words_hits, milliseconds=trace.words_ms
            ),
        },
        reasons=list(trace.reasons),
    )


def _fields(answer: FieldAnswer) -> FieldsOut:
    return FieldsOut(
        hits=[
            FieldHitOut(
                document_id=hit.document_id,
                title=hit.title,
                asked=hit.asked,
                field=hit.field,
                value=hit.value,
                source=hit.link,
                link=f"/d/{hit.document_id}",
            )
            for hit in answer.hits
        ],
        used=answer.used,
        of=answer.of,
        state=answer.state,
    )


def _card(card: Card) -> CardOut:
    return CardOut(
        document_id=card.document_id,
        title=card.title,
        snippet=card.snippet,
        marks=list(card.marks),
        page=card.page,
        weg=card.weg,
        geprueft=card.geprueft,
        validation_status=card.validation_status,
        ai_suggested=card.ai_suggested,
        score=card.score,
        source=card.link,
        link=f"/d/{card.document_id}",
        verbatim_ok=card.verbatim_ok,
    )


# --- the list ----------------------------------------------------------------------------------

Amount = Annotated[Decimal | None, Query(max_digits=18, decimal_places=2, allow_inf_nan=False)]


class ListedOut(BaseModel):
    """One document of the list; each date axis apart."""

    id: int
    title: str
    doc_type: str | None
    provider: str | None
    entity: str | None
    project_code: str | None
    confidentiality_level: str | None
    date_received: datetime
    invoice_date: date | None
    service_date: date | None
    due_date: date | None
    amount_gross: Decimal | None
    currency: str | None
    source: str
    link: str


class ListOut(BaseModel):
    """Rows in order; `total` documents match for you; not complete when more follow."""

    documents: list[ListedOut]
    total: int
    complete: bool


@router.get(
    "/api/documents",
    summary="List documents by their fields",
    response_model=ListOut,
    responses=documented(401, 403, 422, 503),
)
def list_documents(
    service: Service,
    scope: Viewer,
    entity: Annotated[Slug | None, Query()] = None,
    project: Annotated[ShortText | None, Query()] = None,
    axis: Annotated[ListAxis | None, Query(description="The date axis of `from` and `to`.")] = None,
    first: Annotated[date | None, Query(alias="from")] = None,
    last: Annotated[date | None, Query(alias="to")] = None,
    doc_type: Annotated[ShortText | None, Query()] = None,
    provider: Annotated[ShortText | None, Query()] = None,
    amount_from: Amount = None,
    amount_to: Amount = None,
    currency: Annotated[str | None, Query(pattern="^[A-Z]{3}$")] = None,
    sort: Annotated[Order, Query()] = Order.DATE_RECEIVED,
    descending: Annotated[bool, Query()] = True,
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 50,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> ListOut:
    """Reads fields and never text; what you may not see is neither listed nor counted."""
    asked = DocumentQuery(
        entity=entity,
        project_code=project or None,
        period=_period(axis, first, last),
        doc_type=doc_type or None,
        provider=provider or None,
        amount_from=amount_from,
        amount_to=amount_to,
        currency=currency,
        order=sort,
        descending=descending,
        limit=limit,
        offset=offset,
    )
    page = query_documents(service.database, scope, asked)
    return ListOut(
        documents=[
            ListedOut(
                id=row.document_id,
                title=row.title,
                doc_type=row.doc_type,
                provider=row.provider,
                entity=row.entity,
                project_code=row.project_code,
                confidentiality_level=row.confidentiality_level,
                date_received=row.date_received,
                invoice_date=row.invoice_date,
                service_date=row.service_date,
                due_date=row.due_date,
                amount_gross=row.amount_gross,
                currency=row.currency,
                source=row.link,
                link=f"/d/{row.document_id}",
            )
            for row in page.rows
        ],
        total=page.total,
        complete=page.complete,
    )
