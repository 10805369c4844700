"""What an uploader asked for a document: at least this level, nobody before this day (UPL-17).

Here belongs carrying both from the arrival to the document. Which level a text deserves belongs to
`confidentiality`; who may read what belongs to the walls.
"""

from __future__ import annotations

from tgv_dagster.store.db import Connection
from tgv_dagster.store.levels import rank_of
from tgv_dagster.understand.evidence import Field, Origin
from tgv_dagster.understand.extracting import ArrivedBytes
from tgv_dagster.understand.values import effective_values, set_human_value


def restrict_as_asked(connection: Connection, document_id: int, arrived: ArrivedBytes) -> None:
    """Raise the level to the floor that was asked for, and keep the document with its uploader.

    It never loosens: a looser level than the content's is a decision of its own. What a person
    decided before stays. The named persons of the document are written anew, because a rebuild
    makes its row from nothing.
    """
    origin = arrived.origin
    if origin.level_floor is not None and arrived.uploader is not None:
        _raise_level(connection, document_id, origin.level_floor, arrived.uploader)
    if origin.level_floor is not None or origin.visible_from is not None:
        connection.execute(
            "INSERT INTO document_access (document_id, user_id, granted_by)"
            " SELECT %s, id, login FROM users WHERE login = %s AND NOT is_service"
            " ON CONFLICT DO NOTHING",
            (document_id, arrived.uploader),
        )
    connection.execute(
        "UPDATE documents SET persons = coalesce((SELECT array_agg(user_id ORDER BY user_id)"
        " FROM document_access WHERE document_id = %s), '{}') WHERE id = %s",
        (document_id, document_id),
    )


def _raise_level(connection: Connection, document_id: int, floor: str, uploader: str) -> None:
    level = effective_values(connection, document_id).get(Field.CONFIDENTIALITY_LEVEL)
    decided = level is not None and level.origin is Origin.HUMAN
    if decided or (level is not None and rank_of(level.text) >= rank_of(floor)):
        return
    set_human_value(connection, document_id, Field.CONFIDENTIALITY_LEVEL, floor, by=uploader)
