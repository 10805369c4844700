"""The factory that makes an asset of a step of the flow; the rooms' modules say which.

Here belongs what all steps share: batches in bounded time, the gate in front, the discreet report.
What a step does stands in its room of `tgv_dagster`, named by `flow.STEPS`.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version

import dagster as dg

from assets import shown
from resources.door import Door, StepProgress
from tgv_dagster.audit import ledger, register
from tgv_dagster.audit.ledger import GateClosed
from tgv_dagster.audit.verdict import State
from tgv_dagster.flow import Step
from tgv_dagster.installation import Installation
from tgv_dagster.store.pull import BatchReport

OWNERS = ["team:tgv"]
CODE_VERSION = version("tgv-dagster")
BATCH_SECONDS = 300.0
"""A materialization goes on with further batches for this long; the rest is due for the next."""

KINDS: dict[str, set[str]] = {
    "folder_arrivals": {"python", "file"},
    "mail_fetched": {"python", "email"},
    "mail_parts": {"python", "email"},
    "extracted_texts": {"python", "pdf"},
    "documents": {"python", "postgres"},
    "document_details": {"python", "postgres"},
    "shadow_decisions": {"python", "openai"},
    "filed_documents": {"python", "postgres"},
    "rag_chunks": {"python", "postgres"},
    "chunk_vectors": {"python", "postgres"},
    "word_index": {"python", "search"},
    "tables_recognised": {"python", "polars"},
    "bank_transactions": {"python", "postgres"},
    "bank_links": {"python", "postgres"},
    "dispatched_documents": {"python", "postgres"},
    "seen_stamps": {"python", "email"},
}
"""What the steps work with, shown as tags in the lineage."""

ALSO_AFTER: dict[str, tuple[str, ...]] = {"documents": ("organisation",)}
"""What a step reads besides the steps it follows."""


def step_asset(step: Step, steps: Sequence[Step]) -> dg.AssetsDefinition:
    """The asset of one step; behind a gate it asks the verdict ledger before it works."""
    gates = gates_in_front(step, steps)

    @dg.asset(
        name=step.name,
        group_name=str(step.room),
        description=step.says,
        deps=[*step.after, *ALSO_AFTER.get(step.name, ())],
        owners=OWNERS,
        kinds=KINDS.get(step.name, {"python"}),
        code_version=CODE_VERSION,
        output_required=False,
    )
    def run_step(
        context: dg.AssetExecutionContext, door: dg.ResourceParam[Door]
    ) -> Iterator[dg.MaterializeResult]:
        with door.discreetly(step.name):
            installation = door.installation()
            closed = closed_gate(installation, gates)
        if closed is not None:
            _stop_or_skip(context, closed)
            return
        with door.discreetly(step.name):
            done = run_batches(step, installation, door)
            door.on_report(done)
            shown_report = shown.report(installation.settings, done)
        yield dg.MaterializeResult(metadata=shown_report)

    return run_step


def gates_in_front(step: Step, steps: Sequence[Step]) -> tuple[str, ...]:
    """Gates whose asset lies upstream of the step."""
    by_name = {other.name: other for other in steps}
    upstream: set[str] = set()
    waiting = list(step.after)
    while waiting:
        name = waiting.pop()
        if name not in upstream and name in by_name:
            upstream.add(name)
            waiting += by_name[name].after
    return tuple(gate.id for gate in register.gates() if gate.found_at.asset in upstream)


def closed_gate(installation: Installation, gates: Sequence[str]) -> GateClosed | None:
    """The first of these gates that is not open."""
    with installation.database.worker() as connection:
        for gate in gates:
            try:
                ledger.require_green(connection, gate)
            except GateClosed as closed:
                return closed
    return None


def _stop_or_skip(context: dg.AssetExecutionContext, closed: GateClosed) -> None:
    """A red gate fails the step with its reason; an unmeasured one skips it, told as a warning.

    A failed step would show the unmeasured gate as failed (architecture §4), so nothing is
    materialized instead, and everything downstream is skipped with it. Raises dagster.Failure.
    """
    if closed.verdict.state is State.UNMEASURED:
        context.log.warning(f"Nothing was done here: {closed}.")
        return
    raise dg.Failure(
        description=str(closed),
        metadata={"evidence": dg.MarkdownMetadataValue(", ".join(closed.verdict.evidence))},
        allow_retries=False,
    )


def run_batches(step: Step, installation: Installation, door: Door) -> BatchReport:
    """Run batch after batch until nothing is due, a batch does nothing, or the time is up."""
    started = time.monotonic()
    outcomes: Counter[str] = Counter()
    door.on_progress(StepProgress(step.name, 0, 0))
    before = 0

    def progress(done: int, total: int) -> None:
        door.on_progress(StepProgress(step.name, before + done, before + total))

    total = step.run(installation, progress)
    outcomes.update(total.outcomes)
    problems = list(total.problems)
    last = total
    while last.remaining and last.claimed and time.monotonic() - started < BATCH_SECONDS:
        before = total.claimed
        last = step.run(installation, progress)
        outcomes.update(last.outcomes)
        problems += last.problems
        total = replace(last, claimed=total.claimed + last.claimed)
    door.on_progress(StepProgress(step.name, total.claimed, total.claimed))
    return replace(
        total,
        outcomes=dict(outcomes),
        problems=tuple(problems),
        seconds=time.monotonic() - started,
    )
