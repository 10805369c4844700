"""Commands for tables: what the recogniser would do with a file, and why."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path

import typer
from rich.markup import escape

from tgv_dagster.console.common import (
    AS_OPTION,
    MANDANT_OPTION,
    opened,
    out,
    person_scope,
    table_of,
)
from tgv_dagster.intervals.odometers import Exchange, ExchangeRefused, withdraw_exchange
from tgv_dagster.store.db import Database
from tgv_dagster.store.levels import Role
from tgv_dagster.store.scope import Scope, ScopeError
from tgv_dagster.tables import artefacts, figures, querying
from tgv_dagster.tables.model import Question, TableUnreadable
from tgv_dagster.tables.recognising import Recognised, recognise_file
from tgv_dagster.tables.refused_trips import exchange_odometer
from tgv_dagster.tables.rendering import Form, rendered, require_drawable
from tgv_dagster.tables.targets import Target
from tgv_dagster.tables.working import WorkingNotFound

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


@tables_app.command("hours")
def hours(as_login: str = AS_OPTION, mandant: str | None = MANDANT_OPTION) -> None:
    """Hours per project and month, with the documents they come from."""
    with opened() as installation:
        scope = _scope(installation.database, as_login, mandant)
        heads = ("month", "project", "entity", "hours", "entries", "to review", "documents")
        shown = table_of(*heads)
        for row in figures.hours_per_project(installation.database, scope):
            shown.add_row(
                row.month,
                escape(row.project_code or "none"),
                row.entity or "none",
                str(row.hours),
                str(row.entries),
                str(row.unreviewed),
                _documents(row.documents),
            )
        out.print(shown)


@tables_app.command("logbook")
def logbook(
    year: int | None = typer.Option(None, help="Only this year."),
    as_login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Trips, commutes and flat rates, with the documents they come from."""
    with opened() as installation:
        scope = _scope(installation.database, as_login, mandant)
        trips = figures.logbook(installation.database, scope, year=year)
        heads = ("day", "vehicle", "km", "from", "to", "project", "purpose", "document")
        shown = table_of(*heads, title="trips")
        for trip in trips:
            shown.add_row(
                f"{trip.day}",
                escape(trip.vehicle),
                f"{trip.km}",
                f"{trip.km_start}",
                f"{trip.km_end}",
                escape(trip.project_code or "none"),
                escape(trip.purpose),
                _documents((trip.document_id,) if trip.document_id else ()),
            )
        out.print(shown)
        for day in figures.commute_days(trips):
            out.print(f"commute {day.day}: {day.one_way_km} km one way, {day.euro} EUR")
        for flat in figures.flat_rates(trips):
            reviewed = "" if flat.reviewed else " (rate not reviewed)"
            out.print(
                f"business {flat.year} {escape(flat.vehicle)}: {flat.km} km, "
                f"{flat.euro} EUR{reviewed}, {_documents(flat.documents)}"
            )


