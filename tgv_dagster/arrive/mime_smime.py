"""CMS around a mail part: opaque signatures, compression, encryption (known fault 68).

Belongs here: taking the content out of a CMS envelope. Does not belong here: trusting it.
No signature is verified; whoever reads the content knows it as "not verified".
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from asn1crypto import cms, pem

MAX_INFLATED_BYTES = 256 * 1024 * 1024

_ENCRYPTED = frozenset({"enveloped_data", "authenticated_enveloped_data", "encrypted_data"})
_MEDIA_TYPES = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime", "application/cms"})


class CmsKind(StrEnum):
    """What a CMS envelope turned out to be."""

    SIGNED = "signed"
    COMPRESSED = "compressed"
    CERTIFICATES = "certificates"
    ENCRYPTED = "encrypted"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class CmsContent:
    """The kind of envelope and its content; None when it carries none that can be read."""

    kind: CmsKind
    content: bytes | None = None
    detail: str = ""


def names_cms(media_type: str, filename: str) -> bool:
    """Whether a part calls itself a CMS envelope by type or by its .p7m name."""
    return media_type in _MEDIA_TYPES or filename.lower().endswith((".p7m", ".p7z"))


def open_cms(data: bytes) -> CmsContent:
    """Open a CMS envelope, DER, BER or PEM. Never raises."""
    try:
        return _open(data)
    except Exception as error:  # noqa: BLE001 - hostile ASN.1 raises anything, recursion included
        return CmsContent(CmsKind.UNREADABLE, detail=f"{type(error).__name__}: {error}"[:120])


def _open(data: bytes) -> CmsContent:
    if pem.detect(data):
        data = cast(tuple[str, object, bytes], pem.unarmor(data))[2]
    info = cms.ContentInfo.load(data)
    content_type = info["content_type"].native
    if content_type in _ENCRYPTED:
        return CmsContent(CmsKind.ENCRYPTED, detail=str(content_type))
    if content_type == "compressed_data":
        return _inflated(info["content"]["encap_content_info"]["content"].native)
    if content_type != "signed_data":
        return CmsContent(CmsKind.UNREADABLE, detail=f"content type {content_type}"[:120])
    inner = info["content"]["encap_content_info"]["content"]
    content = inner.native if isinstance(inner.native, bytes) else inner.contents
    if not content:
        return CmsContent(CmsKind.CERTIFICATES)
    return CmsContent(CmsKind.SIGNED, content)


def _inflated(packed: bytes) -> CmsContent:
    engine = zlib.decompressobj()
    content = engine.decompress(packed, MAX_INFLATED_BYTES)
    if engine.unconsumed_tail:
        return CmsContent(CmsKind.UNREADABLE, detail="inflates beyond the bound")
    return CmsContent(CmsKind.COMPRESSED, content)
