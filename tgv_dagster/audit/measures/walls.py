"""Measurement of the walls with a canary: a document of a tenant that nobody else may find.

The canary lives in one transaction that is rolled back, so no test row ever stands among real
ones and no number is used up. Positive control: its own tenant must find it, otherwise nothing
was measured.
"""

from __future__ import annotations

import re

from psycopg import sql

from tgv_dagster.audit.measures.canary import CANARY, discarded, put_canary_document
from tgv_dagster.audit.verdict import Verdict, judged, unmeasured
from tgv_dagster.installation import Installation
from tgv_dagster.store.db import Connection
from tgv_dagster.store.levels import STRICTEST_RANK, Role
from tgv_dagster.store.register import TABLES
from tgv_dagster.store.walls import APP_ROLE, EVERYTHING, SESSION_KEYS

_ASKED = re.compile(r"current_setting\('(tgv\.\w+)'|\bFROM\s+(?:public\.)?(\w+)")
"""Settings and tables that a policy asks, in the words of the source and of the server."""


def canary_is_never_found(installation: Installation) -> Verdict:
    """Ask for the canary in the role of every other tenant, and in sessions without rights."""
    with discarded(installation) as connection:
        tenants = [row[0] for row in connection.execute("SELECT id FROM mandanten").fetchall()]
        _put_canary(connection)
        own = _finds(connection, _session(CANARY))
        found = {f"tenant_{tenant}": _finds(connection, _session(tenant)) for tenant in tenants}
        found |= {
            "no_session": _finds(connection, dict.fromkeys(SESSION_KEYS, "")),
            "own_tenant_lower_ceiling": _finds(
                connection, _session(CANARY) | {"tgv.ceiling": str(STRICTEST_RANK - 1)}
            ),
            "own_tenant_other_entity": _finds(
                connection, _session(CANARY) | {"tgv.entities": "nobody"}
            ),
            "own_tenant_without_tests": _finds(
                connection, _session(CANARY) | {"tgv.include_test": "off"}
            ),
        }
        open_tables = _tables_without_wall(connection)
        around = _ways_around(connection)
    figures = {
        "sessions": len(found),
        "own_tenant_finds": own,
        "tables_without_wall": len(open_tables),
        "ways_around": len(around),
    }
    leaks = sorted(name for name, count in found.items() if count)
    if own != 2 and not leaks:
        return unmeasured("the canary's own tenant does not find it: nothing was measured", figures)
    return judged(
        len(leaks) + len(open_tables) + len(around),
        holds="the canary is found by its own tenant and by nobody else",
        broken="a wall is open: somebody else finds the canary, or a way leads around a wall",
        figures=figures | {"leaks": len(leaks)},
        evidence=(
            *(f"session:{name}" for name in leaks),
            *(f"table:{name}" for name in open_tables),
            *around,
        ),
    )


def _tables_without_wall(connection: Connection) -> tuple[str, ...]:
    """Declared tables whose policies are off or others than `store.walls` writes.

    All of them when the reader's role bypasses policies.
    """
    rows = connection.execute(
        """
        SELECT t.name FROM unnest(%s::text[]) AS t (name)
        LEFT JOIN pg_class c ON c.oid = to_regclass(t.name)
        WHERE c.oid IS NULL OR NOT (c.relrowsecurity AND c.relforcerowsecurity)
           OR EXISTS (SELECT 1 FROM pg_roles r WHERE r.rolname = %s
                      AND (r.rolsuper OR r.rolbypassrls))
        ORDER BY 1
        """,
        ([table.name for table in TABLES], APP_ROLE),
    ).fetchall()
    unlike = _unlike_their_definition(connection)
    return tuple(sorted({row[0] for row in rows} | unlike))


