"""Which projects the rows of a document may go to (TAB-24 to TAB-29).

The way is always the project: its entity and tenant follow from it. Allowed are projects of the
tenant of the document, and of tenants that a manager of that tenant manages too; a project whose
entity does not exist is not offered.
"""

from __future__ import annotations

from tgv_dagster.store.db import Connection
from tgv_dagster.tables.assignment import Project

_ALLOWED = """
    WITH managed AS (
        SELECT r.user_id, r.mandant_id FROM user_mandant_roles r
        JOIN users u ON u.id = r.user_id AND u.active
        WHERE r.role = 'mandant_admin' AND r.valid_from <= now()
          AND (r.valid_to IS NULL OR r.valid_to > now())),
    tenants AS (
        SELECT %(tenant)s::integer AS mandant_id
        UNION
        SELECT other.mandant_id FROM managed own
        JOIN managed other ON other.user_id = own.user_id
        WHERE own.mandant_id = %(tenant)s
          AND (%(user)s::integer IS NULL OR own.user_id = %(user)s))
    SELECT p.project_code, p.name, e.slug, p.aliases FROM prf_projects p
    JOIN entities e ON e.slug = p.entity_key
    WHERE p.active AND e.is_test = %(test)s
      AND e.mandant_id IN (SELECT mandant_id FROM tenants WHERE mandant_id IS NOT NULL)
    ORDER BY p.project_code
"""


def allowed_projects(
    connection: Connection, *, mandant_id: int, is_test: bool = False, user_id: int | None = None
) -> tuple[Project, ...]:
    """Projects that rows of a document of this tenant may go to.

    With `user_id` other tenants count only when this person manages both (TAB-27).
    """
    rows = connection.execute(
        _ALLOWED, {"tenant": mandant_id, "test": is_test, "user": user_id}
    ).fetchall()
    return tuple(
        Project(code, name, entity, tuple(aliases)) for code, name, entity, aliases in rows
    )
