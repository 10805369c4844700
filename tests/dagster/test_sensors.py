"""The sensors on a real folder and a real ledger: a tick looks, and only looks."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import psycopg
import pytest
from audit_builders import arrive, sql
from dagster import DagsterRunStatus
from dagster._core.test_utils import create_run_for_test
from surface_builders import run

from resources.door import Door
from sensors import folder, pending
from sensors.decide import Seen
from sensors.folder import look_at_folder
from sensors.gate_sensor import GATE_TAG, Watch, gate_sensor
from tgv_dagster.audit.discreet import StepStopped
from tgv_dagster.installation import Installation
from tgv_dagster.store.db import Connection, Database

FOLDER, PENDING = folder.SENSORS[0], pending.SENSORS[0]


class Ticking:
    """A sensor ticked by hand, its cursor kept from tick to tick."""

    def __init__(
        self, sensor: dg.SensorDefinition, installation: Installation, instance: dg.DagsterInstance
    ) -> None:
        self._sensor, self._instance = sensor, instance
        self._door = Door(opens=lambda: installation)
        self.cursor: str | None = None

    def tick(self) -> dg.SensorResult:
        """One tick; the run it asks for is recorded as started."""
        with dg.build_sensor_context(
            instance=self._instance, cursor=self.cursor, resources={"door": self._door}
        ) as context:
            result = self._sensor(context)
        assert isinstance(result, dg.SensorResult)
        self.cursor = result.cursor
        for request in result.run_requests or []:
            create_run_for_test(
                self._instance,
                status=DagsterRunStatus.STARTED,
                tags={**request.tags, "dagster/run_key": request.run_key or ""},
            )
        return result

    def end_runs(self) -> None:
        """All runs on their way end."""
        for going in self._instance.get_runs():
            if not going.is_finished:
                self._instance.report_run_canceled(going)


def _put(installation: Installation, name: str, content: bytes = b"Hallo\n") -> Path:
    path = installation.settings.inbox_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_an_empty_folder_starts_no_run(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    ticking = Ticking(FOLDER, installation, instance)
    result = ticking.tick()
    assert not result.run_requests
    assert result.skip_reason is not None
    assert result.skip_reason.skip_message == "folder: nothing new."


def test_a_resting_file_starts_one_run_until_that_run_ends(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    ticking = Ticking(FOLDER, installation, instance)
    _put(installation, "brief.txt")
    assert len(ticking.tick().run_requests or []) == 1
    assert not ticking.tick().run_requests
    _put(installation, "noch-ein-brief.txt")
    assert not ticking.tick().run_requests
    ticking.end_runs()
    assert len(ticking.tick().run_requests or []) == 1


def test_a_file_that_grows_between_both_looks_starts_no_run(
    installation: Installation,
) -> None:
    installation.settings = installation.settings.model_copy(update={"stable_seconds": 60})
    path = _put(installation, "scan.pdf", b"%PDF-1.7 first page")

    def grows(_seconds: float) -> None:
        with path.open("ab") as handle:
            handle.write(b" second page")

    seen = look_at_folder(installation, "", sleep=grows)
    assert seen.ready == ()
    assert seen.changing == 1


def test_a_young_file_that_rests_between_both_looks_is_ready(installation: Installation) -> None:
    installation.settings = installation.settings.model_copy(update={"stable_seconds": 60})
    _put(installation, "brief.txt")
    seen = look_at_folder(installation, "")
    assert len(seen.ready) == 1


def test_a_restart_of_the_daemon_neither_loses_nor_repeats(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    _put(installation, "brief.txt")
    before = Ticking(FOLDER, installation, instance)
    asked = before.tick().run_requests or []
    after = Ticking(FOLDER, installation, instance)
    assert not after.tick().run_requests
    before.end_runs()
    again = after.tick().run_requests or []
    assert len(asked) == len(again) == 1
    assert asked[0].run_key != again[0].run_key


def test_cursor_tags_and_skips_carry_no_file_name(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    ticking = Ticking(FOLDER, installation, instance)
    _put(installation, "Nachtigall/Kündigung Nachtigall.txt", b"Nachtigall")
    result = ticking.tick()
    assert len(result.run_requests or []) == 1
    told = repr(result) + (ticking.cursor or "") + repr([r.tags for r in instance.get_runs()])
    assert "Nachtigall" not in told


def test_due_work_starts_a_run_and_a_calm_ledger_none(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    ticking = Ticking(PENDING, installation, instance)
    assert not ticking.tick().run_requests
    arrive(installation)
    requests = ticking.tick().run_requests or []
    assert len(requests) == 1
    assert requests[0].tags[GATE_TAG] == "ledger"


def test_the_ledger_waits_for_any_run_of_the_flow(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    _put(installation, "brief.txt")
    assert Ticking(FOLDER, installation, instance).tick().run_requests
    arrive(installation)
    assert not Ticking(PENDING, installation, instance).tick().run_requests


def test_the_folder_does_not_wait_for_the_ledger(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    arrive(installation)
    assert Ticking(PENDING, installation, instance).tick().run_requests
    _put(installation, "brief.txt")
    assert Ticking(FOLDER, installation, instance).tick().run_requests


def test_a_fault_of_a_look_reaches_dagster_as_a_code(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    def look(_installation: Installation, _settled: str) -> Seen:
        raise OSError("cannot read Kündigung Nachtigall.pdf")

    watch = Watch("broken_sensor", "drop", "Breaks.", look, "intake", 30)
    with pytest.raises(StepStopped) as stopped:
        Ticking(gate_sensor(watch), installation, instance).tick()
    assert "OSError" in str(stopped.value)
    assert "Nachtigall" not in str(stopped.value)
    payloads = sql(installation, "SELECT payload::text FROM event_payloads")
    assert any("Nachtigall" in payload for (payload,) in payloads)


# --- what a tick costs -------------------------------------------------------------------------


class CountingDatabase(Database):
    """The same database, counting the statements that are sent."""

    statements: list[str]

    @contextmanager
    def worker(self) -> Iterator[Connection]:
        sent = self.statements

        class Counting(psycopg.Cursor[Any]):
            def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
                sent.append(query.decode() if isinstance(query, bytes) else str(query))
                return super().execute(query, *args, **kwargs)

        with super().worker() as connection:
            former, connection.cursor_factory = connection.cursor_factory, Counting
            try:
                yield connection
            finally:
                connection.cursor_factory = former


@pytest.fixture
def counted(installation: Installation) -> Iterator[CountingDatabase]:
    """The installation's database, counting."""
    counting = CountingDatabase(installation.database.url, pool_size=1)
    counting.statements = []
    installation.database.close()
    installation.database = counting
    yield counting
    counting.close()


