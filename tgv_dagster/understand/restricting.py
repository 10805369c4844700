"""What an uploader said about a document: level, day, circle and rights (UPL-15, UPL-17).

Here belongs carrying it from the arrival to the document, once; what a person decided since stays.
Which level a text deserves belongs to `confidentiality`; who may read what belongs to the walls.
"""

from __future__ import annotations

from datetime import datetime

from tgv_dagster.store.db import Connection
from tgv_dagster.store.levels import rank_of
from tgv_dagster.store.persons import ids_of
from tgv_dagster.understand.evidence import Field, Origin
from tgv_dagster.understand.extracting import ArrivedBytes
from tgv_dagster.understand.values import as_text, effective_values, from_text, set_human_value


def restrict_as_asked(connection: Connection, document_id: int, arrived: ArrivedBytes) -> None:
    """Raise the level to the floor that was asked for, name the persons, keep the answers.

    It never loosens: a looser level than the content's is a decision of its own. Persons and day
    that somebody changed since stand as they were changed. The walls of the row are written anew,
    because a rebuild makes its row from nothing.
    """
    origin = arrived.origin
    if origin.level_floor is not None and arrived.uploader is not None:
        _raise_level(connection, document_id, origin.level_floor, arrived)
    changed = _changed_since(connection, document_id)
    if changed is None:
        _name_persons(connection, document_id, arrived)
    else:
        connection.execute(
            "UPDATE documents SET visible_from = %s WHERE id = %s", (changed[0], document_id)
        )
    connection.execute(
        "UPDATE documents SET (persons, circle) = (SELECT a.persons, a.circle"
        " FROM access_of_document(%s) a) WHERE id = %s",
        (document_id, document_id),
    )
    for name, answer in (origin.rights or {}).items():
        _answer(connection, document_id, Field(name), answer, arrived)


def _raise_level(
    connection: Connection, document_id: int, floor: str, arrived: ArrivedBytes
) -> None:
    level = effective_values(connection, document_id).get(Field.CONFIDENTIALITY_LEVEL)
    decided = level is not None and level.origin is Origin.HUMAN
    if decided or (level is not None and rank_of(level.text) >= rank_of(floor)):
        return
    _say(connection, document_id, Field.CONFIDENTIALITY_LEVEL, floor, arrived)


def _answer(
    connection: Connection, document_id: int, field: Field, answer: str, arrived: ArrivedBytes
) -> None:
    stated = effective_values(connection, document_id).get(field)
    if stated is None or stated.origin is not Origin.HUMAN:
        _say(connection, document_id, field, as_text(from_text(field, answer)), arrived)


def _say(
    connection: Connection,
    document_id: int,
    field: Field,
    text: str | None,
    arrived: ArrivedBytes,
) -> None:
    """The uploader's word, with the moment it was given."""
    said_at = arrived.origin.said_at
    moment = None if said_at is None else datetime.fromisoformat(said_at)
    assert arrived.uploader is not None
    set_human_value(connection, document_id, field, text, by=arrived.uploader, at=moment)


def _changed_since(connection: Connection, document_id: int) -> tuple[str | None] | None:
    """The day of release that a person set last, in a tuple; None when nobody changed anything."""
    row = connection.execute(
        "SELECT p.payload ->> 'visible_from' FROM agent_events e"
        " JOIN event_payloads p ON p.event_id = e.id"
        " WHERE e.kind = 'document.access_changed' AND e.object = %s ORDER BY e.id DESC LIMIT 1",
        (f"document:{document_id}",),
    ).fetchone()
    return None if row is None else (row[0],)


def _name_persons(connection: Connection, document_id: int, arrived: ArrivedBytes) -> None:
    """The uploader, whom neither level nor day keeps out, and the circle that was drawn."""
    origin = arrived.origin
    circle = tuple(origin.circle or ())
    if origin.level_floor is None and origin.visible_from is None and not circle:
        return
    connection.execute(
        "INSERT INTO document_access (document_id, user_id, granted_by, in_circle)"
        " SELECT %s, id, login, login = ANY (%s) FROM users WHERE login = %s AND NOT is_service"
        " ON CONFLICT DO NOTHING",
        (document_id, list(circle), arrived.uploader),
    )
    row = connection.execute(
        "SELECT mandant_id FROM documents WHERE id = %s", (document_id,)
    ).fetchone()
    named = ids_of(connection, None if row is None else row[0], circle)
    for user_id in sorted(named.values()):
        connection.execute(
            "INSERT INTO document_access (document_id, user_id, granted_by, in_circle,"
            " before_release) VALUES (%s, %s, %s, true, false) ON CONFLICT DO NOTHING",
            (document_id, user_id, arrived.uploader),
        )
