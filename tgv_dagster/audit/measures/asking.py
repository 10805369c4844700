"""Asking the database for counts and ids, shared by the measurements.

Queries here run on the worker's connection: a measurement counts over all tenants and hands out
nothing but counts and ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tgv_dagster.audit.verdict import MAX_EVIDENCE
from tgv_dagster.installation import Installation
from tgv_dagster.store.db import Connection


def rows(
    installation: Installation, query: str, parameters: Mapping[str, Any] | None = None
) -> list[tuple[Any, ...]]:
    """All rows of one statement in a transaction of its own."""
    with installation.database.worker() as connection:
        return rows_in(connection, query, parameters)


def rows_in(
    connection: Connection, query: str, parameters: Mapping[str, Any] | None = None
) -> list[tuple[Any, ...]]:
    """All rows of one statement in the caller's transaction."""
    return connection.execute(query.encode(), parameters).fetchall()


def counts_and_ids(
    installation: Installation, judged: str, parameters: Mapping[str, Any] | None = None
) -> dict[str, tuple[int, tuple[int, ...]]]:
    """Count and the first ids per class of a query that yields `(id, class)`."""
    with installation.database.worker() as connection:
        return counts_and_ids_in(connection, judged, parameters)


def counts_and_ids_in(
    connection: Connection, judged: str, parameters: Mapping[str, Any] | None = None
) -> dict[str, tuple[int, tuple[int, ...]]]:
    """The same in the caller's transaction.

    At most `MAX_EVIDENCE` ids per class are fetched, whatever the size of the table.
    """
    found = rows_in(
        connection,
        f"""
        WITH judged (id, class) AS ({judged}),
        numbered AS (
            SELECT id, class, row_number() OVER (PARTITION BY class ORDER BY id) AS n,
                count(*) OVER (PARTITION BY class) AS total
            FROM judged)
        SELECT class, max(total), array_agg(id ORDER BY id)
        FROM numbered WHERE n <= {MAX_EVIDENCE} GROUP BY class
        """,
        parameters,
    )
    return {name: (int(total), tuple(ids)) for name, total, ids in found}


def totals(found: Mapping[str, tuple[int, tuple[int, ...]]]) -> dict[str, int]:
    """Only the counts."""
    return {name: count for name, (count, _) in found.items()}


def evidence(
    found: Mapping[str, tuple[int, tuple[int, ...]]], classes: Sequence[str], kind: str
) -> tuple[str, ...]:
    """Ids of these classes as evidence, such as `document:17`."""
    return tuple(f"{kind}:{item}" for name in classes for item in found.get(name, (0, ()))[1])
