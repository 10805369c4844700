"""Pages of the arrive room: the drop, and the queue with a status per file (UPL-01 to UPL-12).

The files themselves go to `POST /api/upload`, which programs use too; this page only shows what
became of them. Does not belong here: taking files.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from tgv_dagster.arrive import upload
from tgv_dagster.arrive.rights import MAX_HOLDER_CHARACTERS, FileKind, Question, asked
from tgv_dagster.arrive.upload import MAX_FILES, MAX_INTENT_CHARACTERS
from tgv_dagster.installation import Installation
from tgv_dagster.store.persons import persons_of
from tgv_dagster.web import pages
from tgv_dagster.web.choices import choices_of
from tgv_dagster.web.principals import Editor, Service, Viewer

router = APIRouter(include_in_schema=False)

SHOWN = 30


@router.get("/drop")
def drop(request: Request, service: Service, scope: Editor) -> HTMLResponse:
    """The composer: files, what should happen with them, and what became of the last ones."""
    return pages.render(
        request,
        "drop.html",
        choices=choices_of(service.database, scope),
        persons=persons_of(service.database, scope),
        questions=_questions(service),
        most_holder=MAX_HOLDER_CHARACTERS,
        most_files=MAX_FILES,
        most_characters=MAX_INTENT_CHARACTERS,
        most_megabytes=service.settings.max_upload_mb,
        arrivals=upload.recent_views(service.database, scope, limit=SHOWN),
    )


def _questions(service: Installation) -> tuple[tuple[FileKind, tuple[Question, ...]], ...]:
    """The questions about rights for each kind of file that a browser can tell apart (UPL-14)."""
    with service.database.worker() as connection:
        on = asked(connection)
    kinds = (kind for kind in FileKind if kind is not FileKind.CONTAINER)
    return tuple((kind, tuple(q for q in on if kind in q.kinds)) for kind in kinds)


@router.get("/drop/queue")
def queue(request: Request, service: Service, scope: Viewer) -> HTMLResponse:
    """The queue alone, for the page that asks again while something is under way."""
    arrivals = upload.recent_views(service.database, scope, limit=SHOWN)
    return pages.render(request, "_queue.html", arrivals=arrivals)
