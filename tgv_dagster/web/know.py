"""Routes of the know room: ask the knowledge base."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict

from tgv_dagster.know.balance import Card, Emptiness, ValidationStatus, WayState, Weg
from tgv_dagster.know.search import SearchAnswer, SearchFilters, SearchParts, search
from tgv_dagster.know.vectors import VectorSizes
from tgv_dagster.know.word_model import IndexedAxis
from tgv_dagster.store.scope import Period
from tgv_dagster.web.errors import NotAskable, documented
from tgv_dagster.web.principals import Service, Viewer
from tgv_dagster.web.schemas import MAX_NUMBER, ShortText, Slug, Text
from tgv_dagster.web.texts import language_of

router = APIRouter(tags=["know"])

MAX_CARDS = 100


class CardOut(BaseModel):
    """One source. `geprueft`: it passed a measured floor; `weg`: the way that found it.

    `marks`: half-open spans of the snippet that are words of the question.
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
    link: str


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
                        "link": "/d/17",
                    }
                ],
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
    sizes: VectorSizes = request.app.state.vector_sizes
    parts = SearchParts(service.database, service.words, service.embedder, sizes)
    answer = search(
        parts, scope, q, filters=filters, limit=limit, language=language_of(request)
    )
    return _answer(answer)


def _period(axis: IndexedAxis | None, first: date | None, last: date | None) -> Period | None:
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
        link=f"/d/{card.document_id}",
    )
