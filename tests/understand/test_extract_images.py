"""Pictures and OCR: turned, large, small, cut; never an empty page that was not read."""

import io
import os
import resource
import time
from pathlib import Path

import numpy as np
import pytest
from extraction_files import LETTER, image_bytes, photo, picture, read, written
from PIL import Image, ImageFilter

from tgv_dagster.understand.extraction import Method, Status
from tgv_dagster.understand.readers.bounded import EngineDiedError, TimeLimitError, in_child
from tgv_dagster.understand.readers.ocr import is_photo, is_speckled, is_texture

RECEIPT = (
    "Baumarkt Nord",
    "Schrauben 12,99",
    "Summe EUR 47,32",
    "Bar EUR 50,00",
    "Danke für Ihren Einkauf",
)
RUSSIAN = (
    "Уважаемые господа, направляем вам счёт",
    "за услуги, оказанные в марте этого года.",
    "Просим оплатить указанную сумму в срок.",
    "С уважением, бухгалтерия предприятия",
)
ITALIAN = (
    "La fattura della società è stata inviata alla sede",
    "per il pagamento delle spese di gestione che",
    "sono comprese nel contratto con gli allegati",
    "Così è più facile per lo studio dei conti",
)
SMALL = picture(RECEIPT, size=(900, 600))


@pytest.mark.parametrize(
    ("kind", "mode"),
    [("PNG", "L"), ("PNG", "RGBA"), ("PNG", "P"), ("PNG", "1"), ("JPEG", "RGB"), ("JPEG", "CMYK"),
     ("WEBP", "RGB"), ("TIFF", "1"), ("BMP", "RGB"), ("GIF", "P"), ("HEIF", "RGB")],
)  # fmt: skip
def test_every_usual_kind_is_read(kind: str, mode: str, tmp_path: Path):
    if kind == "HEIF":
        import pillow_heif

        pillow_heif.register_heif_opener()

    found = read(written(tmp_path / "x", image_bytes(SMALL.convert(mode), kind)))

    assert found.status is Status.COMPLETE
    assert found.pages[0].method is Method.OCR
    assert "Summe EUR 47,32" in found.text and "Danke für Ihren Einkauf" in found.text


@pytest.mark.parametrize("orientation", [1, 2, 3, 4, 5, 6, 7, 8])
def test_the_orientation_of_the_camera_is_undone(orientation: int, tmp_path: Path):
    undo = {2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180,
            4: Image.Transpose.FLIP_TOP_BOTTOM, 5: Image.Transpose.TRANSPOSE,
            6: Image.Transpose.ROTATE_90, 7: Image.Transpose.TRANSVERSE,
            8: Image.Transpose.ROTATE_270}  # fmt: skip
    stored = SMALL.transpose(undo[orientation]) if orientation in undo else SMALL
    exif = Image.Exif()
    exif[0x0112] = orientation

    found = read(written(tmp_path / "x", image_bytes(stored, "JPEG", exif=exif)))

    assert "Summe EUR 47,32" in found.text


@pytest.mark.parametrize("quarter", [1, 2, 3])
def test_a_sheet_on_its_side_is_turned(quarter: int, tmp_path: Path):
    page = picture([*LETTER, *LETTER], size=(1500, 1200))
    turned = page.rotate(90 * quarter, expand=True)

    found = read(written(tmp_path / "x", image_bytes(turned, "PNG")))

    assert "Sehr geehrte Damen und Herren" in found.text
    (box, *_) = found.pages[0].locate(0, 4)
    page = found.pages[0]
    assert page.width and page.height and box.x1 <= page.width and box.y1 <= page.height


def test_a_tiff_of_several_pages_keeps_its_order(tmp_path: Path):
    frames = [picture([f"Seite {n} von drei"], size=(900, 400)) for n in (1, 2, 3)]
    raw = image_bytes(frames[0], "TIFF", save_all=True, append_images=frames[1:])

    pages = read(written(tmp_path / "x", raw)).pages

    assert [page.text for page in pages] == [f"Seite {n} von drei" for n in (1, 2, 3)]


def test_a_transparent_background_is_paper(tmp_path: Path):
    ink = SMALL.point(lambda value: 255 - value)
    black = Image.new("RGBA", SMALL.size, "black")
    black.putalpha(ink)

    assert "Summe EUR 47,32" in read(written(tmp_path / "x", image_bytes(black, "PNG"))).text


def test_small_letters_are_enlarged(tmp_path: Path):
    small = picture(LETTER, size=(560, 200), font=11, margin=10)

    text = read(written(tmp_path / "x", image_bytes(small, "PNG"))).text

    assert "1.234,50 EUR" in text and "Sehr geehrte Damen und Herren" in text


