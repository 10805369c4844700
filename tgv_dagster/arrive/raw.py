"""The raw layer: `save_raw` is the only writer of bytes (FLOW-05, RAW-01 to RAW-03).

Order of every arrival: bytes durable and read back → arrival manifest beside the bytes → rows.
When a step fails, nothing behind it exists; when the process dies, the same arrival can be saved
again without a double. Everything else can be rebuilt from blobs and manifests (RAW-06).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from psycopg.types.json import Jsonb

from tgv_dagster.arrive.gates import GateKind, NewArrival, Origin, PartRole, RawKind
from tgv_dagster.store.blobs import BlobStore, Incoming, Sidecar, StoredBlob
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.ledger import enqueue
from tgv_dagster.store.organisation import INTAKE_BUCKET, unsorted_bucket
from tgv_dagster.store.stages import Stage


@dataclass(frozen=True, slots=True)
class SavedRaw:
    """A secured arrival. `new_bytes` is False for bytes that were there, `new_arrival` for a
    repeated call of the same act."""

    raw_item_id: int
    arrival_id: int
    sha256: str
    size: int
    new_bytes: bool
    new_arrival: bool


@dataclass(frozen=True, slots=True)
class SecuredBytes:
    """An arrival whose bytes and manifest are safe; `manifest` as it stands beside them."""

    arrival: NewArrival
    stored: StoredBlob
    manifest: dict[str, Any]


def save_raw(
    database: Database, blobs: BlobStore, arrival: NewArrival, source: Path | BinaryIO
) -> SavedRaw:
    """Secure the bytes of `source`, write the manifest, then the rows; enqueue extraction.

    Raises the typed errors of `store.blobs.errors` when the bytes cannot be secured (then no row
    exists, RAW-02) and `DatabaseUnavailable` / `DatabaseFull` when only the rows are missing (the
    bytes are safe; calling again completes).
    """
    (secured,) = secure_all(blobs, [(arrival, source)])
    with database.worker() as connection:
        return write_rows(connection, secured)


def secure_all(
    blobs: BlobStore, arriving: Iterable[tuple[NewArrival, Path | BinaryIO]]
) -> tuple[SecuredBytes, ...]:
    """Secure the bytes of many arrivals, then their manifests; no row yet.

    Sources are asked for one after the other. Raises as `save_raw`.
    """
    arrivals: list[NewArrival] = []

    def incoming() -> Iterator[Incoming]:
        for arrival, source in arriving:
            arrivals.append(arrival)
            yield Incoming(arrival.bucket, source)

    stored = blobs.put_all(incoming())
    standing = blobs.put_sidecars(
        _sidecar(arrival, blob) for arrival, blob in zip(arrivals, stored, strict=True)
    )
    return tuple(
        SecuredBytes(arrival, blob, json.loads(manifest))
        for arrival, blob, manifest in zip(arrivals, stored, standing, strict=True)
    )


def write_rows(connection: Connection, secured: SecuredBytes) -> SavedRaw:
    """The rows of an arrival whose bytes are safe; enqueues its first stage."""
    (saved,) = write_all_rows(connection, [secured])
    return saved


def write_all_rows(connection: Connection, secured: Sequence[SecuredBytes]) -> tuple[SavedRaw, ...]:
    """As `write_rows`, with as many statements for many arrivals as for one.

    What an arrival is a part of has its row already.
    """
    if not secured:
        return ()
    rows = _rows_of(connection, [{**one.manifest, "key": one.stored.key} for one in secured])
    first: dict[Stage, list[int]] = {}
    for one, row in zip(secured, rows, strict=True):
        if row.new_arrival:
            first.setdefault(first_stage(one.arrival), []).append(row.arrival_id)
    for stage, arrival_ids in first.items():
        enqueue(connection, stage, arrival_ids)
    return tuple(
        SavedRaw(
            raw_item_id=row.raw_item_id,
            arrival_id=row.arrival_id,
            sha256=one.stored.sha256,
            size=one.stored.size,
            new_bytes=not one.stored.already_there,
            new_arrival=row.new_arrival,
        )
        for one, row in zip(secured, rows, strict=True)
    )


def record_manifest(connection: Connection, manifest: dict[str, Any], key: str) -> int:
    """The rows that a manifest describes, for the rebuild from the raw layer; the arrival's id."""
    (row,) = _rows_of(connection, [{**manifest, "key": key}])
    return row.arrival_id


