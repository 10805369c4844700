"""File type: what a stream of bytes is, decided by its content; the name is only a hint.

Here: signatures, the grammar of text formats (mail headers, MT940, CSV, XML roots), the look into
ZIP and OLE directories, and libmagic for the rest. Not here: whether the file is complete
(`arrive.completeness`) and what stands in it (`readers`).
"""

import csv
import functools
import re
import zipfile
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath

import olefile

from tgv_dagster.arrive.decoding import decode, looks_like_text

HEAD_BYTES = 65536
_PDF_WINDOW = 1024
_CSV_LINES = 25
_ZIP_NAMES = 5000


class Family(StrEnum):
    """The closed set of ways a file is read.

    MAIL is RFC 5322 only: an Outlook item (MSG) is no mail by its bytes and is read as OFFICE.
    """

    PDF = "pdf"
    IMAGE = "image"
    OFFICE = "office"
    TEXT = "text"
    TABLE = "table"
    MAIL = "mail"
    XML = "xml"
    EINVOICE = "einvoice"
    ARCHIVE = "archive"
    AUDIO = "audio"
    VIDEO = "video"
    CALENDAR = "calendar"
    VCARD = "vcard"
    BANK = "bank"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class FileType:
    """What a file is: MIME type, family, and the evidence in a few words."""

    media_type: str
    family: Family
    reason: str


_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
_XLSB = "application/vnd.ms-excel.sheet.binary.macroenabled.12"
_ODF = "application/vnd.oasis.opendocument."
ENCRYPTED_OFFICE = "application/x-ole-encrypted-package"
OUTLOOK = "application/vnd.ms-outlook"

_SIGNATURES: tuple[tuple[int, bytes, str, Family], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png", Family.IMAGE),
    (0, b"\xff\xd8\xff", "image/jpeg", Family.IMAGE),
    (0, b"GIF87a", "image/gif", Family.IMAGE),
    (0, b"GIF89a", "image/gif", Family.IMAGE),
    (0, b"II*\x00", "image/tiff", Family.IMAGE),
    (0, b"MM\x00*", "image/tiff", Family.IMAGE),
    (0, b"II+\x00", "image/tiff", Family.IMAGE),
    (0, b"MM\x00+", "image/tiff", Family.IMAGE),
    (0, b"\x00\x00\x00\x0cjP  \r\n\x87\n", "image/jp2", Family.IMAGE),
    (0, b"AT&TFORM", "image/vnd.djvu", Family.IMAGE),
    (0, b"8BPS", "image/vnd.adobe.photoshop", Family.IMAGE),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed", Family.ARCHIVE),
    (0, b"Rar!\x1a\x07", "application/x-rar", Family.ARCHIVE),
    (0, b"\x1f\x8b\x08", "application/gzip", Family.ARCHIVE),
    (0, b"BZh", "application/x-bzip2", Family.ARCHIVE),
    (0, b"\xfd7zXZ\x00", "application/x-xz", Family.ARCHIVE),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd", Family.ARCHIVE),
    (0, b"MSCF\x00\x00\x00\x00", "application/vnd.ms-cab-compressed", Family.ARCHIVE),
    (257, b"ustar", "application/x-tar", Family.ARCHIVE),
    (0, b"\x78\x9f\x3e\x22", "application/ms-tnef", Family.ARCHIVE),
    (0, b"{\\rtf", "application/rtf", Family.OFFICE),
    (0, b"ID3", "audio/mpeg", Family.AUDIO),
    (0, b"\xff\xfb", "audio/mpeg", Family.AUDIO),
    (0, b"\xff\xf3", "audio/mpeg", Family.AUDIO),
    (0, b"fLaC", "audio/flac", Family.AUDIO),
    (0, b"OggS", "audio/ogg", Family.AUDIO),
    (0, b"#!AMR", "audio/amr", Family.AUDIO),
    (0, b"\x1aE\xdf\xa3", "video/x-matroska", Family.VIDEO),
    (0, b"0&\xb2u\x8ef\xcf\x11\xa6\xd9", "video/x-ms-asf", Family.VIDEO),
    (0, b"FLV\x01", "video/x-flv", Family.VIDEO),
    (0, b"\x00\x00\x01\xba", "video/mpeg", Family.VIDEO),
)

