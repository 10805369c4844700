"""Routes of mail intake: poll, backfill, drop, and marking named mails as seen (MAIL-02 to 24).

Belongs here: roles, defaults, the form of requests and answers, and what goes to the background.
Does not belong here: any decision about mails; `tgv_dagster.mailing` makes them for all doors.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, Field
from starlette.datastructures import UploadFile

from tgv_dagster import mailing
from tgv_dagster.arrive.mail_drop import drop_mails
from tgv_dagster.arrive.mailbox import MailReport
from tgv_dagster.arrive.mark_seen import MAX_NAMED
from tgv_dagster.arrive.upload import MAX_FILES, Drop, DroppedFile, NothingToTake
from tgv_dagster.web.arrive import FILES, UploadOut
from tgv_dagster.web.errors import documented
from tgv_dagster.web.principals import Editor, Owner, Service

router = APIRouter(prefix="/api/skills", tags=["mail"])

DROP_PATH = "/api/skills/mail-drop"
_MAX_FIELD_BYTES = 64 * 1024

Uid = Annotated[int, Field(ge=1, lt=2**32)]
MessageId = Annotated[str, Field(min_length=1, max_length=998, pattern=r"^[^\x00-\x1f\x7f]+$")]


class PollIn(BaseModel):
    """A poll by hand; without `apply` it writes no row and sets no flag."""

    model_config = ConfigDict(extra="forbid")

    apply: bool = True


class BackfillIn(BaseModel):
    """A backfill; without `apply` it is a measurement. The limit is checked with its remedy."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"apply": False, "limit": 1}}
    )

    apply: bool = False
    limit: Annotated[int, Field(ge=-(2**31), lt=2**31)] = 1
    seit: date | None = None


