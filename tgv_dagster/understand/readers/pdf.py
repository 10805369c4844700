"""PDF: page by page the text layer, OCR, or both, whichever reads best; files embedded in it.

Here: the decisions per page and the walk over a document. Not here: PDFium calls (`pdf_layer`),
opening and repair (`pdf_open`), Tesseract (`ocr`).
"""

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as raw

from tgv_dagster.arrive.decoding import clean_text
from tgv_dagster.arrive.filetype import Family, FileType
from tgv_dagster.understand.einvoice_model import EInvoice
from tgv_dagster.understand.extracted import (
    ENGINE_VERSION,
    Embedded,
    EmbeddedRole,
    EncryptedError,
    Extraction,
    ExtractionSettings,
    Method,
    PageText,
    ReaderError,
    Status,
    UnsupportedError,
    WordBoxes,
)
from tgv_dagster.understand.layout import lay_out
from tgv_dagster.understand.readers import einvoice, pdf_layer, pdf_open, xml_tree
from tgv_dagster.understand.readers.embedding import keep, refused
from tgv_dagster.understand.readers.ocr import LAST_PAGE_SECONDS, OcrSession, Recognised
from tgv_dagster.understand.text_quality import GOOD

_VERSION = f"{ENGINE_VERSION} pdfium {pdfium.PDFIUM_INFO}"
_FEW_CHARS = 25
_FEW_OBJECTS = 150
_GAP_SHARE = 0.22
_PICTURE_SHARE = 0.06
_INK_DPI = 60
_INK_SHARE = 0.0003
_COVERED_SHARE = 0.025
_SURE_WORD = 0.55
_EINVOICE_BYTES = 20 * 2**20
_XFA_BYTES = 20 * 2**20


@dataclass(slots=True)
class _Walk:
    """What is carried from page to page."""

    document: pdf_open.Opened
    settings: ExtractionSettings
    ocr: OcrSession
    deadline: float
    pages: list[PageText] = field(default_factory=list)
    with_files: list[int] = field(default_factory=list)
    chars: int = 0
    used_ocr: bool = False


def read(source: Path, file_type: FileType, settings: ExtractionSettings) -> Extraction:
    """Read a PDF. Raises EncryptedError, ReaderError; single pages never stop the others."""
    with pdf_open.opened(source, settings) as document:
        deadline = time.monotonic() + settings.budget_seconds
        session = OcrSession(settings, until=deadline + LAST_PAGE_SECONDS)
        walk = _Walk(document, settings, session, deadline)
        stopped = _walk(walk)
        if pdf_open.is_xfa(document.pdf):
            walk.pages += _form_page(document, len(walk.pages) + 1)
        embedded: tuple[Embedded, ...] = ()
        invoice, note = None, ""
        if walk.with_files or document.may_embed_files():
            embedded, invoice, note = _files(document, walk)
        outcome = _outcome(walk, stopped, repaired=document.facts.repaired, source=source)
        return Extraction(
            status=outcome[0],
            reason="; ".join(filter(None, (outcome[1], note))),
            pages=tuple(walk.pages),
            engine="pdfium+tesseract" if walk.used_ocr else "pdfium",
            engine_version=_VERSION,
            embedded=embedded,
            facts=document.facts,
            einvoice=invoice,
        )


def _walk(walk: _Walk) -> str:
    """Read all pages; the reason when bounds ended the walk early."""
    total = len(walk.document.pdf)
    for index in range(total):
        if index >= walk.settings.max_pages:
            return f"only the first {index} of {total} pages: page limit"
        if walk.chars > walk.settings.max_chars:
            return f"only the first {index} of {total} pages: text limit"
        if time.monotonic() > walk.deadline:
            return f"only the first {index} of {total} pages: time limit"
        page = _page(walk, index)
        walk.chars += len(page.text)
        walk.pages.append(page)
    return ""


def _form_page(document: pdf_open.Opened, number: int) -> list[PageText]:
    """The data of an XFA form as a page of its own: the drawn pages only ask for a viewer."""
    objects = document.objects()
    raw_data = pdf_open.xfa_data(objects, _XFA_BYTES) if objects is not None else None
    if raw_data is None:
        return [PageText(number, "", Method.UNREAD, note="the data of the XFA form is not reached")]
    try:
        root, _ = xml_tree.parse(raw_data)
    except ReaderError as error:
        return [PageText(number, "", Method.UNREAD, note=f"XFA form: {error}")]
    text = clean_text("\n".join(xml_tree.leaves(root)))
    return [PageText(number, text, Method.NATIVE, 1.0 if text else None, title="form data")]


