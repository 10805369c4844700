"""Decoding: bytes of a text format become valid Unicode that a database can store.

Here: byte order marks, UTF-16 without a mark, declared charsets, legacy code pages, and the
removal of what PostgreSQL refuses. Not here: what the text means.
"""

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass

from charset_normalizer import CharsetMatch, from_bytes

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 65536
_REFUSED = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_CONTROL = bytes(set(range(32)) - {9, 10, 12, 13, 27})
_DOUBLE_BYTE = ("cp932", "euc_jp", "cp949", "gb18030", "big5")
_JAPANESE = frozenset({"cp932", "euc_jp"})
_COMMON_LEADS = {
    "cp932": (0x88, 0x98),
    "euc_jp": (0xB0, 0xCF),
    "gb18030": (0xB0, 0xD7),
    "cp949": (0xB0, 0xC8),
    "big5": (0xA4, 0xC6),
}
"""First bytes of the characters that a language uses daily: level 1 of each standard."""
_COMMON_SHARE = 0.85
_KANA_SHARE = 0.15
_LEAST_WIDE = 4
_FEW_ACCENTS = 4
_OLD_WESTERN = ("cp850", "mac_roman")
_LEGACY = (
    *("cp1252", *_OLD_WESTERN),
    *("cp1250", "iso8859_2", "cp1254", "cp1257", "cp1251", "koi8_r", "iso8859_5", "cp866"),
    *("mac_cyrillic", "cp1253", "iso8859_7", "cp1255", "iso8859_8", "cp1256", "iso8859_6", "cp874"),
)
_LEAST_COHERENCE = 0.2
"""Share of the letters in the order of a language below which a text speaks none."""
_CHAOS_MARGIN = 0.02
_COHERENCE_MARGIN = 0.03
_BETTER_LANGUAGE = 0.05
"""How close another reading comes before nobody can tell which of the two is right."""
_MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}")
_HIGH = re.compile(r"[^\x00-\x7f]")
_USUAL_LETTERS = "äöüÄÖÜßéèêëàâçîïôûùœæÉÈÀÇñÑóíáúòìãõåøÅØÆÊÂÎÔŒ"
_UNUSUAL = re.compile(rf"[^\x00-\x7f{_USUAL_LETTERS}€§°´’‘‚“”„–—…•«»‹›·²³µ©®™\xa0\xad½¼¾¨¿¡ºª±×]")
_SIGN_IN_WORD = re.compile(r"(?<=[a-zA-Z])[‚„“”…‹›€§•™·±¹²³¼½¾¿¡ªº](?=[a-zA-Z])")


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text with the encoding that was used and whether bytes had to be replaced."""

    text: str
    encoding: str
    lossy: bool


@dataclass(frozen=True, slots=True)
class Guess:
    """An encoding found in the bytes alone; `sure` is False when others fit as well."""

    encoding: str
    sure: bool


def clean_text(text: str) -> str:
    """Drop NUL and other controls, unify line ends, replace lone surrogates by U+FFFD."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if _REFUSED.search(text):
        text = _REFUSED.sub(_replacement, text)
    return text


def must_clean(text: str) -> bool:
    """Whether `clean_text` would take something away (line ends apart)."""
    return _REFUSED.search(text) is not None


def _replacement(match: re.Match[str]) -> str:
    return "\ufffd" if "\ud800" <= match.group() <= "\udfff" else ""


def looks_like_text(head: bytes) -> bool:
    """Whether the head of a file can be text: no controls, or UTF-16/32 by mark or by pattern."""
    if not head:
        return False
    if _bom(head) or _utf16_pattern(head):
        return True
    # Stray NULs among clean text are a fault of the sender, not the sign of another format.
    nuls = head.count(0)
    controls = len(head) - len(head.translate(None, _CONTROL)) - nuls
    return controls <= len(head) // 200 and (not nuls or (nuls <= len(head) // 10 and not controls))


def decode(raw: bytes, declared: str | None = None, *, partial: bool = False) -> Decoded:
    """Decode a whole text, or its head when `partial` (a cut last character is then no error).

    Order: byte order mark, UTF-16 pattern, UTF-8, the declared charset, detection, windows-1252.
    Never raises; what cannot be decoded becomes U+FFFD and `lossy` is set.
    """
    if bom := _bom(raw):
        mark, encoding = bom
        return _tolerant(raw[len(mark) :], encoding, partial=partial)
    if encoding := _utf16_pattern(raw):
        return _tolerant(raw, encoding, partial=partial)
    if (text := _strict(raw, "utf-8", partial=partial)) is not None:
        return Decoded(text, "utf-8", lossy=False)
    if declared and (text := _declared(raw, declared)) is not None:
        return Decoded(text, declared.lower(), lossy=False)
    return _legacy(raw)


def _bom(raw: bytes) -> tuple[bytes, str] | None:
    return next(((mark, name) for mark, name in _BOMS if raw.startswith(mark)), None)


