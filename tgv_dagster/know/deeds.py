"""Deeds about the place of a document: level, entity and project, folder, trash.

Each looks through the walls of the person and does, in the executor's transaction, what `lifecycle`
does for a direct act. They are bound to their actions in `vollzug`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg

from tgv_dagster.clarify.approvals import Circumstance
from tgv_dagster.clarify.execution import Deed, Footing, Moved, Order, Receipt, Refused
from tgv_dagster.file.compartments import compartment_for
from tgv_dagster.know import lifecycle
from tgv_dagster.know.lifecycle import DocumentChanged, DocumentFacts, NotAssignable, Place
from tgv_dagster.store import ledger
from tgv_dagster.store.actions import (
    AssignArguments,
    DocumentArguments,
    FolderArguments,
    LevelArguments,
)
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.levels import Level, rank_of
from tgv_dagster.store.scope import Scope
from tgv_dagster.store.stages import Stage
from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.values import (
    set_human_value,
    withdraw_human_values,
)

LOOSER = frozenset({Circumstance.LOOSER})


def _basis(facts: DocumentFacts) -> dict[str, Any]:
    return {
        "mandant_id": facts.mandant_id,
        "entity": facts.entity,
        "project_code": facts.project_code,
        "level": facts.level,
        "state": facts.state,
    }


def _facts(connection: Connection, order: Order, document_id: int) -> DocumentFacts:
    """The document as it is now, held; Moved when it is not what the executor looked at."""
    facts = lifecycle.facts_of(connection, document_id)
    if facts is None or _basis(facts) != dict(order.basis):
        raise Moved
    try:
        lifecycle.hold(connection, facts)
    except DocumentChanged:
        raise Moved from None
    return facts


def _take_back(connection: Connection, _scope: Scope, order: Order) -> Mapping[str, Any]:
    """Exactly the values this card wrote; what follows from the document is worked out again."""
    touched = withdraw_human_values(connection, order.card_id)
    for document_id in touched:
        lifecycle.carry_along(connection, document_id)
    for stage in (Stage.DEEPEN, Stage.WORDS):
        ledger.enqueue(connection, stage, touched, again=True)
    return {"fields": sorted(str(field) for fields in touched.values() for field in fields)}


# --- level -------------------------------------------------------------------------------------


def _look_at_level(database: Database, scope: Scope, arguments: LevelArguments) -> Footing:
    facts = lifecycle.seen(database, scope, arguments.document_id)
    looser = rank_of(arguments.level) < rank_of(facts.level)
    return Footing(_basis(facts), LOOSER if looser else frozenset())


def _set_level(connection: Connection, scope: Scope, order: Order) -> Receipt:
    assert isinstance(order.arguments, LevelArguments)
    facts = _facts(connection, order, order.arguments.document_id)
    level = Level(order.arguments.level)
    try:
        lifecycle.set_level(connection, scope, facts, level, card_id=order.card_id)
    except lifecycle.LooserThanCompartment as refused:
        raise Refused(str(refused)) from refused
    return Receipt({"from": facts.level, "to": str(level)})


CHANGE_LEVEL = Deed(_look_at_level, _set_level, _take_back, lambda _arguments: LOOSER)


# --- entity and project ------------------------------------------------------------------------


def _place(database: Database, scope: Scope, arguments: AssignArguments) -> Place:
    return lifecycle.place_for(
        database,
        scope,
        arguments.document_id,
        entity=arguments.entity,
        project_code=arguments.project_code,
    )


def _look_at_place(database: Database, scope: Scope, arguments: AssignArguments) -> Footing:
    place = _place(database, scope, arguments)
    with database.reading(place.target) as connection:
        row = connection.execute(
            "SELECT mandant_id FROM entities WHERE slug = %s", (place.entity,)
        ).fetchone()
    if row is None:
        raise NotAssignable
    found: set[Circumstance] = set()
    if place.facts.mandant_id is not None and row[0] != place.facts.mandant_id:
        found.add(Circumstance.OTHER_TENANT)
    basis = _basis(place.facts) | {"to_entity": place.entity, "to_project": place.project}
    return Footing(basis, frozenset(found))


def _assign(connection: Connection, scope: Scope, order: Order) -> Receipt:
    assert isinstance(order.arguments, AssignArguments)
    target = {"entity": order.basis["to_entity"], "project": order.basis["to_project"]}
    seen = {name: value for name, value in order.basis.items() if not name.startswith("to_")}
    held = Order(order.card_id, order.case_id, order.document_id, order.arguments, seen)
    facts = _facts(connection, held, order.arguments.document_id)
    place = Place(facts, scope, target["entity"], target["project"])
    try:
        with connection.transaction():
            lifecycle.set_place(connection, scope, place, card_id=order.card_id)
    except psycopg.errors.UniqueViolation as error:
        raise Refused("the same bytes stand there already") from error
    return Receipt({"from": facts.entity, "to": place.entity, "project_code": place.project})


ASSIGN = Deed(_look_at_place, _assign, _take_back)


# --- folder ------------------------------------------------------------------------------------


def _look_at_folder(database: Database, scope: Scope, arguments: FolderArguments) -> Footing:
    facts = lifecycle.seen(database, scope, arguments.document_id)
    if facts.mandant_id is None or facts.entity is None:
        raise NotAssignable
    with database.reading(scope) as connection:
        found = compartment_for(connection, facts.mandant_id, facts.entity, arguments.folder)
        now = connection.execute(
            "SELECT c.default_level FROM documents d JOIN compartments c ON c.id = d.compartment_id"
            " WHERE d.id = %s",
            (arguments.document_id,),
        ).fetchone()
    if found is None or found.folder != arguments.folder:
        raise NotAssignable
    looser = now is not None and rank_of(found.default_level) < rank_of(now[0])
    return Footing(_basis(facts), LOOSER if looser else frozenset())


def _file_under(connection: Connection, scope: Scope, order: Order) -> Receipt:
    assert isinstance(order.arguments, FolderArguments)
    facts = _facts(connection, order, order.arguments.document_id)
    set_human_value(
        connection,
        facts.document_id,
        Field.FOLDER,
        order.arguments.folder,
        by=scope.principal,
        card_id=order.card_id,
    )
    ledger.enqueue(connection, Stage.FILE, [facts.document_id], again=True)
    return Receipt({"folder": order.arguments.folder})


FILE_UNDER = Deed(_look_at_folder, _file_under, _take_back, lambda _arguments: LOOSER)


# --- trash -------------------------------------------------------------------------------------


def _look_at_document(database: Database, scope: Scope, arguments: DocumentArguments) -> Footing:
    return Footing(_basis(lifecycle.seen(database, scope, arguments.document_id)))


def _trash(connection: Connection, scope: Scope, order: Order) -> Receipt:
    assert isinstance(order.arguments, DocumentArguments)
    facts = _facts(connection, order, order.arguments.document_id)
    lifecycle.put_into_trash(connection, scope, facts)
    return Receipt({"from": facts.state, "to": "trashed"})


def _untrash(connection: Connection, scope: Scope, order: Order) -> Mapping[str, Any]:
    assert isinstance(order.arguments, DocumentArguments)
    facts = lifecycle.facts_of(connection, order.arguments.document_id)
    if facts is None or facts.state != "trashed":
        return {}
    return {"to": lifecycle.take_out_of_trash(connection, scope, facts)}


TRASH = Deed(_look_at_document, _trash, _untrash)


def _restore(connection: Connection, scope: Scope, order: Order) -> Receipt:
    assert isinstance(order.arguments, DocumentArguments)
    facts = _facts(connection, order, order.arguments.document_id)
    if facts.state != "trashed":
        raise Refused("the document is not in the trash")
    return Receipt({"to": lifecycle.take_out_of_trash(connection, scope, facts)})


RESTORE = Deed(_look_at_document, _restore)
