"""Errors as answers: one JSON shape with a remedy, one table from typed error to status.

No answer carries a trace, a path of this machine or a word of the request. An id that does not
exist and one behind a wall give the same answer. Bad input is never a 500.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import psycopg
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from tgv_dagster.arrive.imap_connection import ImapError, NoCredentials
from tgv_dagster.arrive.mail_access import SwitchedOff
from tgv_dagster.arrive.mail_drop import NotAMail
from tgv_dagster.arrive.mailbox import BackfillRefused, PollerBusy, PollTooSoon
from tgv_dagster.arrive.mark_seen import NothingNamed
from tgv_dagster.arrive.raw import printable
from tgv_dagster.arrive.rights import UnusableAnswer
from tgv_dagster.arrive.upload import (
    ArrivalNotFound,
    NotAssignable,
    NothingToTake,
    PersonsUnknown,
)
from tgv_dagster.bank.deciding import LinkNotFound, LinkRefused
from tgv_dagster.clarify.cases import BeingRebuilt, CaseClosed, CaseNotFound, NotAnswerable
from tgv_dagster.clarify.execution import (
    CardNotExecutable,
    CardNotFound,
    CardStale,
    ChoiceNeeded,
    NotWithdrawable,
    Refused,
)
from tgv_dagster.file.compartments import CompartmentRefused
from tgv_dagster.know import lifecycle
from tgv_dagster.know.embeddings import EmbeddingError
from tgv_dagster.know.word_model import WordIndexError
from tgv_dagster.settings import SettingsError
from tgv_dagster.store.blobs import (
    BlobDamaged,
    BlobMissing,
    BlobTooLarge,
    SourceUnreadable,
    StoreError,
    StoreFull,
)
from tgv_dagster.store.db import DatabaseFull, DatabaseUnavailable
from tgv_dagster.store.scope import ScopeError
from tgv_dagster.tables.artefacts import ArtefactNotFound
from tgv_dagster.tables.querying import QueryRefused
from tgv_dagster.tables.working import WorkingNotFound
from tgv_dagster.web import pages
from tgv_dagster.web.document_view import DocumentNotFound
from tgv_dagster.web.originals import OriginalErased, RangeOutside
from tgv_dagster.web.passwords import PasswordError
from tgv_dagster.web.principals import StaleForm, Unauthenticated, record_denied_scope
from tgv_dagster.web.tokens import TokenError

logger = logging.getLogger(__name__)
_MAX_FAULTS = 20


class NotFound(LookupError):
    """There is no such thing for this reader."""


class NotAskable(ValueError):
    """The parts of a question do not fit together; the message says what would."""


class InvalidForm(ValueError):
    """The fields of a form do not fit; `faults` says where."""

    def __init__(self, error: ValidationError) -> None:
        super().__init__("the form does not fit")
        self.faults = _faults(error.errors())


class FaultOut(BaseModel):
    """One fault of the request: where, and what is wrong there."""

    place: str
    problem: str


class ErrorBody(BaseModel):
    """What went wrong and what helps."""

    code: str
    message: str
    remedy: str
    faults: list[FaultOut] = []


class ErrorOut(BaseModel):
    """Every error of the service."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "error": {
                    "code": "not_found",
                    "message": "There is nothing here for you.",
                    "remedy": "Check the number, or the tenant of your token.",
                    "faults": [],
                }
            }
        }
    )

    error: ErrorBody


@dataclass(frozen=True, slots=True)
class Answer:
    """One kind of error as it is told. `message` None: the error's own message is told."""

    status: int
    code: str
    message: str | None
    remedy: str
    headers: tuple[tuple[str, str], ...] = ()


_SIGN_IN = Answer(
    401,
    "unauthenticated",
    "A valid token or session is needed.",
    "Sign in at /login, or send `Authorization: Bearer <token>` (`tgv token create LOGIN`).",
    (("WWW-Authenticate", 'Bearer realm="tgv"'),),
)
_FORBIDDEN = Answer(403, "forbidden", None, "Ask the manager of your tenant for the role.")
_STALE_FORM = Answer(
    403,
    "stale_form",
    "The form does not belong to this session.",
    "Open the page again and send the form from there.",
)
_NOT_FOUND = Answer(
    404,
    "not_found",
    "There is nothing here for you.",
    "Check the number, or the tenant of your token.",
)
_DATABASE = Answer(
    503,
    "database_unavailable",
    "The database does not answer.",
    "Send the request again; `tgv doctor` on the server says what is missing.",
    (("Retry-After", "5"),),
)
_INDEX = Answer(
    503,
    "index_unavailable",
    "The search index does not answer as it should.",
    "Send the request again; `tgv doctor` on the server says what is missing.",
)
_STORE = Answer(
    503,
    "store_unavailable",
    "The store of the originals does not answer as it should.",
    "Send the request again; `tgv doctor` on the server says what is missing.",
    (("Retry-After", "5"),),
)
_STORE_FULL = replace(
    _STORE, code="store_full", message="There is no room left.", remedy="Free space on the server."
)
_BYTES_LOST = Answer(
    503,
    "original_unavailable",
    "The original of this document is missing or damaged in the store.",
    "The operator restores it from the backup; `tgv status` on the server counts such documents.",
)
_TOO_LARGE = Answer(
    413,
    "too_large",
    "The request is larger than this service takes.",
    "Send fewer or smaller files; the operator may raise TGV_MAX_UPLOAD_MB.",
)
_INVALID = Answer(
    422, "invalid", "The request does not have the form it needs.", "Correct the places named."
)
_UNFIT = Answer(
    422,
    "invalid_value",
    "A value does not fit its field.",
    "Dates are YYYY-MM-DD, periods YYYY-MM, amounts plain decimals; no NUL characters.",
)
_RANGE = Answer(416, "range", "The range lies outside the file.", "Ask for bytes=0-.")
_INTERNAL = Answer(
    500,
    "internal",
    "The service failed; nothing was kept of this request.",
    "Send it again; if it fails again, the log of the server names the fault.",
)

