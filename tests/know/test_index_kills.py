"""kill -9 while the word index is built, switched and written to: a reader always has all of it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from knowledge_builders import Knowledge

from tgv_dagster.know.drift import word_drift
from tgv_dagster.know.queries import QueryTerms, understand
from tgv_dagster.know.wording import rebuild_words, rows_of, wall_terms
from tgv_dagster.store.db import Database

DOCUMENTS = 120

INDEXED = 40

NURSERY = """
import os, sys
from pathlib import Path
from tgv_dagster.know.wording import index_words, rebuild_words
from tgv_dagster.know.words import WordIndex
from tgv_dagster.store import ledger
from tgv_dagster.store.db import Database
from tgv_dagster.store.stages import Stage

def say(*_):
    os.write(1, b".")

def work(url, directory, ids):
    os.write(1, f"{os.getpid()}\\n".encode())
    database, words = Database(url, pool_size=2), WordIndex.at(Path(directory))
    while True:
        with database.worker() as connection:
            ledger.enqueue(connection, Stage.WORDS, ids, again=True)
        say()
        index_words(database, words, limit=len(ids), wait_seconds=5.0, progress=say)
        rebuild_words(database, words, wait_seconds=5.0, progress=say)

ids = [int(number) for number in sys.argv[3].split(",")]
while sys.stdin.readline():
    child = os.fork()
    if child == 0:
        work(sys.argv[1], sys.argv[2], ids)
    os.waitpid(child, 0)
    os.write(1, b"|")
"""
"""Forks a writer that indexes and rebuilds for ever, once per line, and tells each of its steps."""

CYCLE = 1 + INDEXED + DOCUMENTS
STEPS = (1, 1, CYCLE - 1, 1, CYCLE, 1, INDEXED + 1, 1, CYCLE + 1, 1, 2 * CYCLE)
"""Steps behind which a writer dies: before and in the commit, the build, and the switch."""


@contextmanager
def nursery(knowledge: Knowledge, ids: list[int]) -> Iterator[subprocess.Popen[bytes]]:
    root = knowledge.words.generations.root
    process = subprocess.Popen(
        [sys.executable, "-c", NURSERY, knowledge.database.url, str(root), ",".join(map(str, ids))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    )
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=60)


def hatch(process: subprocess.Popen[bytes]) -> int:
    """A new writer; returns its process id."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"\n")
    return int(process.stdout.readline())


def steps(process: subprocess.Popen[bytes], count: int) -> Iterator[None]:
    """Yield at each of the writer's next steps."""
    assert process.stdout is not None
    for _ in range(count):
        assert process.stdout.read(1) == b"."
        yield


def bury(process: subprocess.Popen[bytes], child: int) -> None:
    """Kill the writer and read what it still said."""
    assert process.stdout is not None
    os.kill(child, signal.SIGKILL)
    while process.stdout.read(1) != b"|":
        pass


@pytest.fixture
def knowledge(database: Database, tmp_path: Path) -> Iterator[Knowledge]:
    opened = Knowledge.open(database, tmp_path / "index")
    yield opened
    opened.words.close()


def survive_kills(knowledge: Knowledge, kills: int) -> set[str]:
    """Kill a writer again and again while reading; returns the generations that were read."""
    ids = [knowledge.add(f"Garage Nummer {n}") for n in range(DOCUMENTS)]
    knowledge.flow()
    terms = understand("Garage")
    assert isinstance(terms, QueryTerms)
    scope = knowledge.scope()
    chance = random.Random(3)
    generations: set[str] = set()

    def read() -> None:
        walls = wall_terms(scope, now)
        hits = knowledge.words.search(terms, walls, limit=500)
        assert {hit.document_id for hit in hits} == set(ids)
        assert len(hits) == DOCUMENTS
        current = knowledge.words.generations.current()
        assert current is not None
        generations.add(current.name)

    (now,) = knowledge.rows("SELECT now()")[0]
    with nursery(knowledge, ids[:INDEXED]) as process:
        for number in range(kills):
            child = hatch(process)
            for step, _ in enumerate(steps(process, STEPS[number % len(STEPS)])):
                if step % 16 == 0:
                    read()
            time.sleep(chance.uniform(0.0, 0.1))
            bury(process, child)
            read()
    return generations


def test_what_a_killed_commit_left_behind_does_not_lie_in_the_way_of_the_next(
    knowledge: Knowledge,
) -> None:
    """The files of a commit stand before its last step, the new list of files, does."""
    ids = [knowledge.add(f"Garage Nummer {n}") for n in range(10)]
    knowledge.flow()
    current = knowledge.words.generations.current()
    assert current is not None
    listed = (current / "meta.json").read_bytes()
    for _ in range(2):
        with knowledge.database.worker() as connection:
            rows = rows_of(connection, ids[:3])
        with knowledge.words.writer() as writer:
            writer.apply(rows, ids[:3])
        assert {path.suffix for path in current.iterdir()} >= {".del"}
        killed = current / "meta.json.killed"
        killed.write_bytes(listed)
        killed.replace(current / "meta.json")
        assert knowledge.words.count() == len(ids)
    assert is_sound(knowledge)


def is_sound(knowledge: Knowledge) -> bool:
    """The lock is free, leftovers go with the next build, content is that of the chunks."""
    rebuild_words(knowledge.database, knowledge.words, wait_seconds=0.0)
    root = knowledge.words.generations.root
    left = [path.name for path in root.iterdir() if path.name.startswith(("building", "trash"))]
    return left == [] and word_drift(knowledge.database, knowledge.words).sound


@pytest.mark.timeout(240)
def test_a_reader_has_the_whole_index_while_its_writers_are_killed(knowledge: Knowledge) -> None:
    generations = survive_kills(knowledge, 22)
    assert len(generations) > 1, "builds got as far as the switch between the kills"
    assert is_sound(knowledge)


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_a_hundred_killed_writers(knowledge: Knowledge) -> None:
    assert len(survive_kills(knowledge, 100)) > 5
    assert is_sound(knowledge)
