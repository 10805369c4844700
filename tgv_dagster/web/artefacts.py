"""Routes of artefacts: kept questions to working material, their forms, and their way in again."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from tgv_dagster.tables import artefacts, querying
from tgv_dagster.tables.artefacts import Artefact
from tgv_dagster.tables.rendering import MEDIA_TYPES, Form, rendered, require_drawable
from tgv_dagster.web.documents import disposition
from tgv_dagster.web.errors import documented
from tgv_dagster.web.limits import BYTES_POLICY
from tgv_dagster.web.principals import Editor, Service, Viewer
from tgv_dagster.web.schemas import MAX_NUMBER, Number, ShortText, Text

router = APIRouter(tags=["documents"])

MOST_SOURCES = 20


class ArtefactOut(BaseModel):
    """A kept question. `level`: at least the highest of its sources; `knowledge`: the document it
    became. `forms`: where it can be fetched."""

    id: int
    title: str
    kind: str
    level: str
    sql: str
    sources: list[int]
    created_by: str
    created_at: datetime
    knowledge: int | None
    forms: list[str]


class ArtefactIn(BaseModel):
    """A question to working material: a SELECT over `d17` for document 17."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "example": {
                "title": "Hours per place",
                "documents": [17],
                "sql": 'SELECT "Ort", sum("Menge") AS menge FROM d17 GROUP BY "Ort"',
                "plot": False,
            }
        },
    )

    title: Annotated[ShortText, Field(min_length=1)]
    documents: Annotated[
        list[Annotated[int, Field(ge=1, le=MAX_NUMBER)]],
        Field(min_length=1, max_length=MOST_SOURCES),
    ]
    sql: Text
    plot: bool = False


class HandedIn(BaseModel):
    """The arrival of a result that was handed in; `repeated`: it was handed in before."""

    arrival_id: int
    repeated: bool


@router.get(
    "/api/artefacts",
    summary="List kept results",
    response_model=list[ArtefactOut],
    responses=documented(401, 422, 503),
)
def list_artefacts(
    service: Service,
    scope: Viewer,
    document: Annotated[int | None, Query(ge=1, le=MAX_NUMBER)] = None,
) -> list[ArtefactOut]:
    """Results whose every source you see, the newest first."""
    found = artefacts.artefacts(service.database, scope, document_id=document)
    return [_out(one) for one in found]


@router.post(
    "/api/artefacts",
    summary="Ask working material and keep the result",
    response_model=ArtefactOut,
    status_code=201,
    responses=documented(400, 401, 403, 404, 422, 503),
)
def keep(body: ArtefactIn, service: Service, scope: Editor) -> ArtefactOut:
    """Asked within what you may see; the result carries its sources and their highest level."""
    result = querying.ask(service.database, scope, body.documents, body.sql)
    if body.plot:
        require_drawable(result)
    number = querying.keep(
        service.database, scope, result, title=body.title, kind="plot" if body.plot else "table"
    )
    return _out(artefacts.opened(service.database, scope, number)[0])


@router.get(
    "/api/artefacts/{artefact_id}/{form}",
    summary="Fetch a kept result",
    response_class=Response,
    responses={
        200: {"content": {kind: {} for kind in MEDIA_TYPES.values()}, "description": "the file"},
        **documented(401, 404, 422, 503),
    },
)
def fetch(artefact_id: Number, form: Form, service: Service, scope: Viewer) -> Response:
    """Asked again now, in your scope; with question, sources and level, as an attachment."""
    artefact, result = artefacts.opened(service.database, scope, artefact_id)
    return Response(
        rendered(result, form, title=artefact.title),
        media_type=MEDIA_TYPES[form],
        headers={
            "Cache-Control": "private, no-store",
            "Content-Disposition": disposition(artefacts.file_name(artefact, form)),
            "Content-Security-Policy": BYTES_POLICY,
        },
    )


@router.post(
    "/api/artefacts/{artefact_id}/knowledge",
    summary="Hand a kept result in as a document",
    response_model=HandedIn,
    status_code=202,
    responses=documented(401, 403, 404, 422, 503),
)
def into_knowledge(artefact_id: Number, service: Service, scope: Editor) -> HandedIn:
    """As a PDF through the gate `output`, raw first, at least as closed as its sources."""
    saved = artefacts.into_knowledge(service.database, service.blobs, scope, artefact_id)
    return HandedIn(arrival_id=saved.arrival_id, repeated=not saved.new_arrival)


def _out(artefact: Artefact) -> ArtefactOut:
    facts = {name: getattr(artefact, name) for name in Artefact.__dataclass_fields__}
    forms = [f"/api/artefacts/{artefact.id}/{form}" for form in artefact.forms]
    return ArtefactOut(**facts, forms=forms)
