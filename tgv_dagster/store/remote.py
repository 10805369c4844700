"""What may leave this machine: to which hosts of models, and documents up to which level.

Here belongs the one rule for every remote model (architecture §8): the provider stands on the
configured list of hosts in the Union, reached by https; loopback always may. How an endpoint is
asked belongs to the client of its room.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

import httpx

from tgv_dagster.store.db import Connection
from tgv_dagster.store.levels import Level, is_known, rank_of


class HostRefused(ValueError):
    """The endpoint's host is not on the configured list, or it is not reached by https."""


def host_list(text: str) -> tuple[str, ...]:
    """The configured list, written with commas."""
    return tuple(host.strip() for host in text.split(",") if host.strip())


def require_allowed_host(url: str, allowed_hosts: Sequence[str]) -> str:
    """The host of `url`. Raises HostRefused unless it is loopback or on the list, by https.

    An entry is an exact name, or ".example.eu" for everything below.
    """
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise HostRefused("the endpoint is not a URL") from error
    host = parsed.host.lower().rstrip(".")
    if parsed.userinfo:
        raise HostRefused("a key belongs into the settings, not into the URL")
    if parsed.scheme not in ("http", "https") or not host:
        raise HostRefused("the endpoint is not an http(s) URL")
    if is_loopback(host):
        return host
    if parsed.scheme != "https":
        raise HostRefused(f"{host} is not reached by https")
    if not any(_stands_for(entry.lower(), host) for entry in allowed_hosts):
        raise HostRefused(f"{host} is not on the list of allowed hosts")
    return host


def is_loopback(host: str) -> bool:
    """Whether a host name is this machine itself."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _stands_for(entry: str, host: str) -> bool:
    return host.endswith(entry) if entry.startswith(".") else host == entry


def remote_ceiling(connection: Connection, mandant_id: int) -> int:
    """Strictest level rank whose texts may go to a remote endpoint, by tenant; default `intern`."""
    row = connection.execute(
        "SELECT value FROM system_config WHERE key = %s", (f"remote_ceiling:{mandant_id}",)
    ).fetchone()
    if row is None:
        return Level.INTERNAL.rank
    return rank_of(row[0]) if is_known(row[0]) else -1
