"""The rows of the bank: reading what is recorded for an account, writing what is new.

Here: SQL and staging, always inside the caller's transaction. Not here: any decision what is new.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from tgv_dagster.bank.accounts import Account
from tgv_dagster.bank.chain import Point
from tgv_dagster.bank.frame import BankFile, IdentityKind, Line, Statement
from tgv_dagster.bank.overlap import Decision, Face, Recorded, row_key
from tgv_dagster.store.db import Connection

BOOKED_WITHIN = timedelta(days=5)
"""How far the day of a booking may lie from the day the bank announced."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a file comes from, who may see what is in it, and what a person decided about it.

    `trust_balances` books a statement although its balances contradict recorded ones.
    """

    mandant_id: int
    sha256: str
    document_id: int | None
    confidentiality_level: str | None
    is_test: bool
    author: str
    entity_hint: str | None = None
    decision: Decision = Decision.ASK
    trust_balances: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """Where the lines of one account of one file go."""

    connection: Connection
    file: BankFile
    source: Source
    account: Account
    import_id: int

    @property
    def is_test(self) -> bool:
        """A test document or a test account makes test bookings (DEDUP-12)."""
        return self.source.is_test or self.account.is_test


def recorded(target: Target, first: date, last: date) -> list[Recorded]:
    """Bookings of the account on these days, in the order they were recorded."""
    rows = target.connection.execute(
        "SELECT id, row_key, booking_date, amount, currency, coalesce(bank_format, ''),"
        " coalesce(provenance ->> 'identity', '') NOT IN ('', 'content'), counterparty_iban,"
        " end_to_end, purpose, (provenance ->> 'statement')::bigint"
        " FROM txn_master WHERE account_id = %s AND booking_date BETWEEN %s AND %s ORDER BY id",
        (target.account.id, first, last),
    ).fetchall()
    return [
        Recorded(
            txn_id=row[0], key=row[1], day=row[2], amount=row[3], currency=row[4], format=row[5],
            by_bank=row[6], face=Face(row[7], row[8], row[9]), statement=row[10],
        )
        for row in rows
    ]  # fmt: skip


def points(target: Target) -> list[Point]:
    """Recorded statements of the account that have both balances."""
    rows = target.connection.execute(
        "SELECT id, number, opening, opening_day, closing, closing_day FROM bank_statements"
        " WHERE account_id = %s AND kind = 'statement' AND opening IS NOT NULL"
        " AND closing IS NOT NULL ORDER BY closing_day, id",
        (target.account.id,),
    ).fetchall()
    return [Point(*row) for row in rows]


def write_statement(target: Target, statement: Statement) -> int:
    """Record one statement with its balances; returns its id."""
    days = [line.booking_date for line in statement.lines]
    opening, closing = statement.opening, statement.closing
    row = target.connection.execute(
        """
        INSERT INTO bank_statements (import_id, account_id, mandant_id, entity, kind, number,
            first_day, last_day, opening, opening_day, closing, closing_day, currency, lines,
            confidentiality_level, is_test)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING id
        """,
        (
            target.import_id, target.account.id, target.account.mandant_id, target.account.entity,
            statement.kind, statement.number,
            statement.first_day or min(days, default=None),
            statement.last_day or max(days, default=None),
            opening.amount if opening else None, opening.day if opening else None,
            closing.amount if closing else None, closing.day if closing else None,
            target.account.currency, len(statement.lines),
            target.source.confidentiality_level, target.is_test,
        ),
    ).fetchone()  # fmt: skip
    assert row is not None
    return int(row[0])


_STAGING = """
    CREATE TEMP TABLE IF NOT EXISTS bank_staging (
        position integer, booking_date date, value_date date, amount numeric(18, 2), currency text,
        purpose text, counterparty_name text, counterparty_iban text, row_key text,
        occurrence integer, end_to_end text, provenance jsonb) ON COMMIT DROP
