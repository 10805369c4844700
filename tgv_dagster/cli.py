"""`tgv`: the console door, assembled from the commands of `tgv_dagster.console`."""

from __future__ import annotations

import typer

from tgv_dagster.console import (
    archive,
    asking,
    bank,
    cards,
    dropping,
    evaluating,
    exporting,
    mail,
    operate,
    people,
    rebuilding,
    rules,
    storage,
    tables,
    tokens,
    tuning,
    users,
)

app = typer.Typer(
    name="tgv",
    help="Touch once: document intake from the first byte to the knowledge base.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("run")(operate.run)
app.command("status")(operate.status)
app.command("search")(asking.ask)
app.command("import")(archive.import_command)
app.command("drop")(dropping.drop_command)
app.command("drop-questions")(dropping.questions_command)
app.command("export")(exporting.export_command)
app.command("evaluate")(evaluating.evaluate)
app.command("evaluate-own")(evaluating.evaluate_own)
app.add_typer(tuning.tuning_app, name="tuning")
app.add_typer(people.parked_app, name="parked")
app.add_typer(cards.cases_app, name="cases")
app.add_typer(rules.rules_app, name="rules")
app.add_typer(bank.bank_app, name="bank")
app.add_typer(people.org_app, name="org")
app.add_typer(mail.mail_app, name="mail")
app.add_typer(tables.tables_app, name="tables")
app.add_typer(tokens.token_app, name="token")
app.add_typer(users.user_app, name="user")
app.add_typer(storage.storage_app, name="storage")
app.add_typer(storage.duplicates_app, name="duplicates")
app.command("backup")(storage.backup)
app.command("chain")(storage.chain)
app.command("restore")(storage.restore)
app.command("rebuild")(rebuilding.rebuild_command)
app.command("switch")(rebuilding.switch_command)
app.command("doctor")(operate.doctor)
app.command("ui")(operate.ui)
app.command("serve")(operate.serve)
app.command("up")(operate.up)
app.command("down")(operate.down)


def main() -> None:
    """Entry point of the `tgv` command."""
    app()
