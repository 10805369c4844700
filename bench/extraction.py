"""Extraction beside the bare libraries: `python bench/extraction.py [folder of files]`.

Text: a long document of prose and single invoices made here (and the PDFs of the folder, if one is
named), read by bare PDFium (open, load, text page, text) and by `extract`, in turns, in CPU
seconds. OCR: pages drawn
here, read by bare Tesseract with the same languages and by `extract`. Then the pool: 100 scanned
pages and a photo of 30 megapixels, with the highest memory of all processes together. Only ratios
mean anything on a shared machine.
"""

from __future__ import annotations

import io
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_THREAD_LIMIT", "1")

import pypdfium2 as pdfium
import tesserocr
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen import canvas

from tgv_dagster.arrive.filetype import sniff_file
from tgv_dagster.understand.extraction import ExtractionSettings, Method, extract
from tgv_dagster.understand.readers.ocr import tessdata_dir
from tgv_dagster.understand.workers import ExtractionPool

_TEXT = (
    "der die das Vertrag wird mit dem Auftraggeber über eine Leistung geschlossen und läuft ab "
    "Beginn zwölf Monate Rechnung Betrag Zahlung innerhalb von vierzehn Tagen ohne Abzug fällig"
)
WORDS = _TEXT.split()
ROUNDS = 7
TEXT_GOAL, OCR_GOAL, MEMORY_GOAL = 1.3, 1.2, 1.5 * 2**30


def prose(pages: int) -> bytes:
    """Full pages of running text."""
    chosen = random.Random(1)
    out = io.BytesIO()
    sheet = canvas.Canvas(out, pagesize=(595, 842))
    for _ in range(pages):
        sheet.setFont("Times-Roman", 11)
        for row in range(46):
            sheet.drawString(60, 780 - 15.5 * row, " ".join(chosen.choices(WORDS, k=12)))
        sheet.showPage()
    sheet.save()
    return out.getvalue()


def invoice(seed: int) -> bytes:
    """Address and facts side by side, a table, totals, a footer in three columns."""
    chosen = random.Random(seed)
    out = io.BytesIO()
    sheet = canvas.Canvas(out, pagesize=(595, 842))

    def words(count: int) -> str:
        return " ".join(chosen.choices(WORDS, k=count))

    sheet.setFont("Helvetica", 9)
    for row in range(5):
        sheet.drawString(60, 720 - 13 * row, words(3))
    for row, label in enumerate(("Rechnungsnummer", "Datum", "Kundennummer", "Fällig am")):
        sheet.drawString(380, 720 - 13 * row, label)
        sheet.drawString(480, 720 - 13 * row, f"2024-{seed:04d}-{row}")
    for row in range(25):
        sheet.drawString(60, 600 - 14 * row, str(row + 1))
        sheet.drawString(90, 600 - 14 * row, words(6))
        sheet.drawRightString(430, 600 - 14 * row, f"{chosen.randint(1, 99)},00")
        sheet.drawRightString(530, 600 - 14 * row, f"1.{chosen.randint(100, 999)},50")
    for column in range(3):
        for row in range(4):
            sheet.drawString(60 + 170 * column, 90 - 11 * row, words(3))
    sheet.save()
    return out.getvalue()


def drawn_page(seed: int) -> Image.Image:
    """A page of letters as a scanner at 200 dpi gives it."""
    chosen = random.Random(seed)
    image = Image.new("L", (1654, 2339), 252)
    pen = ImageDraw.Draw(image)
    face = ImageFont.load_default(size=32)
    for row in range(34):
        line = " ".join(chosen.choices([word for word in WORDS if word.isascii()], k=9))
        pen.text((130, 150 + 60 * row), line, fill=20, font=face)
    return image


def scans(pages: int) -> bytes:
    """A PDF of pictures only."""
    out = io.BytesIO()
    sheet = canvas.Canvas(out, pagesize=(595, 842))
    for page in range(pages):
        sheet.drawImage(ImageReader(drawn_page(page % 5)), 0, 0, 595, 842)
        sheet.showPage()
    sheet.save()
    return out.getvalue()


