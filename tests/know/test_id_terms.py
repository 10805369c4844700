"""Dates, amounts and identifiers: ways of writing one thing give one token."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.know.identifiers import id_terms, id_tokens
from tgv_dagster.understand.folding import fold


def held(text: str) -> set[str]:
    return set(id_tokens(fold(text)))


def asked(text: str) -> set[str]:
    return {token for term in id_terms(fold(text)) for token in term.exact}


@pytest.mark.parametrize(
    "written",
    [
        "31. August 2026", "31.08.2026", "31.8.26", "31/08/2026", "31-08-2026", "2026-08-31",
        "2026-08-31T10:15:00Z", "31. 08. 2026", "31 août 2026", "le 31 aout 2026,",
        "August 31, 2026",
        "31st of August 2026", "31 agosto 2026", "31 de agosto de 2026", "31 августа 2026 г.",
        "31-Aug-2026", "(31.08.2026)", "31\u00a0août\u00a02026", "08/31/2026", "20260831",
        "31. AUGUST 2026.",
    ],
)  # fmt: skip
def test_ways_to_write_a_day_give_one_token(written: str) -> None:
    assert "d20260831" in held(written)
    assert "d20260831" in asked(written)


@pytest.mark.parametrize("written", ["31 août", "31.08.", "31. August", "Échéance : 31 août"])
def test_a_day_without_a_year_is_found_in_full_dates_and_finds_itself(written: str) -> None:
    assert asked(written) == {"a0831"}
    assert "a0831" in held(written) & held("fällig am 31.08.2026")


@pytest.mark.parametrize("written", ["August 2026", "août 2026", "08/2026", "Agosto de 2026"])
def test_a_month_finds_its_days(written: str) -> None:
    assert asked(written) == {"m202608"}
    assert "m202608" in held("am 31.08.2026")


@pytest.mark.parametrize("written", ["31.02.2026", "45.13.2026", "im Mai", "Abs. 2 Satz 1"])
def test_what_is_no_date_gives_no_date(written: str) -> None:
    assert not {token for token in held(written) if token[0] in "dam"}


@given(st.dates(dt.date(1970, 1, 1), dt.date(2069, 12, 31)))
def test_every_day_is_read_in_every_numeric_form(day: dt.date) -> None:
    token = f"d{day:%Y%m%d}"
    for form in (
        day.isoformat(),
        f"{day:%d.%m.%Y}",
        f"{day:%d.%m.%y}",
        f"{day.day}.{day.month}.{day.year}",
    ):
        assert token in asked(form)


@pytest.mark.parametrize(
    "written",
    [
        "1.234,56", "1 234,56 €", "1\u202f234,56 EUR", "1'234.56", "1,234.56", "1234,56",
        "EUR 1.234,56", "1.234,56€", "-1.234,56",
    ],
)  # fmt: skip
def test_ways_to_write_an_amount_share_a_token(written: str) -> None:
    assert "n1234.56" in held(written) & asked(written)


def test_round_amounts_and_both_readings_meet() -> None:
    assert held("10.000,00 EUR") & asked("10000")
    assert held("1.234 Stück") >= {"n1234", "n1.234"}
    assert "n234.56" in held("Pos. 1 234,56")


@given(st.integers(100, 10**9), st.integers(0, 99))
def test_an_amount_is_found_in_german_french_and_english_form(euros: int, cents: int) -> None:
    english = f"{euros:,}.{cents:02d}"
    german = english.replace(",", "_").replace(".", ",").replace("_", ".")
    french = german.replace(".", "\u202f")
    assert asked(german) & held(english) & held(french)


@pytest.mark.parametrize(
    "one, other",
    [
        ("DE89 3704 0044 0532 0130 00 BIC COBADEFF", "DE89370400440532013000"),
        ("HRB 102141 B", "HRB102141B"),
        ("DE 123 456 789", "DE123456789"),
        ("St.-Nr. 12/345/67890", "1234567890"),
        ("RE-2026/0815", "RE 2026 0815"),
        ("RE-20260831", "re20260831"),
        ("SIRET 123 456 789 00012", "12345678900012"),
        ("Kundennr. 0012345", "0012345"),
    ],
)
def test_separators_inside_an_identifier_do_not_count(one: str, other: str) -> None:
    tokens = {token for token in asked(other) if token.startswith("x")}
    assert tokens & held(one)
    assert tokens & held(other)


@given(st.text(max_size=200))
def test_an_index_holds_whatever_the_same_text_asks_for(text: str) -> None:
    assert asked(text) <= held(text)


@given(st.text(alphabet="0123456789.,/-' aAdDeEmai", max_size=120))
def test_tokens_are_short_single_words(text: str) -> None:
    assert all(len(token) <= 42 and not token.split()[1:] for token in held(text))
