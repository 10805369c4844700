"""What every command shares: opening the installation, the principal, clear errors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tgv_dagster.arrive import upload
from tgv_dagster.arrive.imap_connection import ImapError
from tgv_dagster.arrive.mail_access import SwitchedOff
from tgv_dagster.arrive.mail_drop import NotAMail
from tgv_dagster.arrive.mailbox import BackfillRefused, PollerBusy, PollTooSoon
from tgv_dagster.arrive.mark_seen import NothingNamed
from tgv_dagster.arrive.rights import UnusableAnswer
from tgv_dagster.backup import BackupError
from tgv_dagster.clarify.cases import BeingRebuilt, CaseClosed, CaseNotFound, NotAnswerable
from tgv_dagster.clarify.execution import (
    CardNotExecutable,
    CardNotFound,
    CardStale,
    ChoiceNeeded,
    NotWithdrawable,
    Refused,
)
from tgv_dagster.effect.duplicates import SweepChanged
from tgv_dagster.file.compartments import CompartmentRefused
from tgv_dagster.installation import Installation
from tgv_dagster.know.evaluation.own import OwnQuestionsUnusable
from tgv_dagster.know.lifecycle import (
    DocumentChanged,
    DocumentNotFound,
    LooserThanCompartment,
    NotAssignable,
)
from tgv_dagster.rebuild import RebuildError
from tgv_dagster.settings import Settings, SettingsError, load_settings
from tgv_dagster.store.blobs import StoreError
from tgv_dagster.store.db import Database, DatabaseFull, DatabaseUnavailable
from tgv_dagster.store.dumping import DumpError
from tgv_dagster.store.embedded import EmbeddedServerError
from tgv_dagster.store.migrate import SchemaError
from tgv_dagster.store.organisation import SERVICE_LOGIN, OrganisationError
from tgv_dagster.store.scope import Scope, ScopeError
from tgv_dagster.store.tuning import TuningError
from tgv_dagster.supervisor import PortBusy, ProcessEnded

out = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
err = Console(stderr=True, highlight=False, soft_wrap=True)


def table_of(*heads: str, title: str | None = None) -> Table:
    """An empty table; on a narrow screen cells are folded and nothing of them is cut away."""
    made = Table(title=title, title_justify="left")
    for head in heads:
        made.add_column(escape(head), overflow="fold")
    return made


KNOWN_ERRORS = (
    BackfillRefused,
    BackupError,
    DumpError,
    SweepChanged,
    ImapError,
    NotAMail,
    NothingNamed,
    PollTooSoon,
    PollerBusy,
    SwitchedOff,
    BeingRebuilt,
    CardNotExecutable,
    CardNotFound,
    CardStale,
    CaseClosed,
    CaseNotFound,
    ChoiceNeeded,
    CompartmentRefused,
    DatabaseFull,
    DatabaseUnavailable,
    DocumentNotFound,
    EmbeddedServerError,
    DocumentChanged,
    LooserThanCompartment,
    NotAnswerable,
    NotAssignable,
    upload.NotAssignable,
    upload.NothingToTake,
    upload.PersonsUnknown,
    UnusableAnswer,
    NotWithdrawable,
    OrganisationError,
    PortBusy,
    ProcessEnded,
    RebuildError,
    Refused,
    SchemaError,
    ScopeError,
    SettingsError,
    StoreError,
    OwnQuestionsUnusable,
    TuningError,
)

REMEDIES: tuple[tuple[type[Exception], str], ...] = (
    (
        ScopeError,
        "`tgv org show` lists people with their tenants: --as LOGIN, --mandant TENANT.",
    ),
    (CaseNotFound, "`tgv cases list` shows the open cases of your tenant."),
    (CaseClosed, "`tgv cases talk` shows what was decided."),
    (CardNotFound, "`tgv cases talk` shows the cards of a case."),
    (CardNotExecutable, "`tgv cases talk` shows what else the case offers."),
    (NotWithdrawable, "`tgv cases propose` makes a new card for what should be now."),
    (NotAnswerable, "`tgv cases show` lists the open points and their choices."),
    (DocumentNotFound, "`tgv search` finds documents of your tenant with their numbers."),
    (OrganisationError, "`tgv org edit` mends it; the format stands in samples/organisation.yaml."),
    (upload.NotAssignable, "`tgv org show` lists what you may assign."),
    (upload.PersonsUnknown, "`tgv org show` lists the persons of the tenant."),
    (RebuildError, "`tgv rebuild STEP` makes a generation beside and prints its number."),
    (TuningError, "`tgv tuning list` shows every name with its value."),
)
"""What helps with errors whose message says only what is wrong, because HTTP has its own remedy."""

AS_OPTION = typer.Option(
    SERVICE_LOGIN,
    "--as",
    envvar="TGV_AS",
    help="Login of the person on whose behalf this runs; decides what is visible.",
)
MANDANT_OPTION = typer.Option(None, "--mandant", help="Tenant, for a person with several.")


@contextmanager
def clear_errors() -> Iterator[None]:
    """Show what is wrong and what helps, instead of a trace; exit status 1."""
    try:
        yield
    except KNOWN_ERRORS as error:
        err.print(str(error), style="red", markup=False)
        for kind, remedy in REMEDIES:
            if isinstance(error, kind) and "`tgv " not in str(error):
                err.print(remedy, markup=False)
        raise typer.Exit(1) from error
    except psycopg.OperationalError as error:
        err.print(f"The database stopped answering: {error}", style="red", markup=False)
        raise typer.Exit(1) from error


@contextmanager
def opened() -> Iterator[Installation]:
    """The installation of this environment, closed afterwards."""
    with clear_errors():
        installation = Installation.open(load_settings())
        try:
            yield installation
        finally:
            installation.close()


def settings() -> Settings:
    """The settings, or a clear error."""
    with clear_errors():
        return load_settings()


def scope_of(database: Database, login: str, mandant: str | None) -> Scope:
    """The scope of the named principal at the console."""
    return Scope.for_principal(database, login, mandant=mandant, source="console")


def person_scope(database: Database, login: str, mandant: str | None) -> Scope:
    """The scope of a person who decides; the service principal is no person (CLAR, ACT-05)."""
    if login == SERVICE_LOGIN:
        raise ScopeError("A decision carries a person's name: say --as LOGIN.")
    return scope_of(database, login, mandant)
