"""Parties: who stands on which side of a document, and how the other side is called.

Here belong the layout signs (labels, address blocks, sender lines, footers) that tell supplier
from bill-to, and the search for company names. Which own entity follows from them is decided in
`entity`; contacts are another room's matter and only get the mentions.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from tgv_dagster.understand import address_columns, words
from tgv_dagster.understand.address_columns import CONTACT, POSTCODE, AddressColumn, Cell, PartyRole
from tgv_dagster.understand.amounts import Offsets
from tgv_dagster.understand.identifiers import Identifier, IdentifierKind
from tgv_dagster.understand.vocabulary import IDENTIFYING, EntityMatch, MatchKind


@dataclass(frozen=True, slots=True)
class PartyMention:
    """A person or company named by a document, as written, with its role."""

    role: PartyRole
    name: str
    email: str | None = None
    iban: str | None = None
    vat_id: str | None = None
    country: str | None = None
    source_kind: str = "text"


@dataclass(frozen=True, slots=True)
class EntityEvidence:
    """All signs for one own entity: how surely it is here, and on which side.

    `presence` is 0..1; the three sides are weights of the signs, comparable among entities.
    """

    slug: str
    presence: float
    bill_to: float
    supplier: float
    ship_to: float
    span: Offsets
    kinds: frozenset[MatchKind]

    @property
    def identified(self) -> bool:
        """Whether a number that belongs to nobody else names the entity."""
        return bool(self.kinds & IDENTIFYING)


@dataclass(frozen=True, slots=True)
class CompanyName:
    """A company or office named in a text, with the weight of what makes it the supplier."""

    name: str
    span: Offsets
    weight: float


# --- layout --------------------------------------------------------------------------------------


_CELL = re.compile(r"[^\s](?:[^\n\t\f]*?)(?=[ \u00a0]{2,}|\t|\n|\f|$)", re.MULTILINE)
_SENDER_LINE = re.compile(r"[·•|]| - | – ")


_PLAIN_BLANKS = str.maketrans(dict.fromkeys("\u00a0\u202f\u2009\u2007", " "))


_LINE_LIMIT = 400
_SALUTATION = re.compile(
    r"[ \t]*(?:herrn?|frau|z\.? ?hd|attn|attention|m\.|mme|mr|mrs|ms|sig)(?!\w)"
)
_SHORT_LABEL = 4


class Layout:
    """A text cut into lines and cells, with the labels of the sides on them."""

    def __init__(self, text: str) -> None:
        self.text = text.translate(_PLAIN_BLANKS)
        self.folded = words.fold(text)
        self.line_starts = [0, *(m.end() for m in re.finditer("\n", text))]
        self.cells = self._cells()
        self.last_line = self.cells[-1].line if self.cells else 0
        self._cell_starts = [cell.start for cell in self.cells]
        self._labels = self._side_labels()
        self.address_columns = address_columns.find(self.text, self.cells, self._opening_label)
        self._contacts: dict[int, bool] = {}
        self._marks = {
            line
            for hit in words.finder("parties", "sender_marks").find(self.folded)
            for line in [self.line_of(hit.start)]
            if not _SALUTATION.match(self.folded, self.line_starts[line])
        }

    def line_of(self, position: int) -> int:
        """Index of the line of a place."""
        return bisect_right(self.line_starts, position) - 1

    def line_text(self, line: int) -> str:
        """A line without its end, cut where it is too long to be one; empty beyond the text."""
        if not 0 <= line < len(self.line_starts):
            return ""
        start = self.line_starts[line]
        end = self.line_starts[line + 1] if line + 1 < len(self.line_starts) else len(self.text)
        return self.text[start : min(end, start + _LINE_LIMIT)].rstrip("\n\r")

    def cell_at(self, position: int) -> Cell | None:
        """The cell around a place."""
        index = bisect_right(self._cell_starts, position) - 1
        return self.cells[index] if index >= 0 else None

    def is_marked(self, line: int, reach: int) -> bool:
        """Whether a word or number of a sender's data stands within `reach` lines."""
        return any(self._is_marked_line(near) for near in range(line - reach, line + reach + 1))

    def _is_marked_line(self, line: int) -> bool:
        known = self._contacts.get(line)
        if known is None:
            contact = CONTACT.search(self.line_text(line)) is not None
            known = self._contacts[line] = contact or line in self._marks
        return known

    def side_label(self, position: int, *, of_name: bool = True) -> PartyRole | None:
        """The side whose label governs a place: in front on its line, or at most five lines up.

        A label with a value on its own line governs a name on the next line at most. A head line
        that names two sides governs nobody, for its columns are not known here.
        """
        line = self.line_of(position)
        for above in range(line, max(-1, line - 6), -1):
            labels = self._labels.get(above, [])
            before = [label for label in labels if above < line or label[1] <= position]
            if before:
                valued = above < line and self._has_value(above, before[-1][1])
                if valued and of_name and line - above > 1:
                    return None
                sides = {label[0] for label in before}
                return before[-1][0] if len(sides) == 1 or above == line else None
            if above < line - 1 and not self.line_text(above).strip():
                return None
        return None

    def _has_value(self, line: int, label_end: int) -> bool:
        end = self.line_starts[line] + len(self.line_text(line))
        return bool(self.text[label_end:end].strip(" :*-\t"))

    def foreign_bill_to(self, matches: Iterable[EntityMatch]) -> str | None:
        """The name under a bill-to label where no own entity stands within four lines."""
        matches = tuple(matches)
        if self.address_columns:
            return self._foreign_in_column(matches)
        known = {self.line_of(match.span[0]) for match in matches}
        for line, labels in sorted(self._labels.items()):
            if len(labels) != 1 or labels[0][0] is not PartyRole.BILL_TO:
                continue
            if any(line <= own <= line + 4 for own in known):
                return None
            rest = self.text[labels[0][1] : self.line_starts[line] + len(self.line_text(line))]
            if "@" in rest:
                continue  # the head of a mail: an address says nothing about who is billed
            for candidate in (rest, self.line_text(line + 1), self.line_text(line + 2)):
                name = candidate.strip(" :*-\t")
                if len(name) > 2 and name[0].isupper() and not name[0].isdigit():
                    return name
        return None

    def _foreign_in_column(self, matches: tuple[EntityMatch, ...]) -> str | None:
        """The name in the receiver's column where no own entity stands in it."""
        for column in self.address_columns:
            own = any(column.holds(match.span[0]) for match in matches)
            if column.role is not PartyRole.BILL_TO or own:
                continue
            below = self._opening_label(column.cells[0]) is not None
            span = address_columns.name_span(column, self.text, below_label=below)
            return None if span is None else self.text[slice(*span)]
        return None

    def is_of_one_sender(self) -> bool:
        """Whether beside the place of delivery one town at most is printed and nobody addressed."""
        towns = {
            words.fold(match.group().strip(" ,·•|"))
            for match in POSTCODE.finditer(self.text)
            if self.side_label(match.start(), of_name=False) is not PartyRole.SHIP_TO
        }
        addressed = any(_SALUTATION.match(self.folded, start) for start in self.line_starts)
        return len(towns) <= 1 and not addressed

    def address_column(self, position: int) -> AddressColumn | None:
        """The column of a head of addresses around a place, where its side is known."""
        column = address_columns.column_at(self.address_columns, position)
        return column if column is not None and column.role is not None else None

    def _is_column_head(self, cell: Cell, start: int, end: int) -> bool:
        """Whether a label fills its cell in a line of several such cells."""
        line = self.line_text(cell.line)
        fills = not self.text[cell.start : start].strip() and not self.text[end : cell.end].strip()
        return fills and bool(re.search(r"\S(?: {2,}|\t+)\S", line))

    def _opening_label(self, cell: Cell) -> PartyRole | None:
        """The side that a label at the start of a cell names."""
        within = [label for label in self._labels.get(cell.line, ()) if cell.start < label[1]]
        inside = [label for label in within if label[1] <= cell.end]
        return inside[0][0] if inside else None

    def _cells(self) -> list[Cell]:
        cells: list[Cell] = []
        for match in _CELL.finditer(self.text):
            line = self.line_of(match.start())
            first = not cells or cells[-1].line != line
            end = min(match.end(), match.start() + _LINE_LIMIT)
            column = match.start() - self.line_starts[line]
            cells.append(Cell(match.start(), end, line, first, column))
        return cells

    def _side_labels(self) -> dict[int, list[tuple[PartyRole, int]]]:
        """Labels per line: side and where the label ends."""
        sides = {
            "buyer": PartyRole.BILL_TO,
            "seller": PartyRole.SUPPLIER,
            "ship_to": PartyRole.SHIP_TO,
        }
        found: dict[int, list[tuple[PartyRole, int]]] = {}
        for hit in words.finder("parties", "labels").find(self.folded):
            line = self.line_of(hit.start)
            cell = self.cell_at(hit.start)
            front = "" if cell is None else self.text[cell.start : hit.start]
            opens = cell is not None and not front.strip(" *#-•0123456789.")
            behind = self.text[hit.end : hit.end + 2]
            closes = behind[:1] in ("", ":", "\n", "\r") or behind.startswith((" :", "  "))
            named = behind.strip().startswith(":") and front.rstrip()[-1:] in (",", ";", "|", "/")
            length = hit.end - hit.start
            long_enough = length >= 7 and " " in self.folded[hit.start : hit.end]
            whole = cell is not None and self._is_column_head(cell, hit.start, hit.end)
            if length < _SHORT_LABEL and not behind.strip().startswith(":") and not whole:
                continue
            if named or (opens and (closes or long_enough)):
                found.setdefault(line, []).append((sides[hit.key], hit.end))
        return found


