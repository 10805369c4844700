"""Executing cards: once, by a person, from what the server stored (ACT-01 to ACT-17, FLOW-11).

The browser says only which card is meant, and which of its choices. The executor looks at the
present state through the person's walls, asks the policy, and then, in one transaction, claims the
card by a conditional update, does what the card says and stores the result. Whoever comes second
gets that result. What an action does stands in deeds that are bound to its name elsewhere
(`vollzug`); an action without a deed is not executable and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from psycopg.types.json import Jsonb

from tgv_dagster.clarify import approvals
from tgv_dagster.clarify.approvals import Circumstance
from tgv_dagster.clarify.cases import hold
from tgv_dagster.clarify.talk import say
from tgv_dagster.store.actions import (
    Action,
    Arguments,
    NotExecutable,
    arguments_hash,
    parse_arguments,
)
from tgv_dagster.store.cards import Choice, NewCard, propose
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.levels import Role
from tgv_dagster.store.organisation import SERVICE_LOGIN
from tgv_dagster.store.periods import PeriodLocked, within_open_periods
from tgv_dagster.store.scope import Scope, ScopeError


class CardNotFound(LookupError):
    """There is no such card for this reader."""


class CardNotExecutable(RuntimeError):
    """Nothing can execute this card; `why` says it as a word (ACT-09)."""

    def __init__(self, card_id: int, why: str) -> None:
        super().__init__(f"Card {card_id} is not yet executable: {why}.")
        self.why = why


class ChoiceNeeded(ValueError):
    """The card offers several ways; exactly one of its choices has to be named."""


class CardStale(RuntimeError):
    """What the card stands on has changed; card `replacement` shows the present state."""

    def __init__(self, card_id: int, replacement: int | None) -> None:
        super().__init__(
            f"Card {card_id} no longer fits the present state; nothing was done."
            + ("" if replacement is None else f" Card {replacement} replaces it.")
        )
        self.replacement = replacement


class Refused(RuntimeError):
    """The action cannot be done as things stand; the card says "not executed" with this reason."""


class NotWithdrawable(RuntimeError):
    """What this card did cannot be taken back by itself; the message says why."""


class CardState(StrEnum):
    """States of a card (ACT-10); `pending` is shown as open."""

    PENDING = "pending"
    EXECUTED = "executed"
    REJECTED = "rejected"
    NOT_EXECUTED = "not_executed"


@dataclass(frozen=True, slots=True)
class CardRow:
    """One card as a person sees it. `may_execute`: the role is enough for its lightest form."""

    id: int
    case_id: int
    document_id: int | None
    action: str
    arguments: dict[str, Any]
    says: dict[str, str]
    choices: tuple[Choice, ...]
    basis: dict[str, Any]
    state: CardState
    executable: bool
    not_executable: str | None
    may_execute: bool
    result: dict[str, Any] | None
    proposed_by: str | None
    executed_by: str | None
    executed_at: datetime | None
    expires_at: datetime | None
    choice: str | None
    replaces: int | None
    withdrawn_by: str | None
    withdrawn_at: datetime | None


@dataclass(frozen=True, slots=True)
class CardOutcome:
    """The server's answer to a decision about a card; `repeated`: it had been decided before."""

    card: CardRow
    open_points: tuple[str, ...]
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Footing:
    """What an action stands on now: facts as JSON, and what makes it weigh more."""

    basis: Mapping[str, Any] = field(default_factory=dict)
    circumstances: frozenset[Circumstance] = frozenset()


