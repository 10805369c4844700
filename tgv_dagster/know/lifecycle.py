"""What people do to a filed document: trash and restore, level, entity and project, named persons.

Each act is one outcome over row, chunks, vectors and word index. Row, chunks and vectors change in
one transaction; the word index follows at once, or says why not yet and stays pending for the daily
run. A stale word hit shows nothing meanwhile: every hit is read again behind the walls. What does
not belong here: answering cases (`clarify.decisions`) and the erasure of a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import psycopg

from tgv_dagster.know.chunking import IndexFilter, chunk_settings, cut_document
from tgv_dagster.know.embedding import embed_from_cache
from tgv_dagster.know.wording import Followed, follow_now
from tgv_dagster.know.words import WordIndex
from tgv_dagster.store import ledger, tuning
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.levels import Level, Role, is_known, rank_of
from tgv_dagster.store.persons import MOST_PERSONS, ids_of
from tgv_dagster.store.pull import NotNow, Unworkable, worker_name
from tgv_dagster.store.scope import Scope, ScopeError
from tgv_dagster.store.stages import Stage
from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.values import set_human_value, show_on_document


class DocumentNotFound(LookupError):
    """There is no such document for this reader."""


class DocumentChanged(RuntimeError):
    """Somebody changed the document between looking and acting; look again."""


class LooserThanCompartment(ValueError):
    """A document may be stricter than its compartment and never looser (FILE-02)."""


class NotAssignable(PermissionError):
    """The document cannot go there. One text for every reason, so that it hints at nothing."""

    def __init__(self) -> None:
        super().__init__("This document cannot be assigned there.")


class AlreadyHere(NotAssignable):
    """The same bytes are there already; raised only to who may see that document."""

    def __init__(self, document_id: int) -> None:
        super().__init__()
        self.document_id = document_id


class Part(StrEnum):
    """How far a view of the document has come."""

    DONE = "done"
    PENDING = "pending"


@dataclass(frozen=True, slots=True)
class LifecycleOutcome:
    """One act: the row is changed; vectors and word index are done, or pending with a reason."""

    document_id: int
    vectors: Part
    words: Part
    reason: str = ""

    @property
    def complete(self) -> bool:
        """Exactly the new version is findable, in both ways."""
        return self.vectors is Part.DONE and self.words is Part.DONE


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """The document as its reader saw it; what is done to it is done to exactly this."""

    document_id: int
    mandant_id: int | None
    entity: str | None
    project_code: str | None
    level: str | None
    state: str
    sha256: str
    part_role: str
    visible_from: datetime | None


_FACTS = (
    "SELECT id, mandant_id, entity, project_code, confidentiality_level, state, raw_sha256,"
    " part_role, visible_from FROM documents WHERE id = %s"
)


def seen(database: Database, scope: Scope, document_id: int) -> DocumentFacts:
    """The document, when the scope may change and see it. Raises ScopeError, DocumentNotFound."""
    scope.require(Role.EDITOR)
    with database.reading(scope) as connection:
        row = connection.execute(_FACTS, (document_id,)).fetchone()
    if row is None:
        raise DocumentNotFound(f"There is no document #{document_id}.")
    return DocumentFacts(*row)


def facts_of(connection: Connection, document_id: int) -> DocumentFacts | None:
    """The document as it is now, for whoever looked through the walls before."""
    row = connection.execute(_FACTS, (document_id,)).fetchone()
    return None if row is None else DocumentFacts(*row)


def hold(connection: Connection, facts: DocumentFacts) -> None:
    """Lock the row; what was allowed was allowed for what was seen. Raises DocumentChanged."""
    row = connection.execute(
        f"{_FACTS} FOR NO KEY UPDATE".encode(), (facts.document_id,)
    ).fetchone()
    if row is None or DocumentFacts(*row) != facts:
        raise DocumentChanged(f"Document #{facts.document_id} was changed just now; look again.")


def _tell(
    connection: Connection, scope: Scope, facts: DocumentFacts, kind: str, payload: dict[str, Any]
) -> None:
    """The word index has to follow, and the account says who did what."""
    ledger.enqueue(connection, Stage.WORDS, [facts.document_id], again=True)
    record(
        connection,
        Event(
            kind=kind,
            author=scope.principal,
            is_human=True,
            object=f"document:{facts.document_id}",
            reason=kind.replace(".", " ").replace("_", " "),
            entity=facts.entity,
            mandant_id=facts.mandant_id,
            payload=payload,
        ),
    )


def _outcome(
    database: Database, words: WordIndex, document_id: int, vectors: Followed | None = None
) -> LifecycleOutcome:
    vectors = vectors or Followed(True)
    followed = follow_now(database, words, [document_id])
    reasons = [part.reason for part in (vectors, followed) if not part.done]
    return LifecycleOutcome(
        document_id,
        vectors=Part.DONE if vectors.done else Part.PENDING,
        words=Part.DONE if followed.done else Part.PENDING,
        reason="; ".join(reasons),
    )


# --- trash -------------------------------------------------------------------------------------


def remove_document(
    database: Database, words: WordIndex, scope: Scope, document_id: int
) -> LifecycleOutcome:
    """Put a document into the trash: it keeps row, number and bytes and loses every index entry.

    Repeating it changes nothing. Raises ScopeError, DocumentNotFound, DocumentChanged.
    """
    facts = seen(database, scope, document_id)
    with database.worker() as connection:
        put_into_trash(connection, scope, facts)
    return _outcome(database, words, document_id)


def put_into_trash(connection: Connection, scope: Scope, facts: DocumentFacts) -> None:
    """Trash what was seen, in the caller's transaction. Raises DocumentChanged."""
    hold(connection, facts)
    if facts.state == "trashed":
        return
    connection.execute(
        "UPDATE documents SET state = 'trashed', index_filter = %s,"
        " version = version + 1, updated_at = now() WHERE id = %s",
        (IndexFilter.NOT_ACTIVE, facts.document_id),
    )
    _tell(connection, scope, facts, "document.trashed", {"from": facts.state})