_RIFF = {
    b"WEBP": ("image/webp", Family.IMAGE),
    b"WAVE": ("audio/x-wav", Family.AUDIO),
    b"AVI ": ("video/x-msvideo", Family.VIDEO),
}
_HEIF_BRANDS = {b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1", b"heif"}
_AUDIO_BRANDS = {b"M4A ", b"M4B ", b"M4P ", b"F4A "}

_EXTENSION_TYPES: dict[str, tuple[str, Family]] = {
    ".docx": (_DOCX, Family.OFFICE),
    ".docm": (_DOCX, Family.OFFICE),
    ".dotx": (_DOCX, Family.OFFICE),
    ".xlsx": (_XLSX, Family.TABLE),
    ".xlsm": (_XLSX, Family.TABLE),
    ".xltx": (_XLSX, Family.TABLE),
    ".xlsb": (_XLSB, Family.TABLE),
    ".pptx": (_PPTX, Family.OFFICE),
    ".pptm": (_PPTX, Family.OFFICE),
    ".ppsx": (_PPTX, Family.OFFICE),
    ".odt": (_ODF + "text", Family.OFFICE),
    ".ods": (_ODF + "spreadsheet", Family.TABLE),
    ".odp": (_ODF + "presentation", Family.OFFICE),
    ".doc": ("application/msword", Family.OFFICE),
    ".dot": ("application/msword", Family.OFFICE),
    ".xls": ("application/vnd.ms-excel", Family.TABLE),
    ".xlt": ("application/vnd.ms-excel", Family.TABLE),
    ".ppt": ("application/vnd.ms-powerpoint", Family.OFFICE),
    ".pps": ("application/vnd.ms-powerpoint", Family.OFFICE),
    ".msg": (OUTLOOK, Family.OFFICE),
}
_ZIP_EXTENSIONS = {e for e, (m, _) in _EXTENSION_TYPES.items() if "open" in m or m == _XLSB}
_OLE_EXTENSIONS = set(_EXTENSION_TYPES) - _ZIP_EXTENSIONS
_TABLE_EXTENSIONS = {".csv": "text/csv", ".tsv": "text/tab-separated-values", ".tab": "text/csv"}

_OLE_STREAMS: tuple[tuple[str, str, Family], ...] = (
    ("EncryptedPackage", ENCRYPTED_OFFICE, Family.OFFICE),
    ("__properties_version1.0", OUTLOOK, Family.OFFICE),
    ("WordDocument", "application/msword", Family.OFFICE),
    ("Workbook", "application/vnd.ms-excel", Family.TABLE),
    ("Book", "application/vnd.ms-excel", Family.TABLE),
    ("PowerPoint Document", "application/vnd.ms-powerpoint", Family.OFFICE),
)

_MAGIC_FAMILIES: tuple[tuple[str, Family], ...] = (
    ("image/", Family.IMAGE),
    ("audio/", Family.AUDIO),
    ("video/", Family.VIDEO),
    ("message/", Family.MAIL),
    ("text/", Family.TEXT),
    ("application/pdf", Family.PDF),
    ("application/json", Family.TEXT),
    ("application/x-tar", Family.ARCHIVE),
    ("application/x-lzma", Family.ARCHIVE),
    ("application/x-iso9660-image", Family.ARCHIVE),
)

# What libmagic says of nearly any bytes.
_WEAK_MAGIC = {"", "application/octet-stream", "image/x-tga"}
_HEADER_LINE = re.compile(r"([A-Za-z][!-9;-~]{0,75})[ \t]*:(?!//)")
_ROUTE_HEADERS = frozenset(
    {
        "message-id",
        "received",
        "mime-version",
        "return-path",
        "delivered-to",
        "dkim-signature",
        "arc-seal",
        "arc-authentication-results",
        "arc-message-signature",
        "content-type",
        "content-transfer-encoding",
        "authentication-results",
        "received-spf",
        "x-mailer",
        "x-originating-ip",
        "envelope-to",
    }
)
_XML_START = re.compile(r"\s*(?:<\?xml\b|<!--|<!DOCTYPE\b|<[A-Za-z_][\w.\-]*(?::[\w.\-]+)?[\s/>])")
_XML_SKIP = re.compile(r"\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE(?:[^\[>]|\[[^\]]*\])*>", re.S)
_XML_ROOT = re.compile(r"<(?:([\w.\-]+):)?([A-Za-z_][\w.\-]*)([^>]*)>?", re.S)
_HTML_ROOTS = {"html", "body", "head", "table", "div", "p", "meta", "title", "span", "br", "center"}
_MT940 = re.compile(r"^:20:", re.M), re.compile(r"^:(?:25|28C?|60[FM]|61):", re.M)
_MT940_EXTENSIONS = {".sta", ".mt940", ".940", ".swi", ".mta", ".942"}
_PDF_OBJECT = re.compile(rb"\b\d+\s+\d+\s+obj\b")
_CMS_OID = bytes.fromhex("06092a864886f70d0107")


def sniff(head: bytes, name: str) -> FileType:
    """Judge the first bytes (ideally `HEAD_BYTES`) of a file; never raises on content."""
    if not head:
        return FileType("application/x-empty", Family.UNKNOWN, "no bytes")
    return (
        _by_signature(head, name)
        or _by_text(head, name)
        or _mail_around_bytes(head)
        or _by_magic(head)
        or FileType("application/octet-stream", Family.UNKNOWN, "no known signature")
    )


def sniff_file(path: Path, name: str | None = None) -> FileType:
    """Like `sniff`, and look into the directory of a ZIP or OLE container. Raises OSError."""
    with path.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
    name = name or path.name
    found = sniff(head, name)
    if head.startswith(b"PK"):
        return _by_zip_directory(path) or found
    if head.startswith(olefile.MAGIC):
        return _by_ole_directory(path, name) or found
    return found


def _by_signature(head: bytes, name: str) -> FileType | None:
    if head.startswith(b"%PDF-"):
        return FileType("application/pdf", Family.PDF, "%PDF- at byte 0")
    return _container(head, name) or _late_pdf(head, name)


def _container(head: bytes, name: str) -> FileType | None:
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return _zip_head(head, name)
    if head.startswith(olefile.MAGIC):
        return _ole_head(head, name)
    for offset, magic, media_type, family in _SIGNATURES:
        if head.startswith(magic, offset):
            return FileType(media_type, family, "signature")
    if head.startswith(b"RIFF") and head[8:12] in _RIFF:
        return FileType(*_RIFF[head[8:12]], "RIFF form")
    if head[4:8] == b"ftyp":
        return _iso_media(head)
    if head.startswith(b"BM") and len(head) > 30 and head[14:15] in b"\x0c\x28\x38\x6c\x7c":
        return FileType("image/bmp", Family.IMAGE, "signature")
    if head[:1] == b"\x30" and _CMS_OID in head[:64]:
        return FileType("application/pkcs7-mime", Family.ARCHIVE, "CMS object identifier")
    return None


def _late_pdf(head: bytes, name: str) -> FileType | None:
    """Printer jobs and mailers put bytes before the mark; a mail or a page may only quote it."""
    at = head.find(b"%PDF-", 0, _PDF_WINDOW)
    if at < 0 and name.lower().endswith(".pdf") and _PDF_OBJECT.search(head):
        return FileType("application/pdf", Family.PDF, "PDF objects without a header")
    if at < 0:
        return None
    if (other := _by_text(head, name)) and other.family in (Family.MAIL, Family.XML):
        return None
    return FileType("application/pdf", Family.PDF, f"%PDF- at byte {at}")


def _iso_media(head: bytes) -> FileType:
    brands = {head[8:12], *(head[i : i + 4] for i in range(16, min(len(head), 64), 4))}
    if head[8:12] == b"avif":
        return FileType("image/avif", Family.IMAGE, "ISO media brand")
    if brands & _HEIF_BRANDS and head[8:12] not in (b"isom", b"mp42", b"qt  "):
        return FileType("image/heic", Family.IMAGE, "ISO media brand")
    if head[8:12] in _AUDIO_BRANDS:
        return FileType("audio/mp4", Family.AUDIO, "ISO media brand")
    quick = head[8:12] == b"qt  "
    return FileType("video/quicktime" if quick else "video/mp4", Family.VIDEO, "ISO media brand")


def _zip_head(head: bytes, name: str) -> FileType:
    names: list[str] = []
    at = 0
    while (at := head.find(b"PK\x03\x04", at)) >= 0 and at + 30 <= len(head):
        length = int.from_bytes(head[at + 26 : at + 28], "little")
        names.append(head[at + 30 : at + 30 + length].decode("utf-8", "replace"))
        if names[-1] == "mimetype":
            start = at + 30 + length + int.from_bytes(head[at + 28 : at + 30], "little")
            size = int.from_bytes(head[at + 18 : at + 22], "little")
            names.append("mimetype=" + head[start : start + size].decode("ascii", "replace"))
        at += 4
    if found := _zip_names(names):
        return found
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in _ZIP_EXTENSIONS and "[Content_Types].xml" in names:
        return FileType(*_EXTENSION_TYPES[suffix], "OOXML package, kind by name")
    return FileType("application/zip", Family.ARCHIVE, "signature")


def _zip_names(names: list[str]) -> FileType | None:
    mime = next((n.removeprefix("mimetype=") for n in names if n.startswith("mimetype=")), "")
    if mime.startswith(_ODF):
        family = Family.TABLE if "spreadsheet" in mime else Family.OFFICE
        return FileType(mime.strip(), family, "ODF mimetype entry")
    folded = {n.replace("\\", "/").lower() for n in names}
    if "xl/workbook.bin" in folded:
        return FileType(_XLSB, Family.TABLE, "xl/workbook.bin")
    for prefix, media_type, family in (
        ("word/", _DOCX, Family.OFFICE),
        ("xl/", _XLSX, Family.TABLE),
        ("ppt/", _PPTX, Family.OFFICE),
    ):
        if any(n.startswith(prefix) for n in folded) and (
            "[content_types].xml" in folded or "_rels/.rels" in folded
        ):
            return FileType(media_type, family, f"{prefix} in an OOXML package")
    return None


def _by_zip_directory(path: Path) -> FileType | None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = [entry.filename for entry in archive.infolist()[:_ZIP_NAMES]]
            if "mimetype" in names and archive.getinfo("mimetype").file_size < 200:
                names.append("mimetype=" + archive.read("mimetype").decode("ascii", "replace"))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, EOFError):
        return None
    return _zip_names(names) or FileType("application/zip", Family.ARCHIVE, "ZIP directory")


