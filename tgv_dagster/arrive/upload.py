"""The upload gate: files that a signed-in person or program hands over, with what should happen.

Belongs here: what a drop is, whether its assignment is allowed to the caller (UPL-13), the name a
file gets (UPL-12), the queue with one result per file (UPL-08, UPL-10, UPL-11), and what the
caller may know later. Does not belong here: HTTP; `web.arrive` speaks it.
"""

from __future__ import annotations

import logging
import mimetypes
import re
import unicodedata
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import PurePosixPath
from typing import BinaryIO

from tgv_dagster.arrive import rights
from tgv_dagster.arrive.filetype import Family, sniff
from tgv_dagster.arrive.folder import looks_like_mail
from tgv_dagster.arrive.gates import (
    ArrivalOutcome,
    GateKind,
    NewArrival,
    Origin,
    PartRole,
    RawKind,
    arrival_key,
)
from tgv_dagster.arrive.generic_names import is_generic
from tgv_dagster.arrive.raw import bucket_for, save_raw
from tgv_dagster.arrive.rights import Answers, FileKind, for_kind, kind_of
from tgv_dagster.store.blobs import BlobStore, BlobTooLarge, SourceUnreadable, StoreError, StoreFull
from tgv_dagster.store.blobs.source import pour
from tgv_dagster.store.db import Database, DatabaseFull, DatabaseUnavailable
from tgv_dagster.store.levels import Level, Role
from tgv_dagster.store.organisation import INTAKE_BUCKET
from tgv_dagster.store.persons import MOST_PERSONS, ids_of
from tgv_dagster.store.scope import Scope

MAX_INTENT_CHARACTERS = 4000
MAX_FILES = 200
_MAX_NAME_CHARACTERS = 200
_MAX_SUFFIX_CHARACTERS = 20
_MAX_RAW_NAME_CHARACTERS = 1000
_HEAD_BYTES = 65536

_UNSHOWABLE = frozenset({"Cc", "Cs", "Zl", "Zp"})
_DIRECTION_MARKS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

logger = logging.getLogger(__name__)


class UploadGate(StrEnum):
    """The gates a signed-in caller may name."""

    UPLOAD = GateKind.UPLOAD
    DROP = GateKind.DROP
    PHOTO = GateKind.PHOTO
    CHAT = GateKind.CHAT


class UploadStatus(StrEnum):
    """What became of one file of a drop."""

    TAKEN = "taken"
    ALREADY_HERE = "already_here"
    SET_APART = "set_apart"
    REFUSED = "refused"


class NotAssignable(ValueError):
    """The drop names an entity or project that the caller may not assign, or none exists."""


class PersonsUnknown(ValueError):
    """The drop names somebody who is no person of its tenant."""


class NothingToTake(ValueError):
    """The drop holds no file, or more than fit into one."""


@dataclass(frozen=True, slots=True)
class Drop:
    """What is common to the files of one drop.

    `request_key` identifies the act: the same key with the same file is the same arrival, however
    often it is sent. None makes every call an act of its own. `level_floor`: the documents are at
    least as confidential; `visible_from`: only the uploader and who manages the tenant see them
    before; `circle`: logins of the only persons who see them, besides these two (UPL-17);
    `rights`: answers to the questions of `rights`, each kept with the files it is asked of.
    """

    intent_text: str | None = None
    entity: str | None = None
    project_code: str | None = None
    gate: UploadGate = UploadGate.UPLOAD
    request_key: str | None = None
    level_floor: Level | None = None
    visible_from: datetime | None = None
    circle: tuple[str, ...] = ()
    rights: Answers = field(default_factory=dict)

    @property
    def says_more(self) -> bool:
        """Whether it says anything about who may see the files or about rights."""
        return bool(self.level_floor or self.visible_from or self.circle or self.rights)


@dataclass(frozen=True, slots=True)
class DroppedFile:
    """One file: the name as the sender wrote it and its bytes, seekable, from their start."""

    name: str
    content: BinaryIO


