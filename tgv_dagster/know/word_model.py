"""Plain data of the word index: rows in, walls and filters of a search, hits and reports out.

Here belong types and the errors of the word index, no engine. What does not belong here: the
scope that yields `WallTerms`.
"""

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum

from tgv_dagster.store.scope import Period


class WordIndexError(Exception):
    """Base of the errors of the word index."""


class IndexMissing(WordIndexError):
    """Nothing has been built yet."""


class IndexOutdated(WordIndexError):
    """The index on disk was built by other rules; build it beside and switch (fault 136)."""


class IndexDamaged(WordIndexError):
    """The index on disk cannot be opened or searched; build it anew."""


class ChunkWithoutWalls(WordIndexError):
    """A chunk that lacks a wall value or a key was refused (ING-13, ING-14)."""


class BuildIncomplete(WordIndexError):
    """A build did not hold what it should; the index in force is untouched."""


class IndexedAxis(StrEnum):
    """Date axes a chunk carries and a search may filter by (DATE-09: never a bare "date")."""

    DATE_RECEIVED = "date_received"
    INVOICE_DATE = "invoice_date"


@dataclass(frozen=True, slots=True)
class AxisDate:
    """One date of a document on its axis."""

    axis: IndexedAxis
    day: dt.date


@dataclass(frozen=True, slots=True)
class WordRow:
    """One chunk as the word index takes it: its text and every wall column (see `store.walls`).

    visible_from: aware moment of release, None = at once; restricted: withheld from every reader
    (`restricted_until` is set); persons: user ids that see it above their ceiling and before its
    release; circle: the only user ids that see it, beside who manages the tenant, None = no circle.
    """

    chunk_id: int
    document_id: int
    text: str
    mandant_id: int
    entity: str
    level_rank: int
    source_type: str
    project_code: str | None = None
    is_test: bool = False
    visible_from: dt.datetime | None = None
    restricted: bool = False
    persons: tuple[int, ...] = ()
    circle: tuple[int, ...] | None = None
    dates: tuple[AxisDate, ...] = ()


@dataclass(frozen=True, slots=True)
class WallTerms:
    """What a reader may see, as terms every search must fulfil: the predicate of `store.walls`.

    mandant_id: None = all tenants for a super admin and nobody for anyone else; entities: None =
    every entity, empty = nobody; project_code: None = no narrowing; max_level_rank: -1 = nothing
    but what names the person; now: aware moment; is_manager: at least a manager of the tenant.
    """

    mandant_id: int | None
    entities: tuple[str, ...] | None
    project_code: str | None
    max_level_rank: int
    person: int | None
    include_test: bool
    now: dt.datetime
    is_super: bool = False
    is_manager: bool = False


@dataclass(frozen=True, slots=True)
class HitFilters:
    """What the reader asked for inside the walls; None = not asked, an empty tuple = nothing.

    A chunk without a date on the axis of the period lies outside it.
    """

    document_id: int | None = None
    source_types: tuple[str, ...] | None = None
    period: Period | None = None


@dataclass(frozen=True, slots=True)
class WordHit:
    """One chunk found; the score orders hits of one search and means nothing beyond (RET-05)."""

    chunk_id: int
    document_id: int
    score: float


@dataclass(frozen=True, slots=True)
class Applied:
    """What one batch did: chunks added, documents whose former chunks were removed."""

    added: int
    removed_documents: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """A chunk left out of a build and why."""

    chunk_id: int
    reason: str


@dataclass(frozen=True, slots=True)
class BuildReport:
    """A finished build: chunks read and indexed, chunks refused (the first hundred by name)."""

    read: int
    indexed: int
    refused: int
    refusals: tuple[Refusal, ...]
    generation: str


@dataclass(frozen=True, slots=True)
class IndexState:
    """What lies on disk: chunks, files checked, and the names of files that are not as written."""

    generation: str
    chunks: int
    files: int
    damaged: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Every file has the checksum it was written with."""
        return not self.damaged