def _ole_head(head: bytes, name: str) -> FileType:
    for stream, media_type, family in _OLE_STREAMS:
        if stream.encode("utf-16-le") + b"\0\0" in head:
            return FileType(media_type, family, f"OLE stream {stream}")
    return _ole_by_name(name)


def _ole_by_name(name: str) -> FileType:
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in _OLE_EXTENSIONS:
        return FileType(*_EXTENSION_TYPES[suffix], "OLE container, kind by name")
    return FileType("application/x-ole-storage", Family.OFFICE, "OLE container")


def _by_ole_directory(path: Path, name: str) -> FileType | None:
    try:
        with olefile.OleFileIO(str(path)) as container:
            streams = {entry[0].lower() for entry in container.listdir()}
    except Exception:  # noqa: BLE001 - olefile lets struct and index errors out of damaged files
        return None
    for stream, media_type, family in _OLE_STREAMS:
        if stream.lower() in streams:
            return FileType(media_type, family, f"OLE stream {stream}")
    return _ole_by_name(name)


def _by_text(head: bytes, name: str) -> FileType | None:
    if not looks_like_text(head):
        return None
    text = decode(head, partial=True).text.lstrip("\ufeff")
    suffix = PurePosixPath(name).suffix.lower()
    return (
        _marked_text(text, suffix)
        or _markup(text)
        or _mail(text, suffix)
        or _table(text, suffix)
        or _plain(text)
    )


