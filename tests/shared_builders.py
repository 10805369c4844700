"""Builders that many tests share: servers, databases, the organisation of the tests."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tgv_dagster.store import embedded, organisation
from tgv_dagster.store.db import Database

_numbers = itertools.count()


@contextmanager
def server_directory() -> Iterator[Path]:
    """A data directory outside pytest's own tree, whose modes each pytest process resets."""
    with TemporaryDirectory(prefix="tgv-test-server-", ignore_cleanup_errors=True) as folder:
        data_dir = Path(folder) / "postgres"
        yield data_dir
        embedded.stop(data_dir)


def database_on(server_url: str, name: str) -> str:
    """URL of another database on the same server."""
    parts = conninfo_to_dict(server_url)
    parts["dbname"] = name
    return make_conninfo(**parts)  # pyright: ignore[reportArgumentType]


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
  - {login: emil, name: Emil, roles: [{mandant: nord, role: editor, valid_to: 2099-01-01}]}
  - {login: vera, name: Vera, roles: [{mandant: nord, role: viewer, ceiling: intern}]}
  - {login: sven, name: Sven, roles: [{mandant: sued, role: mandant_admin}]}
  - {login: chef, name: Chef, roles: [{role: super_admin}]}
"""


def import_test_organisation(database: Database, text: str = ORGANISATION) -> None:
    """Two tenants with three entities and one person of each role."""
    with database.worker() as connection:
        organisation.ensure_service_principal(connection)
        organisation.import_organisation(connection, organisation.parse(text), author="test")
