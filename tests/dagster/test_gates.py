"""Green, red and unmeasured in Dagster: what is recorded, what is shown, what stops."""

from __future__ import annotations

import base64
from dataclasses import replace
from xml.etree import ElementTree

import dagster as dg
from audit_builders import bypass_the_gate, document, remove_bytes
from dagster._core.storage.asset_check_execution_record import (
    AssetCheckExecutionResolvedStatus as Shown,
)
from surface_builders import definitions, report, run

from tgv_dagster.audit import ledger
from tgv_dagster.audit.register import checkpoint
from tgv_dagster.audit.verdict import State, green, red, unmeasured
from tgv_dagster.installation import Installation
from tgv_dagster.store.pull import BatchReport

BEHIND = {"rag_chunks", "dispatched_documents"}


def _unmount_store(installation: Installation) -> None:
    home = installation.settings.home
    (home / "blobs").rename(home / "unmounted")


def test_green_is_a_passed_check_and_everything_runs(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    document(installation)
    ran = run(definitions(installation), "intake", instance)
    assert ran.result.success
    assert ran.materialized == {"documents", *BEHIND}
    assert ran.status("documents", "raw_first") is Shown.SUCCEEDED


def test_a_bypass_fails_the_gate_and_stops_what_is_behind_it(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    document(installation)
    bypassed = bypass_the_gate(installation)
    ran = run(definitions(installation), "intake", instance)
    assert not ran.result.success
    assert ran.materialized == {"documents"}
    assert ran.status("documents", "raw_first") is Shown.FAILED
    evaluation = ran.evaluation("raw_first")
    assert evaluation.severity is dg.AssetCheckSeverity.ERROR
    assert evaluation.blocking
    shown = evaluation.metadata["evidence"].value
    assert isinstance(shown, str)
    assert f"/d/{bypassed})" in shown


def test_a_single_bad_item_is_held_and_named_and_the_rest_goes_on(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    document(installation)
    lost = document(installation)
    remove_bytes(installation, lost)
    ran = run(definitions(installation), "intake", instance)
    assert ran.result.success
    assert ran.materialized == {"documents", *BEHIND}
    assert ran.status("documents", "raw_first") is Shown.FAILED
    evaluation = ran.evaluation("raw_first")
    assert evaluation.severity is dg.AssetCheckSeverity.WARN
    assert f"/d/{lost})" in str(evaluation.metadata["evidence"].value)


def test_an_unmeasured_gate_is_skipped_never_failed_and_closed_all_the_same(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    document(installation)
    _unmount_store(installation)
    ran = run(definitions(installation), "intake", instance)
    assert ran.result.success
    assert not ran.failed
    assert ran.materialized == {"documents"}
    assert ran.status("documents", "raw_first") is Shown.SKIPPED
    assert ran.result.get_asset_check_evaluations() == []


def test_an_asset_behind_a_red_gate_stops_with_its_reason_in_a_run_of_its_own(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    with installation.database.worker() as connection:
        ledger.keep(connection, checkpoint("raw_first"), red("a row came around", systemic=True))
    ran = run(definitions(installation), "intake", instance, only=("rag_chunks",))
    assert ran.failed == {"rag_chunks"}
    failure = ran.result.failure_data_for_node("rag_chunks")
    assert failure is not None
    assert failure.user_failure_data is not None
    assert "a row came around" in str(failure.user_failure_data.description)


def test_an_asset_behind_an_unmeasured_gate_does_nothing_in_a_run_of_its_own(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    with installation.database.worker() as connection:
        ledger.keep(connection, checkpoint("raw_first"), unmeasured("the store is away"))
    ran = run(definitions(installation), "intake", instance, only=("dispatched_documents",))
    assert ran.result.success
    assert ran.materialized == set()


def test_an_asset_behind_a_green_gate_runs_alone(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    with installation.database.worker() as connection:
        ledger.keep(connection, checkpoint("raw_first"), green("fine"))
    ran = run(definitions(installation), "intake", instance, only=("rag_chunks",))
    assert ran.materialized == {"rag_chunks"}


def test_the_repair_opens_the_gate_again(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    document(installation)
    bypassed = bypass_the_gate(installation)
    assert not run(definitions(installation), "intake", instance).result.success
    with installation.database.worker() as connection:
        connection.execute("DELETE FROM documents WHERE id = %s", (bypassed,))
    ran = run(definitions(installation), "intake", instance)
    assert ran.materialized == {"documents", *BEHIND}


def test_the_audit_job_never_fails_and_shows_each_state(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    broken = document(installation)
    with installation.database.worker() as connection:
        connection.execute(
            "UPDATE documents SET confidentiality_level = 'secret' WHERE id = %s", (broken,)
        )
    ran = run(definitions(installation), "audit", instance)
    assert ran.result.success
    assert ran.materialized == {"verdicts"}
    assert ran.status("documents", "triage_complete") is Shown.SUCCEEDED
    assert ran.status("documents", "every_row_has_file") is Shown.SUCCEEDED
    assert ran.status("dispatched_documents", "dispatch_states") is Shown.SUCCEEDED
    with installation.database.worker() as connection:
        found = {e.checkpoint.id: e.verdict.state for e in ledger.latest(connection)}
    assert found["level_known"] is State.RED
    assert found["backups_restorable"] is State.UNMEASURED


def test_a_run_counts_a_checkpoint_once_although_two_steps_ask(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    document(installation)
    run(definitions(installation), "audit", instance)
    with installation.database.worker() as connection:
        rows = connection.execute(
            "SELECT checkpoint, count(*) FROM verdicts GROUP BY checkpoint HAVING count(*) > 1"
        ).fetchall()
    assert rows == []


def test_a_step_goes_on_batch_after_batch_and_reports_the_sum(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    batches = iter([(5, 7), (5, 2), (2, 0)])

    def three_batches(_installation: Installation) -> BatchReport:
        claimed, left = next(batches)
        return replace(report(claimed=claimed, entered=claimed), remaining=left)

    ran = run(definitions(installation, {"documents": three_batches}), "intake", instance)
    shown = ran.result.asset_materializations_for_node("documents")[0].metadata
    assert shown["taken"].value == 12
    assert shown["waiting"].value == 0


def test_intervals_that_share_space_are_drawn_beside_their_failed_check(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    with installation.database.owner() as owner:
        owner.execute("ALTER TABLE fahrtenbuch DISABLE TRIGGER ALL")
        owner.execute(
            "INSERT INTO fahrtenbuch (id, entity, vehicle, trip_date, km_start, km_end, source)"
            " VALUES (71, 'nord-gmbh', 'HH-T 1', '2026-01-05', 0, 151, 'log'),"
            " (72, 'nord-gmbh', 'HH-T 1', '2026-01-05', 0, 302, 'log')"
        )
    ran = run(definitions(installation), "audit", instance)
    assert ran.status("dispatched_documents", "intervals_consistent") is Shown.FAILED
    shown = str(ran.evaluation("intervals_consistent").metadata["picture_1"].value)
    svg = base64.b64decode(shown.partition("base64,")[2].rstrip(")")).decode()
    assert {"71 (log)", "72 (log)"} <= {
        node.text for node in ElementTree.fromstring(svg).iter() if node.text
    }
    assert "HH-T" not in svg
