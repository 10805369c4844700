"""Chunk, embed and words: from a filed document to both indexes, and out of them again."""

from __future__ import annotations

import datetime as dt
import json
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowledge_builders import SPACE, BagOfWordsEmbedder, Knowledge, write_text

from tgv_dagster.know import halfvec, spaces
from tgv_dagster.know.chunking import IndexFilter, cut_chunks
from tgv_dagster.know.chunks import PAGE_SEPARATOR
from tgv_dagster.know.drift import space_drift
from tgv_dagster.know.embedding import Part, embed_chunks, fill_space, lacking_in
from tgv_dagster.know.embeddings import (
    E5_SMALL,
    KNOWN_SPACES,
    MISTRAL_EMBED,
    USE_DENOISED,
    CacheKey,
    EmbeddingError,
    EmbeddingSpace,
    Vectors,
)
from tgv_dagster.know.openai_endpoint import EndpointFailed
from tgv_dagster.know.usem import UseEmbedder
from tgv_dagster.know.wording import index_words, open_words, rebuild_words
from tgv_dagster.store import ledger, tuning
from tgv_dagster.store.db import Database, connect
from tgv_dagster.store.stages import Stage
from tgv_dagster.store.walls import APP_ROLE, WORKER_ROLE

LETTER = "Rechnung Nr. 4711 der Tischlerei.\n\nWir liefern drei Fenster aus Eiche. " * 40


@pytest.fixture
def knowledge(database: Database, tmp_path: Path) -> Iterator[Knowledge]:
    opened = Knowledge.open(database, tmp_path / "index")
    yield opened
    opened.words.close()


def enqueue(knowledge: Knowledge, stage: Stage, *documents: int) -> None:
    with knowledge.database.worker() as connection:
        ledger.enqueue(connection, stage, documents, again=True)


def state(knowledge: Knowledge, stage: Stage, document: int) -> str:
    return knowledge.rows(
        "SELECT state FROM flow_ledger WHERE stage = %s AND subject_id = %s", stage, document
    )[0][0]


def index_filter(knowledge: Knowledge, document: int) -> str | None:
    return knowledge.rows("SELECT index_filter FROM documents WHERE id = %s", document)[0][0]


def chunk_ids(knowledge: Knowledge, document: int) -> list[int]:
    return [
        row[0]
        for row in knowledge.rows(
            "SELECT id FROM rag_chunks WHERE document_id = %s ORDER BY chunk_no", document
        )
    ]


# --- chunks ------------------------------------------------------------------------------------


def test_a_document_flows_into_both_indexes_and_on_to_dispatch(knowledge: Knowledge) -> None:
    document = knowledge.add(LETTER, LETTER)
    knowledge.flow()
    windows = knowledge.rows("SELECT sum(cardinality(windows)) FROM rag_chunks")[0][0]
    assert windows == knowledge.rows("SELECT count(*) FROM chunk_vectors")[0][0] > 0
    assert knowledge.words.count() == len(chunk_ids(knowledge, document)) > 1
    assert [state(knowledge, s, document) for s in (Stage.CHUNK, Stage.EMBED, Stage.WORDS)] == [
        "done"
    ] * 3
    assert state(knowledge, Stage.DISPATCH, document) == "pending"