def _marked_text(text: str, suffix: str) -> FileType | None:
    start = text.lstrip()[:400]
    folded = start.upper()
    if suffix in _MT940_EXTENSIONS and _MT940[1].search(text):
        return FileType("application/x-mt940", Family.BANK, "MT940 tags and name")
    if folded.startswith("BEGIN:VCARD"):
        return FileType("text/vcard", Family.VCARD, "BEGIN:VCARD")
    if part := re.match(r"BEGIN:V(?:CALENDAR|EVENT|TODO|JOURNAL|FREEBUSY|TIMEZONE)\b", folded):
        return FileType("text/calendar", Family.CALENDAR, part.group())
    if "OFXHEADER" in folded or re.search(r"<OFX>", folded):
        return FileType("application/x-ofx", Family.BANK, "OFX header")
    if re.match(r"!(?:TYPE|ACCOUNT|OPTION):", folded):
        return FileType("application/x-qif", Family.BANK, "QIF header")
    tagged = text.replace("@@", "\n") if "@@:" in text else text
    if all(pattern.search(tagged) for pattern in _MT940):
        return FileType("application/x-mt940", Family.BANK, "MT940 tags")
    if re.match(r"-----BEGIN (?:PKCS ?#?7|CMS|PKCS7 SIGNED DATA)-----", folded):
        return FileType("application/pkcs7-mime", Family.ARCHIVE, "PEM armour")
    if start.startswith("{\\rtf"):
        return FileType("application/rtf", Family.OFFICE, "RTF group")
    return None


