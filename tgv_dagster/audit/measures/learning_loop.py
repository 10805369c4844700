"""Measurements of the learning loop: capture, condensing and reading back, each by itself.

The circle counts as closed only when all three are measured and hold (LEARN-07).
"""

from __future__ import annotations

from tgv_dagster.audit.measures.asking import counts_and_ids, evidence, rows, totals
from tgv_dagster.audit.verdict import Verdict, judged, unmeasured
from tgv_dagster.clarify import condensing
from tgv_dagster.installation import Installation
from tgv_dagster.understand.learned import VALUES, item_of, rule_of
from tgv_dagster.understand.rules import RuleError, decide

MOST_MEASURED = 5_000


def learning_capture(installation: Installation) -> Verdict:
    """Every value a person decided is a learning event, since this checkpoint counts (LEARN-01)."""
    found = counts_and_ids(
        installation,
        """
        SELECT v.document_id, CASE WHEN EXISTS (SELECT 1 FROM learning_events l
                WHERE l.document_id = v.document_id AND l.field = v.field
                  AND l.new_value IS NOT DISTINCT FROM v.value)
            THEN 'captured' ELSE 'not_captured' END
        FROM document_values v JOIN documents d ON d.id = v.document_id
        WHERE v.origin = 'human' AND v.set_at >= coalesce((SELECT counted_since FROM checkpoints
            WHERE id = 'learning_capture'), '-infinity')
        """,
    )
    if not found:
        return unmeasured("nobody decided a value since this counts")
    return judged(
        found.get("not_captured", (0, ()))[0],
        holds="every decision of a person is a learning event",
        broken="decisions of people teach nothing",
        figures=totals(found),
        evidence=evidence(found, ("not_captured",), "document"),
    )


def learning_condensed(installation: Installation) -> Verdict:
    """Whatever was taught alike often enough stands as a rule, proposed or decided (LEARN-02)."""
    with installation.database.worker() as connection:
        due = len(condensing.condense(condensing.lessons_of(connection)))
        missing = condensing.unproposed(connection)
    if not due:
        return unmeasured("nothing was taught alike often enough")
    return judged(
        len(missing),
        holds="equal corrections stand as rules",
        broken="equal corrections made no rule",
        figures={"due": due, "missing": len(missing)},
        evidence=[f"document:{number}" for one in missing for number in one.documents],
    )


def learning_read_back(installation: Installation) -> Verdict:
    """Documents understood since a rule was approved show its value where it applies (LEARN-03).

    A value of a person or of a stated rule stands above it and is no violation.
    """
    approved = rows(
        installation,
        "SELECT id, mandant_id, scope ->> 'entity', condition, effect, changed_at"
        " FROM pattern_rules WHERE state = 'approved' ORDER BY id",
    )
    read, missing = 0, []
    for rule_id, mandant_id, entity, condition, effect, since in approved:
        fields = [name for name in effect if name in VALUES]
        try:
            rule = rule_of(rule_id, mandant_id, entity, condition, effect)
        except (RuleError, ValueError):
            missing.append(f"rule:{rule_id}")
            continue
        for document_id, own, cues, applied in rows(
            installation,
            """
            SELECT d.id, d.entity, d.cues, (SELECT count(DISTINCT v.field) FROM document_values v
                WHERE v.document_id = d.id AND v.active AND v.field = ANY (%(fields)s)
                  AND (v.origin = 'human' OR v.origin = 'rule'))
            FROM documents d WHERE d.mandant_id = %(mandant)s AND d.cues IS NOT NULL
              AND d.state = 'active' AND EXISTS (SELECT 1 FROM document_values v
                WHERE v.document_id = d.id AND v.set_by = 'triage' AND v.set_at > %(since)s)
            ORDER BY d.id DESC LIMIT %(most)s
            """,
            {
                "fields": fields,
                "mandant": mandant_id,
                "since": since,
                "most": MOST_MEASURED,
            },
        ):
            item = item_of(cues, mandant_id=mandant_id, entity=own)
            if not fields or not decide((rule,), item).matched:
                continue
            read += 1
            if applied < len(fields):
                missing.append(f"document:{document_id}")
    if not read and not missing:
        return unmeasured("no document came since a rule was approved")
    return judged(
        len(missing),
        holds="approved rules act on what comes after them",
        broken="approved rules are not read back",
        figures={"rules": len(approved), "documents": read, "missing": len(missing)},
        evidence=missing,
    )
