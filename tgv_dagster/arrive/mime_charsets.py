"""Bytes to text whatever the label says (known faults 44, 52, 53, 55).

Belongs here: resolving charset labels and decoding without ever raising or losing a byte run.
Does not belong here: header grammar (`mime_names`), transfer encodings (`mime_wire`).
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, replace
from functools import lru_cache

from tgv_dagster.arrive.decoding import Guess, double_byte, undeclared, western_fits

DETECTION_MINIMUM = 64
FEW_FOREIGN = 4
FALLBACK = "cp1252"
MIN_WIDE_AGAINST_DOUBLE_BYTE = 4

_UTF7_RUN = re.compile(rb"\+[A-Za-z0-9+/]{3,80}-?")
_WESTERN = re.compile("[\u00a0-\u017f\u2010-\u2026\u20ac]+")
_LABEL = re.compile(r"[a-z0-9][a-z0-9_.:()+-]{0,39}")
_SAYS_NOTHING = frozenset(
    {"7bit", "8bit", "binary", "default", "none", "null", "unknown", "unknown-8bit", "undefined"}
    | {"user-defined", "x-unknown", "x-user-defined", "charset", "base64", "quoted-printable"}
)
_NOT_CHARSETS = frozenset(
    {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"}
    | {"charmap"}
)
_ALIASES = {
    "ansi": "cp1252",
    "ansi_x3.4-1968": "utf-8",
    "ascii": "utf-8",
    "us-ascii": "utf-8",
    "usascii": "utf-8",
    "us": "utf-8",
    "646": "utf-8",
    "iso646-us": "utf-8",
    "iso-646": "utf-8",
    "unicode": "utf-16",
    "ucs-2": "utf-16-be",
    "ucs2": "utf-16-be",
    "iso-10646-ucs-2": "utf-16-be",
    "unicode-1-1-utf-7": "utf-7",
    "unicode-1-1-utf-8": "utf-8",
    "unicode11utf8": "utf-8",
    "macintosh": "mac_roman",
    "mac": "mac_roman",
    "mac-roman": "mac_roman",
    "latin": "cp1252",
    "windows": "cp1252",
    "koi8": "koi8-r",
    "koi": "koi8-r",
    "koi8-ru": "koi8-u",
    "visual": "iso8859-8",
    "logical": "iso8859-8",
    "korean": "cp949",
    "ksc5601": "cp949",
    "euckr": "cp949",
    "chinese": "gb18030",
    "euccn": "gb18030",
    "big-5": "big5hkscs",
    "big5": "big5hkscs",
    "sjis": "cp932",
    "ms-kanji": "cp932",
    "ms_kanji": "cp932",
    "tis-620": "cp874",
    "tis620": "cp874",
    "thai": "cp874",
    "dos": "cp850",
    "cp1200": "utf-16-le",
    "cp1201": "utf-16-be",
    "cp10000": "mac_roman",
    "cp20127": "utf-8",
    "cp20866": "koi8-r",
    "cp21866": "koi8-u",
    "cp50220": "iso2022_jp_ext",
    "cp50221": "iso2022_jp_ext",
    "cp50222": "iso2022_jp_ext",
    "cp51932": "euc_jis_2004",
    "cp51949": "cp949",
    "cp51936": "gb18030",
    "cp52936": "hz",
    "cp54936": "gb18030",
    "cp28591": "cp1252",
    "cp28592": "iso8859-2",
    "cp28595": "iso8859-5",
    "cp28597": "iso8859-7",
    "cp28599": "cp1254",
    "cp28605": "iso8859-15",
    "cp65000": "utf-7",
    "cp65001": "utf-8",
    "pc8": "cp437",
}
_FAMILIES = (
    (re.compile(r"(?:windows|win|microsoft|ms|cp|ibm|dos|x-cp)[-_ ]?0*(\d{3,5})"), "cp{}"),
    (re.compile(r"iso[-_ ]?8859[-_ ]?0*(\d{1,2})(?:[-_][ei])?"), "iso8859-{}"),
    (re.compile(r"8859[-_ ]?0*(\d{1,2})"), "iso8859-{}"),
    (re.compile(r"latin[-_ ]?(\d{1,2})"), "latin{}"),
    (re.compile(r"utf[-_ ]?(8|7|16|32)(?:mb\d)?"), "utf-{}"),
    (re.compile(r"utf[-_ ]?(16|32)[-_ ]?le()"), "utf-{}-le"),
    (re.compile(r"utf[-_ ]?(16|32)[-_ ]?be()"), "utf-{}-be"),
    (re.compile(r"iso[-_]?2022[-_]?(?:jp|jp-\w+)(?:\$esc)?()"), "iso2022_jp_ext"),
    (re.compile(r"iso[-_]?2022[-_]?kr()"), "iso2022_kr"),
    (re.compile(r"(?:ks[-_]?[cx]?[-_]?(?:5601|1001)|euc[-_]kr).*()"), "cp949"),
    (re.compile(r"(?:gb[-_]?2312|gbk|gb[-_]?18030|cp936|euc[-_]?cn).*()"), "gb18030"),
    (re.compile(r"(?:shift[-_]?jis|windows[-_]?31j|cp943c?).*()"), "cp932"),
    (re.compile(r"big5[-_]?hkscs.*()"), "big5hkscs"),
    (re.compile(r"euc[-_]?jp.*()"), "euc_jis_2004"),
)
_WIDER = {
    "ascii": "utf-8",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "big5": "big5hkscs",
    "iso2022_jp": "iso2022_jp_ext",
    "euc_jp": "euc_jis_2004",
}
_LATIN_FAMILY = frozenset({"cp1252", "iso8859-15", "cp1254", "cp850", "cp437", "mac-roman"})
_DOUBLE_BYTE = frozenset(
    {"gb18030", "gbk", "gb2312", "big5hkscs", "cp950", "cp949", "cp932", "euc_jis_2004", "hz"}
    | {"iso2022_jp_ext", "iso2022_kr", "johab", "euc_jisx0213"}
)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text with the codec that gave it.

    `label_known` is False when a label was given and means nothing; `as_labelled` is False
    when the bytes contradict the label, `lossless` when replacement characters were needed;
    `plausible` is False for a guess that no text of that encoding looks like, or beside which
    another is as good.
    """

    text: str
    codec: str
    label_known: bool = True
    as_labelled: bool = True
    lossless: bool = True
    plausible: bool = True


