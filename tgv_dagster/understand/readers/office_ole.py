"""Old binary Office files: the text of DOC ([MS-DOC]) and PPT ([MS-PPT]).

Here: the piece table of Word 97 and later, the text atoms of PowerPoint. Not here: XLS (`tables`),
Word 6 and 95, layout, decryption (`office`).
"""

import re
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import olefile

from tgv_dagster.arrive.decoding import clean_text
from tgv_dagster.understand.extracted import Facts, ReaderError, UnsupportedError

_FIELD = re.compile("\x13[^\x13\x14\x15]*(?:\x14([^\x13\x14\x15]*))?\x15")
_TEXT_CHARS, _TEXT_BYTES = 0x0FA0, 0x0FA8
_MOST_RECORDS = 500_000


def read_doc(source: Path) -> tuple[str, Facts]:
    """Text and properties of a DOC. Raises ReaderError, UnsupportedError."""
    with _container(source) as container:
        word = _stream(container, "WordDocument")
        try:
            version, flags = struct.unpack_from("<H6xH", word, 2)
            if version < 0x00C1:
                raise UnsupportedError("Word 6 and 95 documents are not read here")
            table = _stream(container, "1Table" if flags & 0x0200 else "0Table")
            return _document_text(word, table), _facts(container)
        except struct.error as error:
            raise ReaderError("the DOC file is damaged") from error


def _container(source: Path) -> olefile.OleFileIO:
    try:
        return olefile.OleFileIO(str(source))
    except OSError as error:
        raise ReaderError("the OLE container is damaged") from error


def _stream(container: olefile.OleFileIO, name: str) -> bytes:
    if not container.exists(name):
        raise ReaderError(f"the OLE container has no stream {name}")
    try:
        return container.openstream(name).read()
    except OSError as error:
        raise ReaderError(f"the OLE stream {name} is damaged") from error


def _facts(container: olefile.OleFileIO) -> Facts:
    try:
        told: Any = container.get_metadata()
    except (OSError, ValueError, IndexError, struct.error, KeyError):
        return Facts()

    def text(value: object) -> str:
        raw = value.decode("cp1252", "replace") if isinstance(value, bytes) else str(value or "")
        return clean_text(raw).strip()

    return Facts(text(told.title), text(told.author), text(told.create_time))


def _document_text(word: bytes, table: bytes) -> str:
    """Main text, notes, headers, comments and text boxes as the piece table strings them."""
    offset, length = struct.unpack_from("<II", word, 0x01A2)
    pieces = _pieces(table[offset : offset + length])
    raw = "".join(_piece(word, start, end, where) for start, end, where in pieces)
    for _ in range(20):
        shorter = _FIELD.sub(lambda match: match.group(1) or "", raw)
        if shorter == raw:
            break
        raw = shorter
    raw = re.sub("\x07\x07", "\n", raw).replace("\x07", " | ")
    raw = raw.translate({0x0D: "\n", 0x0B: "\n", 0x0C: "\n", 0x1E: "-", 0x1F: "", 0xA0: "\u00a0"})
    return "\n".join(line for line in clean_text(raw).split("\n") if line.strip())


def _pieces(clx: bytes) -> Iterator[tuple[int, int, int]]:
    """Character positions and file position word of each piece ([MS-DOC] 2.9.38, 2.9.177)."""
    at = 0
    while at < len(clx) and clx[at] == 1:
        at += 3 + struct.unpack_from("<H", clx, at + 1)[0]
    if at >= len(clx) or clx[at] != 2:
        raise ReaderError("the DOC file has no piece table")
    size = struct.unpack_from("<I", clx, at + 1)[0]
    body = clx[at + 5 : at + 5 + size]
    count = (len(body) - 4) // 12
    positions = struct.unpack_from(f"<{count + 1}I", body)
    for index, (start, end) in enumerate(pairwise(positions)):
        where = struct.unpack_from("<I", body, 4 * (count + 1) + 8 * index + 2)[0]
        yield start, end, where


def _piece(word: bytes, start: int, end: int, where: int) -> str:
    """Compressed pieces hold one byte a character, the others UTF-16 ([MS-DOC] 2.9.73)."""
    count, offset = max(0, end - start), where & 0x3FFFFFFF
    if where & 0x40000000:
        return word[offset // 2 : offset // 2 + count].decode("cp1252", "replace")
    return word[offset : offset + 2 * count].decode("utf-16-le", "replace")


def read_ppt(source: Path) -> tuple[str, Facts]:
    """Text of all slides, in file order. Raises ReaderError."""
    with _container(source) as container:
        raw = _stream(container, "PowerPoint Document")
        lines: list[str] = []
        for text in _atoms(raw, 0, len(raw), 0):
            if text not in lines[-40:]:
                lines.append(text)
        return "\n".join(lines), _facts(container)


def _atoms(raw: bytes, at: int, end: int, depth: int) -> Iterator[str]:
    for _ in range(_MOST_RECORDS):
        if at + 8 > end:
            return
        flags, kind, length = struct.unpack_from("<HHI", raw, at)
        start, at = at + 8, at + 8 + length
        if flags & 0x0F == 0x0F and depth < 30:
            yield from _atoms(raw, start, min(at, end), depth + 1)
        elif kind == _TEXT_CHARS:
            yield from _clean(raw[start:at].decode("utf-16-le", "replace"))
        elif kind == _TEXT_BYTES:
            yield from _clean(raw[start:at].decode("latin-1"))


def _clean(text: str) -> Iterator[str]:
    lines = (line.strip() for line in clean_text(text.replace("\x0b", "\n")).split("\n"))
    yield from (line for line in lines if line and line != "*")
