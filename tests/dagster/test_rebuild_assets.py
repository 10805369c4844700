"""Re-computation from the UI: one tenant and month, beside what is in force, then the switch."""

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

MONTH = f"{datetime.now(UTC):%Y-%m-01}"
LETTER = "Nordlicht Tischlerei GmbH\nHafenweg 1, 20457 Hamburg\nDie Kita wird umgebaut.\n"


@pytest.fixture
def filled(installation: Installation) -> Installation:
    """One letter that went through the whole flow."""
    inbox: Path = installation.settings.inbox_path / "nord" / "nord-gmbh"
    inbox.mkdir(parents=True)
    (inbox / "brief.txt").write_text(LETTER)
    run_until_idle(installation)
    assert sql(installation, "SELECT count(*) FROM rag_chunks WHERE active") == [(1,)]
    return installation


def _definitions(installation: Installation) -> dg.Definitions:
    return build_definitions(Overrides(Door(opens=lambda: installation)))


def _rebuild(
    installation: Installation, instance: dg.DagsterInstance, asset: str, *, rebuild: bool
) -> dg.AssetMaterialization:
    found = _definitions(installation)
    instance.add_dynamic_partitions("tenants", ["nord", "sued"])
    stage = {"rag_chunks_rebuild": "chunk", "extracted_texts_rebuild": "extract"}[asset]
    done = found.resolve_job_def(f"rebuild_{stage}").execute_in_process(
        instance=instance,
        partition_key=str(dg.MultiPartitionKey({"tenant": "nord", "month": MONTH})),
        run_config={**QUIET, "ops": {asset: {"config": {"rebuild": rebuild, "by": "anna"}}}},
    )
    return done.asset_materializations_for_node(asset)[0]


def test_without_rebuild_it_only_says_what_lies_there(
    filled: Installation, instance: dg.DagsterInstance
) -> None:
    shown = _rebuild(filled, instance, "rag_chunks_rebuild", rebuild=False)
    assert shown.metadata["documents"].value == 1
    assert sql(filled, "SELECT count(*) FROM generations") == [(0,)]


def test_a_partition_is_built_beside_compared_and_switched(
    filled: Installation, instance: dg.DagsterInstance
) -> None:
    before = sql(filled, "SELECT id, content_sha256 FROM rag_chunks WHERE active")
    shown = _rebuild(filled, instance, "rag_chunks_rebuild", rebuild=True)
    generation = shown.metadata["generation"].value
    assert shown.partition == str(dg.MultiPartitionKey({"tenant": "nord", "month": MONTH}))
    assert shown.metadata["documents"].value == 1
    assert sql(filled, "SELECT id, content_sha256 FROM rag_chunks WHERE active") == before
    assert sql(filled, "SELECT state, created_by FROM generations") == [("ready", "anna")]

    switched = (
        _definitions(filled)
        .resolve_job_def("switch_generation")
        .execute_in_process(
            instance=instance,
            run_config={
                **QUIET,
                "ops": {
                    "switch_to_generation": {"config": {"generation_id": generation, "by": "anna"}}
                },
            },
        )
    )
    assert switched.success
    after = sql(filled, "SELECT id, content_sha256 FROM rag_chunks WHERE active")
    assert [sha for _, sha in after] == [sha for _, sha in before]
    assert after != before
    assert sql(filled, "SELECT state FROM generations") == [("active",)]


def test_the_organisation_keeps_the_list_of_tenants(
    filled: Installation, instance: dg.DagsterInstance
) -> None:
    done = (
        _definitions(filled)
        .resolve_job_def("daily_flow")
        .execute_in_process(
            instance=instance, run_config=QUIET, asset_selection=[dg.AssetKey("organisation")]
        )
    )
    assert done.success
    assert set(instance.get_dynamic_partitions("tenants")) == {"nord", "sued"}
