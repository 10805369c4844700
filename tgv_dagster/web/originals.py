"""The original bytes of a document, for the reader who may have them: which, and in pieces.

A file that other documents came out of (a mail, an archive) is only for who may read all of them
(architecture §2a). Does not belong here: HTTP headers.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import BinaryIO

from tgv_dagster.store.blobs import BlobDamaged, BlobMissing, BlobStore
from tgv_dagster.store.db import Database
from tgv_dagster.store.levels import Role
from tgv_dagster.store.scope import Scope, ScopeError
from tgv_dagster.web.document_view import DocumentNotFound
from tgv_dagster.web.rasterise import can_draw

PIECE = 1 << 18
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


class OriginalErased(LookupError):
    """The bytes were erased for good."""


class RangeOutside(ValueError):
    """The range lies outside the file; `size` in bytes is what there is."""

    def __init__(self, size: int) -> None:
        super().__init__(f"the file has {size} bytes")
        self.size = size


@dataclass(frozen=True, slots=True)
class Original:
    """Where the bytes of a document are; `size` in bytes."""

    bucket: str
    raw_key: str
    sha256: str
    size: int
    file_name: str
    media_type: str | None


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes `start` to `end`, both included."""

    start: int
    end: int


def original_of(database: Database, scope: Scope, document_id: int) -> Original:
    """The original of a document this reader sees.

    Raises DocumentNotFound, OriginalErased, BlobMissing (the row says so), and ScopeError when
    other documents inside are closed to the reader.
    """
    with database.reading(scope) as connection:
        row = connection.execute(
            """
            SELECT d.storage_bucket, d.raw_key, d.raw_sha256, r.size, d.file_name, d.media_type,
                r.state
            FROM documents d JOIN raw_items r ON r.id = d.raw_item_id WHERE d.id = %s
            """,
            (document_id,),
        ).fetchone()
    if row is None:
        raise DocumentNotFound(f"There is no original of document {document_id}.")
    if row[6] == "erased":
        raise OriginalErased(f"The original of document {document_id} was erased.")
    if row[6] == "missing":
        raise BlobMissing("The original is missing", "Restore it from the backup.")
    _require_all_inside(database, scope, document_id)
    return Original(*row[:6])


def waiting_pictures(
    database: Database, scope: Scope, arrival_ids: Sequence[int]
) -> dict[int, Original]:
    """Those of the arrivals that are pictures and no document yet, by arrival.

    Who may see an arrival without a document says its own wall; a picture holds nothing else.
    """
    with database.reading(scope) as connection:
        seen = connection.execute(
            "SELECT id FROM arrivals WHERE id = ANY (%s) AND document_id IS NULL",
            (list(arrival_ids),),
        ).fetchall()
    if not seen:
        return {}
    with database.worker() as connection:
        rows = connection.execute(
            """
            SELECT a.id, r.storage_bucket, r.raw_key, r.sha256, r.size, a.file_name, r.media_type
            FROM arrivals a JOIN raw_items r ON r.id = a.raw_item_id
            WHERE a.id = ANY (%s) AND r.state = 'stored' AND r.media_type LIKE 'image/%%'
            """,
            ([row[0] for row in seen],),
        ).fetchall()
    return {row[0]: Original(*row[1:]) for row in rows if can_draw(row[6])}


def _require_all_inside(database: Database, scope: Scope, document_id: int) -> None:
    """Everything that came out of the same bytes is open to the reader, or nothing of it is.

    What came out and is no document yet (pending, parked) is open to the tenant's manager.
    """
    with database.worker() as connection:
        inside = connection.execute(_INSIDE, (document_id, document_id)).fetchall()
    documents = {row[0] for row in inside if row[0] is not None}
    undecided = any(row[0] is None for row in inside)
    with database.reading(scope) as connection:
        seen = connection.execute(
            "SELECT count(*) FROM documents WHERE id = ANY (%s)", (sorted(documents),)
        ).fetchone()
    assert seen is not None
    if seen[0] < len(documents) or (undecided and not scope.role.at_least(Role.MANDANT_ADMIN)):
        raise ScopeError("The original of this document is not open to you.")


_INSIDE = """
    WITH RECURSIVE own AS (
        SELECT a.id, a.parent_id, r.sha256 FROM arrivals a JOIN raw_items r ON r.id = a.raw_item_id
        WHERE a.document_id = %s
    ), roots AS (
        SELECT id FROM own
        UNION SELECT p.id FROM own o JOIN arrivals p ON p.id = o.parent_id
              JOIN raw_items r ON r.id = p.raw_item_id AND r.sha256 = o.sha256
    ), inside AS (
        SELECT a.id, a.document_id, a.outcome FROM arrivals a JOIN roots ON a.parent_id = roots.id
        UNION SELECT a.id, a.document_id, a.outcome FROM arrivals a
              JOIN inside ON a.parent_id = inside.id
    )
    SELECT DISTINCT document_id FROM inside
    WHERE document_id IS DISTINCT FROM %s
      AND (document_id IS NOT NULL OR outcome IN ('pending', 'parked', 'blocked'))
"""
"""Documents that came out of the bytes of this one; NULL for what is not decided yet.

A mail's text stands as a document of its own with the mail's bytes: its parent is looked at too.
"""


def asked_range(header: str | None, size: int) -> ByteRange | None:
    """The one range a header asks for; None for the whole file (also when it asks for several).

    Raises RangeOutside. RFC 9110, 14.2: a header of another form is ignored.
    """
    match = _RANGE.fullmatch(header.strip()) if header else None
    if match is None or not (match[1] or match[2]):
        return None
    if not match[1]:
        wanted = int(match[2])
        if wanted == 0 or size == 0:
            raise RangeOutside(size)
        return ByteRange(max(0, size - wanted), size - 1)
    start = int(match[1])
    end = min(int(match[2]), size - 1) if match[2] else size - 1
    if match[2] and int(match[2]) < start:
        return None
    if start >= size:
        raise RangeOutside(size)
    return ByteRange(start, end)


def open_original(blobs: BlobStore, original: Original) -> BinaryIO:
    """The bytes, opened before the answer begins. Raises BlobMissing and other StoreErrors."""
    return blobs.open(original.bucket, original.raw_key)


def whole(handle: BinaryIO, original: Original) -> Iterator[bytes]:
    """Every piece; the last one is given out only when the whole hashes to its name.

    So damaged bytes never look like a complete file. Raises BlobDamaged.
    """
    digest, held = hashlib.sha256(), b""
    with closing(handle):
        while piece := handle.read(PIECE):
            digest.update(piece)
            if held:
                yield held
            held = piece
    if digest.hexdigest() != original.sha256:
        raise BlobDamaged("The original does not hash to its name", "Restore it from the backup.")
    yield held


def part(handle: BinaryIO, asked: ByteRange) -> Iterator[bytes]:
    """The pieces of one range."""
    with closing(handle):
        handle.seek(asked.start)
        left = asked.end - asked.start + 1
        while left and (piece := handle.read(min(PIECE, left))):
            left -= len(piece)
            yield piece
