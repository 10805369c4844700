"""XML without its dangers: a parsed tree, walked by local names.

Here: the only XML parser settings of the readers, and small helpers for paths. Not here: any
vocabulary.
"""

import codecs
from collections.abc import Iterator
from typing import Any, TypeAlias

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from tgv_dagster.arrive.decoding import decode
from tgv_dagster.understand.extracted import ReaderError

Element: TypeAlias = Any

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def parse(xml: bytes) -> tuple[Element, str]:
    """The root, and a remark when the bytes had to be mended (wrong encoding label) or "".

    Document types are refused: no entity is ever expanded and nothing outside is fetched. Raises
    ReaderError.
    """
    # In UTF-16 half of the last character is a zero byte.
    raw = xml if xml.startswith(_UTF16) else xml.strip(b"\0\r\n\t ")
    try:
        return _checked(_root(raw)), ""
    except etree.XMLSyntaxError as first:
        text = decode(raw).text.lstrip("\ufeff \r\n\t")
        if text.startswith("<?xml"):
            text = text.partition("?>")[2]
        try:
            root = _checked(_root(text.encode("utf-8", "replace")))
        except etree.XMLSyntaxError:
            raise ReaderError(f"XML is not well-formed (line {first.lineno})") from first
        return root, "the XML declares a wrong encoding"


def _root(raw: bytes) -> Element:
    parser = etree.XMLParser(
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    return etree.fromstring(raw, parser)


def _checked(root: Element) -> Element:
    if root.getroottree().docinfo.doctype:
        raise ReaderError("XML with a document type declaration is refused")
    return root


def local(node: Element) -> str:
    """The name without namespace; "" for anything that is not an element."""
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""


def every(node: Element | None, path: str) -> Iterator[Element]:
    """All descendants along `a/b|c/d`: local names, alternatives by a bar."""
    if node is None:
        return
    step, _, rest = path.partition("/")
    names = step.split("|")
    for child in node:
        if local(child) in names:
            if rest:
                yield from every(child, rest)
            else:
                yield child


def first(node: Element | None, path: str) -> Element | None:
    """The first of `every`."""
    return next(every(node, path), None)


def text(node: Element | None, path: str = "") -> str:
    """The text of a node, or of the first at `path`; blanks collapsed at both ends."""
    found = first(node, path) if path else node
    return (found.text or "").strip() if found is not None else ""


def leaves(root: Element) -> Iterator[str]:
    """One line a leaf: its name and value, the names of its attributes with theirs."""
    for node in root.iter():
        told = [f"{key.rpartition('}')[2]}: {value}" for key, value in node.attrib.items()]
        value = " ".join((node.text or "").split())
        if value:
            yield f"{local(node)}: {value}" + (f" ({'; '.join(told)})" if told else "")
        elif told and not len(node):
            yield f"{local(node)} ({'; '.join(told)})"
        if tail := " ".join((node.tail or "").split()):
            yield tail
