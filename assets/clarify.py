"""Assets of clarification: what waits for a person, counted."""

from collections.abc import Sequence

import dagster as dg

from assets import shown
from assets.steps import CODE_VERSION, OWNERS, step_asset
from resources.door import Door
from tgv_dagster.audit import summaries
from tgv_dagster.flow import Step
from tgv_dagster.store.stages import Room


@dg.asset(
    group_name=str(Room.CLARIFY),
    deps=["documents", "document_details", "filed_documents"],
    description="Open cases: every exception that waits for a person, by kind and age.",
    owners=OWNERS,
    kinds={"python", "postgres"},
    code_version=CODE_VERSION,
)
def open_cases(door: dg.ResourceParam[Door]) -> dg.MaterializeResult:
    """Show how many cases wait for how long."""
    with door.discreetly("open_cases"), door.installation().database.worker() as connection:
        counts = summaries.open_cases(connection)
    return dg.MaterializeResult(
        metadata={
            "open": sum(row.cases for row in counts),
            "by_kind_and_age": shown.table(
                {"kind": row.kind, "age": row.age, "cases": row.cases} for row in counts
            ),
            "picture": shown.stacked_bars(
                {(row.kind, row.age): row.cases for row in counts},
                rows=sorted({row.kind for row in counts}),
                title="Open cases by kind, and how long they wait",
            ),
        }
    )


@dg.asset(
    group_name=str(Room.CLARIFY),
    deps=["documents", "document_details", "filed_documents"],
    description="The share of documents that needed nobody, per tenant, kind and month.",
    owners=OWNERS,
    kinds={"python", "postgres"},
    code_version=CODE_VERSION,
)
def needed_nobody(door: dg.ResourceParam[Door]) -> dg.MaterializeResult:
    """Show how many documents went through without a person, and how that share moves."""
    with door.discreetly("needed_nobody"), door.installation().database.worker() as connection:
        counts = summaries.needed_nobody(connection)
    documents = sum(row.documents for row in counts)
    untouched = sum(row.needed_nobody for row in counts)
    return dg.MaterializeResult(
        metadata={
            "documents": documents,
            "needed_nobody": untouched,
            "share": "unmeasured" if not documents else f"{untouched / documents:.1%}",
            "by_tenant_kind_and_month": shown.table(
                {
                    "tenant": row.mandant,
                    "kind": row.kind,
                    "month": row.month,
                    "documents": row.documents,
                    "needed_nobody": row.needed_nobody,
                    "share": f"{row.needed_nobody / row.documents:.1%}",
                }
                for row in counts
            ),
            "trend": shown.shares(
                {
                    (f"{row.mandant} · {row.kind}", row.month): (row.needed_nobody, row.documents)
                    for row in counts
                },
                title="Share of documents that needed nobody, by month of receipt",
            ),
        }
    )


def assets(steps: Sequence[Step]) -> list[dg.AssetsDefinition]:
    """The assets of this room."""
    made = [step_asset(step, steps) for step in steps if step.room is Room.CLARIFY]
    return [*made, open_cases, needed_nobody]