@dataclass(frozen=True, slots=True)
class Queued:
    """The result for one file, in the order of the drop.

    `name` is the name it is known by from now on. `reason` is filled unless it was simply taken.
    `document_id` is given only for a document that the caller may see. `repeated`: this very act
    was taken before, nothing new was recorded.
    """

    position: int
    name: str
    sent_name: str
    status: UploadStatus
    reason: str = ""
    arrival_id: int | None = None
    document_id: int | None = None
    size: int | None = None
    sha256: str | None = None
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where the caller may put the drop: tenant and entity are slugs, all may be None."""

    mandant_id: int | None
    mandant: str | None
    entity: str | None
    project_code: str | None


def take(
    database: Database, blobs: BlobStore, scope: Scope, drop: Drop, files: Sequence[DroppedFile]
) -> tuple[Queued, ...]:
    """Secure every file of a drop, raw first, and say for each what became of it.

    Raises ScopeError (role), NotAssignable, NothingToTake, PersonsUnknown and
    `rights.UnusableAnswer` before anything is stored, and the fault of the store or database when
    not a single file could be secured. A fault in the middle refuses the rest; sending the drop
    again with the same key completes it.
    """
    scope.require(Role.EDITOR)
    if not 1 <= len(files) <= MAX_FILES:
        raise NothingToTake(f"Send 1 to {MAX_FILES} files at once.")
    if drop.intent_text is not None and len(drop.intent_text) > MAX_INTENT_CHARACTERS:
        raise NothingToTake(f"The intent may have {MAX_INTENT_CHARACTERS} characters.")
    place = place_of(database, scope, drop)
    drop = _settled(database, place, drop)
    secured = _Taking(database, blobs, scope, drop, place).all(files)
    return _with_what_is_here(database, scope, place, drop, secured)


def place_of(database: Database, scope: Scope, drop: Drop) -> Place:
    """The tenant, entity and project of a drop, as far as the caller may assign them (UPL-13).

    Foreign and absent names are refused alike. A project stands for its entity. Raises
    NotAssignable.
    """
    with database.reading(scope) as connection:
        row = connection.execute(
            """
            SELECT e.slug, p.project_code, p.entity_key, m.id, m.slug
            FROM (VALUES (1)) one (x)
            LEFT JOIN entities e ON e.slug = %(entity)s
            LEFT JOIN prf_projects p ON p.project_code = %(project)s AND p.active
            LEFT JOIN entities home ON home.slug = coalesce(e.slug, p.entity_key)
            LEFT JOIN mandanten m ON m.id = coalesce(%(mandant)s::integer, home.mandant_id)
            """,
            {"entity": drop.entity, "project": drop.project_code, "mandant": scope.mandant_id},
        ).fetchone()
    assert row is not None
    entity, project, project_entity, mandant_id, mandant = row
    if drop.entity is not None and entity is None:
        raise NotAssignable("This entity is not among those you may assign (UPL-13).")
    if drop.project_code is not None and project is None:
        raise NotAssignable("This project is not among those you may assign (UPL-13).")
    if project is not None and entity not in (None, project_entity):
        raise NotAssignable("This project belongs to another entity.")
    return Place(mandant_id, mandant, entity or project_entity, project)


def _settled(database: Database, place: Place, drop: Drop) -> Drop:
    """The drop with its answers checked, and with the level that its circle means.

    The innermost circle is the strictest level and a list of persons (UPL-17). Raises
    PersonsUnknown and `rights.UnusableAnswer`.
    """
    circle = tuple(sorted({login.strip().lower() for login in drop.circle} - {""}))
    if len(circle) > MOST_PERSONS:
        raise PersonsUnknown(f"At most {MOST_PERSONS} persons can be named.")
    with database.worker() as connection:
        answers = rights.checked(drop.rights, rights.asked(connection)) if drop.rights else {}
        known = ids_of(connection, place.mandant_id, circle) if circle else {}
    if known.keys() != set(circle):
        raise PersonsUnknown("Name persons of the tenant by their login; one is none of them.")
    level = Level.STRICT if circle else drop.level_floor
    return replace(drop, circle=circle, rights=answers, level_floor=level)


def clean_name(sent: str) -> str:
    """A name that can be shown and stored: the last path component, without control characters.

    Marks that turn the reading direction are replaced too, because they hide the extension.
    """
    last = re.split(r"[/\\]", sent)[-1]
    shown = "".join(
        "_" if unicodedata.category(c) in _UNSHOWABLE or c in _DIRECTION_MARKS else c
        for c in unicodedata.normalize("NFC", last)
    ).strip()
    if not shown.strip("._ "):
        return ""
    if len(shown) <= _MAX_NAME_CHARACTERS:
        return shown
    suffix = PurePosixPath(shown).suffix
    suffix = suffix if len(suffix) <= _MAX_SUFFIX_CHARACTERS else ""
    return shown[: _MAX_NAME_CHARACTERS - len(suffix)] + suffix


def distinct_name(name: str, *, received_at: datetime, sha256: str, media_type: str) -> str:
    """The name itself, or for a name any camera gives a distinguishable one (UPL-12)."""
    path = PurePosixPath(name)
    if not is_generic(path.stem):
        return name
    suffix = path.suffix or mimetypes.guess_extension(media_type) or ""
    return f"{path.stem or 'upload'}_{received_at:%Y%m%d-%H%M%S}_{sha256[:8]}{suffix}"


@dataclass(frozen=True, slots=True)
class _Content:
    """What a look at the bytes says."""

    sha256: str
    size: int
    media_type: str
    is_mail: bool
    is_apart: bool
    note: str
    kind: FileKind


class _Taking:
    """The files of one drop, one after the other."""

    def __init__(
        self, database: Database, blobs: BlobStore, scope: Scope, drop: Drop, place: Place
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._scope = scope
        self._drop = drop
        self._place = place
        self._request_key = drop.request_key or uuid.uuid4().hex
        self._seen: Counter[tuple[str, str]] = Counter()
        with database.worker() as connection:
            self._bucket = bucket_for(connection, entity=place.entity, mandant=place.mandant)

    def all(self, files: Sequence[DroppedFile]) -> tuple[Queued, ...]:
        """Every file in order; raises the fault when nothing at all could be secured."""
        queue: list[Queued] = []
        fault: Exception | None = None
        for position, file in enumerate(files):
            if isinstance(fault, DatabaseUnavailable | DatabaseFull):
                queue.append(self._refused(position, file, fault))
                continue
            try:
                queue.append(self._one(position, file))
            except (StoreError, DatabaseUnavailable, DatabaseFull) as error:
                logger.warning("upload: file %d was not taken: %s", position, error)
                fault = fault or error
                queue.append(self._refused(position, file, error))
        if fault is not None and all(q.status is UploadStatus.REFUSED for q in queue):
            raise fault
        return tuple(queue)

    def _one(self, position: int, file: DroppedFile) -> Queued:
        name = clean_name(file.name)
        content = _look(file.content, name)
        if not name and not content.size:
            return Queued(position, "", file.name, UploadStatus.REFUSED, "No file was chosen.")
        arrival = self._arrival(name, file.name, content)
        file.content.seek(0)
        saved = save_raw(self._database, self._blobs, arrival, file.content)
        return Queued(
            position=position,
            name=arrival.file_name,
            sent_name=file.name,
            status=UploadStatus.SET_APART if content.is_apart else UploadStatus.TAKEN,
            reason=content.note,
            arrival_id=saved.arrival_id,
            size=saved.size,
            sha256=saved.sha256,
            repeated=not saved.new_arrival,
        )

    def _arrival(self, name: str, sent_name: str, content: _Content) -> NewArrival:
        received_at = datetime.now(UTC)
        shown = distinct_name(
            name, received_at=received_at, sha256=content.sha256, media_type=content.media_type
        )
        gate = GateKind(self._drop.gate)
        self._seen[name, content.sha256] += 1
        return NewArrival(
            gate=gate,
            arrival_key=arrival_key(
                gate,
                self._scope.user_id,
                self._place.mandant,
                self._request_key,
                name,
                content.sha256,
                self._seen[name, content.sha256],
            ),
            bucket=INTAKE_BUCKET if content.is_mail else self._bucket,
            file_name=shown,
            received_at=received_at,
            kind=RawKind.EML if content.is_mail else RawKind.FILE,
            part_role=PartRole.MAIL if content.is_mail else PartRole.FILE,
            uploader=self._scope.principal,
            intent_text=self._drop.intent_text,
            mandant=self._place.mandant,
            entity_hint=self._place.entity,
            media_type=content.media_type,
            origin=Origin(
                raw_name=sent_name[:_MAX_RAW_NAME_CHARACTERS] if sent_name != shown else None,
                project_hint=self._place.project_code,
                level_floor=self._drop.level_floor,
                visible_from=self._drop.visible_from and self._drop.visible_from.isoformat(),
                circle=self._drop.circle or None,
                rights=for_kind(self._drop.rights, content.kind) or None,
                said_at=received_at.isoformat() if self._drop.says_more else None,
            ),
        )

    @staticmethod
    def _refused(position: int, file: DroppedFile, error: Exception) -> Queued:
        return Queued(
            position, clean_name(file.name), file.name, UploadStatus.REFUSED, _reason_of(error)
        )


def _look(content: BinaryIO, name: str) -> _Content:
    """Hash the bytes and look at their beginning; raises SourceUnreadable."""
    whole = pour(content, lambda _piece: None)
    try:
        content.seek(0)
        head = content.read(_HEAD_BYTES)
    except (OSError, ValueError) as error:
        raise SourceUnreadable(f"reading the upload: {error}", "Send the file again.") from error
    kind = sniff(head, name)
    apart = {
        Family.AUDIO: "Audio is kept and takes another way (UPL-11).",
        Family.VIDEO: "Video is kept; nothing here reads it.",
    }.get(kind.family, "")
    return _Content(
        sha256=whole.sha256,
        size=whole.size,
        media_type=kind.media_type,
        is_mail=looks_like_mail(head, name),
        is_apart=bool(apart),
        kind=kind_of(kind.family),
        note=apart if whole.size else "The file is empty; it is kept, and a person is asked.",
    )


def _reason_of(error: Exception) -> str:
    """Why a file was not taken, without addresses or paths of the installation."""
    if isinstance(error, DatabaseUnavailable | DatabaseFull):
        return "The database did not take it. Send it again with the same key."
    if isinstance(error, StoreFull):
        return "The store has no room left. Send it again with the same key when there is."
    if isinstance(error, BlobTooLarge):
        return "The file is larger than the store takes."
    if isinstance(error, SourceUnreadable):
        return "The file could not be read completely. Send it again."
    return "The store did not take it. Send it again with the same key."


def _with_what_is_here(
    database: Database, scope: Scope, place: Place, drop: Drop, queue: tuple[Queued, ...]
) -> tuple[Queued, ...]:
    """Add what was there before, as far as the caller may see it (UPL-10)."""
    hashes = [q.sha256 for q in queue if q.sha256 is not None]
    with database.reading(scope) as connection:
        rows = connection.execute(_HERE, {"hashes": hashes, "mandant": place.mandant_id}).fetchall()
    here = {row[0]: _Here(row[1], row[2] == "trashed") for row in rows}
    with database.worker() as connection:
        rows = connection.execute(
            _RECORDED,
            {
                "ids": [q.arrival_id for q in queue if q.arrival_id is not None],
                "intent": drop.intent_text,
                "entity": place.entity,
            },
        ).fetchall()
    recorded = {row[0]: _Recorded(*row[1:]) for row in rows}
    completed = (_completed(q, here, recorded) for q in queue)
    return tuple(_told(q) if drop.says_more else q for q in completed)


_STANDS = "Who may see it and its rights stay as they are there."


def _told(queued: Queued) -> Queued:
    """What a drop says about a document holds for one it brings, not for one that is here."""
    if queued.status is not UploadStatus.ALREADY_HERE:
        return queued
    return replace(queued, reason=f"{queued.reason} {_STANDS}")


_HERE = """
    SELECT DISTINCT ON (sha) sha, id, state FROM (
        SELECT d.raw_sha256 AS sha, d.id, d.state FROM documents d
        WHERE d.raw_sha256 = ANY (%(hashes)s)
          AND (d.mandant_id = %(mandant)s OR (%(mandant)s::integer IS NULL
                                              AND d.mandant_id IS NULL))
        UNION ALL
        SELECT p.eml_sha, d.id, d.state FROM mail_parts p JOIN documents d ON d.id = p.document_id
        WHERE p.eml_sha = ANY (%(hashes)s)
          AND (d.mandant_id = %(mandant)s OR (%(mandant)s::integer IS NULL
                                              AND d.mandant_id IS NULL))
    ) found ORDER BY sha, id
