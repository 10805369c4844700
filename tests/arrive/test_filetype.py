"""File types: the content decides, the name only helps where the content says nothing."""

import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tgv_dagster.arrive.decoding import clean_text, decode
from tgv_dagster.arrive.filetype import Family, sniff, sniff_file

UBL = '<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"/>'
CII = '<rsm:CrossIndustryInvoice xmlns:rsm="urn:un:unece:uncefact:data:standard:Cross:100"/>'
CAMT = '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><A/></Document>'
MAIL = "X-Foo: 1\r\nARC-Seal: i=1\r\nFrom: a@b.de\r\nDate: x\r\nSubject: y\r\n\r\nHallo"
STATEMENT = ":20:STARTUMS\r\n:25:10020030/1234567\r\n:28C:1/1\r\n:60F:C240101EUR1,00\r\n"


def _zip(*names: str, mimetype: str = "") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        if mimetype:
            archive.writestr("mimetype", mimetype)
        for name in names:
            archive.writestr(name, "<x/>")
    return out.getvalue()


OPEN = "application/vnd.oasis.opendocument."

CASES: list[tuple[bytes, str, Family, str]] = [
    (b"%PDF-1.7\n", "a.doc", Family.PDF, "application/pdf"),
    (b"\x1b%-12345X@PJL\r\n" * 3 + b"%PDF-1.4\n", "a", Family.PDF, "application/pdf"),
    (b"5 0 obj <</A 1>> stream", "scan.pdf", Family.PDF, "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "a.txt", Family.IMAGE, "image/png"),
    (b"\xff\xd8\xff\xe1", "a.pdf", Family.IMAGE, "image/jpeg"),
    (b"RIFF\0\0\0\0WEBPVP8 ", "a", Family.IMAGE, "image/webp"),
    (b"RIFF\0\0\0\0WAVEfmt ", "a", Family.AUDIO, "audio/x-wav"),
    (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "a", Family.IMAGE, "image/heic"),
    (b"\0\0\0\x18ftypM4A \0\0\0\0isom", "a", Family.AUDIO, "audio/mp4"),
    (b"\0\0\0\x18ftypisom\0\0\0\0isom", "a", Family.VIDEO, "video/mp4"),
    (b"ID3\x03", "a", Family.AUDIO, "audio/mpeg"),
    (_zip("[Content_Types].xml", "word/document.xml"), "a.zip", Family.OFFICE, "wordprocessingml"),
    (_zip("[Content_Types].xml", "xl/workbook.xml"), "a.docx", Family.TABLE, "spreadsheetml"),
    (_zip("[Content_Types].xml", "ppt/presentation.xml"), "a", Family.OFFICE, "presentationml"),
    (_zip("content.xml", mimetype=OPEN + "text"), "a", Family.OFFICE, OPEN + "text"),
    (_zip("content.xml", mimetype=OPEN + "spreadsheet"), "a", Family.TABLE, OPEN + "spreadsheet"),
    (_zip("a.pdf"), "a.docx", Family.ARCHIVE, "application/zip"),
    (b"7z\xbc\xaf\x27\x1c\0\4", "a", Family.ARCHIVE, "application/x-7z-compressed"),
    (b"\x78\x9f\x3e\x22\x01\0", "winmail.dat", Family.ARCHIVE, "application/ms-tnef"),
    (b"\x30\x82\x01\0\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02", "a.p7m", Family.ARCHIVE,
     "application/pkcs7-mime"),
    (b"{\\rtf1 a}", "a.doc", Family.OFFICE, "application/rtf"),
    (UBL.encode(), "a.txt", Family.EINVOICE, "application/xml"),
    (f"\ufeff<?xml version='1.0'?><!-- c -->{CII}".encode(), "a", Family.EINVOICE, "xml"),
    (f'<?xml version="1.0" encoding="UTF-16"?>{UBL}'.encode("utf-16"), "a", Family.EINVOICE, "xml"),
    (CAMT.encode(), "a.xml", Family.BANK, "application/xml"),
    (b"<Document><BkToCstmrStmt/></Document>", "a", Family.BANK, "application/xml"),
    (b"<Order><Line>1</Line></Order>", "a.xml", Family.XML, "application/xml"),
    (b"<!-- x --><!DOCTYPE html><html><body>Hi</body></html>", "a", Family.TEXT, "text/html"),
    (b"<div>Hallo</div>", "a.txt", Family.TEXT, "text/html"),
    (MAIL.encode(), "a.txt", Family.MAIL, "message/rfc822"),
    (b"Delivered-To: a@b\nReceived: from c\n\n%PDF-1.4 quoted", "a", Family.MAIL, "message/rfc822"),
    (b"Subject: nur das\n\nText", "a.eml", Family.MAIL, "message/rfc822"),
    (b"From a@b Mon Jun 01 10:00:00 2009\nFrom: a\nDate: x\nTo: b\n\nHi", "a", Family.MAIL,
     "application/mbox"),
    (STATEMENT.encode(), "umsatz.txt", Family.BANK, "application/x-mt940"),
    (b"OFXHEADER:100\r\nDATA:OFXSGML\r\n", "a", Family.BANK, "application/x-ofx"),
    (b"!Type:Bank\nD01/02/2024\nT5\n^\n", "a", Family.BANK, "application/x-qif"),
    (b"BEGIN:VCALENDAR\r\nEND:VCALENDAR", "a", Family.CALENDAR, "text/calendar"),
    (b"\xef\xbb\xbfBEGIN:VCARD\r\nEND:VCARD", "a.txt", Family.VCARD, "text/vcard"),
    (b"Datum;Betrag;Text\n1.1.;5,00;a\n2.1.;6,00;b\n", "export.dat", Family.TABLE, "text/csv"),
    ("Käufer;Ort\nMüller;Köln\n".encode("utf-16"), "a", Family.TABLE, "text/csv"),
    (b'"EXTF";700;21;"Buchungsstapel";13\n', "a.txt", Family.TABLE, "text/csv"),
    (b"nur eine Spalte\n1\n", "a.csv", Family.TABLE, "text/csv"),
    (b'{"a": 1}', "a", Family.TEXT, "application/json"),
    (b"Guten Tag, Herr Meier, wie geht es,\nund was, bitte, soll das, hier\n", "a", Family.TEXT,
     "text/plain"),
    ("Größe".encode("utf-16-le") * 9, "a", Family.TEXT, "text/plain"),
    (b"http://example.org/a\nName: Wert\n", "a", Family.TEXT, "text/plain"),
    (b"", "a.pdf", Family.UNKNOWN, "application/x-empty"),
    (bytes(range(256)) * 3, "a.pdf", Family.UNKNOWN, "application/octet-stream"),
]  # fmt: skip


@pytest.mark.parametrize(("head", "name", "family", "media_type"), CASES)
def test_the_content_decides(head: bytes, name: str, family: Family, media_type: str):
    found = sniff(head, name)

    assert found.family is family
    assert media_type in found.media_type and found.reason


def test_the_directory_of_a_package_decides_when_its_head_does_not(tmp_path: Path):
    names = [f"media/{n}.bin" for n in range(3000)]
    raw = _zip(*names, "[Content_Types].xml", "word/document.xml")
    path = tmp_path / "0f3a"
    path.write_bytes(raw)

    assert "wordprocessingml" in sniff_file(path, "brief").media_type


@pytest.mark.parametrize("name", ["a.docx", "a"])
def test_a_damaged_package_keeps_what_its_head_says(name: str, tmp_path: Path):
    raw = _zip("[Content_Types].xml", "word/document.xml", "word/x" * 9)
    path = tmp_path / name
    path.write_bytes(raw[: len(raw) // 2])

    assert sniff_file(path).family is Family.OFFICE


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300), st.sampled_from(["a", "a.pdf", "a.eml", "a.csv", "a.xls", "ä.xml"]))
def test_any_bytes_have_a_type(head: bytes, name: str):
    assert sniff(head, name).family in Family


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([head for head, *_ in CASES]), st.integers(0, 60), st.binary(max_size=9))
def test_damaged_heads_have_a_type(head: bytes, at: int, noise: bytes):
    damaged = head[:at] + noise + head[at + len(noise) :]
    assert sniff(damaged, "a").family in Family


