"""Tables in markup and lists: HTML tables, repeating elements of XML, JSON lists of objects.

Each gives rows with labels and then is the same case as a CSV (FMT-01). Values keep the text of the
source; only JSON states kinds. Entities and networks stay off.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator

from lxml import etree, html  # pyright: ignore[reportAttributeAccessIssue]

from tgv_dagster.arrive.decoding import decode
from tgv_dagster.tables.model import FileTables, Native, RawTable, TableUnreadable
from tgv_dagster.tables.reading.assembling import (
    EMPTY,
    MOST_ROWS,
    Cell,
    Row,
    from_grid,
    from_records,
)

_MOST_SPAN = 200
_DEPTH = 3


def read_html(data: bytes) -> FileTables:
    """Every HTML table that holds no other one. Raises TableUnreadable when there is none."""
    text = decode(data).text
    try:
        root = html.document_fromstring(text.encode("utf-8"), parser=html.HTMLParser(
            encoding="utf-8", no_network=True, huge_tree=False, remove_comments=True))  # fmt: skip
    except (etree.LxmlError, ValueError) as error:
        raise TableUnreadable(f"not HTML: {error}") from error
    tables: list[RawTable] = []
    skipped: list[tuple[str, str]] = []
    for number, element in enumerate(root.iter("table"), start=1):
        name = f"table {number}"
        if element.find(".//table") is not None:
            skipped.append((name, "holds other tables"))
            continue
        rows = list(_html_rows(element))
        marked = [r.line for r, head in rows if head]
        try:
            header = marked[0] if len(marked) == 1 else None
            tables.append(from_grid(name, [row for row, _ in rows], header=header))
        except TableUnreadable as error:
            skipped.append((name, str(error)))
    if not tables:
        raise TableUnreadable("no HTML table with two columns")
    return FileTables(tuple(tables), tuple(skipped), reader="html")


def _html_rows(table: html.HtmlElement) -> Iterator[tuple[Row, bool]]:
    """Rows with spans laid out; the flag says that all cells are headings."""
    hanging: dict[int, tuple[int, Cell]] = {}
    for number, element in enumerate(table.iter("tr"), start=1):
        cells: list[Cell] = []
        found = [c for c in element if c.tag in ("td", "th")]
        queue = list(found)
        while queue or len(cells) in hanging:
            column = len(cells)
            if column in hanging:
                left, cell = hanging.pop(column)
                cells.append(cell)
                if left > 1:
                    hanging[column] = (left - 1, cell)
                continue
            item = queue.pop(0)
            cell = Cell(" ".join(item.text_content().split()))
            down = _span(item, "rowspan")
            for _ in range(_span(item, "colspan")):
                if down > 1:
                    hanging[len(cells)] = (down - 1, cell)
                cells.append(cell)
        heads = bool(found) and all(c.tag == "th" for c in found)
        yield Row(number, tuple(cells)), heads


def _span(element: html.HtmlElement, name: str) -> int:
    text = str(element.get(name, "1"))
    return min(max(1, int(text)), _MOST_SPAN) if text.isdigit() else 1


def read_xml(data: bytes) -> FileTables:
    """The element that repeats most, as rows. Raises TableUnreadable when none does."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, huge_tree=False, remove_comments=True
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.LxmlError, ValueError) as error:
        raise TableUnreadable(f"not well-formed XML: {error}") from error
    tag, records = _repeating(root)
    rows = [_flat(record, "", _DEPTH) for record in records]
    twice = next((name for row in rows for name, count in _counts(row) if count > 1), None)
    if twice is not None:
        raise TableUnreadable(f"the element {tag} repeats {twice} inside one record")
    labels = list(dict.fromkeys(name for row in rows for name, _ in row))
    if len(labels) < 2:
        raise TableUnreadable(f"the element {tag} has fewer than two fields")
    made = [
        Row(int(record.sourceline or 0), tuple(Cell(dict(row).get(x, "")) for x in labels))
        for record, row in zip(records, rows, strict=True)
    ]
    return FileTables((from_records(tag, labels, made),), reader="xml")


