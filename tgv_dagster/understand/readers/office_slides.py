"""PresentationML: the text of a PPTX, one page a slide, with its notes.

Here: shapes, tables, notes in the order of the presentation. Not here: layout and animations.
"""

from collections.abc import Iterator

from tgv_dagster.understand.extracted import Method, PageText
from tgv_dagster.understand.readers.package import Package, attribute_of
from tgv_dagster.understand.readers.xml_tree import Element, every, first, local

_MAIN = "ppt/presentation.xml"


def read_slides(package: Package) -> tuple[PageText, ...]:
    """One page a slide, hidden slides included. Raises ReaderError."""
    targets = package.targets(_MAIN)
    listed = [
        targets[key][1]
        for item in every(package.tree(_MAIN), "sldIdLst/sldId")
        if (key := _relation(item)) in targets
    ]
    slides = [name for name in listed if package.has(name)]
    return tuple(_slide(package, number, name) for number, name in enumerate(slides, 1))


def _relation(item: Element) -> str:
    """Two attributes share the local name `id`: the relation is the one with a namespace."""
    return next((value for key, value in item.attrib.items() if key.endswith("}id")), "")


def _slide(package: Package, number: int, name: str) -> PageText:
    lines = [*_lines(first(package.tree(name), "cSld"))]
    for kind, target in package.targets(name).values():
        if kind == "notesSlide" and package.has(target):
            lines += _lines(first(package.tree(target), "cSld"))
    return PageText(number, "\n".join(line for line in lines if line.strip()), Method.NATIVE)


def _lines(holder: Element | None) -> Iterator[str]:
    for node in holder if holder is not None else ():
        name = local(node)
        if name == "p":
            yield _text(node)
        elif name == "tbl":
            for row in every(node, "tr"):
                cells = (" ".join(_text(p) for p in every(c, "txBody/p")) for c in every(row, "tc"))
                yield " | ".join(cells)
        elif name not in ("Fallback", "nvSpPr") and not _is_page_number(node):
            yield from _lines(node)


def _is_page_number(shape: Element) -> bool:
    kind = attribute_of(first(shape, "nvSpPr/nvPr/ph"), "type") if local(shape) == "sp" else ""
    return kind in ("sldNum", "sldImg")


def _text(paragraph: Element) -> str:
    parts: list[str] = []
    for node in paragraph.iter():
        if local(node) == "t":
            parts.append(node.text or "")
        elif local(node) == "br":
            parts.append("\n")
    return "".join(parts)
