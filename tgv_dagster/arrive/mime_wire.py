"""The byte grammar of a mail: header blocks, multipart boundaries, transfer encodings.

Belongs here: finding positions in a buffer and undoing transfer encodings, with the positions
kept so that every part stays a slice of the bytes it came from. Does not belong here: what a
header means (`mime_headers`, `mime_names`) and what a part is for (`mime`).

The standard library's parser is not used for this: it rebuilds nested messages instead of
keeping their bytes and recurses once per level, so a hostile mail ends it.
"""

from __future__ import annotations

import binascii
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pybase64

from tgv_dagster.arrive.mime_names import sniff_type

MAX_FIELDS = 2_000
MAX_FIELD_BYTES = 64 * 1024
BROKEN_FOLDING_REACH = 20
TORN_HEADER_REACH = 8 * 1024
FOOTER_WORD = 20
FOREIGN_SHARE = 0.1
ENCODED_LINE = 12
UU_LINE = 45
LINEWISE_BYTES = 1024 * 1024
_COUNTED_TOGETHER = 1 << 16
_LOOKED_AT = 1 << 10

_FIELD = re.compile(rb"([!-9;-~]{1,200})[ \t]*:")
_KNOWN_FIELD = re.compile(
    rb"(?:from|to|cc|bcc|subject|date|sender|reply-to|message-id|in-reply-to|references"
    rb"|received|return-path|delivered-to|mime-version|content-[a-z-]+|x-[a-z0-9-]+|list-[a-z-]+"
    rb"|dkim-signature|arc-[a-z-]+|authentication-results|thread-[a-z]+|importance|precedence"
    rb"|auto-submitted|resent-[a-z-]+|user-agent|organization|status)[ \t]*:",
    re.IGNORECASE,
)
_MAIL_FIELDS = frozenset(
    {"from", "to", "subject", "date", "message-id", "received", "mime-version", "return-path"}
    | {"delivered-to", "content-type", "reply-to", "dkim-signature"}
)
_CONTENT_FIELD = re.compile(rb"(?:content-[a-z-]+|mime-version)[ \t]*:", re.IGNORECASE)
_INFERABLE = re.compile(rb"--([^\s-][^\r\n]{0,120}?|-{1,60}[^\s-][^\r\n]{0,100}?)[ \t]*\r?$")
_BASE64_ALPHABET = (string.ascii_letters + string.digits + "+/=").encode("ascii")
_NOT_BASE64 = bytes(set(range(256)) - set(_BASE64_ALPHABET))
_PADDING_THEN_TEXT = re.compile(rb"(={1,2})[ \t]+\S")
_WHITESPACE = b" \t\r\n\x0b\x0c"
_LINE_SPACE = (b"", b" ", b"\t")
_BASE64_LINE = re.compile(rb"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_IDENTITY = frozenset({"", "7bit", "8bit", "binary", "plain", "none", "utf8", "text", "default"})
_TRANSFER_ALIASES = {
    "xuuencode": "uuencode",
    "uue": "uuencode",
    "xuue": "uuencode",
    "qp": "quotedprintable",
    "quotedprintible": "quotedprintable",
    "b64": "base64",
    "bit7": "7bit",
    "bit8": "8bit",
}
_YENC = re.compile(
    rb"^=ybegin [^\r\n]{0,120}?name=([^\r\n]{1,300})\r?\n(?:.*?^=yend [^\r\n]*(?:\r?\n|\Z)|.*\Z)",
    re.MULTILINE | re.DOTALL,
)
_UU_BEGIN = re.compile(rb"^begin [0-7]{3,4} ([^\r\n]{1,300})\r?\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open byte range [start, end) of a buffer."""

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class RawField:
    """A header field: its name as written and its unfolded value bytes."""

    name: str
    value: bytes


@dataclass(frozen=True, slots=True)
class HeaderBlock:
    """The fields of an entity and where its body starts.

    Attributes:
        closed: an empty line, or the end of the entity, ended the block.
        broken_folding: lines that are neither field nor continuation were taken as folding.
        truncated: fields or bytes beyond the bounds were left out.
    """

    fields: tuple[RawField, ...]
    body_start: int
    closed: bool = True
    broken_folding: bool = False
    truncated: bool = False

    def first(self, name: str) -> bytes | None:
        """Value of the first field called `name` (lower case), None when absent."""
        for header in self.fields:
            if header.name.lower() == name:
                return header.value
        return None

    def all(self, name: str) -> tuple[bytes, ...]:
        """Values of all fields called `name` (lower case), in order."""
        return tuple(header.value for header in self.fields if header.name.lower() == name)


@dataclass(frozen=True, slots=True)
class Parts:
    """A multipart body cut at its boundary lines.

    Attributes:
        spans: the parts, boundary lines and the line breaks before them excluded.
        preamble, epilogue: what stands outside the parts.
        closed: a closing boundary line was found.
        after_close: parts found behind the closing line.
        rest: the uncut remainder when there were more than `max_parts`, else None.
    """

    spans: tuple[Span, ...]
    preamble: Span
    epilogue: Span
    closed: bool
    after_close: int = 0
    rest: Span | None = None


@dataclass(frozen=True, slots=True)
class Transferred:
    """Transfer-decoded bytes; `known` is False for an encoding nobody defined."""

    content: bytes
    clean: bool = True
    known: bool = True
    detail: str = ""


@dataclass(frozen=True, slots=True)
class UuFile:
    """A file found uuencoded in a text."""

    raw_name: bytes
    content: bytes
    clean: bool = field(default=True)


def read_headers(buffer: bytes, start: int, end: int, *, top: bool) -> HeaderBlock:
    """Read the header block of the entity in `buffer[start:end]`.

    A line that is neither a field nor a continuation ends the block, unless known fields
    follow before the next empty line: then it is a badly folded value. `top` says that this
    is a whole mail (any known field counts) and not a part (only Content-* counts). An empty
    line inside the header of a mail does not end it when its MIME fields stand behind it.
    """
    position = _skip_mbox_line(buffer, start, end) if top else start
    known = _KNOWN_FIELD if top else _CONTENT_FIELD
    chunks: list[tuple[str, bytearray]] = []
    broken = truncated = False
    while position < end:
        line_end, after = _line(buffer, position, end)
        line = buffer[position : min(line_end, position + MAX_FIELD_BYTES)]
        if not line or _blank_end(buffer, line, after, end):
            if not (top and chunks and _block_goes_on(buffer, chunks, after, end)):
                return _block(chunks, after, broken=broken, truncated=truncated)
            broken, position = True, after
            continue
        truncated |= line_end - position > MAX_FIELD_BYTES
        match = _FIELD.match(line)
        if line[:1] in b" \t" and chunks:
            truncated |= _append(chunks, line)
        elif match is not None:
            if len(chunks) < MAX_FIELDS or _decides_more(chunks, match[1]):
                chunks.append((match[1].decode("ascii"), bytearray(line[match.end() :])))
            truncated |= len(chunks) >= MAX_FIELDS
        elif chunks and _fields_follow(buffer, after, end, known):
            truncated |= _append(chunks, b" " + line)
            broken = True
        else:
            return _block(chunks, position, closed=False, broken=broken, truncated=truncated)
        position = after
    return _block(chunks, end, broken=broken, truncated=truncated)


def looks_like_mail(data: bytes | memoryview) -> bool:
    """Whether `data` starts with a mail header, by grammar (known fault 71).

    True when the first line is a field, whatever its name, every line up to the first empty
    one is a field or a continuation, and at least two fields are there, one of them a field
    that mails carry.
    """
    head = bytes(data[: 256 * 1024]).lstrip(b"\r\n").removeprefix(b"\xef\xbb\xbf")
    block = read_headers(head, 0, len(head), top=True)
    if not block.closed or block.broken_folding or len(block.fields) < 2:
        return False
    names = {header.name.lower() for header in block.fields}
    return "begin" not in names and not names.isdisjoint(_MAIL_FIELDS)


def looks_like_entity(data: bytes | memoryview) -> bool:
    """Whether `data` starts with a MIME part header (inside S/MIME: an entity, not a file)."""
    head = bytes(data[: 64 * 1024])
    if head.startswith((b"\r\n", b"\n")):
        return True
    block = read_headers(head, 0, len(head), top=False)
    return block.closed and any(
        header.name.lower().startswith(("content-", "mime-version")) for header in block.fields
    )


def mbox_messages(buffer: bytes) -> tuple[Span, ...]:
    """The messages of an mbox file, their From_ lines excluded; () when there are not several."""
    if not buffer.startswith(b"From "):
        return ()
    starts = [0]
    position = 0
    while (position := buffer.find(b"\nFrom ", position)) >= 0:
        position += 1
        before = buffer[max(0, position - 4) : position]
        if before.endswith((b"\n\n", b"\n\r\n")) and _header_after(buffer, position):
            starts.append(position)
    if len(starts) < 2:
        return ()
    ends = [_before_break(buffer, 0, start) for start in starts[1:]] + [len(buffer)]
    return tuple(
        Span(_line(buffer, start, end)[1], end) for start, end in zip(starts, ends, strict=True)
    )


def split_multipart(buffer: bytes, start: int, end: int, boundary: bytes, max_parts: int) -> Parts:
    """Cut `buffer[start:end]` at the lines of `boundary` (RFC 2046, section 5.1.1).

    Parts behind the closing line are cut too: some mailers close too early, and no part may
    get lost. At most `max_parts` parts are cut; the remainder comes back as `rest`.
    """
    spans: list[Span] = []
    preamble_end: int | None = None
    part_start: int | None = None
    epilogue = Span(end, end)
    closed = False
    after_close = 0
    for line_start, after, closing in _boundary_lines(buffer, start, end, boundary):
        content_end = _before_break(buffer, start, line_start)
        if preamble_end is None:
            preamble_end = content_end
        if part_start is not None:
            spans.append(Span(part_start, max(part_start, content_end)))
        if len(spans) >= max_parts and not closing:
            rest = Span(line_start, end)
            return Parts(tuple(spans), Span(start, preamble_end), epilogue, True, 0, rest)
        if closing:
            if part_start is not None or not closed:  # a second closing line hides no text
                epilogue = Span(after, end)
            closed, part_start = True, None
        else:
            after_close += closed
            part_start = after
    if part_start is not None:
        spans.append(Span(part_start, end))
        epilogue = Span(end, end)
    preamble = Span(start, end if preamble_end is None else preamble_end)
    return Parts(tuple(spans), preamble, epilogue, closed, after_close)


def infer_boundary(buffer: bytes, start: int, end: int) -> bytes | None:
    """The boundary a body seems to use: a "--x" line with a Content-* field behind it.

    An empty one, which no standard allows, only where there is no other.
    """
    position = start
    empty: bytes | None = None
    for _ in range(200):
        position = buffer.find(b"--", position, end)
        if position < 0:
            return empty
        line_end, after = _line(buffer, position, end)
        at_line_start = position == start or buffer[position - 1] in b"\r\n"
        match = _INFERABLE.match(buffer[position : min(line_end, position + 300)])
        if at_line_start and match and _CONTENT_FIELD.match(buffer[after : after + 300]):
            return match[1]
        if at_line_start and line_end == position + 2 and _CONTENT_FIELD.match(buffer, after):
            empty = b""
        position = max(after, position + 2)
    return empty


def undo_transfer(data: bytes | memoryview, label: bytes | None) -> Transferred:
    """Undo a Content-Transfer-Encoding as leniently as the bytes allow. Never raises.

    Unknown encodings and the identity ones ("7-bit", "plain", …) pass the bytes through.
    """
    name = transfer_name(label)
    if name == "base64":
        return _base64(data)
    if name == "quotedprintable":
        return Transferred(_quoted_printable(bytes(data)))
    if name == "uuencode":
        files = find_uuencoded(bytes(data))
        if files:
            return Transferred(files[0].content, clean=files[0].clean)
        return Transferred(bytes(data), clean=False, detail="no uuencoded block")
    if name in _IDENTITY:
        return Transferred(bytes(data))
    return Transferred(bytes(data), known=False, detail=name[:40])


def transfer_name(label: bytes | None) -> str:
    """A transfer-encoding label reduced to one spelling ("Quoted Printable;" → quotedprintable)."""
    text = (label or b"").decode("latin-1").split(";")[0].split("(")[0].lower()
    name = re.sub(r"[^a-z0-9]", "", text)
    return _TRANSFER_ALIASES.get(name, name)


def is_identity(label: bytes | None) -> bool:
    """Whether a transfer encoding leaves the bytes as they are."""
    return transfer_name(label) in _IDENTITY


def find_uuencoded(text: bytes) -> tuple[UuFile, ...]:
    """Files uuencoded inside a text body (begin … end); blocks that do not decode are no files."""
    found: list[UuFile] = []
    position = 0
    while (match := _UU_BEGIN.search(text, position)) is not None:
        lines, position, ended = _uu_lines(text, match.end())
        if ended or _is_torn_off(text, match.end(), lines):
            found.append(UuFile(match[1].strip(), b"".join(lines), clean=ended))
    return tuple(found)


def find_yenc(text: bytes) -> tuple[tuple[bytes, Span], ...]:
    """Names and ranges of the files in yEnc inside a text; one without an end reaches to the end.

    Nothing kept reads yEnc, so such a block is set aside whole.
    """
    if b"=ybegin " not in text:
        return ()
    return tuple((match[1].strip(), Span(*match.span())) for match in _YENC.finditer(text))


def without_yenc(text: bytes) -> bytes:
    """The text without its yEnc blocks, which no charset reads."""
    return _YENC.sub(b"", text) if b"=ybegin " in text else text


def _is_torn_off(text: bytes, start: int, lines: list[bytes]) -> bool:
    """Whether a block without its end is one all the same: it begins with a full line."""
    return bool(lines) and text[start : start + 1] == b"M" and len(lines[0]) == UU_LINE


def is_blank(buffer: bytes, span: Span) -> bool:
    """Whether a range holds nothing but white space."""
    return not buffer[span.start : span.end].strip()


def _uu_lines(text: bytes, position: int) -> tuple[list[bytes], int, bool]:
    """The decoded lines from here on, where they stop, and whether with a proper end."""
    decoded: list[bytes] = []
    while position < len(text):
        line_end, after = _line(text, position, len(text))
        line = text[position:line_end]
        if line.strip() == b"end":
            return decoded, after, bool(decoded)
        try:
            decoded.append(binascii.a2b_uu(line.rstrip(b"\r") or b"`"))
        except binascii.Error:
            break
        position = after
    return decoded, position, False


def _base64(data: bytes | memoryview) -> Transferred:
    try:
        content = pybase64.b64decode(data)
    except binascii.Error:
        return _broken_base64(bytes(data))
    # Every byte is accounted for only if nothing was skipped and nothing stands behind padding.
    if 4 * -(-len(content) // 3) + _white_space(data) == len(data):
        return Transferred(content)
    return _broken_base64(bytes(data))


def _white_space(data: bytes | memoryview) -> int:
    """How many bytes are space, tab or line end."""
    count = 0
    for start in range(0, len(data), _COUNTED_TOGETHER):
        piece = np.frombuffer(data[start : start + _COUNTED_TOGETHER], np.uint8)
        blank = (piece == 10) | (piece == 13) | (piece == 32) | (piece == 9)
        count += int(np.count_nonzero(blank))
    return count


def unlabelled_base64(data: bytes | memoryview) -> bytes | None:
    """What is base64 from end to end and a known kind of file behind it; None for anything else.

    Some senders leave out the transfer encoding of what they encoded.
    """
    head = bytes(data[:_LOOKED_AT]).translate(None, _WHITESPACE)
    if len(head) < ENCODED_LINE or head.translate(None, _BASE64_ALPHABET):
        return None
    try:
        start = pybase64.b64decode(head[: len(head) // 4 * 4], validate=True)
        if sniff_type(memoryview(start)) is None:
            return None
        whole = _base64(data)
    except binascii.Error:
        return None
    return whole.content if whole.clean else None


def _broken_base64(data: bytes) -> Transferred:
    """Decode run by run: padding may stand in the middle, and a footer may follow the end."""
    if len(data) > LINEWISE_BYTES and not data.translate(None, _BASE64_ALPHABET + b"\r\n"):
        return _joined_runs(re.split(rb"=+", data.translate(None, _NOT_BASE64)), 0)
    lines = data.splitlines()
    if _is_prose(lines):
        return Transferred(data, clean=False, detail="not base64")
    runs: list[bytes] = []
    current = bytearray()
    dropped = 0
    padded = ended = False
    for line in lines:
        packed = _until_padding(line).translate(None, _NOT_BASE64)
        foreign = _foreign(line)
        a_word = len(packed) < FOOTER_WORD and not _BASE64_LINE.fullmatch(packed)
        ended |= padded and bool(foreign or a_word)
        if ended or (foreign > 1 and foreign > FOREIGN_SHARE * len(line)):
            dropped += len(line)
            continue
        dropped += foreign
        pieces = packed.split(b"=")
        current += pieces[0]
        if len(pieces) > 1:
            padded = True
            for piece in pieces[1:]:
                if current:
                    runs.append(bytes(current))
                current = bytearray(piece)
    if current:
        runs.append(bytes(current))
    return _joined_runs(runs, dropped)


def _joined_runs(runs: list[bytes], dropped: int) -> Transferred:
    content = b"".join(_base64_run(run) for run in runs)
    return Transferred(content, clean=False, detail=f"{dropped} foreign bytes left out")


def _is_prose(lines: list[bytes]) -> bool:
    """Whether the bytes were never encoded: most lines have what no base64 line has."""
    written = [line.strip(_WHITESPACE) for line in lines if line.strip(_WHITESPACE)]
    first = _until_padding(written[0]) if written else b""
    if _BASE64_LINE.fullmatch(first) and (len(first) >= ENCODED_LINE or first.endswith(b"=")):
        return False
    foreign = [_foreign(line) for line in written]
    spaced = any(b" " in line for line in written)
    share = sum(foreign) / max(1, sum(map(len, written)))
    return sum(map(bool, foreign)) > len(written) / 2 and (spaced or share > FOREIGN_SHARE)


def _foreign(line: bytes) -> int:
    """Bytes that no base64 line has: other characters, and space between characters."""
    inner = line.strip(_WHITESPACE)
    return len(inner.translate(None, _BASE64_ALPHABET))


def _until_padding(line: bytes) -> bytes:
    """The line up to its padding when white space and something else follow it."""
    match = _PADDING_THEN_TEXT.search(line)
    return line[: match.start() + len(match[1])] if match else line


def _base64_run(run: bytes) -> bytes:
    whole = run[: len(run) - 1] if len(run) % 4 == 1 else run
    return pybase64.b64decode(whole + b"=" * (-len(whole) % 4))


def _quoted_printable(data: bytes) -> bytes:
    # a2b_qp keeps white space at line ends, which transports add (RFC 2045, section 6.7 rule 3).
    if any(mark in data for mark in (b" \n", b"\t\n", b" \r\n", b"\t\r\n")):
        data = b"\n".join(_without_trailing_space(line) for line in data.split(b"\n"))
    return binascii.a2b_qp(data)


def _without_trailing_space(line: bytes) -> bytes:
    if line.endswith(b"\r"):
        return line[:-1].rstrip(b" \t") + b"\r"
    return line.rstrip(b" \t")


def _boundary_lines(
    buffer: bytes, start: int, end: int, boundary: bytes
) -> Iterator[tuple[int, int, bool]]:
    """Yield (line start, position after the line, closing) for every boundary line.

    What follows the boundary behind white space is not looked at: RFC 2046 asks only that the
    boundary stands whole at the start of its line.
    """
    marker = b"--" + boundary
    position = start
    while (found := buffer.find(marker, position, end)) >= 0:
        position = found + len(marker)
        if found > start and buffer[found - 1] not in b"\r\n":
            continue
        line_end, after = _line(buffer, position, end)
        if line_end - position > 2_000:
            continue
        tail = buffer[position:line_end].rstrip(b"\r")
        closing = tail.startswith(b"--") and tail[2:3] in _LINE_SPACE
        if closing or tail[:1] in _LINE_SPACE:
            yield found, after, closing
            position = after


def _before_break(buffer: bytes, start: int, position: int) -> int:
    if position > start and buffer[position - 1] == 0x0A:
        position -= 1
        if position > start and buffer[position - 1] == 0x0D:
            position -= 1
    elif position > start and buffer[position - 1] == 0x0D:
        position -= 1
    return position


def _line(buffer: bytes, position: int, end: int) -> tuple[int, int]:
    """End of the line's content (carriage returns excluded) and start of the next line."""
    newline = buffer.find(b"\n", position, end)
    if newline < 0:
        content_end = after = end
    else:
        content_end, after = newline, newline + 1
    while content_end > position and buffer[content_end - 1] == 0x0D:
        content_end -= 1
    return content_end, after


def _decides_more(chunks: list[tuple[str, bytearray]], name: bytes) -> bool:
    """Whether a field beyond the bound says how to read the body, or is the first of its kind."""
    if len(chunks) >= 2 * MAX_FIELDS:
        return False
    lowered = name.decode("ascii").lower()
    if lowered.startswith("content-"):
        return True
    return lowered in _MAIL_FIELDS and all(one.lower() != lowered for one, _ in chunks)


def _append(chunks: list[tuple[str, bytearray]], line: bytes) -> bool:
    value = chunks[-1][1]
    value += line[: max(0, MAX_FIELD_BYTES - len(value))]
    return len(value) >= MAX_FIELD_BYTES


def _block(
    chunks: list[tuple[str, bytearray]],
    body_start: int,
    *,
    closed: bool = True,
    broken: bool = False,
    truncated: bool = False,
) -> HeaderBlock:
    fields = tuple(RawField(name, bytes(value).strip(b" \t")) for name, value in chunks)
    return HeaderBlock(fields, body_start, closed, broken, truncated)


def _blank_end(buffer: bytes, line: bytes, after: int, end: int) -> bool:
    """A line of white space ends the block unless header lines follow it."""
    if line.strip():
        return False
    following = buffer[after : min(end, after + 300)]
    if _KNOWN_FIELD.match(following):
        return False
    folded = following[:1] in (b" ", b"\t")
    return not (folded and _fields_follow(buffer, after, end, _KNOWN_FIELD))


def _block_goes_on(
    buffer: bytes, chunks: list[tuple[str, bytearray]], after: int, end: int
) -> bool:
    """Whether an empty line tore the header apart: no MIME field before it, some behind it."""
    if any(name.lower().startswith(("content-", "mime-")) for name, _ in chunks):
        return False
    paragraph = buffer[after : min(end, after + TORN_HEADER_REACH)]
    lines = re.split(rb"\r*\n", paragraph.partition(b"\n\n")[0].partition(b"\r\n\r\n")[0])
    fields = [line for line in lines if _FIELD.match(line)]
    strange = [line for line in lines if line[:1] not in (b" ", b"\t", b"") and line not in fields]
    mime = sum(1 for line in fields if _CONTENT_FIELD.match(line))
    return mime > 0 and len(fields) > 1 and len(strange) <= 1


def _fields_follow(buffer: bytes, position: int, end: int, known: re.Pattern[bytes]) -> bool:
    for _ in range(BROKEN_FOLDING_REACH):
        if position >= end:
            return False
        line_end, after = _line(buffer, position, end)
        if line_end == position:
            return False
        if known.match(buffer[position : position + 300]):
            return True
        position = after
    return False


def _skip_mbox_line(buffer: bytes, start: int, end: int) -> int:
    position = start
    if buffer.startswith(b"\xef\xbb\xbf", position, end):
        position += 3
    while position < end and buffer[position] in b"\r\n":
        position += 1
    if buffer.startswith((b"From ", b">From "), position, end):
        _, position = _line(buffer, position, end)
    return position if _FIELD.match(buffer[position : position + 300]) else start


def _header_after(buffer: bytes, from_line: int) -> bool:
    _, after = _line(buffer, from_line, len(buffer))
    return bool(_FIELD.match(buffer[after : after + 300]))
