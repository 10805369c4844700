"""Completeness: whether the END of a file's format is there, so that no half-written file is taken.

Here: the marks with which formats end, read from head and tail with bounded effort. Not here:
whether size and time rest (the folder watch) and whether the content is sound (the readers).
A damaged file stays `incomplete` for ever: the caller decides how long it waits.
"""

import re
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

TAIL_BYTES = 66_000
_SCAN_BYTES = 64 * 2**20
_INFLATE_BYTES = 256 * 2**20
_STEPS = 20_000
_ZERO_TAIL = 512
_ZERO_RUN = 2048


class State(StrEnum):
    """Three answers; `undecidable` means the format has no end that could be seen."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    UNDECIDABLE = "undecidable"


@dataclass(frozen=True, slots=True)
class Completeness:
    """The answer and the evidence in a few words."""

    state: State
    reason: str


@dataclass(frozen=True, slots=True)
class _File:
    stream: BinaryIO
    size: int
    head: bytes
    tail: bytes

    def at(self, offset: int, length: int) -> bytes:
        """Up to `length` bytes at `offset`; empty when the offset lies outside."""
        if offset < 0 or offset >= self.size:
            return b""
        self.stream.seek(offset)
        return self.stream.read(length)


def is_complete(path: Path, head: bytes | None = None) -> Completeness:
    """Look for the end of the format of `path`. Raises OSError when the file cannot be read.

    `head` saves one read when the caller has it (any length; 4 KiB are enough). Reads head and
    tail, follows offsets in steps, and never more than 64 MiB.
    """
    with path.open("rb") as stream:
        size = stream.seek(0, 2)
        stream.seek(max(0, size - TAIL_BYTES))
        tail = stream.read(TAIL_BYTES)
        if not head:
            stream.seek(0)
            head = stream.read(4096)
        return _judge(_File(stream, size, head, tail))


def _judge(file: _File) -> Completeness:
    if file.size == 0:
        return _undecidable("no bytes yet")
    if not file.head.strip(b"\0"):
        return _incomplete("starts with zeros: the space is reserved, the content is not there")
    for matches, judge in _FORMATS:
        if matches(file.head):
            try:
                return _reserved(file, judge) or judge(file)
            except (struct.error, IndexError, OverflowError):
                return _incomplete("an offset of the format points behind the end")
    return _by_text(file)


def _complete(reason: str) -> Completeness:
    return Completeness(State.COMPLETE, reason)


def _incomplete(reason: str) -> Completeness:
    return Completeness(State.INCOMPLETE, reason)


def _undecidable(reason: str) -> Completeness:
    return Completeness(State.UNDECIDABLE, reason)


def _either(found: bool, mark: str) -> Completeness:
    return _complete(f"{mark} found") if found else _incomplete(f"no {mark} at the end")


def _pdf(file: _File) -> Completeness:
    """%%EOF or a startxref pointer near the end; linearized files have an early one as well."""
    tail = file.tail.rstrip(b"\0")
    if not tail:
        return _incomplete("zeros at the end")
    stated = re.search(rb"/Linearized\b.{0,200}?/L\s+(\d+)", file.head[:2048], re.S)
    written = file.size - (len(file.tail) - len(tail))
    if stated and written + 4 < int(stated.group(1)):
        return _incomplete("shorter than the linearized PDF says of itself")
    recent = tail[-4096:]
    return _either(b"%%EOF" in recent or re.search(rb"startxref\s+\d+\s*$", recent) is not None,
                   "%%EOF")  # fmt: skip


def _png(file: _File) -> Completeness:
    return _either(b"IEND\xaeB`\x82" in file.tail, "IEND chunk")


def _gif(file: _File) -> Completeness:
    return _either(file.tail.rstrip(b"\0")[-1:] == b"\x3b", "GIF trailer")


def _jpeg(file: _File) -> Completeness:
    """End of image in the tail, or (phones append films) anywhere behind the first scan."""
    tail = file.tail.rstrip(b"\0")
    if tail.endswith(b"\xff\xd9"):
        return _complete("EOI marker found")
    scan = _jpeg_scan(file)
    if scan is None:
        return _incomplete("no scan data yet")
    return _either(_find(file, b"\xff\xd9", scan), "EOI marker")


def _jpeg_scan(file: _File) -> int | None:
    at = 2
    for _ in range(_STEPS):
        marker = file.at(at, 4)
        if len(marker) < 4 or marker[0] != 0xFF:
            return None
        if marker[1] == 0xFF:
            at += 1
        elif marker[1] == 0xDA:
            return at + 2
        else:
            at += 2 + int.from_bytes(marker[2:4], "big")
    return None


def _find(file: _File, mark: bytes, start: int) -> bool:
    """Whether `mark` stands behind `start`, within the scan bound."""
    file.stream.seek(start)
    carry, left = b"", _SCAN_BYTES
    while left > 0 and (block := file.stream.read(1 << 20)):
        if mark in carry + block:
            return True
        carry, left = block[-len(mark) + 1 :], left - len(block)
    return False


def _tiff(file: _File) -> Completeness:
    """Every directory of the chain and the strips or tiles it names lie inside the file."""
    order = "<" if file.head[:2] == b"II" else ">"
    if struct.unpack(order + "H", file.head[2:4])[0] == 43:
        return _undecidable("BigTIFF")
    offset = struct.unpack(order + "I", file.head[4:8])[0]
    if offset == 0:
        return _incomplete("no image directory yet")
    seen: set[int] = set()
    while offset and offset not in seen and len(seen) < _STEPS:
        seen.add(offset)
        count_raw = file.at(offset, 2)
        if len(count_raw) < 2:
            return _incomplete("image directory behind the end")
        count = struct.unpack(order + "H", count_raw)[0]
        directory = file.at(offset + 2, count * 12 + 4)
        if len(directory) < count * 12:
            return _incomplete("image directory cut")
        if _tiff_reach(file, order, directory, count) > file.size:
            return _incomplete("image data behind the end")
        link = directory[count * 12 : count * 12 + 4]
        offset = struct.unpack(order + "I", link)[0] if len(link) == 4 else 0
    return _complete("all TIFF directories and strips lie inside")


def _tiff_reach(file: _File, order: str, directory: bytes, count: int) -> int:
    """The highest byte that strips or tiles of one directory need."""
    starts: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()
    for index in range(count):
        entry = directory[index * 12 : index * 12 + 12]
        tag, kind, items = struct.unpack(order + "HHI", entry[:8])
        if tag not in (273, 279, 324, 325) or kind not in (3, 4):
            continue
        letter, width = ("H", 2) if kind == 3 else ("I", 4)
        items = min(items, 500_000)
        raw = entry[8:12] if items * width <= 4 else b""
        if not raw:
            where = struct.unpack(order + "I", entry[8:12])[0]
            raw = file.at(where, items * width)
            if len(raw) < items * width:
                return file.size + 1
        values = struct.unpack(f"{order}{items}{letter}", raw[: items * width])
        if tag in (273, 324):
            starts = values
        else:
            sizes = values
    return max((a + b for a, b in zip(starts, sizes, strict=False)), default=0)


def _bmp(file: _File) -> Completeness:
    stated = int.from_bytes(file.head[2:6], "little")
    if stated < 26:
        return _undecidable("BMP without a size")
    return _either(file.size >= stated and _has_tail(file), "stated size")


def _reserved(file: _File, judge: Callable[[_File], Completeness]) -> Completeness | None:
    """Offsets of some formats hold although the content is still zeros (space reserved first)."""
    if judge not in (_tiff, _iso_media, _ole, _der, _seven_zip):
        return None
    zeros = len(file.tail) - len(file.tail.rstrip(b"\0"))
    if zeros == TAIL_BYTES or (zeros > _ZERO_RUN and zeros > file.size // 3):
        return _incomplete("zeros at the end: the space is reserved, the content is not there")
    return None


def _has_tail(file: _File) -> bool:
    return file.size < _ZERO_TAIL or bool(file.tail[-_ZERO_TAIL:].strip(b"\0"))


def _riff(file: _File) -> Completeness:
    stated = int.from_bytes(file.head[4:8], "little") + 8
    if stated in (8, 0xFFFFFFFF + 8):
        return _incomplete("RIFF size not written yet")
    return _either(file.size >= stated and _has_tail(file), "RIFF length")


def _iso_media(file: _File) -> Completeness:
    """Walk the top-level boxes (HEIC, MP4): they must end with the file, with a directory box."""
    at, kinds = 0, set()
    for _ in range(_STEPS):
        header = file.at(at, 16)
        if len(header) < 8:
            break
        size = int.from_bytes(header[:4], "big")
        kind = header[4:8]
        if not kind.strip(b"\0"):
            return _incomplete("zeros where a box should stand")
        kinds.add(kind)
        if size == 1:
            size = int.from_bytes(header[8:16], "big")
        if size == 0:
            at = file.size
        elif size < 8:
            return _incomplete("a box without a length")
        else:
            at += size
        if at >= file.size:
            break
    if at > file.size:
        return _incomplete("a box reaches behind the end")
    return _either(bool(kinds & {b"moov", b"meta", b"moof"}), "directory box")


def _zip(file: _File) -> Completeness:
    """The end-of-central-directory record, and the directory it names, lie inside the file."""
    at = file.tail.rfind(b"PK\x05\x06")
    if at < 0 or len(file.tail) - at < 22:
        return _incomplete("no end-of-central-directory record")
    size, offset = struct.unpack("<II", file.tail[at + 12 : at + 20])
    position = file.size - len(file.tail) + at
    if offset != 0xFFFFFFFF and offset + size > position:
        return _incomplete("central directory behind the end")
    return _complete("end-of-central-directory record found")


def _seven_zip(file: _File) -> Completeness:
    offset, size = struct.unpack("<QQ", file.head[12:28])
    return _either(offset > 0 and 32 + offset + size <= file.size, "7z end header")


def _rar(file: _File) -> Completeness:
    tail = file.tail.rstrip(b"\0")
    five = tail.endswith((b"\x1dwVQ\x03\x05\x04", b"\x1dwVQ\x03\x05\x04\x00"))
    four = b"\xc4\x3d\x7b\x00\x40\x07" in tail[-64:] or b"\x7b" in tail[-20:-10]
    return _either(five or four, "RAR end block")


def _gzip(file: _File) -> Completeness:
    return _inflate(file, lambda: zlib.decompressobj(31), "gzip")


def _inflate(file: _File, fresh: Callable[[], "zlib._Decompress"], name: str) -> Completeness:
    """Decompress and throw away, within bounds: only then is a cut stream seen."""
    if file.size > _SCAN_BYTES:
        return _undecidable(f"{name} stream too long to test")
    file.stream.seek(0)
    machine, left = fresh(), _INFLATE_BYTES
    while block := file.stream.read(1 << 16):
        while block:
            try:
                left -= len(machine.decompress(block, 1 << 20))
            except zlib.error:
                return _incomplete(f"{name} stream broken")
            block = machine.unconsumed_tail
            if left <= 0:
                return _undecidable(f"{name} stream too large to test")
        if machine.eof:
            rest = machine.unused_data + file.stream.read(1 << 16)
            if not rest.startswith(b"\x1f\x8b"):
                return _complete(f"{name} stream ends")
            file.stream.seek(-len(rest), 1)
            machine = fresh()
    return _incomplete(f"{name} stream cut")


def _bzip2(file: _File) -> Completeness:
    """The end magic stands bit-aligned, so every shift of it is tried against the last bytes."""
    tail = int.from_bytes(file.tail[-20:], "big")
    mark = 0x177245385090
    found = any((tail >> shift) & 0xFFFFFFFFFFFF == mark for shift in range(112))
    return _either(found, "bzip2 end mark")


def _xz(file: _File) -> Completeness:
    return _either(file.tail.rstrip(b"\0").endswith(b"YZ"), "xz footer")


def _tar(file: _File) -> Completeness:
    """Walk the member headers; the archive ends with a block of zeros."""
    at = 0
    for _ in range(_STEPS):
        header = file.at(at, 512)
        if len(header) < 512:
            short = at > file.size or len(header) > 0
            return _incomplete("tar member cut") if short else _undecidable("tar without end block")
        if not header.strip(b"\0"):
            return _complete("tar end block found")
        try:
            size = int(header[124:136].strip(b" \0") or b"0", 8)
        except ValueError:
            return _undecidable("tar size not octal")
        at += 512 + (size + 511) // 512 * 512
    return _undecidable("tar with too many members to walk")


def _ole(file: _File) -> Completeness:
    """The highest sector the allocation table uses lies inside the file ([MS-CFB] 2.3)."""
    sector = 1 << struct.unpack("<H", file.head[30:32])[0]
    tables = [s for s in struct.unpack("<109I", file.head[76:512]) if s < 0xFFFFFFFA]
    if not tables or sector not in (512, 4096):
        return _incomplete("no allocation table")
    per_table = sector // 4
    for index in range(len(tables) - 1, -1, -1):
        raw = file.at((tables[index] + 1) * sector, sector)
        if len(raw) < sector:
            return _incomplete("allocation table behind the end")
        used = [i for i, entry in enumerate(struct.unpack(f"<{per_table}I", raw))
                if entry != 0xFFFFFFFF]  # fmt: skip
        if used:
            last = index * per_table + used[-1]
            # The last sector may be cut to the bytes it needs by sloppy writers.
            return _either(file.size > (last + 1) * sector, "last used sector")
    return _incomplete("allocation table empty")


def _der(file: _File) -> Completeness:
    first = file.head[1]
    if first == 0x80:
        return _either(file.tail.rstrip(b"\r\n").endswith(b"\0\0"), "end-of-contents octets")
    if first < 0x80:
        return _either(file.size >= 2 + first, "DER length")
    count = first & 0x7F
    length = int.from_bytes(file.head[2 : 2 + count], "big")
    return _either(file.size >= 2 + count + length, "DER length")


def _rtf(file: _File) -> Completeness:
    return _either(file.tail.rstrip(b"\0\r\n\t ").endswith(b"}"), "closing brace")


def _by_text(file: _File) -> Completeness:
    """Formats made of text; UTF-16 is compared after dropping its NULs."""
    wide = file.head.startswith((b"\xff\xfe", b"\xfe\xff")) or file.head[1:2] == b"\0"
    if not wide and not _has_tail(file):
        return _incomplete("zeros at the end")
    head = file.head.replace(b"\0", b"").removeprefix(b"\xef\xbb\xbf").lstrip(b"\xff\xfe\r\n\t ")
    tail = file.tail.replace(b"\0", b"").rstrip()
    folded = head[:400].upper()
    for start, end in (
        (b"BEGIN:VCALENDAR", b"END:VCALENDAR"),
        (b"BEGIN:VCARD", b"END:VCARD"),
        (b"OFXHEADER", b"</OFX>"),
        (b"-----BEGIN ", b"-----"),
    ):
        if folded.startswith(start):
            return _either(tail.upper().endswith(end), end.decode())
    if head.startswith((b"{", b"[")) and re.match(rb"[{\[]\s*[\"{\[}\]\d]", head):
        return _either(tail.endswith(b"}" if head[:1] == b"{" else b"]"), "closing bracket")
    if head.startswith(b"<"):
        return _markup(file.at(0, TAIL_BYTES).replace(b"\0", b""), tail)
    if re.match(rb"(?:From .*\r?\n)?[!-9;-~]{1,76}[ \t]*:", head):
        return _mail(head, tail)
    return _undecidable("the format has no end mark")


def _markup(head: bytes, tail: bytes) -> Completeness:
    if re.search(rb"<!DOCTYPE\s+html|<html\b", head[:2000], re.I):
        found = re.search(rb"</html\s*>", tail[-4096:], re.I)
        return _complete("</html> found") if found else _undecidable("HTML without its end tag")
    bare = re.sub(rb"<\?.*?\?>|<!--.*?-->|<!DOCTYPE(?:[^\[>]|\[[^\]]*\])*>", b"", head, flags=re.S)
    root = re.search(rb"<([A-Za-z_][\w.:\-]*)[^>]*?(/?)>?", bare, re.S)
    if root is None:
        return _undecidable("no root element in the head")
    ending = _without_trailers(tail[-8192:])
    name = root.group(1)
    closed = re.search(rb"</" + re.escape(name) + rb"\s*>$", ending) is not None
    alone = re.fullmatch(rb"\s*<" + re.escape(name) + rb"\b[^<>]*/>\s*", bare, re.S) is not None
    return _either(closed or alone, f"</{name.decode('ascii', 'replace')}>")


def _without_trailers(tail: bytes) -> bytes:
    """Cut comments and instructions that may follow the root element."""
    for opening, closing in ((b"<!--", b"-->"), (b"<?", b"?>")) * 4:
        tail = tail.rstrip()
        if tail.endswith(closing):
            tail = tail[: max(0, tail.rfind(opening))]
    return tail.rstrip()


def _mail(head: bytes, tail: bytes) -> Completeness:
    """A multipart mail ends with its closing boundary (RFC 2046 5.1); others have no end."""
    fields = re.split(rb"\r?\n\r?\n", head, maxsplit=1)[0]
    kind = re.search(rb"^content-type:\s*multipart/(?:[^\r\n]|\r?\n[ \t])*", fields, re.I | re.M)
    boundary = kind and re.search(
        rb"boundary\s*=\s*(?:\"([^\"]+)\"|([^\s;\"]+))", kind.group(), re.I
    )
    if not boundary:
        return _undecidable("no closing boundary to look for")
    mark = b"--" + (boundary.group(1) or boundary.group(2)) + b"--"
    return _either(mark in tail, "closing boundary")


def _starts(*marks: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(marks)


_FORMATS: tuple[tuple[Callable[[bytes], bool], Callable[[_File], Completeness]], ...] = (
    (_starts(b"%PDF-"), _pdf),
    (_starts(b"\x89PNG\r\n\x1a\n"), _png),
    (_starts(b"\xff\xd8\xff"), _jpeg),
    (_starts(b"GIF87a", b"GIF89a"), _gif),
    (_starts(b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"), _tiff),
    (lambda head: head.startswith(b"BM") and head[14:15] in b"\x0c\x28\x38\x6c\x7c", _bmp),
    (_starts(b"RIFF"), _riff),
    (lambda head: head[4:8] == b"ftyp", _iso_media),
    (_starts(b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"), _zip),
    (_starts(b"7z\xbc\xaf\x27\x1c"), _seven_zip),
    (_starts(b"Rar!\x1a\x07"), _rar),
    (_starts(b"\x1f\x8b"), _gzip),
    (_starts(b"BZh"), _bzip2),
    (_starts(b"\xfd7zXZ\0"), _xz),
    (lambda head: head[257:262] == b"ustar", _tar),
    (_starts(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), _ole),
    (lambda head: head[:1] == b"\x30" and b"\x2a\x86\x48\x86\xf7\x0d\x01\x07" in head[:64], _der),
    (_starts(b"{\\rtf"), _rtf),
    (lambda head: b"%PDF-" in head[:1024], _pdf),
)