def _markup(text: str) -> FileType | None:
    if not _XML_START.match(text):
        return None
    declared = text.lstrip()[:5] == "<?xml"
    if re.match(r"\s*(?:<!--.*?-->\s*)*<!DOCTYPE\s+html", text, re.I | re.S):
        return FileType("text/html", Family.TEXT, "HTML doctype")
    at = 0
    while skip := _XML_SKIP.match(text, at):
        at = skip.end()
    root = _XML_ROOT.match(text, at)
    if root is None:
        return FileType("application/xml", Family.XML, "XML prolog") if declared else None
    prefix, local, attributes = root.groups()
    if local.lower() in _HTML_ROOTS and not prefix:
        return FileType("text/html", Family.TEXT, f"HTML element {local.lower()}")
    found = _xml_kind(local, prefix, attributes)
    if local == "Document" and re.search(r"<(?:\w+:)?BkToCstmr", text):
        found = FileType("application/xml", Family.BANK, "bank to customer message")
    return found if declared or "xmlns" in attributes or _closes(text, root.group(0)) else None


def _closes(text: str, start_tag: str) -> bool:
    name = re.match(r"<([\w.\-:]+)", start_tag)
    return bool(name) and (f"</{name.group(1)}" in text or start_tag.endswith("/>"))


def _xml_kind(local: str, prefix: str | None, attributes: str) -> FileType:
    key = rf"xmlns:{re.escape(prefix)}" if prefix else r"xmlns"
    match = re.search(rf"\b{key}\s*=\s*[\"']([^\"']*)", attributes)
    space = (match.group(1) if match else "").lower()
    einvoice = (
        (local in ("Invoice", "CreditNote") and "oasis:names:specification:ubl" in space)
        or local in ("CrossIndustryInvoice", "CrossIndustryDocument")
        or local == "FatturaElettronica"
    )
    if einvoice:
        return FileType("application/xml", Family.EINVOICE, f"e-invoice root {local}")
    if "iso:20022:tech:xsd:camt" in space:
        return FileType("application/xml", Family.BANK, f"ISO 20022 {space.rsplit(':', 1)[-1]}")
    if space.endswith("/svg"):
        return FileType("image/svg+xml", Family.XML, "SVG root")
    if space.startswith("urn:oasis:names:tc:opendocument"):
        return FileType(_ODF + "text-flat-xml", Family.OFFICE, "flat ODF root")
    return FileType("application/xml", Family.XML, f"XML root {local}")


