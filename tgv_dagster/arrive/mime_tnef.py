"""TNEF ("winmail.dat"): the bodies, files and embedded messages inside (known fault 67).

Belongs here: the object stream and the MAPI properties of MS-OXTNEF, read with every count
and length bounded by the bytes that are there. Does not belong here: the role of what is found.

`tnefparse` is not used: it rounds property lengths up to four bytes and cuts trailing zero
bytes off binary values, so files do not come out as they were sent, it copies the rest of the
stream for every object, and a count field of four bytes decides how often its loops run.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from compressed_rtf import decompress

from tgv_dagster.arrive.mime_charsets import decode

SIGNATURE = b"\x78\x9f\x3e\x22"
MAX_OBJECTS = 20_000
MAX_PROPERTIES = 5_000
MAX_RTF_BYTES = 1024 * 1024

_LEVEL_ATTACHMENT = 2
_BODY, _ATTACH_DATA, _ATTACH_TITLE = 0x800C, 0x800F, 0x8010
_ATTACH_TRANSPORT_NAME, _ATTACH_REND_DATA, _MAPI_PROPS = 0x9001, 0x9002, 0x9003
_ATTACHMENT, _OEM_CODEPAGE = 0x9005, 0x9007

_P_BODY, _P_RTF, _P_HTML, _P_CODEPAGE = 0x1000, 0x1009, 0x1013, 0x3FDE
_P_DISPLAY_NAME, _P_DATA, _P_SHORT_NAME, _P_LONG_NAME = 0x3001, 0x3701, 0x3704, 0x3707
_P_MIME_TAG, _P_CONTENT_ID = 0x370E, 0x3712

_T_OBJECT, _T_STRING8, _T_UNICODE, _T_BINARY = 0x0D, 0x1E, 0x1F, 0x0102
_VARIABLE = frozenset({_T_OBJECT, _T_STRING8, _T_UNICODE, _T_BINARY, 0x00})
_FIXED = {
    0x01: 4,
    0x02: 4,
    0x03: 4,
    0x04: 4,
    0x05: 8,
    0x06: 8,
    0x07: 8,
    0x0A: 4,
    0x0B: 4,
    0x14: 8,
    0x40: 8,
    0x48: 16,
}
_MULTI_VALUE, _NAMED = 0x1000, 0x8000
_INTERFACE_ID_BYTES = 16


class BodyKind(StrEnum):
    """The three forms in which a TNEF message carries its text."""

    PLAIN = "text/plain"
    HTML = "text/html"
    RTF = "application/rtf"


@dataclass(frozen=True, slots=True)
class TnefBody:
    """One form of the text; `charset` is None for RTF."""

    kind: BodyKind
    content: bytes
    charset: str | None


@dataclass(frozen=True, slots=True)
class TnefFile:
    """One attached object; `content` of an embedded message is a TNEF stream of its own."""

    raw_name: bytes | None
    name: str
    content: bytes
    media_type: str
    content_id: str | None


@dataclass(frozen=True, slots=True)
class TnefContent:
    """What one TNEF stream holds; `complete` is False when it ends early or breaks off."""

    bodies: tuple[TnefBody, ...]
    files: tuple[TnefFile, ...]
    complete: bool
    detail: str = ""


@dataclass(slots=True)
class _Collected:
    codepage: str = "cp1252"
    bodies: dict[BodyKind, TnefBody] = field(default_factory=dict)
    files: list[dict[int, bytes]] = field(default_factory=list)
    complete: bool = True
    detail: str = ""


@dataclass(frozen=True, slots=True)
class _Property:
    identity: int
    kind: int
    value: bytes


def is_tnef(data: bytes | memoryview) -> bool:
    """Whether the bytes start as a TNEF stream, whatever the part calls itself."""
    return bytes(data[:4]) == SIGNATURE


def open_tnef(data: bytes) -> TnefContent:
    """Read a TNEF stream as far as it goes. Never raises; breakage shows in `complete`."""
    found = _Collected()
    for level, identity, value in _objects(data, found):
        if level == _LEVEL_ATTACHMENT:
            _read_attachment(found, identity, value)
        elif identity == _OEM_CODEPAGE and len(value) >= 4:
            found.codepage = f"cp{struct.unpack_from('<I', value)[0]}"
        elif identity == _BODY and BodyKind.PLAIN not in found.bodies:
            text = value.rstrip(b"\0")
            found.bodies[BodyKind.PLAIN] = TnefBody(BodyKind.PLAIN, text, found.codepage)
        elif identity == _MAPI_PROPS:
            _read_message_properties(found, value)
    bodies = tuple(found.bodies[kind] for kind in BodyKind if kind in found.bodies)
    files = tuple(_file(parts, found.codepage) for parts in found.files if parts)
    return TnefContent(bodies, files, found.complete, found.detail)


def _objects(data: bytes, found: _Collected) -> Iterator[tuple[int, int, bytes]]:
    position = 6
    count = 0
    while position + 9 <= len(data):
        level, identity, _, length = struct.unpack_from("<BHHI", data, position)
        start = position + 9
        if level not in (1, 2):
            _broken(found, f"no object at byte {position}")
            return
        if start + length > len(data):
            _broken(found, f"object {identity:#06x} ends behind the stream")
        yield level, identity, data[start : start + length]
        position = start + length + 2
        count += 1
        if count >= MAX_OBJECTS:
            _broken(found, f"more than {MAX_OBJECTS} objects")
            return
    if position < len(data):
        _broken(found, f"{len(data) - position} bytes left at the end")


def _broken(found: _Collected, detail: str) -> None:
    found.complete = False
    found.detail = found.detail or detail


def _read_attachment(found: _Collected, identity: int, value: bytes) -> None:
    if identity == _ATTACH_REND_DATA or not found.files:
        found.files.append({})
    parts = found.files[-1]
    if identity == _ATTACH_DATA:
        parts[_P_DATA] = value
    elif identity == _ATTACH_TITLE:
        parts.setdefault(_P_SHORT_NAME, _text8(value.split(b"\0")[0], found.codepage))
    elif identity == _ATTACH_TRANSPORT_NAME:
        parts.setdefault(_P_DISPLAY_NAME, _text8(value.split(b"\0")[0], found.codepage))
    elif identity == _ATTACHMENT:
        for one in _properties(value, found):
            if one.identity == _P_DATA:
                content = _object_content(one)
                if content or _P_DATA not in parts:
                    parts[_P_DATA] = content
            elif one.kind in (_T_STRING8, _T_UNICODE):
                parts[one.identity] = _string(one, found.codepage).encode("utf-8")


def _object_content(one: _Property) -> bytes:
    return one.value[_INTERFACE_ID_BYTES:] if one.kind == _T_OBJECT else one.value


def _read_message_properties(found: _Collected, value: bytes) -> None:
    properties = list(_properties(value, found))
    codepage = found.codepage
    for one in properties:
        if one.identity == _P_CODEPAGE and len(one.value) >= 4:
            codepage = f"cp{struct.unpack_from('<I', one.value)[0]}"
    for one in properties:
        if one.identity == _P_BODY and one.value:
            content = _string(one, codepage).encode("utf-8")
            found.bodies[BodyKind.PLAIN] = TnefBody(BodyKind.PLAIN, content, "utf-8")
        elif one.identity == _P_HTML and one.value:
            found.bodies[BodyKind.HTML] = _html_body(one, codepage)
        elif one.identity == _P_RTF and one.value:
            _read_rtf(found, one.value)


def _html_body(one: _Property, codepage: str) -> TnefBody:
    if one.kind == _T_UNICODE:
        return TnefBody(BodyKind.HTML, _string(one, codepage).encode("utf-8"), "utf-8")
    return TnefBody(BodyKind.HTML, one.value.rstrip(b"\0"), codepage)


def _read_rtf(found: _Collected, value: bytes) -> None:
    if len(value) > MAX_RTF_BYTES:
        _broken(found, "compressed text too long")
        return
    try:
        content = decompress(value)
    except Exception as error:  # noqa: BLE001 - the library raises bare Exception on bad input
        _broken(found, f"compressed text: {error}"[:120])
        return
    found.bodies[BodyKind.RTF] = TnefBody(BodyKind.RTF, content.rstrip(b"\0"), None)


def _file(parts: dict[int, bytes], codepage: str) -> TnefFile:
    names = (_P_LONG_NAME, _P_SHORT_NAME, _P_DISPLAY_NAME)
    raw_name = next((parts[key] for key in names if parts.get(key, b"").strip(b"\0 ")), None)
    name = decode(raw_name, "utf-8", codepage).text.strip("\0 ") if raw_name else ""
    media_type = parts.get(_P_MIME_TAG, b"").decode("utf-8", "replace").strip("\0 ").lower()
    content_id = parts.get(_P_CONTENT_ID, b"").decode("utf-8", "replace").strip("\0 <>")
    return TnefFile(
        raw_name, name, parts.get(_P_DATA, b""), media_type or "application/octet-stream",
        content_id or None,
    )  # fmt: skip


def _string(one: _Property, codepage: str) -> str:
    if one.kind == _T_UNICODE:
        return decode(one.value, "utf-16-le").text.rstrip("\0")
    return decode(one.value.rstrip(b"\0"), codepage).text


def _text8(value: bytes, codepage: str) -> bytes:
    return decode(value, codepage).text.encode("utf-8")


def _properties(data: bytes, found: _Collected) -> Iterator[_Property]:
    """Read a MAPI property list; only the first value of a multi-valued property is given."""
    if len(data) < 4:
        return
    (announced,) = struct.unpack_from("<I", data)
    position = 4
    try:
        for _ in range(min(announced, MAX_PROPERTIES)):
            one, position = _property(data, position)
            yield one
    except (struct.error, ValueError) as error:
        _broken(found, f"property list: {error}"[:120])


def _property(data: bytes, position: int) -> tuple[_Property, int]:
    kind, identity = struct.unpack_from("<HH", data, position)
    position += 4
    if identity >= _NAMED:
        position = _skip_property_name(data, position)
    multiple = bool(kind & _MULTI_VALUE)
    kind &= ~_MULTI_VALUE
    if kind in _VARIABLE:
        return _variable_property(data, position, identity, kind)
    if kind not in _FIXED:
        raise ValueError(f"unknown type {kind:#06x}")
    size = _FIXED[kind]
    count = 1
    if multiple:
        (count,) = struct.unpack_from("<I", data, position)
        position += 4
    end = position + size * count
    if end > len(data):
        raise ValueError("value ends behind the list")
    return _Property(identity, kind, data[position : position + size]), end


def _variable_property(
    data: bytes, position: int, identity: int, kind: int
) -> tuple[_Property, int]:
    (count,) = struct.unpack_from("<I", data, position)
    position += 4
    first: bytes | None = None
    for _ in range(count):
        (length,) = struct.unpack_from("<I", data, position)
        position += 4
        if position + length > len(data):
            raise ValueError("value ends behind the list")
        if first is None:
            first = data[position : position + length]
        position += length + (-length % 4)
    return _Property(identity, kind, first or b""), position


def _skip_property_name(data: bytes, position: int) -> int:
    (name_kind,) = struct.unpack_from("<I", data, position + 16)
    position += 20
    if name_kind == 0:
        return position + 4
    (length,) = struct.unpack_from("<I", data, position)
    return position + 4 + length + (-length % 4)
