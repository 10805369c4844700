"""Rates with their bounds: exact binomial intervals (Clopper-Pearson), pooled counts."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rate:
    """Events among trials; `share` is None without a trial (unmeasured)."""

    events: int
    trials: int

    @property
    def share(self) -> float | None:
        """The observed share."""
        return self.events / self.trials if self.trials else None

    def upper(self, confidence: float = 0.95) -> float | None:
        """One-sided upper bound of the true share (Clopper-Pearson); None is unmeasured."""
        if not self.trials:
            return None
        if self.events == self.trials:
            return 1.0
        low, high = self.events / self.trials, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            if _at_most(self.events, self.trials, middle) > 1 - confidence:
                low = middle
            else:
                high = middle
        return high

    def __str__(self) -> str:
        upper = self.upper()
        if self.share is None or upper is None:
            return "unmeasured"
        return f"{self.share:.2%} ({self.events}/{self.trials}, ≤ {upper:.2%})"


def _at_most(events: int, trials: int, share: float) -> float:
    """Probability of at most this many events, by logarithms: trials may be thousands."""
    if share >= 1.0:
        return 0.0
    total = 0.0
    for k in range(events + 1):
        ways = math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1)
        total += math.exp(ways + k * math.log(share) + (trials - k) * math.log1p(-share))
    return total
