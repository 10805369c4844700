"""Signing in through an OpenID Connect provider: who comes in, and everybody who does not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc.jwk import OctKey
from provider_double import CLIENT_ID, CLIENT_SECRET, Provider, fresh_keys, providing
from pydantic import SecretStr
from shared_builders import fresh_database
from web_builders import Browser, Service, browser, opened, serving, walls_are

from tgv_dagster.audit.ledger import GateClosed
from tgv_dagster.audit.verdict import green, red
from tgv_dagster.settings import Settings, SettingsError
from tgv_dagster.store.db import Database
from tgv_dagster.web import sign_on
from tgv_dagster.web.forms import SESSION_COOKIE
from tgv_dagster.web.passwords import PasswordError
from tgv_dagster.web.texts import LANGUAGES, texts

PUBLIC = "http://pages.test"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with providing() as running:
        yield running


@pytest.fixture(scope="module")
def joined(
    server_url: str, template: str, tmp_path_factory: pytest.TempPathFactory, provider: Provider
) -> Iterator[Service]:
    """The service with this provider."""
    secret = tmp_path_factory.mktemp("secret") / "oidc"
    secret.write_text(f"{CLIENT_SECRET}\n")
    secret.chmod(0o600)
    with (
        fresh_database(server_url, template) as url,
        opened(
            url,
            tmp_path_factory.mktemp("home"),
            public_url=PUBLIC,
            oidc_issuer=provider.issuer,
            oidc_client_id=CLIENT_ID,
            oidc_client_secret_file=secret,
            oidc_name="Haus-Konto",
        ) as installation,
        serving(installation) as running,
    ):
        yield running


@pytest.fixture
def service(joined: Service, provider: Provider) -> Service:
    """Nobody bound, everybody with an address; the provider tells the truth."""
    for kept in (provider.claims, provider.header, provider.metadata, provider.codes):
        kept.clear()
    provider.published = provider.shared_key = None
    joined.rows(
        "UPDATE users SET email = login || '@nord.example', sso_since = NULL, sso_identity = NULL,"
        " active = true"
    )
    walls_are(joined, green("test"))
    return joined


def allow(service: Service, provider: Provider, login: str, subject: str | None = None) -> None:
    sign_on.allow(
        service.installation.database, login, subject=subject, issuer=provider.issuer, by="test"
    )


def away(visitor: Browser, next_page: str = "/search") -> str:
    """Go to the provider and sign in there; the path the browser is sent back to."""
    left = visitor.get(f"/login/provider?next={next_page}")
    assert left.status_code == 303
    there = httpx.get(left.headers["location"])
    assert there.status_code == 302
    back = there.headers["location"]
    assert back.startswith(f"{PUBLIC}{sign_on.BACK_PATH}?")
    return back.removeprefix(PUBLIC)


def denials(service: Service) -> list[tuple[Any, ...]]:
    return service.rows(
        "SELECT author, reason FROM agent_events WHERE kind = 'http.denied' ORDER BY id"
    )


def refused(service: Service, visitor: Browser, path: str, reason: str) -> None:
    """Nobody is signed in; the page says one thing, the log another."""
    before = len(denials(service))
    answer = visitor.get(path)
    assert answer.status_code == 401
    assert texts("en")["login.provider"] in answer.text
    assert SESSION_COOKIE not in visitor.client.cookies
    ((_, told),) = denials(service)[before:]
    assert reason in told
    for secret in ("@nord.example", "s-1", CLIENT_SECRET, *parse_qs(urlsplit(path).query)["state"]):
        assert secret not in told
        assert secret not in answer.text


def test_a_person_who_was_let_in_comes_in_and_lands_where_it_was_asked(
    service: Service, provider: Provider
) -> None:
    allow(service, provider, "anna")
    with browser(service) as visitor:
        page = visitor.get("/login?next=/search").text
        assert "Sign in with Haus-Konto" in page
        back = visitor.get(away(visitor))
        assert (back.status_code, back.headers["location"]) == (303, "/search")
        assert visitor.get("/search").status_code == 200
    ((identity,),) = service.rows("SELECT sso_identity FROM users WHERE login = 'anna'")
    assert identity == f"{provider.issuer} s-1"
    provider.claims |= {"email": "new@nord.example"}
    with browser(service) as visitor:
        assert visitor.get(away(visitor)).status_code == 303, "the subject stays, the address moves"


def test_a_named_subject_needs_no_address(service: Service, provider: Provider) -> None:
    allow(service, provider, "emil", "s-1")
    provider.claims |= {"email": None, "email_verified": None}
    with browser(service) as visitor:
        assert visitor.get(away(visitor)).status_code == 303
        assert "emil" in visitor.get("/search").text


def test_the_way_back_leads_to_no_other_site(service: Service, provider: Provider) -> None:
    allow(service, provider, "anna")
    with browser(service) as visitor:
        back = visitor.get(away(visitor, "https://evil.example/"))
        assert back.headers["location"] == "/"


NOW = int(time.time())
FORGED: dict[str, tuple[dict[str, Any], str]] = {
    "wrong nonce": ({"nonce": "another"}, "InvalidClaimError"),
    "no nonce": ({"nonce": None}, "MissingClaimError"),
    "wrong audience": ({"aud": "another"}, "InvalidClaimError"),
    "an audience beside ours": ({"aud": [CLIENT_ID, "another"]}, "MissingClaimError"),
    "a party beside ours": ({"aud": [CLIENT_ID, "b"], "azp": "b"}, "InvalidClaimError"),
    "expired": ({"iat": NOW - 9000, "exp": NOW - 8000}, "ExpiredTokenError"),
    "no expiry": ({"exp": None}, "MissingClaimError"),
    "from the future": ({"nbf": NOW + 9000}, "InvalidClaimError"),
    "wrong issuer": ({"iss": "https://evil.example"}, "InvalidClaimError"),
    "no subject": ({"sub": None}, "MissingClaimError"),
    "another access token": ({"at_hash": "AAAA"}, "InvalidClaimError"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_token_with_one_false_claim_is_refused(
    service: Service, provider: Provider, name: str
) -> None:
    allow(service, provider, "anna")
    claims, reason = FORGED[name]
    provider.claims |= claims
    with browser(service) as visitor:
        refused(service, visitor, away(visitor), reason)


def test_a_token_that_the_provider_did_not_sign_is_refused(
    service: Service, provider: Provider
) -> None:
    """Keys of somebody else, no signature, and the public key taken for a shared secret."""
    allow(service, provider, "anna")
    provider.published = fresh_keys()
    with browser(service) as visitor:
        refused(service, visitor, away(visitor), "the token does not hold")
    provider.published = None
    provider.header |= {"alg": "none"}
    with browser(service) as visitor:
        refused(service, visitor, away(visitor), "the token does not hold")
    provider.header |= {"alg": "HS256"}
    provider.shared_key = OctKey.import_key(CLIENT_SECRET + "-" * 20)
    with browser(service) as visitor:
        refused(service, visitor, away(visitor), "the token does not hold")


def test_a_state_is_used_once_and_by_the_browser_that_left(
    service: Service, provider: Provider
) -> None:
    allow(service, provider, "anna")
    with browser(service) as visitor, browser(service) as thief:
        path = away(visitor)
        refused(service, thief, path, "another browser")
        refused(service, visitor, path, "unknown or used state")
        again = away(visitor)
        cookies = dict(visitor.client.cookies)
        assert visitor.get(again).status_code == 303
        thief.client.cookies.update({"tgv_sign_on": cookies["tgv_sign_on"]})
        refused(service, thief, again, "unknown or used state")
        refused(service, thief, f"{sign_on.BACK_PATH}?state=guessed&code=x", "unknown or used")
    with browser(service) as visitor:
        late = away(visitor)
        service.rows("UPDATE web_sign_ons SET created_at = now() - interval '11 minutes'")
        refused(service, visitor, late, "too old")
        declined = away(visitor).replace("code=", "error=")
        refused(service, visitor, declined, "no code")
        guessed = away(visitor).replace("code=", "code=x")
        refused(service, visitor, guessed, "OAuthError")


@pytest.mark.parametrize(
    ("change", "claims", "author", "reason"),
    [
        ("", {"email": "nobody@nord.example"}, "anonymous", "no person with this e-mail address"),
        ("", {"email_verified": False}, "anonymous", "without a verified"),
        ("", {"email_verified": "true"}, "anonymous", "without a verified"),
        ("", {"email": None}, "anonymous", "without a verified"),
        ("", {"email": "vera@nord.example"}, "vera", "not allowed through the provider"),
        ("active = false", {}, "anna", "not active"),
        ("sso_identity = 'another s-9'", {}, "anna", "not allowed through the provider"),
        ("sso_since = NULL, sso_identity = %s", {}, "anna", "not allowed through the provider"),
    ],
)
def test_who_is_no_active_person_that_was_let_in_is_refused_and_nobody_is_created(
    service: Service,
    provider: Provider,
    change: str,
    claims: dict[str, Any],
    author: str,
    reason: str,
) -> None:
    allow(service, provider, "anna")
    people = service.rows("SELECT count(*) FROM users")
    if change:
        parameters = [f"{provider.issuer} s-1"] if "%s" in change else []
        service.rows(f"UPDATE users SET {change} WHERE login = 'anna'", *parameters)
    provider.claims |= claims
    with browser(service) as visitor:
        refused(service, visitor, away(visitor), reason)
    assert denials(service)[-1][0] == author
    assert service.rows("SELECT count(*) FROM users") == people


def test_an_address_that_two_persons_share_opens_nothing(
    service: Service, provider: Provider
) -> None:
    allow(service, provider, "anna")
    service.rows("UPDATE users SET email = 'ANNA@nord.example' WHERE login = 'vera'")
    with browser(service) as visitor:
        refused(service, visitor, away(visitor), "ambiguous")


def test_a_person_without_membership_is_refused(service: Service, provider: Provider) -> None:
    allow(service, provider, "otto", "s-1")
    with browser(service) as visitor:
        refused(service, visitor, away(visitor), "no current membership")


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://evil.example"},
        {"token_endpoint": "http://evil.example/token"},
        {"jwks_uri": None},
        {"authorization_endpoint": "javascript:alert(1)"},
    ],
)
def test_a_provider_that_names_somebody_else_is_not_gone_to(
    service: Service, provider: Provider, metadata: dict[str, Any]
) -> None:
    provider.metadata |= metadata
    with browser(service) as visitor:
        assert visitor.get("/login/provider").status_code == 401
    assert service.rows("SELECT 1 FROM web_sign_ons WHERE created_at > now()") == []


def test_the_second_person_waits_for_the_walls_and_a_forbidden_one_is_out(
    service: Service, provider: Provider
) -> None:
    """CONF-20 holds for every way in."""
    allow(service, provider, "anna")
    walls_are(service, red("test"))
    with pytest.raises(GateClosed):
        allow(service, provider, "emil")
    walls_are(service, green("test"))
    with browser(service) as visitor:
        assert visitor.get(away(visitor)).status_code == 303
        sign_on.forbid(service.installation.database, "anna", by="test")
        assert visitor.get("/search").status_code in (303, 401)
        visitor.client.cookies.clear()
        refused(service, visitor, away(visitor), "not allowed through the provider")
    for login in ("nobody", "tgv"):
        with pytest.raises(PasswordError):
            allow(service, provider, login)
    service.rows("UPDATE users SET email = NULL WHERE login = 'vera'")
    with pytest.raises(PasswordError, match="subject"):
        allow(service, provider, "vera")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_says_it_in_every_language(service: Service, language: str) -> None:
    with browser(service, language=language) as visitor:
        assert "Haus-Konto" in visitor.get("/login").text
        answer = visitor.get(f"{sign_on.BACK_PATH}?state=x&code=y")
        assert texts(language)["login.provider"].replace("'", "&#39;") in answer.text


def test_half_a_setting_stops_the_start_and_none_offers_nothing(
    database: Database, tmp_path: Path
) -> None:
    def with_settings(**more: Any) -> Settings:
        return Settings(home=tmp_path, **more)

    whole = {"oidc_issuer": "https://id.example", "oidc_client_id": "x", "public_url": PUBLIC}
    assert sign_on.provider_of(with_settings()) is None
    found = sign_on.provider_of(with_settings(**whole, oidc_client_secret=SecretStr("geheim")))
    assert found is not None
    assert found.name == "id.example"
    for lacking in ("oidc_client_id", "public_url"):
        with pytest.raises(SettingsError, match=f"TGV_{lacking.upper()}"):
            sign_on.provider_of(with_settings(**{k: v for k, v in whole.items() if k != lacking}))
    with pytest.raises(SettingsError, match="https"):
        sign_on.provider_of(with_settings(**whole | {"oidc_issuer": "http://id.example"}))
    readable = tmp_path / "secret"
    readable.write_text("geheim")
    readable.chmod(0o644)
    for path, told in ((readable, "0600"), (tmp_path / "none", "cannot be read")):
        with pytest.raises(SettingsError, match=told):
            sign_on.provider_of(with_settings(**whole, oidc_client_secret_file=path))
