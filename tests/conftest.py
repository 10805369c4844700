"""Shared parts of the tests: one embedded Postgres per test process, a fresh database per test."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from hypothesis import settings
from shared_builders import (
    database_on,
    fresh_database,
    import_test_organisation,
    server_directory,
)

from tgv_dagster.installation import Installation
from tgv_dagster.settings import Settings
from tgv_dagster.store import embedded, migrate
from tgv_dagster.store.db import Database

# A run in the background of a shell inherits an ignored Ctrl-C, and Dagster's servers, which take
# SIGTERM as Ctrl-C, would inherit it from here and never end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says what else the machine does, not whether the code is right.
settings.register_profile("untimed", settings.default, deadline=None)
settings.load_profile("untimed")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Turn left-out tests into the exit status of the run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not os.environ.get("CI") or reporter is None:
        return
    if any(reporter.stats.get(kind) for kind in ("skipped", "xfailed", "xpassed")):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


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


@pytest.fixture(scope="session")
def template(server_url: str) -> str:
    """A migrated database that each test copies."""
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE template_tgv")
    migrate.upgrade(database_on(server_url, "template_tgv"))
    return "template_tgv"


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


@pytest.fixture
def installation(database_url: str, tmp_path: Path) -> Iterator[Installation]:
    """A whole installation in a temporary home, with the test organisation."""
    settings = Settings(
        home=tmp_path / "home",
        database_url=database_url,  # pyright: ignore[reportArgumentType]
        stable_seconds=0,
        workers=1,
    )
    opened = Installation.open(settings)
    import_test_organisation(opened.database)
    yield opened
    opened.close()