def test_chunks_carry_spans_source_language_and_every_wall(knowledge: Knowledge) -> None:
    document = knowledge.add(
        LETTER,
        "Second page",
        project_code="P-1",
        invoice_date="2026-05-20",
        visible_from="2026-01-01T00:00:00Z",
    )
    cut_chunks(knowledge.database, limit=9)
    text = LETTER + PAGE_SEPARATOR + "Second page"
    rows = knowledge.rows(
        "SELECT content, span_start, span_end, core_start, core_end, mandant_id, entity,"
        " project_code, level_rank, source_type, source_key, language, invoice_date::text,"
        " visible_from IS NOT NULL, is_test FROM rag_chunks ORDER BY chunk_no"
    )
    assert "".join(text[row[3] : row[4]] for row in rows) == text
    assert all(row[0] == text[row[1] : row[2]] for row in rows)
    sha = knowledge.rows("SELECT raw_sha256 FROM documents WHERE id = %s", document)[0][0]
    mandant = knowledge.rows("SELECT id FROM mandanten WHERE slug = 'nord'")[0][0]
    expected = (mandant, "nord-gmbh", "P-1", 1, "file", f"{sha}/file")
    assert {row[5:11] for row in rows} == {expected}
    assert rows[0][11] == "de"
    assert {row[12:] for row in rows} == {("2026-05-20", True, False)}


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.text(max_size=600), max_size=3))
def test_any_text_is_stored_without_losing_a_character(
    knowledge: Knowledge, pages: list[str]
) -> None:
    pages = [page.encode("utf-8", "replace").decode() for page in pages]
    document = knowledge.add(*pages)
    report = cut_chunks(knowledge.database, limit=9)
    text = PAGE_SEPARATOR.join(pages).replace("\x00", "\ufffd")
    rows = knowledge.rows(
        "SELECT content, span_start, core_start, core_end FROM rag_chunks WHERE document_id = %s"
        " ORDER BY chunk_no",
        document,
    )
    assert report.problems == ()
    if text.strip():
        assert "".join(c[core - start : end - start] for c, start, core, end in rows) == text
    else:
        assert (rows, index_filter(knowledge, document)) == ([], IndexFilter.NO_TEXT)


def test_the_registered_sizes_decide(knowledge: Knowledge) -> None:
    with knowledge.database.worker() as connection:
        for key, text in (("CHUNK_CHARS", "200"), ("CHUNK_OVERLAP", "190"), ("WINDOW_CHARS", "60")):
            tuning.set_value(connection, key, text, by="anna")
    knowledge.add(LETTER)
    cut_chunks(knowledge.database, limit=9)
    longest = knowledge.rows(
        "SELECT max(length(content)), min(core_end - core_start) FROM rag_chunks"
    )
    assert longest[0][0] <= 200
    window = knowledge.rows("SELECT max(upper(w) - lower(w)) FROM rag_chunks, unnest(windows) w")
    assert window[0][0] <= 60


def test_cutting_again_changes_nothing_and_a_new_text_replaces_everything(
    knowledge: Knowledge,
) -> None:
    document = knowledge.add(LETTER)
    knowledge.flow()
    before = chunk_ids(knowledge, document)
    enqueue(knowledge, Stage.CHUNK, document)
    assert cut_chunks(knowledge.database, limit=9).outcomes == {"unchanged": 1}
    assert chunk_ids(knowledge, document) == before
    with knowledge.database.worker() as connection:
        sha = knowledge.rows("SELECT raw_sha256 FROM documents")[0][0]
        write_text(connection, sha, ["Nur noch ein Satz."])
    enqueue(knowledge, Stage.CHUNK, document)
    knowledge.flow()
    assert len(chunk_ids(knowledge, document)) == knowledge.words.count() == 1
    assert knowledge.rows("SELECT count(*) FROM chunk_vectors")[0][0] == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("state = 'trashed'", IndexFilter.NOT_ACTIVE),
        ("entity = NULL, mandant_id = NULL", IndexFilter.NO_TENANT),
        ("entity = NULL", IndexFilter.NO_ENTITY),
        ("confidentiality_level = NULL", IndexFilter.NO_LEVEL),
    ],
)
def test_what_may_not_be_indexed_leaves_both_indexes_with_its_reason(
    knowledge: Knowledge, change: str, reason: IndexFilter
) -> None:
    document, other = knowledge.add(LETTER), knowledge.add("Mietvertrag der Halle")
    knowledge.flow()
    knowledge.rows(f"UPDATE documents SET {change} WHERE id = %s RETURNING 1", document)
    enqueue(knowledge, Stage.CHUNK, document)
    assert cut_chunks(knowledge.database, limit=9).outcomes == {str(reason): 1}
    knowledge.flow()
    assert index_filter(knowledge, document) == reason
    assert chunk_ids(knowledge, document) == []
    assert knowledge.rows("SELECT DISTINCT document_id FROM chunk_vectors") == [(other,)]
    assert knowledge.words.count() == len(chunk_ids(knowledge, other))
    assert state(knowledge, Stage.EMBED, document) == "done"


