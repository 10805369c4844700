"""Re-computation from the UI: one asset per step that can be rebuilt, by tenant and month.

A materialization writes the new version beside the one in force and shows the comparison; nothing
changes for readers before `switch_generation`. Without `rebuild: true` it shows what would be done.
How something is rebuilt stands in `tgv_dagster.rebuild`.
"""

from datetime import date

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from assets import shown
from assets.arrive import TENANTS
from assets.jobs import LIMIT
from assets.steps import CODE_VERSION, OWNERS
from resources.door import Door
from tgv_dagster.installation import Installation
from tgv_dagster.rebuild import Comparison, RebuildScope, rebuild_step
from tgv_dagster.settings import Settings
from tgv_dagster.store.stages import STAGES, Stage

REBUILDABLE: dict[Stage, str] = {
    Stage.EXTRACT: "extracted_texts",
    Stage.TRIAGE: "documents",
    Stage.CHUNK: "rag_chunks",
    Stage.EMBED: "chunk_vectors",
}
"""Steps that can be computed again beside themselves, with the asset they rebuild."""

MONTHS = dg.MonthlyPartitionsDefinition(start_date="2015-01-01", timezone="UTC", end_offset=1)
TENANT_MONTHS = dg.MultiPartitionsDefinition({"tenant": TENANTS, "month": MONTHS})


class RebuildConfig(dg.Config):
    """`rebuild` false only counts what lies in the partition; `by` names the person who asks."""

    rebuild: bool = False
    by: str = "dagster"


def _rebuild_asset(stage: Stage, rebuilds: str) -> dg.AssetsDefinition:
    @dg.asset(
        name=f"{rebuilds}_rebuild",
        group_name=str(STAGES[stage].room),
        deps=[rebuilds],
        partitions_def=TENANT_MONTHS,
        description=(
            f"Computes `{rebuilds}` of one tenant and month of receipt again, beside the version in"
            " force, and compares both. Job `switch_generation` puts the result in force."
        ),
        owners=OWNERS,
        kinds={"python", "rebuild"},
        code_version=CODE_VERSION,
    )
    def rebuild_partition(
        context: dg.AssetExecutionContext, config: RebuildConfig, door: dg.ResourceParam[Door]
    ) -> dg.MaterializeResult:
        assert isinstance(context.partition_key, dg.MultiPartitionKey)
        keys = context.partition_key.keys_by_dimension
        with door.discreetly(f"{rebuilds}_rebuild"):
            installation = door.installation()
            scope = _scope(installation, keys["tenant"], keys["month"])
            if not config.rebuild:
                return dg.MaterializeResult(
                    metadata={"rebuild": False, "documents": _documents_in(installation, scope)}
                )
            compared = rebuild_step(installation, stage, scope, config.by)
        return dg.MaterializeResult(metadata=_shown(installation.settings, compared))

    return rebuild_partition


def _scope(installation: Installation, tenant: str, month: str) -> RebuildScope:
    with installation.database.worker() as connection:
        row = connection.execute("SELECT id FROM mandanten WHERE slug = %s", (tenant,)).fetchone()
    if row is None:
        raise LookupError("the tenant of this partition does not exist any more")
    return RebuildScope(mandant_id=row[0], month=date.fromisoformat(month))


def _shown(settings: Settings, compared: Comparison) -> dict[str, dg.MetadataValue]:
    """The comparison: counts, a few documents that differ, and how it is put in force."""
    links = ", ".join(shown.document_link(settings, number) for number in compared.examples)
    return {
        "generation": dg.IntMetadataValue(compared.generation_id),
        "documents": dg.IntMetadataValue(compared.documents),
        "comparison": shown.counted(
            {
                "same": compared.same,
                "changed": compared.changed,
                "only in the new one": compared.only_new,
                "only in the old one": compared.only_old,
                "failed": compared.failed,
            },
            of="documents",
        ),
        "examples_that_differ": dg.MarkdownMetadataValue(links or "none"),
        "to_put_it_in_force": dg.TextMetadataValue(
            f"job switch_generation with generation_id {compared.generation_id}"
        ),
    }


def _documents_in(installation: Installation, scope: RebuildScope) -> int:
    with installation.database.worker() as connection:
        row = connection.execute(
            "SELECT count(*) FROM documents WHERE mandant_id = %s"
            " AND date_trunc('month', date_received AT TIME ZONE 'UTC') = %s",
            (scope.mandant_id, scope.month),
        ).fetchone()
    assert row is not None
    return int(row[0])


ASSETS = [_rebuild_asset(stage, rebuilds) for stage, rebuilds in REBUILDABLE.items()]
JOBS: list[UnresolvedAssetJobDefinition] = [
    dg.define_asset_job(
        f"rebuild_{stage}",
        selection=dg.AssetSelection.assets(f"{rebuilds}_rebuild"),
        description=f"Re-computation of `{rebuilds}` by tenant and month, beside what is in force.",
        executor_def=dg.in_process_executor,
        tags=LIMIT,
    )
    for stage, rebuilds in REBUILDABLE.items()
]
