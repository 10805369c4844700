"""When an image inside an HTML mail becomes a case (issue 3, item 7)."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mailbuild import base64_part, html, mail, multipart
from PIL import ExifTags, Image

from tgv_dagster.arrive.mime import Leaf, Role, split
from tgv_dagster.arrive.mime_images import image_facts, shown_picture


def jpeg(width: int, height: int, *, camera: bool) -> bytes:
    exif = Image.Exif()
    if camera:
        exif[ExifTags.Base.Make] = "Musterkamera"
        exif[ExifTags.Base.Model] = "M 1"
    target = io.BytesIO()
    Image.new("RGB", (width, height), "white").save(target, "JPEG", exif=exif)
    return target.getvalue()


def shown(content: bytes) -> Leaf:
    image = base64_part("image/jpeg; name=a.jpg", content, "Content-ID: <a@x>")
    return split(mail(multipart("related", html('<img src="cid:a@x">'), image))).leaves[1]


@pytest.mark.parametrize(
    ("width", "height", "camera", "considered"),
    [
        (800, 600, True, True),
        (400, 600, True, True),
        (599, 599, True, False),
        (800, 600, False, True),
        (200, 80, False, False),
    ],
)
def test_a_large_shown_picture_comes_into_question(
    width: int, height: int, camera: bool, considered: bool
):
    leaf = shown(jpeg(width, height, camera=camera))
    assert leaf.role is Role.INLINE_REFERENCED
    picture = shown_picture(leaf, "a@example.org")
    assert (picture is not None) is considered
    if picture is not None:
        assert (picture.camera, picture.sha256) == (camera, leaf.sha256)
        assert picture.content() == leaf.content


def test_an_attached_photo_needs_no_case_it_is_a_document():
    image = base64_part("image/jpeg; name=a.jpg", jpeg(800, 600, camera=True))
    leaf = split(mail(multipart("mixed", html("<p>x</p>"), image))).leaves[1]
    assert leaf.role is Role.ATTACHMENT
    assert shown_picture(leaf, None) is None


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 600))
def test_broken_images_have_no_facts_or_true_ones(noise: bytes, cut: int):
    assert image_facts(noise) is None
    facts = image_facts(jpeg(640, 480, camera=True)[:cut] + noise)
    assert facts is None or (facts.width, facts.height) == (640, 480)
