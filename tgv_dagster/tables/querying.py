"""Questions to working material in SQL, in the scope of the reader, and their results as artefacts.

Tables are named by their document: `d17`, further sheets `d17_2`, in the order of the sheets. A
result carries its sources and at least their highest level (class 2, TAB-03, TAB-05). A query sees
these tables and nothing else: no file, no other table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from psycopg.types.json import Jsonb

from tgv_dagster.store.db import Database
from tgv_dagster.store.levels import Level, Role, rank_of
from tgv_dagster.store.scope import Scope
from tgv_dagster.tables.working import WorkingNotFound, WorkingTable, working_tables

MOST_ROWS = 100_000
_ALLOWED = re.compile(r"\s*(?:select|with)\b", re.IGNORECASE)
_FILES = re.compile(r"read_", re.IGNORECASE)


class QueryRefused(ValueError):
    """The query cannot be answered; the message says why."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The answer. `truncated`: there are more than `MOST_ROWS` rows, and the first are here."""

    frame: pl.DataFrame
    sql: str
    sources: tuple[int, ...]
    level: Level
    truncated: bool


def ask(database: Database, scope: Scope, documents: Sequence[int], sql: str) -> QueryResult:
    """Answer a SELECT over the working material of these documents.

    Raises WorkingNotFound for a document without any for this reader, QueryRefused for a query
    that is none, changes something, or reads files.
    """
    tables = _named(database, scope, documents)
    if not _ALLOWED.match(sql) or _FILES.search(sql):
        raise QueryRefused("Only SELECT over the named tables; functions that read files are off.")
    context = pl.SQLContext({name: table.frame for name, table in tables.items()}, eager=True)
    try:
        frame = context.execute(sql)
    except pl.exceptions.PolarsError as error:
        raise QueryRefused(f"{error} (tables: {', '.join(tables)})") from error
    level = max((Level(table.level) for table in tables.values()), key=rank_of)
    return QueryResult(
        frame.head(MOST_ROWS),
        sql,
        tuple(sorted({table.document_id for table in tables.values()})),
        level,
        frame.height > MOST_ROWS,
    )


def keep(
    database: Database, scope: Scope, result: QueryResult, *, title: str, kind: str = "table"
) -> int:
    """Store a result as an artefact with its sources and their highest level; returns its number.

    The artefact keeps the question, so that it can be asked again; `kind` is table or plot. Raises
    ScopeError for a reader without the right to write, QueryRefused when the sources belong to
    several tenants.
    """
    scope.require(Role.EDITOR)
    with database.reading(scope) as connection:
        found = connection.execute(
            "SELECT DISTINCT mandant_id, is_test FROM documents WHERE id = ANY (%s)",
            (list(result.sources),),
        ).fetchall()
    if len(found) != 1 or found[0][0] is None:
        raise QueryRefused("The sources of an artefact belong to one tenant.")
    basis = {
        "sql": result.sql,
        "columns": result.frame.columns,
        "rows": result.frame.height,
        "truncated": result.truncated,
    }
    with database.worker() as connection:
        row = connection.execute(
            "INSERT INTO artefacts (mandant_id, kind, title, confidentiality_level, basis, is_test,"
            " created_by) VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING id",
            (
                found[0][0],
                kind,
                title,
                str(result.level),
                Jsonb(basis),
                found[0][1],
                scope.principal,
            ),
        ).fetchone()
        assert row is not None
        for document_id in result.sources:
            connection.execute(
                "INSERT INTO artefact_sources (artefact_id, document_id) VALUES (%s, %s)",
                (row[0], document_id),
            )
    return int(row[0])


def _named(database: Database, scope: Scope, documents: Sequence[int]) -> dict[str, WorkingTable]:
    if not documents:
        raise WorkingNotFound("Name the documents whose tables are asked.")
    found: dict[str, WorkingTable] = {}
    for document_id in dict.fromkeys(documents):
        for number, table in enumerate(working_tables(database, scope, document_id), start=1):
            found[f"d{document_id}" if number == 1 else f"d{document_id}_{number}"] = table
    return found
