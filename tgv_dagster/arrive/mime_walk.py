"""The walk through a mail: from raw bytes to drafts of its leaves, in document order.

Belongs here: opening multiparts, embedded mails, TNEF, CMS and uuencoded blocks, each within
bounds, on an explicit stack, so that no depth of nesting ends the process. Does not belong
here: the roles that depend on the whole mail (`mime_roles`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tgv_dagster.arrive.mime_charsets import codec_of
from tgv_dagster.arrive.mime_headers import read_mail_headers
from tgv_dagster.arrive.mime_model import (
    Defect,
    DefectKind,
    Limits,
    MailHeaders,
    Role,
    SignatureState,
)
from tgv_dagster.arrive.mime_names import (
    Parameters,
    decode_header_text,
    generated_name,
    read_parameters,
    sniff_type,
)
from tgv_dagster.arrive.mime_smime import CmsKind, names_cms, open_cms
from tgv_dagster.arrive.mime_text import Flow, html_charset
from tgv_dagster.arrive.mime_tnef import BodyKind, TnefBody, TnefFile, is_tnef, open_tnef
from tgv_dagster.arrive.mime_wire import (
    HeaderBlock,
    Parts,
    Span,
    find_uuencoded,
    find_yenc,
    infer_boundary,
    is_blank,
    is_identity,
    looks_like_entity,
    looks_like_mail,
    mbox_messages,
    read_headers,
    split_multipart,
    transfer_name,
    undo_transfer,
    unlabelled_base64,
    without_yenc,
)

MAIL_TYPES = frozenset({"message/rfc822", "message/global", "message/news"})

_MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,127}/[a-z0-9!#$&^_.+-]{1,127}")
_CHARSET_HINT = re.compile(rb"charset\s{0,3}=\s{0,3}[\"']?([\w.:-]{2,40})", re.IGNORECASE)
_HINT_REACH = 32 * 1024
_UNTYPED = frozenset(
    {"application/octet-stream", "application/x-unknown", "binary/octet-stream", "text/plain"}
    | {"application/octetstream", "application/unknown", "application/x-download"}
)
_SHORT_TYPES = {"text": "text/plain", "html": "text/html", "pdf": "application/pdf"}
_TNEF_BODY_NAMES = {
    BodyKind.PLAIN: "body.txt",
    BodyKind.HTML: "body.html",
    BodyKind.RTF: "body.rtf",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the tree something stands.

    `groups` lists the enclosing multipart/alternative as (group, branch); `within` is the
    subtype of the direct multipart parent and `position` the place among its children.
    """

    prefix: str = ""
    section: str = ""
    parent_path: str | None = None
    mail_path: str = ""
    groups: tuple[tuple[int, int], ...] = ()
    signature: SignatureState = SignatureState.UNSIGNED
    depth: int = 0
    within: str = ""
    position: int = 0
    in_tnef: bool = False

    @property
    def path(self) -> str:
        """Path of a leaf that stands here."""
        return f"{self.prefix}{self.section or '1'}"

    def child(self, number: int, subtype: str) -> Place:
        """Place of the child `number` (from 1) of a multipart standing here."""
        section = f"{self.section}.{number}" if self.section else str(number)
        return replace(
            self, section=section, depth=self.depth + 1, within=subtype, position=number - 1
        )

    def inside(self, number: int = 0) -> Place:
        """Place of what a container standing here holds; `number` 0 = its one root entity."""
        return replace(
            self,
            prefix=f"{self.path}/",
            section=str(number) if number else "",
            parent_path=self.path,
            depth=self.depth + 1,
            within="",
            position=0,
        )


@dataclass(frozen=True, slots=True)
class Slice:
    """A range of a buffer, without a copy."""

    buffer: bytes
    start: int
    end: int

    @classmethod
    def whole(cls, content: bytes) -> Slice:
        """All of `content`."""
        return cls(content, 0, len(content))

    @property
    def view(self) -> memoryview:
        """The range as a view."""
        return memoryview(self.buffer)[self.start : self.end]

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(slots=True)
class Draft:
    """A leaf before the whole mail is known; `role` is set where the leaf alone decides it."""

    place: Place
    data: Slice
    filename: str
    raw_name: bytes | None
    media_type: str
    charset: str | None = None
    content_id: str | None = None
    location: str | None = None
    disposition: str | None = None
    sniffed_type: str | None = None
    role: Role | None = None
    mail_headers: MailHeaders | None = None
    sha256: str = ""
    flowed: Flow | None = None

    @property
    def view(self) -> memoryview:
        """The leaf's bytes, without a copy."""
        return self.data.view


