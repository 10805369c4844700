"""The evaluation of retrieval on the console: run it, print it, keep it."""

from __future__ import annotations

from pathlib import Path

import typer

from tgv_dagster.console.asking import parts_of
from tgv_dagster.console.common import AS_OPTION, MANDANT_OPTION, opened, out, scope_of
from tgv_dagster.know.evaluation import own, report, run
from tgv_dagster.know.evaluation.questions import study


def evaluate(
    distractors: int = typer.Option(300, min=0, help="Near-duplicates inserted after the gold."),
    default_only: bool = typer.Option(False, "--default-only", help="Only the default model."),
    sizes: bool = typer.Option(False, "--sizes", help="Also the chunk-size study (minutes)."),
    by: str = typer.Option("console", "--by", help="Who asks; stands in the event."),
    file: Path | None = typer.Option(None, "--out", help="Write the report here as well."),
) -> None:
    """Measure retrieval on the shipped questions, in a database of its own, and keep the result."""
    with opened() as installation:
        models = run.embedded_models()[: 1 if default_only else None]
        results = run.compare_models(installation.database.url, models, distractors)
        parts = [report.models_report(results)]
        if sizes:
            parts.append(report.sizes_report(run.compare_sizes(installation.database.url)))
        names = run.record(installation.database, results, by=by)
    text = "\n\n".join(parts)
    out.print(text, markup=False, soft_wrap=True)
    for result, name in zip(results, names, strict=True):
        out.print(f"evaluation {name} of {result.cross_lingual.space_id}", markup=False)
    if file is not None:
        file.write_text(text + "\n", encoding="utf-8")


def evaluate_own(
    questions: Path = typer.Argument(
        help="YAML: questions: [{ask: …, documents: [17], kind: …}].", exists=True
    ),
    login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Ask your own questions of your own stock; say which floor it would have, change nothing."""
    with opened() as installation:
        scope = scope_of(installation.database, login, mandant)
        result = own.measure(
            parts_of(installation),
            scope,
            own.load(questions),
            study().nonsense,
            study().unanswerable,
        )
    out.print(report.own_report(result), markup=False, soft_wrap=True)