@dataclass(frozen=True, slots=True)
class Order:
    """One execution: the card, its case and document, and the footing that was checked."""

    card_id: int
    case_id: int
    document_id: int | None
    arguments: Arguments
    basis: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was done, as JSON for the conversation, and what is still open (CLAR-04)."""

    done: Mapping[str, Any]
    open_points: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Deed:
    """What one action does.

    `look` reads the footing through the walls of the person and raises typed errors for what is not
    there or not theirs. `do` acts in the executor's transaction; it locks what it changes, compares
    it with the basis and raises `Moved` when it differs, `Refused` when it cannot be done. `undo`
    takes back exactly the rows of this card; `undo_weighs` says what that may amount to. `refuse`
    is what a person's no means beyond the card.
    """

    look: Callable[[Database, Scope, Any], Footing]
    do: Callable[[Connection, Scope, Order], Receipt]
    undo: Callable[[Connection, Scope, Order], Mapping[str, Any]] | None = None
    undo_weighs: Callable[[Any], frozenset[Circumstance]] = lambda _arguments: frozenset()
    refuse: Callable[[Connection, Scope, Any], None] | None = None


class Moved(RuntimeError):
    """Between looking and acting somebody changed what the action stands on."""


Deeds = Mapping[Action, Deed]


@dataclass(frozen=True, slots=True)
class Executor:
    """The database and the deeds that are built (VOLLZUG_REGISTER)."""

    database: Database
    deeds: Deeds

    def fault_of(self, card: CardRow) -> str | None:
        """Why the card cannot be executed here, None when it can."""
        if card.not_executable is not None:
            return card.not_executable
        if card.action not in self.deeds:
            return NotExecutable.NO_ENDPOINT
        return None


_COLUMNS = """k.id, k.case_id, c.document_id, k.action, k.arguments, k.says, k.choices, k.basis,
    k.state, k.not_executable, k.result, k.proposed_by, k.executed_by, k.executed_at, k.expires_at,
    k.choice, k.replaces, k.withdrawn_by, k.withdrawn_at"""


def cards_of_cases(
    executor: Executor, connection: Connection, scope: Scope, case_ids: list[int]
) -> dict[int, tuple[CardRow, ...]]:
    """The cards of several cases in one statement, on a reader's connection."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM cards k JOIN cases c ON c.id = k.case_id"
        " WHERE k.case_id = ANY (%s) ORDER BY k.id".encode(),
        (case_ids,),
    ).fetchall()
    found: dict[int, list[CardRow]] = {}
    for row in rows:
        card = _card(executor, scope, row)
        found.setdefault(card.case_id, []).append(card)
    return {case_id: tuple(cards) for case_id, cards in found.items()}


def get_card(executor: Executor, scope: Scope, card_id: int) -> CardRow:
    """One card; CardNotFound when it does not exist for this reader."""
    with executor.database.reading(scope) as connection:
        row = connection.execute(
            f"SELECT {_COLUMNS} FROM cards k JOIN cases c ON c.id = k.case_id"
            " WHERE k.id = %s".encode(),
            (card_id,),
        ).fetchone()
    if row is None:
        raise CardNotFound(f"There is no card {card_id}.")
    return _card(executor, scope, row)


def _card(executor: Executor, scope: Scope, row: tuple[Any, ...]) -> CardRow:
    action = row[3]
    fault = row[9] or (None if action in executor.deeds else str(NotExecutable.NO_ENDPOINT))
    return CardRow(
        id=row[0],
        case_id=row[1],
        document_id=row[2],
        action=action,
        arguments=row[4],
        says=row[5],
        choices=tuple(Choice(c["key"], c["label"], c["arguments"]) for c in row[6]),
        basis=row[7],
        state=CardState(row[8]),
        executable=fault is None,
        not_executable=fault,
        may_execute=fault is None and approvals.may(scope, action),
        result=row[10],
        proposed_by=row[11],
        executed_by=row[12],
        executed_at=row[13],
        expires_at=row[14],
        choice=row[15],
        replaces=row[16],
        withdrawn_by=row[17],
        withdrawn_at=row[18],
    )


# --- proposing ---------------------------------------------------------------------------------


def look_at(
    executor: Executor, scope: Scope, action: str, arguments: Mapping[str, Any]
) -> tuple[Arguments | NotExecutable, Footing]:
    """The typed arguments and present footing of a proposal, through the walls of the proposer."""
    typed = parse_arguments(action, arguments)
    if isinstance(typed, NotExecutable) or action not in executor.deeds:
        return (
            typed if isinstance(typed, NotExecutable) else NotExecutable.NO_ENDPOINT,
            Footing(),
        )
    return typed, executor.deeds[Action(action)].look(executor.database, scope, typed)


