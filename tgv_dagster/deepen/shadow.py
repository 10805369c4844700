"""The model in shadow: what it would have decided, recorded beside what was applied (TRI-04).

Here belong which documents are asked about, the log of calls and its use as a cache, and the
statements of an answer. Nothing here writes a value, a case or a document: whatever a document
talks a model into has no effect. The log of calls is primary, so neither a rebuild nor a second run
pays for the same input again. How often model and cascade agree is counted in `agreement`.
"""

from __future__ import annotations

import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml
from psycopg.types.json import Jsonb

from tgv_dagster.arrive.gates import PartRole
from tgv_dagster.deepen import registry
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.levels import STRICTEST_RANK, rank_of
from tgv_dagster.store.pull import BatchReport, Problem
from tgv_dagster.store.remote import is_loopback, remote_ceiling
from tgv_dagster.store.stages import Stage
from tgv_dagster.understand.chat_model import CallStatus, ChatModel, ModelRole, Question, Reply
from tgv_dagster.understand.doctypes import DocType
from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.extracting import stored_extraction
from tgv_dagster.understand.model_answers import (
    MEANING,
    AnswerModel,
    ClosedSets,
    MalformedAnswer,
    ModelStatement,
    answer_model,
    read_answer,
    schema_of,
)
from tgv_dagster.understand.triaging import load_vocabulary

TRIAGE_FIELDS = (
    Field.DOC_TYPE,
    Field.ENTITY,
    Field.PROVIDER,
    Field.DIRECTION,
    Field.LANGUAGE,
    Field.CONFIDENTIALITY_LEVEL,
    Field.PROJECT_CODE,
    Field.INVOICE_NUMBER,
    Field.AMOUNT_NET,
    Field.AMOUNT_TAX,
    Field.AMOUNT_GROSS,
    Field.CURRENCY,
    Field.INVOICE_DATE,
    Field.LETTER_DATE,
    Field.SERVICE_DATE,
    Field.DUE_DATE,
)
"""What the model in the role of triage is asked; the specialists' fields follow the registry."""

LONGEST_TEXT = 400_000
"""Characters of a document that are sent; a longer one is not asked about and never cut."""
ASKED_AGAIN_AFTER_HOURS = 6
MOST_ATTEMPTS = 3
"""Calls that ended in a fault of the provider before a document stays unmeasured."""
_LOCK = 7_260_404  # any fixed number: one shadow run at a time, so that nothing is paid twice


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document that may be asked about in a role."""

    document_id: int
    mandant_id: int
    level: str | None
    is_test: bool
    sha256: str
    part_role: PartRole
    doc_type: DocType


@dataclass(frozen=True, slots=True)
class Prompts:
    """The instructions per role, with their version."""

    version: str
    triage: str
    specialist: str

    def of(self, role: ModelRole) -> str:
        """The instruction of a role."""
        return self.triage if role is ModelRole.TRIAGE else self.specialist


@cache
def prompts() -> Prompts:
    """The shipped instructions."""
    path = resources.files("tgv_dagster.deepen") / "model_prompts.yaml"
    data: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return Prompts(str(data["version"]), data["triage"], data["specialist"])


def purpose_of(role: ModelRole) -> str:
    """How a call of a role with the present instructions is named in the log of calls."""
    return f"shadow.{role}@{prompts().version}"


def ask_in_shadow(
    database: Database,
    model: ChatModel | None,
    *,
    limit: int,
    progress: Callable[[int, int], None] | None = None,
) -> BatchReport:
    """Ask about documents that no call was made for; without a model nothing is asked.

    A fault of the provider ends the batch: what is left stays unmeasured until the next run.
    """
    started = time.monotonic()
    outcomes: Counter[str] = Counter()
    problems: list[Problem] = []
    waiting: list[tuple[Candidate, ModelRole]] = []
    if model is not None:
        with database.worker() as guard:
            # The lock ends with this transaction, also when the process is killed.
            row = guard.execute("SELECT pg_try_advisory_xact_lock(%s)", (_LOCK,)).fetchone()
            if row is not None and row[0]:
                waiting = _due(database, model, limit)
                for number, (candidate, role) in enumerate(waiting, start=1):
                    outcome, reply = _ask(database, model, candidate, role)
                    outcomes[outcome] += 1
                    if reply is not None and reply.status is not CallStatus.OK:
                        reason = f"{reply.status}: {reply.reason}"
                        problems.append(Problem(candidate.document_id, outcome, reason))
                    if progress is not None:
                        progress(number, len(waiting))
                    if reply is not None and reply.is_providers_fault:
                        break
    return BatchReport(
        stage=Stage.DEEPEN,
        claimed=sum(outcomes.values()),
        outcomes=dict(outcomes),
        problems=tuple(problems),
        seconds=time.monotonic() - started,
    )


# --- which documents ------------------------------------------------------------------------------


def role_of_kind(doc_type: DocType) -> ModelRole | None:
    """The model role the registry gives the specialist of a kind."""
    word = registry.load().entry(doc_type).model_role
    return ModelRole(word) if word in set(ModelRole) else None


_DUE = """
    SELECT d.id, d.mandant_id, d.confidentiality_level, d.is_test, d.raw_sha256, d.part_role,
        d.doc_type
    FROM documents d
    JOIN extractions e ON e.raw_sha256 = d.raw_sha256 AND e.part_role = d.part_role AND e.active
    WHERE d.mandant_id IS NOT NULL AND d.state = 'active' AND d.flow_stage <> 'understand'
      AND e.characters BETWEEN 1 AND %(longest)s
      AND (%(kinds)s::text[] IS NULL OR d.doc_type = ANY (%(kinds)s::text[]))
      AND NOT EXISTS (
        SELECT 1 FROM model_calls c
        WHERE c.document_id = d.id AND c.purpose = %(purpose)s AND c.model = %(model)s
          AND c.started_at > e.created_at
        HAVING count(*) FILTER (WHERE c.status IN ('ok', 'refused', 'malformed')) > 0
            OR count(*) >= %(attempts)s
            OR max(c.started_at) > now() - make_interval(hours => %(pause)s))
    ORDER BY d.id
