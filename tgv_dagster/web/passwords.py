"""Passwords of people: set, checked and counted; the second person only behind the gate `walls`.

Hashes are argon2id with the parameters of its library. Does not belong here: sessions, HTTP.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache
from threading import BoundedSemaphore

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

from tgv_dagster.audit.ledger import GateClosed, latest
from tgv_dagster.audit.verdict import State
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.organisation import SERVICE_LOGIN

LEAST_CHARACTERS = 12
MOST_CHARACTERS = 200
WALLS = "walls"
_LOCK = 7_260_402  # any fixed number: one activation at a time
_COMES_IN = "(password_hash IS NOT NULL OR sso_since IS NOT NULL)"
_AT_ONCE = BoundedSemaphore(2)
"""A check takes 64 MiB; a flood of them must not take the memory of the service."""


@dataclass(frozen=True, slots=True)
class UserRow:
    """A person as lists show it. `roles`: each current one with its tenant."""

    login: str
    name: str
    active: bool
    signs_in: bool
    roles: tuple[str, ...]


class PasswordError(ValueError):
    """The password cannot be set; the message says what would help."""


def set_password(database: Database, login: str, password: str, *, by: str) -> None:
    """Give a person a password, and with it the way in; their open sessions end.

    The first person may always be activated. Another one only while the gate `walls` is green
    (CONF-20). Raises PasswordError and `audit.ledger.GateClosed`.
    """
    fault = fault_of(password, login)
    if fault:
        raise PasswordError(fault)
    digest = _hasher().hash(_normal(password))
    with database.worker() as connection:
        user_id, _ = require_activation(connection, login)
        had_one = connection.execute(
            "SELECT password_hash IS NOT NULL FROM users WHERE id = %s", (user_id,)
        ).fetchone() == (True,)
        connection.execute("UPDATE users SET password_hash = %s WHERE id = %s", (digest, user_id))
        connection.execute(
            "UPDATE web_sessions SET ended_at = now() WHERE user_id = %s AND ended_at IS NULL",
            (user_id,),
        )
        record(
            connection,
            Event(
                kind="user.password_changed" if had_one else "user.activated",
                author=by,
                is_human=by != SERVICE_LOGIN,
                object=f"user:{user_id}",
                reason=f"for {login}",
            ),
        )


def require_activation(connection: Connection, login: str) -> tuple[int, str | None]:
    """Number and e-mail address of a person who may get a way in, locked until the end.

    Raises PasswordError for nobody, and `GateClosed` where a second person would come in while the
    gate `walls` is not green (CONF-20).
    """
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    row = connection.execute(
        f"SELECT id, email, is_service, {_COMES_IN} FROM users WHERE login = %s AND active"
        " FOR UPDATE".encode(),
        (login,),
    ).fetchone()
    if row is None:
        raise PasswordError(f"There is no active user {login!r}; `tgv org show` lists them.")
    user_id, email, is_service, comes_in = row
    if is_service:
        raise PasswordError("The service principal signs in nowhere; name a person.")
    if not comes_in and _somebody_else(connection, user_id):
        _require_walls(connection)
    return user_id, email


def _require_walls(connection: Connection) -> None:
    """Green and nothing less: a red that only names held items opens the flow, not the door."""
    verdict = latest(connection, only=[WALLS])[0].verdict
    if verdict.state is not State.GREEN:
        raise GateClosed(WALLS, verdict)


def _somebody_else(connection: Connection, user_id: int) -> bool:
    row = connection.execute(
        f"SELECT EXISTS (SELECT 1 FROM users WHERE {_COMES_IN} AND active"
        " AND NOT is_service AND id <> %s)".encode(),
        (user_id,),
    ).fetchone()
    return row is not None and bool(row[0])


def list_users(database: Database, *, mandant_id: int | None = None) -> tuple[UserRow, ...]:
    """People by login, those with a role in one tenant, or everybody; no service principals."""
    with database.worker() as connection:
        rows = connection.execute(
            """
            SELECT u.login, u.name, u.active,
                u.active AND (u.password_hash IS NOT NULL OR u.sso_since IS NOT NULL),
                array_agg(r.role || coalesce(' @ ' || m.slug, '') ORDER BY m.slug)
                    FILTER (WHERE r.role IS NOT NULL)
            FROM users u
            LEFT JOIN user_mandant_roles r ON r.user_id = u.id AND r.valid_from <= now()
                AND (r.valid_to IS NULL OR r.valid_to > now())
                AND (%(mandant)s::integer IS NULL OR r.mandant_id = %(mandant)s)
            LEFT JOIN mandanten m ON m.id = r.mandant_id
            WHERE NOT u.is_service
            GROUP BY u.id
            HAVING %(mandant)s::integer IS NULL OR count(r.role) > 0
            ORDER BY u.login
            """,
            {"mandant": mandant_id},
        ).fetchall()
    return tuple(UserRow(row[0], row[1], row[2], row[3], tuple(row[4] or ())) for row in rows)


def fault_of(password: str, login: str) -> str:
    """What speaks against a password, empty when nothing does (NIST SP 800-63B, 3.1.1.2)."""
    text = _normal(password)
    if len(text) < LEAST_CHARACTERS:
        return f"A password has at least {LEAST_CHARACTERS} characters."
    if len(text) > MOST_CHARACTERS:
        return f"A password has at most {MOST_CHARACTERS} characters."
    if len(set(text)) < 5 or login.lower() in text.lower():
        return "A password is not one letter over and over and does not hold the login."
    return ""


def verify(database: Database, login: str, password: str) -> int | None:
    """The number of the person whose login and password these are, else None.

    A login that does not exist costs the same time as a wrong password. Hashes of older
    parameters are renewed.
    """
    with database.worker() as connection:
        row = connection.execute(
            "SELECT id, password_hash FROM users WHERE login = %s AND active AND NOT is_service"
            " AND password_hash IS NOT NULL",
            (login.replace("\x00", ""),),
        ).fetchone()
    stored = _nobodys() if row is None else str(row[1])
    text = _normal(password[:MOST_CHARACTERS])
    with _AT_ONCE:
        fits = _fits(stored, text)
        renewed = _hasher().hash(text) if fits and _hasher().check_needs_rehash(stored) else None
    if row is None or not fits:
        return None
    if renewed is not None:
        with database.worker() as connection:
            connection.execute(
                "UPDATE users SET password_hash = %s WHERE id = %s AND password_hash = %s",
                (renewed, row[0], stored),
            )
    return int(row[0])


def _fits(stored: str, text: str) -> bool:
    try:
        return _hasher().verify(stored, text)
    except (VerifyMismatchError, InvalidHashError):
        return False


def _normal(password: str) -> str:
    """The same password from any keyboard (RFC 8265 asks for NFC)."""
    return unicodedata.normalize("NFC", password)


@cache
def _hasher() -> PasswordHasher:
    return PasswordHasher()


@cache
def _nobodys() -> str:
    return _hasher().hash("nobody has this password")
