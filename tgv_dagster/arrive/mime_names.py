"""Words, parameters and file names in headers (known faults 44, 46, 47, 49, 50).

Belongs here: RFC 2047 encoded words, RFC 2231 parameters, raw 8-bit values, the name of a
part, a generated name when there is none. Does not belong here: which part gets which role.

The standard library's readers stop at the first unknown charset or broken padding and decode
word by word, which tears characters that were cut between two words; these join first.
"""

from __future__ import annotations

import binascii
import mimetypes
import re
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from tgv_dagster.arrive.mime_charsets import codec_of, decode

MAX_PARAMETERS = 200

_AFTER_QUOTE = re.compile(rb"[ \t]*(?:;|\Z|[A-Za-z][\w*-]{0,40}[ \t]*=)")
_NEXT_PARAMETER = re.compile(
    rb"[ \t]+(?=(?:charset|name|filename|boundary|type|format)\*?[\d*]{0,4}=)"
)
_COMMENTS = re.compile(
    rb"(^|;)\s*\([^()]{0,200}\)\s*(?=[A-Za-z0-9.+-]{1,80}/|[A-Za-z][\w*-]{0,40}[ \t]*=)"
)
_SECTION = re.compile(r"([^*]+)(?:\*(\d{1,4}))?(\*)?")
_UNSTARRED_EXTENDED = re.compile(
    rb"([A-Za-z][\w.:-]{2,30})'[A-Za-z-]{0,12}'([^']*%[0-9A-Fa-f]{2}.*)", re.DOTALL
)
_WORD_CHARSET = re.compile(rb"[A-Za-z0-9][\w.:+()-]{0,60}(?:\*[\w-]{0,20})?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_SPACE = b" \t\r\n"

# Without the machine's own mime.types, so that a name is the same everywhere.
_BUILT_IN_TYPES = mimetypes.MimeTypes()
_MAGIC = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"PK\x03\x04", "application/zip"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"{\\rtf", "application/rtf"),
    (b"\x78\x9f\x3e\x22", "application/ms-tnef"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"BEGIN:VCALENDAR", "text/calendar"),
    (b"BEGIN:VCARD", "text/vcard"),
)
_EXTENSIONS = {
    "application/pdf": ".pdf",
    "application/zip": ".zip",
    "application/x-ole-storage": ".ole",
    "application/rtf": ".rtf",
    "application/ms-tnef": ".dat",
    "application/pkcs7-mime": ".p7m",
    "application/x-pkcs7-mime": ".p7m",
    "application/pkcs7-signature": ".p7s",
    "application/x-pkcs7-signature": ".p7s",
    "application/pgp-signature": ".asc",
    "application/vnd.rar": ".rar",
    "image/jpeg": ".jpg",
    "image/jpg": ".jpg",
    "image/tiff": ".tif",
    "image/heic": ".heic",
    "image/webp": ".webp",
    "message/rfc822": ".eml",
    "message/global": ".eml",
    "message/delivery-status": ".txt",
    "message/disposition-notification": ".txt",
    "message/feedback-report": ".txt",
    "text/calendar": ".ics",
    "text/html": ".html",
    "text/plain": ".txt",
    "text/vcard": ".vcf",
    "text/x-vcard": ".vcf",
    "text/xml": ".xml",
    "application/xml": ".xml",
}


@dataclass(frozen=True, slots=True)
class Parameters:
    """A structured header value: its main value (lower case) and its parameters, joined.

    `raw` holds the bytes of a parameter as sent (sections concatenated), `text` its decoded
    value; names are lower case.
    """

    value: str
    text: dict[str, str]
    raw: dict[str, bytes]

    def get(self, name: str) -> str | None:
        """Decoded value of a parameter, None when absent or empty."""
        return self.text.get(name) or None


def decode_header_text(raw: bytes, hint: str | None = None) -> str:
    """An unfolded header value as text: encoded words decoded, raw 8-bit bytes read.

    Adjacent words of one charset are joined before decoding (known fault 47). `hint` is the
    charset the rest of the mail declares. Control characters become spaces. Never raises.
    """
    pieces: list[str] = []
    position = 0
    words: list[_Word] = []
    for word in _words(raw):
        between = raw[position : word.start]
        if words and between.strip(_SPACE) == b"":
            words.append(word)
        else:
            pieces.append(_words_text(words))
            pieces.append(decode(between, None, hint).text)
            words = [word]
        position = word.end
    pieces.append(_words_text(words))
    pieces.append(decode(raw[position:], None, hint).text)
    return _tidy("".join(pieces))