def codec_of(label: str | None) -> str | None:
    """The Python codec behind a charset label as found in mail; None when it names none.

    Narrow labels resolve to the superset that senders mean by them (iso-8859-1 → cp1252,
    us-ascii → utf-8, gb2312 → gb18030), which reads everything the narrow one reads.
    """
    return _codec_of_clean(_clean_label(label)) if label else None


def says_nothing(label: str | None) -> bool:
    """True for an absent label and for one that is no statement (7bit, unknown-8bit, …)."""
    return not label or not _clean_label(label) or _clean_label(label) in _SAYS_NOTHING


def decode(raw: bytes | memoryview, label: str | None, hint: str | None = None) -> Decoded:
    """Decode by label, else UTF-8, else `hint`, else windows-1252. Never raises.

    Args:
        raw: the bytes.
        label: the declared charset, as written.
        hint: a charset that other parts of the same mail declare.
    """
    data = bytes(raw)
    known = says_nothing(label) or codec_of(label) is not None
    for bom, codec in _BOMS:
        if data.startswith(bom):
            return _with(codec, data[len(bom) :], known=known)
    codec = codec_of(label)
    if data.isascii() and (codec is None or _reads_ascii_as_itself(codec)) and b"\x1b" not in data:
        if says_nothing(label) and (shifted := _unlabelled_utf7(data)) is not None:
            return Decoded(shifted, "utf-7", as_labelled=False)
        return Decoded(data.decode("ascii"), codec or "utf-8", label_known=known)
    if codec is None:
        return _undeclared(data, hint, known=known)
    return _declared(data, codec, hint)


def _declared(data: bytes, codec: str, hint: str | None) -> Decoded:
    if codec == "utf-8" and b"\x1b$" in data and data.isascii():
        return replace(_undeclared(data, hint, known=True), as_labelled=False)
    utf8 = _strict(data, "utf-8") if codec != "utf-8" and not codec.startswith("utf-") else None
    if utf8 is not None and _outweighs(utf8, codec):
        return Decoded(utf8, "utf-8", as_labelled=False)
    text = _strict(data, codec)
    if text is not None:
        return Decoded(text, codec)
    if codec != "utf-8":
        utf8 = _strict(data, "utf-8")
        if utf8 is not None:
            return Decoded(utf8, "utf-8", as_labelled=False)
        return _with(codec, data, as_labelled=codec in _LATIN_FAMILY)
    guess = _undeclared(data, hint, known=True)
    return replace(guess, as_labelled=False)


def _outweighs(utf8: str, codec: str) -> bool:
    """Whether bytes that are valid UTF-8 by octets can hardly be what the label says.

    A single-byte text is never UTF-8 by accident; a few double-byte characters can be.
    """
    wide = sum(1 for char in utf8 if ord(char) > 127)
    return wide >= (MIN_WIDE_AGAINST_DOUBLE_BYTE if codec in _DOUBLE_BYTE else 1)


