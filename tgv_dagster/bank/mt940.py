"""MT940 and MT942 as banks really write them: broken tags, wild blanks, years that turn.

Here: tags, statements, the `:61:` line. The purpose in `:86:` stands in `mt940_purpose`. MT942 is
a report and books nothing. Tokens are read here and not by a package, because one bad line must
never cost the file (docs/deviations.md has the figures).
"""

from __future__ import annotations

import calendar
import re
from bisect import bisect_left
from dataclasses import dataclass, field, replace
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
from tgv_dagster.bank.mt940_purpose import Purpose, read_purpose

VERSION = "mt940-1"

_TAG = re.compile(r"(?:^|(?<=\n))[ \t]*:[ \t\n]*(\d{2}[A-Za-z]?|NS)[ \t\n]*:")
_BROKEN = re.compile(r"(?:^|(?<=\n))[ \t]*:?61[ .;,]?:?(?=\d{6}(?:\d{4})?R?[CD])")
_SWIFT = re.compile(r"\{[1235]:[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|\{4:")
_END = re.compile(r"\n-\}?[ \t]*(?=\n|$)")
_ENTRY = re.compile(
    r"(?P<value>\d{6})(?P<entry>\d{4}|[ ]{4})?[ ]*"
    r"(?P<side>R[CD]|E[CD]|[CD])[ ]?(?P<funds>[A-Z])?[ ]*"
    r"(?P<amount>\d[\d.,]*|,\d+)(?P<rest>.*)",
    re.DOTALL,
)
_KIND = re.compile(
    r"[ ]?(?P<code>[A-Z][A-Z0-9]{3})?(?P<customer>.*?)(?://(?P<bank>.*))?", re.DOTALL
)
_BALANCE = re.compile(
    r"(?P<side>R?[CD])(?P<day>\d{6})(?P<currency>[A-Z]{3})?(?P<amount>\d[\d.,]*|,\d+)"
)
_NO_REFERENCE = {"", "NONREF", "NOREF", "NOTPROVIDED", "KREF+"}
_YEAR_SPAN = 100


def read_mt940(content: bytes) -> BankFile:
    """The statements of an MT940 or MT942 file. Raises BankFileError when it holds no statement."""
    source = _plain(decode(content).text)
    fields = _fields(source)
    if not any(f.tag in ("25", "60F", "60M", "62F", "62M", "61") for f in fields):
        raise BankFileError("the file holds no statement of MT940 or MT942")
    reader = _Reader()
    for one in fields:
        reader.take(one)
    reader.finish()
    return BankFile(
        format=Format.MT940,
        variant="MT942" if reader.interim else "MT940",
        parser_version=VERSION,
        entries=sum(1 for one in fields if one.tag == "61"),
        statements=tuple(reader.statements),
        refusals=tuple(reader.refusals),
    )


@dataclass(frozen=True, slots=True)
class Field:
    """One tag with its value and physical lines; `broken` when the tag itself was misspelt."""

    tag: str
    value: str
    first_line: int
    last_line: int
    broken: bool = False


def _plain(text: str) -> str:
    unified = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ").lstrip("\ufeff")
    if "\n" not in unified.strip() and "@@" in unified:
        unified = unified.replace("@@", "\n")
    return unified


def _fields(source: str) -> list[Field]:
    text = _SWIFT.sub(lambda found: "\n" * found[0].count("\n"), source)
    starts = [
        (found.start(), found.end(), found[1].upper(), False) for found in _TAG.finditer(text)
    ]
    taken = {start for start, *_ in starts}
    starts += [
        (found.start(), found.end(), "61", True)
        for found in _BROKEN.finditer(text)
        if found.start() not in taken
    ]
    starts.sort()
    breaks = [found.start() for found in re.finditer("\n", text)]
    found: list[Field] = []
    for number, (start, begin, tag, broken) in enumerate(starts):
        stop = starts[number + 1][0] if number + 1 < len(starts) else len(text)
        value = text[begin:stop]
        if end := _END.search(value):
            value = value[: end.start()]
        first = bisect_left(breaks, start) + 1
        found.append(
            Field(tag, value.strip("\n"), first, first + value.rstrip("\n").count("\n"), broken)
        )
    return found


class _Unreadable(Exception):
    """This one entry or balance cannot be read."""


@dataclass(slots=True)
class _Open:
    """The statement being read."""

    account: AccountRef = field(default_factory=lambda: AccountRef(None, None))
    number: str | None = None
    opening: Balance | None = None
    closing: Balance | None = None
    lines: list[Line] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    started: bool = False
    interim: bool = False