"""
_COLUMNS = (
    "booking_date, value_date, amount, currency, purpose, counterparty_name, counterparty_iban,"
    " row_key, occurrence, end_to_end, provenance"
)


def insert_lines(target: Target, lines: Sequence[Line], statement_id: int) -> list[Recorded]:
    """Stage the lines by COPY and insert them all; returns them as recorded bookings."""
    if not lines:
        return []
    occurrences = Counter(_highest(target, lines))
    connection = target.connection
    connection.execute(_STAGING)
    connection.execute("TRUNCATE bank_staging")
    keys = [row_key(line) for line in lines]
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY bank_staging (position, {_COLUMNS}) FROM STDIN".encode()) as copy,
    ):
        for position, (line, key) in enumerate(zip(lines, keys, strict=True)):
            occurrences[key] += 1
            copy.write_row((
                position, line.booking_date, line.value_date, line.amount, line.currency,
                line.purpose, line.counterparty_name, line.counterparty_iban, key,
                occurrences[key], line.references.end_to_end,
                json.dumps(_provenance(target, line, statement_id)),
            ))  # fmt: skip
    ids = connection.execute(
        f"INSERT INTO txn_master (mandant_id, entity, account_id, {_COLUMNS}, check_status, source,"
        " document_id, import_id, bank_format, confidentiality_level, is_test)"
        f" SELECT %s, %s, %s, {_COLUMNS}, 'read', %s, %s, %s, %s, %s, %s"
        " FROM bank_staging ORDER BY position RETURNING id".encode(),
        (
            target.account.mandant_id, target.account.entity, target.account.id,
            f"bank:{target.file.variant}", target.source.document_id, target.import_id,
            target.file.format, target.source.confidentiality_level, target.is_test,
        ),
    ).fetchall()  # fmt: skip
    assert len(ids) == len(lines)
    return [
        Recorded(
            txn_id=txn_id, key=key, day=line.booking_date, amount=line.amount,
            currency=line.currency, format=target.file.format,
            by_bank=line.identity.kind is not IdentityKind.CONTENT,
            face=Face(line.counterparty_iban, line.references.end_to_end, line.purpose),
            statement=statement_id,
        )
        for (txn_id,), key, line in zip(ids, keys, lines, strict=True)
    ]  # fmt: skip


def _highest(target: Target, lines: Sequence[Line]) -> dict[str, int]:
    """The highest occurrence of each key of these lines' days."""
    days = [line.booking_date for line in lines]
    rows = target.connection.execute(
        "SELECT row_key, max(occurrence) FROM txn_master"
        " WHERE account_id = %s AND booking_date BETWEEN %s AND %s GROUP BY row_key",
        (target.account.id, min(days), max(days)),
    ).fetchall()
    return dict(rows)


def _provenance(target: Target, line: Line, statement_id: int) -> dict[str, object]:
    """Where the booking stands in its file, word for word (row provenance, domain rules A2)."""
    return {
        "file": target.source.sha256,
        "member": line.place.member,
        "lines": [line.place.first_line, line.place.last_line],
        "entry": line.entry,
        "part": line.part,
        "raw": line.raw.replace("\0", ""),
        "identity": str(line.identity.kind),
        "parser": target.file.parser_version,
        "statement": statement_id,
        "reversal": line.reversal,
        "code": line.code,
        "references": [
            value
            for value in (
                line.references.end_to_end,
                line.references.mandate,
                line.references.creditor_id,
                line.references.customer,
                line.references.bank,
            )
            if value
        ],
        "notes": list(line.notes),
    }


def note_sightings(target: Target, txn_ids: Sequence[int]) -> None:
    """This file shows these bookings too: undoing their first import hands them on to it."""
    target.connection.execute(
        "INSERT INTO txn_sightings (txn_id, import_id) SELECT id, %s FROM txn_master"
        " WHERE id = ANY (%s) AND import_id IS DISTINCT FROM %s ON CONFLICT DO NOTHING",
        (target.import_id, list(txn_ids), target.import_id),
    )


def replace_pending(target: Target, announced: Sequence[Line]) -> None:
    """The newest announcement of the bank replaces every earlier one."""
    if not announced:
        return
    target.connection.execute(
        "DELETE FROM bank_pending WHERE account_id = %s", (target.account.id,)
    )
    with target.connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO bank_pending (import_id, account_id, mandant_id, entity, booking_date,"
            " amount, currency, purpose, counterparty_name, confidentiality_level, is_test)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [
                (
                    target.import_id, target.account.id, target.account.mandant_id,
                    target.account.entity, line.booking_date, line.amount, line.currency,
                    line.purpose, line.counterparty_name, target.source.confidentiality_level,
                    target.is_test,
                )
                for line in announced
            ],
        )  # fmt: skip


def drop_booked_pending(target: Target) -> None:
    """What is booked by now is pending no more: one booking takes away one announcement of its
    amount within a few days (fault 157)."""
    waiting = target.connection.execute(
        "SELECT id, booking_date, amount, currency FROM bank_pending WHERE account_id = %s"
        " ORDER BY booking_date, id",
        (target.account.id,),
    ).fetchall()
    if not waiting:
        return
    booked = target.connection.execute(
        "SELECT booking_date, amount, currency FROM txn_master WHERE account_id = %s"
        " AND booking_date BETWEEN %s AND %s ORDER BY booking_date, id",
        (target.account.id, waiting[0][1] - BOOKED_WITHIN, waiting[-1][1] + BOOKED_WITHIN),
    ).fetchall()
    gone: list[int] = []
    for pending_id, day, amount, currency in waiting:
        near = [
            row
            for row in booked
            if row[1:] == (amount, currency) and abs(row[0] - day) <= BOOKED_WITHIN
        ]
        if near:
            booked.remove(min(near, key=lambda row: abs(row[0] - day)))
            gone.append(pending_id)
    target.connection.execute("DELETE FROM bank_pending WHERE id = ANY (%s)", (gone,))


def pending_of(target: Target) -> int:
    """Lines of this account that are pending because of this file."""
    row = target.connection.execute(
        "SELECT count(*) FROM bank_pending WHERE import_id = %s AND account_id = %s",
        (target.import_id, target.account.id),
    ).fetchone()
    assert row is not None
    return int(row[0])