@dataclass(frozen=True, slots=True)
class Walked:
    """Everything the walk found, drafts in document order."""

    headers: MailHeaders
    drafts: tuple[Draft, ...]
    defects: tuple[Defect, ...]


@dataclass(frozen=True, slots=True)
class _Entity:
    """A MIME entity still to be read: header block and body in `buffer[start:end]`."""

    buffer: bytes
    start: int
    end: int
    place: Place
    default_type: str = "text/plain"
    mail_of: Draft | None = None
    is_mail: bool = False


@dataclass(frozen=True, slots=True)
class _Remainder:
    """Bytes beyond the part limit, kept whole."""

    buffer: bytes
    span: Span
    place: Place


@dataclass(slots=True)
class _State:
    limits: Limits
    budget: int
    hint: str | None
    transcoded: bool
    headers: MailHeaders = field(default_factory=MailHeaders)
    drafts: list[Draft] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)
    planned: int = 1
    groups: int = 0

    def note(self, kind: DefectKind, path: str, detail: str = "") -> None:
        self.defects.append(Defect(kind, path, detail))


_Item = _Entity | _Remainder | Draft


def walk(raw: bytes, limits: Limits) -> Walked:
    """Walk a mail to its leaves. Bounded by `limits`; recursion-free.

    A mail whose only text stands outside its parts is that text: one leaf, so that it is not taken
    for an empty mail.
    """
    buffer, how = _readable(raw)
    state = _State(
        limits, limits.work_factor * len(raw) + limits.work_floor, _hint(buffer), bool(how)
    )
    if how:
        state.note(DefectKind.TRANSCODED, "", how)
    stack: list[_Item] = list(reversed(_roots(state, buffer)))
    while stack:
        item = stack.pop()
        if isinstance(item, _Entity):
            found = _open_entity(state, item)
        elif isinstance(item, _Remainder):
            found = [_remainder_draft(item)]
        else:
            found = _settle(state, item)
        stack.extend(reversed(found))
    if not state.drafts and any(d.kind is DefectKind.TEXT_OUTSIDE_PARTS for d in state.defects):
        start = read_headers(buffer, 0, len(buffer), top=True).body_start
        state.drafts.append(_blob(Slice(buffer, start, len(buffer)), Place(), "text/plain"))
    return Walked(state.headers, tuple(state.drafts), tuple(state.defects))


def _readable(raw: bytes) -> tuple[bytes, str]:
    """The bytes to walk: UTF-16 files as UTF-8, bare carriage returns as line ends."""
    codec = _utf16_codec(raw)
    if codec:
        return raw.decode(codec, "replace").removeprefix("\ufeff").encode("utf-8"), codec
    if b"\n" not in raw and b"\r" in raw:
        return raw.replace(b"\r", b"\n"), "bare carriage returns"
    return raw, ""


def _utf16_codec(raw: bytes) -> str | None:
    head = raw[:64]
    if len(head) < 8:
        return None
    if head.startswith(b"\xff\xfe") and b"\0" in head:
        return "utf-16-le"
    if head.startswith(b"\xfe\xff") and b"\0" in head:
        return "utf-16-be"
    if not any(head[0::2]) and all(head[1::2]):
        return "utf-16-be"
    if not any(head[1::2]) and all(head[0::2]):
        return "utf-16-le"
    return None


def _hint(buffer: bytes) -> str | None:
    head = buffer[:_HINT_REACH]
    lowered = head.lower()
    position = -1
    # A search by pattern over what is mostly base64 would cost more than all else in a small mail.
    while (position := lowered.find(b"charset", position + 1)) >= 0:
        match = _CHARSET_HINT.match(head, position)
        label = match[1].decode("latin-1") if match else ""
        if codec_of(label) not in (None, "utf-8", "utf-7") and "utf-" not in label.lower():
            return label
    return None


