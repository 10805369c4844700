"""Routes of the organisation: who is asking, and what that person may assign."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from tgv_dagster.store.levels import Level, Role
from tgv_dagster.web.errors import documented
from tgv_dagster.web.principals import Service, Viewer

router = APIRouter(tags=["organisation"])


class EntityOut(BaseModel):
    """An entity you may see and assign."""

    slug: str
    legal_name: str
    kind: str


class ProjectOut(BaseModel):
    """A project of such an entity."""

    project_code: str
    entity: str
    name: str


class OrganisationOut(BaseModel):
    """You, in the tenant of your token, and what you may assign. `tenants`: the tenants you see."""

    login: str
    role: Role
    ceiling: Level
    tenants: list[str]
    entities: list[EntityOut]
    projects: list[ProjectOut]


@router.get(
    "/api/organisation",
    summary="Who you are and what you may assign",
    response_model=OrganisationOut,
    responses=documented(401, 503),
)
def organisation(service: Service, scope: Viewer) -> OrganisationOut:
    """The entities and projects that an upload or an answer of yours may name."""
    with service.database.reading(scope) as connection:
        tenants = connection.execute("SELECT slug FROM mandanten ORDER BY slug").fetchall()
        entities = connection.execute(
            "SELECT slug, legal_name, kind FROM entities ORDER BY slug"
        ).fetchall()
        projects = connection.execute(
            "SELECT project_code, entity_key, name FROM prf_projects WHERE active"
            " ORDER BY project_code"
        ).fetchall()
    return OrganisationOut(
        login=scope.principal,
        role=scope.role,
        ceiling=tuple(Level)[scope.confidentiality_max],
        tenants=[slug for (slug,) in tenants],
        entities=[EntityOut(slug=s, legal_name=n, kind=k) for s, n, k in entities],
        projects=[ProjectOut(project_code=c, entity=e, name=n) for c, e, n in projects],
    )
