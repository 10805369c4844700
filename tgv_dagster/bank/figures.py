"""Figures of the bank: what has no partner, and what stands on each account.

Plain reads on the connection they are given: behind the walls for people, as the worker for counts.
Test rows count in no figure (DEDUP-12).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from tgv_dagster.store.db import Connection


@dataclass(frozen=True, slots=True)
class Unmatched:
    """One month of one entity: bookings without a receipt, receipts without a booking.

    `proposed`: how many of the bookings have a proposal that nobody confirmed.
    """

    entity: str
    month: str
    bookings_without_receipt: int
    receipts_without_booking: int
    proposed: int


@dataclass(frozen=True, slots=True)
class AccountBalance:
    """The balance of one active account as of its own day (FIN-27); None: no statement says it.

    `since` counts bookings after that day.
    """

    account_id: int
    entity: str
    name: str
    currency: str
    balance: Decimal | None
    as_of: date | None
    since: int


def linked(column: str, row: str) -> str:
    """Join that gives a row `l.paid`, the sum of its confirmed links, and `l.proposed`, a count."""
    return f"""LEFT JOIN (
        SELECT {column}, sum(amount) FILTER (WHERE state = 'confirmed') AS paid,
            count(*) FILTER (WHERE state = 'proposed') AS proposed
        FROM txn_document_links GROUP BY {column}) l ON l.{column} = {row}.id"""


RECEIPT_CLOSED = "coalesce(l.paid >= coalesce(abs({row}.amount_gross), 0), false)"
"""A receipt is closed by confirmed bookings of its whole amount, never by a part or a proposal."""

RECEIPT_DAY = "coalesce(d.invoice_date, d.date_received::date)"

OPEN_BOOKINGS = f"""txn_master t {linked("txn_id", "t")}
    WHERE NOT t.is_test AND t.entity IS NOT NULL AND t.reversal_of IS NULL AND t.amount <> 0
      AND NOT EXISTS (SELECT 1 FROM txn_transfers x
          WHERE x.out_txn = t.id AND x.state = 'confirmed')
      AND NOT EXISTS (SELECT 1 FROM txn_transfers x
          WHERE x.in_txn = t.id AND x.state = 'confirmed')
      AND coalesce(l.paid < abs(t.amount), true)"""
"""Bookings (`t`) that confirmed receipts do not explain by their whole amount.

Reversals and halves of confirmed transfers need no receipt. The page, the console and the asset of
what has no partner all read this.
"""

OPEN_RECEIPTS = f"""documents d {linked("document_id", "d")}
    WHERE NOT d.is_test AND d.state = 'active' AND d.entity IS NOT NULL
      AND d.doc_type IN ('invoice', 'receipt', 'credit_note')
      AND d.amount_gross IS DISTINCT FROM 0 AND NOT {RECEIPT_CLOSED.format(row="d")}"""
"""Invoices, receipts and credit notes (`d`) that are not closed."""


def unmatched(connection: Connection) -> tuple[Unmatched, ...]:
    """What is open per entity and month, oldest month first."""
    rows = connection.execute(_UNMATCHED).fetchall()
    return tuple(Unmatched(*row) for row in rows)


_UNMATCHED = f"""
    WITH bookings AS (
        SELECT t.entity, to_char(t.booking_date, 'YYYY-MM') AS month, count(*) AS bare,
            count(*) FILTER (WHERE l.proposed > 0) AS proposed
        FROM {OPEN_BOOKINGS} GROUP BY 1, 2),
    receipts AS (
        SELECT d.entity, to_char({RECEIPT_DAY}, 'YYYY-MM') AS month, count(*) AS bare
        FROM {OPEN_RECEIPTS} GROUP BY 1, 2)
    SELECT coalesce(b.entity, r.entity), coalesce(b.month, r.month), coalesce(b.bare, 0),
        coalesce(r.bare, 0), coalesce(b.proposed, 0)
    FROM bookings b FULL JOIN receipts r ON r.entity = b.entity AND r.month = b.month
    ORDER BY 2, 1
""".encode()


def account_balances(connection: Connection) -> tuple[AccountBalance, ...]:
    """Active accounts with their last known balance; inactive ones and proposals are left out."""
    rows = connection.execute(
        """
        SELECT a.id, a.entity, a.name, a.currency, s.closing, s.closing_day,
            (SELECT count(*) FROM txn_master t WHERE t.account_id = a.id
                AND t.booking_date > coalesce(s.closing_day, '-infinity'))
        FROM md_accounts a LEFT JOIN LATERAL (
            SELECT closing, closing_day FROM bank_statements s
            WHERE s.account_id = a.id AND s.kind = 'statement' AND s.closing IS NOT NULL
            ORDER BY s.closing_day DESC, s.id DESC LIMIT 1) s ON true
        WHERE a.active AND NOT a.is_test AND a.entity IS NOT NULL
        ORDER BY a.entity, a.id
        """
    ).fetchall()
    return tuple(AccountBalance(*row) for row in rows)
