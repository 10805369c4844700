"""Sessions of people: begun at the sign-in, checked at each request, ended by many things.

A session acts as one person in one tenant, like a token; another tenant is another session
(CONF-08). Its secret is new at every sign-in and stands in a cookie; only its hash is kept. Does
not belong here: passwords, and what the person may do.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from tgv_dagster.store.db import Connection
from tgv_dagster.web import forms

IDLE = timedelta(hours=12)
"""A working day without a click ends a session."""

LONGEST = timedelta(days=7)
_NOTICED_AFTER = timedelta(minutes=1)


class SessionEnd(StrEnum):
    """Why a cookie opens nothing; stands in the event, never in the answer."""

    UNKNOWN = "unknown session"
    EXPIRED = "expired session"
    ENDED = "ended session"


@dataclass(frozen=True, slots=True)
class SessionHolder:
    """Whom a session stands for. `mandant` None: all tenants (owner of the installation)."""

    id: int
    login: str
    mandant: str | None


def begin(
    connection: Connection, user_id: int, *, mandant: str | None, instead_of: str | None
) -> str:
    """A new session in the caller's transaction; returns its secret, which is kept nowhere.

    `instead_of`: the secret of a session that this one replaces, which ends.
    """
    secret = forms.new_secret()
    if instead_of is not None:
        end(connection, instead_of)
    connection.execute(
        "INSERT INTO web_sessions (user_id, mandant_slug, secret_hash) VALUES (%s, %s, %s)",
        (user_id, mandant, _hash(secret)),
    )
    connection.execute(
        "DELETE FROM web_sessions WHERE created_at < now() - %s::interval", (LONGEST * 2,)
    )
    return secret


def check(connection: Connection, secret: str) -> SessionHolder | SessionEnd:
    """Whom the secret stands for, or why for nobody; notices that the session is in use."""
    row = connection.execute(
        """
        SELECT s.id, u.login, s.mandant_slug, s.ended_at IS NOT NULL,
            s.created_at < now() - %(longest)s::interval
                OR s.last_seen_at < now() - %(idle)s::interval,
            s.last_seen_at < now() - %(noticed)s::interval
        FROM web_sessions s JOIN users u ON u.id = s.user_id
        WHERE s.secret_hash = %(hash)s
        """,
        {"hash": _hash(secret), "longest": LONGEST, "idle": IDLE, "noticed": _NOTICED_AFTER},
    ).fetchone()
    if row is None:
        return SessionEnd.UNKNOWN
    if row[3]:
        return SessionEnd.ENDED
    if row[4]:
        return SessionEnd.EXPIRED
    if row[5]:
        connection.execute("UPDATE web_sessions SET last_seen_at = now() WHERE id = %s", (row[0],))
    return SessionHolder(row[0], row[1], row[2])


def end(connection: Connection, secret: str) -> None:
    """End a session at once; nothing happens when there is none."""
    connection.execute(
        "UPDATE web_sessions SET ended_at = now() WHERE secret_hash = %s AND ended_at IS NULL",
        (_hash(secret),),
    )


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
