"""Measurement of what the product learned: every rule says whose it is and where it came from."""

from __future__ import annotations

from tgv_dagster.audit.measures.asking import counts_and_ids, evidence, totals
from tgv_dagster.audit.verdict import Verdict, judged, unmeasured
from tgv_dagster.installation import Installation


def learned_rules_have_scope_and_origin(installation: Installation) -> Verdict:
    """Every learned rule has scope and origin, and one in force was approved by a person."""
    found = counts_and_ids(
        installation,
        """
        SELECT r.id, CASE
            WHEN r.scope IN ('{}', 'null') THEN 'without_scope'
            WHEN r.origin IN ('{}', 'null') THEN 'without_origin'
            WHEN r.state = 'approved' AND coalesce(trim(r.approved_by), '') = ''
                THEN 'in_force_unapproved'
            WHEN r.state = 'approved' AND NOT EXISTS (
                SELECT 1 FROM users u WHERE u.login = r.approved_by) THEN 'approved_by_nobody_known'
            ELSE r.state END
        FROM pattern_rules r
        """,
    )
    if not found:
        return unmeasured("no rule was learned yet")
    broken = (
        "without_scope", "without_origin", "in_force_unapproved", "approved_by_nobody_known",
    )  # fmt: skip
    return judged(
        sum(found.get(name, (0, ()))[0] for name in broken),
        holds="every learned rule has scope and origin, and a person approved what is in force",
        broken="learned rules lack scope or origin, or are in force without a person",
        figures=totals(found),
        evidence=evidence(found, broken, "rule"),
    )
