"""Measurement of double counting: what was dispatched says nothing that stands already."""

from __future__ import annotations

from collections import Counter

from tgv_dagster.audit.measures.asking import rows_in
from tgv_dagster.audit.measures.texts import NO_DOCUMENT
from tgv_dagster.audit.verdict import Figure, Verdict, judged, unmeasured
from tgv_dagster.effect.duplicates import APPROVE_GUARD, duplicates
from tgv_dagster.installation import Installation


def nothing_is_counted_twice(installation: Installation) -> Verdict:
    """Duplicates by their three roots; red only for those that went past the guard (DEDUP-01)."""
    with installation.database.worker() as connection:
        total = rows_in(connection, "SELECT count(*) FROM documents")[0][0]
        found = duplicates(connection)
        stopped = {
            row[0]
            for row in rows_in(
                connection,
                "SELECT id FROM documents WHERE id = ANY (%(found)s)"
                " AND (state = 'held' OR dispatch_state <> 'done')",
                {"found": [duplicate.document_id for duplicate in found]},
            )
        }
    if not total:
        return unmeasured(NO_DOCUMENT)
    passed = [duplicate for duplicate in found if duplicate.document_id not in stopped]
    figures: dict[str, Figure] = {"documents": total, "held_by": APPROVE_GUARD}
    figures |= Counter(str(duplicate.root) for duplicate in found)
    figures["held"] = len(found) - len(passed)
    return judged(
        len(passed),
        holds="no document that was dispatched says what another one says already",
        broken="documents were dispatched although another one says the same",
        figures=figures,
        evidence=tuple(f"document:{duplicate.document_id}" for duplicate in passed),
    )
