"""The text layer of one PDF page: runs of text, their boxes, and what else is drawn on the page.

Here: PDFium's raw interface, called in bulk because one wrapped call per character would cost more
than the reading itself; plain lists, because a page has some dozen runs. Not here: documents, OCR,
and the choice between layers (`pdf`).
"""

import ctypes
import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, repeat
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from tgv_dagster.arrive.decoding import clean_text, must_clean
from tgv_dagster.understand.layout import HYPHEN, Laid, lay_out
from tgv_dagster.understand.text_quality import score

_GAP = 1.2
_WIDE_PER_CHAR, _NARROW_PER_CHAR, _WIDER = 0.7, 0.4, 1.12
_LONG_RUN = 60
_COLUMN_LINES = 8
_BATCH = 4096
_MOST_OBJECTS = 20_000
_MOST_ANNOTATIONS = 2000
_FORM_DEPTH = 4

# PDFium joins a word over a line end with a mark instead of a line break.
_RUN = re.compile(f"[^ \\t\\r\\n{HYPHEN}][^\\r\\n{HYPHEN}]*{HYPHEN}?")
_FROM_RIGHT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")

# Annotations that carry text of their own: form fields, typewriter notes, stamps.
WRITTEN_ANNOTATIONS = {raw.FPDF_ANNOT_WIDGET, raw.FPDF_ANNOT_FREETEXT, raw.FPDF_ANNOT_STAMP}
_PICTURE_KINDS = {raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_FORM}

_FLOATS = (ctypes.c_float * (4 * _BATCH))()
_ADDRESS = ctypes.addressof(_FLOATS)
_ADDRESSES = range(_ADDRESS, _ADDRESS + 16 * _BATCH, 16)

Box = tuple[float, float, float, float]
_Ends = tuple[float, float, float, float, float, float, float, float]


def _fast(function: object, result: type, *arguments: type) -> Callable[..., Any]:
    """The same function with plain addresses as arguments: half the cost of typed pointers."""
    address = ctypes.cast(function, ctypes.c_void_p).value  # pyright: ignore[reportArgumentType]
    assert address
    return ctypes.PYFUNCTYPE(result, *arguments)(address)


_INT, _ADR = ctypes.c_int, ctypes.c_void_p
_box_of = _fast(raw.FPDFText_GetLooseCharBox, _INT, _ADR, _INT, _ADR)
_text_of = _fast(raw.FPDFText_GetText, _INT, _ADR, _INT, _INT, _ADR)
_count_of = _fast(raw.FPDFText_CountChars, _INT, _ADR)
_char_of = _fast(raw.FPDFText_GetCharIndexFromTextIndex, _INT, _ADR, _INT)
_is_made_up = _fast(raw.FPDFText_IsGenerated, _INT, _ADR, _INT)
_angle_of = _fast(raw.FPDFText_GetCharAngle, ctypes.c_float, _ADR, _INT)
_load_text = _fast(raw.FPDFText_LoadPage, _ADR, _ADR)
_close_text = _fast(raw.FPDFText_ClosePage, None, _ADR)  # pyright: ignore[reportArgumentType]
_object_of = _fast(raw.FPDFPage_GetObject, _ADR, _ADR, _INT)
_kind_of = _fast(raw.FPDFPageObj_GetType, _INT, _ADR)


@dataclass(frozen=True, slots=True)
class Layer:
    """The text of a page in runs (drawn lines, cut at wide gaps) with boxes in points.

    The origin is the top left of the upright page. `layout_boxes` are the same boxes turned so
    that the text runs from left to right. Single words get no boxes here: asking PDFium for them
    costs as much as reading the page.
    """

    runs: list[str]
    lines: Sequence[int]
    boxes: list[Box]
    layout_boxes: list[Box]
    quality: float

    @property
    def chars(self) -> int:
        """Visible characters, nearly."""
        return sum(map(len, self.runs))

    def laid(self) -> Laid:
        """The runs in reading order."""
        return lay_out(self.runs, self.lines, self.layout_boxes)


