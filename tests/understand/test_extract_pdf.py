"""PDF: the best layer of each page, damaged and locked files, what is embedded."""

import io
from pathlib import Path

import pikepdf
import pytest
from extraction_files import (
    LETTER,
    encrypted,
    photo,
    picture,
    picture_pdf,
    read,
    text_pdf,
    with_attachments,
    written,
)
from PIL import Image
from reportlab.pdfgen import canvas

from tgv_dagster.arrive.filetype import Family
from tgv_dagster.understand.extraction import Extraction, ExtractionSettings, Method, Status

PROSE = [
    f"Das ist die Zeile {n} mit einem ganzen Satz über die Sache und den Preis." for n in range(40)
]


def test_a_text_layer_is_read_line_by_line(tmp_path: Path):
    found = read(written(tmp_path / "a.pdf", text_pdf(LETTER, PROSE)))

    assert found.status is Status.COMPLETE
    assert [page.method for page in found.pages] == [Method.TEXT_LAYER] * 2
    assert found.pages[0].text.splitlines() == list(LETTER)
    assert found.pages[0].quality is not None and found.pages[0].quality > 0.8


def test_positions_lead_back_to_the_place_on_the_page(tmp_path: Path):
    page = read(written(tmp_path / "a.pdf", text_pdf(LETTER))).pages[0]
    start = page.text.index("1.234,50")

    (box,) = page.locate(start, start + 8)

    assert page.text[box.start : box.end] == "1.234,50"
    assert 842 - 780 + 2 * 16 - 16 < box.y0 < box.y1 < 842 - 780 + 2 * 16 + 8
    assert 200 < box.x0 < box.x1 < 320


def test_a_table_drawn_column_by_column_keeps_its_rows(tmp_path: Path):
    out = io.BytesIO()
    page = canvas.Canvas(out)
    for x, cells in ((70, "Pos 1 2 3"), (150, "Artikel Schraube Mutter Dübel"),
                     (400, "Betrag 12,50 3,40 1.234,50")):  # fmt: skip
        for row, cell in enumerate(cells.split()):
            page.drawString(x, 700 - 18 * row, cell)
    page.save()

    text = read(written(tmp_path / "a.pdf", out.getvalue())).text

    assert [line.split() for line in text.splitlines()] == [
        ["Pos", "Artikel", "Betrag"],
        ["1", "Schraube", "12,50"],
        ["2", "Mutter", "3,40"],
        ["3", "Dübel", "1.234,50"],
    ]


def test_two_columns_of_prose_are_read_one_after_the_other(tmp_path: Path):
    out = io.BytesIO()
    page = canvas.Canvas(out)
    page.setFont("Helvetica", 9)
    for row in range(20):
        page.drawString(50, 750 - 12 * row, f"links {row} steht ein Satz der Vereinbarung hier")
        page.drawString(310, 750 - 12 * row, f"rechts {row} steht ein anderer Satz des Textes")
    page.save()

    lines = read(written(tmp_path / "a.pdf", out.getvalue())).text.split("\n")

    assert [line.split()[0] for line in lines if line] == ["links"] * 20 + ["rechts"] * 20


def test_a_word_over_a_line_end_is_one_word(tmp_path: Path):
    pdf = text_pdf(["Die Rech-", "nung an Müller-", "Lüdenscheidt ist fällig und zu zahlen."])

    text = read(written(tmp_path / "a.pdf", pdf)).text

    assert "Rechnung" in text and "Müller-Lüdenscheidt" in text


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_a_rotated_page_reads_as_displayed(degrees: int, tmp_path: Path):
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(text_pdf(LETTER))) as pdf:
        pdf.pages[0].rotate(degrees, relative=False)
        pdf.save(out)

    page = read(written(tmp_path / "a.pdf", out.getvalue())).pages[0]

    assert page.text.split() == " ".join(LETTER).split()
    assert (page.width, page.height) == ((842, 595) if degrees != 180 else (595, 842))


def test_a_scan_is_read_by_ocr_although_it_says_it_is_tagged(tmp_path: Path):
    """Known fault 94: a scanner marks its picture as tagged text."""
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(picture_pdf(picture(LETTER)))) as pdf:
        pdf.Root.MarkInfo = pikepdf.Dictionary(Marked=True)
        pdf.save(out)

    found = read(written(tmp_path / "a.pdf", out.getvalue()))

    assert found.pages[0].method is Method.OCR
    assert "Rechnung für unsere Leistungen" in found.text and "1.234,50 EUR" in found.text
    assert found.pages[0].words is not None and len(found.pages[0].words) > 20