def _roots(state: _State, buffer: bytes) -> list[_Item]:
    messages = mbox_messages(buffer)
    if messages:
        kept = messages[: state.limits.leaves]
        state.planned += len(kept)
        state.note(DefectKind.MAILBOX_OF_MANY, "", f"{len(messages)} messages")
        drafts = [
            _blob(Slice(buffer, span.start, span.end), _numbered(number), "message/rfc822")
            for number, span in enumerate(kept, start=1)
        ]
        if len(messages) <= len(kept):
            return list(drafts)
        state.note(DefectKind.PART_LIMIT, "", f"{len(messages) - len(kept)} messages not opened")
        rest = Span(messages[len(kept)].start, len(buffer))
        return [*drafts, _Remainder(buffer, rest, _numbered(len(kept) + 1))]
    return [_Entity(buffer, 0, len(buffer), Place(), is_mail=True)]


def _numbered(number: int) -> Place:
    return Place(section=str(number), depth=1)


def _blob(data: Slice, place: Place, media_type: str) -> Draft:
    return Draft(place, data, "", None, media_type)


def _remainder_draft(item: _Remainder) -> Draft:
    data = Slice(item.buffer, item.span.start, item.span.end)
    draft = _blob(data, item.place, "application/octet-stream")
    draft.role = Role.UNOPENED
    return draft


def _open_entity(state: _State, entity: _Entity) -> list[_Item]:
    block = read_headers(entity.buffer, entity.start, entity.end, top=entity.is_mail)
    path = entity.place.path
    if entity.is_mail:
        _take_mail_headers(state, entity, block)
        if not block.fields and entity.place.depth == 0:
            return [_headerless_root(state, entity)]
    if not block.closed and block.fields:
        state.note(DefectKind.HEADERS_NOT_CLOSED, path)
    if block.broken_folding:
        state.note(DefectKind.BROKEN_FOLDING, path)
    if block.truncated:
        state.note(DefectKind.HEADER_TRUNCATED, path)
    content_type = _content_type(state, entity, block)
    if content_type.value.startswith("multipart/"):
        return _open_multipart(state, entity, block, content_type)
    return [_entity_draft(state, entity, block, content_type)]


def _take_mail_headers(state: _State, entity: _Entity, block: HeaderBlock) -> None:
    mail_path = entity.place.mail_path
    headers, defects = read_mail_headers(block, mail_path, state.hint)
    state.defects.extend(defects)
    if entity.mail_of is not None:
        entity.mail_of.mail_headers = headers
    else:
        state.headers = headers


def _headerless_root(state: _State, entity: _Entity) -> Draft:
    data = Slice.whole(entity.buffer)
    sniffed = sniff_type(data.view)
    binary = sniffed is not None or b"\0" in entity.buffer[:8_192]
    state.note(DefectKind.NOT_A_MAIL if binary else DefectKind.NO_HEADERS, "")
    kind = sniffed or ("application/octet-stream" if binary else "text/plain")
    return _blob(data, entity.place, kind)


def _content_type(state: _State, entity: _Entity, block: HeaderBlock) -> Parameters:
    """The first Content-Type that names a type, or a later one whose boundary stands in the body.

    "multipart" alone counts as mixed.
    """
    values = block.all("content-type")
    read = [read_parameters(value, state.hint) for value in values]
    usable = [one for one in read if _MEDIA_TYPE.fullmatch(one.value)]
    if usable:
        return next((one for one in usable[1:] if _is_cut(entity, block, one)), usable[0])
    for one in read:
        guess = _mended_type(one)
        state.note(DefectKind.BAD_CONTENT_TYPE, entity.place.path, one.value[:80])
        if guess:
            return replace(one, value=guess)
    kept = read[0] if read else Parameters(entity.default_type, {}, {})
    return replace(kept, value=entity.default_type)


def _is_cut(entity: _Entity, block: HeaderBlock, content_type: Parameters) -> bool:
    boundary = _boundary(content_type)
    is_multipart = content_type.value.startswith("multipart/") and bool(boundary)
    return is_multipart and entity.buffer.find(b"--" + boundary, block.body_start, entity.end) >= 0


def _mended_type(one: Parameters) -> str | None:
    match = re.search(r"[a-z0-9.+-]+/[a-z0-9.+-]+", one.value)
    if match:
        return match[0]
    bare = one.value.rstrip("/")
    if bare == "multipart" or one.raw.get("boundary"):
        return "multipart/mixed"
    if bare in _SHORT_TYPES:
        return _SHORT_TYPES[bare]
    return "application/octet-stream" if one.get("name") else None


