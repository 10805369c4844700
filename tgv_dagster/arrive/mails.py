"""Split whole mails into arrivals: one per document, one for the body where there is no document.

Each leaf of the mail ends in `mail_parts` with exactly one outcome; a discarded picture emits an
event of its own (MAIL-29, MAIL-64, MAIL-66). How bytes are taken apart stands in `arrive.mime`;
how a mail gets here (mailbox, drop, folder) is the gate's business.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from threading import Lock

from tgv_dagster.arrive.gates import (
    ArrivalOutcome,
    GateKind,
    NewArrival,
    Origin,
    PartRole,
    RawKind,
    arrival_key,
)
from tgv_dagster.arrive.mime import split
from tgv_dagster.arrive.mime_images import wants_case
from tgv_dagster.arrive.mime_model import (
    CONTAINER_ROLES,
    DOCUMENT_ROLES,
    PARKING_ROLES,
    Leaf,
    Mail,
    Role,
)
from tgv_dagster.arrive.raw import save_raw
from tgv_dagster.store import ledger
from tgv_dagster.store.blobs import BlobStore
from tgv_dagster.store.cases import CaseKind, NewCase, SubjectKind, open_case
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.ledger import Claim
from tgv_dagster.store.organisation import INTAKE_BUCKET, SERVICE_LOGIN
from tgv_dagster.store.presence import worker_name
from tgv_dagster.store.pull import BatchReport, pull
from tgv_dagster.store.stages import LIVE, Stage

RULE_HEADERS = frozenset(
    {
        "auto-submitted",
        "feedback-id",
        "list-id",
        "list-unsubscribe",
        "precedence",
        "return-receipt-to",
        "x-auto-response-suppress",
        "x-spam-flag",
    }
)
"""Headers whose presence a routing rule may ask for."""


LANES = 4
FRESH_PER_LANE = 5
LARGE_BYTES = 8 << 20
"""A mail above this size is large."""

PHOTO_REASON = "a photograph inside a mail: release it if it is a document, else dismiss it"


class PartOutcome(StrEnum):
    """What became of one leaf; every leaf has exactly one (issue: no leaf in two classes)."""

    ARRIVED = "arrived"
    ASKED = "asked"
    DISCARDED = "discarded"
    CONTAINER = "container"
    BODY = "body"
    BODY_ALTERNATIVE = "body_alternative"
    KEPT_IN_MAIL = "kept_in_mail"
    PARKED = "parked"


@dataclass(frozen=True, slots=True)
class MailArrival:
    """A whole mail that was secured; `size` in bytes."""

    arrival_id: int
    uid: str
    sha256: str
    size: int
    bucket: str
    raw_key: str
    gate: GateKind
    received_at: datetime
    uploader: str | None
    intent_text: str | None
    mandant: str | None
    mandant_id: int | None
    entity_hint: str | None
    origin: Origin
    is_test: bool


def split_mails(
    database: Database,
    blobs: BlobStore,
    *,
    limit: int,
    progress: Callable[[int, int], None] | None = None,
) -> BatchReport:
    """Split pending whole mails; each mail is its own transaction chain.

    With many of them fresh, several are worked on at once, so that their disk waits are waited
    for together; of the large ones only one is in memory at any time.
    """
    large = Lock()

    def handle(claim: Claim) -> str:
        with database.worker() as connection:
            mail_arrival = load_mail(connection, claim.subject_id)
        with large if mail_arrival.size > LARGE_BYTES else nullcontext():
            return one(claim, mail_arrival)

    def one(claim: Claim, mail_arrival: MailArrival) -> str:
        with blobs.open(mail_arrival.bucket, mail_arrival.raw_key) as handle_:
            mail = split(handle_.read())
        with database.worker() as connection:
            photos = _unknown_photos(connection, mail_arrival.sha256, mail)
        decided = decide_parts(mail, photos)
        arrivals = [
            save_raw(database, blobs, part_arrival(mail_arrival, mail, leaf), _bytes(leaf))
            for leaf in mail.leaves
            if decided[leaf.path] is PartOutcome.ARRIVED
        ]
        for leaf in mail.leaves:
            if decided[leaf.path] is PartOutcome.ASKED:
                photo = part_arrival(mail_arrival, mail, leaf)
                saved = save_raw(database, blobs, photo, _bytes(leaf))
                with database.worker() as connection:
                    _ask_about_photo(connection, mail_arrival, saved.arrival_id)
        wants_body = not arrivals and bool(mail.body_text.strip())
        if wants_body:
            body = body_arrival(mail_arrival, mail)
            with blobs.open(mail_arrival.bucket, mail_arrival.raw_key) as handle_:
                arrivals.append(save_raw(database, blobs, body, handle_))
        with database.worker() as connection:
            _write_parts(connection, mail_arrival, mail, decided)
            _finish_mail(connection, mail_arrival, documents=len(arrivals), body=wants_body)
            ledger.complete(connection, claim)
        return "split" if arrivals else "nothing_to_do"

    lanes = _lanes(database, limit)
    if lanes == 1:
        return pull(database, Stage.SPLIT, handle, limit=limit, progress=progress)
    told = _Together(progress)
    share = -(-limit // lanes)
    with ThreadPoolExecutor(lanes, thread_name_prefix="split") as pool:
        running = [
            pool.submit(pull, database, Stage.SPLIT, handle, limit=share, progress=told.lane(lane))
            for lane in range(lanes)
        ]
    return _sum_of([lane.result() for lane in running])


class _Together:
    """The progress of several lanes as one."""

    def __init__(self, progress: Callable[[int, int], None] | None) -> None:
        self._progress = progress
        self._lanes: dict[int, tuple[int, int]] = {}
        self._lock = Lock()

    def lane(self, number: int) -> Callable[[int, int], None]:
        """The progress callback of one lane."""

        def seen(done: int, total: int) -> None:
            with self._lock:
                self._lanes[number] = (done, total)
                if self._progress is not None:
                    self._progress(
                        sum(lane[0] for lane in self._lanes.values()),
                        sum(lane[1] for lane in self._lanes.values()),
                    )

        return seen


def _lanes(database: Database, limit: int) -> int:
    """How many lanes; mails that were tried before without an end stay alone (store.ledger)."""
    with database.worker() as connection:
        row = connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM flow_ledger WHERE stage = %s AND generation = %s"
            " AND state = 'pending' AND not_before <= now() AND attempt < %s LIMIT %s) fresh",
            (Stage.SPLIT, LIVE, ledger.ALONE_FROM, limit),
        ).fetchone()
    assert row is not None
    return LANES if row[0] >= LANES * FRESH_PER_LANE else 1


def _sum_of(reports: Sequence[BatchReport]) -> BatchReport:
    outcomes: Counter[str] = Counter()
    for report in reports:
        outcomes.update(report.outcomes)
    return BatchReport(
        stage=Stage.SPLIT,
        claimed=sum(report.claimed for report in reports),
        outcomes=dict(outcomes),
        problems=tuple(problem for report in reports for problem in report.problems),
        seconds=max(report.seconds for report in reports),
        remaining=min(report.remaining for report in reports),
    )


def load_mail(connection: Connection, arrival_id: int) -> MailArrival:
    """The secured mail of an arrival."""
    row = connection.execute(
        """
        SELECT a.id, a.uid::text, r.sha256, r.size, r.storage_bucket, r.raw_key, a.gate,
            a.received_at, a.uploader, a.intent_text, m.slug, a.mandant_id, a.entity_hint,
            a.origin, a.is_test
        FROM arrivals a JOIN raw_items r ON r.id = a.raw_item_id
        LEFT JOIN mandanten m ON m.id = a.mandant_id
        WHERE a.id = %s
        """,
        (arrival_id,),
    ).fetchone()
    assert row is not None
    return MailArrival(
        arrival_id=row[0],
        uid=row[1],
        sha256=row[2],
        size=row[3],
        bucket=row[4],
        raw_key=row[5],
        gate=GateKind(row[6]),
        received_at=row[7],
        uploader=row[8],
        intent_text=row[9],
        mandant=row[10],
        mandant_id=row[11],
        entity_hint=row[12],
        origin=Origin.from_json(row[13]),
        is_test=row[14],
    )


def decide_parts(mail: Mail, photos: frozenset[str] = frozenset()) -> dict[str, PartOutcome]:
    """Outcome of every leaf by its role: what it is decides, never its disposition.

    `photos` are paths of shown pictures that a person has to look at instead of a discard.
    """
    return {
        leaf.path: PartOutcome.ASKED if leaf.path in photos else _outcome_of(leaf)
        for leaf in mail.leaves
    }


def _unknown_photos(connection: Connection, eml_sha: str, mail: Mail) -> frozenset[str]:
    """Shown pictures with a camera's marks whose bytes came in no other mail (a receipt mailed
    from a phone); a picture that comes again and again is a logo."""
    candidates = [
        leaf for leaf in mail.leaves if wants_case(leaf, sent_before=False, readable_text=False)
    ]
    if not candidates:
        return frozenset()
    rows = connection.execute(
        "SELECT DISTINCT part_sha FROM mail_parts WHERE part_sha = ANY (%s) AND eml_sha <> %s",
        ([leaf.sha256 for leaf in candidates], eml_sha),
    ).fetchall()
    known = {row[0] for row in rows}
    return frozenset(leaf.path for leaf in candidates if leaf.sha256 not in known)


def _ask_about_photo(connection: Connection, mail: MailArrival, arrival_id: int) -> None:
    """Park the picture as a case; released it goes the way of every document."""
    claims = ledger.claim(
        connection, Stage.EXTRACT, limit=1, worker=worker_name(), subjects=[arrival_id]
    )
    if not claims:  # asked before, by a run that ended before it could finish the mail
        return
    ledger.park(connection, claims[0], reason=PHOTO_REASON)
    connection.execute(
        "UPDATE arrivals SET outcome = %s, outcome_reason = %s WHERE id = %s",
        (ArrivalOutcome.PARKED, PHOTO_REASON, arrival_id),
    )
    open_case(
        connection,
        NewCase(
            kind=CaseKind.PARKED,
            subject_kind=SubjectKind.ARRIVAL,
            subject_key=str(arrival_id),
            reason=PHOTO_REASON,
            author=SERVICE_LOGIN,
            mandant_id=mail.mandant_id,
            entity=mail.entity_hint,
            arrival_id=arrival_id,
            evidence={"stage": Stage.EXTRACT, "attempt": 1, "gate": None},
            is_test=mail.is_test,
        ),
    )


def _outcome_of(leaf: Leaf) -> PartOutcome:
    if leaf.role in DOCUMENT_ROLES:
        return PartOutcome.ARRIVED
    if leaf.role in CONTAINER_ROLES:
        return PartOutcome.CONTAINER
    if leaf.role in PARKING_ROLES:
        return PartOutcome.PARKED
    if leaf.role is Role.BODY:
        return PartOutcome.BODY
    if leaf.role is Role.BODY_ALTERNATIVE:
        return PartOutcome.BODY_ALTERNATIVE
    if leaf.role is Role.INLINE_REFERENCED:
        return PartOutcome.DISCARDED
    return PartOutcome.KEPT_IN_MAIL


def part_arrival(mail_arrival: MailArrival, mail: Mail, leaf: Leaf) -> NewArrival:
    """The arrival of one document part; its origin names the mail it came in."""
    return NewArrival(
        gate=mail_arrival.gate,
        arrival_key=arrival_key(mail_arrival.gate, mail_arrival.uid, leaf.path),
        bucket=INTAKE_BUCKET,
        file_name=leaf.safe_name,
        received_at=mail_arrival.received_at,
        kind=RawKind.PART,
        part_path=leaf.path,
        parent_uid=mail_arrival.uid,
        uploader=mail_arrival.uploader,
        intent_text=mail_arrival.intent_text,
        mandant=mail_arrival.mandant,
        entity_hint=mail_arrival.entity_hint,
        media_type=leaf.sniffed_type or leaf.media_type,
        origin=part_origin(mail_arrival, mail, leaf),
        is_test=mail_arrival.is_test,
    )


def body_arrival(mail_arrival: MailArrival, mail: Mail) -> NewArrival:
    """The arrival of a mail's text: its bytes are the mail itself (MAIL-66)."""
    subject = mail.headers.subject or "mail"
    return NewArrival(
        gate=mail_arrival.gate,
        arrival_key=arrival_key(mail_arrival.gate, mail_arrival.uid, "body"),
        bucket=mail_arrival.bucket,
        file_name=f"{subject[:120]}.eml",
        received_at=mail_arrival.received_at,
        kind=RawKind.EML,
        part_role=PartRole.BODY,
        part_path="body",
        parent_uid=mail_arrival.uid,
        uploader=mail_arrival.uploader,
        intent_text=mail_arrival.intent_text,
        mandant=mail_arrival.mandant,
        entity_hint=mail_arrival.entity_hint,
        media_type="message/rfc822",
        origin=part_origin(mail_arrival, mail, None),
        is_test=mail_arrival.is_test,
    )


