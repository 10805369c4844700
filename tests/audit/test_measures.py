"""Every checkpoint turns red on purpose, is green on good data, unmeasured when it cannot say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from audit_builders import arrive, document, measure, place_of_bytes, remove_bytes, sql

from tgv_dagster.audit.register import CHECKPOINTS, LOST_OPS_FEATURES
from tgv_dagster.audit.verdict import State
from tgv_dagster.installation import Installation
from tgv_dagster.know.spaces import ensure_spaces
from tgv_dagster.know.wording import rebuild_words
from tgv_dagster.store import migrate
from tgv_dagster.store.blobs import resolve
from tgv_dagster.store.cases import CaseKind, NewCase, SubjectKind, open_case
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.ledger import enqueue
from tgv_dagster.store.stages import Stage
from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.values import set_human_value, show_on_document

Break = Callable[[Installation, int], None]


def _break(query: str) -> Break:
    """Damage one document by a statement with the document id as its only parameter."""

    def damage(installation: Installation, document_id: int) -> None:
        sql(installation, query, *([document_id] * query.count("%s")))

    return damage


def _decided(installation: Installation, document_id: int) -> None:
    with installation.database.worker() as connection:
        set_human_value(connection, document_id, Field.PROVIDER, "Holzkontor", by="anna")
        show_on_document(connection, document_id)


def _flip_a_byte(installation: Installation, document_id: int) -> None:
    path = _file(installation, document_id)
    path.chmod(0o600)
    path.write_bytes(b"x" + path.read_bytes()[1:])


def _file(installation: Installation, document_id: int) -> Path:
    bucket, key = place_of_bytes(installation, document_id)
    return installation.settings.home / "blobs" / bucket / key


def _row_without_arrival(installation: Installation, document_id: int) -> None:
    """Somebody writes bytes and rows past `save_raw`: neither gate nor arrival knows them."""
    sql(installation, "UPDATE arrivals SET document_id = NULL WHERE document_id = %s", document_id)


def _unmarked_case(installation: Installation, document_id: int) -> None:
    sql(installation, "UPDATE documents SET is_test = true WHERE id = %s", document_id)
    with installation.database.worker() as connection:
        open_case(
            connection,
            NewCase(
                CaseKind.UNKNOWN, SubjectKind.DOCUMENT, "1", "unmarked", "t",
                document_id=document_id,
            ),
        )  # fmt: skip


def _parked_long_ago(installation: Installation, document_id: int) -> None:
    with installation.database.worker() as connection:
        open_case(
            connection,
            NewCase(
                CaseKind.PARKED, SubjectKind.DOCUMENT, str(document_id), "no text", "t",
                document_id=document_id,
            ),
        )  # fmt: skip
        connection.execute("UPDATE cases SET created_at = now() - interval '15 days'")


def _forged_event(installation: Installation, document_id: int) -> None:
    with installation.database.worker() as connection:
        for number in range(3):
            record(connection, Event("tried", "t", f"document:{document_id}", str(number)))
    with installation.database.owner() as connection:
        connection.execute("ALTER TABLE agent_events DISABLE TRIGGER ALL")
        connection.execute("UPDATE agent_events SET payload_hash = 'forged' WHERE id = 2")


def _both(first: Break, second: Break) -> Break:
    def damage(installation: Installation, document_id: int) -> None:
        first(installation, document_id)
        second(installation, document_id)

    return damage


NOTHING: Break = _break("SELECT 1")

RED: list[tuple[str, str, Break]] = [
    ("ledger_adds_up", "pending without a ledger row", _break(
        "UPDATE arrivals SET outcome = 'pending' WHERE document_id = %s")),
    ("ledger_adds_up", "parked and listed nowhere", _break(
        "UPDATE arrivals SET outcome = 'parked' WHERE document_id = %s")),
    ("ledger_adds_up", "ended without a reason", _break(
        "UPDATE arrivals SET outcome = 'blocked', outcome_reason = NULL WHERE document_id = %s")),
    ("ledger_adds_up", "document fell out between two steps", _break(
        "DELETE FROM flow_ledger WHERE stage = 'dispatch' AND subject_id = %s")),
    ("ledger_adds_up", "document row gone", _both(
        _break("DELETE FROM rag_chunks WHERE document_id = %s"),
        _break("DELETE FROM documents WHERE id = %s"))),
    ("raw_first", "row without an arrival", _row_without_arrival),
    ("raw_first", "pointer to other bytes", _break(
        "UPDATE documents SET raw_sha256 = repeat('a', 64) WHERE id = %s")),
    ("raw_first", "pointer to another place", _break(
        "UPDATE documents SET storage_bucket = 'elsewhere' WHERE id = %s")),
    ("raw_first", "bytes gone", remove_bytes),
    ("raw_first", "bytes changed", _flip_a_byte),
    ("save_raw_only_writer", "bytes gone", remove_bytes),
    ("save_raw_only_writer", "row gone", _both(
        _break("UPDATE documents SET raw_item_id = NULL, file_class = 'mail_body' WHERE id = %s"),
        _both(_break("DELETE FROM arrivals WHERE document_id = %s"),
              _break("DELETE FROM raw_items WHERE id NOT IN (SELECT raw_item_id FROM arrivals)")))),
    ("bytes_hash_to_name", "bytes gone", remove_bytes),
    ("bytes_hash_to_name", "bytes changed", _flip_a_byte),
    ("every_row_has_file", "invoice without file", _break(
        "UPDATE documents SET file_class = 'mail_body', doc_type = 'invoice' WHERE id = %s")),
    ("every_row_has_file", "neither file nor text", _break(
        "WITH gone AS (DELETE FROM extractions) UPDATE documents SET file_class = 'mail_body'"
        " WHERE id = %s")),
    ("every_row_has_file", "file lost", _break(
        "UPDATE raw_items r SET state = 'missing' FROM documents d"
        " WHERE d.raw_item_id = r.id AND d.id = %s")),
    ("text_for_every_document", "never read", _break("DELETE FROM extractions")),
    ("text_for_every_document", "no text and no reason", _break(
        "UPDATE extractions SET characters = 0, reason = NULL")),
    ("triage_complete", "no language and nobody asked", _break(
        "DELETE FROM document_values WHERE field = 'language' AND document_id = %s")),
    ("human_values_survive", "decision switched off", _both(_decided, _break(
        "UPDATE document_values SET active = false WHERE origin = 'human' AND document_id = %s"))),
    ("human_values_survive", "machine value shown instead", _both(_decided, _break(
        "UPDATE documents SET provider = 'somebody else' WHERE id = %s"))),
    ("entity_in_vocabulary", "unknown project", _break(
        "UPDATE documents SET project_code = 'P-404' WHERE id = %s")),
    ("entity_in_vocabulary", "filed without entity", _break(
        "UPDATE documents SET entity = NULL WHERE id = %s")),
    ("level_known", "word of another ladder", _break(
        "UPDATE documents SET confidentiality_level = 'top secret' WHERE id = %s")),
    ("level_known", "filed without level", _break(
        "UPDATE documents SET confidentiality_level = NULL WHERE id = %s")),
    ("no_test_row_reaches_a_figure", "unmarked case of a test document", _unmarked_case),
    ("no_test_row_reaches_a_figure", "unmarked document of a test entity", _break(
        "UPDATE entities SET is_test = true WHERE slug = 'nord-gmbh'")),
    ("chunk_count", "chunks gone", _break("DELETE FROM rag_chunks WHERE document_id = %s")),
    ("chunk_count", "gap in the text", _break(
        "UPDATE rag_chunks SET core_start = 3 WHERE document_id = %s")),
    ("chunk_count", "text longer than its chunks", _break(
        "UPDATE extractions SET characters = characters + 10")),
    ("dispatch_states", "failed", _break(
        "UPDATE documents SET dispatch_state = 'failed' WHERE id = %s")),
    ("dispatch_states", "waiting unnoticed", _break(
        "UPDATE documents SET dispatch_state = 'pending', updated_at = now() - interval '2 days'"
        " WHERE id = %s")),
    ("parked_ages", "older than the limit", _parked_long_ago),
    ("events_chain", "forged payload", _forged_event),
    ("tuning_values_measured", "fallback deviates", _break(
        "UPDATE tuning_values SET value = '15' WHERE key = 'P_TOP_K'")),
    ("tuning_values_measured", "without owner", _break(
        "UPDATE tuning_values SET owner = ' ' WHERE key = 'P_TOP_K'")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "damage"),
    [pytest.param(name, damage, id=f"{name}-{case}") for name, case, damage in RED],
)
def test_a_broken_fixture_turns_it_red(
    installation: Installation, name: str, damage: Break
) -> None:
    document(installation)
    broken = document(installation)
    damage(installation, broken)
    verdict = measure(installation, name)
    assert verdict.state is State.RED, verdict
    if verdict.evidence:
        assert all(":" in item for item in verdict.evidence)


GOOD: list[tuple[str, Break]] = [
    ("ledger_adds_up", NOTHING),
    ("raw_first", NOTHING),
    ("save_raw_only_writer", NOTHING),
    ("bytes_hash_to_name", NOTHING),
    ("every_row_has_file", NOTHING),
    ("text_for_every_document", NOTHING),
    ("triage_complete", NOTHING),
    ("human_values_survive", _decided),
    ("entity_in_vocabulary", NOTHING),
    ("level_known", NOTHING),
    ("walls", NOTHING),
    ("no_test_row_reaches_a_figure", _break(
        "INSERT INTO mandanten (slug, name, is_test) VALUES ('probe', 'probe', true)")),
    ("chunk_count", NOTHING),
    ("dispatch_states", NOTHING),
    ("parked_ages", NOTHING),
    ("events_chain", NOTHING),
    ("tuning_values_measured", NOTHING),
]  # fmt: skip


@pytest.mark.parametrize(("name", "prepare"), GOOD, ids=[name for name, _ in GOOD])
def test_good_data_is_green(installation: Installation, name: str, prepare: Break) -> None:
    last = [document(installation) for _ in range(2)][-1]
    prepare(installation, last)
    verdict = measure(installation, name)
    assert verdict.state is State.GREEN, verdict
    assert verdict.figures


def test_every_green_checkpoint_has_a_red_case() -> None:
    covered = {name for name, *_ in RED} | {
        "walls", "storage_region", "index_equals_chunks", "vectors_equal_windows"
    } | MAIL | OF_THE_CATALOGUE | LEARNING | OF_TABLES | OF_BANK  # fmt: skip
    built = {which.id for which in CHECKPOINTS} - _NOT_NAMED
    assert covered == built


OF_BANK = {"bank_balances", "bank_coverage", "bank_duplicates", "bank_links_in_bounds"}
"""Shown green and red in tests/bank/test_bank_measures."""

OF_TABLES = {
    "table_imports_whole", "rows_follow_their_project", "class_two_writes_nothing",
    "no_table_is_skipped",
}  # fmt: skip
"""Shown green and red in tests/tables/test_table_measures."""

LEARNING = {"learning_capture", "learning_condensed", "learning_read_back"}
"""Shown green and red in test_learning_measures."""

MAIL = {
    "mailbox_balance", "body_row_events", "mail_raw_first", "invoice_without_file",
    "stamp_after_entry",
}  # fmt: skip
"""Shown green and red in test_mail_measures."""

OF_THE_CATALOGUE = {
    "every_gate_secures_first", "learned_rules", "test_rows_are_filtered", "gates_turn_red",
    "intervals_consistent", "intervals_have_one_writer", "nothing_is_counted_twice",
    "field_has_writer", "index_has_reader", "registered_value_has_reader", "backups_restorable",
    "columns_documents", "columns_rag_chunks", "columns_contracts", "columns_transactions",
    "columns_trips",
}  # fmt: skip
"""Shown green and red in test_catalogue_measures, test_backup and test_columns."""

_NOT_NAMED = {f"lost_ops_feature_{number}" for number in range(1, LOST_OPS_FEATURES + 1)}


@pytest.mark.parametrize("name", sorted(_NOT_NAMED))
def test_what_nobody_named_is_unmeasured(installation: Installation, name: str) -> None:
    document(installation)
    verdict = measure(installation, name)
    assert verdict.state is State.UNMEASURED
    assert verdict.reason


MEASURED_WITHOUT_DOCUMENTS = {
    "test_rows_are_filtered", "gates_turn_red", "intervals_have_one_writer", "field_has_writer",
    "registered_value_has_reader",
}  # fmt: skip
"""They judge the catalogue, the source or a canary, which are there from the start."""

EMPTY_IS_UNMEASURED = sorted(
    {which.id for which in CHECKPOINTS}
    - {"raw_first", "parked_ages", "walls", "events_chain", "tuning_values_measured"}
    - MEASURED_WITHOUT_DOCUMENTS
)


@pytest.mark.parametrize("name", EMPTY_IS_UNMEASURED)
def test_an_empty_installation_says_nothing(installation: Installation, name: str) -> None:
    assert measure(installation, name).state is State.UNMEASURED


# --- single facts ------------------------------------------------------------------------------


def test_a_row_around_the_gate_is_systemic_and_lost_bytes_are_not(
    installation: Installation,
) -> None:
    lost, bypassed = document(installation), document(installation)
    remove_bytes(installation, lost)
    held = measure(installation, "raw_first")
    assert held.state is State.RED
    assert held.opens_gate
    assert held.evidence == (f"document:{lost}",)

    _row_without_arrival(installation, bypassed)
    systemic = measure(installation, "raw_first")
    assert not systemic.opens_gate
    assert f"document:{bypassed}" in systemic.evidence


def test_a_document_with_lost_bytes_is_held_with_a_case_and_leaves_the_index(
    installation: Installation,
) -> None:
    lost, other = document(installation), document(installation)
    remove_bytes(installation, lost)
    measure(installation, "raw_first")
    measure(installation, "raw_first")
    states = dict(sql(installation, "SELECT id, state FROM documents"))
    assert states == {lost: "held", other: "active"}
    cases = sql(installation, "SELECT document_id FROM cases WHERE kind = 'parked'")
    assert cases == [(lost,)]
    chunks = sql(installation, "SELECT DISTINCT document_id FROM rag_chunks")
    assert chunks == [(other,)]
    due = sql(
        installation, "SELECT subject_id FROM flow_ledger WHERE stage = 'words' AND state='pending'"
    )
    assert due == [(lost,)]


def test_a_body_without_file_is_counted_and_allowed(installation: Installation) -> None:
    document(installation, file_class="mail_body", part_role="body", doc_type="letter")
    verdict = measure(installation, "every_row_has_file")
    assert verdict.state is State.GREEN
    assert verdict.figures["body_without_file_allowed"] == 1


def test_erased_bytes_are_an_outcome_of_their_own(installation: Installation) -> None:
    erased = document(installation)
    remove_bytes(installation, erased)
    sql(installation, "UPDATE raw_items SET state = 'erased'")
    for name in ("raw_first", "every_row_has_file"):
        verdict = measure(installation, name)
        assert verdict.state is State.GREEN, name
        assert verdict.figures["erased"] == 1


def test_bytes_without_a_row_are_found(installation: Installation, tmp_path: Path) -> None:
    document(installation)
    stray = tmp_path / "stray"
    stray.write_bytes(b"written past the gate")
    installation.blobs.put("nord-gmbh", stray)
    verdict = measure(installation, "save_raw_only_writer")
    assert verdict.state is State.RED
    assert verdict.figures["bytes_without_row"] == 1


def test_an_arrival_that_waits_for_its_step_is_no_loss(installation: Installation) -> None:
    arrive(installation)
    verdict = measure(installation, "ledger_adds_up")
    assert verdict.state is State.GREEN
    assert verdict.figures["open"] == 1


def test_the_sample_goes_on_where_it_ended(installation: Installation) -> None:
    first, second = document(installation), document(installation)
    sql(installation, "UPDATE raw_items SET verified_at = now() - interval '90 days'")
    verdict = measure(installation, "bytes_hash_to_name")
    assert verdict.figures["read_now"] == 2
    assert "stored_unverified_for_a_month" not in verdict.figures
    assert {first, second} == {row[0] for row in sql(installation, "SELECT id FROM documents")}


@pytest.mark.parametrize(
    ("region", "state"),
    [
        ("de", State.GREEN),
        ("hetzner:nbg1", State.GREEN),
        ("us", State.RED),
        ("local", State.UNMEASURED),
        ("", State.UNMEASURED),
    ],
)
def test_the_region_of_the_store(installation: Installation, region: str, state: State) -> None:
    installation.blobs = resolve(installation.settings.blob_target, region=region or None)
    assert measure(installation, "storage_region").state is state


def test_an_open_wall_is_found_by_the_canary(installation: Installation) -> None:
    with installation.database.owner() as connection:
        connection.execute("CREATE POLICY hole ON documents FOR SELECT TO tgv_app USING (true)")
    verdict = measure(installation, "walls")
    assert verdict.state is State.RED
    assert "session:no_session" in verdict.evidence


def test_a_table_whose_policies_are_off_is_found(installation: Installation) -> None:
    with installation.database.owner() as connection:
        connection.execute("ALTER TABLE cases NO FORCE ROW LEVEL SECURITY")
    verdict = measure(installation, "walls")
    assert verdict.state is State.RED
    assert verdict.evidence == ("table:cases",)


HOLES = [
    ("DROP POLICY wall ON cases; CREATE POLICY wall ON cases USING (true)", "table:cases"),
    ("ALTER POLICY wall ON document_values USING (true)", "table:document_values"),
    ("ALTER POLICY wall ON cases USING (current_setting('tgv.role', true) IS NOT NULL)",
     "table:cases"),
    ("CREATE POLICY extra ON txn_master FOR SELECT TO PUBLIC USING (true)", "table:txn_master"),
    ("CREATE POLICY extra ON documents FOR UPDATE TO tgv_app USING (true)", "table:documents"),
    ("DROP POLICY wall ON cards", "table:cards"),
    ("GRANT UPDATE ON documents TO tgv_app", "relation:documents"),
    ("CREATE VIEW leak AS SELECT * FROM documents; GRANT SELECT ON leak TO tgv_app",
     "relation:leak"),
    ("CREATE TABLE leak AS SELECT * FROM documents; GRANT SELECT (id) ON leak TO tgv_app",
     "relation:leak"),
    ("CREATE MATERIALIZED VIEW leak AS SELECT * FROM documents; GRANT SELECT ON leak TO tgv_app",
     "relation:leak"),
    ("CREATE FUNCTION leak() RETURNS SETOF documents LANGUAGE sql SECURITY DEFINER"
     " AS 'SELECT * FROM documents'", "function:leak"),
]  # fmt: skip
"""Holes in a wall that the canary's own two tables do not show, and what names each."""


