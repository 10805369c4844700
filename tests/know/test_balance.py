"""Rule A″: who leads, who is added, what is said, what is degraded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.know.balance import (
    Balanced,
    BalanceSettings,
    Card,
    Doubt,
    Emptiness,
    Hit,
    Rendering,
    ValidationStatus,
    WayResult,
    WayState,
    Weg,
    balance,
    degrade_unused,
    hit_line,
)
from tgv_dagster.know.embeddings import ScoreFloor
from tgv_dagster.know.queries import NoSearch, NothingToSearch

FLOOR = ScoreFloor(0.78, condition="a test")
FAILED = WayResult((), WayState.FAILED, "timeout")


def way(*documents: int, score: float = 0.9, first_chunk: int = 0) -> WayResult:
    """One hit per named document, each in a chunk of its own, best first."""
    return WayResult(
        tuple(
            Hit(document, first_chunk + at, score - at / 1000, title=f"Dokument {document}")
            for at, document in enumerate(documents)
        )
    )


def words(*documents: int) -> WayResult:
    return way(*documents, score=12.0, first_chunk=1_000)


def balanced(
    vector: WayResult,
    word: WayResult,
    floor: ScoreFloor | None = FLOOR,
    question: str = "Wer trägt die Kosten der Heizung im Winter",
    words_first: bool = False,
    pinned: int | None = None,
    nothing: NothingToSearch | None = None,
    acting: tuple[str, ...] = (),
) -> Balanced:
    return balance(
        vector,
        word,
        settings=BalanceSettings(words_first=words_first),
        floor=floor,
        question=question,
        pinned_document=pinned,
        nothing=nothing,
        acting=acting,
    )


def documents(result: Balanced) -> list[int]:
    return [card.document_id for card in result.cards]


def ways(result: Balanced) -> str:
    return "".join("v" if card.weg is Weg.VEKTOR else "w" for card in result.cards)


def test_the_vector_way_leads_with_six_and_words_fill_up_to_ten() -> None:
    result = balanced(way(*range(1, 10)), words(*range(20, 40)))
    assert documents(result) == [1, 2, 3, 4, 5, 6, 20, 21, 22, 23]
    assert ways(result) == "vvvvvvwwww"


def test_words_fill_what_the_vector_way_leaves() -> None:
    assert ways(balanced(way(1), words(*range(20, 40)))) == "v" + 9 * "w"
    assert ways(balanced(way(), words(*range(20, 40)))) == 10 * "w"


def test_a_document_both_ways_know_keeps_its_vector_card_and_comes_once_from_words() -> None:
    result = balanced(way(1, 2), words(2, 3, 3, 1, 4))
    assert documents(result) == [1, 2, 3, 4]
    assert ways(result) == "vvww"


def test_a_document_the_vector_way_lost_below_its_floor_may_come_from_words() -> None:
    result = balanced(way(1, score=0.7), words(1))
    assert ways(result) == "w"
    assert result.below_floor


def test_several_chunks_of_one_document_keep_their_places_in_the_vector_budget() -> None:
    assert documents(balanced(way(1, 1, 1, 2, 2, 3, 4), words(5))) == [1, 1, 1, 2, 2, 3, 5]


def test_a_pinned_document_is_searched_by_vector_alone() -> None:
    result = balanced(way(1, 2, 1), words(1, 3), pinned=1)
    assert documents(result) == [1, 1]
    assert result.words is WayState.NOT_RUN
    assert "angehefteten" in hit_line(result, "de")


def test_every_card_carries_its_label() -> None:
    vector, word = balanced(way(1), words(2)).cards
    assert (vector.weg, vector.geprueft, vector.validation_status, vector.ai_suggested) == (
        Weg.VEKTOR, True, ValidationStatus.AI_SUGGESTED, True,
    )  # fmt: skip
    assert (word.weg, word.geprueft, word.validation_status, word.ai_suggested) == (
        Weg.WORTSUCHE, False, ValidationStatus.AI_UNVERIFIED, False,
    )  # fmt: skip
    assert (str(word.weg), str(word.validation_status)) == ("wortsuche", "ai_unverified")


def test_without_a_measured_floor_nothing_is_cut_and_nothing_counts_as_checked() -> None:
    result = balanced(way(1, score=0.1), words(2), floor=None)
    assert ways(result) == "vw"
    assert not any(card.geprueft for card in result.cards)
    assert "gemessen" in hit_line(result, "de")
    assert "gemessen" not in hit_line(balanced(way(1), words()), "de")


@pytest.mark.parametrize(
    "question, order",
    [
        ("RE-2026/0815", [3, 2, 1, 4]),
        ("Was kostete die Heizung im Jahr 2025", [3, 2, 1, 4]),
        ("Max Müller GmbH", [3, 2, 1, 4]),
        ("Wer trägt die Kosten der Heizung", [1, 2, 4, 3]),
    ],
)
def test_the_switch_lets_words_lead_identifiers_and_names(question: str, order: list[int]) -> None:
    vector, word = way(1, 2, 4), words(3, 2)
    assert documents(balanced(vector, word, question=question, words_first=True)) == order
    assert documents(balanced(vector, word, question=question)) == [1, 2, 4, 3]


HITS = st.lists(st.integers(1, 30), max_size=40)


@given(HITS, HITS, st.booleans(), st.sampled_from([None, FLOOR]), st.sampled_from(["7", "a b c d"]))
def test_the_rule_holds_for_any_hits(
    vector: list[int], word: list[int], first: bool, floor: ScoreFloor | None, question: str
) -> None:
    result = balanced(way(*vector), words(*word), words_first=first, floor=floor, question=question)
    led = vector[:6]
    assert len(result.cards) == min(10, len(led) + len(set(word) - set(led)))
    assert ways(result).count("v") == len(led) or len(result.cards) == 10
    from_words = [card.document_id for card in result.cards if card.weg is Weg.WORTSUCHE]
    assert len(set(from_words)) == len(from_words)
    assert not set(from_words) & set(led)
    assert len({card.chunk_id for card in result.cards}) == len(result.cards)


# --- what is said ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "language, word",
    [("de", "UNGEPRÜFT"), ("fr", "NON VÉRIFIÉS"), ("en", "UNVERIFIED"), ("pl", "UNVERIFIED")],
)
def test_the_hit_line_counts_the_unverified_ones(language: str, word: str) -> None:
    said = hit_line(balanced(way(1, 2), words(3, 4, 5)), language)
    assert word in said
    assert "5 " in said
    assert "3 " in said


def test_the_hit_line_calls_them_a_supplement() -> None:
    result = balanced(way(1), words(3))
    assert "keine Alternative" in hit_line(result, "de")
    assert "pas une alternative" in hit_line(result, "fr")
    assert "not an alternative" in hit_line(result, "en")


def test_only_verified_hits_need_no_warning() -> None:
    assert hit_line(balanced(way(1), words()), "de") == "1 Treffer."


@pytest.mark.parametrize(
    "vector, word, emptiness, said",
    [
        (way(), way(), Emptiness.NOTHING_FOUND, "Nichts gefunden."),
        (way(1, score=0.5), way(), Emptiness.NOTHING_FOUND, "unter der Schwelle"),
        (way(), words(1), Emptiness.ONLY_UNVERIFIED, "Alle Treffer sind UNGEPRÜFT"),
        (FAILED, way(), Emptiness.INCOMPLETE, "Die Vektorsuche ist ausgefallen"),
        (FAILED, FAILED, Emptiness.INCOMPLETE, "Die Suche ist ausgefallen"),
        (way(1), FAILED, Emptiness.NONE, "Die Wortsuche ist ausgefallen"),
        (WayResult(way(1).hits, WayState.TRUNCATED), way(), Emptiness.NONE, "abgebrochen"),
    ],
)
def test_emptiness_and_failure_are_told_apart(
    vector: WayResult, word: WayResult, emptiness: Emptiness, said: str
) -> None:
    result = balanced(vector, word)
    assert result.emptiness is emptiness
    assert said in hit_line(result, "de")


def test_a_failed_way_never_reads_as_nothing_found() -> None:
    for vector, word in ((FAILED, way()), (way(), FAILED), (FAILED, FAILED), (FAILED, words(1))):
        line = hit_line(balanced(vector, word), "de")
        assert "Nichts gefunden" not in line
        assert "fand nichts" not in line


def test_nothing_to_search_says_why() -> None:
    nothing = NothingToSearch(NoSearch.ONLY_STOP_WORDS)
    result = balanced(
        WayResult((), WayState.NOT_RUN), WayResult((), WayState.NOT_RUN), nothing=nothing
    )
    assert result.emptiness is Emptiness.NOTHING_TO_SEARCH
    assert hit_line(result, "fr") == nothing.message("fr")


def test_filters_that_acted_are_named_even_on_an_empty_result() -> None:
    line = hit_line(balanced(way(), way(), acting=("Entität Nord", "Eingang 2026")), "de")
    assert line == "Nichts gefunden. Gefiltert nach: Entität Nord, Eingang 2026."


# --- after the answer --------------------------------------------------------------------------


def rendering(prose: str) -> str:
    cards = balanced(way(1, 2), words(3, 4, 31)).cards
    shown = degrade_unused(cards, prose)
    return "".join("C" if one.rendering is Rendering.CARD else "s" for one in shown)


@pytest.mark.parametrize(
    "prose, expected",
    [
        ("", "CCsss"),
        ("Siehe #3.", "CCCss"),
        ("Siehe /d/4 und #1.", "CCsCs"),
        ("Laut dokument 3 endet der Vertrag.", "CCCss"),
        ("Laut Dokument 31 endet der Vertrag.", "CCssC"),
        ("Siehe #30 und #311.", "CCsss"),
        ("Im Jahr 3 und 4.", "CCsss"),
    ],
)
def test_unverified_cards_the_prose_does_not_mention_become_source_lines(
    prose: str, expected: str
) -> None:
    assert rendering(prose) == expected


@given(HITS, HITS, st.text())
def test_degrading_drops_nothing(vector: list[int], word: list[int], prose: str) -> None:
    cards: tuple[Card, ...] = balanced(way(*vector), words(*word)).cards
    assert tuple(one.card for one in degrade_unused(cards, prose)) == cards


# --- between the floor and the checked score -----------------------------------------------------

BAND = ScoreFloor(0.1, condition="here", checked=0.2)


def banded(*scores: float) -> Balanced:
    hits = tuple(Hit(number, number, score) for number, score in enumerate(scores, 1))
    return balance(
        WayResult(hits), WayResult(()), settings=BalanceSettings(), floor=BAND, question="x"
    )


def test_a_hit_between_floor_and_checked_score_is_shown_and_labelled() -> None:
    result = banded(0.3, 0.2, 0.15, 0.05)
    assert [card.geprueft for card in result.cards] == [True, True, False]
    assert result.emptiness is Emptiness.NONE
    assert result.below_floor


def test_when_nothing_is_checked_the_line_says_so_in_every_language() -> None:
    result = banded(0.15, 0.12)
    assert len(result.cards) == 2
    assert result.emptiness is Emptiness.ONLY_UNVERIFIED
    lines = {language: hit_line(result, language) for language in ("de", "fr", "en")}
    assert "GEPRÜFT" in lines["de"]
    assert "VÉRIFIÉ" in lines["fr"]
    assert "VERIFIED" in lines["en"]


def test_without_a_checked_score_the_floor_is_it() -> None:
    assert ScoreFloor(0.5, condition="x").is_checked(0.5)
    assert not ScoreFloor(0.5, condition="x", checked=0.6).is_checked(0.55)


DOUBT = Doubt(score=0.17, margin=0.11, agreeing=2)
FLAT = [0.14] * 30


def _hits(*documents: int) -> tuple[Hit, ...]:
    return tuple(Hit(number, number, 0.1) for number in documents)


@pytest.mark.parametrize(
    ("scores", "vector", "words", "doubted"),
    [
        (FLAT, (1, 2), (3, 4), True),
        (FLAT, (1, 2), (), True),
        (FLAT, (1, 2), (2, 3), True),
        (FLAT, (1, 2), (2, 1), False),
        (FLAT, (1, 2, 3, 4, 5, 6), (7, 8, 9, 10, 11, 12, 1, 2), True),
        ([0.17, *FLAT[1:]], (1,), (), False),
        ([0.16, *[0.04] * 29], (1,), (), False),
        (FLAT[:19], (1,), (), False),
        ([], (), (), False),
    ],
)
def test_a_question_is_doubted_when_nothing_stands_out(
    scores: list[float], vector: tuple[int, ...], words: tuple[int, ...], doubted: bool
) -> None:
    assert DOUBT.holds(scores, _hits(*vector), _hits(*words)) is doubted


def test_a_doubted_way_shows_nothing_and_says_that_a_floor_acted() -> None:
    vector = WayResult(_hits(1, 2), doubted=True)
    alone = balance(
        vector, WayResult(()), settings=BalanceSettings(), floor=BAND, question="Einhorn"
    )
    assert (alone.cards, alone.emptiness, alone.below_floor) == ((), Emptiness.NOTHING_FOUND, True)

    beside = balance(
        vector, WayResult(_hits(3)), settings=BalanceSettings(), floor=BAND, question="Einhorn"
    )
    assert [card.weg for card in beside.cards] == [Weg.WORTSUCHE]
    assert beside.emptiness is Emptiness.ONLY_UNVERIFIED
