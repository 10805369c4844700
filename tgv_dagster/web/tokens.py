"""Tokens for programs and people: made, listed, revoked, and checked.

A token is `tgv_<number>_<secret>`; the secret is 32 random bytes, of which only the SHA-256 is
kept. It acts as one user in one tenant. Does not belong here: what the user may do; that is the
scope's, read anew for every request.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.organisation import SERVICE_LOGIN
from tgv_dagster.store.scope import Scope

SECRET_BYTES = 32
DEFAULT_LIFETIME = timedelta(days=90)
MAX_LIFETIME = timedelta(days=3650)
_MAX_NAME = 100
_FORM = re.compile(r"tgv_([1-9][0-9]{0,8})_([A-Za-z0-9_-]{43})")


class TokenError(ValueError):
    """The token cannot be made or found; the message says what would help."""


class TokenState(StrEnum):
    """Whether a token opens anything."""

    VALID = "valid"
    EXPIRED = "expired"
    REVOKED = "revoked"


class Refusal(StrEnum):
    """Why a request carries no principal; stands in the event, never in the answer."""

    NO_TOKEN = "no token"
    MALFORMED = "not a token of this service"
    UNKNOWN = "unknown token"
    EXPIRED = "expired token"
    REVOKED = "revoked token"
    NO_MEMBERSHIP = "no current membership"


@dataclass(frozen=True, slots=True)
class NewToken:
    """A fresh token; `text` is shown once and kept nowhere."""

    id: int
    text: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token as its list shows it. `mandant` None: all tenants (owner of the installation)."""

    id: int
    login: str
    mandant: str | None
    name: str
    created_at: datetime
    expires_at: datetime | None
    state: TokenState


@dataclass(frozen=True, slots=True)
class Holder:
    """Whom a checked token stands for."""

    login: str
    mandant: str | None


def create_token(
    database: Database,
    login: str,
    *,
    by: str,
    mandant: str | None = None,
    name: str = "",
    lifetime: timedelta = DEFAULT_LIFETIME,
) -> NewToken:
    """A token for `login` in one tenant (all tenants only for the owner of the installation).

    Raises TokenError, and ScopeError when the user has no membership there.
    """
    if login == SERVICE_LOGIN:
        raise TokenError("The service principal has no token; name a person or a program's user.")
    if not timedelta(0) < lifetime <= MAX_LIFETIME:
        raise TokenError(f"A token lives 1 to {MAX_LIFETIME.days} days.")
    if len(name) > _MAX_NAME or not name.isprintable():
        raise TokenError(f"The name of a token has at most {_MAX_NAME} printable characters.")
    scope = Scope.for_principal(database, login, mandant=mandant, source="token")
    secret = secrets.token_urlsafe(SECRET_BYTES)
    expires_at = datetime.now(UTC) + lifetime
    with database.worker() as connection:
        row = connection.execute(
            "INSERT INTO api_tokens (user_id, mandant_slug, name, token_hash, expires_at)"
            " VALUES (%s, (SELECT slug FROM mandanten WHERE id = %s), %s, %s, %s) RETURNING id",
            (scope.user_id, scope.mandant_id, name or login, _hash(secret), expires_at),
        ).fetchone()
        assert row is not None
        _tell(connection, "token.created", int(row[0]), by, scope.mandant_id, f"for {login}")
    return NewToken(int(row[0]), f"tgv_{row[0]}_{secret}", expires_at)


def list_tokens(database: Database) -> tuple[TokenRow, ...]:
    """Every token with its state, newest first; for the operator at the console."""
    with database.worker() as connection:
        rows = connection.execute(
            f"SELECT t.id, u.login, t.mandant_slug, t.name, t.created_at, t.expires_at, {_STATE}"
            " FROM api_tokens t JOIN users u ON u.id = t.user_id ORDER BY t.id DESC".encode()
        ).fetchall()
    return tuple(
        TokenRow(row[0], row[1], row[2], row[3], row[4], row[5], TokenState(row[6])) for row in rows
    )


def revoke_token(database: Database, token_id: int, *, by: str) -> bool:
    """Close a token at once; False when it was revoked before. Raises TokenError (no such)."""
    with database.worker() as connection:
        row = connection.execute(
            "SELECT revoked_at FROM api_tokens WHERE id = %s FOR UPDATE", (token_id,)
        ).fetchone()
        if row is None:
            raise TokenError(f"There is no token {token_id}; `tgv token list` shows them.")
        if row[0] is not None:
            return False
        connection.execute("UPDATE api_tokens SET revoked_at = now() WHERE id = %s", (token_id,))
        _tell(connection, "token.revoked", token_id, by, None, "revoked")
    return True


def check_token(connection: Connection, text: str | None) -> Holder | Refusal:
    """Whom the token stands for, or why it stands for nobody (compared in constant time)."""
    if not text:
        return Refusal.NO_TOKEN
    parts = _FORM.fullmatch(text)
    if parts is None:
        return Refusal.MALFORMED
    row = connection.execute(
        f"SELECT t.token_hash, u.login, t.mandant_slug, {_STATE} FROM api_tokens t"
        " JOIN users u ON u.id = t.user_id WHERE t.id = %s".encode(),
        (int(parts[1]),),
    ).fetchone()
    expected = _hash("") if row is None else row[0]
    if not hmac.compare_digest(expected, _hash(parts[2])) or row is None:
        return Refusal.UNKNOWN
    state = TokenState(row[3])
    if state is TokenState.REVOKED:
        return Refusal.REVOKED
    if state is TokenState.EXPIRED:
        return Refusal.EXPIRED
    return Holder(row[1], row[2])


_STATE = f"""CASE WHEN t.revoked_at IS NOT NULL THEN '{TokenState.REVOKED}'
    WHEN t.expires_at <= now() THEN '{TokenState.EXPIRED}' ELSE '{TokenState.VALID}' END"""


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _tell(
    connection: Connection, kind: str, token_id: int, by: str, mandant_id: int | None, reason: str
) -> None:
    record(
        connection,
        Event(
            kind=kind,
            author=by,
            object=f"token:{token_id}",
            reason=reason,
            is_human=by != SERVICE_LOGIN,
            mandant_id=mandant_id,
        ),
    )