def _repeating(root: etree._Element) -> tuple[str, list[etree._Element]]:
    best: tuple[int, str, list[etree._Element]] = (1, "", [])
    for parent in root.iter(etree.Element):
        tags = Counter(_local(child) for child in parent if isinstance(child.tag, str))
        for tag, count in tags.items():
            found = [c for c in parent if isinstance(c.tag, str) and _local(c) == tag]
            if count > best[0] and (len(found[0]) or found[0].attrib):
                best = (count, tag, found)
    if not best[1]:
        raise TableUnreadable("no repeating element with fields")
    return best[1], best[2]


def _local(element: etree._Element) -> str:
    return etree.QName(element).localname


def _flat(element: etree._Element, prefix: str, depth: int) -> list[tuple[str, str]]:
    """Attributes and children as (name, text); nested names are joined with a slash."""
    found = [(f"{prefix}@{name}", str(value)) for name, value in element.attrib.items()]
    for child in element:
        if not isinstance(child.tag, str):
            continue
        name = f"{prefix}{_local(child)}"
        if len(child) and depth:
            found += _flat(child, f"{name}/", depth - 1)
        else:
            found.append((name, " ".join("".join(map(str, child.itertext())).split())))
            found += [(f"{name}@{key}", str(value)) for key, value in child.attrib.items()]
    return found


def _counts(row: list[tuple[str, str]]) -> Iterable[tuple[str, int]]:
    return Counter(name for name, _ in row).items()


def read_json(data: bytes) -> FileTables:
    """A list of objects, JSON lines, or the one list of objects in an object.

    Raises TableUnreadable.
    """
    text = decode(data).text.removeprefix("\ufeff")
    name, records = _json_records(text)
    labels = list(dict.fromkeys(key for _, record in records for key in record))
    if len(labels) < 2 or not records:
        raise TableUnreadable("the list has no objects with two fields")
    if len(records) > MOST_ROWS:
        raise TableUnreadable(f"more than {MOST_ROWS} records")
    rows = [
        Row(line, tuple(_json_cell(record.get(label)) for label in labels))
        for line, record in records
    ]
    return FileTables((from_records(name, labels, rows),), reader="json")


class _Number(str):
    """A JSON number in its own digits."""

    __slots__ = ()


def _load(text: str) -> object:
    return json.loads(text, parse_float=_Number, parse_int=_Number, parse_constant=_Number)


def _json_records(text: str) -> tuple[str, list[tuple[int, dict[str, object]]]]:
    try:
        whole = _load(text)
    except (ValueError, RecursionError):
        return "", _json_lines(text)
    if isinstance(whole, dict):
        lists = [(k, v) for k, v in whole.items() if _is_records(v)]
        if len(lists) != 1:
            raise TableUnreadable(f"the object holds {len(lists)} lists of objects, not one")
        name, found = lists[0]
        return str(name), list(enumerate(found, start=1))
    if not _is_records(whole):
        raise TableUnreadable("the JSON is not a list of objects")
    assert isinstance(whole, list)
    return "", list(enumerate(whole, start=1))


def _json_lines(text: str) -> list[tuple[int, dict[str, object]]]:
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = _load(line)
        except (ValueError, RecursionError) as error:
            raise TableUnreadable(f"line {number} is not JSON") from error
        if not isinstance(record, dict):
            raise TableUnreadable(f"line {number} is not an object")
        found.append((number, record))
    return found


def _is_records(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(x, dict) for x in value)


def _json_cell(value: object) -> Cell:
    if value is None:
        return EMPTY
    if isinstance(value, bool):
        return Cell("true" if value else "false", Native.BOOLEAN)
    if isinstance(value, _Number):
        plain = all(sign.isdigit() or sign in "-." for sign in value)
        return Cell(str(value), Native.NUMBER if plain else Native.TEXT)
    if isinstance(value, str):
        return Cell(value)
    return Cell(json.dumps(value, ensure_ascii=False, sort_keys=True))
