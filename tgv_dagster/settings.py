"""Settings: where things live and what is switched on, read once from the environment.

Only deployment facts belong here (paths, URLs, regions). Values a person tunes stand in the table
`tuning_values`, switches a person turns in `system_config`. Secrets are read from the environment
or from a file that only its owner can read; they never appear in `repr`, logs or run config.
"""

from __future__ import annotations

import stat
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

LEAST_POLL_SECONDS = 60
"""Two polls of the mailbox are never closer together (MAIL-06)."""


class SettingsError(ValueError):
    """A setting that cannot be used; the message names the variable and the remedy."""


class Settings(BaseSettings):
    """Deployment settings, each from the environment variable `TGV_<NAME>`."""

    model_config = SettingsConfigDict(env_prefix="TGV_", extra="ignore", frozen=True)

    home: Path = Field(
        default=Path("var"), description="Data folder: database, blobs, indexes, inbox."
    )
    database_url: SecretStr | None = Field(
        default=None,
        description="Any Postgres >= 15 with pgvector >= 0.8 instead of the embedded one.",
    )
    dagster_database_url: SecretStr | None = Field(
        default=None,
        description="Database of the Dagster instance; default: a second one beside ours.",
    )
    blob_url: str | None = Field(
        default=None,
        description="Blob store: a directory (default), s3://, sftp:// or webdav(s)://.",
    )
    blob_region: str = Field(
        default="", description="Declared region of the blob store, e.g. 'de' or 'local' (RAW-13)."
    )
    backup_url: str | None = Field(
        default=None,
        description="Target of backups: a directory, s3://, sftp://, webdav(s)://; none: none.",
    )
    alert_url: str | None = Field(
        default=None,
        description="Address that is told (POST) of a gate that is red or stays unmeasured.",
    )
    inbox: Path | None = Field(
        default=None, description="Watched upload folder; default <home>/inbox."
    )
    inbox_mandant: str | None = Field(
        default=None,
        description="Tenant of files whose folder names none, e.g. in a private folder.",
    )
    inbox_entity: str | None = Field(
        default=None,
        description="Entity such files are put down to unless their content says otherwise.",
    )
    move_taken: bool = Field(
        default=True,
        description="Move taken files to processed/; false leaves them where they are.",
    )
    organisation: Path | None = Field(
        default=None, description="organisation.yaml to import at start."
    )
    shared_buffers_mb: int = Field(
        default=256, ge=16, description="Embedded Postgres buffer cache, MB."
    )
    stable_seconds: float = Field(
        default=5.0,
        ge=0,
        description="A folder file is taken after its size and mtime rested this long.",
    )
    patience_seconds: float = Field(
        default=600.0,
        ge=0,
        description="A folder file without its format's end is taken as broken after this rest.",
    )
    batch_size: int = Field(default=200, ge=1, description="Items that one materialization takes.")
    workers: int = Field(default=2, ge=1, description="Extraction worker processes.")
    embedding_url: str | None = Field(
        default=None, description="OpenAI-compatible endpoint of a remote embedding model (…/v1)."
    )
    embedding_key: SecretStr | None = Field(default=None, description="Key of that endpoint.")
    embedding_euro_per_million: float | None = Field(
        default=None, ge=0, description="Price of a million tokens there; unknown when not set."
    )
    model_url: str | None = Field(
        default=None,
        description="OpenAI-compatible endpoint of a chat model (…/v1); none: no model.",
    )
    model_key: SecretStr | None = Field(default=None, description="Key of that endpoint.")
    model_triage: str = Field(default="", description="Model in the role of triage; empty: none.")
    model_specialist: str = Field(
        default="", description="Model in the role of the specialists; empty: none."
    )
    model_specialist_strong: str = Field(
        default="", description="Stronger model for contracts, leases, insurances; empty: none."
    )
    model_euro_per_million_input: float | None = Field(
        default=None, ge=0, description="Price of a million tokens read; unknown when not set."
    )
    model_euro_per_million_output: float | None = Field(
        default=None, ge=0, description="Price of a million tokens written; unknown when not set."
    )
    model_timeout_seconds: float = Field(
        default=120.0, gt=0, description="Longest wait for one answer of the chat model."
    )
    eu_hosts: str = Field(
        default="api.mistral.ai",
        description="Hosts that models may be asked at, by comma; `.example.eu` means all below.",
    )
    http_host: str = Field(default="127.0.0.1", description="Address of the HTTP service.")
    http_port: int = Field(default=8765, description="Port of the HTTP service.")
    public_url: str | None = Field(
        default=None,
        description="Address at which people reach the pages, e.g. 'https://tgv.example.org'.",
    )
    oidc_issuer: str | None = Field(
        default=None,
        description="Issuer of an OpenID Connect provider people sign in through; none: none.",
    )
    oidc_client_id: str = Field(default="", description="Name of this service there.")
    oidc_client_secret: SecretStr | None = Field(
        default=None, description="Secret of this service there; a public client has none."
    )
    oidc_client_secret_file: Path | None = Field(
        default=None, description="File with that secret, mode 0600."
    )
    oidc_name: str = Field(
        default="", description="What people call the provider; default: its host."
    )
    max_upload_mb: int = Field(
        default=2048, ge=1, description="Largest upload in one request, MiB."
    )
    ui_port: int = Field(default=3000, description="Port of the Dagster UI (loopback only).")
    ui_url: str | None = Field(
        default=None,
        description="Address at which people reach the Dagster UI, e.g. 'https://runs.example.org'.",
    )
    mail_host: str | None = Field(default=None, description="IMAP server of the intake mailbox.")
    mail_port: int | None = Field(
        default=None, ge=1, le=65535, description="Its port; default by TLS."
    )
    mail_user: str = Field(default="", description="Login name at the IMAP server.")
    mail_password: SecretStr | None = Field(default=None, description="Password of the mailbox.")
    mail_password_file: Path | None = Field(
        default=None, description="File with the password that only its owner can read (mode 0600)."
    )
    mail_token_command: str | None = Field(
        default=None, description="Command that prints an OAuth access token (XOAUTH2)."
    )
    mail_token_file: Path | None = Field(
        default=None,
        description="File with an OAuth access token, mode 0600; read at each connection.",
    )
    mail_folder: str = Field(default="INBOX", description="Folder of the intake mailbox.")
    mail_tls: Literal["tls", "starttls", "none"] = Field(
        default="tls", description="Protection of the connection; `none` for this machine only."
    )
    mail_ca_file: Path | None = Field(default=None, description="PEM file of an own authority.")
    mail_max_mb: int = Field(default=100, ge=1, description="Largest mail that is fetched, MiB.")
    mail_intake_poll_sec: str = Field(
        default="", description="Seconds between two polls; empty or 0: no background poller."
    )

    @field_validator("home", "inbox", "organisation", mode="after")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        return None if value is None else value.expanduser().absolute()

    @field_validator("mail_intake_poll_sec", mode="after")
    @classmethod
    def _whole_seconds(cls, value: str) -> str:
        text = value.strip()
        if text and not (text.isascii() and text.isdigit()):
            raise ValueError(
                "TGV_MAIL_INTAKE_POLL_SEC is a whole number of seconds: 0 or empty for no"
                " background poller, 60 or more for one."
            )
        return text

    @field_validator("ui_url", mode="after")
    @classmethod
    def _web_address(cls, value: str | None) -> str | None:
        text = (value or "").strip().rstrip("/")
        if text and not text.startswith(("http://", "https://")):
            raise ValueError("TGV_UI_URL begins with http:// or https://.")
        return text or None

    def ui_at(self, host: str) -> str:
        """Where people reach the Dagster UI; `host` is where it is unless the settings say."""
        return self.ui_url or f"http://{host}:{self.ui_port}"

    @property
    def mail_poll_seconds(self) -> int | None:
        """Seconds between two polls, at least 60 (MAIL-06); None = no background poller."""
        asked = int(self.mail_intake_poll_sec or 0)
        return None if asked == 0 else max(asked, LEAST_POLL_SECONDS)

    @property
    def inbox_path(self) -> Path:
        """The watched upload folder."""
        return self.inbox or self.home / "inbox"

    @property
    def postgres_path(self) -> Path:
        """Data directory of the embedded server."""
        return self.home / "postgres"

    @property
    def index_path(self) -> Path:
        """Directory of the word index; a rebuildable view."""
        return self.home / "index"

    @property
    def dagster_home(self) -> Path:
        """Directory of the Dagster instance (its dagster.yaml is generated)."""
        return self.home / "dagster"

    @property
    def blob_target(self) -> str:
        """URL or path of the blob store."""
        return self.blob_url or str(self.home / "blobs")


def read_secret(path: Path, variable: str) -> str:
    """The secret in a file that only its owner can read; raises SettingsError and OSError."""
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise SettingsError(f"The file of {variable} can be read by others; set its mode to 0600.")
    return path.read_text(encoding="utf-8").strip("\r\n")


@lru_cache(maxsize=1)
def load_settings() -> Settings:
    """The settings of this process.

    Raises SettingsError naming the variable when a value cannot be used.
    """
    try:
        return Settings()
    except ValueError as error:
        raise SettingsError(f"A TGV_* environment variable cannot be used: {error}") from error
