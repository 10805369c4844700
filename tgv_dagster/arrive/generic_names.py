"""Names that devices, messengers and scanners give to anything (UPL-12).

A name is generic when nothing in it is a word of a person: only words of the closed sets, numbers,
dates and marks. Does not belong here: what stands in its place (`upload`).
"""

from __future__ import annotations

import re
import unicodedata

_DEVICE_WORDS = """
    image img photo foto picture pic bild camera kamera appareil capture dsc dscn dscf dscx cimg
    sam sany gopr gp gx dji mvimg mvi mov vid video pxl pano hdr burst cam fullsizerender
    livephoto portrait selfie
    screenshot screen screenrecording bildschirmfoto bildschirmaufnahme screencapture ecran
    scan scans scanned scannen gescannt gescanntes scanne scannee numerisation numeriser numerise
    camscanner lens fax kopie scanbot scn doc docs
    whatsapp signal telegram threema messenger wa ptt aud attachment attachments anhang anlage
    piece jointe download telechargement blob file datei fichier upload clipboard zwischenablage
    pasted unknown unbekannt inconnu unnamed untitled unbenannt titre titel
    audio voice recording aufnahme sprachmemo sprachnachricht memo enregistrement dictaphone
    document dokument
"""
_FILLER_WORDS = """
    at um a am le la l d de du des on the e i new neue neues neuer nouveau nouvelle nouvel sans
    ohne eingefugtes copy copie von of no nr page seite mp cover adobe microsoft office google notiz
    note edited bearbeitet modifie pm uhr h
    jan feb mar apr may mai jun jul aug sep oct okt nov dec dez januar februar marz april juni juli
    august september oktober november dezember january february march june july october december
    janvier fevrier mars avril juin juillet aout septembre octobre novembre decembre
"""
_DEVICES = frozenset(_DEVICE_WORDS.split())
_FILLERS = frozenset(_FILLER_WORDS.split())
"""Words that stand beside a word of a device, and alone may be a person's."""

_WORD = re.compile(r"[^\W\d_]+")
_COUNTED = re.compile(r"p\d{6,8}")
"""Panasonic and Olympus count like this; the letter alone is a word of nobody."""

_STAMP = re.compile(r"(?:19|20)\d{10,15}|1[5-9]\d{11}|1000\d{6}|\d{0,3}")
"""Digits of a moment, a phone's counter or a copy; any others may be the number of a paper."""

_HASHED = re.compile(
    r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
_SHOT_OF_APP = re.compile(r"screenshot_\d{8}-\d{6}_\w{1,40}")


def is_generic(stem: str) -> bool:
    """Whether a name without its extension says nothing of what the file is."""
    plain = _plain(stem)
    if _COUNTED.fullmatch(plain) or _HASHED.fullmatch(plain) or _SHOT_OF_APP.fullmatch(plain):
        return True
    words = _WORD.findall(plain)
    named = [word for word in words if word not in _DEVICES]
    if any(word not in _FILLERS for word in named):
        return False
    if not words:
        return _STAMP.fullmatch("".join(filter(str.isdigit, plain))) is not None
    return len(named) < len(words)


def _plain(stem: str) -> str:
    """Lower case without marks, so that `Numérisation` and `numerisation` are one word."""
    apart = unicodedata.normalize("NFKD", stem.strip()).casefold()
    return "".join(c for c in apart if not unicodedata.combining(c))
