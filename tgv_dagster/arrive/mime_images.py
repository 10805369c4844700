"""When an image inside an HTML mail is more than decoration (issue 3, item 7).

Belongs here: facts of an image and the rule that makes a referenced image a case. Does not
belong here: remembering what a sender sent before, reading text off an image.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

import pillow_heif
from PIL import ExifTags, Image

from tgv_dagster.arrive.mime_model import Leaf, Role

MIN_CASE_EDGE = 600

_CAMERA_TAGS = (ExifTags.Base.Make, ExifTags.Base.Model)
_EXPOSURE_TAGS = (ExifTags.Base.ExposureTime, ExifTags.Base.FNumber, ExifTags.Base.ISOSpeedRatings)
_TAKEN_TAGS = (ExifTags.Base.DateTimeOriginal, ExifTags.Base.LensModel)

pillow_heif.register_heif_opener()


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """Width and height in pixels and whether camera EXIF (maker, exposure) is there."""

    width: int
    height: int
    camera: bool

    @property
    def large(self) -> bool:
        """Whether the longer edge reaches 600 px."""
        return max(self.width, self.height) >= MIN_CASE_EDGE


def image_facts(content: bytes) -> ImageFacts | None:
    """Facts read from the image's header without decoding its pixels; None when unreadable."""
    try:
        with Image.open(io.BytesIO(content)) as image:
            return ImageFacts(image.width, image.height, _camera(image))
    except Exception:  # noqa: BLE001 - a broken image raises anything; unreadable is the answer
        return None


def looks_photographed(content: bytes) -> bool:
    """Whether the bytes are an image of at least 600 px that carries camera EXIF."""
    facts = image_facts(content)
    return facts is not None and facts.large and facts.camera


def wants_case(leaf: Leaf, *, sent_before: bool, readable_text: bool) -> bool:
    """Whether a referenced image becomes a case instead of being discarded as decoration.

    Args:
        leaf: the leaf in question; only inline referenced images can become a case.
        sent_before: this sender sent the same bytes before (a logo).
        readable_text: text was read off the image.
    """
    if leaf.role is not Role.INLINE_REFERENCED or sent_before:
        return False
    facts = image_facts(leaf.content)
    return facts is not None and facts.large and (facts.camera or readable_text)


def _camera(image: Image.Image) -> bool:
    exif = image.getexif()
    details = exif.get_ifd(ExifTags.IFD.Exif)
    if any(str(exif.get(tag) or "").strip("\0 ") for tag in _CAMERA_TAGS):
        return True
    return any(tag in details for tag in (*_EXPOSURE_TAGS, *_TAKEN_TAGS))