def _utf16_pattern(raw: bytes) -> str | None:
    """UTF-16 without a mark: nearly every other byte of Western text is NUL."""
    sample = raw[: min(len(raw), _SAMPLE) // 2 * 2]
    if len(sample) < 8:
        return None
    half = len(sample) // 2
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if odd > 0.6 * half and even <= 0.02 * half:
        encoding = "utf-16-le"
    elif even > 0.6 * half and odd <= 0.02 * half:
        encoding = "utf-16-be"
    else:
        return None
    text = sample.decode(encoding, "replace")
    return encoding if sum(c.isprintable() or c.isspace() for c in text) > 0.9 * half else None


def _tolerant(raw: bytes, encoding: str, *, partial: bool) -> Decoded:
    text = _strict(raw, encoding, partial=partial)
    if text is not None:
        return Decoded(text, encoding, lossy=False)
    return Decoded(raw.decode(encoding, "replace"), encoding, lossy=True)


def _strict(raw: bytes, encoding: str, *, partial: bool) -> str | None:
    try:
        return codecs.getincrementaldecoder(encoding)().decode(raw, final=not partial)
    except UnicodeDecodeError:
        return None


def _declared(raw: bytes, name: str) -> str | None:
    try:
        codec = codecs.lookup(name.strip().strip("\"'"))
        # A declared UTF-8 that failed above is a wrong label; Latin-1 labels mean windows-1252.
        if codec.name in ("utf-8", "ascii"):
            return None
        chosen = "cp1252" if codec.name == "iso8859-1" else codec.name
        text = raw.decode(chosen, "strict")
    except (LookupError, UnicodeError, ValueError):
        return None
    return text if isinstance(text, str) else None


def _legacy(raw: bytes) -> Decoded:
    """Mostly valid UTF-8 keeps UTF-8; else what `undeclared` finds, else windows-1252."""
    tolerant = raw.decode("utf-8", "replace")
    if _MULTIBYTE.search(raw) and tolerant.count("\ufffd") <= max(1, len(raw) // 1000):
        return Decoded(tolerant, "utf-8", lossy=True)
    guess = undeclared(raw)
    encoding = guess.encoding if guess else None
    text = raw.decode(encoding or "cp1252", "replace")
    return Decoded(text, encoding or "cp1252", lossy=encoding is None or "\ufffd" in text)


def undeclared(raw: bytes) -> Guess | None:
    """The encoding of a text that is not UTF-8 and declares none; None when no guess is plausible.

    A Western one whose letters stand as in de/fr/it/es texts, else a double-byte encoding whose
    common characters the text consists of, else what detection by the frequency of letters finds.
    """
    sample = raw[:_SAMPLE]
    western = _western(sample)
    if western is not None:
        return western
    double = double_byte(sample)
    if double is not None:
        return Guess(double, sure=True)
    found = list(from_bytes(sample, cp_isolation=list(_LEGACY)))
    if not found or (found[0].encoding == "cp1252" and _is_unlikely(sample, "cp1252")):
        return None
    return Guess(found[0].encoding, sure=_is_alone(found))


def _western(sample: bytes) -> Guess | None:
    """Windows-1252 where it fits, else the older one with fewer odd characters."""
    if western_fits(sample):
        return Guess("cp1252", sure=True)
    fitting = [name for name in _OLD_WESTERN if western_fits(sample, name)]
    if not fitting:
        return None
    odd = [_odd_characters(sample.decode(name, "replace")) for name in fitting]
    return Guess(fitting[odd.index(min(odd))], sure=odd.count(min(odd)) == 1)


def _is_alone(found: Sequence[CharsetMatch]) -> bool:
    """Whether the first speaks a language and no other reading of the bytes comes near it."""
    best = found[0]
    others = [one for one in found[1:] if str(one) != str(best)]
    return best.coherence >= _LEAST_COHERENCE and not any(
        one.coherence >= best.coherence + _BETTER_LANGUAGE
        or (
            one.chaos <= best.chaos + _CHAOS_MARGIN
            and one.coherence >= best.coherence - _COHERENCE_MARGIN
        )
        for one in others
    )


def double_byte(raw: bytes) -> str | None:
    """The encoding in which nearly every wide character is a common one of its language."""
    sample = raw[:_SAMPLE]
    scores = {name: _common_share(sample, name) for name in _DOUBLE_BYTE}
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] >= _COMMON_SHARE else None


def _common_share(sample: bytes, encoding: str) -> float:
    """Share of the wide characters that are common; 0.0 when the bytes do not fit."""
    text = _strict(sample, encoding, partial=True)
    wide = [char for char in text or "" if ord(char) > 127]
    if len(wide) < _LEAST_WIDE:
        return 0.0
    common = sum(1 for char in wide if _is_common(char, encoding)) / len(wide)
    kana = sum(1 for char in wide if "\u3041" <= char <= "\u30fe") / len(wide)
    # Chinese and Korean share their byte ranges with Japanese, and have none of its kana.
    return common if (kana >= _KANA_SHARE) == (encoding in _JAPANESE) else 0.0


def _is_common(char: str, encoding: str) -> bool:
    if "\u3000" <= char <= "\u30ff" or "\uff01" <= char <= "\uff5e":
        return True
    lead = char.encode(encoding, "ignore")[:1]
    first, last = _COMMON_LEADS[encoding]
    return bool(lead) and first <= lead[0] <= last


def western_fits(raw: bytes, encoding: str = "cp1252") -> bool:
    """Whether the high characters of this reading stand where de/fr/it/es texts have them."""
    text = raw.decode(encoding, "replace")
    high = len(_HIGH.findall(text))
    return high > 0 and _odd_characters(text) <= 0.1 * high and not _is_unlikely(raw, encoding)


def _odd_characters(text: str) -> int:
    return len(_UNUSUAL.findall(text)) + len(_SIGN_IN_WORD.findall(text))


def _is_unlikely(raw: bytes, encoding: str) -> bool:
    """Whether the bytes are no Western text: none has that many letters with accents."""
    letters = [char for char in raw.decode(encoding, "replace") if char.isalpha()]
    high = sum(1 for char in letters if ord(char) > 127)
    return high > _FEW_ACCENTS and high > len(letters) / 2
