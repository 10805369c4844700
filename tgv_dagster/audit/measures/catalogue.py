"""Measurements over the catalogue of the database: filters, single writers, unread indexes.

What the database itself says is measured, not what the code means to have set up.
"""

from __future__ import annotations

import re

from tgv_dagster.audit.measures.asking import rows, rows_in
from tgv_dagster.audit.verdict import Verdict, judged, unmeasured
from tgv_dagster.installation import Installation
from tgv_dagster.store.register import INTERVAL_TABLES, INTERVAL_WRITERS
from tgv_dagster.store.walls import APP_ROLE, INTERVAL_ROLE, WORKER_ROLE

FEEDS_NO_FIGURE: dict[str, str] = {
    "agent_events": "journal",
    "compartments": "directory",
    "embedding_spaces": "directory",
    "event_payloads": "journal",
    "import_schema": "directory",
    "legacy_links": "directory",
    "mandanten": "directory",
    "pattern_rules": "directory",
    "routing_rules": "directory",
    "tuning_values": "directory",
}
"""Tables that readers reach without a filter for test rows, and why that is right: no list, sum,
search or export counts their rows (DEDUP-07)."""

_FILTER = "tgv.include_test"
_PARENT = re.compile(r"FROM\s+(?:public\.)?(\w+)\s")


def test_rows_are_filtered(installation: Installation) -> Verdict:
    """Every table that a reader reaches filters test rows, itself or through its parent."""
    found = rows(
        installation,
        "SELECT tablename, qual FROM pg_policies"
        " WHERE schemaname = 'public' AND %(reader)s = ANY (roles) AND cmd = 'SELECT'",
        {"reader": APP_ROLE},
    )
    policies = {str(name): str(condition) for name, condition in found}
    if not policies:
        return unmeasured("no table has a policy for readers")
    unfiltered = sorted(
        name
        for name in policies
        if name not in FEEDS_NO_FIGURE
        and not _owner_only(policies[name])
        and not _filters(name, policies)
    )
    figures = {
        "tables_of_readers": len(policies),
        "feed_no_figure": sum(1 for name in policies if name in FEEDS_NO_FIGURE),
        "unfiltered": len(unfiltered),
    }
    return judged(
        len(unfiltered),
        holds="every table that feeds a figure hides its test rows from readers",
        broken="tables feed figures and show their test rows",
        figures=figures,
        evidence=tuple(f"table:{name}" for name in unfiltered),
    )


def _owner_only(condition: str) -> bool:
    """A policy without a tenant: only the owner of the installation sees these rows."""
    return "NULL::integer = " in condition.replace("(NULL::integer)", "NULL::integer")


def _filters(name: str, policies: dict[str, str], seen: frozenset[str] = frozenset()) -> bool:
    condition = policies.get(name, "")
    if _FILTER in condition:
        return True
    parents = [found for found in _PARENT.findall(condition) if found not in seen and found != name]
    return any(_filters(parent, policies, seen | {name}) for parent in parents)


def intervals_have_one_writer(installation: Installation) -> Verdict:
    """Nobody but the role of the database functions may write an interval table (INTV-08)."""
    with installation.database.worker() as connection:
        open_doors = rows_in(
            connection,
            """
            SELECT t.name || ':' || r.rolname || ':' || p.name
            FROM unnest(%(tables)s::text[]) AS t (name), pg_roles r,
                unnest(ARRAY['INSERT', 'DELETE', 'TRUNCATE', 'UPDATE']) AS p (name)
            WHERE r.rolname IN (%(app)s, %(worker)s)
              AND has_table_privilege(r.rolname, to_regclass(t.name), p.name)
            ORDER BY 1
            """,
            {"tables": list(INTERVAL_TABLES), "app": APP_ROLE, "worker": WORKER_ROLE},
        )
        loose = rows_in(
            connection,
            """
            SELECT f.name FROM unnest(%(functions)s::text[]) AS f (name)
            LEFT JOIN pg_proc p ON p.proname = f.name AND p.pronamespace = 'public'::regnamespace
            WHERE p.oid IS NULL OR NOT p.prosecdef
               OR pg_get_userbyid(p.proowner) <> %(owner)s
            """,
            {"functions": list(INTERVAL_WRITERS), "owner": INTERVAL_ROLE},
        )
    evidence = (
        *(f"right:{row[0]}" for row in open_doors),
        *(f"function:{row[0]}" for row in loose),
    )
    return judged(
        len(evidence),
        holds="interval tables have one writer, the function that compares before it writes",
        broken="an interval table can be written past the comparison",
        figures={
            "tables": len(INTERVAL_TABLES),
            "rights_past_the_function": len(open_doors),
            "functions_that_do_not_guard": len(loose),
        },
        evidence=evidence,
    )


UNREAD_DAYS = 30


def index_without_reader(installation: Installation) -> Verdict:
    """An index of a filled table that no query read since statistics began (OBS-05).

    Says nothing before statistics are a month old. Indexes that enforce a rule have a purpose
    without any reader.
    """
    with installation.database.worker() as connection:
        ages = rows_in(
            connection,
            "SELECT extract(epoch FROM now() - coalesce(stats_reset, (SELECT min(counted_since)"
            " FROM checkpoints))) / 86400 FROM pg_stat_database"
            " WHERE datname = current_database()",
        )
        days = 0 if not ages or ages[0][0] is None else int(ages[0][0])
        if days < UNREAD_DAYS:
            return unmeasured(
                "statistics about indexes are younger than a month", {"days_of_statistics": days}
            )
        found = rows_in(
            connection,
            """
            SELECT s.relname || '.' || s.indexrelname, s.idx_scan
            FROM pg_stat_user_indexes s JOIN pg_index i USING (indexrelid)
            JOIN pg_stat_user_tables t ON t.relid = s.relid
            WHERE s.schemaname = 'public' AND NOT i.indisunique AND t.n_live_tup > 0 ORDER BY 1
            """,
        )
    unread = [name for name, scans in found if scans == 0]
    return judged(
        len(unread),
        holds="every index of a filled table was read since statistics began",
        broken="indexes are kept up to date and nobody reads them",
        figures={"days_of_statistics": days, "indexes": len(found), "unread": len(unread)},
        evidence=tuple(f"index:{name}" for name in unread),
    )
