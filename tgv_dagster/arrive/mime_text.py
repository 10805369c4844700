"""Readable text out of HTML and RTF bodies, bounded in time (known fault 73).

Belongs here: one form of a body to plain text, and what an HTML body refers to. Does not
belong here: which of several forms is the body (`mime`).
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote

from inscriptis import Inscriptis
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue] - compiled, no stub
from lxml import html as lxml_html
from striprtf.striprtf import rtf_to_text

from tgv_dagster.arrive.mime_charsets import without_surrogates
from tgv_dagster.arrive.mime_model import DefectKind

MAX_RTF_TEXT_INPUT = 1_000_000
MAX_TABLE_ELEMENTS = 3_000
MAX_FONT_TABLE = 64 * 1024
_SIGNATURE_MARK = "-- "

_CID = re.compile(r"cid:([^\s\"'<>()\\]{1,500})", re.IGNORECASE)
_TARGET = re.compile(
    r"(?:src|background|href)\s{0,5}=\s{0,5}[\"']?([^\s\"'<>]{1,500})"
    r"|url\(\s{0,5}[\"']?([^\s\"'<>()]{1,500})",
    re.IGNORECASE,
)
_META_CHARSET = re.compile(
    rb"<meta[^>]{0,200}?charset\s{0,3}=\s{0,3}[\"']?([\w.:-]{2,40})", re.IGNORECASE
)
_FONT = re.compile(r"\\f(\d{1,5})[^{};]{0,120}?\\fcharset(\d{1,3})")
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]{0,200}\?>")
_SILENT = frozenset({"script", "style", "title", "template", "noscript"})
_TAG = re.compile(r"</?([a-z][a-z0-9]{0,20})|<[!?]")
_BLOCKS = frozenset(
    {"p", "div", "br", "tr", "li", "table", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6"}
    | {"blockquote", "pre", "hr", "section", "article", "header", "footer", "dt", "dd", "center"}
)


@dataclass(frozen=True, slots=True)
class Readable:
    """Text of a body with what went wrong on the way; `defect` None when nothing did."""

    text: str
    defect: DefectKind | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class References:
    """What an HTML text refers to: Content-IDs (lower case) and other targets as written."""

    content_ids: frozenset[str]
    targets: frozenset[str]


def html_text(source: str, limit: int) -> Readable:
    """HTML as laid-out text; beyond `limit` characters of source the rest is left out.

    The layout engine gives up silently on markup nested deeper than the parser's bound and
    needs columns × rows of time for a table, so of such a source only the tags are taken out.
    """
    cut = source[:limit].replace("\0", "")
    parser = lxml_html.HTMLParser()
    try:
        tree = _parsed(cut, parser)
        if tree is None:
            return Readable("")
        if any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log):
            return Readable(_without_markup(cut), DefectKind.HTML_TOO_DEEP)
        if sum(1 for _ in tree.iter("td", "th", "tr", "table")) > MAX_TABLE_ELEMENTS:
            return Readable(_without_markup(cut), DefectKind.HTML_TOO_LARGE)
        text = Inscriptis(tree).get_text()
    except Exception as error:  # noqa: BLE001 - layout of foreign markup may raise anything
        return Readable(_without_markup(cut), DefectKind.HTML_UNREADABLE, type(error).__name__)
    if len(source) > limit:
        return Readable(text, DefectKind.BODY_TEXT_TRUNCATED, f"HTML of {len(source)} characters")
    return Readable(text)


class Flow(StrEnum):
    """How flowed text was broken into lines (RFC 3676): at a space, or with one put in."""

    AT_SPACE = "at_space"
    SPACE_ADDED = "space_added"


def unflowed(text: str, flow: Flow) -> str:
    """Flowed text with its paragraphs as one line each; quotes of other depth stay apart."""
    lines: list[str] = []
    goes_on, before = False, -1
    for line in text.split("\n"):
        words = line.lstrip(">")
        depth = len(line) - len(words)
        words = words.removeprefix(" ")
        if goes_on and depth == before and words != _SIGNATURE_MARK:
            lines[-1] += words
        else:
            lines.append(f"{'>' * depth} {words}" if depth else words)
        goes_on, before = words.endswith(" ") and words != _SIGNATURE_MARK, depth
        if goes_on and flow is Flow.SPACE_ADDED:
            lines[-1] = lines[-1][:-1]
    return "\n".join(lines)


def rtf_text(source: bytes) -> Readable:
    """RTF as plain text; beyond a megabyte of source the rest is left out."""
    tamed = _tamed_rtf(source[:MAX_RTF_TEXT_INPUT].decode("latin-1"))
    try:
        text = rtf_to_text(tamed, errors="ignore")
    except Exception as error:  # noqa: BLE001 - the reader raises anything on broken RTF
        return Readable("", DefectKind.RTF_UNREADABLE, type(error).__name__)
    return Readable(without_surrogates(str(text)))


def _tamed_rtf(source: str) -> str:
    """The same RTF in a form on which the reader's font and link patterns stay linear.

    The font table is written anew, one font a line, and the old one is made ignorable; a space
    behind the control word keeps link groups out of a pattern that backtracks over whole lines.
    """
    found = source.find("\\fonttbl")
    region = source[found : found + MAX_FONT_TABLE] if found >= 0 else ""
    fonts = [f"{{\\f{match[1]}\\fcharset{match[2]} x;}}\n" for match in _FONT.finditer(region)]
    table = "{\\fonttbl\n" + "".join(fonts) + "}" if fonts else ""
    rest = source.replace("\\fonttbl", "\\*\\fontold").replace("\\fldinst{", "\\fldinst {")
    return rest[:1] + table + rest[1:] if rest.startswith("{") else rest


def html_charset(content: bytes | memoryview) -> str | None:
    """The charset an HTML file declares in its first 2,048 bytes, None when it does not."""
    match = _META_CHARSET.search(bytes(content[:2_048]))
    return match[1].decode("ascii") if match else None


def html_references(source: str) -> References:
    """Every cid: and every src, background, href or url() target of an HTML text."""
    content_ids = {_content_id(match[1]) for match in _CID.finditer(source)}
    targets = {html.unescape(match[1] or match[2]) for match in _TARGET.finditer(source)}
    return References(frozenset(content_ids), frozenset(targets))


def _content_id(written: str) -> str:
    return unquote(html.unescape(written)).strip("<> ").lower()


def _parsed(source: str, parser: lxml_html.HTMLParser) -> lxml_html.HtmlElement | None:
    bare = _XML_DECLARATION.sub("", source, count=1)
    if not bare.strip():
        return None
    try:
        return lxml_html.document_fromstring(bare, parser=parser)
    except etree.ParserError:
        # Only comments or declarations: a document without text.
        return None


def _without_markup(source: str) -> str:
    """The text between the tags, block tags as line breaks. One pass, whatever the source."""
    lowered = source.lower()
    pieces: list[str] = []
    position = 0
    while (start := source.find("<", position)) >= 0:
        pieces.append(source[position:start])
        position = start
        comment = source.startswith("<!--", start)
        tag = _TAG.match(lowered, start)
        if not (comment or tag):
            pieces.append("<")
            position = start + 1
            continue
        end = source.find("-->" if comment else ">", start)
        position = len(source) if end < 0 else end + (3 if comment else 1)
        name = tag[1] if tag and not comment else ""
        pieces.append("\n" if name in _BLOCKS else "")
        if name in _SILENT:
            close = lowered.find(f"</{name}", position)
            position = len(source) if close < 0 else close
    pieces.append(source[position:])
    text = html.unescape("".join(pieces))
    lines = (re.sub(r"[ \t\r]+", " ", line).strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line)
