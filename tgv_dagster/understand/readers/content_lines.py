"""Content lines, the common ground of iCalendar and vCard in all their versions: bytes become
components with properties.

Here: folding, quoted-printable and base64 continued over lines, parameters, charsets, escapes. A
line that is none is told and costs nothing but itself. Not here: what a property means
(`calendars`, `cards`). The libraries lose cut characters and soft line breaks of version 2.1, or
give a whole file up for one line (known faults 170), so the lines are ours.
"""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tgv_dagster.arrive.decoding import clean_text, decode

_MARKS = (b"\xff\xfe", b"\xfe\xff")
_HEAD = re.compile(
    rb'\s*(?:(?P<group>[\w.-]+)\.)?(?P<name>[A-Za-z][\w-]*)(?P<params>(?:;(?:"[^"]*"|[^":])*)*):'
)
_PARAM = re.compile(r';\s*([\w-]+)\s*(?:=((?:\s*"[^"]*"|[^";])*))?')
_PIECE = re.compile(r'"([^"]*)"|([^,"]+)')
_BASE64 = re.compile(rb"[A-Za-z0-9+/=\s]+")
_CARET = {"^n": "\n", "^'": '"', "^^": "^"}
_ESCAPED = re.compile(r"\\([\\;,:nN])")
_LEGACY = (b"1.0", b"2.1")


@dataclass(frozen=True, slots=True)
class ContentLine:
    """One property: name in capitals, its parameters, the value with its escapes.

    Words without a name (`TEL;WORK;FAX:`) are types. Lines are physical and 1-based.
    """

    name: str
    params: Mapping[str, tuple[str, ...]]
    value: str
    line: int

    def param(self, name: str) -> str:
        """The first value of a parameter, empty without one."""
        return next(iter(self.params.get(name, ())), "")

    @property
    def is_binary(self) -> bool:
        """Whether the value is encoded bytes: a photo, a sound, a key."""
        return _is_coded(self.params) or self.value.startswith("data:")

    def text(self) -> str:
        """The value without its escapes."""
        return _unescaped(self.value)

    def parts(self, separator: str = ";") -> tuple[str, ...]:
        """The components of a structured value, without escapes."""
        found = re.split(rf"(?<!\\)((?:\\\\)*){separator}", self.value)
        pieces = ["".join(found[i : i + 2]) for i in range(0, len(found), 2)]
        return tuple(_unescaped(piece).strip() for piece in pieces)


@dataclass(slots=True)
class Component:
    """What stands between BEGIN and END. `complete`: its own END was there."""

    kind: str
    first_line: int
    last_line: int = 0
    lines: list[ContentLine] = field(default_factory=list)
    parts: list[Component] = field(default_factory=list)
    complete: bool = False

    def all(self, name: str) -> tuple[ContentLine, ...]:
        """Every property of this name."""
        return tuple(line for line in self.lines if line.name == name)

    def text(self, name: str) -> str:
        """The text of the first property of this name, empty without one."""
        return next((line.text().strip() for line in self.lines if line.name == name), "")


@dataclass(frozen=True, slots=True)
class BrokenLine:
    """A line that is no property, or a component that never ends."""

    line: int
    raw: str
    reason: str


def read_components(data: bytes) -> tuple[tuple[Component, ...], tuple[BrokenLine, ...]]:
    """All components of a file, the outermost first, and what could not be read. Never raises."""
    top = Component("", 1)
    open_ones = [top]
    broken: list[BrokenLine] = []
    for line in _content_lines(data, broken):
        if line.name == "BEGIN":
            kind = line.value.strip().upper()
            if kind == "VCARD" and open_ones[-1].kind == "VCARD" and not _holds_card(open_ones[-1]):
                _give_up(open_ones, broken, line.line - 1)
            inner = Component(kind, line.line, line.line)
            open_ones[-1].parts.append(inner)
            open_ones.append(inner)
        elif line.name == "END":
            kind = line.value.strip().upper()
            if all(one.kind != kind for one in open_ones[1:]):
                broken.append(BrokenLine(line.line, f"END:{kind}", "it ends what never began"))
                continue
            while open_ones[-1].kind != kind:
                _give_up(open_ones, broken, line.line - 1)
            open_ones[-1].complete, open_ones[-1].last_line = True, line.line
            open_ones.pop()
        else:
            open_ones[-1].lines.append(line)
            open_ones[-1].last_line = line.line
    while len(open_ones) > 1:
        _give_up(open_ones, broken, open_ones[-1].last_line)
    return tuple(top.parts), tuple(sorted(broken, key=lambda one: one.line))


def walk(components: tuple[Component, ...] | list[Component]) -> Iterator[Component]:
    """Components and everything inside them, in the order of the file."""
    for component in components:
        yield component
        yield from walk(component.parts)


