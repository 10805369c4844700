"""Which filter keeps a document out of the index, in words (FILE-08).

The filter stands in `documents.index_filter`, written by the stage that leaves a document out: the
file stage for what is not decided, the chunk stage for everything else. A document that is simply
not that far yet has no filter and is listed as on its way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tgv_dagster.store.db import Database
from tgv_dagster.store.scope import Scope

MOST_NAMED = 20

SAYS: Mapping[str, tuple[str, str, str]] = {
    "not_active": (
        "Im Papierkorb oder angehalten",
        "À la corbeille ou retenu",
        "In the trash or held",
    ),
    "no_tenant": ("Kein Mandant entschieden", "Aucun mandant décidé", "No tenant is decided"),
    "no_entity": ("Keine Einheit entschieden", "Aucune entité décidée", "No entity is decided"),
    "no_level": ("Keine Stufe entschieden", "Aucun niveau décidé", "No level is decided"),
    "no_text": ("Kein Text gefunden", "Aucun texte trouvé", "No text was found"),
    "on_its_way": ("Noch nicht so weit", "Pas encore arrivé là", "Not that far yet"),
}
_NOT_DECIDED = "not decided: "


@dataclass(frozen=True, slots=True)
class Unindexed:
    """One filter with the documents of the reader that it keeps out."""

    filter: str
    de: str
    fr: str
    en: str
    documents: int
    newest: tuple[int, ...]


def list_unindexed(database: Database, scope: Scope) -> tuple[Unindexed, ...]:
    """Every filter that keeps a document of this scope out, most first; one statement."""
    with database.reading(scope) as connection:
        rows = connection.execute(
            """
            SELECT filter, count(*), (array_agg(id ORDER BY id DESC))[1:%s] FROM (
                SELECT d.id, coalesce(d.index_filter,
                    CASE WHEN d.state <> 'active' THEN 'not_active' ELSE 'on_its_way' END) AS filter
                FROM documents d
                WHERE NOT EXISTS (SELECT 1 FROM rag_chunks c
                    WHERE c.document_id = d.id AND c.active)) out
            GROUP BY filter ORDER BY count(*) DESC, filter
            """,
            (MOST_NAMED,),
        ).fetchall()
    return tuple(Unindexed(name, *says(name), count, tuple(ids)) for name, count, ids in rows)


def says(name: str) -> tuple[str, str, str]:
    """A filter in German, French and English; one nobody knows is shown as it stands."""
    if name.startswith(_NOT_DECIDED):
        missing = name.removeprefix(_NOT_DECIDED)
        return (
            f"Nicht entschieden: {missing}",
            f"Non décidé : {missing}",
            f"Not decided: {missing}",
        )
    return SAYS.get(name, (name, name, name))