# --- evidence for own entities -------------------------------------------------------------------

_PRESENCE = {
    MatchKind.VAT_ID: 0.97,
    MatchKind.IBAN: 0.95,
    MatchKind.REGISTER_NO: 0.95,
    MatchKind.SIREN: 0.96,
    MatchKind.LEGAL_NAME: 0.92,
    MatchKind.ALIAS: 0.85,
    MatchKind.EMAIL_DOMAIN: 0.6,
    MatchKind.ADDRESS: 0.5,
}
_EMBEDDED_PRESENCE = 0.35
_SHORT_ALIAS_PRESENCE = 0.6
_LABEL, _BLOCK, _SENDER, _FOOTER, _MARKED, _CUSTOMER = 3.0, 1.5, 2.0, 0.8, 1.2, 3.0
_NAMED, _FACING = 2.6, 2.2


def entity_evidence(layout: Layout, matches: tuple[EntityMatch, ...]) -> tuple[EntityEvidence, ...]:
    """Signs per own entity, strongest presence first."""
    by_slug: dict[str, list[EntityMatch]] = {}
    for match in matches:
        by_slug.setdefault(match.slug, []).append(match)
    found = [_evidence_of(layout, slug, own) for slug, own in by_slug.items()]
    return tuple(sorted(found, key=lambda e: (-e.presence, e.slug)))


