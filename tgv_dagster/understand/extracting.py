"""The extract stage: text for every arrival, cached by content and engine version.

What a reader cannot do ends in a listed outcome: set apart with a reason (audio, empty), split
(archives, files with attachments), parked (encrypted, broken), never in an empty page that looks
read. How formats are read stands in `understand.readers`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from tgv_dagster.arrive.filetype import Family, FileType, sniff
from tgv_dagster.arrive.gates import (
    ArrivalOutcome,
    GateKind,
    NewArrival,
    Origin,
    PartRole,
    RawKind,
    arrival_key,
)
from tgv_dagster.arrive.mime import split, unread_text
from tgv_dagster.arrive.raw import printable, save_raw
from tgv_dagster.store import ledger
from tgv_dagster.store.blobs import BlobMissing, BlobStore
from tgv_dagster.store.cases import CaseKind, NewCase, SubjectKind, open_case
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.ledger import Claim
from tgv_dagster.store.organisation import SERVICE_LOGIN
from tgv_dagster.store.pull import BatchReport, HeldByGate, Unworkable, pull
from tgv_dagster.store.stages import LIVE, STAGES, Stage
from tgv_dagster.understand.extracted import (
    ENGINE_VERSION,
    ArchiveLimits,
    Embedded,
    EmbeddedRole,
    Extraction,
    ExtractionSettings,
    Method,
    PageText,
    Status,
)
from tgv_dagster.understand.workers import ExtractionPool

RAW_FIRST = "raw_first"
MAIL_TYPE = "message/rfc822"
HEAD_BYTES = 65536
"""As much of a file as its type is told by."""
_SET_APART = {
    Family.AUDIO: "audio is set apart; it takes another way (UPL-11)",
    Family.VIDEO: "video is set apart; nothing here reads it",
}
_ARRIVING_ROLES = frozenset({EmbeddedRole.ARCHIVE_MEMBER, EmbeddedRole.ATTACHMENT})
MAX_NESTING = 5
"""Files inside files inside files: what lies deeper stays unopened, and a case says so."""
MAX_INSIDE = 5_000
"""Arrivals that one arrival from outside may bring, over all depths."""
_DIRECT_MEMBERS = ArchiveLimits(depth=1)
"""An archive in an archive arrives as it is and is opened by its own arrival, never twice."""
_UNREAD = (Status.FAILED, Status.ENCRYPTED, Status.UNSUPPORTED)


@dataclass(frozen=True, slots=True)
class ArrivedBytes:
    """An arrival and where its bytes are."""

    arrival_id: int
    uid: str
    file_name: str
    part_role: PartRole
    part_path: str | None
    sha256: str
    size: int
    bucket: str
    raw_key: str
    gate: GateKind
    received_at: datetime
    mandant: str | None
    entity_hint: str | None
    uploader: str | None
    intent_text: str | None
    origin: Origin
    is_test: bool
    media_type: str | None


def extract_texts(
    database: Database,
    blobs: BlobStore,
    pool: ExtractionPool,
    *,
    limit: int,
    progress: Callable[[int, int], None] | None = None,
) -> BatchReport:
    """Extract pending arrivals; unchanged content is never read twice (content hash + engine)."""

    def handle(claim: Claim) -> str:
        with database.worker() as connection:
            arrived = load_arrived(connection, claim.subject_id)
            cached = stored_extraction(
                connection, arrived.sha256, arrived.part_role, of_this_engine=True
            )
        if cached is not None and not _arriving(cached):
            note_media_type(database, arrived, _media_type(blobs, arrived))
            return _finish(database, claim, arrived, cached, FROM_CACHE)
        started = time.monotonic()
        extraction, media_type = read_bytes(database, blobs, pool, arrived)
        note_media_type(database, arrived, media_type)
        return _finish(database, claim, arrived, extraction, time.monotonic() - started)

    return pull(database, Stage.EXTRACT, handle, limit=limit, progress=progress)


FROM_CACHE = -1.0
MOST_NAMED = 50
"""Unopened files that a case names; their number is always told."""


def load_arrived(connection: Connection, arrival_id: int) -> ArrivedBytes:
    """The arrival with the pointer to its bytes."""
    row = connection.execute(
        """
        SELECT a.id, a.uid::text, a.file_name, a.part_role, a.part_path, r.sha256, r.size,
            r.storage_bucket, r.raw_key, a.gate, a.received_at, m.slug, a.entity_hint,
            a.uploader, a.intent_text, a.origin, a.is_test, r.media_type
        FROM arrivals a JOIN raw_items r ON r.id = a.raw_item_id
        LEFT JOIN mandanten m ON m.id = a.mandant_id WHERE a.id = %s
        """,
        (arrival_id,),
    ).fetchone()
    assert row is not None
    return ArrivedBytes(
        arrival_id=row[0],
        uid=row[1],
        file_name=row[2],
        part_role=PartRole(row[3]),
        part_path=row[4],
        sha256=row[5],
        size=row[6],
        bucket=row[7],
        raw_key=row[8],
        gate=GateKind(row[9]),
        received_at=row[10],
        mandant=row[11],
        entity_hint=row[12],
        uploader=row[13],
        intent_text=row[14],
        origin=Origin.from_json(row[15]),
        is_test=row[16],
        media_type=row[17],
    )


def stored_extraction(
    connection: Connection,
    sha256: str,
    part_role: PartRole,
    *,
    generation: int | None = None,
    of_this_engine: bool = False,
) -> Extraction | None:
    """The active extraction (or one of a generation).

    A text that an earlier version read stays the text of its document until it is read again;
    `of_this_engine` leaves it out.
    """
    row = connection.execute(
        """
        SELECT result FROM extractions
        WHERE raw_sha256 = %s AND part_role = %s
          AND CASE WHEN %s::integer IS NULL THEN active AND (engine_version = %s OR NOT %s)
                   ELSE generation = %s::integer END
        """,
        (sha256, part_role, generation, ENGINE_VERSION, of_this_engine, generation),
    ).fetchone()
    return None if row is None else Extraction.from_json(row[0].encode())


def read_bytes(
    database: Database, blobs: BlobStore, pool: ExtractionPool, arrived: ArrivedBytes
) -> tuple[Extraction, str]:
    """Read the bytes of an arrival: the text, and the media type that the bytes themselves show.

    Embedded files become arrivals of their own first.
    """
    if arrived.part_role is PartRole.BODY:
        return _mail_body(blobs, arrived), MAIL_TYPE
    try:
        with (
            blobs.local_path(arrived.bucket, arrived.raw_key) as path,
            TemporaryDirectory(prefix="tgv-extract-") as folder,
        ):
            file_type = _sniff(path, arrived.file_name)
            if arrived.size == 0:
                return Extraction(Status.FAILED, "the file is empty"), file_type.media_type
            if file_type.family in _SET_APART:
                reason = _SET_APART[file_type.family]
                return Extraction(Status.UNSUPPORTED, reason), file_type.media_type
            extraction = pool.extract(
                path,
                file_type,
                settings=ExtractionSettings(
                    embedded_dir=Path(folder),
                    archive=_DIRECT_MEMBERS,
                    file_name=arrived.file_name,
                ),
            )
            extraction = _bounded(database, arrived, extraction)
            _save_embedded(database, blobs, arrived, extraction, Path(folder))
            return extraction, file_type.media_type
    except BlobMissing as error:
        raise HeldByGate(RAW_FIRST, f"the bytes of this arrival are missing: {error}") from error


def _media_type(blobs: BlobStore, arrived: ArrivedBytes) -> str:
    """The media type that the bytes show, without reading the whole of them."""
    if arrived.part_role is PartRole.BODY:
        return MAIL_TYPE
    try:
        head = blobs.read_range(arrived.bucket, arrived.raw_key, 0, HEAD_BYTES)
    except BlobMissing as error:
        raise HeldByGate(RAW_FIRST, f"the bytes of this arrival are missing: {error}") from error
    return sniff(head, arrived.file_name).media_type


def note_media_type(database: Database, arrived: ArrivedBytes, media_type: str) -> None:
    """What the bytes show outranks what a sender declared about them."""
    if media_type == arrived.media_type:
        return
    with database.worker() as connection:
        connection.execute(
            "UPDATE raw_items SET media_type = %s WHERE bucket = %s AND sha256 = %s",
            (media_type, arrived.bucket, arrived.sha256),
        )


def _mail_body(blobs: BlobStore, arrived: ArrivedBytes) -> Extraction:
    with blobs.open(arrived.bucket, arrived.raw_key) as handle:
        mail = split(handle.read())
    text = mail.body_text.replace("\x00", "")
    head = "\n".join(
        f"{label}: {value}"
        for label, value in (
            ("From", ", ".join(a.address for a in mail.headers.from_)),
            ("Subject", mail.headers.subject),
            ("Date", mail.headers.date_raw),
        )
        if value
    )
    page = PageText(1, f"{head}\n\n{text}".strip(), Method.NATIVE)
    reason = unread_text(mail)
    status = Status.TRUNCATED if reason else Status.COMPLETE
    return Extraction(status, reason, pages=(page,), engine="mail body")


def _sniff(path: Path, file_name: str) -> FileType:
    with path.open("rb") as handle:
        return sniff(handle.read(HEAD_BYTES), file_name)


def _bounded(database: Database, arrived: ArrivedBytes, extraction: Extraction) -> Extraction:
    """The extraction without the files that may not arrive from inside; each says why.

    Archives in archives multiply: what one arrival from outside may bring is bounded as a whole.
    """
    if not _arriving(extraction):
        return extraction
    if (arrived.part_path or "").count("!") >= MAX_NESTING:
        return _left_inside(extraction, 0, f"more than {MAX_NESTING} files deep")
    with database.worker() as connection:
        others = _arrived_from_same_root(connection, arrived.arrival_id)
    return _left_inside(extraction, MAX_INSIDE - others, f"more than {MAX_INSIDE} files inside")


def _left_inside(extraction: Extraction, room: int, reason: str) -> Extraction:
    """Only the first `room` files arrive; the others say why they do not."""
    embedded = list(extraction.embedded)
    for place, found in enumerate(embedded):
        if found.role in _ARRIVING_ROLES and found.stored is not None:
            if room <= 0:
                embedded[place] = replace(found, stored=None, reason=reason)
            room -= 1
    return replace(extraction, embedded=tuple(embedded))


def _arrived_from_same_root(connection: Connection, arrival_id: int) -> int:
    """Arrivals out of the same arrival from outside, without those out of this very one."""
    row = connection.execute(
        """
        WITH RECURSIVE above AS (
            SELECT id, parent_id FROM arrivals WHERE id = %(id)s
            UNION ALL
            SELECT a.id, a.parent_id FROM arrivals a JOIN above ON a.id = above.parent_id
        ), below AS (
            SELECT id FROM above WHERE parent_id IS NULL
            UNION ALL
            SELECT a.id FROM arrivals a JOIN below ON a.parent_id = below.id
            WHERE a.parent_id <> %(id)s
        )
        SELECT count(*) - 1 FROM below
        """,
        {"id": arrival_id},
    ).fetchone()
    assert row is not None
    return int(row[0])


def _save_embedded(
    database: Database,
    blobs: BlobStore,
    arrived: ArrivedBytes,
    extraction: Extraction,
    folder: Path,
) -> None:
    """Each file found inside is an arrival of its own, raw first (RAW-03)."""
    for number, embedded in enumerate(extraction.embedded):
        if embedded.role not in _ARRIVING_ROLES or embedded.stored is None:
            continue
        with (folder / embedded.stored).open("rb") as handle:
            save_raw(database, blobs, _inside(arrived, embedded, number), handle)


def _inside(arrived: ArrivedBytes, embedded: Embedded, number: int) -> NewArrival:
    path = f"{arrived.part_path or ''}!{number}"
    is_mail = embedded.family is Family.MAIL
    return NewArrival(
        gate=arrived.gate,
        arrival_key=arrival_key(arrived.gate, arrived.uid, path),
        bucket=arrived.bucket,
        file_name=Path(embedded.name.replace("\\", "/")).name or "unnamed",
        received_at=arrived.received_at,
        kind=RawKind.EML if is_mail else RawKind.PART,
        part_role=PartRole.MAIL if is_mail else PartRole.FILE,
        part_path=path,
        parent_uid=arrived.uid,
        uploader=arrived.uploader,
        intent_text=arrived.intent_text,
        mandant=arrived.mandant,
        entity_hint=arrived.entity_hint,
        media_type=embedded.media_type,
        origin=replace(arrived.origin, raw_name=embedded.name),
        is_test=arrived.is_test,
    )


def _finish(
    database: Database, claim: Claim, arrived: ArrivedBytes, extraction: Extraction, seconds: float
) -> str:
    apart = _apart(extraction)
    unread = None if apart is not None else _unread(extraction)
    with database.worker() as connection:
        if seconds != FROM_CACHE:
            write_extraction(connection, arrived, extraction, seconds)
        if apart is not None:
            connection.execute(
                "UPDATE arrivals SET outcome = %s, outcome_reason = %s WHERE id = %s",
                (apart[0], apart[1][:500], arrived.arrival_id),
            )
        if unread is None:
            then = STAGES[Stage.EXTRACT].then if apart is None else ()
            ledger.complete(connection, claim, then=then)
            _report_unopened(connection, arrived, extraction)
    if unread is not None:
        raise Unworkable(unread)
    if apart is not None:
        return str(apart[0])
    return "cached" if seconds == FROM_CACHE else str(extraction.status)


def _apart(extraction: Extraction) -> tuple[ArrivalOutcome, str] | None:
    """Arrivals that end here, with their reason."""
    if extraction.reason in _SET_APART.values():
        return ArrivalOutcome.SET_APART, extraction.reason
    if _arriving(extraction) and (_is_archive(extraction) or not extraction.text.strip()):
        return ArrivalOutcome.SPLIT, "unpacked; its members arrived on their own"
    return None


def _unread(extraction: Extraction) -> str | None:
    """Why nothing can be made of it; an archive is its members, and its list is no document."""
    if extraction.status in _UNREAD:
        return f"{extraction.status}: {extraction.reason}"
    if _is_archive(extraction):
        return f"nothing of it could be unpacked: {_unopened(extraction)[0].reason}"
    return None


def _arriving(extraction: Extraction) -> bool:
    return any(e.role in _ARRIVING_ROLES and e.stored for e in extraction.embedded)


def _is_archive(extraction: Extraction) -> bool:
    return any(e.role is EmbeddedRole.ARCHIVE_MEMBER for e in extraction.embedded)


def _unopened(extraction: Extraction) -> list[Embedded]:
    """Files inside that did not arrive; each says why."""
    return [e for e in extraction.embedded if e.role in _ARRIVING_ROLES and e.stored is None]


def _report_unopened(connection: Connection, arrived: ArrivedBytes, extraction: Extraction) -> None:
    """What was left inside is no document and no arrival, so a case names it."""
    unopened = _unopened(extraction)
    if not unopened:
        return
    open_case(
        connection,
        NewCase(
            kind=CaseKind.PARKED,
            subject_kind=SubjectKind.FILE,
            subject_key=f"{arrived.sha256}:inside",
            reason=(
                f"{len(unopened)} of {len(extraction.embedded)} files inside were not unpacked:"
                f" {unopened[0].reason}"
            )[:500],
            author=SERVICE_LOGIN,
            arrival_id=arrived.arrival_id,
            entity=arrived.entity_hint,
            mandant_id=_mandant_id(connection, arrived),
            evidence={
                "unopened": [
                    {"name": printable(e.name)[:200], "size": e.size, "reason": e.reason[:200]}
                    for e in unopened[:MOST_NAMED]
                ]
            },
            is_test=arrived.is_test,
        ),
    )


def _mandant_id(connection: Connection, arrived: ArrivedBytes) -> int | None:
    row = connection.execute(
        "SELECT mandant_id FROM arrivals WHERE id = %s", (arrived.arrival_id,)
    ).fetchone()
    return None if row is None else row[0]


def write_extraction(
    connection: Connection,
    arrived: ArrivedBytes,
    extraction: Extraction,
    seconds: float,
    *,
    generation: int = LIVE,
) -> None:
    """Store the result; in the daily generation it replaces earlier engines' results."""
    if generation == LIVE:
        connection.execute(
            "UPDATE extractions SET active = false WHERE raw_sha256 = %s AND part_role = %s"
            " AND active AND (engine_version, generation) <> (%s, %s)",
            (arrived.sha256, arrived.part_role, ENGINE_VERSION, LIVE),
        )
    connection.execute(
        """
        INSERT INTO extractions (raw_sha256, part_role, engine_version, generation, active, status,
            reason, characters, pages, result, seconds)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
        ON CONFLICT (raw_sha256, part_role, engine_version, generation) DO UPDATE
            SET active = excluded.active, status = excluded.status, reason = excluded.reason,
                characters = excluded.characters, pages = excluded.pages,
                result = excluded.result, seconds = excluded.seconds, created_at = now()
        """,
        (
            arrived.sha256,
            arrived.part_role,
            ENGINE_VERSION,
            generation,
            generation == LIVE,
            extraction.status,
            extraction.reason or None,
            len(extraction.text),
            len(extraction.pages),
            extraction.to_json().decode(),
            seconds,
        ),
    )
