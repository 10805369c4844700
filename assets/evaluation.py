"""Evaluation of retrieval and the change of the embedding model, from the UI.

An evaluation runs on the shipped questions in a database of its own; its report and pictures hold
figures and fixed names only. The backfill fills another vector space beside the active one, by
tenant and month; `switch_space` makes it the active one and demands the name of its evaluation.
What is measured stands in `know.evaluation`, how a space changes in `know.spaces`.
"""

from collections.abc import Mapping, Sequence
from datetime import date

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from assets import shown
from assets.jobs import LIMIT
from assets.rebuild import TENANT_MONTHS
from assets.steps import CODE_VERSION, OWNERS
from resources.door import Door, StepProgress
from tgv_dagster.installation import Installation
from tgv_dagster.know.embedding import Part, fill_space, lacking_in
from tgv_dagster.know.evaluation import report, run
from tgv_dagster.know.evaluation.balancing import Emptiness
from tgv_dagster.know.evaluation.chunk_sizes import SizeResult
from tgv_dagster.know.evaluation.run import ModelResult
from tgv_dagster.know.spaces import switch_space
from tgv_dagster.store.stages import Room

BATCH_DOCUMENTS = 200


class ModelsConfig(dg.Config):
    """`distractors`: near-duplicates inserted after the gold; `by`: who asks."""

    distractors: int = 300
    default_only: bool = False
    by: str = "dagster"


@dg.asset(
    name="evaluation_models",
    group_name=str(Room.KNOW),
    description=(
        "Every embedded model on the production search: the same question in two languages, rule A″"
        " beside other joins, honest emptiness. Figures only; nothing of the own stock is read."
    ),
    owners=OWNERS,
    kinds={"python", "evaluation"},
    code_version=CODE_VERSION,
)
def evaluation_models(config: ModelsConfig, door: dg.ResourceParam[Door]) -> dg.MaterializeResult:
    """Compare the models and keep what was measured of each space."""
    with door.discreetly("evaluation_models"):
        installation = door.installation()
        models = run.embedded_models()[: 1 if config.default_only else None]
        results = run.compare_models(installation.database.url, models, config.distractors)
        names = run.record(installation.database, results, by=config.by)
    return dg.MaterializeResult(metadata=_models_shown(results, names))


def _models_shown(
    results: Sequence[ModelResult], names: Sequence[str]
) -> dict[str, dg.MetadataValue]:
    return {
        "verdicts": shown.table(
            {
                "space": result.cross_lingual.space_id,
                "verdict": result.cross_lingual.verdict,
                "reason": result.cross_lingual.reason,
                "evaluation": name,
            }
            for result, name in zip(results, names, strict=True)
        ),
        "cross_lingual": _bars(
            {
                result.cross_lingual.space_id: {
                    kind.kind.name: kind.same_document for kind in result.cross_lingual.kinds
                }
                for result in results
            },
            "Same document in both languages, share of pairs",
        ),
        "balancing": _bars(
            {
                join: {kind: quality.in_six for kind, quality in kinds.items()}
                for join, kinds in results[0].balancing.joins.items()
            },
            f"Gold among six by join, {results[0].balancing.space_id}",
        ),
        "honest_emptiness": _scores([result.emptiness for result in results]),
        "report": dg.MarkdownMetadataValue(report.models_report(results)),
    }


@dg.asset(
    name="evaluation_chunk_sizes",
    group_name=str(Room.KNOW),
    description=(
        "The chunk-size study: five sizes, overlaps on their own, windows against whole chunks, the"
        " rank of every right document and of its disturber. Takes minutes."
    ),
    owners=OWNERS,
    kinds={"python", "evaluation"},
    code_version=CODE_VERSION,
)
def evaluation_chunk_sizes(door: dg.ResourceParam[Door]) -> dg.MaterializeResult:
    """Run the study with the default model."""
    with door.discreetly("evaluation_chunk_sizes"):
        results = run.compare_sizes(door.installation().database.url)
    return dg.MaterializeResult(
        metadata={
            "settings": len(results),
            "ranks": _ranks(results),
            "report": dg.MarkdownMetadataValue(report.sizes_report(results)),
        }
    )


# --- pictures ----------------------------------------------------------------------------------


def _bars(values: Mapping[str, Mapping[str, float]], title: str) -> dg.MarkdownMetadataValue:
    """Shares as one group of bars per row, with the number on each."""
    from matplotlib.figure import Figure  # a fifth of the load time; not every run draws

    parts = list(next(iter(values.values())))
    figure = Figure(figsize=(7.2, 0.8 + 0.2 * len(values) * (len(parts) + 1)), layout="constrained")
    axes = figure.subplots()
    height = 0.8 / len(parts)
    for number, part in enumerate(parts):
        at = [row + number * height for row in range(len(values))]
        bars = axes.barh(at, [row[part] for row in values.values()], height * 0.9, label=part)
        axes.bar_label(bars, fmt="%.2f", fontsize=7, padding=2)
    axes.set_yticks([row + 0.4 - height / 2 for row in range(len(values))], list(values))
    axes.set_xlim(0, 1.12)
    axes.invert_yaxis()
    axes.set_title(title, loc="left", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=7)
    axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return shown.picture(figure, title)