def _evidence_of(layout: Layout, slug: str, matches: list[EntityMatch]) -> EntityEvidence:
    best_by_kind: dict[MatchKind, float] = {}
    sides = {PartyRole.BILL_TO: 0.0, PartyRole.SUPPLIER: 0.0, PartyRole.SHIP_TO: 0.0}
    for match in matches:
        presence = _presence(match)
        best_by_kind[match.kind] = max(best_by_kind.get(match.kind, 0.0), presence)
        if match.embedded:
            continue
        for side, weight in _sides(layout, match):
            sides[side] = max(sides[side], weight) + 0.2 * min(sides[side], weight)
    presence = 1.0
    for value in best_by_kind.values():
        presence *= 1 - value
    first = max(matches, key=lambda match: (_presence(match), -match.span[0]))
    solid = frozenset(match.kind for match in matches if not match.embedded)
    return EntityEvidence(
        slug=slug,
        presence=round(min(0.99, 1 - presence), 3),
        bill_to=round(sides[PartyRole.BILL_TO], 2),
        supplier=round(sides[PartyRole.SUPPLIER], 2),
        ship_to=round(sides[PartyRole.SHIP_TO], 2),
        span=first.span,
        kinds=solid,
    )


def _presence(match: EntityMatch) -> float:
    if match.embedded:
        return _EMBEDDED_PRESENCE
    if match.kind is MatchKind.ALIAS and len(match.raw.split()) == 1:
        return _SHORT_ALIAS_PRESENCE
    return _PRESENCE[match.kind]


