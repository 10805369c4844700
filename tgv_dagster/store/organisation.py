"""The organisation: tenants, entities, projects, accounts, people and routing rules from one file.

Everything that needs a vocabulary of known names reads the tables filled here; no slug stands in
code (RAW-19, TRI-07). An import changes and adds, never deletes: what is missing in the file is
reported, so that a shortened file cannot orphan documents.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import yaml
from psycopg.types.json import Jsonb
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from tgv_dagster.store.db import Connection, Database, rows_as_dicts
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.levels import Level, Role

SERVICE_LOGIN = "tgv"
"""The named principal of the console and the jobs; owner of the installation."""

INTAKE_BUCKET = "intake"
"""Infrastructure bucket: whole mails, and bytes whose entity is not decided yet."""

Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
BucketName = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$")]

_UNSORTED = "-unsorted"
_MOST_OF_BUCKET = 63


def unsorted_bucket(mandant: str) -> str:
    """The bucket of a tenant's bytes whose entity is not decided; a name every store takes.

    A slug too long for the ending is cut, and its hash keeps two tenants apart.
    """
    whole = f"{mandant}{_UNSORTED}"
    if len(whole) <= _MOST_OF_BUCKET:
        return whole
    mark = f"-{hashlib.sha256(mandant.encode()).hexdigest()[:12]}{_UNSORTED}"
    return mandant[: _MOST_OF_BUCKET - len(mark)] + mark


def unsorted_buckets(connection: Connection) -> tuple[str, ...]:
    """The unsorted bucket of every tenant."""
    rows = connection.execute("SELECT slug FROM mandanten ORDER BY slug").fetchall()
    return tuple(unsorted_bucket(row[0]) for row in rows)


class OrganisationError(ValueError):
    """The file cannot be imported; the message lists every fault with its place."""


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MandantRow(_Row):
    """A tenant."""

    slug: Slug
    name: str
    languages: tuple[str, ...] = ("de", "fr", "en")
    timezone: str = "Europe/Berlin"


class EntityRow(_Row):
    """A company, person or household inside a tenant."""

    slug: Slug
    mandant: Slug
    kind: Annotated[str, Field(pattern="^(company|person|household)$")]
    legal_name: str
    aliases: tuple[str, ...] = ()
    vat_ids: tuple[str, ...] = ()
    ibans: tuple[str, ...] = ()
    register_no: str | None = None
    siren: str | None = None
    address: dict[str, str] | str | None = None
    country: str | None = None
    email_domains: tuple[str, ...] = ()
    intake_mail: str | None = None
    bucket: BucketName
    default_level: Level | None = None

    @field_validator("slug")
    @classmethod
    def _not_alle(cls, value: str) -> str:
        if value == "alle":
            raise ValueError("'alle' means no narrowing and cannot name an entity")
        return value

    @property
    def address_text(self) -> str | None:
        """The address on one line."""
        if isinstance(self.address, dict):
            return ", ".join(str(part) for part in self.address.values() if part)
        return self.address


class ProjectRow(_Row):
    """A project of an entity."""

    project_code: str
    entity: str
    name: str
    aliases: tuple[str, ...] = ()


class AccountRow(_Row):
    """An own bank account.

    `books_reports`: intraday reports of this bank (CAMT.052) are booked, not only announced.
    """

    iban: str
    entity: str
    name: str
    bank: str | None = None
    active: bool = True
    books_reports: bool | None = None


class RoleRow(_Row):
    """One membership; `valid_to` is the first day without it."""

    mandant: Slug | None = None
    role: Role
    ceiling: Level | None = None
    entities: tuple[str, ...] | None = None
    valid_to: date | None = None


class UserRow(_Row):
    """A person."""

    login: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")]
    name: str
    email: str | None = None
    language: str = "de"
    roles: tuple[RoleRow, ...] = ()


class RuleRow(_Row):
    """A routing rule, read before triage in the order of the file (TRI-06)."""

    id: str
    mandant: Slug | None = None
    when: dict[str, Any]
    action: Annotated[str, Field(pattern="^(allow|block|assign)$")]
    entity: str | None = None
    continues: Annotated[bool, Field(alias="continue")] = False
    reason: str = ""


class Organisation(_Row):
    """The whole file."""

    mandanten: tuple[MandantRow, ...] = ()
    entities: tuple[EntityRow, ...] = ()
    projects: tuple[ProjectRow, ...] = ()
    md_accounts: tuple[AccountRow, ...] = ()
    users: tuple[UserRow, ...] = ()
    routing_rules: tuple[RuleRow, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Counts per table after an import, and what stands in the database but not in the file."""

    counts: dict[str, int]
    only_in_database: tuple[str, ...]


