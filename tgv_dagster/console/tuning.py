"""Tuning values on the console: what is in force, how it was measured, and setting one."""

from __future__ import annotations

from datetime import UTC, datetime

import typer

from tgv_dagster.console.common import AS_OPTION, opened, out, scope_of
from tgv_dagster.store import tuning
from tgv_dagster.store.scope import ScopeError

tuning_app = typer.Typer(
    help="Values of search and thresholds: list them, set one with its account."
)


@tuning_app.command("list")
def list_values() -> None:
    """Every value with how and when it was measured."""
    with opened() as installation, installation.database.worker() as connection:
        rows = connection.execute(
            "SELECT key, value, set_by, measured_at, measured_note, expires_when"
            " FROM tuning_values ORDER BY key"
        ).fetchall()
    for key, value, by, measured_at, note, expires in rows:
        day = f"{measured_at:%Y-%m-%d}: {note}" if measured_at else note
        until = f"; interim until {expires}" if expires else ""
        out.print(f"{key} = {value} ({by}); measured {day}{until}", markup=False)


@tuning_app.command("set")
def set_value(
    key: str = typer.Argument(help="The key, such as P_MIN_SCORE:<space>."),
    value: str = typer.Argument(help="The value."),
    login: str = AS_OPTION,
    note: str = typer.Option(tuning.NEVER, "--measured", help="On what it was measured, and how."),
    expires_when: str | None = typer.Option(None, "--until", help="What ends an interim value."),
) -> None:
    """Set a value for everybody; only the owner of the installation may."""
    with opened() as installation:
        scope = scope_of(installation.database, login, None)
        if not scope.is_owner:
            raise ScopeError("Only the owner of the installation sets tuning values.")
        with installation.database.worker() as connection:
            tuning.set_value(
                connection,
                key,
                value,
                by=login,
                note=note,
                measured_at=None if note == tuning.NEVER else datetime.now(UTC),
                expires_when=expires_when,
            )
    out.print(f"{key} = {value}", markup=False)
