"""The storage audit: every raw item read again, and what can be healed, with date and denominator.

The daily sample belongs to `measures.raw`; here belong the complete pass, which goes on where it
was interrupted, and the report of what to do about bytes that are gone (RAW-16, RAW-17, RAW-21).
The report changes nothing; no store of a former system is connected, so no deadline of one exists.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from tgv_dagster.audit.measures.asking import rows
from tgv_dagster.audit.measures.raw import verify_items
from tgv_dagster.installation import Installation
from tgv_dagster.store.blobs import BlobStore, Verified, blob_key

BATCH = 200


@dataclass(frozen=True, slots=True)
class StorageAudit:
    """A snapshot (OBS-02): of `items`, `read` were read since `since` and `left` were not."""

    taken_at: datetime
    since: datetime
    items: int
    read: int
    size: int
    states: dict[str, int]
    left: int

    @property
    def is_complete(self) -> bool:
        """Whether every item was read since the pass began."""
        return self.left == 0


class Healing(StrEnum):
    """What can become of a document without its bytes."""

    FROM_A_COPY = "recoverable_from_a_copy"
    FROM_BACKUP = "recoverable_from_backup"
    UNRECOVERABLE = "unrecoverable"
    BY_DESIGN = "by_design"
    ERASED = "erased"


@dataclass(frozen=True, slots=True)
class Heal:
    """One document without bytes of its own, and where they could come from."""

    document_id: int
    healing: Healing
    place: str


def audit_storage(
    installation: Installation,
    *,
    since: datetime,
    seconds: float = float("inf"),
    progress: Callable[[int], None] | None = None,
) -> StorageAudit:
    """Read every item that was not read since `since`, until the time is up.

    Called again with the same `since` it goes on where it ended; a store that does not answer ends
    the pass early and leaves the rest unread.
    """
    started = time.monotonic()
    size = 0
    while time.monotonic() - started < seconds:
        due = rows(
            installation,
            "SELECT id, storage_bucket, raw_key FROM raw_items"
            " WHERE state <> 'erased' AND verified_at < %(since)s ORDER BY verified_at, id"
            " LIMIT %(limit)s",
            {"since": since, "limit": BATCH},
        )
        if not due:
            break
        done = verify_items(installation, due, seconds - (time.monotonic() - started))
        size += done.size
        if progress is not None:
            progress(done.read)
        if done.read == 0:
            break
    counted = rows(
        installation,
        "SELECT state, count(*), count(*) FILTER (WHERE verified_at >= %(since)s)"
        " FROM raw_items GROUP BY state",
        {"since": since},
    )
    states = {state: int(count) for state, count, _ in counted}
    read = sum(int(fresh) for state, _, fresh in counted if state != "erased")
    items = sum(count for state, count in states.items() if state != "erased")
    return StorageAudit(datetime.now(UTC), since, items, read, size, states, items - read)


def heal_report(installation: Installation, backup: BlobStore | None) -> tuple[Heal, ...]:
    """Every document whose file is not there, and what can be done; changes nothing."""
    found = rows(
        installation,
        """
        SELECT d.id, d.raw_sha256, d.storage_bucket, CASE
            WHEN r.state = 'erased' THEN 'erased'
            WHEN d.raw_item_id IS NULL AND d.file_class = 'mail_body' THEN 'by_design'
            ELSE 'lost' END,
            (SELECT array_agg(c.storage_bucket ORDER BY c.storage_bucket) FROM raw_items c
             WHERE c.sha256 = d.raw_sha256 AND c.id IS DISTINCT FROM d.raw_item_id
               AND c.state = 'stored')
        FROM documents d LEFT JOIN raw_items r ON r.id = d.raw_item_id
        WHERE r.state IS DISTINCT FROM 'stored' ORDER BY d.id
        """,
    )
    return tuple(_healed(installation.blobs, backup, *row) for row in found)


def counted(report: tuple[Heal, ...]) -> dict[Healing, int]:
    """How many documents of each kind, every kind named."""
    counts = Counter(heal.healing for heal in report)
    return {healing: counts[healing] for healing in Healing}


def _healed(
    blobs: BlobStore,
    backup: BlobStore | None,
    document_id: int,
    sha256: str,
    bucket: str | None,
    standing: str,
    copies: list[str] | None,
) -> Heal:
    if standing != "lost":
        return Heal(document_id, Healing(standing), "")
    key = blob_key(sha256)
    for other in copies or ():
        if isinstance(blobs.verify(other, key), Verified):
            return Heal(document_id, Healing.FROM_A_COPY, other)
    if (
        backup is not None
        and bucket is not None
        and isinstance(backup.verify(bucket, key), Verified)
    ):
        return Heal(document_id, Healing.FROM_BACKUP, bucket)
    return Heal(document_id, Healing.UNRECOVERABLE, "")
