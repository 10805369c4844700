"""Commands for people who sign in at the pages: give a password, list who may."""

from __future__ import annotations

import sys
from typing import NoReturn

import typer
from rich.markup import escape

from tgv_dagster.audit.ledger import GateClosed
from tgv_dagster.console.common import AS_OPTION, err, opened, out, table_of
from tgv_dagster.web import passwords, sign_on
from tgv_dagster.web.passwords import PasswordError

user_app = typer.Typer(help="People who sign in at the pages.", no_args_is_help=True)


@user_app.command("add")
def add(
    login: str = typer.Argument(help="Login of a person of the organisation (`tgv org show`)."),
    from_stdin: bool = typer.Option(
        False, "--stdin", help="Read the password from standard input."
    ),
    by: str = AS_OPTION,
) -> None:
    """Let a person sign in, or change the password; open sessions of the person end.

    A second person only while the checkpoint `walls` is green: `tgv run` measures it.
    """
    password = (
        sys.stdin.readline().rstrip("\r\n")
        if from_stdin
        else typer.prompt("Password", hide_input=True, confirmation_prompt=True)
    )
    with opened() as installation:
        try:
            passwords.set_password(installation.database, login, password, by=by)
        except PasswordError as error:
            raise typer.BadParameter(str(error)) from error
        except GateClosed as error:
            _say_closed(error)
    out.print(f"{login} may sign in.")


@user_app.command("sign-on")
def sign_on_command(
    login: str = typer.Argument(help="Login of a person of the organisation (`tgv org show`)."),
    subject: str | None = typer.Option(
        None, help="Number of the person at the provider; default: by the verified address."
    ),
    off: bool = typer.Option(False, "--off", help="No more; open sessions of the person end."),
    by: str = AS_OPTION,
) -> None:
    """Let a person come in through the OpenID Connect provider, or no more.

    A second person only while the checkpoint `walls` is green: `tgv run` measures it.
    """
    with opened() as installation:
        try:
            if off:
                sign_on.forbid(installation.database, login, by=by)
            else:
                provider = sign_on.provider_of(installation.settings)
                if provider is None:
                    raise typer.BadParameter("TGV_OIDC_ISSUER names no provider.")
                sign_on.allow(
                    installation.database, login, subject=subject, issuer=provider.issuer, by=by
                )
        except PasswordError as error:
            raise typer.BadParameter(str(error)) from error
        except GateClosed as error:
            _say_closed(error)
    out.print(f"{login} {'comes in no more' if off else 'may come in'} through the provider.")


def _say_closed(error: GateClosed) -> NoReturn:
    err.print(
        f"A second person may not sign in yet: {error}. `tgv run` measures the checkpoint.",
        style="red",
        markup=False,
    )
    raise typer.Exit(1) from error


@user_app.command("list")
def list_all() -> None:
    """List everybody with whether the pages let them in."""
    with opened() as installation:
        table = table_of("login", "name", "signs in", "roles", title="users")
        for user in passwords.list_users(installation.database):
            signs_in = "yes" if user.signs_in else "no"
            table.add_row(user.login, escape(user.name), signs_in, escape(", ".join(user.roles)))
        out.print(table)
