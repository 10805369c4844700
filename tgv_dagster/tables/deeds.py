"""Deeds of this room: taking a table over, and saying how a file is written.

Confirming is one act: schema, import and document stand or fall together (TAB-35). A withdrawal
takes out exactly the rows of that import and forgets the schema (TAB-36). Bound in `vollzug`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psycopg.types.json import Jsonb

from tgv_dagster.bank.importing import State
from tgv_dagster.bank.undoing import UndoRefused
from tgv_dagster.clarify.cases import CaseNotFound, NotAnswerable
from tgv_dagster.clarify.execution import (
    Deed,
    Footing,
    Moved,
    NotWithdrawable,
    Order,
    Receipt,
    Refused,
)
from tgv_dagster.intervals.writing import IntervalClash
from tgv_dagster.store import ledger
from tgv_dagster.store.actions import ReadTableArguments, TableArguments
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.periods import REMEDY
from tgv_dagster.store.scope import Scope
from tgv_dagster.store.stages import Stage
from tgv_dagster.tables import memory, working
from tgv_dagster.tables.assignment import Project
from tgv_dagster.tables.importing import (
    Import,
    book_rows,
    goes_by_project,
    import_rows,
    is_importable,
    unbook_rows,
    undo_rows,
)
from tgv_dagster.tables.mapping import MappingRefused, TableMapping, check
from tgv_dagster.tables.model import RawTable
from tgv_dagster.tables.projects import allowed_projects
from tgv_dagster.tables.reading import dates
from tgv_dagster.tables.reading.numbers import Decimal
from tgv_dagster.tables.rows import AS_TEXT, column_of, project_values
from tgv_dagster.tables.signature import signature_of
from tgv_dagster.tables.stored import unpack
from tgv_dagster.tables.targets import Target

_ROW = """
    SELECT t.id, t.mandant_id, t.raw_sha256, t.state, t.signature, t.shape, t.is_test
    FROM table_imports t WHERE t.document_id = %s AND t.sheet = %s AND t.state <> 'undone'
