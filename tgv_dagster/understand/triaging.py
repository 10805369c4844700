"""What triage needs from the database, and what the document row needs from triage.

Loads the closed vocabulary (TRI-07), the routing rules and what people decided before, calls the
pure `triage`, and derives tenant and specialist plan. The tenant of an arrival is a wall: a folder
of one tenant never files into another, whatever the paper says (that becomes a question).
"""

from __future__ import annotations


from tgv_dagster.store.db import Connection
from tgv_dagster.store.levels import Level, is_known
from tgv_dagster.understand.vocabulary import EntityEntry, ProjectEntry, Vocabulary


def load_vocabulary(
    connection: Connection, *, mandant: str | None, is_test: bool = False
) -> Vocabulary:
    """The entities and projects of one tenant, or of all when the arrival has none (mailbox)."""
    entities = connection.execute(
        """
        SELECT e.slug, e.mandant_id, m.slug, e.kind, e.legal_name, e.aliases, e.vat_ids, e.ibans,
            e.register_no, e.siren, e.address, e.email_domains, e.default_level
        FROM entities e JOIN mandanten m ON m.id = e.mandant_id
        WHERE (%s::text IS NULL OR m.slug = %s) AND e.is_test = %s ORDER BY e.id
        """,
        (mandant, mandant, is_test),
    ).fetchall()
    projects = connection.execute(
        """
        SELECT p.project_code, p.entity_key, p.name, p.aliases FROM prf_projects p
        JOIN entities e ON e.slug = p.entity_key JOIN mandanten m ON m.id = e.mandant_id
        WHERE p.active AND (%s::text IS NULL OR m.slug = %s) ORDER BY p.id
        """,
        (mandant, mandant),
    ).fetchall()
    return Vocabulary(
        entities=tuple(_entity(row) for row in entities),
        projects=tuple(ProjectEntry(row[0], row[1], row[2], tuple(row[3])) for row in projects),
    )


def _entity(row: tuple) -> EntityEntry:  # pyright: ignore[reportMissingTypeArgument]
    register = "; ".join(part for part in (row[8], row[9]) if part)
    return EntityEntry(
        slug=row[0],
        mandant_id=row[1],
        mandant_slug=row[2],
        kind=row[3],
        legal_name=row[4],
        aliases=tuple(row[5]),
        vat_ids=tuple(row[6]),
        ibans=tuple(row[7]),
        register_no=register or None,
        address=row[10],
        email_domains=tuple(row[11]),
        default_level=Level(row[12]) if is_known(row[12]) else None,
    )