def _open_multipart(
    state: _State, entity: _Entity, block: HeaderBlock, content_type: Parameters
) -> list[_Item]:
    place = entity.place
    if place.depth >= state.limits.depth:
        state.note(DefectKind.DEPTH_LIMIT, place.path, content_type.value)
        draft = _blob(Slice(entity.buffer, entity.start, entity.end), place, content_type.value)
        draft.role = Role.UNOPENED
        return [draft]
    buffer, start, end = _multipart_body(entity, block, content_type)
    room = max(1, _room(state))
    parts = _cut(state, place, content_type, (buffer, start, end), room)
    if not parts.spans and parts.rest is None:
        return _partless(state, entity, (buffer, start, end), block, content_type)
    _note_outside(state, place, buffer, parts)
    parts = _with_parts_behind(state, place, buffer, parts)
    return _children(state, place, buffer, parts, content_type.value.partition("/")[2])


def _room(state: _State) -> int:
    return state.limits.leaves - state.planned


def _multipart_body(
    entity: _Entity, block: HeaderBlock, content_type: Parameters
) -> tuple[bytes, int, int]:
    """The body to cut. RFC 2045 forbids encoding a multipart; some mailers do it all the same."""
    start, end = block.body_start, entity.end
    label = block.first("content-transfer-encoding")
    boundary = _boundary(content_type)
    if is_identity(label) or (boundary and entity.buffer.find(b"--" + boundary, start, end) >= 0):
        return entity.buffer, start, end
    decoded = undo_transfer(memoryview(entity.buffer)[start:end], label)
    if boundary and b"--" + boundary in decoded.content:
        return decoded.content, 0, len(decoded.content)
    return entity.buffer, start, end


def _boundary(content_type: Parameters) -> bytes:
    raw = content_type.raw.get("boundary", b"")
    return raw.strip(b" \t\"'") if raw.startswith((b'"', b"'")) else raw.rstrip(b" \t")


def _cut(
    state: _State,
    place: Place,
    content_type: Parameters,
    body: tuple[bytes, int, int],
    room: int,
) -> Parts:
    buffer, start, end = body
    for boundary in _boundary_spellings(content_type):
        parts = split_multipart(buffer, start, end, boundary, room)
        if parts.spans or parts.rest:
            return parts
    inferred = infer_boundary(buffer, start, end)
    if inferred is None:
        return Parts((), Span(start, end), Span(end, end), closed=False)
    state.note(DefectKind.BOUNDARY_INFERRED, place.path, inferred.decode("latin-1")[:80])
    return split_multipart(buffer, start, end, inferred, room)


def _boundary_spellings(content_type: Parameters) -> list[bytes]:
    """The declared boundary, then without a trailing comment or word when it never matches."""
    boundary = _boundary(content_type)
    exact = content_type.raw.get("boundary", b"")
    bare = re.split(rb"[ \t(]", boundary, maxsplit=1)[0]
    spellings = dict.fromkeys((exact, boundary, bare, boundary.strip(b"\"'")))
    return [one for one in spellings if one]


def _partless(
    state: _State,
    entity: _Entity,
    body: tuple[bytes, int, int],
    block: HeaderBlock,
    content_type: Parameters,
) -> list[_Item]:
    """A multipart in which no boundary line stands: its text is the one leaf, if there is any."""
    buffer, start, end = body
    path = entity.place.path
    if is_blank(buffer, Span(start, end)):
        state.note(DefectKind.EMPTY_MULTIPART, path)
        if entity.place.depth > 0:
            return []
        return [_blob(Slice(buffer, start, end), entity.place, "text/plain")]
    declared = bool(_boundary(content_type))
    missing = DefectKind.BOUNDARY_NOT_FOUND if declared else DefectKind.BOUNDARY_MISSING
    state.note(missing, path)
    plain = replace(content_type, value="text/plain")
    return [_entity_draft(state, entity, block, plain)]


def _with_parts_behind(state: _State, place: Place, buffer: bytes, parts: Parts) -> Parts:
    """With the parts that a transport hung on behind the end, under a boundary of its own."""
    behind = parts.epilogue
    boundary = infer_boundary(buffer, behind.start, behind.end) if parts.rest is None else None
    if not boundary:
        return parts
    room = max(1, _room(state) - len(parts.spans))
    more = split_multipart(buffer, behind.start, behind.end, boundary, room)
    state.note(DefectKind.PART_AFTER_CLOSE, place.path, f"{len(more.spans)} parts")
    return replace(parts, spans=parts.spans + more.spans, rest=more.rest)


