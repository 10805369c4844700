"""Assets of the bank: bookings, proposals, what has no partner, how old each balance is.

Counts, ids and days only: amounts and names stay behind the walls.
"""

from collections import Counter
from collections.abc import Sequence

import dagster as dg

from assets import shown
from assets.steps import CODE_VERSION, OWNERS, step_asset
from resources.door import Door
from tgv_dagster.bank import figures
from tgv_dagster.flow import Step
from tgv_dagster.store.stages import Room


@dg.asset(
    group_name=str(Room.BANK),
    deps=["bank_links", "filed_documents"],
    description="Bookings without a receipt and receipts without a booking, per month and entity.",
    owners=OWNERS,
    kinds={"python", "postgres"},
    code_version=CODE_VERSION,
)
def unmatched(door: dg.ResourceParam[Door]) -> dg.MaterializeResult:
    """Show how much of each month still has no partner."""
    with door.discreetly("unmatched"), door.installation().database.worker() as connection:
        open_ones = figures.unmatched(connection)
    return dg.MaterializeResult(
        metadata={
            "bookings_without_receipt": sum(row.bookings_without_receipt for row in open_ones),
            "receipts_without_booking": sum(row.receipts_without_booking for row in open_ones),
            "per_month_and_entity": shown.table(
                {
                    "month": row.month,
                    "entity": row.entity,
                    "bookings_without_receipt": row.bookings_without_receipt,
                    "receipts_without_booking": row.receipts_without_booking,
                    "proposed": row.proposed,
                }
                for row in open_ones
            ),
            "picture": shown.stacked_bars(
                _per_month(open_ones),
                rows=sorted({row.month for row in open_ones}),
                title="Without a partner, per month",
            ),
        }
    )


def _per_month(open_ones: Sequence[figures.Unmatched]) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for row in open_ones:
        counts[(row.month, "bookings")] += row.bookings_without_receipt
        counts[(row.month, "receipts")] += row.receipts_without_booking
    return counts


@dg.asset(
    group_name=str(Room.BANK),
    deps=["bank_transactions"],
    description="Each active account with the day its balance is known for.",
    owners=OWNERS,
    kinds={"python", "postgres"},
    code_version=CODE_VERSION,
)
def account_balances(door: dg.ResourceParam[Door]) -> dg.MaterializeResult:
    """Show the as-of day of every account; the balances themselves stand in `tgv bank balances`."""
    with door.discreetly("account_balances"), door.installation().database.worker() as connection:
        accounts = figures.account_balances(connection)
    return dg.MaterializeResult(
        metadata={
            "accounts": len(accounts),
            "without_balance": sum(1 for one in accounts if one.as_of is None),
            "as_of_per_account": shown.table(
                {
                    "account": one.account_id,
                    "entity": one.entity,
                    "as_of": "-" if one.as_of is None else f"{one.as_of}",
                    "bookings_since": one.since,
                }
                for one in accounts
            ),
        }
    )


def assets(steps: Sequence[Step]) -> list[dg.AssetsDefinition]:
    """The assets of this room."""
    made = [step_asset(step, steps) for step in steps if step.room is Room.BANK]
    return [*made, unmatched, account_balances]
