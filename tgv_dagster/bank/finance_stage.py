"""The finance stage of a document: how far a receipt got on its way to the books (FIN-01).

A second axis beside the stage of the flow. It is derived: one statement sets it from what is
recorded, and a rebuild sets the same.
"""

from __future__ import annotations

from enum import StrEnum

from tgv_dagster.bank import figures
from tgv_dagster.store.db import Connection


class FinanceStage(StrEnum):
    """collect, clarify, reconcile, close, evaluate."""

    COLLECT = "s0"
    CLARIFY = "s1"
    RECONCILE = "s2"
    CLOSE = "s3"
    EVALUATE = "s4"


def follow(connection: Connection, *, document_id: int | None = None) -> int:
    """Set the stage of every receipt, or of one, to what is recorded; returns how many changed.

    collect: not decided yet · clarify: a person is asked · reconcile: waits for its booking ·
    close: a person confirmed bookings of its whole amount · evaluate: its month is closed.
    """
    return connection.execute(
        f"""
        UPDATE documents d SET finance_stage = s.stage
        FROM (
            SELECT r.id, CASE
                WHEN p.locked_at IS NOT NULL THEN %(evaluate)s
                WHEN {figures.RECEIPT_CLOSED.format(row="r")} THEN %(close)s
                WHEN r.flow_stage = 'clarify' OR EXISTS (SELECT 1 FROM cases c
                    WHERE c.document_id = r.id AND c.state = 'open') THEN %(clarify)s
                WHEN r.flow_stage IN ('file', 'know', 'effect') THEN %(reconcile)s
                ELSE %(collect)s END AS stage
            FROM documents r {figures.linked("document_id", "r")}
            LEFT JOIN accounting_periods p ON p.entity = r.entity
                AND p.period = to_char(r.invoice_date, 'YYYY-MM')
            WHERE r.state = 'active' AND r.doc_type IN ('invoice', 'receipt', 'credit_note')
              AND (%(document)s::bigint IS NULL OR r.id = %(document)s)) s
        WHERE d.id = s.id AND d.finance_stage IS DISTINCT FROM s.stage
        """.encode(),
        {stage.name.lower(): stage.value for stage in FinanceStage} | {"document": document_id},
    ).rowcount
