"""A result in the forms people take away: XLSX, PDF, PNG and SVG, each naming question and sources.

Every form carries the sources and their highest level, because it leaves the walls (TAB-03). Does
not belong here: who may have it; `artefacts` asks that.
"""

from __future__ import annotations

import io
from datetime import date
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import openpyxl
import polars as pl
import polars.selectors as cs

from tgv_dagster.tables.querying import QueryRefused, QueryResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PDF_ROWS = 5_000
MOST_PDF_COLUMNS = 30
MOST_DRAWN = 200
_MOST_SERIES = 8
_LONGEST_CELL = 300
_LONGEST_NAME = 40
_FORMULA_START = "="


class Form(StrEnum):
    """The forms of a result."""

    XLSX = "xlsx"
    PDF = "pdf"
    PNG = "png"
    SVG = "svg"


MEDIA_TYPES = {
    Form.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    Form.PDF: "application/pdf",
    Form.PNG: "image/png",
    Form.SVG: "image/svg+xml",
}


def rendered(result: QueryResult, form: Form, *, title: str) -> bytes:
    """The result in this form. Raises QueryRefused for what the form cannot hold, with a remedy."""
    if form is Form.XLSX:
        return _workbook(result)
    if form is Form.PDF:
        return _paper(result, title)
    return _picture(result, form, title)


def require_drawable(result: QueryResult) -> tuple[str, list[str]]:
    """The column along the axis, and those that are drawn. Raises QueryRefused."""
    frame = result.frame
    drawn = list(frame.select(cs.numeric()).columns)
    along = next((name for name in frame.columns if name not in drawn), None)
    if along is None and len(drawn) > 1:
        along, drawn = drawn[0], drawn[1:]
    if along is None or not drawn or not frame.height:
        raise QueryRefused("A plot needs a column to draw along and a column of numbers.")
    if frame.height > MOST_DRAWN:
        raise QueryRefused(
            f"{frame.height} rows are too many to draw; group them, or end with LIMIT {MOST_DRAWN}."
        )
    if len(drawn) > _MOST_SERIES:
        raise QueryRefused(f"{len(drawn)} columns of numbers; at most {_MOST_SERIES} are drawn.")
    return along, drawn


def _told(result: QueryResult) -> list[tuple[str, str]]:
    return [
        ("question", result.sql),
        ("level", str(result.level)),
        ("complete", "no" if result.truncated else "yes"),
        *(("document", f"/d/{number}") for number in result.sources),
    ]


def _workbook(result: QueryResult) -> bytes:
    from openpyxl.cell import WriteOnlyCell

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("result")

    def cell(value: Any) -> Any:
        fits = value is None or isinstance(value, int | float | Decimal)
        fits = fits or hasattr(value, "isoformat")
        made: Any = WriteOnlyCell(sheet)
        made.value = value if fits else _xml_text(value)
        if isinstance(value, str) and value.startswith(_FORMULA_START):
            made.data_type = "s"
        return made

    sheet.append([cell(name) for name in result.frame.columns])
    for row in result.frame.iter_rows():
        sheet.append([cell(value) for value in row])
    told = book.create_sheet("sources")
    for name, value in _told(result):
        told.append([name, cell(value)])
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def _xml_text(value: object) -> str:
    """Text that a workbook can hold: control characters become blanks."""
    return "".join(c if c >= " " or c in "\t\n" else " " for c in str(value))


