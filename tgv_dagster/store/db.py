"""Connections to the product's database, one kind per right.

Three roles: the owner migrates, the worker writes the flow, the application reads behind the
walls. A reader's connection exists only together with a `Scope` (see `store.scope`); there is no
way to read rows as the application without one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow, dict_row
from psycopg_pool import ConnectionPool

from tgv_dagster.store import embedded
from tgv_dagster.store.walls import APP_ROLE, SESSION_KEYS, WORKER_ROLE

if TYPE_CHECKING:
    from tgv_dagster.settings import Settings
    from tgv_dagster.store.scope import Scope

Connection = psycopg.Connection[TupleRow]


class DatabaseUnavailable(RuntimeError):
    """The database cannot be reached; the message names the remedy."""


class DatabaseFull(RuntimeError):
    """The database has no space left; nothing of the running step was kept."""


def product_url(settings: Settings) -> str:
    """URL of the product's database; starts the embedded server when no other one is named."""
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    base = embedded.start(settings.postgres_path, shared_buffers_mb=settings.shared_buffers_mb)
    return _ensure_database(base, "tgv")


def dagster_url(settings: Settings, product: str) -> str:
    """URL of the Dagster instance's own database on the same server (created when missing)."""
    if settings.dagster_database_url is not None:
        return settings.dagster_database_url.get_secret_value()
    name = f"{conninfo_to_dict(product).get('dbname', 'tgv')}_dagster"
    return _ensure_database(product, name)


def _ensure_database(url: str, name: str) -> str:
    """Create the database `name` on the server of `url` unless it exists; return its URL."""
    with connect(url, autocommit=True) as connection:
        found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,))
        if found.fetchone() is None:
            try:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
            except (psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
                pass  # another process created it between our two statements
            except psycopg.errors.InsufficientPrivilege as error:
                raise DatabaseUnavailable(
                    f"The database user may not create the database {name!r}. Create it by hand, "
                    "or name one with TGV_DAGSTER_DATABASE_URL."
                ) from error
    parts: dict[str, Any] = conninfo_to_dict(url)
    parts["dbname"] = name
    return make_conninfo(**parts)


def connect(url: str, *, autocommit: bool = False, role: str | None = None) -> Connection:
    """One connection, optionally acting as `role` from its first statement on."""
    options = f"-c role={role} -c timezone=UTC" if role else "-c timezone=UTC"
    try:
        return psycopg.connect(url, autocommit=autocommit, options=options, connect_timeout=10)
    except psycopg.OperationalError as error:
        raise DatabaseUnavailable(
            f"The database does not answer ({str(error).strip()}). "
            "Check TGV_DATABASE_URL, or run `tgv doctor`."
        ) from error


class Database:
    """The product's database as three doors: `owner`, `worker`, `reading`."""

    def __init__(self, url: str, *, pool_size: int = 8, patience: float = 30.0) -> None:
        """`patience`: seconds to wait for a server that restarts before it counts as gone."""
        self.url = url
        self._worker = _pool(url, WORKER_ROLE, pool_size, patience)
        self._reader = _pool(url, APP_ROLE, pool_size, patience)

    @classmethod
    def open(cls, settings: Settings) -> Self:
        """The database of these settings, started when it is the embedded one."""
        return cls(product_url(settings))

    def close(self) -> None:
        """Close both pools."""
        self._worker.close()
        self._reader.close()

    @contextmanager
    def owner(self, *, autocommit: bool = False) -> Iterator[Connection]:
        """The migrating owner; only migrations and their tests use it."""
        with connect(self.url, autocommit=autocommit) as connection:
            yield connection

    @contextmanager
    def worker(self) -> Iterator[Connection]:
        """One transaction of the flow: committed at the end, rolled back on any error.

        Raises DatabaseFull when the server is out of space, DatabaseUnavailable when it is gone.
        """
        with _full_disk_named(), _pooled(self._worker) as connection, connection.transaction():
            yield connection

    @contextmanager
    def reading(self, scope: Scope) -> Iterator[Connection]:
        """One read-only transaction in which only rows of `scope` exist (CONF-06)."""
        with _pooled(self._reader) as connection, connection.transaction():
            walls = scope.session_settings()
            connection.execute(_OPEN, [walls[key] for key in SESSION_KEYS])
            yield connection


_READING = ("'transaction_read_only', 'on'", "'plan_cache_mode', 'force_custom_plan'")
_OPEN = "SELECT {}".format(
    ", ".join(
        f"set_config({setting}, true)"
        for setting in (*_READING, *(f"'{key}', %s" for key in SESSION_KEYS))
    )
).encode()
"""One statement: each costs a small tenant's search as much as its comparison."""


def rows_as_dicts(connection: Connection) -> psycopg.Cursor[dict[str, Any]]:
    """A cursor whose rows are dictionaries, for pages and reports at the edge."""
    return connection.cursor(row_factory=dict_row)


def _pool(url: str, role: str, size: int, patience: float) -> ConnectionPool[Connection]:
    return ConnectionPool(
        url,
        min_size=0,
        max_size=size,
        open=True,
        timeout=patience,
        # Without it the pool tries ever more rarely, and notices a returned server minutes late.
        reconnect_timeout=patience,
        check=ConnectionPool.check_connection,
        kwargs={"options": f"-c role={role} -c timezone=UTC", "prepare_threshold": None},
    )


@contextmanager
def _pooled(pool: ConnectionPool[Connection]) -> Iterator[Connection]:
    try:
        connection = pool.getconn()
    except psycopg.OperationalError as error:
        raise DatabaseUnavailable(_NO_ANSWER) from error
    try:
        yield connection
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        if connection.closed or (error.sqlstate or "").startswith(_SHUTTING_DOWN):
            raise DatabaseUnavailable(_NO_ANSWER) from error
        raise
    finally:
        pool.putconn(connection)


_NO_ANSWER = "The database does not answer. Start it with `tgv up`, or check TGV_DATABASE_URL."
_SHUTTING_DOWN = "57P"


@contextmanager
def _full_disk_named() -> Iterator[None]:
    try:
        yield
    except psycopg.errors.DiskFull as error:
        raise DatabaseFull(
            "The database has no space left. Free space on its disk; what was running is kept "
            "as pending and goes on by itself."
        ) from error