def _scores(results: Sequence[Emptiness]) -> dg.MarkdownMetadataValue:
    """Best scores of real, unanswerable and nonsense questions as dots, with the floor."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 1.6 * len(results) + 0.4), layout="constrained")
    rows = figure.subplots(len(results), 1, squeeze=False)[:, 0]
    for axes, result in zip(rows, results, strict=True):
        groups = {
            "real": result.best_real,
            "unanswerable": result.best_unanswerable,
            "nonsense": result.best_nonsense,
        }
        for row, (name, scores) in enumerate(groups.items()):
            axes.plot(scores, [row] * len(scores), "|", markersize=12, label=name)
        axes.axvline(result.floor.value, linestyle="--", linewidth=1)
        axes.set_yticks(range(len(groups)), list(groups))
        axes.set_title(
            f"{result.space_id}: floor {result.floor.value:.2f} keeps {result.floor.recall:.0%}",
            loc="left",
            fontsize=8,
        )
        axes.tick_params(labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
    return shown.picture(figure, "Best score by kind of question, with the floor")


def _ranks(results: Sequence[SizeResult]) -> dg.MarkdownMetadataValue:
    """Rank of the right document by size, one line per question, windows and whole chunks apart."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.2), layout="constrained")
    both = figure.subplots(1, 2, sharey=True)
    for axes, windowed in zip(both, (True, False), strict=True):
        chosen = [r for r in results if r.overlap == 0 and (r.window is not None) is windowed]
        for number, question in enumerate(chosen[0].ranks if chosen else ()):
            ranks = [result.ranks[number].rank for result in chosen]
            axes.plot(
                [str(result.size) for result in chosen],
                [float("nan") if rank is None else rank for rank in ranks],
                marker="o", markersize=3, linewidth=1, label=f"{question.kind}: {question.id}",
            )  # fmt: skip
        axes.set_yscale("log")
        axes.set_title("windows of 300" if windowed else "whole chunks", loc="left", fontsize=8)
        axes.tick_params(labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
    both[0].invert_yaxis()
    both[0].set_ylabel("rank of the right document", fontsize=7)
    both[1].legend(fontsize=6, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return shown.picture(figure, "Rank of the right document by chunk size")


# --- the change of model -----------------------------------------------------------------------


class BackfillConfig(dg.Config):
    """`space_id`: the registered space to fill beside the active one."""

    space_id: str


@dg.asset(
    name="chunk_vectors_backfill",
    group_name=str(Room.KNOW),
    deps=["chunk_vectors"],
    partitions_def=TENANT_MONTHS,
    description=(
        "Fills another vector space beside the active one for one tenant and month of receipt."
        " Searches go on in the active space until `switch_space`."
    ),
    owners=OWNERS,
    kinds={"python", "rebuild"},
    code_version=CODE_VERSION,
)
def chunk_vectors_backfill(
    context: dg.AssetExecutionContext, config: BackfillConfig, door: dg.ResourceParam[Door]
) -> dg.MaterializeResult:
    """Embed what the space lacks of this partition, batch by batch; a repetition costs nothing."""
    assert isinstance(context.partition_key, dg.MultiPartitionKey)
    keys = context.partition_key.keys_by_dimension
    with door.discreetly("chunk_vectors_backfill"):
        installation = door.installation()
        embedder = installation.embedder_for(config.space_id)
        part = _part(installation, keys["tenant"], keys["month"])
        due = left = len(lacking_in(installation.database, embedder, part))
        while left:
            door.on_progress(StepProgress("chunk_vectors_backfill", due - left, due))
            left = fill_space(installation.database, embedder, limit=BATCH_DOCUMENTS, part=part)
        still = len(lacking_in(installation.database, embedder, None))
    return dg.MaterializeResult(
        metadata={
            "space": embedder.space.space_id,
            "filled_documents": due,
            "still_lacking_in_all_partitions": still,
        }
    )


def _part(installation: Installation, tenant: str, month: str) -> Part:
    with installation.database.worker() as connection:
        row = connection.execute("SELECT id FROM mandanten WHERE slug = %s", (tenant,)).fetchone()
    if row is None:
        raise LookupError("the tenant of this partition does not exist any more")
    return Part(row[0], date.fromisoformat(month))


class SwitchSpaceConfig(dg.Config):
    """The filled space, the name of its evaluation, and who decided."""

    space_id: str
    evaluation: str
    by: str


@dg.op
def switch_to_space(
    context: dg.OpExecutionContext, config: SwitchSpaceConfig, door: dg.ResourceParam[Door]
) -> None:
    """Make the space the active one; refused while a document is missing or none evaluated it."""
    with door.discreetly("switch_space"):
        installation = door.installation()
        embedder = installation.embedder_for(config.space_id)
        switch_space(installation.database, embedder, by=config.by, evaluation=config.evaluation)
    context.log.info(f"{config.space_id} is the active vector space.")


@dg.job(
    name="switch_space",
    executor_def=dg.in_process_executor,
    description="Make a filled and evaluated vector space the active one, at once for everybody.",
    tags=LIMIT,
)
def switch_space_job() -> None:
    """One step: the switch."""
    switch_to_space()


ASSETS = [evaluation_models, evaluation_chunk_sizes, chunk_vectors_backfill]
JOBS: list[UnresolvedAssetJobDefinition | dg.JobDefinition] = [
    dg.define_asset_job(
        "evaluation",
        selection=dg.AssetSelection.assets("evaluation_models"),
        description="Measure every embedded model on the production search.",
        executor_def=dg.in_process_executor,
        tags=LIMIT,
    ),
    dg.define_asset_job(
        "evaluation_chunk_sizes_study",
        selection=dg.AssetSelection.assets("evaluation_chunk_sizes"),
        description="The chunk-size study; minutes.",
        executor_def=dg.in_process_executor,
        tags=LIMIT,
    ),
    dg.define_asset_job(
        "backfill_space",
        selection=dg.AssetSelection.assets("chunk_vectors_backfill"),
        description="Fill another vector space beside the active one, by tenant and month.",
        executor_def=dg.in_process_executor,
        tags=LIMIT,
    ),
    switch_space_job,
]