def _holds_card(component: Component) -> bool:
    """Whether the last property announces a card inside the card (AGENT of version 2.1)."""
    last = component.lines[-1] if component.lines else None
    return last is not None and last.name == "AGENT" and not last.value.strip()


def _give_up(open_ones: list[Component], broken: list[BrokenLine], last_line: int) -> None:
    lost = open_ones.pop()
    lost.last_line = max(lost.last_line, last_line)
    broken.append(BrokenLine(lost.first_line, f"BEGIN:{lost.kind}", "it never ends"))


def _content_lines(data: bytes, broken: list[BrokenLine]) -> Iterator[ContentLine]:
    if data.startswith(_MARKS) or b"\0" in data[:64]:
        data = decode(data).text.encode("utf-8", "replace")
    data = data.removeprefix(b"\xef\xbb\xbf")
    encoding = _encoding(data)
    legacy = False
    for number, raw in _logical_lines(data):
        head = _HEAD.match(raw)
        if head is None:
            broken.append(BrokenLine(number, _decoded(raw, encoding)[:2000], "it is no property"))
            continue
        params = _params(_decoded(head["params"], encoding))
        charset = next(iter(params.get("CHARSET", ())), "") or encoding
        value = raw[head.end() :]
        if "QUOTED-PRINTABLE" in {p.upper() for p in params.get("ENCODING", ())}:
            value = quopri.decodestring(value)
        name = head["name"].decode("ascii", "replace").upper()
        if name == "BEGIN":
            legacy = False
        elif name == "VERSION":
            legacy = value.strip() in _LEGACY
        text = _without_folds(
            _decoded(value, charset), keeps_blank=legacy and not _is_coded(params)
        )
        yield ContentLine(name, params, clean_text(text), number)


_FOLD = "\x1e"
_FOLD_BYTES = _FOLD.encode()


def _logical_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Lines with their continuations; each fold is marked, because versions differ about it."""
    current, start = b"", 1
    for number, line in enumerate(re.split(rb"\r\n|\n|\r", data.replace(_FOLD_BYTES, b"")), 1):
        if current and _is_soft_broken(current):
            current = current[:-1] + line.lstrip(b"\t")
        elif line[:1] in (b" ", b"\t") and current:
            current += _FOLD_BYTES + line
        elif current and _continues_base64(current, line):
            current += line
        else:
            if current.strip():
                yield start, current
            current, start = line, number
    if current.strip():
        yield start, current


def _is_soft_broken(line: bytes) -> bool:
    head = _HEAD.match(line)
    return (
        line.endswith(b"=") and head is not None and b"QUOTED-PRINTABLE" in head["params"].upper()
    )


def _continues_base64(current: bytes, line: bytes) -> bool:
    """Old writers neither indent nor fold the lines of a picture."""
    if not line or b":" in line or _BASE64.fullmatch(line) is None:
        return False
    head = _HEAD.match(current)
    return (
        head is not None and re.search(rb"BASE64|ENCODING=B\b", head["params"].upper()) is not None
    )


def _without_folds(text: str, *, keeps_blank: bool) -> str:
    """Version 2.1 keeps the blank of a fold, later ones take it away."""
    if _FOLD not in text:
        return text
    return re.sub(_FOLD if keeps_blank else rf"{_FOLD}[ \t]", "", text)


def _is_coded(params: Mapping[str, tuple[str, ...]]) -> bool:
    return bool({"B", "BASE64"} & {p.upper() for p in params.get("ENCODING", ())})


def _params(text: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for match in _PARAM.finditer(re.sub(rf"{_FOLD}[ \t]", "", text)):
        name, told = match.group(1).upper(), match.group(2)
        if told is None:
            key = "ENCODING" if name in ("QUOTED-PRINTABLE", "BASE64", "8BIT") else "TYPE"
            found[key] = (*found.get(key, ()), name)
            continue
        pieces = (quoted or bare for quoted, bare in _PIECE.findall(told))
        values = tuple(re.sub(r"\^[n'^]", lambda m: _CARET[m.group()], p.strip()) for p in pieces)
        found[name] = (*found.get(name, ()), *values)
    return found


def _encoding(data: bytes) -> str:
    """UTF-8 unless the unfolded bytes are none; a fold may cut a character in two."""
    unfolded = re.sub(rb"\r?\n[ \t]", b"", data)
    try:
        unfolded.decode("utf-8")
    except UnicodeDecodeError:
        return decode(unfolded).encoding
    return "utf-8"


def _decoded(raw: bytes, encoding: str) -> str:
    """A line in its charset; where a fold cuts a character, without folds."""
    try:
        return raw.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        whole = re.sub(rb"\x1e[ \t]", b"", raw)
    try:
        return whole.decode("utf-8")
    except UnicodeDecodeError:
        return decode(whole).text


def _unescaped(value: str) -> str:
    return _ESCAPED.sub(lambda m: "\n" if m.group(1) in "nN" else m.group(1), value)
