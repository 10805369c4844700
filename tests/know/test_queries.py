"""Questions: every input gives terms or says why there is nothing to look up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.know.queries import (
    MAX_CHARACTERS,
    MAX_IDS,
    MAX_PHRASES,
    MAX_WORDS,
    NoSearch,
    NothingToSearch,
    QueryTerms,
    understand,
)


def terms(question: str) -> QueryTerms:
    understood = understand(question)
    assert isinstance(understood, QueryTerms)
    return understood


def plain(question: str) -> list[str]:
    return [word.plain for word in terms(question).words]


@pytest.mark.parametrize(
    "question, reason",
    [
        ("", NoSearch.EMPTY),
        (" \n\t ", NoSearch.EMPTY),
        ("?!.,;:-()[]{}\"'", NoSearch.NO_WORDS),
        ("\0\0", NoSearch.NO_WORDS),
        ("sag mir bitte mal was das ist", NoSearch.ONLY_STOP_WORDS),
        ("où est-ce que c'est", NoSearch.ONLY_STOP_WORDS),
        ("can you please tell me where it is", NoSearch.ONLY_STOP_WORDS),
    ],
)
def test_nothing_to_search_is_said_with_its_reason(question: str, reason: NoSearch) -> None:
    understood = understand(question)
    assert isinstance(understood, NothingToSearch)
    assert understood.reason is reason
    said = {language: understood.message(language) for language in ("de", "fr", "en", "xx")}
    assert len(set(said.values())) == 3
    assert said["xx"] == said["en"]


@pytest.mark.parametrize(
    "question, expected",
    [
        ("Sag mir bitte, wann meine Haftpflicht morgen endet", ["haftpflicht", "endet"]),
        ("Où est la facture de l'hébergeur ?", ["facture", "hebergeur"]),
        ("Where is my car?", ["car"]),
        ("Где договор аренды?", ["договор", "аренды"]),
        ("a:(^ AND NOT field:x", ["field"]),
        ("https://x.de/pfad?q=1", ["https", "pfad", "1"]),
        ("Gebuehr", ["gebuhr"]),
    ],
)  # fmt: skip
def test_words_that_carry_the_subject_remain(question: str, expected: list[str]) -> None:
    found = plain(question)
    assert [word for word in expected if word not in found] == []
    assert not {"mir", "bitte", "morgen", "est", "la", "is", "my", "где", "and"} & set(found)


def test_the_text_for_the_vector_has_no_fillers_and_keeps_its_spelling() -> None:
    assert (
        terms("Sag mir bitte die Kündigungsfrist, Größe XL!").for_vector
        == "Kündigungsfrist, Größe XL!"
    )


def test_identifiers_quotes_and_names_become_phrases() -> None:
    assert ("re", "2026", "0815") in terms("Wo ist RE-2026/0815?").phrases
    assert ("gute", "arbeit") in terms("Suche „gute Arbeit“ im Zeugnis").phrases
    assert ("max", "muller", "gmbh") in terms("Max Müller GmbH").phrases
    assert terms("Kündigung").phrases == ()


def test_a_date_is_asked_for_by_its_token_even_among_fillers() -> None:
    assert [term.exact for term in terms("was war am 31.08.2026").ids] == [("d20260831",)]


def test_a_sentence_without_spaces_asks_for_its_pairs() -> None:
    assert [word.grams for word in terms("合同编号").words] == [("合同",), ("同编",), ("编号",)]


def test_a_huge_question_is_cut_and_says_so() -> None:
    understood = terms(" ".join(f"wort{n}abc RE-{n}/{n + 1000}" for n in range(10_000)))
    assert understood.truncated
    assert len(understood.words) <= MAX_WORDS
    assert not terms("Mietvertrag").truncated


@given(st.one_of(st.text(), st.text(alphabet="\"'():^~*?[]{}+-&|!\\/ aÄß\0語1.,", max_size=400)))
def test_any_input_gives_bounded_terms_or_a_reason(question: str) -> None:
    understood = understand(question)
    if isinstance(understood, NothingToSearch):
        assert understood.message("de")
        return
    assert understood.words or understood.ids
    assert len(understood.words) <= MAX_WORDS
    assert len(understood.ids) <= MAX_IDS
    assert len(understood.phrases) <= MAX_PHRASES
    assert all(len(run) >= 2 and all(run) for run in understood.phrases)
    assert understood.for_vector.strip()
    assert len(understood.for_vector) <= MAX_CHARACTERS
    assert all(word.plain for word in understood.words)
