"""Commands for re-computation: everything from the raw layer, or one step beside."""

from __future__ import annotations

from datetime import date, datetime

import typer
from rich.markup import escape

from tgv_dagster import rebuild
from tgv_dagster.console.common import AS_OPTION, err, opened, out
from tgv_dagster.rebuild import Comparison, RebuildError, RebuildScope
from tgv_dagster.store.db import Database
from tgv_dagster.store.stages import Stage

STEPS = (Stage.EXTRACT, Stage.TRIAGE, Stage.CHUNK, Stage.EMBED)


def rebuild_command(
    step: str | None = typer.Argument(
        None, help="extract, triage, chunk or embed; without it everything derived."
    ),
    mandant: str | None = typer.Option(None, "--mandant", help="Only this tenant."),
    month: datetime | None = typer.Option(
        None, "--month", formats=["%Y-%m"], help="Only this month of receipt, e.g. 2026-03."
    ),
    document: list[int] | None = typer.Option(None, "--document", help="Only these numbers."),
    kind: str | None = typer.Option(None, "--kind", help="Only this kind of document."),
    from_raw: bool = typer.Option(
        False,
        "--from-raw",
        help="Into an empty database: read arrivals and numbers from the blobs.",
    ),
    yes: bool = typer.Option(False, "--yes", help="Do not ask before a full rebuild."),
    login: str = AS_OPTION,
) -> None:
    """Compute again: one step beside what is in force, or everything from the raw layer."""
    if step is None:
        _everything(from_raw=from_raw, yes=yes, login=login)
        return
    if step not in STEPS:
        err.print(f"[red]{step!r} is no step; use {', '.join(STEPS)}.[/red]")
        raise typer.Exit(2)
    with opened() as installation:
        scope = RebuildScope(
            mandant_id=_mandant_id(installation.database, mandant),
            month=None if month is None else date(month.year, month.month, 1),
            doc_type=kind,
            document_ids=tuple(document) if document else None,
        )
        compared = rebuild.rebuild_step(installation, Stage(step), scope, login)
        _show(compared)


def _everything(*, from_raw: bool, yes: bool, login: str) -> None:
    question = "Throw away everything derived and build it again from the raw layer?"
    if not yes and not typer.confirm(question):
        raise typer.Exit(1)
    with opened() as installation:
        if from_raw:
            found = rebuild.restore_from_raw(installation, by=login)
            out.print(f"{found} arrivals read from the manifests; entering them.")
        report = rebuild.rebuild_all(installation, by=login)
        documents, values, chunks = report.after.counts
        out.print(f"{documents} documents, {values} values, {chunks} chunks.")
        if from_raw or report.equal:
            out.print("[green]Done.[/green]" if from_raw else "[green]Equal by hash.[/green]")
            return
        before = report.before.counts
        out.print(
            f"[yellow]The content differs from before ({before[0]} documents, {before[1]} values, "
            f"{before[2]} chunks). A newer version reads or decides otherwise.[/yellow]"
        )


def _mandant_id(database: Database, slug: str | None) -> int | None:
    if slug is None:
        return None
    with database.worker() as connection:
        row = connection.execute("SELECT id FROM mandanten WHERE slug = %s", (slug,)).fetchone()
    if row is None:
        raise RebuildError(f"There is no tenant {slug!r}.")
    return int(row[0])


def _show(compared: Comparison) -> None:
    out.print(
        f"generation {compared.generation_id}: {compared.documents} documents, "
        f"{compared.same} same, {compared.changed} changed, {compared.only_new} only new, "
        f"{compared.only_old} only old, {compared.failed} failed"
    )
    if compared.examples:
        numbers = ", ".join(f"#{number}" for number in compared.examples)
        out.print(f"changed for example: {numbers}")
    out.print(f"Put it in force with `tgv switch {compared.generation_id}`,", end=" ")
    out.print(f"or throw it away with `tgv switch {compared.generation_id} --drop`.")


def switch_command(
    generation: int = typer.Argument(help="Number that `tgv rebuild` printed."),
    drop: bool = typer.Option(False, "--drop", help="Throw the generation away instead."),
    login: str = AS_OPTION,
) -> None:
    """Put a generation in force, or throw it away."""
    with opened() as installation:
        if drop:
            rebuild.drop(installation, generation, login)
            out.print("Dropped.")
            return
        changed = rebuild.switch(installation, generation, login)
        out.print(escape(f"In force for {changed} documents."))
