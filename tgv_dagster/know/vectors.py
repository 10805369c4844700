"""The vector way: the nearest windows inside the walls of a reader, best window per chunk.

A tenant of ordinary size is compared exactly. A larger one is first passed over by one bit per
dimension and the best of that pass are compared exactly; both find what an approximate graph
silently loses among near-duplicates (architecture, retrieval; `docs/deviations.md`). Row level
security decides who sees a row, and the tenant is passed as a parameter besides. What does not
belong here: embedding the question, cards, and the word way.
"""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from zoneinfo import ZoneInfo

from tgv_dagster.know import halfvec
from tgv_dagster.know.embeddings import EmbeddingSpace, Vectors
from tgv_dagster.know.word_model import IndexedAxis
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.scope import Period, Scope

STATEMENT_MS = 10_000
"""Longest time one search may take in the database, in milliseconds."""

_WINDOWS_PER_CHUNK = 16
_GROWTH = 8
_SIZE_SECONDS = 60.0


class Method(StrEnum):
    """How windows were compared."""

    EXACT = "exact"
    BITS = "bits"


class UnknownAxis(ValueError):
    """A period names a date axis that no chunk carries."""


@dataclass(frozen=True, slots=True)
class VectorHit:
    """One chunk by its best window; score is the cosine, comparable within one space."""

    chunk_id: int
    document_id: int
    window_no: int
    score: float


@dataclass(frozen=True, slots=True)
class VectorResult:
    """The best chunks, best first, and how they were found."""

    hits: tuple[VectorHit, ...]
    method: Method


@dataclass(frozen=True, slots=True)
class ScanSettings:
    """`exact_rows`: windows of a tenant up to which all are compared exactly; `rerank_rows`:
    windows compared exactly after the pass over bits."""

    exact_rows: int
    rerank_rows: int


# --- what the reader asked for inside the walls ------------------------------------------------


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Conditions on rows with the wall columns of a chunk, with their parameters."""

    conditions: tuple[str, ...]
    parameters: dict[str, object]

    @property
    def sql(self) -> str:
        """The conditions as the continuation of a WHERE clause."""
        return "".join(f" AND {condition}" for condition in self.conditions)


def narrowing(connection: Connection, scope: Scope) -> Narrowing:
    """Tenant, pinned document and period of a scope as SQL; entity and project stand in the walls.

    Days of the receipt axis are days in each tenant's own zone. Raises UnknownAxis.
    """
    conditions: list[str] = []
    parameters: dict[str, object] = {}
    if scope.mandant_id is not None:
        conditions.append("mandant_id = %(mandant_id)s")
        parameters["mandant_id"] = scope.mandant_id
    if scope.context_doc_id is not None:
        conditions.append("document_id = %(document_id)s")
        parameters["document_id"] = scope.context_doc_id
    if scope.period is not None:
        condition, more = _period(connection, scope.period)
        conditions.append(condition)
        parameters |= more
    return Narrowing(tuple(conditions), parameters)


def axis_of(period: Period) -> IndexedAxis:
    """The axis of a period. Raises UnknownAxis."""
    try:
        return IndexedAxis(period.axis)
    except ValueError:
        raise UnknownAxis(f"{period.axis[:40]!r} is no date axis of a chunk") from None


def _period(connection: Connection, period: Period) -> tuple[str, dict[str, object]]:
    if axis_of(period) is IndexedAxis.DATE_RECEIVED:
        return _received(connection, period)
    return (
        "(invoice_date >= coalesce(%(first)s::date, '-infinity')"
        " AND invoice_date <= coalesce(%(last)s::date, 'infinity'))",
        {"first": period.first, "last": period.last},
    )


def _received(connection: Connection, period: Period) -> tuple[str, dict[str, object]]:
    zones: dict[str, list[int]] = {}
    for mandant_id, zone in connection.execute("SELECT id, timezone FROM mandanten ORDER BY id"):
        zones.setdefault(zone, []).append(mandant_id)
    ways, parameters = [], dict[str, object]()
    for number, (zone, mandanten) in enumerate(zones.items()):
        low, high = days_in_zone(period, zone)
        parameters |= {f"low{number}": low, f"high{number}": high, f"ids{number}": mandanten}
        ways.append(
            f"(mandant_id = ANY (%(ids{number})s)"
            f" AND date_received >= coalesce(%(low{number})s::timestamptz, '-infinity')"
            f" AND date_received < coalesce(%(high{number})s::timestamptz, 'infinity'))"
        )
    return f"({' OR '.join(ways) or 'false'})", parameters


def days_in_zone(period: Period, zone: str) -> tuple[dt.datetime | None, dt.datetime | None]:
    """First moment of the first day and first moment after the last one; None = open."""

    def midnight(day: dt.date) -> dt.datetime:
        return dt.datetime.combine(day, dt.time(), ZoneInfo(zone)).astimezone(dt.UTC)

    last = period.last
    after = None if last is None or last == dt.date.max else last + dt.timedelta(days=1)
    return (
        None if period.first is None else midnight(period.first),
        None if after is None else midnight(after),
    )


# --- searching ---------------------------------------------------------------------------------

_EXACT = """
    SELECT chunk_id, document_id, window_no, (emb <=> %(q)s::halfvec) + 0 AS distance
    FROM chunk_vectors WHERE space_id = %(space)s AND active{narrowing}
    ORDER BY distance, chunk_id, window_no LIMIT %(rows)s
