"""PDF pages with a text layer: business letters, invoices, contracts.

Four looks (`Look`) so that the samples do not all come from one template. Fonts are the standard
PDF fonts, which no file has to carry; Cyrillic uses the DejaVu faces that matplotlib brings along.
Every file is written in ReportLab's invariant mode: same input, same bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
from reportlab.lib.colors import Color, HexColor, black, white
from reportlab.lib.enums import TA_CENTER, TA_JUSTIFY, TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    KeepTogether,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
)

from samplekit.money import WORDS, Position, Totals, money, plain_number, unit_price
from samplekit.parties import Firm, grouped

WIDTH, HEIGHT = A4
_DEJAVU = Path(matplotlib.get_data_path()) / "fonts" / "ttf"


@dataclass(frozen=True, slots=True)
class Look:
    """A house style: fonts, size, colour, and whether a coloured bar heads the page."""

    regular: str = "Helvetica"
    bold: str = "Helvetica-Bold"
    size: float = 9.5
    colour: Color = black
    bar: bool = False
    centred: bool = False


SANS = Look(colour=HexColor("#1f4e5f"))
BAR = Look(colour=HexColor("#8a3b12"), bar=True)
SERIF = Look("Times-Roman", "Times-Bold", 10.5, HexColor("#333333"), centred=True)
TYPED = Look("Courier", "Courier-Bold", 9, black)
GREEN = Look(colour=HexColor("#2e6b3a"), bar=True)
CYRILLIC = Look("SampleSans", "SampleSans-Bold", 9, HexColor("#5a2d6b"))


def _register_fonts() -> None:
    for name, file in (
        ("SampleSans", "DejaVuSans.ttf"),
        ("SampleSans-Bold", "DejaVuSans-Bold.ttf"),
    ):
        pdfmetrics.registerFont(TTFont(name, str(_DEJAVU / file)))


_register_fonts()


def style(look: Look, **changes: Any) -> ParagraphStyle:
    """The paragraph style of a look, with ReportLab attributes changed by name."""
    attributes: dict[str, Any] = {
        "fontName": look.regular,
        "fontSize": look.size,
        "leading": look.size * 1.38,
        "spaceAfter": 6,
    }
    return ParagraphStyle("sample", **{**attributes, **changes})


def para(text: str, look: Look, **changes: Any) -> Paragraph:
    """A paragraph; `text` may carry ReportLab's inline tags."""
    return Paragraph(text, style(look, **changes))


def heading(text: str, look: Look) -> Paragraph:
    """A bold line above a section, kept with what follows."""
    return para(text, look, fontName=look.bold, spaceBefore=7, spaceAfter=3, keepWithNext=1)


@dataclass(frozen=True, slots=True)
class Letter:
    """A business letter: who writes, to whom, the info block, subject, and what stands below.

    `footer` are the columns at the foot of every page; empty means the columns derived from the
    sender. `note` is the small line above the address window.
    """

    sender: Firm
    recipient: Sequence[str]
    subject: str
    body: Sequence[Flowable]
    look: Look = SANS
    info: Sequence[tuple[str, str]] = ()
    footer: Sequence[Sequence[str]] = ()
    title: str = ""
    claim: str = ""


def _footer_columns(letter: Letter) -> Sequence[Sequence[str]]:
    if letter.footer:
        return letter.footer
    firm = letter.sender
    account = (firm.bank, f"IBAN {grouped(firm.iban)}", f"BIC {firm.bic}") if firm.iban else ()
    return [
        column
        for column in (
            firm.address,
            tuple(line for line in (firm.phone, firm.mail) if line),
            account,
            tuple(line for line in (firm.register, firm.vat_id, firm.manager) if line),
        )
        if column
    ]


def _draw_head(canvas: Canvas, letter: Letter) -> None:
    look = letter.look
    canvas.setFillColor(look.colour)
    if look.bar:
        canvas.rect(0, HEIGHT - 24 * mm, WIDTH, 24 * mm, stroke=0, fill=1)
        canvas.setFillColor(white)
        canvas.setFont(look.bold, 17)
        canvas.drawString(20 * mm, HEIGHT - 15 * mm, letter.sender.name)
        canvas.setFont(look.regular, 8)
        canvas.drawRightString(WIDTH - 20 * mm, HEIGHT - 15 * mm, letter.claim)
    elif look.centred:
        canvas.setFont(look.bold, 18)
        canvas.drawCentredString(WIDTH / 2, HEIGHT - 18 * mm, letter.sender.name)
        canvas.setFont(look.regular, 9)
        canvas.drawCentredString(WIDTH / 2, HEIGHT - 23 * mm, letter.claim)
        canvas.line(60 * mm, HEIGHT - 26 * mm, WIDTH - 60 * mm, HEIGHT - 26 * mm)
    else:
        canvas.setFont(look.bold, 15)
        canvas.drawRightString(WIDTH - 20 * mm, HEIGHT - 18 * mm, letter.sender.name)
        canvas.setFont(look.regular, 8)
        canvas.drawRightString(WIDTH - 20 * mm, HEIGHT - 23 * mm, letter.claim)
    canvas.setFillColor(black)


