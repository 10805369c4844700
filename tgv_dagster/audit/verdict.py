"""What one measurement of a checkpoint says: green, red, or not measured.

Here belong the value and its constructors. Which checkpoints exist belongs to `register`, how a
verdict is kept to `ledger`. A verdict carries counts, ids and fixed sentences, never text, names
or amounts of a document, because readers without a tenant login see it (architecture §4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

Figure = int | float | str
MAX_EVIDENCE = 50


class State(StrEnum):
    """The three states of a checkpoint (CHAIN-03); unmeasured is the absence of a statement."""

    GREEN = "green"
    RED = "red"
    UNMEASURED = "unmeasured"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One measurement.

    `reason` is a fixed sentence of the measuring code. `evidence` holds ids such as `document:17`.
    `systemic` is meant for gates: the guard did not run or a row went around it, so everything
    downstream has to stop; a red that is not systemic names items that are already held.
    """

    state: State
    reason: str
    figures: Mapping[str, Figure] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    systemic: bool = False

    @property
    def opens_gate(self) -> bool:
        """Whether work behind a gate may go on: measured, and nothing went around the guard."""
        return self.state is State.GREEN or (self.state is State.RED and not self.systemic)


def green(reason: str, figures: Mapping[str, Figure] | None = None) -> Verdict:
    """Measured, and the statement holds."""
    return Verdict(State.GREEN, reason, figures or {})


def red(
    reason: str,
    figures: Mapping[str, Figure] | None = None,
    *,
    evidence: Sequence[str] = (),
    systemic: bool = False,
) -> Verdict:
    """Measured, and the statement does not hold; at most `MAX_EVIDENCE` ids are kept."""
    return Verdict(State.RED, reason, figures or {}, tuple(evidence[:MAX_EVIDENCE]), systemic)


def unmeasured(reason: str, figures: Mapping[str, Figure] | None = None) -> Verdict:
    """Nothing can be said; `reason` says why (OBS-03)."""
    return Verdict(State.UNMEASURED, reason, figures or {})


def judged(
    violations: int,
    *,
    holds: str,
    broken: str,
    figures: Mapping[str, Figure],
    evidence: Sequence[str] = (),
    systemic: bool = False,
) -> Verdict:
    """Green when nothing violates the statement, else red with its evidence."""
    if violations == 0:
        return green(holds, figures)
    return red(broken, figures, evidence=evidence, systemic=systemic)
