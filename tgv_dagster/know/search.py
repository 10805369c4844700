"""One question, both ways, one answer: the only search there is for console, HTTP and assistant.

Here the two ways meet: the question is understood once, both ways always run (RET-10), every hit
is read again from the chunk table behind the walls of the reader, and rule A″ (`balance`) makes
the cards. A word hit that is stale can therefore never show what its reader may not see. What does
not belong here: how a way finds (`vectors`, `words`), how hits become cards (`balance`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import psycopg

from tgv_dagster.know.balance import (
    NOT_RUN_PINNED,
    STANDING_OUT,
    Balanced,
    BalanceSettings,
    Card,
    Doubt,
    Emptiness,
    Hit,
    WayResult,
    WayState,
    balance,
    hit_line,
)
from tgv_dagster.know.embeddings import Embedder, EmbeddingError, ScoreFloor
from tgv_dagster.know.queries import NothingToSearch, QueryTerms, understand
from tgv_dagster.know.snippets import snippet_of
from tgv_dagster.know.spaces import SpaceChanged, active_space, doubt_of, floor_of
from tgv_dagster.know.structured import NOT_RUN as FIELDS_NOT_RUN
from tgv_dagster.know.structured import FieldAnswer, answer_from_fields, field_line
from tgv_dagster.know.vectors import (
    ScanSettings,
    VectorSizes,
    axis_of,
    narrowing,
    search_vectors,
)
from tgv_dagster.know.word_model import WordIndexError
from tgv_dagster.know.wording import hit_filters, wall_terms
from tgv_dagster.know.words import MAX_LIMIT, WordIndex
from tgv_dagster.store import tuning
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.levels import STRICTEST_RANK, Level
from tgv_dagster.store.scope import Period, Scope
from tgv_dagster.store.tuning import Tuning

_FIRST_WORD_HITS = 50
_WORDS_GROWTH = 5


@dataclass(frozen=True, slots=True)
class SearchFilters:
    """What the question asks for inside the scope; None = not asked."""

    entity: str | None = None
    project_code: str | None = None
    document_id: int | None = None
    period: Period | None = None

    def applied_to(self, scope: Scope) -> Scope:
        """The narrowed scope. Raises ScopeError where it would be another one."""
        return scope.narrow(
            entity=self.entity,
            project_code=self.project_code,
            context_doc_id=self.document_id,
            period=self.period,
        )


NO_FILTERS = SearchFilters()


@dataclass(frozen=True, slots=True)
class SearchParts:
    """What searching needs of an installation; `sizes` is shared by all searches of a process."""

    database: Database
    words: WordIndex
    embedder: Embedder
    sizes: VectorSizes

    @classmethod
    def of(cls, database: Database, words: WordIndex, embedder: Embedder) -> SearchParts:
        """The parts, with sizes of their own."""
        return cls(database, words, embedder, VectorSizes(database))


@dataclass(frozen=True, slots=True)
class Passage:
    """The chunk behind a card, as an answering model reads it."""

    chunk_id: int
    document_id: int
    text: str
    page_from: int
    page_to: int


@dataclass(frozen=True, slots=True)
class SearchTrace:
    """How an answer came about: names, counts of what the reader may see, milliseconds; no text.

    vector_method: exact, bits, or empty when the way did not run.
    """

    space_id: str
    floor: float | None
    vector_method: str
    vector_state: WayState
    vector_hits: int
    vector_ms: float
    words_state: WayState
    words_hits: int
    words_ms: float
    total_ms: float
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The cards of one question, the line above them, and how they came about.

    fields: what dates, amounts, numbers and parties answer beside the cards (RET-42, RET-43);
    acting: every filter that acted, the reader's ceiling among them, never a number of what lies
    behind it (RET-29, CONF-07); stopped: words of the question left out as fillers.
    """

    question: str
    cards: tuple[Card, ...]
    passages: tuple[Passage, ...]
    fields: FieldAnswer
    line: str
    emptiness: Emptiness
    acting: tuple[str, ...]
    stopped: tuple[str, ...]
    trace: SearchTrace
    balanced: Balanced = field(repr=False)