"""
"""A text that was read anew is asked about anew; when its input is the same, nothing is paid."""


def _due(database: Database, model: ChatModel, limit: int) -> list[tuple[Candidate, ModelRole]]:
    """Documents without a call, of levels that may leave the machine, at most `limit` of them."""
    found: list[tuple[Candidate, ModelRole]] = []
    with database.worker() as connection:
        ceilings: dict[int, int] = {}
        for role in ModelRole:
            name = model.model_of(role)
            if name is None:
                continue
            kinds = [kind.value for kind in DocType if role_of_kind(kind) is role]
            rows = connection.execute(
                _DUE,
                {
                    "kinds": None if role is ModelRole.TRIAGE else kinds,
                    "purpose": purpose_of(role),
                    "model": name,
                    "attempts": MOST_ATTEMPTS,
                    "pause": ASKED_AGAIN_AFTER_HOURS,
                    "longest": LONGEST_TEXT,
                },
            ).fetchall()
            for row in rows:
                if len(found) == limit:
                    return found
                candidate = _candidate(row)
                ceiling = _ceiling(connection, model, candidate.mandant_id, ceilings)
                if rank_of(candidate.level) <= ceiling:
                    found.append((candidate, role))
    return found


def _ceiling(
    connection: Connection, model: ChatModel, mandant_id: int, known: dict[int, int]
) -> int:
    """The strictest rank that may be sent; a model on this machine may read everything."""
    if is_loopback(model.host):
        return STRICTEST_RANK
    if mandant_id not in known:
        known[mandant_id] = remote_ceiling(connection, mandant_id)
    return known[mandant_id]


def _candidate(row: Sequence[Any]) -> Candidate:
    kind = DocType(row[6]) if row[6] in set(DocType) else DocType.UNKNOWN
    return Candidate(row[0], row[1], row[2], row[3], row[4], PartRole(row[5]), kind)


# --- one call -------------------------------------------------------------------------------------


def _ask(
    database: Database, model: ChatModel, candidate: Candidate, role: ModelRole
) -> tuple[str, Reply | None]:
    """Ask about one document; the outcome's name, and the reply unless nothing was sent."""
    with database.worker() as connection:
        text = _text(connection, candidate)
        if text is None:
            return "no_text", None
        answer = answer_model(_fields(candidate, role), _closed_sets(connection, candidate))
        question = Question(role, prompts().version, prompts().of(role), text, schema_of(answer))
        digest = model.input_hash(question)
        if _answered_before(connection, candidate, role, model, digest):
            return "answered_before", None
    reply, statements = _checked(model.ask(question), answer, text)
    with database.worker() as connection:
        _log(connection, candidate, role, digest, reply, statements)
    return str(reply.status), reply


