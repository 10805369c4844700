"""The shapes in which a split mail is handed on: Mail, Leaf, Defect and their closed sets.

Belongs here: frozen data without decisions. Does not belong here: anything that reads bytes
off the wire (`mime_wire`), decodes names (`mime_names`) or decides roles (`mime`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

MAX_SAFE_NAME_BYTES = 200
_UNSAFE_IN_NAMES = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069:*?\"<>|]")


class Role(StrEnum):
    """What a leaf is to the mail it came in. Every leaf has exactly one."""

    BODY = "body"
    BODY_ALTERNATIVE = "body_alternative"
    ATTACHMENT = "attachment"
    INLINE_REFERENCED = "inline_referenced"
    EMBEDDED_MAIL = "embedded_mail"
    TNEF_CONTAINER = "tnef_container"
    SMIME_CONTAINER = "smime_container"
    CALENDAR = "calendar"
    REPORT = "report"
    SIGNATURE = "signature"
    COMPANION = "companion"
    ENCRYPTED = "encrypted"
    UNOPENED = "unopened"


DOCUMENT_ROLES = frozenset({Role.ATTACHMENT, Role.CALENDAR})
"""Roles that can become a document of their own."""

CONTAINER_ROLES = frozenset({Role.EMBEDDED_MAIL, Role.TNEF_CONTAINER, Role.SMIME_CONTAINER})
"""Roles whose bytes are kept whole and whose contents stand behind them as leaves."""

PARKING_ROLES = frozenset({Role.ENCRYPTED, Role.UNOPENED})
"""Roles that nobody here can read: to be parked and listed, never dropped."""


class SignatureState(StrEnum):
    """What is known about a signature around a leaf. Nothing here verifies one."""

    UNSIGNED = "unsigned"
    NOT_VERIFIED = "not_verified"


class DefectKind(StrEnum):
    """Everything about a mail that was not as the standards ask, or that was not taken apart."""

    NO_HEADERS = "no_headers"
    NOT_A_MAIL = "not_a_mail"
    HEADERS_NOT_CLOSED = "headers_not_closed"
    BROKEN_FOLDING = "broken_folding"
    HEADER_TRUNCATED = "header_truncated"
    DUPLICATE_HEADER = "duplicate_header"
    BAD_ADDRESS = "bad_address"
    BAD_DATE = "bad_date"
    BAD_CONTENT_TYPE = "bad_content_type"
    TRANSCODED = "transcoded"
    MAILBOX_OF_MANY = "mailbox_of_many"
    BOUNDARY_MISSING = "boundary_missing"
    BOUNDARY_INFERRED = "boundary_inferred"
    BOUNDARY_NOT_FOUND = "boundary_not_found"
    BOUNDARY_NOT_CLOSED = "boundary_not_closed"
    PART_AFTER_CLOSE = "part_after_close"
    EMPTY_MULTIPART = "empty_multipart"
    TEXT_OUTSIDE_PARTS = "text_outside_parts"
    UNKNOWN_TRANSFER_ENCODING = "unknown_transfer_encoding"
    BAD_TRANSFER_ENCODING = "bad_transfer_encoding"
    UNKNOWN_CHARSET = "unknown_charset"
    CHARSET_MISMATCH = "charset_mismatch"
    TEXT_UNCERTAIN = "text_uncertain"
    YENC = "yenc"
    TYPE_MISMATCH = "type_mismatch"
    PARTIAL_MESSAGE = "partial_message"
    EXTERNAL_BODY = "external_body"
    DEPTH_LIMIT = "depth_limit"
    PART_LIMIT = "part_limit"
    SIZE_LIMIT = "size_limit"
    TNEF_UNREADABLE = "tnef_unreadable"
    TNEF_TRUNCATED = "tnef_truncated"
    TNEF_BODY_ONLY = "tnef_body_only"
    TNEF_EMPTY = "tnef_empty"
    TNEF_EMBEDDED_MESSAGE = "tnef_embedded_message"
    SMIME_UNREADABLE = "smime_unreadable"
    SMIME_ENCRYPTED = "smime_encrypted"
    HTML_TOO_DEEP = "html_too_deep"
    HTML_TOO_LARGE = "html_too_large"
    HTML_UNREADABLE = "html_unreadable"
    RTF_UNREADABLE = "rtf_unreadable"
    BODY_TEXT_TRUNCATED = "body_text_truncated"
    SPLITTER_FAILED = "splitter_failed"


@dataclass(frozen=True, slots=True)
class Defect:
    """One finding: its kind, the path of the leaf or part ("" = the mail), a short detail."""

    kind: DefectKind
    path: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one split. `work` is the sum of leaf bytes, as a multiple of the input size.

    Attributes:
        depth: nesting of multiparts and containers that is still opened.
        leaves: leaves per mail; what stands behind them is kept as one unopened leaf each.
        work_factor: leaf bytes allowed per input byte, on top of `work_floor`.
        work_floor: bytes that are always allowed.
        body_text: characters of body text; html: characters of HTML turned into text.
    """

    depth: int = 64
    leaves: int = 5_000
    work_factor: int = 8
    work_floor: int = 64 * 1024 * 1024
    body_text: int = 2_000_000
    html: int = 1_000_000