@dataclass(frozen=True, slots=True)
class Placement:
    """How page coordinates become points from the top left of the upright page."""

    matrix: tuple[float, float, float, float, float, float]
    width: float
    height: float

    def box(self, left: float, top: float, right: float, bottom: float) -> Box:
        """Map one rectangle of the page."""
        a, b, c, d, e, f = self.matrix
        xs = (a * left + c * top + e, a * right + c * bottom + e)
        ys = (b * left + d * top + f, b * right + d * bottom + f)
        return min(xs), min(ys), max(xs), max(ys)


def placement(page: pdfium.PdfPage) -> Placement:
    """Read rotation, crop box and size of the page once."""
    width, height = raw.FPDF_GetPageWidthF(page), raw.FPDF_GetPageHeightF(page)
    x, y = ctypes.c_int(), ctypes.c_int()

    def device(px: float, py: float) -> tuple[float, float]:
        raw.FPDF_PageToDevice(page, 0, 0, round(width * 16), round(height * 16), 0, px, py, x, y)
        return x.value / 16, y.value / 16

    e, f = device(0, 0)
    if raw.FPDFPage_GetRotation(page) == 0:
        return Placement((1.0, 0.0, 0.0, -1.0, e, f), width, height)
    right, up = device(1000, 0), device(0, 1000)
    linear = (right[0] - e, right[1] - f, up[0] - e, up[1] - f)
    a, b, c, d = (round(value / 1000, 3) for value in linear)
    return Placement((a, b, c, d, e, f), width, height)


def read_layer(page: pdfium.PdfPage, place: Placement) -> Layer:
    """Read the text layer. Raises pdfium.PdfiumError when PDFium cannot."""
    handle = _load_text(_address(page.raw))
    if not handle:
        raise pdfium.PdfiumError("no text page")
    try:
        return _read(handle, place)
    finally:
        _close_text(handle)


def _address(pointer) -> int:
    return ctypes.cast(pointer, ctypes.c_void_p).value or 0


def _read(handle: int, place: Placement) -> Layer:
    text, chars = _text(handle)
    spans, runs = _drawn_lines(text)
    if not runs:
        return Layer([], [], [], [], 0.0)
    quality = score(text.replace(HYPHEN, "-") if HYPHEN in text else text)
    ends = chars.ends(spans, runs)
    stacked = [index for index, end in enumerate(ends) if _runs_down(chars, spans[index], end)]
    if stacked:
        spans, runs = _unstacked(chars, text, spans, stacked)
        ends = chars.ends(spans, runs)
    lines: Sequence[int] = range(len(runs))
    gapped = _gapped(runs, ends)
    if _set_in_columns(chars, spans, runs):
        gapped = sorted({*gapped, *_long(runs)})
    if gapped:
        runs, ends, lines = _cut(chars, spans, runs, ends, gapped)
    boxes, turned = _boxes(ends, place, runs)
    if must_clean(text):
        runs = [_cleaned(run) for run in runs]
    return Layer(runs, lines, boxes, turned, quality)


def _drawn_lines(text: str) -> tuple[list[tuple[int, int]], list[str]]:
    """First and last character of each drawn line, and the line."""
    spans: list[tuple[int, int]] = []
    runs: list[str] = []
    if HYPHEN in text:
        found = ((match.start(), match.group()) for match in _RUN.finditer(text))
    else:
        lines = text.split("\r\n")
        found = zip(accumulate((len(line) + 2 for line in lines), initial=0), lines, strict=False)
    for start, line in found:
        run = line.strip(" \t\r\n")
        if not run or run.isspace():
            continue
        first = start if line[0] == run[0] else start + line.index(run[0])
        spans.append((first, first + len(run) - 1))
        runs.append(run)
    return spans, runs


def _cleaned(run: str) -> str:
    """The hyphen mark is a non-character that cleaning would take away: the layout needs it."""
    return (clean_text(run) or "\ufffd") + (HYPHEN if run.endswith(HYPHEN) else "")


