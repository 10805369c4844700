"""Office files: what a reader of the document sees, no more and nothing twice."""

from pathlib import Path

import openpyxl
import pytest
from extraction_files import compound, image_bytes, picture, read, written, zipped
from msoffcrypto.format.ooxml import OOXMLFile

from tgv_dagster.understand.extraction import ArchiveLimits, Status

W = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:v="urn:schemas-microsoft-com:vml"'
)
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def _rels(*targets: tuple[str, str]) -> str:
    items = "".join(
        f'<Relationship Id="rId{n}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for n, (kind, target) in enumerate(targets, 1)
    )
    space = "http://schemas.openxmlformats.org/package/2006/relationships"
    return f'<Relationships xmlns="{space}">{items}</Relationships>'


def _docx(body: str, **parts: str | bytes) -> bytes:
    """A DOCX with a body; further parts by file name with their dot as `_`."""
    kinds = {"header1_xml": "header", "footnotes_xml": "footnotes", "numbering_xml": "numbering",
             "styles_xml": "styles", "comments_xml": "comments"}  # fmt: skip
    named = {name.replace("_xml", ".xml"): data for name, data in parts.items()}
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": _rels(("officeDocument", "word/document.xml")),
            "word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>",
            "word/_rels/document.xml.rels": _rels(
                *((kinds[name], name.replace("_xml", ".xml")) for name in parts if name in kinds)
            ),
            **{f"word/{name}": data for name, data in named.items()},
        }
    )


def _p(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def _row(*cells: str) -> str:
    return "<w:tr>" + "".join(f"<w:tc>{_p(cell)}</w:tc>" for cell in cells) + "</w:tr>"


def test_a_letter_with_header_table_and_footnote(tmp_path: Path):
    raw = _docx(
        _p("Angebot Nr. 7") + f"<w:tbl>{_row('Pos', 'Betrag')}{_row('1', '12,50')}</w:tbl>",
        header1_xml=f"<w:hdr {W}>{_p('Muster GmbH')}</w:hdr>",
        footnotes_xml=f"<w:footnotes {W}><w:footnote>{_p('netto')}</w:footnote></w:footnotes>",
    )

    found = read(written(tmp_path / "a", raw))

    assert found.status is Status.COMPLETE
    assert found.text.splitlines() == [
        "Muster GmbH", "Angebot Nr. 7", "Pos | Betrag", "1 | 12,50", "netto",
    ]  # fmt: skip


def test_accepted_changes_show_and_rejected_and_hidden_text_do_not(tmp_path: Path):
    body = (
        "<w:p><w:r><w:t>Preis </w:t></w:r><w:del><w:r><w:delText>100</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>90</w:t></w:r></w:ins>"
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t>geheim</w:t></w:r></w:p>"
    )

    assert read(written(tmp_path / "a", _docx(body))).text == "Preis 90"


def test_a_text_box_is_read_once(tmp_path: Path):
    box = f"<w:txbxContent>{_p('Im Kasten')}</w:txbxContent>"
    body = (
        f"<w:p><w:r><mc:AlternateContent><mc:Choice>{box}</mc:Choice>"
        f"<mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback>"
        "</mc:AlternateContent></w:r></w:p>"
    )

    assert read(written(tmp_path / "a", _docx(body))).text == "Im Kasten"


def test_a_date_field_keeps_its_stored_result(tmp_path: Path):
    """Known fault 101: nothing is calculated anew while reading."""
    body = (
        '<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r>'
        "<w:r><w:instrText> DATE </w:instrText></w:r>"
        '<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>03.02.2021</w:t></w:r>'
        '<w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>'
    )

    assert read(written(tmp_path / "a", _docx(body))).text == "03.02.2021"


def test_automatic_clause_numbers_are_part_of_the_text(tmp_path: Path):
    numbering = (
        f'<w:numbering {W}><w:abstractNum w:abstractNumId="5">'
        '<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/>'
        '<w:lvlText w:val="§ %1"/></w:lvl>'
        '<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/>'
        '<w:lvlText w:val="%1.%2"/></w:lvl>'
        '<w:lvl w:ilvl="2"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/>'
        '<w:lvlText w:val="%3)"/></w:lvl></w:abstractNum>'
        '<w:num w:numId="2"><w:abstractNumId w:val="5"/></w:num></w:numbering>'
    )
    styles = (
        f'<w:styles {W}><w:style w:styleId="Klausel"><w:pPr><w:numPr><w:numId w:val="2"/>'
        "</w:numPr></w:pPr></w:style></w:styles>"
    )

    def at(level: int) -> str:
        return f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="2"/></w:numPr>'

    clauses = [("Laufzeit", 0), ("Beginn", 1), ("erstens", 2), ("zweitens", 2), ("Ende", 1),
               ("Haftung", 0)]  # fmt: skip
    body = _p("Gegenstand", '<w:pStyle w:val="Klausel"/>')
    body += "".join(_p(text, at(level)) for text, level in clauses)
    raw = _docx(body, numbering_xml=numbering, styles_xml=styles)

    assert read(written(tmp_path / "a", raw)).text.splitlines() == [
        "§ 1 Gegenstand", "§ 2 Laufzeit", "2.1 Beginn", "a) erstens", "b) zweitens", "2.2 Ende",
        "§ 3 Haftung",
    ]  # fmt: skip


def test_a_document_of_pictures_is_read_by_ocr(tmp_path: Path):
    scan = image_bytes(picture(["Vollmacht vom 1. Mai 2024", "Muster Verwaltung"]), "PNG")
    raw = _docx(_p(""), **{"media/image1.png": scan.ljust(30_000, b"\0")})

    assert "Vollmacht vom 1. Mai 2024" in read(written(tmp_path / "a", raw)).text


def test_embedded_files_are_kept(tmp_path: Path):
    raw = _docx(_p("Text"), **{"embeddings/tabelle.csv": b"a;b\n1;2\n3;4\n"})

    (item,) = read(written(tmp_path / "a", raw), embedded_dir=tmp_path / "i").embedded

    assert item.name == "tabelle.csv" and (tmp_path / "i" / item.sha256).exists()


def test_slides_in_their_order_with_notes(tmp_path: Path):
    space = 'xmlns:a="urn:a" xmlns:p="urn:p" xmlns:r="urn:r"'

    def shape(text: str) -> str:
        return f"<p:sp><p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"

    def slide(tag: str, *texts: str) -> str:
        shapes = "".join(map(shape, texts))
        return f"<p:{tag} {space}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:{tag}>"

    raw = zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "ppt/presentation.xml": f'<p:presentation {space}><p:sldIdLst><p:sldId id="1" '
            'r:id="rId2"/><p:sldId id="2" r:id="rId1"/></p:sldIdLst></p:presentation>',
            "ppt/_rels/presentation.xml.rels": _rels(
                ("slide", "slides/slide1.xml"), ("slide", "slides/slide2.xml")
            ),
            "ppt/slides/slide1.xml": slide("sld", "Zweite Folie"),
            "ppt/slides/slide2.xml": slide("sld", "Erste Folie", "Umsatz"),
            "ppt/slides/_rels/slide2.xml.rels": _rels(("notesSlide", "../notesSlides/n1.xml")),
            "ppt/notesSlides/n1.xml": slide("notes", "Bitte langsam sprechen"),
        }
    )

    pages = read(written(tmp_path / "a", raw)).pages

    assert [page.text for page in pages] == [
        "Erste Folie\nUmsatz\nBitte langsam sprechen", "Zweite Folie",
    ]  # fmt: skip


