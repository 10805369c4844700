"""Routes of the clarify room: cases as conversations, cards, and what people decide about them.

A program says which card is meant, never what it does: the server keeps that (ACT-03, ACT-04).
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from tgv_dagster import vollzug
from tgv_dagster.clarify import approvals, conversation, decisions
from tgv_dagster.clarify.cases import CaseRow
from tgv_dagster.clarify.conversation import Conversation
from tgv_dagster.clarify.execution import CardOutcome, CardRow, CardState
from tgv_dagster.store.actions import Action
from tgv_dagster.store.levels import Role
from tgv_dagster.understand.evidence import Field as DocumentField
from tgv_dagster.web.errors import documented
from tgv_dagster.web.principals import Editor, Service, Viewer
from tgv_dagster.web.schemas import JsonObject, Number, ShortText, Text

router = APIRouter(tags=["clarify"])

MAX_CASES = 500
MAX_INBOX = 100


class CaseState(StrEnum):
    """States of a case."""

    OPEN = "open"
    EXECUTED = "executed"
    REJECTED = "rejected"
    NOT_EXECUTED = "not_executed"
    RELEASED = "released"
    DISMISSED = "dismissed"


class CaseOut(BaseModel):
    """One case: what is open about its subject, and between what a person may choose."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "id": 4,
                "kind": "unknown",
                "reason": "entity unknown",
                "subject": "document:17",
                "state": "open",
                "created_at": "2026-03-02T09:00:00Z",
                "document_id": 17,
                "arrival_id": None,
                "open_points": [
                    {"field": "entity", "kind": "unknown", "reason": "two names in the address"}
                ],
                "choices": [{"field": "entity", "values": ["nord-gmbh", "nord-sarl"]}],
                "decided_by": None,
                "evidence": {},
            }
        }
    )

    id: int
    kind: str
    reason: str
    subject: str
    state: CaseState
    created_at: datetime
    document_id: int | None
    arrival_id: int | None
    open_points: list[JsonObject]
    choices: list[JsonObject]
    decided_by: str | None
    evidence: JsonObject


class CasesOut(BaseModel):
    """Cases, oldest first. `truncated`: there are more than were asked for."""

    cases: list[CaseOut]
    truncated: bool


class ChoiceOut(BaseModel):
    """One way to execute a card; send its `key`."""

    key: str
    label: str
    arguments: JsonObject


class CardOut(BaseModel):
    """A proposal, fixed by the server: what it does, for whom, and what became of it.

    `executable` false: nothing can execute it yet, `not_executable` says why. `may_execute`: your
    role is enough for its lightest form; the server asks again when you execute it. `withdrawn_at`:
    what it did was taken back.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "id": 9,
                "case_id": 4,
                "document_id": 17,
                "action": "answer",
                "says": {
                    "de": "Werte übernehmen",
                    "fr": "Reprendre les valeurs",
                    "en": "Take these values over",
                },
                "arguments": {"document_id": 17, "values": {}},
                "choices": [
                    {
                        "key": "entity=nord-gmbh",
                        "label": "nord-gmbh",
                        "arguments": {"document_id": 17, "values": {"entity": "nord-gmbh"}},
                    }
                ],
                "state": "pending",
                "executable": True,
                "not_executable": None,
                "may_execute": True,
                "result": None,
                "proposed_by": "tgv",
                "executed_by": None,
                "executed_at": None,
                "expires_at": "2026-06-01T09:00:00Z",
                "choice": None,
                "replaces": None,
                "withdrawn_by": None,
                "withdrawn_at": None,
            }
        }
    )

    id: int
    case_id: int
    document_id: int | None
    action: str
    says: dict[str, str]
    arguments: JsonObject
    choices: list[ChoiceOut]
    state: CardState
    executable: bool
    not_executable: str | None
    may_execute: bool
    result: JsonObject | None
    proposed_by: str | None
    executed_by: str | None
    executed_at: datetime | None
    expires_at: datetime | None
    choice: str | None
    replaces: int | None
    withdrawn_by: str | None
    withdrawn_at: datetime | None


class InboxCaseOut(BaseModel):
    """A case of the inbox with its cards."""

    case: CaseOut
    cards: list[CardOut]


class InboxOut(BaseModel):
    """A page of the inbox, oldest first; `next_after` is `after` of the next page."""

    cases: list[InboxCaseOut]
    truncated: bool
    next_after: int | None


class MessageOut(BaseModel):
    """One message. Blocks have a `kind`: prose, answer, receipt, card, question, drop."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "id": 21,
                "author": "tgv",
                "is_human": False,
                "blocks": [
                    {"kind": "card", "card_id": 9},
                    {
                        "kind": "question",
                        "still_open": [{"field": "due_date", "choices": []}],
                    },
                ],
                "steps": [],
                "created_at": "2026-03-02T09:01:00Z",
            }
        }
    )

    id: int
    author: str
    is_human: bool
    blocks: list[JsonObject]
    steps: list[JsonObject]
    created_at: datetime


