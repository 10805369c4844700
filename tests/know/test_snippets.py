"""What a card shows of its chunk: the passage that matches, with the matched words marked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.know.queries import QueryTerms, understand
from tgv_dagster.know.snippets import MOST_CHARACTERS, Snippet, snippet_of

FAR = "Allgemeine Angaben ohne Bezug zur Sache. "
NEAR = "Die Kündigungsfrist des Mietvertrags endet am 31. August 2026, Betrag 1.234,56 Euro."


def terms(question: str) -> QueryTerms:
    found = understand(question)
    assert isinstance(found, QueryTerms)
    return found


def marked(snippet: Snippet) -> list[str]:
    return [snippet.text[start:end] for start, end in snippet.marks]


def test_the_window_with_the_words_is_shown_and_they_are_marked() -> None:
    shown = snippet_of([FAR, NEAR, FAR], None, terms("Kündigungsfrist Vertrag"))
    assert shown.text == NEAR
    assert marked(shown) == ["Kündigungsfrist", "Mietvertrags"]


def test_other_spellings_and_forms_are_marked() -> None:
    shown = snippet_of(["Die Gebühren und die factures émises"], None, terms("Gebuehr facture"))
    assert marked(shown) == ["Gebühren", "factures"]


def test_numbers_are_marked_however_they_are_written() -> None:
    assert marked(snippet_of([NEAR], None, terms("Betrag 1234,56"))) == ["Betrag", "1.234,56"]


def test_the_window_nearest_by_meaning_is_shown_when_no_window_holds_a_word() -> None:
    shown = snippet_of([FAR, NEAR], 1, terms("préavis"))
    assert (shown.text, shown.marks) == (NEAR, ())


def test_a_window_with_words_stands_in_for_a_nearest_one_without() -> None:
    assert snippet_of([FAR, NEAR], 0, terms("Kündigungsfrist")).text == NEAR
    both = snippet_of([NEAR, NEAR + " Und mehr zur Frist."], 0, terms("Kündigungsfrist"))
    assert both.text == NEAR, "the nearest one stays when it holds a word"


def test_a_long_window_is_cut_around_its_words() -> None:
    shown = snippet_of([FAR * 40 + NEAR + FAR * 40], None, terms("Kündigungsfrist Betrag"))
    assert shown.text.startswith("…")
    assert "Kündigungsfrist" in marked(shown)
    assert "Betrag" in marked(shown)


def test_repeating_one_word_does_not_outweigh_two_different_ones() -> None:
    windows = ["Garage Garage Garage Garage", "Garage mit Stellplatz"]
    assert snippet_of(windows, None, terms("Garage Stellplatz")).text == windows[1]


@given(st.lists(st.text(max_size=900), max_size=4), st.none() | st.integers(-3, 6))
def test_any_text_gives_a_bounded_snippet_with_marks_inside(
    windows: list[str], preferred: int | None
) -> None:
    shown = snippet_of(windows, preferred, terms("Garage 31.08. 発票 a1"))
    assert len(shown.text) <= MOST_CHARACTERS
    assert all(0 <= start < end <= len(shown.text) for start, end in shown.marks)
