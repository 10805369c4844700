"""Confirmed schemas: what a tenant's people said a table of a signature is (TAB-13, TAB-20).

Memory belongs to one tenant and is never looked up for another (TAB-28). A confirmation writes a
new version beside the old ones; a withdrawal ends it. Every confirmation is a decision of type
`import_schema` and a learning event.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from psycopg.types.json import Jsonb

from tgv_dagster.store.db import Connection
from tgv_dagster.tables.mapping import TableMapping
from tgv_dagster.tables.recognising import Schema
from tgv_dagster.tables.signature import Signature

DECISION_TYPE = "import_schema"
FIELD = "table_schema"


def schemas_of(connection: Connection, mandant_id: int) -> tuple[Schema, ...]:
    """The schemas in force, the latest version of each signature, newest first."""
    rows = connection.execute(
        """
        SELECT id, mapping, value_table FROM (
            SELECT DISTINCT ON (signature) id, mapping, value_table, confirmed_at
            FROM import_schema WHERE mandant_id = %s AND withdrawn_at IS NULL
            ORDER BY signature, version DESC) latest
        ORDER BY confirmed_at DESC, id DESC
        """,
        (mandant_id,),
    ).fetchall()
    return tuple(_schema(*row) for row in rows)


def remember(
    connection: Connection,
    *,
    mandant_id: int,
    document_id: int,
    signature: Signature,
    mapping: TableMapping,
    projects: dict[str, str | None],
    by: str,
    case_id: int,
    card_id: int,
) -> int:
    """Store a confirmed schema as the next version of its signature; returns its number.

    Values confirmed before stay known; this confirmation wins where both speak.
    """
    before = connection.execute(
        "SELECT value_table FROM import_schema WHERE mandant_id = %s AND signature = %s"
        " AND withdrawn_at IS NULL ORDER BY version DESC LIMIT 1",
        (mandant_id, signature.key),
    ).fetchone()
    values = {**(before[0] if before else {}), **projects}
    told = mapping.as_json() | {"signature": asdict(signature)}
    row = connection.execute(
        """
        INSERT INTO import_schema (mandant_id, signature, target, mapping, value_table, version,
            confirmed_by)
        VALUES (%(tenant)s, %(key)s, %(target)s, %(mapping)s, %(values)s, 1 + coalesce((
            SELECT max(version) FROM import_schema
            WHERE mandant_id = %(tenant)s AND signature = %(key)s), 0), %(by)s)
        RETURNING id
        """,
        {
            "tenant": mandant_id,
            "key": signature.key,
            "target": str(mapping.target),
            "mapping": Jsonb(told),
            "values": Jsonb(values),
            "by": by,
        },
    ).fetchone()
    assert row is not None
    schema_id = int(row[0])
    connection.execute(
        "INSERT INTO agent_decisions (case_id, document_id, mandant_id, decision_type, decision,"
        " decided_by, card_id) VALUES (%s, %s, %s, %s, %s, %s, %s)",
        (
            case_id,
            document_id,
            mandant_id,
            DECISION_TYPE,
            Jsonb({"schema": schema_id, "target": str(mapping.target)}),
            by,
            card_id,
        ),
    )
    connection.execute(
        "INSERT INTO learning_events (mandant_id, document_id, scope, field, new_value, origin,"
        " author, case_id, card_id) VALUES (%s, %s, %s, %s, %s, 'human', %s, %s, %s)",
        (
            mandant_id,
            document_id,
            Jsonb({"signature": signature.key}),
            FIELD,
            str(mapping.target),
            by,
            case_id,
            card_id,
        ),
    )
    return schema_id


def forget(connection: Connection, schema_id: int) -> None:
    """Withdraw one version of a schema; the version before it is in force again."""
    connection.execute(
        "UPDATE import_schema SET withdrawn_at = now() WHERE id = %s AND withdrawn_at IS NULL",
        (schema_id,),
    )


def _schema(schema_id: int, told: dict[str, Any], values: dict[str, str | None]) -> Schema:
    signature = told["signature"]
    return Schema(
        schema_id,
        Signature(tuple(signature["labels"]), signature["delimiter"], signature["sheet"]),
        TableMapping.from_json(told),
        dict(values),
    )
