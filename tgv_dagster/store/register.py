"""The one register of tables: primary or derived, and which wall stands in front of readers.

A rebuild truncates exactly the derived tables (RAW-06); a table that is not declared here fails a
test; the row level security policies are generated from the wall declared here (CONF-06).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tgv_dagster.store.levels import Role
from tgv_dagster.store.walls import WallColumns, predicate_sql


class Kind(StrEnum):
    """Whether a table can be rebuilt."""

    PRIMARY = "primary"
    DERIVED = "derived"


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its kind, its wall as SQL (None = closed to readers), rows a rebuild keeps.

    `keep` is an SQL condition over the rows of a derived table that are primary all the same
    (human values stand beside machine values in one table).
    """

    name: str
    kind: Kind
    wall: str | None
    keep: str | None = None


def _tenant(
    *, mandant_id: str = "mandant_id", entity: str | None = "entity", level: bool = False,
    project: bool = False, is_test: bool = False, min_role: Role | None = None,
) -> str:  # fmt: skip
    columns = WallColumns(
        mandant_id=mandant_id,
        entity=entity,
        project_code="project_code" if project else None,
        level_rank="level_rank" if level else None,
        visible_from=None,
        restricted_until=None,
        is_test="is_test" if is_test else None,
        persons=None,
        circle=None,
    )
    return predicate_sql(columns, min_role=min_role)


def _via(table: str, condition: str) -> str:
    """Readable when a row of `table` that the reader may see fulfils the condition."""
    return f"EXISTS (SELECT 1 FROM {table} w WHERE {condition})"


def _document(table: str, column: str = "document_id") -> str:
    return _via("documents", f"w.id = {table}.{column}")


def _probed(table: str, condition: str) -> str:
    """As `_via`, looked up row by row: for tables of which a page shows a few rows of many.

    `OFFSET 0` keeps Postgres from reading the whole of `table` once for each statement.
    """
    return f"EXISTS (SELECT 1 FROM {table} w WHERE {condition} OFFSET 0)"


OPEN = "true"
"""Reference data without any tenant's facts."""

OWNER_ONLY = predicate_sql(
    WallColumns("NULL::integer", None, None, None, None, None, None, None, None),
    min_role=Role.SUPER_ADMIN,
)
"""Infrastructure: the owner of the installation, and only in a session over all tenants."""

DOCUMENTS = predicate_sql()
PRIMARY, DERIVED = Kind.PRIMARY, Kind.DERIVED

