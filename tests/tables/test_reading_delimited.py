"""Text tables: dialects, preambles, lines, rows set aside, and what is asked."""

from datetime import date
from decimal import Decimal

import pytest

from tgv_dagster.tables.model import (
    Dialect,
    QuestionKind,
    RawTable,
    SetAside,
    TableUnreadable,
)
from tgv_dagster.tables.reading.columns import ColumnKind, examine_column, typed
from tgv_dagster.tables.reading.delimited import MOST_LINE_BYTES, Settled, read_delimited


def table(text: str, encoding: str = "utf-8", settled: Settled | None = None) -> RawTable:
    return read_delimited(text.encode(encoding), settled).tables[0]


def values(text: str, label: str) -> list[object]:
    read = table(text)
    return typed(read, examine_column(read, label)).to_list()


def test_other_order_and_separator_give_the_same_columns() -> None:
    one = table("Datum;Betrag\n31.01.2026;1,50\n")
    other = table("Betrag\tDatum\n1,50\t31.01.2026\n")

    assert one.column("Betrag").to_list() == other.column("Betrag").to_list() == ["1,50"]


def test_latin1_preamble_and_header_below_it() -> None:
    text = "Kontoübersicht Müller\nKonto;DE1\n\nDatum;Empfänger;Betrag\n28.02.2026;Süß;-3,00\n"
    read = table(text, "cp1252")

    assert (read.labels, read.header_line) == (("Datum", "Empfänger", "Betrag"), 4)
    assert read.preamble == ("Kontoübersicht Müller", "Konto DE1")
    assert not read.questions


def test_a_preamble_of_pairs_longer_than_the_table_is_no_table() -> None:
    pairs = "".join(f"Feld {i}:;Wert {i}\n" for i in range(6))
    read = table(pairs + "Datum;Name;Zweck;Betrag\n31.01.2026;A;B;1,00\n30.01.2026;C;D;2,00\n")

    assert read.labels == ("Datum", "Name", "Zweck", "Betrag")
    assert read.height == 2


def test_physical_lines_count_line_ends_inside_quotes() -> None:
    read = table('Datum;Text;Betrag\n31.01.2026;"a\nb";1,00\n30.01.2026;c;2,00\n')

    assert read.first_lines.tolist() == [2, 4]
    assert read.last_lines.tolist() == [3, 4]
    assert read.column("Text").to_list() == ["a\nb", "c"]


def test_ragged_rows_are_set_aside_with_line_and_text() -> None:
    rows = "".join(f"31.01.2026;x;{i},00\n" for i in range(20))
    read = table(f"Datum;Text;Betrag\n{rows}31.01.2026;zu;kurz;lang\n31.01.2026;y\n")

    assert [(a.first_line, a.reason, a.raw) for a in read.aside] == [
        (22, SetAside.RAGGED, "31.01.2026;zu;kurz;lang"),
        (23, SetAside.RAGGED, "31.01.2026;y"),
    ]
    assert read.height == 20


def test_a_broken_quote_costs_its_own_line_only() -> None:
    rows = "".join(f'31.01.2026;"x {i}";{i},00\n' for i in range(30))
    read = table(f'Datum;Text;Betrag\n{rows}31.01.2026;"offen"x;9,00\n30.01.2026;"gut";1,00\n')

    assert [a.reason for a in read.aside] == [SetAside.BROKEN_QUOTING]
    assert read.aside[0].first_line == 32
    assert read.height == 31


def test_many_uneven_rows_are_a_question() -> None:
    read = table("Datum;Betrag;Text\n31.01.2026;1,00;a\n31.01.2026;1,00\n31.01.2026;2,00\n")

    assert read.questions


def test_a_table_cut_by_another_sign_inside_its_cells_is_asked() -> None:
    read = table("Datum;Betrag\n31.01.2026;1,00\n31.01.2026;1,00\n31.01.2026\n")

    assert read.questions or read.labels == ("Datum", "Betrag")


def test_a_file_without_labels_is_asked_about_and_can_be_settled() -> None:
    text = "31.01.2026;1,00;a\n30.01.2026;2,00;b\n"

    assert [q.kind for q in table(text).questions] == [QuestionKind.HEADER]
    settled = table(text, settled=Settled(Dialect(";"), "utf-8", header=0))
    assert (settled.questions, settled.height, settled.labels) == ((), 2, ("#1", "#2", "#3"))


def test_lines_of_sums_at_the_end_are_no_rows() -> None:
    read = table("Datum;Text;Betrag\n31.01.2026;a;1,00\n30.01.2026;b;2,00\nSumme;;3,00\n")

    assert [a.reason for a in read.aside] == [SetAside.FOOTER]
    assert read.height == 2