@pytest.mark.parametrize(("hole", "named"), HOLES, ids=[hole[:40] for hole, _ in HOLES])
def test_a_hole_in_any_wall_is_named_and_a_restart_closes_those_of_tables(
    installation: Installation, hole: str, named: str
) -> None:
    document(installation)
    with installation.database.owner(autocommit=True) as connection:
        connection.execute(hole.encode())
    verdict = measure(installation, "walls")
    assert verdict.state is State.RED
    assert verdict.evidence == (named,)

    migrate.upgrade(installation.database.url)
    again = measure(installation, "walls")
    assert again.state is (State.RED if named.startswith("function:") else State.GREEN), again


def test_a_restart_sets_the_rights_of_interval_tables_and_changes_nothing_twice(
    installation: Installation,
) -> None:
    with installation.database.owner(autocommit=True) as connection:
        connection.execute("GRANT INSERT ON fahrtenbuch TO tgv_worker")
    assert measure(installation, "intervals_have_one_writer").state is State.RED
    migrate.upgrade(installation.database.url)
    assert measure(installation, "intervals_have_one_writer").state is State.GREEN
    set_by = "SELECT array_agg(oid ORDER BY oid) FROM pg_policy"
    before = sql(installation, set_by)
    migrate.upgrade(installation.database.url)
    assert sql(installation, set_by) == before


