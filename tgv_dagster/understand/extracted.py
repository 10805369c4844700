"""What a reader hands back: pages of text with method and quality, embedded files, one outcome.

Here: the plain data that crosses from a reader process to the flow and into the cache, and its
JSON form. Not here: how a format is read (`readers`) and what a text means (triage).
"""

import functools
import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import overload

import numpy as np
from pydantic import ConfigDict, TypeAdapter

from tgv_dagster.arrive.filetype import Family
from tgv_dagster.understand.einvoice_model import EInvoice
from tgv_dagster.understand.versions import reading_version

ENGINE_VERSION = reading_version()
PAGE_BREAK = "\f"
MEMORY_REACHED = "the memory limit was reached"


class Status(StrEnum):
    """The closed set of outcomes of one extraction."""

    COMPLETE = "complete"
    TRUNCATED = "truncated"
    FAILED = "failed"
    ENCRYPTED = "encrypted"
    UNSUPPORTED = "unsupported"
    EMPTY = "empty"


class Method(StrEnum):
    """How the text of one page was won."""

    TEXT_LAYER = "text_layer"
    OCR = "ocr"
    MIXED = "mixed"
    NATIVE = "native"
    RENDERED = "rendered"
    BLANK = "blank"
    UNREAD = "unread"


class ReaderError(Exception):
    """A file that cannot be read; the message is the reason and never quotes the document."""


class EncryptedError(ReaderError):
    """A password is missing or wrong."""


class UnsupportedError(ReaderError):
    """No reader for this format, or a system package is missing; the message names it."""


@dataclass(frozen=True, slots=True)
class WordBox:
    """One word or run of words: span in the page text, box in points from the page's top left."""

    start: int
    end: int
    x0: float
    y0: float
    x1: float
    y1: float


@dataclass(frozen=True, slots=True)
class WordBoxes(Sequence[WordBox]):
    """Positions in the text of one page, packed (24 bytes each), in the order of the text.

    OCR gives one box a word, a text layer one box a run of words; `PageText.locate` cuts either
    to a span.
    """

    packed: bytes = field(default=b"", repr=False)

    __pydantic_config__ = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    @classmethod
    def of(cls, spans: Iterable[Sequence[int]], boxes: Iterable[Sequence[float]]) -> "WordBoxes":
        """Pack spans (start, end) and as many boxes (x0, y0, x1, y1)."""
        starts = array("i", list(chain.from_iterable(spans)))
        sides = array("f", list(chain.from_iterable(boxes)))
        if len(sides) != 2 * len(starts):
            raise ValueError("as many boxes as spans")
        return cls(starts.tobytes() + sides.tobytes())

    def spans(self) -> np.ndarray:
        """Character spans, shape (n, 2)."""
        return np.frombuffer(self.packed, dtype=np.int32, count=2 * len(self)).reshape(-1, 2)

    def boxes(self) -> np.ndarray:
        """Boxes in points, shape (n, 4)."""
        offset = 8 * len(self)
        return np.frombuffer(self.packed, dtype=np.float32, offset=offset).reshape(-1, 4)

    def __len__(self) -> int:
        return len(self.packed) // 24

    @overload
    def __getitem__(self, index: int) -> WordBox: ...
    @overload
    def __getitem__(self, index: slice) -> "WordBoxes": ...
    def __getitem__(self, index: int | slice) -> "WordBox | WordBoxes":
        spans, boxes = self.spans()[index], self.boxes()[index]
        if isinstance(index, slice):
            return WordBoxes.of(spans.tolist(), boxes.tolist())
        start, end = spans.tolist()
        return WordBox(start, end, *boxes.tolist())

    def __iter__(self) -> Iterator[WordBox]:
        for (start, end), box in zip(self.spans().tolist(), self.boxes().tolist(), strict=True):
            yield WordBox(start, end, *box)

    def covering(self, start: int, end: int) -> tuple[WordBox, ...]:
        """The words or runs that touch the span [start, end) of the page text."""
        spans = self.spans()
        hits = np.flatnonzero((spans[:, 0] < end) & (spans[:, 1] > start))
        return tuple(self[int(index)] for index in hits)


_NARROW = frozenset("iljtfrI.,:;'’|!()[]{}/-· \u00a0")
_BROAD = frozenset("mwMW@%€&")


def _advance(text: str) -> float:
    """Rough width of a text in a proportional font, in units of a usual small letter."""
    narrow = sum(map(_NARROW.__contains__, text))
    broad = sum(map(_BROAD.__contains__, text))
    capitals = sum(map(str.isupper, text))
    return len(text) - 0.45 * narrow + 0.6 * broad + 0.25 * capitals


