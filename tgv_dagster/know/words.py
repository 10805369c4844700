"""The word index: one Tantivy index per directory, walls as mandatory terms of every search.

Here belong adding, replacing and removing chunks, building beside and switching, searching and the
check of what lies on disk. There is no search without `WallTerms`, and the index stores no text:
a hit is a chunk id, a document id and a score.
What does not belong here: who may read what (the scope that yields `WallTerms`), which words of a
question matter (`queries`), which hits become cards (`balance`).
"""

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import tantivy

from tgv_dagster.know.generations import Generations, Held, NoGeneration, WriterBusy
from tgv_dagster.know.queries import QueryTerms
from tgv_dagster.know.word_files import is_intact, segment_files
from tgv_dagster.know.word_model import (
    Applied,
    BuildIncomplete,
    BuildReport,
    ChunkWithoutWalls,
    HitFilters,
    IndexDamaged,
    IndexMissing,
    IndexOutdated,
    IndexState,
    Refusal,
    WallTerms,
    WordHit,
    WordIndexError,
    WordRow,
)
from tgv_dagster.know.word_query import any_of, walled_query
from tgv_dagster.know.word_schema import SCHEMA, TERMS, document, refusal, rules_fingerprint

MAX_LIMIT = 1_000
_HEAP_BYTES = 96_000_000
_THREADS = 1
_BUILT = "built.json"

T = TypeVar("T")


def _guarded(call: Callable[[], T]) -> T:
    """Run a call into the engine. Raises IndexDamaged for whatever it fails with.

    The engine answers a broken file with a panic, which is no `Exception`.
    """
    try:
        return call()
    except WordIndexError:
        raise
    except (ValueError, OSError) as error:
        raise IndexDamaged(type(error).__name__) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise IndexDamaged("panic in the search engine") from error


# --- the index on disk -------------------------------------------------------------------------