class ConversationOut(BaseModel):
    """A case with everything said and proposed in it, oldest first."""

    case: CaseOut
    messages: list[MessageOut]
    cards: list[CardOut]


class MessageIn(BaseModel):
    """Words for a case, and the numbers of files you handed over before (POST /api/upload).

    `language` (de, fr, en) orders day and month and reads amounts.
    """

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"example": {"text": "Fällig am 14.04.2026", "language": "de"}},
    )

    text: Text = ""
    arrivals: Annotated[list[Annotated[int, Field(ge=1)]], Field(max_length=50)] = []
    language: Annotated[str | None, Field(pattern="^[a-z]{2}$")] = None


class ExecuteIn(BaseModel):
    """Which of the card's choices is meant, when it has some; nothing else is taken from you."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"choice": "entity=nord-gmbh"}}
    )

    choice: ShortText | None = None


class ReasonIn(BaseModel):
    """Why."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"reason": "The amount is wrong."}}
    )

    reason: Annotated[ShortText, Field(min_length=1)]


class ProposalIn(BaseModel):
    """An action about a document; the arguments have the form of `GET /api/approvals`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "example": {"action": "change_level", "arguments": {"level": "vertraulich"}}
        },
    )

    action: Annotated[ShortText, Field(min_length=1)]
    arguments: dict[ShortText, JsonValue] = Field(default_factory=dict, max_length=20)


class CardOutcomeOut(BaseModel):
    """The server's answer: the card as it stands now and what its case still asks.

    `repeated`: it had been decided before; this is the stored result (ACT-07).
    """

    card: CardOut
    still_open: list[str]
    repeated: bool


class ApprovalOut(BaseModel):
    """Who may execute an action, whether you may, and the form of its arguments."""

    action: Action
    least_role: Role
    circumstances: dict[str, Role]
    why: dict[str, str]
    you_may: bool
    executable: bool
    arguments: JsonObject | None


class ApprovalsOut(BaseModel):
    """The policy of approvals; the walls come on top."""

    approvals: list[ApprovalOut]


class AnswerIn(BaseModel):
    """Values for the open points; null says "looked, there is none"."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"values": {"entity": "nord-gmbh"}}}
    )

    values: Annotated[dict[DocumentField, Text | None], Field(min_length=1)]


class AnsweredOut(BaseModel):
    """The points that are still open; the case is closed when there are none."""

    still_open: list[str]


class ReleasedOut(BaseModel):
    """The stage that takes the item up again."""

    stage: str


