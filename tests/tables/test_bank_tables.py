"""Bank tables become the frame of the bank room: signs, balances, pending lines, the account."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal

import pytest
from table_flow import card_of, execute, executor, organised, rows, scope_of, states, taken

from tgv_dagster.bank.frame import BankFile, Status, faults
from tgv_dagster.bank.periods import lock_period
from tgv_dagster.clarify import execution
from tgv_dagster.clarify.execution import NotWithdrawable, Refused
from tgv_dagster.store.db import Database
from tgv_dagster.tables.bank_rows import bank_file
from tgv_dagster.tables.recognising import recognise_file
from tgv_dagster.tables.rows import readings_of
from tgv_dagster.tables.targets import Target

IBAN = "DE89370400440532013000"
HEAD = f"Konto:;{IBAN}\nWaehrung:;EUR\n\n"
LABELS = "Buchungstag;Wertstellung;Verwendungszweck;Empfänger;Betrag;Saldo\n"


def read(text: str) -> BankFile:
    (found,), _ = recognise_file(text.encode())
    assert found.mapping.target is Target.BANK
    assert found.questions == ()
    return bank_file(found.table, found.mapping)


def amounts(file: BankFile) -> list[Decimal]:
    return [line.amount for line in file.lines]


def test_a_table_with_running_balance_is_a_statement_that_adds_up() -> None:
    file = read(
        HEAD
        + LABELS
        + "31.01.2026;31.01.2026;Miete;Haus;-500,00;1.000,00\n"
        + "30.01.2026;30.01.2026;Lohn;Firma;1.250,00;1.500,00\n"
    )
    (statement,) = file.statements

    assert (statement.account.iban, statement.balances) == (IBAN, True)
    assert statement.opening is not None
    assert statement.opening.amount == Decimal("250.00")
    assert amounts(file) == [Decimal("1250.00"), Decimal("-500.00")]
    assert faults(file) == ()


def test_a_running_balance_that_does_not_follow_stops_the_file() -> None:
    file = read(
        HEAD
        + LABELS
        + "30.01.2026;30.01.2026;Lohn;Firma;1.250,00;1.500,00\n"
        + "31.01.2026;31.01.2026;Miete;Haus;-500,00;1.100,00\n"
    )

    assert any("running balance" in fault for fault in faults(file))


@pytest.mark.parametrize(
    ("label", "cells", "wanted"),
    [
        ("Betrag", ("12,50-", "3,00"), ["-12.50", "3.00"]),
        ("Umsatz", ("12,50 S", "3,00 H"), ["-12.50", "3.00"]),
    ],
)
def test_signs_behind_amounts(label: str, cells: tuple[str, str], wanted: list[str]) -> None:
    text = f"{HEAD}Buchungstag;Verwendungszweck;Empfänger;{label}\n"
    text += "".join(f"31.01.2026;x;y;{cell}\n" for cell in cells)

    assert [str(a) for a in amounts(read(text))] == wanted


def test_marks_under_an_empty_label_are_the_signs() -> None:
    text = HEAD + "Buchungstag;Verwendungszweck;Betrag;Art;\n"
    text += "31.01.2026;a;12,50;x;S\n30.01.2026;b;3,00;y;H\n"

    assert sorted(map(str, amounts(read(text)))) == ["-12.50", "3.00"]


def test_marks_that_a_mapping_leaves_out_stop_the_file() -> None:
    text = f"{HEAD}Buchungstag;Verwendungszweck;Betrag;Soll/Haben\n31.01.2026;a;12,50;S\n"
    (found,), _ = recognise_file(text.encode())
    fields = {f: label for f, label in found.mapping.fields.items() if f != "sign"}
    file = bank_file(found.table, replace(found.mapping, fields=fields))

    assert any("marks debit and credit" in fault for fault in faults(file))


def test_a_column_of_marks_decides_over_bare_amounts() -> None:
    text = f"{HEAD}Buchungstag;Verwendungszweck;Betrag;Soll/Haben\n"
    text += "31.01.2026;a;12,50;S\n30.01.2026;b;3,00;H\n29.01.2026;c;4,00;?\n"
    file = read(text)

    assert sorted(map(str, amounts(file))) == ["-12.50", "3.00"]
    assert [refusal.entry for refusal in file.refusals] == [2]
    assert faults(file) != ()


def test_debit_and_credit_columns() -> None:
    text = "Compte;Date;Libellé;Débit (EUR);Crédit (EUR)\n"
    text += f"{IBAN};31/01/2026;Loyer;500,00;\n{IBAN};30/01/2026;Salaire;;1 250,00\n"

    assert sorted(map(str, amounts(read(text)))) == ["-500.00", "1250.00"]


def test_pending_lines_are_told_apart() -> None:
    text = f"{HEAD}Buchungstag;Verwendungszweck;Betrag;Info\n"
    text += "31.01.2026;a;1,00;Umsatz vorgemerkt\n30.01.2026;b;2,00;Umsatz gebucht\n"

    assert [line.status for line in read(text).lines] == [Status.BOOKED, Status.PENDING]


def test_an_account_is_never_guessed() -> None:
    text = "Buchungstag;Verwendungszweck;Betrag (EUR)\n31.01.2026;a;1,00\n"

    assert [statement.account.key for statement in read(text).statements] == [None]


def test_a_row_with_a_cell_that_does_not_fit_stops_the_file() -> None:
    text = HEAD + "Buchungstag;Verwendungszweck;Empfänger;Betrag\n"
    text += "".join(f"{day}.01.2026;x;y;1,00\n" for day in range(10, 30))
    (found,), _ = recognise_file(text.encode())
    (spoiled,), _ = recognise_file((text + "31.01.2026;x;y;12..34\n").encode())
    mapping = replace(found.mapping, readings=readings_of(found.table, found.mapping))

    file = bank_file(spoiled.table, mapping)

    assert [refusal.place.first_line for refusal in file.refusals] == [25]
    assert faults(file) != ()


def test_another_column_order_gives_the_same_identities() -> None:
    one = f"{HEAD}Buchungstag;Verwendungszweck;Empfänger;Betrag\n31.01.2026;Miete;Haus;-1,00\n"
    other = f"{HEAD}Betrag;Empfänger;Verwendungszweck;Buchungstag\n-1,00;Haus;Miete;31.01.2026\n"

    assert [x.identity for x in read(one).lines] == [x.identity for x in read(other).lines]


@pytest.fixture
def office(database: Database) -> Database:
    organised(database)
    with database.worker() as connection:
        connection.execute(
            "INSERT INTO md_accounts (mandant_id, entity, iban, account_key, name, active,"
            " confirmed_by) SELECT mandant_id, slug, %s, %s, 'Giro', true, 'anna' FROM entities"
            " WHERE slug = 'nord-gmbh'",
            (IBAN, IBAN),
        )
    return database


TABLE = HEAD + "Buchungstag;Verwendungszweck;Empfänger;Betrag\n"
ROWS = "30.01.2026;Lohn;Firma;1.250,00\n31.01.2026;Miete;Haus;-500,00\n"


def test_a_confirmed_bank_table_is_booked_and_the_next_asks_nothing(office: Database) -> None:
    """FIN-06, FIN-11: a confirmed bank format is stored and read again."""
    execute(office, taken(office, (TABLE + ROWS).encode(), name="umsatz.csv"), "take_over")
    facts = taken(
        office, (TABLE + ROWS + "01.02.2026;Bus;Bahn;-3,00\n").encode(), name="umsatz2.csv"
    )

    assert rows(office, "SELECT amount::text, entity FROM txn_master ORDER BY booking_date") == [
        ("1250.00", "nord-gmbh"),
        ("-500.00", "nord-gmbh"),
        ("-3.00", "nord-gmbh"),
    ]
    assert states(office, facts)[0][1:4] == ("imported", 1, 2)


def test_two_equal_lines_on_a_day_are_two(office: Database) -> None:
    twice = "31.01.2026;Kaffee;Bar;-3,00\n" * 2
    execute(office, taken(office, (TABLE + twice).encode(), name="umsatz.csv"), "take_over")

    assert rows(office, "SELECT count(*) FROM txn_master") == [(2,)]


def test_a_table_of_an_unknown_account_waits_for_the_account(office: Database) -> None:
    other = TABLE.replace(IBAN, "DE02120300000000202051")
    facts = taken(office, (other + ROWS).encode(), name="umsatz.csv")
    execute(office, facts, "take_over")

    assert rows(office, "SELECT count(*) FROM txn_master") == [(0,)]
    assert states(office, facts)[0][1] == "asked"
    assert rows(office, "SELECT state FROM bank_imports") == [("waiting",)]


def _close_month(database: Database, period: str) -> None:
    with database.worker() as connection:
        lock_period(connection, entity="nord-gmbh", period=period, author="anna")


def test_a_month_closed_between_card_and_click_refuses_with_its_remedy(office: Database) -> None:
    facts = taken(office, (TABLE + ROWS).encode(), name="umsatz.csv")
    card, _ = card_of(office, facts)
    _close_month(office, "2026-01")

    with pytest.raises(Refused, match=r"2026-01 of nord-gmbh is locked\. .* reversal"):
        execute(office, facts, "take_over")

    assert rows(office, "SELECT count(*) FROM txn_master") == [(0,)]
    assert rows(office, "SELECT count(*) FROM import_schema") == [(0,)]
    ((state, result),) = rows(office, "SELECT state, result FROM cards WHERE id = %s", card)
    assert state == "not_executed"
    assert "locked" in result["reason"]
    assert states(office, facts)[0][1] == "asked"


def test_a_click_waits_for_the_month_that_is_being_closed(office: Database) -> None:
    facts = taken(office, (TABLE + ROWS).encode(), name="umsatz.csv")
    with ThreadPoolExecutor(1) as pool:
        with office.worker() as connection:
            lock_period(connection, entity="nord-gmbh", period="2026-01", author="anna")
            clicked = pool.submit(execute, office, facts, "take_over")
            waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            while not rows(office, waiting):
                assert not clicked.done()
        with pytest.raises(Refused, match="is locked"):
            clicked.result()
    assert rows(office, "SELECT count(*) FROM txn_master") == [(0,)]


def test_what_lies_in_a_closed_month_is_not_withdrawn(office: Database) -> None:
    facts = taken(office, (TABLE + ROWS).encode(), name="umsatz.csv")
    done = execute(office, facts, "take_over")
    _close_month(office, "2026-01")

    with pytest.raises(NotWithdrawable, match="reversal"):
        execution.withdraw(executor(office), scope_of(office, "anna"), done.card.id, reason="x")

    assert rows(office, "SELECT count(*) FROM txn_master") == [(2,)]
    assert rows(office, "SELECT state FROM cards WHERE id = %s", done.card.id) == [("executed",)]


def test_a_withdrawal_names_what_stays_in_the_closed_month(office: Database) -> None:
    february = "02.02.2026;Bus;Bahn;-3,00\n"
    facts = taken(office, (TABLE + ROWS + february).encode(), name="umsatz.csv")
    done = execute(office, facts, "take_over")
    _close_month(office, "2026-01")

    after = execution.withdraw(executor(office), scope_of(office, "anna"), done.card.id, reason="x")

    assert after.card.result is not None
    told = after.card.result["withdrawn"]
    assert told["removed"] == 1
    assert [one["reason"] for one in told["kept"]] == ["its period is locked"] * 2


def test_nobody_books_into_an_account_behind_their_wall(office: Database) -> None:
    facts = taken(office, (TABLE + ROWS).encode(), name="umsatz.csv")
    with office.worker() as connection:
        connection.execute("UPDATE user_mandant_roles SET entities = '{nord-gmbh}'")
        connection.execute(
            "INSERT INTO entities (mandant_id, slug, kind, legal_name, bucket, country)"
            " SELECT mandant_id, 'nord-haus', kind, 'Nord Haus', 'nord-haus', country"
            " FROM entities WHERE slug = 'nord-gmbh'"
        )
        connection.execute("UPDATE md_accounts SET entity = 'nord-haus'")

    with pytest.raises(Refused, match="not among those you may book into"):
        execute(office, facts, "take_over")

    assert rows(office, "SELECT count(*) FROM txn_master") == [(0,)]
