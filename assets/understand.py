"""Assets of understanding: texts, documents with what triage decided, and how well it decides."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import dagster as dg

from assets import shown
from assets.steps import CODE_VERSION, OWNERS, step_asset
from resources.door import Door
from tgv_dagster.deepen.evaluation import measure, run
from tgv_dagster.deepen.evaluation.measure import Bin, FieldFigures, Judged
from tgv_dagster.deepen.evaluation.papers import Part
from tgv_dagster.deepen.evaluation.sales import LANGUAGES
from tgv_dagster.flow import Step
from tgv_dagster.store.stages import Room
from tgv_dagster.understand.evidence import TuningValue
from tgv_dagster.understand.triage import DEFAULT_THRESHOLDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class EvaluationConfig(dg.Config):
    """`part`: test (figures to report) or tuning (the only one a threshold may be set on)."""

    part: str = Part.TEST.value


@dg.asset(
    group_name=str(Room.UNDERSTAND),
    description=(
        "How well understanding decides on the labelled set: right, asked, left open and silently"
        " wrong per field and language, with bounds. Nothing of the own stock is read."
    ),
    owners=OWNERS,
    kinds={"python", "evaluation"},
    code_version=CODE_VERSION,
)
def understanding_evaluation(
    config: EvaluationConfig, door: dg.ResourceParam[Door]
) -> dg.MaterializeResult:
    """Measure one part with the thresholds in force."""
    with door.discreetly("understanding_evaluation"):
        measured = run.evaluate(Part(config.part))
    overall = measure.figures(measured.decisions)
    bins = measure.reliability(measured.decisions)
    per_language = [
        row
        for language in LANGUAGES
        for row in measure.figures(measured.decisions, language=language)
    ]
    error = measure.expected_error(bins)
    return dg.MaterializeResult(
        metadata={
            "part": config.part,
            "papers": len(measured.papers),
            "decisions": len(measured.decisions),
            "silently_wrong_of_stated": str(measure.silent_wrong(measured.decisions)),
            "clarified_clean_half": str(measure.clarified(measured, nasty=False)),
            "clarified_nasty_half": str(measure.clarified(measured, nasty=True)),
            "expected_calibration_error": "unmeasured" if error is None else round(error, 4),
            "fields": shown.table(_row(row) for row in overall),
            "fields_by_language": shown.table(_row(row) for row in per_language),
            "thresholds": shown.table(_thresholds()),
            "ends": shown.stacked_bars(
                {
                    (row.field, end): rate.events
                    for row in overall
                    for end, rate in (
                        (Judged.RIGHT, row.right),
                        (Judged.ASKED, row.asked),
                        (Judged.OPEN, row.left_open),
                        (Judged.WRONG, row.silent_wrong),
                    )
                },
                rows=[row.field for row in overall],
                title="Decisions per field by end",
            ),
            "reliability": shown.picture(_reliability(bins), "Stated confidence against rightness"),
        }
    )


def _row(row: FieldFigures) -> dict[str, shown.Cell]:
    return {
        "field": row.field,
        "language": row.language,
        "decisions": row.decisions,
        "right": str(row.right),
        "silently wrong": str(row.silent_wrong),
        "asked": str(row.asked),
        "left open": str(row.left_open),
    }


def _thresholds() -> list[dict[str, shown.Cell]]:
    values = [getattr(DEFAULT_THRESHOLDS, f.name) for f in dataclasses.fields(DEFAULT_THRESHOLDS)]
    return [
        {
            "name": value.name,
            "value": value.value,
            "owner": value.owner,
            "set on": value.set_on.isoformat(),
            "measured on": "never" if value.measured_on is None else value.measured_on.isoformat(),
        }
        for value in values
        if isinstance(value, TuningValue)
    ]


def _reliability(bins: Sequence[Bin]) -> "Figure":
    """Share of right values over mean confidence; the bars name their counts."""
    from matplotlib.figure import Figure  # a fifth of the load time; not every run draws

    figure = Figure(figsize=(4.6, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.plot([0.5, 1], [0.5, 1], color="#9aa5b1", linewidth=1, label="calibrated")
    xs = [bar.confidence for bar in bins]
    ys = [bar.right.share or 0.0 for bar in bins]
    axes.plot(xs, ys, "o-", color="#4c78a8", label="measured")
    for bar, x, y in zip(bins, xs, ys, strict=True):
        axes.annotate(str(bar.right.trials), (x, y), fontsize=7, ha="center", va="top")
    axes.set_xlim(0.5, 1.02)
    axes.set_ylim(0.5, 1.02)
    axes.set_xlabel("stated confidence", fontsize=8)
    axes.set_ylabel("share of right values", fontsize=8)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False)
    return figure


def assets(steps: Sequence[Step]) -> list[dg.AssetsDefinition]:
    """The assets of this room."""
    made = [step_asset(step, steps) for step in steps if step.room is Room.UNDERSTAND]
    return [*made, understanding_evaluation]
