"""How fast, how lean and how complete retrieval is: `python -m bench.retrieval [options]`.

A stock of near-duplicates (`know.evaluation.template_corpus`) lies in four tenants of 0.1, 1, 10
and 89 per cent; the questions belong to passages that were inserted before the others. Each figure
stands beside the bare form of the same work in the same run: only ratios mean anything on a shared
machine. Vectors of the stock are made once and kept in the folder of the benchmark.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import psycopg
import tantivy
from psycopg import sql

from tgv_dagster.know import halfvec
from tgv_dagster.know.embedding import embed_chunks
from tgv_dagster.know.embeddings import USE_DENOISED, Vectors
from tgv_dagster.know.evaluation.template_corpus import Passage, passages
from tgv_dagster.know.queries import QueryTerms, understand
from tgv_dagster.know.search import SearchParts, search
from tgv_dagster.know.spaces import ensure_spaces, partition_name
from tgv_dagster.know.usem import UseEmbedder
from tgv_dagster.know.vectors import (
    Method,
    Narrowing,
    ScanSettings,
    VectorHit,
    VectorSizes,
    nearest,
    search_vectors,
)
from tgv_dagster.know.word_schema import document
from tgv_dagster.know.wording import open_words, rebuild_words, rows_of_chunks, wall_terms
from tgv_dagster.know.words import WordIndex
from tgv_dagster.store import embedded, ledger, migrate, organisation, tuning
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.scope import Scope
from tgv_dagster.store.stages import Stage

SHARES = (("s01", 0.001), ("s1", 0.01), ("s10", 0.1), ("s89", 0.889))
CHUNKS_PER_DOCUMENT = 10
WINDOWS_EMBEDDED = 3_000
BUILDS = 3
TOP = 6
TOLERANCE = 0.001
SCAN = ScanSettings(tuning.EXACT_SCAN_ROWS, tuning.RERANK_ROWS)


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the report; `bound` is what the figure may not exceed or fall below."""

    what: str
    measured: str
    bare: str
    ratio: str
    bound: str
    holds: bool

    def row(self) -> str:
        mark = "yes" if self.holds else "**no**"
        return (
            f"| {self.what} | {self.measured} | {self.bare} | {self.ratio} | {self.bound} |"
            f" {mark} |"
        )


@dataclass(slots=True)
class Stock:
    """The filled database with what is needed to ask it."""

    url: str
    database: Database
    passages: list[Passage]
    vectors: Vectors
    tenant_of: np.ndarray
    folder: Path


