"""OFX 1 (SGML with missing end tags), OFX 2 (XML) and QFX: cash accounts and credit cards.

One scan over the tags serves all versions: an element with text is a leaf, whether it is closed or
not. Securities are no bookings: what moves only positions is told as a note. Days are those the
bank wrote, in its own zone (OFX 2.2, section 3.2.8).
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from tgv_dagster.arrive.decoding import decode
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

VERSION = "ofx-1"

_TOKEN = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9_.]*)\s*(/?)>([^<]*)")
_STATEMENTS = ("STMTRS", "CCSTMTRS", "INVSTMTRS")
_ACCOUNTS = ("BANKACCTFROM", "CCACCTFROM", "INVACCTFROM")
_BOOKING = "STMTTRN"
_DEBITS = ("DEBIT", "DIRECTDEBIT", "ATM", "CHECK")
_PARTY_ACCOUNTS = ("BANKACCTTO", "CCACCTTO", "PAYEE", "CURRENCY", "ORIGCURRENCY")
_POSITIONS = (
    *("BUYSTOCK", "SELLSTOCK", "BUYMF", "SELLMF", "REINVEST", "INCOME", "BUYDEBT", "SELLDEBT"),
    *("BUYOTHER", "SELLOTHER", "TRANSFER", "INVEXPENSE", "BUYOPT", "SELLOPT"),
)
_IBAN = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}")


def read_ofx(content: bytes) -> BankFile:
    """The statements of an OFX file. Raises BankFileError when there is no OFX in it, or the bank
    answered with an error instead of a statement."""
    text = decode(content).text
    begin = re.search(r"<OFX\s*>", text, re.IGNORECASE)
    if begin is None:
        raise BankFileError("the file holds no OFX element")
    if re.search(r"<!(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise BankFileError("OFX with a document type declaration is refused")
    scan = _Scan(text)
    for token in _TOKEN.finditer(text, begin.start()):
        scan.take(token)
    scan.finish()
    if not scan.statements:
        raise BankFileError(scan.no_statement())
    return BankFile(
        format=Format.OFX,
        variant="OFX 2" if "<?OFX" in text[: begin.start()].upper() else "OFX 1",
        parser_version=VERSION,
        entries=len(re.findall(r"<STMTTRN\s*>", text[begin.start() :], re.IGNORECASE)),
        statements=tuple(scan.statements),
        refusals=tuple(scan.refusals),
        notes=scan.notes(),
    )


class _Unreadable(Exception):
    """This one booking cannot become a line."""


@dataclass(slots=True)
class _Open:
    """The statement being read."""

    currency: str | None = None
    account: dict[str, str] = field(default_factory=dict)
    ledger: dict[str, str] = field(default_factory=dict)
    period: dict[str, str] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)


class _Scan:
    """Walks the tags once. A booking ends at its end tag, or where the next element of the list
    begins when the end tag is missing."""

    def __init__(self, text: str) -> None:
        self.statements: list[Statement] = []
        self.refusals: list[Refusal] = []
        self._breaks = [found.start() for found in re.finditer("\n", text)]
        self._text = text
        self._open: _Open | None = None
        self._booking: dict[str, str] | None = None
        self._begin = 0
        self._within: str | None = None
        self._entries = 0
        self._positions = 0
        self._pending = 0
        self._errors: list[str] = []

    def take(self, token: re.Match[str]) -> None:
        name, value = token[2].upper(), html.unescape(token[4]).strip()
        if token[1]:
            self._close(name, token.end() - len(token[4]))
        elif name in _STATEMENTS:
            self._end_statement(token.start())
            self._open = _Open()
        elif name == _BOOKING:
            self._end_booking(token.start())
            self._booking, self._begin, self._within = {}, token.start(), None
        elif name in ("LEDGERBAL", "AVAILBAL", "BANKTRANLIST", "BALLIST", *_ACCOUNTS):
            if name in ("LEDGERBAL", "AVAILBAL"):
                self._end_booking(token.start())
            self._within = name
        elif name in _PARTY_ACCOUNTS:
            self._within = name
        elif name in _POSITIONS:
            self._positions += 1
        elif name == "STMTTRNP":
            self._pending += 1
        elif value:
            self._leaf(name, value)

    def finish(self) -> None:
        self._end_statement(len(self._text))

    def no_statement(self) -> str:
        told = f" (the bank answered: {'; '.join(self._errors[:3])})" if self._errors else ""
        return f"the file holds no account statement{told}"

    def notes(self) -> tuple[str, ...]:
        counted = (
            (self._positions, "movements of securities are no bookings and were not read"),
            (self._pending, "movements that are not booked yet were not read"),
        )
        return tuple(f"{number} {told}" for number, told in counted if number)

    def _close(self, name: str, at: int) -> None:
        if name == _BOOKING:
            self._end_booking(at)
        elif name in _STATEMENTS:
            self._end_statement(at)
        elif name == self._within:
            self._within = None
        elif name == "BANKTRANLIST":
            self._end_booking(at)

    def _leaf(self, name: str, value: str) -> None:
        if self._booking is not None:
            inside = f"{self._within}." if self._within else ""
            self._booking.setdefault(f"{inside}{name}", value)
            return
        if name == "MESSAGE" and value.lower() != "success":
            self._errors.append(value)
        if self._open is None:
            return
        if name == "CURDEF":
            self._open.currency = value.upper()
        elif self._within in _ACCOUNTS:
            self._open.account.setdefault(name, value)
        elif self._within == "LEDGERBAL":
            self._open.ledger.setdefault(name, value)
        elif name in ("DTSTART", "DTEND"):
            self._open.period.setdefault(name, value)

    def _end_booking(self, at: int) -> None:
        found, self._booking, self._within = self._booking, None, None
        if found is None:
            return
        number = self._entries
        self._entries += 1
        raw = self._text[self._begin : at].strip()
        place = Place(self._line_of(self._begin), self._line_of(max(self._begin, at - 1)))
        try:
            if self._open is None:
                raise _Unreadable("it stands outside of any statement")
            self._open.lines.append(_line(number, found, self._open.currency, raw, place))
        except _Unreadable as error:
            self.refusals.append(Refusal(number, str(error), raw, place))

    def _end_statement(self, at: int) -> None:
        self._end_booking(at)
        done, self._open = self._open, None
        if done is None:
            return
        closing, faults = _closing(done)
        self.statements.append(
            Statement(
                kind=Kind.STATEMENT,
                account=_account(done),
                number=None,
                opening=None,
                closing=closing,
                lines=tuple(done.lines),
                first_day=_day(done.period.get("DTSTART", "")),
                last_day=_day(done.period.get("DTEND", "")),
                faults=(*faults, *_signless(done.lines)),
            )
        )

    def _line_of(self, offset: int) -> int:
        return bisect_right(self._breaks, offset - 1) + 1


def _account(done: _Open) -> AccountRef:
    number = "".join(done.account.get("ACCTID", "").split())
    iban = number.upper() if _IBAN.fullmatch(number.upper()) else None
    bank = done.account.get("BANKID") or done.account.get("BROKERID")
    return AccountRef(iban, None if iban else number or None, bank, done.currency)


def _signless(lines: Sequence[Line]) -> tuple[str, ...]:
    """Debits without a minus where nothing has one: the bank leaves the signs out."""
    if any(line.amount < 0 for line in lines) or not any(
        line.amount > 0 and (line.code or "").upper() in _DEBITS for line in lines
    ):
        return ()
    return ("it holds debits and no amount carries a minus, so the signs are missing",)


def _closing(done: _Open) -> tuple[Balance | None, tuple[str, ...]]:
    amount, day = done.ledger.get("BALAMT"), _day(done.ledger.get("DTASOF", ""))
    if amount is None or day is None or done.currency is None:
        return None, ()
    try:
        return Balance(_amount(amount), day, done.currency), ()
    except _Unreadable as error:
        return None, (f"ledger balance: {error}",)


def _line(number: int, found: dict[str, str], currency: str | None, raw: str, place: Place) -> Line:
    booked = _day(found.get("DTPOSTED", ""))
    if booked is None:
        raise _Unreadable("it has no readable day of posting")
    if "TRNAMT" not in found:
        raise _Unreadable("it has no amount")
    currency = found.get("CURRENCY.CURSYM", currency)
    if currency is None:
        raise _Unreadable("its statement names no currency")
    if "CORRECTACTION" in found:
        raise _Unreadable(
            "it replaces or deletes another booking; correct that one by hand and hand in the rest"
        )
    counter = "".join(found.get("BANKACCTTO.ACCTID", "").split()).upper()
    return Line(
        entry=number,
        part=0,
        booking_date=booked,
        value_date=_day(found.get("DTAVAIL", "")),
        amount=_amount(found["TRNAMT"]),
        currency=currency.upper(),
        purpose=" ".join(found.get("MEMO", "").split()),
        counterparty_name=found.get("NAME") or found.get("PAYEE.NAME"),
        counterparty_iban=counter if _IBAN.fullmatch(counter) else None,
        references=References(
            customer=found.get("REFNUM") or found.get("CHECKNUM"), bank=found.get("FITID")
        ),
        status=Status.BOOKED,
        reversal=False,
        identity=_identity(found),
        raw=raw,
        place=place,
        code=found.get("TRNTYPE"),
    )


def _identity(found: dict[str, str]) -> Identity:
    """FITID may be empty, repeated or constant; the key adds day, amount and a counter to it."""
    fitid = found.get("FITID", "")
    if fitid.strip("0 "):
        return Identity(IdentityKind.BANK_ID, fitid)
    return Identity(
        IdentityKind.CONTENT, "|".join(f"{name}={found[name]}" for name in sorted(found))
    )


def _amount(text: str) -> Decimal:
    """A decimal with point or comma, one sign in front; grouping is not part of the format."""
    squeezed = text.replace(" ", "")
    if not re.fullmatch(r"[+-]?\d{0,15}(?:[.,]\d{0,6})?", squeezed) or not re.search(
        r"\d", squeezed
    ):
        raise _Unreadable("its amount is no number of the format")
    number = Decimal(squeezed.replace(",", "."))
    if number != round(number, 2):
        raise _Unreadable("its amount has more than two decimals")
    return number.quantize(Decimal("0.01"))


def _day(text: str) -> date | None:
    digits = re.match(r"\s*(\d{4})-?(\d{2})-?(\d{2})", text)
    if digits is None:
        return None
    try:
        return date(int(digits[1]), int(digits[2]), int(digits[3]))
    except ValueError:
        return None