def test_each_page_is_decided_for_itself(tmp_path: Path):
    """Known fault 95: a digital page does not speak for the scanned one behind it."""
    out = io.BytesIO()
    with (
        pikepdf.open(io.BytesIO(text_pdf(LETTER))) as pdf,
        pikepdf.open(io.BytesIO(picture_pdf(picture(["Anlage zum Vertrag", *LETTER])))) as scan,
    ):
        pdf.pages.extend(scan.pages)
        pdf.add_blank_page()
        pdf.save(out)

    found = read(written(tmp_path / "a.pdf", out.getvalue()))

    assert [page.method for page in found.pages] == [Method.TEXT_LAYER, Method.OCR, Method.BLANK]
    assert "Anlage zum Vertrag" in found.pages[1].text


def test_a_picture_with_text_on_a_digital_page_is_read_too(tmp_path: Path):
    head = ["Weitergeleitet von der Poststelle, bitte prüfen und an die Buchhaltung geben."]
    pdf = picture_pdf(picture(["Quittung 4711", "Summe 99,80 EUR"], size=(1654, 900)), texts=[head])

    page = read(written(tmp_path / "a.pdf", pdf)).pages[0]

    assert page.method is Method.MIXED
    assert head[0] in page.text and "Quittung 4711" in page.text and "99,80" in page.text


def test_a_photo_without_text_changes_nothing(tmp_path: Path):
    pdf = picture_pdf(photo((600, 500)), texts=[LETTER])

    page = read(written(tmp_path / "a.pdf", pdf)).pages[0]

    assert page.text.split() == " ".join(LETTER).split()


def test_letters_set_apart_are_read_from_the_picture(tmp_path: Path):
    """Known fault 97: every glyph stands for itself in the text layer."""
    out = io.BytesIO()
    page = canvas.Canvas(out)
    page.setFont("Helvetica", 10)
    for number, line in enumerate(LETTER):
        x = 40.0
        for letter in line:
            page.drawString(x, 780 - 24 * number, letter)
            x += page.stringWidth(letter) + 2.5
    page.save()

    page_text = read(written(tmp_path / "a.pdf", out.getvalue())).pages[0]

    assert page_text.method is Method.OCR
    assert page_text.text.split() == " ".join(LETTER).split()


def test_a_broken_character_map_is_read_from_the_picture(tmp_path: Path):
    """The page looks right, its text layer is shifted letters: OCR wins, by quality."""
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(text_pdf(LETTER))) as pdf:
        shifted = "".join(
            f"<{code:02x}> <{(code - 29) % 0xD0 + 1:04x}>\n" for code in range(32, 126)
        )
        cmap = (
            "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n"
            "1 begincodespacerange <00> <ff> endcodespacerange\n"
            f"94 beginbfchar\n{shifted}endbfchar\nendcmap end end"
        )
        for font in pdf.pages[0].Resources.Font.values():
            font.ToUnicode = pikepdf.Stream(pdf, cmap.encode())
        pdf.save(out)

    page = read(written(tmp_path / "a.pdf", out.getvalue())).pages[0]

    assert page.method is Method.OCR
    assert "Sehr geehrte Damen und Herren" in page.text


def test_without_ocr_a_scanned_page_is_named_and_the_rest_is_kept(tmp_path: Path):
    out = io.BytesIO()
    with (
        pikepdf.open(io.BytesIO(text_pdf(LETTER))) as pdf,
        pikepdf.open(io.BytesIO(picture_pdf(picture(LETTER)))) as scan,
    ):
        pdf.pages.extend(scan.pages)
        pdf.save(out)

    found = read(written(tmp_path / "a.pdf", out.getvalue()), ocr=False)

    assert found.status is Status.TRUNCATED and "page 2" in found.reason
    assert found.pages[0].text and found.pages[1].method is Method.UNREAD


def test_missing_language_data_is_a_failure_that_names_the_package(tmp_path: Path):
    path = written(tmp_path / "a.pdf", picture_pdf(picture(LETTER)))

    found = read(path, tessdata=tmp_path)

    assert found.status is Status.FAILED
    assert "tesseract-ocr-deu" in found.reason and "tesseract-ocr-fra" in found.reason