def _mail(text: str, suffix: str) -> FileType | None:
    body = text.lstrip("\r\n")
    mbox = re.match(r"From \S+.*\r?\n", body)
    if mbox:
        body = body[mbox.end() :]
    fields = _header_names(body)
    routed = bool(fields & _ROUTE_HEADERS)
    letter = {"from", "date"} <= fields and bool(fields & {"to", "subject", "cc"})
    if len(fields) >= 2 and (routed or letter):
        if mbox and suffix != ".eml":
            return FileType("application/mbox", Family.MAIL, "mbox separator line")
        return FileType("message/rfc822", Family.MAIL, "mail header grammar (RFC 5322)")
    if suffix == ".mbox" and mbox:
        return FileType("application/mbox", Family.MAIL, "text, mail by name")
    if suffix == ".eml" and text.strip():
        return FileType("message/rfc822", Family.MAIL, "text, mail by name")
    return None


def _mail_around_bytes(head: bytes) -> FileType | None:
    """A mail whose body travels as it is (RFC 3030): only its header is text."""
    header, found, _ = head.replace(b"\r\n", b"\n").partition(b"\n\n")
    if not found or not looks_like_text(header):
        return None
    return _mail(decode(header).text, "")


def _header_names(text: str) -> set[str]:
    """Names of the header fields at the start; empty when another line breaks the grammar early."""
    names: set[str] = set()
    for number, line in enumerate(text.split("\n", 400)[:400]):
        line = line.rstrip("\r")
        if not line:
            break
        if number and line[0] in " \t":
            continue
        if field := _HEADER_LINE.match(line.lstrip() if not number else line):
            names.add(field.group(1).lower())
        elif number == 0 or len(names) < 3:
            return set()
    return names


def _table(text: str, suffix: str) -> FileType | None:
    if suffix in _TABLE_EXTENSIONS:
        return FileType(_TABLE_EXTENSIONS[suffix], Family.TABLE, "text, table by name")
    if text.startswith(('"EXTF";', '"DTVF";', "EXTF;", "DTVF;")):
        return FileType("text/csv", Family.TABLE, "DATEV header")
    lines = [line for line in text.splitlines()[:_CSV_LINES] if line.strip()]
    for delimiter in (";", "\t", "|", ","):
        if _is_table(lines, delimiter):
            return FileType("text/csv", Family.TABLE, f"even columns by {delimiter!r}")
    return None


def _is_table(lines: list[str], delimiter: str) -> bool:
    if len(lines) < 2:
        return False
    try:
        rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return False
    if len(rows) < 2:
        return False
    width, count = Counter(len(row) for row in rows).most_common(1)[0]
    even = [row for row in rows if len(row) == width]
    # In prose a comma is followed by a blank, in a table hardly ever.
    prose = sum(cell.startswith(" ") for row in even for cell in row[1:])
    if delimiter == "," and prose > 0.3 * (width - 1) * len(even):
        return False
    cells = [cell.strip() for row in even for cell in row]
    least = 3 if delimiter in ",|" else 2
    short = sum(map(len, cells)) <= 30 * len(cells)
    return width >= least and count >= max(2, 0.7 * len(rows)) and short


def _plain(text: str) -> FileType:
    start = text.lstrip()[:1]
    if start in ("{", "[") and re.match(r'\s*(?:\{\s*["}]|\[\s*["\[\]{\d\-tfn])', text):
        return FileType("application/json", Family.TEXT, "JSON start")
    return FileType("text/plain", Family.TEXT, "decodes as text")


def _by_magic(head: bytes) -> FileType | None:
    detect = _libmagic()
    if detect is None:
        return FileType("application/octet-stream", Family.UNKNOWN, "libmagic1 is not installed")
    media_type = detect.from_buffer(head)
    if media_type in _WEAK_MAGIC:
        return None
    for prefix, family in _MAGIC_FAMILIES:
        if media_type.startswith(prefix):
            return FileType(media_type, family, "libmagic")
    return FileType(media_type, Family.UNKNOWN, "libmagic")


@functools.cache
def _libmagic():
    try:
        import magic
    except ImportError:
        return None
    return magic.Magic(mime=True)
