"""The command that copies originals out, under the scope of whoever asks."""

from __future__ import annotations

from pathlib import Path

import typer

from tgv_dagster.console.common import AS_OPTION, MANDANT_OPTION, opened, out, scope_of
from tgv_dagster.file.exports import DEFAULT_TEMPLATE, ExportRefused, export


def export_command(
    target: Path = typer.Argument(help="Folder below which the export is made."),
    template: str = typer.Option(DEFAULT_TEMPLATE, "--template", help="Path of each document."),
    entity: str | None = typer.Option(None, "--entity", help="Only this entity."),
    project: str | None = typer.Option(None, "--project", help="Only this project."),
    login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Copy originals into folders made from data; the name says the strictest level in it."""
    with opened() as installation:
        scope = scope_of(installation.database, login, mandant)
        narrow = scope.narrow(entity=entity, project_code=project)
        try:
            made = export(
                installation.database, installation.blobs, narrow, target, template=template
            )
        except ExportRefused as refused:
            raise typer.BadParameter(str(refused)) from refused
        out.print(f"{made.documents} originals, up to {made.level}: {made.folder}")
        for why, count in made.left_out.items():
            out.print(f"  left out: {count} {why}")