@dataclass(frozen=True, slots=True)
class Address:
    """A mailbox of an address header. `address` is "" when only a name could be read."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class Header:
    """A header field in document order: the name as written, raw value bytes, decoded text."""

    name: str
    raw: bytes
    text: str


@dataclass(frozen=True, slots=True)
class MailHeaders:
    """The headers of one mail, raw and decoded (MAIL-58 to MAIL-60).

    `None` means that the mail has no such header; an empty tuple means that the header is
    there and holds nothing readable. Message ids stand without their angle brackets. `date`
    is timezone-aware; a header without a zone is taken as UTC.
    """

    fields: tuple[Header, ...] = ()
    from_: tuple[Address, ...] = ()
    sender: tuple[Address, ...] = ()
    reply_to: tuple[Address, ...] = ()
    to: tuple[Address, ...] = ()
    cc: tuple[Address, ...] = ()
    bcc: tuple[Address, ...] = ()
    subject: str | None = None
    date: datetime | None = None
    date_raw: str | None = None
    message_id: str | None = None
    in_reply_to: tuple[str, ...] | None = None
    references: tuple[str, ...] | None = None
    auto_submitted: str | None = None
    precedence: str | None = None
    list_id: str | None = None

    def texts(self, name: str) -> tuple[str, ...]:
        """Decoded values of every field called `name` (any case), in document order."""
        wanted = name.lower()
        return tuple(header.text for header in self.fields if header.name.lower() == wanted)

    def raws(self, name: str) -> tuple[bytes, ...]:
        """Raw value bytes of every field called `name` (any case), in document order."""
        wanted = name.lower()
        return tuple(header.raw for header in self.fields if header.name.lower() == wanted)


@dataclass(frozen=True, slots=True)
class Leaf:
    """One leaf of a mail.

    Attributes:
        path: stable address: section numbers joined by ".", one "/" per container entered.
        index: position in document order, from 0, containers included.
        role: the one thing this leaf is.
        filename: the decoded name as sent, or a generated one. Data, never a path (see
            `safe_name`).
        raw_name: name bytes as sent; None when the part had no name.
        media_type: declared type, lower case, "text/plain" when absent.
        sniffed_type: type read off the first bytes, None when they say nothing.
        charset: declared charset label, None when absent.
        sha256: hex digest of `content`.
        size: bytes of `content`.
        content_id: without angle brackets, None when absent.
        disposition: "attachment", "inline", another token, or None when absent.
        parent_path: path of the container leaf this one came out of; None at the top.
        mail_path: path of the nearest enclosing embedded mail or TNEF message; "" for the
            mail itself.
        signature: whether a signature stands around it; never verified here.
        mail_headers: headers of an embedded mail, None for every other role.
        view: the bytes without a copy; `content` gives them as bytes.
    """

    path: str
    index: int
    role: Role
    filename: str
    raw_name: bytes | None
    media_type: str
    sniffed_type: str | None
    charset: str | None
    sha256: str
    size: int
    content_id: str | None
    disposition: str | None
    parent_path: str | None
    mail_path: str
    signature: SignatureState
    mail_headers: MailHeaders | None
    view: memoryview = field(repr=False)

    @property
    def content(self) -> bytes:
        """The transfer-decoded bytes (a copy when the leaf is a slice of a bigger buffer)."""
        whole = self.view.obj
        if isinstance(whole, bytes) and len(whole) == self.size:
            return whole
        return bytes(self.view)

    @property
    def name_generated(self) -> bool:
        """True when the part carried no usable name."""
        return self.raw_name is None

    @property
    def safe_name(self) -> str:
        """`filename` reduced to one harmless path component of at most 200 bytes."""
        return safe_name(self.filename)


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail taken apart; `size` is that of the raw input in bytes.

    Every leaf of the tree stands in `leaves` exactly once, in document order, with one role.
    """

    headers: MailHeaders
    body_text: str
    leaves: tuple[Leaf, ...]
    defects: tuple[Defect, ...]
    size: int

    def with_role(self, *roles: Role) -> tuple[Leaf, ...]:
        """Leaves that have one of `roles`, in document order."""
        return tuple(leaf for leaf in self.leaves if leaf.role in roles)

    def has_defect(self, kind: DefectKind) -> bool:
        """Whether a defect of this kind was found anywhere in the mail."""
        return any(defect.kind is kind for defect in self.defects)


def safe_name(name: str) -> str:
    """Reduce a name to one path component without control, bidi or shell-hostile characters.

    Never empty, never "." or "..", at most 200 bytes of UTF-8 with the extension kept.
    """
    last = re.split(r"[/\\]", name)[-1]
    clean = _UNSAFE_IN_NAMES.sub("_", last).strip(" .")
    encoded = clean.encode("utf-8", "replace")
    if len(encoded) > MAX_SAFE_NAME_BYTES:
        stem, dot, extension = clean.rpartition(".")
        suffix = f".{extension}" if dot and len(extension) <= 10 else ""
        room = MAX_SAFE_NAME_BYTES - len(suffix.encode("utf-8", "replace"))
        clean = (stem or clean).encode("utf-8", "replace")[:room].decode("utf-8", "ignore")
        clean += suffix
    return clean or "unnamed"
