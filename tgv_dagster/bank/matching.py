"""Proposals: which document belongs to which booking, and which two bookings are one transfer.

Pure decisions over facts, then rows in state `proposed`; a person confirms. A link is proposed only
on a reference or the counterparty's IBAN, together with the exact amount, currency and direction,
and only when nothing else fits (domain rules B3; faults 163, 164). Full reconciliation, partial
payments and sets come with the books.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import StrEnum

from psycopg.types.json import Jsonb

from tgv_dagster.bank import finance_stage
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.organisation import SERVICE_LOGIN
from tgv_dagster.store.pull import BatchReport
from tgv_dagster.store.stages import Stage

RULE = "link-1"
TRANSFER_RULE = "transfer-1"
TRANSFER_WITHIN = timedelta(days=3)
_LEAST_CHARACTERS, _LEAST_DIGITS = 4, 4


class Ground(StrEnum):
    """What speaks for a link."""

    REFERENCE = "reference"
    IBAN = "iban"


@dataclass(frozen=True, slots=True)
class Pair:
    """A booking and a document of the same tenant, entity, amount and currency, near in time."""

    txn_id: int
    document_id: int
    amount: Decimal
    direction: str | None
    doc_type: str | None
    number: str | None
    document_ibans: tuple[str, ...]
    counterparty_iban: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """One link with its grounds."""

    txn_id: int
    document_id: int
    amount: Decimal
    grounds: tuple[Ground, ...]


def proposals(pairs: Iterable[Pair]) -> tuple[Proposal, ...]:
    """Links with a ground, in the right direction, where booking and document have one partner."""
    found = [(pair, grounds) for pair in pairs if (grounds := grounds_of(pair))]
    of_txn: dict[int, int] = defaultdict(int)
    of_document: dict[int, int] = defaultdict(int)
    for pair, _ in found:
        of_txn[pair.txn_id] += 1
        of_document[pair.document_id] += 1
    return tuple(
        Proposal(pair.txn_id, pair.document_id, abs(pair.amount), grounds)
        for pair, grounds in found
        if of_txn[pair.txn_id] == 1 and of_document[pair.document_id] == 1
    )


def grounds_of(pair: Pair) -> tuple[Ground, ...]:
    """What speaks for this pair; nothing when the direction or the counterparty contradicts."""
    if not _direction_fits(pair):
        return ()
    known = set(pair.document_ibans)
    if known and pair.counterparty_iban and pair.counterparty_iban not in known:
        return ()
    grounds: list[Ground] = []
    if pair.number and names_reference(pair.text, pair.number):
        grounds.append(Ground.REFERENCE)
    if pair.counterparty_iban and pair.counterparty_iban in known:
        grounds.append(Ground.IBAN)
    return tuple(grounds)


def _direction_fits(pair: Pair) -> bool:
    """A bill that came in is paid out; a credit note turns it round."""
    if pair.direction is None or pair.amount == 0:
        return False
    paid_out = (pair.direction == "in") != (pair.doc_type == "credit_note")
    return paid_out == (pair.amount < 0)


def names_reference(text: str, number: str) -> bool:
    """Whether the text names the number as a whole token; blanks and hyphens may differ.

    Numbers with fewer than four digits name nothing: two digits are found in every purpose.
    """
    parts = re.findall(r"[A-Za-z0-9]+", number)
    bare = "".join(parts)
    if len(bare) < _LEAST_CHARACTERS or sum(c.isdigit() for c in bare) < _LEAST_DIGITS:
        return False
    spelled = r"[\s./_-]*".join(re.escape(part) for part in parts)
    return re.search(rf"(?<![A-Za-z0-9]){spelled}(?![A-Za-z0-9])", text, re.IGNORECASE) is not None


# Each exclusion stands alone: joined by OR they would be tried pair by pair.
_FREE = """t.state <> 'locked'
      AND NOT EXISTS (SELECT 1 FROM accounting_periods p WHERE p.entity = t.entity
          AND p.locked_at IS NOT NULL AND p.period = to_char(t.booking_date, 'YYYY-MM'))
      AND NOT EXISTS (SELECT 1 FROM accounting_periods p WHERE p.entity = t.entity
          AND p.locked_at IS NOT NULL AND p.period = t.accounting_period)
      AND NOT EXISTS (SELECT 1 FROM txn_transfers x WHERE x.out_txn = t.id)
      AND NOT EXISTS (SELECT 1 FROM txn_transfers x WHERE x.in_txn = t.id)
      AND NOT EXISTS (SELECT 1 FROM txn_document_links l WHERE l.txn_id = t.id)"""

_PAIRS = f"""
    SELECT t.id, d.id, t.amount, d.direction, d.doc_type,
        (SELECT v.value FROM document_values v WHERE v.document_id = d.id AND v.active
            AND v.field = 'invoice_number' ORDER BY v.origin = 'human' DESC, v.id DESC LIMIT 1),
        ARRAY(SELECT DISTINCT m.iban FROM contact_mentions m
            WHERE m.document_id = d.id AND m.iban IS NOT NULL
              AND NOT EXISTS (SELECT 1 FROM md_accounts a
                  WHERE a.iban = m.iban AND a.mandant_id = d.mandant_id)),
        t.counterparty_iban,
        concat_ws(' ', t.purpose, t.end_to_end, t.provenance ->> 'references')
    FROM txn_master t JOIN documents d ON d.mandant_id = t.mandant_id AND d.entity = t.entity
        AND d.amount_gross = abs(t.amount) AND d.currency = t.currency AND d.is_test = t.is_test
    WHERE d.state = 'active' AND d.doc_type IN ('invoice', 'receipt', 'credit_note')
      AND t.booking_date BETWEEN coalesce(d.invoice_date, d.date_received::date) - 5
          AND coalesce(d.due_date, d.invoice_date, d.date_received::date) + 60
      AND NOT EXISTS (SELECT 1 FROM txn_document_links l WHERE l.document_id = d.id)
      AND {_FREE}
