"""The labelled set, whole, and a run over it."""

from __future__ import annotations

from collections.abc import Iterator

from tgv_dagster.deepen.evaluation.booking_papers import booking_papers
from tgv_dagster.deepen.evaluation.contract_papers import contract_papers
from tgv_dagster.deepen.evaluation.measure import Measured, measure
from tgv_dagster.deepen.evaluation.papers import LabelledPaper, Part


def labelled(part: Part) -> Iterator[LabelledPaper]:
    """Every labelled paper of a part."""
    yield from booking_papers(part)
    yield from contract_papers(part)


def evaluate(part: Part) -> Measured:
    """Measure a part with the thresholds in force."""
    return measure(labelled(part))
