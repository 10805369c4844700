"""One whole evaluation: which studies run on which stock and models, and what is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tgv_dagster.know.chunks import ChunkSettings
from tgv_dagster.know.embeddings import Embedder
from tgv_dagster.know.evaluation import balancing, chunk_sizes, cross_lingual
from tgv_dagster.know.evaluation.balancing import Balancing, Emptiness
from tgv_dagster.know.evaluation.chunk_sizes import SizeResult
from tgv_dagster.know.evaluation.cross_lingual import CrossLingual
from tgv_dagster.know.evaluation.questions import pairs, study
from tgv_dagster.know.evaluation.stock import RememberedEmbedder, built
from tgv_dagster.know.spaces import Evaluation, record_evaluation
from tgv_dagster.store import tuning
from tgv_dagster.store.db import Database

SIZES = ChunkSettings(tuning.CHUNK_CHARS, tuning.CHUNK_OVERLAP, tuning.WINDOW_CHARS)


@dataclass(frozen=True, slots=True)
class ModelResult:
    """What one model did on one stock."""

    cross_lingual: CrossLingual
    balancing: Balancing
    emptiness: Emptiness


def embedded_models() -> tuple[Embedder, ...]:
    """The models that run in this process, the default first."""
    # Importing a model's package takes a second or two, which every start would feel.
    from tgv_dagster.know.e5 import E5Embedder
    from tgv_dagster.know.usem import UseEmbedder

    return (UseEmbedder(), E5Embedder())


def compare_models(
    url: str, models: Sequence[Embedder], distractors: int
) -> tuple[ModelResult, ...]:
    """Every model on the same stock, each after the other's space was filled beside and switched.

    `url`: a server on which a database may be created. Raises ValueError without a model.
    """
    if not models:
        raise ValueError("no model, no comparison")
    asked = balancing.questions(pairs())
    results = []
    documents = balancing.documents(pairs(), distractors)
    with built(url, documents, models[0], SIZES) as stock:
        for number, model in enumerate(models):
            if number:
                stock.change_model(model)
            results.append(
                ModelResult(
                    cross_lingual.measure(stock, pairs(), balancing.IDENTIFIED + distractors),
                    balancing.compare(stock, asked, distractors),
                    balancing.emptiness(stock, asked, study()),
                )
            )
    return tuple(results)


def compare_sizes(url: str) -> tuple[SizeResult, ...]:
    """The chunk-size study with the default model."""
    return chunk_sizes.run(url, study(), RememberedEmbedder(embedded_models()[0]))


def record(database: Database, results: Sequence[ModelResult], *, by: str) -> tuple[str, ...]:
    """Keep what was measured of each space, so that a switch can name it (EVAL-33).

    Returns the names of the evaluations.
    """
    return tuple(
        record_evaluation(
            database,
            Evaluation(
                space_id=result.cross_lingual.space_id,
                verdict=str(result.cross_lingual.verdict),
                reason=result.cross_lingual.reason,
                figures={kind.kind.name: kind.same_document for kind in result.cross_lingual.kinds},
            ),
            by=by,
        )
        for result in results
    )