def _outcome(walk: _Walk, stopped: str, *, repaired: bool, source: Path) -> tuple[Status, str]:
    unread = [page for page in walk.pages if page.note]
    legible = any(page.text for page in walk.pages)
    reasons = [stopped] if stopped else []
    reasons += [f"page {page.number}: {page.note}" for page in unread[:5]]
    if repaired and not _ends(source):
        reasons.append("the file is cut off; what could be repaired was read")
    if reasons:
        failed = not legible and (repaired or len(unread) == len(walk.pages))
        return (Status.FAILED if failed else Status.TRUNCATED), "; ".join(reasons)
    if not legible:
        return Status.EMPTY, "no page carries legible text"
    return Status.COMPLETE, ""


def _ends(source: Path) -> bool:
    with source.open("rb") as stream:
        stream.seek(max(0, source.stat().st_size - 2048))
        return b"%%EOF" in stream.read()


def _page(walk: _Walk, index: int) -> PageText:
    try:
        page = walk.document.pdf[index]
    except pdfium.PdfiumError:
        return PageText(index + 1, "", Method.UNREAD, note="the page cannot be loaded")
    try:
        if raw.FPDFPage_GetAnnotCount(page):
            kinds = pdf_layer.annotations(page)
            if raw.FPDF_ANNOT_FILEATTACHMENT in kinds:
                walk.with_files.append(index)
            if kinds & pdf_layer.WRITTEN_ANNOTATIONS:
                page = _flattened(walk.document.pdf, page, index)
        return _read_page(walk, page, index + 1)
    except pdfium.PdfiumError:
        return PageText(index + 1, "", Method.UNREAD, note="the page cannot be read")
    finally:
        page.close()


def _flattened(pdf: pdfium.PdfDocument, page: pdfium.PdfPage, index: int) -> pdfium.PdfPage:
    """Draw form fields, notes and stamps into the page, so that text and picture show them."""
    done = raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY)
    if done != raw.FLATTEN_SUCCESS:
        return page
    page.close()
    return pdf[index]


def _read_page(walk: _Walk, page: pdfium.PdfPage, number: int) -> PageText:
    place = pdf_layer.placement(page)
    layer = pdf_layer.read_layer(page, place)
    text = _layer_text(layer, place, number)
    if layer.quality >= GOOD and layer.chars >= _FEW_CHARS:
        hidden = _unread_pictures(walk, page, place, layer)
        return text if hidden is None else _with_picture(walk, page, place, layer, text, hidden)
    if not _has_ink(page, place, layer):
        return text if layer.runs else replace(text, method=Method.BLANK, quality=None)
    return _best_of(walk, page, place, layer, text)


def _layer_text(layer: pdf_layer.Layer, place: pdf_layer.Placement, number: int) -> PageText:
    laid = layer.laid()
    boxes = [layer.boxes[index] for index in laid.order]
    words = WordBoxes.of(laid.spans, boxes) if boxes else None
    return PageText(
        number, laid.text, Method.TEXT_LAYER, layer.quality, words, place.width, place.height
    )


def _best_of(
    walk: _Walk,
    page: pdfium.PdfPage,
    place: pdf_layer.Placement,
    layer: pdf_layer.Layer,
    text: PageText,
) -> PageText:
    """A page without a good text layer: OCR the whole page, keep the better of the two."""
    try:
        seen = _recognise(walk, page, place, (0.0, 0.0, place.width, place.height))
    except ReaderError as error:
        return replace(text, method=text.method if layer.runs else Method.UNREAD, note=str(error))
    if layer.runs and layer.quality >= GOOD:
        return _merged(layer, seen, text)
    laid = seen.words.laid()
    quality = seen.words.quality(laid.text)
    if not laid.text and not layer.runs:
        return replace(text, text="", method=Method.OCR, quality=0.0, words=None)
    if layer.runs and layer.quality >= quality:
        return text
    words = WordBoxes.of(laid.spans, seen.boxes[laid.order].tolist())
    return replace(
        text,
        text=laid.text,
        method=Method.OCR,
        quality=quality,
        words=words,
        note=seen.words.remark,
    )


