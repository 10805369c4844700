"""Tables as text: every sheet a page, header and rows readable, nothing dropped in silence."""

import datetime
import io
from pathlib import Path

import openpyxl
import pytest
from extraction_files import read, written, zipped
from hypothesis import given, settings
from hypothesis import strategies as st

from tgv_dagster.understand.extraction import Status
from tgv_dagster.understand.readers.tables import find_delimiter


def _xlsx(**sheets: list[list[object]]) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_sheets_are_pages_and_cells_show_as_a_reader_sees_them(tmp_path: Path):
    raw = _xlsx(
        Umsatz=[
            ["Datum", "Betrag", "Text"],
            [datetime.datetime(2024, 2, 29), 1234.5, "Zeile 1\nZeile 2"],
            [None, None, None],
            [datetime.datetime(2024, 3, 1, 8, 30), 0.1 + 0.2, True],
            [None, 12.0, "'007"],
        ],
        Leer=[],
    )

    found = read(written(tmp_path / "a", raw))

    assert [page.title for page in found.pages] == ["Umsatz", "Leer"]
    assert found.pages[0].text.splitlines() == [
        "Umsatz",
        "Datum | Betrag | Text",
        "2024-02-29 | 1234.5 | Zeile 1 Zeile 2",
        "2024-03-01 08:30:00 | 0.3 | TRUE",
        " | 12 | '007",
    ]


def test_one_far_cell_costs_no_memory(tmp_path: Path):
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet["A1"], sheet["XFD1048576"] = "Anfang", "Ende"
    out = io.BytesIO()
    book.save(out)

    found = read(written(tmp_path / "a", out.getvalue()))

    assert "Anfang" in found.text and found.status in (Status.COMPLETE, Status.TRUNCATED)


def test_formulas_without_a_stored_result_are_told(tmp_path: Path):
    raw = _xlsx(A=[["a", 1], ["Summe", "=SUM(B1:B1)"]])

    found = read(written(tmp_path / "a", raw))

    assert found.status is Status.TRUNCATED and "formulas" in found.reason
    assert "Summe" in found.text


def test_rows_beyond_the_text_limit_are_told(tmp_path: Path):
    raw = _xlsx(A=[["Zeile", n] for n in range(2000)])

    found = read(written(tmp_path / "a", raw), max_chars=5000)

    assert found.status is Status.TRUNCATED and found.reason and len(found.text) <= 5000


ODS = (
    '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"><office:body>'
    '<office:spreadsheet><table:table table:name="Lager"><table:table-row>'
    '<table:table-cell office:value-type="string"><text:p>Artikel</text:p></table:table-cell>'
    '<table:table-cell office:value-type="float" office:value="3.5"><text:p>3,50</text:p>'
    "</table:table-cell></table:table-row></table:table></office:spreadsheet></office:body>"
    "</office:document-content>"
)


def test_an_opendocument_table_without_a_helpful_name(tmp_path: Path):
    mime = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{mime}"/>'
        "</manifest:manifest>"
    )
    raw = zipped({"mimetype": mime, "META-INF/manifest.xml": manifest, "content.xml": ODS})

    found = read(written(tmp_path / "0f3a", raw))

    assert found.text.splitlines() == ["Lager", "Artikel | 3.5"]


@pytest.mark.parametrize(
    ("raw", "lines"),
    [
        (b"a;b;c\r\n1;2,50;x\r\n", ["a | b | c", "1 | 2,50 | x"]),
        ("Käufer\tOrt\nMüller\tKöln\n".encode("utf-16"), ["Käufer | Ort", "Müller | Köln"]),
        ("Größe;Maß\n5;6\n".encode("cp1252"), ["Größe | Maß", "5 | 6"]),
        ("\ufeffname;ort\nA;B\n".encode(), ["name | ort", "A | B"]),
        (b'x,y\n"1,5","a\nb"\n', ["x | y", "1,5 | a b"]),
        (b"sep=|\na|b\n1|2\n", ["sep= | ", "a | b", "1 | 2"][1:]),
        (b"Konto;4711\n\nTag;Betrag;Text\n1.1.;5;a\n2.1.;6;b\n",
         ["Konto | 4711", "Tag | Betrag | Text", "1.1. | 5 | a", "2.1. | 6 | b"]),
    ],
)  # fmt: skip
def test_text_tables_in_the_dialects_of_the_wild(raw: bytes, lines: list[str], tmp_path: Path):
    text = read(written(tmp_path / "t.csv", raw)).text

    assert [line for line in text.splitlines() if not line.startswith("sep=")] == lines


def test_a_nul_in_a_table_is_no_obstacle(tmp_path: Path):
    found = read(written(tmp_path / "t.csv", b"a;b\n1;\x002\n3;4\n" * 40))

    assert "\0" not in found.text and "a | b" in found.text


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(";\t|"),
    st.lists(
        st.lists(st.text("abcäé 0123456789,.", min_size=1, max_size=8), min_size=3, max_size=3),
        min_size=3,
        max_size=12,
    ),
)
def test_the_delimiter_that_was_written_is_found(delimiter: str, rows: list[list[str]]):
    assert find_delimiter("\n".join(delimiter.join(row) for row in rows)) == delimiter


@pytest.mark.parametrize("share", [0.3, 0.7, 0.95])
def test_a_cut_workbook_fails_with_a_reason(share: float, tmp_path: Path):
    raw = _xlsx(A=[[str(n) * 9] for n in range(300)])

    found = read(written(tmp_path / "a.xlsx", raw[: int(len(raw) * share)]))

    assert found.status is Status.FAILED and found.reason
