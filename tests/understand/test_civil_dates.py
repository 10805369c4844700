"""The grammar of dates: every usual writing, no day that does not exist, order by evidence."""

from __future__ import annotations

from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.understand import civil_dates

GERMAN_MONTHS = ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August"]
GERMAN_MONTHS += ["September", "Oktober", "November", "Dezember"]
FRENCH_MONTHS = ["janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août"]
FRENCH_MONTHS += ["septembre", "octobre", "novembre", "décembre"]


def _values(text: str, language: str | None = "de", country: str | None = None) -> list[str]:
    return [str(read.value) for read in civil_dates.parse_all(text, language, country)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1er janvier 2024", "2024-01-01"),
        ("12. Januar 2020", "2020-01-12"),
        ("2nd May 2005", "2005-05-02"),
        ("2nd of May, 2005", "2005-05-02"),
        ("May 2nd, 2005", "2005-05-02"),
        ("August 3 , 2014", "2014-08-03"),
        ("18.11.17", "2017-11-18"),
        ("2023-12-06", "2023-12-06"),
        ("2023-12-06T10:00:00", "2023-12-06"),
        ("2023/12/06", "2023-12-06"),
        ("12. 01. 2020", "2020-01-12"),
        ("1.2.2020", "2020-02-01"),
        ("1. Mai 2020Rechnung", "2020-05-01"),
        ("12 MÄRZ 2021", "2021-03-12"),
        ("12. Maerz 2021", "2021-03-12"),
        ("15 aout 2021", "2021-08-15"),
        ("1° gennaio 2024", "2024-01-01"),
        ("15 de enero de 2023", "2023-01-15"),
        ("1 января 2024 г.", "2024-01-01"),
        ("02-May-2005", "2005-05-02"),
        ("12.Jan.20", "2020-01-12"),
        ("Dec. 24, 1999", "1999-12-24"),
        ("8-9-2022", "2022-09-08"),
        ("01.12.03", "2003-12-01"),
        ("31.12.99", "1999-12-31"),
        ("29.02.2024", "2024-02-29"),
        ("1er\njanvier 2024", "2024-01-01"),
    ],
)
def test_a_written_date_is_read(text: str, expected: str) -> None:
    assert _values(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        *("31.02.2020", "29.02.2023", "00.01.2020", "32.01.2020", "13.13.2020", "2020-13-01"),
        *("1.2.3.2020", "78,40 m²", "78.46.77.79", "4.2.5.", "RE-20171118/506", "2015-07-02-3"),
        *("1.1.1850", "12.5"),
    ],
)
def test_what_is_no_date_gives_none(text: str) -> None:
    assert _values(text) == []


@pytest.mark.parametrize(
    ("text", "language", "country", "expected"),
    [
        ("03/04/2023", "fr", None, "2023-04-03"),
        ("03/04/2023", "en", "US", "2023-03-04"),
        ("03/04/2023", "en", "GB", "2023-04-03"),
        ("11/27/2024", "de", None, "2024-11-27"),
        ("04/04/2023", "en", None, "2023-04-04"),
        ("11.27.2024", "de", None, "2024-11-27"),
    ],
)
def test_order_follows_country_language_and_possibility(
    text: str, language: str, country: str | None, expected: str
) -> None:
    (read,) = civil_dates.parse_all(text, language, country)
    assert (str(read.value), read.other) == (expected, None)
    assert read.confidence >= 0.8


def test_another_date_of_the_text_proves_the_order() -> None:
    assert _values("11/27/2024, 03/04/2023", "en") == ["2024-11-27", "2023-03-04"]
    assert _values("27/11/2024, 03/04/2023", "en") == ["2024-11-27", "2023-04-03"]


def test_an_undecided_order_names_both_readings() -> None:
    (read,) = civil_dates.parse_all("03/04/2023", "en", None)
    assert {read.value, read.other} == {date(2023, 4, 3), date(2023, 3, 4)}
    assert read.confidence < 0.5


def test_proof_against_the_language_leaves_the_others_undecided() -> None:
    impossible, other = civil_dates.parse_all("11/27/2024, 03/04/2023", "de", None)
    assert impossible.value == date(2024, 11, 27)
    assert other.other is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("du 1er au 31 juillet 2015", ["2015-07-01", "2015-07-31"]),
        ("01.-31.07.2015", ["2015-07-01", "2015-07-31"]),
        ("01.07. bis 31.07.2015", ["2015-07-01", "2015-07-31"]),
        ("15.12. - 14.01.2024", ["2023-12-15", "2024-01-14"]),
        ("July 1 - July 31 , 2014", ["2014-07-01", "2014-07-31"]),
        ("17.01.2016 - 16.02.2016", ["2016-01-17", "2016-02-16"]),
        ("3. bis 5. Mai 2021", ["2021-05-03", "2021-05-05"]),
    ],
)
def test_a_shortened_start_of_a_span_is_completed(text: str, expected: list[str]) -> None:
    assert _values(text, "fr") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Abrechnung Juli 2015", ["2015-07"]),
        ("Monat 07/2015", ["2015-07"]),
        ("Periode 2015-07", ["2015-07"]),
        ("am 1. Juli 2015", []),
        ("13/2015", []),
    ],
)
def test_a_month_without_day_stays_a_month(text: str, expected: list[str]) -> None:
    taken = tuple(read.span for read in civil_dates.parse_all(text, "de", None))
    assert [p.value for p in civil_dates.parse_partial(text, taken)] == expected


_days = st.dates(date(1951, 1, 1), date(2049, 12, 31))


@given(_days)
def test_every_day_is_read_back_in_each_writing(day: date) -> None:
    german = f"{day.day}. {GERMAN_MONTHS[day.month - 1]} {day.year}"
    first = "1er" if day.day == 1 else str(day.day)
    french = f"{first} {FRENCH_MONTHS[day.month - 1]} {day.year}"
    writings = [german, french, f"{day:%d.%m.%Y}", f"{day:%d.%m.%y}", f"{day:%Y-%m-%d}"]
    text = "; ".join(f"am {writing}" for writing in writings)
    assert _values(text) == [str(day)] * len(writings)


@given(st.text(alphabet="0123456789./- mai", max_size=24))
def test_reading_never_fails_and_spans_are_ordered(text: str) -> None:
    reads = civil_dates.parse_all(text, "de", None)
    for earlier, later in pairwise(reads):
        assert earlier.span[1] <= later.span[0]


@pytest.mark.parametrize("unit", ["18.11.17 ", "1.", "1/", "Januar ", "1 mai ", "1.1.20 - "])
def test_long_texts_are_read(unit: str) -> None:
    text = unit * (150_000 // len(unit))
    assert len(civil_dates.parse_all(text, "de", None)) <= len(text) // 6