@dataclass(frozen=True, slots=True)
class _Seen:
    """OCR of a part of the page: the words as they were read, and their boxes on the page."""

    words: Recognised
    boxes: np.ndarray


_Region = tuple[float, float, float, float]


def _recognise(
    walk: _Walk, page: pdfium.PdfPage, place: pdf_layer.Placement, region: _Region
) -> _Seen:
    """OCR of a region (x0, y0, x1, y1 in points). Raises ReaderError."""
    if not walk.settings.ocr:
        raise UnsupportedError("the page is a picture and OCR is switched off")
    wide, high = region[2] - region[0], region[3] - region[1]
    dpi = min(float(walk.settings.dpi), 72 * (walk.settings.ocr_pixels / (wide * high)) ** 0.5)
    gray = _render(page, place, dpi, region)
    walk.used_ocr = True
    seen = walk.ocr.read(gray, round(dpi)).legible()
    upright = seen.upright(gray.shape[1], gray.shape[0]) * (72 / dpi)
    return _Seen(seen, upright + np.array([region[0], region[1]] * 2))


def _render(
    page: pdfium.PdfPage,
    place: pdf_layer.Placement,
    dpi: float,
    region: _Region | None = None,
) -> np.ndarray:
    """Gray pixels of a region (x0, y0, x1, y1 in points), at most the asked density."""
    x0, y0, x1, y1 = region or (0.0, 0.0, place.width, place.height)
    crop = (x0, place.height - y1, place.width - x1, y0)
    scale: Any = dpi / 72
    bitmap = page.render(scale=scale, grayscale=True, crop=crop)
    try:
        pixels = bitmap.to_numpy().reshape(bitmap.height, -1)[:, : bitmap.width]
        return np.ascontiguousarray(pixels)
    finally:
        bitmap.close()


def _has_ink(page: pdfium.PdfPage, place: pdf_layer.Placement, layer: pdf_layer.Layer) -> bool:
    """Whether something is drawn outside the words of a good text layer."""
    if raw.FPDFPage_CountObjects(page) == 0:
        return False
    dpi = min(float(_INK_DPI), 72 * (1_000_000 / (place.width * place.height)) ** 0.5)
    gray = _render(page, place, dpi)
    ink = np.abs(gray.astype(np.int16) - int(np.median(gray))) > 40
    if layer.quality >= GOOD:
        for box in layer.boxes:
            x0, y0, x1, y1 = (round(side * dpi / 72) for side in box)
            ink[max(0, y0 - 2) : max(0, y1 + 3), max(0, x0 - 2) : max(0, x1 + 3)] = False
    return float(ink.mean()) > _INK_SHARE


def _unread_pictures(
    walk: _Walk, page: pdfium.PdfPage, place: pdf_layer.Placement, layer: pdf_layer.Layer
) -> _Region | None:
    """The region of large pictures in which the text layer has (nearly) no words."""
    if not _leaves_room(place, layer.boxes) or not _may_show_pictures(walk, page):
        return None
    runs = np.array(layer.boxes)
    area = place.width * place.height
    found: list[np.ndarray] = []
    for picture in pdf_layer.pictures(page, place):
        box = np.clip(picture, 0, (place.width, place.height) * 2)
        share = (box[2] - box[0]) * (box[3] - box[1]) / area
        if share >= _PICTURE_SHARE and _covered(box, runs) < _COVERED_SHARE:
            found.append(box)
    if not found:
        return None
    table = np.array(found)
    x0, y0 = table[:, :2].min(axis=0).tolist()
    x1, y1 = table[:, 2:].max(axis=0).tolist()
    return x0, y0, x1, y1


def _may_show_pictures(walk: _Walk, page: pdfium.PdfPage) -> bool:
    """A few objects are looked through at once; before many, the file is asked for images."""
    return raw.FPDFPage_CountObjects(page) < _FEW_OBJECTS or walk.document.has_pictures()


def _covered(box: np.ndarray, runs: np.ndarray) -> float:
    """The share of a picture that lies under text of the layer."""
    wide = np.minimum(runs[:, 2], box[2]) - np.maximum(runs[:, 0], box[0])
    high = np.minimum(runs[:, 3], box[3]) - np.maximum(runs[:, 1], box[1])
    area = (box[2] - box[0]) * (box[3] - box[1])
    return float((np.clip(wide, 0, None) * np.clip(high, 0, None)).sum() / area)


