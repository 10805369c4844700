"""Signing in through an OpenID Connect provider: authorization code flow with PKCE (CONF-20).

The provider says who somebody is; whether that somebody may come in is decided here, by a person
of the organisation whom `allow` let in before. Nobody is created. State, nonce and code verifier
stand in one row that is used once, and belong to the browser that went away with them. Does not
belong here: pages and cookies (`login`), sessions (`sessions`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
from authlib.common.errors import AuthlibBaseError
from authlib.common.security import generate_token
from authlib.integrations.httpx_client import OAuth2Client
from authlib.oidc.core import CodeIDToken
from authlib.oidc.discovery import get_well_known_url
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from tgv_dagster.settings import Settings, SettingsError, read_secret
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.organisation import SERVICE_LOGIN
from tgv_dagster.store.remote import is_loopback
from tgv_dagster.web import forms, passwords
from tgv_dagster.web.passwords import PasswordError

BACK_PATH = "/login/provider/back"
PATIENCE = timedelta(minutes=10)
"""How long somebody may be away at the provider."""

_MOST_AWAY = 1000
"""People who are on their way at once; more is a flood."""

_SIGNED_BY = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"]
_SECONDS = 10.0
_LEEWAY_SECONDS = 60
_MOST_BYTES = 1 << 20


class Refused(Exception):
    """Nobody is signed in; the message stands in the event and never in the answer.

    `login` is the person meant, where the provider proved one that we know.
    """

    def __init__(self, reason: str, login: str = "") -> None:
        super().__init__(reason)
        self.login = login


@dataclass(frozen=True, slots=True)
class Provider:
    """The provider of this installation."""

    issuer: str
    client_id: str
    client_secret: str | None
    redirect_uri: str
    name: str


@dataclass(frozen=True, slots=True)
class Departure:
    """Where to send a browser, and the secret that its cookie carries until it is back."""

    url: str
    browser_secret: str


@dataclass(frozen=True, slots=True)
class Arrival:
    """Who came back, and the page that was asked for."""

    user_id: int
    login: str
    next_page: str


def provider_of(settings: Settings) -> Provider | None:
    """The provider, None when none is set up. Raises SettingsError for half a setting."""
    if settings.oidc_issuer is None:
        return None
    lacking = [
        name
        for name, value in (
            ("TGV_OIDC_CLIENT_ID", settings.oidc_client_id),
            ("TGV_PUBLIC_URL", settings.public_url),
        )
        if not value
    ]
    if lacking:
        raise SettingsError(f"TGV_OIDC_ISSUER needs {' and '.join(lacking)} too.")
    issuer = settings.oidc_issuer
    if not _is_safe(issuer):
        raise SettingsError("TGV_OIDC_ISSUER is an https:// address (http only on this machine).")
    return Provider(
        issuer=issuer,
        client_id=settings.oidc_client_id,
        client_secret=_secret(settings),
        redirect_uri=f"{(settings.public_url or '').rstrip('/')}{BACK_PATH}",
        name=settings.oidc_name or urlsplit(issuer).hostname or issuer,
    )


def _secret(settings: Settings) -> str | None:
    if settings.oidc_client_secret is not None:
        return settings.oidc_client_secret.get_secret_value()
    if settings.oidc_client_secret_file is None:
        return None
    variable = "TGV_OIDC_CLIENT_SECRET_FILE"
    try:
        return read_secret(settings.oidc_client_secret_file, variable)
    except OSError as error:
        raise SettingsError(f"The file of {variable} cannot be read ({error.strerror}).") from error


def depart(database: Database, provider: Provider, next_page: str) -> Departure:
    """Note the way out and say where it leads. Raises Refused."""
    metadata = _metadata(provider)
    nonce, verifier, browser_secret = generate_token(43), generate_token(64), forms.new_secret()
    with _client(provider) as client:
        url, state = client.create_authorization_url(
            metadata["authorization_endpoint"], code_verifier=verifier, nonce=nonce
        )
    with database.worker() as connection:
        connection.execute(
            "DELETE FROM web_sign_ons WHERE created_at < now() - %s::interval", (PATIENCE,)
        )
        row = connection.execute("SELECT count(*) FROM web_sign_ons").fetchone()
        if row is not None and row[0] >= _MOST_AWAY:
            raise Refused("too many people on their way to the provider")
        connection.execute(
            "INSERT INTO web_sign_ons (state_hash, browser_hash, nonce, code_verifier, next_page)"
            " VALUES (%s, %s, %s, %s, %s)",
            (_hash(state), _hash(browser_secret), nonce, verifier, next_page),
        )
    return Departure(url, browser_secret)


def arrive(
    database: Database, provider: Provider, *, state: str, code: str, browser_secret: str
) -> Arrival:
    """Who the browser with this state and code is. Raises Refused; the state is used up."""
    with database.worker() as connection:
        row = connection.execute(
            "DELETE FROM web_sign_ons WHERE state_hash = %s"
            " RETURNING browser_hash, nonce, code_verifier, next_page,"
            " created_at > now() - %s::interval",
            (_hash(state), PATIENCE),
        ).fetchone()
    if row is None:
        raise Refused("unknown or used state")
    browser_hash, nonce, verifier, next_page, in_time = row
    if not in_time:
        raise Refused("state too old")
    if browser_hash != _hash(browser_secret):
        raise Refused("state of another browser")
    if not code:
        raise Refused("the provider gave no code")
    claims = _claims(provider, code, verifier, nonce)
    user_id, login = _person(database, provider, claims)
    return Arrival(user_id, login, next_page)


def allow(database: Database, login: str, *, subject: str | None, issuer: str, by: str) -> None:
    """Let a person of the organisation come through the provider.

    Without a subject the person is known by a verified e-mail address at the first sign-in, and by
    the subject from then on. The second person only behind the gate `walls` (CONF-20). Raises
    PasswordError and `audit.ledger.GateClosed`.
    """
    identity = None if subject is None else _identity(issuer, subject)
    with database.worker() as connection:
        user_id, email = passwords.require_activation(connection, login)
        if identity is None and not email:
            raise PasswordError(f"{login} has no e-mail address; name the subject instead.")
        taken = connection.execute(
            "SELECT 1 FROM users WHERE sso_identity = %s AND id <> %s", (identity, user_id)
        ).fetchone()
        if taken is not None:
            raise PasswordError("This subject stands for another person already.")
        connection.execute(
            "UPDATE users SET sso_since = coalesce(sso_since, now()), sso_identity = %s"
            " WHERE id = %s",
            (identity, user_id),
        )
        _tell(connection, "user.sign_on_allowed", user_id, login, by)


def forbid(database: Database, login: str, *, by: str) -> None:
    """Let a person come through the provider no more; open sessions end. Raises PasswordError."""
    with database.worker() as connection:
        row = connection.execute(
            "UPDATE users SET sso_since = NULL, sso_identity = NULL WHERE login = %s RETURNING id",
            (login,),
        ).fetchone()
        if row is None:
            raise PasswordError(f"There is no user {login!r}; `tgv org show` lists them.")
        connection.execute(
            "UPDATE web_sessions SET ended_at = now() WHERE user_id = %s AND ended_at IS NULL",
            (row[0],),
        )
        _tell(connection, "user.sign_on_forbidden", row[0], login, by)


def _tell(connection: Connection, kind: str, user_id: int, login: str, by: str) -> None:
    event = Event(
        kind=kind, author=by, is_human=by != SERVICE_LOGIN, object=f"user:{user_id}",
        reason=f"for {login}",
    )  # fmt: skip
    record(connection, event)


# --- the provider ------------------------------------------------------------------------------


@contextmanager
def _client(provider: Provider) -> Iterator[OAuth2Client]:
    client = OAuth2Client(
        client_id=provider.client_id,
        client_secret=provider.client_secret,
        token_endpoint_auth_method="client_secret_basic" if provider.client_secret else "none",
        scope="openid email",
        redirect_uri=provider.redirect_uri,
        code_challenge_method="S256",
        timeout=_SECONDS,
        follow_redirects=False,
    )
    try:
        yield client
    finally:
        httpx.Client.close(client)  # pyright: ignore[reportArgumentType]


def _metadata(provider: Provider) -> dict[str, Any]:
    """What the provider says of itself; raises Refused unless it is this provider and safe."""
    found = _document(get_well_known_url(provider.issuer, external=True))
    if found.get("issuer") != provider.issuer:
        raise Refused("the provider names another issuer")
    for key in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        if not isinstance(found.get(key), str) or not _is_safe(found[key]):
            raise Refused(f"the provider names no safe {key}")
    return found


def _document(url: str) -> dict[str, Any]:
    try:
        answer = httpx.get(url, timeout=_SECONDS, follow_redirects=False)
        answer.raise_for_status()
        found = json.loads(answer.content[:_MOST_BYTES])
    except (httpx.HTTPError, ValueError) as error:
        raise Refused(f"the provider cannot be asked: {type(error).__name__}") from error
    if not isinstance(found, dict):
        raise Refused("the provider answers in another form")
    return found


def _is_safe(url: str) -> bool:
    parts = urlsplit(url)
    if parts.scheme == "http":
        return is_loopback(parts.hostname or "")
    return parts.scheme == "https" and bool(parts.hostname)


def _claims(provider: Provider, code: str, verifier: str, nonce: str) -> CodeIDToken:
    """The claims of a token that the provider signed for us, now, in this very way out."""
    metadata = _metadata(provider)
    try:
        with _client(provider) as client:
            token = client.fetch_token(
                metadata["token_endpoint"], code=code, code_verifier=verifier
            )
        signed = token["id_token"]
        keys = KeySet.import_key_set(_document(metadata["jwks_uri"]))  # pyright: ignore[reportArgumentType]
        opened = jwt.decode(signed, keys, algorithms=_SIGNED_BY)
        claims = CodeIDToken(
            opened.claims,
            opened.header,
            options={
                "iss": {"essential": True, "value": provider.issuer},
                "sub": {"essential": True},
                "aud": {"essential": True, "value": provider.client_id},
                "exp": {"essential": True},
                "nonce": {"essential": True, "value": nonce},
            },
            params={
                "nonce": nonce,
                "client_id": provider.client_id,
                "access_token": token.get("access_token"),
            },
        )
        claims.validate(leeway=_LEEWAY_SECONDS)
    except Refused:
        raise
    except (AuthlibBaseError, JoseError, httpx.HTTPError, ValueError, KeyError, TypeError) as error:
        raise Refused(f"the token does not hold: {type(error).__name__}") from error
    return claims


# --- the person --------------------------------------------------------------------------------


def _person(database: Database, provider: Provider, claims: CodeIDToken) -> tuple[int, str]:
    """The person these claims stand for. Raises Refused; nobody is created."""
    identity = _identity(provider.issuer, str(claims["sub"]))
    with database.worker() as connection:
        row = connection.execute(
            "SELECT id, login, active AND NOT is_service AND sso_since IS NOT NULL FROM users"
            " WHERE sso_identity = %s",
            (identity,),
        ).fetchone()
        if row is not None and row[2]:
            return row[0], row[1]
        if row is not None:
            raise Refused("not active, or not allowed through the provider", row[1])
        return _first_time(connection, identity, claims)


def _first_time(connection: Connection, identity: str, claims: CodeIDToken) -> tuple[int, str]:
    email = claims.get("email")
    if claims.get("email_verified") is not True or not isinstance(email, str) or not email.strip():
        raise Refused("an unknown subject without a verified e-mail address")
    rows = connection.execute(
        "SELECT id, login, active AND NOT is_service AND sso_since IS NOT NULL"
        " AND sso_identity IS NULL FROM users WHERE lower(email) = lower(%s) FOR UPDATE",
        (email.strip().replace("\x00", ""),),
    ).fetchall()
    if len(rows) != 1:
        raise Refused("no person with this e-mail address" if not rows else "an ambiguous address")
    user_id, login, may = rows[0]
    if not may:
        raise Refused("not active, or not allowed through the provider", login)
    connection.execute("UPDATE users SET sso_identity = %s WHERE id = %s", (identity, user_id))
    _tell(connection, "user.sign_on_bound", user_id, login, login)
    return user_id, login


def _identity(issuer: str, subject: str) -> str:
    return f"{issuer} {subject}"


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
