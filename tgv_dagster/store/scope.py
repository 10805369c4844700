"""The scope: what one named principal may see, and the narrower part it asked for.

`Scope.for_principal` is the only constructor; it reads the membership on the server. A scope can be
narrowed and never widened (CONF-08, CONF-09, SCOPE-09 to SCOPE-17). The console and the jobs use
named principals too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING

from tgv_dagster.store.levels import Role, ceiling_of
from tgv_dagster.store.walls import EVERYTHING

if TYPE_CHECKING:
    from tgv_dagster.store.db import Connection, Database


class ScopeError(PermissionError):
    """The principal has no such right; the message never tells what exists behind the wall."""


@dataclass(frozen=True, slots=True)
class Period:
    """A closed span of days on one named date axis (SCOPE-13)."""

    axis: str
    first: date | None
    last: date | None


@dataclass(frozen=True, slots=True)
class Membership:
    """One current membership of a principal."""

    mandant_id: int | None
    mandant_slug: str | None
    role: Role
    ceiling_rank: int
    entities: tuple[str, ...] | None


_KEY = object()


@dataclass(frozen=True, slots=True)
class Scope:
    """Rights and narrowing of one session; built by `for_principal` only.

    `allowed_entities` None means every entity of the tenant; an empty tuple means none.
    """

    principal: str
    user_id: int
    role: Role
    mandant_id: int | None
    allowed_mandanten: tuple[int, ...]
    allowed_entities: tuple[str, ...] | None
    confidentiality_max: int
    source: str
    entity: str | None = None
    project_code: str | None = None
    context_doc_id: int | None = None
    period: Period | None = None
    include_test: bool = False
    key: object = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.key is not _KEY:
            raise ScopeError("A scope is made by Scope.for_principal only.")

    @property
    def is_owner(self) -> bool:
        """Whether the principal is the owner of the installation."""
        return self.role is Role.SUPER_ADMIN

    @property
    def is_manager(self) -> bool:
        """Whether the principal manages the tenant it acts in, or the installation."""
        return self.role.at_least(Role.MANDANT_ADMIN)

    @classmethod
    def for_principal(
        cls,
        database: Database,
        login: str,
        *,
        mandant: str | None = None,
        source: str,
        include_test: bool = False,
    ) -> Scope:
        """The scope of an authenticated principal in one of its tenants.

        `mandant` is the slug chosen at login; it may be left out by the owner of the installation
        (all tenants) and by a principal with exactly one membership. `source` names the door
        (console, http, job). Raises ScopeError when no current membership fits.
        """
        with database.worker() as connection:
            return cls.within(
                connection, login, mandant=mandant, source=source, include_test=include_test
            )

    @classmethod
    def within(
        cls,
        connection: Connection,
        login: str,
        *,
        mandant: str | None = None,
        source: str,
        include_test: bool = False,
    ) -> Scope:
        """`for_principal` in a transaction of the flow that stands already."""
        user_id, memberships = _memberships(connection, login)
        chosen = _choose(connection, memberships, mandant)
        return cls(
            principal=login,
            user_id=user_id,
            role=chosen.role,
            mandant_id=chosen.mandant_id,
            allowed_mandanten=tuple(
                sorted({m.mandant_id for m in memberships if m.mandant_id is not None})
            ),
            allowed_entities=chosen.entities,
            confidentiality_max=chosen.ceiling_rank,
            source=source,
            include_test=include_test,
            key=_KEY,
        )

    def narrow(
        self,
        *,
        entity: str | None = None,
        project_code: str | None = None,
        context_doc_id: int | None = None,
        period: Period | None = None,
    ) -> Scope:
        """A scope that sees at most as much; `alle` and None leave an axis as it is (SCOPE-21).

        Raises ScopeError when `entity` lies outside the allowed ones or something else was already
        chosen on an axis.
        """
        entity = None if entity in (None, "", "alle") else entity
        if entity is not None:
            if self.allowed_entities is not None and entity not in self.allowed_entities:
                raise ScopeError("This entity is not among those you may see.")
            if self.entity not in (None, entity):
                raise ScopeError("The session is already narrowed to another entity.")
        if project_code is not None and self.project_code not in (None, project_code):
            raise ScopeError("The session is already narrowed to another project.")
        if context_doc_id is not None and self.context_doc_id not in (None, context_doc_id):
            raise ScopeError("The session is already narrowed to another document.")
        if period is not None and self.period not in (None, period):
            raise ScopeError("The session is already narrowed to another period.")
        return replace(
            self,
            entity=entity or self.entity,
            project_code=project_code or self.project_code,
            context_doc_id=context_doc_id or self.context_doc_id,
            period=period or self.period,
        )

    def require(self, role: Role) -> None:
        """Raise ScopeError unless the principal has at least this role."""
        if not self.role.at_least(role):
            raise ScopeError(f"This needs the role {role}.")

    @property
    def visible_entities(self) -> tuple[str, ...] | None:
        """Entities after narrowing; None means every entity of the tenant."""
        return (self.entity,) if self.entity is not None else self.allowed_entities

    def session_settings(self) -> dict[str, str]:
        """Values of the database session settings that carry this scope (see `store.walls`)."""
        entities = self.visible_entities
        return {
            "tgv.role": str(self.role),
            "tgv.mandant_id": "" if self.mandant_id is None else str(self.mandant_id),
            "tgv.entities": EVERYTHING if entities is None else ",".join(entities),
            "tgv.project_code": self.project_code or "",
            "tgv.ceiling": str(self.confidentiality_max),
            "tgv.user_id": str(self.user_id),
            "tgv.include_test": "on" if self.include_test else "off",
        }


def memberships_of(database: Database, login: str) -> tuple[Membership, ...]:
    """Current memberships of an active user, for the choice at login."""
    with database.worker() as connection:
        return _memberships(connection, login)[1]


def _memberships(connection: Connection, login: str) -> tuple[int, tuple[Membership, ...]]:
    rows = connection.execute(
        """
        SELECT u.id, r.mandant_id, m.slug, r.role, r.ceiling, r.entities
        FROM users u
        LEFT JOIN user_mandant_roles r
          ON r.user_id = u.id AND r.valid_from <= now()
         AND (r.valid_to IS NULL OR r.valid_to > now())
        LEFT JOIN mandanten m ON m.id = r.mandant_id
        WHERE u.login = %s AND u.active
        ORDER BY r.mandant_id NULLS FIRST
        """,
        (login,),
    ).fetchall()
    if not rows:
        raise ScopeError(f"There is no active user {login!r}.")
    memberships = []
    for _, mandant_id, slug, role, ceiling, entities in rows:
        rank = ceiling_of(role or "", ceiling)
        if rank < 0 or (mandant_id is None and role != Role.SUPER_ADMIN):
            continue
        memberships.append(
            Membership(
                mandant_id, slug, Role(role), rank, None if entities is None else tuple(entities)
            )
        )
    return rows[0][0], tuple(memberships)


def _choose(
    connection: Connection, memberships: tuple[Membership, ...], mandant: str | None
) -> Membership:
    if not memberships:
        raise ScopeError("This user has no current membership.")
    owner = next((m for m in memberships if m.role is Role.SUPER_ADMIN), None)
    if mandant is None:
        if owner is not None and owner.mandant_id is None:
            return owner
        if len(memberships) == 1:
            return memberships[0]
        raise ScopeError("Choose the tenant: this user belongs to several.")
    for membership in memberships:
        if membership.mandant_slug == mandant:
            return membership
    if owner is not None and owner.mandant_id is None:
        row = connection.execute("SELECT id FROM mandanten WHERE slug = %s", (mandant,)).fetchone()
        if row is not None:
            return replace(owner, mandant_id=row[0], mandant_slug=mandant)
    raise ScopeError("This user has no membership in that tenant.")
