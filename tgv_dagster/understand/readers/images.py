"""Images: photos, scans and screenshots are decoded within bounds and read by OCR.

Here: decoding with a memory bound, EXIF rotation, transparency, frames, resolution. Not here: OCR
itself (`ocr`) and images inside PDFs (`pdf`).
"""

import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import ExifTags, Image, ImageFile, ImageOps, UnidentifiedImageError

from tgv_dagster.arrive.decoding import clean_text
from tgv_dagster.arrive.filetype import FileType
from tgv_dagster.understand.extracted import (
    ENGINE_VERSION,
    Extraction,
    ExtractionSettings,
    Facts,
    Method,
    PageText,
    ReaderError,
    Status,
    UnsupportedError,
    WordBoxes,
)
from tgv_dagster.understand.readers import huge_png
from tgv_dagster.understand.readers.ocr import LAST_PAGE_SECONDS, OcrSession, engine_version

# The bound is by bytes, below, and holds before anything is decoded.
Image.MAX_IMAGE_PIXELS = None
_PAGED = {"TIFF", "HEIF"}
_UNREAD = {"image/vnd.djvu", "image/svg+xml"}
_FOUR_BYTES = {"RGB", "RGBA", "RGBX", "CMYK", "YCbCr", "LAB", "HSV", "I", "F"}
_SCAN_DPI = 300
_PAGE_INCHES = 11.7
_PAGE_PIXELS = 4_000_000
_STRIPE_BYTES = 32 * 2**20
_UPSIDE = {
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.T,
    6: lambda a: np.rot90(a, -1),
    7: lambda a: a.T[::-1, ::-1],
    8: lambda a: np.rot90(a),
}


@dataclass(frozen=True, slots=True)
class _Frame:
    """Gray pixels ready for OCR, upright by EXIF, and their density."""

    gray: np.ndarray
    dpi: int
    cut: bool


def read(source: Path, file_type: FileType, settings: ExtractionSettings) -> Extraction:
    """Read an image file. Raises ReaderError, UnsupportedError."""
    if file_type.media_type in _UNREAD:
        raise UnsupportedError(f"no reader for {file_type.media_type}")
    if not settings.ocr:
        raise UnsupportedError("the file is a picture and OCR is switched off")
    _register_heif()
    try:
        with warnings.catch_warnings(), Image.open(source) as image:
            warnings.simplefilter("ignore")
            return _read(source, image, settings)
    except UnidentifiedImageError as error:
        raise ReaderError("the picture is damaged beyond its header") from error
    except (SyntaxError, ValueError, EOFError, Image.DecompressionBombError) as error:
        raise ReaderError(f"the picture cannot be decoded ({type(error).__name__})") from error


def _register_heif() -> None:
    import pillow_heif

    pillow_heif.register_heif_opener(thumbnails=False)


def _read(source: Path, image: Image.Image, settings: ExtractionSettings) -> Extraction:
    deadline = time.monotonic() + settings.budget_seconds
    session = OcrSession(settings, until=deadline + LAST_PAGE_SECONDS)
    facts = _facts(image)
    total = getattr(image, "n_frames", 1) if image.format in _PAGED else 1
    pages: list[PageText] = []
    reasons: list[str] = []
    for index in range(total):
        if index >= settings.max_pages or time.monotonic() > deadline:
            reasons.append(f"only the first {index} of {total} pages")
            break
        try:
            page, cut = _page(source, image, index, session, settings)
        except (ReaderError, OSError, EOFError, ValueError) as error:
            if total == 1:
                raise _as_reader_error(error) from error
            note = str(_as_reader_error(error))
            page, cut = PageText(index + 1, "", Method.UNREAD, note=note), False
        pages.append(page)
        if cut:
            reasons.append(f"page {index + 1}: the picture data is cut off")
        if page.note:
            reasons.append(f"page {index + 1}: {page.note}")
    return Extraction(
        *_outcome(pages, reasons),
        pages=tuple(pages),
        engine="tesseract",
        engine_version=f"{ENGINE_VERSION} tesseract {engine_version()}",
        facts=facts,
    )


def _as_reader_error(error: Exception) -> ReaderError:
    if isinstance(error, ReaderError):
        return error
    return ReaderError(f"the picture cannot be decoded ({type(error).__name__})")


def _outcome(pages: list[PageText], reasons: list[str]) -> tuple[Status, str]:
    if all(page.method is Method.UNREAD for page in pages):
        return Status.FAILED, "; ".join(reasons[:5]) or "no picture in the file"
    if reasons:
        return Status.TRUNCATED, "; ".join(reasons[:5])
    if not any(page.text for page in pages):
        return Status.EMPTY, "no legible text in the picture"
    return Status.COMPLETE, ""


def _page(
    source: Path,
    image: Image.Image,
    index: int,
    session: OcrSession,
    settings: ExtractionSettings,
) -> tuple[PageText, bool]:
    frame = _frame(source, image, index, settings)
    height, width = frame.gray.shape
    scale = 72 / frame.dpi
    blank = int(np.ptp(frame.gray)) < 16 if frame.gray.size else True
    if blank:
        empty = PageText(index + 1, "", Method.BLANK, None, None, width * scale, height * scale)
        return empty, frame.cut
    seen = session.read(frame.gray, frame.dpi).legible()
    laid = seen.laid()
    boxes = seen.upright(width, height)[laid.order] * scale if laid.order else []
    page = PageText(
        number=index + 1,
        text=laid.text,
        method=Method.OCR,
        quality=seen.quality(laid.text),
        words=WordBoxes.of(laid.spans, list(boxes)) if laid.order else None,
        width=width * scale,
        height=height * scale,
        note=seen.remark,
    )
    return page, frame.cut


