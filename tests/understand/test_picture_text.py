"""What a picture says before it may be discarded, and that not being able to tell is no."""

from __future__ import annotations

import io

import pytest
from PIL import Image, ImageDraw, ImageFont

from tgv_dagster.understand.extracted import ExtractionSettings
from tgv_dagster.understand.picture_text import may_carry_text
from tgv_dagster.understand.workers import ExtractionPool


def picture(text: str) -> bytes:
    image = Image.new("RGB", (900, 600), "white")
    font = ImageFont.load_default(size=48)
    ImageDraw.Draw(image).multiline_text((60, 150), text, "black", font=font)
    target = io.BytesIO()
    image.save(target, "PNG")
    return target.getvalue()


@pytest.mark.parametrize(
    ("text", "carries"),
    [
        ("Quittung Nummer 4711\nSumme bezahlt 17,85 EUR", True),
        ("", False),
        ("Altland", False),
    ],
)
def test_words_count_and_a_single_one_does_not(text: str, carries: bool) -> None:
    with ExtractionPool(workers=1) as pool:
        assert may_carry_text(pool, picture(text)) is carries


def test_a_picture_nobody_can_read_may_carry_text() -> None:
    with ExtractionPool(ExtractionSettings(ocr=False), workers=1) as pool:
        assert may_carry_text(pool, picture("")) is True
