"""Invariants of catalogue, source, learning and double counting: red on purpose, and green."""

from __future__ import annotations

import json

import pytest
from audit_builders import arrive, document, measure, sql

from tgv_dagster.audit.measures.code import fields_without_writer, mentions
from tgv_dagster.audit.measures.controls import gates_turn_red
from tgv_dagster.audit.register import gates
from tgv_dagster.audit.verdict import State, Verdict, green
from tgv_dagster.effect.dispatching import dispatch_documents
from tgv_dagster.effect.duplicates import Root, SweepChanged, duplicates, propose_sweep, sweep
from tgv_dagster.installation import Installation
from tgv_dagster.store.ledger import enqueue
from tgv_dagster.store.scope import Scope
from tgv_dagster.store.stages import Stage


def owner_sql(installation: Installation, *statements: str) -> None:
    """Statements of the owner of the database."""
    with installation.database.owner(autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


# --- gates and their controls ------------------------------------------------------------------


def test_the_bytes_of_every_used_gate_were_secured_first(installation: Installation) -> None:
    document(installation)
    verdict = measure(installation, "every_gate_secures_first")
    assert verdict.state is State.GREEN
    assert verdict.figures["gates_used"] == 1
    assert "folder" in str(verdict.figures["gates_unused"])


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE raw_items SET raw_key = 'sha256/00/00/elsewhere'",
        "UPDATE arrivals SET document_id = NULL",
        "UPDATE raw_items SET created_at = now() + interval '1 hour'",
    ],
)
def test_a_gate_that_writes_past_securing_is_named(installation: Installation, damage: str) -> None:
    document(installation)
    sql(installation, damage)
    verdict = measure(installation, "every_gate_secures_first")
    assert verdict.state is State.RED
    assert verdict.evidence[0].startswith("arrival:")


def test_every_gate_turns_red_when_shown_a_fault_and_nothing_of_it_stays(
    installation: Installation,
) -> None:
    before = sql(installation, "SELECT count(*) FROM mandanten")
    verdict = measure(installation, "gates_turn_red")
    assert verdict.state is State.GREEN
    assert verdict.figures["gates"] == len(gates())
    assert sql(installation, "SELECT count(*) FROM mandanten") == before
    assert sql(installation, "SELECT count(*) FROM documents") == [(0,)]


def test_a_blind_gate_is_red_and_one_without_control_says_nothing(
    installation: Installation,
) -> None:
    blind = gates_turn_red(installation, ["raw_first"], {"raw_first": lambda _: green("all fine")})
    assert (blind.state, blind.evidence) == (State.RED, ("gate:raw_first",))
    assert gates_turn_red(installation, ["raw_first", "new"]).state is State.UNMEASURED


# --- learning ----------------------------------------------------------------------------------


def rule(installation: Installation, **facts: str | None) -> None:
    row = {"scope": '{"mandant": "nord"}', "origin": '{"case": 1}', "state": "proposed",
           "approved_by": None} | facts  # fmt: skip
    sql(
        installation,
        "INSERT INTO pattern_rules (scope, origin, condition, effect, state, approved_by)"
        " VALUES (%s, %s, '{\"provider\": \"x\"}', '{\"entity\": \"nord-gmbh\"}', %s, %s)",
        row["scope"], row["origin"], row["state"], row["approved_by"],
    )  # fmt: skip


def test_a_learned_rule_with_scope_origin_and_approval_is_green(installation: Installation) -> None:
    rule(installation)
    rule(installation, state="approved", approved_by="anna")
    assert measure(installation, "learned_rules").state is State.GREEN


@pytest.mark.parametrize(
    "facts",
    [
        {"state": "approved", "approved_by": None},
        {"state": "approved", "approved_by": "the machine"},
        {"scope": "null"},
        {"origin": "null"},
    ],
)
def test_a_rule_in_force_without_a_person_or_an_origin_is_red(
    installation: Installation, facts: dict[str, str | None]
) -> None:
    rule(installation, **facts)
    assert measure(installation, "learned_rules").state is State.RED


# --- the catalogue -----------------------------------------------------------------------------