def _frame(source: Path, image: Image.Image, index: int, settings: ExtractionSettings) -> _Frame:
    """Decode one frame. Raises ReaderError when it would need more memory than allowed."""
    if index:
        image.seek(index)
    wide, high = image.size
    dpi = _density(image)
    factor = _reduction(wide, high, dpi, settings.ocr_pixels)
    target = (max(1, round(wide * factor)), max(1, round(high * factor)))
    if image.format == "JPEG":
        image.draft("L", target)
    turn = _UPSIDE.get(image.getexif().get(ExifTags.Base.Orientation, 1))
    cut = False
    if _bytes(image) > settings.decode_bytes:
        if image.format != "PNG":
            megapixels = wide * high // 1_000_000
            raise ReaderError(f"a picture of {megapixels} megapixels is over the memory bound")
        gray = huge_png.read_gray(source, image.size, target)
    else:
        cut = _load(image)
        gray = _gray(image, target)
    if turn:
        gray = turn(gray)
    factor = target[0] / wide
    return _Frame(np.ascontiguousarray(gray), max(70, round(dpi * factor)), cut)


def _load(image: Image.Image) -> bool:
    """Decode; the rest of a cut picture stays gray. True when it was cut."""
    try:
        image.load()
    except OSError as error:
        if "truncated" not in str(error).lower() and "decoder" not in str(error).lower():
            raise ReaderError(f"the picture cannot be decoded ({type(error).__name__})") from error
        ImageFile.LOAD_TRUNCATED_IMAGES = True
        try:
            image.load()
        finally:
            ImageFile.LOAD_TRUNCATED_IMAGES = False
        return True
    return False


def _bytes(image: Image.Image) -> int:
    wide, high = image.size
    width = 4 if image.mode in _FOUR_BYTES else 2 if ";" in image.mode else 1
    return wide * high * width


def _density(image: Image.Image) -> int:
    """Dots per inch as stated when plausible, else as if the long side were a page."""
    stated = image.info.get("dpi")
    try:
        dpi = round(float(stated[0])) if stated else 0
    except (TypeError, ValueError, IndexError, ZeroDivisionError, OverflowError):
        dpi = 0
    wide, high = image.size
    guess = round(max(wide, high) / _PAGE_INCHES)
    inches = max(wide, high) / dpi if dpi else 0
    # 72 and 96 are what programs write when they know nothing.
    if 100 <= dpi <= 1200 and inches < 60:
        return dpi
    return min(_SCAN_DPI, max(100, guess))


def _reduction(wide: int, high: int, dpi: int, most_pixels: int) -> float:
    # A wrong density must not shrink a small picture: a page keeps enough pixels to be read.
    enough = (_PAGE_PIXELS / (wide * high)) ** 0.5
    factor = min(1.0, max(_SCAN_DPI / dpi, enough))
    return min(factor, (most_pixels / (wide * high)) ** 0.5)


def _gray(image: Image.Image, target: tuple[int, int]) -> np.ndarray:
    """8-bit gray on white paper at the target size, in stripes, so that no copy is whole."""
    wide, high = image.size
    step = max(1, wide // target[0])
    rows = max(step, _STRIPE_BYTES // (4 * wide) // step * step)
    stripes: list[np.ndarray] = []
    for top in range(0, high, rows):
        stripe = image if rows >= high else image.crop((0, top, wide, min(high, top + rows)))
        flat = _flat(stripe)
        stripes.append(np.asarray(flat.reduce(step) if step > 1 else flat))
    gray = stripes[0] if len(stripes) == 1 else np.concatenate(stripes)
    if gray.shape[::-1] == target or (step == 1 and max(target) >= max(wide, high)):
        return gray
    return np.asarray(Image.fromarray(gray).resize(target, Image.Resampling.LANCZOS))


def _flat(image: Image.Image) -> Image.Image:
    if image.mode == "L":
        return image
    if image.mode in ("I;16", "I;16B", "I;16L", "I"):
        return Image.fromarray((np.asarray(image).astype(np.int32) >> 8).clip(0, 255).astype("u1"))
    if image.mode == "F":
        return image.convert("L")
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        rgba = image.convert("RGBA")
        paper = Image.new("RGBA", rgba.size, "white")
        return Image.alpha_composite(paper, rgba).convert("L")
    return ImageOps.grayscale(image)


def _facts(image: Image.Image) -> Facts:
    exif = image.getexif()

    def told(tag: int) -> str:
        return clean_text(str(exif.get(tag, ""))).strip()[:200]

    taken = told(ExifTags.Base.DateTime)
    camera = f"{told(ExifTags.Base.Make)} {told(ExifTags.Base.Model)}".strip()
    pages = getattr(image, "n_frames", 1)
    return Facts(created=taken, producer=camera, page_count=pages)
