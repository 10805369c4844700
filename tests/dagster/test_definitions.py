"""The code location: complete in every column, generated from the flow and the register."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.assets.graph.asset_graph import AssetGraph

from assets.jobs import TIMEZONE
from assets.rebuild import REBUILDABLE, TENANT_MONTHS
from tgv_dagster.audit.register import CHECKPOINTS, gates
from tgv_dagster.definitions import SHOWN, defs
from tgv_dagster.flow import STEPS
from tgv_dagster.store.stages import Room

ROOT = Path(__file__).resolve().parents[2]
SURFACE = ("assets", "checks", "sensors", "resources")
SPECS = sorted(defs.resolve_all_asset_specs(), key=lambda spec: spec.key)
each = pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.key.to_user_string())


@each
def test_an_asset_tells_what_it_is_and_who_owns_it(spec: dg.AssetSpec) -> None:
    assert spec.description
    assert spec.owners
    assert spec.kinds
    assert spec.code_version
    assert spec.group_name in set(map(str, Room))


@each
def test_what_an_asset_follows_exists(spec: dg.AssetSpec) -> None:
    assert {dep.asset_key for dep in spec.deps} <= {other.key for other in SPECS}


def test_every_step_of_the_flow_is_an_asset_in_its_room_after_the_same_steps() -> None:
    by_name = {spec.key.to_user_string(): spec for spec in SPECS}
    for step in STEPS:
        spec = by_name[step.name]
        assert spec.group_name == step.room
        assert set(step.after) <= {dep.asset_key.to_user_string() for dep in spec.deps}


def test_the_groups_are_the_rooms_of_the_flow() -> None:
    assert {spec.group_name for spec in SPECS} == set(map(str, Room))


def _check_specs() -> dict[str, dg.AssetCheckSpec]:
    repository = defs.get_repository_def()
    return {
        key.name: repository.asset_graph.get_check_spec(key)
        for key in repository.asset_graph.asset_check_keys
    }


def test_every_checkpoint_of_the_register_is_a_check_and_there_is_no_other() -> None:
    specs = _check_specs()
    assert set(specs) == {which.id for which in CHECKPOINTS}
    for which in CHECKPOINTS:
        assert specs[which.id].asset_key == dg.AssetKey(which.found_at.asset)
        assert specs[which.id].blocking == which.gate
        assert which.statement.en in (specs[which.id].description or "")


def _surface_files() -> Iterator[Path]:
    for folder in SURFACE:
        yield from (ROOT / folder).rglob("*.py")


def test_no_check_is_written_by_hand() -> None:
    makers = {
        "asset_check",
        "multi_asset_check",
        "AssetCheckSpec",
        "build_column_schema_change_checks",
    }
    found = {
        path.relative_to(ROOT).as_posix()
        for path in _surface_files()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Attribute) and node.attr in makers)
        or (isinstance(node, ast.Name) and node.id in makers)
    }
    assert found == {"checks/factory.py"}


def test_no_dependency_owns_the_name_of_a_surface_folder() -> None:
    owners = packages_distributions()
    for folder in SURFACE:
        assert set(owners.get(folder, [])) <= {"tgv-dagster"}


def _graph(job: str) -> AssetGraph:
    return defs.resolve_job_def(job).asset_layer.asset_graph


def test_the_flow_runs_its_gates_and_the_audit_runs_everything_else() -> None:
    checks = {
        name: {
            key.name for key in defs.resolve_job_def(name).asset_layer.asset_graph.asset_check_keys
        }
        for name in ("intake", "daily_flow", "audit")
    }
    gate_ids = {gate.id for gate in gates()}
    assert checks["intake"] == checks["daily_flow"] == gate_ids
    assert checks["audit"] == {which.id for which in CHECKPOINTS} - gate_ids


def test_the_jobs_hold_their_assets() -> None:
    def assets(name: str) -> set[str]:
        return {key.to_user_string() for key in _graph(name).executable_asset_keys}

    steps = {step.name for step in STEPS}
    assert assets("intake") == steps
    assert assets("daily_flow") == steps | set(SHOWN)
    assert assets("audit") == {"verdicts"}


@pytest.mark.parametrize(
    "name", ["intake", "daily_flow", "audit", "housekeeping", "switch_generation"]
)
def test_a_job_runs_in_one_process_and_not_for_ever(name: str) -> None:
    job = defs.resolve_job_def(name)
    assert job.executor_def.name == "in_process"
    assert int(job.tags["dagster/max_runtime"]) > 0


def test_what_runs_by_the_clock_runs_in_the_owners_time() -> None:
    schedules = defs.get_repository_def().schedule_defs
    assert {"daily_flow", "audit", "housekeeping"} <= {s.job_name for s in schedules}
    for schedule in schedules:
        assert schedule.execution_timezone == TIMEZONE
        assert schedule.default_status is dg.DefaultScheduleStatus.RUNNING


def test_the_sensors_are_on_from_the_start() -> None:
    sensors = defs.get_repository_def().sensor_defs
    assert {
        "folder_sensor", "pending_sensor", "run_failure_sensor", "check_failure_sensor"
    } <= {sensor.name for sensor in sensors}  # fmt: skip
    for sensor in sensors:
        assert sensor.default_status is dg.DefaultSensorStatus.RUNNING
        assert sensor.description


def test_each_rebuildable_step_has_a_partitioned_asset_beside_it() -> None:
    by_name = {spec.key.to_user_string(): spec for spec in SPECS}
    for rebuilds in REBUILDABLE.values():
        spec = by_name[f"{rebuilds}_rebuild"]
        assert spec.partitions_def == TENANT_MONTHS
        assert spec.group_name == by_name[rebuilds].group_name


def test_the_code_location_loads_where_no_database_is(tmp_path: Path) -> None:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("TGV_")},
        "TGV_HOME": str(tmp_path / "home"),
        "TGV_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing",
        "DAGSTER_HOME": "",
    }
    done = subprocess.run(
        [sys.executable, "-m", "dagster", "definitions", "validate", "-w", "workspace.yaml"],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert not (tmp_path / "home").exists()