def first_stage(arrival: NewArrival) -> Stage:
    """A whole mail is split first; everything else is read as it is."""
    return Stage.SPLIT if arrival.part_role is PartRole.MAIL else Stage.EXTRACT


def bucket_for(connection: Connection, *, entity: str | None, mandant: str | None) -> str:
    """Bucket for the bytes: the entity's own, else the tenant's, else the infrastructure one.

    Resolved from the tables at each call, so that an entity created a minute ago has its bucket
    (RAW-19, RAW-20).
    """
    if entity is not None:
        row = connection.execute(
            "SELECT bucket FROM entities WHERE slug = %s", (entity,)
        ).fetchone()
        if row is not None:
            return str(row[0])
    return INTAKE_BUCKET if mandant is None else unsorted_bucket(mandant)


def manifest_name(sha256: str, uid: str) -> str:
    """Name of the arrival manifest beside the bytes."""
    return f"arrivals/{sha256[:2]}/{sha256}/{uid}.json"


def _sidecar(arrival: NewArrival, stored: StoredBlob) -> Sidecar:
    """The manifest of an arrival; a repeated act gets the manifest of its first time."""
    manifest = _manifest(arrival, stored.sha256, stored.size)
    return Sidecar(
        arrival.bucket,
        manifest_name(stored.sha256, str(arrival.uid)),
        json.dumps(manifest, sort_keys=True).encode(),
    )


def _manifest(arrival: NewArrival, sha256: str, size: int) -> dict[str, Any]:
    return {
        "version": 1,
        "uid": str(arrival.uid),
        "arrival_key": arrival.arrival_key,
        "bucket": arrival.bucket,
        "sha256": sha256,
        "size": size,
        "kind": arrival.kind,
        "gate": arrival.gate,
        "file_name": printable(arrival.file_name),
        "media_type": arrival.media_type,
        "received_at": arrival.received_at.isoformat(),
        "uploader": arrival.uploader,
        "intent_text": None if arrival.intent_text is None else printable(arrival.intent_text),
        "mandant": arrival.mandant,
        "entity_hint": arrival.entity_hint,
        "parent_uid": arrival.parent_uid,
        "part_path": arrival.part_path,
        "part_role": arrival.part_role,
        "origin": {
            name: printable(value) if isinstance(value, str) else value
            for name, value in arrival.origin.to_json().items()
        },
        "is_test": arrival.is_test,
    }


def printable(text: str) -> str:
    """Text that Postgres and UTF-8 can hold: NUL and lone surrogates become visible escapes."""
    return text.replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")


def arrival_of(manifest: dict[str, Any]) -> NewArrival:
    """The arrival a manifest describes, for the rebuild from the raw layer alone."""
    return NewArrival(
        gate=GateKind(manifest["gate"]),
        arrival_key=manifest["arrival_key"],
        bucket=manifest["bucket"],
        file_name=manifest["file_name"],
        received_at=datetime.fromisoformat(manifest["received_at"]),
        kind=RawKind(manifest["kind"]),
        part_role=PartRole(manifest["part_role"]),
        part_path=manifest["part_path"],
        parent_uid=manifest["parent_uid"],
        uploader=manifest["uploader"],
        intent_text=manifest["intent_text"],
        mandant=manifest["mandant"],
        entity_hint=manifest["entity_hint"],
        media_type=manifest["media_type"],
        origin=Origin.from_json(manifest["origin"]),
        is_test=manifest["is_test"],
    )


@dataclass(frozen=True, slots=True)
class _Rows:
    raw_item_id: int
    arrival_id: int
    new_arrival: bool


