"""Schema and rights: bring any database to the state this code needs.

Migrations are Alembic revisions and frozen; roles, grants and row level security policies are
generated from `store.register` and `store.walls` after every upgrade, so that they always are the
ones of the running code.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import psycopg
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from psycopg import sql
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from tgv_dagster.store.db import Connection, connect
from tgv_dagster.store.register import (
    INTERVAL_FOLLOWERS,
    INTERVAL_TABLES,
    INTERVAL_WRITERS,
    TABLES,
)
from tgv_dagster.store.walls import APP_ROLE, INTERVAL_ROLE, WORKER_ROLE

MINIMUM_POSTGRES = 150000
MINIMUM_PGVECTOR = (0, 8)
_LOCK = 7_260_401  # any fixed number: one upgrade at a time per database


class SchemaError(RuntimeError):
    """The database cannot be brought to our schema; the message names the remedy."""


def upgrade(url: str) -> None:
    """Upgrade schema, roles and policies; safe for several processes at once, free when current.

    Raises SchemaError when server or pgvector are too old, pgvector is missing, or the database
    is newer than this code.
    """
    with connect(url, autocommit=True) as connection:
        _require_versions(connection)
        connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        try:
            if current_revision(connection) != head_revision():
                _run_alembic(url)
            _apply_rights(connection)
        finally:
            connection.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))


def head_revision() -> str:
    """Newest revision this code knows."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    assert head is not None
    return head


def current_revision(connection: Connection) -> str | None:
    """Revision of the database, None before the first upgrade."""
    exists = connection.execute("SELECT to_regclass('alembic_version')").fetchone()
    if exists is None or exists[0] is None:
        return None
    row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return None if row is None else str(row[0])


def upgrade_to(url: str, revision: str) -> None:
    """Upgrade only up to `revision`; for the test that upgrades every earlier schema."""
    _run_alembic(url, revision)


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return config


def _run_alembic(url: str, revision: str = "head") -> None:
    config = _config()
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    with connect(url) as connection:
        found = current_revision(connection)
    if found is not None and found not in known:
        raise SchemaError(
            f"The database is at revision {found}, which this version does not know. "
            "Install the newer version of tgv-dagster, or restore an older backup."
        )
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(url), poolclass=NullPool
    )
    with engine.begin() as bind:
        config.attributes["connection"] = bind
        command.upgrade(config, revision)


def _require_versions(connection: Connection) -> None:
    version = connection.info.server_version
    if version < MINIMUM_POSTGRES:
        raise SchemaError(f"Postgres {version // 10000} is too old; 15 or newer is needed.")
    row = connection.execute(
        "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"
    ).fetchone()
    if row is None:
        raise SchemaError(
            "The server has no pgvector. Install pgvector >= 0.8 on it, or leave TGV_DATABASE_URL "
            "empty for the embedded server."
        )
    found = tuple(int(part) for part in str(row[0]).split(".")[:2])
    if found < MINIMUM_PGVECTOR:
        raise SchemaError(f"pgvector {row[0]} is too old; 0.8 or newer is needed.")


def rights_statements() -> tuple[str, ...]:
    """Grants and policies of every declared table, in the order to run them."""
    statements = [
        f"GRANT USAGE ON SCHEMA public TO {APP_ROLE}, {WORKER_ROLE}",
        "GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA public"
        f" TO {WORKER_ROLE}",
        f"GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public TO {WORKER_ROLE}",
        f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {APP_ROLE}",
        f"REVOKE ALL ON alembic_version FROM {WORKER_ROLE}",
    ]
    for table in TABLES:
        statements += [
            f"ALTER TABLE {table.name} ENABLE ROW LEVEL SECURITY",
            f"ALTER TABLE {table.name} FORCE ROW LEVEL SECURITY",
            f"DROP POLICY IF EXISTS flow ON {table.name}",
            f"DROP POLICY IF EXISTS wall ON {table.name}",
            f"CREATE POLICY flow ON {table.name} FOR ALL TO {WORKER_ROLE}"
            " USING (true) WITH CHECK (true)",
        ]
        if table.wall is not None:
            statements += [
                f"GRANT SELECT ON {table.name} TO {APP_ROLE}",
                f"CREATE POLICY wall ON {table.name} FOR SELECT TO {APP_ROLE} USING ({table.wall})",
            ]
    return (*statements, *_interval_rights())