def read_parameters(raw: bytes, hint: str | None = None) -> Parameters:
    """Read `value; name=value; …` with continuations, charsets and the usual breakages.

    Handles missing quotes and semicolons, unquoted spaces, unescaped inner quotes, RFC 2231
    sections in any order and RFC 2047 words where RFC 2231 was meant. Never raises.
    """
    main, _, rest = _without_comments(raw).partition(b";")
    head = _NEXT_PARAMETER.split(main, maxsplit=1)
    if len(head) == 2:
        main, rest = head[0], head[1] + b";" + rest
    value = re.sub(r"\(.*", "", main.decode("latin-1")).strip().strip("\"'").strip().lower()
    pairs = _pairs(rest)
    text: dict[str, str] = {}
    joined: dict[str, bytes] = {}
    for name, sections in _grouped(pairs).items():
        joined[name], text[name] = _joined(sections, hint)
    return Parameters(value, text, joined)


def sniff_type(head: bytes | memoryview) -> str | None:
    """The media type that the first bytes give away, None when they do not."""
    start = bytes(head[:1_024])
    for magic, media_type in _MAGIC:
        if start.startswith(magic):
            return media_type
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "image/webp"
    if start[4:8] == b"ftyp" and start[8:12] in (b"heic", b"heix", b"mif1", b"heim", b"hevc"):
        return "image/heic"
    if b"%PDF-" in start:
        return "application/pdf"
    return None


def generated_name(sha256: str, media_type: str, sniffed: str | None) -> str:
    """A stable name for a part without one: digest and extension (known fault 49)."""
    guess = sniffed or media_type
    extension = _EXTENSIONS.get(guess) or _BUILT_IN_TYPES.guess_extension(guess) or ".bin"
    return f"part-{sha256[:12]}{extension}"


@dataclass(frozen=True, slots=True)
class _Word:
    start: int
    end: int
    charset: str
    base64: bool
    payload: bytes


def _words(raw: bytes) -> list[_Word]:
    found: list[_Word] = []
    position = 0
    while (start := raw.find(b"=?", position)) >= 0:
        position = start + 2
        charset_end = raw.find(b"?", position, position + 90)
        label = raw[position:charset_end] if charset_end >= 0 else b""
        kind = raw[charset_end + 1 : charset_end + 3].upper()
        if not _WORD_CHARSET.fullmatch(label) or kind not in (b"B?", b"Q?"):
            continue
        end = raw.find(b"?=", charset_end + 3)
        if end < 0:
            break
        charset = label.split(b"*")[0].decode("ascii")
        found.append(_Word(start, end + 2, charset, kind == b"B?", raw[charset_end + 3 : end]))
        position = end + 2
    return found


def _words_text(words: list[_Word]) -> str:
    pieces: list[str] = []
    run: list[_Word] = []
    for word in words:
        if run and _same_charset(run[0], word):
            run.append(word)
        else:
            pieces.append(_run_text(run))
            run = [word]
    pieces.append(_run_text(run))
    return "".join(pieces)


def _same_charset(one: _Word, other: _Word) -> bool:
    known = codec_of(one.charset)
    return known == codec_of(other.charset) if known else one.charset == other.charset


def _run_text(run: list[_Word]) -> str:
    if not run:
        return ""
    data = bytearray()
    pending = b""
    for word in run:
        if not word.base64:
            data += _base64_word(pending) + _q_word(word.payload)
            pending = b""
            continue
        payload = pending + word.payload.translate(None, _SPACE)
        cut_inside = len(payload) % 4 and not payload.endswith(b"=")
        pending = payload if cut_inside else b""
        data += b"" if cut_inside else _base64_word(payload)
    data += _base64_word(pending)
    return decode(bytes(data), run[0].charset).text


def _base64_word(payload: bytes) -> bytes:
    pieces = [piece for piece in payload.split(b"=") if piece]
    decoded = b""
    for piece in pieces:
        whole = piece[:-1] if len(piece) % 4 == 1 else piece
        try:
            decoded += binascii.a2b_base64(whole + b"=" * (-len(whole) % 4))
        except binascii.Error:
            decoded += piece
    return decoded


def _q_word(payload: bytes) -> bytes:
    return binascii.a2b_qp(payload.replace(b"_", b" "))


def _without_comments(raw: bytes) -> bytes:
    """Without comments before the value and before the name of a parameter (RFC 5322, 3.2.2).

    Brackets elsewhere may belong to a name.
    """
    return _COMMENTS.sub(rb"\1", raw) if b"(" in raw else raw