def part_origin(mail_arrival: MailArrival, mail: Mail, leaf: Leaf | None) -> Origin:
    """Origin facts of a part: the nearest mail around it, and the outer one as parent (MAIL-61)."""
    outer = mail.headers
    inner = outer
    if leaf is not None and leaf.mail_path:
        embedded = next((m for m in mail.leaves if m.path == leaf.mail_path), None)
        if embedded is not None and embedded.mail_headers is not None:
            inner = embedded.mail_headers
    base = mail_arrival.origin
    return Origin(
        path=base.path,
        modified_at=base.modified_at,
        account=base.account,
        mailbox=base.mailbox,
        uidvalidity=base.uidvalidity,
        uid=base.uid,
        message_id=inner.message_id,
        mail_from=_addresses(inner.from_),
        mail_to=_addresses(inner.to),
        mail_subject=inner.subject,
        in_reply_to=None if inner.in_reply_to is None else " ".join(inner.in_reply_to),
        parent_message_id=outer.message_id if inner is not outer else None,
        raw_name=None if leaf is None or leaf.raw_name is None else leaf.filename,
        mail_headers=" ".join(sorted({f.name.lower() for f in outer.fields} & RULE_HEADERS))
        or None,
    )


def _addresses(addresses: Sequence[object]) -> str | None:
    found = [str(getattr(a, "address", "")) for a in addresses]
    return ", ".join(a for a in found if a) or None


