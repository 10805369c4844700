"""Reading printed amounts: each way of writing, and no part of a longer number ever."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.understand import amounts
from tgv_dagster.understand.amounts import Ambiguous, Hints


@pytest.mark.parametrize(
    ("raw", "language", "expected"),
    [
        ("1.234,50", "de", "1234.50"),
        ("1,234.50", "en", "1234.50"),
        ("42'987,56", "de", "42987.56"),
        ("42’987.56", None, "42987.56"),
        ("27,80", "de", "27.80"),
        ("27,80", None, "27.80"),
        ("1.471,60", "de", "1471.60"),
        ("1 234,50", "fr", "1234.50"),
        ("1\u202f234,50 €", "fr", "1234.50"),
        ("1\u00a0234\u00a0567,89", "fr", "1234567.89"),
        ("CHF 987 654 321.50", None, "987654321.50"),
        ("189,00-", "nl", "-189.00"),
        ("−5,00", "de", "-5.00"),
        ("€ -9,32", "nl", "-9.32"),
        ("-€ 9.32", "en", "-9.32"),
        ("(12.50)", "en", "-12.50"),
        ("1.234,56 S", "de", "-1234.56"),
        ("1.234,56 H", "de", "1234.56"),
        ("12.00 DR", "en", "-12.00"),
        ("12.00 CR", "en", "12.00"),
        ("250.—", "de", "250"),
        ("5,-", "de", "5"),
        ("5,-- EUR", "de", "5"),
        ("0,0520", "de", "0.0520"),
        ("0.125", "en", "0.125"),
        ("3.441.812", "fr", "3441812"),
        ("1,23,456.00", "en", "123456.00"),
        ("1234.567", None, "1234.567"),
        ("119.00 евро", "ru", "119.00"),
    ],
)
def test_a_printed_amount_is_read_whole(raw: str, language: str | None, expected: str) -> None:
    assert amounts.parse(raw, language) == Decimal(expected)


@pytest.mark.parametrize(
    "raw",
    [
        *("", " ", "-", "€", "--5", "-5-", "12.11.2017", "1.00,00", "12,5,0", "12 34"),
        *("78.46.77.79", "1,2,3", "01.234,50x", "12:30", "(5)-", "0.000,00", "1..2", "12e5", "½"),
    ],
)
def test_what_is_no_amount_is_none(raw: str) -> None:
    assert amounts.parse(raw, "de") is None


@pytest.mark.parametrize("raw", ["1.000", "1,000"])
def test_a_lone_mark_before_three_digits_is_ambiguous(raw: str) -> None:
    assert amounts.parse(raw, None) == Ambiguous((Decimal(1000), Decimal("1.000")))


@pytest.mark.parametrize(
    ("raw", "language", "mark", "expected"),
    [
        ("1.000", "de", None, "1000"),
        ("1,000", "en", None, "1000"),
        ("1.000", None, ",", "1000"),
        ("1.000", None, ".", "1.000"),
        ("1,000", None, ",", "1.000"),
        ("1,000", "en", ",", "1.000"),
    ],
)
def test_column_evidence_decides_before_the_language(
    raw: str, language: str | None, mark: str | None, expected: str
) -> None:
    assert amounts.parse(raw, language, Hints(mark)) == Decimal(expected)


def test_the_foreign_group_mark_stays_ambiguous() -> None:
    assert isinstance(amounts.parse("1,000", "de"), Ambiguous)
    assert isinstance(amounts.parse("1.000", "en"), Ambiguous)
    assert isinstance(amounts.parse("-1.000", None), Ambiguous)


def _write(value: Decimal, group: str, mark: str) -> str:
    whole, fraction = f"{abs(value):.2f}".split(".")
    groups: list[str] = []
    while whole:
        groups.insert(0, whole[-3:])
        whole = whole[:-3]
    return ("-" if value < 0 else "") + group.join(groups) + mark + fraction


_STYLES = [("de", ".", ","), ("fr", "\u202f", ","), ("fr", "\u00a0", ","), ("de", "'", ".")]
_STYLES += [
    ("en", ",", "."),
    ("it", ".", ","),
    ("de", "’", ","),
    ("ru", "\u00a0", ","),
    ("de", "", ","),
]
_values = st.decimals(min_value=-99_999_999, max_value=99_999_999, places=2, allow_nan=False)


@given(_values, st.sampled_from(_STYLES))
def test_every_style_is_read_back(value: Decimal, style: tuple[str, str, str]) -> None:
    language, group, mark = style
    assert amounts.parse(_write(value, group, mark), language) == value


@given(_values, st.sampled_from(_STYLES), st.sampled_from(["€ {}", "{} EUR", "CHF {}", "{}€"]))
def test_an_amount_in_a_sentence_is_found_whole(
    value: Decimal, style: tuple[str, str, str], frame: str
) -> None:
    language, group, mark = style
    text = f"Die Summe von {frame.format(_write(value, group, mark))} ist offen."
    found = amounts.find(text, language)
    assert [mention.value for mention in found] == [value]
    assert text[slice(*found[0].span)] == found[0].raw


@given(
    st.text(alphabet="0123456789.,' -€\u202fSH", max_size=14), st.sampled_from([None, "de", "en"])
)
def test_reading_never_fails_and_keeps_all_digits(raw: str, language: str | None) -> None:
    value = amounts.parse(raw, language)
    if isinstance(value, Decimal):
        digits = "".join(character for character in raw if character.isdigit())
        assert f"{abs(value):f}".replace(".", "").lstrip("0") == digits.lstrip("0")


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("78,40 m² für 1.200,00 € am 18.11.17", "de", ["1200.00"]),
        ("Tel. 089/99822-0, Fax 0621 12.50", "de", []),
        ("Tél. 01.23.45.67.89", "fr", []),
        ("IBAN DE92 7607 0012 0750 0077 00", "de", []),
        ("IP 78.46.77.79 kostet 41,18 €", "de", ["41.18"]),
        ("1 41,1765 € 41,18 €", "de", ["41.1765", "41.18"]),
        ("Kaart 1 € 156,20 € 156,20 21% € 32,80", "nl", ["156.20", "156.20", "32.80"]),
        ("7,00 $12,00 $182,00", "en", ["7.00", "12.00", "182.00"]),
        ("Betaald € 189,00-", "nl", ["-189.00"]),
        ("Rate 1.234,56 S und 99,00 H", "de", ["-1234.56", "99.00"]),
        ("19,00% MwSt.: 376,37 71,51 447,88", "de", ["376.37", "71.51", "447.88"]),
        ("zahlbar bis 29.09. oder 12.12.", "de", []),
        ("4.10 Kündigung\n§ 5.20 Haftung", "de", []),
        ("RE-2017,50 X12,34 Art. 5,00", "de", []),
        ("EUR12,00 und 12EUR", "de", ["12.00", "12"]),
        ("300 € pauschal, Betrag: 5,- €", "de", ["300", "5"]),
        ("12,50 h zu 80,00 EUR", "de", ["80.00"]),
        ("1.471,60", "de", ["1471.60"]),
    ],
)
def test_numbers_are_money_only_with_reason(text: str, language: str, expected: list[str]) -> None:
    assert [str(mention.value) for mention in amounts.find(text, language)] == expected


def test_currency_marks_name_the_currency() -> None:
    found = amounts.find("$4.11, £5.00, CHF 6.00, 7.00 руб. und 8,00 DM", "en")
    assert [mention.currency for mention in found] == ["USD", "GBP", "CHF", "RUB", "DEM"]


def test_soft_blanks_group_in_french_and_are_doubtful_in_german() -> None:
    (french,) = amounts.find("Total 10 120,00 €", "fr")
    (german,) = amounts.find("Total 10 120,00 €", "de")
    assert (french.value, french.ambiguous) == (Decimal("10120.00"), False)
    assert (german.value, german.other_reading) == (Decimal("10120.00"), Decimal("120.00"))


def test_the_text_itself_decides_a_lone_group() -> None:
    (whole, _) = amounts.find("1.000 € und 27,80 €", None)
    assert (whole.value, whole.ambiguous) == (Decimal(1000), False)
    (alone,) = amounts.find("1.000 €", None)
    assert alone.ambiguous


@pytest.mark.parametrize("unit", ["12,34 € ", "1 ", "1.1.", "€", "1'", "1 000 ", "-", "x1,"])
def test_long_lines_are_read_in_linear_time(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    assert len(amounts.find(text, "de")) <= len(text)
