"""Assets of arrival: what came in, what lies secured, and the organisation it belongs to."""

from collections.abc import Sequence

import dagster as dg

from assets import shown
from assets.steps import CODE_VERSION, OWNERS, step_asset
from resources.door import Door
from tgv_dagster.audit import summaries
from tgv_dagster.flow import Step
from tgv_dagster.store.stages import Room

TENANTS = dg.DynamicPartitionsDefinition(name="tenants")
"""One key per tenant, kept up to date by the asset `organisation`."""


@dg.asset(
    group_name=str(Room.ARRIVE),
    description="Tenants, entities, projects and accounts: every known name comes from here.",
    owners=OWNERS,
    kinds={"python", "yaml"},
    code_version=CODE_VERSION,
)
def organisation(
    context: dg.AssetExecutionContext, door: dg.ResourceParam[Door]
) -> dg.MaterializeResult:
    """Show who belongs where and keep the list of tenants that can be rebuilt."""
    with door.discreetly("organisation"), door.installation().database.worker() as connection:
        belongings = summaries.who_belongs_where(connection)
    tenants = sorted({row.mandant for row in belongings})
    context.instance.add_dynamic_partitions(TENANTS.name or "tenants", tenants)
    counts = {(f"{row.mandant} / {row.entity}", "documents"): row.documents for row in belongings}
    return dg.MaterializeResult(
        metadata={
            "tenants": len(tenants),
            "entities": len(belongings),
            "who_belongs_where": shown.table(
                {
                    "tenant": row.mandant,
                    "entity": row.entity,
                    "kind": row.kind,
                    "bucket": row.bucket,
                    "projects": row.projects,
                    "accounts": row.accounts,
                    "documents": row.documents,
                }
                for row in belongings
            ),
            "picture": shown.stacked_bars(
                counts,
                rows=[f"{row.mandant} / {row.entity}" for row in belongings],
                title="Who belongs where: tenant / entity, documents",
            ),
        }
    )


@dg.asset(
    group_name=str(Room.ARRIVE),
    deps=["folder_arrivals", "mail_parts"],
    description="The raw layer: every byte that arrived, named by its hash, per bucket and gate.",
    owners=OWNERS,
    kinds={"python", "file"},
    code_version=CODE_VERSION,
)
def raw_items(door: dg.ResourceParam[Door]) -> dg.MaterializeResult:
    """Show what lies secured where and came through which gate."""
    with door.discreetly("raw_items"), door.installation().database.worker() as connection:
        counts = summaries.raw_layer(connection)
    bars: dict[tuple[str, str], int] = {}
    for row in counts:
        bars[row.bucket, row.gate] = bars.get((row.bucket, row.gate), 0) + row.items
    return dg.MaterializeResult(
        metadata={
            "items": sum(row.items for row in counts),
            "bytes": sum(row.size for row in counts),
            "by_bucket_and_gate": shown.table(
                {
                    "bucket": row.bucket,
                    "gate": row.gate,
                    "state": row.state,
                    "items": row.items,
                    "bytes": row.size,
                    "newest": shown.day(row.newest),
                }
                for row in counts
            ),
            "picture": shown.stacked_bars(
                bars,
                rows=sorted({bucket for bucket, _ in bars}),
                title="Raw items per bucket, by the gate they came through",
            ),
        }
    )


def assets(steps: Sequence[Step]) -> list[dg.AssetsDefinition]:
    """The assets of this room."""
    made = [step_asset(step, steps) for step in steps if step.room is Room.ARRIVE]
    return [organisation, *made, raw_items]