_TABLE: tuple[tuple[type[Exception], Answer], ...] = (
    (Unauthenticated, _SIGN_IN),
    (CaseNotFound, _NOT_FOUND),
    (ArrivalNotFound, _NOT_FOUND),
    (NotFound, _NOT_FOUND),
    (DocumentNotFound, _NOT_FOUND),
    (OriginalErased, Answer(410, "erased", "This was erased.", "Nothing brings it back.")),
    (CardNotFound, _NOT_FOUND),
    (ArtefactNotFound, _NOT_FOUND),
    (WorkingNotFound, _NOT_FOUND),
    (QueryRefused, Answer(422, "query_refused", None, "Correct the question.")),
    (lifecycle.DocumentNotFound, _NOT_FOUND),
    (CaseClosed, Answer(409, "already_decided", None, "Read the case again.")),
    (
        BeingRebuilt,
        Answer(409, "being_rebuilt", None, "Send it again.", (("Retry-After", "5"),)),
    ),
    (LinkNotFound, Answer(404, "link_not_found", None, "Open the list again.")),
    (LinkRefused, Answer(409, "link_refused", None, "Nothing was changed; open the list again.")),
    (CardStale, Answer(409, "card_stale", None, "Read the case again; it has a new card.")),
    (CardNotExecutable, Answer(409, "not_yet_executable", None, "Do it by hand, or dismiss it.")),
    (Refused, Answer(409, "not_executed", None, "Nothing was changed; read the case again.")),
    (NotWithdrawable, Answer(409, "not_withdrawable", None, "Set the value you want instead.")),
    (ChoiceNeeded, Answer(422, "choice_needed", None, "Read the card: it lists its choices.")),
    (CompartmentRefused, Answer(422, "compartment_refused", None, "Correct the compartment.")),
    (
        lifecycle.NotAssignable,
        Answer(422, "not_assignable", None, "GET /api/organisation lists what you may assign."),
    ),
    (
        lifecycle.LooserThanCompartment,
        Answer(422, "looser_than_compartment", None, "Change the compartment, or file elsewhere."),
    ),
    (NotAnswerable, Answer(422, "not_answerable", None, "Read the case: it lists what it asks.")),
    (
        NotAssignable,
        Answer(422, "not_assignable", None, "GET /api/organisation lists what you may assign."),
    ),
    (PersonsUnknown, Answer(422, "persons_unknown", None, "The drop page lists who can be named.")),
    (UnusableAnswer, Answer(422, "unusable_answer", None, "/openapi.json lists the questions.")),
    (NotAskable, Answer(422, "not_askable", None, "/openapi.json lists the parameters.")),
    (WordIndexError, _INDEX),
    (EmbeddingError, _INDEX),
    (SwitchedOff, Answer(409, "switched_off", None, "`tgv mail switch on` turns it on.")),
    (PasswordError, Answer(422, "password", None, "Choose a longer sentence of your own.")),
    (TokenError, Answer(422, "token", None, "Name what the token is for in a few words.")),
    (PollerBusy, Answer(409, "poller_busy", None, "Wait for it; nothing is lost.")),
    (
        PollTooSoon,
        Answer(429, "too_soon", None, "Poll again later.", (("Retry-After", "60"),)),
    ),
    (BackfillRefused, Answer(400, "backfill_refused", None, "Split the backfill by `seit`.")),
    (NotAMail, Answer(422, "not_a_mail", None, "POST /api/upload takes other files.")),
    (NothingNamed, Answer(422, "nothing_named", None, "Name `uids` or `message_ids`.")),
    (
        NoCredentials,
        Answer(503, "no_mailbox", None, "Set TGV_MAIL_HOST, TGV_MAIL_USER and a secret."),
    ),
    (
        ImapError,
        Answer(
            503,
            "mailbox_unavailable",
            "The mailbox does not answer as it should.",
            "Send the request again; the log of the server names the fault.",
        ),
    ),
    (
        SettingsError,
        Answer(503, "settings", None, "Correct the setting on the server and start it anew."),
    ),
    (NothingToTake, Answer(422, "nothing_to_take", None, "Send files in the form field `files`.")),
    (DatabaseUnavailable, _DATABASE),
    (DatabaseFull, replace(_STORE_FULL, code="database_full")),
    (BlobMissing, _BYTES_LOST),
    (BlobDamaged, _BYTES_LOST),
    (BlobTooLarge, _TOO_LARGE),
    (StoreFull, _STORE_FULL),
    (
        SourceUnreadable,
        Answer(422, "unreadable", "A file could not be read completely.", "Send it again."),
    ),
    (StoreError, _STORE),
    (psycopg.errors.CheckViolation, _UNFIT),
    (psycopg.errors.NotNullViolation, _UNFIT),
    (psycopg.errors.ForeignKeyViolation, _UNFIT),
    (psycopg.errors.DiskFull, replace(_STORE_FULL, code="database_full")),
    (
        psycopg.IntegrityError,
        Answer(409, "conflict", "Somebody else has just changed this.", "Read it again."),
    ),
    (psycopg.DataError, _UNFIT),
    (psycopg.OperationalError, _DATABASE),
    (psycopg.InterfaceError, _DATABASE),
    (
        ClientDisconnect,
        Answer(400, "disconnected", "The request broke off.", "Send it again."),
    ),
)

