"""The register of what cards can do: each action bound to its deed (VOLLZUG_REGISTER, ACT-08).

Here rooms come together: a card may do what any of them offers. An action that is not bound here is
not executable, and its card says so. The doors (HTTP, console) call the functions of this module
and no others, with the rights of their caller (ACT-01).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tgv_dagster.bank import deeds as bank
from tgv_dagster.clarify import conversation, deeds, execution, rules_of_tenant
from tgv_dagster.clarify.execution import CardOutcome, CardRow, Deed, Executor
from tgv_dagster.installation import Installation
from tgv_dagster.know import deeds as place
from tgv_dagster.know.wording import follow_now
from tgv_dagster.store.actions import FORMS, Action
from tgv_dagster.store.scope import Scope
from tgv_dagster.tables import deeds as table

VOLLZUG_REGISTER: Mapping[Action, Deed] = {
    Action.ANSWER: deeds.ANSWER,
    Action.RELEASE: deeds.RELEASE,
    Action.CHANGE_LEVEL: place.CHANGE_LEVEL,
    Action.ASSIGN: place.ASSIGN,
    Action.FILE_UNDER: place.FILE_UNDER,
    Action.TRASH: place.TRASH,
    Action.RESTORE: place.RESTORE,
    Action.CONFIRM_ACCOUNT: bank.CONFIRM_ACCOUNT,
    Action.CONFIRM_TABLE: table.CONFIRM_TABLE,
    Action.READ_TABLE: table.READ_TABLE,
    Action.APPROVE_RULE: rules_of_tenant.APPROVE_RULE,
    Action.SWITCH_RULE_OFF: rules_of_tenant.SWITCH_RULE_OFF,
}


def executor_of(installation: Installation) -> Executor:
    """The executor over an open installation."""
    return Executor(installation.database, VOLLZUG_REGISTER)


def execute(
    installation: Installation, scope: Scope, card_id: int, *, choice: str | None = None
) -> CardOutcome:
    """Execute a card once; the word index follows at once or with the next run.

    Raises what `execution.execute` raises.
    """
    outcome = execution.execute(executor_of(installation), scope, card_id, choice=choice)
    return _followed(installation, outcome)


def withdraw(installation: Installation, scope: Scope, card_id: int, *, reason: str) -> CardOutcome:
    """Take back what a card did; raises what `execution.withdraw` raises."""
    outcome = execution.withdraw(executor_of(installation), scope, card_id, reason=reason)
    return _followed(installation, outcome)


def reject(installation: Installation, scope: Scope, card_id: int, *, reason: str) -> CardOutcome:
    """Refuse a proposal; raises what `execution.reject` raises."""
    return execution.reject(executor_of(installation), scope, card_id, reason=reason)


def get_card(installation: Installation, scope: Scope, card_id: int) -> CardRow:
    """One card; raises CardNotFound."""
    return execution.get_card(executor_of(installation), scope, card_id)


def propose_for_document(
    installation: Installation,
    scope: Scope,
    document_id: int,
    action: str,
    arguments: Mapping[str, Any],
) -> CardRow:
    """Propose a writing action about a document; nothing happens before a person executes it.

    Raises what `conversation.propose_for_document` raises.
    """
    executor = executor_of(installation)
    return conversation.propose_for_document(executor, scope, document_id, action, arguments)


def _followed(installation: Installation, outcome: CardOutcome) -> CardOutcome:
    if not outcome.repeated and outcome.card.document_id is not None:
        follow_now(installation.database, installation.words, [outcome.card.document_id])
    return outcome


def switch_rule_off(installation: Installation, scope: Scope, rule_id: int) -> CardOutcome:
    """Switch a learned rule off; raises what `rules_of_tenant.switch_off` raises."""
    return rules_of_tenant.switch_off(executor_of(installation), scope, rule_id)


def form_of(action: Action) -> dict[str, Any] | None:
    """The JSON schema of an action's arguments, None while the action has no form."""
    form = FORMS[action].arguments
    return None if form is None else form.model_json_schema()