def test_a_stated_delimiter_counts() -> None:
    read = table("sep=|\nDatum|Betrag\n31.01.2026|1;5\n")

    assert (read.labels, read.first_lines.tolist()) == (("Datum", "Betrag"), [3])


def test_backslash_escapes_that_both_rules_can_read_are_asked() -> None:
    read = table('Pfad,Datum\n"C:\\\\Ordner",2026-01-31\n"D:\\\\x",2026-01-30\n')

    assert [q.kind for q in read.questions] == [QuestionKind.DIALECT]


def test_code_pages_that_hide_in_each_other_are_asked() -> None:
    read = table("Name;Betrag\nGroß;1,50\nÉté;2,50\n", "mac_roman")

    assert [q.kind for q in read.questions] == [QuestionKind.ENCODING]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("  \n \n", "empty"),
        ("nur\neine\nSpalte\n", "one column"),
        (f"a;b\n1;{'x' * (MOST_LINE_BYTES + 1)}\n", "limit"),
        (";".join(["x"] * 20_000) + "\n" + ";".join(["1"] * 20_000), "limit"),
    ],
)
def test_what_is_no_table_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(TableUnreadable, match=reason):
        table(text)


def test_ten_thousand_columns_stay_text() -> None:
    width = 10_000
    text = ";".join(f"S{'x' * (i % 3)}{i}y" for i in range(width)) + "\n"
    read = table(text + ";".join(["a"] * (width - 1) + ["b"]) + "\n")

    assert len(read.labels) == width


@pytest.mark.parametrize(
    ("cells", "wanted"),
    [
        (("1.250", "12,50"), [Decimal("1250.00"), Decimal("12.50")]),
        (("12,50-", "3,00"), [Decimal("-12.50"), Decimal("3.00")]),
        (("12,50 S", "3,00 H"), [Decimal("-12.50"), Decimal("3.00")]),
        (("1\u202f234,50", "1,00"), [Decimal("1234.50"), Decimal("1.00")]),
        (("1\u00a0234,50", "1,00"), [Decimal("1234.50"), Decimal("1.00")]),
        (("(12,50)", "1,00"), [Decimal("-12.50"), Decimal("1.00")]),
        (("\u221212,50", "1,00"), [Decimal("-12.50"), Decimal("1.00")]),
        (("1'234.50", "0.5"), [Decimal("1234.50"), Decimal("0.50")]),
        (("€ 12,50", "€ -1,00"), [Decimal("12.50"), Decimal("-1.00")]),
    ],
)
def test_amounts_as_people_write_them(cells: tuple[str, ...], wanted: list[Decimal]) -> None:
    rows = "".join(f"a;{cell}\n" for cell in cells)

    assert values(f"Text;Betrag\n{rows}", "Betrag") == wanted


@pytest.mark.parametrize(
    ("label", "cells", "asked"),
    [
        ("Betrag", ("1.250", "3.475"), QuestionKind.NUMBER_FORMAT),
        ("Datum", ("01/02/2026", "03/04/2026"), QuestionKind.DATE_FORMAT),
        ("Datum", ("02.01.24", "03.02.24"), QuestionKind.TWO_DIGIT_YEAR),
    ],
)
def test_what_the_cells_leave_open_is_asked_with_both_readings(
    label: str, cells: tuple[str, ...], asked: QuestionKind
) -> None:
    read = table(f"Text;{label}\n" + "".join(f"a;{cell}\n" for cell in cells))
    question = examine_column(read, label).question

    assert question is not None
    assert question.kind is asked
    assert len({choice.samples for choice in question.choices}) >= 2


def test_one_cell_far_below_decides_the_column() -> None:
    days = "".join("01/02/2026;x\n" for _ in range(5000))

    found = values(f"Datum;Text\n{days}28/02/2026;x\n", "Datum")

    assert (found[0], found[-1]) == (date(2026, 2, 1), date(2026, 2, 28))


@pytest.mark.parametrize("cells", [("007", "12"), ("1234567890123456", "2"), ("12 EUR", "3 USD")])
def test_digits_that_are_names_and_mixed_units_stay_text(cells: tuple[str, ...]) -> None:
    read = table("Text;Wert\n" + "".join(f"a;{cell}\n" for cell in cells))

    assert examine_column(read, "Wert").kind is ColumnKind.TEXT


def test_account_numbers_stay_text_by_their_label() -> None:
    read = table("PLZ;Betrag\n20457;1,50\n80331;2,50\n")

    assert examine_column(read, "PLZ").kind is ColumnKind.TEXT


def test_months_by_name_in_three_languages() -> None:
    found = values("Datum;x\n1er août 2025;a\n3. März 2024;b\n4 May 2023;c\n", "Datum")

    assert found == [date(2025, 8, 1), date(2024, 3, 3), date(2023, 5, 4)]