@tables_app.command("exchange")
def exchange(
    vehicle: str = typer.Argument(help="The vehicle as its trips name it."),
    entity: str = typer.Option(help="The entity that drives it."),
    on: datetime = typer.Option(formats=["%Y-%m-%d"], help="The day of the exchange."),
    last: str = typer.Option(help="Last reading of the old odometer, in km."),
    first: str = typer.Option("0", help="First reading of the new one, in km."),
    reason: str = typer.Option("odometer exchanged", help="Why, in a few words."),
    as_login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Record an exchanged, reset or rolled over odometer; trips it had refused come in again."""
    try:
        old, new = (Decimal(reading.replace(",", ".")) for reading in (last, first))
    except InvalidOperation as error:
        raise typer.BadParameter("A reading is a number of kilometres: 199812.5") from error
    told = Exchange(entity, vehicle, on.date(), old, new, reason)
    with opened() as installation:
        scope = person_scope(installation.database, as_login, mandant)
        scope.require(Role.MANDANT_ADMIN)
        with installation.database.reading(scope) as connection:
            seen = connection.execute(
                "SELECT 1 FROM entities WHERE slug = %s", (entity,)
            ).fetchone()
        if seen is None:
            raise ScopeError("This entity is not among those you may see.")
        try:
            with installation.database.worker() as connection:
                number, due = exchange_odometer(connection, told, by=as_login)
        except ExchangeRefused as refused:
            raise typer.BadParameter(str(refused)) from refused
    out.print(f"exchange {number}" + (f", due again: {_documents(due)}" if due else ""))


@tables_app.command("exchanges")
def exchanges(as_login: str = AS_OPTION, mandant: str | None = MANDANT_OPTION) -> None:
    """Exchanges of odometers in force."""
    with opened() as installation:
        scope = _scope(installation.database, as_login, mandant)
        with installation.database.reading(scope) as connection:
            rows = connection.execute(
                "SELECT id, entity, vehicle, exchanged_on, km_last, km_first, set_by, reason"
                " FROM odometer_exchanges WHERE withdrawn_at IS NULL ORDER BY exchanged_on, id"
            ).fetchall()
    shown = table_of("exchange", "entity", "vehicle", "day", "last", "first", "by", "reason")
    for row in rows:
        shown.add_row(*(escape(str(cell)) for cell in row))
    out.print(shown)


@tables_app.command("withdraw-exchange")
def withdraw(number: int, as_login: str = AS_OPTION, mandant: str | None = MANDANT_OPTION) -> None:
    """Take an exchange back; refused while trips would share kilometres without it."""
    with opened() as installation:
        scope = person_scope(installation.database, as_login, mandant)
        scope.require(Role.MANDANT_ADMIN)
        with installation.database.reading(scope) as connection:
            seen = connection.execute(
                "SELECT 1 FROM odometer_exchanges WHERE id = %s", (number,)
            ).fetchone()
        try:
            if seen is None:
                raise ExchangeRefused(f"There is no exchange {number} in force.")
            with installation.database.worker() as connection:
                withdraw_exchange(connection, number, by=as_login)
        except ExchangeRefused as refused:
            raise typer.BadParameter(str(refused)) from refused
    out.print(f"exchange {number} withdrawn")


@tables_app.command("query")
def query(
    sql: str = typer.Argument(help="A SELECT; the table of document 17 is called d17."),
    document: list[int] = typer.Option(help="Number of a document with working material."),
    keep: str | None = typer.Option(None, help="Keep the result as an artefact with this title."),
    plot: bool = typer.Option(False, help="Keep it as a plot."),
    to: Path | None = typer.Option(
        None, dir_okay=False, help="Write the result here: .xlsx, .pdf, .png or .svg."
    ),
    as_login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Ask working material in SQL, within what this person may see."""
    with opened() as installation:
        scope = _scope(installation.database, as_login, mandant)
        try:
            found = querying.ask(installation.database, scope, document, sql)
            if plot:
                require_drawable(found)
            content = to and rendered(found, _form_of(to), title=keep or to.stem)
            number = keep and querying.keep(
                installation.database, scope, found, title=keep, kind="plot" if plot else "table"
            )
        except (querying.QueryRefused, WorkingNotFound) as error:
            raise typer.BadParameter(str(error)) from error
        shown = table_of(*found.frame.columns)
        for row in found.frame.head(50).iter_rows():
            shown.add_row(*("" if cell is None else escape(str(cell)) for cell in row))
        out.print(shown)
        more = ", truncated" if found.truncated else ""
        out.print(
            f"{found.frame.height} rows{more}, {_documents(found.sources)}, level {found.level}"
        )
        if number:
            out.print(f"Artefact {number}")
        if to is not None and content:
            to.write_bytes(content)


@tables_app.command("artefacts")
def list_artefacts(
    document: int | None = typer.Option(None, help="Only what was made from this document."),
    as_login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Kept results with their sources, as far as this person sees all of them."""
    with opened() as installation:
        scope = _scope(installation.database, as_login, mandant)
        shown = table_of("number", "kind", "title", "level", "documents", "by", "in knowledge")
        for one in artefacts.artefacts(installation.database, scope, document_id=document):
            shown.add_row(
                str(one.id),
                one.kind,
                escape(one.title),
                one.level,
                _documents(one.sources),
                escape(one.created_by),
                _documents((one.knowledge,) if one.knowledge else ()),
            )
        out.print(shown)


@tables_app.command("artefact")
def artefact(
    number: int = typer.Argument(help="Number of the artefact."),
    to: Path | None = typer.Option(
        None, dir_okay=False, help="Write it here: .xlsx, .pdf, .png or .svg."
    ),
    knowledge: bool = typer.Option(False, help="Hand it in as a document."),
    as_login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Ask a kept question again; write its answer into a file, or hand it in as a document."""
    with opened() as installation:
        scope = _scope(installation.database, as_login, mandant)
        try:
            found, result = artefacts.opened(installation.database, scope, number)
            if to is not None:
                to.write_bytes(rendered(result, _form_of(to), title=found.title))
            if knowledge:
                saved = artefacts.into_knowledge(
                    installation.database, installation.blobs, scope, number
                )
                out.print(f"Arrival {saved.arrival_id}")
        except (querying.QueryRefused, artefacts.ArtefactNotFound) as error:
            raise typer.BadParameter(str(error)) from error
        out.print(
            f"{escape(found.title)}: {result.frame.height} rows, "
            f"{_documents(result.sources)}, level {result.level}"
        )


def _form_of(path: Path) -> Form:
    try:
        return Form(path.suffix.lower().removeprefix("."))
    except ValueError:
        known = ", ".join(f".{form}" for form in Form)
        raise querying.QueryRefused(f"{path.suffix or path.name}: write {known}.") from None


def _scope(database: Database, login: str, mandant: str | None) -> Scope:
    return Scope.for_principal(database, login, mandant=mandant, source="console")


def _documents(numbers: tuple[int, ...]) -> str:
    return " ".join(f"/d/{number}" for number in numbers)


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
    columns = table_of("column", "is", "read as", "field")
    fields = {label: name for name, label in proposal.mapping.fields.items()}
    for column in recognised.columns:
        told = f"{column.reading} {column.unit}".strip() or column.notice
        columns.add_row(
            escape(column.label), str(column.kind), escape(told), fields.get(column.label, "")
        )
    out.print(columns)
    for question in proposal.questions:
        out.print(_asked(question))
    for remark in table.remarks:
        out.print(f"Remark: {escape(remark)}")
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
