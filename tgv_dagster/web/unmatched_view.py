"""Bookings without a receipt and receipts without a booking, one by one.

Reads only behind the walls. Does not belong here: how a link comes about (`bank.matching`), the
counts per month (`bank.figures`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from tgv_dagster.bank import figures
from tgv_dagster.bank.matching import Proposed
from tgv_dagster.store.db import Database
from tgv_dagster.store.scope import Scope

MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class Proposal:
    """What nobody decided yet about a booking; `other` is a document or the other booking."""

    kind: Proposed
    id: int
    other: int
    amount: Decimal


@dataclass(frozen=True, slots=True)
class OpenBooking:
    """A booking that confirmed receipts do not explain by its whole amount.

    `amount` has the sign of the account; `rest` is what no confirmed receipt explains, without a
    sign. `proposals`: those whose other end the reader sees.
    """

    id: int
    day: date
    entity: str
    amount: Decimal
    rest: Decimal
    currency: str
    counterparty: str | None
    purpose: str
    proposals: tuple[Proposal, ...]


@dataclass(frozen=True, slots=True)
class OpenReceipt:
    """An invoice, receipt or credit note that is not closed. `amount` as the paper says it.

    `rest` is what no confirmed booking pays, without a sign; None where the amount is not known.
    """

    document_id: int
    day: date
    entity: str
    title: str
    provider: str | None
    amount: Decimal | None
    rest: Decimal | None
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
        bookings=tuple(
            OpenBooking(*row[:8], proposals=_proposals(row[8])) for row in bookings[:limit]
        ),
        receipts=tuple(OpenReceipt(*row) for row in receipts[:limit]),
        truncated=max(len(bookings), len(receipts)) > limit,
    )


def _proposals(rows: list[list[Any]] | None) -> tuple[Proposal, ...]:
    return tuple(
        Proposal(Proposed(kind), number, other, Decimal(amount))
        for kind, number, other, amount in rows or ()
    )


_PROPOSALS = """(SELECT jsonb_agg(jsonb_build_array(p.kind, p.id, p.other, p.amount::text)
        ORDER BY p.kind, p.id) FROM (
    SELECT 'link' AS kind, k.id, k.document_id AS other, k.amount
        FROM txn_document_links k WHERE k.txn_id = t.id AND k.state = 'proposed'
    UNION ALL SELECT 'transfer', x.id, x.in_txn, abs(t.amount)
        FROM txn_transfers x JOIN txn_master o ON o.id = x.in_txn
        WHERE x.out_txn = t.id AND x.state = 'proposed'
    UNION ALL SELECT 'transfer', x.id, x.out_txn, abs(t.amount)
        FROM txn_transfers x JOIN txn_master o ON o.id = x.out_txn
        WHERE x.in_txn = t.id AND x.state = 'proposed') p)"""
_BOOKINGS = f"""
    SELECT t.id, t.booking_date, t.entity, t.amount, abs(t.amount) - coalesce(l.paid, 0),
        t.currency, t.counterparty_name, t.purpose, {_PROPOSALS}
    FROM {figures.OPEN_BOOKINGS} AND t.booking_date BETWEEN %(first)s AND %(last)s
    ORDER BY t.booking_date DESC, t.id DESC LIMIT %(limit)s
""".encode()
_RECEIPTS = f"""
    SELECT d.id, {figures.RECEIPT_DAY} AS day, d.entity, coalesce(nullif(d.title, ''), d.file_name),
        d.provider, d.amount_gross, abs(d.amount_gross) - coalesce(l.paid, 0), d.currency
    FROM {figures.OPEN_RECEIPTS} AND {figures.RECEIPT_DAY} BETWEEN %(first)s AND %(last)s
    ORDER BY day DESC, d.id DESC LIMIT %(limit)s
""".encode()
