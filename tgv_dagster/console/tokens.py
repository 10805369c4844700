"""Commands for the tokens of the HTTP service: make, list, revoke."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import typer
from rich.markup import escape

from tgv_dagster.console.common import AS_OPTION, MANDANT_OPTION, opened, out, table_of
from tgv_dagster.web import tokens
from tgv_dagster.web.tokens import DEFAULT_LIFETIME, TokenError

token_app = typer.Typer(help="Tokens of the HTTP service.", no_args_is_help=True)


@contextmanager
def _clear() -> Iterator[None]:
    """A token that cannot be made or found is a wrong argument."""
    try:
        yield
    except TokenError as error:
        raise typer.BadParameter(str(error)) from error


@token_app.command("create")
def create(
    login: str = typer.Argument(help="Whose rights the token has."),
    mandant: str | None = MANDANT_OPTION,
    name: str = typer.Option("", help="What it is for, such as 'scanner in the hall'."),
    days: int = typer.Option(DEFAULT_LIFETIME.days, help="Days until it expires."),
    by: str = AS_OPTION,
) -> None:
    """Make a token and show it, this once."""
    with opened() as installation, _clear():
        made = tokens.create_token(
            installation.database,
            login,
            mandant=mandant,
            name=name,
            lifetime=timedelta(days=days),
            by=by,
        )
        out.print(made.text, markup=False)
        out.print(f"Token {made.id}, valid until {made.expires_at:%Y-%m-%d}; shown only now.")


@token_app.command("list")
def list_all() -> None:
    """List every token, newest first."""
    with opened() as installation:
        heads = ("token", "login", "tenant", "name", "expires", "state")
        table = table_of(*heads, title="tokens")
        for row in tokens.list_tokens(installation.database):
            expires = "never" if row.expires_at is None else f"{row.expires_at:%Y-%m-%d}"
            table.add_row(
                str(row.id), row.login, row.mandant or "all", escape(row.name), expires, row.state
            )
        out.print(table)


@token_app.command("revoke")
def revoke(
    token_id: int = typer.Argument(help="Number of the token, from `tgv token list`."),
    by: str = AS_OPTION,
) -> None:
    """Close a token at once."""
    with opened() as installation, _clear():
        revoked = tokens.revoke_token(installation.database, token_id, by=by)
        out.print("Revoked." if revoked else "It was revoked before.")