def _undeclared(data: bytes, hint: str | None, *, known: bool) -> Decoded:
    utf8 = _strict(data, "utf-8")
    if utf8 is not None and b"\x1b$" not in data:
        return Decoded(utf8, "utf-8", label_known=known)
    if b"\x1b$" in data or b"\x1b(" in data:
        japanese = _strict(data, "iso2022_jp_ext")
        if japanese is not None:
            return Decoded(japanese, "iso2022_jp_ext", label_known=known)
    if _mostly_utf8(data):
        return _with("utf-8", data, known=known)
    for found in (_hinted(hint), _guessed(data)):
        codec = codec_of(found.encoding) if found else None
        text = _strict(data, codec) if codec else None
        if found and codec and text is not None:
            return Decoded(text, codec, label_known=known, plausible=found.sure)
    return replace(
        _with(FALLBACK, data, known=known),
        plausible=western_fits(data) or sum(byte > 127 for byte in data) <= FEW_FOREIGN,
    )


def _hinted(hint: str | None) -> Guess | None:
    return Guess(hint, sure=True) if hint else None


def _guessed(data: bytes) -> Guess | None:
    """The encoding the bytes themselves speak for; of few bytes only an unmistakable one."""
    if western_fits(data):
        return None
    if len(data) >= DETECTION_MINIMUM:
        return undeclared(data)
    double = double_byte(data)
    return Guess(double, sure=True) if double else None


def _unlabelled_utf7(data: bytes) -> str | None:
    """UTF-7 that does not say so: every shifted run is a few letters or signs of Western texts."""
    runs = _UTF7_RUN.findall(data)
    text = _strict(data, "utf-7") if runs else None
    if text is None or not all(_WESTERN.fullmatch(_strict(run, "utf-7") or "") for run in runs):
        return None
    return text


def _mostly_utf8(data: bytes) -> bool:
    kept = data.decode("utf-8", "ignore")
    wide = sum(1 for char in kept if ord(char) > 127)
    lost = len(data) - len(kept.encode("utf-8"))
    return wide > 2 * lost


def _strict(data: bytes, codec: str) -> str | None:
    try:
        return without_surrogates(data.decode(codec))
    except (UnicodeError, ValueError):
        return None


def _with(codec: str, data: bytes, *, known: bool = True, as_labelled: bool = True) -> Decoded:
    text = _strict(data, codec)
    if text is not None:
        return Decoded(text, codec, known, as_labelled)
    if codec == FALLBACK:
        return Decoded(data.decode("latin-1"), "latin-1", known, as_labelled)
    return Decoded(
        without_surrogates(data.decode(codec, "replace")), codec, known, False, lossless=False
    )


def without_surrogates(text: str) -> str:
    """Join surrogate pairs and replace halves of them, which no database and no file takes.

    UTF-7 and the escapes of RTF can spell either.
    """
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _clean_label(label: str) -> str:
    text = label.strip().strip("\"'").strip().lower()
    text = text.removeprefix("charset=").strip("\"' ")
    text = re.split(r"[\s;,\"']", text, maxsplit=1)[0]
    return text.lstrip("_").removesuffix("$esc")


@lru_cache(maxsize=1_024)
def _codec_of_clean(label: str) -> str | None:
    if label in _SAYS_NOTHING or not _LABEL.fullmatch(label):
        return None
    bare = label.removeprefix("x-")
    for name in (label, bare):
        if name in _ALIASES:
            return _usable(_ALIASES[name])
        found = _family(name, whole=True) or _usable(name)
        if found:
            return found
    return _family(bare, whole=False)


def _family(name: str, *, whole: bool) -> str | None:
    for pattern, form in _FAMILIES:
        match = pattern.fullmatch(name) if whole else pattern.match(name)
        found = _usable(form.format(match[1])) if match else None
        if found:
            return found
    return None


def _usable(name: str) -> str | None:
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    if not info._is_text_encoding or info.name.replace("-", "_") in _NOT_CHARSETS:
        return None
    return _WIDER.get(info.name, info.name)


@lru_cache(maxsize=256)
def _reads_ascii_as_itself(codec: str) -> bool:
    # UTF-16, UTF-7, HZ and the EBCDIC pages use ASCII byte values for something else.
    if codec in ("utf-7", "hz"):
        return False
    sample = bytes(range(32, 127))
    try:
        return sample.decode(codec) == sample.decode("ascii")
    except UnicodeError:
        return False
