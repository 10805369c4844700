"""Drift between the chunk table and the two indexes is seen, in number and in content."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from knowledge_builders import SPACE, BagOfWordsEmbedder, Knowledge

from tgv_dagster.know.chunking import cut_chunks
from tgv_dagster.know.drift import space_drift, word_drift
from tgv_dagster.know.embedding import fill_space
from tgv_dagster.know.embeddings import EmbeddingSpace
from tgv_dagster.know.spaces import ensure_spaces
from tgv_dagster.know.wording import index_words, rebuild_words
from tgv_dagster.know.words import WordIndex
from tgv_dagster.store import ledger
from tgv_dagster.store.db import Database
from tgv_dagster.store.stages import Stage


@pytest.fixture
def knowledge(database: Database, tmp_path: Path) -> Iterator[Knowledge]:
    opened = Knowledge.open(database, tmp_path / "index")
    for number in range(6):
        opened.add(f"Rechnung {number} für Fenster", invoice_date="2026-05-01")
    opened.flow()
    yield opened
    opened.words.close()


def test_what_the_stages_wrote_is_sound(knowledge: Knowledge) -> None:
    words, space = word_drift(knowledge.database, knowledge.words), space_drift(knowledge.database)
    assert words.sound
    assert (words.expected, words.indexed, words.sampled, words.waiting) == (6, 6, 6, 0)
    assert space.sound
    assert (space.windows, space.vectors, space.active) == (6, 6, True)


@pytest.mark.parametrize(
    "change",
    [
        "entity = 'nord-sarl'",
        "confidentiality_level = 'vertraulich'",
        "project_code = 'P-9'",
        "visible_from = now()",
        "is_test = true",
        "persons = '{7}'",
        "circle = '{7}'",
        "invoice_date = '2026-06-02'",
    ],
)
def test_a_wall_that_changed_in_the_table_only_is_seen_in_the_index(
    knowledge: Knowledge, change: str
) -> None:
    (document,) = knowledge.rows(f"UPDATE documents SET {change} WHERE id = 3 RETURNING id")[0]
    chunk = knowledge.rows("SELECT id FROM rag_chunks WHERE document_id = %s", document)[0][0]
    assert word_drift(knowledge.database, knowledge.words).differing == (chunk,)
    assert space_drift(knowledge.database).sound, "vectors follow their document in the database"
    with knowledge.database.worker() as connection:
        ledger.enqueue(connection, Stage.WORDS, [document], again=True)
    assert word_drift(knowledge.database, knowledge.words).waiting == 1
    index_words(knowledge.database, knowledge.words, limit=9)
    assert word_drift(knowledge.database, knowledge.words).sound


def test_missing_and_left_over_chunks_are_seen(knowledge: Knowledge) -> None:
    knowledge.rows("UPDATE documents SET restricted_until = now() WHERE id = 1 RETURNING 1")
    left_over = word_drift(knowledge.database, knowledge.words)
    assert (left_over.expected, left_over.indexed, left_over.sound) == (5, 6, False)
    knowledge.add("Neues Dokument")
    cut_chunks(knowledge.database, limit=9)
    missing = word_drift(knowledge.database, knowledge.words)
    assert len(missing.missing) == 1
    rebuild_words(knowledge.database, knowledge.words)
    assert word_drift(knowledge.database, knowledge.words).sound


def test_a_flipped_byte_is_seen(knowledge: Knowledge) -> None:
    current = knowledge.words.generations.current()
    assert current is not None
    store = max(current.glob("*.term"), key=lambda path: path.stat().st_size)
    content = bytearray(store.read_bytes())
    content[len(content) // 3] ^= 0xFF
    store.write_bytes(content)
    found = word_drift(knowledge.database, knowledge.words)
    assert (found.damaged, found.sound) == ((store.name,), False)


def test_an_index_that_cannot_be_read_is_not_sound(knowledge: Knowledge, tmp_path: Path) -> None:
    found = word_drift(knowledge.database, WordIndex.at(tmp_path / "none"))
    assert (found.unusable, found.sound) == ("IndexMissing", False)


def test_the_sample_is_bounded_and_repeatable(knowledge: Knowledge) -> None:
    knowledge.rows("UPDATE documents SET entity = 'nord-sarl' WHERE id <= 3 RETURNING 1")
    drawn = [word_drift(knowledge.database, knowledge.words, sample=4, seed=5) for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert drawn[0].sampled == 4
    assert drawn[0].differing, "three of six differ, so four drawn hold one"


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM chunk_vectors WHERE document_id = 3 RETURNING 1",
        "UPDATE chunk_vectors SET level_rank = 0 WHERE document_id = 3 RETURNING 1",
        "UPDATE chunk_vectors SET persons = '{9}' WHERE document_id = 3 RETURNING 1",
        "UPDATE chunk_vectors SET active = false WHERE document_id = 3 RETURNING 1",
        "UPDATE chunk_vectors SET mandant_id = 2 WHERE document_id = 3 RETURNING 1",
    ],
)
def test_vectors_that_differ_from_their_chunks_are_seen(knowledge: Knowledge, damage: str) -> None:
    assert knowledge.rows(damage)
    assert space_drift(knowledge.database).differing == (3,)


def test_a_document_that_waits_is_no_drift_of_the_active_space(knowledge: Knowledge) -> None:
    knowledge.add("Neues Dokument")
    cut_chunks(knowledge.database, limit=9)
    found = space_drift(knowledge.database)
    assert (found.sound, found.waiting, found.windows - found.vectors) == (True, 1, 1)


def test_a_space_beside_is_measured_until_it_is_filled(knowledge: Knowledge) -> None:
    other = BagOfWordsEmbedder(EmbeddingSpace("another-double", "1", 16))
    ensure_spaces(knowledge.database, [other.space])
    before = space_drift(knowledge.database, other.space.space_id)
    assert (len(before.differing), before.vectors, before.active) == (6, 0, False)
    fill_space(knowledge.database, other, limit=100)
    assert space_drift(knowledge.database, other.space.space_id).sound
    assert space_drift(knowledge.database).space_id == SPACE.space_id
