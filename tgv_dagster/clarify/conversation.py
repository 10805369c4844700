"""Conversations of cases: reading one, answering in words, proposing an action (CLAR-02).

Each case is a conversation: messages, evidence, cards, what is still open. A person's words are
kept as they are; what they state becomes a proposal, what stays open is asked again with choices.
An assistant joins later through the same functions. Cards are executed in `execution`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tgv_dagster.clarify import free_text
from tgv_dagster.clarify.cases import (
    CaseNotFound,
    CaseRow,
    NotAnswerable,
    get_case,
    hold,
    list_cases,
)
from tgv_dagster.clarify.execution import (
    CardRow,
    Executor,
    cards_of_cases,
    get_card,
    look_at,
)
from tgv_dagster.clarify.free_text import Known, Question
from tgv_dagster.clarify.talk import Block, say
from tgv_dagster.store.actions import Action, NotExecutable
from tgv_dagster.store.cards import NewCard, propose
from tgv_dagster.store.cases import CaseKind, NewCase, SubjectKind, open_case
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.levels import Role
from tgv_dagster.store.organisation import SERVICE_LOGIN
from tgv_dagster.store.scope import Scope
from tgv_dagster.understand.evidence import Field


@dataclass(frozen=True, slots=True)
class Message:
    """One message; `blocks` as of `clarify.talk`, `steps` the trace of an assistant."""

    id: int
    author: str
    is_human: bool
    blocks: tuple[Block, ...]
    steps: tuple[dict[str, Any], ...]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Conversation:
    """A case with everything said and proposed in it."""

    case: CaseRow
    messages: tuple[Message, ...]
    cards: tuple[CardRow, ...]


@dataclass(frozen=True, slots=True)
class Inbox:
    """Cases with their cards; `truncated`: there are more."""

    cases: tuple[tuple[CaseRow, tuple[CardRow, ...]], ...]
    truncated: bool


def inbox(
    executor: Executor, scope: Scope, *, state: str = "open", limit: int = 50, after_id: int = 0
) -> Inbox:
    """A page of cases with their cards, in two statements however many there are."""
    found = list_cases(executor.database, scope, state=state, limit=limit + 1, after_id=after_id)
    shown = found[:limit]
    with executor.database.reading(scope) as connection:
        cards = cards_of_cases(executor, connection, scope, [case.id for case in shown])
    return Inbox(tuple((case, cards.get(case.id, ())) for case in shown), len(found) > limit)


def read(executor: Executor, scope: Scope, case_id: int) -> Conversation:
    """One case as a conversation; CaseNotFound when it does not exist for this reader."""
    case = get_case(executor.database, scope, case_id)
    with executor.database.reading(scope) as connection:
        rows = connection.execute(
            "SELECT m.id, m.author, m.is_human, m.blocks, m.steps, m.created_at FROM messages m"
            " JOIN cases c ON c.thread_id = m.thread_id WHERE c.id = %s ORDER BY m.id",
            (case_id,),
        ).fetchall()
        cards = cards_of_cases(executor, connection, scope, [case_id])
    messages = tuple(Message(r[0], r[1], r[2], tuple(r[3]), tuple(r[4]), r[5]) for r in rows)
    return Conversation(case, messages, cards.get(case_id, ()))


def post(
    executor: Executor,
    scope: Scope,
    case_id: int,
    text: str,
    *,
    arrivals: Sequence[int] = (),
    language: str | None = None,
) -> Conversation:
    """A person's words, and files handed over before, in a case; the server answers at once.

    What the words state for open questions becomes one card; the rest is asked again. Raises
    CaseNotFound, ScopeError, NotAnswerable (nothing said, or a file that is not this person's).
    """
    scope.require(Role.EDITOR)
    if not text.strip() and not arrivals:
        raise NotAnswerable("Say something, or hand something over.")
    case = get_case(executor.database, scope, case_id)
    drops = _drops(executor.database, scope, arrivals)
    prose: list[Block] = [{"kind": "prose", "text": text}] if text.strip() else []
    questions = _questions(case)
    known = _known(executor.database, scope) if questions else Known({}, {})
    stated = free_text.read(text, questions, known, language=language)
    card = _card_of(executor, scope, case, stated) if stated else None
    with executor.database.worker() as connection:
        hold(connection, case_id, case.document_id)
        say(connection, case_id, author=scope.principal, is_human=True, blocks=[*prose, *drops])
        reply = _reply(connection, case, questions, card)
        say(connection, case_id, author=SERVICE_LOGIN, is_human=False, blocks=reply)
        _tell(connection, scope, case)
    return read(executor, scope, case_id)


def _questions(case: CaseRow) -> tuple[Question, ...]:
    if case.state != "open" or case.document_id is None:
        return ()
    choices = {str(c["field"]): tuple(map(str, c.get("values", ()))) for c in case.choices}
    return tuple(
        Question(Field(point["field"]), choices.get(str(point["field"]), ()))
        for point in case.open_points
        if point.get("field") in set(Field)
    )


def _known(database: Database, scope: Scope) -> Known:
    with database.reading(scope) as connection:
        entities = connection.execute(
            "SELECT slug, ARRAY[legal_name] || aliases FROM entities"
        ).fetchall()
        projects = connection.execute(
            "SELECT project_code, ARRAY[name] || aliases FROM prf_projects WHERE active"
        ).fetchall()
    return Known(
        {slug: tuple(names) for slug, names in entities},
        {code: tuple(names) for code, names in projects},
    )


def _card_of(
    executor: Executor, scope: Scope, case: CaseRow, stated: Mapping[Field, str | None]
) -> NewCard | None:
    arguments = {
        "document_id": case.document_id,
        "values": {str(field): value for field, value in stated.items()},
    }
    try:
        _, footing = look_at(executor, scope, Action.ANSWER, arguments)
    except NotAnswerable:
        return None
    basis = dict(footing.basis) if Field.PROJECT_CODE in stated else {}
    return NewCard(Action.ANSWER, arguments, SERVICE_LOGIN, basis)


def _reply(
    connection: Connection, case: CaseRow, questions: Sequence[Question], card: NewCard | None
) -> list[Block]:
    blocks: list[Block] = []
    stated: set[str] = set()
    if card is not None:
        stated = set(card.arguments["values"])
        blocks.append({"kind": "card", "card_id": propose(connection, case.id, card)})
    left = [question for question in questions if question.field not in stated]
    if left:
        blocks.append(
            {
                "kind": "question",
                "still_open": [
                    {"field": str(question.field), "choices": list(question.choices)}
                    for question in left
                ],
            }
        )
    return blocks or [{"kind": "receipt", "noted": True, "still_open": []}]


def _drops(database: Database, scope: Scope, arrivals: Sequence[int]) -> list[Block]:
    """Files in a conversation are arrivals like any other; the block keeps the link (UPL-18)."""
    if not arrivals:
        return []
    wanted = sorted(set(arrivals))
    with database.worker() as connection:
        rows = connection.execute(
            "SELECT id, file_name FROM arrivals WHERE id = ANY (%s) AND uploader = %s ORDER BY id",
            (wanted, scope.principal),
        ).fetchall()
    if len(rows) != len(wanted):
        raise NotAnswerable("A file of this message is not one that you handed over.")
    return [{"kind": "drop", "arrival_id": row[0], "file_name": row[1]} for row in rows]


def _tell(connection: Connection, scope: Scope, case: CaseRow) -> None:
    record(
        connection,
        Event(
            kind="case.message",
            author=scope.principal,
            is_human=True,
            object=f"case:{case.id}",
            reason="somebody wrote in the conversation of a case",
            mandant_id=scope.mandant_id,
            payload={"subject": case.subject},
        ),
    )


# --- proposing ---------------------------------------------------------------------------------


def propose_for_document(
    executor: Executor,
    scope: Scope,
    document_id: int,
    action: str,
    arguments: Mapping[str, Any],
) -> CardRow:
    """Propose a writing action about a document in a conversation of its own (FLOW-11).

    The same open proposal again gives the same card. An action that nothing can execute is kept as
    a card that says so (ACT-09). Raises ScopeError, CaseNotFound, and what the deed's look raises
    for things that are not there for this person.
    """
    scope.require(Role.EDITOR)
    wall = _wall_of(executor.database, scope, document_id)
    whole = {**arguments, "document_id": document_id}
    typed, footing = look_at(executor, scope, action, whole)
    basis = {} if isinstance(typed, NotExecutable) else dict(footing.basis)
    if action == Action.ANSWER:
        basis = {name: basis[name] for name in basis if "project_code" in whole.get("values", {})}
    case = NewCase(
        kind=CaseKind.APPROVAL,
        subject_kind=SubjectKind.DOCUMENT,
        subject_key=str(document_id),
        reason=_reason(action, arguments),
        author=scope.principal,
        mandant_id=wall[0],
        entity=wall[1],
        document_id=document_id,
        confidentiality_level=wall[2],
        is_test=wall[3],
        evidence={"proposed_by": scope.principal},
    )
    with executor.database.worker() as connection:
        case_id = open_case(connection, case)
        hold(connection, case_id, document_id)
        same = connection.execute(
            "SELECT id FROM cards WHERE case_id = %s AND state = 'pending' AND basis = %s::jsonb"
            " ORDER BY id DESC LIMIT 1",
            (case_id, json.dumps(basis)),
        ).fetchone()
        card_id = (
            propose(connection, case_id, NewCard(action, whole, scope.principal, basis))
            if same is None
            else int(same[0])
        )
    return get_card(executor, scope, card_id)


def _reason(action: str, arguments: Mapping[str, Any]) -> str:
    shown = json.dumps(dict(arguments), sort_keys=True, ensure_ascii=False, default=str)
    return f"{action} {shown}"[:400]


def _wall_of(database: Database, scope: Scope, document_id: int) -> tuple[Any, ...]:
    with database.reading(scope) as connection:
        row = connection.execute(
            "SELECT mandant_id, entity, confidentiality_level, is_test FROM documents"
            " WHERE id = %s",
            (document_id,),
        ).fetchone()
    if row is None:
        raise CaseNotFound(f"There is no document #{document_id}.")
    return row
