"""The deepen stage: the specialist of a document's kind completes what triage stated.

Loads pages and effective values, calls the pure `specialise`, stores its findings, derivations and
questions. Which specialist is responsible stands in the registry (TRI-15).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime

from psycopg.types.json import Jsonb

from tgv_dagster.arrive.gates import PartRole
from tgv_dagster.deepen import registry
from tgv_dagster.deepen.deadlines import Derivation
from tgv_dagster.deepen.specialists import SpecialistInput, SpecialistResult, specialise
from tgv_dagster.store import ledger
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.ledger import Claim
from tgv_dagster.store.pull import BatchReport, Unworkable, pull
from tgv_dagster.store.stages import STAGES, Stage
from tgv_dagster.understand import learned, rules
from tgv_dagster.understand.asking import open_points_case
from tgv_dagster.understand.doctypes import DocType
from tgv_dagster.understand.evidence import Field, Finding, Origin
from tgv_dagster.understand.extracting import stored_extraction
from tgv_dagster.understand.values import (
    StoredValue,
    effective_values,
    from_text,
    show_on_document,
    write_values,
)

SPECIALIST_VERSION = "1"
WRITER = "specialist"
CONTRACT = "contract"
_CONTRACT_FIELDS = (
    Field.CONTRACT_START_DATE,
    Field.CONTRACT_END_DATE,
    Field.NOTICE_PERIOD_DAYS,
    Field.NOTICE_DEADLINE,
    Field.NEXT_RENEWAL_DATE,
    Field.AUTO_RENEWAL,
)


def deepen_documents(
    database: Database, *, limit: int, progress: Callable[[int, int], None] | None = None
) -> BatchReport:
    """Run the specialists over pending documents; a kind without a built one goes on as it is."""

    def handle(claim: Claim) -> str:
        with database.worker() as connection:
            result = _deepen(connection, claim.subject_id)
            ledger.complete(connection, claim, then=STAGES[Stage.DEEPEN].then)
        return str(result.state) if result.specialist else "no_specialist"

    return pull(database, Stage.DEEPEN, handle, limit=limit, progress=progress)


def _deepen(connection: Connection, document_id: int) -> SpecialistResult:
    row = connection.execute(
        "SELECT raw_sha256, part_role, doc_type, language, date_received FROM documents"
        " WHERE id = %s FOR NO KEY UPDATE",
        (document_id,),
    ).fetchone()
    if row is None:
        raise Unworkable("there is no such document")
    extraction = stored_extraction(connection, row[0], PartRole(row[1]))
    if extraction is None:
        raise Unworkable("the text of this document is missing; extract it again")
    stated = effective_values(connection, document_id, without=WRITER)
    taught = learned.outranked(
        [_finding(value) for value in stated.values()], _taught(connection, document_id)
    )
    doc_type = DocType(row[2]) if row[2] in set(DocType) else DocType.UNKNOWN
    result = specialise(
        SpecialistInput(
            doc_type=doc_type,
            pages=tuple(unicodedata.normalize("NFC", page.text) for page in extraction.pages),
            findings=(*_unless(stated, taught), *taught),
            asked=_asked(connection, document_id),
            language=row[3],
            as_of=_today(),
            source=f"#{document_id}",
        )
    )
    gone = write_values(
        connection,
        document_id,
        (*result.findings, *taught),
        set_by=WRITER,
        version=SPECIALIST_VERSION,
    )
    show_on_document(connection, document_id, taken_back=gone)
    connection.execute(
        "UPDATE documents SET skill_plan = %s, flow_stage = 'file' WHERE id = %s",
        (Jsonb(list(registry.load().skill_plan(doc_type))), document_id),
    )
    if result.specialist == CONTRACT:
        _write_contract(connection, document_id, result)
    open_points_case(
        connection,
        document_id,
        learned.answered(result.open_points, taught),
        step=Stage.DEEPEN,
    )
    return result


def _taught(connection: Connection, document_id: int) -> tuple[Finding, ...]:
    """What learned rules know about the document as it is understood by now (LEARN-03)."""
    row = connection.execute(
        "SELECT mandant_id, entity, cues, doc_type FROM documents WHERE id = %s", (document_id,)
    ).fetchone()
    if row is None or row[2] is None:
        return ()
    cues = row[2] | ({} if row[3] is None else {"doc_type": row[3]})
    item = learned.item_of(cues, mandant_id=row[0], entity=row[1])
    return learned.values_of(rules.decide(learned.load_learned(connection), item))


def _today() -> date:
    return datetime.now(UTC).date()


def _finding(value: StoredValue) -> Finding:
    return Finding(
        field=value.field,
        value=from_text(value.field, value.text),
        origin=value.origin,
        confidence=value.confidence or 0.0,
        span=None,
        rule_id=value.rule_id or str(Origin.HUMAN),
    )


def _unless(stated: Mapping[Field, StoredValue], taught: Sequence[Finding]) -> tuple[Finding, ...]:
    known = {finding.field for finding in taught}
    return tuple(_finding(value) for field, value in stated.items() if field not in known)


def _asked(connection: Connection, document_id: int) -> frozenset[Field]:
    """Fields that another step asks about already; this step's own case follows what it asks."""
    found = connection.execute(
        "SELECT DISTINCT p ->> 'field' FROM cases, jsonb_array_elements(open_points) p"
        " WHERE document_id = %s AND state = 'open' AND evidence ->> 'step' IS DISTINCT FROM %s",
        (document_id, Stage.DEEPEN),
    ).fetchall()
    return frozenset(Field(row[0]) for row in found if row[0] in set(Field))


def _write_contract(connection: Connection, document_id: int, result: SpecialistResult) -> None:
    values = effective_values(connection, document_id)
    facts = {field: values[field].text for field in _CONTRACT_FIELDS if field in values}
    provider, kind = values.get(Field.PROVIDER), values.get(Field.CONTRACT_TYPE)
    connection.execute(
        """
        INSERT INTO prf_contracts (document_id, mandant_id, entity, contract_type, partner,
            contract_start_date, contract_end_date, notice_period_days, notice_deadline,
            next_renewal_date, auto_renewal, derivation, is_test)
        SELECT d.id, d.mandant_id, d.entity, %s, %s, %s, %s, %s, %s, %s, %s, %s, d.is_test
        FROM documents d WHERE d.id = %s
        ON CONFLICT (document_id) DO UPDATE SET mandant_id = excluded.mandant_id,
            entity = excluded.entity, contract_type = excluded.contract_type,
            partner = excluded.partner, contract_start_date = excluded.contract_start_date,
            contract_end_date = excluded.contract_end_date,
            notice_period_days = excluded.notice_period_days,
            notice_deadline = excluded.notice_deadline,
            next_renewal_date = excluded.next_renewal_date,
            auto_renewal = excluded.auto_renewal, derivation = excluded.derivation,
            updated_at = now()
        """,
        (
            None if kind is None else kind.text,
            None if provider is None else provider.text,
            *(facts.get(field) for field in _CONTRACT_FIELDS),
            Jsonb([_derivation(d) for d in result.derivations]),
            document_id,
        ),
    )


def _derivation(derivation: Derivation) -> dict[str, object]:
    return {
        "rule": derivation.rule,
        "value": derivation.value.isoformat(),
        "inputs": dict(derivation.inputs),
        "source": derivation.source,
    }