def _interval_rights() -> list[str]:
    """Interval tables are written by their functions alone, which act as a role of their own."""
    statements = [f"GRANT CREATE ON SCHEMA public TO {INTERVAL_ROLE}"]
    for table, columns in INTERVAL_TABLES.items():
        statements += [
            f"REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON {table} FROM {WORKER_ROLE}",
            f"GRANT UPDATE ({columns}) ON {table} TO {WORKER_ROLE}",
            f"GRANT INSERT, DELETE, UPDATE ON {table} TO {INTERVAL_ROLE}",
        ]
    for function in INTERVAL_WRITERS:
        statements += [
            f"ALTER FUNCTION {function}(jsonb, bigint[]) OWNER TO {INTERVAL_ROLE}",
            f"REVOKE EXECUTE ON FUNCTION {function}(jsonb, bigint[]) FROM PUBLIC",
            f"GRANT EXECUTE ON FUNCTION {function}(jsonb, bigint[]) TO {WORKER_ROLE}",
        ]
    statements += [
        f"ALTER FUNCTION {function}() OWNER TO {INTERVAL_ROLE}" for function in INTERVAL_FOLLOWERS
    ]
    return [*statements, f"REVOKE CREATE ON SCHEMA public FROM {INTERVAL_ROLE}"]


def _apply_rights(connection: Connection) -> None:
    statements = rights_statements()
    fingerprint = hashlib.sha256("\n".join(statements).encode()).hexdigest()
    row = connection.execute(
        "SELECT obj_description(to_regclass('documents'), 'pg_class')"
    ).fetchone()
    current = f"{head_revision()} {fingerprint}"
    if row is not None and row[0] == f"{current} {_rights_in_force(connection)}":
        return
    _create_roles(connection)
    with connection.transaction():
        for statement in statements:
            connection.execute(statement.encode())
        _drop_foreign_policies(connection)
        applied = f"{current} {_rights_in_force(connection)}"
        connection.execute(sql.SQL("COMMENT ON TABLE documents IS {}").format(sql.Literal(applied)))


def _rights_in_force(connection: Connection) -> str:
    """Fingerprint of the policies and rights of declared tables, and of all that readers may use.

    Whoever changed one by hand finds it set anew at the next start.
    """
    row = connection.execute(
        """
        WITH declared AS (
            SELECT to_regclass(name) AS oid FROM unnest(%(tables)s::text[]) AS t (name))
        SELECT md5(string_agg(fact, '|' ORDER BY fact)) FROM (
            SELECT concat_ws(' ', c.relname, c.relrowsecurity, c.relforcerowsecurity,
                c.relacl) AS fact
            FROM pg_class c
            WHERE c.oid IN (SELECT oid FROM declared) OR c.relacl::text LIKE %(reader)s
            UNION ALL
            SELECT concat_ws(' ', a.attrelid::regclass, a.attname, a.attacl)
            FROM pg_attribute a
            WHERE a.attacl IS NOT NULL
              AND (a.attrelid IN (SELECT oid FROM declared) OR a.attacl::text LIKE %(reader)s)
            UNION ALL
            SELECT concat_ws(' ', p.polrelid::regclass, p.polname, p.polcmd, p.polpermissive,
                (SELECT string_agg(r.rolname, ',' ORDER BY r.rolname)
                 FROM pg_roles r WHERE r.oid = ANY (p.polroles)),
                pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
            FROM pg_policy p WHERE p.polrelid IN (SELECT oid FROM declared)
        ) AS facts
        """,
        {"tables": [table.name for table in TABLES], "reader": f"%{APP_ROLE}=%"},
    ).fetchone()
    assert row is not None
    return str(row[0])


def _drop_foreign_policies(connection: Connection) -> None:
    """Leave no policy on a declared table but the generated ones: policies add up."""
    foreign = connection.execute(
        "SELECT schemaname, tablename, policyname FROM pg_policies WHERE schemaname = 'public'"
        " AND tablename = ANY (%s) AND policyname NOT IN ('flow', 'wall')",
        ([table.name for table in TABLES],),
    ).fetchall()
    for schema, table, policy in foreign:
        connection.execute(
            sql.SQL("DROP POLICY {} ON {}").format(
                sql.Identifier(policy), sql.Identifier(schema, table)
            )
        )


def _create_roles(connection: Connection) -> None:
    for role in (APP_ROLE, WORKER_ROLE, INTERVAL_ROLE):
        name = sql.Identifier(role)
        found = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone()
        try:
            if found is None:
                connection.execute(
                    sql.SQL("CREATE ROLE {} NOLOGIN NOBYPASSRLS NOSUPERUSER").format(name)
                )
            connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(name))
            if role == INTERVAL_ROLE:
                connection.execute(f"GRANT {WORKER_ROLE} TO {INTERVAL_ROLE}".encode())
        except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
            pass  # roles are per server: another database's upgrade created it meanwhile
        except psycopg.errors.InsufficientPrivilege as error:
            raise SchemaError(
                f"The database user may not create or use the role {role}. Ask the server's "
                f"administrator for: CREATE ROLE {role} NOLOGIN; GRANT {role} TO <user>;"
            ) from error
