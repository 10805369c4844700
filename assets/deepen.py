"""Assets of deepening: what the specialists read, and how far the model in shadow agrees."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from assets import shown
from assets.steps import CODE_VERSION, OWNERS, step_asset
from resources.door import Door
from tgv_dagster.deepen import agreement
from tgv_dagster.flow import Step
from tgv_dagster.store.stages import Room

UNMEASURED = "unmeasured"


@dg.asset(
    group_name=str(Room.DEEPEN),
    deps=["shadow_decisions"],
    description="Agreement of the model in shadow with what was applied, per field, and its cost.",
    owners=OWNERS,
    kinds={"python", "postgres"},
    code_version=CODE_VERSION,
)
def shadow_agreement(door: dg.ResourceParam[Door]) -> dg.MaterializeResult:
    """Show agreement per field; without a model asked, every figure is unmeasured."""
    with door.discreetly("shadow_agreement"), door.installation().database.worker() as connection:
        rows = agreement.agreement(connection)
        calls = agreement.calls(connection)
    share = agreement.overall(rows)
    return dg.MaterializeResult(
        metadata={
            "agreement": UNMEASURED if share is None else round(share, 4),
            "fields": shown.table(
                {
                    "purpose": row.purpose,
                    "model": row.model,
                    "field": row.field,
                    "agreement": UNMEASURED if row.share is None else f"{row.share:.1%}",
                    "same": row.same,
                    "different": row.different,
                    "only model": row.only_model,
                    "only applied": row.only_applied,
                    "neither": row.neither,
                    "not quoted": row.unproven,
                    "decided by a person": row.by_person,
                    "model said the same": row.as_person,
                    "differ in": ", ".join(f"#{number}" for number in row.examples),
                }
                for row in rows
            ),
            "calls": shown.table(
                {
                    "purpose": row.purpose,
                    "model": row.model,
                    "end": row.status,
                    "calls": row.calls,
                    "tokens read": row.input_tokens,
                    "tokens written": row.output_tokens,
                    "euro": "unknown" if row.euro is None else f"{row.euro:.4f}",
                    "median ms": row.median_milliseconds,
                }
                for row in calls
            ),
            "picture": shown.stacked_bars(
                {
                    (f"{row.field} ({row.purpose})", part): count
                    for row in rows
                    for part, count in (("same", row.same), ("different", row.different))
                },
                rows=[f"{row.field} ({row.purpose})" for row in rows],
                title="Documents where model and cascade both state a value",
            ),
        }
    )


def assets(steps: Sequence[Step]) -> list[dg.AssetsDefinition]:
    """The assets of this room."""
    made = [step_asset(step, steps) for step in steps if step.room is Room.DEEPEN]
    return [*made, shadow_agreement]