def restore_document(
    database: Database, words: WordIndex, scope: Scope, document_id: int
) -> LifecycleOutcome:
    """Take a document out of the trash; its chunks are cut anew and its vectors come from the
    cache, else they are pending until the embed stage runs. What a gate held is held again.

    Raises ScopeError, DocumentNotFound, DocumentChanged.
    """
    facts = seen(database, scope, document_id)
    if facts.state != "trashed":
        return _outcome(database, words, document_id)
    with database.worker() as connection:
        state = take_out_of_trash(connection, scope, facts)
    made = _cut_and_embed(database, document_id) if state == "active" else None
    return _outcome(database, words, document_id, made)


def take_out_of_trash(connection: Connection, scope: Scope, facts: DocumentFacts) -> str:
    """Restore what was seen, in the caller's transaction; returns its state. Chunks are pending.

    Raises DocumentChanged.
    """
    hold(connection, facts)
    row = connection.execute(
        "UPDATE documents SET version = version + 1, updated_at = now(),"
        " state = CASE WHEN held_gate IS NULL THEN 'active' ELSE 'held' END"
        " WHERE id = %s RETURNING state",
        (facts.document_id,),
    ).fetchone()
    assert row is not None
    if row[0] == "active":
        ledger.enqueue(connection, Stage.CHUNK, [facts.document_id], again=True)
    _tell(connection, scope, facts, "document.restored", {"to": row[0]})
    return str(row[0])


def _cut_and_embed(database: Database, document_id: int) -> Followed:
    with database.worker() as connection:
        claims = ledger.claim(
            connection, Stage.CHUNK, limit=1, worker=worker_name(), subjects=[document_id]
        )
    settings = chunk_settings(tuning.load(database))
    for claim in claims:
        try:
            cut_document(database, claim, settings)
        except (NotNow, Unworkable, ledger.ClaimLost) as error:
            with database.worker() as connection:
                ledger.give_back(connection, claims)
            return Followed(False, f"its chunks wait for the next run: {error}")
    if not claims or not embed_from_cache(database, document_id):
        return Followed(False, "its vectors wait for the next run of the embed stage")
    return Followed(True)