"""
"""Documents that the reader sees and that hold these bytes, or came out of this mail."""

_RECORDED = """
    SELECT a.id, a.file_name,
        a.intent_text IS NOT DISTINCT FROM %(intent)s::text
            AND a.entity_hint IS NOT DISTINCT FROM %(entity)s::text,
        EXISTS (SELECT 1 FROM arrivals o WHERE o.raw_item_id = a.raw_item_id AND o.id < a.id
            AND o.uploader = a.uploader AND o.mandant_id IS NOT DISTINCT FROM a.mandant_id
            AND o.outcome NOT IN ('blocked', 'erased'))
    FROM arrivals a WHERE a.id = ANY (%(ids)s)
"""


@dataclass(frozen=True, slots=True)
class _Here:
    """A document with the same bytes."""

    document_id: int
    is_trashed: bool


@dataclass(frozen=True, slots=True)
class _Recorded:
    """What the row says: its name, whether it carries the words of this drop, and whether the
    same person sent the same bytes before."""

    name: str
    same_words: bool
    sent_before: bool


def _completed(queued: Queued, here: dict[str, _Here], recorded: dict[int, _Recorded]) -> Queued:
    if queued.arrival_id is None or queued.sha256 is None:
        return queued
    row = recorded[queued.arrival_id]
    found = here.get(queued.sha256)
    known = replace(queued, name=row.name, document_id=found and found.document_id)
    if known.repeated:
        stands = "" if row.same_words else "Intent and entity of the first time stand."
        return replace(known, reason=f"{known.reason} {stands}".strip())
    if found is not None and found.is_trashed:
        reason = "These bytes are a document in the trash; restore it there."
    elif found is not None:
        reason = "These bytes are a document already."
    elif row.sent_before:
        reason = "You sent these bytes before; they are on their way."
    else:
        return known
    return replace(known, status=UploadStatus.ALREADY_HERE, reason=reason)


class ArrivalNotFound(LookupError):
    """There is no such arrival for this reader."""


@dataclass(frozen=True, slots=True)
class ArrivalView:
    """One arrival as its reader may know it; `document_id` only when the reader may see it.

    `intent_text` and `open_cases` (of its document) are told in the thread of the uploader only.
    """

    arrival_id: int
    file_name: str
    gate: str
    received_at: datetime
    outcome: str
    reason: str | None
    document_id: int | None
    part_path: str | None
    intent_text: str | None = None
    open_cases: tuple[int, ...] = ()


_VIEW = """SELECT a.id, a.file_name, a.gate, a.received_at, a.outcome, a.outcome_reason,
    {document}, a.part_path FROM arrivals a WHERE (a.id = %(id)s OR a.parent_id = %(id)s)"""


def arrival_views(
    database: Database, scope: Scope, arrival_id: int
) -> tuple[ArrivalView, tuple[ArrivalView, ...]]:
    """An arrival and the parts that arrived out of it (of a mail, of an archive).

    Readers see what the wall of arrivals lets them see; beyond it the uploader sees his own
    uploads of this tenant, but never whether a document he may not see was there before. Raises
    ArrivalNotFound.
    """
    with database.reading(scope) as connection:
        walled = connection.execute(
            (_VIEW.format(document="a.document_id") + " ORDER BY a.id").encode(),
            {"id": arrival_id},
        ).fetchall()
    with database.worker() as connection:
        own = connection.execute(
            (
                _VIEW.format(document="NULL::bigint") + " AND a.uploader = %(login)s"
                " AND a.mandant_id IS NOT DISTINCT FROM %(mandant)s ORDER BY a.id"
            ).encode(),
            {"id": arrival_id, "login": scope.principal, "mandant": scope.mandant_id},
        ).fetchall()
    seen = {row[0]: _masked(ArrivalView(*row)) for row in own}
    seen |= {row[0]: ArrivalView(*row) for row in walled}
    if arrival_id not in seen:
        raise ArrivalNotFound(f"There is no arrival {arrival_id}.")
    return seen.pop(arrival_id), tuple(seen.values())


def recent_views(database: Database, scope: Scope, *, limit: int) -> tuple[ArrivalView, ...]:
    """The caller's own last uploads in this tenant, newest first, as `arrival_views` shows them."""
    with database.worker() as connection:
        rows = connection.execute(
            """
            SELECT a.id, a.file_name, a.gate, a.received_at, a.outcome, a.outcome_reason,
                NULL::bigint, a.part_path, a.intent_text
            FROM arrivals a WHERE a.uploader = %s AND a.mandant_id IS NOT DISTINCT FROM %s
              AND a.parent_id IS NULL ORDER BY a.id DESC LIMIT %s
            """,
            (scope.principal, scope.mandant_id, limit),
        ).fetchall()
    own = [_masked(ArrivalView(*row)) for row in rows]
    with database.reading(scope) as connection:
        rows = connection.execute(
            "SELECT a.id, a.outcome, a.document_id, array(SELECT c.id FROM cases c"
            " WHERE c.document_id = a.document_id AND c.state = 'open' ORDER BY c.id)"
            " FROM arrivals a WHERE a.id = ANY (%s)",
            ([view.arrival_id for view in own],),
        ).fetchall()
    seen = {row[0]: row for row in rows}
    return tuple(
        replace(
            view,
            outcome=seen[view.arrival_id][1],
            document_id=seen[view.arrival_id][2],
            open_cases=tuple(seen[view.arrival_id][3]),
        )
        if view.arrival_id in seen
        else view
        for view in own
    )


def _masked(view: ArrivalView) -> ArrivalView:
    if view.outcome == ArrivalOutcome.ALREADY_HERE:
        return replace(view, outcome=str(ArrivalOutcome.ENTERED))
    return view