TABLES: tuple[Table, ...] = (
    Table("mandanten", PRIMARY, _tenant(mandant_id="id", entity=None)),
    Table("entities", PRIMARY, _tenant(entity="slug", is_test=True)),
    Table("prf_projects", PRIMARY, _via("entities", "w.slug = prf_projects.entity_key")),
    Table("md_accounts", PRIMARY, _tenant(is_test=True)),
    Table("users", PRIMARY, None),
    Table("user_mandant_roles", PRIMARY, None),
    Table("api_tokens", PRIMARY, None),
    Table("web_sessions", PRIMARY, None),
    Table("web_sign_ons", PRIMARY, None),
    Table("system_config", PRIMARY, None),
    Table("tuning_values", PRIMARY, OPEN),
    Table("compartments", PRIMARY, _tenant()),
    Table("routing_rules", PRIMARY, _tenant(entity=None, min_role=Role.MANDANT_ADMIN)),
    Table(
        "raw_items",
        PRIMARY,
        f"{_via('documents', 'w.raw_item_id = raw_items.id')} OR ({OWNER_ONLY})",
    ),
    Table(
        "arrivals",
        PRIMARY,
        f"{_document('arrivals')} OR (arrivals.document_id IS NULL AND "
        f"{_tenant(entity='entity_hint', is_test=True, min_role=Role.MANDANT_ADMIN)})",
    ),
    Table("document_numbers", PRIMARY, _document("document_numbers", "id")),
    Table(
        "legacy_links",
        PRIMARY,
        f"{_document('legacy_links')} OR (legacy_links.document_id IS NULL AND "
        f"{_tenant(entity=None, min_role=Role.MANDANT_ADMIN)})",
    ),
    Table("mail_ledger", PRIMARY, OWNER_ONLY),
    Table("mail_parts", PRIMARY, _document("mail_parts")),
    Table("documents", DERIVED, DOCUMENTS),
    Table("document_access", PRIMARY, _document("document_access")),
    Table("document_values", DERIVED, _document("document_values"), keep="origin = 'human'"),
    Table("extractions", DERIVED, _via("documents", "w.raw_sha256 = extractions.raw_sha256")),
    Table("contact_mentions", DERIVED, _document("contact_mentions")),
    Table("prf_contracts", DERIVED, _document("prf_contracts")),
    Table(
        "contract_positions",
        DERIVED,
        _via("prf_contracts", "w.id = contract_positions.contract_id"),
    ),
    Table("model_calls", PRIMARY, _document("model_calls")),
    Table("threads", PRIMARY, _probed("cases", "w.thread_id = threads.id")),
    Table("messages", PRIMARY, _probed("threads", "w.id = messages.thread_id")),
    Table(
        "cases",
        PRIMARY,
        f"{_tenant(level=True, is_test=True)}\n    AND "
        f"(cases.document_id IS NULL OR {_probed('documents', 'w.id = cases.document_id')})",
    ),
    Table("cards", PRIMARY, _probed("cases", "w.id = cards.case_id")),
    Table("agent_decisions", PRIMARY, _document("agent_decisions")),
    Table("learning_events", PRIMARY, _document("learning_events")),
    Table("pattern_rules", PRIMARY, _tenant(entity=None, min_role=Role.MANDANT_ADMIN)),
    Table("agent_events", PRIMARY, _tenant(min_role=Role.MANDANT_ADMIN)),
    Table("event_payloads", PRIMARY, _via("agent_events", "w.id = event_payloads.event_id")),
    Table("checkpoints", PRIMARY, OWNER_ONLY),
    Table("verdicts", PRIMARY, OWNER_ONLY),
    Table("embedding_spaces", PRIMARY, OPEN),
    Table("rag_chunks", DERIVED, DOCUMENTS),
    Table("chunk_vectors", DERIVED, DOCUMENTS),
    Table("embedding_cache", DERIVED, None),
    Table("flow_ledger", DERIVED, OWNER_ONLY),
    Table("generations", DERIVED, OWNER_ONLY),
    Table("erasure_ledger", PRIMARY, None),
    Table("suppression_entries", PRIMARY, None),
    Table("table_imports", PRIMARY, _document("table_imports")),
    Table("import_schema", PRIMARY, _tenant(entity=None, min_role=Role.EDITOR)),
    Table("accounting_periods", PRIMARY, _via("entities", "w.slug = accounting_periods.entity")),
    Table("txn_master", PRIMARY, _tenant(project=True, level=True, is_test=True)),
    Table(
        "prf_timetrack",
        PRIMARY,
        _tenant(project=True, is_test=True, min_role=Role.MANDANT_ADMIN),
    ),
    Table("fahrtenbuch", PRIMARY, _tenant(project=True, is_test=True, min_role=Role.MANDANT_ADMIN)),
    Table(
        "odometer_exchanges",
        PRIMARY,
        f"{_tenant(min_role=Role.MANDANT_ADMIN)}\n    AND "
        f"{_via('entities', 'w.slug = odometer_exchanges.entity')}",
    ),
    Table(
        "txn_document_links",
        PRIMARY,
        f"{_via('txn_master', 'w.id = txn_document_links.txn_id')}\n    AND "
        f"{_document('txn_document_links')}",
    ),
    Table("txn_transfers", PRIMARY, _via("txn_master", "w.id = txn_transfers.out_txn")),
    Table("txn_sightings", PRIMARY, _via("txn_master", "w.id = txn_sightings.txn_id")),
    Table(
        "bank_imports",
        PRIMARY,
        f"{_document('bank_imports')} OR (bank_imports.document_id IS NULL AND "
        f"{_tenant(entity=None, is_test=True, min_role=Role.MANDANT_ADMIN)})",
    ),
    Table("bank_statements", PRIMARY, _tenant(level=True, is_test=True)),
    Table("bank_pending", PRIMARY, _tenant(level=True, is_test=True)),
    Table("artefacts", PRIMARY, _tenant(level=True, is_test=True)),
    Table("artefact_sources", PRIMARY, _via("artefacts", "w.id = artefact_sources.artefact_id")),
)

INTERVAL_TABLES: dict[str, str] = {
    "fahrtenbuch": "project_code, purpose, document_id, provenance, check_status",
    "prf_timetrack": "description, document_id, provenance, check_status",
}
"""Tables that only their database function may write, and the columns that are no part of the
interval or its key, which the worker may still update (INTV-08)."""

INTERVAL_WRITERS = ("write_trips", "write_time_entries")
INTERVAL_FOLLOWERS = ("odometer_exchange_acts",)
"""Trigger functions that move rows of interval tables to where they belong, with the same check."""

BOOKKEEPING = frozenset({"alembic_version"})
"""Tables of the migration tool itself."""


def table(name: str) -> Table:
    """The declaration of one table; KeyError when it is not declared."""
    return next(t for t in TABLES if t.name == name)


def derived_tables() -> tuple[Table, ...]:
    """Tables that `tgv rebuild` truncates and fills again."""
    return tuple(t for t in TABLES if t.kind is Kind.DERIVED)
