"""OCR: pixels become words with positions and confidence, by Tesseract inside this process.

Here: language data, engine instances, the first look and the second looks at a poor page (turned,
other script, small letters, photo). Not here: decoding image files (`images`) and the choice
between OCR and a text layer (`pdf`).
"""

import functools
import os
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

from tgv_dagster.understand.extracted import ExtractionSettings, ReaderError, UnsupportedError
from tgv_dagster.understand.layout import Laid, lay_out
from tgv_dagster.understand.readers.bounded import TimeLimitError, in_child
from tgv_dagster.understand.text_quality import score

# More than one thread per page costs many times its CPU under load.
os.environ.setdefault("OMP_THREAD_LIMIT", "1")

_TESSDATA = ("/usr/share/tesseract-ocr/5/tessdata", "/usr/share/tesseract-ocr/4.00/tessdata",
             "/usr/share/tessdata", "/usr/local/share/tessdata")  # fmt: skip
LAST_PAGE_SECONDS = 30.0
"""How far the last page of a document may reach beyond the document's time."""
_LOOK_CPU_SECONDS = 30
_SURE = 0.85
_FAIR = 0.62
_LEGIBLE = 0.3
_SMALL_LETTERS = 15
_SAUVOLA = "2"
_READ_SCRIPTS = {"Latin", "Cyrillic", "Fraktur", "Common"}
_FOREIGN_FACTOR = 0.4
_ITALIAN = frozenset(
    [
        "il",
        "della",
        "che",
        "di",
        "è",
        "gli",
        "del",
        "alla",
        "nel",
        "sono",
        "una",
        "con",
        "per",
        "lo",
        "dei",
        "delle",
    ]
)
_NOT_ITALIAN = frozenset(
    ["der", "die", "und", "le", "les", "des", "et", "the", "of", "and", "la", "du", "est", "pour"]
)


@dataclass(frozen=True, slots=True)
class Recognised:
    """Words of one image: boxes (n, 4) in its pixels, confidences 0 to 1, line numbers.

    `turned` is by how many degrees clockwise the image had to be turned to be upright; the boxes
    belong to the turned image. `slope` is by how much the lines fall (y per x) in it.
    """

    words: list[str]
    boxes: np.ndarray
    confidences: np.ndarray
    lines: np.ndarray
    turned: int = 0
    slope: float = 0.0
    remark: str = ""

    @property
    def confidence(self) -> float:
        """Mean confidence, weighted by the length of the words; 0.0 without words."""
        weights = np.fromiter(map(len, self.words), dtype=float, count=len(self.words))
        return float((self.confidences * weights).sum() / weights.sum()) if self.words else 0.0

    @property
    def worth(self) -> float:
        """How many characters were read with fair confidence: the measure to choose looks by."""
        weights = np.fromiter(map(_solid, self.words), dtype=float, count=len(self.words))
        return float((weights * np.clip(self.confidences - 0.4, 0, None)).sum())

    def legible(self) -> "Recognised":
        """Without the words that are noise."""
        return self.only(np.flatnonzero(self.confidences >= _LEGIBLE))

    def only(self, keep: np.ndarray) -> "Recognised":
        """The words with these indexes."""
        return Recognised(
            [self.words[index] for index in keep.tolist()],
            self.boxes[keep],
            self.confidences[keep],
            self.lines[keep],
            self.turned,
            self.slope,
            self.remark,
        )

    def upright(self, width: float, height: float) -> np.ndarray:
        """The boxes on the image as it came, whose size is given, before it was turned."""
        x0, y0, x1, y1 = self.boxes.T
        if self.turned == 90:
            return np.stack((y0, height - x1, y1, height - x0), axis=1)
        if self.turned == 180:
            return np.stack((width - x1, height - y1, width - x0, height - y0), axis=1)
        if self.turned == 270:
            return np.stack((width - y1, x0, width - y0, x1), axis=1)
        return self.boxes

    def laid(self) -> Laid:
        """The words in reading order."""
        boxes = _straightened(_line_heights(self.boxes, self.lines), self.slope)
        return lay_out(self.words, self.lines.tolist(), boxes.tolist())

    def quality(self, text: str) -> float:
        """Confidence, lowered when the text does not look like language."""
        foreign = _FOREIGN_FACTOR if self.remark else 1.0
        return round(self.confidence * (0.4 + 0.6 * score(text)) * foreign, 3)


