"""What a person may choose from on a page: entities, projects, tenants, kinds, axes.

Reads only behind the walls, so that a list never names what its reader may not assign.
"""

from __future__ import annotations

from dataclasses import dataclass

from tgv_dagster.know.document_list import ListAxis
from tgv_dagster.store.db import Database
from tgv_dagster.store.levels import Level
from tgv_dagster.store.scope import Scope
from tgv_dagster.understand.doctypes import DocType

Pair = tuple[str, str]
"""What a form sends, and what a person reads."""


@dataclass(frozen=True, slots=True)
class Choices:
    """Entities and projects of the reader, and the closed sets."""

    entities: tuple[Pair, ...]
    projects: tuple[Pair, ...]
    doc_types: tuple[str, ...] = tuple(DocType)
    axes: tuple[str, ...] = tuple(ListAxis)
    levels: tuple[str, ...] = tuple(Level)


def choices_of(database: Database, scope: Scope) -> Choices:
    """The choices of this reader, in one statement."""
    with database.reading(scope) as connection:
        rows = connection.execute(
            "SELECT 'entity', slug, legal_name FROM entities UNION ALL"
            " SELECT 'project', project_code, name FROM prf_projects WHERE active"
            " ORDER BY 1, 3, 2"
        ).fetchall()
    return Choices(
        tuple((slug, name) for kind, slug, name in rows if kind == "entity"),
        tuple((code, f"{code} · {name}") for kind, code, name in rows if kind == "project"),
    )
