"""When an image inside an HTML mail is more than decoration (issue 3, item 7).

Belongs here: facts of an image and which images come into question. Does not
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


@dataclass(frozen=True, slots=True)
class ShownPicture:
    """A picture of at least 600 px that the text of a mail shows; `camera` as of ImageFacts."""

    leaf: Leaf
    sender: str | None
    camera: bool

    @property
    def path(self) -> str:
        """Path of its leaf."""
        return self.leaf.path

    @property
    def sha256(self) -> str:
        """Hash of its bytes."""
        return self.leaf.sha256

    def content(self) -> bytes:
        """Its bytes."""
        return self.leaf.content


def shown_picture(leaf: Leaf, sender: str | None) -> ShownPicture | None:
    """The picture that may be more than decoration; None for every other leaf.

    It becomes a case instead of a discard when its sender never sent it before and it carries a
    camera's marks or readable text (a receipt mailed from a phone).
    """
    if leaf.role is not Role.INLINE_REFERENCED:
        return None
    facts = image_facts(leaf.content)
    return ShownPicture(leaf, sender, facts.camera) if facts is not None and facts.large else None


def _camera(image: Image.Image) -> bool:
    exif = image.getexif()
    details = exif.get_ifd(ExifTags.IFD.Exif)
    if any(str(exif.get(tag) or "").strip("\0 ") for tag in _CAMERA_TAGS):
        return True
    return any(tag in details for tag in (*_EXPOSURE_TAGS, *_TAKEN_TAGS))
