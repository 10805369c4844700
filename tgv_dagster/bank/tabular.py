"""Bank bookings that come as a table: rows the recogniser of tables has typed become the frame.

Here: sign columns, debit and credit, several accounts in one table, the running balance as proof in
both directions of sorting. Not here: dialects, columns and readings (the recogniser owns them), and
what is new (`importing`). The entity never comes from the table (FIN-07).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from itertools import pairwise

from tgv_dagster.bank.frame import (
    AccountRef,
    Balance,
    BankFile,
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
from tgv_dagster.understand import identifiers
from tgv_dagster.understand.identifiers import IdentifierKind

VERSION = "table-1"

_OUT = {"s", "soll", "d", "dr", "debit", "dbit", "débit", "lastschrift", "out", "-",
        "af", "dare", "addebito", "cargo", "debe"}  # fmt: skip
_IN = {"h", "haben", "c", "cr", "credit", "crdt", "crédit", "gutschrift", "in", "+",
       "bij", "avere", "accredito", "abono", "haber"}  # fmt: skip
_MARKS = (_OUT | _IN) - {"lastschrift", "gutschrift", "in", "out"}
"""Words that can only mark a side; the others may also name a kind of movement."""
_OUTGOING = {"ausgang", "ausgabe", "ausgaben", "abgang", "expense", "outgoing", "withdrawal",
             "dépense", "sortie", "out", "uscita", "salida", "gasto"}  # fmt: skip
_INCOMING = {"eingang", "einnahme", "einnahmen", "zugang", "income", "incoming", "deposit",
             "recette", "entrée", "in", "entrata", "ingreso"}  # fmt: skip
"""Words of direction: a sign where the amounts have none, else they may name a category."""
_OF_KINDS = _OUTGOING | {"lastschrift", "abbuchung", "belastung", "prélèvement", "addebito"}
_OPENING = (
    *(
        "anfangssaldo",
        "alter saldo",
        "beginning balance",
        "starting balance",
        "alter kontostand",
        "letzter kontostand",
        "saldo alt",
        "alter kontostand",
        "opening balance",
    ),
    *("balance brought forward", "solde initial", "ancien solde", "solde précédent"),
)
_CLOSING = (
    *(
        "endsaldo",
        "neuer saldo",
        "ending balance",
        "neuer kontostand",
        "saldo neu",
        "neuer kontostand",
        "closing balance",
    ),
    *("balance carried forward", "solde final", "nouveau solde"),
)
_NO_REFERENCE = {"NOTPROVIDED", "NOT PROVIDED", "NONREF", "NICHT ANGEGEBEN", "NON FOURNI"}
_PENDING = {"pending", "vorgemerkt", "vormerkung", "en attente", "en cours", "reserviert"}


@dataclass(frozen=True, slots=True)
class TableRow:
    """One typed row with its raw text. `amount` carries its own sign unless `sign` tells it;
    `debit` and `credit` are sizes in two columns. `fee` is a charge in a column of its own.
    `fault` is why the row cannot be judged; it stops the file."""

    first_line: int
    last_line: int
    raw: str
    booking_date: date | None
    value_date: date | None = None
    amount: Decimal | None = None
    debit: Decimal | None = None
    credit: Decimal | None = None
    sign: str | None = None
    currency: str | None = None
    purpose: str = ""
    counterparty_name: str | None = None
    counterparty_iban: str | None = None
    account: str | None = None
    balance: Decimal | None = None
    status: str | None = None
    bank_reference: str | None = None
    fee: Decimal | None = None
    reversal: bool = False
    fault: str | None = None


def table_file(
    rows: Sequence[TableRow],
    *,
    variant: str,
    account: AccountRef | None = None,
    currency: str | None = None,
    stated_currency: str | None = None,
    fault: str | None = None,
) -> BankFile:
    """The rows as a bank file; a row that is no booking is refused, never dropped.

    `account` and `currency` hold where the rows name none: from the preamble, or from a person.
    `stated_currency` is what the column of amounts says itself; a row of another one is refused.
    Rows that state the opening or closing balance are its proof and no bookings. `fault` is what
    whoever read the table found wrong with it; it stops the file.
    """
    rows, stated = _apart(rows)
    lines: dict[str, list[tuple[Line, TableRow]]] = {}
    owners: dict[str, AccountRef] = {}
    refusals: list[Refusal] = []
    for number, row in enumerate(rows):
        owner = _owner(row, account)
        place = Place(row.first_line, row.last_line)
        try:
            line = _line(number, row, currency, place)
            if stated_currency and line.currency != stated_currency:
                raise _Unreadable(f"its currency is not the {stated_currency} of the amounts")
        except _Unreadable as error:
            refusals.append(Refusal(number, str(error), row.raw, place))
            continue
        key = owner.key or ""
        owners.setdefault(key, owner)
        lines.setdefault(key, []).append((line, row))
    return BankFile(
        format=Format.TABLE,
        variant=variant,
        parser_version=VERSION,
        entries=len(rows),
        statements=tuple(
            _with_stated(
                _statement(owners[key], found, fault),
                [(o, r) for o, r in stated if len(lines) == 1 or _owner(r, account).key == key],
                currency,
            )
            for key, found in lines.items()
        ),
        refusals=tuple(refusals),
    )


def account_named(text: str) -> AccountRef | None:
    """The one IBAN that a preamble or a file name states; None when there is none or several."""
    found = {
        identifier.value.upper()
        for identifier in identifiers.find(text)
        if identifier.kind is IdentifierKind.IBAN
    }
    return AccountRef(found.pop(), None) if len(found) == 1 else None


class _Unreadable(Exception):
    """This row is no booking."""


def _owner(row: TableRow, account: AccountRef | None) -> AccountRef:
    named = "".join((row.account or "").split()).upper()
    if not named:
        return account or AccountRef(None, None)
    if re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", named):
        return AccountRef(named, None)
    # A number of its own says less than the IBAN above the table that ends with it.
    if account is not None and account.iban and account.iban.endswith(named.zfill(10)[-10:]):
        return account
    return AccountRef(None, named)


def _line(number: int, row: TableRow, currency: str | None, place: Place) -> Line:
    day = row.booking_date or row.value_date
    if row.fault is not None:
        raise _Unreadable(row.fault)
    if day is None:
        raise _Unreadable("it has no day")
    unit = (row.currency or currency or "").strip().upper()
    if not re.fullmatch(r"[A-Z]{3}", unit):
        raise _Unreadable("it names no currency")
    amount = _amount(row)
    if amount != round(amount, 2):
        raise _Unreadable("its amount has more than two decimals")
    iban = "".join((row.counterparty_iban or "").split()).upper()
    return Line(
        entry=number,
        part=0,
        booking_date=day,
        value_date=row.value_date,
        amount=amount.quantize(Decimal("0.01")),
        currency=unit,
        purpose=" ".join(row.purpose.split()),
        counterparty_name=row.counterparty_name,
        counterparty_iban=iban or None,
        references=References(bank=row.bank_reference),
        status=Status.PENDING if (row.status or "").strip().lower() in _PENDING else Status.BOOKED,
        reversal=row.reversal,
        identity=_identity(row),
        raw=row.raw,
        place=place,
        notes=() if row.booking_date else ("the value day stands for the missing booking day",),
    )


def _identity(row: TableRow) -> Identity:
    """Texts of the row, not its layout: a bank that adds a column does not book again."""
    reference = (row.bank_reference or "").strip()
    if len(reference) > 5 and reference.upper() not in _NO_REFERENCE:
        return Identity(IdentityKind.BANK_ID, reference)
    told = (row.purpose, row.counterparty_name or "", row.counterparty_iban or "")
    return Identity(IdentityKind.CONTENT, "|".join(told))


def _amount(row: TableRow) -> Decimal:
    if row.amount is None:
        sides = [abs(value) for value in (row.debit, row.credit) if value]
        if len(sides) > 1:
            raise _Unreadable("it has both a debit and a credit")
        if row.debit is None and row.credit is None:
            raise _Unreadable("it has no amount")
        return abs(row.credit or Decimal(0)) - abs(row.debit or Decimal(0))
    if row.sign is None or not row.sign.strip():
        return row.amount
    if (signed := marked(row.amount, row.sign)) is None:
        raise _Unreadable("its sign column says neither in nor out")
    return signed


def marked(size: Decimal, mark: str) -> Decimal | None:
    """A size with the sign that a mark of debit or credit gives it; None for any other word."""
    word = mark.strip().lower()
    if word in _OUT | _OUTGOING:
        return -abs(size)
    return abs(size) if word in _IN | _INCOMING else None


def is_outgoing(mark: str) -> bool:
    """Whether a cell marks a debit."""
    return mark.strip().lower() in _OUT


def are_directions(cells: Iterable[str]) -> bool:
    """Whether every filled cell says that money goes out or comes in, and one does."""
    filled = {cell.strip().lower() for cell in cells} - {""}
    return bool(filled) and filled <= _OUTGOING | _INCOMING


def says_outgoing(cell: str) -> bool:
    """Whether a cell holds a word of money that goes out."""
    return not _OF_KINDS.isdisjoint(re.split(r"[\W\d_]+", cell.lower()))


def are_sign_marks(cells: Iterable[str]) -> bool:
    """Whether every filled cell is a mark of debit or credit, S, H, Soll, Haben …, and one is."""
    filled = {cell.strip().lower() for cell in cells} - {""}
    return bool(filled) and filled <= _MARKS


def _apart(rows: Sequence[TableRow]) -> tuple[list[TableRow], list[tuple[bool, TableRow]]]:
    """Bookings, and rows that state a balance (True: the opening one)."""
    bookings: list[TableRow] = []
    stated: list[tuple[bool, TableRow]] = []
    for row in rows:
        said = _stated_balance(row)
        if said is None:
            bookings.append(row)
        else:
            stated.append((said.startswith(_OPENING), row))
    return bookings, stated


def _stated_balance(row: TableRow) -> str | None:
    """The words of a balance, in whatever column, where the row says nothing else about itself."""
    texts = [row.purpose, row.counterparty_name or ""]
    told = [text.strip(" :").lower() for text in texts if text.strip()]
    if len(told) > 1 or any(not text.startswith((*_OPENING, *_CLOSING)) for text in told):
        return None
    others = (row.bank_reference or "", *row.raw.split(" | "))
    cells = told or [cell.strip(" :").lower() for cell in others]
    return next((cell for cell in cells if cell.startswith((*_OPENING, *_CLOSING))), None)


def _with_stated(
    statement: Statement,
    stated: list[tuple[bool, TableRow]],
    currency: str | None,
) -> Statement:
    """The balances that rows of this account state, where no running balance gave them."""
    found: dict[bool, Balance] = {}
    for is_opening, row in stated:
        day = row.booking_date or row.value_date
        try:
            amount = _amount(row)
        except _Unreadable:
            amount = row.balance
        if day is not None and amount is not None:
            found[is_opening] = Balance(amount, day, (row.currency or currency or "").upper())
    return replace(
        statement,
        opening=statement.opening or found.get(True),
        closing=statement.closing or found.get(False),
    )


def _statement(
    account: AccountRef, found: list[tuple[Line, TableRow]], stopping: str | None
) -> Statement:
    booked = [(line, row) for line, row in found if line.status is Status.BOOKED]
    days = [line.booking_date for line, _ in found]
    opening, closing, order, fault = _with_reversals(booked, _balances(booked))
    if any(row.fee for _, row in booked):
        opening, closing, order, fault = _with_fees(booked, (opening, closing, order, fault))
    pending = [line for line, _ in found if line.status is Status.PENDING]
    return Statement(
        kind=Kind.STATEMENT,
        account=account,
        number=None,
        opening=opening,
        closing=closing,
        lines=(*(line for line, _ in order), *pending),
        first_day=min(days),
        last_day=max(days),
        faults=tuple(one for one in (fault, stopping) if one),
    )


_Rows = list[tuple[Line, TableRow]]


def _balances(booked: _Rows) -> tuple[Balance | None, Balance | None, _Rows, str | None]:
    """Opening and closing out of a running balance, with the rows oldest first.

    A balance in every row has to follow from row to row in one of the two directions; this finds
    wrong decimals, lost rows and turned signs better than anything else.
    """
    oldest_first = booked if not booked or booked[0][0].booking_date <= booked[-1][0].booking_date \
        else booked[::-1]  # fmt: skip
    if not booked or any(row.balance is None for _, row in booked):
        return None, None, oldest_first, None
    for rows in (booked, booked[::-1]):
        if _follows(rows):
            first, last = rows[0], rows[-1]
            begin = (first[1].balance or Decimal(0)) - first[0].amount
            unit = first[0].currency
            opening = Balance(begin, first[0].booking_date, unit)
            closing = Balance(last[1].balance or Decimal(0), last[0].booking_date, unit)
            return opening, closing, rows, None
    return None, None, oldest_first, "the running balance does not follow from row to row"


_Proof = tuple[Balance | None, Balance | None, _Rows, str | None]


def _with_fees(booked: _Rows, without: _Proof) -> _Proof:
    """Whether charges in a column of their own come on top of the amounts: the balance tells."""
    if without[0] is not None:
        return without
    charged = [
        (replace(line, amount=line.amount - abs(row.fee or Decimal(0))), row)
        for line, row in booked
    ]
    found = _balances(charged)
    if found[0] is not None:
        return found
    return (*without[:3], without[3] or "no balance tells whether the charges are in the amounts")


def _with_reversals(booked: _Rows, as_written: _Proof) -> _Proof:
    """Whether reversed lines carry the sign of their own movement or still the original's.

    The running balance tells; without one a line of the same amount that they cancel.
    """
    if as_written[0] is not None or not any(line.reversal for line, _ in booked):
        return as_written
    flipped = [
        (replace(line, amount=-line.amount, notes=(*line.notes, _FLIPPED)), row)
        if line.reversal
        else (line, row)
        for line, row in booked
    ]
    other = _balances(flipped)
    if other[0] is not None:
        return other
    if as_written[3] is not None or _all_cancel(booked) != _all_cancel(flipped):
        return other if as_written[3] is None and _all_cancel(flipped) else as_written
    return (*as_written[:3], "no balance tells the sign of the lines that are reversed")


_FLIPPED = "the sign of the reversal follows from the balances or the line it cancels"


def _all_cancel(rows: _Rows) -> bool:
    kept = {line.amount for line, _ in rows if not line.reversal}
    return all(-line.amount in kept for line, _ in rows if line.reversal)


def _follows(rows: _Rows) -> bool:
    days = [line.booking_date for line, _ in rows]
    if len(rows) > 1 and days[0] > days[-1]:
        return False
    return all(
        after[1].balance == (before[1].balance or Decimal(0)) + after[0].amount
        for before, after in pairwise(rows)
    )
