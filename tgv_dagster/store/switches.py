"""Switches of people in `system_config`: on is exactly `true`, everything else is off."""

from __future__ import annotations

from tgv_dagster.store.db import Connection
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.organisation import SERVICE_LOGIN


def is_on(connection: Connection, key: str) -> bool:
    """Whether the switch is exactly `true`; a missing key is off (MAIL-04, MAIL-32)."""
    row = connection.execute("SELECT value FROM system_config WHERE key = %s", (key,)).fetchone()
    return row is not None and row[0] == "true"


def turn(connection: Connection, key: str, *, on: bool, by: str, kind: str, what: str) -> None:
    """Turn a switch, as an event of this kind that says what was switched (OBS-09)."""
    connection.execute(
        "INSERT INTO system_config (key, value, set_by) VALUES (%s, %s, %s)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value, set_by = excluded.set_by,"
        " set_at = now()",
        (key, "true" if on else "false", by),
    )
    record(
        connection,
        Event(
            kind=kind,
            author=by,
            is_human=by != SERVICE_LOGIN,
            object=f"system_config:{key}",
            reason=f"{what} switched {'on' if on else 'off'}",
        ),
    )
