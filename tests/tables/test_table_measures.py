"""Checks of the table flow see the fault they are for, and are grey where nothing can be said."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from table_flow import MORNING, NOON, execute, export, organised, taken

from tgv_dagster.audit.measures import tables
from tgv_dagster.audit.verdict import State, Verdict
from tgv_dagster.installation import Installation

Measure = Callable[[Installation], Verdict]
ALL = (
    tables.imports_are_whole,
    tables.rows_follow_their_project,
    tables.class_two_writes_nothing,
    tables.no_table_is_skipped,
)


@pytest.fixture
def firm(installation: Installation) -> Installation:
    organised(installation.database)
    return installation


def fill(firm: Installation) -> int:
    facts = taken(firm.database, export(MORNING, NOON))
    execute(firm.database, facts, "take_over")
    with firm.database.worker() as connection:
        connection.execute(
            "INSERT INTO flow_ledger (stage, generation, subject_id, state)"
            " VALUES ('tables', 0, %s, 'done')",
            (facts.document_id,),
        )
    return facts.document_id


@pytest.mark.parametrize("measure", ALL)
def test_without_data_nothing_is_said(firm: Installation, measure: Measure) -> None:
    assert measure(firm).state is State.UNMEASURED


@pytest.mark.parametrize("measure", ALL)
def test_an_import_as_it_should_be_is_green(firm: Installation, measure: Measure) -> None:
    fill(firm)

    verdict = measure(firm)

    assert verdict.state is State.GREEN, verdict
    assert verdict.figures


@pytest.mark.parametrize(
    ("measure", "damage"),
    [
        (tables.imports_are_whole, "DELETE FROM prf_timetrack WHERE startzeit = '08:00'"),
        (tables.imports_are_whole, "UPDATE table_imports SET state = 'undone'"),
        (tables.rows_follow_their_project, "UPDATE prf_timetrack SET project_code = 'gone'"),
        (tables.rows_follow_their_project, "UPDATE prf_timetrack SET entity = 'haus-sued'"),
        (
            tables.class_two_writes_nothing,
            "UPDATE prf_timetrack SET provenance = '{}';"
            " UPDATE table_imports SET state = 'working'",
        ),
        (tables.no_table_is_skipped, "DELETE FROM table_imports"),
    ],
)
def test_each_fault_is_seen(firm: Installation, measure: Measure, damage: str) -> None:
    fill(firm)
    with firm.database.owner() as connection:
        connection.execute(damage.encode())

    verdict = measure(firm)

    assert verdict.state is State.RED
    assert verdict.evidence
