"""Signing in: one answer for every refusal, a new session each time, forms with a token."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner
from web_builders import PASSWORD, Service, activate, browser, document, walls_are

from tgv_dagster.audit.ledger import GateClosed
from tgv_dagster.audit.verdict import green, red, unmeasured
from tgv_dagster.console.users import user_app
from tgv_dagster.settings import load_settings
from tgv_dagster.store.organisation import SERVICE_LOGIN
from tgv_dagster.web.forms import local_path
from tgv_dagster.web.passwords import PasswordError, set_password, verify
from tgv_dagster.web.throttle import PER_LOGIN, TOGETHER, WINDOW_SECONDS, Throttle


def denials(service: Service) -> list[tuple[str, str]]:
    return [
        (author, reason)
        for author, reason in service.rows(
            "SELECT author, reason FROM agent_events WHERE kind = 'http.denied' ORDER BY id"
        )
    ]


# --- passwords and activation --------------------------------------------------------------------


def test_the_second_person_needs_green_walls(service: Service) -> None:
    database = service.installation.database
    service.rows("UPDATE users SET password_hash = NULL")
    walls_are(service, unmeasured("not yet"))
    set_password(database, "chef", PASSWORD, by="test")
    for verdict in (unmeasured("x"), red("leak"), red("leak", systemic=True)):
        walls_are(service, verdict)
        with pytest.raises(GateClosed):
            set_password(database, "anna", PASSWORD, by="test")
    set_password(database, "chef", PASSWORD + " neu", by="test")
    walls_are(service, green("measured"))
    set_password(database, "anna", PASSWORD, by="test")
    walls_are(service, red("leak"))
    set_password(database, "anna", PASSWORD + " neu", by="test")
    assert service.rows("SELECT count(*) FROM users WHERE password_hash IS NOT NULL") == [(2,)]


@pytest.mark.parametrize(
    "password", ["short", "x" * 40, "annaanna anna 12", "a" * 201, "ANNA mag Eichenholz"]
)
def test_a_weak_password_is_refused(service: Service, password: str) -> None:
    with pytest.raises(PasswordError):
        set_password(service.installation.database, "anna", password, by="test")


@pytest.mark.parametrize("login", ["nobody", SERVICE_LOGIN])
def test_who_is_no_person_gets_no_password(service: Service, login: str) -> None:
    with pytest.raises(PasswordError):
        set_password(service.installation.database, login, PASSWORD, by="test")


def test_only_a_hash_is_kept_and_the_same_letters_from_any_keyboard_fit(service: Service) -> None:
    activate(service, "emil", "Grüße aus dem Süden")
    ((stored,),) = service.rows("SELECT password_hash FROM users WHERE login = 'emil'")
    assert stored.startswith("$argon2id$")
    database = service.installation.database
    assert verify(database, "emil", "Gru\u0308ße aus dem Su\u0308den") is not None
    assert verify(database, "emil", "Grüße aus dem Süden ") is None
    everything = str(service.rows("SELECT * FROM agent_events")) + stored
    assert "Süden" not in everything


def test_passwords_are_given_at_the_console(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = service.installation.settings
    assert settings.database_url is not None
    monkeypatch.setenv("TGV_HOME", str(settings.home))
    monkeypatch.setenv("TGV_DATABASE_URL", settings.database_url.get_secret_value())
    load_settings.cache_clear()
    walls_are(service, green("measured"))
    run = CliRunner()
    given_ = run.invoke(user_app, ["add", "vera", "--stdin"], input=PASSWORD + "\n")
    assert given_.exit_code == 0, given_.output
    assert verify(service.installation.database, "vera", PASSWORD) is not None
    assert "vera" in run.invoke(user_app, ["list"]).stdout
    assert run.invoke(user_app, ["add", "vera", "--stdin"], input="short\n").exit_code == 2
    walls_are(service, red("leak"))
    assert run.invoke(user_app, ["add", "eva", "--stdin"], input=PASSWORD + "\n").exit_code == 1
    load_settings.cache_clear()


# --- signing in ----------------------------------------------------------------------------------


def test_who_signs_in_sees_the_own_documents_and_no_others(service: Service) -> None:
    mine, foreign = document(service), document(service, mandant="sued", entity="haus-sued")
    with browser(service, "emil") as emil:
        assert emil.get(f"/d/{mine}").status_code == 200
        assert emil.get(f"/d/{foreign}").status_code == 404
        assert emil.get("/api/organisation").json()["login"] == "emil"


def test_every_refusal_looks_the_same_and_leaves_an_event(service: Service) -> None:
    activate(service, "anna")
    activate(service, "otto")
    before = len(denials(service))
    answers = []
    for login, password in (
        ("anna", "wrong password 1"),
        ("nobody", PASSWORD),
        ("otto", PASSWORD),
        (SERVICE_LOGIN, PASSWORD),
        ("", ""),
    ):
        with browser(service) as visitor:
            answer = visitor.sign_in(login, password)
            token = visitor.token()
            assert "tgv_session" not in visitor.client.cookies
        answers.append((answer.status_code, answer.text.replace(token, "")))
    assert {status for status, _ in answers} == {401}
    assert len({text for _, text in answers}) == 1
    new = denials(service)[before:]
    assert [author for author, _ in new] == [
        "anna", "anonymous", "otto", SERVICE_LOGIN, "anonymous",
    ]  # fmt: skip
    assert PASSWORD not in str(new)
    assert "nobody" not in str(new)


def test_the_cookie_is_closed_to_scripts_and_only_its_hash_is_kept(service: Service) -> None:
    activate(service, "emil")
    with browser(service) as emil:
        answer = emil.sign_in("emil")
        cookie = next(c for c in answer.headers.get_list("set-cookie") if "tgv_session" in c)
        secret = emil.client.cookies["tgv_session"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    stored = service.rows("SELECT secret_hash FROM web_sessions ORDER BY id DESC LIMIT 1")
    assert stored == [(hashlib.sha256(secret.encode()).hexdigest(),)]


def test_a_session_that_was_there_before_the_sign_in_is_not_used(service: Service) -> None:
    """Session fixation: neither a planted secret nor an older session lives on."""
    activate(service, "emil")
    planted = "A" * 43
    with browser(service) as victim:
        victim.client.cookies.set("tgv_session", planted, domain="127.0.0.1")
        assert victim.sign_in("emil").status_code == 303
        first = victim.client.cookies.get("tgv_session", path="/")
    with browser(service) as attacker:
        attacker.client.cookies.set("tgv_session", planted)
        assert attacker.get("/api/organisation").status_code == 401
    assert first != planted
    with browser(service, "emil") as emil:
        old = emil.client.cookies["tgv_session"]
        emil.sign_in("emil")
        assert emil.client.cookies["tgv_session"] != old
    with browser(service) as thief:
        thief.client.cookies.set("tgv_session", old)
        assert thief.get("/api/organisation").status_code == 401


def test_signing_out_ends_the_session_on_the_server(service: Service) -> None:
    with browser(service, "emil") as emil:
        secret = emil.client.cookies["tgv_session"]
        assert emil.send("/logout").headers["location"] == "/login"
    with browser(service) as thief:
        thief.client.cookies.set("tgv_session", secret)
        assert thief.get("/api/organisation").status_code == 401


@pytest.mark.parametrize(
    "change",
    [
        "last_seen_at = now() - interval '13 hours'",
        "created_at = now() - interval '8 days'",
        "ended_at = now()",
    ],
)
def test_an_ended_session_says_so_and_offers_the_way_back(service: Service, change: str) -> None:
    number = document(service)
    with browser(service, "emil") as emil:
        service.rows(f"UPDATE web_sessions SET {change} WHERE ended_at IS NULL")
        answer = emil.get(f"/d/{number}")
        assert answer.status_code == 401
        assert f'name="next" value="/d/{number}"' in answer.text
        back = emil.send("/login", login="emil", password=PASSWORD, next=f"/d/{number}")
        assert back.headers["location"] == f"/d/{number}"


def test_a_new_password_ends_the_open_sessions(service: Service) -> None:
    with browser(service, "emil") as emil:
        activate(service, "emil", "ein anderes langes Passwort")
        assert emil.get("/api/organisation").status_code == 401


def test_who_is_switched_off_is_out_at_once(service: Service) -> None:
    with browser(service, "emil") as emil:
        service.rows("UPDATE users SET active = false WHERE login = 'emil'")
        refused = emil.get("/api/organisation").status_code
        service.rows("UPDATE users SET active = true WHERE login = 'emil'")
        assert refused == 401


def test_another_tenant_is_another_session_of_the_same_person(service: Service) -> None:
    number = document(service, mandant="sued", entity="haus-sued")
    with browser(service, "chef") as chef:
        old = chef.client.cookies["tgv_session"]
        assert chef.send("/tenant", mandant="nord").status_code == 303
        assert chef.get(f"/d/{number}").status_code == 404
        assert chef.client.cookies["tgv_session"] != old
        assert chef.send("/tenant", mandant="nowhere").status_code == 403
    with browser(service, "emil") as emil:
        assert emil.send("/tenant", mandant="sued").status_code == 403
    answer = service.post("/tenant", "chef", data={"mandant": "sued"})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


# --- forms ---------------------------------------------------------------------------------------


def test_a_form_of_another_site_changes_nothing(service: Service) -> None:
    with browser(service, "emil") as emil:
        for token in ("", "0" * 64):
            assert emil.send("/logout", csrf=token).status_code == 403
            refused = emil.client.post("/api/upload", files={"files": ("a.txt", b"hello")})
            assert refused.status_code == 403
        assert emil.get("/api/organisation").status_code == 200
        token = emil.token()
        taken = emil.client.post(
            "/api/upload",
            files={"files": ("a.txt", b"hello")},
            data={"entity": "nord-gmbh"},
            headers={"X-CSRF-Token": token},
        )
        assert taken.status_code == 202
    assert ("emil", "The form does not belong to this session.") in denials(service)


def test_a_form_of_the_last_session_is_void(service: Service) -> None:
    with browser(service, "emil") as emil:
        old = emil.token()
        emil.sign_in("emil")
        assert emil.send("/logout", csrf=old).status_code == 403


def test_nobody_is_signed_in_by_another_site(service: Service) -> None:
    activate(service, "emil")
    with browser(service) as victim:
        fields = {"login": "emil", "password": PASSWORD}
        assert victim.client.post("/login", data=fields).status_code == 403
        victim.get("/login")
        assert victim.client.post("/login", data=fields | {"csrf": "0" * 64}).status_code == 403
        assert "tgv_session" not in victim.client.cookies


@pytest.mark.parametrize(
    "address",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/\t/e",
     "evil", "", "/%0d%0aSet-Cookie:x=1\r\nX: y", "\\\\evil", "/ /evil"],
)  # fmt: skip
def test_the_way_back_stays_on_this_service(service: Service, address: str) -> None:
    activate(service, "emil")
    with browser(service) as emil:
        assert emil.sign_in("emil", next=address).headers["location"] == "/"


@given(st.text(max_size=40))
def test_a_way_back_is_a_path_of_ours_whatever_was_asked(asked: str) -> None:
    path = local_path(asked)
    assert path.startswith("/")
    assert not path.startswith(("//", "/\\"))
    assert "\\" not in path
    assert all(ord(c) > 32 for c in path)


# --- guessing ------------------------------------------------------------------------------------


def test_guessing_is_slowed_down_by_login_and_together() -> None:
    now = [1000.0]
    throttle = Throttle(lambda: now[0])
    for _ in range(PER_LOGIN):
        assert throttle.seconds_to_wait("anna") == 0
        throttle.failed("anna")
    assert 0 < throttle.seconds_to_wait("anna") <= WINDOW_SECONDS + 1
    assert throttle.seconds_to_wait("emil") == 0
    now[0] += WINDOW_SECONDS + 1
    assert throttle.seconds_to_wait("anna") == 0
    for number in range(TOGETHER):
        throttle.failed(f"login {number}")
    assert throttle.seconds_to_wait("somebody new") > 0


def test_who_gets_in_starts_anew() -> None:
    throttle = Throttle(lambda: 0.0)
    for _ in range(PER_LOGIN - 1):
        throttle.failed("anna")
    throttle.succeeded("anna")
    throttle.failed("anna")
    assert throttle.seconds_to_wait("anna") == 0


def test_too_many_attempts_stop_the_right_password_too(service: Service) -> None:
    activate(service, "sven")
    with browser(service) as visitor:
        for _ in range(PER_LOGIN):
            visitor.sign_in("sven", "wrong password 1")
        answer = visitor.sign_in("sven")
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) > 0
    assert ("sven", "too many attempts") in denials(service)


# --- language ------------------------------------------------------------------------------------


def test_the_chosen_language_wins_over_the_browsers(service: Service) -> None:
    with browser(service, language="de") as visitor:
        assert "Anmelden" in visitor.get("/login").text
        back = visitor.send("/language", language="fr", next="/login")
        assert back.headers["location"] == "/login"
        assert "Connexion" in visitor.get("/login").text
        visitor.send("/language", language="xx")
        assert "Connexion" in visitor.get("/login").text