@pytest.mark.parametrize("hostile", [b"<!DOCTYPE x " + b"[]" * 9000, b"<?xml " * 9000,
                                     b"<!--" * 9000, b"a:" * 30_000, b'"' * 60_000])  # fmt: skip
def test_hostile_heads_are_judged_at_once(hostile: bytes):
    assert sniff(hostile, "a").family in Family


@pytest.mark.parametrize(
    ("raw", "text", "encoding"),
    [
        ("Größe €".encode(), "Größe €", "utf-8"),
        ("\ufeffGröße".encode(), "Größe", "utf-8"),
        ("Größe ist gut".encode("utf-16"), "Größe ist gut", "utf-16-le"),
        ("Größe ist gut".encode("utf-16-be"), "Größe ist gut", "utf-16-be"),
        ("Größe – für 5 € im März".encode("cp1252"), "Größe – für 5 € im März", "cp1252"),
        ("Schöne Grüße für Ärzte".encode("cp850"), "Schöne Grüße für Ärzte", "cp850"),
        ("Счёт за услуги, оплата".encode("cp1251"), "Счёт за услуги, оплата", "cp1251"),
    ],
)  # fmt: skip
def test_texts_are_decoded_by_mark_pattern_and_likeness(raw: bytes, text: str, encoding: str):
    found = decode(raw)

    assert (found.text, found.encoding, found.lossy) == (text, encoding, False)


def test_a_cut_character_at_the_end_of_a_head_is_no_error():
    assert decode("aé".encode()[:-1], partial=True).text == "a"


@given(st.text())
def test_cleaned_text_can_be_stored(text: str):
    cleaned = clean_text(text + "\0\ud800\r\n\x07")

    cleaned.encode("utf-8")
    assert not set(cleaned) & set("\0\r\x07") and clean_text(cleaned) == cleaned


@given(st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1))
def test_utf8_text_survives(text: str):
    assert decode(text.encode()).text == text.removeprefix("\ufeff")
