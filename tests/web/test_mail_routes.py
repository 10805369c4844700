"""Mail routes over a real service and a real Dovecot: role × switch × default, and the fuzz."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import schemathesis
from dovecot import PASSWORD, USER, Dovecot, running_dovecot
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from web_builders import Service, fresh_database, opened, serving

from tgv_dagster.web import mail

POLL = "/api/skills/mail-intake/poll"
BACKFILL = "/api/skills/mail-intake/backfill"
DROP = "/api/skills/mail-drop"
MARK = "/api/skills/imap-mark-seen"
RAW = (
    b"From: a@example.org\r\nTo: post@example.com\r\nSubject: Angebot\r\n"
    b"Message-ID: <angebot@example.org>\r\n\r\nNordlicht GmbH, Angebot 7.\r\n"
)


@pytest.fixture(scope="module")
def dovecot() -> Iterator[Dovecot]:
    with running_dovecot() as server:
        yield server


@pytest.fixture(scope="module")
def running(
    server_url: str, template: str, tmp_path_factory: pytest.TempPathFactory, dovecot: Dovecot
) -> Iterator[Service]:
    home: Path = tmp_path_factory.mktemp("home")
    with (
        fresh_database(server_url, template) as url,
        opened(
            url, home, mail_host="127.0.0.1", mail_port=dovecot.port, mail_user=USER,
            mail_password=PASSWORD, mail_tls="none",
        ) as installation,
        serving(installation) as service,
    ):  # fmt: skip
        yield service


@pytest.fixture(scope="module")
def without_mailbox(
    server_url: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    home: Path = tmp_path_factory.mktemp("home")
    with (
        fresh_database(server_url, template) as url,
        opened(url, home) as installation,
        serving(installation) as service,
    ):
        yield service


def turn(service: Service, value: str | None) -> None:
    """Set the switch to this value, or remove it; and let the last poll be long ago."""
    with service.installation.database.worker() as connection:
        connection.execute("DELETE FROM system_config")
        if value is not None:
            connection.execute(
                "INSERT INTO system_config (key, value, set_by)"
                " VALUES ('use_local_mail_intake', %s, 'test')",
                (value,),
            )


def an_earlier_backfill(service: Service) -> None:
    service.ask("POST", BACKFILL, "chef", json={}).raise_for_status()


@dataclass(frozen=True, slots=True)
class Call:
    """A request and what a caller with the right gets with the switch on and off."""

    path: str
    options: dict
    on: int
    off: int
    rights: frozenset[str]


OWNER = frozenset({"chef"})
WRITERS = frozenset({"chef", "anna", "emil"})
CALLS = (
    Call(POLL, {"json": {}}, 200, 409, OWNER),
    Call(POLL, {"json": {"apply": False}}, 200, 409, OWNER),
    Call(BACKFILL, {"json": {}}, 200, 200, OWNER),
    Call(BACKFILL, {"json": {"apply": True}}, 200, 409, OWNER),
    Call(BACKFILL, {"json": {"limit": 201}}, 400, 400, OWNER),
    Call(DROP, {"files": [("files", ("a.eml", RAW))]}, 202, 202, WRITERS),
    Call(DROP, {"files": [("files", ("a.pdf", b"%PDF-1.7"))]}, 422, 422, WRITERS),
    Call(MARK, {"json": {"uids": [1]}}, 200, 200, OWNER),
    Call(MARK, {"json": {}}, 422, 422, OWNER),
)
SWITCHES = (None, "true", "false", "True", "1", "")


def test_every_route_of_the_mailbox_stands_in_the_table() -> None:
    routes = {route.path for route in mail.router.routes if isinstance(route, APIRoute)}
    assert routes == {call.path for call in CALLS}


@pytest.mark.parametrize("login", [None, "vera", "emil", "anna", "chef"])
@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.path.rsplit('/', 1)[1]}")
def test_every_route_by_role_and_switch(
    running: Service, dovecot: Dovecot, call: Call, login: str | None
) -> None:
    for value in SWITCHES:
        turn(running, value)
        answer = running.ask("POST", call.path, login, **call.options)
        if login is None:
            expected = 401
        elif login not in call.rights:
            expected = 403
        else:
            expected = call.on if value == "true" else call.off
        assert answer.status_code == expected, (value, answer.text)
        assert call.path == MARK or dovecot.seen() == set()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (POLL, {}),
        (POLL, {"apply": False}),
        (BACKFILL, {}),
        (BACKFILL, {"apply": True}),
        (MARK, {"uids": [1]}),
        (MARK, {"message_ids": ["<a@x>"]}),
    ],
)
def test_without_credentials_503_and_the_remedy(
    without_mailbox: Service, path: str, body: dict
) -> None:
    turn(without_mailbox, "true")
    answer = without_mailbox.ask("POST", path, "chef", json=body)
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "no_mailbox"
    assert "TGV_MAIL_HOST" in answer.text


def test_poll_stamps_by_default_and_backfill_does_not(running: Service, dovecot: Dovecot) -> None:
    dovecot.empty()
    turn(running, "true")
    dovecot.deliver(RAW)
    measured = running.ask("POST", BACKFILL, "chef", json={}).json()
    assert (measured["applied"], measured["total"], measured["mails"]) == (False, 1, [])
    secured = running.ask("POST", BACKFILL, "chef", json={"apply": True}).json()
    assert [one["outcome"] for one in secured["mails"]] == ["secured"]
    assert dovecot.seen() == set()
    polled = running.ask("POST", POLL, "chef", json={}).json()
    assert (polled["applied"], polled["errors"], polled["stamped"]) == (True, 0, 1)
    assert len(dovecot.seen()) == 1


def test_a_second_poll_within_a_minute_waits(running: Service, dovecot: Dovecot) -> None:
    turn(running, "true")
    running.ask("POST", POLL, "chef", json={}).raise_for_status()
    answer = running.ask("POST", POLL, "chef", json={})
    assert answer.status_code == 429
    assert answer.headers["Retry-After"]


def test_a_limit_above_200_names_the_way_out(running: Service) -> None:
    an_earlier_backfill(running)
    answer = running.ask("POST", BACKFILL, "chef", json={"limit": 500})
    assert answer.status_code == 400
    assert "seit" in answer.json()["error"]["message"]


def test_an_unresolved_message_id_is_a_failure(running: Service, dovecot: Dovecot) -> None:
    dovecot.empty()
    dovecot.deliver(RAW)
    body = {"message_ids": ["<angebot@example.org>", "<niemand@example.org>"]}
    told = running.ask("POST", MARK, "chef", json=body).json()
    assert [one["outcome"] for one in told["results"]] == ["stamped", "unresolved"]
    assert told["failures"] == 1


def test_no_answer_and_no_event_holds_the_password(running: Service) -> None:
    schema = running.ask("GET", "/openapi.json").text
    with running.installation.database.worker() as connection:
        rows = connection.execute("SELECT payload::text FROM event_payloads").fetchall()
        reasons = connection.execute("SELECT reason FROM agent_events").fetchall()
    told = schema + repr(rows) + repr(reasons) + repr(running.installation.settings)
    assert PASSWORD not in told


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_the_fuzzed_mail_routes_give_no_5xx(
    running: Service, dovecot: Dovecot, mode: GenerationMode
) -> None:
    dovecot.empty()
    turn(running, "true")
    schema = schemathesis.openapi.from_url(f"{running.url}/openapi.json").include(
        path_regex="/api/skills/.*"
    )
    headers = running.headers("chef")
    paths: set[str] = set()
    for result in schema.get_all_operations():
        assert isinstance(result, Ok)
        operation = result.ok()

        @settings(
            max_examples=10,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def no_server_error(case: schemathesis.Case) -> None:
            answer = case.call(headers=headers, timeout=60)
            assert answer.status_code < 500, (case.as_curl_command(), answer.text)

        try:
            no_server_error()
        except Unsatisfiable:
            assert mode is GenerationMode.NEGATIVE
            continue
        paths.add(operation.path)
    assert paths == {POLL, BACKFILL, DROP, MARK}
