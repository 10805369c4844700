"""Outlook items (MSG): head, body, attachments, and items attached to items ([MS-OXMSG]).

Here: the property streams of the compound file, read with `olefile`. Not here: RFC 5322 mails.
"""

import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import olefile
from compressed_rtf import decompress

from tgv_dagster.arrive.decoding import clean_text, decode
from tgv_dagster.arrive.mime_text import html_text
from tgv_dagster.understand.extracted import (
    Embedded,
    EmbeddedRole,
    Extraction,
    ExtractionSettings,
    Facts,
    Method,
    PageText,
    ReaderError,
    Status,
)
from tgv_dagster.understand.readers.embedding import keep, refused
from tgv_dagster.understand.readers.office import read_rtf

_SUBJECT, _BODY, _RTF, _HTML = 0x0037, 0x1000, 0x1009, 0x1013
_FROM_NAME, _FROM_MAIL, _FROM_SMTP = 0x0C1A, 0x0C1F, 0x5D01
_TO, _CC, _SENT, _DELIVERED = 0x0E04, 0x0E03, 0x0039, 0x0E06
_DATA, _SHORT_NAME, _LONG_NAME, _METHOD = 0x3701, 0x3704, 0x3707, 0x3705
_DISPLAY_NAME, _CODEPAGE, _MESSAGE_CODEPAGE = 0x3001, 0x3FDE, 0x3FFD
_EMBEDDED_ITEM, _DEPTH, _ITEMS = 5, 8, 200
_HTML_CHARS = 2_000_000
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Store:
    """One item or attachment: a storage with a property stream and value streams."""

    container: olefile.OleFileIO
    path: tuple[str, ...]
    head: int

    def stream(self, name: str) -> bytes | None:
        where = [*self.path, name]
        if not self.container.exists(where):
            return None
        return self.container.openstream(where).read()

    def text(self, tag: int) -> str:
        if (wide := self.stream(f"__substg1.0_{tag:04X}001F")) is not None:
            return clean_text(wide.decode("utf-16-le", "replace")).strip("\n ")
        narrow = self.stream(f"__substg1.0_{tag:04X}001E")
        return clean_text(self._narrow(narrow)).strip("\n ") if narrow else ""

    def _narrow(self, raw: bytes) -> str:
        page = self.number(_MESSAGE_CODEPAGE) or self.number(_CODEPAGE)
        return decode(raw, f"cp{page}" if page and page != 65001 else None).text

    def binary(self, tag: int) -> bytes:
        return self.stream(f"__substg1.0_{tag:04X}0102") or b""

    def number(self, tag: int) -> int:
        """A fixed-length property; 0 when absent."""
        raw = self.stream("__properties_version1.0") or b""
        for at in range(self.head, len(raw) - 15, 16):
            kind, identity = struct.unpack_from("<HH", raw, at)
            if identity == tag:
                return struct.unpack_from("<Q" if kind == 0x40 else "<I", raw, at + 8)[0]
        return 0

    def attachments(self) -> Iterator["_Store"]:
        depth = len(self.path)
        names = {
            entry[depth]
            for entry in self.container.listdir(streams=False, storages=True)
            if len(entry) == depth + 1 and tuple(entry[:depth]) == self.path
        }
        for name in sorted(names):
            if name.lower().startswith("__attach_version1.0_"):
                yield _Store(self.container, (*self.path, name), 8)


@dataclass(slots=True)
class _Reading:
    settings: ExtractionSettings
    pages: list[PageText]
    embedded: list[Embedded]

    def item(self, store: _Store, depth: int) -> None:
        """Read one item, then the items attached to it."""
        subject = store.text(_SUBJECT)
        text = "\n".join([*_head(store), "", _body(store)])
        number = len(self.pages) + 1
        self.pages.append(PageText(number, text.strip(), Method.NATIVE, title=subject))
        for attachment in store.attachments():
            self.attachment(attachment, depth)

    def attachment(self, store: _Store, depth: int) -> None:
        name = store.text(_LONG_NAME) or store.text(_SHORT_NAME) or store.text(_DISPLAY_NAME)
        if store.number(_METHOD) == _EMBEDDED_ITEM:
            inner = _Store(store.container, (*store.path, f"__substg1.0_{_DATA:04X}000D"), 24)
            if depth >= _DEPTH or len(self.pages) >= _ITEMS:
                self._refuse(name, "attached items nested too deep")
            else:
                self.item(inner, depth + 1)
            return
        data = store.stream(f"__substg1.0_{_DATA:04X}0102")
        if data is None:
            self._refuse(name, "an object without file content")
            return
        self.embedded.append(keep(name, data, EmbeddedRole.ATTACHMENT, self.settings))

    def _refuse(self, name: str, reason: str) -> None:
        self.embedded.append(refused(name, EmbeddedRole.ATTACHMENT, 0, reason))


def read(source: Path, settings: ExtractionSettings) -> Extraction:
    """Read an MSG file. Raises ReaderError."""
    try:
        with olefile.OleFileIO(str(source)) as container:
            top = _Store(container, (), 32)
            reading = _Reading(settings, [], [])
            reading.item(top, 1)
            facts = Facts(top.text(_SUBJECT), _sender(top), _sent(top))
    except (OSError, struct.error) as error:
        raise ReaderError("the Outlook item is damaged") from error
    left_out = [item.reason for item in reading.embedded if item.size == 0 and item.reason]
    return Extraction(
        Status.TRUNCATED if left_out else Status.COMPLETE,
        left_out[0] if left_out else "",
        pages=tuple(reading.pages),
        engine="MSG",
        embedded=tuple(reading.embedded),
        facts=facts,
    )


def _head(store: _Store) -> list[str]:
    told = (
        ("From", _sender(store)),
        ("To", store.text(_TO)),
        ("Cc", store.text(_CC)),
        ("Date", _sent(store)),
        ("Subject", store.text(_SUBJECT)),
    )
    return [f"{label}: {value}" for label, value in told if value]


def _sender(store: _Store) -> str:
    name = store.text(_FROM_NAME)
    mail = store.text(_FROM_SMTP) or store.text(_FROM_MAIL)
    return f"{name} <{mail}>" if name and "@" in mail else name or mail


def _sent(store: _Store) -> str:
    """FILETIME: 100 nanoseconds since 1601."""
    ticks = store.number(_SENT) or store.number(_DELIVERED)
    with suppress(OverflowError):
        return (_EPOCH + timedelta(microseconds=ticks // 10)).isoformat() if ticks else ""
    return ""


def _body(store: _Store) -> str:
    if plain := store.text(_BODY):
        return plain
    if markup := store.binary(_HTML):
        return clean_text(html_text(decode(markup).text, _HTML_CHARS).text)
    if markup := store.text(_HTML):
        return clean_text(html_text(markup, _HTML_CHARS).text)
    if packed := store.binary(_RTF):
        with suppress(ValueError, IndexError, ReaderError):
            return clean_text(read_rtf(decompress(packed)))
    return ""