@dataclass(frozen=True, slots=True)
class PageText:
    """One page, sheet, slide or frame. `quality` is 0 (garbage) to 1 (clean); None = not judged."""

    number: int
    text: str
    method: Method
    quality: float | None = None
    words: WordBoxes | None = None
    width: float | None = None
    height: float | None = None
    title: str = ""
    note: str = ""

    def locate(self, start: int, end: int) -> tuple[WordBox, ...]:
        """Where the span [start, end) stands on the page, one box a line.

        Inside a run of a text layer the ends are estimated from the widths of its letters. Empty
        when the format has no positions.
        """
        if self.words is None:
            return ()
        return tuple(self._clipped(box, start, end) for box in self.words.covering(start, end))

    def _clipped(self, box: WordBox, start: int, end: int) -> WordBox:
        first, last = max(start, box.start), min(end, box.end)
        whole = _advance(self.text[box.start : box.end]) or 1.0
        before = _advance(self.text[box.start : first]) / whole
        after = _advance(self.text[last : box.end]) / whole
        width = box.x1 - box.x0
        return WordBox(first, last, box.x0 + before * width, box.y0, box.x1 - after * width, box.y1)


class EmbeddedRole(StrEnum):
    """Why a file stands inside another."""

    ATTACHMENT = "attachment"
    ARCHIVE_MEMBER = "archive_member"
    EINVOICE = "einvoice"
    CONTENT = "content"


@dataclass(frozen=True, slots=True)
class Embedded:
    """A file found inside. `stored` is its name below `embedded_dir`, None when it was not kept.

    `name` is the sender's name, made of any text, and never a path to write to. A file that was not
    kept always says why in `reason`.
    """

    name: str
    media_type: str
    family: Family
    role: EmbeddedRole
    size: int
    sha256: str
    stored: str | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a file says of itself; every field may be empty and none is believed by anybody."""

    title: str = ""
    author: str = ""
    created: str = ""
    producer: str = ""
    page_count: int | None = None
    encrypted: bool = False
    password_index: int | None = None
    signed: bool = False
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class Extraction:
    """The outcome for one file; every status but `complete` carries a reason."""

    status: Status
    reason: str = ""
    pages: tuple[PageText, ...] = ()
    engine: str = ""
    engine_version: str = ENGINE_VERSION
    embedded: tuple[Embedded, ...] = ()
    facts: Facts = field(default_factory=Facts)
    einvoice: EInvoice | None = None

    @property
    def text(self) -> str:
        """The text of all pages, joined by `PAGE_BREAK`."""
        return PAGE_BREAK.join(page.text for page in self.pages)

    def to_json(self) -> bytes:
        """UTF-8 JSON for the process border and the cache."""
        return _adapter().dump_json(self, exclude_defaults=True)

    @staticmethod
    def from_json(raw: bytes) -> "Extraction":
        """Inverse of `to_json`. Raises ValueError on anything else."""
        return _adapter().validate_json(raw)


@functools.cache
def _adapter() -> TypeAdapter[Extraction]:
    return TypeAdapter(Extraction)


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """Bounds for unpacking: nesting, number of members, sizes in bytes, inflation ratio."""

    depth: int = 2
    members: int = 2000
    member_bytes: int = 512 * 2**20
    total_bytes: int = 2 * 2**30
    ratio: int = 200


@dataclass(frozen=True, slots=True)
class ExtractionSettings:
    """How files are read. `embedded_dir` None keeps no embedded bytes (they are only listed).

    Sizes are bytes or pixels, times seconds. `extra_languages` are used only when a page gives
    evidence for them. `tessdata` None searches the places where Debian and Tesseract put it.
    `file_name` is what the sender called the file where its path does not say so (a blob's path is
    its hash): nameless content, as in a `.gz`, is called after it.
    """

    languages: tuple[str, ...] = ("deu", "fra", "eng")
    extra_languages: tuple[str, ...] = ("ita", "rus")
    passwords: tuple[str, ...] = field(default=(), repr=False)
    ocr: bool = True
    dpi: int = 200
    ocr_pixels: int = 12_000_000
    decode_bytes: int = 480 * 2**20
    page_ocr_seconds: float = 90.0
    budget_seconds: float = 540.0
    max_pages: int = 2000
    max_chars: int = 10_000_000
    embedded_dir: Path | None = None
    tessdata: Path | None = None
    archive: ArchiveLimits = field(default_factory=ArchiveLimits)
    file_name: str = ""

    def name_of(self, source: Path) -> str:
        """What the file is called."""
        return self.file_name or source.name

    def to_json(self) -> bytes:
        """UTF-8 JSON; holds the passwords, so it goes through pipes and never to a log."""
        return _settings_adapter().dump_json(self)

    @staticmethod
    def from_json(raw: bytes) -> "ExtractionSettings":
        """Inverse of `to_json`. Raises ValueError on anything else."""
        return _settings_adapter().validate_json(raw)


@functools.cache
def _settings_adapter() -> TypeAdapter[ExtractionSettings]:
    return TypeAdapter(ExtractionSettings)


def cache_key(content_sha256: str, settings: ExtractionSettings) -> str:
    """Key under which an extraction may be reused: content, engine version, reading settings."""
    told = "|".join(
        (
            content_sha256,
            ENGINE_VERSION,
            "+".join(settings.languages),
            "+".join(settings.extra_languages),
            f"{settings.ocr}{settings.dpi}{settings.ocr_pixels}",
            f"{settings.max_pages}{settings.max_chars}",
            hashlib.sha256("\0".join(settings.passwords).encode()).hexdigest(),
        )
    )
    return hashlib.sha256(told.encode()).hexdigest()