ODF = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
)
ODF_BODY = (
    "<office:body><office:text><text:tracked-changes><text:p>alt</text:p></text:tracked-changes>"
    "<text:h>Vertrag</text:h><text:p>Miete<text:s text:c='2'/>500<text:tab/>EUR<text:note>"
    "<text:note-citation>1</text:note-citation><text:note-body><text:p>kalt</text:p>"
    "</text:note-body></text:note> im Monat</text:p><table:table><table:table-row>"
    "<table:table-cell><text:p>a</text:p></table:table-cell>"
    "<table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></table:table>"
    "</office:text></office:body>"
)
ODF_LINES = ["Vertrag", "Miete  500\tEUR im Monat", "kalt", "a | b"]


def _odt(**more: str) -> bytes:
    content = f"<office:document-content {ODF}>{ODF_BODY}</office:document-content>"
    return zipped(
        {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content, **more}
    )


def test_an_opendocument_text(tmp_path: Path):
    assert read(written(tmp_path / "a", _odt())).text.splitlines() == ODF_LINES


def test_a_flat_opendocument_text(tmp_path: Path):
    raw = f'<?xml version="1.0"?><office:document {ODF}>{ODF_BODY}</office:document>'

    assert read(written(tmp_path / "a", raw.encode())).text.splitlines() == ODF_LINES


def test_an_encrypted_opendocument_is_called_encrypted(tmp_path: Path):
    raw = _odt(**{"META-INF/manifest.xml": "<m><encryption-data/></m>"})

    found = read(written(tmp_path / "a", raw))

    assert found.status is Status.ENCRYPTED and "password" in found.reason


def test_rtf_with_umlauts_and_a_large_picture(tmp_path: Path):
    raw = rb"{\rtf1\ansi Gr\'fc\'dfe{\pict\pngblip " + b"89504e47" * 40_000 + rb"}\par Ende}"

    assert read(written(tmp_path / "a", raw)).text.split() == ["Grüße", "Ende"]