class DismissIn(BaseModel):
    """Why nothing has to be done."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"reason": "Advertising, not needed."}}
    )

    reason: Text


class DismissedOut(BaseModel):
    """The case is closed; its item stays as it is."""

    state: CaseState = CaseState.DISMISSED


@router.get(
    "/api/cases",
    summary="List cases",
    response_model=CasesOut,
    responses=documented(401, 422, 503),
)
def cases(
    service: Service,
    scope: Viewer,
    state: CaseState = CaseState.OPEN,
    parked: Annotated[bool, Query(description="Only parked and held items.")] = False,
    limit: Annotated[int, Query(ge=1, le=MAX_CASES)] = 100,
) -> CasesOut:
    """The cases you may see, oldest first."""
    found = decisions.list_cases(
        service.database, scope, parked_only=parked, state=state, limit=limit + 1
    )
    return CasesOut(cases=[_case(row) for row in found[:limit]], truncated=len(found) > limit)


@router.get(
    "/api/inbox",
    summary="A page of the inbox",
    response_model=InboxOut,
    responses=documented(401, 422, 503),
)
def inbox(
    service: Service,
    scope: Viewer,
    state: CaseState = CaseState.OPEN,
    limit: Annotated[int, Query(ge=1, le=MAX_INBOX)] = 50,
    after: Annotated[int, Query(ge=0, le=2**62, description="Number of the last case seen")] = 0,
) -> InboxOut:
    """Cases with their cards; the number of statements does not grow with the cases."""
    found = conversation.inbox(
        vollzug.executor_of(service), scope, state=state, limit=limit, after_id=after
    )
    return InboxOut(
        cases=[
            InboxCaseOut(case=_case(row), cards=[_card(card) for card in cards])
            for row, cards in found.cases
        ],
        truncated=found.truncated,
        next_after=found.cases[-1][0].id if found.truncated else None,
    )


@router.get(
    "/api/cases/{case_id}",
    summary="Read a case",
    response_model=CaseOut,
    responses=documented(401, 404, 422, 503),
)
def case(case_id: Number, service: Service, scope: Viewer) -> CaseOut:
    """One case with its open points and choices."""
    return _case(decisions.get_case(service.database, scope, case_id))


@router.get(
    "/api/cases/{case_id}/conversation",
    summary="Read a case as a conversation",
    response_model=ConversationOut,
    responses=documented(401, 404, 422, 503),
)
def read_conversation(case_id: Number, service: Service, scope: Viewer) -> ConversationOut:
    """Messages, cards with their state, and what is still open."""
    return _conversation(conversation.read(vollzug.executor_of(service), scope, case_id))


@router.post(
    "/api/cases/{case_id}/messages",
    summary="Say something in a case",
    response_model=ConversationOut,
    responses=documented(400, 401, 403, 404, 409, 422, 503),
)
def message(case_id: Number, body: MessageIn, service: Service, scope: Editor) -> ConversationOut:
    """Your words are kept; what they state for open questions comes back as a card to confirm."""
    said = conversation.post(
        vollzug.executor_of(service),
        scope,
        case_id,
        body.text,
        arrivals=body.arrivals,
        language=body.language,
    )
    return _conversation(said)


@router.post(
    "/api/cases/{case_id}/answer",
    summary="Answer open points",
    response_model=AnsweredOut,
    responses=documented(400, 401, 403, 404, 409, 422, 503),
)
def answer(case_id: Number, body: AnswerIn, service: Service, scope: Editor) -> AnsweredOut:
    """Decide values; yours outrank the machine's, and the document is worked on again."""
    left = decisions.answer(service.database, scope, case_id, body.values)
    return AnsweredOut(still_open=list(left))


@router.post(
    "/api/cases/{case_id}/release",
    summary="Give a parked item another try",
    response_model=ReleasedOut,
    responses=documented(401, 403, 404, 409, 422, 503),
)
def release(case_id: Number, service: Service, scope: Editor) -> ReleasedOut:
    """Put what the case holds back into the flow."""
    return ReleasedOut(stage=decisions.release(service.database, scope, case_id))


