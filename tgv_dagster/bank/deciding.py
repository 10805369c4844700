"""What people decide about links: confirm or reject a proposal, or link by hand.

One door for the console and the pages, with the rights of the person (ACT-01, ACT-02): money is
decided by who manages the tenant, and what a person cannot see does not exist for that person. Not
here: what is proposed (`matching`).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import psycopg

from tgv_dagster.bank import finance_stage, matching
from tgv_dagster.bank.matching import Proposed
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.levels import Role
from tgv_dagster.store.scope import Scope


class LinkNotFound(LookupError):
    """There is no such booking, document or proposal for this person, or it was decided before."""


class LinkRefused(ValueError):
    """Booking and document cannot be joined; the message says why."""


@dataclass(frozen=True, slots=True)
class Linked:
    """A confirmed link and the amount it explains, in the currency of the booking."""

    link_id: int
    amount: Decimal


def decide(database: Database, scope: Scope, kind: Proposed, number: int, *, confirm: bool) -> None:
    """Confirm or reject an open proposal. Raises ScopeError, LinkNotFound, LinkRefused."""
    scope.require(Role.MANDANT_ADMIN)
    with database.reading(scope) as connection:
        ends = connection.execute(_PROPOSAL[kind], {"number": number}).fetchall()
    if not ends:
        raise LinkNotFound(f"There is no open proposal {number} that you may see.")
    with database.worker() as connection:
        if confirm:
            for txn_id, _ in ends:
                _require_unlocked(connection, txn_id)
        done = matching.decide(connection, kind, number, confirm=confirm, author=scope.principal)
        for _, document_id in ends:
            if document_id is not None:
                finance_stage.follow(connection, document_id=document_id)
    if not done:
        raise LinkNotFound(f"Proposal {number} was decided before.")


_PROPOSAL = {
    Proposed.LINK: b"SELECT txn_id, document_id FROM txn_document_links"
    b" WHERE id = %(number)s AND state = 'proposed'",
    Proposed.TRANSFER: b"SELECT unnest(ARRAY[out_txn, in_txn]), NULL::bigint FROM txn_transfers"
    b" WHERE id = %(number)s AND state = 'proposed'",
}


def link(database: Database, scope: Scope, txn_id: int, document_id: int) -> Linked:
    """Join a booking and a receipt as far as both are open; a proposal of the two is confirmed.

    Raises ScopeError, LinkNotFound, LinkRefused.
    """
    scope.require(Role.MANDANT_ADMIN)
    asked: dict[str, Any] = {"txn": txn_id, "document": document_id, "who": scope.principal}
    with database.reading(scope) as connection:
        row = connection.execute(_ENDS, asked).fetchone()
    if row is None:
        raise LinkNotFound("There is no such booking, or no such document, that you may see.")
    _require_fit(*row)
    try:
        with database.worker() as connection:
            return _join(connection, scope, asked)
    except psycopg.errors.CheckViolation as error:
        raise LinkRefused("The database refuses this link; nothing was changed.") from error


def _require_fit(same_entity: bool, same_currency: bool, free: bool, has_amount: bool) -> None:
    if not same_entity:
        raise LinkRefused("Booking and document belong to different entities.")
    if not has_amount:
        raise LinkRefused("The document has no amount; set it first.")
    if not same_currency:
        raise LinkRefused("Booking and document are in different currencies.")
    if not free:
        raise LinkRefused("The booking is half of a transfer, or a reversal.")


def _join(connection: Connection, scope: Scope, asked: dict[str, Any]) -> Linked:
    _require_unlocked(connection, asked["txn"])
    connection.execute("SELECT 1 FROM documents WHERE id = %(document)s FOR UPDATE", asked)
    connection.execute(_UNPROPOSED, asked)
    rest = connection.execute(_REST, asked).fetchone()
    if rest is None or rest[0] is None or rest[0] <= 0:
        raise LinkRefused("One of the two is linked with its whole amount already.")
    row = connection.execute(_INSERT, asked | {"amount": rest[0]}).fetchone()
    assert row is not None
    record(
        connection,
        Event(
            kind="bank.link_made",
            author=scope.principal,
            object=f"link:{asked['txn']}:{asked['document']}",
            reason="a person linked a booking with a document",
            is_human=True,
        ),
    )
    finance_stage.follow(connection, document_id=asked["document"])
    return Linked(row[0], row[1])


def _require_unlocked(connection: Connection, txn_id: int) -> None:
    """Lock the booking; what is closed stays as it is."""
    row = connection.execute(
        "SELECT t.state <> 'locked' AND NOT EXISTS (SELECT 1 FROM accounting_periods p"
        " WHERE p.entity = t.entity AND p.locked_at IS NOT NULL"
        " AND p.period IN (to_char(t.booking_date, 'YYYY-MM'), t.accounting_period))"
        " FROM txn_master t WHERE t.id = %s FOR UPDATE",
        (txn_id,),
    ).fetchone()
    if row is None:
        raise LinkNotFound("The booking is not there any more.")
    if not row[0]:
        raise LinkRefused("The month of the booking is locked.")


_ENDS = """
    SELECT coalesce(t.entity = d.entity, false), coalesce(t.currency = d.currency, false),
        t.reversal_of IS NULL
        AND NOT EXISTS (SELECT 1 FROM txn_transfers x WHERE x.out_txn = t.id)
        AND NOT EXISTS (SELECT 1 FROM txn_transfers x WHERE x.in_txn = t.id),
        d.amount_gross IS NOT NULL
    FROM txn_master t, documents d
    WHERE t.id = %(txn)s AND d.id = %(document)s AND d.state = 'active'
"""
_UNPROPOSED = """
    DELETE FROM txn_document_links
    WHERE txn_id = %(txn)s AND document_id = %(document)s AND state = 'proposed'
"""
_REST = """
    SELECT least(
        abs(t.amount) - (SELECT coalesce(sum(amount), 0) FROM txn_document_links
            WHERE txn_id = t.id),
        abs(d.amount_gross) - (SELECT coalesce(sum(amount), 0) FROM txn_document_links
            WHERE document_id = d.id))
    FROM txn_master t, documents d WHERE t.id = %(txn)s AND d.id = %(document)s
"""
_INSERT = """
    INSERT INTO txn_document_links (txn_id, document_id, amount, state, evidence, set_by)
    SELECT %(txn)s, %(document)s, %(amount)s, 'confirmed', '{"rule": "by-hand"}', %(who)s
    ON CONFLICT (txn_id, document_id) DO UPDATE
        SET amount = txn_document_links.amount + EXCLUDED.amount, set_by = EXCLUDED.set_by
    RETURNING id, amount
"""
