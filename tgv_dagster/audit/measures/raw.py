"""Measurements of the raw layer: pointers, bytes, who wrote them, and where they lie.

Verifying bytes writes what it learned onto the raw item (state and date), so that the next sample
goes on where this one ended and a full pass is resumable (RAW-15).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tgv_dagster.arrive.gates import GateKind
from tgv_dagster.audit.measures.asking import (
    counts_and_ids,
    counts_and_ids_in,
    evidence,
    rows,
    totals,
)
from tgv_dagster.audit.verdict import Verdict, green, judged, red, unmeasured
from tgv_dagster.installation import Installation
from tgv_dagster.store.blobs import Damaged, Missing, RegionStanding, StoreUnreachable, Unreachable
from tgv_dagster.store.cases import CaseKind, NewCase, SubjectKind, open_case
from tgv_dagster.store.db import Connection
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.ledger import enqueue
from tgv_dagster.store.organisation import INTAKE_BUCKET, SERVICE_LOGIN, unsorted_buckets
from tgv_dagster.store.stages import Stage
from tgv_dagster.understand.doctypes import DocType

RAW_FIRST = "raw_first"
"""Id of the gate in the register; the items it stops carry it as their gate."""
NEWEST = 10
NEWEST_SECONDS = 2.0
SAMPLE = 50
SAMPLE_SECONDS = 20.0
WHOLE_STORE = 20_000
"""Up to this many raw items the whole store is counted, beyond it one sixteenth per day."""
SECOND_LOOK_SECONDS = 1.0

_INVOICES = (DocType.INVOICE, DocType.CREDIT_NOTE)
_BYPASSED = ("no_pointer", "other_bytes", "other_place", "name_is_no_hash", "no_arrival")
_LOST = ("bytes_lost", "held")

_POINTERS = """
    SELECT d.id, CASE
        WHEN d.state = 'held' AND d.held_gate = 'raw_first' THEN 'held'
        WHEN d.raw_item_id IS NULL AND d.file_class = 'mail_body' THEN 'body_without_file'
        WHEN r.id IS NULL THEN 'no_pointer'
        WHEN r.sha256 <> d.raw_sha256 THEN 'other_bytes'
        WHEN (r.storage_bucket, r.raw_key) IS DISTINCT FROM (d.storage_bucket, d.raw_key)
            THEN 'other_place'
        WHEN right(r.raw_key, 64) <> r.sha256 THEN 'name_is_no_hash'
        WHEN r.state = 'erased' THEN 'erased'
        WHEN NOT EXISTS (SELECT 1 FROM arrivals a WHERE a.document_id = d.id) THEN 'no_arrival'
        WHEN r.state IN ('missing', 'damaged') THEN 'bytes_lost'
        ELSE 'secured' END
    FROM documents d LEFT JOIN raw_items r ON r.id = d.raw_item_id
"""


def raw_first(installation: Installation) -> Verdict:
    """Every document row points to secured bytes of an arrival (RAW-01, RAW-05, FLOW-16)."""
    with installation.database.worker() as connection:
        return judge_pointers(connection)


def judge_pointers(connection: Connection, *, only: int | None = None) -> Verdict:
    """The judgement of the gate in the caller's transaction, over all documents or one.

    A row that came around the gate is systemic; lost bytes are held one by one before.
    """
    found = counts_and_ids_in(
        connection, f"{_POINTERS} WHERE %(only)s::bigint IS NULL OR d.id = %(only)s", {"only": only}
    )
    figures = totals(found) | {"documents": sum(totals(found).values())}
    bypassed = sum(found.get(name, (0, ()))[0] for name in _BYPASSED)
    if bypassed:
        return red(
            "document rows stand without secured bytes of an arrival: they came around the gate",
            figures,
            evidence=evidence(found, _BYPASSED, "document"),
            systemic=True,
        )
    return judged(
        sum(found.get(name, (0, ()))[0] for name in _LOST),
        holds="every document row points to secured bytes",
        broken="documents are held because their bytes are missing or damaged",
        figures=figures,
        evidence=evidence(found, _LOST, "document"),
    )


_GATES = """
    SELECT a.id, a.gate || CASE
        WHEN r.state = 'erased' THEN '_erased'
        WHEN r.sha256 !~ '^[0-9a-f]{64}$' OR right(r.raw_key, 64) <> r.sha256
            OR r.verified_at IS NULL THEN '_not_secured'
        WHEN a.outcome = 'entered' AND a.document_id IS NULL THEN '_entered_nowhere'
        WHEN a.outcome = 'entered' AND EXISTS (SELECT 1 FROM documents d WHERE d.id = a.document_id
            AND d.raw_item_id = r.id AND d.created_at < r.created_at) THEN '_after_its_document'
        ELSE '' END
    FROM arrivals a JOIN raw_items r ON r.id = a.raw_item_id
