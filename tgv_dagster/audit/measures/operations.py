"""Measurements of operation: ages of parked work, the chain of events, tuning values."""

from __future__ import annotations

from tgv_dagster.audit.measures.asking import counts_and_ids, evidence, rows_in, totals
from tgv_dagster.audit.verdict import Verdict, judged, unmeasured
from tgv_dagster.installation import Installation
from tgv_dagster.store import tuning
from tgv_dagster.store.events import broken_links

PARKED_DAYS = 14


def parked_ages(installation: Installation) -> Verdict:
    """Age of every open parking case; red when one is older than two weeks (RAW-10, FLOW-06)."""
    found = counts_and_ids(
        installation,
        """
        SELECT id, CASE
            WHEN created_at < now() - make_interval(days => %(days)s) THEN 'too_old'
            WHEN created_at < now() - interval '3 days' THEN 'older_than_three_days'
            WHEN created_at < now() - interval '1 day' THEN 'older_than_a_day'
            ELSE 'of_today' END
        FROM cases WHERE state = 'open' AND kind = 'parked'
        """,
        {"days": PARKED_DAYS},
    )
    figures = {"limit_days": PARKED_DAYS, "parked": sum(totals(found).values())} | totals(found)
    return judged(
        found.get("too_old", (0, ()))[0],
        holds="nothing is parked for longer than the limit",
        broken="items are parked for longer than the limit and nobody decided",
        figures=figures,
        evidence=evidence(found, ("too_old",), "case"),
    )


def events_chain(installation: Installation) -> Verdict:
    """Every event's hash follows from its predecessor (CHAIN of §2a)."""
    with installation.database.worker() as connection:
        broken = broken_links(connection)
        row = connection.execute("SELECT count(*), max(id) FROM agent_events").fetchone()
    assert row is not None
    figures = {"events": row[0], "last_event": row[1] or 0, "broken": len(broken)}
    if row[0] == 0:
        return unmeasured("no event is recorded yet", figures)
    return judged(
        len(broken),
        holds="every event follows its predecessor",
        broken="events do not follow their predecessor",
        figures=figures,
        evidence=tuple(f"event:{item}" for item in broken),
    )


def tuning_values_measured(installation: Installation) -> Verdict:
    """Owner, place and fallback of every tuning value (VAL-01, VAL-02, VAL-04).

    "Never measured" is a permitted entry and is counted.
    """
    with installation.database.worker() as connection:
        found = rows_in(
            connection, "SELECT key, owner, place, measured_at, interim FROM tuning_values"
        )
        deviating = tuning.deviations(connection)
    if not found:
        return unmeasured("no tuning value is registered yet")
    unowned = sorted(
        key for key, owner, place, *_ in found if not owner.strip() or not place.strip()
    )
    figures = {
        "values": len(found),
        "never_measured": sum(1 for row in found if row[3] is None),
        "interim": sum(1 for row in found if row[4]),
        "without_owner_or_place": len(unowned),
        "fallback_deviates": len(deviating),
    }
    broken = sorted({*unowned, *deviating})
    return judged(
        len(broken),
        holds="every tuning value has owner and place and agrees with its fallback",
        broken="tuning values lack an owner or place, or their fallback in the code deviates",
        figures=figures,
        evidence=tuple(f"tuning:{key}" for key in broken),
    )
