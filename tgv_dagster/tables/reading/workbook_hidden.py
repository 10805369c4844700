"""What a workbook hides: sheets, rows and columns, as XLSX and ODS state it.

Runs inside the limited child of `workbook_cells`. A filter hides rows as a hand does; a height or
width of nothing hides too. Of XLS and XLSB only hidden sheets are known.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from typing import Any

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

Hidden = dict[str, Any]
"""As JSON: `sheet` (is it hidden), `rows` and `columns` (1-based numbers)."""

_BLOCK = 1 << 20
_TAIL = 4096
_MOST_ROWS = 1_048_576
_TAG = re.compile(rb"<(?:\w+:)?(row|col)\b([^>]*)>")
_ATTRIBUTE = re.compile(rb"\b(r|min|max|hidden|ht|width)\s*=\s*[\"']([^\"']*)[\"']")
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_ROW_STATES = ("collapse", "filter")


def nothing() -> Hidden:
    """A sheet that hides nothing."""
    return {"sheet": False, "rows": [], "columns": []}


def hidden_parts(archive: zipfile.ZipFile) -> dict[str, Hidden]:
    """What each sheet hides, by its name. Raises what the XML or ZIP library raises."""
    names = set(archive.namelist())
    if "xl/workbook.xml" in names:
        return dict(_of_xlsx(archive, names))
    return dict(_of_ods(archive)) if "content.xml" in names else {}


def _of_xlsx(archive: zipfile.ZipFile, names: set[str]) -> Iterator[tuple[str, Hidden]]:
    paths = {}
    if "xl/_rels/workbook.xml.rels" in names:
        for one in _xml(archive.read("xl/_rels/workbook.xml.rels")).iter("{*}Relationship"):
            paths[one.get("Id")] = posixpath.normpath(
                posixpath.join("xl", one.get("Target") or "").replace("xl//", "/")
            ).lstrip("/")
    for sheet in _xml(archive.read("xl/workbook.xml")).iter("{*}sheet"):
        relation = next((v for k, v in sheet.attrib.items() if k.endswith("}id")), None)
        path = paths.get(sheet.get(_RELATION) or relation)
        found = _of_sheet(archive, path) if path in names else nothing()
        found["sheet"] = (sheet.get("state") or "visible") != "visible"
        yield sheet.get("name") or "", found


def _of_sheet(archive: zipfile.ZipFile, path: str) -> Hidden:
    found = nothing()
    number = 0
    for kind, told in _tags(archive, path):
        facts = dict(_ATTRIBUTE.findall(told))
        gone = facts.get(b"hidden") in (b"1", b"true")
        if kind == b"row":
            number = int(facts.get(b"r", number + 1))
            if gone or _is_nothing(facts.get(b"ht")):
                found["rows"].append(number)
        elif gone or _is_nothing(facts.get(b"width")):
            first, last = int(facts.get(b"min", 1)), int(facts.get(b"max", 1))
            if last - first < 1000:  # the rest of the sheet beyond its columns is often hidden
                found["columns"] += range(first, last + 1)
    return found


def _tags(archive: zipfile.ZipFile, path: str) -> Iterator[tuple[bytes, bytes]]:
    """Rows and columns of a sheet in their order, without building a tree."""
    rest = b""
    with archive.open(path) as stream:
        while block := stream.read(_BLOCK):
            text = rest + block
            end = 0
            for match in _TAG.finditer(text):
                yield match.group(1), match.group(2)
                end = match.end()
            rest = text[max(end, len(text) - _TAIL) :]


def _is_nothing(size: bytes | None) -> bool:
    try:
        return size is not None and float(size) == 0
    except ValueError:
        return False


def _of_ods(archive: zipfile.ZipFile) -> Iterator[tuple[str, Hidden]]:
    root = _xml(archive.read("content.xml"))
    closed = {
        style.get(f"{_STYLE}name")
        for style in root.iter(f"{_STYLE}style")
        if any(p.get(f"{_TABLE}display") == "false" for p in style)
    }
    for table in root.iter(f"{_TABLE}table"):
        found = nothing()
        found["sheet"] = table.get(f"{_TABLE}style-name") in closed
        for kind, most in (("row", _MOST_ROWS), ("column", 1000)):
            number = 0
            for one in table.iter(f"{_TABLE}table-{kind}"):
                times = int(one.get(f"{_TABLE}number-{kind}s-repeated") or 1)
                if one.get(f"{_TABLE}visibility") in _ROW_STATES and times < most:
                    found[f"{kind}s"] += range(number + 1, number + times + 1)
                number += times
        yield table.get(f"{_TABLE}name") or "", found


_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"


def _xml(data: bytes) -> Any:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    return etree.fromstring(data, parser)