def _sides(layout: Layout, match: EntityMatch) -> Iterator[tuple[PartyRole, float]]:
    start = match.span[0]
    column = layout.address_column(start)
    if column is not None and column.role is not None:
        yield column.role, _LABEL if column.labelled else _FACING
        return
    line = layout.line_of(start)
    label = layout.side_label(start, of_name=match.kind not in IDENTIFYING)
    if label is not None:
        yield label, _LABEL
    if match.kind in IDENTIFYING:
        yield _side_of_number(layout, match, label)
        return
    text = layout.line_text(line)
    if match.kind is MatchKind.EMAIL_DOMAIN:
        yield PartyRole.SUPPLIER, 0.4
        return
    if _SENDER_LINE.search(text) and POSTCODE.search(_cell_text(layout, start)):
        yield PartyRole.SUPPLIER, _SENDER
        return
    if match.kind is MatchKind.ADDRESS or label is not None:
        return
    if _is_addressed(layout, start):
        yield PartyRole.BILL_TO, _BLOCK
        return
    named = _named_side(layout, match.span[1])
    if named is not None:
        yield named, _NAMED
    block = _block(layout, start)
    if block is _Block.RECIPIENT:
        yield PartyRole.BILL_TO, _BLOCK
    elif block is not _Block.UNCLEAR and layout.is_marked(line, 2):
        yield PartyRole.SUPPLIER, _MARKED
    if line >= len(layout.line_starts) - 6 and len(layout.line_starts) > 12:
        yield PartyRole.SUPPLIER, _FOOTER


_SIDE_WORDS = {"buyer": PartyRole.BILL_TO, "seller": PartyRole.SUPPLIER}
_PARTY_END = re.compile(r"\n[ \t]*\n|\n[ \t–-]*(?:und|et|and|e)\b|[.;](?=\s)|[–-] ?nachfolgend")
_QUOTED = re.compile(r"[(„“\"«,–-]\s?(?:als |der |die |le |la |the |il |nachfolgend |ci-après )?$")


def _named_side(layout: Layout, position: int) -> PartyRole | None:
    """The side that a contract gives a party behind its name: "… GmbH, Mieter" or "(Kunde)"."""
    behind = layout.folded[position : position + 200]
    end = _PARTY_END.search(behind)
    reach = behind[: end.start() + 40] if end is not None else behind
    for hit in words.finder("parties", "labels").find(reach):
        if hit.key in _SIDE_WORDS and _QUOTED.search(reach[: hit.start]):
            return _SIDE_WORDS[hit.key]
    return None


_ADDRESSED = re.compile(
    r"(?:an |to |a |à )?(?:sehr geehrte[rs]? |liebe[rs]? |dear |cher |chere |gentile |egregio )?"
    r"(?:herrn?|frau|familie|eheleute|firma|fa\.?|m\.|mme|mr\.?|mrs\.?|ms\.?|monsieur|madame"
    r"|sig\.?|sig\.ra|signora?|spett\.le)(?: dr\.| prof\.)* "
)