def _draw_address(canvas: Canvas, letter: Letter) -> None:
    look = letter.look
    canvas.setFont(look.regular, 6.5)
    canvas.drawString(20 * mm, HEIGHT - 46 * mm, " · ".join(letter.sender.address))
    canvas.setLineWidth(0.3)
    canvas.line(20 * mm, HEIGHT - 47.2 * mm, 100 * mm, HEIGHT - 47.2 * mm)
    canvas.setFont(look.regular, look.size + 0.5)
    for number, line in enumerate(letter.recipient):
        canvas.drawString(20 * mm, HEIGHT - (53 + 5 * number) * mm, line)
    for number, (label, value) in enumerate(letter.info):
        height = HEIGHT - (46 + 5 * number) * mm
        canvas.setFont(look.regular, look.size - 1)
        canvas.drawString(122 * mm, height, label)
        canvas.setFont(look.bold, look.size - 1)
        canvas.drawString(157 * mm, height, value)


def _draw_foot(canvas: Canvas, letter: Letter) -> None:
    """Columns as wide as their text, the rest of the line shared between them."""
    columns = _footer_columns(letter)
    font, size, room = letter.look.regular, 6.4, WIDTH - 40 * mm
    widths = [max(pdfmetrics.stringWidth(line, font, size) for line in c) for c in columns]
    size *= min(1.0, room / (sum(widths) + 8 * mm * len(columns)))
    gap = (room - sum(widths) * size / 6.4) / max(len(columns) - 1, 1)
    canvas.setStrokeColor(letter.look.colour)
    canvas.setLineWidth(0.5)
    canvas.line(20 * mm, 27 * mm, WIDTH - 20 * mm, 27 * mm)
    canvas.setFont(font, size)
    left = 20 * mm
    for column, width in zip(columns, widths, strict=True):
        for row, line in enumerate(column):
            canvas.drawString(left, (23 - 3.2 * row) * mm, line)
        left += width * size / 6.4 + gap
    canvas.drawRightString(WIDTH - 20 * mm, 8 * mm, str(canvas.getPageNumber()))


def _build(
    story: list[Flowable],
    templates: list[PageTemplate],
    title: str,
    author: str,
    lock: StandardEncryption | None,
) -> bytes:
    target = BytesIO()
    document = BaseDocTemplate(
        target,
        pagesize=A4,
        title=title,
        author=author,
        subject="",
        creator="",
        invariant=1,
        encrypt=lock,
    )
    document.addPageTemplates(templates)
    document.build(story)
    return target.getvalue()


def letter_pdf(letter: Letter, lock: StandardEncryption | None = None) -> bytes:
    """The letter as PDF; `lock` encrypts it."""

    def first(canvas: Canvas, _: object) -> None:
        _draw_head(canvas, letter)
        _draw_address(canvas, letter)
        _draw_foot(canvas, letter)

    def later(canvas: Canvas, _: object) -> None:
        _draw_head(canvas, letter)
        _draw_foot(canvas, letter)

    look = letter.look
    frame = {"leftPadding": 0, "rightPadding": 0, "topPadding": 0, "bottomPadding": 0}
    top = Frame(20 * mm, 32 * mm, 170 * mm, HEIGHT - 122 * mm, id="first", **frame)
    rest = Frame(20 * mm, 32 * mm, 170 * mm, HEIGHT - 66 * mm, id="later", **frame)
    story = [
        para(letter.subject, look, fontName=look.bold, fontSize=look.size + 2, spaceAfter=9),
        *letter.body,
    ]
    templates = [
        PageTemplate("first", [top], onPage=first, autoNextPageTemplate="later"),
        PageTemplate("later", [rest], onPage=later),
    ]
    title = letter.title or letter.subject
    return _build(story, templates, title, letter.sender.name, lock)


@dataclass(frozen=True, slots=True)
class Contract:
    """A contract without letterhead: title, parties, numbered clauses, places to sign.

    `clauses` are pairs of heading and paragraphs.
    """

    title: str
    parties: Sequence[str]
    clauses: Sequence[tuple[str, Sequence[str]]]
    signatures: Sequence[str]
    signed: str
    page_word: str
    look: Look = SERIF
    extra: Sequence[Flowable] = field(default_factory=tuple)


