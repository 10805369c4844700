"""Other ways to join two rankings, to compare rule A″ with: instruments, never wired into answers.

RRF and weighted fusion stand here and nowhere else (RET-47).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tgv_dagster.know.balance import Hit

_RRF_CONSTANT = 60


def reciprocal_ranks(ways: Sequence[Sequence[Hit]]) -> list[int]:
    """Documents by the sum of 1 / (60 + rank) over the ways, best first (Cormack et al. 2009)."""
    scores: defaultdict[int, float] = defaultdict(float)
    for way in ways:
        for rank, document in enumerate(_documents(way), start=1):
            scores[document] += 1 / (_RRF_CONSTANT + rank)
    return _by_score(scores)


def weighted(ways: Sequence[Sequence[Hit]], weights: Sequence[float]) -> list[int]:
    """Documents by the weighted sum of their scores, each way scaled to 0 to 1 by its own best and
    worst hit, best first."""
    scores: defaultdict[int, float] = defaultdict(float)
    for way, weight in zip(ways, weights, strict=True):
        if not way:
            continue
        low, high = min(hit.score for hit in way), max(hit.score for hit in way)
        best: dict[int, float] = {}
        for hit in way:
            scaled = (hit.score - low) / (high - low) if high > low else 1.0
            best[hit.document_id] = max(scaled, best.get(hit.document_id, 0.0))
        for document, scaled in best.items():
            scores[document] += weight * scaled
    return _by_score(scores)


def _documents(way: Sequence[Hit]) -> list[int]:
    return list(dict.fromkeys(hit.document_id for hit in way))


def _by_score(scores: dict[int, float]) -> list[int]:
    return sorted(scores, key=lambda document: (-scores[document], document))
