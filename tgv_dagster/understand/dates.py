"""Dates: which calendar dates a text contains, and on which axis each one stands.

Here belongs the assignment of a role to a date by the words around it, and the date map that
names the axes. How a date is written belongs to `civil_dates`; the start, end and notice of a
contract, which stand in prose, belong to `contract_terms`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from functools import cache

from tgv_dagster.understand import civil_dates, references, words
from tgv_dagster.understand.amounts import Offsets
from tgv_dagster.understand.civil_dates import ReadDate
from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.words import Hit


class DateRole(StrEnum):
    """What a printed date dates; one date never stands on two axes by accident (DATE-09)."""

    ISSUED = "issued"
    SERVICE = "service"
    PERIOD_START = "period_start"
    PERIOD_END = "period_end"
    DUE = "due"
    DISCOUNT = "discount"
    PAID = "paid"
    RECEIPT_STAMP = "receipt_stamp"
    START = "start"
    END = "end"
    NOTICE = "notice"
    RENEWAL = "renewal"
    SIGNED = "signed"
    ORDER = "order"
    REFERENCE = "reference"
    BIRTH = "birth"
    PRINTED = "printed"


@dataclass(frozen=True, slots=True)
class DateAxis:
    """One axis of the date map: field, meaning, German label, kinds of document it belongs to."""

    field: Field
    meaning: str
    label_de: str
    kinds: str


DATE_MAP: tuple[DateAxis, ...] = (
    DateAxis(Field.DATE_RECEIVED, "arrival at a gate", "Eingang", "every document"),
    DateAxis(
        Field.INVOICE_DATE,
        "printed on the document as its own day",
        "Rechnungsdatum",
        "invoice, credit note, receipt",
    ),
    DateAxis(Field.LETTER_DATE, "printed day of a letter", "Briefdatum", "letter, mail, notice"),
    DateAxis(Field.SERVICE_DATE, "day of supply", "Leistungsdatum", "invoice, credit note"),
    DateAxis(Field.SERVICE_START_DATE, "first day of supply", "Leistungsbeginn", "invoice"),
    DateAxis(Field.SERVICE_END_DATE, "last day of supply", "Leistungsende", "invoice"),
    DateAxis(Field.DUE_DATE, "last day to pay", "Fälligkeit", "invoice, reminder"),
    DateAxis(Field.RECEIPT_STAMP_DATE, "stamp of receipt on paper", "Eingangsstempel", "any"),
    DateAxis(Field.ACCOUNTING_PERIOD, "booking month YYYY-MM", "Buchungsmonat", "booking types"),
    DateAxis(
        Field.CONTRACT_START_DATE,
        "first day of the contract",
        "Vertragsbeginn",
        "contract, insurance",
    ),
    DateAxis(
        Field.CONTRACT_END_DATE, "last day of the contract", "Vertragsende", "contract, lease"
    ),
    DateAxis(Field.NOTICE_DEADLINE, "last day to give notice", "Kündigungstermin", "contract"),
    DateAxis(Field.NEXT_RENEWAL_DATE, "next automatic renewal", "Nächste Verlängerung", "contract"),
)
"""The date map (DATE-01 to DATE-10); `notice_period_days` is a length and no axis."""


@dataclass(frozen=True, slots=True)
class DateMention:
    """A calendar date in a text with the axis its surroundings give it, None if they give none.

    `other_reading` is set when day and month may be the other way round. `label` are the printed
    words that decided the role.
    """

    value: date
    role: DateRole | None
    span: Offsets
    raw: str
    confidence: float
    other_reading: date | None = None
    label: str = ""

    @property
    def ambiguous(self) -> bool:
        """Whether day and month may be the other way round."""
        return self.other_reading is not None


@dataclass(frozen=True, slots=True)
class MonthMention:
    """A month without a day, "YYYY-MM"; partial dates stay partial."""

    value: str
    span: Offsets
    raw: str


def find(text: str, language: str | None, country: str | None = None) -> tuple[DateMention, ...]:
    """All full dates of a text with role and confidence; linear in the length of the text.

    A date under two labels ("Rechnungs- und Leistungsdatum") is mentioned once per role.
    `country` is an ISO code that settles the order of day and month where it is known.
    """
    reads = civil_dates.parse_all(text, language, country)
    if not reads:
        return ()
    page = _Page.of(text, reads)
    mentions = [mention for index in range(len(reads)) for mention in _mentions(page, index)]
    return tuple(_with_same_day_service(page, mentions))


def find_months(text: str, mentions: tuple[DateMention, ...]) -> tuple[MonthMention, ...]:
    """Months without a day outside the given full dates."""
    taken = tuple(mention.span for mention in mentions)
    return tuple(
        MonthMention(partial.value, partial.span, text[slice(*partial.span)])
        for partial in civil_dates.parse_partial(text, taken)
    )


_NAME_DATES = re.compile(
    r"(?<![0-9])(?:(?P<y>(?:19|20)[0-9]{2})(?P<s>[-_. ]?)(?P<m>[0-9]{2})(?P=s)(?P<d>[0-9]{2})"
    r"|(?P<d2>[0-9]{1,2})(?P<s2>[-_.])(?P<m2>[0-9]{1,2})(?P=s2)(?P<y2>(?:19|20)[0-9]{2}))(?![0-9])"
)


def from_file_name(name: str) -> DateMention | None:
    """The one full date in a file name, by anchored patterns; None when absent or contradictory.

    It has no role: a file name may carry any axis. Shapes: 2025-02-19, 20250219, 19.02.2025.
    """
    found: dict[date, DateMention] = {}
    for match in _NAME_DATES.finditer(name):
        year, month = match["y"] or match["y2"], match["m"] or match["m2"]
        value = civil_dates.calendar_day(int(year), int(month), int(match["d"] or match["d2"]))
        if value is not None:
            found[value] = DateMention(value, None, match.span(), match.group(), 0.8)
    return next(iter(found.values())) if len(found) == 1 else None


# --- roles --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Row:
    """A line with the labels and dates on it."""

    start: int
    end: int
    labels: tuple[Hit, ...]
    reads: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Page:
    """A text with everything the roles are decided from."""

    text: str
    folded: str
    reads: tuple[ReadDate, ...]
    labels: tuple[Hit, ...]
    label_ends: tuple[int, ...]
    nouns: tuple[Hit, ...]
    noun_ends: tuple[int, ...]
    columns: dict[int, tuple[Hit, float]]
    ranges: dict[int, int]
    openings: dict[int, int]

    @classmethod
    def of(cls, text: str, reads: tuple[ReadDate, ...]) -> _Page:
        folded = words.fold(text)
        labels = tuple(words.finder("date_labels", "roles").find(folded))
        nouns = tuple(words.finder("date_labels", "nouns").find(folded))
        ranges = _ranges(folded, reads)
        return cls(
            text=text,
            folded=folded,
            reads=reads,
            labels=labels,
            label_ends=tuple(hit.end for hit in labels),
            nouns=nouns,
            noun_ends=tuple(hit.end for hit in nouns),
            columns=_columns(text, folded, labels, reads),
            ranges=ranges,
            openings={end: start for start, end in ranges.items()},
        )


def _mentions(page: _Page, index: int) -> Iterator[DateMention]:
    read = page.reads[index]
    base = DateMention(
        read.value, None, read.span, page.text[slice(*read.span)], read.confidence, read.other
    )
    verdict = _verdict(page, index)
    if verdict is None:
        yield replace(base, confidence=base.confidence * 0.5)
        return
    for role in verdict.roles:
        yield replace(
            base,
            role=role,
            confidence=round(base.confidence * verdict.weight, 3),
            label=page.text[slice(*verdict.place)].strip(),
        )


@dataclass(frozen=True, slots=True)
class _Verdict:
    roles: tuple[DateRole, ...]
    weight: float
    place: Offsets


def _verdict(page: _Page, index: int) -> _Verdict | None:
    """The role of a date: its label, its column, its span partner, its noun, its place."""
    if index in page.openings:
        opening = _own_verdict(page, page.openings[index])
        return None if opening is None else _range_verdict(opening, last=True)
    own = _own_verdict(page, index)
    if own is not None and index in page.ranges:
        return _range_verdict(own, last=False)
    return own


_NEUTRAL_RANGE = _Verdict((DateRole.PERIOD_START,), 0.8, (0, 0))


def _range_verdict(opening: _Verdict, *, last: bool) -> _Verdict:
    """Start or end of a span, on the axis that the words before the span name."""
    contract = {DateRole.START, DateRole.END, DateRole.SIGNED} & set(opening.roles)
    if contract:
        role = DateRole.END if last else DateRole.START
    else:
        role = DateRole.PERIOD_END if last else DateRole.PERIOD_START
    return _Verdict((role,), opening.weight, opening.place)


def _own_verdict(page: _Page, index: int) -> _Verdict | None:
    if index in page.columns:
        hit, weight = page.columns[index]
        return _Verdict((_role(hit),), weight, (hit.start, hit.end))
    label = _label_before(page, index)
    deadline = _payment_deadline(page, index)
    if deadline is not None and (label is None or label.weight < deadline.weight):
        return deadline
    noun = _noun_before(page, index)
    if label is not None and (noun is None or label.weight >= noun.weight):
        return label
    if noun is not None:
        return noun
    if index in page.ranges:
        return _NEUTRAL_RANGE
    return _by_place(page, index)


_GAP = 45
_SENTENCE_END = re.compile(r"(?:(?<![0-9])[.!?]|(?<=[0-9]{4})\.)\s+(?=[A-ZÄÖÜÉА-Я])|[;]")
_HALF_NAMED = re.compile(r"rechnungs?-\s?(?:und|u|/|&)\.?\s?$")
_JOINT = re.compile(r"\s?(?:/|=|\+|&|und|et|and|e|u\.)\s?")


def _label_before(page: _Page, index: int) -> _Verdict | None:
    """The nearest label in front of a date, if nothing separates them."""
    read = page.reads[index]
    floor = page.reads[index - 1].span[1] if index else 0
    position = bisect_left(page.label_ends, read.span[0] + 1) - 1
    if position < 0:
        return None
    hit = page.labels[position]
    if hit.start < floor or not _connected(page, hit.end, read.span[0]):
        return None
    roles = [_role(hit)]
    if roles == [DateRole.ISSUED] and references.is_earlier(page.folded, hit.start, hit.end):
        return _Verdict((DateRole.REFERENCE,), 0.85, (hit.start, hit.end))
    before = page.folded[max(floor, hit.start - 16) : hit.start]
    if _HALF_NAMED.search(before):
        roles.insert(0, DateRole.ISSUED)
    elif position and page.labels[position - 1].start >= floor:
        previous = page.labels[position - 1]
        if _JOINT.fullmatch(page.folded[previous.end : hit.start]):
            roles.insert(0, _role(previous))
    sentence = _sentence_before(page, read.span[0])
    if roles == [DateRole.DUE] and (
        _DISCOUNT.search(sentence) or _discount_behind(page, read.span[1])
    ):
        roles = [DateRole.DISCOUNT]
    weight = 0.98
    if hit.key == "issued_general":
        weight = 0.6 if _TIME_BEHIND.match(page.folded, read.span[1]) else 0.84
    return _Verdict(tuple(dict.fromkeys(roles)), weight, (hit.start, hit.end))


_TIME_BEHIND = re.compile(
    r"\s{0,3}(?:,|um|-|/)?\s{0,3}(?:zeit|uhrzeit|time|heure|ora|[0-9]{1,2}:[0-9]{2})"
)


def _role(hit: Hit) -> DateRole:
    if hit.key == "issued_general":
        return DateRole.ISSUED
    if hit.key == "service_period":
        return DateRole.SERVICE
    return DateRole(hit.key)


def _connected(page: _Page, label_end: int, date_start: int) -> bool:
    """Whether only filler stands between label and date; a label may stand one line above."""
    if date_start - label_end > _GAP:
        return False
    gap = page.text[label_end:date_start]
    if _SENTENCE_END.search(gap):
        return False
    if "\n" not in gap:
        return True
    above, _, below = gap.partition("\n")
    return not above.strip(" :.-\t\r*") and not below.strip(" :\t\r\n")


def _noun_before(page: _Page, index: int) -> _Verdict | None:
    """ "Rechnung Nr. 42 vom 31.01.2014": the noun names the document the date belongs to."""
    read = page.reads[index]
    floor = page.reads[index - 1].span[1] if index else 0
    begin = max(floor, read.span[0] - 14)
    link = _link().search(page.folded[begin : read.span[0]])
    if link is None:
        return None
    position = bisect_left(page.noun_ends, read.span[0]) - 1
    if position < 0:
        return None
    noun = page.nouns[position]
    gap = page.text[noun.end : read.span[0]]
    if noun.start < floor or len(gap) > 60 or _wraps_badly(gap):
        return None
    if noun.key == "issued" and _DETOUR.search(words.fold(gap)):
        return _Verdict((DateRole.REFERENCE,), 0.8, (noun.start, noun.end))
    if noun.key != "issued":
        return _Verdict((DateRole(noun.key),), 0.9, (noun.start, noun.end))
    pointed = _pointer().search(page.folded[max(0, noun.start - 24) : noun.start])
    if pointed or references.is_earlier(page.folded, noun.start, noun.end):
        return _Verdict((DateRole.REFERENCE,), 0.85, (noun.start, noun.end))
    return _Verdict((DateRole.ISSUED,), 0.95, (noun.start, noun.end))


_SENTENCE_REACH = 110
_LINK_REACH = 26
_COLLECTED_REACH = 70


def _payment_deadline(page: _Page, index: int) -> _Verdict | None:
    """ "… überweisen Sie … bis zum 16.03.2026": the last day to pay, told in a sentence."""
    read = page.reads[index]
    floor = page.reads[index - 1].span[1] if index else 0
    begin = max(floor, read.span[0] - _LINK_REACH)
    lead = page.folded[begin : read.span[0]]
    link = _deadline_link("until").search(lead)
    if link is None:
        link = _deadline_link("on_day").search(lead)
        if link is None or not _collected_behind(page, read.span[1]):
            return None
    sentence = _sentence_before(page, read.span[0])
    if next(words.finder("date_labels", "paying").find(sentence), None) is None:
        return None
    if _DISCOUNT.search(sentence) or _discount_behind(page, read.span[1]):
        return _Verdict((DateRole.DISCOUNT,), 0.9, (read.span[0] - len(link.group()), read.span[0]))
    return _Verdict((DateRole.DUE,), 0.95, (read.span[0] - len(link.group()), read.span[0]))


_DISCOUNT = re.compile(
    r"(?<!ohne )(?<!sans )(?<!without )(?<!senza )(?<!no )(?:skonto|escompte|discount|sconto)"
)


def _sentence_before(page: _Page, position: int) -> str:
    """The folded sentence in front of a place."""
    begin = max(0, position - _SENTENCE_REACH)
    ends = [match.end() for match in _SENTENCE_END.finditer(page.text, begin, position)]
    return page.folded[ends[-1] if ends else begin : position]


_CLAUSE = re.compile(r"[,;\n]|\.\s+(?=[A-ZÄÖÜÉ])")


def _discount_behind(page: _Page, position: int) -> bool:
    """Whether the clause goes on to a cash discount: "bis 11.04. abzüglich 2 % Skonto"."""
    clause = _CLAUSE.split(page.text[position : position + 40], maxsplit=1)[0]
    return next(_discount_words().find(words.fold(clause)), None) is not None


def _collected_behind(page: _Page, position: int) -> bool:
    """Whether the rest of the sentence says that the amount is collected on that day."""
    behind = page.folded[position : position + _COLLECTED_REACH]
    end = _SENTENCE_END.search(page.text, position, position + _COLLECTED_REACH)
    if end is not None:
        behind = behind[: end.start() - position]
    return next(words.finder("date_labels", "collected").find(behind), None) is not None


@cache
def _deadline_link(kind: str) -> re.Pattern[str]:
    return _closing(words.phrases_by_key("date_labels", "deadlines")[kind], r"\s{1,2}$")


@cache
def _discount_words() -> words.PhraseFinder:
    labels = words.phrases_by_key("date_labels", "roles")
    return words.PhraseFinder({"discount": labels["discount"]})


def _wraps_badly(gap: str) -> bool:
    """Whether a line break lies in the gap elsewhere than right before the linking word."""
    head, found, tail = gap.rpartition("\n")
    return bool(found) and (len(tail.split()) > 1 or "\n" in head)


_DETOUR = re.compile(
    r"(?<!\w)(?:gemas{1,2}|gemaes{1,2}|laut|uber|ueber|fur|fuer|zu|zur|zum|wegen|selon|pour|relative|per|for"
    r"|regarding|secondo|по)(?!\w)"
)


@cache
def _link() -> re.Pattern[str]:
    return _closing(
        words.phrases_by_key("date_labels", "links")["of"], r"\s?(?:dem|den|le|il)?\s{1,2}$"
    )


@cache
def _pointer() -> re.Pattern[str]:
    own_word = r"\s(?:[a-z]{3,14}\s)?$"
    return _closing(words.phrases_by_key("date_labels", "pointers")["other"], own_word)


def _closing(phrases: tuple[str, ...], tail: str) -> re.Pattern[str]:
    options = "|".join(sorted((re.escape(words.fold(p)) for p in phrases), key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{options}){tail}")


_PLACE_BEFORE = re.compile(
    r"[ \t]*(?:[Ff]ait à )?(?:(?:[A-Z]{1,2}-)?\d{4,5} )?[A-ZÄÖÜÉÈ][\w./() -]{1,40},?[ ]"
    r"(?:den |le |il |am |the |lì )?[ ]?$"
)
_TOP = 15
_SIGNATURE = re.compile(r"unterschrift|signature|signed|firma\b|lu et approuve|подпись|\.{8}|_{6}")


def _by_place(page: _Page, index: int) -> _Verdict | None:
    """ "München, 01.09.2025", or a date alone on one of the first lines."""
    start, end = page.reads[index].span
    line_start = page.text.rfind("\n", max(0, start - 60), start) + 1
    before = page.text[max(line_start, start - 60) : start]
    before = _GAP_WIDTH.split(before)[-1]
    ends_line = not page.text[end : end + 30].partition("\n")[0].strip(" .\r\t*_")
    if ends_line and before.strip() and _PLACE_BEFORE.match(before) and "," in before:
        around = page.folded[max(0, start - 60) : end + 120]
        signed = _SIGNATURE.search(around) is not None
        role = DateRole.SIGNED if signed else DateRole.ISSUED
        return _Verdict((role,), 0.9 if signed else 0.82, (start - len(before), start))
    alone = ends_line and not before.strip(" *_\t\r")
    if alone and page.text.count("\n", 0, start) < _TOP:
        return _Verdict((DateRole.ISSUED,), 0.6, (start, end))
    return None


def _ranges(folded: str, reads: tuple[ReadDate, ...]) -> dict[int, int]:
    """Indices of dates that open a span, with the index of the date that closes it."""
    found: dict[int, int] = {}
    for index in range(len(reads) - 1):
        if found.get(index - 1) == index:
            continue
        gap = folded[reads[index].span[1] : reads[index + 1].span[0]]
        if len(gap) <= 24 and _range_word().fullmatch(gap):
            found[index] = index + 1
    return found


@cache
def _range_word() -> re.Pattern[str]:
    phrases = words.phrases_by_key("date_labels", "ranges")["range"]
    options = "|".join(re.escape(words.fold(phrase)) for phrase in phrases)
    return re.compile(rf"[\s,(]*(?:-|{options})[\s]*(?:zum|den|le|the|einschlies{1, 2}lich)?\s*")


_STACK, _HEAD, _TABLE, _TABLE_GENERAL = 0.9, 0.9, 0.72, 0.5


def _columns(
    text: str, folded: str, labels: tuple[Hit, ...], reads: tuple[ReadDate, ...]
) -> dict[int, tuple[Hit, float]]:
    """Dates under a head line of labels, or stacked under as many stacked labels.

    Under the head of a table with other columns the dates are those of its rows, and weigh less.
    """
    rows = _rows(text, labels, reads)
    found: dict[int, tuple[Hit, float]] = {}
    for position, row in enumerate(rows):
        if not row.labels or row.reads:
            continue
        below = rows[position + 1] if position + 1 < len(rows) else None
        after = rows[position + 2] if position + 2 < len(rows) else None
        aligned = _aligned(folded, reads, row, below, after)
        if aligned:
            found = aligned | found
        elif below and len(below.reads) == len(row.labels) and not below.labels:
            table = _has_other_words(folded, row)
            pairs = zip(below.reads, row.labels, strict=True)
            found = {read: (hit, _column_weight(hit, table)) for read, hit in pairs} | found
        else:
            stacked = _stacked(folded, rows, position)
            found = {read: (hit, _STACK) for read, hit in stacked.items()} | found
    return found


_ITEM_WORDS = re.compile(
    r"(?<!\w)(?:pos|beschreibung|bezeichnung|description|designation|descrizione|menge|qty|quantity"
    r"|quantite|quantita|betrag|amount|montant|importo|leistung|prix|preis|price|prezzo|artikel"
    r"|сумма|кол-во|наименование)(?!\w)"
)


def _aligned(
    folded: str, reads: tuple[ReadDate, ...], head: _Row, below: _Row | None, after: _Row | None
) -> dict[int, tuple[Hit, float]]:
    """Dates in the cell under their label, where head and value line have the same cells.

    The head of a list of positions, or one with a second dated line, dates its rows only.
    """
    if below is None or below.labels or not below.reads:
        return {}
    head_cells, cells = _cells(folded, head), _cells(folded, below)
    if len(head_cells) < 2 or len(head_cells) != len(cells):
        return {}
    item_list = _ITEM_WORDS.search(folded[head.start : head.end]) is not None
    repeated = after is not None and bool(after.reads) and not after.labels
    found: dict[int, tuple[Hit, float]] = {}
    for read in below.reads:
        column = _cell_index(cells, reads[read].span[0])
        hits = [hit for hit in head.labels if _cell_index(head_cells, hit.start) == column]
        if len(hits) == 1:
            found[read] = (hits[0], _column_weight(hits[0], item_list or repeated))
    return found


_GAP_WIDTH = re.compile(r" {2,}|\t+")


def _cells(folded: str, row: _Row) -> list[int]:
    """Where the cells of a line begin."""
    begins = [row.start]
    begins += [match.end() for match in _GAP_WIDTH.finditer(folded, row.start, row.end)]
    return [begin for begin in begins if folded[begin : row.end].strip()]


def _cell_index(cells: list[int], position: int) -> int:
    return max(index for index, begin in enumerate(cells) if begin <= position)


def _column_weight(hit: Hit, table: bool) -> float:
    if not table:
        return _HEAD if hit.key != "issued_general" else 0.84
    return _TABLE_GENERAL if hit.key == "issued_general" else _TABLE


def _has_other_words(folded: str, row: _Row) -> bool:
    """Whether a head line names more columns than its date labels."""
    rest = folded[row.start : row.end]
    for hit in row.labels:
        rest = rest.replace(folded[hit.start : hit.end], " ", 1)
    return any(character.isalpha() for character in rest)


def _rows(text: str, labels: tuple[Hit, ...], reads: tuple[ReadDate, ...]) -> list[_Row]:
    label_starts = [hit.end - 1 for hit in labels]
    read_starts = [read.span[0] for read in reads]
    rows: list[_Row] = []
    for match in re.finditer(r"[^\n]*[^\s][^\n]*", text):
        start, end = match.span()
        on_row = slice(bisect_left(label_starts, start), bisect_left(label_starts, end))
        dated = range(bisect_left(read_starts, start), bisect_left(read_starts, end))
        rows.append(_Row(start, end, labels[on_row], tuple(dated)))
    return rows


def _stacked(folded: str, rows: list[_Row], position: int) -> dict[int, Hit]:
    """Label lines "A:", "B:" followed by as many lines of one date each."""
    if position and _label_only(folded, rows[position - 1]):
        return {}
    stack: list[Hit] = []
    while position < len(rows) and _label_only(folded, rows[position]):
        stack.append(rows[position].labels[0])
        position += 1
    below = rows[position : position + len(stack)]
    if len(stack) < 2 or len(below) < len(stack):
        return {}
    if not all(len(row.reads) == 1 and not row.labels for row in below):
        return {}
    return {row.reads[0]: hit for row, hit in zip(below, stack, strict=True)}


def _label_only(folded: str, row: _Row) -> bool:
    if len(row.labels) != 1 or row.reads:
        return False
    hit = row.labels[0]
    rest = folded[row.start : hit.start] + folded[hit.end : row.end]
    return not rest.strip(" :.-\t\r*")


_SAME_DAY = re.compile(
    r"(?:leistungs|liefer)[- ]?(?:und lieferungs)?(?:datum|zeitpunkt)\s{1,3}"
    r"(?:entspricht|gleich|ist gleich|=|wie|ist)\s{1,3}(?:dem |das )?rechnungsdatum"
    r"|(?:date de (?:livraison|prestation)) (?:identique a|=|egale a) "
    r"(?:la )?date de (?:la )?facture"
    r"|(?:date of supply|delivery date|tax point) (?:equals|is|same as|=) (?:the )?invoice date"
)


def _with_same_day_service(page: _Page, mentions: list[DateMention]) -> Iterator[DateMention]:
    """Adds the service axis where the text says that it equals the invoice date."""
    same_day = _SAME_DAY.search(page.folded)
    for mention in mentions:
        yield mention
        if same_day and mention.role is DateRole.ISSUED and mention.confidence > 0.7:
            label = page.text[slice(*same_day.span())]
            yield replace(mention, role=DateRole.SERVICE, label=label)
