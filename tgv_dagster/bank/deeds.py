"""The deed of the account card: a person takes a proposed account over for an entity.

Bound to its action in `vollzug`. Not here: the account master itself (`accounts`).
"""

from __future__ import annotations

from tgv_dagster.bank import accounts, flowing
from tgv_dagster.clarify.cases import CaseNotFound, NotAnswerable
from tgv_dagster.clarify.execution import Deed, Footing, Moved, Order, Receipt, Refused
from tgv_dagster.store.actions import AccountArguments
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.scope import Scope


def _look(database: Database, scope: Scope, arguments: AccountArguments) -> Footing:
    with database.reading(scope) as connection:
        account = connection.execute(
            "SELECT proposed_at IS NOT NULL AND confirmed_by IS NULL AND NOT active"
            " FROM md_accounts WHERE id = %s",
            (arguments.account_id,),
        ).fetchone()
        entity = connection.execute(
            "SELECT 1 FROM entities WHERE slug = %s", (arguments.entity,)
        ).fetchone()
    if account is None:
        raise CaseNotFound(f"There is no account {arguments.account_id}.")
    if entity is None:
        raise NotAnswerable("This entity is not among those you may see.")
    return Footing({**accounts.basis_of(arguments.account_id), "proposed": account[0]})


def _confirm(connection: Connection, scope: Scope, order: Order) -> Receipt:
    assert isinstance(order.arguments, AccountArguments)
    account_id = order.arguments.account_id
    still = connection.execute(
        "SELECT 1 FROM md_accounts WHERE id = %s AND confirmed_by IS NULL AND NOT active"
        " FOR UPDATE",
        (account_id,),
    ).fetchone()
    if still is None:
        raise Moved
    try:
        waiting = accounts.confirm(
            connection, account_id, entity=order.arguments.entity, author=scope.principal
        )
    except accounts.AccountError as error:
        raise Refused(str(error)) from error
    flowing.again(connection, waiting)
    return Receipt({"account": account_id, "entity": order.arguments.entity, "due": len(waiting)})


CONFIRM_ACCOUNT = Deed(_look, _confirm)
