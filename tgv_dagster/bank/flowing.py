"""The bank stage: documents that are bank files are imported, everything else is left alone.

Here: which documents are looked at, reading their bytes, the outcome in the flow ledger. A file
that waits for a person is done for the flow: its case says what is missing, and the answer makes it
due again (`again`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tgv_dagster.bank.frame import BankFileError
from tgv_dagster.bank.importing import ImportReport, import_bank_file, record_unreadable
from tgv_dagster.bank.overlap import Decision
from tgv_dagster.bank.reading import HEAD, Guess, read_bank_file, sniff
from tgv_dagster.bank.recording import Source
from tgv_dagster.store import ledger
from tgv_dagster.store.blobs import BlobMissing, BlobStore
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.ledger import Claim
from tgv_dagster.store.organisation import SERVICE_LOGIN
from tgv_dagster.store.pull import BatchReport, Unworkable, pull
from tgv_dagster.store.stages import Stage

NOT_A_BANK_FILE = "not_a_bank_file"


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the stage knows about a document."""

    document_id: int
    mandant_id: int
    entity: str | None
    level: str | None
    is_test: bool
    sha256: str
    bucket: str
    raw_key: str


def take_bank_files(
    database: Database,
    blobs: BlobStore,
    *,
    limit: int,
    progress: Callable[[int, int], None] | None = None,
) -> BatchReport:
    """Import the bank files among the documents of a tenant that were not looked at yet."""
    with database.worker() as connection:
        _enqueue(connection, limit)

    def handle(claim: Claim) -> str:
        with database.worker() as connection:
            facts = _facts(connection, claim.subject_id)
        content = _content(blobs, facts)
        with database.worker() as connection:
            report = None if content is None else bring(connection, content, _source(facts))
            ledger.complete(connection, claim)
        return NOT_A_BANK_FILE if report is None else str(report.state)

    return pull(database, Stage.BANK, handle, limit=limit, progress=progress)


def bring(connection: Connection, content: bytes, source: Source) -> ImportReport | None:
    """Read and import the content in the caller's transaction; None when it is no bank file."""
    try:
        file = read_bank_file(content)
    except BankFileError as error:
        return record_unreadable(connection, source, str(error))
    return None if file is None else import_bank_file(connection, file, source)


def bring_document(
    connection: Connection,
    blobs: BlobStore,
    document_id: int,
    *,
    author: str,
    decision: Decision = Decision.ASK,
    trust_balances: bool = False,
) -> ImportReport | None:
    """Import one document now, with what a person decided about it; None when it is no bank file.

    Raises Unworkable when there is no such document of a tenant, or its bytes are gone.
    """
    facts = _facts(connection, document_id)
    content = _content(blobs, facts)
    if content is None:
        return None
    return bring(
        connection,
        content,
        _source(facts, author=author, decision=decision, trust_balances=trust_balances),
    )


def again(connection: Connection, documents: Iterable[int]) -> int:
    """Make documents due once more for the stage that reads them; returns how many.

    Tables of bookings come through the recogniser of tables, everything else through this room.
    """
    wanted = sorted(set(documents))
    tables = {
        row[0]
        for row in connection.execute(
            "SELECT document_id FROM bank_imports WHERE document_id = ANY (%s)"
            " AND variant LIKE 'table%%' AND state <> 'undone'",
            (wanted,),
        )
    }
    own = [document for document in wanted if document not in tables]
    return ledger.enqueue(connection, Stage.BANK, own, again=True) + ledger.enqueue(
        connection, Stage.TABLES, tables, again=True
    )


def _enqueue(connection: Connection, limit: int) -> None:
    """Documents that may be bank files and were never looked at; pictures and papers cannot be."""
    rows = connection.execute(
        """
        SELECT d.id FROM documents d
        WHERE d.mandant_id IS NOT NULL AND d.state = 'active' AND d.part_role = 'file'
          AND d.raw_key IS NOT NULL AND d.flow_stage IN ('clarify', 'know', 'effect')
          AND coalesce(d.media_type, '') !~ '^(image|audio|video|message)/|/pdf$'
          AND NOT EXISTS (SELECT 1 FROM flow_ledger l
              WHERE l.stage = %s AND l.generation = 0 AND l.subject_id = d.id)
        ORDER BY d.id LIMIT %s
        """,
        (Stage.BANK, limit),
    ).fetchall()
    ledger.enqueue(connection, Stage.BANK, [row[0] for row in rows])


def _facts(connection: Connection, document_id: int) -> _Facts:
    row = connection.execute(
        "SELECT d.id, d.mandant_id, d.entity, d.confidentiality_level, d.is_test, d.raw_sha256,"
        " r.storage_bucket, r.raw_key FROM documents d JOIN raw_items r ON r.id = d.raw_item_id"
        " WHERE d.id = %s AND d.mandant_id IS NOT NULL AND d.state = 'active'",
        (document_id,),
    ).fetchone()
    if row is None:
        raise Unworkable("there is no active document of a tenant with this number")
    return _Facts(*row)


def _content(blobs: BlobStore, facts: _Facts) -> bytes | None:
    """All bytes when the first ones look like a bank file, else None."""
    try:
        if sniff(blobs.read_range(facts.bucket, facts.raw_key, 0, HEAD)).guess is Guess.NOTHING:
            return None
        with blobs.local_path(facts.bucket, facts.raw_key) as path:
            return path.read_bytes()
    except BlobMissing as error:
        raise Unworkable(f"the bytes of this document are missing: {error}") from error


def _source(
    facts: _Facts,
    *,
    author: str = SERVICE_LOGIN,
    decision: Decision = Decision.ASK,
    trust_balances: bool = False,
) -> Source:
    return Source(
        mandant_id=facts.mandant_id,
        sha256=facts.sha256,
        document_id=facts.document_id,
        confidentiality_level=facts.level,
        is_test=facts.is_test,
        author=author,
        entity_hint=facts.entity,
        decision=decision,
        trust_balances=trust_balances,
    )