def bare_text(path: Path) -> int:
    """The library's own way; the number of pages."""
    with pdfium.PdfDocument(path) as document:
        for page in document:
            text = page.get_textpage()
            text.get_text_range()
            text.close()
            page.close()
        return len(document)


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of one run."""
    start = time.process_time()
    work()
    return time.process_time() - start


def in_turns(
    one: Callable[[], object], other: Callable[[], object], rounds: int
) -> tuple[float, float]:
    """The least CPU seconds of each, measured alternately."""
    pairs = [(cpu(one), cpu(other)) for _ in range(rounds)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def measure_text(path: Path) -> tuple[float, float, int] | None:
    """Seconds bare and ours, and pages; None when a page is not plain text."""
    kind, settings = sniff_file(path), ExtractionSettings(ocr=False)
    try:
        pages = bare_text(path)
    except pdfium.PdfiumError:
        return None
    found = extract(path, kind, settings)
    if not found.pages or found.embedded:
        return None
    if any(p.method is not Method.TEXT_LAYER or len(p.text) < 300 for p in found.pages):
        return None
    ours, bare = in_turns(lambda: extract(path, kind, settings), lambda: bare_text(path), ROUNDS)
    return bare, ours, pages


def report_text(folder: Path, given: Path | None) -> None:
    """Ratio for a long document, for single pages, and for the given files."""
    long = folder / "prose.pdf"
    long.write_bytes(prose(100))
    singles = [folder / f"invoice-{seed}.pdf" for seed in range(20)]
    for seed, path in enumerate(singles):
        path.write_bytes(invoice(seed))
    groups = {"100 pages of prose": [long], "single invoices": singles}
    if given:
        groups["given files"] = sorted(given.rglob("*.pdf"))
    for name, paths in groups.items():
        figures = [measured for path in paths if (measured := measure_text(path))]
        if not figures:
            print(f"text, {name}: no plain text PDF among {len(paths)} files")
            continue
        bare, ours, pages = map(sum, zip(*figures, strict=True))
        middle = statistics.median(ours / bare for bare, ours, _ in figures)
        print(
            f"text, {name}: {1000 * bare / pages:.2f} ms bare, {1000 * ours / pages:.2f} ms ours a "
            f"page, ratio {ours / bare:.2f}, median of {len(figures)} files {middle:.2f} "
            f"(goal {TEXT_GOAL})"
        )


def report_ocr(folder: Path) -> None:
    """CPU beside the bare engine with the same languages on the same pictures."""
    settings = ExtractionSettings()
    data = tessdata_dir(settings)
    engine = tesserocr.PyTessBaseAPI(path=f"{data}/", lang="+".join(settings.languages))
    pictures = []
    for number in range(3):
        pictures.append(folder / f"{number}.png")
        drawn_page(number).save(pictures[-1], dpi=(200, 200))
    kind = sniff_file(pictures[0])

    def bare() -> None:
        for path in pictures:
            with Image.open(path) as image:
                pixels: Any = image.tobytes()
                engine.SetImageBytes(pixels, *image.size, 1, image.width)
            engine.SetSourceResolution(200)
            engine.Recognize()
            engine.GetUTF8Text()

    def ours() -> None:
        for path in pictures:
            extract(path, kind, settings)

    ours()
    mine, theirs = in_turns(ours, bare, 3)
    print(f"OCR: {theirs / 3:.2f} s bare, {mine / 3:.2f} s ours a page, "
          f"ratio {mine / theirs:.2f} (goal {OCR_GOAL})")  # fmt: skip


def tree_memory() -> int:
    """Resident bytes of this process and its children."""
    own = os.getpid()
    total = 0
    for task in Path(f"/proc/{own}/task").iterdir():
        for pid in [*(task / "children").read_text().split()]:
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    total += int(Path("/proc/self/statm").read_text().split()[1])
    return total * os.sysconf("SC_PAGESIZE")


def report_pool(folder: Path) -> None:
    """Time and highest memory of a long scan and of a large photo."""
    long, large = folder / "scan.pdf", folder / "photo.jpg"
    long.write_bytes(scans(100))
    drawn_page(1).resize((4600, 6520)).convert("RGB").save(large, quality=88)
    for path in (long, large):
        peak, done = 0, threading.Event()

        def watch(done: threading.Event = done) -> None:
            nonlocal peak
            while not done.wait(0.05):
                try:
                    peak = max(peak, tree_memory())
                except (FileNotFoundError, ProcessLookupError):
                    continue

        watcher = threading.Thread(target=watch)
        watcher.start()
        start = time.perf_counter()
        with ExtractionPool() as pool:
            found = pool.extract(path, sniff_file(path))
        done.set()
        watcher.join()
        print(f"pool, {path.name}: {found.status}, {len(found.pages)} pages, "
              f"{time.perf_counter() - start:.1f} s, at most {peak / 2**20:.0f} MB "
              f"(goal {MEMORY_GOAL / 2**20:.0f})")  # fmt: skip


def main() -> None:
    """Print every figure."""
    given = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(prefix="extraction-") as folder:
        report_text(Path(folder), given)
        report_ocr(Path(folder))
        report_pool(Path(folder))


if __name__ == "__main__":
    main()
