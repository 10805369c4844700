"""Acts on a filed document: one outcome over row, chunks, vectors and word index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from knowledge_builders import SPACE, BagOfWordsEmbedder, Knowledge

from tgv_dagster.know.lifecycle import (
    MOST_PERSONS,
    AlreadyHere,
    DocumentNotFound,
    LifecycleOutcome,
    LooserThanCompartment,
    NotAssignable,
    Part,
    assign,
    change_level,
    remove_document,
    restore_document,
    set_access,
)
from tgv_dagster.know.queries import QueryTerms, understand
from tgv_dagster.know.search import search
from tgv_dagster.know.vectors import Method, narrowing, nearest
from tgv_dagster.know.wording import index_words, wall_terms
from tgv_dagster.store import ledger
from tgv_dagster.store.db import Database
from tgv_dagster.store.levels import Level
from tgv_dagster.store.scope import Scope, ScopeError
from tgv_dagster.store.stages import Stage

TEXT = "Garage mit Stellplatz, Vertrag und Kündigungsfrist. " * 90


@pytest.fixture
def knowledge(database: Database, tmp_path: Path) -> Iterator[Knowledge]:
    opened = Knowledge.open(database, tmp_path / "index")
    with database.worker() as connection:
        connection.execute(
            "INSERT INTO user_mandant_roles (user_id, mandant_id, role)"
            " SELECT u.id, m.id, 'editor' FROM users u, mandanten m"
            " WHERE u.login = 'emil' AND m.slug = 'sued'"
        )
    yield opened
    opened.words.close()


@pytest.fixture
def document(knowledge: Knowledge) -> int:
    made = knowledge.add(TEXT)
    knowledge.flow()
    return made


def act(knowledge: Knowledge, name: str, document: int, scope: Scope) -> LifecycleOutcome:
    base = (knowledge.database, knowledge.words, scope, document)
    match name:
        case "trash":
            return remove_document(*base)
        case "restore":
            return restore_document(*base)
        case "strict":
            return change_level(*base, Level.STRICT)
        case "internal":
            return change_level(*base, Level.INTERNAL)
        case "sarl":
            return assign(*base, entity="nord-sarl")
        case "gmbh":
            return assign(*base, entity="nord-gmbh", project_code="P-1")
        case "sued":
            return assign(*base, entity="haus-sued")
        case _:
            return set_access(*base, persons=["vera"], visible_from=None)


def by_vectors(knowledge: Knowledge, scope: Scope) -> list[int]:
    vector = BagOfWordsEmbedder().embed_query("Garage", None)
    with knowledge.database.reading(scope) as connection:
        hits = nearest(
            connection, SPACE, vector, narrowing(connection, scope), limit=100,
            method=Method.EXACT, rerank_rows=100,
        )  # fmt: skip
    return sorted(hit.chunk_id for hit in hits)


def by_words(knowledge: Knowledge, scope: Scope) -> list[int]:
    terms = understand("Garage")
    assert isinstance(terms, QueryTerms)
    hits = knowledge.words.search(terms, wall_terms(scope, datetime.now(UTC)), limit=1000)
    return sorted(hit.chunk_id for hit in hits)


def stored(knowledge: Knowledge, document: int) -> list[int]:
    rows = knowledge.rows("SELECT id FROM rag_chunks WHERE document_id = %s ORDER BY id", document)
    return [row[0] for row in rows]


def person(knowledge: Knowledge, login: str, mandant: str | None = None) -> Scope:
    return knowledge.scope(login, mandant or ("nord" if login == "emil" else None))


def findable(knowledge: Knowledge, document: int, login: str, mandant: str | None = None) -> bool:
    """Whether exactly the stored version is found, in both ways; fails on anything between."""
    scope = person(knowledge, login, mandant)
    vector, words, chunks = by_vectors(knowledge, scope), by_words(knowledge, scope), []
    with knowledge.database.reading(scope) as connection:
        chunks = [r[0] for r in connection.execute("SELECT id FROM rag_chunks ORDER BY id")]
    assert vector == words == chunks
    assert chunks in ([], stored(knowledge, document))
    return bool(chunks)


# --- each act ------------------------------------------------------------------------------------


def test_trash_takes_a_document_out_of_both_ways_and_restore_brings_it_back_without_a_model(
    knowledge: Knowledge, document: int
) -> None:
    """ING-15: what is removed leaves both indexes at once."""
    asked = len(knowledge.embedder.asked)
    assert findable(knowledge, document, "emil")
    assert act(knowledge, "trash", document, person(knowledge, "emil")).complete
    assert not findable(knowledge, document, "chef")
    assert (knowledge.words.count(), stored(knowledge, document)) == (0, [])
    assert act(knowledge, "restore", document, person(knowledge, "emil")).complete
    assert findable(knowledge, document, "emil")
    assert len(knowledge.embedder.asked) == asked


def test_what_a_gate_held_is_held_again_after_the_trash(
    knowledge: Knowledge, document: int
) -> None:
    knowledge.rows("UPDATE documents SET state = 'held', held_gate = 'raw_first',"
                   " held_reason = 'missing' RETURNING 1")  # fmt: skip
    assert act(knowledge, "trash", document, knowledge.scope()).complete
    assert act(knowledge, "restore", document, knowledge.scope()).complete
    assert knowledge.rows("SELECT state FROM documents") == [("held",)]
    assert not findable(knowledge, document, "anna")


def test_restoring_without_cached_vectors_says_what_is_pending(
    knowledge: Knowledge, document: int
) -> None:
    act(knowledge, "trash", document, person(knowledge, "emil"))
    knowledge.rows("DELETE FROM embedding_cache RETURNING 1")
    outcome = act(knowledge, "restore", document, person(knowledge, "emil"))
    assert (outcome.vectors, outcome.words) == (Part.PENDING, Part.DONE)
    assert "vectors" in outcome.reason
    assert by_vectors(knowledge, person(knowledge, "emil")) == []
    knowledge.flow()
    assert findable(knowledge, document, "emil")


@pytest.mark.parametrize("repeat", ["trash", "restore", "internal", "gmbh", "access"])
def test_repeating_an_act_changes_nothing_more(
    knowledge: Knowledge, document: int, repeat: str
) -> None:
    anna = knowledge.scope()
    first, second = (act(knowledge, repeat, document, anna) for _ in range(2))
    assert first == second
    assert second.complete
    findable(knowledge, document, "anna")


def test_a_stricter_level_hides_at_once_and_a_looser_one_needs_the_manager(
    knowledge: Knowledge, document: int
) -> None:
    assert act(knowledge, "strict", document, person(knowledge, "emil")).complete
    assert not findable(knowledge, document, "emil")
    assert findable(knowledge, document, "anna")
    with pytest.raises(DocumentNotFound):
        act(knowledge, "internal", document, person(knowledge, "emil"))
    assert act(knowledge, "internal", document, knowledge.scope()).complete
    assert findable(knowledge, document, "emil")
    with pytest.raises(ScopeError):
        change_level(
            knowledge.database, knowledge.words, person(knowledge, "emil"), document, Level.PUBLIC
        )


def test_a_document_is_never_looser_than_its_compartment(
    knowledge: Knowledge, document: int
) -> None:
    with knowledge.database.worker() as connection:
        connection.execute(
            "INSERT INTO compartments (mandant_id, folder, default_level, created_by)"
            " SELECT id, '*', 'vertraulich', 'anna' FROM mandanten WHERE slug = 'nord'"
        )
        connection.execute("UPDATE documents SET compartment_id = (SELECT max(id)"
                           " FROM compartments)")  # fmt: skip
    with pytest.raises(LooserThanCompartment):
        act(knowledge, "internal", document, knowledge.scope())
    assert act(knowledge, "strict", document, knowledge.scope()).complete


def test_a_human_level_outlives_the_machine(knowledge: Knowledge, document: int) -> None:
    act(knowledge, "strict", document, knowledge.scope())
    values = knowledge.rows("SELECT field, value, origin, set_by FROM document_values")
    assert values == [("confidentiality_level", "streng_vertraulich", "human", "anna")]
    told = knowledge.rows(
        "SELECT kind, author, is_human, object FROM agent_events"
        " WHERE kind = 'document.level_changed'"
    )
    assert told == [("document.level_changed", "anna", True, f"document:{document}")]


def test_an_undecided_level_goes_back_into_the_flow(knowledge: Knowledge) -> None:
    document = knowledge.add(TEXT, confidentiality_level=None)
    knowledge.flow()
    act(knowledge, "internal", document, knowledge.scope())
    due = knowledge.rows("SELECT state FROM flow_ledger WHERE stage = 'file'")
    assert due == [("pending",)]


# --- entity, project, tenant ---------------------------------------------------------------------


def test_entity_and_project_follow_on_every_row(knowledge: Knowledge, document: int) -> None:
    assert act(knowledge, "gmbh", document, knowledge.scope()).complete
    assert findable(knowledge, document, "anna")
    narrow = knowledge.scope().narrow(project_code="P-1")
    assert by_vectors(knowledge, narrow) == by_words(knowledge, narrow) != []
    assert act(knowledge, "sarl", document, knowledge.scope()).complete
    row = knowledge.rows("SELECT entity, project_code, entity_quelle FROM documents")
    assert row == [("nord-sarl", None, "human")], "a project of another entity is dropped"
    assert by_words(knowledge, narrow) == by_vectors(knowledge, narrow) == []
    assert findable(knowledge, document, "anna")
    assert knowledge.rows("SELECT state FROM flow_ledger WHERE stage = 'deepen'") == [("pending",)]


def test_a_move_to_another_tenant_leaves_nothing_behind(
    knowledge: Knowledge, document: int
) -> None:
    with knowledge.database.worker() as connection:
        connection.execute(
            "INSERT INTO threads (kind, subject, created_by) VALUES ('case','x','t')"
        )
        connection.execute(
            "INSERT INTO cases (kind, subject_kind, subject_key, reason, thread_id, mandant_id,"
            " entity, document_id, confidentiality_level) SELECT 'unknown', 'document', '1', 'r',"
            " (SELECT max(id) FROM threads), mandant_id, entity, id, 'intern' FROM documents"
        )
    assert act(knowledge, "sued", document, person(knowledge, "emil")).complete
    assert not findable(knowledge, document, "anna")
    assert findable(knowledge, document, "sven")
    for login, count in (("anna", 0), ("sven", 1)):
        with knowledge.database.reading(person(knowledge, login)) as connection:
            assert connection.execute("SELECT count(*) FROM cases").fetchone() == (count,)
    left = knowledge.rows(
        "SELECT count(*) FROM embedding_cache e JOIN mandanten m ON m.id = e.mandant_id"
        " WHERE m.slug = 'nord'"
    )
    assert left == [(0,)]


@pytest.mark.parametrize("entity", ["haus-sued", "no-such-entity"])
def test_whoever_may_not_write_there_learns_nothing(
    knowledge: Knowledge, document: int, entity: str
) -> None:
    with pytest.raises(NotAssignable) as refused:
        assign(knowledge.database, knowledge.words, knowledge.scope(), document, entity=entity)
    assert str(refused.value) == "This document cannot be assigned there."
    assert findable(knowledge, document, "anna")


def test_the_same_bytes_there_are_told_only_to_who_may_see_them(
    knowledge: Knowledge, document: int
) -> None:
    sha = knowledge.rows("SELECT raw_sha256 FROM documents")[0][0]
    twin = knowledge.add("x", entity="haus-sued", sha=sha)
    with pytest.raises(AlreadyHere) as told:
        act(knowledge, "sued", document, person(knowledge, "emil"))
    assert told.value.document_id == twin
    knowledge.rows("UPDATE documents SET confidentiality_level = 'streng_vertraulich'"
                   " WHERE id = %s RETURNING 1", twin)  # fmt: skip
    with pytest.raises(NotAssignable) as hidden:
        act(knowledge, "sued", document, person(knowledge, "emil"))
    assert not isinstance(hidden.value, AlreadyHere)
    assert str(hidden.value) == str(NotAssignable())
    assert findable(knowledge, document, "anna"), "the document stayed where it was"
    assert knowledge.rows("SELECT count(*) FROM document_values")[0][0] == 0


def test_a_project_of_another_entity_is_refused(knowledge: Knowledge, document: int) -> None:
    with pytest.raises(NotAssignable):
        assign(
            knowledge.database, knowledge.words, knowledge.scope(), document,
            entity="nord-sarl", project_code="P-1",
        )  # fmt: skip


# --- persons -------------------------------------------------------------------------------------


def access(
    knowledge: Knowledge,
    document: int,
    login: str,
    *persons: str,
    circle: Sequence[str] = (),
    visible_from: datetime | None = None,
) -> LifecycleOutcome:
    return set_access(
        knowledge.database, knowledge.words, person(knowledge, login), document,
        persons=persons, circle=circle, visible_from=visible_from,
    )  # fmt: skip


def test_named_persons_and_release_act_in_both_ways_at_once(
    knowledge: Knowledge, document: int
) -> None:
    later = datetime.now(UTC) + timedelta(days=3)
    act(knowledge, "strict", document, knowledge.scope())
    assert access(knowledge, document, "anna", "vera", visible_from=later).complete
    assert findable(knowledge, document, "vera")
    assert findable(knowledge, document, "anna"), "who manages waits for no day"
    assert not findable(knowledge, document, "emil")


def test_a_circle_closes_both_ways_at_once_and_only_the_manager_opens_it(
    knowledge: Knowledge, document: int
) -> None:
    assert access(knowledge, document, "emil", circle=["emil"]).complete
    assert findable(knowledge, document, "emil")
    assert findable(knowledge, document, "anna")
    assert not findable(knowledge, document, "vera")
    for wider in ([], ["emil", "vera"]):
        with pytest.raises(ScopeError):
            access(knowledge, document, "emil", circle=wider)
    assert access(knowledge, document, "anna", circle=["emil", "vera"]).complete
    assert findable(knowledge, document, "vera")


def test_opening_a_document_needs_the_manager_and_closing_it_does_not(
    knowledge: Knowledge, document: int
) -> None:
    later = datetime.now(UTC) + timedelta(days=3)
    with pytest.raises(ScopeError):
        access(knowledge, document, "emil", "vera")
    assert access(knowledge, document, "anna", "vera", "emil").complete
    assert access(knowledge, document, "emil", "emil", visible_from=later).complete
    with pytest.raises(ScopeError):
        access(knowledge, document, "emil", "emil")
    assert findable(knowledge, document, "emil")
    assert not findable(knowledge, document, "vera")


def test_only_persons_of_the_tenant_can_be_named(knowledge: Knowledge, document: int) -> None:
    for login in ("sven", "nobody"):
        with pytest.raises(NotAssignable):
            access(knowledge, document, "anna", login)
    with pytest.raises(ValueError, match="At most"):
        access(knowledge, document, "anna", *(f"p{n}" for n in range(MOST_PERSONS + 1)))
    with pytest.raises(ValueError, match="zone"):
        access(knowledge, document, "anna", visible_from=datetime(2030, 1, 1))


# --- rights and waiting --------------------------------------------------------------------------

ACTS = ("trash", "restore", "strict", "sarl", "access")


@pytest.mark.parametrize("name", ACTS)
def test_a_reader_changes_nothing_and_a_stranger_finds_nothing(
    knowledge: Knowledge, document: int, name: str
) -> None:
    """Fault 121: each document is checked on the server, whoever names it."""
    with pytest.raises(ScopeError):
        act(knowledge, name, document, person(knowledge, "vera"))
    with pytest.raises(DocumentNotFound) as foreign:
        act(knowledge, name, document, person(knowledge, "sven"))
    with pytest.raises(DocumentNotFound) as absent:
        act(knowledge, name, 4711, person(knowledge, "sven"))
    assert str(foreign.value).replace(str(document), "4711") == str(absent.value)
    assert findable(knowledge, document, "emil")


@pytest.mark.parametrize("name", ["trash", "strict", "sued"])
def test_while_the_index_is_written_to_the_act_holds_and_the_words_follow(
    knowledge: Knowledge, document: int, name: str
) -> None:
    with knowledge.words.writer():
        outcome = act(knowledge, name, document, person(knowledge, "emil"))
    assert (outcome.vectors, outcome.words) == (Part.DONE, Part.PENDING)
    assert outcome.reason
    scope = person(knowledge, "emil")
    assert by_words(knowledge, scope), "the index is stale here"
    assert search(knowledge.parts, scope, "Garage").cards == (), "and shows nothing"
    assert index_words(knowledge.database, knowledge.words, limit=9).claimed == 1
    assert by_words(knowledge, scope) == []


def test_an_act_during_indexing_is_not_lost(knowledge: Knowledge, document: int) -> None:
    """A worker that read the former rows cannot complete over the newer state."""
    with knowledge.database.worker() as connection:
        ledger.enqueue(connection, Stage.WORDS, [document], again=True)
    with knowledge.database.worker() as connection:
        claims = ledger.claim(connection, Stage.WORDS, limit=1, worker="slow")
    with knowledge.words.writer():
        act(knowledge, "strict", document, knowledge.scope())
    with pytest.raises(ledger.ClaimLost), knowledge.database.worker() as connection:
        ledger.complete(connection, claims[0])
    index_words(knowledge.database, knowledge.words, limit=9)
    assert not findable(knowledge, document, "emil")


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@example(["trash", "sued", "restore"])
@given(st.lists(st.sampled_from((*ACTS, "internal", "gmbh", "sued")), max_size=7))
def test_after_any_sequence_of_acts_one_version_is_findable(
    knowledge: Knowledge, acts: list[str]
) -> None:
    """Update, delete, tenant move, level change: at once, in both ways, for everybody."""
    owner = knowledge.scope("chef")
    for (former,) in knowledge.rows("SELECT id FROM documents WHERE state = 'active'"):
        act(knowledge, "trash", former, owner)
    document = knowledge.add(TEXT)
    knowledge.flow()
    for name in acts:
        try:
            assert act(knowledge, name, document, owner).complete
        except NotAssignable:
            assert name == "access"
        active = knowledge.rows("SELECT state FROM documents WHERE id = %s", document)
        assert findable(knowledge, document, "chef") == (active == [("active",)])
        findable(knowledge, document, "emil")
        findable(knowledge, document, "vera")
        findable(knowledge, document, "sven")
