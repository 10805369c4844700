"""Measurement of backups: one of today, and a rehearsal that brought every byte back.

What a backup is stands in `tgv_dagster.backup`; here its events are read.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tgv_dagster.audit.measures.asking import rows
from tgv_dagster.audit.verdict import Figure, Verdict, judged, unmeasured
from tgv_dagster.installation import Installation

MADE, REHEARSED = "backup.made", "backup.rehearsed"
LONGEST_LOSS = timedelta(hours=36)
"""A backup each night and half a day of grace; by schedule at most 24 hours are lost."""

LONGEST_TRUST = timedelta(days=35)
"""A rehearsal each month."""


def backups_restorable(installation: Installation) -> Verdict:
    """The newest backup is of today and the newest rehearsal proved one of this month."""
    if installation.settings.backup_url is None:
        return unmeasured("no target for backups is set (TGV_BACKUP_URL)")
    made, rehearsed = _newest(installation, MADE), _newest(installation, REHEARSED)
    if made is None:
        return unmeasured("no backup was made yet")
    if rehearsed is None:
        return unmeasured("no restore was rehearsed yet", _figures(made, None))
    now = datetime.now(UTC)
    faults = [
        name
        for name, is_so in (
            ("backup_too_old", now - _moment(made) > LONGEST_LOSS),
            ("backup_lacks_bytes", int(made.get("missing", 0)) > 0),
            ("rehearsal_failed", not rehearsed.get("holds", False)),
            ("rehearsal_too_old", now - _moment(rehearsed) > LONGEST_TRUST),
        )
        if is_so
    ]
    return judged(
        len(faults),
        holds="a backup of today stands in the target, and a rehearsal brought one back whole",
        broken="the backup is too old or lacks bytes, or it did not come back whole",
        figures=_figures(made, rehearsed) | {"faults": ", ".join(faults) or "none"},
        evidence=tuple(f"backup:{name}" for name in faults),
    )


def _newest(installation: Installation, kind: str) -> dict[str, Any] | None:
    found = rows(
        installation,
        "SELECT p.payload FROM agent_events e JOIN event_payloads p ON p.event_id = e.id"
        " WHERE e.kind = %(kind)s ORDER BY e.id DESC LIMIT 1",
        {"kind": kind},
    )
    return found[0][0] if found else None


def _moment(payload: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(payload["taken_at"])


def _figures(made: dict[str, Any], rehearsed: dict[str, Any] | None) -> dict[str, Figure]:
    figures: dict[str, Figure] = {
        "backup_of": str(made["taken_at"])[:19],
        "items": int(made["items"]),
        "bytes": int(made["bytes"]),
        "missing": int(made.get("missing", 0)),
    }
    if rehearsed is not None:
        figures |= {
            "rehearsed_backup_of": str(rehearsed["taken_at"])[:19],
            "verified": int(rehearsed["verified"]),
            "not_verified": int(rehearsed["bad"]),
        }
    return figures