def _is_addressed(layout: Layout, position: int) -> bool:
    """Whether a form of address opens the cell in front of a name: nobody speaks so of himself."""
    cell = layout.cell_at(position)
    return cell is not None and bool(
        _ADDRESSED.fullmatch(layout.folded, cell.start, max(cell.start, position))
    )


def _cell_text(layout: Layout, position: int) -> str:
    cell = layout.cell_at(position)
    return "" if cell is None else layout.text[cell.start : cell.end]


def _side_of_number(
    layout: Layout, match: EntityMatch, label: PartyRole | None
) -> tuple[PartyRole, float]:
    """Numbers stand beside the sender unless a word gives them to the customer."""
    begin = max(0, match.span[0] - 90)
    before = layout.folded[begin : match.span[0]]
    customer = next(words.finder("parties", "customer_numbers").find(before), None)
    if customer is not None:
        return PartyRole.BILL_TO, _CUSTOMER
    if label is not None:
        return label, 1.0
    if _CUSTOMER_NEAR.search(before):
        return PartyRole.BILL_TO, 1.6
    return PartyRole.SUPPLIER, 1.6 if match.kind is MatchKind.IBAN else 1.2


_CUSTOMER_NEAR = re.compile(r"kundennummer|kunden-?nr|customer|client|cliente|kunde\b|klant")


class _Block(StrEnum):
    """What an address under a name is."""

    NONE = "none"
    RECIPIENT = "recipient"
    SENDER = "sender"
    UNCLEAR = "unclear"


_FOOTER_LINES = 8


def _block(layout: Layout, position: int) -> _Block:
    """The address in the cells below a name: bare is the recipient's, with contacts the sender's.

    Contacts in a neighbouring column leave it open at the top and make it a footer at the bottom.
    """
    cell = layout.cell_at(position)
    if cell is None or POSTCODE.search(layout.text[cell.start : cell.end]):
        return _Block.NONE
    below = _column_below(layout, cell)
    depth = next((i for i, part in enumerate(below) if POSTCODE.match(part)), None)
    if depth is None or any(CONTACT.search(part) for part in below[:depth]):
        return _Block.NONE
    if any(_legal_form().search(part) for part in below[:depth]):
        return _Block.NONE
    if any(CONTACT.search(part) for part in below[depth + 1 : depth + 3]):
        return _Block.SENDER
    if cell.line <= _TOP_LINE and _address_follows(layout, cell.line + depth + 2):
        return _Block.SENDER
    if not layout.is_marked(cell.line, 1):
        return _Block.RECIPIENT
    return _Block.SENDER if cell.line >= len(layout.line_starts) - _FOOTER_LINES else _Block.UNCLEAR


_TOP_LINE = 1
_NEXT_ADDRESS = 12


def _address_follows(layout: Layout, line: int) -> bool:
    """Whether a second address stands below: then the one on top of the paper is the sender's."""
    last = min(line + _NEXT_ADDRESS, len(layout.line_starts))
    return any(
        POSTCODE.match(layout.line_text(n).strip()) and not _is_foot(layout, n)
        for n in range(line, last)
    )


def _is_foot(layout: Layout, line: int) -> bool:
    """Whether a line belongs to the sender's data at the bottom of the paper."""
    return line >= layout.last_line - _FOOTER_LINES and layout.is_marked(line, 2)


_BANK = re.compile(
    r"bank|sparkasse|banque|banca|banco|credit agricole|credit mutuel|caisse d'epargne|bnp"
    r"|postfinance"
)


_BLOCK_DEPTH = 7


def _column_below(layout: Layout, cell: Cell) -> list[str]:
    """The cells under a cell, down to an empty line."""
    column = cell.start - layout.line_starts[cell.line]
    parts: list[str] = []
    for line in range(cell.line + 1, cell.line + 1 + _BLOCK_DEPTH):
        text = layout.line_text(line)
        part = text[column:] if column and len(text) > column else text
        part = re.split(r" {2,}|\t", part.strip())[0].strip()
        if not part:
            break
        parts.append(part)
    return parts


