"""Measurement of effect: dispatch is a state of each document, apart from its mail (MAIL-41)."""

from __future__ import annotations

from tgv_dagster.audit.measures.asking import counts_and_ids, evidence, totals
from tgv_dagster.audit.measures.texts import NO_DOCUMENT
from tgv_dagster.audit.verdict import Verdict, judged, unmeasured
from tgv_dagster.installation import Installation


def dispatch_states(installation: Installation) -> Verdict:
    """No dispatch failed, and none waits for more than a day without an open question.

    What waits because a person switched dispatch off is counted and breaks nothing (MAIL-32).
    """
    found = counts_and_ids(
        installation,
        """
        SELECT d.id, CASE
            WHEN d.dispatch_state <> 'pending' THEN d.dispatch_state
            WHEN NOT EXISTS (SELECT 1 FROM system_config s
                WHERE s.key = 'use_dispatch' AND s.value = 'true') THEN 'pending_switched_off'
            WHEN d.updated_at > now() - interval '1 day' THEN 'pending'
            WHEN EXISTS (SELECT 1 FROM cases c WHERE c.document_id = d.id AND c.state = 'open')
                THEN 'asked'
            ELSE 'pending_for_more_than_a_day' END
        FROM documents d WHERE d.state = 'active'
        """,
    )
    if not found:
        return unmeasured(NO_DOCUMENT)
    broken = ("failed", "pending_for_more_than_a_day")
    return judged(
        sum(found.get(name, (0, ()))[0] for name in broken),
        holds="every document is dispatched or on its way",
        broken="documents failed in dispatch or wait for it unnoticed",
        figures=totals(found),
        evidence=evidence(found, broken, "document"),
    )