def test_a_shadow_does_not_swallow_letters(tmp_path: Path):
    page = picture(RECEIPT, size=(1000, 700), font=40)
    shade = (
        Image.linear_gradient("L").resize(page.size).point([70 + v * 2 // 3 for v in range(256)])
    )
    dark = Image.composite(shade, shade.point([v // 3 for v in range(256)]), page)

    assert is_photo(_array(dark)) and not is_photo(_array(page))
    assert "Summe EUR 47,32" in read(written(tmp_path / "x", image_bytes(dark, "JPEG"))).text


def _array(image: Image.Image):
    import numpy as np

    return np.asarray(image)


def test_a_slanted_receipt_keeps_its_rows(tmp_path: Path):
    page = Image.new("L", (1000, 900), 255)
    for x, column in ((60, ["Artikel", "Schraube", "Dübel", "Summe", "Bar", "Zurück"]),
                      (700, ["EUR", "12,99", "16,98", "29,97", "50,00", "20,03"])):  # fmt: skip
        page.paste(picture(column, size=(290, 800), font=40, margin=20), (x, 60))
    slanted = page.rotate(2.2, fillcolor=255, resample=Image.Resampling.BICUBIC)

    lines = read(written(tmp_path / "x", image_bytes(slanted, "PNG"))).text.splitlines()

    rows = [line.split() for line in lines if line]
    assert ["Summe", "29,97"] in rows and ["Bar", "50,00"] in rows


def test_a_picture_without_text_is_empty_and_says_so(tmp_path: Path):
    for image in (photo((500, 400)), Image.new("RGB", (400, 300), "white")):
        found = read(written(tmp_path / "x", image_bytes(image, "PNG")))
        assert found.status is Status.EMPTY and "no legible text" in found.reason


def test_a_cut_picture_is_never_complete(tmp_path: Path):
    for kind in ("JPEG", "PNG", "TIFF"):
        raw = image_bytes(picture(LETTER), kind)
        for share in (0.2, 0.7):
            found = read(written(tmp_path / "x", raw[: int(len(raw) * share)]))
            assert found.status in (Status.TRUNCATED, Status.FAILED), (kind, share)
            assert found.reason


def test_missing_language_data_fails_and_names_the_package(tmp_path: Path):
    found = read(written(tmp_path / "x", image_bytes(SMALL, "PNG")), tessdata=tmp_path / "none")

    assert found.status is Status.UNSUPPORTED
    assert "tesseract-ocr-deu" in found.reason


@pytest.mark.parametrize(
    ("lines", "words"), [(RUSSIAN, "Уважаемые господа"), (ITALIAN, "Così è più")]
)
def test_other_languages_are_recognised_by_evidence(
    lines: tuple[str, ...], words: str, tmp_path: Path
):
    raw = image_bytes(picture(lines, size=(1500, 500)), "PNG")

    assert words in read(written(tmp_path / "x", raw)).text


def test_twenty_thousand_pixels_are_bounded(tmp_path: Path):
    image = Image.new("1", (20_000, 20_000), 1)
    image.paste(picture(["Plan Nr. 4711"], size=(9000, 3000), font=900).convert("1"), (1000, 1000))
    image.save(tmp_path / "x", "PNG", compress_level=1)
    del image
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    found = read(tmp_path / "x")

    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert "4711" in found.text
    assert grown < 700 * 2**20


@pytest.mark.parametrize("mode", ["RGB", "L", "P"])
def test_a_png_over_the_memory_bound_is_shown_small(mode: str, tmp_path: Path):
    image = picture(["Plan Nr. 4711"], size=(2400, 900), font=200).convert(mode)

    found = read(written(tmp_path / "x", image_bytes(image, "PNG")), decode_bytes=500_000)

    assert "Plan Nr. 4711" in found.text


def test_a_picture_over_the_memory_bound_is_refused_before_decoding(tmp_path: Path):
    raw = io.BytesIO()
    Image.new("RGB", (6000, 6000)).save(raw, "TIFF", compression="tiff_deflate")

    found = read(written(tmp_path / "x", raw.getvalue()), decode_bytes=10_000_000)

    assert found.status is Status.FAILED and "36 megapixels" in found.reason


def test_a_blurred_photo_keeps_its_low_quality(tmp_path: Path):
    blurred = picture(LETTER).filter(ImageFilter.GaussianBlur(9))

    found = read(written(tmp_path / "x", image_bytes(blurred, "PNG")))

    quality = found.pages[0].quality
    assert quality is not None and quality < 0.6


def _texture(kind: str, size: tuple[int, int]) -> np.ndarray:
    """Noise of one dot, of blocks, and the blurred kind of grass and leaves."""
    rng, (width, height) = np.random.default_rng(7), size
    if kind == "dots":
        return rng.integers(0, 256, (height, width), dtype=np.uint8)
    if kind == "blocks":
        blocks = rng.integers(0, 256, (height // 4, width // 4), dtype=np.uint8)
        return np.kron(blocks, np.ones((4, 4), dtype=np.uint8))
    blurred = np.clip(128 + 60 * rng.normal(0, 1, (height // 2, width // 2)), 0, 255)
    return np.asarray(
        Image.fromarray(blurred.astype(np.uint8)).resize(size, Image.Resampling.BICUBIC)
    )


@pytest.mark.parametrize(
    ("kind", "size"), [("dots", (3000, 2000)), ("blocks", (2000, 1200)), ("leaves", (2000, 1200))]
)
def test_a_photo_of_noise_ends_without_text_and_holds_nobody(
    kind: str, size: tuple[int, int], tmp_path: Path
):
    image = Image.fromarray(_texture(kind, size))
    before = sum(os.times()[:4])
    found = read(written(tmp_path / "noise.jpg", image_bytes(image, "JPEG", quality=85)))
    assert found.status in (Status.EMPTY, Status.TRUNCATED)
    assert not found.text and found.reason
    spent = sum(os.times()[:4]) - before
    assert spent < 60  # CPU seconds, children counted: the engine alone took many minutes


@pytest.mark.parametrize("reduced", [1, 2, 4])
def test_a_full_page_is_no_texture_at_any_size(reduced: int):
    page = picture(RECEIPT * 8, size=(1800, 2400)).convert("L").reduce(reduced)
    assert not is_texture(np.asarray(page), reduced)


def test_text_on_a_noisy_scan_is_read(tmp_path: Path):
    page = np.asarray(picture(RECEIPT, size=(1800, 1200)).convert("L")).copy()
    page[np.random.default_rng(3).random(page.shape) < 0.12] = 30
    assert is_texture(page)
    found = read(written(tmp_path / "x", image_bytes(Image.fromarray(page), "PNG")))
    assert "47,32" in found.text


def _dotted(page: Image.Image, share: float, side: int) -> Image.Image:
    """A page with square dots of this side on it, which cover this share."""
    gray = np.asarray(page.convert("L")).copy()
    rng, (height, width) = np.random.default_rng(5), gray.shape
    count = int(share * height * width / side**2)
    rows, columns = rng.integers(0, height - side, count), rng.integers(0, width - side, count)
    for down, right in np.ndindex(side, side):
        gray[rows + down, columns + right] = 30
    return Image.fromarray(gray)


@pytest.mark.parametrize(("share", "side"), [(0.01, 1), (0.03, 1), (0.03, 2), (0.01, 3)])
def test_dots_all_over_a_scan_do_not_spoil_the_text(share: float, side: int, tmp_path: Path):
    page = picture(LETTER, size=(1654, 1100), font=34)
    dotted = _dotted(page, share, side)

    assert is_speckled(np.asarray(dotted)) and not is_speckled(np.asarray(page.convert("L")))
    found = read(written(tmp_path / "x", image_bytes(dotted, "PNG")))
    assert "1.234,50 EUR" in found.text


def test_a_page_at_its_time_limit_has_failed_and_the_others_go_on(tmp_path: Path):
    plain = picture(["Seite drei ist gelesen"], size=(900, 400))
    hard = picture(LETTER * 40, size=(2000, 3000), font=14).resize((4000, 6000))
    raw = image_bytes(hard, "TIFF", save_all=True, append_images=[plain])

    found = read(written(tmp_path / "x", raw), page_ocr_seconds=0.9)

    assert found.status is Status.TRUNCATED and "page 1: page time limit" in found.reason
    assert [page.method for page in found.pages] == [Method.UNREAD, Method.OCR]
    assert "Seite drei ist gelesen" in found.pages[1].text
    alone = read(written(tmp_path / "y", image_bytes(hard, "PNG")), page_ocr_seconds=0.2)
    assert alone.status is Status.FAILED and "page time limit" in alone.reason


def test_a_work_that_dies_or_does_not_end_is_told_and_leaves_no_process():
    with pytest.raises(TimeLimitError):
        in_child(lambda: time.sleep(600), 0.1, 5)
    with pytest.raises(EngineDiedError):
        in_child(lambda: os.kill(os.getpid(), 9), 30, 5)
    assert in_child(lambda: "x" * 3_000_000, 30, 5) == "x" * 3_000_000
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