def parse(text: str) -> Organisation:
    """The organisation of a YAML text; raises OrganisationError with every fault and its place."""
    try:
        data = yaml.safe_load(text)
        organisation = Organisation.model_validate(data or {})
    except yaml.YAMLError as error:
        raise OrganisationError(f"organisation.yaml is not valid YAML: {error}") from error
    except ValidationError as error:
        places = "; ".join(
            f"{'.'.join(str(p) for p in fault['loc'])}: {fault['msg']}" for fault in error.errors()
        )
        raise OrganisationError(f"organisation.yaml cannot be read: {places}") from error
    faults = _reference_faults(organisation)
    if faults:
        raise OrganisationError("organisation.yaml: " + "; ".join(faults))
    return organisation


def load(path: Path) -> Organisation:
    """The organisation of a file; raises OrganisationError when it is missing or wrong."""
    try:
        return parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise OrganisationError(f"{path} cannot be read: {error}") from error


def import_organisation(
    connection: Connection, organisation: Organisation, *, author: str
) -> ImportReport:
    """Write the organisation in one transaction; an entity's slug and tenant never change here.

    Raises OrganisationError when the file would move an entity to another tenant.
    """
    with connection.transaction():
        mandanten = _write_mandanten(connection, organisation.mandanten)
        _refuse_moves(connection, organisation, mandanten)
        _write_entities(connection, organisation.entities, mandanten)
        _write_projects(connection, organisation.projects)
        _write_accounts(connection, organisation.md_accounts)
        _write_users(connection, organisation.users, mandanten)
        _write_rules(connection, organisation.routing_rules, mandanten, author)
        report = ImportReport(_counts(organisation), _only_in_database(connection, organisation))
        record(
            connection,
            Event(
                kind="organisation.imported",
                author=author,
                object="organisation",
                reason="organisation.yaml was imported",
                payload={"counts": report.counts, "only_in_database": len(report.only_in_database)},
            ),
        )
    return report


def ensure_service_principal(connection: Connection) -> None:
    """The named principal of console and jobs exists (idempotent)."""
    connection.execute(
        "INSERT INTO users (login, name, is_service) VALUES (%s, 'TGV', true)"
        " ON CONFLICT (login) DO NOTHING",
        (SERVICE_LOGIN,),
    )
    connection.execute(
        "INSERT INTO user_mandant_roles (user_id, mandant_id, role)"
        " SELECT u.id, NULL, %s FROM users u WHERE u.login = %s AND NOT EXISTS"
        " (SELECT 1 FROM user_mandant_roles r WHERE r.user_id = u.id)",
        (Role.SUPER_ADMIN, SERVICE_LOGIN),
    )


def export(connection: Connection) -> str:
    """The organisation of the database as YAML, in the format that `load` reads."""
    cursor = rows_as_dicts(connection)

    def rows(query: str) -> list[dict[str, Any]]:
        return cursor.execute(query.encode()).fetchall()

    users = rows(
        """
        SELECT u.login, u.name, u.email, u.language, coalesce(json_agg(json_build_object(
            'mandant', m.slug, 'role', r.role, 'ceiling', r.ceiling, 'entities', r.entities,
            'valid_to', r.valid_to::date)
            ORDER BY m.slug) FILTER (WHERE r.role IS NOT NULL), '[]') AS roles
        FROM users u
        LEFT JOIN user_mandant_roles r ON r.user_id = u.id
          AND (r.valid_to IS NULL OR r.valid_to > now())
        LEFT JOIN mandanten m ON m.id = r.mandant_id
        WHERE NOT u.is_service GROUP BY u.id ORDER BY u.login
        """
    )
    document = {
        "mandanten": rows("SELECT slug, name, languages, timezone FROM mandanten ORDER BY id"),
        "entities": rows(
            "SELECT e.slug, m.slug AS mandant, e.kind, e.legal_name, e.aliases, e.vat_ids, e.ibans,"
            " e.register_no, e.siren, e.address, e.country, e.email_domains, e.intake_mail,"
            " e.bucket, e.default_level"
            " FROM entities e JOIN mandanten m ON m.id = e.mandant_id ORDER BY e.id"
        ),
        "projects": rows(
            "SELECT project_code, entity_key AS entity, name, aliases FROM prf_projects ORDER BY id"
        ),
        "md_accounts": rows(
            "SELECT iban, entity, name, bank, active, books_reports FROM md_accounts"
            " WHERE iban IS NOT NULL AND entity IS NOT NULL ORDER BY id"
        ),
        "users": users,
        "routing_rules": rows(
            """
            SELECT r.name AS id, m.slug AS mandant, r.conditions AS "when", r.action,
                r.assign ->> 'entity' AS entity, r.continues AS "continue", r.reason
            FROM routing_rules r LEFT JOIN mandanten m ON m.id = r.mandant_id
            WHERE r.active ORDER BY r.position
            """
        ),
    }
    return yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=100)


