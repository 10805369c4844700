"""Exports of banks nobody prepared: what is proposed gives the right lines, or the file stops."""

from __future__ import annotations

import pytest
from foreign_exports import EXPORTS

from tgv_dagster.bank.frame import faults
from tgv_dagster.tables.bank_rows import bank_file
from tgv_dagster.tables.recognising import Recognised, recognise_file
from tgv_dagster.tables.rows import target_rows
from tgv_dagster.tables.targets import Target

OPEN = {"sparkasse": "two_digit_year", "dkb": "two_digit_year", "postbank": "header",
        "wise": "date_format", "us_bank": "date_format"}  # fmt: skip
PROVEN = {"ing", "revolut", "paypal", "qonto", "wise", "ubs", "us_bank", "volksbank", "boursorama"}
LINES = {
    "sparkasse": ["2026-01-02 -89.00 EUR booked Stadtwerke: Strom Abschlag 01/26",
                  "2026-01-05 1190.00 EUR booked Kunde GmbH: RE 4711",
                  "2026-01-06 -45.50 EUR pending Aral: Tankstelle"],
    "dkb": ["2026-01-28 2500.00 EUR booked Firma AG: Gehalt",
            "2026-01-30 -850.00 EUR booked Vermieter: Miete Januar",
            "2026-01-27 -12.30 EUR pending Shop: Einkauf"],
    "ing": ["2026-01-28 2000.00 EUR booked Firma AG: Gehalt",
            "2026-01-30 -850.00 EUR booked Vermieter: Miete"],
    "n26": ["2026-01-02 -89.00 EUR booked Stadtwerke: Strom",
            "2026-01-05 -20.50 EUR booked Amazon, Inc.: "],
    "revolut": ["2026-01-03 -3.50 EUR booked -: Coffee",
                "2026-01-04 100.00 EUR booked -: Top-Up",
                "2026-01-05 -51.00 EUR booked -: Cash",
                "2026-01-06 -10.00 EUR pending -: Shop",
                "2026-01-06 -10.00 EUR pending -: Refused"],
    "paypal": ["2026-01-02 115.69 EUR booked Kunde: Zahlung",
               "2026-01-03 -20.00 EUR booked Shop: Zahlung"],
    "stripe": ["2026-01-02 115.30 EUR booked -: Invoice 1",
               "2026-01-09 -115.30 EUR booked -: STRIPE PAYOUT"],
    "credit_agricole": ["2026-01-28 2500.00 EUR booked -: VIREMENT EN VOTRE FAVEUR SALAIRE",
                        "2026-01-30 -89.00 EUR booked -: PRELEVEMENT EDF clients particuliers"
                        " numero client"],
    "qonto": ["2026-01-02 -89.00 EUR booked EDF: Facture 1",
              "2026-01-12 1190.00 EUR booked Client: RE 1",
              "2026-01-13 -10.00 EUR pending Shop: X"],
    "postbank": ["2026-01-02 -89.00 EUR booked Stadtwerke: Strom",
                 "2026-01-05 1190.00 EUR booked Kunde: RE1"],
    "wise": ["2026-01-02 -89.00 EUR booked -: X", "2026-01-05 1190.00 EUR booked -: Y"],
    "ubs": ["2026-01-02 -1200.50 CHF booked -: Miete", "2026-01-05 3000.00 CHF booked -: Lohn"],
    "us_bank": ["2026-03-01 -3.50 EUR booked -: COFFEE SHOP",
                "2026-05-01 2500.00 EUR booked -: PAYROLL, INC"],
    "hvb": ["2026-01-02 -89.00 EUR booked Stadtwerke: Strom"],
    "volksbank": ["2026-01-28 1000.00 EUR booked Firma: Gehalt",
                  "2026-01-30 -850.00 EUR booked Vermieter: Miete"],
    "boursorama": ["2026-01-02 -89.00 EUR booked edf: PRLV EDF",
                   "2026-01-05 2500.00 EUR booked -: VIR SALAIRE"],
    "societe_generale": ["2026-01-28 2500.00 EUR booked -: VIR RECU SALAIRE",
                         "2026-01-30 -89.00 EUR booked -: PRELEVEMENT EDF"],
    "kontist": ["2026-01-02 -89.00 EUR booked Stadtwerke: ",
                "2026-01-05 1190.00 EUR booked Kunde: "],
}  # fmt: skip