def test_a_document_without_text_is_listed_and_flows_on(knowledge: Knowledge) -> None:
    document = knowledge.add(" \n ", "")
    knowledge.flow()
    assert index_filter(knowledge, document) == IndexFilter.NO_TEXT
    assert state(knowledge, Stage.DISPATCH, document) == "pending"


def test_a_missing_extraction_parks_the_document_and_keeps_its_chunks(
    knowledge: Knowledge,
) -> None:
    document = knowledge.add(LETTER)
    knowledge.flow()
    before = chunk_ids(knowledge, document)
    knowledge.rows("DELETE FROM extractions RETURNING 1")
    enqueue(knowledge, Stage.CHUNK, document)
    assert cut_chunks(knowledge.database, limit=9).outcomes == {"parked": 1}
    assert chunk_ids(knowledge, document) == before


def test_another_generation_is_written_beside_and_not_searched(knowledge: Knowledge) -> None:
    document = knowledge.add(LETTER)
    knowledge.flow()
    with knowledge.database.worker() as connection:
        ledger.enqueue(connection, Stage.CHUNK, [document], generation=5)
        tuning.set_value(connection, "CHUNK_CHARS", "800", by="anna")
    cut_chunks(knowledge.database, limit=9, generation=5)
    embed_chunks(knowledge.database, knowledge.embedder, limit=9, generation=5)
    counts = dict(
        knowledge.rows("SELECT generation, count(*) FROM rag_chunks WHERE active = (generation = 0)"
                       " GROUP BY 1")
    )  # fmt: skip
    assert counts[5] > counts[0] > 0
    active = knowledge.rows("SELECT count(*) FILTER (WHERE active), count(*) FROM chunk_vectors")
    assert 0 < active[0][0] < active[0][1]
    assert knowledge.words.count() == counts[0]


# --- vectors -----------------------------------------------------------------------------------


def test_vectors_are_those_of_the_windows(knowledge: Knowledge) -> None:
    knowledge.add("Ein Satz über Fenster.\n\nEin zweiter über Türen.")
    knowledge.flow()
    with knowledge.database.worker() as connection, connection.cursor(binary=True) as cursor:
        found = cursor.execute(
            "SELECT v.emb, substr(c.content, lower(c.windows[v.window_no + 1]) - c.span_start + 1,"
            " upper(c.windows[v.window_no + 1]) - lower(c.windows[v.window_no + 1]))"
            " FROM chunk_vectors v JOIN rag_chunks c ON c.id = v.chunk_id"
        ).fetchall()
    stored = halfvec.from_binary([row[0] for row in found])
    made = BagOfWordsEmbedder().embed_passages([row[1] for row in found], [None] * len(found))
    assert np.abs(stored - made).max() < 1e-3


def test_texts_of_several_documents_go_to_the_model_together_and_once(
    knowledge: Knowledge,
) -> None:
    for _ in range(3):
        knowledge.add("Derselbe Satz in drei Dokumenten.")
    cut_chunks(knowledge.database, limit=9)
    report = embed_chunks(knowledge.database, knowledge.embedder, limit=9)
    assert report.outcomes == {"embedded": 3}
    assert len(knowledge.embedder.asked) == 1
    assert knowledge.rows("SELECT count(*) FROM chunk_vectors")[0][0] == 3


