"""Commands for conversations and cards: read, say, propose, execute, refuse, take back.

The same functions as the HTTP routes, with the rights of the person named by --as (ACT-01).
"""

from __future__ import annotations

import json
from typing import Any

import typer
from rich.markup import escape

from tgv_dagster import vollzug
from tgv_dagster.clarify import conversation
from tgv_dagster.clarify.cases import NotAnswerable
from tgv_dagster.clarify.conversation import Conversation
from tgv_dagster.clarify.execution import CardOutcome, CardRow
from tgv_dagster.console.common import (
    AS_OPTION,
    MANDANT_OPTION,
    opened,
    out,
    person_scope,
    scope_of,
)
from tgv_dagster.console.people import cases_app

REASON_OPTION = typer.Option(..., "--reason", help="Why.")


@cases_app.command("talk")
def talk(case_id: int, login: str = AS_OPTION, mandant: str | None = MANDANT_OPTION) -> None:
    """Show a case as a conversation, with its cards."""
    with opened() as installation:
        scope = scope_of(installation.database, login, mandant)
        _show(conversation.read(vollzug.executor_of(installation), scope, case_id))


@cases_app.command("say")
def say(
    case_id: int,
    text: str,
    language: str = typer.Option("de", "--language", help="How dates and amounts are read."),
    login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Answer in words; what they state comes back as a card to execute."""
    with opened() as installation:
        scope = person_scope(installation.database, login, mandant)
        executor = vollzug.executor_of(installation)
        _show(conversation.post(executor, scope, case_id, text, language=language))


@cases_app.command("propose")
def propose(
    document_id: int,
    action: str,
    arguments: list[str] = typer.Argument(None, help="name=value; the value as JSON or text"),
    login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Propose an action about a document; nothing happens before somebody executes the card."""
    with opened() as installation:
        scope = person_scope(installation.database, login, mandant)
        card = vollzug.propose_for_document(
            installation, scope, document_id, action, _parsed(arguments or [])
        )
        _show_card(card)


def _parsed(arguments: list[str]) -> dict[str, Any]:
    parsed: dict[str, Any] = {}
    for text in arguments:
        name, separator, value = text.partition("=")
        if not separator:
            raise NotAnswerable(f"{text!r} is not name=value.")
        try:
            parsed[name] = json.loads(value)
        except ValueError:
            parsed[name] = value
    return parsed


@cases_app.command("execute")
def execute(
    card_id: int,
    choice: str | None = typer.Option(None, "--choice", help="Key of one of the card's choices."),
    login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Do what a card says, once, under your name."""
    with opened() as installation:
        scope = person_scope(installation.database, login, mandant)
        _show_outcome(vollzug.execute(installation, scope, card_id, choice=choice))


@cases_app.command("reject")
def reject(
    card_id: int,
    reason: str = REASON_OPTION,
    login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Refuse a card; nothing is changed."""
    with opened() as installation:
        scope = person_scope(installation.database, login, mandant)
        _show_outcome(vollzug.reject(installation, scope, card_id, reason=reason))


@cases_app.command("withdraw")
def withdraw(
    card_id: int,
    reason: str = REASON_OPTION,
    login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Take back exactly what an executed card wrote; later edits stay."""
    with opened() as installation:
        scope = person_scope(installation.database, login, mandant)
        _show_outcome(vollzug.withdraw(installation, scope, card_id, reason=reason))


def _show(found: Conversation) -> None:
    case = found.case
    out.print(f"case {case.id} · {case.kind} · {case.subject} · {case.state}")
    for message in found.messages:
        who = escape(message.author)
        for block in message.blocks:
            shown = block.get("text") or json.dumps(block, ensure_ascii=False)
            out.print(f"  {message.created_at:%Y-%m-%d %H:%M} {who}: {escape(str(shown))}")
    for card in found.cards:
        _show_card(card)
    if case.open_points:
        out.print("still open: " + ", ".join(str(p.get("field")) for p in case.open_points))


def _show_card(card: CardRow) -> None:
    state = card.state if card.executable else f"not yet executable ({card.not_executable})"
    out.print(f"  card {card.id} · {card.says.get('en', card.action)} · {state}")
    for choice in card.choices:
        out.print(f"      --choice {escape(choice.key)}")
    if not card.choices:
        out.print(f"      {escape(json.dumps(card.arguments, ensure_ascii=False))}")


def _show_outcome(outcome: CardOutcome) -> None:
    _show_card(outcome.card)
    if outcome.repeated:
        out.print(f"  decided before by {outcome.card.executed_by}; this is the stored result")
    if outcome.card.result is not None:
        out.print(f"  {escape(json.dumps(outcome.card.result, ensure_ascii=False))}")
    if outcome.open_points:
        out.print("  still open: " + ", ".join(outcome.open_points))