def recognised(text: str, encoding: str = "utf-8") -> Recognised:
    ((found,), _) = recognise_file(text.encode(encoding))
    return found


def booked(found: Recognised, **fields: str) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    """Days with amounts, and what stops the file, after a person changed fields."""
    mapping = found.mapping
    if fields:
        kept = {f: label for f, label in mapping.fields.items() if label not in fields.values()}
        mapping = type(mapping)(Target.BANK, kept | fields, dict(mapping.readings))
    file = bank_file(found.table, mapping, known_currency="EUR")
    return [(f"{x.booking_date}", f"{x.amount}") for x in file.lines], faults(file)


@pytest.mark.parametrize("bank", LINES)
def test_a_proposal_gives_the_lines_of_the_bank(bank: str):
    encoding, text = EXPORTS[bank]
    found = recognised(text, encoding)
    file = bank_file(found.table, found.mapping, known_currency="EUR")

    assert [
        f"{x.booking_date} {x.amount} {x.currency} {x.status}"
        f" {x.counterparty_name or '-'}: {x.purpose}"
        for x in file.lines
    ] == LINES[bank]
    assert faults(file) == ()
    assert {str(question.kind) for question in found.questions} == set(
        filter(None, [OPEN.get(bank)])
    )
    assert file.statements[0].balances is (True if bank in PROVEN else None)


HEAD = "Buchungstag;Verwendungszweck;Betrag;Status\n"


def test_a_state_that_nobody_knows_stops_the_file():
    found = recognised(HEAD + "02.01.2026;Strom;-89,00;gebucht\n03.01.2026;Gas;-9,00;odrzucona\n")

    assert booked(found)[1] == (
        "1 entries cannot be read (line 3: its state 'odrzucona' is unknown)",
    )


def test_a_column_of_states_that_is_not_used_stops_the_file():
    found = recognised(
        "Buchungstag;Verwendungszweck;Betrag;Was\n"
        "02.01.2026;Strom;-89,00;gebucht\n03.01.2026;Gas;-9,00;abgelehnt\n"
    )

    assert "not booked and is not used" in booked(found)[1][0]
    assert booked(found, status="Was") == (
        [("2026-01-02", "-89.00"), ("2026-01-03", "-9.00")],
        (),
    )


def test_amounts_without_any_sign_stop_until_a_person_says_their_direction():
    found = recognised(
        "Datum;Beschreibung;Betrag\n02.01.2026;A;5,00\n03.01.2026;B;6,00\n04.01.2026;C;7,00\n"
    )

    assert "no amount in 'Betrag' has a minus" in booked(found)[1][0]
    assert booked(found, outflow="Betrag")[0][0] == ("2026-01-02", "-5.00")
    assert booked(found, inflow="Betrag") == (
        [("2026-01-02", "5.00"), ("2026-01-03", "6.00"), ("2026-01-04", "7.00")],
        (),
    )


def test_charges_beside_the_amount_stop_a_file_whose_balance_does_not_tell():
    found = recognised(
        "Date,Description,Amount,Fee\n2026-01-02,A,-5.00,1.00\n2026-01-03,B,9.00,0\n"
    )

    assert "whether the charges are in the amounts" in booked(found)[1][0]


def test_a_row_in_another_currency_than_its_column_is_refused():
    found = recognised(
        "Date,Description,Amount (EUR),Currency\n2026-01-02,A,-5.00,EUR\n2026-01-03,B,9.00,USD\n"
    )

    assert booked(found)[1] == (
        "1 entries cannot be read (line 3: its currency is not the EUR of the amounts)",
    )


@pytest.mark.parametrize("column", ["Verwendungszweck", "Empfänger", "Kundenreferenz", "BIC"])
def test_a_balance_is_no_booking_in_whatever_column_it_is_named(column: str):
    labels = ["Buchungstag", "Verwendungszweck", "Empfänger", "Kundenreferenz", "BIC", "Betrag"]

    def row(day: str, amount: str, **cells: str) -> str:
        told = {"Buchungstag": day, "Betrag": amount} | cells
        return ";".join(told.get(label, "") for label in labels)

    lines = [
        row("02.01.2026", "-5,00", Verwendungszweck="Strom", Empfänger="Stadtwerke"),
        row("01.01.2026", "10,00", **{column: "Anfangssaldo"}),
        row("02.01.2026", "5,00", **{column: "Endsaldo"}),
    ]
    found = recognised("\n".join((";".join(labels), *lines, "")))

    assert booked(found) == ([("2026-01-02", "-5.00")], ())
    file = bank_file(found.table, found.mapping, known_currency="EUR")
    assert file.statements[0].balances is True