@dataclass(frozen=True, slots=True)
class _Chars:
    """Boxes of characters by their position in the text; `numbers` None: both count alike."""

    handle: int
    numbers: list[int] | None

    def ends(self, spans: list[tuple[int, int]], runs: list[str]) -> list[_Ends]:
        """Left, top, right, bottom of the first and of the last character of each run."""
        wanted: list[int] = []
        for (first, last), run in zip(spans, runs, strict=True):
            wanted.append(first)
            # The mark of a joined word has no box of its own.
            wanted.append(last - 1 if run[-1] == HYPHEN and last > first else last)
        found = self._sides(wanted)
        return list(zip(*(found[k::8] for k in range(8)), strict=True))

    def boxes(self, places: list[int]) -> list[Box]:
        """Left, top, right, bottom of single characters."""
        found = self._sides(places)
        return list(zip(*(found[k::4] for k in range(4)), strict=True))

    def made_up(self, places: list[int]) -> list[int]:
        """Which characters PDFium put in between; they are in no font and have no box."""
        return list(map(_is_made_up, repeat(self.handle), self._numbered(places)))

    def _numbered(self, places: list[int]) -> list[int]:
        if self.numbers is None:
            return places
        return list(map(_char_of, repeat(self.handle), [self.numbers[i] for i in places]))

    def _sides(self, places: list[int]) -> list[float]:
        wanted = self._numbered(places)
        found: list[float] = []
        for at in range(0, len(wanted), _BATCH):
            part = wanted[at : at + _BATCH]
            ctypes.memset(_ADDRESS, 0, 16 * len(part))
            deque(map(_box_of, repeat(self.handle), part, _ADDRESSES), maxlen=0)
            found += _FLOATS[: 4 * len(part)]
        return found


def _text(handle: int) -> tuple[str, _Chars]:
    count = _count_of(handle)
    if count <= 0:
        return "", _Chars(handle, None)
    buffer = ctypes.create_string_buffer((count + 1) * 2)
    got = max(0, _text_of(handle, 0, count, ctypes.addressof(buffer)) - 1)
    text = buffer.raw[: got * 2].decode("utf-16-le", "surrogatepass")
    if got == count == len(text):
        return text, _Chars(handle, None)
    # Positions count UTF-16 units, of which astral characters take two.
    return text, _Chars(handle, [0, *accumulate(1 + (char > "\uffff") for char in text)])


def _runs_down(chars: "_Chars", span: tuple[int, int], end: _Ends) -> bool:
    """Whether upright letters stand one below the other: PDFium takes narrow columns for lines."""
    if abs(end[1] - end[5]) <= 0.8 * (end[1] - end[3]):
        return False
    first = span[0] if chars.numbers is None else _char_of(chars.handle, chars.numbers[span[0]])
    return abs(_angle_of(chars.handle, first)) < 0.1


def _unstacked(
    chars: "_Chars", text: str, spans: list[tuple[int, int]], stacked: list[int]
) -> tuple[list[tuple[int, int]], list[str]]:
    """Cut such runs where the letters leave their line."""
    cut: list[tuple[int, int]] = []
    for index, (first, last) in enumerate(spans):
        if index not in stacked:
            cut.append((first, last))
            continue
        places = [at for at in range(first, last + 1) if not text[at].isspace()]
        boxes = chars.boxes(places)
        begin = 0
        for at in range(1, len(places) + 1):
            if at < len(places):
                before, after = boxes[at - 1], boxes[at]
                shared = min(before[1], after[1]) - max(before[3], after[3])
                if shared >= 0.5 * min(before[1] - before[3], after[1] - after[3]):
                    continue
            cut.append((places[begin], places[at - 1]))
            begin = at
    return cut, [text[first : last + 1] for first, last in cut]