class _Reader:
    """Walks the fields; a new statement starts with `:20:`, or with a second opening balance."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self.refusals: list[Refusal] = []
        self.interim = False
        self.entries = 0
        self._open = _Open()
        self._entry: Field | None = None
        self._purpose: Field | None = None

    def take(self, one: Field) -> None:
        if one.tag == "86" and self._entry is not None:
            self._purpose = one if self._purpose is None else _joined(self._purpose, one)
            return
        if one.tag in ("86", "NS"):
            self._open.notes.append(" ".join(one.value.split()))
            return
        self._settle()
        if one.tag == "61":
            if self._open.closing is not None:
                self._carry_on()
            self._open.started = True
            self._entry = one
        elif one.tag == "20":
            self._close()
        elif one.tag == "25":
            self._open.account = _account(one.value)
        elif one.tag in ("28", "28C"):
            self._open.number = one.value.strip() or None
        elif one.tag in ("60F", "60M"):
            if self._open.opening is not None:
                self._carry_on()
            self._open.opening = self._balance(one)
        elif one.tag in ("62F", "62M"):
            self._open.closing = self._balance(one)
        elif one.tag == "34F":
            self.interim = self._open.interim = True
            self._open.account = _in_currency(self._open.account, one.value.strip()[:3])

    def finish(self) -> None:
        self._settle()
        self._close()

    def _carry_on(self) -> None:
        account = self._open.account
        self._close()
        self._open.account = account

    def _close(self) -> None:
        done = self._open
        self._open = _Open()
        if not (done.started or done.opening or done.closing):
            return
        kind = Kind.REPORT if done.interim else Kind.STATEMENT
        if kind is Kind.STATEMENT and done.lines and not (done.opening and done.closing):
            done.faults.append("it lacks an opening or a closing balance")
        currency = next((b.currency for b in (done.opening, done.closing) if b), None)
        account = done.account
        if currency:
            account = _in_currency(account, currency)
        self.statements.append(
            Statement(
                kind=kind,
                account=account,
                number=done.number,
                opening=done.opening,
                closing=done.closing,
                lines=tuple(
                    line if kind is Kind.STATEMENT else replace(line, status=Status.PENDING)
                    for line in done.lines
                ),
                faults=tuple(done.faults),
                notes=tuple(done.notes),
            )
        )

    def _balance(self, one: Field) -> Balance | None:
        self._open.started = True
        try:
            return _read_balance(one, self._open.account.currency or self._currency_seen())
        except _Unreadable as error:
            self._open.faults.append(f"balance :{one.tag}: {error}")
            return None

    def _currency_seen(self) -> str | None:
        return self._open.opening.currency if self._open.opening else None

    def _settle(self) -> None:
        """The entry with its purpose becomes a line or a refusal."""
        entry, purpose = self._entry, self._purpose
        self._entry = self._purpose = None
        if entry is None:
            return
        number = self.entries
        self.entries += 1
        raw = f":61:{entry.value}" + (f"\n:86:{purpose.value}" if purpose else "")
        last = purpose.last_line if purpose else entry.last_line
        place = Place(entry.first_line, last)
        try:
            if entry.broken:
                raise _Unreadable("its tag :61: is broken")
            self._open.lines.append(self._line(number, entry, purpose, raw, place))
        except _Unreadable as error:
            self.refusals.append(Refusal(number, str(error), raw, place))

    def _line(
        self, number: int, entry: Field, purpose: Field | None, raw: str, place: Place
    ) -> Line:
        found = _ENTRY.match(entry.value) or _ENTRY.match(entry.value.replace("\n", ""))
        if found is None:
            raise _Unreadable("its line :61: does not follow the format")
        notes: list[str] = []
        valued = _day(found["value"], notes)
        booked = _entry_day(found["entry"], valued, notes)
        side = found["side"]
        amount = _amount(found["amount"])
        incoming = side in ("C", "RD", "EC")
        rest, _, supplementary = found["rest"].partition("\n")
        references = _KIND.fullmatch(rest)
        assert references is not None
        told = read_purpose(purpose.value if purpose else "")
        currency = self._currency()
        return Line(
            entry=number,
            part=0,
            booking_date=booked,
            value_date=valued,
            amount=amount if incoming else -amount,
            currency=currency,
            purpose=told.text or " ".join(supplementary.split()),
            counterparty_name=told.name,
            counterparty_iban=told.iban,
            references=_references(told, references["customer"], references["bank"]),
            status=Status.PENDING if side in ("EC", "ED") else Status.BOOKED,
            reversal=side in ("RC", "RD"),
            identity=Identity(IdentityKind.CONTENT, "".join(raw.split())),
            raw=raw,
            place=place,
            code=told.code or references["code"],
            notes=tuple(notes),
        )

    def _currency(self) -> str:
        currency = self._currency_seen() or self._open.account.currency
        if currency is None:
            raise _Unreadable("neither a balance nor the account names its currency")
        return currency


def _in_currency(account: AccountRef, currency: str) -> AccountRef:
    known = account.currency or (currency if re.fullmatch("[A-Z]{3}", currency) else None)
    return replace(account, currency=known)


def _references(told: Purpose, customer: str, bank: str | None) -> References:
    def known(value: str | None) -> str | None:
        squeezed = " ".join((value or "").split())
        return None if squeezed.upper() in _NO_REFERENCE else squeezed

    return References(
        end_to_end=known(told.end_to_end),
        mandate=known(told.mandate),
        creditor_id=known(told.creditor_id),
        customer=known(told.customer) or known(customer),
        bank=known(bank),
    )


def _account(value: str) -> AccountRef:
    """`BLZ/number`, `BIC/number`, an IBAN, each perhaps with the currency behind it."""
    text = " ".join(value.split())
    joined = text.replace(" ", "").upper()
    currency = re.search(r"(?<=[0-9])(EUR|CHF|USD|GBP|DKK|SEK|NOK|PLN|CZK|HUF|RUB)$", joined)
    bare = joined[: currency.start()] if currency else joined
    told = currency[1] if currency else None
    bank, slash, number = bare.rpartition("/")
    for candidate in (number, bare):
        if re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", candidate):
            return AccountRef(candidate, None, bank or None, told)
    return AccountRef(None, number or None, bank if slash and bank else None, told)


def _joined(first: Field, more: Field) -> Field:
    """Some banks repeat `:86:` for every line of a purpose."""
    return replace(first, value=f"{first.value}\n{more.value}", last_line=more.last_line)


def _read_balance(one: Field, currency: str | None) -> Balance:
    found = _BALANCE.match(one.value.replace("\n", "").replace(" ", ""))
    if found is None:
        raise _Unreadable("does not follow the format")
    amount = _amount(found["amount"])
    currency = found["currency"] or currency
    if currency is None:
        raise _Unreadable("names no currency")
    return Balance(
        amount=amount if found["side"] in ("C", "RD") else -amount,
        day=_day(found["day"], []),
        currency=currency,
        intermediate=one.tag.endswith("M"),
    )


def _amount(text: str) -> Decimal:
    """`1234,5`, `1.234,50`, `1234.50`: the comma is the sign of the format, a lone dot before one
    or two digits stands for it. Anything else is refused."""
    text = re.sub(r"^0+(?=\d)", "", text)
    if re.fullmatch(r"\d{0,15},\d{0,2}", text) and text != ",":
        return Decimal(text.replace(",", ".").rstrip(".") or "0").quantize(Decimal("0.01"))
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d{0,2}", text):
        return _amount(text.replace(".", ""))
    if re.fullmatch(r"\d{1,15}\.\d{1,2}", text) or re.fullmatch(r"\d{1,15}", text):
        return Decimal(text).quantize(Decimal("0.01"))
    raise _Unreadable("its amount is no number of the format")


def _day(text: str, notes: list[str]) -> date:
    """YYMMDD; the 29th to 31st of a shorter month is its last day (interest counts 30 days)."""
    year, month, day = 2000 + int(text[:2]), int(text[2:4]), int(text[4:6])
    if int(text[:2]) >= 80:
        year -= _YEAR_SPAN
    return _civil(year, month, day, notes)


def _civil(year: int, month: int, day: int, notes: list[str]) -> date:
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        raise _Unreadable("its day does not exist")
    last = calendar.monthrange(year, month)[1]
    if day > last:
        notes.append(f"day {day} of a month with {last} days became its last one")
    return date(year, month, min(day, last))


def _entry_day(text: str | None, valued: date, notes: list[str]) -> date:
    """The booking day has no year: it is the one nearest to the value day, in both directions."""
    if text is None or not text.strip():
        return valued
    month, day = int(text[:2]), int(text[2:])
    years = (valued.year - 1, valued.year, valued.year + 1)
    days = [_civil(year, month, day, []) for year in years]
    nearest = min(days, key=lambda candidate: abs((candidate - valued).days))
    return _civil(nearest.year, month, day, notes)