def _rows_of(connection: Connection, manifests: Sequence[dict[str, Any]]) -> list[_Rows]:
    """Rows of these manifests, each with the `key` of its bytes; those that stand are found."""
    items = _raw_item_rows(connection, manifests)
    raw_item_ids = [items[one["bucket"], one["sha256"]] for one in manifests]
    new = _new_arrivals(connection, manifests, raw_item_ids)
    keys = [one["arrival_key"] for one in manifests]
    standing = _standing_arrivals(connection, set(keys) - new.keys())
    rows: list[_Rows] = []
    for raw_item_id, key in zip(raw_item_ids, keys, strict=True):
        arrival_id = new.pop(key, None)
        rows.append(
            _Rows(raw_item_id, arrival_id or standing[key], new_arrival=arrival_id is not None)
        )
        standing[key] = rows[-1].arrival_id
    return rows


def _raw_item_rows(
    connection: Connection, manifests: Sequence[dict[str, Any]]
) -> dict[tuple[str, str], int]:
    """Insert the raw items, or find them, by bucket and hash; bytes that had gone missing are
    healed by the new copy.

    A sound item stays as it is: tenants share the bucket of whole mails, and a row that moves
    would tell one of them that the other got the same bytes. In the order of the key, so that two
    writers of the same bytes wait for each other and never for each other's other bytes.
    """
    rows = connection.execute(
        """
        INSERT INTO raw_items (bucket, sha256, size, kind, media_type, storage_bucket, raw_key,
            verified_at)
        SELECT DISTINCT ON (bucket, sha256) bucket, sha256, size, kind, media_type, bucket, key,
            now()
        FROM jsonb_to_recordset(%s) AS m (bucket text, sha256 text, size bigint, kind text,
            media_type text, key text)
        ORDER BY bucket, sha256
        ON CONFLICT (bucket, sha256) DO UPDATE
            SET verified_at = CASE WHEN raw_items.state IN ('missing', 'damaged') THEN now()
                                   ELSE raw_items.verified_at END,
                state = CASE WHEN raw_items.state IN ('missing', 'damaged') THEN 'stored'
                             ELSE raw_items.state END
        RETURNING bucket, sha256, id
        """,
        (Jsonb(list(manifests)),),
    ).fetchall()
    return {(bucket, sha256): raw_item_id for bucket, sha256, raw_item_id in rows}


def _new_arrivals(
    connection: Connection, manifests: Sequence[dict[str, Any]], raw_item_ids: Sequence[int]
) -> dict[str, int]:
    """Insert the arrivals that do not stand yet; their ids by arrival key."""
    values = [
        {**one, "raw_item_id": raw_item_id, "place": place}
        for place, (one, raw_item_id) in enumerate(zip(manifests, raw_item_ids, strict=True))
    ]
    rows = connection.execute(
        """
        INSERT INTO arrivals (uid, arrival_key, raw_item_id, gate, file_name, received_at,
            uploader, intent_text, mandant_id, entity_hint, parent_id, part_path, part_role,
            origin, is_test)
        SELECT m.uid, m.arrival_key, m.raw_item_id, m.gate, m.file_name, m.received_at,
            m.uploader, m.intent_text, t.id, m.entity_hint, p.id, m.part_path, m.part_role,
            m.origin, m.is_test
        FROM jsonb_to_recordset(%s) AS m (uid uuid, arrival_key text, raw_item_id bigint,
            gate text, file_name text, received_at timestamptz, uploader text, intent_text text,
            mandant text, entity_hint text, parent_uid uuid, part_path text, part_role text,
            origin jsonb, is_test boolean, place integer)
        LEFT JOIN mandanten t ON t.slug = m.mandant
        LEFT JOIN arrivals p ON p.uid = m.parent_uid
        ORDER BY m.place
        ON CONFLICT (arrival_key) DO NOTHING
        RETURNING arrival_key, id
        """,
        (Jsonb(values),),
    ).fetchall()
    return dict(rows)


def _standing_arrivals(connection: Connection, keys: Collection[str]) -> dict[str, int]:
    if not keys:
        return {}
    rows = connection.execute(
        "SELECT arrival_key, id FROM arrivals WHERE arrival_key = ANY (%s)", (list(keys),)
    ).fetchall()
    return dict(rows)
