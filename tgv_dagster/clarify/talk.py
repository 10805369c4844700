"""Messages of a case's conversation: what is written into a thread, in the caller's transaction.

Blocks are plain JSON with a `kind`: `prose` (words), `answer` (values a person gave), `receipt`
(what the server did and what is still open), `card`, `question`, `drop` (a file handed over). How
a conversation is read stands in `conversation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg.types.json import Jsonb

from tgv_dagster.store.db import Connection

Block = dict[str, Any]


def say(
    connection: Connection, case_id: int, *, author: str, is_human: bool, blocks: Sequence[Block]
) -> int:
    """Append one message to the thread of a case; returns its number."""
    row = connection.execute(
        "INSERT INTO messages (thread_id, author, is_human, blocks)"
        " SELECT thread_id, %s, %s, %s FROM cases WHERE id = %s RETURNING id",
        (author, is_human, Jsonb(list(blocks)), case_id),
    ).fetchone()
    assert row is not None
    return int(row[0])