# --- executing ---------------------------------------------------------------------------------


def execute(
    executor: Executor, scope: Scope, card_id: int, *, choice: str | None = None
) -> CardOutcome:
    """Execute a card with the rights of the caller, once; a decided card gives its stored result.

    Raises CardNotFound, CardNotExecutable, ChoiceNeeded, CardStale, ScopeError, Refused, and what
    the deed's `look` raises for things that are not there for this person.
    """
    _require_person(scope)
    card = get_card(executor, scope, card_id)
    if card.state is not CardState.PENDING:
        return _stored(executor, scope, card)
    why = executor.fault_of(card)
    if why is not None:
        raise CardNotExecutable(card_id, why)
    action = Action(card.action)
    approvals.require(scope, action)
    arguments = _chosen(card, choice)
    deed = executor.deeds[action]
    footing = deed.look(executor.database, scope, arguments)
    approvals.require(scope, action, footing.circumstances)
    try:
        if _expired(card) or not _stands(card.basis, footing.basis):
            raise Moved
        done = _act(executor, scope, card, choice, arguments, deed, footing)
    except Moved:
        raise CardStale(card_id, _replace(executor, scope, card, footing)) from None
    except (Refused, PeriodLocked) as refused:
        _set_aside(executor.database, scope, card, {"reason": str(refused)[:300]})
        raise Refused(str(refused)) from refused
    except _Altered:
        _set_aside(executor.database, scope, card, {"reason": "content_changed"})
        raise CardNotExecutable(card_id, "content_changed") from None
    # Not through the walls: what was done may have put the card behind one of them.
    return replace(_stored(executor, scope, card), repeated=done is None)


class _Altered(RuntimeError):
    """The stored card is not what was proposed: somebody changed it behind the server's back."""


def _act(
    executor: Executor,
    scope: Scope,
    card: CardRow,
    choice: str | None,
    arguments: Arguments,
    deed: Deed,
    footing: Footing,
) -> Receipt | None:
    """Claim and act in one transaction; None when another caller was first."""
    with executor.database.worker() as connection:
        hold(connection, card.case_id, card.document_id)
        claimed = connection.execute(
            "UPDATE cards SET state = 'executed', executed_by = %s, executed_at = now(),"
            " choice = %s WHERE id = %s AND state = 'pending'"
            " RETURNING action, arguments, choices, basis, arguments_hash",
            (scope.principal, choice, card.id),
        ).fetchone()
        if claimed is None:
            return None
        if arguments_hash(*claimed[:4]) != claimed[4]:
            raise _Altered
        order = Order(card.id, card.case_id, card.document_id, arguments, footing.basis)
        with within_open_periods():
            receipt = deed.do(connection, scope, order)
        result = {"done": dict(receipt.done), "still_open": list(receipt.open_points)}
        connection.execute("UPDATE cards SET result = %s WHERE id = %s", (Jsonb(result), card.id))
        _close_case(connection, scope, card.case_id, result)
        _tell(connection, scope, card, CardState.EXECUTED, result)
    return receipt


def _close_case(
    connection: Connection, scope: Scope, case_id: int, result: Mapping[str, Any]
) -> None:
    """A case without open points and without open cards is decided."""
    connection.execute(
        """
        UPDATE cases c SET state = 'executed', decided_by = %s, decided_at = now(), decision = %s
        WHERE id = %s AND state = 'open' AND open_points = '[]'
          AND NOT EXISTS (SELECT 1 FROM cards k WHERE k.case_id = c.id AND k.state = 'pending')
        """,
        (scope.principal, Jsonb(dict(result)), case_id),
    )


def _chosen(card: CardRow, choice: str | None) -> Arguments:
    keys = [c.key for c in card.choices]
    if bool(keys) != (choice is not None) or (keys and choice not in keys):
        named = f" Choose one of: {', '.join(keys)}." if keys else " This card has no choices."
        raise ChoiceNeeded(f"Card {card.id} needs its choice.{named}")
    raw = next((c.arguments for c in card.choices if c.key == choice), card.arguments)
    typed = parse_arguments(card.action, raw)
    if isinstance(typed, NotExecutable):
        raise CardNotExecutable(card.id, typed)
    return typed


