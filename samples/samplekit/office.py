"""Writers for Office formats, with the time stamps taken out so that bytes repeat.

Zip containers are written again with one fixed time; the texts of the documents stand in `desk`.
"""

import re
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from io import BytesIO
from xml.sax.saxutils import escape

from docx import Document
from openpyxl import Workbook
from openpyxl.styles import Font
from openpyxl.utils import get_column_letter

_ZIP_TIME = (2026, 3, 2, 8, 0, 0)
_CORE_TIME = "2026-03-02T08:00:00Z"
Cell = str | int | float | date | datetime | None
Rows = Sequence[Sequence[Cell]]


def _write_zip(members: Mapping[str, bytes], stored: Sequence[str] = ()) -> bytes:
    target = BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, _ZIP_TIME)
            info.compress_type = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return target.getvalue()


def _fixed_times(container: bytes) -> bytes:
    """The same container with fixed zip times and a fixed `docProps/core.xml`."""
    with zipfile.ZipFile(BytesIO(container)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    core = members["docProps/core.xml"].decode("utf-8")
    members["docProps/core.xml"] = re.sub(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", _CORE_TIME, core
    ).encode("utf-8")
    return _write_zip(members)


def docx(title: str, author: str, parts: Sequence[str | Rows]) -> bytes:
    """A Word file: a string is a paragraph, `# ` starts a heading, rows are a table."""
    document = Document()
    document.core_properties.title = title
    document.core_properties.author = author
    document.core_properties.comments = ""
    document.core_properties.created = datetime(2026, 3, 2, 8)
    document.core_properties.modified = datetime(2026, 3, 2, 8)
    for part in parts:
        if isinstance(part, str) and part.startswith("# "):
            document.add_heading(part[2:], 1 if part == parts[0] else 2)
        elif isinstance(part, str):
            document.add_paragraph(part)
        else:
            table = document.add_table(rows=len(part), cols=len(part[0]), style="Table Grid")
            for row, cells in zip(table.rows, part, strict=True):
                for cell, value in zip(row.cells, cells, strict=True):
                    cell.text = "" if value is None else str(value)
    target = BytesIO()
    document.save(target)
    return _fixed_times(target.getvalue())


def xlsx(sheets: Mapping[str, Rows], formats: Mapping[str, str]) -> bytes:
    """A workbook; the first row of each sheet is its head, `formats` maps a column head to the
    number format of the cells below it."""
    book = Workbook()
    book.remove(book.worksheets[0])
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(list(row))
        for number, head in enumerate(rows[0], start=1):
            sheet.cell(1, number).font = Font(bold=True)
            sheet.column_dimensions[get_column_letter(number)].width = 10 + len(str(head))
            for line in range(2, len(rows) + 1):
                sheet.cell(line, number).number_format = formats.get(str(head), "General")
    target = BytesIO()
    book.save(target)
    return _fixed_times(target.getvalue())


_ODS_TYPE = "application/vnd.oasis.opendocument.spreadsheet"
_ODS_NAMESPACES = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
)
_ODS_MANIFEST = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" '
    'manifest:version="1.3">'
    f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{_ODS_TYPE}"/>'
    '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
    "</manifest:manifest>"
)


def _ods_cell(value: Cell) -> str:
    if value is None:
        return "<table:table-cell/>"
    if isinstance(value, int | float):
        kind = f'office:value-type="float" office:value="{value}"'
    elif isinstance(value, date):
        kind = f'office:value-type="date" office:date-value="{value.isoformat()}"'
    else:
        kind = 'office:value-type="string"'
    return f"<table:table-cell {kind}><text:p>{escape(str(value))}</text:p></table:table-cell>"


def ods(sheet: str, rows: Rows) -> bytes:
    """A one-sheet OpenDocument spreadsheet (ODF 1.3, the two parts a reader needs)."""
    lines = "".join(
        f"<table:table-row>{''.join(_ods_cell(value) for value in row)}</table:table-row>"
        for row in rows
    )
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {_ODS_NAMESPACES} '
        'office:version="1.3"><office:body><office:spreadsheet>'
        f'<table:table table:name="{escape(sheet)}">{lines}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    members = {
        "mimetype": _ODS_TYPE.encode(),
        "META-INF/manifest.xml": _ODS_MANIFEST.encode("utf-8"),
        "content.xml": content.encode("utf-8"),
    }
    return _write_zip(members, stored=("mimetype",))


def rtf(paragraphs: Sequence[str]) -> bytes:
    """A Rich Text file; the first paragraph is bold, letters beyond ASCII become escapes."""

    def coded(text: str) -> str:
        safe = re.sub(r"[\\{}]", r"\\\g<0>", text)
        return "".join(c if ord(c) < 128 else f"\\u{ord(c)}?" for c in safe)

    first, *others = (coded(text) for text in paragraphs)
    body = "\\par\\par\n".join([f"{{\\b {first}}}", *others])
    head = "{\\rtf1\\ansi\\ansicpg1252\\deff0{\\fonttbl{\\f0\\fswiss Helvetica;}}\\f0\\fs22\n"
    return f"{head}{body}\\par\n}}".encode("ascii")


def csv(rows: Rows, separator: str = ";", newline: str = "\r\n") -> str:
    """Lines with the cells quoted only where they must be."""

    def cell(value: Cell) -> str:
        text = "" if value is None else str(value)
        if any(mark in text for mark in (separator, '"', "\n")):
            return '"' + text.replace('"', '""') + '"'
        return text

    return "".join(separator.join(cell(value) for value in row) + newline for row in rows)