def test_tables_that_feed_figures_hide_test_rows(installation: Installation) -> None:
    """DEDUP-09: what feeds a figure knows test rows."""
    verdict = measure(installation, "test_rows_are_filtered")
    assert verdict.state is State.GREEN, verdict
    assert verdict.figures["tables_of_readers"]


def test_a_table_that_shows_its_test_rows_is_named(installation: Installation) -> None:
    owner_sql(
        installation,
        "CREATE TABLE turnover (amount int, mandant_id int)",
        "ALTER TABLE turnover ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY wall ON turnover FOR SELECT TO tgv_app USING (mandant_id = 1)",
    )
    verdict = measure(installation, "test_rows_are_filtered")
    assert (verdict.state, verdict.evidence) == (State.RED, ("table:turnover",))


def test_interval_tables_have_one_writer(installation: Installation) -> None:
    """FLOW-14: no second way past the comparison."""
    assert measure(installation, "intervals_have_one_writer").state is State.GREEN


@pytest.mark.parametrize(
    "statement",
    [
        "GRANT INSERT ON fahrtenbuch TO tgv_worker",
        "ALTER FUNCTION write_trips(jsonb, bigint[]) SECURITY INVOKER",
        "DROP FUNCTION write_time_entries(jsonb, bigint[])",
    ],
)
def test_a_second_door_to_an_interval_table_is_found(
    installation: Installation, statement: str
) -> None:
    owner_sql(installation, statement)
    assert measure(installation, "intervals_have_one_writer").state is State.RED


def put_trips(installation: Installation, *rows: tuple[int, int]) -> None:
    """Rows as an owner may write them, past the function."""
    for start, end in rows:
        owner_sql(
            installation,
            "INSERT INTO fahrtenbuch (entity, vehicle, trip_date, km_start, km_end, source)"
            f" VALUES ('nord-gmbh', 'HH-T 1', '2026-01-05', {start}, {end}, 'log')",
        )


def test_trips_that_fit_are_green_and_a_gap_is_counted(installation: Installation) -> None:
    put_trips(installation, (0, 10), (10, 20), (25, 30))
    verdict = measure(installation, "intervals_consistent")
    assert verdict.state is State.GREEN
    assert verdict.figures["trips_gaps"] == 1


def test_a_spanning_row_that_stands_already_is_found_afterwards(
    installation: Installation,
) -> None:
    put_trips(installation, (0, 151), (151, 302), (0, 302))
    verdict = measure(installation, "intervals_consistent")
    assert verdict.state is State.RED
    assert verdict.figures["trips_spanning"] == 1
    assert len(verdict.evidence) == 3


def test_a_contract_that_ends_before_it_begins_is_found(installation: Installation) -> None:
    number = document(installation, doc_type="contract")
    sql(
        installation,
        "INSERT INTO prf_contracts (document_id, entity, contract_start_date, contract_end_date)"
        " VALUES (%s, 'nord-gmbh', '2026-05-01', '2025-05-01')",
        number,
    )
    assert measure(installation, "intervals_consistent").state is State.RED
    sql(installation, "UPDATE prf_contracts SET contract_end_date = NULL")
    assert measure(installation, "intervals_consistent").state is State.GREEN


def old_statistics(installation: Installation) -> None:
    measure(installation, "raw_first")
    sql(installation, "UPDATE checkpoints SET counted_since = now() - interval '40 days'")


def test_an_index_says_nothing_before_statistics_are_old(installation: Installation) -> None:
    document(installation)
    assert measure(installation, "index_has_reader").state is State.UNMEASURED


def test_an_index_that_nobody_reads_is_named(installation: Installation) -> None:
    """ING-18, ING-19: an index without a reader is named."""
    document(installation)
    old_statistics(installation)
    owner_sql(
        installation,
        "CREATE INDEX nobody_reads_me ON documents (title)",
        "ANALYZE documents",
        "SELECT pg_stat_force_next_flush()",
    )
    verdict = measure(installation, "index_has_reader")
    assert verdict.state is State.RED
    assert "index:documents.nobody_reads_me" in verdict.evidence


