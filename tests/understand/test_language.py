"""Language: restricted to the allowed ones, per passage, honest about too little text."""

from __future__ import annotations

import pytest

from tgv_dagster.understand import language
from tgv_dagster.understand.language import UnknownLanguageError

ALL = ("de", "fr", "en", "it", "ru")
GERMAN = "Bitte überweisen Sie den Gesamtbetrag ohne Abzug bis zum Monatsende auf unser Konto."
FRENCH = "Veuillez régler la somme indiquée avant la fin du mois par virement bancaire."
ENGLISH = "Please transfer the total amount to the account given below by the end of the month."
ITALIAN = "Si prega di versare l'importo totale sul conto indicato entro la fine del mese."
RUSSIAN = "Просим перевести указанную сумму на расчётный счёт до конца месяца."


@pytest.mark.parametrize(
    ("text", "expected"),
    [(GERMAN, "de"), (FRENCH, "fr"), (ENGLISH, "en"), (ITALIAN, "it"), (RUSSIAN, "ru")],
)
def test_each_language_is_recognised(text: str, expected: str) -> None:
    verdict = language.detect(text, ALL)
    assert verdict.language == expected
    assert 0.5 < verdict.confidence <= 1


def test_only_allowed_languages_are_named() -> None:
    assert language.detect(ITALIAN, ("de", "fr")).language in ("de", "fr")


def test_a_single_allowed_language_is_not_forced_on_another_text() -> None:
    verdict = language.detect(RUSSIAN, ("de",))
    assert verdict.language is None
    assert "ru" in verdict.reason


@pytest.mark.parametrize("text", ["", "12,34 EUR", "----", "№ 5"])
def test_too_little_text_has_no_language(text: str) -> None:
    verdict = language.detect(text, ALL)
    assert (verdict.language, verdict.confidence) == (None, 0.0)


def test_passages_have_languages_of_their_own() -> None:
    text = f"{GERMAN} {GERMAN}\n\n{FRENCH} {FRENCH}\n\n{FRENCH} {FRENCH}"
    found = language.passages(text, ALL)
    assert [passage.verdict.language for passage in found] == ["de", "fr"]
    assert found[0].start == 0
    assert language.main_language(found) == "fr"


def test_an_unknown_code_is_an_error() -> None:
    with pytest.raises(UnknownLanguageError, match="xx"):
        language.detect(GERMAN, ("de", "xx"))


def test_a_long_text_is_judged_by_samples() -> None:
    assert language.detect(GERMAN * 4000, ALL).language == "de"