def test_rtf_nested_beyond_reading_fails_and_is_not_empty(tmp_path: Path):
    raw = rb"{\rtf1" + rb"{\*\unknown " * 5000 + b"wichtiger Text " * 40 + b"}" * 5001

    found = read(written(tmp_path / "a", raw))

    assert found.status is Status.FAILED or "wichtiger" in found.text


def _doc(text: str, *, wide: bool) -> bytes:
    """A Word 97 file: information block, one piece, text at 2048."""
    word = bytearray(2048)
    word[0:4] = b"\xec\xa5\xc1\x00"
    word[10:12] = b"\x00\x02"
    where = 2048 if wide else 0x40000000 | 2048 * 2
    clx = (
        b"\x02" + (16).to_bytes(4, "little") + (0).to_bytes(4, "little")
        + len(text).to_bytes(4, "little") + b"\0\0" + where.to_bytes(4, "little") + b"\0\0"
    )  # fmt: skip
    word[0x01A2:0x01AA] = (0).to_bytes(4, "little") + len(clx).to_bytes(4, "little")
    content = text.encode("utf-16-le" if wide else "cp1252")
    return compound({"WordDocument": bytes(word) + content, "1Table": clx})


@pytest.mark.parametrize("wide", [True, False])
def test_an_old_word_file_with_a_field_and_a_table(wide: bool, tmp_path: Path):
    text = "Größe\r\x13 DATE \x1403.02.2021\x15\rPos\x07Betrag\x07\x07Ende\r"

    found = read(written(tmp_path / "a", _doc(text, wide=wide)))

    assert found.text.splitlines() == ["Größe", "03.02.2021", "Pos | Betrag", "Ende"]


def test_an_old_presentation(tmp_path: Path):
    def record(kind: int, body: bytes, version: int = 0) -> bytes:
        return version.to_bytes(2, "little") + kind.to_bytes(2, "little") + len(body).to_bytes(
            4, "little"
        ) + body  # fmt: skip

    slide = record(0x0FA0, "Übersicht".encode("utf-16-le")) + record(0x0FA8, b"Umsatz\r2024")
    raw = compound({"PowerPoint Document": record(0x0FF0, slide, version=0x0F)})

    assert read(written(tmp_path / "a", raw)).text.splitlines() == ["Übersicht", "Umsatz", "2024"]


def test_an_office_file_behind_a_password(tmp_path: Path):
    book = openpyxl.Workbook()
    book.worksheets[0].append(["Gehaltsliste", 5000])
    book.save(tmp_path / "plain")
    locked = tmp_path / "locked"
    with (tmp_path / "plain").open("rb") as source, locked.open("wb") as target:
        OOXMLFile(source).encrypt("Öl", target)

    assert read(locked).status is Status.ENCRYPTED
    assert read(locked, passwords=("x",)).status is Status.ENCRYPTED
    opened = read(locked, passwords=("x", "Öl"))
    assert "Gehaltsliste | 5000" in opened.text and opened.facts.password_index == 1


def test_a_write_protected_workbook_opens_without_a_password(tmp_path: Path):
    book = openpyxl.Workbook()
    book.worksheets[0].append(["Preisliste"])
    book.save(tmp_path / "plain")
    with (tmp_path / "plain").open("rb") as source, (tmp_path / "locked").open("wb") as target:
        OOXMLFile(source).encrypt("VelvetSweatshop", target)

    assert "Preisliste" in read(tmp_path / "locked").text


@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_a_cut_package_fails_with_a_reason(share: float, tmp_path: Path):
    raw = _docx(_p("x" * 4000))

    found = read(written(tmp_path / "a.docx", raw[: int(len(raw) * share)]))

    assert found.status is Status.FAILED and found.reason


def test_a_package_that_would_fill_the_memory_is_refused(tmp_path: Path):
    raw = _docx(_p("x"), **{"media/bomb.xml": b"0" * 5_000_000})

    found = read(written(tmp_path / "a", raw), archive=ArchiveLimits(total_bytes=1_000_000))

    assert found.status is Status.FAILED and "inflate" in found.reason


def test_entities_in_a_part_are_refused(tmp_path: Path):
    evil = (
        '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b SYSTEM "file:///etc/passwd">]>'
        f"<w:document {W}><w:body>{_p('&a;&b;')}</w:body></w:document>"
    )
    raw = zipped({"[Content_Types].xml": "<T/>", "word/document.xml": evil})

    found = read(written(tmp_path / "a", raw))

    assert found.status is Status.FAILED and "document type" in found.reason
