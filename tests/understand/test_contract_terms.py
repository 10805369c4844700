"""Contract start and end from forms, legal prose and references; "checked, none" said aloud."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.understand.contract_terms import TermState, contract_end, contract_start

FILLER = "Der Mieter zahlt ab dem 01.02.2021 die Miete. Die Indexklausel gilt. "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dieser Vertrag wird mit Wirkung vom 01.12.2003 geschlossen.", date(2003, 12, 1)),
        ("Dieser Vertrag wird mit Wirkung\nvom 1. Dezember\n2003 geschlossen.", date(2003, 12, 1)),
        ("Le bail est consenti à compter du 1er janvier 2024 pour neuf ans.", date(2024, 1, 1)),
        ("Le contrat prend effet le 01/07/2022 à 0h.", date(2022, 7, 1)),
        ("This Agreement is effective as of March 3, 2021.", date(2021, 3, 3)),
        ("The lease shall commence on 1 June 2019 and be terminated by notice.", date(2019, 6, 1)),
        ("Il contratto decorre dal 1° gennaio 2024.", date(2024, 1, 1)),
        ("Договор вступает в силу с 1 января 2024 г.", date(2024, 1, 1)),
        ("Beginn der Versicherung 01.12.2003", date(2003, 12, 1)),
        ("Versicherungsbeginn\n01.12.2003, 12 Uhr\nAblauf 01.12.2013", date(2003, 12, 1)),
        ("Vertragslaufzeit: 01.01.2024 - 31.12.2026", date(2024, 1, 1)),
        ("Das Mietverhältnis beginnt am 01.03.2021 und ist kündbar.", date(2021, 3, 1)),
        ("Der Arbeitnehmer wird ab dem 1. April 2024 eingestellt.", date(2024, 4, 1)),
        ("Der Vertrag tritt am 15.07.2019 in Kraft.", date(2019, 7, 15)),
        (
            "Der Beginn folgt aus § 2.\n\n§ 1 Sache\nHaus.\n\n§ 2 Fristen\n04.05.2019\n",
            date(2019, 5, 4),
        ),
    ],
)
def test_the_start_is_read(text: str, expected: date) -> None:
    language = "fr" if "contrat" in text else None
    found = contract_start(text, language)
    assert (found.state, found.value) == (TermState.FOUND, expected)
    assert found.span is not None


@pytest.mark.parametrize(
    "text",
    [
        "Die Kündigung erfolgt mit Wirkung vom 31.12.2024.",
        "Mit Wirkung vom 01.01.2025 erhöht sich die Prämie.",
        "Die Miete erhöht sich ab dem 01.01.2025 um 2 %.",
        "Preise gültig ab 01.01.2024.",
        "Der Vertrag verlängert sich ab dem 01.01.2026 um ein Jahr.",
        "Le loyer est payable à compter du 1er février 2024.",
        "Résiliation du contrat à compter du 1er mars 2024.",
        "Rechnung vom 12.01.2020 zum Vertrag vom 03.02.2019.",
        "Das Gesetz gilt ab 25.05.2018.",
        "Stand: 8. September 2014",
        "",
    ],
)
def test_other_dates_are_no_start(text: str) -> None:
    found = contract_start(text)
    assert (found.state, found.value) == (TermState.NONE, None)
    assert found.rule_id == "term.start.not_stated"


@pytest.mark.parametrize(
    "text",
    [
        "Versicherungsbeginn: keine\nAblauf: 01.01.2030",
        "Versicherungsbeginn:\nkeine Angabe",
        "Vertragsbeginn: ________",
        "Date d'effet : néant",
        "Start date: N/A",
        "Decorrenza: nessuna",
        "Vertragsbeginn: nach Vereinbarung",
    ],
)
def test_a_stated_nothing_is_checked_and_none(text: str) -> None:
    found = contract_start(text)
    assert (found.state, found.value) == (TermState.NONE, None)
    assert found.rule_id in ("term.start.stated_none", "term.start.blank")
    assert found.span is not None


def test_nothing_after_the_label_does_not_hide_a_date() -> None:
    assert contract_start("Vertragsbeginn: offen gestaltet ab 2020").state is TermState.NONE
    found = contract_start("Versicherungsbeginn: 01.02.2020, keine Wartezeit")
    assert found.value == date(2020, 2, 1)


def test_two_equal_starts_are_a_question() -> None:
    found = contract_start("Vertragsbeginn 01.01.2020\nVertragsbeginn 01.02.2020")
    assert found.state is TermState.AMBIGUOUS
    assert found.candidates == (date(2020, 1, 1), date(2020, 2, 1))
    assert found.value is None


def test_an_unsettled_order_of_day_and_month_is_a_question() -> None:
    found = contract_start("This lease commences on 03/04/2021.", "en")
    assert found.state is TermState.AMBIGUOUS
    assert found.candidates == (date(2021, 3, 4), date(2021, 4, 3))


def test_a_start_with_the_signature_takes_the_last_signature() -> None:
    text = (
        "Dieser Vertrag tritt mit Unterzeichnung in Kraft.\n\nBerlin, den 15.01.2025\n"
        "Unterschrift\n\nMünchen, den 20.01.2025\nUnterschrift"
    )
    found = contract_start(text)
    assert (found.state, found.value) == (TermState.FOUND, date(2025, 1, 20))
    assert found.rule_id == "term.start.signature"


def test_a_start_with_an_event_without_date_is_unresolved() -> None:
    assert contract_start("Der Vertrag beginnt mit der Übergabe.").state is TermState.UNRESOLVED
    dated = contract_start("Der Vertrag beginnt mit der Übergabe. Die Übergabe am 04.05.2019.")
    assert dated.value == date(2019, 5, 4)


def test_an_amendment_is_a_question_and_no_start() -> None:
    found = contract_start("Nachtrag Nr. 2 tritt mit Wirkung zum 01.01.2024 in Kraft.")
    assert found.state is TermState.UNRESOLVED
    assert found.candidates == (date(2024, 1, 1),)


def test_a_lease_of_more_than_100_000_characters_is_read() -> None:
    clause = "\n§ 2 Mietzeit\nDas Mietverhältnis beginnt am 01.03.2021.\n"
    text = FILLER * 900 + clause + FILLER * 900
    assert len(text) > 100_000
    found = contract_start(text, "de")
    assert (found.state, found.value) == (TermState.FOUND, date(2021, 3, 1))


@pytest.mark.parametrize(
    ("text", "state", "expected"),
    [
        ("Ablauf: 01.12.2013", TermState.FOUND, date(2013, 12, 1)),
        ("Das Mietverhältnis endet am 30.4.2023.", TermState.FOUND, date(2023, 4, 30)),
        ("Le bail expire le 31 décembre 2032.", TermState.FOUND, date(2032, 12, 31)),
        ("Il contratto scade il 31 dicembre 2027.", TermState.FOUND, date(2027, 12, 31)),
        ("Vertragslaufzeit: 01.01.2024 - 31.12.2026", TermState.FOUND, date(2026, 12, 31)),
        ("Der Vertrag wird auf unbestimmte Zeit geschlossen.", TermState.NONE, None),
        ("Vertragsende: offen", TermState.NONE, None),
        ("Die Probezeit endet am 30.06.2024.", TermState.NONE, None),
    ],
)
def test_the_end_is_read_or_checked_none(
    text: str, state: TermState, expected: date | None
) -> None:
    found = contract_end(text)
    assert (found.state, found.value) == (state, expected)


def test_an_open_ended_contract_says_so() -> None:
    found = contract_end("Der Vertrag wird auf unbestimmte Zeit geschlossen.")
    assert found.rule_id == "term.end.open_ended"


_days = st.dates(date(1990, 1, 1), date(2049, 12, 31))
_FRAMES = ["Versicherungsbeginn: {}", "Der Vertrag beginnt am {}.", "Mietbeginn {}", "Gültig ab {}"]


@given(_days, st.sampled_from(_FRAMES))
def test_any_day_behind_a_cue_is_found(day: date, frame: str) -> None:
    assert contract_start(frame.format(f"{day:%d.%m.%Y}"), "de").value == day


@given(st.text(max_size=120))
def test_any_text_has_an_outcome(text: str) -> None:
    for found in (contract_start(text), contract_end(text)):
        assert (found.value is not None) == (found.state is TermState.FOUND)