@pytest.mark.parametrize("sensor", [FOLDER, PENDING], ids=lambda sensor: sensor.name)
def test_an_idle_tick_reads_at_most_once_and_writes_nothing(
    installation: Installation,
    instance: dg.DagsterInstance,
    counted: CountingDatabase,
    sensor: dg.SensorDefinition,
) -> None:
    ticking = Ticking(sensor, installation, instance)
    ticking.tick()
    counted.statements.clear()
    ticking.tick()
    assert len(counted.statements) <= 1
    assert all(query.strip().upper().startswith("SELECT") for query in counted.statements)


def test_a_folder_full_of_taken_files_costs_nothing_while_it_does_not_change(
    installation: Installation, instance: dg.DagsterInstance, counted: CountingDatabase
) -> None:
    installation.settings = installation.settings.model_copy(update={"move_taken": False})
    for number in range(3):
        path = _put(installation, f"{number}.txt", f"Brief {number}\n".encode())
        os.utime(path, (0, 0))
    run(definitions_of_folder(installation), "intake", instance, only=("folder_arrivals",))
    ticking = Ticking(FOLDER, installation, instance)
    assert not ticking.tick().run_requests
    counted.statements.clear()
    ticking.tick()
    assert counted.statements == []


def definitions_of_folder(installation: Installation) -> dg.Definitions:
    """The real flow, of which only the folder is run."""
    from tgv_dagster.definitions import Overrides, build_definitions

    return build_definitions(Overrides(Door(opens=lambda: installation)))


def test_the_read_of_an_idle_ledger_uses_an_index(installation: Installation) -> None:
    with installation.database.worker() as connection:
        connection.execute("SET LOCAL enable_seqscan = off")
        plan = connection.execute(
            "EXPLAIN SELECT EXISTS (SELECT 1 FROM flow_ledger WHERE generation = 0"
            " AND state IN ('pending', 'claimed') AND not_before <= now()"
            " AND (state = 'pending' OR lease_until < now()))"
        ).fetchall()
    assert any("Index" in line for (line,) in plan)


def test_a_gate_that_does_not_answer_does_not_stop_the_tick(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    answers: list[int] = []

    def hangs(_installation: Installation, _settled: str) -> Seen:
        answers.append(1)
        time.sleep(0.5)
        return Seen(("late",))

    sensor = gate_sensor(Watch("slow_sensor", "drop", "Hangs.", hangs, "intake", 30, None, 0.05))
    with dg.build_sensor_context(
        instance=instance, resources={"door": Door(opens=lambda: installation)}
    ) as context:
        first, second = sensor(context), sensor(context)
    assert isinstance(first, dg.SkipReason)
    assert isinstance(second, dg.SkipReason)
    assert "did not answer" in (first.skip_message or "")
    assert answers == [1]