"""
_GATE_FAULTS = ("_not_secured", "_entered_nowhere", "_after_its_document")


def every_gate_secures_first(installation: Installation) -> Verdict:
    """On each way in, the bytes stood read back under their hash before their document (FLOW-16).

    A gate that nothing came through yet is named as such and never counts as proven.
    """
    found = counts_and_ids(installation, _GATES)
    if not found:
        return unmeasured("nothing came through any gate yet")
    broken = tuple(name for name in found if name.endswith(_GATE_FAULTS))
    used = {name.split("_")[0] for name in found}
    figures = totals(found) | {
        "gates_used": len(used),
        "gates_unused": ", ".join(sorted({str(gate) for gate in GateKind} - used)) or "none",
    }
    return judged(
        sum(found[name][0] for name in broken),
        holds="at every gate that was used the bytes were secured before their document",
        broken="something entered through a gate before its bytes were secured",
        figures=figures,
        evidence=evidence(found, broken, "arrival"),
    )


def hold_lost_documents(installation: Installation) -> int:
    """Verify the newest bytes, then hold every document whose bytes are lost; returns how many.

    Each held document gets a parking case and leaves the indexes; the rest of the batch goes on.
    Raises StoreUnreachable when the store answers for no item of the sample.
    """
    newest = rows(
        installation,
        """
        SELECT r.id, r.storage_bucket, r.raw_key FROM documents d
        JOIN raw_items r ON r.id = d.raw_item_id
        WHERE r.state = 'stored' AND d.state = 'active' ORDER BY d.id DESC LIMIT %(limit)s
        """,
        {"limit": NEWEST},
    )
    sample = _verify(installation, [_Item(*row) for row in newest], NEWEST_SECONDS)
    if newest and sample.read == 0:
        raise StoreUnreachable("no item of the sample was answered for", "Check the blob store.")
    with installation.database.worker() as connection:
        held = connection.execute(
            """
            UPDATE documents d SET state = 'held', held_gate = %(gate)s,
                held_reason = 'the raw bytes are ' || r.state, updated_at = now()
            FROM raw_items r
            WHERE r.id = d.raw_item_id AND r.state IN ('missing', 'damaged')
              AND d.state = 'active'
              AND EXISTS (SELECT 1 FROM arrivals a WHERE a.document_id = d.id)
            RETURNING d.id, d.mandant_id, d.entity, d.confidentiality_level, d.is_test,
                d.held_reason
            """,
            {"gate": RAW_FIRST},
        ).fetchall()
        enqueue(connection, Stage.WORDS, [row[0] for row in held], again=True)
        for document_id, mandant_id, entity, level, is_test, reason in held:
            open_case(
                connection,
                NewCase(
                    kind=CaseKind.PARKED,
                    subject_kind=SubjectKind.DOCUMENT,
                    subject_key=str(document_id),
                    reason=f"gate {RAW_FIRST}: {reason}",
                    author=SERVICE_LOGIN,
                    mandant_id=mandant_id,
                    entity=entity,
                    document_id=document_id,
                    confidentiality_level=level,
                    evidence={"gate": RAW_FIRST},
                    is_test=is_test,
                ),
            )
            record(
                connection,
                Event(
                    kind="item.held",
                    author=SERVICE_LOGIN,
                    object=f"document:{document_id}",
                    reason=reason,
                    mandant_id=mandant_id,
                    payload={"gate": RAW_FIRST},
                ),
            )
    return len(held)


def bytes_hash_to_name(installation: Installation) -> Verdict:
    """Read the longest unverified items again; count everything known to be lost (RAW-15)."""
    due = rows(
        installation,
        "SELECT id, storage_bucket, raw_key FROM raw_items WHERE state <> 'erased'"
        " ORDER BY verified_at, id LIMIT %(limit)s",
        {"limit": SAMPLE},
    )
    if not due:
        return unmeasured("nothing is stored yet")
    sample = _verify(installation, [_Item(*row) for row in due], SAMPLE_SECONDS)
    found = counts_and_ids(
        installation,
        "SELECT id, CASE WHEN verified_at > now() - interval '31 days' OR state <> 'stored'"
        " THEN state ELSE 'stored_unverified_for_a_month' END FROM raw_items",
    )
    figures = totals(found) | {"read_now": sample.read, "bytes_read_now": sample.size}
    if sample.read == 0:
        return unmeasured("the store did not answer", figures)
    lost = ("missing", "damaged")
    return judged(
        sum(found.get(name, (0, ()))[0] for name in lost),
        holds="every item of the sample hashes to its name and none is known to be lost",
        broken="stored bytes are missing or do not hash to their name",
        figures=figures,
        evidence=evidence(found, lost, "raw_item"),
    )


def save_raw_only_writer(installation: Installation) -> Verdict:
    """Compare the store with its rows: bytes without row, rows without bytes, foreign files."""
    prefix = _slice_of_today(installation)
    before = _rows_of_store(installation, prefix)
    buckets = _buckets(installation)
    there = {
        (bucket, key) for bucket in buckets for key in installation.blobs.iter_keys(bucket, prefix)
    }
    foreign = sum(1 for bucket in buckets for _ in installation.blobs.iter_strangers(bucket))
    gone = {place: item for place, item in before.items() if place not in there}
    unknown = there - _rows_of_store(installation, prefix).keys()
    if unknown:  # an arrival between its bytes and its row is no bypass: look again
        time.sleep(SECOND_LOOK_SECONDS)
        unknown -= _rows_of_store(installation, prefix).keys()
    figures = {
        "rows": len(before),
        "blobs": len(there),
        "bytes_without_row": len(unknown),
        "rows_without_bytes": len(gone),
        "foreign_files": foreign,
        "slice": prefix or "all",
    }
    if not before and not there and not foreign:
        return unmeasured("nothing is stored yet", figures)
    return judged(
        len(unknown) + len(gone) + foreign,
        holds="the store holds exactly what its rows say",
        broken="the store and its rows differ: something wrote or removed bytes past save_raw",
        figures=figures,
        evidence=(
            *(f"raw_item:{item}" for item in sorted(gone.values())),
            *(f"blob:{key[-64:-48]}" for _, key in sorted(unknown)),
        ),
    )


def every_row_has_file(installation: Installation) -> Verdict:
    """The three classes of MAIL-68, each counted on its own (RAW-15, RAW-18, MAIL-69)."""
    found = counts_and_ids(
        installation,
        """
        SELECT d.id, CASE
            WHEN r.state = 'erased' THEN 'erased'
            WHEN NOT has_file AND NOT has_text THEN 'neither_file_nor_text'
            WHEN NOT has_file AND is_invoice THEN 'invoice_without_file'
            WHEN NOT has_file AND d.file_class = 'mail_body' THEN 'body_without_file_allowed'
            WHEN NOT has_file THEN 'file_lost'
            ELSE 'with_file' END
        FROM documents d
        LEFT JOIN raw_items r ON r.id = d.raw_item_id
        LEFT JOIN extractions x ON x.raw_sha256 = d.raw_sha256 AND x.part_role = d.part_role
            AND x.active AND x.generation = 0
        CROSS JOIN LATERAL (SELECT
            d.file_class <> 'mail_body' AND r.state IS NOT DISTINCT FROM 'stored' AS has_file,
            coalesce(x.characters, 0) > 0 AS has_text,
            coalesce(d.doc_type = ANY (%(invoices)s), false) AS is_invoice) is_so
        """,
        {"invoices": [str(kind) for kind in _INVOICES]},
    )
    figures = totals(found) | {"documents": sum(totals(found).values())}
    if figures["documents"] == 0:
        return unmeasured("no document stands here yet", figures)
    broken = ("neither_file_nor_text", "invoice_without_file", "file_lost")
    return judged(
        sum(found.get(name, (0, ()))[0] for name in broken),
        holds="every row has its file; mail bodies alone stand without one",
        broken="rows stand without the file they need",
        figures=figures,
        evidence=evidence(found, broken, "document"),
    )


def storage_region(installation: Installation) -> Verdict:
    """Where the store lies, as declared (RAW-13); an undeclared region is not measured."""
    standing = installation.blobs.durability.standing
    figures = {"declared": installation.blobs.region or "nothing"}
    if standing is RegionStanding.EU:
        return green("the declared region lies in the European Union", figures)
    if standing is RegionStanding.OUTSIDE:
        return red("the declared region lies outside the European Union", figures)
    return unmeasured("no region is declared that says where the store lies", figures)


@dataclass(frozen=True, slots=True)
class _Item:
    """One raw item to read again."""

    id: int
    bucket: str
    key: str


@dataclass(frozen=True, slots=True)
class Sample:
    """What a sample did: items read, their bytes, items the store gave no answer for."""

    read: int
    size: int
    unanswered: int


def verify_items(
    installation: Installation, items: Sequence[tuple[int, str, str]], seconds: float
) -> Sample:
    """Read items given as (id, bucket, key) and keep what was learned, until the time is up."""
    return _verify(installation, [_Item(*item) for item in items], seconds)


def _verify(installation: Installation, items: Sequence[_Item], seconds: float) -> Sample:
    """Read items until the time is up (at least one) and keep what was learned."""
    started = time.monotonic()
    states: dict[int, str] = {}
    size = unanswered = 0
    for item in items:
        if states and time.monotonic() - started > seconds:
            break
        answer = installation.blobs.verify(item.bucket, item.key)
        if isinstance(answer, Unreachable):
            unanswered += 1
        elif isinstance(answer, Missing):
            states[item.id] = "missing"
        elif isinstance(answer, Damaged):
            states[item.id] = "damaged"
            size += answer.size
        else:
            states[item.id] = "stored"
            size += answer.size
    with installation.database.worker() as connection:
        connection.execute(
            """
            UPDATE raw_items r SET state = v.state, verified_at = clock_timestamp()
            FROM unnest(%s::bigint[], %s::text[]) AS v (id, state)
            WHERE r.id = v.id AND r.state <> 'erased'
            """,
            (list(states), list(states.values())),
        )
    return Sample(len(states), size, unanswered)


def _slice_of_today(installation: Installation) -> str:
    total = rows(installation, "SELECT count(*) FROM raw_items")[0][0]
    if total <= WHOLE_STORE:
        return ""
    return f"sha256/{datetime.now(UTC).toordinal() % 16:x}"


def _rows_of_store(installation: Installation, prefix: str) -> dict[tuple[str, str], int]:
    found = rows(
        installation,
        "SELECT storage_bucket, raw_key, id FROM raw_items"
        " WHERE state IN ('stored', 'damaged') AND starts_with(raw_key, %(prefix)s)",
        {"prefix": prefix},
    )
    return {(bucket, key): item for bucket, key, item in found}


def _buckets(installation: Installation) -> tuple[str, ...]:
    """Every bucket a row, an entity or a tenant can have put bytes into."""
    found = rows(
        installation, "SELECT storage_bucket FROM raw_items UNION SELECT bucket FROM entities"
    )
    with installation.database.worker() as connection:
        unsorted = unsorted_buckets(connection)
    return tuple(sorted({row[0] for row in found} | {*unsorted, INTAKE_BUCKET}))
