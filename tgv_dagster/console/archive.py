"""`tgv import`: an old archive, shown first and taken on confirmation.

Belongs here: options and what is printed. What an archive is stands in `archives`.
"""

from __future__ import annotations

from pathlib import Path

import typer
from rich.markup import escape
from rich.progress import Progress

from tgv_dagster import archives
from tgv_dagster.console.common import (
    AS_OPTION,
    MANDANT_OPTION,
    err,
    opened,
    out,
    person_scope,
    table_of,
)
from tgv_dagster.store.scope import ScopeError

_SHOWN = 5


def import_command(
    folder: Path = typer.Argument(exists=True, file_okay=False, help="The folder of the archive."),
    listing: Path | None = typer.Option(
        None, exists=True, dir_okay=False, help="Table of file, old number, date, entity."
    ),
    entity: str | None = typer.Option(None, help="Entity of papers for which none is named."),
    dates: str | None = typer.Option(None, help="How the listing writes days, such as d.m.Y."),
    take: bool = typer.Option(False, "--take", help="Take the papers; without it they are shown."),
    login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Bring an old archive in: a folder with its listing, or an export of paperless-ngx.

    Old numbers and links are kept. A run that was stopped is completed by running it again.
    """
    with opened() as installation:
        scope = person_scope(installation.database, login, mandant)
        if scope.mandant_id is None:
            raise ScopeError("An archive belongs to one tenant: say --mandant.")
        try:
            archive = archives.read_archive(folder, listing, dates_as=dates)
            with installation.database.worker() as connection:
                archive = archives.settled(connection, archive, scope, entity)
        except archives.ArchiveRefused as error:
            err.print(f"[red]{escape(str(error))}[/red]")
            raise typer.Exit(1) from error
        _show(archive)
        if not take:
            out.print("Nothing was taken. With --take these papers come in.")
            return
        with Progress(console=err) as bar:
            task = bar.add_task("taking", total=len(archive.papers))
            balance = archives.bring_in(
                installation,
                scope,
                archive,
                progress=lambda done, _all: bar.update(task, completed=done),
            )
    out.print(
        f"{balance.listed} listed, {balance.standing} here ({balance.taken_now} now),"
        f" {len(balance.missing)} missing"
    )
    if not balance.complete:
        err.print("[red]The balance does not hold: bring the missing files and run it again.[/red]")
        raise typer.Exit(1)


def _show(archive: archives.Archive) -> None:
    shown = table_of("old number", "file", "day", "entity", "title")
    for paper in archive.papers[:_SHOWN]:
        day = "" if paper.day is None else f"{paper.day}"
        cells = (paper.number, paper.path.name, day, paper.entity or "", paper.title)
        shown.add_row(*map(escape, cells))
    out.print(shown)
    out.print(f"{len(archive.papers)} papers; the first {_SHOWN} are shown.")
    for what, names in (
        ("Listed and not there", archive.missing),
        ("Not listed", archive.unlisted),
    ):
        if names:
            more = " …" if len(names) > _SHOWN else ""
            out.print(f"{what}: {len(names)} ({escape(', '.join(names[:_SHOWN]))}{more})")