"""


def propose(
    database: Database, *, progress: Callable[[int, int], None] | None = None
) -> BatchReport:
    """Write all proposals that are due, as a step of the flow."""
    started = time.monotonic()
    with database.worker() as connection:
        made = {"link": propose_links(connection), "transfer": propose_transfers(connection)}
        finance_stage.follow(connection)
    total = sum(made.values())
    if progress is not None and total:
        progress(total, total)
    return BatchReport(
        stage=Stage.BANK,
        claimed=total,
        outcomes={name: count for name, count in made.items() if count},
        seconds=time.monotonic() - started,
    )


def propose_links(connection: Connection) -> int:
    """Write the proposals that are due now; returns how many. Links that exist stay as they are."""
    rows = connection.execute(_PAIRS.encode()).fetchall()
    no = _rejected(connection, Proposed.LINK)
    made = proposals(
        Pair(row[0], row[1], row[2], row[3], row[4], row[5], tuple(row[6]), row[7], row[8])
        for row in rows
        if (row[0], row[1]) not in no
    )
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO txn_document_links (txn_id, document_id, amount, state, evidence, set_by)"
            " VALUES (%s, %s, %s, 'proposed', %s, %s) ON CONFLICT DO NOTHING",
            [
                (
                    one.txn_id, one.document_id, one.amount,
                    Jsonb({"rule": RULE, "grounds": [str(g) for g in one.grounds]}),
                    SERVICE_LOGIN,
                )
                for one in made
            ],
        )  # fmt: skip
    return len(made)


class Proposed(StrEnum):
    """What can be proposed."""

    LINK = "link"
    TRANSFER = "transfer"


TABLE_OF = {Proposed.LINK: "txn_document_links", Proposed.TRANSFER: "txn_transfers"}


def decide(
    connection: Connection, kind: Proposed, number: int, *, confirm: bool, author: str
) -> bool:
    """A person confirms or rejects a proposal; False when it is not open (any more).

    A rejected pair is remembered in the events and proposed by no later run.
    """
    table = TABLE_OF[kind]
    change = "UPDATE {} SET state = 'confirmed', set_by = %s" if confirm else "DELETE FROM {}"
    row = connection.execute(
        f"{change.format(table)} WHERE id = %s AND state = 'proposed'"
        f" RETURNING {_ENDS[kind]}".encode(),
        (author, number) if confirm else (number,),
    ).fetchone()
    if row is None:
        return False
    record(
        connection,
        Event(
            kind=f"bank.{kind}_{'confirmed' if confirm else 'rejected'}",
            author=author,
            object=f"{kind}:{row[0]}:{row[1]}",
            reason="a person decided about a proposal",
            is_human=True,
        ),
    )
    return True


_ENDS = {Proposed.LINK: "txn_id, document_id", Proposed.TRANSFER: "out_txn, in_txn"}


def _rejected(connection: Connection, kind: Proposed) -> frozenset[tuple[int, int]]:
    rows = connection.execute(
        "SELECT object FROM agent_events WHERE kind = %s", (f"bank.{kind}_rejected",)
    ).fetchall()
    return frozenset((int(one), int(other)) for _, one, other in (r[0].split(":") for r in rows))


@dataclass(frozen=True, slots=True)
class Half:
    """A booking that may be half of a transfer. `to_own` is the own account it names, if any."""

    txn_id: int
    account_id: int
    day: date
    amount: Decimal
    currency: str
    mandant_id: int
    is_test: bool
    to_own: int | None


def transfers(halves: Sequence[Half]) -> tuple[tuple[int, int], ...]:
    """Pairs (out, in) of own accounts: opposite amounts within days, one naming the other.

    One to one by counting: where several would fit, none is proposed unless both sides have as
    many, in the order of their days.
    """
    named: dict[tuple[int, Decimal], set[int]] = defaultdict(set)
    for half in halves:
        if half.to_own is not None:
            named[half.to_own, -half.amount].add(half.account_id)
    sides: dict[tuple[object, ...], tuple[list[Half], list[Half]]] = defaultdict(lambda: ([], []))
    for half in sorted(halves, key=lambda h: (h.day, h.txn_id)):
        partners = named[half.account_id, half.amount] if half.to_own is None else {half.to_own}
        for other in partners:
            out, into = (half.account_id, other) if half.amount < 0 else (other, half.account_id)
            key = (half.mandant_id, half.is_test, out, into, abs(half.amount), half.currency)
            sides[key][half.amount > 0].append(half)
    found: list[tuple[int, int]] = []
    used: set[int] = set()
    for out, into in sides.values():
        if len(out) != len(into):
            continue
        for one, other in zip(out, into, strict=True):
            near = abs(one.day - other.day) <= TRANSFER_WITHIN
            told = one.to_own == other.account_id or other.to_own == one.account_id
            if near and told and not {one.txn_id, other.txn_id} & used:
                used |= {one.txn_id, other.txn_id}
                found.append((one.txn_id, other.txn_id))
    return tuple(found)


_HALVES = f"""
    WITH named AS (
        SELECT t.id, t.account_id, t.booking_date, t.amount, t.currency, t.mandant_id, t.is_test,
            own.id AS to_own
        FROM txn_master t
        JOIN md_accounts own ON own.iban = t.counterparty_iban
            AND own.mandant_id = t.mandant_id AND own.id <> t.account_id
        WHERE t.amount <> 0 AND {_FREE}),
    silent AS (
        SELECT DISTINCT t.id, t.account_id, t.booking_date, t.amount, t.currency, t.mandant_id,
            t.is_test, NULL::integer AS to_own
        FROM named n JOIN txn_master t ON t.account_id = n.to_own AND t.amount = -n.amount
            AND t.currency = n.currency
            AND t.booking_date BETWEEN n.booking_date - 3 AND n.booking_date + 3
        WHERE {_FREE} AND NOT EXISTS (SELECT 1 FROM named o WHERE o.id = t.id))
    SELECT * FROM named UNION ALL SELECT * FROM silent ORDER BY booking_date, id
"""


def propose_transfers(connection: Connection) -> int:
    """Write the transfers that are due now as proposals; returns how many."""
    rows = connection.execute(_HALVES.encode()).fetchall()
    no = _rejected(connection, Proposed.TRANSFER)
    pairs = [pair for pair in transfers([Half(*row) for row in rows]) if pair not in no]
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO txn_transfers (out_txn, in_txn, state, evidence, set_by)"
            " VALUES (%s, %s, 'proposed', %s, %s) ON CONFLICT DO NOTHING",
            [(one, other, Jsonb({"rule": TRANSFER_RULE}), SERVICE_LOGIN) for one, other in pairs],
        )
    return len(pairs)
