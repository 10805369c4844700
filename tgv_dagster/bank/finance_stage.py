"""The finance stage of a document: how far a receipt got on its way to the books (FIN-01).

A second axis beside the stage of the flow. It is derived: one statement sets it from what is
recorded, and a rebuild sets the same.
"""

from __future__ import annotations

from enum import StrEnum

from tgv_dagster.store.db import Connection


class FinanceStage(StrEnum):
    """collect, clarify, reconcile, close, evaluate."""

    COLLECT = "s0"
    CLARIFY = "s1"
    RECONCILE = "s2"
    CLOSE = "s3"
    EVALUATE = "s4"


def follow(connection: Connection) -> int:
    """Set the stage of every receipt to what is recorded; returns how many changed.

    collect: not decided yet · clarify: a person is asked · reconcile: waits for its booking ·
    close: a person confirmed bookings of its whole amount · evaluate: its month is closed.
    """
    return connection.execute(
        """
        UPDATE documents d SET finance_stage = s.stage
        FROM (
            SELECT r.id, CASE
                WHEN p.locked_at IS NOT NULL THEN %(evaluate)s
                WHEN (SELECT sum(l.amount) >= coalesce(abs(r.amount_gross), 0)
                    FROM txn_document_links l
                    WHERE l.document_id = r.id AND l.state = 'confirmed') THEN %(close)s
                WHEN r.flow_stage = 'clarify' OR EXISTS (SELECT 1 FROM cases c
                    WHERE c.document_id = r.id AND c.state = 'open') THEN %(clarify)s
                WHEN r.flow_stage IN ('file', 'know', 'effect') THEN %(reconcile)s
                ELSE %(collect)s END AS stage
            FROM documents r
            LEFT JOIN accounting_periods p ON p.entity = r.entity
                AND p.period = to_char(r.invoice_date, 'YYYY-MM')
            WHERE r.state = 'active' AND r.doc_type IN ('invoice', 'receipt', 'credit_note')) s
        WHERE d.id = s.id AND d.finance_stage IS DISTINCT FROM s.stage
        """,
        {stage.name.lower(): stage.value for stage in FinanceStage},
    ).rowcount
