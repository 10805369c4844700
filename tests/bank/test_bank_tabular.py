"""Bookings out of tables: signs, two columns, running balance as proof."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from bank_files import IBAN, OTHER_IBAN, booking, camt, camt_statement
from bank_walks import add_account, bring, ledger, source_of
from shared_builders import import_test_organisation

from tgv_dagster.bank.frame import AccountRef, BankFile, Status, faults
from tgv_dagster.bank.importing import State, import_bank_file
from tgv_dagster.bank.tabular import TableRow, account_named, table_file
from tgv_dagster.store.db import Database

ACCOUNT = AccountRef(IBAN, None)


def row(day: int, amount: str | None, purpose: str = "Miete", **more: object) -> TableRow:
    facts: dict[str, object] = {
        "first_line": day, "last_line": day, "raw": f"{day};{amount};{purpose}",
        "booking_date": date(2026, 3, day), "purpose": purpose,
        "amount": None if amount is None else Decimal(amount),
    }  # fmt: skip
    return TableRow(**(facts | more))  # type: ignore[arg-type]


def made(*rows: TableRow, account: AccountRef | None = ACCOUNT) -> BankFile:
    file = table_file(rows, variant="table:x", account=account, currency="EUR")
    assert file.lost_entries == ()
    return file


@pytest.mark.parametrize(
    ("one", "amount"),
    [
        (row(1, "-5.00"), "-5.00"),
        (row(1, "5.00", sign="S"), "-5.00"),
        (row(1, "-5.00", sign="S"), "-5.00"),
        (row(1, "5.00", sign="Haben"), "5.00"),
        (row(1, None, debit=Decimal("5"), credit=None), "-5.00"),
        (row(1, None, debit=Decimal("-5"), credit=Decimal("0")), "-5.00"),
        (row(1, None, debit=Decimal("0"), credit=Decimal("5")), "5.00"),
        (row(1, "0.00"), "0.00"),
    ],
)
def test_the_sign_in_all_its_forms(one: TableRow, amount: str) -> None:
    assert [line.amount for line in made(one).lines] == [Decimal(amount)]


@pytest.mark.parametrize(
    "one",
    [
        row(1, None),
        row(1, "5.00", sign="vielleicht"),
        row(1, None, debit=Decimal(1), credit=Decimal(2)),
        row(1, "5.005"),
        row(1, "5.00", booking_date=None),
        row(1, "5.00", currency="Taler"),
    ],
)
def test_a_row_that_is_no_booking_is_refused_and_stops_the_file(one: TableRow) -> None:
    file = made(one, row(2, "1.00"))
    assert (len(file.lines), len(file.refusals)) == (1, 1)
    assert faults(file) != ()


@pytest.mark.parametrize("newest_first", [False, True])
def test_a_running_balance_proves_the_table_in_both_directions(newest_first: bool) -> None:
    rows = [
        row(1, "10.00", balance=Decimal("110.00")),
        row(2, "-3.00", balance=Decimal("107.00")),
        row(2, "1.00", balance=Decimal("108.00")),
    ]
    file = made(*(rows[::-1] if newest_first else rows))
    (statement,) = file.statements
    assert statement.opening is not None
    assert statement.closing is not None
    assert (statement.opening.amount, statement.closing.amount) == (Decimal(100), Decimal(108))
    assert [line.amount for line in statement.lines] == [r.amount for r in rows]
    assert faults(file) == ()


@pytest.mark.parametrize("wrong", [{"amount": Decimal("3.00")}, {"balance": Decimal("170.00")}])
def test_a_running_balance_that_does_not_follow_stops_the_file(wrong: dict[str, Decimal]) -> None:
    rows = [row(1, "10.00", balance=Decimal(110)), row(2, "-3.00", balance=Decimal(107))]
    rows[1] = replace(rows[1], **wrong)
    assert any("running balance" in fault for fault in faults(made(*rows)))


@pytest.mark.parametrize(("closing", "sound"), [("107.00", True), ("108.00", False)])
def test_rows_that_state_the_balances_are_proof_and_no_bookings(closing: str, sound: bool) -> None:
    file = made(
        row(3, "4.00", "Endsaldo Abrechnung", counterparty_name="Haus"),
        row(2, "3.00", sign="H"),
        row(1, "100.00", "", bank_reference="Anfangssaldo", sign="H"),
        row(4, closing, "", bank_reference="Endsaldo:", sign="H"),
    )
    assert [line.amount for line in file.lines] == [Decimal("3.00"), Decimal("4.00")]
    assert file.statements[0].balances is sound
    assert (faults(file) == ()) is sound


def test_a_fault_of_the_table_stops_the_file() -> None:
    file = table_file([row(1, "1.00")], variant="table", account=ACCOUNT, currency="EUR", fault="x")
    assert any("x" in fault for fault in faults(file))


def test_pending_rows_and_several_accounts_are_kept_apart() -> None:
    file = made(
        row(1, "1.00"),
        row(2, "2.00", status="vorgemerkt"),
        row(3, "3.00", account=OTHER_IBAN),
    )
    assert [s.account.key for s in file.statements] == [IBAN, OTHER_IBAN]
    assert [line.status for line in file.statements[0].lines] == [Status.BOOKED, Status.PENDING]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Kontonummer:;DE89 3704 0044 0532 0130 00 / Girokonto", IBAN),
        (f"umsaetze-{IBAN}-2026.csv", IBAN),
        (f"{IBAN} und {OTHER_IBAN}", None),
        ("DE00370400440532013000", None),
        ("Umsätze", None),
    ],
)
def test_the_account_above_a_table(text: str, key: str | None) -> None:
    found = account_named(text)
    assert (found.key if found else None) == key


def test_a_table_and_a_statement_of_the_same_days_are_one_ledger(database: Database) -> None:
    import_test_organisation(database)
    add_account(database)
    true = [
        booking("2026-03-02", "-12.50", "Miete Lager"),
        booking("2026-03-03", "9.00", "Pfand 1"),
    ]
    rows = [row(b.day.day, str(b.amount), b.purpose) for b in true]
    bring(database, camt(camt_statement(true)))
    with database.worker() as connection:
        file = table_file(rows, variant="table:x", account=ACCOUNT, currency="EUR")
        report = import_bank_file(connection, file, source_of(database, b"csv"))
        nobody = table_file(rows, variant="table:x", currency="EUR")
        lost = import_bank_file(connection, nobody, source_of(database, b"csv 2"))
    assert (report.inserted, report.known) == (0, 2)
    assert (lost.state, "names no account" in (lost.reason or "")) == (State.REFUSED, True)
    assert len(ledger(database)) == 2
