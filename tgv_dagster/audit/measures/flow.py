"""Measurement of the flow as a whole: nothing that arrived is lost between two steps."""

from __future__ import annotations

from tgv_dagster.audit.measures.asking import counts_and_ids, evidence, totals
from tgv_dagster.audit.verdict import Verdict, judged, unmeasured
from tgv_dagster.installation import Installation

_ARRIVALS = """
    SELECT a.id, CASE
        WHEN a.outcome = 'pending' AND waits THEN 'open'
        WHEN a.outcome = 'pending' THEN 'lost'
        WHEN a.outcome = 'parked' AND NOT waits AND NOT EXISTS (
            SELECT 1 FROM cases c WHERE c.arrival_id = a.id) THEN 'parked_unlisted'
        WHEN a.outcome IN ('entered', 'already_here') AND d.id IS NULL THEN 'entered_without_row'
        WHEN a.outcome IN ('blocked', 'set_apart') AND a.outcome_reason IS NULL
            THEN 'ended_without_reason'
        ELSE a.outcome END
    FROM arrivals a
    LEFT JOIN documents d ON d.id = a.document_id
    CROSS JOIN LATERAL (SELECT EXISTS (
        SELECT 1 FROM flow_ledger l
        WHERE l.subject_id = a.id AND l.generation = 0 AND l.state <> 'done'
          AND l.stage IN ('split', 'extract', 'triage')) AS waits) ledger
"""

_DOCUMENTS = """
    SELECT d.id, CASE
        WHEN d.state <> 'active' THEN 'document_' || d.state
        WHEN waits THEN 'document_open'
        WHEN EXISTS (SELECT 1 FROM flow_ledger l WHERE l.stage = 'dispatch' AND l.generation = 0
            AND l.subject_id = d.id AND l.state = 'done') THEN 'document_done'
        WHEN EXISTS (SELECT 1 FROM cases c WHERE c.document_id = d.id AND c.state = 'open')
            THEN 'document_asked'
        ELSE 'document_stuck' END
    FROM documents d
    CROSS JOIN LATERAL (SELECT EXISTS (
        SELECT 1 FROM flow_ledger l
        WHERE l.subject_id = d.id AND l.generation = 0 AND l.state <> 'done'
          AND l.stage IN ('deepen', 'file', 'chunk', 'embed', 'words', 'dispatch')) AS waits) ledger
"""

_RAW_ITEMS = """
    SELECT r.id, 'raw_without_arrival' FROM raw_items r
    WHERE r.state <> 'erased' AND NOT EXISTS (
        SELECT 1 FROM raw_items o JOIN arrivals a ON a.raw_item_id = o.id
        WHERE o.sha256 = r.sha256)
"""

_FAULTS = (
    ("lost", "arrival"),
    ("parked_unlisted", "arrival"),
    ("entered_without_row", "arrival"),
    ("ended_without_reason", "arrival"),
    ("document_stuck", "document"),
    ("raw_without_arrival", "raw_item"),
)


def ledger_adds_up(installation: Installation) -> Verdict:
    """Sum of the outcomes = arrivals, and whatever is pending stands in the ledger (FLOW-06)."""
    arrivals = counts_and_ids(installation, _ARRIVALS)
    documents = counts_and_ids(installation, _DOCUMENTS)
    raw_items = counts_and_ids(installation, _RAW_ITEMS)
    found = arrivals | documents | raw_items
    figures = totals(found) | {"arrivals": sum(totals(arrivals).values())}
    if figures["arrivals"] == 0 and not documents and not raw_items:
        return unmeasured("nothing has arrived yet", figures)
    return judged(
        sum(found.get(name, (0, ()))[0] for name, _ in _FAULTS),
        holds="every arrival has exactly one outcome or is open in the ledger",
        broken="arrivals or documents have fallen out of the flow",
        figures=figures,
        evidence=tuple(item for name, kind in _FAULTS for item in evidence(found, [name], kind)),
    )