"""
"""`+ 0` keeps the scan exact even where somebody adds an approximate index."""

_BITS = """
    WITH near AS MATERIALIZED (
        SELECT chunk_id, window_no FROM chunk_vectors
        WHERE space_id = %(space)s AND active{narrowing}
        ORDER BY bits::bit({dimension}) <~> binary_quantize(%(q)s::halfvec)::bit({dimension})
        LIMIT %(rows)s)
    SELECT v.chunk_id, v.document_id, v.window_no, v.emb <=> %(q)s::halfvec AS distance
    FROM near JOIN chunk_vectors v
      ON v.space_id = %(space)s AND v.chunk_id = near.chunk_id AND v.window_no = near.window_no
    ORDER BY distance, v.chunk_id, v.window_no
"""


def nearest(
    connection: Connection,
    space: EmbeddingSpace,
    vector: Vectors,
    narrow: Narrowing,
    *,
    limit: int,
    method: Method,
    rerank_rows: int,
) -> tuple[VectorHit, ...]:
    """The `limit` chunks nearest to a unit vector of the space, on a reader's connection.

    Fewer come back only when there are not more behind the reader's walls (fault 139).
    """
    if limit < 1:
        raise ValueError("limit must be at least 1")
    rows = limit * _WINDOWS_PER_CHUNK if method is Method.EXACT else rerank_rows
    template = _EXACT if method is Method.EXACT else _BITS
    statement = template.format(narrowing=narrow.sql, dimension=space.dimension).encode()
    parameters = narrow.parameters | {"q": halfvec.literal(vector), "space": space.space_id}
    while True:
        found = connection.execute(statement, parameters | {"rows": rows}).fetchall()
        hits = _best_windows(found)
        if len(hits) >= limit or len(found) < rows:
            return hits[:limit]
        rows *= _GROWTH


def _best_windows(rows: Iterable[Sequence[int | float]]) -> tuple[VectorHit, ...]:
    """One hit per chunk: its best window, which comes first."""
    best: dict[int, VectorHit] = {}
    for chunk_id, document_id, window_no, distance in rows:
        if chunk_id not in best:
            best[int(chunk_id)] = VectorHit(
                int(chunk_id), int(document_id), int(window_no), 1.0 - float(distance)
            )
    return tuple(best.values())


@dataclass(slots=True)
class VectorSizes:
    """How many windows a tenant has, to choose the method by; safe to share between threads.

    Read without a reader's walls, kept for a minute, and never shown to anybody.
    """

    database: Database
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _known: dict[tuple[str, int | None, int], tuple[float, bool]] = field(default_factory=dict)

    def method(self, space: EmbeddingSpace, scope: Scope, settings: ScanSettings) -> Method:
        """Exact for a pinned document and up to `exact_rows` windows of the tenant."""
        if scope.context_doc_id is not None:
            return Method.EXACT
        key = (space.space_id, scope.mandant_id, settings.exact_rows)
        with self._lock:
            known = self._known.get(key)
        if known is None or time.monotonic() - known[0] > _SIZE_SECONDS:
            known = (time.monotonic(), self._is_large(*key))
            with self._lock:
                self._known[key] = known
        return Method.BITS if known[1] else Method.EXACT

    def _is_large(self, space_id: str, mandant_id: int | None, most: int) -> bool:
        with self.database.worker() as connection:
            row = connection.execute(
                """
                SELECT count(*) > %(most)s FROM (
                    SELECT 1 FROM chunk_vectors WHERE space_id = %(space)s
                      AND (%(mandant)s::integer IS NULL OR mandant_id = %(mandant)s::integer)
                    LIMIT %(most)s + 1) windows
                """,
                {"space": space_id, "mandant": mandant_id, "most": most},
            ).fetchone()
        assert row is not None
        return bool(row[0])


def search_vectors(
    connection: Connection,
    sizes: VectorSizes,
    space: EmbeddingSpace,
    vector: Vectors,
    scope: Scope,
    settings: ScanSettings,
    *,
    limit: int,
) -> VectorResult:
    """The vector way of one question, on the connection of `database.reading(scope)`.

    Raises UnknownAxis; psycopg.errors.QueryCanceled after STATEMENT_MS.
    """
    method = sizes.method(space, scope, settings)
    connection.execute(
        "SELECT set_config('statement_timeout', %s, true), set_config('jit', 'off', true)",
        (str(STATEMENT_MS),),
    )
    hits = nearest(
        connection,
        space,
        vector,
        narrowing(connection, scope),
        limit=limit,
        method=method,
        rerank_rows=settings.rerank_rows,
    )
    return VectorResult(hits, method)