def test_indexes_that_are_read_are_green(installation: Installation) -> None:
    old_statistics(installation)
    document(installation)
    unused = sql(
        installation,
        "SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class c ON c.oid = indrelid"
        " WHERE NOT indisunique AND c.relnamespace = 'public'::regnamespace"
        " AND indexrelid NOT IN (SELECT inhrelid FROM pg_inherits)",
    )
    owner_sql(installation, *(f"DROP INDEX {name}" for (name,) in unused))
    assert measure(installation, "index_has_reader").state is State.GREEN


# --- the source --------------------------------------------------------------------------------


def test_a_field_that_is_read_and_never_written_is_named() -> None:
    known = mentions([
        'run("SELECT orphan, kept FROM things")',
        'run("INSERT INTO things (kept) VALUES (1)")',
        'run(f"UPDATE things SET {column} = 1"); column = "by_list"',
        'run("SELECT by_list FROM things")',
        '_FIELDS = "by_constant"\nrun(f"INSERT INTO things ({_FIELDS}) VALUES (1)")',
        'run("SELECT by_constant FROM things")',
    ])  # fmt: skip
    columns = [("things", name) for name in ("orphan", "kept", "by_list", "by_constant", "unknown")]
    assert fields_without_writer(columns, known) == ("things.orphan",)


def test_a_field_without_writer_is_red_until_it_is_gone(
    installation: Installation,
) -> None:
    owner_sql(installation, "ALTER TABLE documents ADD COLUMN idx_scan integer")
    verdict = measure(installation, "field_has_writer")
    assert verdict.state is State.RED
    assert "field:documents.idx_scan" in verdict.evidence
    for name in verdict.evidence:
        table, column = name.removeprefix("field:").split(".")
        owner_sql(installation, f"ALTER TABLE {table} DROP COLUMN {column} CASCADE")
    assert measure(installation, "field_has_writer").state is State.GREEN


def test_a_registered_value_that_nobody_asks_for_is_named(installation: Installation) -> None:
    assert measure(installation, "registered_value_has_reader").state is State.GREEN
    sql(
        installation,
        "INSERT INTO tuning_values (key, value, owner, place, set_by)"
        " SELECT 'NOBODY_ASKS', value, owner, place, set_by FROM tuning_values LIMIT 1",
    )
    verdict = measure(installation, "registered_value_has_reader")
    assert (verdict.state, verdict.evidence) == (State.RED, ("tuning:NOBODY_ASKS",))


# --- double counting ---------------------------------------------------------------------------


def invoice(installation: Installation, number: str = "RE-4711", **facts: object) -> int:
    """An invoice with what the detectors compare."""
    made = document(installation, doc_type="invoice", **facts)
    sql(
        installation,
        "UPDATE documents SET amount_gross = 119, currency = 'EUR', invoice_date = '2026-03-01'"
        " WHERE id = %s",
        made,
    )
    sql(
        installation,
        "INSERT INTO document_values (document_id, field, value, origin, set_by, version)"
        " VALUES (%s, 'invoice_number', %s, 'machine', 'triage', '1')",
        made, number,
    )  # fmt: skip
    return made


def mail_of(installation: Installation, *documents: int) -> None:
    parent = arrive(installation).arrival_id
    sql(
        installation,
        "UPDATE arrivals SET parent_id = %s WHERE document_id = ANY (%s)",
        parent, list(documents),
    )  # fmt: skip


def roots(installation: Installation) -> list[tuple[int, int, Root]]:
    with installation.database.worker() as connection:
        return [(d.document_id, d.stays, d.root) for d in duplicates(connection)]


def test_the_same_invoice_as_other_bytes_is_found_with_its_reasons(
    installation: Installation,
) -> None:
    first, second = invoice(installation), invoice(installation, "re 4711")
    invoice(installation, "RE-4712")
    assert roots(installation) == [(second, first, Root.SAME_INVOICE)]
    with installation.database.worker() as connection:
        (found,) = duplicates(connection)
    assert "invoice_number" in found.reasons


