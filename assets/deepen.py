"""Assets of deepening: what the specialists read, the days that come up, the model in shadow."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg

import tgv_dagster
from assets import shown
from assets.steps import CODE_VERSION, OWNERS, step_asset
from resources.door import Door
from tgv_dagster.deepen import agreement, upcoming, vocabulary_guard
from tgv_dagster.flow import Step
from tgv_dagster.store.stages import Room

UNMEASURED = "unmeasured"
MOST_LISTED = 200


@dg.asset(
    group_name=str(Room.DEEPEN),
    deps=["shadow_decisions"],
    description="Agreement of the model in shadow with what was applied, per field, and its cost.",
    owners=OWNERS,
    kinds={"python", "postgres"},
    code_version=CODE_VERSION,
)
def shadow_agreement(door: dg.ResourceParam[Door]) -> dg.MaterializeResult:
    """Show agreement per field; without a model asked, every figure is unmeasured."""
    with door.discreetly("shadow_agreement"), door.installation().database.worker() as connection:
        rows = agreement.agreement(connection)
        calls = agreement.calls(connection)
    share = agreement.overall(rows)
    return dg.MaterializeResult(
        metadata={
            "agreement": UNMEASURED if share is None else round(share, 4),
            "fields": shown.table(
                {
                    "purpose": row.purpose,
                    "model": row.model,
                    "field": row.field,
                    "agreement": UNMEASURED if row.share is None else f"{row.share:.1%}",
                    "same": row.same,
                    "different": row.different,
                    "only model": row.only_model,
                    "only applied": row.only_applied,
                    "neither": row.neither,
                    "not quoted": row.unproven,
                    "decided by a person": row.by_person,
                    "model said the same": row.as_person,
                    "differ in": ", ".join(f"#{number}" for number in row.examples),
                }
                for row in rows
            ),
            "calls": shown.table(
                {
                    "purpose": row.purpose,
                    "model": row.model,
                    "end": row.status,
                    "calls": row.calls,
                    "tokens read": row.input_tokens,
                    "tokens written": row.output_tokens,
                    "euro": "unknown" if row.euro is None else f"{row.euro:.4f}",
                    "median ms": row.median_milliseconds,
                }
                for row in calls
            ),
            "picture": shown.stacked_bars(
                {
                    (f"{row.field} ({row.purpose})", part): count
                    for row in rows
                    for part, count in (("same", row.same), ("different", row.different))
                },
                rows=[f"{row.field} ({row.purpose})" for row in rows],
                title="Documents where model and cascade both state a value",
            ),
        }
    )


@dg.asset(
    group_name=str(Room.DEEPEN),
    deps=["document_details"],
    description="Contract deadlines that come up; a case for each at 60 and at 14 days.",
    owners=OWNERS,
    kinds={"python", "postgres"},
    code_version=CODE_VERSION,
)
def deadlines_upcoming(door: dg.ResourceParam[Door]) -> dg.MaterializeResult:
    """Open the cases that are due and list what comes; who it is stands behind the link."""
    today = datetime.now(UTC).date()
    with door.discreetly("deadlines_upcoming"):
        installation = door.installation()
        with installation.database.worker() as connection:
            told = upcoming.tell(connection, today)
    settings = installation.settings
    lines = [
        "| document | tenant | what | last safe day | days left | derivation |",
        "|---|---|---|---|---|---|",
        *(
            f"| {shown.document_link(settings, item.document_id)} | {item.mandant_id or '-'}"
            f" | {item.what} | {item.day.isoformat()} | {item.days_left(today)}"
            f" | {item.rule or 'stated'} |"
            for item in told.listed[:MOST_LISTED]
        ),
    ]
    left = len(told.listed) - MOST_LISTED
    if left > 0:
        lines.append(f"\n{left} more behind `/api/deadlines`.")
    return dg.MaterializeResult(
        metadata={
            "upcoming": len(told.listed),
            "cases_opened": told.opened,
            "cases_closed": told.closed,
            "as_of": today.isoformat(),
            "deadlines": dg.MarkdownMetadataValue("\n".join(lines)),
        }
    )


@dg.asset(
    group_name=str(Room.DEEPEN),
    deps=["document_details"],
    description="How full every field is, and what may be one thing under two names.",
    owners=OWNERS,
    kinds={"python", "postgres"},
    code_version=CODE_VERSION,
)
def vocabulary_fill(door: dg.ResourceParam[Door]) -> dg.MaterializeResult:
    """Show fill rates, wrong words in rows and code, and candidates for new pairs."""
    with door.discreetly("vocabulary_fill"), door.installation().database.worker() as connection:
        fills = vocabulary_guard.fill_rates(connection)
        wrong = vocabulary_guard.wrong_values(connection)
        pairs = vocabulary_guard.candidates(vocabulary_guard.columns(connection))
    code = vocabulary_guard.wrong_words(Path(tgv_dagster.__file__).parent)
    return dg.MaterializeResult(
        metadata={
            "wrong_words_in_code": len(code),
            "wrong_words_in_rows": sum(wrong.values()),
            "always_the_same": ", ".join(fill.field for fill in fills if fill.is_suspicious) or "-",
            "fill": shown.table(
                {
                    "field": fill.field,
                    "documents": fill.documents,
                    "stated": fill.stated,
                    "checked, none": fill.checked_none,
                    "not looked at": fill.documents - fill.stated - fill.checked_none,
                    "share": UNMEASURED if fill.share is None else f"{fill.share:.1%}",
                    "distinct": fill.distinct,
                }
                for fill in fills
            ),
            "code": shown.table(
                {"place": f"{w.path}:{w.line}", "word": w.word, "canonical": w.canonical}
                for w in code
            ),
            "rows": shown.table(
                {"field": field, "word": word, "rows": count}
                for (field, word), count in wrong.items()
            ),
            "candidates": shown.table(
                {"table": c.table, "one": c.one, "other": c.other, "why": c.why} for c in pairs
            ),
            "picture": shown.stacked_bars(
                {
                    (fill.field, part): count
                    for fill in fills
                    for part, count in (
                        ("stated", fill.stated),
                        ("checked, none", fill.checked_none),
                        ("not looked at", fill.documents - fill.stated - fill.checked_none),
                    )
                },
                rows=[fill.field for fill in fills],
                title="Documents per field by what is known",
            ),
        }
    )


def assets(steps: Sequence[Step]) -> list[dg.AssetsDefinition]:
    """The assets of this room."""
    made = [step_asset(step, steps) for step in steps if step.room is Room.DEEPEN]
    return [*made, shadow_agreement, deadlines_upcoming, vocabulary_fill]