def test_a_tenant_never_hits_the_cache_of_another(knowledge: Knowledge) -> None:
    knowledge.add("Derselbe Satz.")
    knowledge.add("Derselbe Satz.", entity="haus-sued")
    knowledge.flow()
    assert len(knowledge.embedder.asked) == 2
    cached = knowledge.rows("SELECT count(DISTINCT mandant_id), count(*) FROM embedding_cache")
    assert cached == [(2, 2)]


def test_a_rebuild_asks_the_model_for_nothing_again(knowledge: Knowledge) -> None:
    document = knowledge.add(LETTER)
    knowledge.flow()
    asked = len(knowledge.embedder.asked)
    before = knowledge.rows("SELECT md5(string_agg(emb::text, '' ORDER BY chunk_id, window_no))"
                            " FROM chunk_vectors")  # fmt: skip
    knowledge.rows("DELETE FROM rag_chunks RETURNING 1")
    enqueue(knowledge, Stage.CHUNK, document)
    knowledge.flow()
    assert len(knowledge.embedder.asked) == asked
    after = knowledge.rows("SELECT md5(string_agg(emb::text, '' ORDER BY chunk_id, window_no))"
                           " FROM chunk_vectors")  # fmt: skip
    assert after == before


def test_the_cache_keeps_what_is_there_and_names_its_document(knowledge: Knowledge) -> None:
    cache = spaces.StoredVectors(knowledge.database)
    key = CacheKey("1", SPACE.space_id, "a" * 64, "de")
    first, second = np.eye(2, SPACE.dimension, dtype=np.float32)
    cache.put_many({key: first}, 7)
    cache.put_many({key: second}, 8)
    other = CacheKey("2", SPACE.space_id, "a" * 64, "de")
    assert np.array_equal(cache.get_many([key, other])[key], first)
    assert other not in cache.get_many([key, other])
    assert knowledge.rows("SELECT document_id FROM embedding_cache") == [(7,)]
    assert cache.get_many([]) == {}


def test_more_documents_than_are_prepared_together_all_get_their_vectors(
    knowledge: Knowledge,
) -> None:
    """Groups follow each other in one run; a document changed meanwhile waits alone."""
    documents = [knowledge.add(f"Dokument {n} {LETTER * 4}") for n in range(24)]
    cut_chunks(knowledge.database, limit=99)
    enqueue(knowledge, Stage.EMBED, *documents)
    done: list[int] = []

    def take_one_away(at: int, of: int) -> None:
        done.append(at)
        if at == 1:
            enqueue(knowledge, Stage.EMBED, documents[-1])

    report = embed_chunks(knowledge.database, knowledge.embedder, limit=99, progress=take_one_away)
    windows = knowledge.rows("SELECT sum(cardinality(windows)) FROM rag_chunks")[0][0]
    assert windows > 1_024, "more than one group"
    assert report.outcomes == {"embedded": 23, "lost": 1}
    assert done == list(range(1, 25))
    embed_chunks(knowledge.database, knowledge.embedder, limit=99)
    assert knowledge.rows("SELECT count(*) FROM chunk_vectors") == [(windows,)]
    assert space_drift(knowledge.database).sound


class RefusingEmbedder(BagOfWordsEmbedder):
    """A double that refuses texts with one word, alone or in company."""

    def embed_passages(self, texts: Sequence[str], languages: Sequence[str | None]) -> Vectors:
        if any("unlesbar" in text for text in texts):
            raise EmbeddingError("a text was refused")
        return super().embed_passages(texts, languages)


def test_one_bad_document_does_not_stop_the_others(knowledge: Knowledge) -> None:
    good = [knowledge.add(f"Gutes Dokument {n}") for n in range(3)]
    bad = knowledge.add("Das ist unlesbar")
    cut_chunks(knowledge.database, limit=9)
    report = embed_chunks(knowledge.database, RefusingEmbedder(), limit=9)
    assert report.outcomes == {"embedded": 3, "retry": 1}
    assert [(p.subject_id, p.outcome) for p in report.problems] == [(bad, "retry")]
    assert {state(knowledge, Stage.EMBED, document) for document in good} == {"done"}


