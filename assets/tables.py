"""Assets of the tables: what was recognised, the time entries and the trips that came of it.

Counts, months and states only: people, projects and purposes stay behind the walls.
"""

from collections import Counter
from collections.abc import Sequence

import dagster as dg

from assets import shown
from assets.steps import CODE_VERSION, OWNERS, step_asset
from resources.door import Door
from tgv_dagster.flow import Step
from tgv_dagster.store.stages import Room
from tgv_dagster.tables import figures


@dg.asset(
    group_name=str(Room.TABLES),
    deps=["tables_recognised"],
    description="Recognised tables by target and by what became of them.",
    owners=OWNERS,
    kinds={"python", "polars"},
    code_version=CODE_VERSION,
)
def recognised_tables(door: dg.ResourceParam[Door]) -> dg.MaterializeResult:
    """Show how many tables wait for a person, were imported, or are working material."""
    with door.discreetly("recognised_tables"), door.installation().database.worker() as connection:
        counts = figures.counts_of_tables(connection)
    bars: Counter[tuple[str, str]] = Counter()
    for target, state, tables, _ in counts:
        bars[(target, state)] += tables
    return dg.MaterializeResult(
        metadata={
            "tables": sum(bars.values()),
            "asked": sum(n for (_, state), n in bars.items() if state == "asked"),
            "by_target_and_state": shown.table(
                {"target": target, "state": state, "tables": tables, "rows": rows}
                for target, state, tables, rows in counts
            ),
            "picture": shown.stacked_bars(
                bars,
                rows=sorted({target for target, _ in bars}),
                title="Recognised tables, by what became of them",
            ),
        }
    )


@dg.asset(
    group_name=str(Room.TABLES),
    deps=["tables_recognised"],
    description="Time entries per month, by whether somebody reviewed them.",
    owners=OWNERS,
    kinds={"python", "postgres"},
    code_version=CODE_VERSION,
)
def time_entries(door: dg.ResourceParam[Door]) -> dg.MaterializeResult:
    """Show the entries of each month; hours per project stand in `tgv tables hours`."""
    with door.discreetly("time_entries"), door.installation().database.worker() as connection:
        counts = figures.counts_of_entries(connection)
    return dg.MaterializeResult(
        metadata={
            "entries": sum(entries for _, _, entries, _ in counts),
            "minutes": sum(minutes for _, _, _, minutes in counts),
            "per_month": shown.table(
                {"month": month, "state": state, "entries": entries, "minutes": minutes}
                for month, state, entries, minutes in counts
            ),
            "picture": shown.stacked_bars(
                {(month, state): entries for month, state, entries, _ in counts},
                rows=sorted({month for month, _, _, _ in counts}),
                title="Time entries per month",
            ),
        }
    )


@dg.asset(
    group_name=str(Room.TABLES),
    deps=["tables_recognised"],
    description="Trips per month, by whether somebody reviewed them.",
    owners=OWNERS,
    kinds={"python", "postgres"},
    code_version=CODE_VERSION,
)
def trips(door: dg.ResourceParam[Door]) -> dg.MaterializeResult:
    """Show the trips of each month; the logbook itself stands in `tgv tables logbook`."""
    with door.discreetly("trips"), door.installation().database.worker() as connection:
        counts = figures.counts_of_trips(connection)
    return dg.MaterializeResult(
        metadata={
            "trips": sum(trips for _, _, trips in counts),
            "per_month": shown.table(
                {"month": month, "state": state, "trips": trips} for month, state, trips in counts
            ),
            "picture": shown.stacked_bars(
                {(month, state): trips for month, state, trips in counts},
                rows=sorted({month for month, _, _ in counts}),
                title="Trips per month",
            ),
        }
    )


def assets(steps: Sequence[Step]) -> list[dg.AssetsDefinition]:
    """The assets of this room."""
    made = [step_asset(step, steps) for step in steps if step.room is Room.TABLES]
    return [*made, recognised_tables, time_entries, trips]
