"""The instance of Dagster on Postgres, walks through the flow, ghosts, and forgetting."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
import yaml
from audit_builders import arrive, document, sql
from dagster import DagsterRunStatus
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.remote_origin import (
    RegisteredCodeLocationOrigin,
    RemoteInstigatorOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    TickData,
    TickStatus,
)
from dagster._core.test_utils import create_run_for_test
from dagster_celery.tags import DAGSTER_CELERY_TASK_ID_TAG
from surface_builders import definitions, run

from tgv_dagster import runs
from tgv_dagster.audit import ledger
from tgv_dagster.installation import Installation
from tgv_dagster.runs import Launcher


@pytest.mark.parametrize(
    ("conninfo", "url"),
    [
        (
            "host=/run/pg dbname=tgv_dagster user=postgres",
            "postgresql+psycopg2://postgres@/tgv_dagster?host=%2Frun%2Fpg",
        ),
        (
            "host=/run/pg port=5433 dbname=d user=u",
            "postgresql+psycopg2://u@/d?host=%2Frun%2Fpg&port=5433",
        ),
        (
            "postgresql://u:p%40ss@db.example:5432/d?sslmode=require",
            "postgresql+psycopg2://u:p%40ss@db.example:5432/d?sslmode=require",
        ),
    ],
    ids=["socket", "socket with port", "url with password"],
)
def test_the_storage_url_names_its_driver(conninfo: str, url: str) -> None:
    assert runs.storage_url(conninfo) == url


def test_the_instance_lives_on_the_products_server_in_its_own_database(
    installation: Installation, stored: dg.DagsterInstance
) -> None:
    assert "Postgres" in type(stored.event_log_storage).__name__
    assert stored.get_runs_count() == 0
    with installation.database.worker() as connection:
        tables = connection.execute(
            "SELECT count(*) FROM pg_tables WHERE tablename IN ('runs', 'event_logs')"
        ).fetchone()
    assert tables == (0,)


def test_no_secret_stands_in_the_file_of_the_instance(home: Path) -> None:
    content = (home / "dagster.yaml").read_text()
    assert "postgresql" not in content
    assert yaml.safe_load(content)["storage"]["postgres"]["postgres_url"] == {
        "env": runs.STORAGE_VARIABLE
    }


def test_telemetry_is_off_and_output_of_steps_is_not_kept(stored: dg.DagsterInstance) -> None:
    assert not stored.telemetry_enabled
    assert type(stored.compute_log_manager).__name__ == "NoOpComputeLogManager"


def test_nothing_of_ours_lies_where_dagster_looks_for_files_to_send(
    installation: Installation, home: Path
) -> None:
    assert not runs.logs_path(installation.settings).is_relative_to(home)
    assert os.environ["DAGSTER_TELEMETRY_URL"].startswith("http://127.0.0.1:")
    assert not (home / "logs").exists()


def test_monitoring_and_retention_are_set(stored: dg.DagsterInstance) -> None:
    assert stored.run_monitoring_enabled
    assert stored.run_monitoring_max_runtime_seconds > 0
    for kind in (InstigatorType.SENSOR, InstigatorType.SCHEDULE):
        kept = stored.get_tick_retention_settings(kind)
        assert kept[TickStatus.SKIPPED] == 2
        assert kept[TickStatus.SUCCESS] == 30


@pytest.mark.parametrize(
    ("launcher", "name"),
    [(Launcher.WARM, "CeleryRunLauncher"), (Launcher.PROCESS, "DefaultRunLauncher")],
)
def test_the_launcher_is_a_choice(
    installation: Installation, home: Path, launcher: Launcher, name: str
) -> None:
    runs.ensure_instance(installation.settings, launcher)
    with dg.DagsterInstance.get() as instance:
        assert type(instance.run_launcher).__name__ == name


def test_several_first_starts_at_once_make_one_instance(
    installation: Installation, home: Path
) -> None:
    (home / ".ready").unlink()
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: runs.ensure_instance(installation.settings), range(4)))
    assert set(made) == {home}
    with dg.DagsterInstance.get() as instance:
        assert instance.get_runs_count() == 0


# --- walks -------------------------------------------------------------------------------------


def test_a_walk_shows_progress_measures_everything_and_is_seen_in_dagster(
    installation: Installation, stored: dg.DagsterInstance
) -> None:
    seen: list[tuple[str, int, int]] = []
    result = runs.materialize_flow(installation, lambda *step: seen.append(step))
    assert result.went_through
    assert result.faults == ()
    assert {step for step, _, _ in seen} >= {"folder_arrivals", "documents", "word_index"}
    assert [stored.get_run_by_id(run_id) is not None for run_id in result.run_ids] == [True, True]
    assert {step.name for step in result.steps if step.materialized} >= {"documents", "verdicts"}
    with installation.database.worker() as connection:
        entries = ledger.latest(connection)
    assert all(entry.measured_at is not None for entry in entries)


def test_a_walk_takes_a_file_to_the_end(installation: Installation, home: Path) -> None:
    inbox = installation.settings.inbox_path / "nord" / "nord-gmbh"
    inbox.mkdir(parents=True)
    (inbox / "brief.txt").write_text("Sehr geehrte Damen und Herren, die Kita wird umgebaut.\n")
    result = runs.materialize_flow(installation, audit=False)
    assert result.went_through, result.faults
    assert sql(installation, "SELECT outcome FROM arrivals") == [("entered",)]
    assert sum(report.claimed for report in result.reports) > 0


def test_a_walk_that_stops_names_the_step_and_keeps_the_fault_for_the_console(
    installation: Installation, home: Path
) -> None:
    arrive(installation)
    with installation.database.owner() as connection:
        connection.execute("ALTER TABLE flow_ledger RENAME COLUMN lease_until TO lease_end")
    result = runs.materialize_flow(installation, audit=False)
    assert not result.went_through
    assert "mail_parts" in result.stopped
    assert any("lease_until" in str(fault) for fault in result.faults)


# --- ghosts ------------------------------------------------------------------------------------


def _going(stored: dg.DagsterInstance, **tags: str) -> str:
    made = create_run_for_test(
        stored,
        status=DagsterRunStatus.STARTED,
        tags={name.replace("__", "/"): value for name, value in tags.items()},
    )
    return made.run_id


def test_a_run_whose_process_is_gone_is_closed_and_others_stay(
    stored: dg.DagsterInstance,
) -> None:
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    host = socket.gethostname()
    dead = _going(stored, tgv__process=f"{host}:{process.pid}:1")
    used_again = _going(stored, tgv__process=f"{host}:{os.getpid()}:1")
    alive = _going(stored, tgv__process=runs._this_process())
    elsewhere = _going(stored, tgv__process=f"another-host:{process.pid}:1")
    in_worker = _going(stored, **{DAGSTER_CELERY_TASK_ID_TAG.replace("/", "__"): "t"})

    assert set(runs.close_ghosts(stored)) == {dead, used_again}
    assert runs.close_ghosts(stored) == ()
    assert runs.close_ghosts(stored, workers_gone=True) == (in_worker,)
    for run_id in (alive, elsewhere):
        found = stored.get_run_by_id(run_id)
        assert found is not None
        assert found.status is DagsterRunStatus.STARTED


# --- forgetting --------------------------------------------------------------------------------


def test_old_runs_are_forgotten_and_what_the_ui_shows_stays(
    installation: Installation, stored: dg.DagsterInstance
) -> None:
    document(installation)
    found = definitions(installation)
    first = run(found, "intake", stored).result.run_id
    newest = run(found, "intake", stored).result.run_id
    going = _going(stored)
    later = datetime.now(UTC) + timedelta(days=31)

    assert runs.prune(stored, keep_days=30).runs == 0
    assert runs.prune(stored, keep_days=30, now=later).runs == 1
    assert stored.get_run_by_id(first) is None
    assert list(stored.get_records_for_run(first).records) == []
    assert stored.get_run_by_id(newest) is not None
    assert stored.get_run_by_id(going) is not None
    assert stored.get_latest_materialization_event(dg.AssetKey("rag_chunks")) is not None


def test_old_ticks_are_purged_when_the_daemon_does_not(stored: dg.DagsterInstance) -> None:
    state = _sensor_state(stored)
    origin, selector = state.instigator_origin_id, state.selector_id
    for age in (1, 40):
        stored.create_tick(
            TickData(
                instigator_origin_id=origin,
                instigator_name="folder_sensor",
                instigator_type=InstigatorType.SENSOR,
                status=TickStatus.SKIPPED,
                timestamp=(datetime.now(UTC) - timedelta(days=age)).timestamp(),
                selector_id=selector,
            )
        )
    runs.prune(stored, keep_days=30)
    assert len(stored.get_ticks(origin, selector)) == 1


def _sensor_state(stored: dg.DagsterInstance) -> InstigatorState:
    """A sensor that Dagster has ticked before."""
    repository = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("tgv_dagster"), "repository")
    state = InstigatorState(
        RemoteInstigatorOrigin(repository, "folder_sensor"),
        InstigatorType.SENSOR,
        InstigatorStatus.STOPPED,
    )
    stored.add_instigator_state(state)
    return state


def test_spent_messages_of_the_worker_are_deleted(
    installation: Installation, stored: dg.DagsterInstance
) -> None:
    from kombu.connection import Connection

    with Connection(os.environ[runs.BROKER_VARIABLE]) as connection:
        queue = connection.SimpleQueue("dagster")
        queue.put("spent")
        queue.get(timeout=5).ack()
        queue.put("waiting")
    later = datetime.now(UTC) + timedelta(days=31)
    assert runs.prune(stored, keep_days=30).messages == 0
    assert runs.prune(stored, keep_days=30, now=later).messages == 1


# --- runs in the UI's processes ----------------------------------------------------------------


def test_starting_a_run_without_the_ui_names_the_remedy(installation: Installation) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = installation.settings.model_copy(update={"ui_port": port})
    with pytest.raises(runs.UiNotRunning, match="tgv ui"):
        runs.submit_job(settings, "audit")


def test_a_run_can_be_waited_for(installation: Installation, stored: dg.DagsterInstance) -> None:
    done = run(definitions(installation), "intake", stored).result.run_id
    end = runs.wait_for(installation.settings, done, seconds=0)
    assert end.finished
    assert end.succeeded
    going = runs.wait_for(installation.settings, _going(stored), seconds=0)
    assert not going.finished
    with pytest.raises(KeyError):
        runs.wait_for(installation.settings, "no such run", seconds=0)


def test_the_processes_of_the_ui_listen_on_loopback_only(
    installation: Installation, home: Path
) -> None:
    services = runs.ui_processes(installation.settings)
    assert [service.name for service in services] == [
        "code-server", "worker", "webserver", "daemon"
    ]  # fmt: skip
    for service in services:
        if service.port is not None:
            assert "127.0.0.1" in service.command
    alone = runs.ui_processes(installation.settings, Launcher.PROCESS)
    assert "worker" not in {service.name for service in alone}