class SilentEmbedder(BagOfWordsEmbedder):
    """A double whose endpoint does not answer."""

    def embed_passages(self, texts: Sequence[str], languages: Sequence[str | None]) -> Vectors:
        self.asked += texts
        raise EndpointFailed("eu.example: ConnectTimeout")


def test_an_endpoint_that_does_not_answer_leaves_everything_pending(
    knowledge: Knowledge,
) -> None:
    documents = [knowledge.add(f"Dokument {n} " + LETTER * 8) for n in range(4)]
    cut_chunks(knowledge.database, limit=9)
    silent = SilentEmbedder()
    report = embed_chunks(knowledge.database, silent, limit=9)
    assert report.outcomes == {"waiting": 4}
    assert len(silent.asked) <= 256, "it is asked once and not again in this run"
    assert {state(knowledge, Stage.EMBED, document) for document in documents} == {"pending"}


class CuttingEmbedder(BagOfWordsEmbedder):
    """A double during whose call somebody else cuts the document anew."""

    def __init__(self, knowledge: Knowledge, document: int) -> None:
        super().__init__()
        self._knowledge, self._document = knowledge, document

    def embed_passages(self, texts: Sequence[str], languages: Sequence[str | None]) -> Vectors:
        with self._knowledge.database.worker() as connection:
            (sha,) = connection.execute(
                "SELECT raw_sha256 FROM documents WHERE id = %s", (self._document,)
            ).fetchone() or ("",)
            write_text(connection, sha, ["Ein ganz neuer Text."])
        enqueue(self._knowledge, Stage.CHUNK, self._document)
        cut_chunks(self._knowledge.database, limit=9)
        return super().embed_passages(texts, languages)


def test_chunks_replaced_while_they_are_embedded_get_their_own_vectors(
    knowledge: Knowledge,
) -> None:
    document = knowledge.add(LETTER)
    cut_chunks(knowledge.database, limit=9)
    report = embed_chunks(knowledge.database, CuttingEmbedder(knowledge, document), limit=9)
    assert set(report.outcomes) <= {"waiting", "lost"}
    assert state(knowledge, Stage.EMBED, document) == "pending"
    knowledge.flow()
    assert knowledge.rows("SELECT count(*) FROM chunk_vectors")[0][0] == 1


# --- spaces ------------------------------------------------------------------------------------


def test_the_known_spaces_are_registered_and_use_is_active(database: Database) -> None:
    spaces.ensure_spaces(database)
    spaces.ensure_spaces(database)
    with database.worker() as connection:
        rows = connection.execute("SELECT space_id, active FROM embedding_spaces").fetchall()
    assert dict(rows) == {space.space_id: space is USE_DENOISED for space in KNOWN_SPACES}
    assert isinstance(spaces.active_embedder(database), UseEmbedder)


def test_a_floor_is_that_of_its_space_with_its_account_and_ends_some_day(
    database: Database,
) -> None:
    with database.worker() as connection:
        tuning.seed(connection)
    values = tuning.load(database)
    floor = spaces.floor_of(values, MISTRAL_EMBED)
    assert floor is not None
    assert (floor.value, floor.interim_until, floor.measured_on) == (0.78, "a reranker", None)
    default = spaces.floor_of(values, USE_DENOISED)
    assert default is not None
    assert default.measured_on is not None
    assert "questions" in default.condition
    assert default.interim_until is not None
    assert spaces.floor_of(values, E5_SMALL) is None, "nobody measured it"
    with database.worker() as connection:
        tuning.set_value(
            connection, spaces.floor_key(USE_DENOISED), "0.4", by="anna", note="own corpus",
            expires_when="the next evaluation",
        )  # fmt: skip
    measured = spaces.floor_of(tuning.load(database), USE_DENOISED)
    assert measured is not None
    assert measured.value == 0.4