def test_an_invoice_of_another_amount_or_tenant_is_none(installation: Installation) -> None:
    invoice(installation)
    other = invoice(installation)
    sql(installation, "UPDATE documents SET amount_gross = 1 WHERE id = %s", other)
    invoice(installation, entity="haus-sued")
    assert roots(installation) == []


def test_a_body_row_beside_its_attachment_is_found(installation: Installation) -> None:
    paper = invoice(installation)
    body = invoice(installation, file_class="mail_body", part_role="body")
    assert roots(installation) == []
    mail_of(installation, paper, body)
    assert roots(installation) == [(body, paper, Root.BODY_AND_ATTACHMENT)]


def test_the_same_bytes_in_two_rows_are_found(installation: Installation) -> None:
    first, second = document(installation), document(installation)
    sql(
        installation,
        "UPDATE documents SET part_role = 'body', raw_sha256 = (SELECT raw_sha256 FROM documents"
        " WHERE id = %s) WHERE id = %s",
        first, second,
    )  # fmt: skip
    assert roots(installation) == [(second, first, Root.SAME_BYTES)]


def dispatch(installation: Installation, *documents: int) -> None:
    with installation.database.worker() as connection:
        connection.execute("UPDATE documents SET dispatch_state = 'pending' WHERE id = ANY (%s)",
                           (list(documents),))  # fmt: skip
        enqueue(connection, Stage.DISPATCH, list(documents), again=True)
    dispatch_documents(installation.database, limit=10)


def states(installation: Installation) -> dict[int, tuple[str, str]]:
    rows = sql(installation, "SELECT id, state, dispatch_state FROM documents")
    return {row[0]: (row[1], row[2]) for row in rows}


def test_the_guard_holds_the_second_one_before_its_effect(installation: Installation) -> None:
    first, second = invoice(installation), invoice(installation)
    assert measure(installation, "nothing_is_counted_twice").state is State.RED
    dispatch(installation, first, second)
    assert states(installation) == {first: ("active", "done"), second: ("held", "pending")}
    cases = sql(installation, "SELECT evidence ->> 'gate', reason FROM cases")
    assert cases[0][0] == "approve_guard"
    assert str(first) in cases[0][1]
    verdict: Verdict = measure(installation, "nothing_is_counted_twice")
    assert (verdict.state, verdict.figures["held"]) == (State.GREEN, 1)


def test_what_a_person_released_is_no_duplicate_any_more(installation: Installation) -> None:
    first, second = invoice(installation), invoice(installation)
    dispatch(installation, first, second)
    sql(installation, "UPDATE cases SET state = 'released', decided_by = 'anna'")
    sql(
        installation,
        "UPDATE documents SET state = 'active', held_gate = NULL WHERE id = %s",
        second,
    )
    dispatch(installation, second)
    assert states(installation)[second] == ("active", "done")


def test_a_sweep_does_exactly_what_its_preview_said(installation: Installation) -> None:
    first, second = invoice(installation), invoice(installation)
    anna = Scope.for_principal(installation.database, "anna", source="test")
    preview = propose_sweep(installation.database, anna)
    assert [d.document_id for d in preview.duplicates] == [second]
    assert preview.documents == 2
    invoice(installation)
    with pytest.raises(SweepChanged):
        sweep(installation.database, installation.words, anna, preview.fingerprint)
    assert {state for state, _ in states(installation).values()} == {"active"}
    again = propose_sweep(installation.database, anna)
    sweep(installation.database, installation.words, anna, again.fingerprint)
    assert states(installation)[first][0] == "active"
    assert states(installation)[second][0] == "trashed"
    chunks = sql(installation, "SELECT DISTINCT document_id FROM rag_chunks")
    assert chunks == [(first,)]
    assert propose_sweep(installation.database, anna).duplicates == ()


def test_a_sweep_stays_inside_the_walls_of_its_reader(installation: Installation) -> None:
    for _ in range(2):
        invoice(installation)
    sven = Scope.for_principal(installation.database, "sven", source="test")
    assert propose_sweep(installation.database, sven).duplicates == ()
    assert json.dumps(propose_sweep(installation.database, sven).documents) == "0"
