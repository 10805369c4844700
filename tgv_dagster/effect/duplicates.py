"""Double counting: its three known roots, the guard before an effect, and the sweep as a proposal.

Each root is a detector with its reasons (DEDUP-01). The guard stops a duplicate before it is booked
or counted (DEDUP-02); the sweep only proposes, a person looks at exactly what it would do and says
yes to exactly that (DEDUP-03). The same bytes at the same gate never come this far (DEDUP-04, 05).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from tgv_dagster.know.lifecycle import LifecycleOutcome, remove_document
from tgv_dagster.know.words import WordIndex
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.pull import HeldByGate
from tgv_dagster.store.scope import Scope

APPROVE_GUARD = "approve_guard"
"""The gate that held documents carry."""


class Root(StrEnum):
    """Where double counting comes from."""

    SAME_BYTES = "same_bytes"
    SAME_INVOICE = "same_invoice"
    BODY_AND_ATTACHMENT = "body_and_attachment"


@dataclass(frozen=True, slots=True)
class Duplicate:
    """`document_id` says what `stays` says already; `reasons` are the fields that agree."""

    document_id: int
    stays: int
    root: Root
    reasons: tuple[str, ...]


class SweepChanged(RuntimeError):
    """What would be swept is not what was looked at; look again."""


@dataclass(frozen=True, slots=True)
class SweepProposal:
    """A snapshot of what a sweep would put into the trash (DEDUP-14).

    `fingerprint` names exactly these duplicates; `documents` is the denominator of the moment.
    """

    taken_at: datetime
    documents: int
    duplicates: tuple[Duplicate, ...]

    @property
    def fingerprint(self) -> str:
        """Changes as soon as one duplicate more or less is there."""
        named = "\n".join(f"{d.document_id} {d.stays} {d.root}" for d in self.duplicates)
        return hashlib.sha256(named.encode()).hexdigest()[:16]


_ALL = """
    candidates AS (
        SELECT d.id FROM documents d WHERE d.doc_type IN ('invoice', 'credit_note')
        UNION
        SELECT unnest(array_agg(d.id)) FROM documents d WHERE d.state <> 'trashed'
        GROUP BY d.mandant_id, d.raw_sha256 HAVING count(*) > 1)
"""
_BESIDE_ONE = """
    me AS (SELECT * FROM documents WHERE id = %(document)s),
    candidates AS (
        SELECT id FROM me
        UNION
        SELECT d.id FROM me JOIN documents d USING (mandant_id, raw_sha256)
        UNION
        SELECT d.id FROM me
        JOIN documents d USING (mandant_id, doc_type, amount_gross, invoice_date)
        WHERE d.doc_type IN ('invoice', 'credit_note') AND d.amount_gross IS NOT NULL
        UNION
        SELECT a.document_id FROM arrivals mine JOIN arrivals a USING (parent_id)
        WHERE mine.document_id = %(document)s AND a.document_id IS NOT NULL)
