"""Alerts: what may lose data or stops the flow is told once when red or silent for too long.

Which are told follows from the register: every gate, and the severities a person chose. That,
whether, after how long and where to is set in `system_config` (SEND-17); without an address the
event alone stands. A message holds ids, states and figures, no words of documents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from tgv_dagster.audit.ledger import Entry, latest
from tgv_dagster.audit.register import CHECKPOINTS, Checkpoint, Severity
from tgv_dagster.audit.verdict import State
from tgv_dagster.installation import Installation
from tgv_dagster.store.db import Connection
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.organisation import SERVICE_LOGIN

SWITCH = "audit.alerts"
"""Key in `system_config`: `false` sends no message; the events stand all the same."""

PATIENCE = "audit.alerts.unmeasured_hours"
"""Key in `system_config`: hours a checkpoint may say nothing before it is told; default 36."""

SEVERITIES = "audit.alerts.severities"
"""Key in `system_config`: severities told besides the gates, `loss, fault, notice` or `none`."""

DEFAULT_SEVERITIES = frozenset({Severity.LOSS})

DEFAULT_PATIENCE_HOURS = 36.0
SECONDS = 10.0
Send = Callable[[str, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Alert:
    """One thing to tell: which checkpoint, in which state, since when."""

    checkpoint: Checkpoint
    state: State
    since: datetime
    reason: str

    @property
    def object(self) -> str:
        """The episode this alert belongs to; it is told once."""
        return f"alert:{self.checkpoint.id}:{self.state}:{self.since:%Y%m%dT%H%M%S%f}"

    @property
    def kind(self) -> str:
        """The kind of its event."""
        return f"{'gate' if self.checkpoint.gate else 'alert'}.{self.state}"


def due(connection: Connection, *, now: datetime) -> tuple[Alert, ...]:
    """What is red, or has said nothing for longer than patience allows.

    What is no gate is told as silent only when it had said something before: a mailbox that was
    never set up is no alarm, one that cannot be counted any more is.
    """
    patience = timedelta(hours=_patience(connection))
    severities = _severities(connection)
    wanted = [which.id for which in CHECKPOINTS if which.gate or which.severity in severities]
    told: list[Alert] = []
    for entry in latest(connection, only=wanted, now=now):
        since = _since(connection, entry)
        if since is None:
            continue
        state = entry.verdict.state
        silent = state is State.UNMEASURED and now - since > patience
        if state is State.RED or (silent and (entry.checkpoint.gate or _spoke(connection, entry))):
            told.append(Alert(entry.checkpoint, state, since, entry.verdict.reason))
    return tuple(told)


def tell(
    installation: Installation, *, now: datetime | None = None, send: Send | None = None
) -> tuple[Alert, ...]:
    """Write an event for each alert that was not told yet, then send the messages.

    A message that does not get through is an event of its own and stops nothing.
    """
    with installation.database.worker() as connection:
        fresh = [
            alert
            for alert in due(connection, now=now or datetime.now(UTC))
            if not _known(connection, alert)
        ]
        for alert in fresh:
            _record(connection, alert.kind, alert, alert.reason)
        wanted = _setting(connection, SWITCH) != "false"
    address = installation.settings.alert_url
    if wanted and address is not None:
        for alert in fresh:
            _send(installation, address, alert, send or post)
    return tuple(fresh)


def post(address: str, message: Mapping[str, Any]) -> None:
    """Send one message. Raises httpx.HTTPError."""
    httpx.post(address, json=dict(message), timeout=SECONDS).raise_for_status()


def _send(installation: Installation, address: str, alert: Alert, send: Send) -> None:
    message = {
        "checkpoint": alert.checkpoint.id,
        "severity": str(alert.checkpoint.severity),
        "gate": alert.checkpoint.gate,
        "state": str(alert.state),
        "since": alert.since.isoformat(),
        "reason": alert.reason,
    }
    try:
        send(address, message)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        with installation.database.worker() as connection:
            _record(connection, "alert.failed", alert, type(error).__name__)


def _since(connection: Connection, entry: Entry) -> datetime | None:
    """When the present state began; a stale measurement is unmeasured since its clock ran out."""
    if entry.measured_at is None:
        return None
    row = connection.execute(
        """
        SELECT min(v.measured_at), (SELECT state FROM verdicts WHERE checkpoint = %(id)s
                ORDER BY measured_at DESC, id DESC LIMIT 1)
        FROM verdicts v WHERE v.checkpoint = %(id)s AND v.measured_at > coalesce((
            SELECT max(o.measured_at) FROM verdicts o WHERE o.checkpoint = %(id)s AND o.state <> (
                SELECT state FROM verdicts WHERE checkpoint = %(id)s
                ORDER BY measured_at DESC, id DESC LIMIT 1)), '-infinity')
        """,
        {"id": entry.checkpoint.id},
    ).fetchone()
    assert row is not None
    if entry.verdict.state is State.UNMEASURED and row[1] != State.UNMEASURED:
        return entry.measured_at + entry.checkpoint.stale_after
    return row[0]


def _spoke(connection: Connection, entry: Entry) -> bool:
    row = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM verdicts WHERE checkpoint = %s AND state <> %s)",
        (entry.checkpoint.id, State.UNMEASURED),
    ).fetchone()
    return bool(row and row[0])


def _known(connection: Connection, alert: Alert) -> bool:
    row = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM agent_events WHERE object = %s AND kind = %s)",
        (alert.object, alert.kind),
    ).fetchone()
    return bool(row and row[0])


def _record(connection: Connection, kind: str, alert: Alert, reason: str) -> None:
    record(
        connection,
        Event(
            kind=kind,
            author=SERVICE_LOGIN,
            object=alert.object,
            reason=reason,
            payload={"checkpoint": alert.checkpoint.id, "since": alert.since.isoformat()},
        ),
    )


def _patience(connection: Connection) -> float:
    text = _setting(connection, PATIENCE)
    try:
        return DEFAULT_PATIENCE_HOURS if text is None else max(float(text), 0.0)
    except ValueError:
        return DEFAULT_PATIENCE_HOURS


def _severities(connection: Connection) -> frozenset[Severity]:
    text = _setting(connection, SEVERITIES)
    if text is None:
        return DEFAULT_SEVERITIES
    words = {word.strip() for word in text.split(",")}
    if words == {"none"}:
        return frozenset()
    known = frozenset(severity for severity in Severity if severity in words)
    return known if len(known) == len(words) else known | DEFAULT_SEVERITIES


def _setting(connection: Connection, key: str) -> str | None:
    row = connection.execute("SELECT value FROM system_config WHERE key = %s", (key,)).fetchone()
    return None if row is None else str(row[0]).strip()
