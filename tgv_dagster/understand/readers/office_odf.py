"""OpenDocument: the text of ODT, ODP and flat ODF files.

Here: paragraphs, lists, tables row by row, notes, headers; one page a slide for presentations.
Not here: spreadsheets (`tables`).
"""

from collections.abc import Iterator

from tgv_dagster.understand.extracted import EncryptedError, Method, PageText
from tgv_dagster.understand.readers.package import Package, attribute_of
from tgv_dagster.understand.readers.xml_tree import Element, every, first, local, parse

_SKIPPED = {"tracked-changes", "annotation", "sequence-decls", "forms", "table-of-content-source",
            "note-citation", "variable-decls", "user-field-decls"}  # fmt: skip
_MOST_REPEATS = 50


def read_package(package: Package) -> tuple[PageText, ...]:
    """Pages of an ODF package. Raises EncryptedError, ReaderError."""
    manifest = "META-INF/manifest.xml"
    if package.has(manifest) and b"encryption-data" in package.read(manifest):
        raise EncryptedError("the document needs a password; ODF encryption is not opened here")
    head: list[str] = []
    if package.has("styles.xml"):
        head = _headers(package.tree("styles.xml"))
    return _pages(package.tree("content.xml"), head)


def read_flat(raw: bytes) -> tuple[PageText, ...]:
    """Pages of a flat ODF file. Raises ReaderError."""
    root = parse(raw)[0]
    return _pages(root, _headers(root))


def _headers(root: Element) -> list[str]:
    found: list[str] = []
    for page in every(root, "master-styles/master-page"):
        for holder in every(page, "header|footer"):
            found += (line for line in _blocks(holder) if line not in found)
    return found


def _pages(root: Element, head: list[str]) -> tuple[PageText, ...]:
    body = first(root, "body")
    slides = [*every(body, "presentation/page"), *every(body, "drawing/page")]
    if slides:
        return tuple(_page(number, _blocks(slide)) for number, slide in enumerate(slides, 1))
    return (_page(1, [*head, *_blocks(body)]),)


def _page(number: int, lines) -> PageText:
    return PageText(number, "\n".join(line for line in lines if line.strip()), Method.NATIVE)


def _blocks(holder: Element | None) -> Iterator[str]:
    for node in holder if holder is not None else ():
        name = local(node)
        if name in ("p", "h"):
            yield from _paragraph(node)
        elif name == "table-row":
            yield " | ".join(_cells(node)).rstrip(" |")
        elif name not in _SKIPPED:
            yield from _blocks(node)


def _cells(row: Element) -> Iterator[str]:
    for cell in row:
        if local(cell) not in ("table-cell", "covered-table-cell"):
            continue
        repeats = attribute_of(cell, "number-columns-repeated")
        count = min(int(repeats), _MOST_REPEATS) if repeats.isdigit() else 1
        yield from [" ".join(" ".join(_blocks(cell)).split())] * count


def _paragraph(node: Element) -> Iterator[str]:
    asides: list[Element] = []
    yield "".join(_inline(node, asides))
    for aside in asides:
        yield from _blocks(aside)


def _inline(node: Element, asides: list[Element]) -> Iterator[str]:
    yield node.text or ""
    for child in node:
        name = local(child)
        if name == "s":
            count = attribute_of(child, "c")
            yield " " * (min(int(count), 100) if count.isdigit() else 1)
        elif name == "tab":
            yield "\t"
        elif name == "line-break":
            yield "\n"
        elif name in ("note", "frame", "text-box", "custom-shape", "a") and name != "a":
            asides.append(child)
        elif name not in _SKIPPED:
            yield from _inline(child, asides)
        yield child.tail or ""
