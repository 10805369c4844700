"""Compartments: folders per tenant or entity with a default level no document in them is below.

Here belongs which compartment a document goes to, and what changing one means (FILE-01, FILE-02).
A folder is named after a kind of document, `*` takes every other kind, any other name only what a
person files there. The wall itself (never looser) stands in the database as a trigger.
"""

from __future__ import annotations

from dataclasses import dataclass

from tgv_dagster.store import ledger
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.levels import Level, Role
from tgv_dagster.store.scope import Scope
from tgv_dagster.store.stages import Stage

EVERY_KIND = "*"


class CompartmentRefused(ValueError):
    """A compartment that cannot be set; the message says why."""


@dataclass(frozen=True, slots=True)
class Compartment:
    """One compartment; `entity` None holds for every entity of the tenant."""

    id: int
    mandant_id: int
    entity: str | None
    folder: str
    default_level: str
    documents: int = 0


def compartment_for(
    connection: Connection, mandant_id: int, entity: str | None, *folders: str | None
) -> Compartment | None:
    """The compartment of the first folder that has one: the entity's own before the tenant's."""
    names = [*(name for name in folders if name), EVERY_KIND]
    row = connection.execute(
        """
        SELECT id, mandant_id, entity, folder, default_level FROM compartments
        WHERE mandant_id = %s AND (entity = %s OR entity IS NULL) AND folder = ANY (%s)
        ORDER BY array_position(%s, folder), entity NULLS LAST LIMIT 1
        """,
        (mandant_id, entity, names, names),
    ).fetchone()
    return None if row is None else Compartment(*row)


def list_compartments(database: Database, scope: Scope) -> tuple[Compartment, ...]:
    """The compartments a scope may see, with how many of the documents it may see stand in each."""
    with database.reading(scope) as connection:
        rows = connection.execute(
            """
            SELECT c.id, c.mandant_id, c.entity, c.folder, c.default_level, count(d.id)
            FROM compartments c LEFT JOIN documents d ON d.compartment_id = c.id
            GROUP BY c.id ORDER BY c.mandant_id, c.entity NULLS FIRST, c.folder
            """
        ).fetchall()
    return tuple(Compartment(*row) for row in rows)


def set_compartment(
    database: Database, scope: Scope, *, folder: str, entity: str | None, level: Level
) -> Compartment:
    """Make a compartment or change its default level; needs the manager of the tenant.

    A stricter level holds for what stands in it at once; with a looser one documents keep theirs
    until they are filed anew. Documents of that place are filed again. Raises ScopeError,
    CompartmentRefused.
    """
    scope.require(Role.MANDANT_ADMIN)
    if not folder.strip() or len(folder) > 100 or not folder.isprintable():
        raise CompartmentRefused("A folder has 1 to 100 printable characters.")
    mandant_id = _mandant_of(database, scope, entity)
    with database.worker() as connection:
        row = connection.execute(
            """
            INSERT INTO compartments (mandant_id, entity, folder, default_level, created_by)
            VALUES (%s, %s, %s, %s, %s)
            ON CONFLICT (mandant_id, entity, folder) DO UPDATE
            SET default_level = excluded.default_level RETURNING id
            """,
            (mandant_id, entity, folder, str(level), scope.principal),
        ).fetchone()
        assert row is not None
        stricter = connection.execute(
            "UPDATE documents SET confidentiality_level = confidentiality_level"
            " WHERE compartment_id = %s RETURNING id",
            (row[0],),
        ).fetchall()
        touched = connection.execute(
            "SELECT id FROM documents WHERE compartment_id = %s OR (mandant_id = %s"
            " AND (%s::text IS NULL OR entity = %s)"
            " AND (compartment_id IS NOT NULL OR doc_type = %s OR %s = %s))",
            (row[0], mandant_id, entity, entity, folder, folder, EVERY_KIND),
        ).fetchall()
        ledger.enqueue(connection, Stage.FILE, [r[0] for r in touched], again=True)
        ledger.enqueue(connection, Stage.WORDS, [r[0] for r in stricter], again=True)
        record(
            connection,
            Event(
                kind="compartment.set",
                author=scope.principal,
                is_human=True,
                object=f"compartment:{row[0]}",
                reason="a compartment was made or its level changed",
                entity=entity,
                mandant_id=mandant_id,
                payload={"folder": folder, "level": str(level), "filed_again": len(touched)},
            ),
        )
    return Compartment(row[0], mandant_id, entity, folder, str(level), len(stricter))


def _mandant_of(database: Database, scope: Scope, entity: str | None) -> int:
    if entity is None:
        if scope.mandant_id is None or scope.visible_entities is not None:
            raise CompartmentRefused("Name the entity, or act in one tenant as its manager.")
        return scope.mandant_id
    with database.reading(scope) as connection:
        row = connection.execute(
            "SELECT mandant_id FROM entities WHERE slug = %s", (entity,)
        ).fetchone()
    if row is None:
        raise CompartmentRefused("This entity is not among those you may assign.")
    return int(row[0])