"""
_PAIRS = f"""
    , facts AS MATERIALIZED (
        SELECT d.id, d.mandant_id, d.is_test, d.raw_sha256, d.file_class, d.doc_type,
            d.amount_gross, d.currency, d.invoice_date, d.provider,
            (SELECT min(a.parent_id) FROM arrivals a WHERE a.document_id = d.id) AS mail,
            (SELECT nullif(upper(regexp_replace(v.value, '[^[:alnum:]]', '', 'g')), '')
             FROM document_values v WHERE v.document_id = d.id AND v.field = 'invoice_number'
               AND v.active AND v.generation = 0 ORDER BY v.origin = 'human' DESC, v.id DESC
             LIMIT 1) AS number
        FROM candidates c JOIN documents d ON d.id = c.id
        WHERE d.state <> 'trashed' AND d.mandant_id IS NOT NULL),
    pairs AS (
        SELECT b.id, a.id AS stays, '{Root.SAME_BYTES}' AS root, ARRAY['raw_sha256'] AS reasons
        FROM facts a JOIN facts b ON b.mandant_id = a.mandant_id AND b.raw_sha256 = a.raw_sha256
            AND b.is_test = a.is_test AND b.id > a.id
        UNION ALL
        SELECT body.id, paper.id, '{Root.BODY_AND_ATTACHMENT}',
            ARRAY['mail'] || CASE WHEN body.number = paper.number THEN ARRAY['invoice_number']
                ELSE '{{}}' END || CASE WHEN body.amount_gross = paper.amount_gross
                THEN ARRAY['amount_gross'] ELSE '{{}}' END
        FROM facts body JOIN facts paper ON paper.mail = body.mail
            AND paper.mandant_id = body.mandant_id AND paper.is_test = body.is_test
            AND body.file_class = 'mail_body' AND paper.file_class = 'file'
            AND paper.doc_type = body.doc_type
            AND (body.number = paper.number OR body.amount_gross = paper.amount_gross)
        WHERE body.doc_type IN ('invoice', 'credit_note')
        UNION ALL
        SELECT b.id, a.id, '{Root.SAME_INVOICE}',
            ARRAY['invoice_number', 'amount_gross', 'currency', 'invoice_date']
                || CASE WHEN a.provider = b.provider THEN ARRAY['provider'] ELSE '{{}}' END
        FROM facts a JOIN facts b ON b.mandant_id = a.mandant_id AND b.number = a.number
            AND b.is_test = a.is_test AND b.id > a.id AND b.raw_sha256 <> a.raw_sha256
            AND b.doc_type = a.doc_type AND b.amount_gross = a.amount_gross
            AND b.currency = a.currency AND b.invoice_date = a.invoice_date
            AND 'mail_body' NOT IN (a.file_class, b.file_class)
        WHERE a.doc_type IN ('invoice', 'credit_note'))
    SELECT DISTINCT ON (p.id) p.id, p.stays, p.root, p.reasons FROM pairs p
    WHERE NOT EXISTS (SELECT 1 FROM cases c WHERE c.document_id = p.id
        AND c.state IN ('released', 'dismissed') AND c.evidence ->> 'gate' = '{APPROVE_GUARD}')
    ORDER BY p.id, p.stays
"""


def duplicates(connection: Connection) -> tuple[Duplicate, ...]:
    """Every duplicate the connection sees; one that a person released is none any more."""
    return _found(connection.execute(f"WITH {_ALL}{_PAIRS}".encode()).fetchall())


def guard_effect(connection: Connection, document_id: int) -> None:
    """Stop a document that would be counted a second time (DEDUP-02).

    Raises HeldByGate with the number of the document that stays and the fields that agree.
    """
    found = connection.execute(
        f"WITH {_BESIDE_ONE}{_PAIRS}".encode(), {"document": document_id}
    ).fetchall()
    for duplicate in _found(found):
        if duplicate.document_id == document_id:
            agree = ", ".join(duplicate.reasons)
            raise HeldByGate(
                APPROVE_GUARD, f"{duplicate.root} as document {duplicate.stays} ({agree})"
            )


def _found(rows: list[tuple]) -> tuple[Duplicate, ...]:
    return tuple(
        Duplicate(document, stays, Root(root), tuple(reasons))
        for document, stays, root, reasons in rows
    )


def propose_sweep(database: Database, scope: Scope) -> SweepProposal:
    """What a sweep would put into the trash, as far as this reader sees; changes nothing."""
    with database.reading(scope) as connection:
        found = duplicates(connection)
        row = connection.execute("SELECT count(*) FROM documents").fetchone()
    assert row is not None
    return SweepProposal(datetime.now(UTC), int(row[0]), found)


def sweep(
    database: Database, words: WordIndex, scope: Scope, fingerprint: str
) -> tuple[LifecycleOutcome, ...]:
    """Put exactly the proposed duplicates into the trash, with chunks and index (DEDUP-13).

    Nothing is deleted: each can be restored. Raises SweepChanged when the duplicates are others
    than those of the fingerprint, ScopeError when this person may not.
    """
    proposal = propose_sweep(database, scope)
    if proposal.fingerprint != fingerprint:
        raise SweepChanged(
            "The duplicates are not the ones of the preview any more. Look at the new preview."
        )
    return tuple(
        remove_document(database, words, scope, found.document_id) for found in proposal.duplicates
    )
