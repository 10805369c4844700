"""Office documents: DOCX, PPTX, ODT, ODP, RTF, DOC and PPT, also behind a configured password.

Here: which vocabulary a document speaks, decryption, RTF. Not here: the vocabularies themselves
(`office_word`, `office_slides`, `office_odf`, `office_ole`) and spreadsheets (`tables`).
"""

import re
import tempfile
from dataclasses import replace
from pathlib import Path

from striprtf.striprtf import rtf_to_text

from tgv_dagster.arrive.decoding import clean_text
from tgv_dagster.arrive.filetype import ENCRYPTED_OFFICE, OUTLOOK, Family, FileType, sniff_file
from tgv_dagster.understand.extracted import (
    EncryptedError,
    Extraction,
    ExtractionSettings,
    Facts,
    Method,
    PageText,
    ReaderError,
    Status,
    UnsupportedError,
)
from tgv_dagster.understand.readers import (
    office_odf,
    office_ole,
    office_slides,
    office_word,
    package,
)

_FLAT_BYTES = 64 * 2**20
_RTF_BYTES = 64 * 2**20
_FEW_CHARS = 50
# Write protection encrypts with a password that every program knows ([MS-OFFCRYPTO] 2.3.7.1).
_PROTECTION = "VelvetSweatshop"
_HEX_DATA = re.compile(rb"[0-9a-fA-F\r\n]{400,}")
_BINARY_DATA = re.compile(rb"\\bin(\d{1,9}) ")


def read(source: Path, file_type: FileType, settings: ExtractionSettings) -> Extraction:
    """Read an office document. Raises EncryptedError, UnsupportedError, ReaderError."""
    kind = file_type.media_type
    if kind == ENCRYPTED_OFFICE:
        return _decrypted(source, settings)
    if kind == OUTLOOK:
        from tgv_dagster.understand.readers import outlook

        return outlook.read(source, settings)
    if kind == "application/rtf":
        return _whole(read_rtf(_bounded(source, _RTF_BYTES)), "striprtf")
    if kind.endswith("text-flat-xml"):
        return _pages(office_odf.read_flat(_bounded(source, _FLAT_BYTES)), "flat ODF")
    if kind in ("application/msword", "application/vnd.ms-powerpoint"):
        return _binary(source, kind, settings)
    if kind.startswith("application/vnd.oasis.opendocument."):
        with package.opened(source, settings) as opened:
            return _with_extras(_pages(office_odf.read_package(opened), "ODF"), opened, "Pictures/")
    if "wordprocessingml" in kind:
        with package.opened(source, settings) as opened:
            return _with_extras(
                _whole(office_word.read_text(opened), "OOXML"), opened, "word/media/"
            )
    if "presentationml" in kind:
        with package.opened(source, settings) as opened:
            return _with_extras(
                _pages(office_slides.read_slides(opened), "OOXML"), opened, "ppt/media/"
            )
    raise UnsupportedError(f"no reader for {kind}")


def _bounded(source: Path, most: int) -> bytes:
    if source.stat().st_size > most:
        raise ReaderError(f"the file is larger than {most} bytes")
    return source.read_bytes()


def _whole(text: str, engine: str, facts: Facts | None = None) -> Extraction:
    page = PageText(1, clean_text(text), Method.NATIVE)
    return Extraction(Status.COMPLETE, pages=(page,), engine=engine, facts=facts or Facts())


def _pages(pages: tuple[PageText, ...], engine: str) -> Extraction:
    cleaned = tuple(replace(page, text=clean_text(page.text)) for page in pages)
    return Extraction(
        Status.COMPLETE, pages=cleaned, engine=engine, facts=Facts(page_count=len(pages))
    )


def _with_extras(found: Extraction, opened: package.Package, media: str) -> Extraction:
    """Properties and embedded files; a document made of pictures alone is read by OCR."""
    embedded = opened.embedded(("word/embeddings/", "ppt/embeddings/", "xl/embeddings/"))
    facts = replace(opened.facts(), page_count=found.facts.page_count)
    pages = found.pages
    visible = sum(len(page.text.strip()) for page in pages)
    if visible < _FEW_CHARS and opened.names(media):
        seen = opened.pictures(media)
        first = max((page.number for page in pages), default=0) + 1
        pages += tuple(replace(page, number=first + i) for i, page in enumerate(seen) if page.text)
    return replace(found, pages=pages, embedded=embedded, facts=facts)


def _binary(source: Path, kind: str, settings: ExtractionSettings) -> Extraction:
    if is_encrypted(source):
        return _decrypted(source, settings)
    if kind == "application/msword":
        text, facts = office_ole.read_doc(source)
        return _whole(text, "DOC piece table", facts)
    text, facts = office_ole.read_ppt(source)
    return _whole(text, "PPT atoms", facts)


def is_encrypted(source: Path) -> bool:
    """Whether a binary Office file is locked; False for what is no such file."""
    import msoffcrypto

    try:
        with source.open("rb") as stream:
            return bool(msoffcrypto.OfficeFile(stream).is_encrypted())
    except Exception:  # noqa: BLE001 - on damaged files it fails in many ways; the reader will say how
        return False


def _decrypted(source: Path, settings: ExtractionSettings) -> Extraction:
    """Decrypt with the first password that fits, and read the plain copy."""
    with tempfile.TemporaryDirectory(prefix="office-") as folder:
        plain = Path(folder) / "plain"
        for index, password in enumerate((_PROTECTION, *settings.passwords)):
            if decrypt(source, plain, password):
                found = _read_plain(plain, settings.name_of(source), settings)
                facts = replace(
                    found.facts, encrypted=True, password_index=index - 1 if index else None
                )
                return replace(found, facts=facts)
    if settings.passwords:
        raise EncryptedError("the document needs a password; none of the configured ones opens it")
    raise EncryptedError("the document needs a password and none is configured")


def _read_plain(plain: Path, name: str, settings: ExtractionSettings) -> Extraction:
    from tgv_dagster.understand.readers import tables

    found = sniff_file(plain, name)
    if found.media_type == ENCRYPTED_OFFICE:
        raise ReaderError("the decrypted document is encrypted again")
    reader = tables.read if found.family is Family.TABLE else read
    return reader(plain, found, settings)


def decrypt(source: Path, plain: Path, password: str) -> bool:
    """Write the decrypted document to `plain`; False when the password does not fit."""
    import msoffcrypto

    try:
        with source.open("rb") as stream, plain.open("wb") as target:
            office = msoffcrypto.OfficeFile(stream)
            office.load_key(password=password)
            office.decrypt(target)
    except Exception:  # noqa: BLE001 - a wrong password shows as any of its errors
        return False
    return plain.stat().st_size > 0


def read_rtf(raw: bytes) -> str:
    """Text of an RTF document. Raises ReaderError when the parser gave up."""
    raw = _BINARY_DATA.sub(b"", raw) if b"\\bin" in raw else raw
    slim = _HEX_DATA.sub(b"", raw)
    text = rtf_to_text(slim.decode("latin-1"), errors="ignore")
    # The parser ends without a word on nesting it cannot follow.
    if not text.strip() and len(re.sub(rb"[{}]|\\[a-z]+-?\d* ?", b"", slim).strip()) > 200:
        raise ReaderError("the RTF is nested beyond what can be read")
    return text