def contract_pdf(contract: Contract) -> bytes:
    """The contract as PDF, page numbers at the foot."""
    look = contract.look

    def page(canvas: Canvas, _: object) -> None:
        canvas.setFont(look.regular, 8)
        canvas.drawString(25 * mm, 14 * mm, contract.title)
        number = canvas.getPageNumber()
        canvas.drawRightString(WIDTH - 25 * mm, 14 * mm, f"{contract.page_word} {number}")

    story: list[Flowable] = [
        para(contract.title, look, fontName=look.bold, fontSize=15, leading=20, alignment=TA_CENTER)
    ]
    story.append(Spacer(1, 8))
    story += [para(text, look) for text in contract.parties]
    for title, paragraphs in contract.clauses:
        story.append(heading(title, look))
        story += [para(text, look, alignment=TA_JUSTIFY) for text in paragraphs]
    story += contract.extra
    lines = [["", ""] if len(contract.signatures) > 1 else [""], list(contract.signatures)]
    signs = Table(lines, colWidths=[78 * mm] * len(contract.signatures), rowHeights=[16 * mm, 12])
    signs.setStyle(
        [
            ("LINEABOVE", (0, 1), (-1, 1), 0.5, black),
            ("FONT", (0, 0), (-1, -1), look.regular, look.size - 1.5),
        ]
    )
    story.append(KeepTogether([Spacer(1, 10), para(contract.signed, look), signs]))
    body = Frame(25 * mm, 22 * mm, 160 * mm, HEIGHT - 44 * mm, id="body")
    template = PageTemplate("page", [body], onPage=page)
    return _build(story, [template], contract.title, "", None)


def grid(
    rows: Sequence[Sequence[str]],
    widths: Sequence[float],
    look: Look,
    right: Sequence[int] = (),
    bold_last: bool = False,
) -> Table:
    """A table with a head row; `widths` in millimetres, `right` are right-aligned columns."""
    cells: list[list[Paragraph]] = []
    for number, row in enumerate(rows):
        strong = number == 0 or (bold_last and number == len(rows) - 1)
        cells.append(
            [
                para(
                    text,
                    look,
                    fontName=look.bold if strong else look.regular,
                    fontSize=look.size - 0.7,
                    leading=look.size * 1.2,
                    spaceAfter=0,
                    alignment=TA_RIGHT if column in right else 0,
                )
                for column, text in enumerate(row)
            ]
        )
    table = Table(cells, colWidths=[width * mm for width in widths], repeatRows=1)
    table.setStyle(
        [
            ("LINEBELOW", (0, 0), (-1, 0), 0.8, look.colour),
            ("LINEBELOW", (0, 1), (-1, -1), 0.2, HexColor("#999999")),
            ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ("TOPPADDING", (0, 0), (-1, -1), 2.5),
            ("BOTTOMPADDING", (0, 0), (-1, -1), 2.5),
        ]
    )
    return table


def invoice_table(
    positions: tuple[Position, ...],
    sums: Totals,
    language: str,
    look: Look,
    currency: str = "EUR",
    tax_text: str = "",
) -> list[Flowable]:
    """The lines and the net, tax and gross block of an invoice; `tax_text` replaces the rate."""
    words = WORDS[language]
    rows: list[list[str]] = [list(words.columns)]
    for number, line in enumerate(positions, start=1):
        amount = f"{plain_number(line.quantity, language)} {line.unit}"
        price = unit_price(line.price, language)
        rows.append([str(number), line.text, amount, price, money(line.amount, language)])
    rate = plain_number(sums.rate, language)
    block = [
        [words.net, f"{money(sums.net, language)} {currency}"],
        [tax_text or words.tax.format(rate=rate), f"{money(sums.tax, language)} {currency}"],
        [words.gross, f"{money(sums.gross, language)} {currency}"],
    ]
    table = Table(block, colWidths=[45 * mm, 33 * mm], hAlign="RIGHT")
    table.setStyle(
        [
            ("FONT", (0, 0), (-1, -1), look.regular, look.size),
            ("FONT", (0, -1), (-1, -1), look.bold, look.size + 0.5),
            ("ALIGN", (1, 0), (1, -1), "RIGHT"),
            ("LINEABOVE", (0, -1), (-1, -1), 0.8, look.colour),
            ("TOPPADDING", (0, 0), (-1, -1), 2),
            ("BOTTOMPADDING", (0, 0), (-1, -1), 2),
        ]
    )
    lines = grid(rows, (11, 86, 24, 24, 25), look, right=(2, 3, 4))
    return [lines, Spacer(1, 5), KeepTogether([table]), Spacer(1, 8)]


def paragraphs(look: Look, *texts: str) -> list[Flowable]:
    """Several paragraphs in one look."""
    return [para(text, look) for text in texts]
