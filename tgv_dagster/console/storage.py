"""Commands of storage and audit: backup, restore, complete pass, duplicates, the chain."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import typer

from tgv_dagster import backup as backups
from tgv_dagster.audit.chain import read_chain
from tgv_dagster.audit.storage import Healing, audit_storage, counted, heal_report
from tgv_dagster.console.common import (
    AS_OPTION,
    MANDANT_OPTION,
    clear_errors,
    opened,
    out,
    person_scope,
    scope_of,
    settings,
    table_of,
)
from tgv_dagster.effect.duplicates import SweepProposal, propose_sweep, sweep
from tgv_dagster.store.blobs import resolve
from tgv_dagster.web.chain import standalone

storage_app = typer.Typer(help="The raw layer: audit and healing.", no_args_is_help=True)
duplicates_app = typer.Typer(help="What would be counted twice.", no_args_is_help=True)

TARGET = typer.Option(None, "--to", "--from", help="Target of backups; default TGV_BACKUP_URL.")


def backup(target: str | None = TARGET) -> None:
    """Back up the database and every raw byte; only new bytes are copied."""
    with opened() as installation:
        made = backups.make_backup(installation, _target(target))
        described = made.description
        out.print(
            f"{described.name}: {described.items} items, {described.size} bytes,"
            f" {made.copied} copied, {len(made.missing)} without bytes."
        )
    if made.missing:
        raise typer.Exit(1)


def restore(
    target: str | None = TARGET,
    name: str | None = typer.Option(None, "--backup", help="Which one; default the newest."),
    rehearse: bool = typer.Option(False, "--rehearse", help="Prove it and throw it away."),
) -> None:
    """Fill an empty installation from a backup, and read every byte against its hash."""
    if rehearse:
        with opened() as installation:
            proof = backups.rehearse(installation, _target(target))
    else:
        chosen = settings()
        with clear_errors():
            proof = backups.restore(chosen, _target(target), name=name)
    out.print(
        f"{proof.description.name} of {proof.description.taken_at}: {proof.verified} items"
        f" verified, {len(proof.bad)} not, {proof.erased} erasures replayed, tables that differ:"
        f" {', '.join(proof.differing_tables) or 'none'}."
    )
    if not proof.holds:
        raise typer.Exit(1)


def _target(given: str | None) -> str:
    target = given or settings().backup_url
    if target is None:
        with clear_errors():
            raise backups.BackupError("Say where: --to URL, or set TGV_BACKUP_URL.")
    return target


@storage_app.command("audit")
def audit(
    since: datetime = typer.Option(None, help="Count what was read since; default: read all now."),
    seconds: float = typer.Option(float("inf"), help="Stop after so long; call again to go on."),
) -> None:
    """Read every raw item against its hash; says date and denominator."""
    began = datetime.now(UTC) if since is None else since.replace(tzinfo=UTC)
    with opened() as installation:
        done = audit_storage(installation, since=began, seconds=seconds)
    out.print(
        f"{done.taken_at:%Y-%m-%d %H:%M} UTC: {done.read} of {done.items} items read since"
        f" {done.since:%Y-%m-%d %H:%M}, {done.left} left."
    )
    for state, count in sorted(done.states.items()):
        out.print(f"  {state}: {count}")


def chain(
    target: Path = typer.Option(Path("chain.html"), "--to", help="The file to write."),
    language: str = typer.Option("de", help="de, fr or en."),
    login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Write the intake chain as one file, as the page /chain shows it without figures."""
    with opened() as installation:
        scope = scope_of(installation.database, login, mandant)
        target.write_text(standalone(read_chain(installation, scope), language), encoding="utf-8")
    out.print(f"{target}")


@storage_app.command("heal")
def heal(target: str | None = TARGET) -> None:
    """Say for each missing file whether it can come back; changes nothing."""
    chosen = target or settings().backup_url
    with opened() as installation:
        report = heal_report(installation, None if chosen is None else resolve(chosen))
    for healing, count in counted(report).items():
        out.print(f"{healing}: {count}")
    for found in report:
        if found.healing is not Healing.BY_DESIGN:
            out.print(f"  document {found.document_id}: {found.healing} {found.place}")


@duplicates_app.command("list")
def list_duplicates(login: str = AS_OPTION, mandant: str | None = MANDANT_OPTION) -> None:
    """Show every pair with its root and the fields that agree; changes nothing."""
    with opened() as installation:
        scope = scope_of(installation.database, login, mandant)
        _show(propose_sweep(installation.database, scope))


@duplicates_app.command("sweep")
def sweep_duplicates(
    confirm: str = typer.Option("", "--confirm", help="The name of the preview you looked at."),
    login: str = AS_OPTION,
    mandant: str | None = MANDANT_OPTION,
) -> None:
    """Put duplicates into the trash; without --confirm only the preview is shown."""
    with opened() as installation:
        scope = person_scope(installation.database, login, mandant)
        if not confirm:
            preview = propose_sweep(installation.database, scope)
            _show(preview)
            out.print(f"To do exactly this: tgv duplicates sweep --confirm {preview.fingerprint}")
            return
        outcomes = sweep(installation.database, installation.words, scope, confirm)
        out.print(f"{len(outcomes)} documents are in the trash and can be restored.")


def _show(proposal: SweepProposal) -> None:
    title = f"{len(proposal.duplicates)} of {proposal.documents} documents,"
    title += f" {proposal.taken_at:%Y-%m-%d %H:%M} UTC"
    table = table_of("document", "stays", "root", "agree", title=title)
    for found in proposal.duplicates:
        table.add_row(
            str(found.document_id), str(found.stays), str(found.root), ", ".join(found.reasons)
        )
    out.print(table)
