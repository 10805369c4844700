"""The file stage: compartment, level and project of a document whose entity is decided.

A document is never looser than its compartment (FILE-01, FILE-02). One without a decided entity or
level is not filed into a default: it waits for its open case (FILE-07). Bytes never move here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tgv_dagster.file.compartments import compartment_for
from tgv_dagster.store import ledger
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.ledger import Claim
from tgv_dagster.store.levels import Level, is_known, rank_of
from tgv_dagster.store.pull import BatchReport, pull
from tgv_dagster.store.stages import STAGES, Stage
from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.values import effective_values


@dataclass(frozen=True, slots=True)
class Filing:
    """Decision about one document: what is missing, or where it goes and how strict it is."""

    missing: tuple[str, ...]
    compartment_id: int | None
    level: str | None


def decide_filing(
    *,
    mandant_id: int | None,
    entity: str | None,
    level: str | None,
    compartment: tuple[int, str] | None,
) -> Filing:
    """Pure decision. `compartment` is (id, default level); the stricter level wins (FILE-02)."""
    missing = tuple(
        name
        for name, value in (
            ("tenant", mandant_id),
            ("entity", entity),
            ("confidentiality_level", level),
        )
        if value is None
    )
    if compartment is None or level is None:
        return Filing(missing, None, level)
    compartment_id, floor = compartment
    stricter = floor if is_known(floor) and rank_of(floor) > rank_of(level) else level
    return Filing(missing, compartment_id, stricter)


def file_documents(
    database: Database, *, limit: int, progress: Callable[[int, int], None] | None = None
) -> BatchReport:
    """File pending documents; what cannot be filed says what is missing and waits for a person."""

    def handle(claim: Claim) -> str:
        with database.worker() as connection:
            filing = _decide(connection, claim.subject_id)
            if filing.missing:
                _wait(connection, claim, filing.missing)
                return "waits_for_person"
            connection.execute(
                "UPDATE documents SET compartment_id = %s, confidentiality_level = %s,"
                " index_filter = NULL, flow_stage = 'know', updated_at = now() WHERE id = %s",
                (filing.compartment_id, filing.level, claim.subject_id),
            )
            ledger.complete(connection, claim, then=STAGES[Stage.FILE].then)
        return "filed"

    return pull(database, Stage.FILE, handle, limit=limit, progress=progress)


def _decide(connection: Connection, document_id: int) -> Filing:
    row = connection.execute(
        "SELECT mandant_id, entity, confidentiality_level, doc_type FROM documents WHERE id = %s",
        (document_id,),
    ).fetchone()
    assert row is not None
    mandant_id, entity, level, doc_type = row
    found = None
    if mandant_id is not None:
        folder = effective_values(connection, document_id).get(Field.FOLDER)
        chosen = None if folder is None else folder.text
        found = compartment_for(connection, mandant_id, entity, chosen, doc_type)
    return decide_filing(
        mandant_id=mandant_id,
        entity=entity,
        level=level if level is None or is_known(level) else str(Level.STRICT),
        compartment=None if found is None else (found.id, found.default_level),
    )


def _wait(connection: Connection, claim: Claim, missing: tuple[str, ...]) -> None:
    connection.execute(
        "UPDATE documents SET flow_stage = 'clarify', index_filter = %s, updated_at = now()"
        " WHERE id = %s",
        (f"not decided: {', '.join(missing)}", claim.subject_id),
    )
    connection.execute("DELETE FROM rag_chunks WHERE document_id = %s", (claim.subject_id,))
    ledger.complete(connection, claim, then=(Stage.WORDS,))