_HTTP: dict[int, Answer] = {
    400: Answer(400, "bad_request", None, "Check the form of the request body."),
    404: _NOT_FOUND,
    405: Answer(405, "method_not_allowed", None, "/openapi.json lists what each route takes."),
    413: _TOO_LARGE,
}

DOCUMENTED: dict[int | str, dict[str, object]] = {
    status: {"model": ErrorOut, "description": description}
    for status, description in (
        (400, "the body cannot be read"),
        (401, "no valid token or session"),
        (403, "the role is not enough"),
        (404, "nothing there for this reader"),
        (409, "somebody decided it before"),
        (413, "too large"),
        (422, "a value does not fit"),
        (429, "too soon after the last one"),
        (503, "database or store do not answer"),
    )
}
"""What routes may answer besides success; `documented` picks from it."""


def documented(*statuses: int) -> dict[int | str, dict[str, object]]:
    """The OpenAPI entries of these errors."""
    return {status: DOCUMENTED[status] for status in statuses}


def install(app: FastAPI) -> None:
    """Let the app answer every typed error with our one shape."""
    for kind, answer in _TABLE:
        app.add_exception_handler(kind, _handler(answer))
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(ScopeError, _on_denied)
    app.add_exception_handler(InvalidForm, _on_form)
    app.add_exception_handler(RangeOutside, _on_range)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(Exception, _handler(_INTERNAL))


def _handler(answer: Answer):
    def handle(request: Request, error: Exception) -> Response:
        if answer.status >= 500:
            logger.error("%s: %s", answer.code, type(error).__name__, exc_info=error)
        return respond(request, answer, answer.message or printable(str(error)))

    return handle


def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return respond(request, _INVALID, _INVALID.message or "", _faults(error.errors()))


def _on_denied(request: Request, error: Exception) -> Response:
    """403, and one event; without the event there is no answer but that the database is gone."""
    try:
        record_denied_scope(request, str(error))
    except (DatabaseUnavailable, DatabaseFull):
        return respond(request, _DATABASE, _DATABASE.message or "")
    answer = _STALE_FORM if isinstance(error, StaleForm) else _FORBIDDEN
    return respond(request, answer, answer.message or printable(str(error)))


def _on_form(request: Request, error: Exception) -> Response:
    assert isinstance(error, InvalidForm)
    return respond(request, _INVALID, _INVALID.message or "", error.faults)


def _on_range(request: Request, error: Exception) -> Response:
    assert isinstance(error, RangeOutside)
    headers = (("Content-Range", f"bytes */{error.size}"),)
    return respond(request, replace(_RANGE, headers=headers), _RANGE.message or "")


def _faults(found: Sequence[Any]) -> list[FaultOut]:
    """Where and what, without the value: it may be anything, and its sender has it."""
    return [
        FaultOut(
            place=printable(".".join(str(part) for part in fault["loc"]))[:200],
            problem=printable(str(fault["msg"]))[:200],
        )
        for fault in found[:_MAX_FAULTS]
    ]


def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    known = _HTTP.get(error.status_code)
    answer = known or Answer(error.status_code, "error", None, "/openapi.json lists the routes.")
    headers = tuple((error.headers or {}).items())
    return respond(
        request, replace(answer, headers=headers), answer.message or printable(str(error.detail))
    )


def respond(
    request: Request, answer: Answer, message: str, faults: Sequence[FaultOut] = ()
) -> Response:
    """The answer as a page for people's routes, as JSON everywhere else."""
    if pages.is_page(request):
        detail = message if answer.message is None else None
        return pages.error_page(request, answer.status, answer.code, dict(answer.headers), detail)
    body = ErrorBody(code=answer.code, message=message, remedy=answer.remedy, faults=list(faults))
    return JSONResponse(
        ErrorOut(error=body).model_dump(),
        status_code=answer.status,
        headers=dict(answer.headers),
    )
