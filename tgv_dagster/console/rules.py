"""Commands for learned rules: list, propose what is missing, switch one off.

Approving a rule is executing the card of its case: `tgv cases list`, `tgv cases execute`.
"""

from __future__ import annotations

import json

import typer
from rich.markup import escape

from tgv_dagster import vollzug
from tgv_dagster.clarify import condensing, rules_of_tenant
from tgv_dagster.console.common import (
    AS_OPTION,
    MANDANT_OPTION,
    opened,
    out,
    person_scope,
    scope_of,
)

rules_app = typer.Typer(help="What the product learned from corrections.", no_args_is_help=True)


@rules_app.command("list")
def list_rules(login: str = AS_OPTION, mandant: str | None = MANDANT_OPTION) -> None:
    """List learned rules with scope, origin and what they set right now."""
    with opened() as installation:
        scope = scope_of(installation.database, login, mandant)
        found = rules_of_tenant.list_rules(installation.database, scope)
        for rule in found:
            when, then = json.dumps(rule.condition), json.dumps(rule.effect)
            out.print(f"{rule.name} · {rule.state} · case {rule.case_id}")
            out.print(f"  when {escape(when)} then {escape(then)}")
            out.print(
                f"  scope {escape(json.dumps(rule.scope))} · learned from"
                f" {len(rule.origin.get('documents', []))} documents ·"
                f" {rule.values_in_force} values in force"
            )
        if not found:
            out.print("No learned rules.")


@rules_app.command("propose")
def propose(login: str = AS_OPTION, mandant: str | None = MANDANT_OPTION) -> None:
    """Propose every rule that follows from corrections and does not stand yet."""
    with opened() as installation:
        scope = scope_of(installation.database, login, mandant)
        rules_of_tenant.list_rules(installation.database, scope)
        with installation.database.worker() as connection:
            made = condensing.propose_rules(connection, mandant_id=scope.mandant_id)
        out.print(f"{len(made)} rules proposed; `tgv cases list` shows their cases.")


@rules_app.command("off")
def off(rule_id: int, login: str = AS_OPTION, mandant: str | None = MANDANT_OPTION) -> None:
    """Switch one rule off; what it set is taken back, what it answered is asked again."""
    with opened() as installation:
        scope = person_scope(installation.database, login, mandant)
        outcome = vollzug.switch_rule_off(installation, scope, rule_id)
        out.print(escape(json.dumps(outcome.card.result, ensure_ascii=False)))
