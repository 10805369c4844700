"""A recognised bank table as the neutral frame of the bank room, which alone books it.

Signs, running balance, pending lines and the account are read here; identity, overlap, balances
across statements and locks belong to `bank`. A row that cannot be read whole is a refusal, and a
refusal stops the import: a bank file is booked wholly or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise

import polars as pl

from tgv_dagster.bank.frame import (
    AccountRef,
    Balance,
    BankFile,
    BankFileError,
    Format,
    Identity,
    IdentityKind,
    Kind,
    Line,
    Place,
    References,
    Refusal,
    Statement,
    Status,
)
from tgv_dagster.tables.lexicon import normal_label
from tgv_dagster.tables.mapping import TableMapping
from tgv_dagster.tables.model import RawTable
from tgv_dagster.tables.reading.columns import typed
from tgv_dagster.tables.rows import column_of

VERSION = "1"
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{2,4}){3,8}\b")
_CURRENCY = re.compile(r"\b(EUR|CHF|USD|GBP|CZK|PLN|HUF|SEK|DKK|NOK)\b|(€)|(\$)|(£)")
_SIGNS = {"€": "EUR", "$": "USD", "£": "GBP", "Euro": "EUR", "Fr.": "CHF"}
_OUT = frozenset(("s", "soll", "d", "debit", "dr", "af", "debet", "lastschrift", "debit dbit"))
_IN = frozenset(("h", "haben", "c", "credit", "cr", "bij", "gutschrift"))
_PENDING = ("vorgemerkt", "pending", "nicht gebucht", "en attente", "reverted", "declined")
_MEASURED = ("booking_date", "value_date", "amount", "debit", "credit", "balance")


def bank_file(
    table: RawTable, mapping: TableMapping, *, known_currency: str | None = None
) -> BankFile:
    """The table as statements, one per account it names.

    `known_currency` is that of the account master, for files that name none. Raises BankFileError
    when no account or no currency can be found; a guess would book on somebody else's account.
    """
    values = {
        field: typed(table, column_of(table, mapping, label)).to_list()
        for field, label in mapping.fields.items()
    }
    raw = {
        field: table.column(label).str.strip_chars().to_list()
        for field, label in mapping.fields.items()
    }
    account = _account(table, mapping)
    currency = _currency(table, mapping) or known_currency
    lines: dict[AccountRef, list[Line]] = {}
    balances: dict[AccountRef, list[tuple[Line, Decimal]]] = {}
    refusals: list[Refusal] = []
    for row in range(table.height):
        place = Place(int(table.first_lines[row]), int(table.last_lines[row]))
        cells = {field: column[row] for field, column in raw.items()}
        try:
            typed_cells = {field: column[row] for field, column in values.items()}
            line = _line(row, cells, typed_cells, currency, place, table.raw_row(row))
        except _Unfit as unfit:
            text = " | ".join(table.raw_row(row))
            refusals.append(Refusal(row, str(unfit), text, place))
            continue
        owner = account or _named_account(cells.get("account", ""))
        lines.setdefault(owner, []).append(line)
        balance = values["balance"][row] if "balance" in values else None
        if isinstance(balance, Decimal) and line.status is Status.BOOKED:
            balances.setdefault(owner, []).append((line, balance))
    for number, aside in enumerate(table.aside, start=table.height):
        if aside.reason != "footer":
            place = Place(aside.first_line, aside.last_line)
            refusals.append(Refusal(number, str(aside.reason), aside.raw, place))
    statements = tuple(_statement(a, found, balances.get(a, [])) for a, found in lines.items())
    entries = table.height + sum(aside.reason != "footer" for aside in table.aside)
    return BankFile(Format.TABLE, "table", VERSION, entries, statements, tuple(refusals))


class _Unfit(Exception):
    """A row cannot be read whole."""


def _line(
    row: int,
    cells: Mapping[str, str],
    values: Mapping[str, object],
    currency: str | None,
    place: Place,
    raw: tuple[str, ...],
) -> Line:
    for field in _MEASURED:
        if cells.get(field) and values.get(field) is None:
            raise _Unfit(f"the cell of {field} does not fit its reading")
    booked = _day(values.get("booking_date")) or _day(values.get("value_date"))
    if booked is None:
        raise _Unfit("no day")
    own = cells.get("currency", "") or currency
    if not own or not re.fullmatch(r"[A-Z]{3}", own):
        raise BankFileError("The table names no currency, and its account is not known.")
    purpose = " ".join(cells.get("purpose", "").split())
    identity = "|".join(
        cells.get(f, "")
        for f in ("value_date", "purpose", "counterparty_iban", "counterparty_name")
    )
    return Line(
        entry=row,
        part=0,
        booking_date=booked,
        value_date=_day(values.get("value_date")),
        amount=_amount(cells, values),
        currency=own,
        purpose=purpose,
        counterparty_name=cells.get("counterparty_name") or None,
        counterparty_iban=cells.get("counterparty_iban", "").replace(" ", "") or None,
        references=References(bank=cells.get("bank_reference") or None),
        status=Status.PENDING if _is_pending(cells) else Status.BOOKED,
        reversal=False,
        identity=Identity(IdentityKind.CONTENT, identity),
        raw=" | ".join(raw),
        place=place,
    )


def _amount(cells: Mapping[str, str], values: Mapping[str, object]) -> Decimal:
    """Signed, money in is positive; a mark of debit or credit decides over a bare amount."""
    amount = values.get("amount")
    if isinstance(amount, Decimal):
        mark = normal_label(cells.get("sign", ""))
        if not cells.get("sign"):
            return amount
        if mark in _OUT:
            return -abs(amount)
        if mark in _IN:
            return abs(amount)
        raise _Unfit("the mark of debit or credit is unknown")
    debit, credit = values.get("debit"), values.get("credit")
    if isinstance(debit, Decimal) and isinstance(credit, Decimal) and debit and credit:
        raise _Unfit("both debit and credit are given")
    if isinstance(debit, Decimal) and (debit or not isinstance(credit, Decimal)):
        return -abs(debit)
    if isinstance(credit, Decimal):
        return credit
    raise _Unfit("no amount")


def _day(value: object) -> date | None:
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else None


def _is_pending(cells: Mapping[str, str]) -> bool:
    status = normal_label(cells.get("status", ""))
    return any(word in status for word in _PENDING)


def _account(table: RawTable, mapping: TableMapping) -> AccountRef | None:
    """The account above the table, None when a column names it. Raises BankFileError."""
    if "account" in mapping.fields:
        return None
    found = {m.group().replace(" ", "") for line in table.preamble for m in _IBAN.finditer(line)}
    if len(found) != 1:
        raise BankFileError("The table names no account, or several.")
    return AccountRef(iban=found.pop(), number=None)


def _named_account(cell: str) -> AccountRef:
    match = _IBAN.search(cell)
    if match:
        return AccountRef(iban=match.group().replace(" ", ""), number=None)
    if not cell.strip():
        raise BankFileError("A line of the table names no account.")
    return AccountRef(iban=None, number=cell.strip())


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
    return _SIGNS.get(next(iter(named)), next(iter(named))) if len(named) == 1 else None


def _statement(
    account: AccountRef, lines: list[Line], balances: list[tuple[Line, Decimal]]
) -> Statement:
    """Lines oldest first; a running balance must hold between all of them."""
    newest_first = len(lines) > 1 and lines[0].booking_date > lines[-1].booking_date
    booked = [line for line in lines if line.status is Status.BOOKED]
    opening = closing = None
    faults: tuple[str, ...] = ()
    if booked and len(balances) == len(booked):
        upwards = _runs(balances)
        downwards = _runs(balances[::-1])
        if upwards or downwards:
            ordered = balances if upwards else balances[::-1]
            newest_first = not upwards
            (first, start), (last, end) = ordered[0], ordered[-1]
            opening = Balance(start - first.amount, first.booking_date, first.currency)
            closing = Balance(end, last.booking_date, last.currency)
        else:
            faults = ("the running balance does not follow from the amounts",)
    days = pl.Series([line.booking_date for line in lines])
    return Statement(
        kind=Kind.STATEMENT,
        account=account,
        number=None,
        opening=opening,
        closing=closing,
        lines=tuple(lines[::-1] if newest_first else lines),
        first_day=days.min() if len(days) else None,  # pyright: ignore[reportArgumentType]
        last_day=days.max() if len(days) else None,  # pyright: ignore[reportArgumentType]
        faults=faults,
    )


def _runs(balances: list[tuple[Line, Decimal]]) -> bool:
    return all(before[1] + after[0].amount == after[1] for before, after in pairwise(balances))