@router.post(
    "/api/cases/{case_id}/dismiss",
    summary="Close without effect",
    response_model=DismissedOut,
    responses=documented(400, 401, 403, 404, 409, 422, 503),
)
def dismiss(case_id: Number, body: DismissIn, service: Service, scope: Editor) -> DismissedOut:
    """Close the case with your reason; the item stays as it is."""
    decisions.dismiss(service.database, scope, case_id, reason=body.reason)
    return DismissedOut()


@router.get(
    "/api/cards/{card_id}",
    summary="Read a card",
    response_model=CardOut,
    responses=documented(401, 404, 422, 503),
)
def card(card_id: Number, service: Service, scope: Viewer) -> CardOut:
    """One card with its state, also after the fact (ACT-11)."""
    return _card(vollzug.get_card(service, scope, card_id))


@router.post(
    "/api/cards/{card_id}/execute",
    summary="Execute a card",
    response_model=CardOutcomeOut,
    responses=documented(400, 401, 403, 404, 409, 422, 503),
)
def execute(
    card_id: Number, service: Service, scope: Editor, body: ExecuteIn | None = None
) -> CardOutcomeOut:
    """Do what the card says, once, with your rights and under your name."""
    choice = None if body is None else body.choice
    return outcome_out(vollzug.execute(service, scope, card_id, choice=choice))


@router.post(
    "/api/cards/{card_id}/reject",
    summary="Refuse a card",
    response_model=CardOutcomeOut,
    responses=documented(400, 401, 403, 404, 409, 422, 503),
)
def reject(card_id: Number, body: ReasonIn, service: Service, scope: Editor) -> CardOutcomeOut:
    """Say no, with your reason; nothing is changed."""
    return outcome_out(vollzug.reject(service, scope, card_id, reason=body.reason))


@router.post(
    "/api/cards/{card_id}/withdraw",
    summary="Take back what a card did",
    response_model=CardOutcomeOut,
    responses=documented(400, 401, 403, 404, 409, 422, 503),
)
def withdraw(card_id: Number, body: ReasonIn, service: Service, scope: Editor) -> CardOutcomeOut:
    """Exactly the rows this card wrote; what somebody set later stays."""
    return outcome_out(vollzug.withdraw(service, scope, card_id, reason=body.reason))


@router.post(
    "/api/documents/{document_id}/cards",
    summary="Propose an action about a document",
    response_model=CardOut,
    status_code=201,
    responses=documented(400, 401, 403, 404, 409, 422, 503),
)
def propose(document_id: Number, body: ProposalIn, service: Service, scope: Editor) -> CardOut:
    """A card in a conversation of its own; nothing happens before somebody executes it."""
    made = vollzug.propose_for_document(service, scope, document_id, body.action, body.arguments)
    return _card(made)


@router.get(
    "/api/approvals",
    summary="Who may approve what",
    response_model=ApprovalsOut,
    responses=documented(401, 503),
)
def policy(scope: Viewer) -> ApprovalsOut:
    """The policy as data, with what holds for you."""
    return ApprovalsOut(
        approvals=[
            ApprovalOut(
                action=entry.action,
                least_role=entry.least_role,
                circumstances={str(c): role for c, role in entry.circumstances.items()},
                why={"de": entry.de, "fr": entry.fr, "en": entry.en},
                you_may=approvals.may(scope, entry.action),
                executable=entry.action in vollzug.VOLLZUG_REGISTER,
                arguments=vollzug.form_of(entry.action),
            )
            for entry in approvals.load().values()
        ]
    )


def _case(row: CaseRow) -> CaseOut:
    return CaseOut.model_validate(row, from_attributes=True)


def _card(row: CardRow) -> CardOut:
    return CardOut.model_validate(row, from_attributes=True)


def _conversation(found: Conversation) -> ConversationOut:
    return ConversationOut.model_validate(found, from_attributes=True)


def outcome_out(outcome: CardOutcome) -> CardOutcomeOut:
    """The server's answer to a decision about a card."""
    return CardOutcomeOut(
        card=_card(outcome.card),
        still_open=list(outcome.open_points),
        repeated=outcome.repeated,
    )
