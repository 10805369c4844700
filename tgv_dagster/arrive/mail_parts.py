"""What becomes of the leaves of a mail: one outcome each, and the rows that say so.

Each leaf ends in `mail_parts` with exactly one outcome, once per arrival of its mail, so that the
same mail in two tenants has rows for both; a discarded picture emits an event of its own (MAIL-29,
MAIL-64, MAIL-66). Does not belong here: taking bytes apart, securing them, and the batch.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from tgv_dagster.arrive.gates import (
    ArrivalOutcome,
    GateKind,
    NewArrival,
    Origin,
    PartRole,
    RawKind,
    arrival_key,
)
from tgv_dagster.arrive.mail_ledger import ThreadHeaders
from tgv_dagster.arrive.mime import leaf_text
from tgv_dagster.arrive.mime_images import ShownPicture, shown_picture
from tgv_dagster.arrive.mime_model import (
    CONTAINER_ROLES,
    DOCUMENT_ROLES,
    PARKING_ROLES,
    Leaf,
    Mail,
    MailHeaders,
    Role,
)
from tgv_dagster.arrive.raw import printable
from tgv_dagster.store import ledger
from tgv_dagster.store.cases import CaseKind, NewCase, SubjectKind, open_case
from tgv_dagster.store.db import Connection
from tgv_dagster.store.events import Event, record_all
from tgv_dagster.store.organisation import INTAKE_BUCKET, SERVICE_LOGIN
from tgv_dagster.store.presence import worker_name
from tgv_dagster.store.stages import Stage

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


_FORWARD = re.compile(r"\s*(?:\[[^\]]{1,40}\]\s*)?(?:wg|fwd?|tr|wtr|i|rv)\s*:", re.IGNORECASE)
_REDIRECTED = frozenset({"resent-from", "resent-date", "x-forwarded-for", "x-forwarded-to"})

PHOTO_REASON = "a photograph inside a mail: release it if it is a document, else dismiss it"
PHOTOS_REASON = (
    "{count} photographs inside a mail: release those that are documents, dismiss the others"
)


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


@dataclass(frozen=True, slots=True)
class Decided:
    """A leaf without its bytes, with its one outcome; `sender` of the mail around it.

    `why`: what keeps it closed.
    """

    path: str
    sha256: str
    size: int
    role: Role
    outcome: PartOutcome
    sender: str | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class SplitMail:
    """A mail taken apart, with the arrivals of its parts by path; `body`: its text is one."""

    mail: MailArrival
    parts: tuple[Decided, ...]
    arrivals: Mapping[str | None, int]
    body: bool

    @property
    def documents(self) -> int:
        """Arrivals that are documents of their own, the text of the mail among them."""
        return sum(part.outcome is PartOutcome.ARRIVED for part in self.parts) + self.body


def load_mails(connection: Connection, arrival_ids: Sequence[int]) -> list[MailArrival]:
    """The secured mails of these arrivals, in this order."""
    rows = connection.execute(
        """
        SELECT a.id, a.uid::text, r.sha256, r.size, r.storage_bucket, r.raw_key, a.gate,
            a.received_at, a.uploader, a.intent_text, m.slug, a.mandant_id, a.entity_hint,
            a.origin, a.is_test
        FROM arrivals a JOIN raw_items r ON r.id = a.raw_item_id
        LEFT JOIN mandanten m ON m.id = a.mandant_id
        WHERE a.id = ANY (%s)
        """,
        (list(arrival_ids),),
    ).fetchall()
    found = {row[0]: _mail_arrival(row) for row in rows}
    return [found[arrival_id] for arrival_id in arrival_ids]


def _mail_arrival(row: tuple[Any, ...]) -> MailArrival:
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


def decide(mail: Mail, leaf: Leaf, asked: frozenset[str] = frozenset()) -> Decided:
    """Outcome of a leaf by its role: what it is decides, never its disposition.

    `asked` are paths of shown pictures that a person has to look at instead of a discard.
    """
    return Decided(
        path=leaf.path,
        sha256=leaf.sha256,
        size=leaf.size,
        role=leaf.role,
        outcome=_outcome_in(mail, leaf, asked),
        sender=_sender(mail, leaf),
        why=_why_unopened(mail, leaf),
    )


def _why_unopened(mail: Mail, leaf: Leaf) -> str:
    """What kept a leaf from being opened, by the findings about it: "yenc", "depth limit"."""
    if leaf.role is not Role.UNOPENED:
        return ""
    kinds = {defect.kind.replace("_", " ") for defect in mail.defects if defect.path == leaf.path}
    return ", ".join(sorted(kinds))


def _outcome_in(mail: Mail, leaf: Leaf, asked: frozenset[str]) -> PartOutcome:
    if leaf.path in asked:
        return PartOutcome.ASKED
    if leaf.role is Role.EMBEDDED_MAIL and _is_letter(mail, leaf):
        return PartOutcome.ARRIVED
    return _outcome_of(leaf)


def _is_letter(mail: Mail, embedded: Leaf) -> bool:
    """Whether a mail inside a mail is a document of its own, as a mail without any is (MAIL-66).

    Of letters inside each other only the outermost is: its reader takes out those within.
    """
    if not _has_only_text(mail, embedded):
        return False
    by_path = {leaf.path: leaf for leaf in mail.leaves}
    around = by_path.get(embedded.mail_path or "")
    while around is not None:
        if _has_only_text(mail, around):
            return False
        around = by_path.get(around.mail_path or "")
    return True


def _has_only_text(mail: Mail, embedded: Leaf) -> bool:
    inside = _inside(mail, embedded)
    if any(leaf.role in DOCUMENT_ROLES for leaf in inside):
        return False
    return any(
        leaf.role is Role.BODY and leaf.mail_path == embedded.path and leaf_text(leaf).strip()
        for leaf in inside
    )


def _inside(mail: Mail, container: Leaf) -> list[Leaf]:
    """The leaves below a container, at any depth."""
    parents = {leaf.path: leaf.parent_path for leaf in mail.leaves}
    mails = {leaf.path: leaf.mail_path for leaf in mail.leaves}

    def is_inside(path: str | None) -> bool:
        seen: set[str] = set()
        while path and path not in seen:
            seen.add(path)
            if container.path in (parents.get(path), mails.get(path)):
                return True
            path = parents.get(path) or mails.get(path)
        return False

    return [leaf for leaf in mail.leaves if is_inside(leaf.path)]


def shown_pictures(mail: Mail) -> tuple[ShownPicture, ...]:
    """The pictures in the text of a mail that are large enough to be more than decoration."""
    found = (shown_picture(leaf, _sender(mail, leaf)) for leaf in mail.leaves)
    return tuple(one for one in found if one is not None)


def sent_before(
    connection: Connection, mail: MailArrival, pictures: Sequence[ShownPicture]
) -> frozenset[str]:
    """Hashes of those that their sender sent to this tenant in an earlier mail: signatures."""
    rows = connection.execute(
        """
        SELECT DISTINCT p.part_sha FROM mail_parts p
        JOIN arrivals a ON a.id = p.mail_arrival_id
        JOIN unnest(%s::text[], %s::text[]) AS shown (sha, sender)
          ON shown.sha = p.part_sha AND shown.sender IS NOT DISTINCT FROM p.sender
        WHERE p.eml_sha <> %s AND a.id < %s AND a.mandant_id IS NOT DISTINCT FROM %s
        """,
        (
            [one.sha256 for one in pictures],
            [one.sender for one in pictures],
            mail.sha256,
            mail.arrival_id,
            mail.mandant_id,
        ),
    ).fetchall()
    return frozenset(row[0] for row in rows)


def _ask_about_photos(connection: Connection, split: SplitMail) -> None:
    """Park the photographs of a mail as one case, each to be decided singly or all together;
    released they go the way of every document."""
    asked = [split.arrivals[part.path] for part in split.parts if part.outcome is PartOutcome.ASKED]
    if not asked:
        return
    claims = ledger.claim(
        connection, Stage.EXTRACT, limit=len(asked), worker=worker_name(), subjects=asked
    )
    for claim in claims:
        ledger.park(connection, claim, reason=PHOTO_REASON)
    rows = connection.execute(
        "UPDATE arrivals SET outcome = %s, outcome_reason = %s WHERE id = ANY (%s)"
        " RETURNING id, part_path, file_name",
        (ArrivalOutcome.PARKED, PHOTO_REASON, [claim.subject_id for claim in claims]),
    ).fetchall()
    if rows:  # else asked before, by a run that ended before it could finish the mail
        _open_photo_case(connection, split.mail, sorted(rows))


def _open_photo_case(
    connection: Connection, mail: MailArrival, photos: Sequence[tuple[int, str, str]]
) -> None:
    """One case with a card per photograph: arrival, part and name of each."""
    open_case(
        connection,
        NewCase(
            kind=CaseKind.PARKED,
            subject_kind=SubjectKind.MAIL,
            subject_key=str(mail.arrival_id),
            reason=PHOTO_REASON if len(photos) == 1 else PHOTOS_REASON.format(count=len(photos)),
            author=SERVICE_LOGIN,
            mandant_id=mail.mandant_id,
            entity=mail.entity_hint,
            arrival_id=mail.arrival_id,
            evidence={
                "stage": Stage.EXTRACT,
                "attempt": 1,
                "gate": None,
                "subjects": [
                    {"subject_id": arrival_id, "part_path": path, "file_name": name}
                    for arrival_id, path, name in photos
                ],
            },
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
        file_name=_shown_name(leaf),
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
    return NewArrival(
        gate=mail_arrival.gate,
        arrival_key=arrival_key(mail_arrival.gate, mail_arrival.uid, "body"),
        bucket=mail_arrival.bucket,
        file_name=_mail_name(mail.headers.subject),
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


def _shown_name(leaf: Leaf) -> str:
    """A mail inside a mail is called by its subject like any other, unless its sender named it."""
    if leaf.mail_headers is None or leaf.raw_name is not None:
        return leaf.safe_name
    return _mail_name(leaf.mail_headers.subject)


def _mail_name(subject: str | None) -> str:
    return f"{(subject or 'mail')[:120]}.eml"


def part_origin(mail_arrival: MailArrival, mail: Mail, leaf: Leaf | None) -> Origin:
    """Origin facts of a part: the mail it is or the nearest around it; the outer one as parent.

    The parent is the outer mail (MAIL-61).
    """
    outer = mail.headers
    own = None if leaf is None else leaf.mail_headers
    inner = own or (outer if leaf is None else _headers_around(mail, leaf))
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
        mail_date=None if inner.date is None else inner.date.isoformat(),
        is_forwarded=inner is not outer or _hands_on(inner),
        in_reply_to=None if inner.in_reply_to is None else " ".join(inner.in_reply_to),
        references=None if inner.references is None else " ".join(inner.references),
        thread_headers=_thread_headers(inner),
        parent_message_id=outer.message_id if inner is not outer else None,
        raw_name=None if leaf is None or leaf.raw_name is None else leaf.filename,
        level_floor=base.level_floor,
        visible_from=base.visible_from,
        circle=base.circle,
        rights=base.rights,
        said_at=base.said_at,
        mail_headers=" ".join(sorted({f.name.lower() for f in outer.fields} & RULE_HEADERS))
        or None,
    )


def _hands_on(headers: MailHeaders) -> bool:
    """Whether a mail forwards another one, by its subject or the headers of a redirection."""
    named = _FORWARD.match(headers.subject or "") is not None
    return named or any(field.name.lower() in _REDIRECTED for field in headers.fields)


def _addresses(addresses: Sequence[object]) -> str | None:
    found = [str(getattr(a, "address", "")) for a in addresses]
    return ", ".join(a for a in found if a) or None


def _thread_headers(headers: MailHeaders) -> ThreadHeaders:
    """Whether the mail says what it answers; a header without any id is there all the same."""
    absent = headers.in_reply_to is None and headers.references is None
    return ThreadHeaders.ABSENT if absent else ThreadHeaders.PRESENT


def _headers_around(mail: Mail, leaf: Leaf) -> MailHeaders:
    """Headers of the nearest mail around a leaf."""
    if leaf.mail_path:
        embedded = next((m for m in mail.leaves if m.path == leaf.mail_path), None)
        if embedded is not None and embedded.mail_headers is not None:
            return embedded.mail_headers
    return mail.headers


def _sender(mail: Mail, leaf: Leaf) -> str | None:
    """Address of the sender of the mail around a leaf, in lower case, as the database holds it."""
    told = _addresses(_headers_around(mail, leaf).from_)
    return None if told is None else printable(told.lower())


def write_mails(connection: Connection, mails: Sequence[SplitMail]) -> None:
    """What became of these mails: one row per leaf, the outcome of each mail, an event for each
    discarded picture and each body row, and one case per mail for its photographs and for its
    parked parts."""
    _write_parts(connection, mails)
    connection.execute(
        "UPDATE arrivals a SET outcome = %s, outcome_reason = s.reason"
        " FROM unnest(%s::bigint[], %s::text[]) AS s (id, reason) WHERE a.id = s.id",
        (
            ArrivalOutcome.SPLIT,
            [one.mail.arrival_id for one in mails],
            [
                "split into its parts" if one.documents else "no text and no document in it"
                for one in mails
            ],
        ),
    )
    for one in mails:
        _ask_about_photos(connection, one)
        _park_parts(connection, one)
    record_all(connection, [event for one in mails for event in _events(one)])


def _write_parts(connection: Connection, mails: Sequence[SplitMail]) -> None:
    parts = [(one, part) for one in mails for part in one.parts]
    connection.execute(
        """
        INSERT INTO mail_parts (mail_arrival_id, eml_sha, part_path, part_sha, role, outcome,
            reason, sender, arrival_id)
        SELECT * FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[],
            %s::text[], %s::text[], %s::text[], %s::bigint[])
        ON CONFLICT (mail_arrival_id, part_path) DO NOTHING
        """,
        (
            [one.mail.arrival_id for one, _ in parts],
            [one.mail.sha256 for one, _ in parts],
            [part.path for _, part in parts],
            [part.sha256 for _, part in parts],
            [str(part.role) for _, part in parts],
            [str(part.outcome) for _, part in parts],
            [_reason(part) for _, part in parts],
            [part.sender for _, part in parts],
            [one.arrivals.get(part.path) for one, part in parts],
        ),
    )


_REASONS: Mapping[PartOutcome, str] = {
    PartOutcome.DISCARDED: "picture that the text of the mail shows, kept in the mail",
    PartOutcome.ASKED: "photograph that the text of the mail shows; a person is asked",
    PartOutcome.CONTAINER: "taken apart; its contents stand as parts of their own",
    PartOutcome.KEPT_IN_MAIL: "{role}, kept in the mail",
    PartOutcome.PARKED: "{role}, cannot be opened here",
}


def _reason(part: Decided) -> str:
    role = f"{part.role} ({part.why})" if part.why else str(part.role)
    return _REASONS.get(part.outcome, "").format(role=role)


def _park_parts(connection: Connection, split: SplitMail) -> None:
    """One case for all parts of a mail that cannot be opened here: one mail, one question."""
    parked = [part for part in split.parts if part.outcome is PartOutcome.PARKED]
    if not parked:
        return
    mail = split.mail
    counts = Counter(_reason(part) for part in parked)
    open_case(
        connection,
        NewCase(
            kind=CaseKind.PARKED,
            subject_kind=SubjectKind.MAIL,
            subject_key=str(mail.arrival_id),
            reason="; ".join(
                reason if count == 1 else f"{count} × {reason}" for reason, count in counts.items()
            ),
            author=SERVICE_LOGIN,
            mandant_id=mail.mandant_id,
            entity=mail.entity_hint,
            arrival_id=mail.arrival_id,
            evidence={
                "parts": [
                    {"part_path": part.path, "role": part.role, "size": part.size}
                    for part in parked
                ]
            },
            is_test=mail.is_test,
        ),
    )


def _events(split: SplitMail) -> Iterator[Event]:
    for part in split.parts:
        if part.outcome is PartOutcome.DISCARDED:
            yield _event(split.mail, "mail.inline_image_discarded", part)
    if split.body:
        yield _event(split.mail, "mail.body_row_created", None)


def _event(mail: MailArrival, kind: str, leaf: Decided | None) -> Event:
    part = "body" if leaf is None else leaf.path
    return Event(
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
    )
