"""What stands behind the settings page: organisation, rules, tuning values, people and tokens.

Reads behind the walls; people and tokens, which no reader's connection sees, only for who manages
the tenant, and everybody's own tokens for themselves. Does not belong here: changing anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tgv_dagster.store.db import Database
from tgv_dagster.store.levels import Role
from tgv_dagster.store.scope import Membership, Scope, memberships_of
from tgv_dagster.web.passwords import UserRow, list_users
from tgv_dagster.web.tokens import TokenRow, list_tokens

MOST_ROWS = 500


@dataclass(frozen=True, slots=True)
class EntityRow:
    """An entity with the level its documents start with."""

    slug: str
    legal_name: str
    kind: str
    default_level: str | None


@dataclass(frozen=True, slots=True)
class CompartmentRow:
    """A folder with the level its documents start with."""

    entity: str | None
    folder: str
    default_level: str


@dataclass(frozen=True, slots=True)
class RoutingRow:
    """A configured rule, in the order it is asked."""

    position: int
    name: str
    action: str
    reason: str
    active: bool


@dataclass(frozen=True, slots=True)
class LearnedRow:
    """A learned rule: when it applies and what it says, as stored."""

    id: int
    condition: str
    effect: str
    state: str
    approved_by: str | None
    changed_at: datetime
    case_id: int | None


@dataclass(frozen=True, slots=True)
class TuningRow:
    """A registered value with the account of how it came about."""

    key: str
    value: str
    owner: str
    set_by: str
    set_at: datetime
    measured_note: str | None
    expires_when: str | None


@dataclass(frozen=True, slots=True)
class SettingsView:
    """Everything the page shows. `users` is None for who does not manage the tenant."""

    tenant: str | None
    memberships: tuple[Membership, ...]
    entities: tuple[EntityRow, ...]
    projects: tuple[tuple[str, str, str], ...]
    compartments: tuple[CompartmentRow, ...]
    routing: tuple[RoutingRow, ...]
    learned: tuple[LearnedRow, ...]
    tuning: tuple[TuningRow, ...]
    users: tuple[UserRow, ...] | None
    tokens: tuple[TokenRow, ...]


def settings_view(database: Database, scope: Scope) -> SettingsView:
    """The page for this reader, in a constant number of statements."""
    with database.reading(scope) as connection:
        tenants = connection.execute("SELECT slug FROM mandanten LIMIT 2").fetchall()
        entities = connection.execute(
            "SELECT slug, legal_name, kind, default_level FROM entities ORDER BY slug LIMIT %s",
            (MOST_ROWS,),
        ).fetchall()
        projects = connection.execute(
            "SELECT project_code, entity_key, name FROM prf_projects WHERE active"
            " ORDER BY project_code LIMIT %s",
            (MOST_ROWS,),
        ).fetchall()
        compartments = connection.execute(
            "SELECT entity, folder, default_level FROM compartments ORDER BY entity, folder"
            " LIMIT %s",
            (MOST_ROWS,),
        ).fetchall()
        routing = connection.execute(
            "SELECT position, name, action, reason, active FROM routing_rules"
            " ORDER BY position LIMIT %s",
            (MOST_ROWS,),
        ).fetchall()
        learned = connection.execute(
            "SELECT id, condition::text, effect::text, state, approved_by, changed_at,"
            " case_id FROM pattern_rules ORDER BY id DESC LIMIT %s",
            (MOST_ROWS,),
        ).fetchall()
        tuning = connection.execute(
            "SELECT key, value, owner, set_by, set_at, measured_note, expires_when"
            " FROM tuning_values ORDER BY key"
        ).fetchall()
    manages = scope.role.at_least(Role.MANDANT_ADMIN)
    tenant = str(tenants[0][0]) if scope.mandant_id is not None and tenants else None
    return SettingsView(
        tenant=tenant,
        memberships=memberships_of(database, scope.principal),
        entities=tuple(EntityRow(*row) for row in entities),
        projects=tuple((code, entity, name) for code, entity, name in projects),
        compartments=tuple(CompartmentRow(*row) for row in compartments),
        routing=tuple(RoutingRow(*row) for row in routing),
        learned=tuple(LearnedRow(*row) for row in learned),
        tuning=tuple(TuningRow(*row) for row in tuning),
        users=list_users(database, mandant_id=scope.mandant_id) if manages else None,
        tokens=_tokens(database, scope, tenant),
    )


def tenant_of(database: Database, scope: Scope) -> str | None:
    """The slug of the tenant this reader acts in; None for the owner over all tenants."""
    if scope.mandant_id is None:
        return None
    with database.reading(scope) as connection:
        row = connection.execute("SELECT slug FROM mandanten").fetchone()
    return None if row is None else str(row[0])


def tokens_of(database: Database, scope: Scope) -> tuple[TokenRow, ...]:
    """Tokens the reader may see and revoke: the own ones in this tenant; all of a managed one."""
    return _tokens(database, scope, tenant_of(database, scope))


def _tokens(database: Database, scope: Scope, tenant: str | None) -> tuple[TokenRow, ...]:
    manages = scope.role.at_least(Role.MANDANT_ADMIN)
    return tuple(
        token
        for token in list_tokens(database)
        if (scope.mandant_id is None or token.mandant == tenant)
        and (manages or token.login == scope.principal)
    )
