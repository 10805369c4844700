"""The gates and what they hand over: one vocabulary for every way a document can arrive.

A gate turns something outside (a file, a mail part, a drop) into a `NewArrival` plus bytes and
calls `raw.save_raw` first (FLOW-04, FLOW-05, RAW-03). Nothing here touches bytes or tables.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol


class GateKind(StrEnum):
    """Every way in; the values stand in `arrivals.gate`."""

    MAIL = "mail"
    UPLOAD = "upload"
    DROP = "drop"
    FOLDER = "folder"
    PHOTO = "photo"
    CONNECTOR = "connector"
    BATCH = "batch"
    CHAT = "chat"
    OUTPUT = "output"


class RawKind(StrEnum):
    """What the bytes of a raw item are."""

    FILE = "file"
    EML = "eml"
    PART = "part"
    OUTPUT = "output"


class PartRole(StrEnum):
    """How the arrival relates to its bytes: a file, a whole mail, or the text body of a mail."""

    FILE = "file"
    MAIL = "mail"
    BODY = "body"


class ArrivalOutcome(StrEnum):
    """How an arrival ended; every arrival ends in exactly one of these."""

    PENDING = "pending"
    ENTERED = "entered"
    ALREADY_HERE = "already_here"
    PARKED = "parked"
    BLOCKED = "blocked"
    SET_APART = "set_apart"
    SPLIT = "split"
    ERASED = "erased"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the bytes came from, as facts; what does not apply is None.

    `path` is relative to the watched folder, `modified_at` the file's own time, `account`,
    `mailbox`, `uidvalidity` and `uid` identify a mail, `message_id` is a hint only, `project_hint`
    is the code of the project that the uploader named. `mail_date` is what the mail states (ISO
    8601), `is_forwarded` whether it hands on another one (MAIL-58). `thread_headers` says whether
    the nearest mail has In-Reply-To or References: present, absent, None = not recorded (MAIL-60).
    `level_floor` is the level the uploader asked for at least, `visible_from` the moment (ISO 8601)
    before which readers see nothing, `circle` the logins of the only persons who may see it
    (UPL-17), `rights` the answers about rights by field (UPL-15), `said_at` the moment of these
    answers (ISO 8601); what comes out of the file inherits them all.
    """

    path: str | None = None
    modified_at: str | None = None
    account: str | None = None
    mailbox: str | None = None
    uidvalidity: int | None = None
    uid: int | None = None
    message_id: str | None = None
    mail_from: str | None = None
    mail_to: str | None = None
    mail_subject: str | None = None
    mail_date: str | None = None
    is_forwarded: bool | None = None
    in_reply_to: str | None = None
    parent_message_id: str | None = None
    legacy_number: str | None = None
    legacy_url: str | None = None
    raw_name: str | None = None
    project_hint: str | None = None
    mail_headers: str | None = None
    thread_headers: str | None = None
    references: str | None = None
    level_floor: str | None = None
    visible_from: str | None = None
    circle: Sequence[str] | None = None
    rights: Mapping[str, str] | None = None
    said_at: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The facts that apply."""
        facts = ((name, getattr(self, name)) for name in self.__dataclass_fields__)
        return {name: value for name, value in facts if value is not None}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Origin:
        """The origin that `to_json` wrote; unknown keys of newer versions are ignored."""
        known = cls.__dataclass_fields__
        return cls(**{name: value for name, value in data.items() if name in known})


@dataclass(frozen=True, slots=True)
class NewArrival:
    """One arrival before its bytes are secured.

    `arrival_key` identifies the act of arriving: the same act, seen again after a crash, has the
    same key and adds no second row. `bucket` is where the bytes are secured first.
    """

    gate: GateKind
    arrival_key: str
    bucket: str
    file_name: str
    received_at: datetime
    kind: RawKind = RawKind.FILE
    part_role: PartRole = PartRole.FILE
    part_path: str | None = None
    parent_uid: str | None = None
    uploader: str | None = None
    intent_text: str | None = None
    mandant: str | None = None
    entity_hint: str | None = None
    media_type: str | None = None
    origin: Origin = field(default_factory=Origin)
    is_test: bool = False

    @property
    def uid(self) -> uuid.UUID:
        """Stable identity of the arrival, derived from its key."""
        return uuid.uuid5(_NAMESPACE, self.arrival_key)


_NAMESPACE = uuid.UUID("5f0c6d3e-7d1b-4f5c-9a52-0c7f2c1f6b11")


def arrival_key(gate: GateKind, *parts: object) -> str:
    """One key for one act of arriving, from the facts that identify it."""
    text = "\x1f".join(str(part) for part in parts)
    return f"{gate}:{hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()}"


class TakenStatus(StrEnum):
    """What a gate did with one thing it saw."""

    TAKEN = "taken"
    WAITING = "waiting"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Taken:
    """The result for one thing at a gate; `reason` is always filled unless it was taken."""

    name: str
    status: TakenStatus
    reason: str = ""
    arrival_id: int | None = None
    already_here: bool = False


class Gate(Protocol):
    """A watched way in: looking is cheap and writes nothing, taking secures bytes first."""

    kind: GateKind

    def waiting(self) -> bool:
        """Whether `take` would find anything; no write, no heavy work."""
        ...

    def take(self, limit: int) -> Iterator[Taken]:
        """Secure up to `limit` things, each on its own; one bad thing never stops the next."""
        ...