def _open_engine(path: Path) -> tantivy.Index:
    try:
        rules = json.loads((path / _BUILT).read_text())["rules"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise IndexDamaged(f"{path.name}: {_BUILT} cannot be read") from error
    if rules != rules_fingerprint():
        raise IndexOutdated(path.name)
    index = _guarded(lambda: tantivy.Index.open(str(path)))
    _prepare_engine(index)
    return index


def _prepare_engine(index: tantivy.Index) -> None:
    # Tokenizers are not kept on disk; the default reload policy would start a watching thread.
    index.register_tokenizer(
        TERMS, tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    )
    index.config_reader("manual")


def _new_engine(path: Path) -> tantivy.Index:
    index = tantivy.Index(SCHEMA, path=str(path), reuse=False)
    _prepare_engine(index)
    (path / _BUILT).write_text(json.dumps({"rules": rules_fingerprint()}))
    return index


def _engine_writer(index: tantivy.Index) -> tantivy.IndexWriter:
    try:
        return index.writer(heap_size=_HEAP_BYTES, num_threads=_THREADS)
    except ValueError as error:
        if "LockBusy" in str(error):
            raise WriterBusy("the search engine is being written to") from error
        raise


@dataclass(slots=True)
class _Open:
    """One generation opened for reading, at one commit."""

    held: Held
    index: tantivy.Index
    commit: tuple[int, int, int]
    searcher: tantivy.Searcher


def _commit_of(path: Path) -> tuple[int, int, int]:
    """Changes with every commit: the engine replaces this file by a rename."""
    try:
        found = (path / "meta.json").stat()
    except OSError as error:
        raise IndexDamaged(f"{path.name}: meta.json cannot be read") from error
    return found.st_ino, found.st_mtime_ns, found.st_size


@dataclass(slots=True)
class WordWriter:
    """The single writer, inside `WordIndex.writer()`."""

    _writer: tantivy.IndexWriter

    def apply(self, adds: Iterable[WordRow], deletes: Iterable[int]) -> Applied:
        """Remove every chunk of the documents `deletes`, add `adds`, commit: seen as one change.

        To replace a document name it in `deletes` and all its chunks in `adds`. A chunk id that is
        already there is replaced, so a repeated batch changes nothing. Raises ChunkWithoutWalls
        before anything is written; whatever else fails, nothing of the batch stays.
        """
        rows, removed = {row.chunk_id: row for row in adds}, list(dict.fromkeys(deletes))
        for row in rows.values():
            reason = refusal(row)
            if reason is not None:
                raise ChunkWithoutWalls(f"chunk {row.chunk_id}: {reason}")
        try:
            # By query: the engine's delete by term takes an unsigned key for a signed one and
            # deletes nothing without a word (the kind of known fault 130).
            for name, keys in (("document_id", removed), ("chunk_id", list(rows))):
                if keys:
                    self._writer.delete_documents_by_query(any_of(name, keys))
            for row in rows.values():
                self._writer.add_document(document(row))
            self._writer.commit()
        except BaseException:
            self._writer.rollback()
            raise
        return Applied(len(rows), len(removed))


@dataclass(slots=True)
class WordIndex:
    """The word index below one directory; safe to share between threads.

    A search sees the last commit of the generation in force, whichever process made it.
    """

    generations: Generations
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _opened: _Open | None = None

    @classmethod
    def create(cls, directory: Path) -> "WordIndex":
        """Open the index, building an empty one when there is none. Raises as `open`."""
        generations = Generations(directory)
        if generations.current() is None:
            with generations.writing(wait_seconds=10.0):
                if generations.current() is None:
                    _build(generations, ())
        return cls.open(directory)

    @classmethod
    def open(cls, directory: Path) -> "WordIndex":
        """Open an index. Raises IndexMissing, IndexOutdated or IndexDamaged."""
        index = cls.at(directory)
        index._searcher()
        return index

    @classmethod
    def at(cls, directory: Path) -> "WordIndex":
        """The index at a directory without looking at it, to build where `open` raises."""
        return cls(Generations(directory))

    def close(self) -> None:
        """Let go of the generation that is held."""
        with self._lock:
            if self._opened is not None:
                self._opened.held.release()
                self._opened = None

    # reading

    def search(
        self,
        terms: QueryTerms,
        wall: WallTerms,
        filters: HitFilters | None = None,
        limit: int = 50,
    ) -> tuple[WordHit, ...]:
        """The best chunks inside the walls, at most `limit` (1 to 1000), best first.

        Raises ValueError for a limit outside or an unknown date axis, IndexMissing, IndexOutdated,
        IndexDamaged: a failed search never looks like an empty one.
        """
        if not 1 <= limit <= MAX_LIMIT:
            raise ValueError(f"limit must lie between 1 and {MAX_LIMIT}")
        query = walled_query(terms, wall, filters or HitFilters())
        searcher = self._searcher()
        if query is None:
            return ()
        return _guarded(lambda: _hits(searcher, query, limit))

    def count(self) -> int:
        """Chunks in the index, over all tenants: for checks, never for a reader."""
        return self._searcher().num_docs

    def identities(self, chunk_ids: Iterable[int]) -> dict[int, int]:
        """Digest by chunk id of those chunks that are in the index: for the drift check.

        Raises as `search`.
        """
        wanted = list(dict.fromkeys(chunk_ids))
        searcher = self._searcher()
        if not wanted:
            return {}
        query = any_of("chunk_id", wanted)

        def read() -> dict[int, int]:
            found = searcher.search(query, limit=max(1, 2 * len(wanted)), count=False)
            addresses = [address for _, address in found.hits]
            ids = searcher.fast_field_values("chunk_id", addresses)
            digests = searcher.fast_field_values("row_digest", addresses)
            return {int(a): int(b) for a, b in zip(ids, digests, strict=True)}  # type: ignore[arg-type]

        return _guarded(read)

    def verify(self) -> IndexState:
        """Check every file of the index in force against the checksum in its footer.

        A flipped byte is served silently by the engine, so it is looked for here. Raises as
        `open`.
        """
        searcher = self._searcher()
        path = self._held_path()
        names = segment_files(path)
        damaged = tuple(name for name in names if not is_intact(path / name))
        return IndexState(path.name, searcher.num_docs, len(names), damaged)

    def _held_path(self) -> Path:
        with self._lock:
            if self._opened is None:
                raise IndexMissing(self.generations.root.name)
            return self._opened.held.path

    def _searcher(self) -> tantivy.Searcher:
        with self._lock:
            opened = self._opened
            if opened is None or opened.held.path != self.generations.current():
                opened = self._reopen()
            commit = _commit_of(opened.held.path)
            if commit != opened.commit:
                _guarded(opened.index.reload)
                opened.searcher, opened.commit = opened.index.searcher(), commit
            return opened.searcher

    def _reopen(self) -> _Open:
        try:
            held = self.generations.hold()
        except NoGeneration as error:
            raise IndexMissing(str(error)) from None
        try:
            commit = _commit_of(held.path)
            index = _open_engine(held.path)
            _guarded(index.reload)
            fresh = _Open(held, index, commit, index.searcher())
        except BaseException:
            held.release()
            raise
        if self._opened is not None:
            self._opened.held.release()
        self._opened = fresh
        return fresh

    # writing

    @contextmanager
    def writer(self, wait_seconds: float = 0.0) -> Iterator[WordWriter]:
        """Be the single writer of the index in force, released however the body ends (fault 133).

        Raises WriterBusy, IndexMissing, IndexOutdated, IndexDamaged.
        """
        with self.generations.writing(wait_seconds):
            path = self.generations.current()
            if path is None:
                raise IndexMissing(self.generations.root.name)
            engine = _engine_writer(_open_engine(path))
            try:
                # What a killed writer had written and not committed lies in the way of the same
                # names; the engine writes no file twice.
                _guarded(engine.garbage_collect_files)
                yield WordWriter(engine)
            finally:
                engine.wait_merging_threads()

    def build_beside(
        self, rows: Iterable[WordRow], expected: int | None = None, wait_seconds: float = 0.0
    ) -> BuildReport:
        """Build a whole new index from `rows`, then put it in force with one rename.

        Rows are read one by one; one without walls is left out and reported, it does not stop the
        build (fault 137). The writer lock is held from before the first row to the switch, so no
        batch is lost between them: read `rows` lazily. Raises WriterBusy, BuildIncomplete when
        another number of rows than `expected` was read, and whatever `rows` raises; then the
        former index stays in force.
        """
        with self.generations.writing(wait_seconds):
            report = _build(self.generations, rows, expected)
            self._searcher()
            self.generations.sweep()
            return report


_NAMED_REFUSALS = 100


def _build(
    generations: Generations, rows: Iterable[WordRow], expected: int | None = None
) -> BuildReport:
    path = generations.prepare()
    try:
        read, refusals = _fill(_new_engine(path), rows)
        if expected is not None and read != expected:
            raise BuildIncomplete(f"{read} rows read, {expected} expected")
        indexed = _count_in(path)
        if indexed != read - len(refusals):
            raise BuildIncomplete(f"{indexed} chunks indexed, {read - len(refusals)} expected")
        final = generations.switch(path)
    except BaseException:
        generations.discard(path)
        raise
    return BuildReport(read, indexed, len(refusals), tuple(refusals[:_NAMED_REFUSALS]), final.name)


def _fill(index: tantivy.Index, rows: Iterable[WordRow]) -> tuple[int, list[Refusal]]:
    read, refusals = 0, list[Refusal]()
    writer = _engine_writer(index)
    try:
        for row in rows:
            read += 1
            reason = refusal(row)
            if reason is None:
                writer.add_document(document(row))
            else:
                refusals.append(Refusal(row.chunk_id, reason))
        writer.commit()
    finally:
        writer.wait_merging_threads()
    return read, refusals


def _count_in(path: Path) -> int:
    index = _open_engine(path)
    _guarded(index.reload)
    return index.searcher().num_docs


def _hits(searcher: tantivy.Searcher, query: tantivy.Query, limit: int) -> tuple[WordHit, ...]:
    found = searcher.search(query, limit=limit, count=False).hits
    addresses = [address for _, address in found]
    chunks = searcher.fast_field_values("chunk_id", addresses)
    documents = searcher.fast_field_values("document_id", addresses)
    hits = [
        WordHit(int(chunk), int(document), float(score))  # type: ignore[arg-type]
        for (score, _), chunk, document in zip(found, chunks, documents, strict=True)
    ]
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id)))
