"""A recognised bank table handed to the bank room, row by row with its typed fields.

Here: reading the mapped columns, and what stands above the table (account, currency). Signs, the
running balance, identity and everything after belong to `bank`. A row set aside while reading is
handed on without a day, so that the bank room refuses it: a bank file is booked wholly or not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal

from tgv_dagster.bank.frame import BankFile
from tgv_dagster.bank.tabular import TableRow, account_named, marked, table_file
from tgv_dagster.tables.bank_columns import State, affirms, state_of, tells_outgoing, unused
from tgv_dagster.tables.lexicon import says_no_day
from tgv_dagster.tables.mapping import TableMapping
from tgv_dagster.tables.model import RawTable, SetAside
from tgv_dagster.tables.reading.columns import typed
from tgv_dagster.tables.rows import column_of

_CURRENCY = re.compile(
    r"\b(?:EUR|CHF|USD|GBP|CZK|PLN|HUF|SEK|DKK|NOK|INR|JPY|CAD|AUD|TRY|RON|BGN)\b|€|\$|£"
)
_SIGNS = {"€": "EUR", "$": "USD", "£": "GBP", "Euro": "EUR", "Fr.": "CHF"}
_TEXTS = ("counterparty_iban", "account", "bank_reference", "currency", "sign")
_AMOUNTS = ("amount", "inflow", "outflow", "debit", "credit", "balance", "fee")
_WITHOUT_SIGN_ROWS = 3
_RECEIVED = re.compile(
    r"zahlung (?:dankend )?erhalten|zahlungseingang|payment received|payment[ ,-]+thank you"
    r"|thank you.{0,12}payment|paiement (?:reçu|recu)|pagamento ricevuto|pago recibido",
    re.IGNORECASE,
)
_NO_BOOKINGS = (SetAside.FOOTER, SetAside.SUM, SetAside.HIDDEN)
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
    rows = _with_days_for_pending(rows)
    stated = _currency(table, mapping)
    rows += [
        TableRow(aside.first_line, aside.last_line, aside.raw, None)
        for aside in table.aside
        if aside.reason not in _NO_BOOKINGS
    ]
    return table_file(
        rows,
        variant="table",
        account=account_named("\n".join(table.preamble)),
        currency=stated or known_currency,
        stated_currency=stated,
        fault=unused(table, mapping.fields) or _signless(rows, table, mapping),
    )


def _with_days_for_pending(rows: list[TableRow]) -> list[TableRow]:
    """What is not booked has no day yet: the last day of the file stands for it."""
    known = [day for row in rows if (day := row.booking_date or row.value_date)]
    if not known:
        return rows
    return [
        replace(row, booking_date=max(known))
        if row.status and not (row.booking_date or row.value_date)
        else row
        for row in rows
    ]


def _signless(rows: list[TableRow], table: RawTable, mapping: TableMapping) -> str | None:
    """Amounts of one column that never are below nothing may be sizes, or those of a card."""
    if "amount" not in mapping.fields or {"sign", "debit", "balance"} & set(mapping.fields):
        return None
    amounts = [row.amount for row in rows if row.amount]
    if any((row.amount or 0) < 0 and _RECEIVED.search(row.purpose) for row in rows):
        return (
            f"payments received have a minus in {mapping.fields['amount']!r}, so its signs are"
            " those of a card: correct the column to outflow"
        )
    if not amounts or min(amounts) < 0:
        return None
    if len(amounts) < _WITHOUT_SIGN_ROWS and not tells_outgoing(table, mapping.fields):
        return None
    return (
        f"no amount in {mapping.fields['amount']!r} has a minus and no balance tells the direction:"
        " correct the column to inflow or outflow"
    )


def _row(
    table: RawTable, number: int, cells: Mapping[str, str], values: Mapping[str, object]
) -> TableRow:
    days = {field: _day(values.get(field)) for field in _DAYS}
    amounts = {field: _amount(values.get(field)) for field in _AMOUNTS}
    no_day = {field: says_no_day(cells.get(field, "")) for field in _DAYS}
    if any(
        cells.get(f) and found is None and not no_day.get(f)
        for f, found in (days | amounts).items()
    ):
        # A filled cell that does not fit its reading: without a day the bank room refuses the row.
        days = dict.fromkeys(_DAYS)
    if amounts["amount"] is None:
        # A person said which way these amounts go; of a card what is positive is spent.
        out = amounts["outflow"]
        amounts["amount"] = amounts["inflow"] if out is None else -out
    fault = None
    if amounts["balance"] is not None and cells.get("balance_sign"):
        amounts["balance"] = marked(amounts["balance"], cells["balance_sign"])
        if amounts["balance"] is None:
            fault = "the mark of its balance says neither debit nor credit"
    texts = {field: cells.get(field) or None for field in _TEXTS}
    state = state_of(cells.get("status", ""))
    if (
        state is State.BOOKED
        and no_day["booking_date"]
        and cells.get("booking_date", "").strip("-–— ")
    ):
        state = State.PENDING
    if state is State.UNKNOWN:
        fault = f"its state {cells['status']!r} is unknown"
    return TableRow(
        first_line=int(table.first_lines[number]),
        last_line=int(table.last_lines[number]),
        raw=" | ".join(table.raw_row(number)),
        purpose=cells.get("purpose", ""),
        status=None if state is State.BOOKED else "pending",
        fault=fault,
        reversal=affirms(cells.get("reversal", "")),
        booking_date=days["booking_date"],
        value_date=days["value_date"],
        amount=amounts["amount"],
        debit=amounts["debit"],
        credit=amounts["credit"],
        balance=amounts["balance"],
        fee=amounts["fee"],
        currency=texts["currency"],
        sign=texts["sign"],
        counterparty_name=_other_side(cells, amounts),
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


def _other_side(cells: Mapping[str, str], amounts: Mapping[str, Decimal | None]) -> str | None:
    """Who is not us: of payer and payee the one the money comes from or goes to."""
    if "payer" not in cells:
        return cells.get("counterparty_name") or None
    out = bool(amounts["debit"]) or (amounts["amount"] or Decimal(0)) < 0
    return cells.get("payee" if out else "payer") or None


def _currency(table: RawTable, mapping: TableMapping) -> str | None:
    """The currency in the label or the cells of the amount, or above the table."""
    for field in ("amount", "inflow", "outflow", "debit", "credit"):
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
