"""Dagster asset checks, all made from the audit register; there is no other place that makes one.

Green is a passed check; red a failed one, ERROR unless it only names items that are held already;
unmeasured yields nothing, which Dagster records as skipped. Gates block what is downstream of
their asset; the other checks run in the audit job, whose steps never fail (architecture §4).
"""

from collections.abc import Iterator, Sequence

import dagster as dg

from assets import shown
from resources.door import Door
from tgv_dagster.audit import ledger
from tgv_dagster.audit.discreet import fault_code
from tgv_dagster.audit.ledger import Entry
from tgv_dagster.audit.measures.columns import page_of
from tgv_dagster.audit.register import CHECKPOINTS, Checkpoint
from tgv_dagster.audit.verdict import State
from tgv_dagster.installation import Installation
from tgv_dagster.settings import Settings


def gate_checks(assets: Sequence[str]) -> list[dg.AssetChecksDefinition]:
    """The blocking checks of the gates found at these assets."""
    return [_checks(asset, gates, "gate") for asset, gates in _by_asset(assets, gate=True)]


def notice_checks(assets: Sequence[str]) -> list[dg.AssetChecksDefinition]:
    """The checks that stop nothing, for the audit job."""
    return [_checks(asset, rest, "audit") for asset, rest in _by_asset(assets, gate=False)]


def _by_asset(assets: Sequence[str], *, gate: bool) -> Iterator[tuple[str, tuple[Checkpoint, ...]]]:
    for asset in assets:
        found = tuple(c for c in CHECKPOINTS if c.found_at.asset == asset and c.gate is gate)
        if found:
            yield asset, found


def _checks(asset: str, checkpoints: tuple[Checkpoint, ...], kind: str) -> dg.AssetChecksDefinition:
    by_id = {which.id: which for which in checkpoints}

    @dg.multi_asset_check(
        name=f"{kind}_of_{asset}",
        specs=[_spec(asset, which) for which in checkpoints],
        can_subset=True,
    )
    def judge(
        context: dg.AssetCheckExecutionContext, door: dg.ResourceParam[Door]
    ) -> Iterator[dg.AssetCheckResult]:
        for key in sorted(context.selected_asset_check_keys, key=lambda key: key.name):
            which = by_id[key.name]
            entry = _judged(context, door, which)
            if entry is None or entry.verdict.state is State.UNMEASURED:
                continue
            yield dg.AssetCheckResult(
                passed=entry.verdict.state is State.GREEN,
                asset_key=key.asset_key,
                check_name=key.name,
                severity=_severity(entry),
                metadata=_metadata(door.installation().settings, entry)
                | _pictures(door.installation(), entry),
            )

    return judge


def _spec(asset: str, which: Checkpoint) -> dg.AssetCheckSpec:
    return dg.AssetCheckSpec(
        name=which.id,
        asset=asset,
        blocking=which.gate,
        description=(
            f"{which.statement.en} Limit: {which.limit.en} When it is not green: {which.remedy.en}"
            " A skipped check is unmeasured; the asset `verdicts` says why."
        ),
        metadata={
            "station": which.station.value,
            "severity": which.severity.value,
            "found_at": which.found_at.function or "not built",
            "measured_again_within": str(which.stale_after),
            "statement_de": which.statement.de,
            "statement_fr": which.statement.fr,
            "remedy": which.remedy.en,
        },
    )


def _judged(context: dg.AssetCheckExecutionContext, door: Door, which: Checkpoint) -> Entry | None:
    """Measure and keep the verdict; a ledger that cannot be written is told and yields nothing."""
    try:
        installation = door.installation()
        ledger.evaluate(installation, which, run_id=context.run.run_id)
        with installation.database.worker() as connection:
            entry = ledger.latest(connection, only=[which.id])[0]
    except Exception as error:  # noqa: BLE001 - an unwritable ledger is unmeasured, not failed
        context.log.warning(f"{which.id} is unmeasured: {fault_code(error)}")
        return None
    if entry.verdict.state is State.UNMEASURED:
        context.log.info(
            f"{which.id} is unmeasured: {entry.verdict.reason}. Remedy: {which.remedy.en}"
        )
    return entry


def _severity(entry: Entry) -> dg.AssetCheckSeverity:
    """WARN for a gate's held items, which the rest of the batch does not wait for."""
    if entry.checkpoint.gate and entry.verdict.opens_gate:
        return dg.AssetCheckSeverity.WARN
    return dg.AssetCheckSeverity.ERROR


def _metadata(settings: Settings, entry: Entry) -> dict[str, dg.MetadataValue]:
    verdict = entry.verdict
    told: dict[str, dg.MetadataValue] = {
        "reason": dg.TextMetadataValue(verdict.reason),
        "figures": shown.table(
            {"figure": name, "value": str(value)} for name, value in sorted(verdict.figures.items())
        ),
        "counted_since": dg.TextMetadataValue(shown.day(entry.counted_since)),
        "counter_is_live": dg.BoolMetadataValue(entry.is_live),
        "limit": dg.TextMetadataValue(entry.checkpoint.limit.en),
    }
    docs = page_of(settings.home, entry.checkpoint.id.removeprefix("columns_"))
    if docs.is_file():
        told["data_docs"] = dg.PathMetadataValue(str(docs))
    if verdict.evidence:
        told["evidence"] = dg.MarkdownMetadataValue(
            ", ".join(_evidence(settings, item) for item in verdict.evidence)
        )
        told["remedy"] = dg.TextMetadataValue(entry.checkpoint.remedy.en)
    return told


def _pictures(installation: Installation, entry: Entry) -> dict[str, dg.MetadataValue]:
    """What was found, drawn; a picture that cannot be drawn is none and stops nothing."""
    draw = entry.checkpoint.pictures
    if draw is None or entry.verdict.state is not State.RED:
        return {}
    try:
        drawn = draw(installation)
    except Exception as error:  # noqa: BLE001 - the verdict stands without its picture
        return {"picture": dg.TextMetadataValue(f"not drawn: {fault_code(error)}")}
    return {
        f"picture_{number}": shown.drawing(svg, f"{entry.checkpoint.id} {number}")
        for number, svg in enumerate(drawn, 1)
    }


def _evidence(settings: Settings, item: str) -> str:
    kind, _, identity = item.partition(":")
    if kind == "document" and identity.isdigit():
        return shown.document_link(settings, int(identity))
    return item
