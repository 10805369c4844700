"""Assets of the audit: the state of the flow, and the verdict on every invariant."""

from collections import Counter
from collections.abc import Sequence

import dagster as dg

from assets import shown
from assets.steps import CODE_VERSION, OWNERS, step_asset
from resources.door import Door
from tgv_dagster.audit import alerts, ledger, summaries
from tgv_dagster.audit.chain import read_chain
from tgv_dagster.audit.ledger import Entry
from tgv_dagster.audit.register import CHECKPOINTS, Station
from tgv_dagster.audit.verdict import State
from tgv_dagster.flow import Step
from tgv_dagster.installation import Installation
from tgv_dagster.store.stages import Room, Stage


@dg.asset(
    group_name=str(Room.AUDIT),
    deps=["dispatched_documents", "word_index", "open_cases"],
    description="The state of the flow: how many items stand in which stage, and since when.",
    owners=OWNERS,
    kinds={"python", "postgres"},
    code_version=CODE_VERSION,
)
def flow_report(door: dg.ResourceParam[Door]) -> dg.MaterializeResult:
    """Show the ledger by stage and the documents by room."""
    with door.discreetly("flow_report"), door.installation().database.worker() as connection:
        stages = summaries.stages(connection)
        rooms = summaries.documents_by_stage(connection)
    order = [str(stage) for stage in Stage]
    return dg.MaterializeResult(
        metadata={
            "documents": sum(rooms.values()),
            "stages": shown.table(
                {
                    "stage": row.stage,
                    "state": row.state,
                    "items": row.items,
                    "oldest": shown.day(row.oldest),
                }
                for row in sorted(stages, key=lambda row: (order.index(row.stage), row.state))
            ),
            "rooms": shown.table(
                {"room": room, "state": state, "documents": count}
                for (room, state), count in sorted(rooms.items())
            ),
            "picture": shown.stacked_bars(
                {(row.stage, row.state): row.items for row in stages},
                rows=[stage for stage in order if any(row.stage == stage for row in stages)],
                title="Items per stage of the flow, by state",
            ),
        }
    )


@dg.asset(
    group_name=str(Room.AUDIT),
    deps=["flow_report"],
    description="The audit register: every invariant with its verdict, date, limit and remedy.",
    owners=OWNERS,
    kinds={"python", "postgres"},
    code_version=CODE_VERSION,
)
def verdicts(
    context: dg.AssetExecutionContext, door: dg.ResourceParam[Door]
) -> dg.MaterializeResult:
    """Measure every checkpoint that this run has not measured yet, and show all of them."""
    with door.discreetly("verdicts"):
        installation = door.installation()
        for which in CHECKPOINTS:
            if not which.gate:
                ledger.evaluate(installation, which, run_id=context.run.run_id)
        alerts.tell(installation)
        with installation.database.worker() as connection:
            entries = ledger.latest(connection)
        chain = _chain(installation)
    states = Counter(entry.verdict.state for entry in entries)
    return dg.MaterializeResult(
        metadata={
            **{str(state): states[state] for state in State},
            "register": shown.table(_row(entry) for entry in entries),
            "picture": shown.stacked_bars(
                Counter(
                    (str(entry.checkpoint.station), str(entry.verdict.state)) for entry in entries
                ),
                rows=[str(station) for station in Station],
                title="Checkpoints per station, by verdict",
            ),
            "intake_chain": dg.MarkdownMetadataValue(chain),
            "intake_chain_page": dg.UrlMetadataValue(
                f"http://{installation.settings.http_host}:{installation.settings.http_port}/chain"
            ),
        }
    )


_SIGNS = {State.GREEN: "●", State.RED: "■", State.UNMEASURED: "△"}


def _chain(installation: Installation) -> str:
    """The chain as Markdown: sign and word of each station, counts of its checkpoints."""
    chain = read_chain(installation, installation.service_scope(source="job"))
    lines = ["| station | state | green | red | unmeasured |", "|---|---|---|---|---|"]
    for view in chain.stations:
        counts = " | ".join(str(view.counts[state]) for state in State)
        lines.append(f"| {view.title.en} | {_SIGNS[view.state]} {view.state} | {counts} |")
    return "\n".join(lines)


def _row(entry: Entry) -> dict[str, str]:
    which, verdict = entry.checkpoint, entry.verdict
    return {
        "station": which.station,
        "checkpoint": which.id,
        "kind": "gate" if which.gate else "notice",
        "verdict": verdict.state,
        "reason": verdict.reason,
        "measured": shown.day(entry.measured_at),
        "counted since": shown.day(entry.counted_since),
        "statement": which.statement.en,
        "limit": which.limit.en,
        "remedy": "" if verdict.state is State.GREEN else which.remedy.en,
    }


def assets(steps: Sequence[Step]) -> list[dg.AssetsDefinition]:
    """The assets of this room."""
    made = [step_asset(step, steps) for step in steps if step.room is Room.AUDIT]
    return [*made, flow_report, verdicts]
