"""Builders for tests of the Dagster surface: a short flow around the gate, and runs of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import dagster as dg
from dagster._core.loader import LoadingContextForTest
from dagster._core.storage.asset_check_execution_record import (
    AssetCheckExecutionResolvedStatus,
)

from resources.door import Door
from tgv_dagster.definitions import Overrides, build_definitions
from tgv_dagster.flow import Progress, Step
from tgv_dagster.installation import Installation
from tgv_dagster.store.pull import BatchReport
from tgv_dagster.store.stages import Room, Stage

Work = Callable[[Installation], BatchReport]
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def report(stage: Stage = Stage.TRIAGE, claimed: int = 0, **outcomes: int) -> BatchReport:
    """What a step says about its batch."""
    return BatchReport(stage=stage, claimed=claimed, outcomes=outcomes)


def short_flow(work: Mapping[str, Work] | None = None) -> tuple[Step, ...]:
    """Three steps of the flow: in front of the gate, right behind it, and far behind it."""
    does = dict(work or {})

    def step(name: str, room: Room, *after: str) -> Step:
        def run(installation: Installation, _progress: Progress | None) -> BatchReport:
            return does[name](installation) if name in does else report()

        return Step(name, room, f"What {name} does.", after, run)

    return (
        step("documents", Room.UNDERSTAND),
        step("rag_chunks", Room.KNOW, "documents"),
        step("dispatched_documents", Room.EFFECT, "rag_chunks"),
    )


def definitions(
    installation: Installation, work: Mapping[str, Work] | None = None
) -> dg.Definitions:
    """The product's definitions around this installation and the short flow."""
    return build_definitions(Overrides(Door(opens=lambda: installation), short_flow(work)))


@dataclass(frozen=True, slots=True)
class Ran:
    """One run and the storage it was recorded in."""

    result: dg.ExecuteInProcessResult
    instance: dg.DagsterInstance

    @property
    def materialized(self) -> set[str]:
        """Assets that were materialized."""
        return {
            event.asset_key.to_user_string()
            for event in self.result.all_events
            if event.is_step_materialization and event.asset_key is not None
        }

    @property
    def failed(self) -> set[str]:
        """Steps that failed."""
        return {event.step_key for event in self.result.all_events if event.is_step_failure}  # pyright: ignore[reportReturnType]

    def status(self, asset: str, check: str) -> AssetCheckExecutionResolvedStatus:
        """What the UI shows for a check, resolved as the UI does it."""
        key = dg.AssetCheckKey(dg.AssetKey(asset), check)
        record = self.instance.event_log_storage.get_asset_check_execution_history(key, limit=1)[0]
        return asyncio.run(record.resolve_status(LoadingContextForTest(self.instance)))

    def evaluation(self, check: str) -> dg.AssetCheckEvaluation:
        """What was recorded for a check that passed or failed."""
        return next(e for e in self.result.get_asset_check_evaluations() if e.check_name == check)


def run(
    found: dg.Definitions,
    job: str,
    instance: dg.DagsterInstance,
    *,
    only: tuple[str, ...] | None = None,
) -> Ran:
    """Run a job in this process; `only` selects single assets of it."""
    result = found.resolve_job_def(job).execute_in_process(
        instance=instance,
        raise_on_error=False,
        run_config=QUIET,
        asset_selection=None if only is None else [dg.AssetKey(name) for name in only],
    )
    return Ran(result, instance)
