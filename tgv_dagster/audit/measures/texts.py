"""Measurements of understanding: texts, complete triage, and what people decided."""

from __future__ import annotations

from tgv_dagster.audit.measures.asking import counts_and_ids, evidence, totals
from tgv_dagster.audit.verdict import Verdict, judged, unmeasured
from tgv_dagster.installation import Installation
from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.values import COLUMN_OF

NO_DOCUMENT = "no document stands here yet"


def text_for_every_document(installation: Installation) -> Verdict:
    """Every document row has an extraction with text, or one with a named reason (OBS-08)."""
    found = counts_and_ids(
        installation,
        """
        SELECT d.id, CASE
            WHEN x.raw_sha256 IS NULL THEN 'never_read'
            WHEN x.characters > 0 THEN 'with_text'
            WHEN x.reason IS NOT NULL THEN 'without_text_and_reason_named'
            ELSE 'without_text_or_reason' END
        FROM documents d LEFT JOIN extractions x ON x.raw_sha256 = d.raw_sha256
            AND x.part_role = d.part_role AND x.active AND x.generation = 0
        WHERE d.state = 'active'
        """,
    )
    if not found:
        return unmeasured(NO_DOCUMENT)
    broken = ("never_read", "without_text_or_reason")
    return judged(
        sum(found.get(name, (0, ()))[0] for name in broken),
        holds="every document has a text or a named reason for having none",
        broken="documents have neither a text nor a reason",
        figures=totals(found),
        evidence=evidence(found, broken, "document"),
    )


def triage_complete(installation: Installation) -> Verdict:
    """Type and language are stated or checked, or an open question says what is missing."""
    found = counts_and_ids(
        installation,
        """
        SELECT d.id, CASE
            WHEN coalesce(stated, 0) = 2 THEN 'complete'
            WHEN EXISTS (SELECT 1 FROM cases c WHERE c.document_id = d.id) THEN 'asked'
            ELSE 'incomplete' END
        FROM documents d LEFT JOIN (
            SELECT document_id, count(DISTINCT field) AS stated FROM document_values
            WHERE active AND field IN ('doc_type', 'language') GROUP BY document_id) v
          ON v.document_id = d.id
        WHERE d.state = 'active'
        """,
    )
    if not found:
        return unmeasured(NO_DOCUMENT)
    return judged(
        found.get("incomplete", (0, ()))[0],
        holds="every document has type and language or an open question",
        broken="documents lack type or language and nobody is asked",
        figures=totals(found),
        evidence=evidence(found, ("incomplete",), "document"),
    )


_CASTS = {
    Field.AMOUNT_GROSS: "numeric",
    Field.INVOICE_DATE: "date",
    Field.SERVICE_DATE: "date",
    Field.DUE_DATE: "date",
}


def _shown(field: Field) -> str:
    """SQL: whether the column of `documents` shows the human value `v.value`."""
    cast = _CASTS.get(field, "text")
    return (
        f"WHEN v.field = '{field}' THEN d.{COLUMN_OF[field]}::{cast}"
        f" IS NOT DISTINCT FROM v.value::{cast}"
    )


_HUMAN = f"""
    SELECT document_id, CASE
        WHEN in_force = 0 THEN 'replaced_by_a_machine'
        WHEN in_force > 1 THEN 'two_in_force'
        WHEN row_id IS NULL THEN 'document_gone'
        WHEN NOT shown THEN 'not_shown'
        ELSE 'in_force' END
    FROM (
        SELECT v.document_id, v.field, max(d.id) AS row_id,
            count(*) FILTER (WHERE v.active) AS in_force,
            bool_and(NOT v.active OR CASE {" ".join(_shown(field) for field in COLUMN_OF)}
                ELSE true END) AS shown
        FROM document_values v LEFT JOIN documents d ON d.id = v.document_id
        WHERE v.origin = 'human' AND v.generation = 0 GROUP BY v.document_id, v.field) decided
"""


def human_values_survive(installation: Installation) -> Verdict:
    """Exactly one human value per decided field is in force and its document shows it."""
    found = counts_and_ids(installation, _HUMAN)
    if not found:
        return unmeasured("no person has decided a value yet")
    broken = ("replaced_by_a_machine", "two_in_force", "document_gone", "not_shown")
    return judged(
        sum(found.get(name, (0, ()))[0] for name in broken),
        holds="every value a person decided is in force",
        broken="values that people decided are not in force any more",
        figures=totals(found),
        evidence=evidence(found, broken, "document"),
    )
