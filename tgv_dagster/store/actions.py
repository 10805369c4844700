"""The closed set of actions a card can carry, each with the form of its arguments.

Here belongs what a card may ask for, as data that every room reads: names, arguments, and the words
a person is shown. Who may approve stands in `clarify.approvals`; what an action does is bound to
its name by the executor (`vollzug`), and an action nothing is bound to is not executable (ACT-08).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tgv_dagster.store.levels import Level


class Action(StrEnum):
    """What a card does when a person executes it."""

    ANSWER = "answer"
    RELEASE = "release"
    CHANGE_LEVEL = "change_level"
    ASSIGN = "assign"
    FILE_UNDER = "file_under"
    TRASH = "trash"
    RESTORE = "restore"
    APPROVE_RULE = "approve_rule"
    SWITCH_RULE_OFF = "switch_rule_off"
    CONFIRM_ACCOUNT = "confirm_account"
    CONFIRM_TABLE = "confirm_table"
    READ_TABLE = "read_table"
    BOOK_TRANSACTION = "book_transaction"
    SEND_MAIL = "send_mail"
    CORRECT_PERSON = "persona-apply-correction"


class Arguments(BaseModel):
    """Arguments of an action: nothing beside the named fields, nothing converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class AnswerArguments(Arguments):
    """Values for fields of a document; None says "looked, there is none"."""

    document_id: int = Field(ge=1)
    values: dict[str, str | None] = Field(default_factory=dict)


class ReleaseArguments(Arguments):
    """The subject of a parking case, to be tried again at this stage."""

    stage: str
    subject_id: int = Field(ge=1)


class LevelArguments(Arguments):
    """A document and its new level."""

    document_id: int = Field(ge=1)
    level: str = Field(pattern="^(" + "|".join(Level) + ")$")


class AssignArguments(Arguments):
    """A document and the entity or project it goes to; None leaves an axis as it is."""

    document_id: int = Field(ge=1)
    entity: str | None = None
    project_code: str | None = None


class FolderArguments(Arguments):
    """A document and the folder of its entity it is filed under."""

    document_id: int = Field(ge=1)
    folder: str = Field(min_length=1, max_length=100)


class DocumentArguments(Arguments):
    """A document."""

    document_id: int = Field(ge=1)


class RuleArguments(Arguments):
    """A learned rule."""

    rule_id: int = Field(ge=1)


class AccountArguments(Arguments):
    """An account of the account master, and the entity it belongs to."""

    account_id: int = Field(ge=1)
    entity: str = Field(min_length=1, max_length=63)


class TableArguments(Arguments):
    """A table of a document and what it is: target, column per field, reading per column, project
    per value of the file (None: the value means no project)."""

    document_id: int = Field(ge=1)
    sheet: str = ""
    target: str
    fields: dict[str, str] = Field(default_factory=dict)
    readings: dict[str, str] = Field(default_factory=dict)
    projects: dict[str, str | None] = Field(default_factory=dict)


class ReadTableArguments(Arguments):
    """How a table of a document is written; None leaves a point as the reader finds it.

    `header` is the line that carries the labels, 0 when there is none; `hidden` says which rows of
    a sheet count.
    """

    document_id: int = Field(ge=1)
    sheet: str = ""
    delimiter: str | None = Field(default=None, min_length=1, max_length=1)
    quote: str = Field(default="", max_length=1)
    escape: str = Field(default="", max_length=1)
    encoding: str | None = Field(default=None, max_length=40)
    header: int | None = Field(default=None, ge=0)
    hidden: Literal["all", "visible"] | None = None


@dataclass(frozen=True, slots=True)
class ActionForm:
    """An action's arguments and its name in the three languages."""

    arguments: type[Arguments] | None
    de: str
    fr: str
    en: str


FORMS: Mapping[Action, ActionForm] = {
    Action.ANSWER: ActionForm(
        AnswerArguments, "Werte übernehmen", "Reprendre les valeurs", "Take these values over"
    ),
    Action.RELEASE: ActionForm(
        ReleaseArguments, "Noch einmal versuchen", "Réessayer", "Try once more"
    ),
    Action.CHANGE_LEVEL: ActionForm(
        LevelArguments, "Stufe ändern", "Changer le niveau", "Change the level"
    ),
    Action.ASSIGN: ActionForm(AssignArguments, "Umziehen", "Déplacer", "Move"),
    Action.FILE_UNDER: ActionForm(
        FolderArguments, "Anders ablegen", "Classer ailleurs", "File elsewhere"
    ),
    Action.TRASH: ActionForm(
        DocumentArguments, "In den Papierkorb", "Mettre à la corbeille", "Put into the trash"
    ),
    Action.RESTORE: ActionForm(
        DocumentArguments, "Zurückholen", "Restaurer", "Take out of the trash"
    ),
    Action.APPROVE_RULE: ActionForm(
        RuleArguments, "Regel freigeben", "Approuver la règle", "Approve the rule"
    ),
    Action.SWITCH_RULE_OFF: ActionForm(
        RuleArguments, "Regel abschalten", "Désactiver la règle", "Switch the rule off"
    ),
    Action.CONFIRM_ACCOUNT: ActionForm(
        AccountArguments, "Konto bestätigen", "Confirmer le compte", "Confirm the account"
    ),
    Action.CONFIRM_TABLE: ActionForm(
        TableArguments, "Tabelle übernehmen", "Reprendre le tableau", "Take the table over"
    ),
    Action.READ_TABLE: ActionForm(
        ReadTableArguments, "So lesen", "Lire ainsi", "Read it like this"
    ),
    Action.BOOK_TRANSACTION: ActionForm(None, "Buchen", "Comptabiliser", "Book"),
    Action.SEND_MAIL: ActionForm(None, "Senden", "Envoyer", "Send"),
    Action.CORRECT_PERSON: ActionForm(
        None, "Person berichtigen", "Corriger la personne", "Correct the person"
    ),
}


class NotExecutable(StrEnum):
    """Why a card cannot be executed; it says so openly (ACT-09)."""

    NO_ENDPOINT = "no_endpoint"
    ARGUMENTS_DO_NOT_FIT = "arguments_do_not_fit"


def parse_arguments(action: str, arguments: Mapping[str, Any]) -> Arguments | NotExecutable:
    """The typed arguments of an action, or why nothing can execute them."""
    if action not in set(Action):
        return NotExecutable.NO_ENDPOINT
    form = FORMS[Action(action)].arguments
    if form is None:
        return NotExecutable.NO_ENDPOINT
    try:
        return form.model_validate(arguments)
    except ValidationError:
        return NotExecutable.ARGUMENTS_DO_NOT_FIT


def arguments_hash(
    action: str, arguments: Mapping[str, Any], choices: object, basis: Mapping[str, Any]
) -> str:
    """SHA-256 over everything that is executed or decides whether it may be."""
    canonical = json.dumps(
        [action, dict(arguments), choices, dict(basis)],
        sort_keys=True,
        ensure_ascii=False,
        separators=(",", ":"),
    )
    return hashlib.sha256(canonical.encode()).hexdigest()
