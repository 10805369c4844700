"""Vectors on their way into and out of the database, in its binary form.

Here belongs the wire form of `halfvec` (16-bit floats) and loading by COPY. COPY does not know row
level security, so it fills a table of the session, from which one INSERT takes the rows. What does
not belong here: which rows these are and their walls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tgv_dagster.know.embeddings import Vectors
from tgv_dagster.store.db import Connection

STAGED = "pg_temp.staged_vectors"
"""Table of the session: row_id bigint, window_no integer, emb halfvec; empty at each commit."""

_SIGNATURE = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_TRAILER = b"\xff\xff"
_BLOCK_ROWS = 2_048
_LARGEST = 65_504.0


def stage(
    connection: Connection, row_ids: Sequence[int], window_nos: Sequence[int], vectors: Vectors
) -> None:
    """Put rows into `STAGED`, in place of what is there; vectors of shape (len(row_ids), n)."""
    connection.execute(
        "CREATE TEMP TABLE IF NOT EXISTS staged_vectors"
        " (row_id bigint, window_no integer, emb halfvec) ON COMMIT DELETE ROWS"
    )
    connection.execute(f"DELETE FROM {STAGED}".encode())
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY {STAGED} FROM STDIN (FORMAT binary)".encode()) as copy,
    ):
        copy.write(_SIGNATURE)
        for block in _blocks(np.asarray(row_ids), np.asarray(window_nos), vectors):
            copy.write(block)
        copy.write(_TRAILER)


def _blocks(row_ids: np.ndarray, window_nos: np.ndarray, vectors: Vectors) -> Iterator[bytes]:
    """Tuples of the binary COPY format (PostgreSQL documentation, COPY, binary format)."""
    dimension = vectors.shape[1] if len(vectors) else 0
    layout = np.dtype(
        [
            ("fields", ">i2"),
            ("id_bytes", ">i4"), ("id", ">i8"),
            ("no_bytes", ">i4"), ("no", ">i4"),
            ("emb_bytes", ">i4"), ("dimension", ">i2"), ("unused", ">i2"),
            ("emb", ">f2", (dimension,)),
        ]
    )  # fmt: skip
    for start in range(0, len(vectors), _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        rows = np.zeros(len(vectors[part]), layout)
        rows["fields"], rows["id_bytes"], rows["no_bytes"] = 3, 8, 4
        rows["emb_bytes"], rows["dimension"] = 4 + 2 * dimension, dimension
        rows["id"], rows["no"] = row_ids[part], window_nos[part]
        rows["emb"] = np.clip(vectors[part], -_LARGEST, _LARGEST)
        yield rows.tobytes()


def from_binary(values: Sequence[bytes]) -> Vectors:
    """Vectors (n, dimension) from halfvec values fetched in binary form; all of one dimension."""
    return np.stack(
        [np.frombuffer(value, dtype=">f2", offset=4).astype(np.float32) for value in values]
    )


def literal(vector: Vectors) -> str:
    """One vector as the text form that a parameter is cast from."""
    return "[" + ",".join(f"{value:.7g}" for value in vector.tolist()) + "]"