def _expired(card: CardRow) -> bool:
    return card.expires_at is not None and card.expires_at <= datetime.now(UTC)


def _stands(proposed: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Everything the proposal stood on is as it was."""
    return all(name in now and now[name] == value for name, value in proposed.items())


def _replace(executor: Executor, scope: Scope, card: CardRow, footing: Footing) -> int | None:
    """The stale card says "not executed"; the same proposal stands anew on the present state."""
    with executor.database.worker() as connection:
        hold(connection, card.case_id, card.document_id)
        if not _decide(
            connection, scope, card, CardState.NOT_EXECUTED, {"reason": "state_changed"}
        ):
            return None
        basis = {name: footing.basis[name] for name in card.basis if name in footing.basis}
        new = NewCard(
            card.action, card.arguments, SERVICE_LOGIN, basis, card.choices, replaces=card.id
        )
        replacement = propose(connection, card.case_id, new)
        _tell(connection, scope, card, CardState.NOT_EXECUTED, {"replaced_by": replacement})
    return replacement


def _set_aside(database: Database, scope: Scope, card: CardRow, result: Mapping[str, Any]) -> None:
    with database.worker() as connection:
        hold(connection, card.case_id, card.document_id)
        if _decide(connection, scope, card, CardState.NOT_EXECUTED, result):
            _tell(connection, scope, card, CardState.NOT_EXECUTED, result)


def _decide(
    connection: Connection, scope: Scope, card: CardRow, state: CardState, result: Mapping[str, Any]
) -> bool:
    return (
        connection.execute(
            "UPDATE cards SET state = %s, result = %s, executed_by = %s, executed_at = now()"
            " WHERE id = %s AND state = 'pending'",
            (state, Jsonb(dict(result)), scope.principal, card.id),
        ).rowcount
        == 1
    )


def _stored(executor: Executor, scope: Scope, card: CardRow) -> CardOutcome:
    """What stands stored about a card this person has seen, and what is still open (ACT-07)."""
    with executor.database.worker() as connection:
        row = connection.execute(
            f"SELECT {_COLUMNS}, c.open_points FROM cards k JOIN cases c ON c.id = k.case_id"
            " WHERE k.id = %s".encode(),
            (card.id,),
        ).fetchone()
    assert row is not None
    points = tuple(str(point.get("field", "")) for point in row[-1])
    return CardOutcome(_card(executor, scope, row), points, repeated=True)


# --- rejecting and withdrawing -----------------------------------------------------------------


def reject(executor: Executor, scope: Scope, card_id: int, *, reason: str) -> CardOutcome:
    """Refuse a proposal with one's reason; a decided card gives its stored result.

    Raises CardNotFound, ScopeError.
    """
    _require_person(scope)
    card = get_card(executor, scope, card_id)
    scope.require(Role.EDITOR)
    if card.state is not CardState.PENDING:
        return _stored(executor, scope, card)
    if card.action in set(Action):
        approvals.require(scope, Action(card.action))
    result = {"reason": reason[:300]}
    with executor.database.worker() as connection:
        hold(connection, card.case_id, card.document_id)
        first = _decide(connection, scope, card, CardState.REJECTED, result)
        if first:
            _pass_refusal_on(executor, connection, scope, card)
            connection.execute(
                """
            UPDATE cases c SET state = 'rejected', decided_by = %s, decided_at = now(),
                decision = %s
            WHERE id = %s AND state = 'open' AND open_points = '[]'
              AND NOT EXISTS (SELECT 1 FROM cards k WHERE k.case_id = c.id AND k.state = 'pending')
            """,
                (scope.principal, Jsonb(result), card.case_id),
            )
            _tell(connection, scope, card, CardState.REJECTED, result)
    return replace(_stored(executor, scope, card), repeated=not first)


def _pass_refusal_on(
    executor: Executor, connection: Connection, scope: Scope, card: CardRow
) -> None:
    typed = parse_arguments(card.action, card.arguments)
    if isinstance(typed, NotExecutable) or card.action not in executor.deeds:
        return
    refuse = executor.deeds[Action(card.action)].refuse
    if refuse is not None:
        refuse(connection, scope, typed)


def withdraw(executor: Executor, scope: Scope, card_id: int, *, reason: str) -> CardOutcome:
    """Take back what an executed card did: exactly its own rows, later edits stay (CLAR-13).

    Needs the same right as executing it. A card that is withdrawn already gives its stored result.
    Raises CardNotFound, ScopeError, NotWithdrawable.
    """
    _require_person(scope)
    card = get_card(executor, scope, card_id)
    scope.require(Role.EDITOR)
    if card.withdrawn_at is not None:
        return _stored(executor, scope, card)
    deed = executor.deeds.get(Action(card.action)) if card.action in set(Action) else None
    if card.state is not CardState.EXECUTED or deed is None:
        raise NotWithdrawable(f"Card {card_id} was not executed; there is nothing to take back.")
    if deed.undo is None:
        raise NotWithdrawable(f"What card {card_id} did cannot be taken back by itself.")
    arguments = _chosen(card, card.choice)
    approvals.require(scope, Action(card.action), deed.undo_weighs(arguments))
    footing = deed.look(executor.database, scope, arguments)
    try:
        first = _take_back(executor, scope, card, deed, arguments, footing, reason)
    except PeriodLocked as locked:
        raise NotWithdrawable(str(locked)) from locked
    return replace(_stored(executor, scope, card), repeated=not first)


def _take_back(
    executor: Executor,
    scope: Scope,
    card: CardRow,
    deed: Deed,
    arguments: Arguments,
    footing: Footing,
    reason: str,
) -> bool:
    """Undo in one transaction; False when somebody withdrew the card before."""
    assert deed.undo is not None
    with executor.database.worker() as connection:
        hold(connection, card.case_id, card.document_id)
        taken = connection.execute(
            "UPDATE cards SET state = 'not_executed', withdrawn_by = %s, withdrawn_at = now()"
            " WHERE id = %s AND state = 'executed' AND withdrawn_at IS NULL RETURNING 1",
            (scope.principal, card.id),
        ).fetchone()
        if taken is None:
            return False
        order = Order(card.id, card.case_id, card.document_id, arguments, footing.basis)
        with within_open_periods():
            done = dict(deed.undo(connection, scope, order))
        undone = {"withdrawn": done, "reason": reason[:300]}
        connection.execute(
            "UPDATE cards SET result = result || %s WHERE id = %s", (Jsonb(undone), card.id)
        )
        _tell(connection, scope, card, CardState.NOT_EXECUTED, undone, kind="card.withdrawn")
    return True


# --- the account -------------------------------------------------------------------------------

_EVENTS = {
    CardState.EXECUTED: "kai.vollzug",
    CardState.REJECTED: "card.rejected",
    CardState.NOT_EXECUTED: "card.not_executed",
}


def _tell(
    connection: Connection,
    scope: Scope,
    card: CardRow,
    state: CardState,
    result: Mapping[str, Any],
    *,
    kind: str | None = None,
) -> None:
    """The conversation shows the server's answer; the account carries the human's name (ACT-05)."""
    block = {"kind": "receipt", "card_id": card.id, "state": str(state), "result": dict(result)}
    say(connection, card.case_id, author=SERVICE_LOGIN, is_human=False, blocks=[block])
    wall = connection.execute(
        "SELECT mandant_id, entity FROM cases WHERE id = %s", (card.case_id,)
    ).fetchone()
    mandant_id, entity = wall or (scope.mandant_id, None)
    record(
        connection,
        Event(
            kind=kind or _EVENTS[state],
            author=scope.principal,
            is_human=True,
            object=f"card:{card.id}",
            reason=f"{card.action} {state}"[:300],
            entity=entity,
            mandant_id=mandant_id,
            payload={"case": card.case_id, "action": card.action, "result": dict(result)},
        ),
    )


def _require_person(scope: Scope) -> None:
    """The service principal proposes; only a person executes (ACT-05)."""
    if scope.principal == SERVICE_LOGIN:
        raise ScopeError("A card is executed by a person, under that person's name.")