# --- level -------------------------------------------------------------------------------------


def change_level(
    database: Database, words: WordIndex, scope: Scope, document_id: int, level: Level
) -> LifecycleOutcome:
    """Set the confidentiality level as a person's decision. A looser one needs a tenant manager.

    Raises ScopeError, DocumentNotFound, DocumentChanged, LooserThanCompartment.
    """
    facts = seen(database, scope, document_id)
    if level.rank < rank_of(facts.level):
        scope.require(Role.MANDANT_ADMIN)
    with database.worker() as connection:
        set_level(connection, scope, facts, level)
    return _outcome(database, words, document_id)


def set_level(
    connection: Connection,
    scope: Scope,
    facts: DocumentFacts,
    level: Level,
    *,
    card_id: int | None = None,
) -> None:
    """Set the level of what was seen, in the caller's transaction; who may is asked before.

    Raises DocumentChanged, LooserThanCompartment.
    """
    document_id = facts.document_id
    hold(connection, facts)
    floor = _compartment_level(connection, document_id)
    if floor is not None and level.rank < rank_of(floor):
        raise LooserThanCompartment(
            f"The compartment of document #{document_id} is {floor}; a file is never looser."
        )
    set_human_value(
        connection,
        document_id,
        Field.CONFIDENTIALITY_LEVEL,
        str(level),
        by=scope.principal,
        card_id=card_id,
    )
    show_on_document(connection, document_id)
    if facts.level is None:
        ledger.enqueue(connection, Stage.FILE, [document_id], again=True)
    _tell(
        connection,
        scope,
        facts,
        "document.level_changed",
        {"from": facts.level if is_known(facts.level) else None, "to": str(level)},
    )


def _compartment_level(connection: Connection, document_id: int) -> str | None:
    row = connection.execute(
        "SELECT c.default_level FROM documents d JOIN compartments c ON c.id = d.compartment_id"
        " WHERE d.id = %s",
        (document_id,),
    ).fetchone()
    return None if row is None else row[0]


# --- entity, project, tenant -------------------------------------------------------------------