def _note_outside(state: _State, place: Place, buffer: bytes, parts: Parts) -> None:
    if not parts.closed:
        state.note(DefectKind.BOUNDARY_NOT_CLOSED, place.path)
    if parts.after_close:
        state.note(DefectKind.PART_AFTER_CLOSE, place.path, f"{parts.after_close} parts")
    for span, where in ((parts.preamble, "preamble"), (parts.epilogue, "epilogue")):
        boilerplate = where == "preamble" and b"mime" in buffer[span.start : span.end].lower()
        if not (boilerplate or is_blank(buffer, span)):
            state.note(DefectKind.TEXT_OUTSIDE_PARTS, place.path, f"{where}, {len(span)} bytes")


def _children(
    state: _State, place: Place, buffer: bytes, parts: Parts, subtype: str
) -> list[_Item]:
    state.planned += len(parts.spans)
    state.groups += subtype == "alternative"
    default = "message/rfc822" if subtype == "digest" else "text/plain"
    signed = SignatureState.NOT_VERIFIED if subtype == "signed" else place.signature
    found: list[_Item] = []
    for number, span in enumerate(parts.spans, start=1):
        child = replace(place.child(number, subtype), signature=signed)
        if subtype == "alternative":
            child = replace(child, groups=(*place.groups, (state.groups, number)))
        found.append(_Entity(buffer, span.start, span.end, child, default))
    if parts.rest is not None:
        child = place.child(len(parts.spans) + 1, subtype)
        state.note(DefectKind.PART_LIMIT, child.path, f"{len(parts.rest)} bytes not cut")
        found.append(_Remainder(buffer, parts.rest, child))
    return found


def _entity_draft(
    state: _State, entity: _Entity, block: HeaderBlock, content_type: Parameters
) -> Draft:
    path = entity.place.path
    data = Slice(entity.buffer, block.body_start, entity.end)
    label = block.first("content-transfer-encoding")
    if not (is_identity(label) or _wrongly_labelled_mail(content_type.value, label, data)):
        decoded = undo_transfer(data.view, label)
        data = Slice.whole(decoded.content)
        if not decoded.known:
            state.note(DefectKind.UNKNOWN_TRANSFER_ENCODING, path, decoded.detail)
        elif not decoded.clean:
            state.note(DefectKind.BAD_TRANSFER_ENCODING, path, decoded.detail)
    if _is_binary(content_type.value) and (content := unlabelled_base64(data.view)):
        data = Slice.whole(content)
        state.note(DefectKind.BAD_TRANSFER_ENCODING, path, "base64 without saying so")
    disposition = read_parameters(block.first("content-disposition") or b"", state.hint)
    filename, raw_name = _name(disposition, content_type)
    return Draft(
        place=entity.place,
        data=data,
        filename=filename,
        raw_name=raw_name,
        media_type=content_type.value,
        charset=_charset(state, content_type),
        content_id=_header_text(block, "content-id"),
        location=_header_text(block, "content-location"),
        disposition=disposition.value or None,
        flowed=_flow(content_type),
    )


def _flow(content_type: Parameters) -> Flow | None:
    if content_type.value != "text/plain" or (content_type.get("format") or "").lower() != "flowed":
        return None
    added = (content_type.get("delsp") or "").lower() == "yes"
    return Flow.SPACE_ADDED if added else Flow.AT_SPACE


def _is_binary(media_type: str) -> bool:
    return not media_type.startswith(("text/", "message/", "multipart/"))


def _wrongly_labelled_mail(media_type: str, label: bytes | None, data: Slice) -> bool:
    """Whether a nested mail stands there as it is although its part claims quoted-printable."""
    if media_type not in MAIL_TYPES or transfer_name(label) != "quotedprintable":
        return False
    block = read_headers(data.buffer, data.start, data.end, top=True)
    head = data.buffer[data.start : block.body_start]
    # An encoded word ends in "?=" and is no soft line break.
    encoded = b"=3D" in head or re.search(rb"[^?]=\r?\n", head) is not None
    return not encoded and looks_like_mail(data.view)


def _charset(state: _State, content_type: Parameters) -> str | None:
    label = content_type.get("charset")
    codec = codec_of(label) or ""
    return "utf-8" if state.transcoded and codec.startswith(("utf-16", "utf-32")) else label


