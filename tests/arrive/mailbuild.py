"""Builders of mails, TNEF streams and CMS envelopes for the tests of the mail gate."""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from zlib import crc32

from asn1crypto import cms
from compressed_rtf import compress

CRLF = b"\r\n"


def part(content_type: str, body: bytes, *headers: str) -> bytes:
    """A MIME entity: its type, further header lines, an empty line and the body as given."""
    lines = [f"Content-Type: {content_type}", *headers]
    return CRLF.join(line.encode("utf-8") for line in lines) + CRLF + CRLF + body


def base64_part(content_type: str, content: bytes, *headers: str) -> bytes:
    """A MIME entity whose content travels as base64."""
    body = base64.encodebytes(content).replace(b"\n", CRLF)
    return part(content_type, body, "Content-Transfer-Encoding: base64", *headers)


def multipart(subtype: str, *parts: bytes, boundary: str = "", extra: str = "") -> bytes:
    """A multipart entity with a boundary of its own."""
    mark = (boundary or f"=_{subtype}_{crc32(b''.join(parts)):08x}").encode("ascii")
    opened = b"".join(b"--" + mark + CRLF + one + CRLF for one in parts)
    kind = f'multipart/{subtype}; boundary="{mark.decode()}"{extra}'
    return part(kind, opened + b"--" + mark + b"--" + CRLF)


def mail(entity: bytes, *headers: str) -> bytes:
    """A whole mail: a few usual headers before the entity's own."""
    usual = ("From: Anna Muster <anna@example.org>", "To: post@example.com", "MIME-Version: 1.0")
    lines = [*usual, *headers]
    return b"".join(line.encode("utf-8") + CRLF for line in lines) + entity


TEXT = part("text/plain; charset=utf-8", b"Guten Tag,\r\nanbei die Rechnung.\r\n")
PDF = b"%PDF-1.4\n1 0 obj<<>>endobj\n%%EOF\n"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg=="
)


def html(body: str) -> bytes:
    """An HTML entity."""
    return part("text/html; charset=utf-8", f"<html><body>{body}</body></html>".encode())


# --- TNEF (MS-OXTNEF) ---------------------------------------------------------------------


def tnef(*objects: bytes) -> bytes:
    """A TNEF stream of the given objects."""
    return b"\x78\x9f\x3e\x22\x01\x00" + b"".join(objects)


def tnef_object(level: int, identity: int, value: bytes) -> bytes:
    """One TNEF object with its checksum."""
    head = struct.pack("<BHHI", level, identity, 0x0006, len(value))
    return head + value + struct.pack("<H", sum(value) & 0xFFFF)


def tnef_codepage(number: int) -> bytes:
    """The OEM code page object."""
    return tnef_object(1, 0x9007, struct.pack("<II", number, 0))


def tnef_file(title: bytes, content: bytes, properties: bytes = b"") -> bytes:
    """An attachment: rendering data, title, content and MAPI properties when given."""
    found = tnef_object(2, 0x9002, b"\0" * 14) + tnef_object(2, 0x8010, title + b"\0")
    found += tnef_object(2, 0x800F, content)
    return found + (tnef_object(2, 0x9005, properties) if properties else b"")


def tnef_embedded(stream: bytes) -> bytes:
    """An attachment that is a message of its own."""
    interface = bytes.fromhex("0703020000000000c000000000000046")
    properties = mapi((0x3701, 0x000D, interface + stream))
    return tnef_object(2, 0x9002, b"\0" * 14) + tnef_object(2, 0x9005, properties)


def tnef_message(*properties: tuple[int, int, bytes]) -> bytes:
    """The MAPI properties object of a message."""
    return tnef_object(1, 0x9003, mapi(*properties))


def mapi(*properties: tuple[int, int, bytes]) -> bytes:
    """A MAPI property list of (identity, type, value); variable types only, and 0x0003."""
    return struct.pack("<I", len(properties)) + b"".join(_mapi_one(*one) for one in properties)


def _mapi_one(identity: int, kind: int, value: bytes) -> bytes:
    head = struct.pack("<HH", kind, identity)
    if kind == 0x0003:
        return head + value
    padding = b"\0" * (-len(value) % 4)
    return head + struct.pack("<II", 1, len(value)) + value + padding


def rtf_property(text: bytes) -> tuple[int, int, bytes]:
    """The compressed RTF body property."""
    return (0x1009, 0x0102, compress(text))


# --- CMS ------------------------------------------------------------------------------------


def signed(content: bytes | None) -> bytes:
    """An opaque CMS signed-data without signers; None = certificates only."""
    inner = {"content_type": "data", "content": content} if content else {"content_type": "data"}
    return cms.ContentInfo(
        {
            "content_type": "signed_data",
            "content": cms.SignedData(
                {
                    "version": "v1",
                    "digest_algorithms": [{"algorithm": "sha256"}],
                    "encap_content_info": inner,
                    "signer_infos": [],
                }
            ),
        }
    ).dump()


def enveloped() -> bytes:
    """A CMS envelope for nobody: encrypted as far as a reader can tell."""
    return cms.ContentInfo(
        {
            "content_type": "enveloped_data",
            "content": cms.EnvelopedData(
                {
                    "version": "v0",
                    "recipient_infos": [],
                    "encrypted_content_info": {
                        "content_type": "data",
                        "content_encryption_algorithm": {
                            "algorithm": "aes256_cbc",
                            "parameters": b"\0" * 16,
                        },
                        "encrypted_content": b"\x01" * 32,
                    },
                }
            ),
        }
    ).dump()


def nested_multiparts(depth: int, core: bytes) -> bytes:
    """`depth` multiparts, each holding the next one, the innermost holding `core`."""
    opened = [
        f'Content-Type: multipart/mixed; boundary="b{level}"\r\n\r\n--b{level}\r\n'.encode()
        for level in range(depth)
    ]
    closed: Sequence[bytes] = [f"\r\n--b{level}--\r\n".encode() for level in reversed(range(depth))]
    return b"".join(opened) + core + b"".join(closed)
