"""Deeds of this room: taking an answer over, and giving a parked item another try.

Each is bound to its action in `vollzug`. Deeds about a document's place belong to `know.deeds`,
those about learned rules to `rules_of_tenant`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tgv_dagster.clarify import answering
from tgv_dagster.clarify.answering import Answer, Values
from tgv_dagster.clarify.approvals import Circumstance
from tgv_dagster.clarify.cases import CaseClosed, CaseNotFound, NotAnswerable
from tgv_dagster.clarify.decisions import put_back
from tgv_dagster.clarify.execution import Deed, Footing, Moved, Order, Receipt, Refused
from tgv_dagster.store import ledger
from tgv_dagster.store.actions import AnswerArguments, ReleaseArguments
from tgv_dagster.store.cases import CaseKind
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.levels import rank_of
from tgv_dagster.store.scope import Scope
from tgv_dagster.store.stages import Stage
from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.values import withdraw_human_values


def _values(arguments: AnswerArguments) -> Values:
    unknown = [name for name in arguments.values if name not in set(Field)]
    if unknown:
        raise NotAnswerable(f"There is no field {', '.join(unknown)[:200]}.")
    return {Field(name): value for name, value in arguments.values.items()}


def _look_at_answer(database: Database, scope: Scope, arguments: AnswerArguments) -> Footing:
    values = _values(arguments)
    answering.check_form(values)
    answering.check_rights(database, scope, arguments.document_id, values)
    with database.reading(scope) as connection:
        row = connection.execute(
            "SELECT entity, confidentiality_level FROM documents WHERE id = %s",
            (arguments.document_id,),
        ).fetchone()
    if row is None:
        raise CaseNotFound(f"There is no document #{arguments.document_id}.")
    level = values.get(Field.CONFIDENTIALITY_LEVEL)
    looser = level is not None and row[1] is not None and rank_of(level) < rank_of(row[1])
    return Footing({"entity": row[0]}, frozenset({Circumstance.LOOSER}) if looser else frozenset())


def _answer(connection: Connection, scope: Scope, order: Order) -> Receipt:
    assert isinstance(order.arguments, AnswerArguments)
    kind = connection.execute("SELECT kind FROM cases WHERE id = %s", (order.case_id,)).fetchone()
    given = Answer(
        case_id=order.case_id,
        document_id=order.arguments.document_id,
        values=_values(order.arguments),
        card_id=order.card_id,
        asked_only=kind is not None and kind[0] != CaseKind.APPROVAL,
    )
    try:
        still_open = answering.give(connection, scope, given)
    except (CaseClosed, NotAnswerable):
        raise Moved from None
    return Receipt({"values": order.arguments.values}, still_open)


def _take_answer_back(connection: Connection, _scope: Scope, order: Order) -> Mapping[str, Any]:
    """The machine's values are in force again, and what they leave open is asked again."""
    touched = withdraw_human_values(connection, order.card_id)
    ledger.enqueue(connection, Stage.DEEPEN, touched, again=True)
    ledger.enqueue(connection, Stage.TRIAGE, ledger.arrivals_of(connection, touched), again=True)
    return {"fields": sorted(str(field) for fields in touched.values() for field in fields)}


def _answer_may_loosen(arguments: AnswerArguments) -> frozenset[Circumstance]:
    if Field.CONFIDENTIALITY_LEVEL in arguments.values:
        return frozenset({Circumstance.LOOSER})
    return frozenset()


ANSWER = Deed(_look_at_answer, _answer, _take_answer_back, _answer_may_loosen)


def _look_at_parked(_database: Database, _scope: Scope, arguments: ReleaseArguments) -> Footing:
    if arguments.stage not in set(Stage):
        raise NotAnswerable("This case holds nothing back.")
    return Footing()


def _release(connection: Connection, _scope: Scope, order: Order) -> Receipt:
    assert isinstance(order.arguments, ReleaseArguments)
    stage = Stage(order.arguments.stage)
    row = connection.execute(
        "SELECT state FROM flow_ledger WHERE stage = %s AND generation = 0 AND subject_id = %s",
        (stage, order.arguments.subject_id),
    ).fetchone()
    if row is not None and row[0] not in ("parked", "held"):
        raise Refused("the item is not set aside any more")
    put_back(connection, stage, order.arguments.subject_id)
    return Receipt({"stage": str(stage)})


RELEASE = Deed(_look_at_parked, _release)
