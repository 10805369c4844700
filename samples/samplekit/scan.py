"""Paper that went through a machine: scanned PDFs without a text layer and a photographed receipt.

Noise comes from seeded generators, so the same page gives the same picture with the same library
versions.
"""

import time
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pypdfium2
from PIL import ExifTags, Image, ImageDraw, ImageFilter, ImageFont

_STAMP = time.gmtime(1_772_438_400)
_MONO = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSansMono.ttf"


def _pages(pdf: bytes, dpi: int) -> list[Image.Image]:
    document = pypdfium2.PdfDocument(pdf)
    try:
        scale: Any = dpi / 72  # the package's own annotation says int, its documentation float
        return [page.render(scale=scale).to_pil().convert("L") for page in document]
    finally:
        document.close()


def _skewed(page: Image.Image, angle: float) -> Image.Image:
    return page.rotate(angle, Image.Resampling.BICUBIC, fillcolor=250)


def _noisy(page: Image.Image, seed: int, spread: float) -> Image.Image:
    """Paper is not white, light falls off to one side, and the sensor adds grain."""
    random = np.random.default_rng(seed)
    pixels = np.asarray(page, dtype=np.float32)
    height, width = pixels.shape
    light = np.linspace(0.97, 1.0, width, dtype=np.float32)[None, :]
    grain = random.normal(0, spread, (height // 2 + 1, width // 2 + 1)).astype(np.float32)
    grain = grain.repeat(2, axis=0).repeat(2, axis=1)[:height, :width]
    return Image.fromarray(np.clip(pixels * light - 6 + grain, 0, 255).astype(np.uint8))


def _image_pdf(pages: Sequence[Image.Image], dpi: int, quality: int | None) -> bytes:
    target = BytesIO()
    compression = {} if quality is None else {"quality": quality}
    pages[0].save(
        target,
        "PDF",
        save_all=True,
        append_images=list(pages[1:]),
        resolution=dpi,
        **compression,
        producer="Scanner",
        creationDate=_STAMP,
        modDate=_STAMP,
    )
    return target.getvalue()


def grey_scan(pdf: bytes, dpi: int, angle: float, seed: int, quality: int = 55) -> bytes:
    """The pages as grey JPEGs, `angle` in degrees; what an office scanner makes."""
    pages = [
        _noisy(_skewed(page, angle), seed + number, 2.5).filter(ImageFilter.GaussianBlur(0.4))
        for number, page in enumerate(_pages(pdf, dpi))
    ]
    return _image_pdf(pages, dpi, quality)


def fax_scan(pdf: bytes, angle: float, seed: int) -> bytes:
    """The pages in black and white at 200 dpi with specks; what an old office machine makes."""
    random = np.random.default_rng(seed)
    pages = []
    for page in _pages(pdf, 200):
        pixels = np.asarray(_skewed(page, angle)).copy()
        specks = random.random(pixels.shape) < 0.0002
        pixels[specks] = 0
        pages.append(Image.fromarray(pixels > 150))
    return _image_pdf(pages, 200, None)


def _receipt(lines: Sequence[str]) -> Image.Image:
    font = ImageFont.truetype(str(_MONO), 30)
    paper = Image.new("RGB", (760, 90 + 40 * len(lines)), (246, 243, 235))
    draw = ImageDraw.Draw(paper)
    for number, line in enumerate(lines):
        draw.text((42, 44 + 40 * number), line, font=font, fill=(48, 46, 58))
    return paper


def _table_top(size: tuple[int, int], seed: int) -> Image.Image:
    random = np.random.default_rng(seed)
    width, height = size
    fibres = np.cumsum(random.normal(0, 2.2, (height, 1)), axis=0)
    fibres = 14 * np.sin(fibres / 9) + random.normal(0, 3, (height, width // 8)).repeat(8, axis=1)
    base = np.array([134, 98, 66], dtype=np.float32)
    wood = np.clip(base + fibres[:, :, None], 0, 255).astype(np.uint8)
    return Image.fromarray(wood).filter(ImageFilter.GaussianBlur(2))


def receipt_photo(lines: Sequence[str], seed: int) -> bytes:
    """A till receipt on a wooden table, taken with a phone: tilted, uneven light, EXIF turned.

    The picture is stored lying on its side with orientation 6, as phones do it.
    """
    paper = _receipt(lines)
    size = (1080, paper.height + 260)
    scene = _table_top(size, seed)
    mask = Image.new("L", paper.size, 255)
    turned = paper.rotate(1.3, Image.Resampling.BICUBIC, expand=True)
    scene.paste(turned, (140, 110), mask.rotate(1.3, Image.Resampling.BICUBIC, expand=True))
    width, height = size
    bend = (0, 0, 26, height, width - 18, height - 30, width, 22)
    scene = scene.transform(size, Image.Transform.QUAD, bend, Image.Resampling.BICUBIC)
    shade = np.linspace(0.72, 1.04, width, dtype=np.float32)[None, :, None]
    grain = np.random.default_rng(seed + 1).normal(0, 3, (height, width, 1))
    pixels = np.clip(np.asarray(scene, dtype=np.float32) * shade + grain, 0, 255)
    photo = Image.fromarray(pixels.astype(np.uint8)).filter(ImageFilter.GaussianBlur(0.7))
    exif = Image.Exif()
    exif[ExifTags.Base.Make] = "Beispiel"
    exif[ExifTags.Base.Model] = "Fon 9"
    exif[ExifTags.Base.Orientation] = 6
    exif[ExifTags.Base.DateTime] = "2026:03:11 12:41:07"
    target = BytesIO()
    photo.rotate(90, expand=True).save(target, "JPEG", quality=62, exif=exif)
    return target.getvalue()
