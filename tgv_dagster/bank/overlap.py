"""Which lines of a statement are new, known, vanished or unclear against what is recorded.

Pure: lines and rows in, verdict out. Equal things may occur twice, so everything here counts
(multiset, not set): a key is the raw identity of a line with its day and amount, and as many lines
are new as the statement has more of a key than is recorded (DEDUP-10, domain rules on identity).
Similar is never the same by itself: what only looks alike across two formats is asked.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum

from tgv_dagster.bank.frame import Format, IdentityKind, Line

_LEAST_SHARED = 6
"""Letters and digits two purposes must share at least to speak for the same booking."""


class Decision(StrEnum):
    """What a person decided about lines that look alike in two formats."""

    ASK = "ask"
    SAME = "same"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Face:
    """What two descriptions of one booking can be compared by."""

    iban: str | None
    end_to_end: str | None
    purpose: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A line of the statement; `number` is its position among them."""

    number: int
    key: str
    day: date
    amount: Decimal
    currency: str
    format: Format
    by_bank: bool
    face: Face


@dataclass(frozen=True, slots=True)
class Recorded:
    """A booking that is recorded already; `statement` is the one that first showed it."""

    txn_id: int
    key: str
    day: date
    amount: Decimal
    currency: str
    format: str
    by_bank: bool
    face: Face
    statement: int | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """Days a statement covers; the first and the last one perhaps only in part."""

    first: date
    last: date

    def covers(self, day: date) -> bool:
        """Whether everything of this day stands in the statement."""
        return self.first < day < self.last


@dataclass(frozen=True, slots=True)
class Overlap:
    """The verdict: numbers of new and unclear lines, bookings seen again, bookings that vanished.

    `contradicted` are days on which the statement has new lines and lacks recorded ones: one of the
    two is wrong, and nothing may be booked before a person has looked.
    """

    new: tuple[int, ...]
    known: tuple[tuple[int, int], ...]
    vanished: tuple[int, ...]
    unclear: tuple[tuple[int, int], ...]
    contradicted: tuple[date, ...]


def row_key(line: Line) -> str:
    """Key of a line within its account: the raw identity, day, amount and currency.

    Only letters and digits of ASCII count, so that neither another encoding nor another cut of the
    same text makes a second booking (fault 158).
    """
    identity = line.identity
    text = identity.text
    if identity.kind is IdentityKind.CONTENT:
        text = re.sub(r"[^A-Za-z0-9,.+#|=-]", "", text)
    told = f"{identity.kind}|{text}|{line.booking_date}|{line.amount:.2f}|{line.currency}"
    return hashlib.sha256(told.encode()).hexdigest()[:40]


def candidates(lines: Sequence[Line], format: Format) -> tuple[Candidate, ...]:
    """Lines of a statement as this module compares them."""
    return tuple(
        Candidate(
            number=number,
            key=row_key(line),
            day=line.booking_date,
            amount=line.amount,
            currency=line.currency,
            format=format,
            by_bank=line.identity.kind is not IdentityKind.CONTENT,
            face=Face(line.counterparty_iban, line.references.end_to_end, line.purpose),
        )
        for number, line in enumerate(lines)
    )


def compare(
    lines: Iterable[Candidate],
    recorded: Iterable[Recorded],
    span: Span | None,
    decision: Decision = Decision.ASK,
) -> Overlap:
    """Judge the lines of one statement against the recorded bookings of its account and days."""
    rest: dict[str, list[Recorded]] = defaultdict(list)
    for row in recorded:
        rest[row.key].append(row)
    known: list[tuple[int, int]] = []
    left: list[Candidate] = []
    for line in lines:
        same = rest.get(line.key)
        if same:
            known.append((line.number, same.pop(0).txn_id))
        else:
            left.append(line)
    alike: dict[tuple[date, Decimal, str], list[Recorded]] = defaultdict(list)
    for rows in rest.values():
        for row in rows:
            alike[(row.day, row.amount, row.currency)].append(row)
    left, found = _pair(left, alike, _speaks_for_same)
    known += found
    new, unclear = left, []
    if decision is not Decision.NEW:
        new, unclear = _pair(left, alike, _other_format)
        if decision is Decision.SAME:
            known, unclear = known + unclear, []
    missing = [row for rows in alike.values() for row in rows if span and span.covers(row.day)]
    days = {line.day for line in new} & {row.day for row in missing}
    return Overlap(
        new=tuple(line.number for line in new),
        known=tuple(known),
        vanished=tuple(row.txn_id for row in missing),
        unclear=tuple(unclear),
        contradicted=tuple(sorted(days)),
    )


Fits = Callable[[Candidate, Recorded], bool]


def _pair(
    lines: list[Candidate],
    alike: dict[tuple[date, Decimal, str], list[Recorded]],
    fits: Fits,
) -> tuple[list[Candidate], list[tuple[int, int]]]:
    """Pair one to one what fits; returns the lines left over and the pairs."""
    left: list[Candidate] = []
    pairs: list[tuple[int, int]] = []
    for line in lines:
        rows = alike.get((line.day, line.amount, line.currency), [])
        partner = next((row for row in rows if fits(line, row)), None)
        if partner is None:
            left.append(line)
        else:
            rows.remove(partner)
            pairs.append((line.number, partner.txn_id))
    return left, pairs


def _other_format(line: Candidate, row: Recorded) -> bool:
    return line.format != row.format


def _speaks_for_same(line: Candidate, row: Recorded) -> bool:
    """Two descriptions that cannot share a key, and name the same counterparty or purpose."""
    if line.format == row.format and line.by_bank == row.by_bank:
        return False
    one, other = line.face, row.face
    if one.iban and other.iban and one.iban != other.iban:
        return False
    if one.end_to_end and other.end_to_end:
        return one.end_to_end == other.end_to_end
    if one.iban and one.iban == other.iban:
        return True
    short, long = sorted((_bare(one.purpose), _bare(other.purpose)), key=len)
    return len(short) >= _LEAST_SHARED and short in long


def _bare(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())
