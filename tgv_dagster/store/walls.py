"""The read predicate: who may see a row, written once and generated from here everywhere.

The row level security policies of Postgres, the mandatory terms of the word index and the checks
that prove both are made from `WallColumns` and `SESSION_KEYS`. Deny by default: a session without
settings, an empty list and an unknown level mean nobody (CONF-02, CONF-06, RET-21 to RET-24).
"""

from __future__ import annotations

from dataclasses import dataclass

from tgv_dagster.store.levels import Role

APP_ROLE = "tgv_app"
"""Reads on behalf of people; every walled table filters its rows."""

WORKER_ROLE = "tgv_worker"
"""Writes the flow for all tenants; owns no table and bypasses no policy."""

INTERVAL_ROLE = "tgv_intervals"
"""Owns the database functions that write interval tables; nobody logs in as it (INTV-08)."""

EVERYTHING = "*"

SESSION_KEYS = (
    "tgv.role",
    "tgv.mandant_id",
    "tgv.entities",
    "tgv.project_code",
    "tgv.ceiling",
    "tgv.user_id",
    "tgv.include_test",
)
"""Session settings that one transaction of a reader carries; all set, or no row is visible."""


@dataclass(frozen=True, slots=True)
class WallColumns:
    """Names of the wall columns of one table; None where the table has no such column."""

    mandant_id: str = "mandant_id"
    entity: str | None = "entity"
    project_code: str | None = "project_code"
    level_rank: str | None = "level_rank"
    visible_from: str | None = "visible_from"
    restricted_until: str | None = "restricted_until"
    is_test: str | None = "is_test"
    persons: str | None = "persons"
    circle: str | None = "circle"


DOCUMENT_WALL = WallColumns()
"""Documents, chunks and vectors carry every wall column."""


def setting(key: str) -> str:
    """SQL for one session setting, evaluated once per statement; NULL when it is missing."""
    return f"(SELECT nullif(current_setting('{key}', true), ''))"


def predicate_sql(columns: WallColumns = DOCUMENT_WALL, *, min_role: Role | None = None) -> str:
    """The read predicate as one SQL boolean over the wall columns of a table.

    A document whose named persons include the reader is visible to that reader above the ceiling
    and before its release; one with a circle is visible to its circle only, above the ceiling, and
    not before its release. Who manages the tenant waits for no release and stands in every circle
    (UPL-17, CONF-22). The tenant wall holds for everybody.
    """
    named, inside = _holds_reader(columns.persons), _holds_reader(columns.circle)
    manager = _role_of(Role.MANDANT_ADMIN)
    tenant = f"{setting('tgv.mandant_id')}::integer"
    terms = [
        f"(({setting('tgv.role')} = '{Role.SUPER_ADMIN}' AND {tenant} IS NULL)"
        f" OR {columns.mandant_id} = {tenant})"
    ]
    if columns.entity:
        entities = setting("tgv.entities")
        terms.append(
            f"({entities} = '{EVERYTHING}'"
            f" OR {columns.entity} = ANY (string_to_array({entities}, ',')))"
        )
    if columns.project_code:
        project = setting("tgv.project_code")
        terms.append(f"({project} IS NULL OR {columns.project_code} = {project})")
    if columns.level_rank:
        ceiling = f"coalesce({setting('tgv.ceiling')}, '-1')::smallint"
        terms.append(f"({columns.level_rank} <= {ceiling} OR {named} OR {inside})")
    if columns.visible_from:
        terms.append(
            f"({columns.visible_from} IS NULL OR {columns.visible_from} <= now() OR {named}"
            f" OR {manager})"
        )
    if columns.circle:
        terms.append(f"({columns.circle} IS NULL OR {inside} OR {manager})")
    if columns.restricted_until:
        terms.append(f"{columns.restricted_until} IS NULL")
    if columns.is_test:
        terms.append(f"(NOT {columns.is_test} OR {setting('tgv.include_test')} = 'on')")
    if min_role is not None:
        terms.append(_role_of(min_role))
    return "\n    AND ".join(terms)


def _holds_reader(column: str | None) -> str:
    person = f"{setting('tgv.user_id')}::integer"
    return f"coalesce({column} @> ARRAY[{person}], false)" if column else "false"


def _role_of(least: Role) -> str:
    allowed = ", ".join(f"'{role}'" for role in Role if role.at_least(least))
    return f"coalesce({setting('tgv.role')} IN ({allowed}), false)"