# --- company names -------------------------------------------------------------------------------

_CONNECTORS = frozenset(
    [
        *("de", "du", "des", "d'", "la", "le", "les", "l'", "et", "und", "&", "+", "of", "the"),
        *("di", "della", "e", "van", "der", "den", "y"),
    ]
)
_STOPS = re.compile(r"[·•|:;()„“\"»«\t]|,(?! ?(?:Inc|Ltd|LLC|S\.))| {2,}| [-–—] ")
_CYRILLIC = re.compile(r"(?<!\w)(?:ООО|ОАО|ЗАО|ПАО|АО|ТОО|ИП)\s+«[^»\n]{2,60}»")
_BETWEEN = re.compile(
    r"(?<!\w)(?:[Zz]wischen|[Bb]etween|[Ee]ntre|[Tt]ra|[Ff]ra)[:\s]{1,3}(?:der |dem |la |le |the )?"
    r"([A-ZÄÖÜÉ][^\n,(–:;]{3,60}?)(?=,| \(|\n| –)"
)
_NAME_LIMIT, _SHORTEST_NAME = 7, 3
_NAME_REACH = 120


@cache
def _legal_form() -> re.Pattern[str]:
    forms = words.phrases_by_key("parties", "legal_forms")["form"]
    options = "|".join(
        re.escape(form).replace(r"\ ", r"\s?") for form in sorted(set(forms), key=len, reverse=True)
    )
    return re.compile(rf"(?<![\w.])(?:{options})(?![\w])(?!\.\w)|(?<=\s)b\.v\.(?!\w)")


def company_names(
    layout: Layout,
    own_spans: tuple[Offsets, ...],
    identifiers: tuple[Identifier, ...],
    sender_domain: str,
) -> tuple[CompanyName, ...]:
    """Names of companies and offices that are none of ours, the likeliest supplier first."""
    ordered = sorted(own_spans)
    own_starts, own_ends = [s for s, _ in ordered], [e for _, e in ordered]
    weights: dict[str, CompanyName] = {}
    counts: dict[str, int] = {}
    domains = {i.value for i in identifiers if i.kind is IdentifierKind.DOMAIN}
    domains |= {i.value.rpartition("@")[2] for i in identifiers if i.kind is IdentifierKind.EMAIL}
    if sender_domain:
        domains.add(sender_domain)
    for name, span, base in _names(layout):
        key = _name_key(name)
        if _touches(own_starts, own_ends, span) or len(key) < _SHORTEST_NAME:
            continue
        counts[key] = counts.get(key, 0) + 1
        weight = base + _supplier_weight(layout, span) + _domain_weight(name, domains)
        known = weights.get(key)
        if known is None or weight > known.weight:
            weights[key] = CompanyName(name, span, weight)
    ranked = [
        CompanyName(found.name, found.span, found.weight + 0.8 * (min(counts[key], 3) - 1))
        for key, found in weights.items()
    ]
    return tuple(sorted(ranked, key=lambda found: (-found.weight, found.span)))


def _touches(starts: list[int], ends: list[int], span: Offsets) -> bool:
    """Whether a span overlaps one of some ordered spans; own names hardly overlap each other."""
    index = bisect_right(starts, span[1] - 1) - 1
    return index >= 0 and (ends[index] > span[0] or (index > 0 and ends[index - 1] > span[0]))


def _name_key(name: str) -> str:
    return re.sub(r"[^\w]", "", words.fold(name))


