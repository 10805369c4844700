"""Evaluation and the change of model from the UI: figures without text, backfill, one switch."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest
from audit_builders import sql
from surface_builders import QUIET

from resources.door import Door
from tgv_dagster.definitions import Overrides, build_definitions
from tgv_dagster.flow import run_until_idle
from tgv_dagster.installation import Installation
from tgv_dagster.know.embeddings import E5_SMALL, USE_DENOISED
from tgv_dagster.know.evaluation.questions import pairs
from tgv_dagster.know.spaces import Evaluation, record_evaluation

MONTH = f"{datetime.now(UTC):%Y-%m-01}"
LETTER = "Nordlicht Tischlerei GmbH\nHafenweg 1, 20457 Hamburg\nDie Kita wird umgebaut.\n"


@pytest.fixture
def filled(installation: Installation) -> Installation:
    """One letter that went through the whole flow."""
    inbox: Path = installation.settings.inbox_path / "nord" / "nord-gmbh"
    inbox.mkdir(parents=True)
    (inbox / "brief.txt").write_text(LETTER)
    run_until_idle(installation)
    return installation


def _job(installation: Installation, name: str) -> dg.JobDefinition:
    definitions = build_definitions(Overrides(Door(opens=lambda: installation)))
    return definitions.resolve_job_def(name)


def _backfill(installation: Installation, instance: dg.DagsterInstance) -> dg.AssetMaterialization:
    instance.add_dynamic_partitions("tenants", ["nord", "sued"])
    done = _job(installation, "backfill_space").execute_in_process(
        instance=instance,
        partition_key=str(dg.MultiPartitionKey({"tenant": "nord", "month": MONTH})),
        run_config={
            **QUIET,
            "ops": {"chunk_vectors_backfill": {"config": {"space_id": E5_SMALL.space_id}}},
        },
    )
    return done.asset_materializations_for_node("chunk_vectors_backfill")[0]


def _switch(
    installation: Installation, instance: dg.DagsterInstance, evaluation: str
) -> dg.ExecuteInProcessResult:
    config = {"space_id": E5_SMALL.space_id, "evaluation": evaluation, "by": "anna"}
    return _job(installation, "switch_space").execute_in_process(
        instance=instance,
        raise_on_error=False,
        run_config={**QUIET, "ops": {"switch_to_space": {"config": config}}},
    )


def _active(installation: Installation) -> str:
    return sql(installation, "SELECT space_id FROM embedding_spaces WHERE active")[0][0]


def test_a_model_changes_by_backfill_evaluation_and_one_switch(
    filled: Installation, instance: dg.DagsterInstance
) -> None:
    measured = Evaluation(E5_SMALL.space_id, "met", "as expected", {})
    name = record_evaluation(filled.database, measured, by="anna")
    assert not _switch(filled, instance, name).success, "nothing is in the space yet"
    shown = _backfill(filled, instance).metadata
    assert (shown["filled_documents"].value, shown["still_lacking_in_all_partitions"].value) == (
        1,
        0,
    )
    assert _active(filled) == USE_DENOISED.space_id, "searches go on in the former space"
    assert _backfill(filled, instance).metadata["filled_documents"].value == 0
    assert not _switch(filled, instance, "no such evaluation").success
    assert _active(filled) == USE_DENOISED.space_id
    assert _switch(filled, instance, name).success
    assert _active(filled) == E5_SMALL.space_id
    assert filled.embedder.space == E5_SMALL


def test_an_evaluation_shows_figures_and_pictures_and_no_text(
    installation: Installation, instance: dg.DagsterInstance
) -> None:
    done = _job(installation, "evaluation").execute_in_process(
        instance=instance,
        run_config={
            **QUIET,
            "ops": {"evaluation_models": {"config": {"distractors": 0, "default_only": True}}},
        },
    )
    (shown,) = done.asset_materializations_for_node("evaluation_models")
    for name in ("cross_lingual", "balancing", "honest_emptiness"):
        assert "data:image/png;base64," in str(shown.metadata[name].value)
    report = str(shown.metadata["report"].value)
    assert all(kind.name in report for kind in pairs().kinds)
    for wordings in pairs().topics.values():
        assert all(w.text not in report and w.ask not in report for w in wordings.values())
    kept = sql(installation, "SELECT object FROM agent_events WHERE kind = 'space.evaluated'")
    assert kept == [(f"space:{USE_DENOISED.space_id}",)]
