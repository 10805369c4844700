"""Marks of a balance, lines that are reversed, lengths with units and groups of two digits."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tgv_dagster.bank.frame import BankFile, faults
from tgv_dagster.tables.bank_rows import bank_file
from tgv_dagster.tables.recognising import recognise_file
from tgv_dagster.tables.rows import TargetRows, target_rows
from tgv_dagster.tables.targets import Target

IBAN = "DE02120300000000202051"
HEAD = f"IBAN;{IBAN}\nWährung;EUR\n\n"


def booked(text: str) -> BankFile:
    (found,), _ = recognise_file(text.encode())
    assert found.mapping.target is Target.BANK
    assert found.questions == ()
    return bank_file(found.table, found.mapping)


def worked(text: str) -> TargetRows:
    (found,), _ = recognise_file(text.encode())
    assert found.mapping.target is Target.TIME
    assert found.questions == ()
    return target_rows(found.table, found.mapping)


@pytest.mark.parametrize(
    "rows",
    [
        "Datum;Text;Betrag;S/H;Saldo;S/H\n05.01.2026;a;500,00;S;100,00;S\n"
        "16.01.2026;b;300,00;H;200,00;H\n",
        "Datum;Text;Umsatz;Soll/Haben;Kontostand;Kennzeichen\n05.01.2026;a;500,00;Soll;100,00;Soll\n"
        "16.01.2026;b;300,00;Haben;200,00;Haben\n",
        "Datum;Text;S/H;Umsatz;S/H Saldo;Saldo\n05.01.2026;a;S;500,00;S;100,00\n"
        "16.01.2026;b;H;300,00;H;200,00\n",
        "Datum;Text;Umsatz;Saldo;S/H\n05.01.2026;a;-500,00;100,00;S\n"
        "16.01.2026;b;300,00;200,00;H\n",
    ],
)
def test_a_balance_with_its_own_marks_is_proof(rows: str) -> None:
    file = booked(HEAD + rows)

    assert faults(file) == ()
    assert [line.amount for line in file.lines] == [Decimal(-500), Decimal(300)]
    assert file.statements[0].closing is not None
    assert file.statements[0].closing.amount == Decimal(200)


def test_equal_marks_behind_a_balance_are_left_to_a_person() -> None:
    file = booked(
        f"{HEAD}Datum;Text;Umsatz;Saldo;S/H\n15.01.2026;a;500,00;400,00;H\n"
        "16.01.2026;b;300,00;700,00;H\n"
    )

    assert any("marks debit and credit" in fault for fault in faults(file))


def test_marks_beside_debit_and_credit_are_of_the_balance() -> None:
    file = booked(
        f"{HEAD}Datum;Text;Soll;Haben;Saldo;S/H\n15.01.2026;a;5,00;;95,00;S\n"
        "16.01.2026;b;;7,00;88,00;S\n"
    )

    assert faults(file) == ()
    assert [line.amount for line in file.lines] == [Decimal(-5), Decimal(7)]


def test_words_of_direction_are_the_sign_of_bare_amounts() -> None:
    file = booked(
        f"{HEAD}Datum;Text;Betrag;Richtung\n15.01.2026;a;5,00;Ausgang\n16.01.2026;b;7,00;Eingang\n"
    )

    assert faults(file) == ()
    assert [line.amount for line in file.lines] == [Decimal(-5), Decimal(7)]


def test_words_of_direction_never_turn_a_sign() -> None:
    file = booked(
        f"{HEAD}Datum;Text;Betrag;Art\n15.01.2026;a;-5,00;Ausgabe\n"
        "16.01.2026;Rückzahlung;7,00;Ausgabe\n"
    )

    assert [line.amount for line in file.lines] == [Decimal(-5), Decimal(7)]


def test_few_bare_amounts_beside_direct_debits_stop_the_file() -> None:
    file = booked(f"{HEAD}Datum;Text;Betrag;Buchungsart\n15.01.2026;a;5,00;Lastschrift\n")

    assert any("no balance tells the direction" in fault for fault in faults(file))


def test_columns_of_direct_debits_and_credits_are_two_sides() -> None:
    file = booked(
        f"{HEAD}Datum;Text;Lastschrift;Gutschrift\n15.01.2026;a;-5.00;\n16.01.2026;b;;7.00\n"
    )

    assert [line.amount for line in file.lines] == [Decimal(-5), Decimal(7)]


@pytest.mark.parametrize("second", ["500,00", "-500,00"])
@pytest.mark.parametrize("balances", [(";500,00", ";1000,00", ";999,00"), ("", "", "")])
def test_reversed_lines_carry_the_sign_that_is_proven(
    second: str, balances: tuple[str, str, str]
) -> None:
    label = ";Saldo" if balances[0] else ""
    file = booked(
        f"{HEAD}Buchungstag;Verwendungszweck;Betrag;Storno{label}\n"
        f"05.01.2026;Miete;-500,00;{balances[0]}\n"
        f"16.01.2026;Miete;{second};J{balances[1]}\n"
        f"17.01.2026;x;-1,00;N{balances[2]}\n"
    )

    assert faults(file) == ()
    assert [(line.amount, line.reversal) for line in file.lines] == [
        (Decimal(-500), False),
        (Decimal(500), True),
        (Decimal(-1), False),
    ]


def test_a_reversed_line_whose_sign_nothing_proves_stops_the_file() -> None:
    file = booked(
        f"{HEAD}Buchungstag;Verwendungszweck;Betrag;Storno\n05.01.2026;a;-3,00;N\n"
        "16.01.2026;b;-500,00;J\n"
    )

    assert any("sign of the lines that are reversed" in fault for fault in faults(file))


def test_lakhs_and_crores_are_numbers() -> None:
    file = booked(
        "Date,Narration,Withdrawal Amt (INR),Deposit Amt (INR),Closing Balance\n"
        '15/01/2026,Rent,"1,20,000.00",,"3,80,000.00"\n'
        '16/01/2026,Salary,,"1,12,50,000.50","1,16,30,000.50"\n'
    )

    assert [line.amount for line in file.lines] == [Decimal("-120000.00"), Decimal("11250000.50")]
    assert faults(file) == ()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("1h 30m", "45m"),
        ("1 Std. 30 Min.", "45 Min."),
        ("1 h 30 min", "45 min"),
        ("PT1H30M", "PT45M"),
        ("1 hour 30 minutes", "45 minutes"),
        ("1h 30m 0s", "45m 0s"),
    ],
)
def test_lengths_with_their_units(first: str, second: str) -> None:
    rows = worked(
        f"Date;Start;Duration;User;Project\n2026-01-15;09:00;{first};anna;A\n"
        f"2026-01-16;09:00;{second};anna;B\n"
    )

    assert rows.frame["minutes"].to_list() == [90, 45]
    assert rows.aside == ()


@pytest.mark.parametrize("cell", ["45m", "30 s", "PT"])
def test_metres_and_models_are_no_lengths_of_time(cell: str) -> None:
    text = f"Date;Start;Duration;User;Project\n2026-01-15;09:00;{cell};anna;A\n"
    (found,), _ = recognise_file(text.encode())

    assert found.mapping.target is Target.WORKING


@pytest.mark.parametrize(
    ("first", "second"), [("5400", "3600"), ("90", "60"), ("1.5", "1"), ("5400000", "3600000")]
)
def test_a_bare_length_has_the_unit_that_start_and_end_prove(first: str, second: str) -> None:
    rows = worked(
        "Date,From,To,Duration,Rate,User,Customer,Project,Activity,Description\n"
        f"2026-01-05,09:00,10:30,{first},100,anna,K,Alpha,Dev,x\n"
        f"2026-01-05,11:00,12:00,{second},80,anna,K,Beta,Dev,y\n"
    )

    assert rows.frame["minutes"].to_list() == [90, 60]
    assert rows.aside == ()


def test_a_bare_length_that_disagrees_in_one_row_sets_that_row_aside() -> None:
    rows = worked(
        "Date,From,To,Duration,Rate,User,Customer,Project,Activity,Description\n"
        "2026-01-05,09:00,10:30,5400,100,anna,K,Alpha,Dev,x\n"
        "2026-01-05,11:00,12:00,3600,80,anna,K,Beta,Dev,y\n"
        "2026-01-05,13:00,14:00,9000,80,anna,K,Beta,Dev,z\n"
    )

    assert rows.frame["minutes"].to_list() == [90, 60]
    assert [aside.first_line for aside in rows.aside] == [4]
