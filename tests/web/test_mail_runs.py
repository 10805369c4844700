"""Calls that are too long for a request: the service answers 202 with a run of a real Dagster."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from dovecot import PASSWORD, USER, Dovecot, running_dovecot
from web_builders import Service, fresh_database, opened, serving

from tgv_dagster import runs
from tgv_dagster.mailing import BACKGROUND_FROM

ROOT = Path(__file__).resolve().parent.parent.parent
INTAKE = "/api/skills/mail-intake"
DROP = "/api/skills/mail-drop"
MANY = BACKGROUND_FROM
PATIENCE = 180.0
"""Seconds for a process to start or a run to end, on a machine that does other work."""


def raw(number: int) -> bytes:
    return (
        f"From: a@example.org\r\nSubject: Angebot {number}\r\nMessage-ID: <{number}@example.org>"
        f"\r\n\r\nNordlicht GmbH, Angebot {number}.\r\n"
    ).encode()


@pytest.fixture(scope="module")
def dovecot() -> Iterator[Dovecot]:
    with running_dovecot() as server:
        yield server


@pytest.fixture(scope="module")
def running(
    server_url: str, template: str, tmp_path_factory: pytest.TempPathFactory, dovecot: Dovecot
) -> Iterator[Service]:
    """The service, with code server and webserver of Dagster beside it."""
    home = tmp_path_factory.mktemp("runs-home")
    mailbox = {
        "mail_host": "127.0.0.1", "mail_port": dovecot.port, "mail_user": USER,
        "mail_password": PASSWORD, "mail_tls": "none", "ui_port": two_free_ports(),
    }  # fmt: skip
    with (
        pytest.MonkeyPatch.context() as environment,
        fresh_database(server_url, template) as url,
        opened(url, home, **mailbox) as installation,
    ):
        for name in ("DAGSTER_HOME", "DAGSTER_TELEMETRY_URL", runs.STORAGE_VARIABLE,
                     runs.BROKER_VARIABLE, runs.RESULTS_VARIABLE):  # fmt: skip
            environment.setenv(name, "restored after the test")
        for name, value in {"home": home, "database_url": url, **mailbox}.items():
            environment.setenv(f"TGV_{name.upper()}", str(value))
        runs.ensure_instance(installation.settings, runs.Launcher.PROCESS)
        processes: list[subprocess.Popen[bytes]] = []
        try:
            for one in runs.ui_processes(installation.settings, runs.Launcher.PROCESS):
                if one.port is not None:
                    own = {**os.environ, **one.environment}
                    processes.append(subprocess.Popen(one.command, cwd=ROOT, env=own))
                    await_port(one.port, processes[-1])
            with serving(installation) as service:
                yield service
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(60)


def two_free_ports() -> int:
    for port in range(42000, 43000, 7):
        with socket.socket() as one, socket.socket() as two:
            if one.connect_ex(("127.0.0.1", port)) and two.connect_ex(("127.0.0.1", port + 1)):
                return port
    raise AssertionError("no free ports")


def await_port(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(round(PATIENCE / 0.25)):
        assert process.poll() is None, f"the process for {port} ended"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.25)
    raise AssertionError(f"nothing answers on {port}")


def ready(service: Service) -> None:
    """The switch on, and the last poll long ago."""
    with service.installation.database.worker() as connection:
        connection.execute("DELETE FROM system_config WHERE key <> 'use_dispatch'")
        connection.execute(
            "INSERT INTO system_config (key, value, set_by)"
            " VALUES ('use_local_mail_intake', 'true', 'test')"
        )


def ended(service: Service, link: str) -> runs.RunEnd:
    """How the run behind the link ended."""
    run_id = urlsplit(link).path.rsplit("/", 1)[1]
    assert urlsplit(link).port == service.installation.settings.ui_port
    return runs.wait_for(service.installation.settings, run_id, seconds=PATIENCE)


def outcomes(service: Service, gate: str) -> list[tuple[str, bool]]:
    with service.installation.database.worker() as connection:
        return connection.execute(
            "SELECT outcome, stamped_at IS NOT NULL FROM mail_ledger WHERE gate = %s", (gate,)
        ).fetchall()


def test_long_calls_become_runs_whose_link_leads_to_their_end(
    running: Service, dovecot: Dovecot
) -> None:
    ready(running)
    for number in range(MANY):
        dovecot.deliver(raw(number))
    first = running.ask("POST", f"{INTAKE}/backfill", "chef", json={})
    assert (first.status_code, first.json()["run"]) == (200, None), first.text
    body = {"apply": True, "limit": MANY}
    answer = running.ask("POST", f"{INTAKE}/backfill", "chef", json=body)
    assert answer.status_code == 202, answer.text
    assert answer.json()["wanted"] == MANY
    assert ended(running, answer.json()["run"]).succeeded
    assert outcomes(running, "backfill") == [("secured", False)] * MANY
    assert dovecot.seen() == set()

    dovecot.empty()
    for number in range(MANY, 2 * MANY):
        dovecot.deliver(raw(number))
    ready(running)
    answer = running.ask("POST", f"{INTAKE}/poll", "chef", json={})
    assert answer.status_code == 202, answer.text
    assert answer.json()["wanted"] == MANY
    assert ended(running, answer.json()["run"]).succeeded
    assert outcomes(running, "poll") == [("entered", True)] * MANY
    assert dovecot.seen() == set(dovecot.uids())

    files = [("files", (f"{n}.eml", raw(n))) for n in range(2 * MANY, 3 * MANY)]
    answer = running.ask("POST", DROP, "emil", files=files)
    assert answer.status_code == 202, answer.text
    assert ended(running, answer.json()["run"]).succeeded
    with running.installation.database.worker() as connection:
        (row,) = connection.execute("SELECT count(*) FROM documents").fetchall()
    assert row == (3 * MANY,)


def test_few_mails_are_answered_at_once(running: Service, dovecot: Dovecot) -> None:
    dovecot.empty()
    ready(running)
    dovecot.deliver(raw(100))
    answer = running.ask("POST", f"{INTAKE}/poll", "chef", json={})
    assert (answer.status_code, answer.json()["run"]) == (200, None)
    answer = running.ask("POST", DROP, "emil", files=[("files", ("a.eml", raw(101)))])
    assert (answer.status_code, answer.json()["run"]) == (202, None)
