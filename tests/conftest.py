"""Shared parts of the tests: one embedded Postgres per test process, a fresh database per test."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tgv_dagster.installation import Installation
from tgv_dagster.settings import Settings
from tgv_dagster.store import embedded, migrate, organisation
from tgv_dagster.store.db import Database

_numbers = itertools.count()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Turn left-out tests into the exit status of the run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not os.environ.get("CI") or reporter is None:
        return
    if any(reporter.stats.get(kind) for kind in ("skipped", "xfailed", "xpassed")):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@contextmanager
def server_directory() -> Iterator[Path]:
    """A data directory outside pytest's own tree, whose modes each pytest process resets."""
    with TemporaryDirectory(prefix="tgv-test-server-", ignore_cleanup_errors=True) as folder:
        data_dir = Path(folder) / "postgres"
        yield data_dir
        embedded.stop(data_dir)


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """A real embedded server, for this process of the test run."""
    with server_directory() as data_dir:
        url = embedded.start(data_dir, shared_buffers_mb=64)
        with psycopg.connect(url, autocommit=True) as connection:
            # No test pulls the plug of the machine, so the server need not wait for the disk.
            for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                connection.execute(f"ALTER SYSTEM SET {setting} = off".encode())
            connection.execute("SELECT pg_reload_conf()")
        yield url


@pytest.fixture
def server_dir() -> Iterator[Path]:
    """An empty data directory for a server of the test's own."""
    with server_directory() as data_dir:
        yield data_dir


def database_on(server_url: str, name: str) -> str:
    """URL of another database on the same server."""
    parts = conninfo_to_dict(server_url)
    parts["dbname"] = name
    return make_conninfo(**parts)  # pyright: ignore[reportArgumentType]


@pytest.fixture(scope="session")
def template(server_url: str) -> str:
    """A migrated database that each test copies."""
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE template_tgv")
    migrate.upgrade(database_on(server_url, "template_tgv"))
    return "template_tgv"


@contextmanager
def fresh_database(server_url: str, template: str) -> Iterator[str]:
    """A migrated database of its own, dropped afterwards."""
    name = f"test_{next(_numbers)}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
    yield database_on(server_url, name)
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def database_url(server_url: str, template: str) -> Iterator[str]:
    """A fresh, migrated database."""
    with fresh_database(server_url, template) as url:
        yield url


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """The three doors to a fresh database."""
    opened = Database(database_url, pool_size=4)
    yield opened
    opened.close()


ORGANISATION = """
mandanten:
  - {slug: nord, name: Nord}
  - {slug: sued, name: Sued}
entities:
  - {slug: nord-gmbh, mandant: nord, kind: company, legal_name: Nordlicht Tischlerei GmbH,
     vat_ids: [DE136695976], ibans: [DE89370400440532013000], country: DE, bucket: nord-gmbh,
     default_level: intern, address: "Hafenweg 1, 20457 Hamburg"}
  - {slug: nord-sarl, mandant: nord, kind: company, legal_name: Atelier Nord SARL,
     vat_ids: [FR40303265045], country: FR, bucket: nord-sarl, default_level: intern}
  - {slug: haus-sued, mandant: sued, kind: household, legal_name: Familie Sued,
     country: DE, bucket: haus-sued, default_level: intern}
projects:
  - {project_code: P-1, entity: nord-gmbh, name: Umbau Kita, aliases: [Kita]}
users:
  - {login: anna, name: Anna, roles: [{mandant: nord, role: mandant_admin}]}
  - {login: emil, name: Emil, roles: [{mandant: nord, role: editor}]}
  - {login: vera, name: Vera, roles: [{mandant: nord, role: viewer, ceiling: intern}]}
  - {login: sven, name: Sven, roles: [{mandant: sued, role: mandant_admin}]}
  - {login: chef, name: Chef, roles: [{role: super_admin}]}
"""


def import_test_organisation(database: Database, text: str = ORGANISATION) -> None:
    """Two tenants with three entities and one person of each role."""
    with database.worker() as connection:
        organisation.ensure_service_principal(connection)
        organisation.import_organisation(connection, organisation.parse(text), author="test")


@pytest.fixture
def installation(database_url: str, tmp_path: Path) -> Iterator[Installation]:
    """A whole installation in a temporary home, with the test organisation."""
    settings = Settings(
        home=tmp_path / "home",
        database_url=database_url,  # pyright: ignore[reportArgumentType]
        stable_seconds=0,
        workers=1,
    )  # pyright: ignore[reportCallIssue]
    opened = Installation.open(settings)
    import_test_organisation(opened.database)
    yield opened
    opened.close()