def _leaves_room(place: pdf_layer.Placement, boxes: list[pdf_layer.Box]) -> bool:
    """Whether the text leaves a stripe of the page free in which a scan could stand."""
    right, left = max(box[2] for box in boxes), min(box[0] for box in boxes)
    if right - left < 0.6 * place.width:
        return True
    tops = [0.0, *sorted(box[1] for box in boxes), place.height]
    return max(map(float.__sub__, tops[1:], tops)) > _GAP_SHARE * place.height


def _with_picture(
    walk: _Walk,
    page: pdfium.PdfPage,
    place: pdf_layer.Placement,
    layer: pdf_layer.Layer,
    text: PageText,
    region: _Region,
) -> PageText:
    try:
        seen = _recognise(walk, page, place, region)
    except ReaderError as error:
        return replace(text, note=f"a picture on it was not read: {error}")
    return _merged(layer, seen, text)


def _merged(layer: pdf_layer.Layer, seen: _Seen, text: PageText) -> PageText:
    """The text layer, and of the OCR what stands where the text layer has nothing."""
    boxes = seen.boxes
    x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    covered = np.zeros(len(boxes), dtype=bool)
    for x0, y0, x1, y1 in layer.boxes:
        covered |= (x >= x0 - 1) & (x <= x1 + 1) & (y >= y0 - 1) & (y <= y1 + 1)
    chosen = np.flatnonzero(~covered & (seen.words.confidences >= _SURE_WORD))
    added = [seen.words.words[index] for index in chosen.tolist()]
    if sum(len(word) > 1 and any(map(str.isalnum, word)) for word in added) < 2:
        return text
    quality = min(layer.quality, seen.words.quality(" ".join(added)))
    merged = replace(text, method=Method.MIXED, quality=quality)
    if seen.words.turned:
        return _appended(merged, seen, chosen)
    words = [*layer.runs, *added]
    first_free = max(layer.lines, default=-1) + 1
    lines = [*layer.lines, *(seen.words.lines[chosen] + first_free).tolist()]
    every = [*layer.boxes, *boxes[chosen].tolist()]
    laid = lay_out(words, lines, every)
    placed = [every[index] for index in laid.order]
    return replace(merged, text=laid.text, words=WordBoxes.of(laid.spans, placed))


def _appended(text: PageText, seen: _Seen, chosen: np.ndarray) -> PageText:
    """A picture that lies on its side is read by itself, behind the text of the page."""
    laid = seen.words.only(chosen).laid()
    shift = len(text.text) + 2
    spans = [(start + shift, end + shift) for start, end in laid.spans]
    boxes = seen.boxes[chosen][laid.order].tolist()
    if text.words is not None:
        spans = [*text.words.spans().tolist(), *spans]
        boxes = [*text.words.boxes().tolist(), *boxes]
    return replace(text, text=f"{text.text}\n\n{laid.text}", words=WordBoxes.of(spans, boxes))


def _files(
    document: pdf_open.Opened, walk: _Walk
) -> tuple[tuple[Embedded, ...], EInvoice | None, str]:
    """Keep every embedded file; what is an e-invoice by its content is read."""
    try:
        objects = document.objects()
    except EncryptedError:
        return (), None, "embedded files need a password that is not configured"
    if objects is None:
        return (), None, "embedded files cannot be reached, the file is damaged"
    kept: list[Embedded] = []
    invoices: list[EInvoice] = []
    notes: list[str] = []
    limit = walk.settings.archive.member_bytes
    for item in pdf_open.embedded_files(objects, limit, tuple(walk.with_files)):
        if item.data is None:
            kept.append(refused(item.name, EmbeddedRole.ATTACHMENT, item.size, item.reason))
            continue
        found = keep(item.name, item.data, EmbeddedRole.ATTACHMENT, walk.settings)
        if found.family in (Family.EINVOICE, Family.XML) and found.size <= _EINVOICE_BYTES:
            try:
                invoices.append(einvoice.read_einvoice(item.data))
                found = replace(found, family=Family.EINVOICE, role=EmbeddedRole.EINVOICE)
            except ReaderError as error:
                if found.family is Family.EINVOICE:
                    notes.append(f"embedded e-invoice: {error}")
        kept.append(found)
    chosen = max(invoices, key=einvoice.preference, default=None)
    if len(invoices) > 1:
        notes.append(f"{len(invoices)} e-invoices are embedded")
    return tuple(kept), chosen, "; ".join(notes)