def _gapped(runs: list[str], ends: list[_Ends]) -> list[int]:
    """Runs in which something may stand apart: those too wide for their letters or wider than the
    page's narrow runs are. Where a page has one, a long run may hide another, so all are looked at.
    """
    widths = [
        (end[6] - end[0]) / ((end[1] - end[3]) * len(run) or 1.0)
        for run, end in zip(runs, ends, strict=True)
    ]
    usual = sorted(widths)[len(widths) // 3]
    limit = min(_WIDE_PER_CHAR, max(_NARROW_PER_CHAR, _WIDER * usual))
    spaced = [index for index, run in enumerate(runs) if " " in run]
    return spaced if any(widths[index] > limit for index in spaced) else []


def _long(runs: list[str]) -> list[int]:
    return [index for index, run in enumerate(runs) if len(run) >= _LONG_RUN]


def _set_in_columns(chars: _Chars, spans: list[tuple[int, int]], runs: list[str]) -> bool:
    """Whether two columns drawn row by row were taken for one: a look at a long line tells."""
    long = _long(runs)
    if len(long) < _COLUMN_LINES:
        return False
    middle = long[len(long) // 2]
    return bool(_gaps(chars, [(spans[middle][0], runs[middle])])[0])


def _cut(
    chars: _Chars,
    spans: list[tuple[int, int]],
    runs: list[str],
    ends: list[_Ends],
    gapped: list[int],
) -> tuple[list[str], list[_Ends], list[int]]:
    """Cut the gapped runs at wide gaps between their words; line numbers tell what was one."""
    gaps = dict(zip(gapped, _gaps(chars, [(spans[i][0], runs[i]) for i in gapped]), strict=True))
    new_runs: list[str] = []
    new_ends: list[_Ends] = []
    lines: list[int] = []
    for index, run in enumerate(runs):
        begin, left = 0, ends[index][:4]
        for at, before, after in gaps.get(index, ()):
            new_runs.append(run[begin:at])
            new_ends.append((*left, *before))
            lines.append(index)
            begin, left = at + 1, after
        new_runs.append(run[begin:])
        new_ends.append((*left, *ends[index][4:]))
        lines.append(index)
    return new_runs, new_ends, lines


def _gaps(chars: _Chars, runs: list[tuple[int, str]]) -> list[list[tuple[int, Box, Box]]]:
    """Wide gaps of each run (its start in the text, and it): place of the blank, boxes around it.

    Only blanks that PDFium made up between separately drawn pieces can be wide.
    """
    blanks = [
        (number, start, at) for number, (start, run) in enumerate(runs) for at in _blanks(run)
    ]
    made = chars.made_up([start + at for _, start, at in blanks])
    blanks = [blank for blank, is_made in zip(blanks, made, strict=True) if is_made]
    around = chars.boxes(
        [side for _, start, at in blanks for side in (start + at - 1, start + at + 1)]
    )
    found: list[list[tuple[int, Box, Box]]] = [[] for _ in runs]
    for place, (number, _, at) in enumerate(blanks):
        before, after = around[2 * place], around[2 * place + 1]
        tall = min(before[1] - before[3], after[1] - after[3])
        if after[0] - before[2] > _GAP * tall:
            found[number].append((at, before, after))
    return found


def _blanks(run: str) -> list[int]:
    """Places of single blanks inside the run."""
    places: list[int] = []
    at = run.find(" ")
    while at > 0:
        if run[at - 1] != " " and run[at + 1] != " ":
            places.append(at)
        at = run.find(" ", at + 1)
    return places


def _boxes(ends: list[_Ends], place: Placement, runs: list[str]) -> tuple[list[Box], list[Box]]:
    """Boxes on the upright page, and the same turned so that most text runs to the right."""
    a, b, c, d, e, f = place.matrix
    boxes: list[Box] = []
    across = down = rightwards = downwards = 0.0
    upright = a == 1.0 and d == -1.0
    for l0, t0, r0, b0, l1, t1, r1, b1 in ends:
        if r1 <= l1:
            l1, t1, r1, b1 = l0, t0, r0, b0
        if upright:
            boxes.append(
                (
                    e + (l0 if l0 < l1 else l1),
                    f - (t0 if t0 > t1 else t1),
                    e + (r1 if r1 > r0 else r0),
                    f - (b1 if b1 < b0 else b0),
                )
            )
        else:
            x0, y0, x1, y1 = place.box(l0, t0, r0, b0)
            x2, y2, x3, y3 = place.box(l1, t1, r1, b1)
            boxes.append((min(x0, x2), min(y0, y2), max(x1, x3), max(y1, y3)))
        run_x, run_y = l1 - l0, t1 - t0
        x, y = a * run_x + c * run_y, b * run_x + d * run_y
        across, down = across + abs(x), down + abs(y)
        rightwards, downwards = rightwards + x, downwards + y
    if down > across:
        return boxes, [_aside(box, upwards=downwards < 0) for box in boxes]
    if rightwards < -0.5 * across and not any(map(_FROM_RIGHT.search, runs)):
        return boxes, [(-x1, -y1, -x0, -y0) for x0, y0, x1, y1 in boxes]
    return boxes, boxes


def _aside(box: Box, *, upwards: bool) -> Box:
    x0, y0, x1, y1 = box
    return (-y1, x0, -y0, x1) if upwards else (y0, -x1, y1, -x0)


def pictures(page: pdfium.PdfPage, place: Placement) -> list[Box]:
    """Boxes of the raster images on the page, also inside forms."""
    total = min(raw.FPDFPage_CountObjects(page), _MOST_OBJECTS)
    objects = map(_object_of, repeat(_address(page.raw)), range(total))
    found: list[Box] = []
    for index, kind in enumerate(map(_kind_of, objects)):
        if kind in _PICTURE_KINDS:
            _collect(raw.FPDFPage_GetObject(page, index), kind, _IDENTITY, 0, found)
    return [place.box(*rect) for rect in found]


_Matrix = tuple[float, float, float, float, float, float]
_IDENTITY: _Matrix = (1, 0, 0, 1, 0, 0)


def _collect(item, kind: int, above: _Matrix, depth: int, found: list[Box]) -> None:
    if kind == raw.FPDF_PAGEOBJ_IMAGE:
        found.append(_image_rect(item, above))
    elif kind == raw.FPDF_PAGEOBJ_FORM and depth < _FORM_DEPTH:
        inner = _times(_matrix(item), above)
        for index in range(min(raw.FPDFFormObj_CountObjects(item), _MOST_OBJECTS)):
            child = raw.FPDFFormObj_GetObject(item, index)
            _collect(child, raw.FPDFPageObj_GetType(child), inner, depth + 1, found)


def _matrix(item) -> _Matrix:
    found = raw.FS_MATRIX()
    raw.FPDFPageObj_GetMatrix(item, found)
    return found.a, found.b, found.c, found.d, found.e, found.f


def _times(m: _Matrix, n: _Matrix) -> _Matrix:
    return (
        m[0] * n[0] + m[1] * n[2],
        m[0] * n[1] + m[1] * n[3],
        m[2] * n[0] + m[3] * n[2],
        m[2] * n[1] + m[3] * n[3],
        m[4] * n[0] + m[5] * n[2] + n[4],
        m[4] * n[1] + m[5] * n[3] + n[5],
    )


def _image_rect(item, above: _Matrix) -> Box:
    """An image fills the unit square of its matrix: left, top, right, bottom."""
    a, b, c, d, e, f = _times(_matrix(item), above)
    xs, ys = (e, e + a, e + c, e + a + c), (f, f + b, f + d, f + b + d)
    return min(xs), max(ys), max(xs), min(ys)


def annotations(page: pdfium.PdfPage) -> set[int]:
    """The kinds of annotations on the page (FPDF_ANNOT_...)."""
    kinds: set[int] = set()
    for index in range(min(raw.FPDFPage_GetAnnotCount(page), _MOST_ANNOTATIONS)):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        if annotation:
            kinds.add(raw.FPDFAnnot_GetSubtype(annotation))
            raw.FPDFPage_CloseAnnot(annotation)
    return kinds