def edit(database: Database, editor: Sequence[str], draft: Path, *, author: str) -> ImportReport:
    """Let a person edit the organisation in `editor`, then import it.

    The draft stays at `draft` when it cannot be imported, so that no typing is lost. Raises
    OrganisationError.
    """
    with database.worker() as connection:
        if not draft.exists():
            draft.write_text(export(connection), encoding="utf-8")
    subprocess.run([*editor, str(draft)], check=True)
    with database.worker() as connection:
        report = import_organisation(connection, load(draft), author=author)
    draft.unlink()
    return report


def has_tenant(connection: Connection) -> bool:
    """Whether any productive tenant exists."""
    row = connection.execute("SELECT EXISTS (SELECT 1 FROM mandanten WHERE NOT is_test)").fetchone()
    return bool(row and row[0])


def _reference_faults(organisation: Organisation) -> list[str]:
    mandanten = {m.slug for m in organisation.mandanten}
    entities = {e.slug for e in organisation.entities}
    faults = [
        f"entity {e.slug}: unknown mandant {e.mandant!r}"
        for e in organisation.entities
        if e.mandant not in mandanten
    ]
    faults += [
        f"account {a.iban}: unknown entity {a.entity!r}"
        for a in organisation.md_accounts
        if a.entity not in entities
    ]
    faults += [
        f"user {u.login}: unknown mandant {r.mandant!r}"
        for u in organisation.users
        for r in u.roles
        if r.mandant is not None and r.mandant not in mandanten
    ]
    faults += [
        f"user {u.login}: role {r.role} needs a mandant"
        for u in organisation.users
        for r in u.roles
        if r.mandant is None and r.role is not Role.SUPER_ADMIN
    ]
    faults += [
        f"user {u.login}: the owner's role has no end; give valid_to to a role in a mandant"
        for u in organisation.users
        for r in u.roles
        if r.valid_to is not None and r.role is Role.SUPER_ADMIN
    ]
    faults += [
        f"rule {r.id}: unknown entity {r.entity!r}"
        for r in organisation.routing_rules
        if r.entity is not None and r.entity not in entities
    ]
    for name, keys in (
        ("mandant", [m.slug for m in organisation.mandanten]),
        ("entity", [e.slug for e in organisation.entities]),
        ("project", [p.project_code for p in organisation.projects]),
        ("user", [u.login for u in organisation.users]),
        ("rule", [r.id for r in organisation.routing_rules]),
    ):
        faults += [f"{name} {key} stands twice" for key in sorted(set(keys)) if keys.count(key) > 1]
    return faults


def _write_mandanten(connection: Connection, rows: Sequence[MandantRow]) -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO mandanten (slug, name, languages, timezone) VALUES (%s, %s, %s, %s)"
            " ON CONFLICT (slug) DO UPDATE SET name = excluded.name,"
            " languages = excluded.languages, timezone = excluded.timezone",
            [(m.slug, m.name, list(m.languages), m.timezone) for m in rows],
        )
    return dict(connection.execute("SELECT slug, id FROM mandanten").fetchall())


def _refuse_moves(
    connection: Connection, organisation: Organisation, mandanten: dict[str, int]
) -> None:
    current = dict(connection.execute("SELECT slug, mandant_id FROM entities").fetchall())
    moved = [
        e.slug
        for e in organisation.entities
        if e.slug in current and current[e.slug] != mandanten[e.mandant]
    ]
    if moved:
        raise OrganisationError(
            f"{', '.join(moved)}: an entity does not change its tenant by an import, because its "
            "documents, chunks and index entries have to move with it (MOVE-13)."
        )


def _write_entities(
    connection: Connection, rows: Sequence[EntityRow], mandanten: dict[str, int]
) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(
            """
            INSERT INTO entities (slug, mandant_id, kind, legal_name, aliases, vat_ids, ibans,
                register_no, siren, address, country, email_domains, intake_mail, bucket,
                default_level)
            VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
            ON CONFLICT (slug) DO UPDATE SET kind = excluded.kind,
                legal_name = excluded.legal_name, aliases = excluded.aliases,
                vat_ids = excluded.vat_ids, ibans = excluded.ibans,
                register_no = excluded.register_no, siren = excluded.siren,
                address = excluded.address, country = excluded.country,
                email_domains = excluded.email_domains, intake_mail = excluded.intake_mail,
                bucket = excluded.bucket, default_level = excluded.default_level
            """,
            [
                (
                    e.slug, mandanten[e.mandant], e.kind, e.legal_name, list(e.aliases),
                    list(e.vat_ids), [i.replace(" ", "") for i in e.ibans], e.register_no,
                    e.siren, e.address_text, e.country, list(e.email_domains), e.intake_mail,
                    e.bucket, e.default_level,
                )
                for e in rows
            ],
        )  # fmt: skip


