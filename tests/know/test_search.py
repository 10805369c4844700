"""One question, both ways: cards, labels, filters, honest emptiness, and nothing behind a wall."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from knowledge_builders import SPACE, BagOfWordsEmbedder, Knowledge

from tgv_dagster.know.balance import Emptiness, ValidationStatus, WayState, Weg
from tgv_dagster.know.embeddings import EmbeddingError, EmbeddingSpace, Vectors
from tgv_dagster.know.search import NO_FILTERS, SearchAnswer, SearchFilters, search
from tgv_dagster.know.spaces import DOUBT_KEYS, ensure_spaces, floor_key
from tgv_dagster.know.usem import UseEmbedder
from tgv_dagster.know.vectors import UnknownAxis
from tgv_dagster.know.words import WordIndex
from tgv_dagster.store import tuning
from tgv_dagster.store.db import Database
from tgv_dagster.store.scope import Period, ScopeError


@pytest.fixture
def knowledge(database: Database, tmp_path: Path) -> Iterator[Knowledge]:
    opened = Knowledge.open(database, tmp_path / "index")
    yield opened
    opened.words.close()


def ask(
    knowledge: Knowledge,
    question: str,
    login: str = "anna",
    filters: SearchFilters = NO_FILTERS,
    **more: object,
) -> SearchAnswer:
    scope = knowledge.scope(login)
    return search(knowledge.parts, scope, question, filters=filters, **more)  # type: ignore[arg-type]


def documents(answer: SearchAnswer) -> list[int]:
    return [card.document_id for card in answer.cards]


def set_floor(knowledge: Knowledge, value: float) -> None:
    with knowledge.database.worker() as connection:
        tuning.set_value(connection, floor_key(SPACE), str(value), by="anna", note="here")


def set_doubt(knowledge: Knowledge, score: float, margin: float, agreeing: int) -> None:
    with knowledge.database.worker() as connection:
        for key, value in zip(DOUBT_KEYS, (score, margin, agreeing), strict=True):
            tuning.set_value(
                connection, f"{key}:{SPACE.space_id}", str(value), by="anna", note="here"
            )


# --- cards -------------------------------------------------------------------------------------


def test_both_ways_run_and_label_their_cards(knowledge: Knowledge) -> None:
    """RET-01, RET-03: two ways over one stock, each card says which."""
    near = [knowledge.add(f"Die Garage wird vermietet, Vertrag {n}.") for n in range(7)]
    rare = knowledge.add("Sachnummer XK-4711-Q " + "ganz anderer Inhalt " * 12)
    knowledge.flow()
    answer = ask(knowledge, "Vertrag vermietet Garage XK-4711-Q")
    by_way = {way: [c for c in answer.cards if c.weg is way] for way in Weg}
    assert len(by_way[Weg.VEKTOR]) == 6
    assert all(c.validation_status is ValidationStatus.AI_SUGGESTED for c in by_way[Weg.VEKTOR])
    assert all(
        (c.geprueft, c.validation_status) == (False, ValidationStatus.AI_UNVERIFIED)
        for c in by_way[Weg.WORTSUCHE]
    )
    assert rare in documents(answer)
    assert len(set(documents(answer))) == len(answer.cards) <= 10
    assert set(documents(answer)) <= {*near, rare}
    assert "UNGEPRÜFT" in answer.line
    assert answer.trace.space_id == SPACE.space_id
    assert (answer.trace.vector_state, answer.trace.words_state) == (WayState.COMPLETE,) * 2


def test_a_card_shows_the_window_that_was_found_with_title_page_and_passage(
    knowledge: Knowledge,
) -> None:
    far = "Allgemeine Angaben ohne jeden Bezug zur Sache selbst. " * 5
    document = knowledge.add(
        far + "\n\n" + "Die Kündigungsfrist beträgt sechs Wochen zum Quartal. " * 4 + "\n\n" + far,
        title="Mietvertrag",
    )
    knowledge.flow()
    (card,) = ask(knowledge, "Kündigungsfrist Wochen Quartal").cards
    assert (card.title, card.page, card.link) == ("Mietvertrag", 1, f"#{document}")
    assert "Kündigungsfrist" in card.snippet
    (passage,) = ask(knowledge, "Kündigungsfrist").passages
    assert far.strip() in passage.text


def test_colloquial_words_are_left_out_before_both_ways(knowledge: Knowledge) -> None:
    document = knowledge.add("Kündigungsfrist des Mietvertrags")
    knowledge.add("Bitte sag mir mal eben, was ich morgen tun kann")
    knowledge.flow()
    answer = ask(knowledge, "sag mir mal eben bitte die Kündigungsfrist")
    assert documents(answer)[0] == document
    assert "bitte" in answer.stopped


def test_many_chunks_of_one_document_do_not_crowd_out_the_others(knowledge: Knowledge) -> None:
    with knowledge.database.worker() as connection:
        tuning.set_value(connection, "CHUNK_CHARS", "300", by="anna")
        tuning.set_value(connection, "CHUNK_OVERLAP", "0", by="anna")
    knowledge.add("\n\n".join(f"Dachrinne {n} und Dachrinne am Haus. " * 6 for n in range(80)))
    others = {knowledge.add(f"Rechnung {n} für eine Dachrinne " + "x " * 80) for n in range(4)}
    knowledge.flow()
    assert others <= set(documents(ask(knowledge, "Dachrinne")))


def test_the_list_can_be_shorter_and_never_longer_than_the_total(knowledge: Knowledge) -> None:
    for number in range(14):
        knowledge.add(f"Garage Nummer {number}")
    knowledge.flow()
    assert len(ask(knowledge, "Garage").cards) == 10
    assert len(ask(knowledge, "Garage", limit=3).cards) == 3
    assert len(ask(knowledge, "Garage", limit=500).cards) == 10


# --- filters -----------------------------------------------------------------------------------


def test_every_acting_filter_is_named_and_acts_on_both_ways(knowledge: Knowledge) -> None:
    """RET-26, RET-27, RET-28, SCOPE-12, SCOPE-13: project and period act on both ways."""
    wanted = knowledge.add("Garage", project_code="P-1", invoice_date="2026-05-20")
    knowledge.add("Garage", entity="nord-sarl", invoice_date="2026-05-20")
    knowledge.add("Garage", project_code="P-1", invoice_date="2026-06-20")
    knowledge.flow()
    filters = SearchFilters(
        entity="nord-gmbh",
        project_code="P-1",
        period=Period("invoice_date", date(2026, 5, 1), date(2026, 5, 31)),
    )
    answer = ask(knowledge, "Garage", "emil", filters)
    assert documents(answer) == [wanted]
    assert answer.acting == (
        "entity nord-gmbh",
        "project_code P-1",
        "invoice_date 2026-05-01 – 2026-05-31",
        "confidentiality_level ≤ intern",
    )
    assert all(name in answer.line for name in answer.acting)
    assert (answer.trace.vector_hits, answer.trace.words_hits) == (1, 1)


def test_the_chip_alle_narrows_nothing(knowledge: Knowledge) -> None:
    knowledge.add("Garage")
    knowledge.flow()
    answer = ask(knowledge, "Garage", filters=SearchFilters(entity="alle"))
    assert (len(answer.cards), answer.acting) == (1, ())


def test_a_pinned_document_is_searched_by_vector_only(knowledge: Knowledge) -> None:
    """SCOPE-15: a pinned document is asked alone."""
    pinned, other = knowledge.add("Garage und Dach"), knowledge.add("Garage")
    knowledge.flow()
    answer = ask(knowledge, "Garage", filters=SearchFilters(document_id=pinned))
    assert documents(answer) == [pinned]
    assert answer.trace.words_state is WayState.NOT_RUN
    foreign = ask(knowledge, "Garage", "sven", SearchFilters(document_id=other))
    assert (foreign.cards, foreign.emptiness) == ((), Emptiness.NOTHING_FOUND)


def test_filters_outside_the_scope_are_refused(knowledge: Knowledge) -> None:
    """SCOPE-11, RET-20: a filter never widens."""
    scope = knowledge.scope().narrow(entity="nord-gmbh")
    with pytest.raises(ScopeError):
        search(knowledge.parts, scope, "x", filters=SearchFilters(entity="nord-sarl"))
    with pytest.raises(UnknownAxis):
        ask(knowledge, "x", filters=SearchFilters(period=Period("birthday", None, None)))


# --- emptiness and failure ---------------------------------------------------------------------


def test_a_floor_makes_an_honest_emptiness(knowledge: Knowledge) -> None:
    knowledge.add("Garage und Dach")
    knowledge.flow()
    set_floor(knowledge, 0.95)
    answer = ask(knowledge, "Lasagne im Ofen")
    assert (answer.cards, answer.emptiness) == ((), Emptiness.NOTHING_FOUND)
    assert answer.trace.floor == 0.95
    assert "Schwelle" in answer.line
    only = ask(knowledge, "Garage vermieten oder verkaufen")
    assert only.emptiness is Emptiness.ONLY_UNVERIFIED
    assert [card.weg for card in only.cards] == [Weg.WORTSUCHE]


@pytest.mark.parametrize("question", ["", "   ", "?!… ---", "\x00", "und die der", "bitte"])
def test_a_question_without_anything_to_look_up_is_told_so(
    knowledge: Knowledge, question: str
) -> None:
    knowledge.add("und die der bitte")
    knowledge.flow()
    answer = ask(knowledge, question)
    assert (answer.cards, answer.emptiness) == ((), Emptiness.NOTHING_TO_SEARCH)
    assert answer.line
    assert answer.trace.vector_state is WayState.NOT_RUN


class BrokenEmbedder(BagOfWordsEmbedder):
    """A double that cannot embed a question."""

    def embed_query(self, text: str, language: str | None) -> Vectors:
        raise EmbeddingError("no answer")


def test_a_way_that_fails_is_named_and_the_other_answers(
    knowledge: Knowledge, tmp_path: Path
) -> None:
    document = knowledge.add("Garage")
    knowledge.flow()
    parts, scope = knowledge.parts, knowledge.scope()
    no_vector = search(replace(parts, embedder=BrokenEmbedder()), scope, "Garage")
    assert [card.document_id for card in no_vector.cards] == [document]
    assert no_vector.trace.vector_state is WayState.FAILED
    assert no_vector.trace.reasons == ("vector way: EmbeddingError",)
    no_words = search(replace(parts, words=WordIndex.at(tmp_path / "none")), scope, "Garage")
    assert [card.document_id for card in no_words.cards] == [document]
    assert no_words.trace.words_state is WayState.FAILED
    neither = search(
        replace(parts, words=WordIndex.at(tmp_path / "none"), embedder=BrokenEmbedder()),
        scope,
        "Garage",
    )
    assert neither.emptiness is Emptiness.INCOMPLETE
    assert "ausgefallen" in neither.line


def test_an_embedder_of_another_space_is_a_failed_way_and_never_compared(
    knowledge: Knowledge,
) -> None:
    knowledge.add("Garage")
    knowledge.flow()
    other = EmbeddingSpace("another-double", "1", SPACE.dimension)
    ensure_spaces(knowledge.database, [other])
    answer = search(
        replace(knowledge.parts, embedder=BagOfWordsEmbedder(other)), knowledge.scope(), "Garage"
    )
    assert answer.trace.vector_state is WayState.FAILED
    assert answer.trace.space_id == SPACE.space_id


# --- stale words -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        "confidentiality_level = 'streng_vertraulich'",
        "entity = 'haus-sued'",
        "visible_from = now() + interval '1 day'",
        "circle = '{7}'",
        "restricted_until = now() + interval '1 day'",
        "is_test = true",
        "state = 'trashed'",
        "project_code = 'P-2'",
        "invoice_date = '2020-01-01'",
    ],
)
def test_a_stale_word_hit_shows_nothing_its_reader_may_not_see(
    knowledge: Knowledge, change: str
) -> None:
    """The index is not told of the change; the hit is read again behind the walls."""
    knowledge.add("Garage", project_code="P-1", invoice_date="2026-05-20")
    knowledge.flow()
    filters = SearchFilters(
        project_code="P-1", period=Period("invoice_date", date(2026, 1, 1), None)
    )
    assert len(ask(knowledge, "Garage", "emil", filters).cards) == 1
    knowledge.rows(f"UPDATE documents SET {change} RETURNING 1")
    assert knowledge.words.count() == 1
    answer = ask(knowledge, "Garage", "emil", filters)
    assert answer.cards == answer.passages == ()
    assert answer.trace.words_hits == answer.trace.vector_hits == 0


def test_what_lies_behind_a_wall_leaves_no_trace_in_the_answer(knowledge: Knowledge) -> None:
    """Side channels: line, figures and reasons are those of an empty stock (fault 122)."""
    empty = ask(knowledge, "Geheimakte Zeppelin", "emil")
    knowledge.add("Geheimakte Zeppelin", confidentiality_level="streng_vertraulich")
    knowledge.add("Geheimakte Zeppelin", entity="haus-sued")
    knowledge.flow()
    hidden = ask(knowledge, "Geheimakte Zeppelin", "emil")

    def told(answer: SearchAnswer) -> tuple[object, ...]:
        trace = replace(answer.trace, vector_ms=0.0, words_ms=0.0, total_ms=0.0)
        return (answer.cards, answer.passages, answer.line, answer.emptiness, answer.acting, trace)

    assert told(hidden) == told(empty)
    assert ask(knowledge, "Geheimakte Zeppelin", "chef").cards, "the positive control hits"


# --- bad input ---------------------------------------------------------------------------------

OPERATORS = [
    "a:(^", "https://x.de/?q=1&b=[2]", "-", '"', "AND OR NOT", "*:*", "mandant_id:2",
    "((((", "a" * 100_000, "wort " * 25_000, "Отчёт за май", "発票 東京", "فاتورة", "🙂" * 300,
    "\x00\x01'; DROP TABLE documents; --", "{}[]()^~*?:\\/", "\ud800",
]  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("question", OPERATORS, ids=lambda q: ascii(q[:12]))
def test_no_question_breaks_or_stalls_the_search(knowledge: Knowledge, question: str) -> None:
    knowledge.add("Garage a wort Отчёт за май")
    knowledge.flow()
    answer = ask(knowledge, question)
    assert WayState.FAILED not in (answer.trace.vector_state, answer.trace.words_state)
    assert answer.line


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.text(max_size=200))
@example("\u0000\u0000")
def test_any_question_gets_an_answer(knowledge: Knowledge, question: str) -> None:
    answer = ask(knowledge, question)
    assert answer.cards == ()
    assert answer.line


# --- with the real model -----------------------------------------------------------------------


@pytest.fixture(scope="session")
def use() -> UseEmbedder:
    """The real embedded model, loaded once."""
    return UseEmbedder()


def test_the_same_question_in_german_and_french_finds_the_same_document(
    database: Database, tmp_path: Path, use: UseEmbedder
) -> None:
    """EVAL-18 on the production search, with the real model and distractors."""
    knowledge = Knowledge.open(database, tmp_path / "index")
    ensure_spaces(database, [use.space])
    knowledge.rows("UPDATE embedding_spaces SET active = false RETURNING 1")
    knowledge.rows("UPDATE embedding_spaces SET active = true WHERE space_id = %s RETURNING 1",
                   use.space.space_id)  # fmt: skip
    knowledge.embedder = use  # type: ignore[assignment]
    police = knowledge.add(
        "Police d'assurance habitation. Le contrat peut être résilié chaque année, "
        "deux mois avant la date d'échéance, par lettre recommandée."
    )
    for text in (
        "Rechnung für die Lieferung von Brennholz im November.",
        "Mietvertrag über eine Garage mit Stellplatz in Hamburg.",
        "Facture d'électricité du mois de mai, prélèvement automatique.",
        "Protokoll der Mitgliederversammlung des Sportvereins.",
    ):
        knowledge.add(text)
    knowledge.flow()
    for question in (
        "Wann kann ich die Hausratversicherung kündigen?",
        "Quand puis-je résilier l'assurance habitation ?",
    ):
        answer = search(knowledge.parts, knowledge.scope(), question)
        assert answer.cards[0].document_id == police, question
    knowledge.words.close()


def test_a_doubted_question_shows_nothing_by_meaning_and_keeps_its_words(
    knowledge: Knowledge,
) -> None:
    for number in range(25):
        knowledge.add(f"Die Garage wird vermietet, Vertrag {number}.")
    rare = knowledge.add("Sachnummer XK-4711-Q " + "ganz anderer Inhalt " * 12)
    knowledge.flow()
    set_floor(knowledge, -1)
    before = ask(knowledge, "XK-4711-Q")
    set_doubt(knowledge, 1, 2, 6)
    answer = ask(knowledge, "XK-4711-Q")
    pinned = ask(knowledge, "XK-4711-Q", filters=SearchFilters(document_id=rare))

    assert {card.weg for card in before.cards} >= {Weg.VEKTOR}
    assert [(c.document_id, c.weg) for c in answer.cards] == [(rare, Weg.WORTSUCHE)]
    assert answer.emptiness is Emptiness.ONLY_UNVERIFIED
    assert answer.trace.vector_hits == before.trace.vector_hits
    assert [card.weg for card in pinned.cards] == [Weg.VEKTOR]
