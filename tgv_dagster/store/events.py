"""Events: the append-only account of what happened, who did it, to what and why (OBS-09).

The chain in the database covers id, kind, entity and payload hash; the payload itself stands
beside it, so that an erasure can remove it without breaking the chain (architecture, events).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg.types.json import Jsonb

from tgv_dagster.store.db import Connection


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `object` names what it is about, such as `document:17` or `arrival:4`."""

    kind: str
    author: str
    object: str
    reason: str
    is_human: bool = False
    entity: str | None = None
    mandant_id: int | None = None
    payload: dict[str, Any] = field(default_factory=dict)


def record(connection: Connection, event: Event) -> int:
    """Append the event in the caller's transaction; returns its id.

    The chain serialises writers until they commit, so call it at the end of a transaction.
    """
    row = connection.execute(_APPEND, _values(event)).fetchone()
    assert row is not None
    return int(row[0])


def record_all(connection: Connection, events: Sequence[Event]) -> None:
    """Append the events in their order; as `record`, without waiting for each."""
    if events:
        connection.cursor().executemany(_APPEND, [_values(event) for event in events])


_APPEND = "SELECT append_event(%s, %s, %s, %s, %s, %s, %s, %s)"


def _values(event: Event) -> tuple[Any, ...]:
    return (
        event.kind,
        event.author,
        event.is_human,
        event.object,
        event.reason,
        Jsonb(event.payload),
        event.entity,
        event.mandant_id,
    )


def broken_links(connection: Connection, *, after_id: int = 0) -> tuple[int, ...]:
    """Ids of events whose chain hash does not follow from their predecessor."""
    rows = connection.execute(
        """
        SELECT id FROM (
            SELECT id, chain_hash,
                encode(sha256(convert_to(
                    coalesce(lag(chain_hash) OVER (ORDER BY id), '') || '|' || id || '|' || kind
                    || '|' || coalesce(entity, '') || '|' || payload_hash, 'UTF8')), 'hex') AS due
            FROM agent_events) chain
        WHERE chain_hash <> due AND id > %s
        ORDER BY id
        """,
        (after_id,),
    ).fetchall()
    return tuple(row[0] for row in rows)
