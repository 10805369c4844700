"""Undo of an import: exactly what it brought, where nothing refers to it yet.

A booking that a later file shows too is handed on to that file. One that is locked, matched, part
of a transfer, reversed or changed by a person stays and is named with its reason. The import keeps
its row, so that the same file may come again in a new generation (domain rules A3, fault 154).
"""

from __future__ import annotations

from dataclasses import dataclass

from tgv_dagster.bank.frame import BankFileError
from tgv_dagster.store.db import Connection
from tgv_dagster.store.events import Event, record


class UndoRefused(BankFileError):
    """There is nothing to undo; the message says why."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A booking that stays, and why."""

    txn_id: int
    reason: str


@dataclass(frozen=True, slots=True)
class UndoReport:
    """What the undo did; `document_id` is what may be imported again."""

    import_id: int
    document_id: int | None
    removed: int
    handed_on: int
    kept: tuple[Kept, ...]


_REASONS = """
    SELECT t.id, CASE
        WHEN t.state = 'locked' OR EXISTS (SELECT 1 FROM accounting_periods a
            WHERE a.entity = t.entity AND a.locked_at IS NOT NULL
              AND a.period IN (to_char(t.booking_date, 'YYYY-MM'), t.accounting_period))
            THEN 'its period is locked'
        WHEN t.id IN (SELECT txn_id FROM txn_document_links)
            THEN 'it is matched with a document'
        WHEN t.id IN (SELECT out_txn FROM txn_transfers UNION SELECT in_txn FROM txn_transfers)
            THEN 'it is half of a transfer'
        WHEN t.id IN (SELECT reversal_of FROM txn_master WHERE reversal_of IS NOT NULL)
            THEN 'another booking reverses it'
        WHEN t.changed_at IS NOT NULL THEN 'somebody changed it'
    END AS reason
    FROM txn_master t WHERE t.import_id = %s
"""


def undo_import(connection: Connection, import_id: int, *, author: str) -> UndoReport:
    """Take an import back in the caller's transaction.

    Raises UndoRefused when there is no such import, it was undone before, or every one of its
    bookings is locked.
    """
    row = connection.execute(
        "SELECT mandant_id, document_id, state FROM bank_imports WHERE id = %s FOR UPDATE",
        (import_id,),
    ).fetchone()
    if row is None or row[2] != "imported":
        raise UndoRefused("There is no import of this number that could be undone.")
    connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('bank|' || %s::text, 0))", (row[0],)
    )
    judged = connection.execute(_REASONS, (import_id,)).fetchall()
    kept = tuple(Kept(txn_id, reason) for txn_id, reason in judged if reason)
    if kept and len(kept) == len(judged) and all("locked" in one.reason for one in kept):
        raise UndoRefused(
            "Every booking of this import lies in a locked period; only a reversal changes them."
        )
    free = [txn_id for txn_id, reason in judged if not reason]
    handed_on = _hand_on(connection, free, import_id)
    removed = connection.execute(
        "DELETE FROM txn_master WHERE id = ANY (%s) AND import_id = %s", (free, import_id)
    ).rowcount
    connection.execute("DELETE FROM txn_sightings WHERE import_id = %s", (import_id,))
    connection.execute("DELETE FROM bank_statements WHERE import_id = %s", (import_id,))
    connection.execute("DELETE FROM bank_pending WHERE import_id = %s", (import_id,))
    told = f"undone by {author}: {removed} removed, {handed_on} handed on, {len(kept)} kept"
    connection.execute(
        "UPDATE bank_imports SET state = 'undone', reason = %s, undone_by = %s, undone_at = now()"
        " WHERE id = %s",
        (told, author, import_id),
    )
    record(
        connection,
        Event(
            kind="bank.undone",
            author=author,
            object=f"bank_import:{import_id}",
            reason=told,
            is_human=True,
            mandant_id=row[0],
            payload={"kept": [[one.txn_id, one.reason] for one in kept[:1000]]},
        ),
    )
    return UndoReport(import_id, row[1], removed, handed_on, kept)


def _hand_on(connection: Connection, txn_ids: list[int], import_id: int) -> int:
    """Bookings another import in force has seen belong to the first such import from now on."""
    result = connection.execute(
        """
        UPDATE txn_master t SET import_id = s.import_id, document_id = i.document_id
        FROM (SELECT g.txn_id, min(g.import_id) AS import_id FROM txn_sightings g
              JOIN bank_imports b ON b.id = g.import_id AND b.state = 'imported'
              WHERE g.txn_id = ANY (%s) AND g.import_id <> %s GROUP BY g.txn_id) s
        JOIN bank_imports i ON i.id = s.import_id
        WHERE t.id = s.txn_id
        """,
        (txn_ids, import_id),
    )
    connection.execute(
        "DELETE FROM txn_sightings s USING txn_master t"
        " WHERE t.id = s.txn_id AND t.import_id = s.import_id AND t.id = ANY (%s)",
        (txn_ids,),
    )
    return result.rowcount