def test_a_page_of_gigapixels_is_bounded(tmp_path: Path):
    """Known fault 98: 200 points wide, thousands of dots per inch."""
    out = io.BytesIO()
    page = canvas.Canvas(out, pagesize=(200, 120))
    big = picture(["Summe 47,11 EUR"], size=(3000, 1800), font=220, margin=200)
    page.drawInlineImage(big.convert("1"), 0, 0, 200, 120)
    page.save()

    found = read(written(tmp_path / "a.pdf", out.getvalue()), ocr_pixels=1_000_000)

    assert "47,11" in found.text


@pytest.mark.parametrize(
    ("passwords", "status"),
    [((), Status.ENCRYPTED), (("falsch",), Status.ENCRYPTED), (("falsch", "Öse"), Status.COMPLETE)],
)
def test_passwords_are_tried(passwords: tuple[str, ...], status: Status, tmp_path: Path):
    path = written(tmp_path / "a.pdf", encrypted(text_pdf(LETTER), "Öse"))

    found = read(path, passwords=passwords)

    assert found.status is status
    assert ("1.234,50" in found.text) is (status is Status.COMPLETE)
    assert found.reason == "" or "password" in found.reason
    assert "Öse" not in repr(ExtractionSettings(passwords=passwords)) + found.reason


def test_a_document_locked_only_against_printing_opens(tmp_path: Path):
    found = read(written(tmp_path / "a.pdf", encrypted(text_pdf(LETTER), "")))

    assert found.status is Status.COMPLETE and found.facts.encrypted


def test_a_file_without_its_cross_reference_is_repaired(tmp_path: Path):
    raw = text_pdf(LETTER)
    broken = raw.replace(b"xref", b"xxxx").replace(b"trailer", b"tr@iler")

    found = read(written(tmp_path / "a.pdf", broken))

    assert found.pages[0].text.splitlines() == list(LETTER)


def test_a_cut_file_is_never_complete(tmp_path: Path):
    raw = text_pdf(*[PROSE] * 12)
    for share in (0.1, 0.5, 0.9):
        found = read(written(tmp_path / "a.pdf", raw[: int(len(raw) * share)]))
        assert found.status in (Status.TRUNCATED, Status.FAILED) and found.reason


def test_junk_that_calls_itself_pdf_fails_with_a_reason(tmp_path: Path):
    found = read(written(tmp_path / "a.pdf", b"%PDF-1.7\n" + bytes(range(256)) * 40))

    assert found.status is Status.FAILED and "damaged" in found.reason


def test_form_fields_and_notes_are_part_of_the_page(tmp_path: Path):
    out = io.BytesIO()
    page = canvas.Canvas(out)
    page.drawString(70, 780, "Antrag auf Erstattung der Kosten an die Verwaltung")
    page.acroForm.textfield(name="n", value="Erika Mustermann", x=70, y=700, width=200, height=20)
    page.save()

    text = read(written(tmp_path / "a.pdf", out.getvalue())).text

    assert "Erika Mustermann" in text and "Antrag auf Erstattung" in text


def test_the_data_of_an_xfa_form_is_read(tmp_path: Path):
    """Its drawn page only asks for another viewer."""
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(text_pdf(["Please wait..."]))) as pdf:
        xml = b"<d:datasets xmlns:d='u'><Antrag><IBAN>DE1</IBAN></Antrag></d:datasets>"
        data = pikepdf.Stream(pdf, xml)
        pdf.Root.AcroForm = pikepdf.Dictionary(
            Fields=[], XFA=pikepdf.Array([pikepdf.String("datasets"), pdf.make_indirect(data)])
        )
        pdf.save(out)

    found = read(written(tmp_path / "a.pdf", out.getvalue()))

    assert found.pages[-1].text == "IBAN: DE1" and found.pages[-1].method is Method.NATIVE


def test_embedded_files_are_kept_under_their_hash(tmp_path: Path):
    pdf = with_attachments(text_pdf(LETTER), {"../../etc/passwd": b"a;b\n1;2\n", "b.txt": b"Hallo"})
    folder = tmp_path / "inner"

    found = read(written(tmp_path / "a.pdf", pdf), embedded_dir=folder)

    kept = {item.name: item for item in found.embedded}
    assert set(kept) == {"../../etc/passwd", "b.txt"}
    assert sorted(path.name for path in folder.iterdir()) == sorted(i.sha256 for i in kept.values())
    assert (folder / kept["b.txt"].sha256).read_bytes() == b"Hallo"