def _name(disposition: Parameters, content_type: Parameters) -> tuple[str, bytes | None]:
    candidates = [
        (source.text.get(key, ""), source.raw.get(key, b""))
        for source, key in (
            (disposition, "filename"),
            (content_type, "name"),
            (disposition, "name"),
            (content_type, "filename"),
        )
    ]
    named = [(text, raw) for text, raw in candidates if text.strip(" ")]
    readable = [(text, raw) for text, raw in named if "\ufffd" not in text]
    return next(iter(readable or named), ("", None))


def _header_text(block: HeaderBlock, name: str) -> str | None:
    value = block.first(name)
    return decode_header_text(value).strip("<> ") or None if value else None


def _settle(state: _State, draft: Draft) -> list[_Item]:
    """Record a draft and give back what it contains, when it is something to be opened."""
    state.drafts.append(draft)
    draft.sniffed_type = sniff_type(draft.view)
    draft.sha256 = hashlib.sha256(draft.view).hexdigest()
    state.budget -= len(draft.view)
    inner = _opened(state, draft) if draft.role is None else []
    if not draft.filename:
        draft.filename = generated_name(draft.sha256, draft.media_type, draft.sniffed_type)
        draft.raw_name = None
    return inner


def _opened(state: _State, draft: Draft) -> list[_Item]:
    opener = _opener(draft)
    if opener is None:
        _note_content(state, draft)
        return _yenc(state, draft) or _uuencoded(state, draft)
    path = draft.place.path
    if draft.place.depth >= state.limits.depth or state.budget < 0:
        too_deep = draft.place.depth >= state.limits.depth
        state.note(DefectKind.DEPTH_LIMIT if too_deep else DefectKind.SIZE_LIMIT, path)
        draft.role = Role.UNOPENED
        return []
    return opener(state, draft)


def _opener(draft: Draft) -> Callable[[_State, Draft], list[_Item]] | None:
    if is_tnef(draft.view):
        return _open_tnef
    if names_cms(draft.media_type, draft.filename) and draft.place.within != "encrypted":
        return _open_cms
    if _is_mail(draft):
        return _open_mail
    return None


def _is_mail(draft: Draft) -> bool:
    if draft.media_type in MAIL_TYPES:
        return draft.sniffed_type is None or draft.sniffed_type.startswith("text/")
    named = draft.filename.lower().endswith(".eml")
    return named and draft.media_type in _UNTYPED and looks_like_mail(draft.view)


def _open_mail(state: _State, draft: Draft) -> list[_Item]:
    draft.role = Role.EMBEDDED_MAIL
    state.planned += 1
    inside = replace(draft.place.inside(), mail_path=draft.place.path, groups=(), in_tnef=False)
    data = draft.data
    return [_Entity(data.buffer, data.start, data.end, inside, mail_of=draft, is_mail=True)]


def _open_cms(state: _State, draft: Draft) -> list[_Item]:
    path = draft.place.path
    opened = open_cms(bytes(draft.view))
    if opened.kind is CmsKind.ENCRYPTED:
        draft.role = Role.ENCRYPTED
        state.note(DefectKind.SMIME_ENCRYPTED, path, opened.detail)
        return []
    if opened.kind is CmsKind.CERTIFICATES:
        draft.role = Role.SIGNATURE
        return []
    if opened.content is None:
        state.note(DefectKind.SMIME_UNREADABLE, path, opened.detail)
        return []
    draft.role = Role.SMIME_CONTAINER
    state.planned += 1
    signed = opened.kind is CmsKind.SIGNED
    inside = draft.place.inside()
    if signed:
        inside = replace(inside, signature=SignatureState.NOT_VERIFIED)
    if looks_like_entity(opened.content):
        return [_Entity(opened.content, 0, len(opened.content), inside)]
    name = re.sub(r"\.p7[mz]$", "", draft.filename, flags=re.IGNORECASE)
    kind = sniff_type(opened.content) or "application/octet-stream"
    raw_name = draft.raw_name if name else None
    return [Draft(inside, Slice.whole(opened.content), name, raw_name, kind)]