def _bytes(leaf: Leaf) -> io.BytesIO:
    return io.BytesIO(leaf.content)


def _write_parts(
    connection: Connection, mail: MailArrival, parsed: Mail, decided: dict[str, PartOutcome]
) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(
            """
            INSERT INTO mail_parts (eml_sha, part_path, part_sha, role, outcome, reason, arrival_id)
            VALUES (%s, %s, %s, %s, %s, %s,
                (SELECT id FROM arrivals WHERE parent_id = %s AND part_path = %s LIMIT 1))
            ON CONFLICT (eml_sha, part_path) DO NOTHING
            """,
            [
                (
                    mail.sha256,
                    leaf.path,
                    leaf.sha256,
                    leaf.role,
                    decided[leaf.path],
                    _reason(decided[leaf.path], leaf),
                    mail.arrival_id,
                    leaf.path,
                )
                for leaf in parsed.leaves
            ],
        )
    for leaf in parsed.leaves:
        if decided[leaf.path] is PartOutcome.DISCARDED:
            _event(connection, mail, "mail.inline_image_discarded", leaf)
        elif decided[leaf.path] is PartOutcome.PARKED:
            _park_part(connection, mail, leaf)


def _reason(outcome: PartOutcome, leaf: Leaf) -> str:
    reasons = {
        PartOutcome.DISCARDED: "picture that the text of the mail shows, kept in the mail",
        PartOutcome.ASKED: "photograph that the text of the mail shows; a person is asked",
        PartOutcome.CONTAINER: "taken apart; its contents stand as parts of their own",
        PartOutcome.KEPT_IN_MAIL: f"{leaf.role}, kept in the mail",
        PartOutcome.PARKED: f"{leaf.role}, cannot be opened here",
    }
    return reasons.get(outcome, "")