def test_an_embedded_bomb_is_listed_and_not_kept(tmp_path: Path):
    pdf = with_attachments(text_pdf(LETTER), {"b.bin": bytes(30_000_000)})
    settings = ExtractionSettings().archive
    limits = type(settings)(member_bytes=1_000_000)

    found = read(written(tmp_path / "a.pdf", pdf), embedded_dir=tmp_path / "i", archive=limits)

    assert found.status is Status.COMPLETE
    assert found.embedded[0].stored is None and "larger" in found.embedded[0].reason


def test_a_file_attached_to_a_page_and_one_only_associated_are_found(tmp_path: Path):
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(text_pdf(LETTER))) as pdf:
        for data, place in ((b"<a>1</a>", "AF"), (b"plain text", "Annots")):
            stream = pikepdf.Stream(pdf, data)
            stream.Type = pikepdf.Name.EmbeddedFile
            spec = pikepdf.Dictionary(
                Type=pikepdf.Name.Filespec, F="x", EF=pikepdf.Dictionary(F=stream)
            )
            if place == "AF":
                pdf.Root.AF = pikepdf.Array([pdf.make_indirect(spec)])
            else:
                note = pikepdf.Dictionary(
                    Type=pikepdf.Name.Annot, Subtype=pikepdf.Name.FileAttachment,
                    Rect=[0, 0, 9, 9], FS=pdf.make_indirect(spec),
                )  # fmt: skip
                pdf.pages[0].Annots = pikepdf.Array([pdf.make_indirect(note)])
        pdf.save(out)

    found = read(written(tmp_path / "a.pdf", out.getvalue()), embedded_dir=tmp_path / "i")

    assert {item.family for item in found.embedded} == {Family.XML, Family.TEXT}


def test_limits_on_pages_text_and_time_are_told(tmp_path: Path):
    path = written(tmp_path / "a.pdf", text_pdf(*[PROSE] * 6))

    for limits, word in (
        ({"max_pages": 2}, "page limit"),
        ({"max_chars": 3000}, "text"),
        ({"budget_seconds": -1.0}, "time limit"),
    ):
        found = read(path, **limits)
        assert found.status is Status.TRUNCATED or not found.text
        assert word in found.reason


def test_text_is_storable_and_crosses_the_process_border(tmp_path: Path):
    """Known fault 86: NUL and lone surrogates in a text layer."""
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(text_pdf(["ABCDEF GHIJ KLMN", *LETTER]))) as pdf:
        cmap = (
            "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n"
            "1 begincodespacerange <00> <ff> endcodespacerange\n"
            "3 beginbfchar\n<41> <0000>\n<42> <d800>\n<43> <d83dde00>\nendbfchar\nendcmap end end"
        )
        for font in pdf.pages[0].Resources.Font.values():
            font.ToUnicode = pikepdf.Stream(pdf, cmap.encode())
        pdf.save(out)

    found = read(written(tmp_path / "a.pdf", out.getvalue()), ocr=False)

    found.text.encode("utf-8")
    assert "\0" not in found.text
    assert Extraction.from_json(found.to_json()) == found


def test_a_blank_scan_is_empty_and_not_complete(tmp_path: Path):
    found = read(written(tmp_path / "a.pdf", picture_pdf(Image.new("L", (800, 1100), 250))))

    assert found.status is Status.EMPTY and found.reason


def test_a_pdf_without_pages_is_named_as_that(tmp_path: Path):
    """The library opens nothing and calls its error a success."""
    path = tmp_path / "x.pdf"
    pikepdf.new().save(path)

    found = read(path)

    assert (found.status, found.reason) == (Status.FAILED, "the PDF has no pages that can be read")


def test_a_wide_gap_in_a_long_line_stays_one(tmp_path: Path):
    """Columns drawn row by row: a full left column leaves its gap hardly wider than its letters."""
    path = tmp_path / "a.pdf"
    page = canvas.Canvas(str(path), pagesize=(595, 842))
    rows = (
        ("Werbetechnik Funke GmbH", "Rechnungsempfänger:"),
        ("Unsere Leistungen im Mai haben wir", "Rechnung Nr. WF-881"),
        ("Lindenring 7", "Datum: 01.06.2026"),
    )
    for number, (left, right) in enumerate(rows):
        page.setFont("Helvetica", 9.5)
        page.drawString(40, 800 - 14 * number, left)
        page.drawString(240, 800 - 14 * number, right)
    page.save()

    assert read(path).pages[0].text.splitlines() == [f"{left}  {right}" for left, right in rows]