def assign(
    database: Database,
    words: WordIndex,
    scope: Scope,
    document_id: int,
    *,
    entity: str | None = None,
    project_code: str | None = None,
) -> LifecycleOutcome:
    """Give a document to an entity and a project; its tenant follows from the entity (MOVE-05).

    None leaves an axis as it is; a project of another entity is dropped. Whoever moves a document
    into another tenant needs the right to write in both. Raises ScopeError, DocumentNotFound,
    DocumentChanged, NotAssignable, AlreadyHere.
    """
    place = place_for(database, scope, document_id, entity=entity, project_code=project_code)
    try:
        with database.worker() as connection:
            set_place(connection, scope, place)
    except psycopg.errors.UniqueViolation:
        raise not_assignable(database, place.target, place.facts) from None
    return _outcome(database, words, document_id)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a document as seen may go: entity and project, in a scope that writes there."""

    facts: DocumentFacts
    target: Scope
    entity: str
    project: str | None


def place_for(
    database: Database,
    scope: Scope,
    document_id: int,
    *,
    entity: str | None,
    project_code: str | None,
) -> Place:
    """The place an assignment means, through the walls of both sides.

    Raises ScopeError, DocumentNotFound, NotAssignable.
    """
    facts = seen(database, scope, document_id)
    entity = entity or facts.entity
    if entity is None:
        raise NotAssignable
    target = _target_scope(database, scope, facts, entity)
    project = _project(database, target, facts, entity, project_code)
    return Place(facts, target, entity, project)


def set_place(
    connection: Connection, scope: Scope, place: Place, *, card_id: int | None = None
) -> None:
    """Put the document there, in the caller's transaction.

    Raises DocumentChanged, and UniqueViolation when the same bytes stand there already.
    """
    facts, by = place.facts, scope.principal
    document_id = facts.document_id
    hold(connection, facts)
    if place.entity != facts.entity:
        set_human_value(connection, document_id, Field.ENTITY, place.entity, by=by, card_id=card_id)
    if place.project != facts.project_code:
        set_human_value(
            connection, document_id, Field.PROJECT_CODE, place.project, by=by, card_id=card_id
        )
    show_on_document(connection, document_id)
    carry_along(connection, document_id)
    ledger.enqueue(connection, Stage.DEEPEN, [document_id], again=True)
    payload = {"from": facts.entity, "to": place.entity, "project_code": place.project}
    _tell(connection, scope, facts, "document.assigned", payload)


def _target_scope(database: Database, scope: Scope, facts: DocumentFacts, entity: str) -> Scope:
    """The scope in which the entity may be written. Raises NotAssignable."""
    if _sees_entity(database, scope, entity):
        return scope
    with database.worker() as connection:
        row = connection.execute(
            "SELECT m.slug, m.id FROM entities e JOIN mandanten m ON m.id = e.mandant_id"
            " WHERE e.slug = %s",
            (entity,),
        ).fetchone()
    if row is None or row[1] == facts.mandant_id:
        raise NotAssignable
    try:
        target = Scope.for_principal(
            database,
            scope.principal,
            mandant=row[0],
            source=scope.source,
            include_test=scope.include_test,
        )
        target.require(Role.EDITOR)
    except ScopeError:
        raise NotAssignable from None
    if not _sees_entity(database, target, entity):
        raise NotAssignable
    return target


def _sees_entity(database: Database, scope: Scope, entity: str) -> bool:
    with database.reading(scope) as connection:
        row = connection.execute("SELECT 1 FROM entities WHERE slug = %s", (entity,)).fetchone()
    return row is not None


def _project(
    database: Database, target: Scope, facts: DocumentFacts, entity: str, wanted: str | None
) -> str | None:
    """The project after the assignment. Raises NotAssignable for one of another entity."""
    asked = wanted or facts.project_code
    if asked is None:
        return None
    with database.reading(target) as connection:
        row = connection.execute(
            "SELECT 1 FROM prf_projects WHERE project_code = %s AND entity_key = %s",
            (asked, entity),
        ).fetchone()
    if row is not None:
        return asked
    if wanted is not None:
        raise NotAssignable
    return None


def carry_along(connection: Connection, document_id: int) -> None:
    """What repeats entity and tenant of a document beside its chunks and vectors."""
    document = (document_id,)
    connection.execute(
        "UPDATE prf_contracts c SET entity = d.entity FROM documents d"
        " WHERE d.id = %s AND c.document_id = d.id AND c.entity IS DISTINCT FROM d.entity",
        document,
    )
    connection.execute(
        "UPDATE contract_positions p SET entity = c.entity FROM prf_contracts c"
        " WHERE c.id = p.contract_id AND c.document_id = %s AND p.entity IS DISTINCT FROM c.entity",
        document,
    )
    connection.execute(
        "UPDATE cases SET entity = d.entity, mandant_id = d.mandant_id FROM documents d"
        " WHERE d.id = %s AND cases.document_id = d.id"
        " AND (cases.entity, cases.mandant_id) IS DISTINCT FROM (d.entity, d.mandant_id)",
        document,
    )
    connection.execute(
        "UPDATE threads t SET entity = c.entity, mandant_id = c.mandant_id FROM cases c"
        " WHERE c.thread_id = t.id AND c.document_id = %s",
        document,
    )
    connection.execute(
        "WITH left_behind AS (DELETE FROM embedding_cache e USING documents d WHERE d.id = %s"
        "   AND e.document_id = d.id AND e.mandant_id <> d.mandant_id"
        "   RETURNING e.space_id, d.mandant_id, e.content_sha256, e.emb, e.document_id)"
        " INSERT INTO embedding_cache (space_id, mandant_id, content_sha256, emb, document_id)"
        " SELECT * FROM left_behind ON CONFLICT DO NOTHING",
        document,
    )


def not_assignable(database: Database, target: Scope, facts: DocumentFacts) -> NotAssignable:
    """The same bytes stand there: told only to who may see that document."""
    with database.reading(target) as connection:
        row = connection.execute(
            "SELECT id FROM documents WHERE raw_sha256 = %s AND part_role = %s AND id <> %s"
            " ORDER BY id LIMIT 1",
            (facts.sha256, facts.part_role, facts.document_id),
        ).fetchone()
    return NotAssignable() if row is None else AlreadyHere(row[0])


# --- persons and release -----------------------------------------------------------------------


def set_access(
    database: Database,
    words: WordIndex,
    scope: Scope,
    document_id: int,
    *,
    persons: Sequence[str],
    circle: Sequence[str] = (),
    visible_from: datetime | None,
) -> LifecycleOutcome:
    """Name exactly these persons (logins) and the moment of release (UPL-17); None = at once.

    `persons` see the document above their ceiling and before its release. With a `circle` nobody
    else sees it but these, those and who manages the tenant. A further person, a circle that falls
    or an earlier release opens the document and needs a tenant manager. Raises ScopeError,
    DocumentNotFound, DocumentChanged, NotAssignable for a person outside the tenant, ValueError
    for too many persons or a moment without zone.
    """
    if len({*persons, *circle}) > MOST_PERSONS:
        raise ValueError(f"At most {MOST_PERSONS} persons can be named for one document.")
    if visible_from is not None and visible_from.tzinfo is None:
        raise ValueError("The moment of release needs a time zone.")
    facts = seen(database, scope, document_id)
    with database.worker() as connection:
        hold(connection, facts)
        before = _persons_of_tenant(connection, facts, persons)
        inside = _persons_of_tenant(connection, facts, circle)
        if _opens(connection, facts, before, inside, scope.user_id) or _opens_earlier(
            facts.visible_from, visible_from
        ):
            scope.require(Role.MANDANT_ADMIN)
        wanted = before | inside
        connection.execute(
            "DELETE FROM document_access WHERE document_id = %s AND user_id <> ALL (%s)",
            (document_id, list(wanted)),
        )
        for user_id in sorted(wanted):
            connection.execute(
                "INSERT INTO document_access (document_id, user_id, granted_by, in_circle,"
                " before_release) VALUES (%s, %s, %s, %s, %s)"
                " ON CONFLICT (document_id, user_id) DO UPDATE SET"
                " in_circle = excluded.in_circle, before_release = excluded.before_release",
                (document_id, user_id, scope.principal, user_id in inside, user_id in before),
            )
        connection.execute(
            "UPDATE documents SET visible_from = %s, version = version + 1, updated_at = now()"
            " WHERE id = %s",
            (visible_from, document_id),
        )
        payload = {
            "persons": sorted(before),
            "circle": sorted(inside),
            "visible_from": None if visible_from is None else visible_from.isoformat(),
        }
        _tell(connection, scope, facts, "document.access_changed", payload)
    return _outcome(database, words, document_id)


def _opens_earlier(before: datetime | None, after: datetime | None) -> bool:
    return before is not None and (after is None or after < before)


def _opens(
    connection: Connection, facts: DocumentFacts, before: set[int], inside: set[int], by: int
) -> bool:
    """Whether anybody but `by`, who sees it, would see more than now; the release apart."""
    rows = connection.execute(
        "SELECT user_id, in_circle, before_release FROM document_access WHERE document_id = %s",
        (facts.document_id,),
    ).fetchall()
    falls = any(in_circle for _, in_circle, _ in rows) and not inside
    earlier = before - {user_id for user_id, _, before_release in rows if before_release}
    return falls or bool(earlier or inside - {user_id for user_id, _, _ in rows} - {by})


def _persons_of_tenant(
    connection: Connection, facts: DocumentFacts, logins: Sequence[str]
) -> set[int]:
    wanted = set(logins)
    found = ids_of(connection, facts.mandant_id, sorted(wanted))
    if found.keys() != wanted:
        raise NotAssignable
    return set(found.values())