def test_walls_without_a_positive_control_say_nothing(installation: Installation) -> None:
    with installation.database.owner() as connection:
        connection.execute("DROP POLICY wall ON rag_chunks")
    assert measure(installation, "walls").state is State.UNMEASURED


def test_a_leak_is_red_although_the_positive_control_fails(installation: Installation) -> None:
    with installation.database.owner() as connection:
        connection.execute("DROP POLICY wall ON rag_chunks")
        connection.execute("CREATE POLICY hole ON documents FOR SELECT TO tgv_app USING (true)")
    assert measure(installation, "walls").state is State.RED


def test_the_canary_leaves_nothing_behind(installation: Installation) -> None:
    before = sql(installation, "SELECT count(*), max(id) FROM mandanten")
    measure(installation, "walls")
    assert sql(installation, "SELECT count(*), max(id) FROM mandanten") == before
    assert sql(installation, "SELECT count(*) FROM documents") == [(0,)]


def test_an_unanswering_store_is_unmeasured_never_red(installation: Installation) -> None:
    document(installation)
    away = installation.settings.home / "blobs"
    away.rename(away.with_name("unmounted"))
    for name in ("bytes_hash_to_name", "save_raw_only_writer", "raw_first"):
        verdict = measure(installation, name)
        assert verdict.state is State.UNMEASURED, (name, verdict)


