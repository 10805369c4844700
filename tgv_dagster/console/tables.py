"""Commands for tables: what the recogniser would do with a file, and why."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.markup import escape
from rich.table import Table

from tgv_dagster.console.common import out
from tgv_dagster.tables.model import Question, TableUnreadable
from tgv_dagster.tables.recognising import Recognised, recognise_file
from tgv_dagster.tables.targets import Target

tables_app = typer.Typer(help="Tables: CSV, sheets, lists.", no_args_is_help=True)


@tables_app.command("inspect")
def inspect(
    file: Path = typer.Argument(exists=True, dir_okay=False, help="The file to look at."),
) -> None:
    """Show how a file would be read, what would be asked, and where its rows would go.

    Nothing is stored; memory of a tenant is not consulted.
    """
    try:
        found, tables = recognise_file(file.read_bytes(), hint=file.name)
    except TableUnreadable as error:
        out.print(f"Not read as a table: {escape(str(error))}")
        raise typer.Exit(1) from None
    for recognised in found:
        _show(recognised)
    for name, reason in tables.skipped:
        out.print(f"Skipped {escape(name)}: {escape(reason)}")


def _show(recognised: Recognised) -> None:
    table, proposal = recognised.table, recognised.proposal
    kind = proposal.mapping.target
    out.print(
        f"[bold]{escape(table.sheet or 'table')}[/bold]: {table.height} rows, "
        f"{len(table.labels)} columns, labels in line {table.header_line or 'none'}"
    )
    if table.dialect is not None:
        out.print(f"Written as {escape(table.dialect.key)} in {table.encoding}")
    out.print(
        f"Class {kind.table_class}, target {kind} ({proposal.confidence:.0%}): "
        + escape(", ".join(proposal.why) or "no target fits")
    )
    columns = Table()
    for head in ("column", "is", "read as", "field"):
        columns.add_column(head)
    fields = {label: name for name, label in proposal.mapping.fields.items()}
    for column in recognised.columns:
        told = f"{column.reading} {column.unit}".strip() or column.notice
        columns.add_row(
            escape(column.label), str(column.kind), escape(told), fields.get(column.label, "")
        )
    out.print(columns)
    for question in proposal.questions:
        out.print(_asked(question))
    for row in table.aside[:10]:
        out.print(f"Set aside line {row.first_line}: {row.reason} {escape(row.detail)}")
    if len(table.aside) > 10:
        out.print(f"Set aside in all: {len(table.aside)} rows")
    if kind is not Target.WORKING and not proposal.questions:
        for row in recognised.probe():
            out.print(escape(" · ".join(f"{name} {value}" for name, value in row.items() if value)))


def _asked(question: Question) -> str:
    where = f" of {escape(question.column)}" if question.column else ""
    choices = "; ".join(
        escape(f"{choice.key}: " + ", ".join(f"{a} = {b}".strip(" =") for a, b in choice.samples))
        for choice in question.choices
    )
    return f"[yellow]Asked[/yellow] {question.kind}{where}: {choices}"