def main() -> None:
    """Measure and print; exits with 1 when a bound is broken."""
    parser = argparse.ArgumentParser(description="Benchmarks of retrieval")
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--folder", type=Path, default=Path("var/bench/retrieval"))
    parser.add_argument("--hnsw", action="store_true", help="also build and ask an HNSW graph")
    parser.add_argument("--rebuild-at", nargs=2, metavar=("URL", "INDEX"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rebuild_at:
        rebuild_alone(*options.rebuild_at)
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    figures = measure(options)
    print("| what | measured | bare | ratio | bound | holds |")
    print("|---|---|---|---|---|---|")
    for figure in figures:
        print(figure.row())
    sys.exit(0 if all(figure.holds for figure in figures) else 1)


def measure(options: argparse.Namespace) -> list[Figure]:
    """All figures of one run, on a server of the benchmark's own."""
    stock_passages = passages(options.chunks)
    vectors = vectors_of(stock_passages, options.folder)
    server = (options.folder / "server").absolute()
    url = embedded.start(server, shared_buffers_mb=1024)
    try:
        figures, stock = load(url, stock_passages, vectors, options.folder)
        figures += embedding_figures(stock)
        figures += word_build_figures(stock)
        figures += search_figures(stock, options.questions, hnsw=options.hnsw)
        stock.database.close()
    finally:
        embedded.stop(server)
    return figures


# --- the stock -----------------------------------------------------------------------------------


def vectors_of(stock: Sequence[Passage], folder: Path) -> Vectors:
    """The default model's vectors of the stock, from the folder when they were made before."""
    digest = hashlib.sha256("\n".join(p.text for p in stock).encode()).hexdigest()[:16]
    kept = folder / f"use-{len(stock)}-{digest}.npy"
    if kept.exists():
        return np.load(kept).astype(np.float32)
    model, parts = UseEmbedder(), []
    for start in range(0, len(stock), 256):
        texts = [passage.text for passage in stock[start : start + 256]]
        parts.append(model.embed_passages(texts, [None] * len(texts)).astype(np.float16))
        print(f"embedding {start} of {len(stock)}", end="\r", file=sys.stderr)
    made = np.concatenate(parts)
    np.save(kept, made)
    return made.astype(np.float32)


def fresh_database(url: str) -> str:
    """URL of an empty database with the present schema."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS bench WITH (FORCE)")
        connection.execute("CREATE DATABASE bench")
    bench = url.replace("/postgres?", "/bench?")
    migrate.upgrade(bench)
    return bench


def load(
    url: str, stock: list[Passage], vectors: Vectors, folder: Path
) -> tuple[list[Figure], Stock]:
    """Rows of documents and chunks in bulk, vectors by the way the embed stage takes."""
    bench = fresh_database(url)
    database = Database(bench, pool_size=4)
    ensure_spaces(database)
    tenant_of = tenants(len(stock))
    with database.worker() as connection:
        tuning.seed(connection)
        organisation.import_organisation(
            connection, organisation.parse(organisation_text()), author="bench"
        )
    with database.owner() as connection:
        insert_documents(connection, tenant_of)
        insert_chunks(connection, stock)
    figure = load_figure(database, vectors)
    with database.owner(autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
    return [figure], Stock(bench, database, stock, vectors, tenant_of, folder)


def organisation_text() -> str:
    """One tenant per share, two entities and one manager in each."""
    lines = ["mandanten:", *(f"  - {{slug: {name}, name: {name}}}" for name, _ in SHARES)]
    lines += ["entities:"]
    lines += [
        f"  - {{slug: {name}-{part}, mandant: {name}, kind: company, legal_name: {name} {part},"
        f" bucket: {name}, default_level: intern}}"
        for name, _ in SHARES
        for part in ("a", "b")
    ]
    lines += ["users:"]
    lines += [
        f"  - {{login: {name}, name: {name}, roles: [{{mandant: {name}, role: mandant_admin}}]}}"
        for name, _ in SHARES
    ]
    return "\n".join(lines)


def tenants(count: int) -> np.ndarray:
    """Number of the tenant of each chunk; whole documents, mixed over the stock."""
    documents = -(-count // CHUNKS_PER_DOCUMENT)
    owned = np.full(documents, len(SHARES), dtype=int)
    at = 0
    order = np.random.default_rng(5).permutation(documents)
    for number, (_, share) in enumerate(SHARES[:-1], 1):
        wanted = max(1, round(documents * share))
        owned[order[at : at + wanted]] = number
        at += wanted
    return np.repeat(owned, CHUNKS_PER_DOCUMENT)[:count]


def insert_documents(connection: Connection, tenant_of: np.ndarray) -> None:
    """A document for every ten chunks, its entity in turn."""
    firsts = tenant_of[::CHUNKS_PER_DOCUMENT]
    names = [name for name, _ in SHARES]
    entities = [f"{names[number - 1]}-{'ab'[at % 2]}" for at, number in enumerate(firsts)]
    ids = list(range(1, len(firsts) + 1))
    shas = [hashlib.sha256(str(number).encode()).hexdigest() for number in ids]
    connection.execute(
        "INSERT INTO raw_items (id, bucket, sha256, size, kind, storage_bucket, raw_key,"
        " verified_at) SELECT i, 'b', s, 1, 'file', 'b', 'k', now()"
        " FROM unnest(%s::bigint[], %s::text[]) AS t (i, s)",
        (ids, shas),
    )
    connection.execute(
        "INSERT INTO document_numbers (id, mandant_id, raw_sha256, part_role, arrival_uid)"
        " SELECT i, e.mandant_id, s, 'file', gen_random_uuid()"
        " FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS t (i, s, slug)"
        " JOIN entities e USING (slug)",
        (ids, shas, entities),
    )
    connection.execute(
        "INSERT INTO documents (id, entity, raw_sha256, raw_item_id, file_class, file_name,"
        " confidentiality_level, date_received) SELECT i, slug, s, i, 'file', 'f' || i, 'intern',"
        " now() FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS t (i, s, slug)",
        (ids, shas, entities),
    )


def insert_chunks(connection: Connection, stock: Sequence[Passage]) -> None:
    """One chunk of one window per passage."""
    connection.execute("CREATE TEMP TABLE stock (id bigint, content text)")
    with connection.cursor() as cursor, cursor.copy("COPY stock FROM STDIN") as copy:
        for number, passage in enumerate(stock):
            copy.write_row((number + 1, passage.text))
    connection.execute(
        """
        INSERT INTO rag_chunks (id, document_id, chunk_no, content, content_sha256, span_start,
            span_end, core_start, core_end, page_from, page_to, windows, mandant_id, entity,
            confidentiality_level, persons, is_test, source_type, source_key, date_received)
        SELECT s.id, d.id, (s.id - 1) %% %(per)s, s.content, '', 0, length(s.content), 0,
            length(s.content), 1, 1, ARRAY[int4range(0, length(s.content))], d.mandant_id,
            d.entity, d.confidentiality_level, d.persons, d.is_test, 'file', 'x', d.date_received
        FROM stock s JOIN documents d ON d.id = (s.id - 1) / %(per)s + 1 ORDER BY s.id
        """,
        {"per": CHUNKS_PER_DOCUMENT},
    )


def load_figure(database: Database, vectors: Vectors) -> Figure:
    """Vectors into the walled, indexed table against a bare COPY into a plain one."""
    ids = np.arange(1, len(vectors) + 1)
    zeros = np.zeros(len(vectors), dtype=int)
    with database.worker() as connection:
        started = time.perf_counter()
        halfvec.stage(connection, ids, zeros, vectors)  # pyright: ignore[reportArgumentType]
        bare = time.perf_counter() - started
        connection.execute(
            f"""
            INSERT INTO chunk_vectors (space_id, chunk_id, window_no, document_id, active,
                mandant_id, entity, project_code, level_rank, visible_from, restricted_until,
                persons, is_test, date_received, invoice_date, emb)
            SELECT %s, c.id, s.window_no, c.document_id, c.active, c.mandant_id, c.entity,
                c.project_code, c.level_rank, c.visible_from, c.restricted_until, c.persons,
                c.is_test, c.date_received, c.invoice_date, s.emb
            FROM {halfvec.STAGED} s JOIN rag_chunks c ON c.id = s.row_id
            """.encode(),
            (USE_DENOISED.space_id,),
        )
        whole = time.perf_counter() - started
    return Figure(
        "vector load, walls and indexes included",
        f"{len(vectors) / whole:,.0f} rows/s",
        f"{len(vectors) / bare:,.0f} rows/s (COPY alone)",
        f"{whole / bare:.1f} ×",
        "",
        True,
    )


# --- embedding -----------------------------------------------------------------------------------


def embedding_figures(stock: Stock) -> list[Figure]:
    """The embed stage against the bare model on the same texts, in turn."""
    count = min(WINDOWS_EMBEDDED, len(stock.passages)) // CHUNKS_PER_DOCUMENT
    model = UseEmbedder()
    model.embed_query("warm", None)
    parts = np.array_split(np.arange(1, count + 1), 6)
    bare, staged = [], []
    for documents in parts:
        texts = [
            stock.passages[(d - 1) * CHUNKS_PER_DOCUMENT + n].text
            for d in documents.tolist()
            for n in range(CHUNKS_PER_DOCUMENT)
        ]
        started = time.perf_counter()
        for start in range(0, len(texts), 256):
            model.embed_passages(texts[start : start + 256], [None] * len(texts[start:][:256]))
        bare.append(time.perf_counter() - started)
        with stock.database.worker() as connection:
            ledger.enqueue(connection, Stage.EMBED, documents.tolist(), again=True)
        started = time.perf_counter()
        embed_chunks(stock.database, model, limit=len(documents))
        staged.append(time.perf_counter() - started)
    windows = count * CHUNKS_PER_DOCUMENT
    # A neighbour on the machine hits one half of a pair; the middle pair tells the ratio.
    ratio = statistics.median(b / s for b, s in zip(bare, staged, strict=True))
    return [
        Figure(
            "embed stage",
            f"{windows / sum(staged):,.0f} windows/s",
            f"{windows / sum(bare):,.0f} windows/s (model alone)",
            f"{ratio:.2f} ×",
            "≥ 0.9",
            ratio >= 0.9,
        )
    ]


# --- word index ----------------------------------------------------------------------------------


def word_build_figures(stock: Stock) -> list[Figure]:
    """A full rebuild, in its own process, against a loop that only adds the same rows.

    In turn, and the best of each: a neighbour on the machine only ever slows one down.
    """
    index = (stock.folder / "index").absolute()
    command = [sys.executable, "-m", "bench.retrieval", "--rebuild-at", stock.url, str(index)]
    bare, whole, memory = [], [], []
    for _ in range(BUILDS):
        bare.append(bare_build(stock))
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        took, peak = map(float, answer.stdout.split())
        whole.append(took)
        memory.append(peak)
    bare_seconds, seconds, megabytes = min(bare), min(whole), max(memory)
    count = len(stock.passages)
    return [
        Figure(
            "word index rebuild",
            f"{count / seconds:,.0f} chunks/s",
            f"{count / bare_seconds:,.0f} chunks/s (bare loop)",
            f"{seconds / bare_seconds:.2f} ×",
            "≤ 1.2",
            seconds / bare_seconds <= 1.2,
        ),
        Figure(
            "peak memory of that rebuild", f"{megabytes:,.0f} MB", "", "", "≤ 2 GB",
            megabytes <= 2048,
        ),
    ]  # fmt: skip


def bare_build(stock: Stock) -> float:
    """Seconds of adding every row to an engine without walls, files beside or a switch."""
    with stock.database.worker() as connection:
        rows = rows_of_chunks(connection, range(1, len(stock.passages) + 1))
    with tempfile.TemporaryDirectory(dir=stock.folder) as folder:
        words = WordIndex.create(Path(folder) / "bare")
        path = words.generations.current()
        assert path is not None
        engine = tantivy.Index.open(str(path))
        engine.register_tokenizer(
            "terms", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
        )
        writer = engine.writer(heap_size=96_000_000, num_threads=1)
        started = time.perf_counter()
        for row in rows:
            writer.add_document(document(row))
        writer.commit()
        writer.wait_merging_threads()
        return time.perf_counter() - started


def rebuild_alone(url: str, index: str) -> None:
    """Rebuild in this process and print seconds and peak memory in MB."""
    database = Database(url, pool_size=2)
    words = WordIndex.at(Path(index))
    started = time.perf_counter()
    rebuild_words(database, words)
    seconds = time.perf_counter() - started
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    words.close()
    database.close()


# --- searching -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Asked:
    """One question with its vector and the chunk that answers it."""

    text: str
    vector: Vectors
    gold: int


def questions(stock: Stock, tenant: int, count: int, model: UseEmbedder) -> list[Asked]:
    """Questions of the tenant's oldest passages: everything like them came after."""
    own = np.flatnonzero(stock.tenant_of == tenant)[:count]
    texts = [stock.passages[at].question for at in own.tolist()]
    made = []
    for at, text in zip(own.tolist(), texts, strict=True):
        terms = understand(text)
        assert isinstance(terms, QueryTerms)
        made.append(Asked(text, model.embed_query(terms.for_vector, None), at + 1))
    return made


def percentile(seconds: Sequence[float], share: float) -> float:
    """Milliseconds at that share."""
    return float(np.quantile(np.array(seconds), share)) * 1000


def timed(call: Callable[[], object]) -> float:
    """Seconds of one call."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def search_figures(stock: Stock, count: int, *, hnsw: bool) -> list[Figure]:
    """The vector way by tenant size, then the whole search."""
    model = UseEmbedder()
    sizes = VectorSizes(stock.database)
    words = open_words(stock.database, (stock.folder / "index").absolute())
    figures: list[Figure] = []
    asked: list[Asked] = []
    scope = None
    for number, (name, _) in enumerate(SHARES, 1):
        scope = Scope.for_principal(stock.database, name, source="bench")
        asked = questions(stock, number, count, model)
        figures += vector_figures(stock, sizes, scope, number, asked, hnsw=hnsw)
    assert scope is not None
    figures += whole_figures(stock, words, asked, scope)
    words.close()
    return figures


def exact_scores(stock: Stock, tenant: int, entity: str | None, vector: Vectors) -> np.ndarray:
    """Best `TOP` cosines of the tenant by arithmetic, as stored (16 bit)."""
    own = stock.tenant_of == tenant
    if entity is not None:
        wanted = 0 if entity.endswith("a") else 1
        own &= (np.arange(len(own)) // CHUNKS_PER_DOCUMENT) % 2 == wanted
    scores = stock.vectors[own] @ vector
    return np.sort(scores)[::-1][:TOP]


def vector_figures(
    stock: Stock,
    sizes: VectorSizes,
    scope: Scope,
    tenant: int,
    asked: Sequence[Asked],
    *,
    hnsw: bool,
) -> list[Figure]:
    """Recall against exact arithmetic, with and without an entity asked for, and the time."""
    rows = int((stock.tenant_of == tenant).sum())
    method = sizes.method(USE_DENOISED, scope, SCAN)
    narrow = scope.narrow(entity=f"{scope.principal}-a")
    recalled, gold, walled, bare = [], [], [], []
    for ask in asked:
        for seen in (scope, narrow):
            best = exact_scores(stock, tenant, seen.entity, ask.vector)
            found = ask_vectors(stock, sizes, seen, ask.vector)
            due = min(TOP, len(best))
            good = sum(hit.score >= best[due - 1] - TOLERANCE for hit in found)
            recalled.append(good / due)
            if seen is scope:
                gold.append(ask.gold in {hit.chunk_id for hit in found})
    with stock.database.owner() as owner:
        for ask in [*asked, *asked]:
            walled.append(timed(lambda: ask_vectors(stock, sizes, scope, ask.vector)))  # noqa: B023
            bare.append(timed(lambda: ask_bare(owner, tenant, method, ask.vector)))  # noqa: B023
    recall = statistics.mean(recalled)
    ratio = percentile(walled, 0.99) / percentile(bare, 0.99)
    figures = [
        Figure(
            f"recall@6 under filter, tenant of {rows:,} windows ({method})",
            f"{recall:.4f}",
            f"gold@6 {statistics.mean(gold):.2f}",
            "",
            "≥ 0.99",
            recall >= 0.99,
        ),
        Figure(
            f"vector way p99, tenant of {rows:,} windows ({method})",
            f"{percentile(walled, 0.99):.1f} ms (p50 {percentile(walled, 0.5):.1f})",
            f"{percentile(bare, 0.99):.1f} ms (p50 {percentile(bare, 0.5):.1f})",
            f"{ratio:.2f} ×",
            "≤ 3",
            ratio <= 3,
        ),
    ]
    if hnsw:
        figures.append(hnsw_figure(stock, tenant, rows, asked))
    return figures


def ask_vectors(
    stock: Stock, sizes: VectorSizes, scope: Scope, vector: Vectors
) -> tuple[VectorHit, ...]:
    """The vector way as the search asks it, behind the walls of a scope."""
    with stock.database.reading(scope) as connection:
        return search_vectors(connection, sizes, USE_DENOISED, vector, scope, SCAN, limit=TOP).hits


def ask_bare(connection: Connection, tenant: int, method: Method, vector: Vectors) -> None:
    """The same statement of the same method as the owner, who passes no wall."""
    nearest(
        connection,
        USE_DENOISED,
        vector,
        Narrowing(("mandant_id = %(mandant_id)s",), {"mandant_id": tenant}),
        limit=TOP,
        method=method,
        rerank_rows=SCAN.rerank_rows,
    )


def hnsw_figure(stock: Stock, tenant: int, rows: int, asked: Sequence[Asked]) -> Figure:
    """What an approximate graph over all tenants loses under the tenant's filter (fault 140)."""
    name = sql.Identifier(partition_name(USE_DENOISED.space_id))
    with stock.database.owner() as connection:
        started = time.perf_counter()
        connection.execute(
            sql.SQL(
                "CREATE INDEX IF NOT EXISTS bench_hnsw ON {}"
                " USING hnsw ((emb::halfvec({})) halfvec_cosine_ops)"
            ).format(name, sql.Literal(USE_DENOISED.dimension))
        )
        built = time.perf_counter() - started
        connection.commit()
        connection.execute("SET enable_seqscan = off")
        connection.execute("SET enable_sort = off")
        recalled = []
        for ask in asked:
            best = exact_scores(stock, tenant, None, ask.vector)
            found = connection.execute(
                f"SELECT 1 - (emb <=> %s::halfvec) FROM chunk_vectors WHERE space_id = %s"
                f" AND active AND mandant_id = %s ORDER BY emb::halfvec({USE_DENOISED.dimension})"
                f" <=> %s::halfvec({USE_DENOISED.dimension}) LIMIT {TOP}".encode(),
                (halfvec.literal(ask.vector), USE_DENOISED.space_id, tenant,
                 halfvec.literal(ask.vector)),
            ).fetchall()  # fmt: skip
            due = min(TOP, len(best))
            recalled.append(sum(row[0] >= best[due - 1] - TOLERANCE for row in found) / due)
    return Figure(
        f"recall@6 of HNSW (ef 40), tenant of {rows:,} windows",
        f"{statistics.mean(recalled):.4f}",
        f"built in {built:,.0f} s" if built > 1 else "",
        "",
        "",
        True,
    )


def whole_figures(
    stock: Stock, words: WordIndex, asked: Sequence[Asked], scope: Scope
) -> list[Figure]:
    """The whole search in the largest tenant against its slower bare way."""
    parts = SearchParts.of(stock.database, words, UseEmbedder())
    tenant = scope.mandant_id
    assert tenant is not None
    method = parts.sizes.method(USE_DENOISED, scope, SCAN)
    whole, vector, word = [], [], []
    with stock.database.worker() as connection:
        now = connection.execute("SELECT now()").fetchone()
    assert now is not None
    walls = wall_terms(scope, now[0])
    with stock.database.owner() as owner:
        for ask in [*asked, *asked]:
            terms = understand(ask.text)
            assert isinstance(terms, QueryTerms)
            whole.append(timed(lambda: search(parts, scope, ask.text)))  # noqa: B023
            vector.append(timed(lambda: ask_bare(owner, tenant, method, ask.vector)))  # noqa: B023
            look_up = partial(words.search, terms, walls)
            word.append(timed(look_up))
    slower = max(percentile(vector, 0.99), percentile(word, 0.99))
    ratio = percentile(whole, 0.99) / slower
    return [
        Figure(
            "whole search p99, largest tenant",
            f"{percentile(whole, 0.99):.1f} ms (p50 {percentile(whole, 0.5):.1f})",
            f"vector {percentile(vector, 0.99):.1f} ms, words {percentile(word, 0.99):.1f} ms",
            f"{ratio:.2f} ×",
            "≤ 5",
            ratio <= 5,
        )
    ]


if __name__ == "__main__":
    main()