# --- indexes -----------------------------------------------------------------------------------


def _indexed(installation: Installation) -> tuple[int, int]:
    """Two documents whose chunks stand in the word index."""
    both = document(installation), document(installation)
    rebuild_words(installation.database, installation.words)
    return both


def test_an_index_that_holds_the_chunks_is_green(installation: Installation) -> None:
    _indexed(installation)
    verdict = measure(installation, "index_equals_chunks")
    assert verdict.state is State.GREEN, verdict
    assert verdict.figures["compared_word_by_word"] == 2


def test_a_chunk_the_index_does_not_hold_is_red(installation: Installation) -> None:
    _indexed(installation)
    document(installation)
    assert measure(installation, "index_equals_chunks").state is State.RED


def test_a_wall_that_moved_behind_the_index_is_red(installation: Installation) -> None:
    first, _ = _indexed(installation)
    sql(
        installation,
        "UPDATE rag_chunks SET confidentiality_level = 'vertraulich' WHERE document_id = %s",
        first,
    )
    verdict = measure(installation, "index_equals_chunks")
    assert verdict.state is State.RED
    assert verdict.evidence == (f"document:{first}",)


def test_a_damaged_file_of_the_index_is_red(installation: Installation) -> None:
    _indexed(installation)
    current = installation.settings.index_path / "current"
    store = next(path for path in current.resolve().iterdir() if path.suffix == ".term")
    content = bytearray(store.read_bytes())
    content[len(content) // 4] ^= 0xFF
    store.write_bytes(bytes(content))
    verdict = measure(installation, "index_equals_chunks")
    assert verdict.state is State.RED
    assert verdict.figures["damaged_files"] == 1


def test_documents_that_wait_for_the_index_say_nothing(installation: Installation) -> None:
    first, _ = _indexed(installation)
    with installation.database.worker() as connection:
        enqueue(connection, Stage.WORDS, [first], again=True)
    assert measure(installation, "index_equals_chunks").state is State.UNMEASURED


def _embedded(installation: Installation) -> int:
    """A document whose only window has a vector in the active space."""
    document_id = document(installation)
    sql(
        installation,
        """
        INSERT INTO chunk_vectors (space_id, chunk_id, window_no, document_id, mandant_id, entity,
            project_code, level_rank, persons, is_test, date_received, emb)
        SELECT s.space_id, c.id, 0, c.document_id, c.mandant_id, c.entity, c.project_code,
            c.level_rank, c.persons, c.is_test, c.date_received,
            array_fill(0.5::real, ARRAY[s.dimension])::vector::halfvec
        FROM rag_chunks c, embedding_spaces s WHERE c.document_id = %s AND s.active
        """,
        document_id,
    )
    with installation.database.worker() as connection:
        enqueue(connection, Stage.EMBED, [document_id])
        connection.execute("UPDATE flow_ledger SET state = 'done' WHERE stage = 'embed'")
    return document_id


def test_a_vector_per_window_is_green(installation: Installation) -> None:
    ensure_spaces(installation.database)
    _embedded(installation)
    verdict = measure(installation, "vectors_equal_windows")
    assert verdict.state is State.GREEN, verdict
    assert verdict.figures == {"complete": 1}


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM chunk_vectors WHERE document_id = %s",
        "UPDATE chunk_vectors SET level_rank = 0 WHERE document_id = %s",
        "UPDATE chunk_vectors SET entity = 'haus-sued' WHERE document_id = %s",
    ],
    ids=["vector gone", "looser level", "other entity"],
)
def test_vectors_that_differ_from_their_windows_are_red(
    installation: Installation, damage: str
) -> None:
    ensure_spaces(installation.database)
    _embedded(installation)
    broken = _embedded(installation)
    sql(installation, damage, broken)
    verdict = measure(installation, "vectors_equal_windows")
    assert verdict.state is State.RED
    assert verdict.evidence == (f"document:{broken}",)