def test_lines_of_semicolons_with_decimal_commas_are_not_cut_at_the_commas():
    found = recognised(
        "30/01/2026;-89,00;Prélèvement;;EDF;0;Divers;\n28/01/2026;2500,00;Virement;;SALAIRE;0;Divers;\n"
        "31/01/2026;1234,56;;;01234 567890A\n",
        "cp1252",
    )

    assert found.table.dialect is not None
    assert found.table.dialect.delimiter == ";"
    assert {str(question.kind) for question in found.questions} == {"header"}


def test_cells_that_are_quoted_only_far_down_are_read_as_quoted():
    rows = [f"{n};Name {n};{n},50" for n in range(8000)]
    rows[7000:7003] = ['7000;"a;b";1,50', '7001;"er sagt ""ja""";1,50', '7002;"zwei\nZeilen";1,50']

    found = recognised("\n".join(("Nr;Name;Betrag", *rows, "")))

    assert found.table.column("Name").to_list()[7000:7003] == [
        "a;b",
        'er sagt "ja"',
        "zwei\nZeilen",
    ]
    assert found.table.aside == ()


def test_eight_digits_are_days_where_the_label_says_so():
    found = recognised("Datum;Artikel;Betrag\n20260102;10203040;-1,00\n20260231;10203041;2,00\n")
    days = recognised("Datum;Artikel;Betrag\n20260102;10203040;-1,00\n20260228;10203041;2,00\n")

    assert [str(column.kind) for column in found.columns] == ["number", "number", "number"]
    assert [str(column.kind) for column in days.columns] == ["date", "number", "number"]


TIMES = [
    ("Salarié;Date;Début;Fin;Pause;Projet\nMartin;02/01/2026;08h00;12h30;00h30;Ouest\n"
     "Martin;13/01/2026;9h;17h45;1h00;Ouest\n", [("08:00", 240), ("09:00", 465)]),
    ("Nom;Jour;Heure de début;Heure de fin;Nombre d'heures;Projet\n"
     "Martin;2 janvier 2026;08:00;12:30;4,5;Ouest\n", [("08:00", 270)]),
    ("Mitarbeiter;Datum;Beginn;Ende;Pause (min);Stunden;Projekt\n"
     "Anna;02.01.2026;08:00;12:30;30;4,00;K\n"
     "Anna;13.01.2026;22:00;02:00;0;4,00;K\nSumme;;;;;8,00;\n", [("08:00", 240), ("22:00", 240)]),
    ('"Date","From","To","Duration","Name","User","Customer","Project","Activity","Description"\n'
     '"2026-01-02","08:00","12:30","4.5","","anna","Stadt","K","Plan",""\n', [("08:00", 270)]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "entries"), TIMES)
def test_time_sheets_in_the_ways_of_their_country(text: str, entries: list[tuple[str, int]]):
    found = recognised(text)
    rows = target_rows(found.table, found.mapping)

    made = rows.frame.select("startzeit", "minutes").rows()
    assert [(f"{start:%H:%M}", minutes) for start, minutes in made] == entries
    assert rows.aside == ()


@pytest.mark.parametrize("hours", ["3,00", "5,00"])
def test_hours_that_contradict_start_end_and_break_are_set_aside(hours: str):
    found = recognised(
        "Mitarbeiter;Datum;Beginn;Ende;Pause (min);Stunden;Projekt\n"
        f"Anna;13.01.2026;08:00;12:30;30;{hours};K\nAnna;14.01.2026;08:00;12:30;30;4,00;K\n"
    )
    rows = target_rows(found.table, found.mapping)

    assert [row.detail for row in rows.aside] == ["start, end and duration disagree"]
    assert rows.frame.height == 1


def test_a_break_of_half_a_minute_was_meant_in_hours_and_is_set_aside():
    found = recognised(
        "Mitarbeiter;Datum;Beginn;Ende;Pause;Projekt\nAnna;13.01.2026;08:00;12:30;0,5;K\n"
        "Anna;14.01.2026;08:00;12:30;30;K\n"
    )
    rows = target_rows(found.table, found.mapping)

    assert rows.frame.get_column("minutes").to_list() == [240]
    assert "Pause" in rows.aside[0].detail
