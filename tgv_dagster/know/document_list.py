"""The structured search: documents by period, amount, kind and sender, in a named order (RET-08).

It reads columns of documents and never a text, and is no full-text way. Rows come from behind the
walls of the reader; the total counts only what the reader may see. What does not belong here:
questions (`search`) and one document (`web.document_view`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum

from tgv_dagster.know.vectors import days_in_zone
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.scope import Period, Scope

MOST_ROWS = 500


class ListAxis(StrEnum):
    """Date axes of the documents table; there is no plain date (DATE-09)."""

    DATE_RECEIVED = "date_received"
    INVOICE_DATE = "invoice_date"
    SERVICE_DATE = "service_date"
    DUE_DATE = "due_date"


class Order(StrEnum):
    """What the list is sorted by; documents without the value come last."""

    DATE_RECEIVED = "date_received"
    INVOICE_DATE = "invoice_date"
    SERVICE_DATE = "service_date"
    DUE_DATE = "due_date"
    AMOUNT_GROSS = "amount_gross"
    ID = "id"


@dataclass(frozen=True, slots=True)
class DocumentQuery:
    """What is asked for; None = not asked. Amounts are gross, bounds included.

    provider: the sender as stored, upper and lower case alike. offset counts rows of this order.
    """

    entity: str | None = None
    project_code: str | None = None
    period: Period | None = None
    doc_type: str | None = None
    provider: str | None = None
    amount_from: Decimal | None = None
    amount_to: Decimal | None = None
    currency: str | None = None
    order: Order = Order.DATE_RECEIVED
    descending: bool = True
    limit: int = 50
    offset: int = 0


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """One row of the list."""

    document_id: int
    title: str
    doc_type: str | None
    provider: str | None
    entity: str | None
    project_code: str | None
    confidentiality_level: str | None
    date_received: datetime
    invoice_date: date | None
    service_date: date | None
    due_date: date | None
    amount_gross: Decimal | None
    currency: str | None

    @property
    def link(self) -> str:
        """The source link shown in prose."""
        return f"#{self.document_id}"


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """Rows in order; `total` visible documents match; complete when nothing follows the rows."""

    rows: tuple[ListedDocument, ...]
    total: int
    complete: bool


class UnknownListAxis(ValueError):
    """A period on an axis that the documents table does not have."""


_CONDITIONS = {
    "mandant_id": "d.mandant_id = %(mandant_id)s",
    "document_id": "d.id = %(document_id)s",
    "doc_type": "d.doc_type = %(doc_type)s",
    "provider": "lower(d.provider) = lower(%(provider)s)",
    "amount_from": "d.amount_gross >= %(amount_from)s",
    "amount_to": "d.amount_gross <= %(amount_to)s",
    "currency": "d.currency = %(currency)s",
}
_FROM = "FROM documents d LEFT JOIN mandanten m ON m.id = d.mandant_id WHERE {where}"
_ROWS = f"""
    SELECT d.id, coalesce(nullif(d.title, ''), d.file_name), d.doc_type, d.provider, d.entity,
        d.project_code, d.confidentiality_level, d.date_received, d.invoice_date, d.service_date,
        d.due_date, d.amount_gross, d.currency
    {_FROM}
    ORDER BY d.{{order}} {{direction}} NULLS LAST, d.id {{direction}}
    LIMIT %(limit)s OFFSET %(offset)s
"""
_TOTAL = f"SELECT count(*) {_FROM}"


def query_documents(database: Database, scope: Scope, asked: DocumentQuery) -> DocumentPage:
    """The documents that match, behind the walls of the scope.

    Raises ScopeError for an entity or project outside it, UnknownListAxis, ValueError for a limit
    outside 1 to MOST_ROWS or a negative offset.
    """
    if not 1 <= asked.limit <= MOST_ROWS or asked.offset < 0:
        raise ValueError(f"limit is 1 to {MOST_ROWS}, offset not negative")
    with _asking(database, scope, asked) as (connection, where, values):
        total = connection.execute(_TOTAL.format(where=where).encode(), values).fetchone()
        rows = connection.execute(_rows(where, asked), values).fetchall()
    assert total is not None
    return DocumentPage(
        tuple(ListedDocument(*row) for row in rows),
        total=total[0],
        complete=asked.offset + len(rows) >= total[0],
    )


def every_document(
    database: Database, scope: Scope, asked: DocumentQuery
) -> Iterator[ListedDocument]:
    """The documents that match, one by one, as many as `limit` says; read in parts by the server.

    Raises as `query_documents`, for the limit too only when it is below 1.
    """
    if asked.limit < 1 or asked.offset < 0:
        raise ValueError("limit is 1 or more, offset not negative")
    with (
        _asking(database, scope, asked) as (connection, where, values),
        connection.cursor(name="documents") as cursor,
    ):
        cursor.itersize = MOST_ROWS
        cursor.execute(_rows(where, asked), values)
        for row in cursor:
            yield ListedDocument(*row)


@contextmanager
def _asking(
    database: Database, scope: Scope, asked: DocumentQuery
) -> Iterator[tuple[Connection, str, dict[str, object]]]:
    """A reader's connection with the condition of the question and its values."""
    narrow = scope.narrow(entity=asked.entity, project_code=asked.project_code)
    values: dict[str, object] = {
        "mandant_id": narrow.mandant_id,
        "document_id": narrow.context_doc_id,
        "doc_type": asked.doc_type,
        "provider": asked.provider,
        "amount_from": asked.amount_from,
        "amount_to": asked.amount_to,
        "currency": asked.currency,
    }
    wanted = ["d.state = 'active'", *(_CONDITIONS[k] for k, v in values.items() if v is not None)]
    with database.reading(narrow) as connection:
        periods = [period for period in (asked.period, narrow.period) if period is not None]
        wanted += [_period(connection, period, values) for period in periods]
        values |= {"limit": asked.limit, "offset": asked.offset}
        yield connection, " AND ".join(wanted), values


def _rows(where: str, asked: DocumentQuery) -> bytes:
    direction = "DESC" if asked.descending else "ASC"
    return _ROWS.format(where=where, order=asked.order, direction=direction).encode()


def _period(connection: Connection, period: Period, values: dict[str, object]) -> str:
    """The condition of a period; days of receipt are days in each tenant's own zone."""
    try:
        axis = ListAxis(period.axis)
    except ValueError:
        raise UnknownListAxis(f"{period.axis[:40]!r} is no date axis of the list") from None
    ways = []
    if axis is not ListAxis.DATE_RECEIVED:
        at = len(values)
        values |= {f"first{at}": period.first, f"last{at}": period.last}
        return (
            f"(d.{axis} >= coalesce(%(first{at})s::date, '-infinity')"
            f" AND d.{axis} <= coalesce(%(last{at})s::date, 'infinity'))"
        )
    zones = connection.execute(
        "SELECT timezone FROM mandanten UNION SELECT 'UTC' ORDER BY 1"
    ).fetchall()
    for (zone,) in zones:
        at = len(values)
        low, high = days_in_zone(period, zone)
        values |= {f"zone{at}": zone, f"low{at}": low, f"high{at}": high}
        ways.append(
            f"(coalesce(m.timezone, 'UTC') = %(zone{at})s"
            f" AND d.date_received >= coalesce(%(low{at})s::timestamptz, '-infinity')"
            f" AND d.date_received < coalesce(%(high{at})s::timestamptz, 'infinity'))"
        )
    return f"({' OR '.join(ways) or 'false'})"