def _pairs(rest: bytes) -> list[tuple[str, bytes]]:
    pairs: list[tuple[str, bytes]] = []
    position = 0
    quotes_close = True
    while position < len(rest) and len(pairs) < MAX_PARAMETERS:
        before = position
        while position < len(rest) and rest[position] in b" \t;":
            position += 1
        stop = rest.find(b";", position)
        stop = len(rest) if stop < 0 else stop
        equals = rest.find(b"=", position, stop)
        if equals < 0:
            _append_stray(pairs, rest[before:stop])
            position = stop
            continue
        name = rest[position:equals].strip().strip(b"\"'").decode("latin-1").lower()
        position = _skip_space(rest, equals + 1)
        quoted = None
        if quotes_close and rest[position : position + 1] == b'"':
            quoted = _quoted_value(rest, position + 1)
            quotes_close = quoted is not None
        value, position = quoted or _unquoted_value(rest, position)
        pairs.append((name, value))
    return pairs


def _append_stray(pairs: list[tuple[str, bytes]], stray: bytes) -> None:
    """`name=a; b.pdf`: an unquoted value with a semicolon in it goes on."""
    if stray.strip(b"; \t") and pairs and pairs[-1][0].startswith(("name", "filename")):
        name, value = pairs[-1]
        pairs[-1] = (name, value + stray.rstrip())


def _skip_space(rest: bytes, position: int) -> int:
    while position < len(rest) and rest[position] in b" \t":
        position += 1
    return position


def _unquoted_value(rest: bytes, position: int) -> tuple[bytes, int]:
    stop = rest.find(b";", position)
    stop = len(rest) if stop < 0 else stop
    cut = _NEXT_PARAMETER.search(rest, position, stop)
    stop = cut.start() if cut else stop
    value = rest[position:stop].strip()
    if value.startswith(b'"'):
        return _unescaped(value.strip(b'"').strip()), stop
    return value, stop


def _quoted_value(rest: bytes, start: int) -> tuple[bytes, int] | None:
    """The value up to the quote that ends it; None when no quote does."""
    position = start
    while (quote := rest.find(b'"', position)) >= 0:
        before = rest[max(start, quote - 20) : quote]
        backslashes = len(before) - len(before.rstrip(b"\\"))
        if backslashes % 2 == 0 and _AFTER_QUOTE.match(rest, quote + 1):
            return _unescaped(rest[start:quote]), quote + 1
        position = quote + 1
    return None


def _unescaped(value: bytes) -> bytes:
    # Other backslashes stay: some mailers send whole Windows paths unescaped.
    return re.sub(rb'\\(["\\])', rb"\1", value)


@dataclass(frozen=True, slots=True)
class _Sections:
    plain: bytes | None
    numbered: dict[int, tuple[bytes, bool]]
    extended: bytes | None


def _grouped(pairs: list[tuple[str, bytes]]) -> dict[str, _Sections]:
    grouped: dict[str, _Sections] = {}
    for name, value in pairs:
        match = _SECTION.fullmatch(name)
        base = match[1] if match else name
        old = grouped.get(base, _Sections(None, {}, None))
        if match and match[2] is not None:
            old.numbered.setdefault(int(match[2]), (value, match[3] is not None))
            grouped[base] = old
        elif match and match[3]:
            grouped[base] = _Sections(old.plain, old.numbered, old.extended or value)
        else:
            grouped[base] = _Sections(old.plain or value, old.numbered, old.extended)
    return grouped


def _joined(sections: _Sections, hint: str | None) -> tuple[bytes, str]:
    if sections.extended:
        return sections.extended, _extended_text(sections.extended, hint)
    if sections.numbered:
        ordered = [sections.numbered[number] for number in sorted(sections.numbered)]
        raw = b"".join(value for value, _ in ordered)
        if any(extended for _, extended in ordered):
            return raw, _continued_text(ordered, hint)
        return raw, decode_header_text(raw, hint)
    raw = sections.plain or b""
    unstarred = _UNSTARRED_EXTENDED.fullmatch(raw)
    if unstarred and codec_of(unstarred[1].decode("latin-1")):
        return raw, _extended_text(raw, hint)
    return raw, decode_header_text(raw, hint)


def _continued_text(ordered: list[tuple[bytes, bool]], hint: str | None) -> str:
    first, first_extended = ordered[0]
    charset, first_value = _charset_and_value(first) if first_extended else (None, first)
    data = unquote_to_bytes(first_value) if first_extended else first_value
    for value, extended in ordered[1:]:
        data += unquote_to_bytes(value) if extended else value
    return _tidy(decode(data, charset, hint).text)


def _extended_text(raw: bytes, hint: str | None) -> str:
    charset, value = _charset_and_value(raw)
    return _tidy(decode(unquote_to_bytes(value), charset, hint).text)


def _tidy(text: str) -> str:
    # Only ASCII space goes: an ideographic space at the end belongs to the name.
    return _CONTROL.sub(" ", text).strip(" ")


def _charset_and_value(raw: bytes) -> tuple[str | None, bytes]:
    pieces = raw.split(b"'", 2)
    if len(pieces) < 3:
        return None, raw
    return pieces[0].decode("latin-1") or None, pieces[2]
