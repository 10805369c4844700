"""Mail-drop: a dragged `.eml` goes the way of a fetched mail (MAIL-14 to MAIL-18).

Belongs here: what is a mail among dragged files, and its row in the mail ledger. The securing is
the upload gate's, so there is one preparation for both (MAIL-31). Nothing here knows a mailbox,
so nothing here can stamp (MAIL-17).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tgv_dagster.arrive import mail_ledger
from tgv_dagster.arrive.folder import looks_like_mail
from tgv_dagster.arrive.mail_ledger import HEADER_BYTES, MailFactsFound
from tgv_dagster.arrive.upload import (
    Drop,
    DroppedFile,
    Queued,
    UploadGate,
    clean_name,
    place_of,
    take,
)
from tgv_dagster.store.blobs import BlobStore
from tgv_dagster.store.blobs.source import pour
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.levels import Role
from tgv_dagster.store.presence import worker_name
from tgv_dagster.store.scope import Scope

ACCOUNT_PREFIX = "drop:"


class NotAMail(ValueError):
    """A dropped file is no mail; nothing of the drop was stored."""


def drop_mails(
    database: Database, blobs: BlobStore, scope: Scope, drop: Drop, files: Sequence[DroppedFile]
) -> tuple[Queued, ...]:
    """Secure dragged mails; one result per file, in their order.

    Raises ScopeError, NotAssignable, NothingToTake and NotAMail before anything is stored, and
    the faults of the installation when nothing could be secured.
    """
    scope.require(Role.EDITOR)
    place = place_of(database, scope, drop)
    seen = [_look(file) for file in files]
    account = f"{ACCOUNT_PREFIX}{place.mandant or ''}"
    with database.worker() as connection:
        for sha256, facts, size in seen:
            _claim(connection, account, sha256, facts, size)
    queue = take(database, blobs, scope, replace(drop, gate=UploadGate.DROP), files)
    with database.worker() as connection:
        for result in queue:
            if result.arrival_id is not None and result.sha256 is not None:
                _secured(connection, account, result.sha256, result.arrival_id)
            else:
                _refused(connection, account, seen[result.position][0], result.reason)
    return queue


def _look(file: DroppedFile) -> tuple[str, MailFactsFound, int]:
    file.content.seek(0)
    head = file.content.read(HEADER_BYTES)
    if not looks_like_mail(head, clean_name(file.name)):
        raise NotAMail("This entrance takes mails (.eml); send other files to /api/upload.")
    file.content.seek(0)
    content = pour(file.content, lambda _piece: None)
    file.content.seek(0)
    return content.sha256, mail_ledger.facts_of(head), content.size


def _claim(
    connection: Connection, account: str, sha256: str, facts: MailFactsFound, size: int
) -> None:
    connection.execute(
        """
        INSERT INTO mail_ledger (account, folder, uidvalidity, uid, raw_sha256, gate, outcome,
            attempt, claimed_by, lease_until, code_version, message_id, in_reply_to,
            references_ids, thread_headers, header_date, size_received)
        VALUES (%s, '', NULL, NULL, %s, 'drop', 'claimed', 1, %s, now() + %s, %s, %s, %s, %s, %s,
            %s, %s)
        ON CONFLICT (account, folder, uidvalidity, uid, raw_sha256) DO UPDATE
            SET attempt = mail_ledger.attempt + 1, updated_at = now()
        """,
        (
            account,
            sha256,
            worker_name(),
            mail_ledger.LEASE,
            mail_ledger.CODE_VERSION,
            facts.message_id,
            facts.in_reply_to,
            None if facts.references is None else list(facts.references),
            facts.thread_headers,
            facts.header_date,
            size,
        ),
    )


def _secured(connection: Connection, account: str, sha256: str, arrival_id: int) -> None:
    connection.execute(
        "UPDATE mail_ledger SET outcome = 'secured', claimed_by = NULL, lease_until = NULL,"
        " raw_item_id = (SELECT raw_item_id FROM arrivals WHERE id = %s), updated_at = now()"
        " WHERE account = %s AND folder = '' AND raw_sha256 = %s",
        (arrival_id, account, sha256),
    )


def _refused(connection: Connection, account: str, sha256: str, reason: str) -> None:
    connection.execute(
        "UPDATE mail_ledger SET outcome = 'failed', outcome_reason = %s, claimed_by = NULL,"
        " lease_until = NULL, updated_at = now()"
        " WHERE account = %s AND folder = '' AND raw_sha256 = %s AND outcome = 'claimed'",
        (reason[:500], account, sha256),
    )
