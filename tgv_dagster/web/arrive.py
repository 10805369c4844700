"""Routes of the arrive room: hand files over, and ask what became of them."""

from __future__ import annotations

from datetime import date, datetime, time
from typing import Annotated, Any, Literal

from annotated_types import MaxLen
from fastapi import APIRouter, Header, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from starlette.datastructures import FormData, UploadFile

from tgv_dagster.arrive import upload
from tgv_dagster.arrive.rights import QUESTIONS, Right
from tgv_dagster.arrive.upload import (
    MAX_FILES,
    ArrivalView,
    Drop,
    DroppedFile,
    NothingToTake,
    Queued,
    UploadGate,
    UploadStatus,
)
from tgv_dagster.store.levels import Level
from tgv_dagster.store.persons import MOST_PERSONS
from tgv_dagster.web.errors import InvalidForm, documented
from tgv_dagster.web.principals import Editor, Service, Viewer
from tgv_dagster.web.schemas import Number, ShortText, Slug, Text
from tgv_dagster.web.texts import ZONE

router = APIRouter(tags=["arrive"])

UPLOAD_PATH = "/api/upload"
FILES = "files"
PERSONS = "persons"
_MAX_FIELDS = 20 + MOST_PERSONS
YesOrNo = Literal["true", "false"]
_MAX_FIELD_BYTES = 64 * 1024


class UploadForm(BaseModel):
    """The fields beside the files."""

    model_config = ConfigDict(extra="forbid")

    intent: Text | None = None
    entity: Slug | None = None
    project: ShortText | None = None
    gate: UploadGate = UploadGate.UPLOAD
    level: Level | None = None
    visible_from: date | None = None
    persons: Annotated[list[ShortText], MaxLen(MOST_PERSONS)] = []
    rights_verbatim_ok: YesOrNo | None = None
    rights_copyright_holder: ShortText | None = None
    rights_model_release: YesOrNo | None = None
    rights_post_mortem: YesOrNo | None = None

    def answers(self) -> dict[Right, str]:
        """What was answered about rights."""
        given = ((right, getattr(self, right)) for right in Right)
        return {right: answer for right, answer in given if answer}


class QueuedOut(BaseModel):
    """The result for one file."""

    position: int
    name: str
    sent_name: str
    status: UploadStatus
    reason: str
    arrival_id: int | None
    document_id: int | None
    size: int | None
    sha256: str | None
    repeated: bool


