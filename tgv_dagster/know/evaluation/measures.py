"""Measures of rankings and of scores: pure functions over what a search gave back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

TOP = 6


@dataclass(frozen=True, slots=True)
class Quality:
    """Shares of questions whose gold document stands first, in the first five and six, and the mean
    of 1/rank (0 where it is missing)."""

    questions: int
    first: float
    in_five: float
    in_six: float
    mrr: float


def quality(ranks: Sequence[int | None]) -> Quality:
    """Of ranks counted from 1, None where the gold was not found. Raises ValueError for none."""
    if not ranks:
        raise ValueError("no question, no measure")

    def within(most: int) -> float:
        return mean(rank is not None and rank <= most for rank in ranks)

    return Quality(
        len(ranks), within(1), within(5), within(TOP), mean(1 / r if r else 0.0 for r in ranks)
    )


def rank_of(gold: str, found: Sequence[str]) -> int | None:
    """Place of a key in a list, counted from 1."""
    return found.index(gold) + 1 if gold in found else None


@dataclass(frozen=True, slots=True)
class Floor:
    """A cosine below which a hit counts as nothing found, with what it keeps and cuts.

    recall: share of real questions whose gold hit stays; empty: share of nonsense questions of
    which no hit stays; abstained: the same of plausible questions that nothing answers.
    """

    value: float
    recall: float
    empty: float
    abstained: float
    questions: int
    nonsense: int


def floor_at(
    recall: float, real: Sequence[float], nonsense: Sequence[float], unanswerable: Sequence[float]
) -> Floor:
    """The highest floor, in hundredths, that keeps this share of the real questions.

    real: score of the gold hit by question; the others: best score by question. Raises ValueError
    when one of them is empty.
    """
    if not (real and nonsense and unanswerable):
        raise ValueError("a floor needs real questions and others")
    kept = sorted(real, reverse=True)[math.ceil(recall * len(real)) - 1]
    value = math.floor(kept * 100) / 100
    return Floor(
        value,
        recall=mean(score >= value for score in real),
        empty=mean(score < value for score in nonsense),
        abstained=mean(score < value for score in unanswerable),
        questions=len(real),
        nonsense=len(nonsense),
    )
