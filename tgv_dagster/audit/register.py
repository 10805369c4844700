"""The one register of invariants: every checkpoint of the product, as data (CHAIN-10).

Dagster's asset checks, the intake chain page and the process graph read this list; no second list
of stations or checks exists. Statements, limits and remedies stand in `checkpoints.yaml`, one
entry per id in three languages; how something is measured stands in `measures`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path

import yaml

from tgv_dagster.audit.measures import (
    backups,
    bank,
    catalogue,
    code,
    columns,
    controls,
    duplicates,
    effects,
    filing,
    flow,
    intervals,
    knowledge,
    learning,
    learning_loop,
    mail,
    operations,
    raw,
    tables,
    texts,
)
from tgv_dagster.audit.measures.walls import canary_is_never_found
from tgv_dagster.audit.verdict import Verdict, unmeasured
from tgv_dagster.installation import Installation

Measure = Callable[[Installation], Verdict]


class Station(StrEnum):
    """The eight stations along the flow, in order (CHAIN-01)."""

    ARRIVAL = "arrival"
    RAW = "raw"
    TEXT = "text"
    TRIAGE = "triage"
    FILING = "filing"
    KNOWLEDGE = "knowledge"
    EFFECT = "effect"
    OPERATION = "operation"


class Severity(StrEnum):
    """How bad a red is: data may be lost, something is wrong, or somebody should look."""

    LOSS = "loss"
    FAULT = "fault"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class Text:
    """One sentence in the three languages of the product."""

    de: str
    fr: str
    en: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a checkpoint is found (CHAIN-02): the asset it judges and the guarding function.

    `function` is the dotted path of the code whose work is proven, None while it is not built.
    """

    asset: str
    function: str | None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One invariant.

    `stale_after` is its clock: an older measurement says nothing any more. `limit` is what the
    measurement cannot say, `remedy` what to do when it is red or unmeasured. A `gate` stops what
    stands behind its asset; `hold` sets single violating items aside before a gate is measured.
    `pictures` draws what was found, as SVG without words of documents.
    """

    id: str
    station: Station
    found_at: Place
    severity: Severity
    measure: Measure
    stale_after: timedelta
    statement: Text
    limit: Text
    remedy: Text
    gate: bool = False
    hold: Callable[[Installation], object] | None = None
    pictures: Callable[[Installation], tuple[str, ...]] | None = None


DAILY = timedelta(hours=36)
"""Measured every night; half a day of grace for a machine that slept."""

NOT_NAMED = "the owner has not named this feature"
LOST_OPS_FEATURES = 5
"""FLOW-18: features of the former pipeline that are to come back, named by the owner."""


def _texts() -> dict[str, tuple[Text, Text, Text]]:
    path = Path(__file__).with_name("checkpoints.yaml")
    entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {
        name: (Text(**entry["statement"]), Text(**entry["limit"]), Text(**entry["remedy"]))
        for name, entry in entries.items()
    }


_TEXTS = _texts()


def _checkpoint(
    name: str,
    station: Station,
    asset: str,
    function: str | None,
    measure: Measure,
    *,
    severity: Severity = Severity.FAULT,
    stale_after: timedelta = DAILY,
    gate: bool = False,
    hold: Callable[[Installation], object] | None = None,
    pictures: Callable[[Installation], tuple[str, ...]] | None = None,
    texts_of: str | None = None,
) -> Checkpoint:
    statement, limit, remedy = _TEXTS[texts_of or name]
    return Checkpoint(
        id=name,
        station=station,
        found_at=Place(asset, function),
        severity=severity,
        measure=measure,
        stale_after=stale_after,
        statement=statement,
        limit=limit,
        remedy=remedy,
        gate=gate,
        hold=hold,
        pictures=pictures,
    )


def _says_nothing(reason: str, _installation: Installation) -> Verdict:
    return unmeasured(reason)


def _gates_turn_red(installation: Installation) -> Verdict:
    return controls.gates_turn_red(installation, tuple(which.id for which in gates()))


_not_named = partial(_says_nothing, NOT_NAMED)


CHECKPOINTS: tuple[Checkpoint, ...] = (
    _checkpoint(
        "ledger_adds_up",
        Station.ARRIVAL,
        "raw_items",
        "tgv_dagster.store.ledger.complete",
        flow.ledger_adds_up,
        severity=Severity.LOSS,
    ),
    _checkpoint(
        "mailbox_balance",
        Station.ARRIVAL,
        "mail_fetched",
        "tgv_dagster.arrive.mail_balance.balance",
        mail.mailbox_balance,
        severity=Severity.LOSS,
    ),
    _checkpoint(
        "body_row_events",
        Station.ARRIVAL,
        "mail_parts",
        "tgv_dagster.arrive.mails.split_mails",
        mail.body_row_events,
        severity=Severity.NOTICE,
    ),
    _checkpoint(
        "raw_first",
        Station.RAW,
        "documents",
        "tgv_dagster.understand.entering.require_raw",
        raw.raw_first,
        severity=Severity.LOSS,
        gate=True,
        hold=raw.hold_lost_documents,
    ),
    _checkpoint(
        "mail_raw_first",
        Station.RAW,
        "mail_parts",
        "tgv_dagster.arrive.mail_ledger.secured",
        mail.mail_raw_first,
        severity=Severity.LOSS,
    ),
    _checkpoint(
        "invoice_without_file",
        Station.RAW,
        "documents",
        "tgv_dagster.understand.entering.enter_documents",
        mail.invoice_without_file,
    ),
    _checkpoint(
        "every_gate_secures_first",
        Station.RAW,
        "raw_items",
        "tgv_dagster.arrive.raw.save_raw",
        raw.every_gate_secures_first,
        severity=Severity.LOSS,
    ),
    _checkpoint(
        "save_raw_only_writer",
        Station.RAW,
        "raw_items",
        "tgv_dagster.arrive.raw.save_raw",
        raw.save_raw_only_writer,
        severity=Severity.LOSS,
    ),
    _checkpoint(
        "bytes_hash_to_name",
        Station.RAW,
        "raw_items",
        "tgv_dagster.store.blobs.BlobStore.verify",
        raw.bytes_hash_to_name,
        severity=Severity.LOSS,
    ),
    _checkpoint(
        "every_row_has_file",
        Station.RAW,
        "documents",
        "tgv_dagster.understand.entering.enter_documents",
        raw.every_row_has_file,
        severity=Severity.LOSS,
    ),
    _checkpoint(
        "storage_region",
        Station.RAW,
        "raw_items",
        "tgv_dagster.store.blobs.region_standing",
        raw.storage_region,
    ),
    _checkpoint(
        "text_for_every_document",
        Station.TEXT,
        "extracted_texts",
        "tgv_dagster.understand.extracting.write_extraction",
        texts.text_for_every_document,
    ),
    _checkpoint(
        "triage_complete",
        Station.TRIAGE,
        "documents",
        "tgv_dagster.understand.entering.enter_documents",
        texts.triage_complete,
    ),
    _checkpoint(
        "columns_documents",
        Station.TRIAGE,
        "documents",
        "tgv_dagster.understand.entering.enter_documents",
        columns.suite_holds("documents"),
    ),
    _checkpoint(
        "human_values_survive",
        Station.TRIAGE,
        "document_details",
        "tgv_dagster.understand.values.write_values",
        texts.human_values_survive,
        severity=Severity.LOSS,
    ),
    _checkpoint(
        "learning_capture",
        Station.TRIAGE,
        "documents",
        "tgv_dagster.understand.values.set_human_value",
        learning_loop.learning_capture,
    ),
    _checkpoint(
        "learning_condensed",
        Station.TRIAGE,
        "documents",
        "tgv_dagster.clarify.condensing.propose_rules",
        learning_loop.learning_condensed,
    ),
    _checkpoint(
        "learning_read_back",
        Station.TRIAGE,
        "documents",
        "tgv_dagster.understand.learned.load_learned",
        learning_loop.learning_read_back,
    ),
    _checkpoint(
        "entity_in_vocabulary",
        Station.FILING,
        "filed_documents",
        "tgv_dagster.store.organisation.import_organisation",
        filing.entity_in_vocabulary,
    ),
    _checkpoint(
        "level_known",
        Station.FILING,
        "filed_documents",
        "tgv_dagster.store.levels.rank_of",
        filing.level_known,
    ),
    _checkpoint(
        "learned_rules",
        Station.FILING,
        "filed_documents",
        None,
        learning.learned_rules_have_scope_and_origin,
    ),
    _checkpoint(
        "walls",
        Station.FILING,
        "filed_documents",
        "tgv_dagster.store.walls.predicate_sql",
        canary_is_never_found,
        severity=Severity.LOSS,
    ),
    _checkpoint(
        "no_test_row_reaches_a_figure",
        Station.FILING,
        "filed_documents",
        "tgv_dagster.store.walls.predicate_sql",
        filing.no_test_row_reaches_a_figure,
    ),
    _checkpoint(
        "test_rows_are_filtered",
        Station.FILING,
        "filed_documents",
        "tgv_dagster.store.walls.predicate_sql",
        catalogue.test_rows_are_filtered,
    ),
    _checkpoint(
        "columns_rag_chunks",
        Station.KNOWLEDGE,
        "rag_chunks",
        "tgv_dagster.know.chunks.cut",
        columns.suite_holds("rag_chunks"),
    ),
    _checkpoint(
        "chunk_count",
        Station.KNOWLEDGE,
        "rag_chunks",
        "tgv_dagster.know.chunks.cut",
        knowledge.chunk_count,
    ),
    _checkpoint(
        "vectors_equal_windows",
        Station.KNOWLEDGE,
        "chunk_vectors",
        "tgv_dagster.know.chunks.cut",
        knowledge.vectors_equal_windows,
    ),
    _checkpoint(
        "index_equals_chunks",
        Station.KNOWLEDGE,
        "word_index",
        "tgv_dagster.know.words.WordIndex.identities",
        knowledge.index_equals_chunks,
    ),
    _checkpoint(
        "nothing_is_counted_twice",
        Station.EFFECT,
        "dispatched_documents",
        "tgv_dagster.effect.duplicates.guard_effect",
        duplicates.nothing_is_counted_twice,
    ),
    _checkpoint(
        "intervals_consistent",
        Station.EFFECT,
        "dispatched_documents",
        "tgv_dagster.intervals.writing.write",
        intervals.intervals_consistent,
        pictures=intervals.pictures,
    ),
    _checkpoint(
        "intervals_have_one_writer",
        Station.EFFECT,
        "dispatched_documents",
        "tgv_dagster.store.migrate.rights_statements",
        catalogue.intervals_have_one_writer,
    ),
    _checkpoint(
        "columns_contracts",
        Station.EFFECT,
        "document_details",
        "tgv_dagster.understand.values.write_values",
        columns.suite_holds("contracts"),
    ),
    _checkpoint(
        "columns_transactions",
        Station.EFFECT,
        "dispatched_documents",
        "tgv_dagster.store.ledger.complete",
        columns.suite_holds("transactions"),
    ),
    _checkpoint(
        "columns_trips",
        Station.EFFECT,
        "dispatched_documents",
        "tgv_dagster.intervals.writing.write",
        columns.suite_holds("trips"),
    ),
    _checkpoint(
        "dispatch_states",
        Station.EFFECT,
        "dispatched_documents",
        "tgv_dagster.store.ledger.complete",
        effects.dispatch_states,
    ),
    _checkpoint(
        "stamp_after_entry",
        Station.EFFECT,
        "seen_stamps",
        "tgv_dagster.effect.seen_stamps.judge",
        mail.stamp_after_entry,
        severity=Severity.LOSS,
    ),
    _checkpoint(
        "table_imports_whole",
        Station.EFFECT,
        "tables_recognised",
        "tgv_dagster.tables.importing.import_rows",
        tables.imports_are_whole,
    ),
    _checkpoint(
        "rows_follow_their_project",
        Station.EFFECT,
        "tables_recognised",
        "tgv_dagster.tables.projects.allowed_projects",
        tables.rows_follow_their_project,
    ),
    _checkpoint(
        "class_two_writes_nothing",
        Station.EFFECT,
        "tables_recognised",
        "tgv_dagster.tables.deeds.basis_of",
        tables.class_two_writes_nothing,
    ),
    _checkpoint(
        "no_table_is_skipped",
        Station.EFFECT,
        "tables_recognised",
        "tgv_dagster.tables.flowing.take_tables",
        tables.no_table_is_skipped,
    ),
    _checkpoint(
        "bank_balances",
        Station.EFFECT,
        "bank_transactions",
        "tgv_dagster.bank.importing.import_bank_file",
        bank.bank_balances,
        severity=Severity.LOSS,
    ),
    _checkpoint(
        "bank_coverage",
        Station.EFFECT,
        "bank_transactions",
        "tgv_dagster.bank.chain.broken_chain",
        bank.bank_coverage,
        severity=Severity.NOTICE,
    ),
    _checkpoint(
        "bank_duplicates",
        Station.EFFECT,
        "bank_transactions",
        "tgv_dagster.bank.overlap.compare",
        bank.bank_duplicates,
    ),
    _checkpoint(
        "bank_links_in_bounds",
        Station.EFFECT,
        "bank_links",
        "tgv_dagster.bank.matching.propose_links",
        bank.bank_links_in_bounds,
    ),
    _checkpoint(
        "parked_ages",
        Station.OPERATION,
        "open_cases",
        "tgv_dagster.store.cases.open_case",
        operations.parked_ages,
        severity=Severity.NOTICE,
    ),
    _checkpoint(
        "gates_turn_red",
        Station.OPERATION,
        "flow_report",
        "tgv_dagster.audit.measures.controls.gates_turn_red",
        _gates_turn_red,
        severity=Severity.LOSS,
    ),
    _checkpoint(
        "events_chain",
        Station.OPERATION,
        "flow_report",
        "tgv_dagster.store.events.record",
        operations.events_chain,
    ),
    _checkpoint(
        "tuning_values_measured",
        Station.OPERATION,
        "flow_report",
        None,
        operations.tuning_values_measured,
        severity=Severity.NOTICE,
    ),
    _checkpoint(
        "registered_value_has_reader",
        Station.OPERATION,
        "flow_report",
        "tgv_dagster.store.tuning.seed",
        code.registered_value_has_reader,
        severity=Severity.NOTICE,
    ),
    _checkpoint(
        "field_has_writer",
        Station.OPERATION,
        "flow_report",
        None,
        code.field_has_writer,
        severity=Severity.NOTICE,
    ),
    _checkpoint(
        "index_has_reader",
        Station.OPERATION,
        "flow_report",
        None,
        catalogue.index_without_reader,
        severity=Severity.NOTICE,
    ),
    _checkpoint(
        "backups_restorable",
        Station.OPERATION,
        "raw_items",
        "tgv_dagster.backup.rehearse",
        backups.backups_restorable,
        severity=Severity.LOSS,
    ),
    *(
        _checkpoint(
            f"lost_ops_feature_{number}",
            Station.OPERATION,
            "flow_report",
            None,
            _not_named,
            severity=Severity.NOTICE,
            texts_of="lost_ops_feature",
        )
        for number in range(1, LOST_OPS_FEATURES + 1)
    ),
)


def checkpoint(name: str) -> Checkpoint:
    """The checkpoint of this id; KeyError when the register has none."""
    for which in CHECKPOINTS:
        if which.id == name:
            return which
    raise KeyError(name)


def gates() -> tuple[Checkpoint, ...]:
    """The checkpoints that stop what stands behind them."""
    return tuple(which for which in CHECKPOINTS if which.gate)
