"""Routes of the file room: compartments, and what keeps documents out of the index."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from tgv_dagster.file import compartments, unindexed
from tgv_dagster.file.compartments import Compartment
from tgv_dagster.store.levels import Level
from tgv_dagster.web.errors import documented
from tgv_dagster.web.principals import Editor, Service, Viewer
from tgv_dagster.web.schemas import ShortText, Slug

router = APIRouter(prefix="/api", tags=["documents"])


class CompartmentOut(BaseModel):
    """A folder with the level no document in it is below; `entity` null holds for all entities.

    `documents` counts those you may see.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "id": 2,
                "entity": "nordwind-gmbh",
                "folder": "payslip",
                "default_level": "streng_vertraulich",
                "documents": 14,
            }
        }
    )

    id: int
    entity: str | None
    folder: str
    default_level: str
    documents: int


class CompartmentsOut(BaseModel):
    """Compartments by entity and folder."""

    compartments: list[CompartmentOut]


class CompartmentIn(BaseModel):
    """A folder: a kind of document, `*` for every other kind, or any name for what people file."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "example": {
                "folder": "payslip",
                "entity": "nordwind-gmbh",
                "default_level": "streng_vertraulich",
            }
        },
    )

    folder: Annotated[ShortText, Field(min_length=1, max_length=100)]
    entity: Slug | None = None
    default_level: Level


class UnindexedOut(BaseModel):
    """A filter that keeps documents out of the index, and which (the newest first)."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "filter": "no_text",
                "says": {
                    "de": "Kein Text gefunden",
                    "fr": "Aucun texte trouvé",
                    "en": "No text was found",
                },
                "documents": 3,
                "newest": [41, 17, 4],
            }
        }
    )

    filter: str
    says: dict[str, str]
    documents: int
    newest: list[int]


class UnindexedListOut(BaseModel):
    """Every filter that keeps a document you may see out of the index."""

    filters: list[UnindexedOut]


@router.get(
    "/compartments",
    summary="List compartments",
    response_model=CompartmentsOut,
    responses=documented(401, 503),
)
def list_compartments(service: Service, scope: Viewer) -> CompartmentsOut:
    """The compartments you may see."""
    found = compartments.list_compartments(service.database, scope)
    return CompartmentsOut(compartments=[_out(one) for one in found])


@router.put(
    "/compartments",
    summary="Make or change a compartment",
    response_model=CompartmentOut,
    responses=documented(400, 401, 403, 422, 503),
)
def set_compartment(body: CompartmentIn, service: Service, scope: Editor) -> CompartmentOut:
    """For the manager of the tenant; documents of that place are filed again."""
    made = compartments.set_compartment(
        service.database, scope, folder=body.folder, entity=body.entity, level=body.default_level
    )
    return _out(made)


@router.get(
    "/unindexed",
    summary="What is not in the index, and why",
    response_model=UnindexedListOut,
    responses=documented(401, 503),
)
def list_unindexed(service: Service, scope: Viewer) -> UnindexedListOut:
    """Each filter with the documents it keeps out (FILE-08)."""
    return UnindexedListOut(
        filters=[
            UnindexedOut(
                filter=one.filter,
                says={"de": one.de, "fr": one.fr, "en": one.en},
                documents=one.documents,
                newest=list(one.newest),
            )
            for one in unindexed.list_unindexed(service.database, scope)
        ]
    )


def _out(compartment: Compartment) -> CompartmentOut:
    return CompartmentOut.model_validate(compartment, from_attributes=True)
