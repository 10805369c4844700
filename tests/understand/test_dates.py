"""Roles of dates: each axis from the words around it, axes never mixed."""

from __future__ import annotations

from datetime import date

import pytest

from tgv_dagster.understand import dates
from tgv_dagster.understand.dates import DATE_MAP, DateRole
from tgv_dagster.understand.evidence import Field


def _roles(text: str, language: str | None = "de") -> list[tuple[str, str | None]]:
    return [(str(m.value), m.role and m.role.value) for m in dates.find(text, language)]


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("Rechnungsdatum: 19.01.2016", "issued"),
        ("Rechnung Nr. 42 vom 31.01.2014", "issued"),
        ("Facture n°562044387 du 2 juillet 2015", "issued"),
        ("Invoice # RE-7 issued at 2020-06-20", "issued"),
        ("Fattura n. 12 del 3 marzo 2024", "issued"),
        ("Счет № 5 от 12.03.2024", "issued"),
        ("München, den 15.01.2025", "issued"),
        ("Paris, le 3 mars 2024", "issued"),
        ("Gutschrift zu Rechnung 123 vom 01.02.2020", "reference"),
        ("Ihre Rechnung vom 01.02.2020", "reference"),
        ("Rechnung gemäß Bestellung Nr. 7 vom 01.03.2018", "order"),
        ("Votre commande du 3 mars 2024", "order"),
        ("Leistungsdatum 17.11.2017", "service"),
        ("Date de livraison : 03/02/2024", "service"),
        ("zahlbar bis spätestens 1. Mai 2020", "due"),
        ("Date d'échéance 13/12/2017", "due"),
        ("Due Date:\n2023-04-04", "due"),
        ("Scadenza: 30/06/2024", "due"),
        ("3% Skonto innerhalb 10 Tagen bis 15.03.2018", "discount"),
        ("Eingegangen am 05.02.2024", "receipt_stamp"),
        ("Versicherungsbeginn: 01.12.2003", "start"),
        ("Ablauf: 01.12.2013", "end"),
        ("geboren am 03.04.1970", "birth"),
        ("Stand: 8. September 2014", "reference"),
        ("am 03.04.2020 schien die Sonne", None),
    ],
)
def test_the_words_around_a_date_name_its_axis(text: str, role: str | None) -> None:
    assert [found for _, found in _roles(text)] == [role]


def test_issue_and_due_dates_stay_apart() -> None:
    text = "Rechnungsdatum 05.03.2013\nZahlbar bis 04.04.2013"
    assert _roles(text) == [("2013-03-05", "issued"), ("2013-04-04", "due")]


def test_one_date_under_two_labels_is_mentioned_on_both_axes() -> None:
    assert _roles("Rechnungs- und Leistungsdatum: 01.02.2024") == [
        ("2024-02-01", "issued"),
        ("2024-02-01", "service"),
    ]


def test_a_service_date_equal_to_the_invoice_date_is_taken_over() -> None:
    text = "Rechnungsdatum: 01.02.2024\nLeistungsdatum entspricht Rechnungsdatum."
    assert ("2024-02-01", "service") in _roles(text)


def test_a_span_is_a_service_period_or_a_contract_term() -> None:
    assert _roles("Leistungszeitraum 01.09.2013 - 30.09.2013") == [
        ("2013-09-01", "period_start"),
        ("2013-09-30", "period_end"),
    ]
    assert _roles("Vertragslaufzeit: 01.01.2024 bis 31.12.2026") == [
        ("2024-01-01", "start"),
        ("2026-12-31", "end"),
    ]


def test_dates_under_a_head_line_take_its_columns() -> None:
    text = "Rechnungsdatum   Fälligkeit\n01.02.2024   15.02.2024"
    assert _roles(text) == [("2024-02-01", "issued"), ("2024-02-15", "due")]


def test_stacked_labels_take_the_stacked_dates() -> None:
    text = "Invoice Date:\nDue Date:\n2023-03-20\n2023-04-04"
    assert _roles(text, "en") == [("2023-03-20", "issued"), ("2023-04-04", "due")]


def test_a_print_line_is_less_certain_than_the_invoice_label() -> None:
    (printed,) = dates.find("Datum: 30.10.2024 Zeit: 04:59:13", "de")
    (labelled,) = dates.find("Rechnungsdatum: 30.10.2024", "de")
    assert printed.confidence < 0.7 < labelled.confidence


def test_mentions_point_into_the_text() -> None:
    text = "Rechnungsdatum: 19.01.2016"
    (mention,) = dates.find(text, "de")
    assert text[slice(*mention.span)] == mention.raw == "19.01.2016"
    assert mention.label == "Rechnungsdatum"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Car-2025-02-19.pdf", date(2025, 2, 19)),
        ("IMG_20250219_101112.jpg", date(2025, 2, 19)),
        ("Rechnung 19.02.2025.pdf", date(2025, 2, 19)),
        ("scan_2025-02-30.pdf", None),
        ("20250219-20250220.pdf", None),
        ("A1202502191.pdf", None),
        ("rechnung.pdf", None),
    ],
)
def test_file_name_dates_are_anchored(name: str, expected: date | None) -> None:
    found = dates.from_file_name(name)
    assert (None if found is None else found.value) == expected
    assert found is None or found.role is None


def test_months_without_day_are_not_dates() -> None:
    text = "Abrechnung für Juli 2015, Rechnungsdatum 02.08.2015"
    mentions = dates.find(text, "de")
    assert [m.value for m in dates.find_months(text, mentions)] == ["2015-07"]
    assert len(mentions) == 1


def test_every_axis_of_the_map_has_a_field_of_its_own() -> None:
    """DATE-21, TRI-12: each meaning of a date has its field."""
    fields = [axis.field for axis in DATE_MAP]
    assert len(fields) == len(set(fields))
    assert {Field.SERVICE_DATE, Field.DUE_DATE, Field.DATE_RECEIVED} <= set(fields)
    assert all(field.value != "date" for field in fields)


def test_every_label_of_the_word_list_is_a_role() -> None:
    text = "Rechnungsdatum 01.02.2024"
    assert dates.find(text, "de")[0].role is DateRole.ISSUED


def test_a_long_text_is_read() -> None:
    text = "Rechnungsdatum 01.02.2024 und Ablauf 02.03.2025\n" * 3000
    assert len(dates.find(text, "de")) == 6000