"""


def basis_of(import_id: int, signature: str) -> dict[str, Any]:
    """What a card of this table stands on."""
    return {"import": import_id, "signature": signature, "state": "asked"}


def _mapping(arguments: TableArguments, shape: Mapping[str, Any]) -> TableMapping:
    told = {
        "target": arguments.target,
        "fields": arguments.fields,
        "readings": arguments.readings,
        "dialect": shape.get("dialect"),
        "encoding": shape.get("encoding") or None,
        "headless": shape.get("header_line") == 0,
    }
    try:
        mapping = TableMapping.from_json(told)
        check(mapping, tuple(shape["labels"]))
    except MappingRefused as refused:
        raise NotAnswerable(str(refused)) from refused
    unread = [r for r in mapping.readings.values() if not _is_reading(r)]
    if unread:
        raise NotAnswerable(f"there is no reading {', '.join(unread)}")
    return mapping


def _is_reading(key: str) -> bool:
    if key == AS_TEXT or key in set(Decimal):
        return True
    try:
        dates.form(key)
    except KeyError:
        return False
    return True


def _look(database: Database, scope: Scope, arguments: TableArguments) -> Footing:
    with database.reading(scope) as connection:
        row = connection.execute(_ROW, (arguments.document_id, arguments.sheet)).fetchone()
    if row is None:
        raise CaseNotFound(f"Document #{arguments.document_id} has no such table.")
    mapping = _mapping(arguments, row[5])
    if goes_by_project(mapping.target):
        _check_projects(database, scope, arguments, row[1], is_test=row[6])
    return Footing({"import": row[0], "signature": row[4], "state": row[3]})


def _check_projects(
    database: Database, scope: Scope, arguments: TableArguments, mandant_id: int, *, is_test: bool
) -> None:
    with database.worker() as connection:
        allowed = allowed_projects(
            connection, mandant_id=mandant_id, is_test=is_test, user_id=scope.user_id
        )
    foreign = {p for p in arguments.projects.values() if p} - {p.code for p in allowed}
    if foreign:
        raise NotAnswerable("One of these projects is not among those you may assign (TAB-26).")


def _confirm(connection: Connection, scope: Scope, order: Order) -> Receipt:
    assert isinstance(order.arguments, TableArguments)
    arguments = order.arguments
    row = connection.execute(
        """
        SELECT t.id, t.mandant_id, t.raw_sha256, t.state, t.signature, t.shape, t.is_test, t.cells,
            d.file_name, d.confidentiality_level
        FROM table_imports t JOIN documents d ON d.id = t.document_id
        WHERE t.document_id = %s AND t.sheet = %s AND t.state <> 'undone' FOR UPDATE OF t
        """,
        (arguments.document_id, arguments.sheet),
    ).fetchone()
    if row is None or {"import": row[0], "signature": row[4], "state": row[3]} != dict(order.basis):
        raise Moved
    if row[3] != "asked":
        raise Refused("this table was decided before")
    job = Import(
        row[0], row[1], arguments.document_id, row[2], arguments.sheet, row[8], is_test=row[6]
    )
    table, mapping = unpack(bytes(row[7]), row[5]), _mapping(arguments, row[5])
    _require_answers(table, mapping, arguments)
    schema_id = memory.remember(
        connection,
        mandant_id=job.mandant_id,
        document_id=job.document_id,
        signature=signature_of(table),
        mapping=mapping,
        projects=dict(arguments.projects),
        by=scope.principal,
        case_id=order.case_id,
        card_id=order.card_id,
    )
    connection.execute(
        "UPDATE table_imports SET target = %s, mapping = %s, decided_by = %s, decided_at = now()"
        " WHERE id = %s",
        (str(mapping.target), Jsonb(mapping.as_json()), scope.principal, job.id),
    )
    if mapping.target is Target.WORKING:
        working.keep(connection, job, table, mapping, schema_id)
        return Receipt({"target": str(mapping.target), "rows": table.height})
    if mapping.target is Target.BANK:
        booked = book_rows(
            connection, job, table, mapping, schema_id, by=scope.principal, level=row[9]
        )
        if booked.state is State.REFUSED:
            raise Refused(booked.reason or "the file cannot be booked")
        _require_visible_accounts(connection, scope, booked.import_id)
        return Receipt(
            {
                "target": str(mapping.target),
                "state": str(booked.state),
                "reason": booked.reason,
                "inserted": booked.inserted,
                "known": booked.known,
            }
        )
    return _imported(connection, scope, job, table, mapping, schema_id, arguments)


def _require_visible_accounts(connection: Connection, scope: Scope, import_id: int) -> None:
    """Nobody books into an account of an entity that lies behind a wall of theirs."""
    if scope.allowed_entities is None:
        return
    foreign = connection.execute(
        "SELECT 1 FROM txn_master WHERE import_id = %s AND entity <> ALL (%s) LIMIT 1",
        (import_id, list(scope.allowed_entities)),
    ).fetchone()
    if foreign is not None:
        raise Refused("the account of this file is not among those you may book into")


def _imported(
    connection: Connection,
    scope: Scope,
    job: Import,
    table: RawTable,
    mapping: TableMapping,
    schema_id: int,
    arguments: TableArguments,
) -> Receipt:
    allowed = {
        p.code: p
        for p in allowed_projects(
            connection, mandant_id=job.mandant_id, is_test=job.is_test, user_id=scope.user_id
        )
    }
    projects: dict[str, Project | None] = {
        value: allowed[code] if code else None for value, code in arguments.projects.items()
    }
    try:
        report = import_rows(connection, job, table, mapping, schema_id, projects)
    except IntervalClash as clash:
        raise Refused(str(clash)) from clash
    return Receipt(
        {
            "target": str(mapping.target),
            "inserted": report.inserted,
            "known": report.known,
            "set_aside": len(report.aside),
        }
    )


def _require_answers(table: RawTable, mapping: TableMapping, arguments: TableArguments) -> None:
    """Nothing open is guessed: every column has one reading, every value its answer (TAB-32)."""
    if mapping.target is Target.WORKING:
        return
    for label in mapping.fields.values():
        if column_of(table, mapping, label).question is not None:
            raise Refused(f"how column {label} is read is still open")
    if not goes_by_project(mapping.target):
        return
    values = {value.key for value in project_values(table, mapping)}
    open_values = values - set(arguments.projects)
    if open_values:
        raise Refused(f"{len(open_values)} values have no answer which project they mean")
    if set(arguments.projects) - values:
        raise Refused("a value is answered that does not occur in the file (TAB-33)")


def _take_back(connection: Connection, scope: Scope, order: Order) -> Mapping[str, Any]:
    assert isinstance(order.arguments, TableArguments)
    row = connection.execute(
        "SELECT id, target, schema_id FROM table_imports WHERE document_id = %s AND sheet = %s"
        " AND state IN ('imported', 'working') FOR UPDATE",
        (order.arguments.document_id, order.arguments.sheet),
    ).fetchone()
    if row is None:
        return {"removed": 0}
    import_id, target, schema_id = row
    removed, kept = 0, ()
    if Target(target) is Target.BANK:
        try:
            removed, kept = unbook_rows(
                connection, import_id, order.arguments.document_id, by=scope.principal
            )
        except UndoRefused as refused:
            raise NotWithdrawable(f"{refused} {REMEDY}") from refused
    elif is_importable(Target(target)):
        removed, kept = undo_rows(connection, import_id, Target(target), by=scope.principal)
    else:
        working.drop(connection, import_id, by=scope.principal)
    memory.forget(connection, schema_id)
    ledger.enqueue(connection, Stage.TABLES, [order.arguments.document_id], again=True)
    return {
        "removed": removed,
        "kept": [{"row": one.id, "reason": one.reason} for one in kept],
    }


CONFIRM_TABLE = Deed(_look, _confirm, _take_back)


def _look_at_reading(database: Database, scope: Scope, arguments: ReadTableArguments) -> Footing:
    with database.reading(scope) as connection:
        row = connection.execute(_ROW, (arguments.document_id, arguments.sheet)).fetchone()
    if row is None:
        raise CaseNotFound(f"Document #{arguments.document_id} has no such table.")
    return Footing()


def _read_again(connection: Connection, _scope: Scope, order: Order) -> Receipt:
    assert isinstance(order.arguments, ReadTableArguments)
    arguments = order.arguments
    told = arguments.model_dump(exclude={"document_id", "sheet"})
    changed = connection.execute(
        "UPDATE table_imports SET settled = %s WHERE document_id = %s AND sheet = %s"
        " AND state = 'asked'",
        (Jsonb(told), arguments.document_id, arguments.sheet),
    ).rowcount
    if not changed:
        raise Refused("this table was decided before")
    ledger.enqueue(connection, Stage.TABLES, [arguments.document_id], again=True)
    return Receipt({"settled": told})


READ_TABLE = Deed(_look_at_reading, _read_again)
