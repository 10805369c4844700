"""Text formats: plain text, HTML, generic XML, JSON, calendars, cards and bank files as text.

Here: decoding and, for markup, calendars and cards, the text a reader would see. Not here: what
fields of a bank mean (its own room).
"""

import re
from pathlib import Path

from tgv_dagster.arrive.decoding import clean_text, decode
from tgv_dagster.arrive.filetype import Family, FileType
from tgv_dagster.arrive.mime_model import DefectKind
from tgv_dagster.arrive.mime_text import html_charset, html_text
from tgv_dagster.understand.extracted import (
    Extraction,
    ExtractionSettings,
    Method,
    PageText,
    ReaderError,
    Status,
)
from tgv_dagster.understand.readers import calendars, cards, einvoice
from tgv_dagster.understand.readers.xml_tree import leaves, parse

_MOST_BYTES = 64 * 2**20
_HTML_CHARS = 8_000_000
_XML_BYTES = 32 * 2**20
_RECORDS = (Family.CALENDAR, Family.VCARD)
_INVOICE_NAME = re.compile(
    rb"CrossIndustry(?:Invoice|Document)|specification:ubl|FatturaElettronica"
)


def read(source: Path, file_type: FileType, settings: ExtractionSettings) -> Extraction:
    """Read a text format. Raises ReaderError for XML that is broken or hostile."""
    size = source.stat().st_size
    with source.open("rb") as stream:
        raw = stream.read(_MOST_BYTES)
    if file_type.media_type == "text/html":
        return _html(raw, cut=size > _MOST_BYTES)
    if file_type.family is Family.XML:
        return _xml(source, raw, file_type, settings)
    if file_type.family in _RECORDS and (shown := _records(raw, file_type, size)) is not None:
        return shown
    found = decode(raw, partial=size > _MOST_BYTES)
    note = "the encoding of the text is not certain" if found.lossy else ""
    return _text(found.text, f"text {found.encoding}", note, cut=size > _MOST_BYTES)


def _records(raw: bytes, file_type: FileType, size: int) -> Extraction | None:
    """Calendars and cards as a person would write them down; None when there is no record."""
    is_card = file_type.family is Family.VCARD
    found, broken = cards.read_cards(raw) if is_card else calendars.read_calendar(raw)
    text = cards.as_text(found) if is_card else calendars.as_text(found)  # type: ignore[arg-type]
    if not text.strip():
        return None
    note = f"{len(broken)} lines follow no rule of the format" if broken else ""
    return _text(text, str(file_type.family), note, cut=size > _MOST_BYTES)


def _text(text: str, engine: str, note: str = "", *, cut: bool = False) -> Extraction:
    page = PageText(1, clean_text(text).lstrip("\ufeff"), Method.NATIVE)
    if cut:
        note = f"only the first {_MOST_BYTES} bytes were read"
    status = Status.TRUNCATED if cut else Status.COMPLETE
    return Extraction(status, note, pages=(page,), engine=engine)


def _html(raw: bytes, *, cut: bool) -> Extraction:
    markup = decode(raw, html_charset(raw[:4096]), partial=cut).text
    found = html_text(markup, _HTML_CHARS)
    lines = (line.rstrip() for line in found.text.splitlines())
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
    if found.defect in (DefectKind.HTML_UNREADABLE,):
        return _text(text, "HTML without layout", f"layout failed: {found.detail}", cut=cut)
    if found.defect is DefectKind.BODY_TEXT_TRUNCATED:
        reason = f"only the first {_HTML_CHARS} characters of the markup were read"
        page = PageText(1, clean_text(text), Method.NATIVE)
        return Extraction(Status.TRUNCATED, reason, pages=(page,), engine="inscriptis")
    return _text(text, "inscriptis", cut=cut)


def _xml(source: Path, raw: bytes, file_type: FileType, settings: ExtractionSettings) -> Extraction:
    """An e-invoice in an envelope is read as one; any other XML as names and values."""
    if _INVOICE_NAME.search(raw):
        try:
            return einvoice.read(source, file_type, settings)
        except einvoice.NotAnInvoiceError:
            # It only mentions the words.
            return _tree(raw)
    return _tree(raw)


def _tree(raw: bytes) -> Extraction:
    if len(raw) > _XML_BYTES:
        raise ReaderError(f"XML larger than {_XML_BYTES} bytes")
    root, remark = parse(raw)
    return _text("\n".join(leaves(root)), "XML", remark)
