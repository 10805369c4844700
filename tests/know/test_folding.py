"""Folding: spellings of one word meet, and every part of a text keeps its words."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.know.normalise import index_texts
from tgv_dagster.know.stems import compound_ends, grams, stems
from tgv_dagster.understand.folding import collapse, fold, words


def spelling(word: str) -> list[str]:
    return [collapse(found) for found in words(fold(word))]


@pytest.mark.parametrize(
    "spellings",
    [
        ["Gebühr", "gebuehr", "GEBUHR", "Gebu\u0308hr"],
        ["Straße", "STRASSE", "strasse"],
        ["Œuvre", "oeuvre", "œuvre"],
        ["échéance", "ECHEANCE", "e\u0301che\u0301ance"],
        [
            "Rechnungsnummer",
            "Rechnungs-\nnummer",
            "Rech\u00adnungs\u00adnummer",
            "Ｒechnungsnummer",
        ],
        ["ёлка", "елка"],
        ["finance", "ﬁnance"],
        ["Łódź", "lodz"],
    ],
    ids=lambda spellings: spellings[0],
)
def test_spellings_of_one_word_meet(spellings: list[str]) -> None:
    assert len({tuple(spelling(word)) for word in spellings}) == 1


@pytest.mark.parametrize(
    "text, expected",
    [
        ("l’échéance", ["l", "echeance"]),
        ("„Anführung“–Strich", ["anfuhrung", "strich"]),
        ("Soll-\nHaben", ["soll", "haben"]),
        ("a:(^b\0c", ["a", "b", "c"]),
        ("новый договор", ["новый", "договор"]),
        ("किताब ।", ["किताब"]),
        ("\ud800", []),
        ("€ -- ...", []),
        ("\x80\x9f", []),
        ("第15条 abc語", ["第", "15", "条", "abc", "語"]),
    ],
)
def test_words_are_runs_of_letters_and_digits(text: str, expected: list[str]) -> None:
    assert words(fold(text)) == expected


@pytest.mark.parametrize(
    "one, other",
    [
        ("kündigung", "kündigungen"),
        ("factures", "facture"),
        ("résiliation", "résilier"),
        ("issues", "issue"),
        ("banques", "banque"),
        ("fatture", "fattura"),
        ("договора", "договор"),
        ("gebuehren", "gebühr"),
    ],
)
def test_forms_of_a_word_share_a_stem_in_every_language(one: str, other: str) -> None:
    assert set(stems(fold(one))) & set(stems(fold(other)))


def test_a_part_of_a_compound_has_its_letter_groups() -> None:
    assert set(grams("vertrag")) <= set(grams("mietvertrag"))
    assert set(compound_ends("mietvertrag")[0]) <= set(grams("vertrag"))


def test_scripts_without_spaces_have_pairs() -> None:
    assert grams("合同编号") == ("合同", "同编", "编号")


@given(st.text())
def test_folded_text_is_encodable_and_stays_as_it_is_when_folded_again(text: str) -> None:
    folded = fold(text)
    folded.encode()
    found = words(folded)
    assert words(fold(" ".join(found))) == found


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "Zs"], max_codepoint=0x24F)))
def test_latin_text_is_split_the_same_on_the_fast_way_and_on_the_slow_one(text: str) -> None:
    folded = fold(text)
    fast, slow = words(folded), words(folded + " 語")
    assert slow == [*fast, "語"]


@given(st.text(max_size=300))
def test_what_is_indexed_is_what_a_question_for_it_asks(text: str) -> None:
    indexed = index_texts(text)
    asked = {collapse(word) for part in text.split() for word in words(fold(part))}
    joined = "\n" in unicodedata.normalize("NFKC", text) and "-" in fold(text)
    assert joined or set(indexed.plain.split()) == asked
