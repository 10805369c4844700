"""Tokens: bound to a tenant, expiring, revocable, never stored; every denial leaves an event."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest
from typer.testing import CliRunner
from web_builders import Service, document

from tgv_dagster.console.tokens import token_app
from tgv_dagster.settings import load_settings
from tgv_dagster.store.organisation import SERVICE_LOGIN
from tgv_dagster.store.scope import ScopeError
from tgv_dagster.web.tokens import (
    MAX_LIFETIME,
    TokenError,
    TokenState,
    create_token,
    list_tokens,
    revoke_token,
)

ROUTE = "/api/organisation"


def ask(service: Service, token: str) -> int:
    """The status of a harmless request with this token."""
    return service.get(ROUTE, headers={"Authorization": f"Bearer {token}"}).status_code


def denials(service: Service) -> list[tuple[str, str, str]]:
    """Author, object and reason of each denial so far."""
    return [
        (author, subject, reason)
        for author, subject, reason in service.rows(
            "SELECT author, object, reason FROM agent_events WHERE kind = 'http.denied' ORDER BY id"
        )
    ]


def test_only_the_hash_of_the_secret_is_kept(service: Service) -> None:
    made = create_token(service.installation.database, "emil", mandant="nord", by="chef")
    secret = made.text.split("_", 2)[2]
    ((stored,),) = service.rows("SELECT token_hash FROM api_tokens WHERE id = %s", made.id)
    assert stored == hashlib.sha256(secret.encode()).hexdigest()
    everything = str(service.rows("SELECT * FROM api_tokens")) + str(
        service.rows("SELECT e.*, p.payload FROM agent_events e JOIN event_payloads p"
                     " ON p.event_id = e.id")
    )  # fmt: skip
    assert secret not in everything
    assert len(secret) == 43


@pytest.mark.parametrize("change", ["expires_at = now()", "revoked_at = now()"])
def test_an_expired_or_revoked_token_opens_nothing(service: Service, change: str) -> None:
    made = create_token(service.installation.database, "emil", mandant="nord", by="chef")
    assert ask(service, made.text) == 200
    service.rows(f"UPDATE api_tokens SET {change} WHERE id = %s", made.id)
    assert ask(service, made.text) == 401


def test_revoking_closes_at_once_and_once(service: Service) -> None:
    made = create_token(service.installation.database, "emil", mandant="nord", by="chef")
    assert revoke_token(service.installation.database, made.id, by="chef")
    assert not revoke_token(service.installation.database, made.id, by="chef")
    assert ask(service, made.text) == 401
    states = {row.id: row.state for row in list_tokens(service.installation.database)}
    assert states[made.id] is TokenState.REVOKED
    with pytest.raises(TokenError):
        revoke_token(service.installation.database, 999_999, by="chef")


def test_a_token_stays_in_its_tenant_when_the_user_gets_another_one(service: Service) -> None:
    token = service.token("emil")
    foreign = document(service, mandant="sued", entity="haus-sued")
    service.rows(
        "INSERT INTO user_mandant_roles (user_id, mandant_id, role) SELECT u.id, m.id,"
        " 'mandant_admin' FROM users u, mandanten m WHERE u.login = 'emil' AND m.slug = 'sued'"
    )
    answer = service.get(f"/api/documents/{foreign}", headers={"Authorization": f"Bearer {token}"})
    service.rows(
        "DELETE FROM user_mandant_roles WHERE role = 'mandant_admin' AND user_id ="
        " (SELECT id FROM users WHERE login = 'emil')"
    )
    assert answer.status_code == 404


@pytest.mark.parametrize(
    ("take_away", "give_back"),
    [
        (
            "UPDATE users SET active = false WHERE login = 'vera'",
            "UPDATE users SET active = true WHERE login = 'vera'",
        ),
        (
            "UPDATE user_mandant_roles SET valid_to = now() WHERE role = 'viewer'",
            "UPDATE user_mandant_roles SET valid_to = NULL WHERE role = 'viewer'",
        ),
        (
            "UPDATE user_mandant_roles SET role = 'wizard' WHERE role = 'viewer'",
            "UPDATE user_mandant_roles SET role = 'viewer' WHERE role = 'wizard'",
        ),
    ],
)
def test_rights_are_read_anew_for_every_request(
    service: Service, take_away: str, give_back: str
) -> None:
    token = service.token("vera")
    assert ask(service, token) == 200
    service.rows(take_away)
    refused = ask(service, token)
    service.rows(give_back)
    assert refused == 401
    assert ask(service, token) == 200


def test_a_token_over_all_tenants_ends_with_the_ownership(service: Service) -> None:
    token = service.token("chef")
    service.rows(
        "UPDATE user_mandant_roles SET role = 'mandant_admin', mandant_id ="
        " (SELECT id FROM mandanten WHERE slug = 'nord') WHERE role = 'super_admin'"
        " AND user_id = (SELECT id FROM users WHERE login = 'chef')"
    )
    refused = ask(service, token)
    service.rows(
        "UPDATE user_mandant_roles SET role = 'super_admin', mandant_id = NULL"
        " WHERE user_id = (SELECT id FROM users WHERE login = 'chef')"
    )
    assert refused == 401


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer x",
        "Basic YTpi",
        "Bearer tgv_1_" + "A" * 43,
        "Bearer tgv_999999999_" + "A" * 43,
        "Bearer tgv_99999999999999999999_" + "A" * 43,
        "Bearer tgv_0_" + "A" * 43,
        "Bearer tgv_1_" + "A" * 44,
        "Bearer tgv_１_" + "A" * 43,
        "Bearer " + "A" * 8000,
        "bearer tgv_1_'; DROP TABLE users; --",
    ],
)
def test_whatever_is_no_token_gets_one_and_the_same_answer(service: Service, header: str) -> None:
    nothing = service.get(ROUTE)
    answer = service.client.get(ROUTE, headers={b"Authorization": header.encode()})
    assert answer.status_code == 401
    assert answer.content == nothing.content
    assert answer.json()["error"]["remedy"]


def test_a_secret_of_another_token_opens_nothing(service: Service) -> None:
    one = create_token(service.installation.database, "emil", mandant="nord", by="chef")
    two = create_token(service.installation.database, "anna", mandant="nord", by="chef")
    mixed = f"tgv_{two.id}_{one.text.split('_', 2)[2]}"
    assert ask(service, mixed) == 401


def test_each_denial_is_one_event_that_tells_no_secret(service: Service) -> None:
    before = len(denials(service))
    number = document(service, level="vertraulich")
    made = create_token(service.installation.database, "emil", mandant="nord", by="chef")
    revoke_token(service.installation.database, made.id, by="chef")
    service.get("/api/documents/17?token=secret")
    ask(service, made.text)
    service.get("/api/audit/checkpoints", "anna")
    service.post(f"/api/cases/{number}/dismiss", "vera", json={"reason": "canary"})
    service.get("/api/search?q=canary&entity=nord-gmbh", "eva")
    new = denials(service)[before:]
    assert [(author, subject) for author, subject, _ in new] == [
        ("anonymous", "route:GET /api/documents/{document_id}"),
        ("anonymous", "route:GET /api/organisation"),
        ("anna", "route:GET /api/audit/checkpoints"),
        ("vera", "route:POST /api/cases/{case_id}/dismiss"),
        ("eva", "route:GET /api/search"),
    ]
    assert [reason for _, _, reason in new[:2]] == ["no token", "revoked token"]
    told = str(new)
    assert "secret" not in told
    assert "canary" not in told
    assert made.text not in told


def test_a_denial_is_seen_by_the_manager_of_the_tenant(service: Service) -> None:
    service.get("/api/audit/checkpoints", "vera")
    assert service.rows(
        "SELECT m.slug FROM agent_events e JOIN mandanten m ON m.id = e.mandant_id"
        " WHERE e.kind = 'http.denied' AND e.author = 'vera' ORDER BY e.id DESC LIMIT 1"
    ) == [("nord",)]


@pytest.mark.parametrize(
    ("login", "mandant", "error"),
    [
        ("otto", None, ScopeError),
        ("emil", "sued", ScopeError),
        ("emil", "nowhere", ScopeError),
        ("nobody", None, ScopeError),
        (SERVICE_LOGIN, None, TokenError),
    ],
)
def test_no_token_for_who_has_no_membership(
    service: Service, login: str, mandant: str | None, error: type[Exception]
) -> None:
    with pytest.raises(error):
        create_token(service.installation.database, login, mandant=mandant, by="chef")


@pytest.mark.parametrize(
    ("name", "lifetime"),
    [
        ("x" * 101, timedelta(days=1)),
        ("line\nbreak", timedelta(days=1)),
        ("ok", timedelta(0)),
        ("ok", MAX_LIFETIME + timedelta(days=1)),
    ],
)
def test_a_token_has_a_short_name_and_an_end(
    service: Service, name: str, lifetime: timedelta
) -> None:
    with pytest.raises(TokenError):
        create_token(service.installation.database, "emil", name=name, lifetime=lifetime, by="chef")


def test_a_single_membership_names_the_tenant(service: Service) -> None:
    made = create_token(service.installation.database, "sven", by="chef")
    (row,) = [r for r in list_tokens(service.installation.database) if r.id == made.id]
    assert (row.login, row.mandant, row.state) == ("sven", "sued", TokenState.VALID)


def test_tokens_are_made_listed_and_revoked_at_the_console(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = service.installation.settings
    monkeypatch.setenv("TGV_HOME", str(settings.home))
    assert settings.database_url is not None
    monkeypatch.setenv("TGV_DATABASE_URL", settings.database_url.get_secret_value())
    load_settings.cache_clear()
    run = CliRunner()
    made = run.invoke(token_app, ["create", "emil", "--mandant", "nord", "--name", "scanner"])
    text = made.stdout.splitlines()[0]
    number = text.split("_")[1]
    assert made.exit_code == 0
    assert ask(service, text) == 200
    listed = run.invoke(token_app, ["list"])
    assert "scanner" in listed.stdout
    assert text not in listed.stdout
    assert run.invoke(token_app, ["revoke", number]).stdout.strip() == "Revoked."
    assert ask(service, text) == 401
    for wrong in (["revoke", "999999"], ["create", "otto"], ["create", "emil", "--days", "0"]):
        assert run.invoke(token_app, wrong).exit_code != 0
    load_settings.cache_clear()
