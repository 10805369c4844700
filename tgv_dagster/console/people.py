"""Commands for people's decisions: cases, parked items, the organisation."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import typer
from rich.table import Table

from tgv_dagster.clarify import decisions
from tgv_dagster.clarify.cases import CaseRow, NotAnswerable
from tgv_dagster.console.common import (
    AS_OPTION,
    MANDANT_OPTION,
    opened,
    out,
    person_scope,
    scope_of,
    table_of,
)
from tgv_dagster.store import organisation
from tgv_dagster.understand.evidence import Field

cases_app = typer.Typer(help="Exceptions that need a person.", no_args_is_help=True)
parked_app = typer.Typer(help="Items set aside with a reason.", no_args_is_help=True)
org_app = typer.Typer(help="Tenants, entities, projects, accounts, people.", no_args_is_help=True)


def _table(cases: tuple[CaseRow, ...], title: str) -> Table:
    table = table_of("case", "kind", "about", "since", "reason", "open", title=title)
    for case in cases:
        table.add_row(
            str(case.id),
            case.kind,
            case.subject,
            f"{case.created_at:%Y-%m-%d %H:%M}",
            case.reason,
            ", ".join(str(point["field"]) for point in case.open_points),
        )
    return table


def _list(login: str, mandant: str | None, *, parked_only: bool, title: str) -> None:
    with opened() as installation:
        scope = scope_of(installation.database, login, mandant)
        rows = decisions.list_cases(installation.database, scope, parked_only=parked_only)
        out.print(_table(rows, title) if rows else f"No {title}.")


@cases_app.command("list")
def list_cases(login: str = AS_OPTION, mandant: str | None = MANDANT_OPTION) -> None:
    """List open cases."""
    _list(login, mandant, parked_only=False, title="open cases")


@parked_app.command("list")
def list_parked(login: str = AS_OPTION, mandant: str | None = MANDANT_OPTION) -> None:
    """List parked and held items."""
    _list(login, mandant, parked_only=True, title="parked items")


@cases_app.command("show")
def show(case_id: int, login: str = AS_OPTION, mandant: str | None = MANDANT_OPTION) -> None:
    """Show one case with what is still open and the choices."""
    with opened() as installation:
        scope = scope_of(installation.database, login, mandant)
        case = decisions.get_case(installation.database, scope, case_id)
        out.print(f"case {case.id} · {case.kind} · {case.subject} · {case.state}")
        out.print(case.reason)
        for point in case.open_points:
            out.print(f"  {point['field']}: {point.get('reason', '')}")
        for choice in case.choices:
            if choice.get("values"):
                values = ", ".join(map(str, choice["values"]))
                out.print(f"  choices for {choice['field']}: {values}")


@cases_app.command("answer")
def answer(
    case_id: int,
    values: list[str] = typer.Argument(help="field=value, or field= for 'there is none'"),
    login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Answer the open points of a case; your values outrank the machine's from now on."""
    with opened() as installation:
        scope = person_scope(installation.database, login, mandant)
        left = decisions.answer(installation.database, scope, case_id, _parsed(values))
        out.print("Done." if not left else f"Still open: {', '.join(left)}.")


def _parsed(values: list[str]) -> dict[Field, str | None]:
    parsed: dict[Field, str | None] = {}
    for text in values:
        name, separator, value = text.partition("=")
        if not separator or name not in set(Field):
            raise NotAnswerable(f"{text!r} is not field=value with a known field.")
        parsed[Field(name)] = value or None
    return parsed


@parked_app.command("release")
@cases_app.command("release")
def release(case_id: int, login: str = AS_OPTION, mandant: str | None = MANDANT_OPTION) -> None:
    """Give the parked item of a case another try."""
    with opened() as installation:
        scope = person_scope(installation.database, login, mandant)
        stage = decisions.release(installation.database, scope, case_id)
        out.print(f"Released to {stage}; `tgv run` or the daemon takes it up.")


@parked_app.command("dismiss")
@cases_app.command("dismiss")
def dismiss(
    case_id: int,
    reason: str = typer.Option(..., "--reason", help="Why nothing has to be done."),
    login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Close a case without effect, with your reason."""
    with opened() as installation:
        scope = person_scope(installation.database, login, mandant)
        decisions.dismiss(installation.database, scope, case_id, reason=reason)
        out.print("Dismissed.")


@org_app.command("import")
def import_file(
    file: Path = typer.Argument(help="organisation.yaml; samples/organisation.yaml shows one."),
    login: str = AS_OPTION,
) -> None:
    """Import tenants, entities, projects, accounts, people and rules; nothing is deleted."""
    with opened() as installation, installation.database.worker() as connection:
        report = organisation.import_organisation(connection, organisation.load(file), author=login)
        out.print(", ".join(f"{count} {name}" for name, count in report.counts.items()))
        for name in report.only_in_database:
            out.print(f"only in the database: {name}")


@org_app.command("show")
def show_organisation() -> None:
    """Print the organisation as YAML."""
    with opened() as installation, installation.database.worker() as connection:
        out.print(organisation.export(connection), markup=False)


@org_app.command("edit")
def edit(login: str = AS_OPTION) -> None:
    """Edit the organisation in $EDITOR and import the result."""
    editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "nano")
    with opened() as installation:
        draft = installation.settings.home / "organisation.draft.yaml"
        report = organisation.edit(installation.database, editor, draft, author=login)
        out.print(", ".join(f"{count} {name}" for name, count in report.counts.items()))