def _park_part(connection: Connection, mail: MailArrival, leaf: Leaf) -> None:
    open_case(
        connection,
        NewCase(
            kind=CaseKind.PARKED,
            subject_kind=SubjectKind.MAIL,
            subject_key=f"{mail.sha256}:{leaf.path}",
            reason=_reason(PartOutcome.PARKED, leaf),
            author=SERVICE_LOGIN,
            mandant_id=mail.mandant_id,
            entity=mail.entity_hint,
            arrival_id=mail.arrival_id,
            evidence={"part_path": leaf.path, "role": leaf.role},
            is_test=mail.is_test,
        ),
    )


def _finish_mail(connection: Connection, mail: MailArrival, *, documents: int, body: bool) -> None:
    reason = "split into its parts" if documents else "no text and no document in it"
    connection.execute(
        "UPDATE arrivals SET outcome = %s, outcome_reason = %s WHERE id = %s",
        (ArrivalOutcome.SPLIT, reason, mail.arrival_id),
    )
    if body:
        _event(connection, mail, "mail.body_row_created", None)


def _event(connection: Connection, mail: MailArrival, kind: str, leaf: Leaf | None) -> None:
    part = "body" if leaf is None else leaf.path
    record(
        connection,
        Event(
            kind=kind,
            author=SERVICE_LOGIN,
            object=f"arrival:{mail.arrival_id}",
            reason=f"part {part}",
            mandant_id=mail.mandant_id,
            payload={
                "part_path": part,
                "sha256": mail.sha256 if leaf is None else leaf.sha256,
                "size": None if leaf is None else leaf.size,
            },
        ),
    )
