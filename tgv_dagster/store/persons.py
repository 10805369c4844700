"""Persons of a tenant, whom a drop or a document may name (UPL-17).

Reads tables that no reader's connection sees, for a scope that acts in the tenant. Does not belong
here: what naming brings about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.levels import Role
from tgv_dagster.store.scope import Scope

MOST_PERSONS = 200
"""Persons that can be named for one document."""

_CURRENT = """
    FROM users u JOIN user_mandant_roles r ON r.user_id = u.id
    WHERE u.active AND NOT u.is_service AND r.mandant_id = %s
      AND r.valid_from <= now() AND (r.valid_to IS NULL OR r.valid_to > now())
"""


@dataclass(frozen=True, slots=True)
class Person:
    """A person as a list of names shows it."""

    login: str
    name: str


def persons_of(database: Database, scope: Scope) -> tuple[Person, ...]:
    """The persons of the scope's tenant by name; none for a scope over all tenants.

    Raises ScopeError for who may name nobody.
    """
    scope.require(Role.EDITOR)
    if scope.mandant_id is None:
        return ()
    with database.worker() as connection:
        rows = connection.execute(
            f"SELECT DISTINCT u.login, u.name {_CURRENT} ORDER BY u.name, u.login".encode(),
            (scope.mandant_id,),
        ).fetchall()
    return tuple(Person(*row) for row in rows)


def ids_of(connection: Connection, mandant_id: int | None, logins: Sequence[str]) -> dict[str, int]:
    """User numbers of those logins that are persons of the tenant, and of no others."""
    rows = connection.execute(
        f"SELECT DISTINCT u.login, u.id {_CURRENT} AND u.login = ANY (%s)".encode(),
        (mandant_id, list(logins)),
    ).fetchall()
    return dict(rows)
