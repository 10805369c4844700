"""Exports nobody prepared, from nine countries: the right lines or a question, never wrong ones."""

from __future__ import annotations

import io
from datetime import date

import openpyxl
import pytest
from foreign_layouts import LAYOUTS

from tgv_dagster.bank.frame import BankFile, Status, faults
from tgv_dagster.tables.bank_rows import bank_file
from tgv_dagster.tables.reading.files import read_tables
from tgv_dagster.tables.recognising import Recognised, recognise_file
from tgv_dagster.tables.targets import Target

ASKED = {"comdirect", "targobank", "fidor_deutsche", "bnp", "raiffeisen_at", "bawag", "postfinance",
         "santander_es", "abn", "trail_minus_sep", "mac_roman", "footer_text"}  # fmt: skip
MATERIAL = {"mixed_currency", "mixed_dates", "iso_week"}
STOPPED = {"amex_de", "reversal_col"}


def recognised(name: str) -> Recognised:
    encoding, text, _ = LAYOUTS[name]
    (found,), _ = recognise_file(text.encode(encoding))
    return found


def told(file: BankFile) -> list[tuple[str, str]]:
    return sorted(
        ("P" if line.status is Status.PENDING else str(line.booking_date), str(line.amount))
        for statement in file.statements
        for line in statement.lines
    )


@pytest.mark.parametrize("name", sorted(set(LAYOUTS) - ASKED - MATERIAL - STOPPED))
def test_a_layout_gives_its_lines(name: str) -> None:
    found = recognised(name)
    file = bank_file(found.table, found.mapping, known_currency="EUR")

    assert (found.questions, faults(file), file.refusals) == ((), (), ())
    assert told(file) == sorted(LAYOUTS[name][2] or [])


@pytest.mark.parametrize("name", sorted(ASKED))
def test_a_layout_that_proves_too_little_is_asked_about(name: str) -> None:
    assert recognised(name).table.questions


@pytest.mark.parametrize("name", sorted(MATERIAL))
def test_a_layout_of_mixed_cells_is_working_material(name: str) -> None:
    assert recognised(name).mapping.target is Target.WORKING


@pytest.mark.parametrize("name", sorted(STOPPED))
def test_a_layout_whose_signs_contradict_it_is_stopped(name: str) -> None:
    found = recognised(name)

    assert faults(bank_file(found.table, found.mapping, known_currency="EUR"))


def test_a_card_whose_direction_a_person_corrected_is_booked() -> None:
    found = recognised("amex_de")
    fields = {("outflow" if f == "amount" else f): x for f, x in found.mapping.fields.items()}
    corrected = type(found.mapping)(Target.BANK, fields, found.mapping.readings)

    file = bank_file(found.table, corrected, known_currency="EUR")
    assert faults(file) == ()
    assert told(file) == [
        ("2026-01-27", "-10.00"), ("2026-01-28", "1190.00"), ("2026-01-30", "-89.05"),
    ]  # fmt: skip


def test_hours_with_amounts_are_no_bookings() -> None:
    """An export of Harvest has days, notes and amounts, and is a list of work."""
    content = (
        "Date,Client,Project,Task,Notes,Hours,Billable?,First Name,Last Name,Billable Rate,"
        "Billable Amount,Currency\n"
        "2026-01-05,Stadt,Kita,Dev,x,1.5,Yes,Anna,Berg,100,150,EUR\n"
        "2026-01-06,Stadt,Kita,Dev,y,2.25,Yes,Anna,Berg,100,225,EUR\n"
    )
    (found,), _ = recognise_file(content.encode())

    assert found.mapping.target is not Target.BANK


def sheet(rows: list[list[object]]) -> bytes:
    book = openpyxl.Workbook()
    assert book.active is not None
    for row in rows:
        book.active.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


WORK: list[list[object]] = [
    ["Datum", "Mitarbeiter", "Projekt", "Stunden"],
    [date(2026, 1, 5), "Anna", "Kita", 7.5],
    [date(2026, 1, 6), "Emil", "Kita", 8],
    [],
]


def test_a_second_table_with_labels_nobody_knows_is_a_table_of_its_own() -> None:
    second: list[list[object]] = [["Artikel", "Menge", "Preis"], ["A", 1, 2.5], ["B", 2, 3.5]]
    found = read_tables(sheet(WORK + second)).tables

    assert [table.labels for table in found] == [tuple(WORK[0]), ("Artikel", "Menge", "Preis")]
    assert [table.height for table in found] == [2, 2]


@pytest.mark.parametrize(
    "row", [["", "Emil", "Kita", "krank"], ["offen", "Anna", "Kita", "krank"], ["Januar"]]
)
def test_a_row_of_words_after_an_empty_line_is_no_table(row: list[object]) -> None:
    rest: list[list[object]] = [row, [date(2026, 1, 9), "Emil", "Kita", 3]] * 2

    assert len(read_tables(sheet(WORK + rest)).tables) == 1
