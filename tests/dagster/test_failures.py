"""A failed run and a failed check become events, told once and without anybody's words."""

from __future__ import annotations

import dagster as dg
from audit_builders import bypass_the_gate, document, sql
from surface_builders import Ran, definitions, run

from resources.door import Door
from sensors.failures import check_failure_sensor, run_failure_sensor
from tgv_dagster.installation import Installation
from tgv_dagster.store.pull import BatchReport


def _tick(sensor: dg.SensorDefinition, ran: Ran, installation: Installation) -> None:
    """Tick a run status sensor on a finished run."""
    ends = (dg.DagsterEventType.RUN_FAILURE, dg.DagsterEventType.RUN_SUCCESS)
    event = next(event for event in ran.result.all_events if event.event_type in ends)
    with dg.build_run_status_sensor_context(
        sensor_name=sensor.name,
        dagster_instance=ran.instance,
        dagster_run=ran.result.dagster_run,
        dagster_event=event,
        resources={"door": Door(opens=lambda: installation)},
    ) as context:
        sensor(context.for_run_failure() if sensor is run_failure_sensor else context)


def _events(installation: Installation, kind: str) -> list[str]:
    rows = sql(
        installation,
        "SELECT e.reason || ' ' || p.payload::text FROM agent_events e"
        " JOIN event_payloads p ON p.event_id = e.id WHERE e.kind = %s ORDER BY e.id",
        kind,
    )
    return [text for (text,) in rows]


def test_a_failed_run_is_told_with_its_steps_and_its_failed_checks(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    bypass_the_gate(installation)
    ran = run(definitions(installation), "intake", instance)
    _tick(run_failure_sensor, ran, installation)
    _tick(run_failure_sensor, ran, installation)
    told = _events(installation, "run.failed")
    assert len(told) == 1
    assert "intake" in told[0]
    assert "gate_of_documents" in told[0]
    assert ["raw_first" in event for event in _events(installation, "check.failed")] == [True]


def test_a_check_that_failed_without_stopping_its_run_is_told(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    document(installation)
    sql(installation, "UPDATE documents SET dispatch_state = 'failed'")
    ran = run(definitions(installation), "audit", instance)
    assert ran.result.success
    _tick(check_failure_sensor, ran, installation)
    _tick(check_failure_sensor, ran, installation)
    assert ["dispatch_states" in event for event in _events(installation, "check.failed")] == [True]


def test_a_run_in_which_every_check_passed_tells_nothing(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    document(installation)
    _tick(check_failure_sensor, run(definitions(installation), "intake", instance), installation)
    assert _events(installation, "check.failed") == []


def test_what_stopped_a_step_stands_behind_the_walls_and_its_code_in_dagster(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    def breaks(_installation: Installation) -> BatchReport:
        raise ValueError("the letter to Frau Nachtigall cannot be read")

    ran = run(definitions(installation, {"documents": breaks}), "intake", instance)
    assert ran.failed == {"documents"}
    recorded = repr([event.event_specific_data for event in ran.result.all_events])
    assert "ValueError" in recorded
    assert "Nachtigall" not in recorded
    assert any("Nachtigall" in event for event in _events(installation, "step.stopped"))
