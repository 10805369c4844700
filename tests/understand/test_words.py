"""Folding keeps offsets; phrase search finds the longest phrase in any spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.understand import words
from tgv_dagster.understand.words import LexiconError, PhraseFinder


@given(st.text())
def test_folding_keeps_the_length(text: str) -> None:
    assert len(words.fold(text)) == len(text)


@given(st.text())
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert words.fold(words.fold(text)) == words.fold(text)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("FÄLLIG AM 1.2.", "due"),
        ("faellig am", "due"),
        ("Échéance", "due"),
        ("ECHEANCE:", "due"),
        ("Stromrechnung", "invoice"),
        ("Rechnungs-Nr. 7", "number"),
        ("Rechnungs Nr 7", "number"),
        ("RechnungsNr", "number"),
        ("mit\nWirkung  vom", "start"),
        ("Счёт", "invoice"),
    ],
)
def test_a_phrase_is_found_in_each_spelling(text: str, key: str) -> None:
    finder = PhraseFinder(
        {
            "due": ["fällig am", "échéance"],
            "invoice": ["*rechnung", "счет"],
            "number": ["Rechnungs-Nr."],
            "start": ["mit Wirkung vom"],
        }
    )
    assert [hit.key for hit in finder.find(words.fold(text))] == [key]


def test_the_longest_phrase_wins_and_hits_do_not_overlap() -> None:
    finder = PhraseFinder({"short": ["total"], "long": ["total net"], "other": ["net"]})
    hits = list(finder.find(words.fold("Total net, total, net")))
    assert [hit.key for hit in hits] == ["long", "short", "other"]


def test_a_phrase_is_no_part_of_a_longer_word() -> None:
    finder = PhraseFinder({"tax": ["tax"]})
    assert list(finder.find("taxi syntax tax_id")) == []


def test_an_unknown_word_list_is_an_error() -> None:
    with pytest.raises(LexiconError, match="no_such_list"):
        words.load("no_such_list")


def test_a_missing_section_is_an_error() -> None:
    with pytest.raises(LexiconError, match="missing"):
        words.phrases_by_key("amount_labels", "absent")


def test_an_empty_phrase_is_an_error() -> None:
    with pytest.raises(LexiconError, match="empty"):
        PhraseFinder({"key": ["*"]})