def test_a_model_without_an_endpoint_is_named(database: Database) -> None:
    with pytest.raises(spaces.UnknownSpace, match="endpoint"):
        spaces.embedder_of(database, MISTRAL_EMBED)
    with pytest.raises(spaces.NoActiveSpace):
        spaces.active_embedder(database)


@pytest.mark.parametrize("role", [APP_ROLE, WORKER_ROLE])
def test_a_partition_is_read_only_through_the_walls_of_its_parent(
    knowledge: Knowledge, role: str
) -> None:
    knowledge.add(LETTER)
    knowledge.flow()
    name = spaces.partition_name(SPACE.space_id)
    with (
        connect(knowledge.database.url, role=role) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(f"SELECT count(*) FROM {name}".encode())


def test_a_partition_takes_vectors_of_its_own_dimension_only(knowledge: Knowledge) -> None:
    knowledge.add("Ein Satz.")
    cut_chunks(knowledge.database, limit=9)
    wrong = BagOfWordsEmbedder(SPACE)
    wrong.embed_passages = lambda texts, languages: np.ones((len(texts), 32), np.float32)
    report = embed_chunks(knowledge.database, wrong, limit=9)
    assert report.outcomes == {"retry": 1}
    assert knowledge.rows("SELECT count(*) FROM chunk_vectors")[0][0] == 0


OTHER = EmbeddingSpace("another-double", "2", 32)


def test_a_change_of_model_fills_beside_and_switches_once(knowledge: Knowledge) -> None:
    documents = [knowledge.add(f"Dokument {n} {LETTER}") for n in range(3)]
    knowledge.flow()
    spaces.ensure_spaces(knowledge.database, [OTHER])
    other = BagOfWordsEmbedder(OTHER)
    measured = spaces.Evaluation(OTHER.space_id, "met", "all found", {"DE→FR": 0.9})
    name = spaces.record_evaluation(knowledge.database, measured, by="anna")
    with pytest.raises(spaces.SpaceIncomplete):
        spaces.switch_space(knowledge.database, other, by="anna", evaluation=name)
    assert fill_space(knowledge.database, other, limit=2) == 1
    assert fill_space(knowledge.database, other, limit=2) == 0
    spaces.switch_space(knowledge.database, other, by="anna", evaluation=name)
    spaces.switch_space(knowledge.database, other, by="anna", evaluation=name)
    active = knowledge.rows("SELECT space_id FROM embedding_spaces WHERE active")
    assert active == [(OTHER.space_id,)]
    told = knowledge.rows("SELECT author FROM agent_events WHERE kind = 'space.switched'")
    assert told == [("anna",)]
    enqueue(knowledge, Stage.EMBED, documents[0])
    report = embed_chunks(knowledge.database, knowledge.embedder, limit=9)
    assert report.outcomes == {"waiting": 1}, "the former model writes nothing any more"


@pytest.mark.parametrize("named", ["", " ", "A/B 1", "1", "-1", "x' OR true --"])
def test_a_space_is_not_switched_to_before_it_was_evaluated(
    knowledge: Knowledge, named: str
) -> None:
    knowledge.add("Dokument")
    knowledge.flow()
    spaces.ensure_spaces(knowledge.database, [OTHER])
    other = BagOfWordsEmbedder(OTHER)
    foreign = spaces.Evaluation(SPACE.space_id, "met", "of another space", {})
    of_another = spaces.record_evaluation(knowledge.database, foreign, by="anna")
    assert fill_space(knowledge.database, other, limit=9) == 0
    for name in (named, of_another):
        with pytest.raises(spaces.NotEvaluated):
            spaces.switch_space(knowledge.database, other, by="anna", evaluation=name)
    assert knowledge.rows("SELECT space_id FROM embedding_spaces WHERE active") == [
        (SPACE.space_id,)
    ]


def test_a_part_of_the_stock_is_filled_alone(knowledge: Knowledge) -> None:
    june = knowledge.add("Juni", date_received="2026-06-30T23:59:00Z")
    july = knowledge.add("Juli", date_received="2026-07-01T00:01:00Z")
    foreign = knowledge.add("Juni", date_received="2026-06-10T00:01:00Z", entity="haus-sued")
    knowledge.flow()
    spaces.ensure_spaces(knowledge.database, [OTHER])
    other = BagOfWordsEmbedder(OTHER)
    (nord,) = knowledge.rows("SELECT id FROM mandanten WHERE slug = 'nord'")[0]
    told: list[tuple[int, int]] = []
    part = Part(nord, dt.date(2026, 6, 1))
    left = fill_space(
        knowledge.database,
        other,
        limit=9,
        part=part,
        progress=lambda done, of: told.append((done, of)),
    )
    assert (left, told) == (0, [(1, 1)])
    assert lacking_in(knowledge.database, other, None) == (july, foreign)
    assert june not in lacking_in(knowledge.database, other, part)


def test_an_unknown_space_is_not_switched_to(knowledge: Knowledge) -> None:
    with pytest.raises(spaces.UnknownSpace):
        spaces.switch_space(
            knowledge.database, BagOfWordsEmbedder(OTHER), by="anna", evaluation="x"
        )


# --- a remote model ----------------------------------------------------------------------------


@pytest.fixture
def endpoint() -> Iterator[tuple[spaces.Endpoint, list[str]]]:
    """A double of a provider on a real socket, and the texts that reached it."""
    reached: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            texts = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
            reached.extend(texts)
            data = [
                {"index": at, "embedding": [1.0, float(len(text))] + [0.5] * 1022}
                for at, text in enumerate(texts)
            ]
            body = json.dumps({"data": data, "usage": {"total_tokens": 7}}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing on the console."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    yield spaces.Endpoint(url, (), euro_per_million=100.0), reached
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_remote_model_gets_no_text_above_the_ceiling_and_every_call_is_logged(
    knowledge: Knowledge, endpoint: tuple[spaces.Endpoint, list[str]]
) -> None:
    spaces.ensure_spaces(knowledge.database, [MISTRAL_EMBED])
    with knowledge.database.worker() as connection:
        connection.execute("UPDATE embedding_spaces SET active = false WHERE active")
        connection.execute("UPDATE embedding_spaces SET active = true WHERE dimension = 1024")
        connection.execute(
            "INSERT INTO system_config (key, value, set_by) SELECT 'remote_ceiling:' || id,"
            " 'vertraulich', 'anna' FROM mandanten WHERE slug = 'sued'"
        )
    open_one = knowledge.add("Offener Text")
    strict = knowledge.add("Geheimer Text", confidentiality_level="vertraulich")
    odd = knowledge.add("Fremde Stufe", confidentiality_level="publishable_book")
    allowed = knowledge.add("Im Süden erlaubt", entity="haus-sued",
                            confidentiality_level="vertraulich")  # fmt: skip
    cut_chunks(knowledge.database, limit=9)
    model = spaces.active_embedder(knowledge.database, endpoint[0])
    report = embed_chunks(knowledge.database, model, limit=9)
    assert report.outcomes == {"embedded": 2, "kept_local": 2}
    assert sorted(endpoint[1]) == ["Im Süden erlaubt", "Offener Text"]
    held = knowledge.rows("SELECT DISTINCT document_id FROM chunk_vectors ORDER BY 1")
    assert held == [(open_one,), (allowed,)]
    assert {state(knowledge, Stage.EMBED, d) for d in (strict, odd)} == {"done"}
    assert space_drift(knowledge.database).sound
    calls = knowledge.rows(
        "SELECT purpose, provider_host, model, input_units, cost_eur::text FROM model_calls"
    )
    assert calls == [("embedding", "127.0.0.1", "mistral-embed", 7, "0.000700")]


# --- words -------------------------------------------------------------------------------------


def test_while_somebody_else_writes_documents_stay_pending(knowledge: Knowledge) -> None:
    document = knowledge.add(LETTER)
    cut_chunks(knowledge.database, limit=9)
    with knowledge.words.writer():
        report = index_words(knowledge.database, knowledge.words, limit=9, wait_seconds=0)
        assert report.outcomes == {"waiting": 1}
    assert state(knowledge, Stage.WORDS, document) == "pending"
    assert index_words(knowledge.database, knowledge.words, limit=9).outcomes == {"indexed": 1}


def test_a_batch_is_one_commit_and_repeating_it_changes_nothing(knowledge: Knowledge) -> None:
    documents = [knowledge.add(f"Dokument {n}") for n in range(5)]
    cut_chunks(knowledge.database, limit=9)
    for _ in range(3):
        enqueue(knowledge, Stage.WORDS, *documents)
        report = index_words(knowledge.database, knowledge.words, limit=9)
        assert report.outcomes == {"indexed": 5}
        assert knowledge.words.count() == 5


def test_a_document_under_a_legal_lock_is_not_in_the_word_index(knowledge: Knowledge) -> None:
    document = knowledge.add(LETTER)
    knowledge.flow()
    knowledge.rows("UPDATE documents SET restricted_until = now() + interval '9 years'"
                   " RETURNING 1")  # fmt: skip
    enqueue(knowledge, Stage.WORDS, document)
    assert index_words(knowledge.database, knowledge.words, limit=9).outcomes == {"left_out": 1}
    assert knowledge.words.count() == 0
    rebuild_words(knowledge.database, knowledge.words)
    assert knowledge.words.count() == 0


def damage(knowledge: Knowledge, how: str) -> None:
    current = knowledge.words.generations.current()
    assert current is not None
    if how == "missing":
        (knowledge.words.generations.root / "current").unlink()
    elif how == "outdated":
        (current / "built.json").write_text('{"rules": "of another version"}')
    else:
        (current / "meta.json").write_bytes(b"")


@pytest.mark.parametrize("how", ["missing", "outdated", "damaged"])
def test_an_unusable_index_is_built_anew_from_the_chunks(knowledge: Knowledge, how: str) -> None:
    first = knowledge.add(LETTER)
    knowledge.flow()
    knowledge.words.close()
    damage(knowledge, how)
    second = knowledge.add("Mietvertrag der Halle")
    cut_chunks(knowledge.database, limit=9)
    assert index_words(knowledge.database, knowledge.words, limit=9).outcomes == {"indexed": 1}
    expected = len(chunk_ids(knowledge, first)) + len(chunk_ids(knowledge, second))
    assert knowledge.words.count() == expected


@pytest.mark.parametrize("how", ["missing", "outdated", "damaged"])
def test_opening_builds_what_cannot_be_used(knowledge: Knowledge, how: str) -> None:
    document = knowledge.add(LETTER)
    knowledge.flow()
    knowledge.words.close()
    damage(knowledge, how)
    opened = open_words(knowledge.database, knowledge.words.generations.root)
    assert opened.count() == len(chunk_ids(knowledge, document))
    opened.close()


def test_a_change_during_indexing_is_indexed_again(knowledge: Knowledge) -> None:
    """The claim is taken away by the change, so the stale rows cannot count as done."""
    document = knowledge.add(LETTER)
    knowledge.flow()
    enqueue(knowledge, Stage.WORDS, document)
    seen: list[int] = []

    def change_once(done: int, of: int) -> None:
        seen.append(done)

    with knowledge.database.worker() as connection:
        claims = ledger.claim(connection, Stage.WORDS, limit=1, worker="slow")
    enqueue(knowledge, Stage.WORDS, document)
    with pytest.raises(ledger.ClaimLost), knowledge.database.worker() as connection:
        ledger.complete(connection, claims[0])
    report = index_words(knowledge.database, knowledge.words, limit=9, progress=change_once)
    assert (report.outcomes, seen) == ({"indexed": 1}, [1])
