"""The one Definitions object of the code location, assembled from the surface folders.

Here belongs which parts stand in it, and how a test or the console swaps one. What a part does
stands in its own module. Loading this module opens no database.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import dagster as dg

from assets import (
    arrive,
    audit,
    bank,
    clarify,
    deepen,
    effect,
    evaluation,
    file,
    jobs,
    know,
    mail_jobs,
    rebuild,
    storage_jobs,
    tables,
    understand,
)
from checks import factory
from resources.console_log import console_logger
from resources.door import Door
from sensors import failures, folder, mail, pending
from tgv_dagster.flow import STEPS, Step

ROOMS = (arrive, understand, deepen, clarify, file, know, tables, bank, effect, audit)
SHOWN = (
    "organisation",
    "raw_items",
    "shadow_agreement",
    "deadlines_upcoming",
    "vocabulary_fill",
    "open_cases",
    "recognised_tables",
    "time_entries",
    "trips",
    "unmatched",
    "account_balances",
    "flow_report",
)
"""Assets of the daily flow that are no step: they show a state and change nothing."""


@dataclass(frozen=True, slots=True)
class Overrides:
    """Parts to swap: the door to another installation, other steps."""

    door: Door | None = None
    steps: tuple[Step, ...] | None = None


def build_definitions(overrides: Overrides | None = None) -> dg.Definitions:
    """Assemble assets, checks, jobs, schedules and sensors around one installation."""
    swapped = overrides or Overrides()
    steps = STEPS if swapped.steps is None else swapped.steps
    flow_assets = [asset for room in ROOMS for asset in room.assets(steps)]
    names = _names(flow_assets)
    notices = factory.notice_checks(names)
    intake, daily_flow = jobs.flow_jobs([step.name for step in steps], SHOWN)
    audit_job = jobs.audit_job(notices)
    return dg.Definitions(
        assets=[*flow_assets, *rebuild.ASSETS, *evaluation.ASSETS],
        asset_checks=[*factory.gate_checks(names), *notices],
        jobs=[
            intake,
            daily_flow,
            audit_job,
            *rebuild.JOBS,
            *evaluation.JOBS,
            *mail_jobs.JOBS,
            *storage_jobs.JOBS,
            jobs.switch_generation,
            jobs.housekeeping,
        ],
        schedules=[
            *jobs.schedules(daily_flow, audit_job),
            *mail_jobs.SCHEDULES,
            *storage_jobs.SCHEDULES,
        ],
        sensors=[*folder.SENSORS, *mail.SENSORS, *pending.SENSORS, *failures.SENSORS],
        resources={"door": swapped.door or Door()},
        loggers={"console": console_logger},
    )


def _names(assets: Iterable[dg.AssetsDefinition]) -> list[str]:
    return [key.to_user_string() for asset in assets for key in asset.keys]


defs = build_definitions()