def _names(layout: Layout) -> Iterator[tuple[str, Offsets, float]]:
    for match in _legal_form().finditer(layout.text):
        span = _extend_left(layout, match.start(), match.end())
        if span is None or _ARTICLE.fullmatch(layout.text[span[0] : match.start()].strip()):
            span = _extend_right(layout, match) or span
        if span is not None:
            yield layout.text[slice(*span)].strip(), span, 0.5
    for match in _CYRILLIC.finditer(layout.text):
        yield match.group(), match.span(), 0.5
    for match in _BETWEEN.finditer(layout.text):
        yield match.group(1).strip(), match.span(1), -1.0
    for hit in words.finder("parties", "offices").find(layout.folded):
        cell = layout.cell_at(hit.start)
        if cell is None or layout.text[cell.start : hit.start].strip() or cell.line > 14:
            continue
        if _REGISTER_COURT.search(layout.folded, hit.start, cell.end):
            continue
        end = _office_end(layout, hit.end, cell.end)
        if end - hit.start <= 60:
            yield layout.text[hit.start : end].strip(" ,."), (hit.start, end), 1.0
    yield from _letterhead(layout)


def _extend_left(layout: Layout, start: int, end: int) -> Offsets | None:
    """The words in front of a legal form that belong to the name."""
    line_start = max(layout.line_starts[layout.line_of(start)], start - _NAME_REACH)
    stops = [
        match.end()
        for match in _STOPS.finditer(layout.text[line_start:end])
        if line_start + match.end() <= start
    ]
    head_start = line_start + (stops[-1] if stops else 0)
    tokens = [
        (head_start + m.start(), m.group())
        for m in re.finditer(r"\S+", layout.text[head_start:start])
    ]
    begin: int | None = None
    for position, token in reversed(tokens[-_NAME_LIMIT:]):
        plain = token.strip(",*_#")
        capital = plain[:1].isupper() or plain[:1].isdigit() or "." in plain[1:-1] or "-" in plain
        if capital and (begin is None or not _is_label_word(plain)):
            begin = position
        elif plain.lower() not in _CONNECTORS:
            break
    if begin is not None and not _is_headline(layout, tokens, end):
        mark = _LEADING_MARKS.match(layout.text, begin)
        return (mark.end() if mark else begin), end
    headed = layout.line_of(start) <= 3 or _SENDER_LINE.search(
        layout.line_text(layout.line_of(start))
    )
    if headed and tokens and len(tokens) <= _NAME_LIMIT and tokens[0][1][:1].isupper():
        return tokens[0][0], end
    return None


_REGISTER_COURT = re.compile(r"\bh\.?r\.?[ab]\b|handelsregister")
_LEADING_MARKS = re.compile(r"[^\w\s„“\"«(]+")
_ARTICLE = re.compile(r"[Ll]a|[Ll]e|[Ll]'|[Tt]he|[Dd]ie|[Ss]ociété|[Ll]a société")
_FORM_FIRST = frozenset({"SCI", "SARL", "SAS", "SASU", "SNC", "EURL", "SELARL", "SCP"})
_FOLLOWING = re.compile(r"(?: (?:des|du|de la|de|d'|la|les|le))*(?: [A-ZÄÖÜÉ][\w&.'-]*){1,4}")


def _extend_right(layout: Layout, match: re.Match[str]) -> Offsets | None:
    """French names may carry their form in front: "SCI des Quais"."""
    if match.group() not in _FORM_FIRST:
        return None
    name = _FOLLOWING.match(layout.text, match.end())
    return None if name is None else (match.start(), name.end())


_TELLING = frozenset({"von", "für", "mit", "bei", "durch", "an", "par", "by", "from", "to", "da"})


def _is_headline(layout: Layout, tokens: list[tuple[int, str]], end: int) -> bool:
    """Whether a name fills one of the first lines: then all of its words belong to it."""
    cell = layout.cell_at(end - 1)
    if cell is None or cell.line > 3 or not tokens or len(tokens) > _NAME_LIMIT:
        return False
    first = tokens[0][1]
    whole = tokens[0][0] == cell.start and end == cell.end and first[:1].isupper()
    told = {token for _, token in tokens} & _TELLING
    return whole and not told and not _is_label_word(first)


_SHORT_LABELS = frozenset({"An", "Fa.", "M.", "Mme"})


