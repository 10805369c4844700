"""Bookings without a receipt and receipts without a booking, one by one.

Reads only behind the walls. Does not belong here: how a link comes about (`bank.matching`), the
counts per month (`bank.figures`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from tgv_dagster.bank import figures
from tgv_dagster.store.db import Database
from tgv_dagster.store.scope import Scope

MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class OpenBooking:
    """A booking that no confirmed receipt explains.

    `amount` has the sign of the account. `document_id` is the receipt that is proposed, if one is
    and the reader sees it.
    """

    id: int
    day: date
    entity: str
    amount: Decimal
    currency: str
    counterparty: str | None
    purpose: str
    document_id: int | None


@dataclass(frozen=True, slots=True)
class OpenReceipt:
    """A filed invoice, receipt or credit note without a booking. `amount` as the paper says it."""

    document_id: int
    day: date
    entity: str
    title: str
    provider: str | None
    amount: Decimal | None
    currency: str | None


@dataclass(frozen=True, slots=True)
class OpenMoney:
    """Both lists, newest day first, and the counts per month; `truncated`: more rows follow."""

    months: tuple[figures.Unmatched, ...]
    bookings: tuple[OpenBooking, ...]
    receipts: tuple[OpenReceipt, ...]
    truncated: bool


def open_money(
    database: Database, scope: Scope, *, first: date | None = None, last: date | None = None,
    limit: int = MOST_ROWS,
) -> OpenMoney:  # fmt: skip
    """What is open from `first` to `last` (both included), in three statements.

    The counts per month are of all time, so that nothing old is overlooked.
    """
    span = {"first": first or date.min, "last": last or date.max, "limit": limit + 1}
    with database.reading(scope) as connection:
        months = figures.unmatched(connection)
        bookings = connection.execute(_BOOKINGS, span).fetchall()
        receipts = connection.execute(_RECEIPTS, span).fetchall()
    return OpenMoney(
        months=months,
        bookings=tuple(OpenBooking(*row) for row in bookings[:limit]),
        receipts=tuple(OpenReceipt(*row) for row in receipts[:limit]),
        truncated=max(len(bookings), len(receipts)) > limit,
    )


_BOOKINGS = """
    SELECT t.id, t.booking_date, t.entity, t.amount, t.currency, t.counterparty_name, t.purpose,
        (SELECT min(d.id) FROM txn_document_links l JOIN documents d ON d.id = l.document_id
            WHERE l.txn_id = t.id)
    FROM txn_master t
    WHERE NOT t.is_test AND t.entity IS NOT NULL AND t.reversal_of IS NULL
      AND t.booking_date BETWEEN %(first)s AND %(last)s
      AND NOT EXISTS (SELECT 1 FROM txn_transfers x WHERE x.out_txn = t.id)
      AND NOT EXISTS (SELECT 1 FROM txn_transfers x WHERE x.in_txn = t.id)
      AND NOT EXISTS (
          SELECT 1 FROM txn_document_links l WHERE l.txn_id = t.id AND l.state = 'confirmed')
    ORDER BY t.booking_date DESC, t.id DESC LIMIT %(limit)s
"""
_RECEIPTS = """
    SELECT d.id, coalesce(d.invoice_date, d.date_received::date) AS day, d.entity,
        coalesce(nullif(d.title, ''), d.file_name), d.provider, d.amount_gross, d.currency
    FROM documents d
    WHERE NOT d.is_test AND d.state = 'active' AND d.entity IS NOT NULL
      AND d.doc_type IN ('invoice', 'receipt', 'credit_note')
      AND coalesce(d.invoice_date, d.date_received::date) BETWEEN %(first)s AND %(last)s
      AND NOT EXISTS (SELECT 1 FROM txn_document_links l WHERE l.document_id = d.id)
    ORDER BY day DESC, d.id DESC LIMIT %(limit)s
"""
