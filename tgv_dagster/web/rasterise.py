"""One page of a hostile file as a picture, drawn in a process of its own with limits.

Run as a module, this file is that process: it reads a path and writes WebP. A crash, a bomb or an
endless loop ends it and nothing else. Does not belong here: who may see the page.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from threading import BoundedSemaphore

WIDTH = 1100
"""Pixels across a page; enough to read 8 point letters."""

_MOST_HEIGHT = 4 * WIDTH
_SECONDS = 20.0
_MEMORY_BYTES = 1536 * 2**20
_AT_ONCE = BoundedSemaphore(2)
_MOST_PIXELS = 120_000_000


class NoPicture(RuntimeError):
    """No picture can be drawn of this page; the message never quotes the file."""


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A page as WebP."""

    content: bytes


def can_draw(media_type: str) -> bool:
    """Whether pages of this type are drawn; a drawing in SVG is not, it stands in a frame."""
    kind = media_type.partition(";")[0].strip().lower()
    return kind == "application/pdf" or (kind.startswith("image/") and kind != "image/svg+xml")


def picture_of(path: Path, page: int) -> PagePicture:
    """Draw page `page` (from 1) of a PDF or picture. Raises NoPicture."""
    command = [sys.executable, "-m", "tgv_dagster.web.rasterise", str(path), str(page)]
    with _AT_ONCE:
        try:
            done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise NoPicture("drawing the page took too long") from None
    if done.returncode != 0 or not done.stdout:
        raise NoPicture("the page cannot be drawn")
    return PagePicture(done.stdout)


def _limit() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (int(_SECONDS), int(_SECONDS)))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _draw(path: Path, page: int) -> bytes:
    """The page as WebP, at most `WIDTH` across. Raises ValueError for a page that is not there."""
    import io

    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = _MOST_PIXELS
    with path.open("rb") as stream:
        is_pdf = b"%PDF-" in stream.read(1024)
    image = _pdf_page(path, page) if is_pdf else _frame(path, page)
    image = ImageOps.exif_transpose(image)
    image.thumbnail((WIDTH, _MOST_HEIGHT))
    out = io.BytesIO()
    image.convert("RGB").save(out, "WEBP", quality=80, method=2)
    return out.getvalue()


def _pdf_page(path: Path, page: int):
    import pypdfium2 as pdfium

    document = pdfium.PdfDocument(path)
    if not 1 <= page <= len(document):
        raise ValueError("no such page")
    sheet = document[page - 1]
    width, height = sheet.get_size()
    scale = min(WIDTH / max(width, 1), _MOST_HEIGHT / max(height, 1))
    return sheet.render(scale=scale).to_pil()


def _frame(path: Path, page: int):
    from PIL import Image
    from pillow_heif import register_heif_opener

    register_heif_opener()
    image = Image.open(path)
    image.seek(page - 1)
    return image


def main() -> int:
    """Draw what the arguments name; exit status 1 when that cannot be done."""
    _limit()
    try:
        content = _draw(Path(sys.argv[1]), int(sys.argv[2]))
    except Exception:  # noqa: BLE001 - whatever a hostile file does here, its parent hears "no"
        return 1
    sys.stdout.buffer.write(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