def _solid(word: str) -> int:
    return sum(map(str.isalnum, word)) if len(word) > 1 else 0


def _line_heights(boxes: np.ndarray, lines: np.ndarray) -> np.ndarray:
    """Words without ascenders make low boxes: each gets at least its line's usual height."""
    if not len(boxes):
        return boxes
    even = boxes.copy()
    for line in np.unique(lines):
        here = np.flatnonzero(lines == line)
        usual = np.sort(boxes[here, 3] - boxes[here, 1])[(len(here) * 3) // 4]
        missing = np.clip(usual - (boxes[here, 3] - boxes[here, 1]), 0, None)
        even[here, 1] -= missing
    return even


def _straightened(boxes: np.ndarray, slope: float) -> np.ndarray:
    """Undo the slant of the page, so that what stands in one row has one height."""
    if not 0.003 < abs(slope) < 0.3 or not len(boxes):
        return boxes
    straight = boxes.copy()
    shift = slope * (boxes[:, 0] + boxes[:, 2]) / 2
    straight[:, 1] -= shift
    straight[:, 3] -= shift
    return straight


def tessdata_dir(settings: ExtractionSettings) -> Path | None:
    """The folder with language data: setting, environment, or the usual places."""
    if settings.tessdata is not None:
        return settings.tessdata
    named = os.environ.get("TESSDATA_PREFIX")
    places = [*([named, f"{named}/tessdata"] if named else []), *_TESSDATA]
    return next((Path(p) for p in places if any(Path(p).glob("*.traineddata"))), None)


def require_languages(settings: ExtractionSettings, languages: tuple[str, ...]) -> Path:
    """The language folder. Raises UnsupportedError naming the packages that are missing."""
    folder = tessdata_dir(settings)
    missing = [
        name
        for name in languages
        if folder is None or not (folder / f"{name}.traineddata").is_file()
    ]
    if missing or folder is None:
        packages = ", ".join(f"tesseract-ocr-{name.replace('_', '-')}" for name in missing)
        raise UnsupportedError(f"OCR language data is missing, install {packages}")
    return folder


def engine_version() -> str:
    """Version of the Tesseract library."""
    import tesserocr

    return tesserocr.tesseract_version().split("\n")[0].strip()


@functools.lru_cache(maxsize=3)
def _engine(folder: Path, languages: tuple[str, ...]):
    import tesserocr

    return tesserocr.PyTessBaseAPI(
        path=f"{folder}/", lang="+".join(languages), psm=tesserocr.PSM.AUTO
    )


@dataclass(slots=True)
class OcrSession:
    """OCR of the pages of one document; what one page taught (language) helps the next.

    `until` is when the document has to be done (monotonic seconds): no page is read beyond it.
    """

    settings: ExtractionSettings
    languages: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    until: float = float("inf")
    deadline: float = 0.0

    def __post_init__(self) -> None:
        self.languages = self.languages or self.settings.languages

    def read(self, gray: np.ndarray, dpi: int) -> Recognised:
        """Recognise an 8-bit image (height, width). Raises UnsupportedError, ReaderError.

        All looks at a page share `page_ocr_seconds`, at which the engine is killed; what was read
        until then counts, and a page without any such look has failed. Dots over the page are
        taken away before. Texture without paper (grass, noise) costs the engine minutes: it is read
        at half or a quarter of its size, the first that is calm, or not at all.
        """
        require_languages(self.settings, self.languages)
        self.deadline = min(time.monotonic() + self.settings.page_ocr_seconds, self.until)
        calm = without_dots(gray)
        if not (is_texture(calm) or is_speckled(calm)):
            return self._read(calm, dpi)
        for factor in _CALMING:
            small = np.asarray(Image.fromarray(calm).reduce(factor))
            if not (is_texture(small, factor) or is_speckled(small)):
                return _shrunk(self._read(small, max(70, dpi // factor)), 1 / factor)
        return _NOTHING

    def _read(self, gray: np.ndarray, dpi: int) -> Recognised:
        photo = is_photo(gray)
        first = self._look(level_light(gray) if photo else gray, dpi, self.languages, photo=photo)
        if first.words and first.confidence >= _SURE:
            return self._other_language(gray, dpi, first)
        if first.words and first.confidence >= _FAIR:
            return self._larger(gray, dpi, first)
        if self._left() < self.settings.page_ocr_seconds / 2:
            return first
        return self._second_looks(gray, dpi, first)

    def _left(self) -> float:
        """Seconds left for looks at this page."""
        return self.deadline - time.monotonic()

    def _second_looks(self, gray: np.ndarray, dpi: int, first: Recognised) -> Recognised:
        """Turn, change the script, enlarge, level the light: what the page gives evidence for."""
        turned, script = self._orientation(gray, dpi)
        upright = np.ascontiguousarray(np.rot90(gray, -turned // 90)) if turned else gray
        best = first
        if script == "Cyrillic" and "rus" in self.settings.extra_languages:
            languages = ("rus", *(name for name in self.languages if name == "eng"))
            require_languages(self.settings, languages)
            best = self._try(best, upright, dpi, languages, turned=turned)
            self.languages = languages if best is not first else self.languages
        if turned and best is first:
            best = self._try(best, upright, dpi, self.languages, turned=turned)
        if best.confidence >= _SURE:
            return best
        best = self._larger(upright, dpi, best)
        if best.confidence < _FAIR:
            lit = level_light(upright)
            best = self._try(best, lit, dpi, self.languages, turned=turned, photo=True)
        if script and script not in _READ_SCRIPTS:
            return replace(best, remark=f"script {script} is not among the OCR languages")
        return best

    def _larger(self, gray: np.ndarray, dpi: int, best: Recognised) -> Recognised:
        """Look again at twice or three times the size when the letters are small."""
        factor = _enlargement(best, gray, self.settings.ocr_pixels)
        if factor == 1:
            return best
        larger = _enlarge(gray, factor)
        return self._try(
            best, larger, dpi * factor, self.languages, turned=best.turned, factor=factor
        )

    def _other_language(self, gray: np.ndarray, dpi: int, first: Recognised) -> Recognised:
        """Italian reads fairly with the French data: look again when the words are Italian."""
        if "ita" in self.languages or "ita" not in self.settings.extra_languages:
            return first
        folded = [word.lower() for word in first.words]
        hits = sum(map(_ITALIAN.__contains__, folded))
        if hits < 5 or hits < 2 * sum(map(_NOT_ITALIAN.__contains__, folded)):
            return first
        languages = ("ita", *(n for n in self.languages if n == "eng"))
        require_languages(self.settings, languages)
        self.languages = languages
        return self._try(first, gray, dpi, languages)

    def _try(
        self,
        best: Recognised,
        gray: np.ndarray,
        dpi: int,
        languages: tuple[str, ...],
        *,
        turned: int = 0,
        photo: bool = False,
        factor: int = 1,
    ) -> Recognised:
        """The better of what is known and another look; a look that takes too long is none."""
        try:
            look = self._look(gray, dpi, languages, turned=turned, photo=photo)
        except TimeLimitError:
            return best
        return _better(best, look if factor == 1 else _shrunk(look, factor))

    def _orientation(self, gray: np.ndarray, dpi: int) -> tuple[int, str]:
        """Degrees to turn clockwise, and the script; (0, "") when the engine cannot tell."""
        folder = require_languages(self.settings, ("osd",))
        engine = _engine(folder, ("osd",))

        def detect() -> dict | None:
            _set_image(engine, gray, dpi)
            return engine.DetectOrientationScript()

        try:
            told = in_child(detect, self._left(), _LOOK_CPU_SECONDS)
        except TimeLimitError:
            return 0, ""
        if not told or told["orient_conf"] < 1.0:
            return 0, ""
        script = str(told["script_name"]) if told["script_conf"] >= 1.5 else ""
        return -int(told["orient_deg"]) % 360, script

    def _look(
        self,
        gray: np.ndarray,
        dpi: int,
        languages: tuple[str, ...],
        *,
        turned: int = 0,
        photo: bool = False,
    ) -> Recognised:
        engine = _engine(require_languages(self.settings, languages), languages)

        def recognise() -> tuple[Recognised, float, bool]:
            engine.SetVariable("thresholding_method", _SAUVOLA if photo else "0")
            _set_image(engine, gray, dpi)
            if not engine.Recognize():
                raise ReaderError("the OCR engine could not read the page")
            return _parse(engine.GetTSVText(0), turned), *_direction(engine)

        found, slope, downwards = in_child(recognise, self._left(), _LOOK_CPU_SECONDS)
        if downwards and not turned:
            return _turned_up(found, gray.shape[1])
        return replace(found, slope=slope)


def _direction(engine) -> tuple[float, bool]:
    """The usual slope of the blocks, and whether most text runs from top to bottom."""
    import tesserocr

    blocks = engine.GetIterator()
    slopes: list[float] = []
    downwards = 0
    while blocks is not None:
        _, writing, _, slope = blocks.Orientation()
        slopes.append(slope)
        downwards += writing == tesserocr.WritingDirection.TOP_TO_BOTTOM
        if not blocks.Next(tesserocr.RIL.BLOCK):
            break
    return float(np.median(slopes or [0.0])), downwards > len(slopes) / 2


def _turned_up(found: Recognised, width: int) -> Recognised:
    """Tesseract reads a sheet that lies on its right side without turning it: turn the boxes."""
    x0, y0, x1, y1 = found.boxes.T
    boxes = np.stack((y0, width - x1, y1, width - x0), axis=1)
    return replace(found, boxes=boxes, turned=270)


def _set_image(engine, gray: np.ndarray, dpi: int) -> None:
    height, width = gray.shape
    engine.SetImageBytes(gray.tobytes(), width, height, 1, width)
    engine.SetSourceResolution(max(70, min(2400, dpi)))


def _parse(table: str, turned: int) -> Recognised:
    """Tesseract's TSV: level, page, block, paragraph, line, word, box, confidence, text."""
    words: list[str] = []
    rows: list[tuple[float, float, float, float, float]] = []
    lines: list[int] = []
    line = -1
    for record in table.splitlines():
        cells = record.split("\t", 11)
        if len(cells) < 12 or cells[0] != "5":
            line += cells[0] == "4"
            continue
        if not (text := cells[11].strip()):
            continue
        left, top, width, height = map(float, cells[6:10])
        words.append(text)
        rows.append((left, top, left + width, top + height, float(cells[10]) / 100))
        lines.append(line)
    table_of = np.array(rows, dtype=float).reshape(-1, 5)
    return Recognised(words, table_of[:, :4], table_of[:, 4], np.array(lines, dtype=int), turned)


def _better(one: Recognised, other: Recognised) -> Recognised:
    return other if other.worth > one.worth else one


def _enlargement(look: Recognised, gray: np.ndarray, most: int) -> int:
    """2 or 3 when the letters are too small for the engine and the page stays within bounds."""
    if not len(look.boxes):
        heights = _SMALL_LETTERS if gray.size < 400_000 else 99
    else:
        heights = float(np.median(look.boxes[:, 3] - look.boxes[:, 1]))
    factor = 3 if heights < 10 else 2 if heights <= _SMALL_LETTERS else 1
    return factor if gray.size * factor * factor <= most else 1


def _enlarge(gray: np.ndarray, factor: int) -> np.ndarray:
    height, width = gray.shape
    size = (width * factor, height * factor)
    return np.asarray(Image.fromarray(gray).resize(size, Image.Resampling.BICUBIC))


def _shrunk(look: Recognised, factor: float) -> Recognised:
    return replace(look, boxes=look.boxes / factor)


_CALMING = (2, 4)
_DOTS = 3
_TILE, _EDGE, _ROUGH, _CALM, _LARGE = 64, 40, 0.1, 0.02, 1_000_000
_NOTHING = Recognised([], np.empty((0, 4)), np.empty(0), np.empty(0, dtype=int))


def is_texture(gray: np.ndarray, reduced: int = 1) -> bool:
    """Whether edges cover a large picture everywhere: even the fullest page has calm paper.

    `reduced` is by how much the picture was made smaller before.
    """
    large = gray.size * reduced * reduced >= _LARGE
    return large and _roughness(gray, _TILE // reduced) > (_ROUGH if reduced == 1 else _CALM)


def without_dots(gray: np.ndarray) -> np.ndarray:
    """The picture, and where dots or texture cover a large one, what a small median leaves of it.

    Dots cost the engine minutes and turn letters into others; a clean page is left as it is.
    """
    texture = is_texture(gray)
    if not (texture or is_speckled(gray)):
        return gray
    picture = Image.fromarray(gray)
    calm = np.asarray(picture.filter(ImageFilter.MedianFilter(3)))
    if texture or not is_speckled(calm, 1):
        return calm
    return np.asarray(picture.filter(ImageFilter.MedianFilter(5)))


def is_speckled(gray: np.ndarray, least: int = _DOTS) -> bool:
    """Whether dots that stand alone lie nearly everywhere in a large picture.

    `least` is how many of their pixels count in the calmest fifth of tiles of 64 × 64.
    """
    if gray.size < _LARGE:
        return False
    rows, columns = (np.arange(0, side - _TILE + 1, _TILE) for side in gray.shape)
    if not len(rows) or not len(columns):
        return False
    rows, columns = rows[:: 1 + len(rows) // 24], columns[:: 1 + len(columns) // 24]
    tiles = np.stack(
        [gray[y : y + _TILE, x : x + _TILE] for y in rows.tolist() for x in columns.tolist()]
    ).astype(np.int16)
    dark = np.median(tiles, axis=(1, 2), keepdims=True) - tiles > _EDGE
    near, around = _window_sums(dark, 7)[:, 2:-2, 2:-2], _window_sums(dark, 11)
    alone = dark[:, 5:-5, 5:-5] & (near == around)
    return float(np.percentile(alone.sum(axis=(1, 2)), 20)) >= least


def _window_sums(dark: np.ndarray, size: int) -> np.ndarray:
    """How many are dark in each window of size × size, shape (n, height - size + 1, …)."""
    sums = np.pad(dark, ((0, 0), (1, 0), (1, 0))).cumsum(axis=1, dtype=np.int32).cumsum(axis=2)
    upper = sums[:, size:] - sums[:, :-size]
    return upper[:, :, size:] - upper[:, :, :-size]


def _roughness(gray: np.ndarray, tile: int) -> float:
    """Share of edges in the calmest fifth of the tiles."""
    rows, columns = gray.shape[0] // tile, gray.shape[1] // tile
    if not rows or not columns:
        return 0.0
    part = gray[: rows * tile, : columns * tile]
    edges = np.zeros(part.shape, dtype=bool)
    edges[:, 1:] = np.abs(np.diff(part.astype(np.int16), axis=1)) > _EDGE
    shares = edges.reshape(rows, tile, columns, tile).mean(axis=(1, 3))
    return float(np.percentile(shares, 20))


def is_photo(gray: np.ndarray) -> bool:
    """Whether the paper is unevenly lit or dark, which flat scans are not."""
    blocks = _background(gray)
    if blocks.size < 16:
        return False
    low, high = np.percentile(blocks, (10, 90))
    return bool(high - low > 35 and high < 252) or bool(90 < np.median(blocks) < 165)


def _background(gray: np.ndarray) -> np.ndarray:
    """Brightness of the paper in a coarse grid: the bright tenth of each block."""
    height, width = gray.shape
    step = max(8, min(height, width) // 24)
    rows, columns = height // step, width // step
    if not rows or not columns:
        return np.empty(0)
    thin = gray[: rows * step, : columns * step]
    skip = max(1, step // 8)
    cells = thin.reshape(rows, step, columns, step)[:, ::skip, :, ::skip]
    return np.percentile(cells, 90, axis=(1, 3))


def level_light(gray: np.ndarray) -> np.ndarray:
    """Divide by the light on the paper, so that shadows do not swallow letters."""
    height, width = gray.shape
    scale = max(1, max(height, width) // 400)
    small = Image.fromarray(gray).resize(
        (max(1, width // scale), max(1, height // scale)), Image.Resampling.BOX
    )
    paper = small.filter(ImageFilter.MaxFilter(9)).filter(ImageFilter.GaussianBlur(7))
    light = np.asarray(paper.resize((width, height), Image.Resampling.BILINEAR), dtype=np.float32)
    even = gray.astype(np.float32) * (255.0 / np.maximum(light, 1.0))
    return np.clip(even, 0, 255).astype(np.uint8)
