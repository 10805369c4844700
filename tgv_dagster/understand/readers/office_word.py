"""WordprocessingML: the text of a DOCX as a reader of the document sees it.

Here: paragraphs, tables row by row, numbering, text boxes once, notes, headers, accepted changes,
the stored results of fields (a date field is never calculated anew). Not here: layout.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tgv_dagster.understand.readers.package import Package, attribute_of, child
from tgv_dagster.understand.readers.xml_tree import Element, every, first, local, parse

_SKIPPED = {"del", "moveFrom", "delText", "instrText", "rPr", "pPr", "Fallback", "sectPr", "tblPr",
            "tcPr", "trPr", "rt", "delInstrText"}  # fmt: skip
_BOXED = {"drawing", "pict", "AlternateContent", "object"}
_MARKS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"),
          (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip


def read_text(package: Package) -> str:
    """Headers, body, notes and footers in this order, one paragraph or table row a line."""
    main = _main_part(package)
    targets = package.targets(main)
    numbers = _Numbering.of(package, targets)
    parts = [*_parts(package, targets, numbers, "header")]
    parts += _blocks(first(package.tree(main), "body"), numbers)
    parts += _parts(package, targets, numbers, "footnotes", "endnotes", "comments", "footer")
    return "\n".join(line for line in parts if line.strip())


def _main_part(package: Package) -> str:
    for kind, target in package.targets("").values():
        if kind == "officeDocument" and package.has(target):
            return target
    return "word/document.xml"


def _parts(
    package: Package, targets: dict[str, tuple[str, str]], numbers: "_Numbering", *kinds: str
) -> Iterator[str]:
    seen: set[str] = set()
    for wanted in kinds:
        for kind, target in targets.values():
            if kind != wanted or target in seen or not package.has(target):
                continue
            seen.add(target)
            root = package.tree(target)
            told: set[str] = set()
            for holder in [root] if kind in ("header", "footer") else list(root):
                for line in _blocks(holder, numbers):
                    if line not in told:
                        told.add(line)
                        yield line


def _blocks(holder: Element | None, numbers: "_Numbering") -> Iterator[str]:
    for node in holder if holder is not None else ():
        name = local(node)
        if name == "p":
            yield from _paragraph(node, numbers)
        elif name == "tbl":
            yield from _table(node, numbers)
        elif name not in _SKIPPED:
            yield from _blocks(node, numbers)


def _table(table: Element, numbers: "_Numbering") -> Iterator[str]:
    for row in _within(table, "tr"):
        cells = (" ".join(" ".join(_blocks(cell, numbers)).split()) for cell in _within(row, "tc"))
        yield " | ".join(cells).rstrip(" |")


def _within(holder: Element, name: str) -> Iterator[Element]:
    """Children by name, also inside content controls and accepted changes."""
    for node in holder:
        if local(node) == name:
            yield node
        elif local(node) in ("sdt", "sdtContent", "ins", "moveTo", "customXml"):
            yield from _within(node, name)


def _paragraph(node: Element, numbers: "_Numbering") -> Iterator[str]:
    boxes: list[Element] = []
    label = numbers.label(node)
    content = "".join(_inline(node, boxes))
    yield f"{label} {content}".strip() if content.strip() else ""
    for box in boxes:
        yield from _boxed(box, numbers)


def _inline(holder: Element, boxes: list[Element]) -> Iterator[str]:
    if local(holder) == "r" and _is_hidden(holder):
        return
    for node in holder:
        name = local(node)
        if name == "t":
            yield node.text or ""
        elif name in _MARKS:
            yield _MARKS[name]
        elif name in _BOXED:
            boxes.append(node)
        elif name not in _SKIPPED:
            yield from _inline(node, boxes)


def _is_hidden(run: Element) -> bool:
    mark = first(run, "rPr/vanish")
    return mark is not None and attribute_of(mark, "val") not in ("0", "false", "off")


def _boxed(box: Element, numbers: "_Numbering") -> Iterator[str]:
    """The text in a drawing, once: the fallback of an alternative repeats the choice."""
    for node in box:
        name = local(node)
        if name == "txbxContent":
            yield from _blocks(node, numbers)
        elif name == "t" and node.text:
            yield node.text
        elif name != "Fallback":
            yield from _boxed(node, numbers)


@dataclass(frozen=True, slots=True)
class _Level:
    start: int
    form: str
    pattern: str


@dataclass(slots=True)
class _Numbering:
    """Automatic numbers ("§ 2", "1.3", "a)") are in no text: they are counted along."""

    levels: dict[tuple[str, int], _Level] = field(default_factory=dict)
    abstract: dict[str, str] = field(default_factory=dict)
    styles: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    counts: dict[tuple[str, int], int] = field(default_factory=dict)

    @classmethod
    def of(cls, package: Package, targets: dict[str, tuple[str, str]]) -> "_Numbering":
        made = cls()
        parts = {kind: target for kind, target in targets.values() if package.has(target)}
        if "numbering" in parts:
            made._load_numbers(parse(package.read(parts["numbering"]))[0])
        if "styles" in parts:
            made._load_styles(parse(package.read(parts["styles"]))[0])
        return made

    def _load_numbers(self, root: Element) -> None:
        for item in every(root, "abstractNum"):
            key = attribute_of(item, "abstractNumId")
            for level in every(item, "lvl"):
                depth = _number(attribute_of(level, "ilvl"), 0)
                self.levels[key, depth] = _Level(
                    _number(child(level, "start", "val"), 1),
                    child(level, "numFmt", "val"),
                    child(level, "lvlText", "val"),
                )
        for item in every(root, "num"):
            self.abstract[attribute_of(item, "numId")] = child(item, "abstractNumId", "val")

    def _load_styles(self, root: Element) -> None:
        for item in every(root, "style"):
            properties = first(item, "pPr/numPr")
            self.styles[attribute_of(item, "styleId")] = (
                child(properties, "numId", "val"),
                child(properties, "ilvl", "val"),
                child(item, "basedOn", "val"),
            )

    def label(self, paragraph: Element) -> str:
        """The number of a paragraph, "" when it has none; counting goes on from here."""
        number, depth = self._of_paragraph(paragraph)
        key = self.abstract.get(number, "")
        level = self.levels.get((key, depth))
        if level is None:
            return ""
        if level.form == "bullet":
            return "-"
        self.counts[key, depth] = self.counts.get((key, depth), level.start - 1) + 1
        for deeper in range(depth + 1, 10):
            self.counts.pop((key, deeper), None)
        text = level.pattern
        for above in range(depth + 1):
            at = self.levels.get((key, above), level)
            count = self.counts.get((key, above), at.start)
            form = at.form if above == depth or level.form != "decimalZero" else "decimal"
            text = text.replace(f"%{above + 1}", _formatted(count, form))
        return text

    def _of_paragraph(self, paragraph: Element) -> tuple[str, int]:
        own = first(paragraph, "pPr/numPr")
        number, depth = child(own, "numId", "val"), child(own, "ilvl", "val")
        style = child(paragraph, "pPr/pStyle", "val")
        for _ in range(20):
            if (number and depth) or style not in self.styles:
                break
            style_number, style_depth, above = self.styles[style]
            number, depth, style = number or style_number, depth or style_depth, above
        return number, _number(depth, 0)


def _number(text: str, default: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else default


def _formatted(count: int, form: str) -> str:
    if form in ("lowerLetter", "upperLetter"):
        letters = chr(97 + (count - 1) % 26) * ((count - 1) // 26 + 1)
        return letters.upper() if form == "upperLetter" else letters
    if form in ("lowerRoman", "upperRoman"):
        roman, left = "", min(count, 4000)
        for value, sign in _ROMAN:
            while left >= value:
                roman, left = roman + sign, left - value
        return roman.upper() if form == "upperRoman" else roman
    return f"{count:02d}" if form == "decimalZero" else "" if form == "none" else str(count)
