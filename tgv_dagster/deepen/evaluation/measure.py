"""Measure understanding on labelled papers, through the functions that production runs.

Here belong what counts as right, wrong, asked or left open, and the figures from these. A wrong
stated value is a silent error whether or not something else of the paper is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from itertools import pairwise

from tgv_dagster.deepen.agreement import is_same
from tgv_dagster.deepen.evaluation.papers import VOCABULARY, LabelledPaper
from tgv_dagster.deepen.evaluation.rates import Rate
from tgv_dagster.deepen.specialists import SpecialistInput, specialise
from tgv_dagster.understand.entity import EntityHint, HintSource
from tgv_dagster.understand.evidence import Field, Finding
from tgv_dagster.understand.triage import DEFAULT_THRESHOLDS, Thresholds, TriageInput, triage
from tgv_dagster.understand.values import as_text

AS_OF = date(2026, 11, 30)


class Judged(StrEnum):
    """Ends of one decision."""

    RIGHT = "right"
    WRONG = "wrong"
    ASKED = "asked"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Decision:
    """One field of one paper: what became of it, with the confidence of a stated value."""

    paper: str
    family: str
    language: str
    is_nasty: bool
    field: Field
    judged: Judged
    confidence: float | None
    rule_id: str
    said: str | None
    true: str | None


@dataclass(frozen=True, slots=True)
class Measured:
    """All decisions, and which papers needed a person (name, nasty, asked)."""

    decisions: tuple[Decision, ...]
    papers: tuple[tuple[str, bool, bool], ...]


def measure(
    papers: Iterable[LabelledPaper], thresholds: Thresholds = DEFAULT_THRESHOLDS
) -> Measured:
    """Read every paper and judge each field that its truth names."""
    decisions: list[Decision] = []
    seen: list[tuple[str, bool, bool]] = []
    for paper in papers:
        stated, asked = _read(paper, thresholds)
        decisions += (
            _judge(paper, name, true, stated.get(name), name in asked)
            for name, true in paper.truth.items()
        )
        seen.append((paper.name, paper.is_nasty, bool(asked)))
    return Measured(tuple(decisions), tuple(seen))


def _read(
    paper: LabelledPaper, thresholds: Thresholds
) -> tuple[dict[Field, Finding], frozenset[Field]]:
    first = triage(
        TriageInput(
            pages=(paper.text,),
            vocabulary=VOCABULARY,
            languages=("de", "fr", "en", "it"),
            media_type="application/pdf",
            hint=None if paper.folder is None else EntityHint(paper.folder, HintSource.FOLDER),
            thresholds=thresholds,
        )
    )
    asked = frozenset(point.field for point in first.open_points)
    then = specialise(
        SpecialistInput(
            first.doc_type, (paper.text,), first.findings, asked, first.language, as_of=AS_OF
        )
    )
    stated = {found.field: found for found in (*then.findings, *first.findings)}
    return stated, asked | {point.field for point in then.open_points}


def _judge(
    paper: LabelledPaper, name: Field, true: str | None, found: Finding | None, asked: bool
) -> Decision:
    said = None if found is None else as_text(found.value)
    if name is Field.DOC_TYPE and said == "unknown":
        said = None
    if said is not None:
        right = true is not None and is_same(name, said, true)
        judged = Judged.RIGHT if right else Judged.WRONG
    elif true is None:
        judged = Judged.RIGHT
    else:
        judged = Judged.ASKED if asked else Judged.OPEN
    return Decision(
        paper.name,
        paper.family,
        paper.language,
        paper.is_nasty,
        name,
        judged,
        found.confidence if found is not None and said is not None else None,
        found.rule_id if found is not None else "",
        said,
        true,
    )


# --- figures -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FieldFigures:
    """Figures of one field (of one language, or of all)."""

    field: Field
    language: str
    decisions: int
    right: Rate
    silent_wrong: Rate
    asked: Rate
    left_open: Rate


def figures(decisions: Sequence[Decision], *, language: str = "all") -> tuple[FieldFigures, ...]:
    """Figures per field; the papers of one language when it is named."""
    chosen = [d for d in decisions if language in ("all", d.language)]
    made = []
    for name in sorted({d.field for d in chosen}):
        ends = [d.judged for d in chosen if d.field is name]
        count = {end: ends.count(end) for end in Judged}
        made.append(
            FieldFigures(
                name,
                language,
                len(ends),
                Rate(count[Judged.RIGHT], len(ends)),
                Rate(count[Judged.WRONG], len(ends)),
                Rate(count[Judged.ASKED], len(ends)),
                Rate(count[Judged.OPEN], len(ends)),
            )
        )
    return tuple(made)


def silent_wrong(decisions: Iterable[Decision]) -> Rate:
    """Wrong among the decisions that state a value: what passes the gate and is not so."""
    stated = [d for d in decisions if d.said is not None]
    return Rate(sum(d.judged is Judged.WRONG for d in stated), len(stated))


def clarified(measured: Measured, *, nasty: bool) -> Rate:
    """Papers of the clean or the nasty half that need a person."""
    asked = [was_asked for _, is_nasty, was_asked in measured.papers if is_nasty is nasty]
    return Rate(sum(asked), len(asked))


@dataclass(frozen=True, slots=True)
class Bin:
    """One bar of the reliability plot: mean stated confidence and how often it was right."""

    low: float
    high: float
    confidence: float
    right: Rate


EDGES = (0.0, 0.75, 0.8, 0.85, 0.9, 0.93, 0.96, 0.98, 1.0001)


def reliability(decisions: Iterable[Decision]) -> tuple[Bin, ...]:
    """Stated values by confidence; empty bins are left out."""
    stated = [(d.confidence, d.judged is Judged.RIGHT) for d in decisions if d.confidence]
    bins = []
    for low, high in pairwise(EDGES):
        inside = [(c, right) for c, right in stated if low <= c < high]
        if inside:
            mean = sum(c for c, _ in inside) / len(inside)
            bins.append(Bin(low, high, mean, Rate(sum(r for _, r in inside), len(inside))))
    return tuple(bins)


def expected_error(bins: Iterable[Bin]) -> float | None:
    """Expected calibration error: distance of confidence and share of right, weighted."""
    counted = list(bins)
    total = sum(bar.right.trials for bar in counted)
    if not total:
        return None
    distance = sum(
        bar.right.trials * abs(bar.confidence - (bar.right.share or 0)) for bar in counted
    )
    return distance / total
