"""Small files for the extraction tests, made in the test run itself."""

import io
import struct
import zipfile
from collections.abc import Iterable
from pathlib import Path

import matplotlib
import numpy as np
import pikepdf
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen import canvas

from tgv_dagster.arrive.filetype import sniff_file
from tgv_dagster.understand.extraction import Extraction, ExtractionSettings, extract

LETTER = (
    "Sehr geehrte Damen und Herren,",
    "hiermit erhalten Sie die Rechnung für unsere Leistungen im Monat März.",
    "Bitte überweisen Sie den Betrag von 1.234,50 EUR bis zum 30.04.2024.",
    "Wir danken Ihnen für den Auftrag und die gute Zusammenarbeit.",
    "Mit freundlichen Grüßen",
    "Muster und Söhne GmbH",
)
A4 = (595, 842)
_FONT = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"


def read(path: Path, **settings) -> Extraction:
    """Extract a file the way the flow does, in this process."""
    return extract(path, sniff_file(path), ExtractionSettings(**settings))


def written(path: Path, raw: bytes) -> Path:
    path.write_bytes(raw)
    return path


def text_pdf(*pages: Iterable[str], size: int = 11, leading: int = 16) -> bytes:
    """A PDF with a text layer, one string a line."""
    out = io.BytesIO()
    page = canvas.Canvas(out, pagesize=A4, invariant=1)
    for lines in pages:
        page.setFont("Helvetica", size)
        for number, line in enumerate(lines):
            page.drawString(70, 780 - leading * number, line)
        page.showPage()
    page.save()
    return out.getvalue()


def picture(
    lines: Iterable[str], size=(1654, 1100), font: int = 36, margin: int = 90
) -> Image.Image:
    """Black lines on white paper, as a scan at 200 dpi would show them."""
    image = Image.new("L", size, 255)
    draw = ImageDraw.Draw(image)
    face = ImageFont.truetype(_FONT, font)
    for number, line in enumerate(lines):
        draw.text((margin, margin + number * font * 1.7), line, fill=0, font=face)
    return image


def image_bytes(image: Image.Image, kind: str, **options) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def picture_pdf(*images: Image.Image, texts: Iterable[Iterable[str]] = ()) -> bytes:
    """A PDF of full-page pictures, with optional lines of text on the same pages."""
    out = io.BytesIO()
    page = canvas.Canvas(out, pagesize=A4, invariant=1)
    lines = [list(text) for text in texts] or [[] for _ in images]
    for image, text in zip(images, lines, strict=True):
        height = 595 * image.height / image.width
        page.drawImage(ImageReader(image), 0, 700 - height if text else 842 - height, 595, height)
        for number, line in enumerate(text):
            page.drawString(70, 800 - 16 * number, line)
        page.showPage()
    page.save()
    return out.getvalue()


def with_attachments(pdf: bytes, files: dict[str, bytes], **save) -> bytes:
    """The PDF with files in its name tree."""
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(pdf)) as document:
        for name, data in files.items():
            document.attachments[name] = pikepdf.AttachedFileSpec(document, data, filename=name)
        document.save(out, **save)
    return out.getvalue()


def encrypted(pdf: bytes, user: str, owner: str = "owner") -> bytes:
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(pdf)) as document:
        document.save(out, encryption=pikepdf.Encryption(user=user, owner=owner))
    return out.getvalue()


def zipped(members: dict[str, bytes | str], **options) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, **options) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def photo(size: tuple[int, int]) -> Image.Image:
    """Soft light and dark without any letter."""
    grain = np.random.default_rng(1).integers(0, 255, (12, 12), dtype=np.uint8)
    return Image.fromarray(grain).resize(size, Image.Resampling.BICUBIC)


def compound(streams: dict[str, bytes]) -> bytes:
    """A compound file (version 3) with one storage level; every stream is padded past 4 KiB.

    Streams are named `name` or `storage/name`.
    """
    sector, free, end = 512, 0xFFFFFFFF, 0xFFFFFFFE
    names = sorted({name.split("/")[0] for name in streams if "/" in name})
    entries: list[tuple[str, int, int, int]] = []
    body = b""
    chains: list[list[int]] = []
    for name, data in streams.items():
        data = data if len(data) >= 4096 else data.ljust(4096, b"\0")
        start = len(body) // sector
        body += data + bytes(-len(data) % sector)
        chains.append(list(range(start, len(body) // sector)))
        entries.append((name, 2, start, len(data)))
    folders = [(name, 1, 0, 0) for name in names]
    order = [("Root Entry", 5, end, 0), *folders, *entries]
    listed = b"".join(_entry(order, index) for index in range(len(order)))
    listed += bytes(-len(listed) % sector)
    first_directory = len(body) // sector
    body += listed
    chains.append(list(range(first_directory, len(body) // sector)))
    tables = 1
    while (len(body) // sector + tables) * 4 > tables * sector:
        tables += 1
    table = [free] * (tables * sector // 4)
    for chain in chains:
        for here, following in zip(chain, [*chain[1:], end], strict=True):
            table[here] = following
    first_table = len(body) // sector
    for number in range(tables):
        table[first_table + number] = 0xFFFFFFFD
    body += struct.pack(f"<{len(table)}I", *table)
    head = struct.pack(
        "<8s16xHHHHH6xIIIIIIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0x3E, 3, 0xFFFE, 9, 6,
        0, tables, first_directory, 0, 4096, end, 0, end, 0,
    )  # fmt: skip
    difat = [first_table + n for n in range(tables)] + [free] * (109 - tables)
    return head + struct.pack("<109I", *difat) + body


def _entry(order: list[tuple[str, int, int, int]], index: int) -> bytes:
    """One directory entry; siblings hang to the right one behind the other."""
    none = 0xFFFFFFFF
    path, kind, start, size = order[index]
    folder, _, name = path.rpartition("/")
    kin = [n for n, other in enumerate(order) if n and other[0].rpartition("/")[0] == folder]
    following = next((n for n in kin if n > index), none) if index else none
    inner = [
        n for n, other in enumerate(order) if n and _holder(other[0]) == (path if index else "")
    ]
    wide = (name or path).encode("utf-16-le")
    return struct.pack(
        "<64sHBBIII36xIQ", wide, len(wide) + 2, kind, 1, none, following,
        inner[0] if inner and kind in (1, 5) else none, start, size,
    )  # fmt: skip


def _holder(path: str) -> str:
    return path.rpartition("/")[0]
