"""Faults that comparable systems had in rights and search, tried on the production search.

The numbers are those of the list of known faults, permissions and search. Faults of one layer alone
are tried where that layer is tested: writer locks 133, versioned index 136, odd rows 137, recall
between tenants 140.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from knowledge_builders import BagOfWordsEmbedder, Knowledge, write_text

from tgv_dagster.know.balance import Emptiness, WayState
from tgv_dagster.know.document_list import DocumentQuery, query_documents
from tgv_dagster.know.embedding import embed_chunks
from tgv_dagster.know.embeddings import EmbeddingError, Vectors
from tgv_dagster.know.search import NO_FILTERS, SearchAnswer, SearchFilters, search
from tgv_dagster.know.spaces import floor_key
from tgv_dagster.store import ledger, tuning
from tgv_dagster.store.db import Database
from tgv_dagster.store.scope import ScopeError
from tgv_dagster.store.stages import Stage


@pytest.fixture
def knowledge(database: Database, tmp_path: Path) -> Iterator[Knowledge]:
    opened = Knowledge.open(database, tmp_path / "index")
    yield opened
    opened.words.close()


def ask(
    knowledge: Knowledge, question: str, login: str = "anna", **filters: object
) -> SearchAnswer:
    asked = SearchFilters(**filters)  # type: ignore[arg-type]
    return search(knowledge.parts, knowledge.scope(login), question, filters=asked)


def documents(answer: SearchAnswer) -> list[int]:
    return [card.document_id for card in answer.cards]


@pytest.mark.parametrize("typed", ["Zeppelinvertrag", "Zeppelin", "Zeppel", "Zepp", "zepp*"])
def test_122_the_beginning_of_a_rare_word_suggests_nothing_from_behind_the_wall(
    knowledge: Knowledge, typed: str
) -> None:
    with knowledge.database.worker() as connection:
        tuning.set_value(connection, floor_key(knowledge.embedder.space), "0.9", by="t")
    knowledge.add("Zeppelinvertrag", confidentiality_level="vertraulich")
    knowledge.add("Garage")
    knowledge.flow()
    hidden, nowhere = ask(knowledge, typed, "emil"), ask(knowledge, "Xyzzyquux", "emil")
    assert hidden.cards == hidden.fields.hits == ()
    assert (hidden.line, hidden.emptiness) == (nowhere.line, nowhere.emptiness)


def test_125_a_filter_that_names_a_foreign_set_is_refused_and_tells_nothing(
    knowledge: Knowledge,
) -> None:
    knowledge.add("Garage", entity="haus-sued")
    knowledge.add("Garage")
    knowledge.flow()
    # Somebody of another tenant's entity gets nothing of it, and exactly what an absent one gives.
    assert documents(ask(knowledge, "Garage", "emil", entity="haus-sued")) == []
    assert documents(ask(knowledge, "Garage", "emil", entity="no-such-entity")) == []
    narrow = knowledge.scope("emil").narrow(entity="nord-sarl")
    with pytest.raises(ScopeError) as refused:
        search(knowledge.parts, narrow, "x", filters=SearchFilters(entity="nord-gmbh"))
    assert "gmbh" not in str(refused.value)


def test_127_a_membership_without_any_entity_sees_nothing(knowledge: Knowledge) -> None:
    knowledge.add("Garage")
    knowledge.flow()
    knowledge.rows(
        "UPDATE user_mandant_roles SET entities = '{}' FROM users u"
        " WHERE u.id = user_id AND u.login = 'emil' RETURNING 1"
    )
    assert documents(ask(knowledge, "Garage", "emil")) == []
    assert documents(ask(knowledge, "Garage", "anna")), "the positive control hits"


def test_128_a_document_without_a_tenant_is_shown_to_nobody_but_the_owner_of_all(
    knowledge: Knowledge,
) -> None:
    document = knowledge.add("Garage")
    knowledge.rows(
        "UPDATE documents SET entity = NULL, mandant_id = NULL WHERE id = %s RETURNING 1", document
    )
    knowledge.flow()
    for login in ("anna", "emil", "sven"):
        assert documents(ask(knowledge, "Garage", login)) == []
        page = query_documents(knowledge.database, knowledge.scope(login), DocumentQuery())
        assert page.total == 0
    owner = query_documents(knowledge.database, knowledge.scope("chef"), DocumentQuery())
    assert owner.total == 1


@pytest.mark.parametrize("number", ["test-1", "RE-2026/0815"])
def test_130_an_update_leaves_exactly_one_version_in_both_ways(
    knowledge: Knowledge, number: str
) -> None:
    document = knowledge.add(f"{number} Garage alt")
    knowledge.flow()
    (sha,) = knowledge.rows("SELECT raw_sha256 FROM documents WHERE id = %s", document)[0]
    with knowledge.database.worker() as connection:
        write_text(connection, sha, [f"{number} Werkstatt neu"])
        ledger.enqueue(connection, Stage.CHUNK, [document], again=True)
    knowledge.flow()
    answer = ask(knowledge, number)
    assert documents(answer) == [document]
    assert "neu" in answer.cards[0].snippet
    assert (answer.trace.vector_hits, answer.trace.words_hits) == (1, 1)


@pytest.mark.parametrize("title", ["Gebührenbescheid", "Gebuehrenbescheid", "GEBÜHRENBESCHEID"])
@pytest.mark.parametrize("typed", ["gebühr", "gebuhr", "gebuehr", "Gebührenbescheid", "GEBUEHREN"])
def test_134_every_spelling_of_an_umlaut_finds_every_other(
    knowledge: Knowledge, title: str, typed: str
) -> None:
    with knowledge.database.worker() as connection:
        tuning.set_value(connection, floor_key(knowledge.embedder.space), "0.999", by="t")
    document = knowledge.add(f"{title} der Stadt")
    knowledge.flow()
    assert documents(ask(knowledge, typed)) == [document]


def test_139_a_longer_list_never_holds_less(knowledge: Knowledge) -> None:
    for number in range(30):
        knowledge.add(
            f"Garage {number}",
            entity=("nord-gmbh", "nord-sarl")[number % 2],
            project_code="P-1" if number % 3 == 0 else None,
        )
    knowledge.flow()
    narrow = SearchFilters(entity="nord-gmbh", project_code="P-1")
    for filters, most in ((NO_FILTERS, 10), (narrow, 5)):
        sizes = [
            len(
                search(
                    knowledge.parts,
                    knowledge.scope(),
                    "Garage",
                    filters=filters,
                    limit=limit,
                ).cards
            )
            for limit in range(1, 12)
        ]
        assert sizes == sorted(sizes)
        assert sizes[0] == 1
        assert sizes[-1] == most


class FailingEmbedder(BagOfWordsEmbedder):
    """A double whose model fails on every passage."""

    def embed_passages(self, texts: object, languages: object) -> Vectors:
        raise EmbeddingError("out of order")


def test_142_when_the_new_version_fails_the_document_stays_findable(knowledge: Knowledge) -> None:
    document = knowledge.add("Garage alt")
    knowledge.flow()
    (sha,) = knowledge.rows("SELECT raw_sha256 FROM documents WHERE id = %s", document)[0]
    with knowledge.database.worker() as connection:
        ledger.enqueue(connection, Stage.EMBED, [document], again=True)
    embed_chunks(knowledge.database, FailingEmbedder(), limit=9)
    assert documents(ask(knowledge, "Garage")) == [document]
    assert ask(knowledge, "Garage").trace.vector_hits == 1
    knowledge.rows("UPDATE extractions SET result = '{' WHERE raw_sha256 = %s RETURNING 1", sha)
    with knowledge.database.worker() as connection:
        ledger.enqueue(connection, Stage.CHUNK, [document], again=True)
    knowledge.flow()
    assert documents(ask(knowledge, "Garage")) == [document]


def test_143_as_many_chunks_come_out_as_went_in(knowledge: Knowledge) -> None:
    with knowledge.database.worker() as connection:
        tuning.set_value(connection, "CHUNK_CHARS", "300", by="t")
        tuning.set_value(connection, "CHUNK_OVERLAP", "0", by="t")
    parts = [f"Abschnitt {name}: " + f"{name} " * 30 for name in ("Anton", "Berta", "Cäsar")]
    document = knowledge.add("\n\n".join(parts))
    knowledge.flow()
    (chunks,) = knowledge.rows("SELECT count(*) FROM rag_chunks WHERE active")[0]
    (vectors,) = knowledge.rows("SELECT count(DISTINCT chunk_id) FROM chunk_vectors")[0]
    assert chunks == vectors == knowledge.words.count() >= 3
    for name in ("Anton", "Berta", "Cäsar"):
        answer = ask(knowledge, name, document_id=document)
        assert any(name in card.snippet for card in answer.cards)


# --- texts and questions of the issue ------------------------------------------------------------

WILD = {
    "one line of a megabyte": "wort " * 200_000 + "Dachrinne",
    "a megabyte without a space": "x" * 1_000_000 + " Dachrinne",
    "right to left": "فاتورة الكهرباء لشهر مايو " * 50 + " Dachrinne",
    "emoji": "🙂👩‍👩‍👧‍👦🇩🇪 " * 500 + " Dachrinne",
    "mixed": "Rechnung facture счёт 発票 " * 100 + " Dachrinne",
    "marks on marks": "e" + "\u0301" * 20_000 + " Dachrinne",
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("text", WILD.values(), ids=WILD)
def test_a_wild_text_is_indexed_whole_and_found(knowledge: Knowledge, text: str) -> None:
    document = knowledge.add(text)
    knowledge.flow()
    stored = knowledge.rows(
        "SELECT string_agg(substr(content, core_start - span_start + 1, core_end - core_start), ''"
        " ORDER BY chunk_no) FROM rag_chunks WHERE document_id = %s AND active",
        document,
    )
    assert stored == [(text,)]
    answer = ask(knowledge, "Dachrinne")
    assert documents(answer)[:1] == [document]
    assert WayState.FAILED not in (answer.trace.vector_state, answer.trace.words_state)
    assert ask(knowledge, "?!").emptiness is Emptiness.NOTHING_TO_SEARCH
