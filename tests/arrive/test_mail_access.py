"""Settings of the mailbox: rhythm, secrets, protection, and the sensor that says why it rests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from dovecot import running_dovecot
from mail_walks import events, invoice_mail, ledger_rows, on_dovecot, sql
from pydantic import SecretStr, ValidationError

from sensors.mail import MailboxLook, why_at_rest
from tgv_dagster.arrive.imap_connection import NoCredentials
from tgv_dagster.arrive.mail_access import (
    account_of,
    folder_of,
    imap_settings,
    say_rhythm,
    set_switch,
)
from tgv_dagster.installation import Installation
from tgv_dagster.settings import Settings, SettingsError


def made(**values: Any) -> Settings:
    base: dict[str, Any] = {"mail_host": "imap.example.com", "mail_user": "Post@Example.com"}
    return Settings(**(base | values))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("", None), ("0", None), ("1", 60), ("59", 60), ("60", 60), (" 300 ", 300)],
)
def test_the_rhythm_is_none_or_at_least_a_minute(value: str, seconds: int | None):
    assert made(mail_intake_poll_sec=value).mail_poll_seconds == seconds


@pytest.mark.parametrize("value", ["fast", "-5", "1.5", "٦٠", "60s", "1e3"])
def test_what_is_no_number_stops_the_start(value: str):
    with pytest.raises(ValidationError, match="TGV_MAIL_INTAKE_POLL_SEC"):
        made(mail_intake_poll_sec=value)


def test_the_rhythm_is_said_once(installation: Installation):
    for value in ("30", "30", "", "", "30"):
        with installation.database.worker() as connection:
            say_rhythm(connection, made(mail_intake_poll_sec=value))
    assert events(installation, "mail.rhythm") == 3
    with installation.database.worker() as connection:
        say_rhythm(connection, Settings())  # pyright: ignore[reportCallIssue]
    assert events(installation, "mail.rhythm") == 3


def test_a_secret_file_that_others_can_read_is_refused(tmp_path: Path):
    secret = tmp_path / "password"
    secret.write_text("geheim-7\n")
    secret.chmod(0o640)
    with pytest.raises(SettingsError, match="0600"):
        imap_settings(made(mail_password_file=secret))
    secret.chmod(0o600)
    assert imap_settings(made(mail_password_file=secret)).password == "geheim-7"
    with pytest.raises(NoCredentials):
        imap_settings(made(mail_password_file=tmp_path / "nothing"))


def test_the_token_of_a_command_wins_and_a_failing_command_tells_nothing(tmp_path: Path):
    found = imap_settings(made(mail_token_command="printf token-1", mail_password=SecretStr("x")))
    assert (found.access_token, found.password) == ("token-1", None)
    with pytest.raises(NoCredentials) as refused:
        imap_settings(made(mail_token_command="sh -c 'echo geheim-8 >&2; exit 3'"))
    assert "geheim-8" not in str(refused.value)


def test_no_secret_shows_in_any_text(tmp_path: Path):
    settings = made(mail_password=SecretStr("geheim-9"))
    assert "geheim-9" not in repr(settings) + repr(imap_settings(settings))


@pytest.mark.parametrize("missing", ["mail_host", "mail_user", "secret"])
def test_what_is_missing_is_no_credentials(missing: str):
    values: dict[str, Any] = {"mail_password": SecretStr("x")}
    if missing == "secret":
        values = {}
    else:
        values[missing] = "" if missing == "mail_user" else None
    with pytest.raises(NoCredentials):
        imap_settings(made(**values))


@pytest.mark.parametrize("host", ["imap.example.com", "10.0.0.5", "localhost.example.com"])
def test_without_protection_only_on_this_machine(host: str):
    with pytest.raises(SettingsError):
        imap_settings(made(mail_host=host, mail_tls="none", mail_password=SecretStr("x")))


def test_names_in_the_ledger_do_not_depend_on_spelling():
    assert account_of(made()) == "post@example.com"
    assert account_of(made(mail_user="post")) == "post@imap.example.com"
    assert folder_of(made(mail_folder="Entw&APw-rfe")) == folder_of(made(mail_folder="Entwürfe"))


class TestSensor:
    def test_it_says_why_it_rests(self, installation: Installation):
        assert "no mailbox" in str(why_at_rest(installation))
        installation.settings = made()
        assert "no background poller" in str(why_at_rest(installation))
        installation.settings = made(mail_intake_poll_sec="60")
        assert "use_local_mail_intake" in str(why_at_rest(installation))
        with installation.database.worker() as connection:
            set_switch(connection, on=True, by="test")
        assert why_at_rest(installation) is None

    def test_a_tick_only_looks(self, installation: Installation):
        with running_dovecot() as server:
            on_dovecot(installation, server, mail_intake_poll_sec="60")
            server.deliver(invoice_mail(1))
            before = sql(installation, "SELECT count(*) FROM agent_events")
            look = MailboxLook()
            assert len(look(installation, "").ready) == 1
            assert look(installation, "").ready == ()
            assert ledger_rows(installation) == []
            assert sql(installation, "SELECT count(*) FROM agent_events") == before
            assert server.seen() == set()


def test_the_environment_is_read_by_its_fixed_name():
    os.environ["TGV_MAIL_INTAKE_POLL_SEC"] = "120"
    try:
        assert made().mail_poll_seconds == 120
    finally:
        del os.environ["TGV_MAIL_INTAKE_POLL_SEC"]