def search(
    parts: SearchParts,
    scope: Scope,
    question: str,
    *,
    filters: SearchFilters = NO_FILTERS,
    limit: int | None = None,
    language: str = "de",
) -> SearchAnswer:
    """Answer a question with what the scope may see.

    `limit` makes the list shorter than the registered total, never longer; `language` is that of
    the hit line. Any text is answered in bounded time. A way that fails is named as failed.
    Raises ScopeError for filters outside the scope, `vectors.UnknownAxis`, and the errors of a
    database that is gone.
    """
    started = time.perf_counter()
    narrow = filters.applied_to(scope)
    if narrow.period is not None:
        axis_of(narrow.period)
    values = tuning.load(parts.database)
    settings = _settings(values, limit)
    clean = question.replace("\x00", " ")
    terms = understand(clean)
    nothing = terms if isinstance(terms, NothingToSearch) else None
    acting = _acting(narrow)
    with parts.database.reading(narrow) as connection:
        ways = _Ways(parts, narrow, connection, values)
        vector, words = _both(ways, terms, settings)
        balanced = balance(
            vector,
            words,
            settings=settings,
            floor=ways.floor,
            question=clean,
            pinned_document=narrow.context_doc_id,
            acting=acting,
            nothing=nothing,
        )
        balanced, passages = ways.filled(balanced, terms)
        fields = FIELDS_NOT_RUN if isinstance(terms, NothingToSearch) else ways.fields(terms)
    return SearchAnswer(
        question=question,
        cards=balanced.cards,
        passages=passages,
        fields=fields,
        line=" ".join(filter(None, (hit_line(balanced, language), field_line(fields, language)))),
        emptiness=balanced.emptiness,
        acting=acting,
        stopped=() if isinstance(terms, NothingToSearch) else terms.stopped,
        trace=SearchTrace(
            space_id=ways.space_id,
            floor=None if ways.floor is None else ways.floor.value,
            vector_method=ways.method,
            vector_state=vector.state,
            vector_hits=len(vector.hits),
            vector_ms=ways.vector_ms,
            words_state=words.state,
            words_hits=len(words.hits),
            words_ms=ways.words_ms,
            total_ms=_ms_since(started),
            reasons=tuple(way.reason for way in (vector, words, fields) if way.reason),
        ),
        balanced=balanced,
    )


def _both(
    ways: _Ways, terms: QueryTerms | NothingToSearch, settings: BalanceSettings
) -> tuple[WayResult, WayResult]:
    """Both ways on every question (RET-10) but those that hold nothing or pin a document."""
    if isinstance(terms, NothingToSearch):
        not_run = WayResult((), WayState.NOT_RUN, str(terms.reason))
        return not_run, not_run
    vector = ways.vector(terms, settings.vector_top)
    if ways.scope.context_doc_id is not None:
        return vector, NOT_RUN_PINNED
    words = ways.words(terms, settings.total + settings.vector_top)
    return replace(vector, doubted=ways.doubted(vector, words)), words


def _settings(values: Tuning, limit: int | None) -> BalanceSettings:
    total = values.integer("GESAMT_MAX")
    if limit is not None:
        total = max(1, min(total, limit))
    return BalanceSettings(
        vector_top=min(values.integer("P_TOP_K"), total),
        total=total,
        words_first=values.switch("WORDS_FIRST"),
    )


def _acting(scope: Scope) -> tuple[str, ...]:
    """The filters of a scope by their fixed names."""
    named = []
    if scope.entity is not None:
        named.append(f"entity {scope.entity}")
    if scope.project_code is not None:
        named.append(f"project_code {scope.project_code}")
    if scope.context_doc_id is not None:
        named.append(f"document #{scope.context_doc_id}")
    if scope.period is not None:
        first, last = scope.period.first or "…", scope.period.last or "…"
        named.append(f"{scope.period.axis} {first} – {last}")
    if scope.confidentiality_max < STRICTEST_RANK:
        ceiling = tuple(Level)[scope.confidentiality_max]
        named.append(f"confidentiality_level ≤ {ceiling}")
    return tuple(named)


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000


# --- the two ways ------------------------------------------------------------------------------