def _paper(result: QueryResult, title: str) -> bytes:
    from matplotlib import get_data_path
    from reportlab.lib import colors
    from reportlab.lib.pagesizes import A4, landscape
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.lib.units import mm
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont
    from reportlab.platypus import LongTable, Paragraph, SimpleDocTemplate, Spacer, TableStyle

    frame = result.frame
    if frame.height > MOST_PDF_ROWS or frame.width > MOST_PDF_COLUMNS:
        raise QueryRefused(
            f"{frame.height} rows and {frame.width} columns are too many for paper "
            f"({MOST_PDF_ROWS} and {MOST_PDF_COLUMNS}); narrow the question, or take XLSX."
        )
    fonts = Path(get_data_path()) / "fonts" / "ttf"
    pdfmetrics.registerFont(TTFont("DejaVu", fonts / "DejaVuSans.ttf"))
    pdfmetrics.registerFont(TTFont("DejaVu-Bold", fonts / "DejaVuSans-Bold.ttf"))
    size = 8 if frame.width <= 8 else 5.5
    plain = ParagraphStyle("plain", fontName="DejaVu", fontSize=size, leading=size * 1.25)
    right = ParagraphStyle("right", plain, alignment=2)
    bold = ParagraphStyle("bold", plain, fontName="DejaVu-Bold")
    head = ParagraphStyle("head", plain, fontName="DejaVu-Bold", fontSize=13, leading=17)
    numeric = set(frame.select(cs.numeric()).columns)

    def cell(value: object, style: ParagraphStyle) -> Paragraph:
        text = "" if value is None else _xml_text(value)
        text = text if len(text) <= _LONGEST_CELL else text[: _LONGEST_CELL - 1] + "…"
        return Paragraph(escape(text), style)

    styles = [right if name in numeric else plain for name in frame.columns]
    lines = [[cell(name, bold) for name in frame.columns]]
    lines += [
        [cell(value, style) for value, style in zip(row, styles, strict=True)]
        for row in frame.iter_rows()
    ]
    stream = io.BytesIO()
    page = landscape(A4) if frame.width > 5 else A4
    paper = SimpleDocTemplate(
        stream, pagesize=page, title=title, leftMargin=15 * mm, rightMargin=15 * mm,
        topMargin=15 * mm, bottomMargin=15 * mm, invariant=1,
    )  # fmt: skip
    width = paper.width / max(1, frame.width)
    table = LongTable(lines, colWidths=[width] * frame.width, repeatRows=1)
    table.setStyle(
        TableStyle(
            [
                ("LINEBELOW", (0, 0), (-1, 0), 0.8, colors.black),
                ("LINEBELOW", (0, 1), (-1, -1), 0.25, colors.lightgrey),
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ]
        )
    )
    paper.build(
        [
            Paragraph(escape(_xml_text(title)), head),
            Spacer(1, 4 * mm),
            table,
            Spacer(1, 6 * mm),
            *(
                Paragraph(escape(_xml_text(f"{name}: {value}")), plain)
                for name, value in _told(result)
            ),
        ]
    )
    return stream.getvalue()


def _picture(result: QueryResult, form: Form, title: str) -> bytes:
    import matplotlib as mpl

    stream = io.BytesIO()
    # Texts stay texts in SVG, and the same result gives the same bytes.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "tgv", "text.parse_math": False}):
        dated = {"Date": None} if form is Form.SVG else {}
        _figure(result, title).savefig(stream, format=form, dpi=120, metadata=dated)
    return stream.getvalue()


def _figure(result: QueryResult, title: str) -> Figure:
    from matplotlib.figure import Figure

    along, drawn = require_drawable(result)
    frame = result.frame
    is_time = isinstance(frame.schema[along], pl.Date | pl.Datetime)
    values = {name: frame[name].cast(pl.Float64).to_list() for name in drawn}
    places = [_short(value) for value in frame[along]]
    height = 4.5 if is_time else 1.6 + 0.28 * frame.height * len(drawn)
    figure = Figure(figsize=(9, min(height, 60)), layout="constrained")
    axes = figure.subplots()
    if is_time:
        order = frame[along].arg_sort().to_list()
        moments: list[date] = frame[along].to_list()
        known = [place for place in order if moments[place] is not None]
        for name in drawn:
            axes.plot(
                [moments[place] for place in known],
                [_or_gap(values[name][place]) for place in known],
                marker="o", markersize=3, label=name[:_LONGEST_NAME],
            )  # fmt: skip
        figure.autofmt_xdate()
    else:
        thick = 0.8 / len(drawn)
        for number, name in enumerate(drawn):
            bars = axes.barh(
                [place + (number - (len(drawn) - 1) / 2) * thick for place in range(frame.height)],
                [_or_gap(value) for value in values[name]],
                height=thick * 0.9, label=name[:_LONGEST_NAME],
            )  # fmt: skip
            shown = ["" if value is None else str(value) for value in frame[name]]
            axes.bar_label(bars, shown, fontsize=7, padding=2)
        axes.set_yticks(range(frame.height), places)
        axes.invert_yaxis()
        axes.margins(x=0.12)
    axes.set_title(title[:100], loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.legend(fontsize=8, frameon=False)
    links = " ".join(f"/d/{number}" for number in result.sources)
    more = ", not complete" if result.truncated else ""
    figure.supxlabel(f"{links}, level {result.level}{more}", fontsize=7, x=0.01, ha="left")
    return figure


def _or_gap(value: float | None) -> float:
    return float("nan") if value is None else value


def _short(value: object) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
