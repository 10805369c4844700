"""Cards: proposals fixed by the server, stored with everything their execution needs (ACT-03).

Here belongs writing a proposal into its conversation. What becomes of it (executed, rejected, not
executed, withdrawn) belongs to `clarify.execution`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from psycopg.types.json import Jsonb

from tgv_dagster.store.actions import (
    FORMS,
    Action,
    NotExecutable,
    arguments_hash,
    parse_arguments,
)
from tgv_dagster.store.db import Connection

EXPIRES_AFTER = timedelta(days=90)
"""A proposal that nobody touched for so long is proposed anew from the present state."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several ways to execute a card: its arguments replace those of the card."""

    key: str
    label: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NewCard:
    """A proposal. `basis` is what it stands on, compared again before it is executed.

    With `choices` exactly one of them must be named; the card's own arguments are then only what
    all choices share.
    """

    action: str
    arguments: Mapping[str, Any]
    proposed_by: str
    basis: Mapping[str, Any] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()
    replaces: int | None = None


def fault_of(card: NewCard) -> NotExecutable | None:
    """Why this proposal could not be executed; every choice has to fit."""
    offered = [choice.arguments for choice in card.choices] or [card.arguments]
    for arguments in offered:
        parsed = parse_arguments(card.action, arguments)
        if isinstance(parsed, NotExecutable):
            return parsed
    return None


def propose(connection: Connection, case_id: int, card: NewCard) -> int:
    """Store the card in the case, in the caller's transaction; returns its number."""
    fault = fault_of(card)
    choices = [
        {"key": c.key, "label": c.label, "arguments": dict(c.arguments)} for c in card.choices
    ]
    row = connection.execute(
        """
        INSERT INTO cards (case_id, action, arguments, executable, says, choices, basis,
            arguments_hash, not_executable, proposed_by, expires_at, replaces)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, now() + %s, %s) RETURNING id
        """,
        (
            case_id,
            card.action,
            Jsonb(dict(card.arguments)),
            fault is None,
            Jsonb(_words(card.action)),
            Jsonb(choices),
            Jsonb(dict(card.basis)),
            arguments_hash(card.action, card.arguments, choices, card.basis),
            fault,
            card.proposed_by,
            EXPIRES_AFTER,
            card.replaces,
        ),
    ).fetchone()
    assert row is not None
    return int(row[0])


def _words(action: str) -> dict[str, str]:
    if action not in set(Action):
        return {"de": action, "fr": action, "en": action}
    form = FORMS[Action(action)]
    return {"de": form.de, "fr": form.fr, "en": form.en}