class MarkIn(BaseModel):
    """Mails named by UID, by Message-ID, or both."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"uids": [17]}})

    uids: Annotated[list[Uid], Field(max_length=MAX_NAMED)] = []
    message_ids: Annotated[list[MessageId], Field(max_length=MAX_NAMED)] = []


class MailOut(BaseModel):
    """What became of one mail; `reason` is filled unless it was secured."""

    uid: int
    outcome: str
    reason: str
    ledger_id: int | None


class MailReportOut(BaseModel):
    """One call at the mailbox. `run` is where a call in the background can be watched.

    `stamped` and `not_stamped` are null when the call stamps nothing; `dispatch_failed` is no
    error of the call.
    """

    applied: bool
    total: int | None = None
    matching: int | None = None
    wanted: int
    cut_off: int | None = None
    mails: list[MailOut] = []
    errors: int = 0
    stopped: str = ""
    stamped: int | None = None
    not_stamped: int | None = None
    dispatch_failed: int | None = None
    gate_closed: str = ""
    run: str | None = None


class DropOut(UploadOut):
    """The queue of dropped mails; `run` is where many of them can be watched in the background."""

    run: str | None = None


class MarkedOut(BaseModel):
    """What became of one named mail."""

    uid: int | None
    message_id: str | None
    outcome: str
    detail: str


class MarkOut(BaseModel):
    """One result per mail; `failures` counts unresolved Message-IDs too."""

    results: list[MarkedOut]
    failures: int


_BACKGROUND: dict[int | str, dict[str, Any]] = {
    202: {"model": MailReportOut, "description": "goes on in the background; `run` shows it"}
}


@router.post(
    "/mail-intake/poll",
    summary="Poll the intake mailbox",
    response_model=MailReportOut,
    responses={**documented(401, 403, 409, 422, 429, 503), **_BACKGROUND},
)
def poll(service: Service, _owner: Owner, response: Response, wish: PollIn) -> MailReportOut:
    """Fetch what is unseen, secure, enter, dispatch, stamp. For the owner of the installation."""
    if wish.apply:
        waiting = mailing.waiting(service)
        run = _in_background(service, waiting, "mail_poll", {})
        if run is not None:
            response.status_code = 202
            return MailReportOut(applied=True, wanted=waiting, run=run)
    done = mailing.poll(service, apply=wish.apply)
    told = _report(done.report)
    told.gate_closed = done.gate_closed
    if done.report.applied:
        told.dispatch_failed = done.dispatch_failed
    if done.stamps is not None:
        told.stamped = done.stamps.outcomes.get("stamped", 0)
        told.not_stamped = done.stamps.outcomes.get("not stamped", 0)
    return told


@router.post(
    "/mail-intake/backfill",
    summary="Go over the whole mailbox",
    response_model=MailReportOut,
    responses={**documented(400, 401, 403, 409, 422, 503), **_BACKGROUND},
)
def backfill(
    service: Service, _owner: Owner, response: Response, wish: BackfillIn
) -> MailReportOut:
    """Measure the mailbox, or with `apply` secure what is missing; never stamps."""
    if wish.apply:
        mailing.require_backfill(service, limit=wish.limit, apply=True)
        options = {
            "seit": "" if wish.seit is None else wish.seit.isoformat(),
            "limit": wish.limit,
            "apply": True,
        }
        config = {"ops": {"backfill_mailbox": {"config": options}}}
        run = _in_background(service, wish.limit, "mail_backfill", config)
        if run is not None:
            response.status_code = 202
            return MailReportOut(applied=True, wanted=wish.limit, run=run)
    return _report(mailing.backfill(service, since=wish.seit, limit=wish.limit, apply=wish.apply))


_DROP_SCHEMA: dict[str, Any] = {
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
                        }
                    },
                }
            }
        },
    }
}


@router.post(
    "/mail-drop",
    status_code=202,
    summary="Hand over mails as files",
    response_model=DropOut,
    responses=documented(400, 401, 403, 413, 422, 503),
    openapi_extra=_DROP_SCHEMA,
)
async def mail_drop(request: Request, service: Service, scope: Editor) -> DropOut:
    """Secure dragged `.eml` files; they go the way of a fetched mail. Instead of forwarding.

    What was secured is worked on in the background: few mails by the next tick, many by a run.
    """
    async with request.form(
        max_files=MAX_FILES, max_fields=0, max_part_size=_MAX_FIELD_BYTES
    ) as form:
        files = [
            DroppedFile(value.filename or "", value.file)
            for name, value in form.multi_items()
            if name == FILES and isinstance(value, UploadFile)
        ]
        if len(files) != len(form.multi_items()):
            raise NothingToTake(f"Send mails in the form field `{FILES}` and nothing else.")
        queue = await run_in_threadpool(
            drop_mails, service.database, service.blobs, scope, Drop(), files
        )
    secured = sum(one.arrival_id is not None for one in queue)
    run = await run_in_threadpool(_in_background, service, secured, "intake", {})
    return DropOut.model_validate({"files": queue, "run": run}, from_attributes=True)


@router.post(
    "/imap-mark-seen",
    summary="Mark named mails as seen",
    response_model=MarkOut,
    responses=documented(401, 403, 422, 503),
)
def imap_mark_seen(service: Service, _owner: Owner, wish: MarkIn) -> MarkOut:
    """Set the Seen flag on exactly the mails named here; each fails on its own."""
    report = mailing.mark(
        service.settings, uids=tuple(wish.uids), message_ids=tuple(wish.message_ids)
    )
    return MarkOut.model_validate(report, from_attributes=True)


def _in_background(service: Service, mails: int, job: str, config: dict[str, Any]) -> str | None:
    """The link of a run that does it, None when the call does it itself (MAIL-54)."""
    if mails < mailing.BACKGROUND_FROM:
        return None
    from tgv_dagster.runs import RunRefused, UiNotRunning, submit_job

    try:
        return submit_job(service.settings, job, config).url
    except (UiNotRunning, RunRefused):
        return None


def _report(report: MailReport) -> MailReportOut:
    return MailReportOut(
        applied=report.applied,
        total=report.total,
        matching=report.matching,
        wanted=report.wanted,
        cut_off=report.cut_off,
        mails=[MailOut.model_validate(one, from_attributes=True) for one in report.taken],
        errors=sum(1 for one in report.taken if one.reason),
        stopped=report.stopped,
    )
