"""Commands of the bank: what would happen with a file, accounts, imports, proposals, figures.

Belongs here: options and what is printed. Does not belong here: any decision about bookings.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.markup import escape

from tgv_dagster.bank import accounts, deciding, figures, flowing, matching, periods, undoing
from tgv_dagster.bank.frame import BankFileError, Kind, Status, faults
from tgv_dagster.bank.overlap import Decision
from tgv_dagster.bank.reading import read_bank_file
from tgv_dagster.console.common import (
    AS_OPTION,
    MANDANT_OPTION,
    err,
    opened,
    out,
    person_scope,
    scope_of,
    table_of,
)
from tgv_dagster.installation import Installation
from tgv_dagster.store.db import Connection
from tgv_dagster.store.levels import Role
from tgv_dagster.store.scope import Scope, ScopeError

bank_app = typer.Typer(help="Bank files, accounts, bookings.", no_args_is_help=True)
_VISIBLE = {
    "bank_imports": "SELECT 1 FROM bank_imports WHERE id = %s",
    "documents": "SELECT 1 FROM documents WHERE id = %s",
}


def _decider(installation: Installation, login: str, mandant: str | None) -> Scope:
    """Money is decided by a person who manages the tenant."""
    scope = person_scope(installation.database, login, mandant)
    scope.require(Role.MANDANT_ADMIN)
    return scope


def _require_visible(installation: Installation, scope: Scope, table: str, number: int) -> None:
    """What a person cannot see does not exist for them, and cannot be changed by them."""
    with installation.database.reading(scope) as connection:
        if connection.execute(_VISIBLE[table].encode(), (number,)).fetchone() is None:
            raise ScopeError(
                "There is nothing with this number that you may see: `tgv bank imports`,"
                " `tgv bank accounts` and `tgv bank links` show the numbers."
            )


def _require_account(connection: Connection, scope: Scope, account_id: int) -> None:
    row = connection.execute(
        "SELECT mandant_id FROM md_accounts WHERE id = %s", (account_id,)
    ).fetchone()
    mine = row is not None and (row[0] == scope.mandant_id or scope.mandant_id is None)
    if not mine or (scope.mandant_id is None and not scope.is_owner):
        raise ScopeError("There is no such account that you may see.")


def _require_entity(connection: Connection, scope: Scope, entity: str) -> None:
    row = connection.execute(
        "SELECT mandant_id FROM entities WHERE slug = %s", (entity,)
    ).fetchone()
    inside = row is not None and (scope.is_owner or row[0] == scope.mandant_id)
    allowed = scope.visible_entities
    if not inside or (allowed is not None and entity not in allowed):
        raise ScopeError("There is no such entity that you may see.")


@bank_app.command("inspect")
def inspect(path: Path) -> None:
    """Show what a bank file says and whether it could be booked; nothing is written."""
    try:
        file = read_bank_file(path.read_bytes())
    except OSError as error:
        err.print(f"{path} cannot be read ({error.strerror}): check name and rights.", markup=False)
        raise typer.Exit(1) from error
    except BankFileError as error:
        err.print(f"[red]{escape(str(error))}[/red]")
        raise typer.Exit(1) from error
    if file is None:
        err.print("This is no bank file in a format with a reader of its own (CAMT, MT940, OFX).")
        raise typer.Exit(1)
    table = table_of("account", "kind", "number", "days", "booked", "pending", "sum holds")
    for one in file.statements:
        days = [line.booking_date for line in one.lines]
        table.add_row(
            escape(one.account.key or "-"),
            str(one.kind) if one.kind is Kind.STATEMENT else f"{one.kind} (books nothing)",
            escape(one.number or "-"),
            f"{min(days)} to {max(days)}" if days else "-",
            str(len(one.booked)),
            str(sum(1 for line in one.lines if line.status is Status.PENDING)),
            {True: "yes", False: "NO", None: "not both balances given"}[one.balances],
        )
    out.print(f"{file.variant}: {file.entries} entries, {len(file.lines)} lines")
    out.print(table)
    for fault in faults(file):
        err.print(f"[red]{escape(fault)}[/red]")
    for note in file.notes:
        out.print(escape(note))
    if faults(file):
        raise typer.Exit(1)


@bank_app.command("import")
def import_document(
    document: int,
    alike: Decision = typer.Option(
        Decision.ASK, help="Lines that look like bookings of another format: same, or new."
    ),
    trust_balances: bool = typer.Option(
        False, help="Book although the balances contradict recorded ones."
    ),
    login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Import the bank file of one document now."""
    with opened() as installation:
        scope = _decider(installation, login, mandant)
        _require_visible(installation, scope, "documents", document)
        with installation.database.worker() as connection:
            report = flowing.bring_document(
                connection,
                installation.blobs,
                document,
                author=login,
                decision=alike,
                trust_balances=trust_balances,
            )
    if report is None:
        err.print("This document is no bank file.")
        raise typer.Exit(1)
    out.print(
        f"import {report.import_id}: {report.state}, {report.inserted} new,"
        f" {report.known} known, {report.pending} pending, {report.vanished} vanished"
    )
    if report.reason:
        err.print(escape(report.reason))
        raise typer.Exit(1)


