"""The triage stage: an arrival becomes a document, or ends in another listed outcome.

Order per arrival (MAIL-30): routing rules → triage → entity against the vocabulary → raw-first
gate → number and its manifest → row with values. The same function serves every gate (UPL-21,
MAIL-31). What triage decides stands in `understand.triage`; nothing here judges a text.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from psycopg.types.json import Jsonb

from tgv_dagster.arrive.gates import ArrivalOutcome, PartRole
from tgv_dagster.arrive.raw import printable
from tgv_dagster.store import ledger
from tgv_dagster.store.blobs import (
    BlobMissing,
    BlobStore,
    Damaged,
    Missing,
    StoreUnreachable,
    Unreachable,
)
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.ledger import Claim
from tgv_dagster.store.organisation import SERVICE_LOGIN
from tgv_dagster.store.pull import BatchReport, HeldByGate, NotNow, Unworkable, pull
from tgv_dagster.store.stages import Stage
from tgv_dagster.understand.asking import open_points_case
from tgv_dagster.understand.extracted import Extraction
from tgv_dagster.understand.extracting import (
    RAW_FIRST,
    ArrivedBytes,
    load_arrived,
    stored_extraction,
)
from tgv_dagster.understand.learned import cues_of
from tgv_dagster.understand.naming import name_words
from tgv_dagster.understand.restricting import restrict_as_asked
from tgv_dagster.understand.titles import telling_title
from tgv_dagster.understand.triaging import TRIAGE_VERSION, Decision, decide
from tgv_dagster.understand.values import show_on_document, write_values

NO_TENANT = "no tenant"
_FILE_CLASS = {PartRole.FILE: "file", PartRole.BODY: "mail_body", PartRole.MAIL: "mail"}


@dataclass(frozen=True, slots=True)
class Number:
    """A document number: allocated once, kept for ever. `is_own`: this arrival brought it."""

    document_id: int
    is_own: bool


def enter_documents(
    database: Database,
    blobs: BlobStore,
    *,
    limit: int,
    progress: Callable[[int, int], None] | None = None,
) -> BatchReport:
    """Enter pending arrivals; each ends as entered, already here, blocked, parked or held."""

    def handle(claim: Claim) -> str:
        with database.worker() as connection:
            arrived = load_arrived(connection, claim.subject_id)
            extraction = stored_extraction(connection, arrived.sha256, arrived.part_role)
            if extraction is None:
                raise Unworkable("the text of this arrival is missing; extract it again")
            decision = decide(connection, arrived, extraction)
        if decision.blocked_by is not None:
            return _block(database, claim, arrived, decision.blocked_by)
        if not decision.has_tenants:
            raise Unworkable(f"{NO_TENANT}: import an organisation, then release this item")
        require_raw(blobs, arrived)
        return _enter(database, blobs, claim, arrived, extraction, decision)

    return pull(database, Stage.TRIAGE, handle, limit=limit, progress=progress)


def require_raw(blobs: BlobStore, arrived: ArrivedBytes) -> None:
    """The raw-first gate for one item (RAW-01): its bytes exist and hash to their name.

    Raises HeldByGate when they do not, StoreUnreachable when nothing could be measured.
    """
    verdict = blobs.verify(arrived.bucket, arrived.raw_key)
    if isinstance(verdict, Unreachable):
        raise StoreUnreachable(verdict.reason, "Check the blob store; the item stays pending.")
    if isinstance(verdict, Missing):
        raise HeldByGate(RAW_FIRST, "the raw bytes of this arrival are missing")
    if isinstance(verdict, Damaged):
        raise HeldByGate(RAW_FIRST, "the raw bytes do not hash to their name")


def _block(database: Database, claim: Claim, arrived: ArrivedBytes, rule: str) -> str:
    with database.worker() as connection:
        connection.execute(
            "UPDATE arrivals SET outcome = %s, outcome_reason = %s WHERE id = %s",
            (ArrivalOutcome.BLOCKED, f"rule {rule}", arrived.arrival_id),
        )
        ledger.complete(connection, claim)
        record(
            connection,
            Event(
                kind="arrival.blocked",
                author=SERVICE_LOGIN,
                object=f"arrival:{arrived.arrival_id}",
                reason=f"blocked by rule {rule}",
                payload={"rule": rule},
            ),
        )
    return str(ArrivalOutcome.BLOCKED)


def _enter(
    database: Database,
    blobs: BlobStore,
    claim: Claim,
    arrived: ArrivedBytes,
    extraction: Extraction,
    decision: Decision,
) -> str:
    with database.worker() as connection:
        number = allocate_number(connection, arrived, decision.mandant_id)
        if not number.is_own and _owner_is_pending(connection, number.document_id):
            raise NotNow("the arrival that brought these bytes first is not entered yet")
    if number.is_own:
        write_number_manifest(blobs, arrived, number.document_id, decision.mandant)
    bucket, key = _home_of_bytes(database, blobs, arrived, decision.entity)
    with database.worker() as connection:
        if not number.is_own and _is_entered(connection, number.document_id):
            _finish_arrival(
                connection, claim, arrived, ArrivalOutcome.ALREADY_HERE, number.document_id
            )
            return str(ArrivalOutcome.ALREADY_HERE)
        _write_document(connection, arrived, extraction, decision, number.document_id, bucket, key)
        ledger.enqueue(connection, Stage.DEEPEN, [number.document_id], again=True)
        _finish_arrival(connection, claim, arrived, ArrivalOutcome.ENTERED, number.document_id)
        open_points_case(
            connection,
            number.document_id,
            decision.triage.open_points,
            step=Stage.TRIAGE,
        )
    return str(ArrivalOutcome.ENTERED)


def allocate_number(
    connection: Connection, arrived: ArrivedBytes, mandant_id: int | None
) -> Number:
    """The number of this arrival's document: its own from before, the tenant's, or a new one.

    The arrival's own number comes first, so that a document a person moved keeps its number when
    everything is rebuilt.
    """
    own = connection.execute(
        "SELECT id FROM document_numbers WHERE arrival_uid = %s AND part_role = %s",
        (arrived.uid, arrived.part_role),
    ).fetchone()
    if own is not None:
        return Number(own[0], is_own=True)
    row = connection.execute(
        """
        INSERT INTO document_numbers (mandant_id, raw_sha256, part_role, arrival_uid)
        VALUES (%s, %s, %s, %s)
        ON CONFLICT (mandant_id, raw_sha256, part_role) DO NOTHING RETURNING id
        """,
        (mandant_id, arrived.sha256, arrived.part_role, arrived.uid),
    ).fetchone()
    if row is not None:
        return Number(row[0], is_own=True)
    existing = connection.execute(
        "SELECT id FROM document_numbers WHERE mandant_id IS NOT DISTINCT FROM %s"
        " AND raw_sha256 = %s AND part_role = %s",
        (mandant_id, arrived.sha256, arrived.part_role),
    ).fetchone()
    assert existing is not None
    return Number(existing[0], is_own=False)


def write_number_manifest(
    blobs: BlobStore, arrived: ArrivedBytes, document_id: int, mandant: str | None
) -> None:
    """Keep the number beside the bytes, so that it survives the loss of the database.

    Written once, with the tenant of that moment; a later move is in the database and its backup.
    """
    content = json.dumps(
        {
            "version": 1,
            "document_id": document_id,
            "mandant": mandant,
            "raw_sha256": arrived.sha256,
            "part_role": arrived.part_role,
            "arrival_uid": arrived.uid,
        },
        sort_keys=True,
    ).encode()
    name = f"documents/{arrived.sha256[:2]}/{arrived.sha256}/{document_id}.json"
    try:
        blobs.read_sidecar(arrived.bucket, name)
    except BlobMissing:
        blobs.put_sidecar(arrived.bucket, name, content)


def _home_of_bytes(
    database: Database, blobs: BlobStore, arrived: ArrivedBytes, entity: str | None
) -> tuple[str, str]:
    """Copy the bytes into the bucket of their entity, verified; whole mails stay where they are."""
    if entity is None or arrived.part_role is not PartRole.FILE:
        return arrived.bucket, arrived.raw_key
    with database.worker() as connection:
        row = connection.execute(
            "SELECT bucket FROM entities WHERE slug = %s", (entity,)
        ).fetchone()
    if row is None or row[0] == arrived.bucket:
        return arrived.bucket, arrived.raw_key
    copied = blobs.copy(arrived.bucket, arrived.raw_key, row[0])
    with database.worker() as connection:
        connection.execute(
            """
            INSERT INTO raw_items (bucket, sha256, size, kind, media_type, storage_bucket,
                raw_key, verified_at)
            SELECT %s, sha256, size, kind, media_type, %s, %s, now() FROM raw_items
            WHERE bucket = %s AND sha256 = %s
            ON CONFLICT (bucket, sha256) DO UPDATE SET verified_at = now()
            """,
            (row[0], row[0], copied.key, arrived.bucket, arrived.sha256),
        )
    return row[0], copied.key


def _owner_is_pending(connection: Connection, document_id: int) -> bool:
    """The first arrival enters first, so that a rebuild shows the same file name and facts."""
    row = connection.execute(
        "SELECT a.outcome = 'pending' FROM document_numbers n JOIN arrivals a"
        " ON a.uid = n.arrival_uid WHERE n.id = %s",
        (document_id,),
    ).fetchone()
    return bool(row and row[0])


def _is_entered(connection: Connection, document_id: int) -> bool:
    row = connection.execute("SELECT 1 FROM documents WHERE id = %s", (document_id,)).fetchone()
    return row is not None


def _write_document(
    connection: Connection,
    arrived: ArrivedBytes,
    extraction: Extraction,
    decision: Decision,
    document_id: int,
    bucket: str,
    key: str,
) -> None:
    origin = arrived.origin
    connection.execute(
        """
        INSERT INTO documents (id, mandant_id, entity, entity_quelle, raw_sha256, raw_item_id,
            storage_bucket, raw_key, part_role, file_class, file_name, media_type, title,
            date_received, parent_message_id, message_id, in_reply_to, mail_from, mail_to,
            mail_subject, intake_text, intent_text, legacy_number, legacy_url, is_test,
            skill_plan, visible_from, cues)
        VALUES (%(id)s, %(mandant_id)s, %(entity)s, %(entity_quelle)s, %(sha256)s,
            (SELECT id FROM raw_items WHERE bucket = %(bucket)s AND sha256 = %(sha256)s),
            %(bucket)s, %(key)s, %(part_role)s, %(file_class)s, %(file_name)s, %(media_type)s,
            %(title)s, %(received_at)s, %(parent_message_id)s, %(message_id)s, %(in_reply_to)s,
            %(mail_from)s, %(mail_to)s, %(mail_subject)s, %(intake_text)s, %(intent_text)s,
            %(legacy_number)s, %(legacy_url)s, %(is_test)s, %(skill_plan)s, %(visible_from)s,
            %(cues)s)
        ON CONFLICT (id) DO UPDATE SET entity = excluded.entity,
            entity_quelle = excluded.entity_quelle, title = excluded.title,
            cues = excluded.cues,
            state = CASE WHEN documents.state = 'held' THEN 'active' ELSE documents.state END,
            updated_at = now()
        """,
        {
            "id": document_id,
            "mandant_id": decision.mandant_id,
            "entity": decision.entity,
            "entity_quelle": decision.entity_quelle,
            "sha256": arrived.sha256,
            "bucket": bucket,
            "key": key,
            "part_role": arrived.part_role,
            "file_class": _FILE_CLASS[arrived.part_role],
            "file_name": arrived.file_name,
            "media_type": decision.media_type,
            "title": telling_title(printable(extraction.facts.title))[:300] or None,
            "received_at": arrived.received_at,
            "parent_message_id": origin.parent_message_id,
            "message_id": origin.message_id,
            "in_reply_to": origin.in_reply_to,
            "mail_from": origin.mail_from,
            "mail_to": origin.mail_to,
            "mail_subject": origin.mail_subject,
            "intake_text": None,
            "intent_text": arrived.intent_text,
            "legacy_number": origin.legacy_number,
            "legacy_url": origin.legacy_url,
            "is_test": arrived.is_test,
            "skill_plan": Jsonb([]),
            "visible_from": origin.visible_from,
            "cues": None if decision.triage.cues is None else Jsonb(cues_of(decision.triage.cues)),
        },
    )
    gone = write_values(
        connection,
        document_id,
        decision.triage.findings,
        set_by="triage",
        version=TRIAGE_VERSION,
    )
    restrict_as_asked(connection, document_id, arrived)
    show_on_document(connection, document_id, taken_back=gone)
    _write_mentions(connection, document_id, decision)


def _write_mentions(connection: Connection, document_id: int, decision: Decision) -> None:
    connection.execute("DELETE FROM contact_mentions WHERE document_id = %s", (document_id,))
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO contact_mentions (document_id, role, name_raw, name_words, email, iban,"
            " vat_id, country, source_kind) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [
                (
                    document_id,
                    m.role,
                    m.name,
                    list(name_words(m.name)),
                    m.email,
                    m.iban,
                    m.vat_id,
                    m.country,
                    m.source_kind,
                )
                for m in decision.triage.mentions
            ],
        )


def _finish_arrival(
    connection: Connection,
    claim: Claim,
    arrived: ArrivedBytes,
    outcome: ArrivalOutcome,
    document_id: int,
) -> None:
    connection.execute(
        "UPDATE arrivals SET outcome = %s, outcome_reason = NULL, document_id = %s WHERE id = %s",
        (outcome, document_id, arrived.arrival_id),
    )
    connection.execute(
        "UPDATE mail_parts SET document_id = %s WHERE arrival_id = %s",
        (document_id, arrived.arrival_id),
    )
    ledger.complete(connection, claim)
