"""The evaluation: measures that are right on small lists, a run that can say no, honest data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from knowledge_builders import BagOfWordsEmbedder, Knowledge

from tgv_dagster.know.balance import Hit
from tgv_dagster.know.chunks import ChunkSettings
from tgv_dagster.know.evaluation import (
    balancing,
    chunk_sizes,
    cross_lingual,
    fusion,
    own,
    report,
)
from tgv_dagster.know.evaluation.cross_lingual import KindResult, Verdict, judge
from tgv_dagster.know.evaluation.measures import floor_at, quality, rank_of
from tgv_dagster.know.evaluation.questions import PairKind, Pairs, pairs, study
from tgv_dagster.know.evaluation.stock import DATABASE, StockDocument, built
from tgv_dagster.know.evaluation.ways import askable
from tgv_dagster.know.usem import UseEmbedder
from tgv_dagster.store.db import Database, connect

SIZES = ChunkSettings(3200, 400, 300)


def few(count: int) -> Pairs:
    """The shipped pairs, of their first topics only."""
    return replace(pairs(), topics=dict(list(pairs().topics.items())[:count]))


# --- data --------------------------------------------------------------------------------------


def test_every_kind_has_at_least_twenty_pairs_with_a_passage_and_a_question_each() -> None:
    """EVAL-23: five kinds of pairs, a control among them."""
    kinds = {(kind.asked_in, kind.document_in) for kind in pairs().kinds}
    assert kinds == {("de", "fr"), ("de", "en"), ("de", "ru"), ("de", "it"), ("fr", "de")}
    assert len(pairs().topics) >= 20
    for wordings in pairs().topics.values():
        for wording in wordings.values():
            assert wording.text != wording.ask
            assert askable(wording.ask)


def test_the_study_has_five_sizes_two_questions_of_five_classes_and_nonsense() -> None:
    classes = [question.kind for question in study().questions]
    assert study().sizes == (600, 800, 1200, 1600, 3200)
    assert len(set(study().overlaps)) >= 3, "overlap is varied on its own (EVAL-12)"
    assert {classes.count(kind) for kind in classes} == {2}
    assert len(set(classes)) == 5
    assert len(study().nonsense) >= 6
    assert all(askable(text) for text in (*study().nonsense, *study().unanswerable))


def test_a_letter_holds_its_answer_once_at_its_depth_and_is_the_same_every_time() -> None:
    letters = chunk_sizes.letters(study())
    assert letters == chunk_sizes.letters(study())
    texts = {letter.key: letter.text for letter in letters}
    assert len(letters) == study().documents
    for question in study().questions:
        text = texts[f"answer/{question.id}"]
        assert text.count(question.answer) == 1
        assert text.index(question.answer) / len(text) == pytest.approx(question.depth, abs=0.05)
        assert question.disturber in texts[f"disturber/{question.id}"]


def test_the_gold_stands_before_its_near_duplicates() -> None:
    keys = [document.key for document in balancing.documents(few(2), 5)]
    first_distractor = keys.index(f"template/{balancing.IDENTIFIED}")
    gold = {question.key for question in balancing.questions(few(2))}
    assert max(keys.index(key) for key in gold) < first_distractor
    assert len(keys) == len(set(keys))


# --- measures ----------------------------------------------------------------------------------


def test_quality_counts_what_is_missing_as_missing() -> None:
    found = quality([1, 2, 6, 7, None])
    assert (found.first, found.in_five, found.in_six) == (0.2, 0.4, 0.6)
    assert found.mrr == pytest.approx((1 + 1 / 2 + 1 / 6 + 1 / 7) / 5)
    with pytest.raises(ValueError, match="question"):
        quality([])
    assert (rank_of("b", ["a", "b"]), rank_of("c", ["a"])) == (2, None)


SCORES = st.lists(st.floats(-1, 1), min_size=1, max_size=40)


@given(real=SCORES, nonsense=SCORES, unanswerable=SCORES, recall=st.sampled_from([0.9, 0.95, 1.0]))
def test_a_floor_keeps_the_stated_recall_and_could_not_be_higher(
    real: list[float], nonsense: list[float], unanswerable: list[float], recall: float
) -> None:
    floor = floor_at(recall, real, nonsense, unanswerable)
    assert floor.recall >= recall
    higher = floor.value + 0.02
    assert sum(score >= higher for score in real) / len(real) < recall


def test_fusions_rank_what_both_ways_find_first() -> None:
    one = [Hit(1, 10, 0.9), Hit(2, 20, 0.8), Hit(3, 30, 0.1)]
    other = [Hit(2, 21, 7.0), Hit(4, 40, 6.0), Hit(2, 22, 1.0)]
    assert fusion.reciprocal_ranks((one, other))[0] == 2
    assert fusion.weighted((one, other), (0.5, 0.5))[0] == 2
    assert fusion.weighted((one, other), (1.0, 0.0))[:2] == [1, 2]
    assert fusion.weighted((one, []), (0.5, 0.5)) == [1, 2, 3]
    assert fusion.reciprocal_ranks(((), ())) == []


# --- the verdict -------------------------------------------------------------------------------


def result(asked: str, of: str, share: float) -> KindResult:
    kind = PairKind(f"{asked}→{of}", asked, of)
    return KindResult(kind, 20, share, quality([1]), quality([1]), 0.5)


def kinds(**shares: float) -> list[KindResult]:
    all_kinds = {"fr": 0.9, "en": 0.9, "ru": 0.9, "it": 0.9, "de": 0.9} | shares
    return [result("de" if of != "de" else "fr", of, share) for of, share in all_kinds.items()]


def test_when_the_control_fails_there_is_no_verdict_whatever_else_was_found() -> None:
    verdict, reason = judge(pairs(), kinds(en=0.79))
    assert verdict is Verdict.NO_VERDICT
    assert "control" in reason


def test_a_run_can_say_no() -> None:
    assert judge(pairs(), kinds())[0] is Verdict.MET
    assert judge(pairs(), kinds(de=0.5))[0] is Verdict.NOT_MET
    assert judge(pairs(), kinds(ru=0.7))[0] is Verdict.NOT_MET


# --- runs --------------------------------------------------------------------------------------


def test_a_double_without_languages_fails_its_control_on_the_production_search(
    server_url: str,
) -> None:
    """Equal words only: every language finds itself, none finds another."""
    some = few(4)
    documents = balancing.documents(some, 10)
    with built(server_url, documents, BagOfWordsEmbedder(), SIZES) as stock:
        measured = cross_lingual.measure(stock, some, 10)
        asked = balancing.questions(some)
        joined = balancing.compare(stock, asked, 10)
        empty = balancing.emptiness(stock, asked, study())
    assert measured.verdict is Verdict.NO_VERDICT
    assert all(kind.own.in_six > kind.same_document for kind in measured.kinds)
    assert joined.joins["words alone"]["identifiers"].first > 0.9
    assert joined.joins["A″, words first"]["identifiers"].first > 0.9
    assert empty.floor.recall >= 0.95
    assert 0 <= empty.empty + empty.only_unverified <= 1
    with connect(server_url, autocommit=True) as connection:
        left = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,))
        assert left.fetchone() is None, "the database of a run is dropped"


def test_the_default_model_meets_the_expectation_and_repeats_itself(server_url: str) -> None:
    some = few(4)
    with built(server_url, balancing.documents(some, 10), UseEmbedder(), SIZES) as stock:
        first = cross_lingual.measure(stock, some, 10)
        again = cross_lingual.measure(stock, some, 10)
    assert first == again, "same pairs, same index, same model, same report (EVAL-31)"
    assert first.verdict is Verdict.MET
    text = report.cross_lingual_table([first])
    assert all(kind.kind.name in text for kind in first.kinds), "directions stay apart (EVAL-30)"


def test_a_size_changes_the_chunks_and_every_question_keeps_its_ranks(server_url: str) -> None:
    small = replace(study(), sizes=(600, 3200), overlaps=(0,), documents=20, characters=1500)
    results = chunk_sizes.run(server_url, small, BagOfWordsEmbedder(), windows=(300,))
    assert results[0].chunks > results[1].chunks
    for one in results:
        assert [rank.id for rank in one.ranks] == [question.id for question in small.questions]
    assert all(rank.rank for rank in results[0].ranks)
    assert report.sizes_report(results).count("insurer") == 2


def test_another_model_is_filled_beside_and_switched_to(server_url: str) -> None:
    other = BagOfWordsEmbedder(replace(BagOfWordsEmbedder().space, model="another", dimension=64))
    documents = [StockDocument("a", "Garage am Hafen", "de"), StockDocument("b", "Mietvertrag")]
    with built(server_url, documents, BagOfWordsEmbedder(), SIZES) as stock:
        before = stock.ask("Garage", "de")
        stock.change_model(other)
        after = stock.ask("Garage", "de")
    assert before.trace.space_id != after.trace.space_id == other.space.space_id
    assert [stock.keys[card.document_id] for card in after.cards][:1] == ["a"]


# --- the own stock -----------------------------------------------------------------------------


@pytest.fixture
def knowledge(database: Database, tmp_path: Path) -> Iterator[Knowledge]:
    opened = Knowledge.open(database, tmp_path / "index")
    yield opened
    opened.words.close()


def own_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "questions.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_own_questions_are_asked_of_the_own_stock_and_nothing_is_written(
    knowledge: Knowledge, tmp_path: Path
) -> None:
    numbers = [knowledge.add(f"Garage Sachnummer {chr(97 + n) * 6} am Hafen") for n in range(24)]
    hidden = knowledge.add("Zeppelin", confidentiality_level="streng_vertraulich")
    knowledge.flow()
    lines = [
        f"  - {{ask: Garage {chr(97 + n) * 6}, documents: [{number}], kind: parts}}"
        for n, number in enumerate(numbers)
    ]
    lines.append(f"  - {{ask: Zeppelin, documents: [{hidden}], kind: hidden}}")
    asked = own.load(own_file(tmp_path, "\n".join(["questions:", *lines])))
    before = knowledge.rows("SELECT count(*) FROM agent_events")
    found = own.measure(
        knowledge.parts, knowledge.scope("emil"), asked, ["Lasagne"], ["Klimaanlage"]
    )
    assert found.quality["parts"].first > 0.9
    assert found.quality["hidden"].in_six == 0, "the walls of who asks hold here too"
    assert found.floor is not None
    assert found.floor.recall >= own.RECALL
    assert knowledge.rows("SELECT count(*) FROM agent_events") == before
    assert "tgv tuning set" in report.own_report(found)


def test_too_few_questions_give_no_floor(knowledge: Knowledge, tmp_path: Path) -> None:
    number = knowledge.add("Garage")
    knowledge.flow()
    asked = own.load(own_file(tmp_path, f"questions: [{{ask: Garage, documents: [{number}]}}]"))
    found = own.measure(knowledge.parts, knowledge.scope(), asked, ["Lasagne"], ["Auto"])
    assert found.floor is None
    assert "too few" in report.own_report(found)


@pytest.mark.parametrize(
    "text",
    [
        "", "questions: []", "questions: 1", "- a", "a: [", "questions: [{ask: x}]",
        "questions: [{ask: '', documents: [1]}]", "questions: [{ask: '?!', documents: [1]}]",
        "questions: [{ask: x, documents: [one]}]", "questions: [{ask: x, documents: [1], more: 1}]",
        "questions: !!python/object:os.system {}",
    ],
)  # fmt: skip
def test_a_file_that_is_none_is_refused_with_its_place(tmp_path: Path, text: str) -> None:
    with pytest.raises(own.OwnQuestionsUnusable, match=r"questions\.yaml"):
        own.load(own_file(tmp_path, text))
