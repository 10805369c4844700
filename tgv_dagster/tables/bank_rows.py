"""A recognised bank table handed to the bank room, row by row with its typed fields.

Here: reading the mapped columns, and what stands above the table (account, currency). Signs, the
running balance, identity and everything after belong to `bank`. A row set aside while reading is
handed on without a day, so that the bank room refuses it: a bank file is booked wholly or not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal

import polars as pl

from tgv_dagster.bank.frame import BankFile
from tgv_dagster.bank.tabular import TableRow, account_named, are_sign_marks, table_file
from tgv_dagster.tables.lexicon import normal_label
from tgv_dagster.tables.mapping import TableMapping
from tgv_dagster.tables.model import RawTable, SetAside
from tgv_dagster.tables.reading.columns import typed
from tgv_dagster.tables.rows import column_of

_CURRENCY = re.compile(r"\b(?:EUR|CHF|USD|GBP|CZK|PLN|HUF|SEK|DKK|NOK)\b|€|\$|£")
_SIGNS = {"€": "EUR", "$": "USD", "£": "GBP", "Euro": "EUR", "Fr.": "CHF"}
_PENDING = ("vorgemerkt", "vormerkung", "pending", "nicht gebucht", "en attente", "en cours")
_UNBOOKED = ("reverted", "declined", "storniert vor buchung")
_TEXTS = ("counterparty_name", "counterparty_iban", "account", "bank_reference", "currency", "sign")
_AMOUNTS = ("amount", "debit", "credit", "balance")
_HEAD = 64
_DAYS = ("booking_date", "value_date")


def bank_file(
    table: RawTable, mapping: TableMapping, *, known_currency: str | None = None
) -> BankFile:
    """The table as the bank room's frame.

    `known_currency` is that of the tenant's accounts, for files that name none. An account that
    neither the rows nor the lines above them name stays unnamed; the import then refuses the file.
    """
    values = {
        field: typed(table, column_of(table, mapping, label)).to_list()
        for field, label in mapping.fields.items()
    }
    raw = {
        field: table.column(label).str.strip_chars().to_list()
        for field, label in mapping.fields.items()
    }
    rows = [
        _row(
            table,
            number,
            {field: column[number] for field, column in raw.items()},
            {field: column[number] for field, column in values.items()},
        )
        for number in range(table.height)
    ]
    rows += [
        TableRow(aside.first_line, aside.last_line, aside.raw, None)
        for aside in table.aside
        if aside.reason is not SetAside.FOOTER
    ]
    return table_file(
        rows,
        variant="table",
        account=account_named("\n".join(table.preamble)),
        currency=_currency(table, mapping) or known_currency,
        fault=_unused_marks(table, mapping),
    )


def holds_sign_marks(cells: pl.Series) -> bool:
    """Whether a column marks debit and credit; only distinct cells are looked at."""
    head = [cell for cell in cells.head(_HEAD) if cell.strip()]
    return (not head or are_sign_marks(head)) and are_sign_marks(cells.unique())


def _unused_marks(table: RawTable, mapping: TableMapping) -> str | None:
    """A column of nothing but marks of debit and credit that nobody mapped: signs would be lost."""
    if "sign" in mapping.fields or "debit" in mapping.fields:
        return None
    unused = [label for label in table.labels if label not in mapping.fields.values()]
    for label in unused:
        if holds_sign_marks(table.column(label)):
            return f"column {label!r} marks debit and credit and is not used"
    return None


def _row(
    table: RawTable, number: int, cells: Mapping[str, str], values: Mapping[str, object]
) -> TableRow:
    days = {field: _day(values.get(field)) for field in _DAYS}
    amounts = {field: _amount(values.get(field)) for field in _AMOUNTS}
    if any(cells.get(f) and found is None for f, found in (days | amounts).items()):
        # A filled cell that does not fit its reading: without a day the bank room refuses the row.
        days = dict.fromkeys(_DAYS)
    texts = {field: cells.get(field) or None for field in _TEXTS}
    return TableRow(
        first_line=int(table.first_lines[number]),
        last_line=int(table.last_lines[number]),
        raw=" | ".join(table.raw_row(number)),
        purpose=cells.get("purpose", ""),
        status="pending" if _is_pending(cells.get("status", "")) else None,
        booking_date=days["booking_date"],
        value_date=days["value_date"],
        amount=amounts["amount"],
        debit=amounts["debit"],
        credit=amounts["credit"],
        balance=amounts["balance"],
        currency=texts["currency"],
        sign=texts["sign"],
        counterparty_name=texts["counterparty_name"],
        counterparty_iban=texts["counterparty_iban"],
        account=texts["account"],
        bank_reference=texts["bank_reference"],
    )


def _day(value: object) -> date | None:
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else None


def _amount(value: object) -> Decimal | None:
    return value if isinstance(value, Decimal) else None


def _is_pending(status: str) -> bool:
    told = normal_label(status)
    return any(word in told for word in (*_PENDING, *_UNBOOKED))


def _currency(table: RawTable, mapping: TableMapping) -> str | None:
    """The currency in the label or the cells of the amount, or above the table."""
    for field in ("amount", "debit", "credit"):
        label = mapping.fields.get(field)
        if label is None:
            continue
        unit = column_of(table, mapping, label).unit
        found = _CURRENCY.search(label) or _CURRENCY.search(_SIGNS.get(unit, unit))
        if found:
            return _SIGNS.get(found.group(), found.group())
    named = {m.group() for line in table.preamble for m in _CURRENCY.finditer(line)}
    named = {_SIGNS.get(name, name) for name in named}
    return named.pop() if len(named) == 1 else None