def _write_projects(connection: Connection, rows: Sequence[ProjectRow]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO prf_projects (project_code, entity_key, name, aliases)"
            " VALUES (%s, %s, %s, %s) ON CONFLICT (project_code) DO UPDATE"
            " SET entity_key = excluded.entity_key, name = excluded.name,"
            " aliases = excluded.aliases",
            [(p.project_code, p.entity, p.name, list(p.aliases)) for p in rows],
        )


def _write_accounts(connection: Connection, rows: Sequence[AccountRow]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO md_accounts (mandant_id, entity, iban, account_key, name, bank, active,"
            " books_reports)"
            " SELECT e.mandant_id, e.slug, %(iban)s, %(iban)s, %(name)s, %(bank)s, %(active)s,"
            " %(books_reports)s FROM entities e WHERE e.slug = %(entity)s"
            " ON CONFLICT (mandant_id, account_key) DO UPDATE SET entity = excluded.entity,"
            " name = excluded.name, bank = excluded.bank, active = excluded.active,"
            " books_reports = excluded.books_reports",
            [
                {
                    "iban": a.iban.replace(" ", ""),
                    "name": a.name,
                    "bank": a.bank,
                    "active": a.active,
                    "books_reports": a.books_reports,
                    "entity": a.entity,
                }
                for a in rows
            ],
        )


def _write_users(
    connection: Connection, rows: Sequence[UserRow], mandanten: dict[str, int]
) -> None:
    for user in rows:
        found = connection.execute(
            "INSERT INTO users (login, name, email, language) VALUES (%s, %s, %s, %s)"
            " ON CONFLICT (login) DO UPDATE SET name = excluded.name, email = excluded.email,"
            " language = excluded.language RETURNING id",
            (user.login, user.name, user.email, user.language),
        ).fetchone()
        assert found is not None
        connection.execute("DELETE FROM user_mandant_roles WHERE user_id = %s", (found[0],))
        owner = [r for r in user.roles if r.role is Role.SUPER_ADMIN]
        others = [r for r in user.roles if r.role is not Role.SUPER_ADMIN]
        if owner:  # the owner of the installation owns all of it
            connection.execute(
                "INSERT INTO user_mandant_roles (user_id, mandant_id, role) VALUES (%s, NULL, %s)",
                (found[0], Role.SUPER_ADMIN),
            )
        for role in others:
            connection.execute(
                "INSERT INTO user_mandant_roles (user_id, mandant_id, role, ceiling, entities,"
                " valid_to) VALUES (%s, %s, %s, %s, %s, %s)",
                (
                    found[0],
                    mandanten[role.mandant or ""],
                    role.role,
                    role.ceiling,
                    None if role.entities is None else list(role.entities),
                    role.valid_to,
                ),
            )


def _write_rules(
    connection: Connection, rows: Sequence[RuleRow], mandanten: dict[str, int], author: str
) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(
            """
            INSERT INTO routing_rules (mandant_id, position, name, reason, action, conditions,
                assign, continues, created_by)
            VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
            ON CONFLICT (name) DO UPDATE SET mandant_id = excluded.mandant_id,
                position = excluded.position, reason = excluded.reason, action = excluded.action,
                conditions = excluded.conditions, assign = excluded.assign,
                continues = excluded.continues
            """,
            [
                (
                    None if rule.mandant is None else mandanten[rule.mandant],
                    position,
                    rule.id,
                    rule.reason,
                    rule.action,
                    Jsonb(rule.when),
                    Jsonb({"entity": rule.entity} if rule.entity else {}),
                    rule.continues,
                    author,
                )
                for position, rule in enumerate(rows)
            ],
        )


def _counts(organisation: Organisation) -> dict[str, int]:
    return {
        "mandanten": len(organisation.mandanten),
        "entities": len(organisation.entities),
        "projects": len(organisation.projects),
        "md_accounts": len(organisation.md_accounts),
        "users": len(organisation.users),
        "routing_rules": len(organisation.routing_rules),
    }


def _only_in_database(connection: Connection, organisation: Organisation) -> tuple[str, ...]:
    missing: list[str] = []
    stock = (
        (
            "mandant",
            "slug FROM mandanten WHERE NOT is_test",
            [m.slug for m in organisation.mandanten],
        ),
        ("entity", "slug FROM entities WHERE NOT is_test", [e.slug for e in organisation.entities]),
        (
            "project",
            "project_code FROM prf_projects",
            [p.project_code for p in organisation.projects],
        ),
        ("user", "login FROM users WHERE NOT is_service", [u.login for u in organisation.users]),
    )
    for label, source, known in stock:
        query = f"SELECT {source}"
        rows = connection.execute(query.encode()).fetchall()
        missing += [f"{label} {row[0]}" for row in rows if row[0] not in known]
    return tuple(missing)