@bank_app.command("undo")
def undo(import_id: int, login: str = AS_OPTION, mandant: str | None = MANDANT_OPTION) -> None:
    """Take an import back; what is locked, matched or changed stays and is listed."""
    with opened() as installation:
        scope = _decider(installation, login, mandant)
        _require_visible(installation, scope, "bank_imports", import_id)
        try:
            with installation.database.worker() as connection:
                done = undoing.undo_import(connection, import_id, author=login)
        except undoing.UndoRefused as error:
            err.print(f"[red]{escape(str(error))}[/red]")
            raise typer.Exit(1) from error
    out.print(f"{done.removed} removed, {done.handed_on} handed on, {len(done.kept)} kept")
    for one in done.kept:
        out.print(f"  booking {one.txn_id} stays: {one.reason}")


@bank_app.command("imports")
def imports(login: str = AS_OPTION, mandant: str | None = MANDANT_OPTION) -> None:
    """Bank files with what became of them, newest first."""
    with opened() as installation:
        scope = scope_of(installation.database, login, mandant)
        with installation.database.reading(scope) as connection:
            rows = connection.execute(
                "SELECT id, document_id, variant, state, entries, inserted, known, reason"
                " FROM bank_imports ORDER BY id DESC LIMIT 100"
            ).fetchall()
    table = table_of("import", "document", "format", "state", "entries", "new", "known", "reason")
    for row in rows:
        table.add_row(*("" if cell is None else escape(str(cell)) for cell in row))
    out.print(table)


@bank_app.command("accounts")
def list_accounts(login: str = AS_OPTION, mandant: str | None = MANDANT_OPTION) -> None:
    """Accounts of the master, and proposals that wait for a person."""
    with opened() as installation:
        scope = scope_of(installation.database, login, mandant)
        scope.require(Role.MANDANT_ADMIN)
        with installation.database.worker() as connection:
            rows = connection.execute(
                "SELECT id, account_key, name, entity, currency, active, proposed_at IS NOT NULL"
                " AND confirmed_by IS NULL AND NOT active FROM md_accounts"
                " WHERE mandant_id = %s OR (%s::integer IS NULL AND %s) ORDER BY id",
                (scope.mandant_id, scope.mandant_id, scope.is_owner),
            ).fetchall()
    table = table_of("id", "account", "name", "entity", "currency", "state")
    for number, key, name, entity, currency, active, proposed in rows:
        state = "proposed" if proposed else "active" if active else "inactive"
        table.add_row(str(number), escape(key), escape(name), entity or "-", currency, state)
    out.print(table)