def _unlike_their_definition(connection: Connection) -> set[str]:
    """Tables whose policies for readers are not the one wall that is declared.

    The server writes a condition in its own words; what it asks of the session and of other
    tables stays countable.
    """
    rows = connection.execute(
        """
        SELECT c.relname, pg_get_expr(p.polqual, p.polrelid),
            p.polname = 'wall' AND p.polcmd = 'r' AND p.polpermissive
        FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
        WHERE c.oid = ANY (SELECT to_regclass(name) FROM unnest(%s::text[]) AS t (name))
          AND (0 = ANY (p.polroles) OR %s::regrole = ANY (p.polroles))
        """,
        ([table.name for table in TABLES], APP_ROLE),
    ).fetchall()
    found: dict[str, list[list[tuple[str, str]] | None]] = {}
    for name, condition, as_written in rows:
        asked = sorted(_ASKED.findall(condition or "")) if as_written else None
        found.setdefault(name, []).append(asked)
    return {
        table.name
        for table in TABLES
        if found.get(table.name, [])
        != ([] if table.wall is None else [sorted(_ASKED.findall(table.wall))])
    }


def _ways_around(connection: Connection) -> tuple[str, ...]:
    """What the reader's role may use beside the declared tables: relations, functions, roles.

    Whatever an extension brought is its own; a trigger function cannot be called.
    """
    rows = connection.execute(
        """
        SELECT 'relation:' || c.oid::regclass
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'information_schema'
          AND n.nspname NOT LIKE 'pg\\_%%' AND has_schema_privilege(%(reader)s, n.oid, 'USAGE')
          AND CASE WHEN c.oid = ANY (
                  SELECT to_regclass(name) FROM unnest(%(tables)s::text[]) AS t (name))
              THEN has_any_column_privilege(%(reader)s, c.oid, 'INSERT, UPDATE')
                OR has_table_privilege(%(reader)s, c.oid, 'DELETE, TRUNCATE')
              ELSE has_any_column_privilege(%(reader)s, c.oid, 'SELECT, INSERT, UPDATE') END
          AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
        UNION ALL
        SELECT 'function:' || p.proname
        FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE p.prosecdef AND p.prorettype <> 'trigger'::regtype
          AND n.nspname NOT IN ('pg_catalog', 'information_schema')
          AND has_schema_privilege(%(reader)s, n.oid, 'USAGE')
          AND has_function_privilege(%(reader)s, p.oid, 'EXECUTE')
          AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
        UNION ALL
        SELECT 'role:' || m.roleid::regrole FROM pg_auth_members m
        WHERE m.member = %(reader)s::regrole
        ORDER BY 1
        """,
        {"reader": APP_ROLE, "tables": [table.name for table in TABLES]},
    ).fetchall()
    return tuple(row[0] for row in rows)


def _put_canary(connection: Connection) -> None:
    """The canary document and one chunk of it."""
    put_canary_document(connection)
    connection.execute(
        "INSERT INTO rag_chunks (id, document_id, chunk_no, content, content_sha256, span_start,"
        " span_end, core_start, core_end, page_from, page_to, windows, mandant_id, entity,"
        " confidentiality_level, persons, circle, is_test, source_type, source_key,"
        " date_received)"
        " SELECT id, id, 0, 'canary', raw_sha256, 0, 6, 0, 6, 1, 1, '{\"[0,6)\"}', mandant_id,"
        " entity, confidentiality_level, persons, circle, is_test, 'document', 'canary',"
        " date_received"
        " FROM documents WHERE id = %s",
        (CANARY,),
    )


def _session(tenant: int) -> dict[str, str]:
    """The most a tenant's own session can ever have: every entity, every level, test rows too."""
    return {
        "tgv.role": str(Role.MANDANT_ADMIN),
        "tgv.mandant_id": str(tenant),
        "tgv.entities": EVERYTHING,
        "tgv.project_code": "",
        "tgv.ceiling": str(STRICTEST_RANK),
        "tgv.user_id": "0",
        "tgv.include_test": "on",
    }


def _finds(connection: Connection, session: dict[str, str]) -> int:
    """How many of the two canary rows a session of the application role sees."""
    connection.execute(
        sql.SQL("SELECT {}").format(
            sql.SQL(", ").join(
                sql.SQL("set_config({}, {}, true)").format(
                    sql.Literal(key), sql.Literal(session[key])
                )
                for key in SESSION_KEYS
            )
        )
    )
    connection.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(APP_ROLE)))
    row = connection.execute(
        "SELECT (SELECT count(*) FROM documents WHERE id = %(id)s)"
        " + (SELECT count(*) FROM rag_chunks WHERE document_id = %(id)s)",
        {"id": CANARY},
    ).fetchone()
    connection.execute("RESET ROLE")
    assert row is not None
    return int(row[0])