def _is_label_word(token: str) -> bool:
    """Whether a word in front of a name is a form of address or a label; "Bei" may be a name."""
    if token[:1].isupper() and len(token) < 4 and token not in _SHORT_LABELS:
        return False
    return next(words.finder("parties", "before_name").find(words.fold(token)), None) is not None


def _office_end(layout: Layout, start: int, cell_end: int) -> int:
    match = re.compile(r"[·•|,;:()]| - | – ").search(layout.text, start, cell_end)
    return match.start() if match is not None else cell_end


_NAME_LINE = re.compile(
    r"[A-ZÄÖÜÉ][\w.&'’-]*(?:(?: (?:med|dent|vet|iur|jur|rer|nat|phil|oec|pol)\.)*"
    r" (?:[A-ZÄÖÜÉ&][\w.&'’-]*|de|du|des|et|und|di|della|la|van|von)){0,5}"
)


_DOMAIN_NAME = re.compile(r"[\w-]{2,40}\.[a-z]{2,10}")


def _letterhead(layout: Layout) -> Iterator[tuple[str, Offsets, float]]:
    """A name without legal form in the sender line or on the first line."""
    for cell in layout.cells[:14]:
        text = layout.text[cell.start : cell.end]
        if _SENDER_LINE.search(text) and POSTCODE.search(text):
            name = _SENDER_LINE.split(text)[0].strip()
            if _NAME_LINE.fullmatch(name) or _DOMAIN_NAME.fullmatch(name):
                yield name, (cell.start, cell.start + len(name)), 0.6
    first = layout.cells[0] if layout.cells else None
    if first is not None:
        name = layout.text[first.start : first.end].strip()
        titled = next(words.finder("doctypes", "title").find(words.fold(name)), None)
        named = " " in name and not name.endswith(".") and _NAME_LINE.fullmatch(name)
        one_firm = len(_legal_form().findall(name)) < 2
        if titled is None and len(name) <= 50 and named and one_firm:
            yield name, (first.start, first.end), 0.2


_NOT_SUPPLIER, _FOOT, _TOP_LINES = -4.0, 2.0, 8


def _supplier_weight(layout: Layout, span: Offsets) -> float:
    column = layout.address_column(span[0])
    if column is not None:
        if column.role is not PartyRole.SUPPLIER:
            return _NOT_SUPPLIER
        return 3.0 if column.labelled else _FACING
    line = layout.line_of(span[0])
    label = layout.side_label(span[0])
    if label is PartyRole.SUPPLIER:
        return 3.0
    named = _named_side(layout, span[1])
    if PartyRole.BILL_TO in (label, named) or label is PartyRole.SHIP_TO:
        return _NOT_SUPPLIER
    weight = 3.0 if named is PartyRole.SUPPLIER else 0.0
    if _SENDER_LINE.search(layout.line_text(line)) and POSTCODE.search(_cell_text(layout, span[0])):
        weight += 2.0
    block = _block(layout, span[0])
    if block is _Block.RECIPIENT:
        weight -= 1.5
    elif line > _TOP_LINES and _is_foot(layout, line):
        bank = _BANK.search(layout.folded, *span) is not None
        weight += _NOT_SUPPLIER if bank else _FOOT
    elif block is not _Block.UNCLEAR and layout.is_marked(line, 2):
        weight += 1.2
    if line <= 2:
        weight += 1.5
    return weight


def is_of_domain(name: str, domain: str) -> bool:
    """Whether a mail domain carries the first long word of a company's name."""
    return bool(domain) and _domain_weight(name, {domain}) > 0


def _domain_weight(name: str, domains: set[str]) -> float:
    """More when the name's first long word is in a mail or web domain of the document."""
    tokens = [_name_key(token) for token in name.split()]
    long_tokens = [token for token in tokens if len(token) >= 4][:2]
    hit = any(
        token in re.sub(r"[^a-z0-9]", "", domain) for token in long_tokens for domain in domains
    )
    return 1.5 if hit else 0.0