@dataclass(slots=True)
class _Ways:
    """Both ways of one question on one reading connection."""

    parts: SearchParts
    scope: Scope
    connection: Connection
    values: Tuning
    space_id: str = ""
    method: str = ""
    floor: ScoreFloor | None = None
    vector_ms: float = 0.0
    words_ms: float = 0.0
    best_windows: dict[int, int] = field(default_factory=dict)
    doubt: Doubt | None = None
    scores: tuple[float, ...] = ()

    def vector(self, terms: QueryTerms, top: int) -> WayResult:
        """The nearest chunks; FAILED with a reason when question or database give no answer."""
        started = time.perf_counter()
        try:
            with self.connection.transaction():
                hits = self._nearest(terms, top)
        except EmbeddingError as error:
            return WayResult((), WayState.FAILED, f"vector way: {type(error).__name__}")
        except psycopg.errors.QueryCanceled:
            return WayResult((), WayState.FAILED, "vector way: time limit")
        finally:
            self.vector_ms = _ms_since(started)
        return WayResult(hits, _state(terms))

    def _nearest(self, terms: QueryTerms, top: int) -> tuple[Hit, ...]:
        embedder = self.parts.embedder
        space = active_space(self.connection)
        self.space_id = space.space_id
        if embedder.space.space_id != space.space_id:
            raise SpaceChanged(f"{space.space_id} is active")
        self.floor = floor_of(self.values, space)
        self.doubt = doubt_of(self.values, space)
        vector = embedder.embed_query(terms.for_vector, None)
        found = search_vectors(
            self.connection,
            self.parts.sizes,
            space,
            vector,
            self.scope,
            ScanSettings(
                self.values.integer("EXACT_SCAN_ROWS"), self.values.integer("RERANK_ROWS")
            ),
            limit=top if self.doubt is None else max(top, STANDING_OUT.stop),
        )
        self.method = str(found.method)
        self.scores = tuple(hit.score for hit in found.hits)
        self.best_windows = {hit.chunk_id: hit.window_no for hit in found.hits[:top]}
        return tuple(Hit(hit.document_id, hit.chunk_id, hit.score) for hit in found.hits[:top])

    def doubted(self, vector: WayResult, words: WayResult) -> bool:
        """Whether nothing stands out; a way that did not run to its end leaves no doubt."""
        ended = {vector.state, words.state} == {WayState.COMPLETE}
        return (
            ended
            and self.doubt is not None
            and self.doubt.holds(self.scores, vector.hits, words.hits)
        )

    def words(self, terms: QueryTerms, documents: int) -> WayResult:
        """The best chunks by their words, of up to `documents` documents."""
        started = time.perf_counter()
        try:
            with self.connection.transaction():
                hits = self._by_words(terms, documents)
        except WordIndexError as error:
            return WayResult((), WayState.FAILED, f"word way: {type(error).__name__}")
        finally:
            self.words_ms = _ms_since(started)
        return WayResult(hits, _state(terms))

    def _by_words(self, terms: QueryTerms, documents: int) -> tuple[Hit, ...]:
        row = self.connection.execute("SELECT now()").fetchone()
        assert row is not None
        walls, asked = wall_terms(self.scope, row[0]), hit_filters(self.scope)
        limit = _FIRST_WORD_HITS
        while True:
            found = self.parts.words.search(terms, walls, asked, limit)
            seen = self._visible([hit.chunk_id for hit in found])
            hits = tuple(
                Hit(seen[hit.chunk_id], hit.chunk_id, hit.score)
                for hit in found
                if hit.chunk_id in seen
            )
            different = len({hit.document_id for hit in hits})
            if different >= documents or len(found) < limit or limit == MAX_LIMIT:
                return hits
            # One document can fill the first hits with its many chunks.
            limit = min(MAX_LIMIT, limit * _WORDS_GROWTH)

    def fields(self, terms: QueryTerms) -> FieldAnswer:
        """What the fields of documents answer; FAILED with a reason after the time limit."""
        try:
            with self.connection.transaction():
                return answer_from_fields(self.parts.database, self.connection, self.scope, terms)
        except psycopg.errors.QueryCanceled:
            return FieldAnswer(state=WayState.FAILED, reason="fields: time limit")

    def _visible(self, chunk_ids: Sequence[int]) -> dict[int, int]:
        """Document by chunk, of those chunks that stand behind the walls and filters now."""
        narrow = narrowing(self.connection, self.scope)
        return dict(
            self.connection.execute(
                "SELECT id, document_id FROM rag_chunks WHERE id = ANY (%(ids)s) AND active"
                f"{narrow.sql}".encode(),
                narrow.parameters | {"ids": list(chunk_ids)},
            ).fetchall()
        )

    def filled(
        self, balanced: Balanced, terms: QueryTerms | NothingToSearch
    ) -> tuple[Balanced, tuple[Passage, ...]]:
        """The cards with title, snippet and page, and the chunks behind them.

        A chunk that went away since it was found takes its card with it.
        """
        chunks = self._read([card.chunk_id for card in balanced.cards])
        asked = None if isinstance(terms, NothingToSearch) else terms
        cards = tuple(
            chunks[card.chunk_id].on(card, self.best_windows.get(card.chunk_id), asked)
            for card in balanced.cards
            if card.chunk_id in chunks
        )
        passages = {card.chunk_id: chunks[card.chunk_id].passage for card in cards}
        return replace(balanced, cards=cards), tuple(passages.values())

    def _read(self, chunk_ids: Sequence[int]) -> dict[int, _Chunk]:
        if not chunk_ids:
            return {}
        rows = self.connection.execute(
            """
            SELECT c.id, c.document_id, c.content, c.span_start, c.windows, c.page_from, c.page_to,
                coalesce(nullif(d.title, ''), d.file_name), d.rights_verbatim_ok
            FROM rag_chunks c JOIN documents d ON d.id = c.document_id
            WHERE c.id = ANY (%s) AND c.active
            """,
            (list(chunk_ids),),
        ).fetchall()
        found = {}
        for chunk_id, document_id, content, start, spans, page_from, page_to, title, ok in rows:
            passage = Passage(chunk_id, document_id, content, page_from, page_to)
            windows = tuple(content[s.lower - start : s.upper - start] for s in spans)
            found[chunk_id] = _Chunk(passage, title, windows, ok)
        return found


def _state(terms: QueryTerms) -> WayState:
    return WayState.TRUNCATED if terms.truncated else WayState.COMPLETE


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A chunk read behind the walls, with the texts of its windows."""

    passage: Passage
    title: str
    windows: tuple[str, ...]
    verbatim_ok: bool | None

    def on(self, card: Card, nearest: int | None, terms: QueryTerms | None) -> Card:
        """The card with this chunk's title and page, and the passage that matches."""
        shown = snippet_of(self.windows or (self.passage.text,), nearest, terms)
        return replace(
            card,
            title=self.title,
            snippet=shown.text,
            marks=shown.marks,
            page=self.passage.page_from,
            verbatim_ok=self.verbatim_ok,
        )