def _open_tnef(state: _State, draft: Draft) -> list[_Item]:
    draft.role = Role.TNEF_CONTAINER
    path = draft.place.path
    opened = open_tnef(bytes(draft.view))
    if not opened.complete:
        state.note(DefectKind.TNEF_TRUNCATED, path, opened.detail)
    scope = draft.place.mail_path
    if draft.place.in_tnef:
        state.note(DefectKind.TNEF_EMBEDDED_MESSAGE, path)
        scope = path
    if len(opened.files) > max(1, _room(state)):
        draft.role = Role.UNOPENED
        state.note(DefectKind.PART_LIMIT, path, f"{len(opened.files)} files")
        return []
    if not opened.files:
        only = DefectKind.TNEF_BODY_ONLY if opened.bodies else DefectKind.TNEF_EMPTY
        state.note(only, path)
    state.groups += 1
    state.planned += len(opened.bodies) + len(opened.files)
    found: list[_Item] = []
    for number, body in enumerate(opened.bodies, start=1):
        place = replace(draft.place.inside(number), in_tnef=True, mail_path=scope)
        place = replace(place, groups=(*place.groups, (state.groups, number)))
        found.append(_tnef_body(place, body))
    for number, one in enumerate(opened.files, start=len(opened.bodies) + 1):
        place = replace(draft.place.inside(number), in_tnef=True, mail_path=scope)
        found.append(_tnef_file(place, one))
    return found


def _tnef_body(place: Place, body: TnefBody) -> Draft:
    name = _TNEF_BODY_NAMES[body.kind]
    data = Slice.whole(body.content)
    return Draft(place, data, name, None, str(body.kind), charset=body.charset)


def _tnef_file(place: Place, one: TnefFile) -> Draft:
    data = Slice.whole(one.content)
    return Draft(place, data, one.name, one.raw_name, one.media_type, content_id=one.content_id)


def _yenc(state: _State, draft: Draft) -> list[_Item]:
    """The yEnc blocks of a text, as leaves; a leaf that is one block is set aside."""
    data = draft.data
    if draft.sniffed_type is not None or not _may_be_yenc(draft):
        return []
    content = bytes(draft.view)
    blocks = find_yenc(content)
    if blocks and not without_yenc(content).strip():
        state.note(DefectKind.YENC, draft.place.path, f"{len(blocks)} files")
        draft.role = Role.UNOPENED
        draft.filename = draft.filename or decode_header_text(blocks[0][0])
        return []
    kept = blocks[: max(1, _room(state))]
    state.planned += len(kept)
    return [
        Draft(
            replace(draft.place.inside(number), groups=()),
            Slice(data.buffer, data.start + span.start, data.start + span.end),
            decode_header_text(raw_name),
            raw_name,
            "application/octet-stream",
        )
        for number, (raw_name, span) in enumerate(kept, start=1)
    ]


def _may_be_yenc(draft: Draft) -> bool:
    data = draft.data
    if draft.media_type == "text/plain":
        return data.buffer.find(b"=ybegin ", data.start, data.end) >= 0
    return bytes(draft.view[:64]).lstrip().startswith(b"=ybegin ")


def _uuencoded(state: _State, draft: Draft) -> list[_Item]:
    if draft.media_type != "text/plain" or draft.sniffed_type is not None:
        return []
    files = find_uuencoded(bytes(draft.view))
    if len(files) > max(1, _room(state)):
        state.note(DefectKind.PART_LIMIT, draft.place.path, f"{len(files)} uuencoded files")
        return []
    state.planned += len(files)
    found: list[_Item] = []
    for number, one in enumerate(files, start=1):
        place = replace(draft.place.inside(number), groups=())
        if not one.clean:
            state.note(DefectKind.BAD_TRANSFER_ENCODING, place.path, "uuencoded, without its end")
        name = decode_header_text(one.raw_name)
        data = Slice.whole(one.content)
        found.append(Draft(place, data, name, one.raw_name, "application/octet-stream"))
    return found


def _note_content(state: _State, draft: Draft) -> None:
    path = draft.place.path
    if draft.media_type in ("application/ms-tnef", "application/vnd.ms-tnef"):
        state.note(DefectKind.TNEF_UNREADABLE, path)
    if draft.media_type == "message/partial":
        state.note(DefectKind.PARTIAL_MESSAGE, path)
    if draft.media_type == "message/external-body":
        state.note(DefectKind.EXTERNAL_BODY, path)
    text = draft.media_type.startswith(("text/", "message/"))
    if text and draft.sniffed_type and not draft.sniffed_type.startswith("text/"):
        state.note(DefectKind.TYPE_MISMATCH, path, f"{draft.media_type}: {draft.sniffed_type}")
    if draft.media_type == "text/html" and draft.charset is None:
        draft.charset = html_charset(draft.view)
