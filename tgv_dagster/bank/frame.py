"""The neutral frame of bank data: what every reader of a bank format hands on.

Here: statements, lines, balances, refusals, and the sums that must hold inside one file. Not here:
any format, any account of the firm, any row of the database. Amounts are Decimal with sign, money
in is positive; days are civil days as the bank wrote them (domain rules on bank formats, identity).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import StrEnum
from itertools import pairwise


class BankFileError(Exception):
    """The file cannot be read as bank data at all; the message says why, without its content."""


class Format(StrEnum):
    """Families of formats; the same booking may come in several of them."""

    CAMT = "camt"
    MT940 = "mt940"
    OFX = "ofx"
    TABLE = "table"


class Kind(StrEnum):
    """What a message is for: only a statement books."""

    STATEMENT = "statement"
    REPORT = "report"
    NOTIFICATION = "notification"


class Status(StrEnum):
    """Whether the bank has booked a line."""

    BOOKED = "booked"
    PENDING = "pending"


class IdentityKind(StrEnum):
    """How a line is told from another one, best first."""

    BANK_ID = "bank_id"
    BATCH_PART = "batch_part"
    ENTRY_REFERENCE = "entry_reference"
    CONTENT = "content"


@dataclass(frozen=True, slots=True)
class Identity:
    """The raw text that tells this line from others of its account; never depends on our parsing
    of a purpose, so that a newer reader finds the same key."""

    kind: IdentityKind
    text: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands in its file: member of an archive, first and last physical line."""

    first_line: int
    last_line: int
    member: str | None = None


@dataclass(frozen=True, slots=True)
class References:
    """References the bank passes on; None where it gave none."""

    end_to_end: str | None = None
    mandate: str | None = None
    creditor_id: str | None = None
    customer: str | None = None
    bank: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One movement. `entry` counts the entries of the file from 0; the parts of one batch share it.

    `notes` say what was repaired or derived while reading.
    """

    entry: int
    part: int
    booking_date: date
    value_date: date | None
    amount: Decimal
    currency: str
    purpose: str
    counterparty_name: str | None
    counterparty_iban: str | None
    references: References
    status: Status
    reversal: bool
    identity: Identity
    raw: str
    place: Place
    code: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """An entry that is no line, with the reason; it stays visible and stops the import."""

    entry: int
    reason: str
    raw: str
    place: Place


@dataclass(frozen=True, slots=True)
class Balance:
    """A booked balance with its day."""

    amount: Decimal
    day: date
    currency: str
    intermediate: bool = False


@dataclass(frozen=True, slots=True)
class AccountRef:
    """The account as the file names it: an IBAN, or the bank's own number with its bank code."""

    iban: str | None
    number: str | None
    bank: str | None = None
    currency: str | None = None
    owner: str | None = None

    @property
    def key(self) -> str | None:
        """Key of the account master; None when the file names no account."""
        if self.iban:
            return self.iban
        if self.number:
            return f"{self.bank}/{self.number}" if self.bank else self.number
        return None


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, report or notification about one account.

    `faults` are broken promises the reader saw itself, such as the parts of a batch that do not
    sum to their entry. `first_day` and `last_day` span what the file claims to cover.
    """

    kind: Kind
    account: AccountRef
    number: str | None
    opening: Balance | None
    closing: Balance | None
    lines: tuple[Line, ...]
    first_day: date | None = None
    last_day: date | None = None
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def booked(self) -> tuple[Line, ...]:
        """Lines the bank has booked."""
        return tuple(line for line in self.lines if line.status is Status.BOOKED)

    @property
    def balances(self) -> bool | None:
        """Whether opening plus movements is closing; None when the file gives not both."""
        if self.opening is None or self.closing is None:
            return None
        moved = sum((line.amount for line in self.booked), Decimal(0))
        return self.opening.amount + moved == self.closing.amount


@dataclass(frozen=True, slots=True)
class BankFile:
    """Everything one file said. `entries` counts the entries of the file itself, before reading:
    each is at least one line or one refusal (`lost_entries`)."""

    format: Format
    variant: str
    parser_version: str
    entries: int
    statements: tuple[Statement, ...]
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines of all statements in the order of the file."""
        return tuple(line for statement in self.statements for line in statement.lines)

    @property
    def lost_entries(self) -> tuple[int, ...]:
        """Entries of the file that are neither a line nor a refusal; always empty, and checked."""
        seen = {line.entry for line in self.lines} | {refusal.entry for refusal in self.refusals}
        return tuple(number for number in range(self.entries) if number not in seen)


def faults(file: BankFile) -> tuple[str, ...]:
    """Every reason why this file must not be booked; empty when all sums hold."""
    return tuple(_faults(file))


def _faults(file: BankFile) -> Iterator[str]:
    if file.lost_entries:
        yield f"{len(file.lost_entries)} entries of the file were not read"
    if file.refusals:
        shown = "; ".join(f"line {r.place.first_line}: {r.reason}" for r in file.refusals[:5])
        yield f"{len(file.refusals)} entries cannot be read ({shown})"
    for number, statement in enumerate(file.statements, start=1):
        name = f"statement {statement.number or number}"
        yield from (f"{name}: {fault}" for fault in statement.faults)
        if statement.kind is Kind.STATEMENT and statement.balances is False:
            yield f"{name}: opening balance plus movements is not the closing balance"
        wrong = {line.currency for line in statement.booked} - {statement.account.currency}
        if statement.account.currency and wrong:
            yield f"{name}: bookings in {', '.join(sorted(wrong))} on an account in " + (
                statement.account.currency
            )
    yield from _broken_chains(file.statements)


def _broken_chains(statements: tuple[Statement, ...]) -> Iterator[str]:
    """Statements of one account that follow each other in the file continue its balance."""
    by_account: dict[str, list[Statement]] = {}
    for statement in statements:
        if statement.kind is Kind.STATEMENT and statement.account.key:
            by_account.setdefault(statement.account.key, []).append(statement)
    for chain in by_account.values():
        for before, after in pairwise(_in_order(chain)):
            if before.closing is None or after.opening is None:
                continue
            touching = after.opening.day <= before.closing.day
            if touching and before.closing.amount != after.opening.amount:
                yield (
                    f"statement {after.number or '?'} does not open with the balance"
                    f" statement {before.number or '?'} closed with"
                )


def _in_order(chain: list[Statement]) -> list[Statement]:
    """By day, oldest first; a file that lists the newest first is turned round."""
    days = [s.closing.day if s.closing else None for s in chain]
    known = [day for day in days if day is not None]
    return chain[::-1] if known and known[0] > known[-1] else chain
