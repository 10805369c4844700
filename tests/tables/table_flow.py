"""Builders of the table flow: documents with files, cards executed by people."""

from __future__ import annotations

import hashlib
import itertools
from typing import Any

from shared_builders import import_test_organisation

from tgv_dagster.clarify import execution
from tgv_dagster.clarify.execution import CardOutcome, Executor
from tgv_dagster.store.actions import Action
from tgv_dagster.store.db import Database
from tgv_dagster.store.scope import Scope
from tgv_dagster.tables.deeds import CONFIRM_TABLE, READ_TABLE
from tgv_dagster.tables.flowing import Facts, take

ORGANISATION = """
mandanten:
  - {slug: nord, name: Nord}
  - {slug: west, name: West}
  - {slug: sued, name: Sued}
entities:
  - {slug: nord-gmbh, mandant: nord, kind: company, legal_name: Nordlicht Tischlerei GmbH,
     country: DE, bucket: nord-gmbh, default_level: intern}
  - {slug: west-sarl, mandant: west, kind: company, legal_name: Atelier West SARL,
     country: FR, bucket: west-sarl, default_level: intern}
  - {slug: haus-sued, mandant: sued, kind: household, legal_name: Familie Sued,
     country: DE, bucket: haus-sued, default_level: intern}
projects:
  - {project_code: P-1, entity: nord-gmbh, name: Umbau Kita, aliases: [Kita]}
  - {project_code: P-2, entity: west-sarl, name: Chantier Ouest}
  - {project_code: P-3, entity: haus-sued, name: Gartenhaus}
users:
  - {login: anna, name: Anna, roles: [{mandant: nord, role: mandant_admin},
     {mandant: west, role: mandant_admin}]}
  - {login: nils, name: Nils, roles: [{mandant: nord, role: mandant_admin}]}
  - {login: vera, name: Vera, roles: [{mandant: nord, role: viewer, ceiling: intern}]}
  - {login: sven, name: Sven, roles: [{mandant: sued, role: mandant_admin}]}
  - {login: chef, name: Chef, roles: [{role: super_admin}]}
"""

HEAD = (
    "User,Email,Client,Project,Task,Description,Billable,"
    "Start date,Start time,End date,End time,Duration"
)
_numbers = itertools.count(1)


def organised(database: Database) -> Database:
    """Two tenants that Anna manages, and one that she does not."""
    import_test_organisation(database, ORGANISATION)
    return database


def entry(day: str, start: str, end: str, hours: str, project: str = "Umbau Kita") -> str:
    """One line of a Toggl export."""
    return f"Anna,a@x.example,Stadt,{project},,Arbeit,No,{day},{start},{day},{end},{hours}"


def export(*lines: str) -> bytes:
    """A Toggl export."""
    return "\n".join((HEAD, *lines, "")).encode()


MORNING = entry("2026-01-28", "08:00:00", "09:30:00", "01:30:00")
NOON = entry("2026-01-28", "12:00:00", "13:00:00", "01:00:00")


def document(
    database: Database, content: bytes, *, entity: str = "nord-gmbh", name: str = "toggl.csv"
) -> Facts:
    """A document of an entity with this file, as the stage sees it."""
    sha = hashlib.sha256(content + str(next(_numbers)).encode()).hexdigest()
    with database.worker() as connection:
        row = connection.execute(
            "INSERT INTO document_numbers (mandant_id, raw_sha256, part_role, arrival_uid)"
            " SELECT mandant_id, %s, 'file', gen_random_uuid() FROM entities WHERE slug = %s"
            " RETURNING id, mandant_id",
            (sha, entity),
        ).fetchone()
        raw = connection.execute(
            "INSERT INTO raw_items (bucket, sha256, size, kind, storage_bucket, raw_key,"
            " verified_at) VALUES (%s, %s, %s, 'file', %s, 'k', now()) RETURNING id",
            (entity, sha, len(content), entity),
        ).fetchone()
        assert row is not None
        assert raw is not None
        connection.execute(
            "INSERT INTO documents (id, entity, raw_sha256, raw_item_id, file_class, file_name,"
            " date_received, confidentiality_level, flow_stage)"
            " VALUES (%s, %s, %s, %s, 'file', %s, now(), 'intern', 'know')",
            (row[0], entity, sha, raw[0], name),
        )
    return Facts(row[0], row[1], entity, "intern", False, sha, "", "", name, "")


def taken(database: Database, content: bytes, facts: Facts | None = None, **of: str) -> Facts:
    """The file, recognised as the stage does it."""
    facts = facts or document(database, content, **of)
    with database.worker() as connection:
        take(connection, facts, content)
    return facts


def executor(database: Database) -> Executor:
    """An executor that knows the deeds of tables."""
    deeds = {Action.CONFIRM_TABLE: CONFIRM_TABLE, Action.READ_TABLE: READ_TABLE}
    return Executor(database, deeds)


def scope_of(database: Database, login: str, mandant: str | None = "nord") -> Scope:
    """The scope of a person in a tenant."""
    return Scope.for_principal(database, login, mandant=mandant, source="test")


def card_of(database: Database, facts: Facts) -> tuple[int, list[str]]:
    """The open card of a document's table, with the keys of its choices."""
    found = rows(
        database,
        "SELECT k.id, k.choices FROM cards k JOIN cases c ON c.id = k.case_id"
        " WHERE c.document_id = %s AND c.state = 'open' AND k.state = 'pending' ORDER BY k.id",
        facts.document_id,
    )
    assert len(found) == 1, found
    return found[0][0], [choice["key"] for choice in found[0][1]]


def execute(
    database: Database, facts: Facts, choice: str, login: str = "anna", mandant: str = "nord"
) -> CardOutcome:
    """Execute the open card of a document's table."""
    card, _ = card_of(database, facts)
    return execution.execute(
        executor(database), scope_of(database, login, mandant), card, choice=choice
    )


def rows(database: Database, statement: str, *values: object) -> list[tuple[Any, ...]]:
    """Rows as the worker sees them."""
    with database.worker() as connection:
        return connection.execute(statement.encode(), values).fetchall()


def entries(database: Database) -> list[tuple[Any, ...]]:
    """All time entries, in the order of the day."""
    return rows(
        database,
        "SELECT to_char(startzeit, 'HH24:MI'), minutes, project_code, entity FROM prf_timetrack"
        " ORDER BY datum, startzeit",
    )


def states(database: Database, facts: Facts) -> list[tuple[Any, ...]]:
    """State, rows inserted, known and set aside per generation of a document's tables."""
    return rows(
        database,
        "SELECT generation, state, inserted, known, aside FROM table_imports"
        " WHERE document_id = %s ORDER BY sheet, generation",
        facts.document_id,
    )
