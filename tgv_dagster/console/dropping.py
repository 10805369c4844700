"""Commands of the drop: hand files over, and which questions about rights a drop asks.

Belongs here: options and what is printed. What a drop is belongs to `arrive.upload`.
"""

from __future__ import annotations

from contextlib import ExitStack
from datetime import datetime
from enum import StrEnum
from pathlib import Path

import typer
from rich.markup import escape

from tgv_dagster.arrive import rights, upload
from tgv_dagster.arrive.rights import QUESTIONS, Right, UnusableAnswer
from tgv_dagster.arrive.upload import Drop, DroppedFile, UploadGate, UploadStatus
from tgv_dagster.console.common import (
    AS_OPTION,
    MANDANT_OPTION,
    opened,
    out,
    person_scope,
    scope_of,
    table_of,
)
from tgv_dagster.store.levels import Level, Role
from tgv_dagster.web.texts import ZONE


class _Switch(StrEnum):
    ON = "on"
    OFF = "off"


def drop_command(
    files: list[Path] = typer.Argument(..., exists=True, dir_okay=False),
    intent: str | None = typer.Option(None, help="What should happen with the files."),
    entity: str | None = typer.Option(None, help="Entity, by slug; a hint, the content decides."),
    project: str | None = typer.Option(None, help="Code of a project."),
    level: Level | None = typer.Option(None, help="At least as confidential as this."),
    visible_from: datetime | None = typer.Option(
        None,
        formats=["%Y-%m-%d"],
        help="Before this day only you and who manages the tenant see it.",
    ),
    person: list[str] = typer.Option(
        [], help="Login of one of the only persons who see it; may be given several times."
    ),
    verbatim_ok: bool | None = typer.Option(None, help="May its words be quoted?"),
    copyright_holder: str | None = typer.Option(None, help="Who holds the rights in it."),
    model_release: bool | None = typer.Option(None, help="Did the persons in it agree?"),
    post_mortem: bool | None = typer.Option(
        None, help="Did the relatives of a dead person in it agree?"
    ),
    key: str | None = typer.Option(None, help="The same key with the same file is one act."),
    login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Hand files over, with what should happen, who may see them and what you know of rights."""
    answers = {
        Right.VERBATIM_OK: _yes_or_no(verbatim_ok),
        Right.COPYRIGHT_HOLDER: copyright_holder,
        Right.MODEL_RELEASE: _yes_or_no(model_release),
        Right.POST_MORTEM: _yes_or_no(post_mortem),
    }
    with opened() as installation, ExitStack() as stack:
        scope = person_scope(installation.database, login, mandant)
        drop = Drop(
            intent_text=intent,
            entity=entity,
            project_code=project,
            gate=UploadGate.DROP,
            request_key=key,
            level_floor=level,
            visible_from=None if visible_from is None else visible_from.replace(tzinfo=ZONE),
            circle=tuple(person),
            rights={right: answer for right, answer in answers.items() if answer},
        )
        dropped = [DroppedFile(p.name, stack.enter_context(p.open("rb"))) for p in files]
        queue = upload.take(installation.database, installation.blobs, scope, drop, dropped)
    for result in queue:
        out.print(f"{escape(result.name)}: {result.status} {escape(result.reason)}".rstrip())
    if any(result.status is UploadStatus.REFUSED for result in queue):
        raise typer.Exit(1)


def _yes_or_no(answer: bool | None) -> str | None:
    return None if answer is None else str(answer).lower()


def questions_command(
    right: Right | None = typer.Argument(None, help="A question that is not always asked."),
    turned: _Switch | None = typer.Argument(None, help="Ask it, or no more."),
    login: str = AS_OPTION,
) -> None:
    """List the questions about rights that a drop asks, or switch one (owner only)."""
    with opened() as installation:
        if right is not None and turned is not None:
            scope_of(installation.database, login, None).require(Role.SUPER_ADMIN)
            with installation.database.worker() as connection:
                try:
                    rights.switch(connection, right, on=turned is _Switch.ON, by=login)
                except UnusableAnswer as error:
                    raise typer.BadParameter(str(error)) from error
        with installation.database.worker() as connection:
            on = rights.asked(connection)
    table = table_of("question", "asked of", "state", title="questions of a drop")
    for question in QUESTIONS:
        state = "always" if question.always else "on" if question in on else "off"
        table.add_row(question.right, ", ".join(question.kinds), state)
    out.print(table)