def _text(connection: Connection, candidate: Candidate) -> str | None:
    extraction = stored_extraction(connection, candidate.sha256, candidate.part_role)
    if extraction is None:
        return None
    pages = (unicodedata.normalize("NFC", page.text) for page in extraction.pages)
    return "\n".join(pages).strip() or None


def _fields(candidate: Candidate, role: ModelRole) -> tuple[Field, ...]:
    if role is ModelRole.TRIAGE:
        return TRIAGE_FIELDS
    entry = registry.load().entry(candidate.doc_type)
    return tuple(name for name in (*entry.required, *entry.looked_for) if name in MEANING)


def _closed_sets(connection: Connection, candidate: Candidate) -> ClosedSets:
    """The vocabulary of the document's own tenant: another tenant's names are never sent."""
    known = load_vocabulary(connection, is_test=candidate.is_test).narrowed(candidate.mandant_id)
    row = connection.execute(
        "SELECT languages FROM mandanten WHERE id = %s", (candidate.mandant_id,)
    ).fetchone()
    return ClosedSets(
        entities=tuple(sorted(entry.slug for entry in known.entities)),
        projects=tuple(sorted(project.project_code for project in known.projects)),
        languages=tuple(row[0]) if row is not None else (),
    )


def _checked(
    reply: Reply, answer: AnswerModel, text: str
) -> tuple[Reply, tuple[ModelStatement, ...]]:
    """The statements of a reply; one that is not of the schema is malformed as a whole."""
    if reply.content is None:
        return reply, ()
    try:
        return reply, read_answer(answer, reply.content, text)
    except MalformedAnswer as error:
        malformed = {"status": CallStatus.MALFORMED, "reason": str(error), "content": None}
        return Reply(**(asdict(reply) | malformed)), ()


def _answered_before(
    connection: Connection, candidate: Candidate, role: ModelRole, model: ChatModel, digest: str
) -> bool:
    """Take over the answer to the same input of this document, at no cost; False without one.

    Never looks at other documents: nothing of one tenant reaches another through the cache.
    """
    taken = connection.execute(
        """
        INSERT INTO model_calls (mandant_id, document_id, purpose, provider_host, model,
            input_hash, input_units, output_units, cost_eur, status, error, response, milliseconds)
        SELECT mandant_id, document_id, purpose, provider_host, model, input_hash, 0, 0, 0,
            status, 'same input: the answer of call ' || id, response, 0
        FROM model_calls
        WHERE mandant_id = %s AND document_id = %s AND purpose = %s AND model = %s
          AND input_hash = %s AND status IN ('ok', 'refused', 'malformed')
        ORDER BY id LIMIT 1
        """,
        (
            candidate.mandant_id,
            candidate.document_id,
            purpose_of(role),
            model.model_of(role),
            digest,
        ),
    )
    return taken.rowcount == 1


def _log(
    connection: Connection,
    candidate: Candidate,
    role: ModelRole,
    digest: str,
    reply: Reply,
    statements: Iterable[ModelStatement],
) -> None:
    stored = [
        {"field": s.field, "value": s.text, "quote": s.quote, "proven": s.proven}
        for s in statements
    ]
    connection.execute(
        """
        INSERT INTO model_calls (mandant_id, document_id, purpose, provider_host, model,
            input_hash, input_units, output_units, cost_eur, status, error, response, milliseconds)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
        """,
        (
            candidate.mandant_id,
            candidate.document_id,
            purpose_of(role),
            reply.host,
            reply.model,
            digest,
            reply.input_tokens,
            reply.output_tokens,
            reply.euro,
            reply.status,
            reply.reason or None,
            Jsonb(stored) if reply.status is CallStatus.OK else None,
            round(reply.seconds * 1000),
        ),
    )
