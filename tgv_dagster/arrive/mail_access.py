"""From the settings to the one intake mailbox: who it is, how it is opened, whether it is on.

Belongs here: building `ImapSettings` with its secret, the name of the account in the ledger, the
switch, and what is said once about the rhythm. Does not belong here: talking to the server. A
secret read here goes into `ImapSettings` alone, whose repr hides it; no event, log or run
configuration holds one.
"""

from __future__ import annotations

import shlex
import subprocess
import unicodedata
from ipaddress import ip_address
from pathlib import Path

from tgv_dagster.arrive.imap_connection import (
    MIB,
    ImapSettings,
    NoCredentials,
    TlsMode,
    folder_spellings,
)
from tgv_dagster.settings import LEAST_POLL_SECONDS, Settings, SettingsError, read_secret
from tgv_dagster.store import switches
from tgv_dagster.store.db import Connection
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.organisation import SERVICE_LOGIN

SWITCH = "use_local_mail_intake"
"""Key in `system_config`; only the value `true` lets poll and backfill touch the mailbox."""

TOKEN_SECONDS = 30.0


class SwitchedOff(RuntimeError):
    """The switch is not exactly `true`: the mailbox is left alone (MAIL-04, MAIL-12)."""

    def __init__(self) -> None:
        super().__init__(
            f"Mail intake is switched off: {SWITCH} is not exactly 'true'. "
            "`tgv mail switch on` turns it on."
        )


def is_configured(settings: Settings) -> bool:
    """Whether a mailbox is named at all; its secret is not looked at."""
    return bool(settings.mail_host and settings.mail_user)


def imap_settings(settings: Settings) -> ImapSettings:
    """How to open the mailbox, with its secret.

    Raises NoCredentials when server, user or secret are missing, SettingsError when a secret's
    file can be read by others or an unprotected connection would leave this machine.
    """
    if not is_configured(settings):
        raise NoCredentials("No intake mailbox is named: set TGV_MAIL_HOST and TGV_MAIL_USER.")
    assert settings.mail_host is not None
    tls = TlsMode(settings.mail_tls)
    if tls is TlsMode.NONE and not _is_this_machine(settings.mail_host):
        raise SettingsError("TGV_MAIL_TLS=none is for a server on this machine only.")
    token = _token(settings)
    found = ImapSettings(
        host=settings.mail_host,
        port=settings.mail_port,
        user=settings.mail_user,
        password=None if token else _password(settings),
        access_token=token,
        tls=tls,
        ca_file=settings.mail_ca_file,
        folder=settings.mail_folder,
        size_limit=settings.mail_max_mb * MIB,
    )
    found.require_credentials()
    return found


def account_of(settings: Settings) -> str:
    """Name of the mailbox in the ledger: it stays the same when the server moves."""
    user = settings.mail_user.strip().lower()
    return user if "@" in user else f"{user}@{settings.mail_host or ''}"


def folder_of(settings: Settings) -> str:
    """Name of the folder in the ledger, the same for both ways of writing it (known fault 23)."""
    return unicodedata.normalize("NFC", folder_spellings(settings.mail_folder)[-1])


def is_switched_on(connection: Connection) -> bool:
    """Whether the mailbox may be touched."""
    return switches.is_on(connection, SWITCH)


def set_switch(connection: Connection, *, on: bool, by: str) -> None:
    """Turn mail intake on or off, as an event."""
    switches.turn(connection, SWITCH, on=on, by=by, kind="mail.switch", what="mail intake")


def say_rhythm(connection: Connection, settings: Settings) -> None:
    """Say once what the rhythm is: no background poller, or a value raised to 60 s (OBS-07)."""
    if not is_configured(settings):
        return
    said = _rhythm(settings)
    row = connection.execute(
        "SELECT reason FROM agent_events WHERE kind = 'mail.rhythm' ORDER BY id DESC LIMIT 1"
    ).fetchone()
    if row is None or row[0] != said:
        record(
            connection,
            Event(kind="mail.rhythm", author=SERVICE_LOGIN, object="mailbox", reason=said),
        )


def _rhythm(settings: Settings) -> str:
    seconds = settings.mail_poll_seconds
    if seconds is None:
        return "no background poller: TGV_MAIL_INTAKE_POLL_SEC is empty or 0"
    if int(settings.mail_intake_poll_sec) < LEAST_POLL_SECONDS:
        return (
            f"TGV_MAIL_INTAKE_POLL_SEC={settings.mail_intake_poll_sec} is raised to"
            f" {seconds} s, the least distance of two polls"
        )
    return f"the mailbox is polled every {seconds} s"


def _password(settings: Settings) -> str | None:
    if settings.mail_password is not None:
        return settings.mail_password.get_secret_value()
    if settings.mail_password_file is not None:
        return _secret_of(settings.mail_password_file, "TGV_MAIL_PASSWORD_FILE")
    return None


def _token(settings: Settings) -> str | None:
    if settings.mail_token_file is not None:
        return _secret_of(settings.mail_token_file, "TGV_MAIL_TOKEN_FILE")
    if settings.mail_token_command is None:
        return None
    try:
        ended = subprocess.run(
            shlex.split(settings.mail_token_command),
            capture_output=True,
            timeout=TOKEN_SECONDS,
            check=True,
            text=True,
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        # The command's own words may hold the secret, so only the kind of fault is told.
        raise NoCredentials(
            f"TGV_MAIL_TOKEN_COMMAND gave no token ({type(error).__name__})."
        ) from None
    return ended.stdout.strip() or None


def _secret_of(path: Path, variable: str) -> str:
    try:
        return read_secret(path, variable)
    except OSError as error:
        raise NoCredentials(f"The file of {variable} cannot be read ({error.strerror}).") from error


def _is_this_machine(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
