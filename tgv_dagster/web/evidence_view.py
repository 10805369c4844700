"""The place in a document that shows a value: the text of its page, the span, boxes on the picture.

Reads only behind the walls. Does not belong here: drawing the picture (`rasterise`).
"""

from __future__ import annotations

from dataclasses import dataclass

from tgv_dagster.arrive.gates import PartRole
from tgv_dagster.store.db import Database
from tgv_dagster.store.scope import Scope
from tgv_dagster.understand.extracted import PageText
from tgv_dagster.understand.extracting import stored_extraction
from tgv_dagster.web.document_view import ShownValue
from tgv_dagster.web.rasterise import can_draw

AROUND = 1500
"""Characters of the page's text that are shown before and after the place."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in points from the top left of the page."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Place:
    """A page (from 1) with the marked text between what stands before and after it.

    `boxes` are empty where the format has no positions; `width` and `height` of the page in
    points. `pages`: how many there are. `has_picture`: the page can be drawn.
    """

    page: int
    pages: int
    before: str
    marked: str
    after: str
    boxes: tuple[Box, ...]
    width: float | None
    height: float | None
    has_picture: bool


def place_of(
    database: Database, scope: Scope, document_id: int, value: ShownValue | None, *, page: int = 1
) -> Place | None:
    """Where the value stands, or the page itself without one.

    What can be drawn has its first page even if nothing was read on it; None for the rest of it.
    """
    with database.reading(scope) as connection:
        row = connection.execute(
            "SELECT raw_sha256, part_role, coalesce(media_type, '') FROM documents WHERE id = %s",
            (document_id,),
        ).fetchone()
        extraction = (
            None if row is None else stored_extraction(connection, row[0], PartRole(row[1]))
        )
    if row is None:
        return None
    pictured = row[1] == PartRole.FILE and can_draw(row[2])
    if extraction is None or not extraction.pages:
        return _UNREAD if pictured else None
    wanted = value.source.page if value is not None and value.source.page is not None else page
    found = next((p for p in extraction.pages if p.number == wanted), extraction.pages[0])
    return _place(found, len(extraction.pages), value, has_picture=pictured)


_UNREAD = Place(1, 1, "", "", "", (), None, None, has_picture=True)


def _place(page: PageText, pages: int, value: ShownValue | None, *, has_picture: bool) -> Place:
    start, end = _span(page, value)
    boxes = page.locate(start, end) if end > start else ()
    return Place(
        page=page.number,
        pages=pages,
        before=page.text[max(0, start - AROUND) : start],
        marked=page.text[start:end],
        after=page.text[end : end + AROUND],
        boxes=tuple(Box(b.x0, b.y0, b.x1 - b.x0, b.y1 - b.y0) for b in boxes),
        width=page.width,
        height=page.height,
        has_picture=has_picture,
    )


def _span(page: PageText, value: ShownValue | None) -> tuple[int, int]:
    if value is None or value.source.page != page.number:
        return 0, 0
    start, end = value.source.start or 0, value.source.end or 0
    return (start, end) if 0 <= start < end <= len(page.text) else (0, 0)
