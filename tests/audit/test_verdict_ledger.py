"""The verdict ledger: gates, age, start dates and events of change."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from audit_builders import sql

from tgv_dagster.audit import ledger
from tgv_dagster.audit.ledger import GateClosed
from tgv_dagster.audit.register import CHECKPOINTS, checkpoint
from tgv_dagster.audit.verdict import State, Verdict, green, red, unmeasured
from tgv_dagster.installation import Installation

GATE = checkpoint("raw_first")


def _keep(installation: Installation, verdict: Verdict, *, run_id: str | None = None) -> None:
    with installation.database.worker() as connection:
        ledger.keep(connection, GATE, verdict, run_id=run_id)


def _entry(installation: Installation, *, now: datetime | None = None) -> ledger.Entry:
    with installation.database.worker() as connection:
        return ledger.latest(connection, only=[GATE.id], now=now)[0]


def _passes(installation: Installation) -> None:
    with installation.database.worker() as connection:
        ledger.require_green(connection, GATE.id)


def test_before_the_first_measurement_everything_is_unmeasured(installation: Installation) -> None:
    with installation.database.worker() as connection:
        entries = ledger.latest(connection)
    assert [entry.checkpoint for entry in entries] == list(CHECKPOINTS)
    assert {entry.verdict.state for entry in entries} == {State.UNMEASURED}
    assert {entry.measured_at for entry in entries} == {None}


def test_the_newest_verdict_counts(installation: Installation) -> None:
    _keep(installation, red("first", {"documents": 3}))
    _keep(installation, green("second", {"documents": 4}))
    entry = _entry(installation)
    assert entry.verdict == green("second", {"documents": 4})
    assert entry.is_live


def test_a_count_of_zero_stands_with_its_start_date(installation: Installation) -> None:
    before = datetime.now(UTC) - timedelta(seconds=5)
    _keep(installation, green("nothing found", {"body_without_file": 0}))
    _keep(installation, green("nothing found", {"body_without_file": 0}))
    with installation.database.worker() as connection:
        since = ledger.counted_since(connection, GATE.id)
    assert since is not None
    assert since > before
    assert _entry(installation).counted_since == since


def test_a_stale_verdict_says_nothing_any_more(installation: Installation) -> None:
    _keep(installation, green("all is well"))
    fresh = datetime.now(UTC) + GATE.stale_after / 2
    late = datetime.now(UTC) + GATE.stale_after + timedelta(minutes=1)
    assert _entry(installation, now=fresh).verdict.state is State.GREEN
    stale = _entry(installation, now=late)
    assert stale.verdict.state is State.UNMEASURED
    assert stale.measured_at is not None


@pytest.mark.parametrize(
    ("verdict", "opens"),
    [
        (green("fine"), True),
        (red("one item is held", evidence=["document:4"]), True),
        (red("a row came around the gate", systemic=True), False),
        (unmeasured("the store did not answer"), False),
    ],
    ids=["green", "held_items", "systemic", "unmeasured"],
)
def test_a_gate_opens_only_when_measured_and_not_bypassed(
    installation: Installation, verdict: Verdict, opens: bool
) -> None:
    _keep(installation, verdict)
    if opens:
        _passes(installation)
        return
    with pytest.raises(GateClosed) as closed:
        _passes(installation)
    assert closed.value.verdict == verdict
    assert verdict.reason in str(closed.value)


def test_a_gate_that_was_never_measured_is_closed(installation: Installation) -> None:
    with pytest.raises(GateClosed, match=ledger.NEVER_MEASURED):
        _passes(installation)


def test_a_gate_closes_when_its_measurement_is_too_old(installation: Installation) -> None:
    _keep(installation, green("all is well"))
    sql(
        installation,
        "UPDATE verdicts SET measured_at = now() - %s",
        GATE.stale_after + timedelta(hours=1),
    )
    with pytest.raises(GateClosed, match="too old"):
        _passes(installation)


def test_only_a_change_of_state_is_an_event(installation: Installation) -> None:
    for verdict in (green("a"), green("b"), red("c"), red("d"), unmeasured("e")):
        _keep(installation, verdict)
    kinds = sql(
        installation,
        "SELECT kind FROM agent_events WHERE object = 'checkpoint:raw_first' ORDER BY id",
    )
    assert [kind for (kind,) in kinds] == [
        "checkpoint.green",
        "checkpoint.red",
        "checkpoint.unmeasured",
    ]


def test_a_broken_measurement_is_unmeasured_and_names_only_the_kind_of_fault(
    installation: Installation,
) -> None:
    def breaks(_installation: Installation) -> Verdict:
        raise OSError("Geheimer Brief an Frau Nachtigall.pdf")

    verdict = ledger.evaluate(installation, replace(GATE, measure=breaks), run_id="r1")
    assert verdict.state is State.UNMEASURED
    assert "OSError" in verdict.reason
    assert "Nachtigall" not in verdict.reason


def test_one_run_measures_once(installation: Installation) -> None:
    calls: list[int] = []

    def counts(_installation: Installation) -> Verdict:
        calls.append(1)
        return green("counted", {"calls": len(calls)})

    which = replace(GATE, measure=counts, hold=None)
    first = ledger.evaluate(installation, which, run_id="r1")
    again = ledger.evaluate(installation, which, run_id="r1")
    other = ledger.evaluate(installation, which, run_id="r2")
    assert first == again
    assert other.figures == {"calls": 2}


def test_evidence_is_bounded() -> None:
    verdict = red("many", evidence=[f"document:{number}" for number in range(1000)])
    assert len(verdict.evidence) == 50


def test_pruning_keeps_the_newest_verdict_of_each_checkpoint(installation: Installation) -> None:
    for _ in range(3):
        _keep(installation, green("old"))
    sql(installation, "UPDATE verdicts SET measured_at = now() - interval '400 days'")
    with installation.database.worker() as connection:
        removed = ledger.prune(connection, keep_for=timedelta(days=365))
    assert removed == 2
    assert _entry(installation).measured_at is not None