class UploadOut(BaseModel):
    """The queue: one result per file, in the order they were sent."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "files": [
                    {
                        "position": 0,
                        "name": "image_20260302-090000_3f2a9c1b.jpg",
                        "sent_name": "image.jpg",
                        "status": "taken",
                        "reason": "",
                        "arrival_id": 12,
                        "document_id": None,
                        "size": 48211,
                        "sha256": "3f2a9c1b" + "0" * 56,
                        "repeated": False,
                    }
                ]
            }
        }
    )

    files: list[QueuedOut]


class ArrivalOut(BaseModel):
    """One arrival and how it ended."""

    arrival_id: int
    file_name: str
    gate: str
    received_at: datetime
    outcome: str
    reason: str | None
    document_id: int | None
    part_path: str | None


class ArrivalsOut(ArrivalOut):
    """An arrival with the parts that came out of it (of a mail, of an archive)."""

    parts: list[ArrivalOut]


_ASKED_OF = "What you know about rights; kept with files of these kinds: "

_FORM_SCHEMA: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": [FILES],
                    "properties": {
                        FILES: {
                            "type": "array",
                            "minItems": 1,
                            "maxItems": MAX_FILES,
                            "items": {"type": "string", "format": "binary"},
                        },
                        "intent": {
                            "type": "string",
                            "maxLength": 4000,
                            "description": "What should happen with the files.",
                            "example": "Final invoice for the Kita project.",
                        },
                        "entity": {
                            "type": "string",
                            "description": "Slug of an entity you may assign; a hint, the content"
                            " decides.",
                        },
                        "project": {"type": "string", "description": "Code of a project."},
                        "gate": {"type": "string", "enum": [str(gate) for gate in UploadGate]},
                        "level": {
                            "type": "string",
                            "enum": [str(level) for level in Level],
                            "description": "At least as confidential as this.",
                        },
                        "visible_from": {
                            "type": "string",
                            "format": "date",
                            "description": "Before this day only you and who manages the"
                            " tenant see it.",
                        },
                        PERSONS: {
                            "type": "array",
                            "maxItems": MOST_PERSONS,
                            "items": {"type": "string"},
                            "description": "Logins of the only persons who see it, besides you"
                            " and who manages the tenant; the level is then the strictest.",
                        },
                        **{
                            str(question.right): {
                                "type": "string",
                                "description": _ASKED_OF + ", ".join(question.kinds),
                                **({} if question.is_text else {"enum": ["true", "false"]}),
                            }
                            for question in QUESTIONS
                        },
                    },
                }
            }
        },
    }
}


@router.post(
    UPLOAD_PATH,
    status_code=202,
    summary="Hand over files",
    response_model=UploadOut,
    responses=documented(400, 401, 403, 413, 422, 503),
    openapi_extra=_FORM_SCHEMA,
)
async def hand_over(
    request: Request,
    service: Service,
    scope: Editor,
    idempotency_key: Annotated[
        str | None,
        Header(
            min_length=1,
            max_length=200,
            pattern=r"^[\x21-\x7e]+$",
            description="The same key with the same file is one act, however often it is sent.",
        ),
    ] = None,
) -> UploadOut:
    """Secure the files, raw first, and queue them. One result per file (UPL-08).

    The token is checked before the body is read; the body goes to disk in pieces.
    """
    async with request.form(
        max_files=MAX_FILES, max_fields=_MAX_FIELDS, max_part_size=_MAX_FIELD_BYTES
    ) as form:
        fields, files = _parts(form)
        drop = Drop(
            intent_text=fields.intent or None,
            entity=fields.entity,
            project_code=fields.project or None,
            gate=fields.gate,
            request_key=idempotency_key,
            level_floor=fields.level,
            visible_from=_start_of(fields.visible_from),
            circle=tuple(fields.persons),
            rights=fields.answers(),
        )
        queue = await run_in_threadpool(
            upload.take, service.database, service.blobs, scope, drop, files
        )
    return UploadOut(files=[_queued(result) for result in queue])


def _start_of(day: date | None) -> datetime | None:
    return None if day is None else datetime.combine(day, time.min, tzinfo=ZONE)


def _parts(form: FormData) -> tuple[UploadForm, list[DroppedFile]]:
    """The fields and files of a form; raises InvalidForm and NothingToTake."""
    files: list[DroppedFile] = []
    fields: dict[str, object] = {}
    persons: list[str] = []
    for name, value in form.multi_items():
        if isinstance(value, UploadFile):
            if name != FILES:
                raise NothingToTake(f"Send files in the form field `{FILES}`.")
            files.append(DroppedFile(value.filename or "", value.file))
        elif name == FILES:
            raise NothingToTake("A file needs a file name in its part of the form.")
        elif name == PERSONS:
            persons.append(value)
        elif name in fields:
            raise NothingToTake("A field stands twice in the form.")
        elif value:
            fields[name] = value
    try:
        named = [person for person in persons if person]
        return _FORM.validate_python(fields | {PERSONS: named}), files
    except ValidationError as error:
        raise InvalidForm(error) from error


_FORM = TypeAdapter(UploadForm)


def _queued(result: Queued) -> QueuedOut:
    return QueuedOut.model_validate(result, from_attributes=True)


@router.get(
    "/api/arrivals/{arrival_id}",
    summary="What became of an arrival",
    response_model=ArrivalsOut,
    responses=documented(401, 404, 422, 503),
)
def arrival(arrival_id: Number, service: Service, scope: Viewer) -> ArrivalsOut:
    """The outcome of an arrival you sent or may see, with the parts that came out of it."""
    view, parts = upload.arrival_views(service.database, scope, arrival_id)
    return ArrivalsOut(**_arrival(view).model_dump(), parts=[_arrival(part) for part in parts])


def _arrival(view: ArrivalView) -> ArrivalOut:
    return ArrivalOut.model_validate(view, from_attributes=True)