@bank_app.command("confirm-account")
def confirm_account(
    account_id: int,
    entity: str = typer.Option(..., help="The entity the account belongs to."),
    login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Take a proposed account over; the files that waited for it are imported by the next run."""
    with opened() as installation:
        scope = _decider(installation, login, mandant)
        with installation.database.worker() as connection:
            _require_account(connection, scope, account_id)
            _require_entity(connection, scope, entity)
            try:
                waiting = accounts.confirm(connection, account_id, entity=entity, author=login)
            except accounts.AccountError as error:
                raise ScopeError(str(error)) from error
            accounts.close_case(connection, account_id, by=login)
            flowing.again(connection, waiting)
    out.print(f"Account {account_id} belongs to {entity}; {len(waiting)} files are due again.")


@bank_app.command("balances")
def balances(login: str = AS_OPTION, mandant: str | None = MANDANT_OPTION) -> None:
    """Each active account with its balance as of its own day."""
    with opened() as installation:
        scope = scope_of(installation.database, login, mandant)
        with installation.database.reading(scope) as connection:
            found = figures.account_balances(connection)
    table = table_of("account", "entity", "name", "balance", "as of", "bookings since")
    for one in found:
        table.add_row(
            str(one.account_id),
            one.entity,
            escape(one.name),
            "unknown" if one.balance is None else f"{one.balance} {one.currency}",
            "-" if one.as_of is None else f"{one.as_of}",
            str(one.since),
        )
    out.print(table)


@bank_app.command("unmatched")
def unmatched(login: str = AS_OPTION, mandant: str | None = MANDANT_OPTION) -> None:
    """Bookings without a receipt and receipts without a booking, per month and entity."""
    with opened() as installation:
        scope = scope_of(installation.database, login, mandant)
        with installation.database.reading(scope) as connection:
            found = figures.unmatched(connection)
    table = table_of("month", "entity", "bookings without", "receipts without", "proposed")
    for one in found:
        table.add_row(
            one.month,
            one.entity,
            str(one.bookings_without_receipt),
            str(one.receipts_without_booking),
            str(one.proposed),
        )
    out.print(table)


@bank_app.command("links")
def links(login: str = AS_OPTION, mandant: str | None = MANDANT_OPTION) -> None:
    """Proposed links of bookings with documents, and proposed transfers."""
    with opened() as installation:
        scope = scope_of(installation.database, login, mandant)
        with installation.database.reading(scope) as connection:
            rows = connection.execute(
                "SELECT 'link', l.id, l.txn_id, l.document_id, l.amount, l.evidence ->> 'grounds'"
                " FROM txn_document_links l WHERE l.state = 'proposed' UNION ALL"
                " SELECT 'transfer', x.id, x.out_txn, x.in_txn, abs(t.amount), ''"
                " FROM txn_transfers x JOIN txn_master t ON t.id = x.out_txn"
                " WHERE x.state = 'proposed' ORDER BY 1, 2 LIMIT 200"
            ).fetchall()
    table = table_of("kind", "id", "booking", "document / booking", "amount", "grounds")
    for row in rows:
        table.add_row(*(escape(str(cell)) for cell in row))
    out.print(table)


@bank_app.command("decide")
def decide(
    kind: matching.Proposed,
    number: int,
    confirm: bool = typer.Option(..., "--confirm/--reject"),
    login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Confirm or reject a proposed link or transfer."""
    with opened() as installation:
        scope = _decider(installation, login, mandant)
        with _refusals():
            deciding.decide(installation.database, scope, kind, number, confirm=confirm)
    out.print("confirmed" if confirm else "rejected")


@bank_app.command("link")
def link(
    booking: int,
    document: int,
    login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Link a booking with a receipt by hand, as far as both are open."""
    with opened() as installation:
        scope = _decider(installation, login, mandant)
        with _refusals():
            made = deciding.link(installation.database, scope, booking, document)
    out.print(f"link {made.link_id} explains {made.amount}")


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except (deciding.LinkNotFound, deciding.LinkRefused) as error:
        err.print(f"[red]{escape(str(error))}[/red]")
        raise typer.Exit(1) from error


@bank_app.command("lock")
def lock(
    entity: str,
    period: str,
    login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Lock a month (YYYY-MM) of an entity for ever."""
    with opened() as installation:
        scope = _decider(installation, login, mandant)
        try:
            with installation.database.worker() as connection:
                _require_entity(connection, scope, entity)
                locked = periods.lock_period(connection, entity=entity, period=period, author=login)
        except periods.PeriodError as error:
            err.print(f"[red]{escape(str(error))}[/red]")
            raise typer.Exit(1) from error
    out.print(f"{period} of {entity} is locked with {locked} bookings.")
