"""Measurements of operation: ages of parked work, the chain of events, tuning values."""

from __future__ import annotations

import importlib

from tgv_dagster.audit.measures.asking import counts_and_ids, evidence, rows, totals
from tgv_dagster.audit.verdict import Verdict, judged, unmeasured
from tgv_dagster.installation import Installation
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

    A place of the form `package.module:NAME` names the fallback in the code; when it says another
    value than the table, the check is red.
    """
    found = rows(
        installation, "SELECT key, value, place, owner, measured_at, interim FROM tuning_values"
    )
    if not found:
        return unmeasured("no tuning value is registered yet")
    faults: dict[str, list[str]] = {"without_owner_or_place": [], "fallback_deviates": []}
    for key, value, place, owner, _, _ in found:
        if not owner.strip() or not place.strip():
            faults["without_owner_or_place"].append(key)
        elif _fallback(place) not in (None, value):
            faults["fallback_deviates"].append(key)
    figures = {
        "values": len(found),
        "never_measured": sum(1 for row in found if row[4] is None),
        "interim": sum(1 for row in found if row[5]),
    } | {name: len(keys) for name, keys in faults.items()}
    broken = sorted(key for keys in faults.values() for key in keys)
    return judged(
        len(broken),
        holds="every tuning value has owner and place and agrees with its fallback",
        broken="tuning values lack an owner or place, or their fallback in the code deviates",
        figures=figures,
        evidence=tuple(f"tuning:{key}" for key in broken),
    )


def _fallback(place: str) -> str | None:
    """The value at a place in the code as text; None when the place is none in the code.

    Raises ImportError or AttributeError for a place that does not exist any more.
    """
    module, colon, name = place.partition(":")
    if not colon or not module.startswith("tgv_dagster."):
        return None
    return str(getattr(importlib.import_module(module), name))
