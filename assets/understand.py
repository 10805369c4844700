"""Assets of understanding: texts, and documents with what triage decided."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from assets.steps import step_asset
from tgv_dagster.flow import Step
from tgv_dagster.store.stages import Room


def assets(steps: Sequence[Step]) -> list[dg.AssetsDefinition]:
    """The assets of this room."""
    return [step_asset(step, steps) for step in steps if step.room is Room.UNDERSTAND]
