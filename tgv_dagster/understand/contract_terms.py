"""Contract terms: the day a contract starts and the day it ends, read from forms and legal prose.

Here belongs the reading of start and end with their references (a section, the signature, the
handover) and the honest "checked, none". Lengths, notice periods and every computation belong to
the room deepen.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from tgv_dagster.understand import dates, words
from tgv_dagster.understand.amounts import Offsets
from tgv_dagster.understand.dates import DateMention, DateRole
from tgv_dagster.understand.words import Hit


class TermState(StrEnum):
    """Outcome of a look for one term; a term nobody looked for has no outcome at all (DATE-19)."""

    FOUND = "found"
    NONE = "none"
    AMBIGUOUS = "ambiguous"
    UNRESOLVED = "unresolved"


@dataclass(frozen=True, slots=True)
class TermDate:
    """What a text says about the start or the end of its contract.

    NONE is "checked, none", with the rule that says whether the text states so itself.
    UNRESOLVED is a reference to an event or document whose date is not here.
    """

    state: TermState
    value: date | None
    confidence: float
    span: Offsets | None
    rule_id: str
    note: str = ""
    candidates: tuple[date, ...] = ()


_CERTAIN = 0.75
_MARGIN = 0.12


def contract_start(text: str, language: str | None = None, country: str | None = None) -> TermDate:
    """The start of the contract a text is (DATE-16 to DATE-20).

    Labels ("Beginn der Versicherung 01.12.2003"), prose ("mit Wirkung vom", "à compter du"),
    a section it refers to ("§ 2 Laufzeit"), the signature or the handover. Two different starts
    of equal weight are AMBIGUOUS. Linear in the length of the text.
    """
    contract = _Contract.of(text, language, country)
    scored = [*_by_cues(contract, "start"), *_by_section(contract)]
    stated_none = _stated_none(contract, "start")
    verdict = _decide(contract, scored, "start")
    if stated_none is not None and (verdict is None or verdict.confidence < _SURE):
        return stated_none
    if verdict is not None:
        return verdict
    return _by_event(contract) or _hinted(contract, scored, "start") or _nothing("start")


def contract_end(text: str, language: str | None = None, country: str | None = None) -> TermDate:
    """The stated end of the contract a text is; an open-ended contract is NONE by its own words.

    An end that follows from start and length is computed elsewhere and not guessed here.
    """
    contract = _Contract.of(text, language, country)
    scored = list(_by_cues(contract, "end"))
    verdict = _decide(contract, scored, "end")
    if verdict is not None:
        return verdict
    stated_none = _stated_none(contract, "end")
    if stated_none is not None:
        return stated_none
    closing = _closing_the_start(contract)
    if closing is not None:
        return closing
    open_ended = next(words.finder("contract", "open_ended").find(contract.folded), None)
    if open_ended is not None:
        place = (open_ended.start, open_ended.end)
        note = text[slice(*place)]
        return TermDate(TermState.NONE, None, 0.9, place, "term.end.open_ended", note)
    return _hinted(contract, scored, "end") or _nothing("end")


_UNTIL = re.compile(
    r"[\s,]{1,3}(?:(?:und|et|and|e)\s)?(?:läuft |lauft |laeuft )?"
    r"(?:bis zum|bis|jusqu'au|until|through|fino al|fino a)\s{1,2}"
)


def _closing_the_start(contract: _Contract) -> TermDate | None:
    """ "à compter du … et jusqu'au …": the date that closes the span which the start opens."""
    start = _decide(contract, list(_by_cues(contract, "start")), "start")
    if start is None or start.state is not TermState.FOUND or start.span is None:
        return None
    for mention in contract.mentions:
        if mention.span[0] <= start.span[1]:
            continue
        gap = contract.folded[start.span[1] : mention.span[0]]
        if mention.ambiguous or _UNTIL.fullmatch(gap) is None:
            return None
        note = contract.text[slice(*mention.span)]
        return TermDate(TermState.FOUND, mention.value, 0.9, mention.span, "term.end.span", note)
    return None


def _nothing(which: str) -> TermDate:
    return TermDate(TermState.NONE, None, 0.7, None, f"term.{which}.not_stated")


# --- the text prepared ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Section:
    """A numbered section: number, heading, body and end, and whether it is about the term."""

    number: str
    start: int
    body: int
    end: int
    about_term: bool


@dataclass(frozen=True, slots=True)
class _Contract:
    text: str
    folded: str
    mentions: tuple[DateMention, ...]
    starts: tuple[int, ...]
    sections: tuple[_Section, ...]
    section_starts: tuple[int, ...]

    @classmethod
    def of(cls, text: str, language: str | None, country: str | None) -> _Contract:
        folded = words.fold(text)
        unique: dict[Offsets, DateMention] = {}
        for mention in dates.find(text, language, country):
            unique.setdefault(mention.span, mention)
        mentions = tuple(unique.values())
        sections = tuple(_sections(text, folded))
        return cls(
            text=text,
            folded=folded,
            mentions=mentions,
            starts=tuple(mention.span[0] for mention in mentions),
            sections=sections,
            section_starts=tuple(section.start for section in sections),
        )

    def mention_after(self, position: int, reach: int) -> int | None:
        """Index of the first date that starts within `reach` characters."""
        index = bisect_left(self.starts, position)
        if index < len(self.starts) and self.starts[index] - position <= reach:
            return index
        return None

    def section_at(self, position: int) -> _Section | None:
        """The section a place lies in."""
        index = bisect_right(self.section_starts, position) - 1
        return self.sections[index] if index >= 0 else None


_HEADING = re.compile(
    r"^[ \t#*]{0,6}(?:§{1,2}[ ]?|art(?:icle|ikel|icolo|\.)?[ ]|ziffer |section |clause )?"
    r"(?P<number>[0-9]{1,3}(?:\.[0-9]{1,2})?)[.)]?[ \t:.*-]{1,4}(?P<title>[^\W\d][^\n]{0,70})$",
    re.MULTILINE,
)


def _sections(text: str, folded: str) -> Iterator[_Section]:
    """Numbered headings with the text up to the next one."""
    matches = [m for m in _HEADING.finditer(folded) if _is_title(text[slice(*m.span("title"))])]
    term = words.finder("contract", "headings")
    for index, match in enumerate(matches):
        end = matches[index + 1].start() if index + 1 < len(matches) else len(text)
        about_term = next(term.find(match["title"]), None) is not None
        yield _Section(match["number"], match.start(), match.end(), end, about_term)


def _is_title(title: str) -> bool:
    """A heading has few words and is no sentence."""
    words_in_title = title.split()
    return len(words_in_title) <= 9 and not title.rstrip(" *").endswith((".", ";", ","))


# --- cues ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Scored:
    """A date that may be the term, with its score and the reason."""

    index: int
    score: float
    rule_id: str
    place: Offsets


_SURE = 0.9
_BASE = {"label": 0.95, "prose": 0.85, "weak": 0.45, "span": 0.9}
_REACH = {"label": 60, "prose": 40, "weak": 12, "span": 60}
_SUBJECT, _TERM_SECTION, _VERB = 0.1, 0.3, 0.35
_OTHER_MATTER, _AMENDMENT = 0.6, 0.25
_CLAUSE_END = re.compile(r"[,(]|(?<!\w)(?:und|sowie|et|and|e|и)(?!\w)")
_BREAK = re.compile(
    r"(?:(?<![0-9])[.!?;]|(?<=[0-9]{4})\.)\s+(?=[A-ZÄÖÜÉÀА-Я(§])|\n[ \t\r]*\n"
    r"|\n(?=[ \t]*(?:§|[Aa]rt(?:\.|icle|ikel)|[0-9]{1,2}[.)]))"
)


def _by_cues(contract: _Contract, which: str) -> Iterator[_Scored]:
    for hit in words.finder("contract", which).find(contract.folded):
        index = contract.mention_after(hit.end, _REACH[hit.key])
        if hit.key == "label" and (columns := _columns_of_header(contract, hit)) is not None:
            index = _under_header(contract, columns)
            if index is None:
                continue
        elif index is None or not _joined(contract, hit, index):
            continue
        if hit.key == "span" and not _opens_span(contract, index):
            continue
        if which == "end" and hit.key == "weak" and not _ends_behind(contract, index):
            continue
        score = _score(contract, hit, index, which)
        yield _Scored(index, score, f"term.{which}.{hit.key}", (hit.start, hit.end))
    if which == "end":
        yield from _ends_of_spans(contract)


_COLUMN = re.compile(r"[^\s](?:[^\n\t]*?)(?=[ \u00a0]{2,}|\t|\n|$)")


@dataclass(frozen=True, slots=True)
class _Header:
    """A line of labels side by side: where it ends, its columns, and which one is meant."""

    end: int
    columns: int
    place: int


def _columns_of_header(contract: _Contract, hit: Hit) -> _Header | None:
    """The line of a label that opens one of several columns without a date among them."""
    begin = contract.text.rfind("\n", 0, hit.start) + 1
    end = contract.text.find("\n", hit.end)
    if end < 0:
        return None
    cells = list(_COLUMN.finditer(contract.text, begin, end))
    place = next((n for n, cell in enumerate(cells) if cell.start() == hit.start), None)
    first = contract.mention_after(begin, end - begin)
    if len(cells) < 2 or place is None or first is not None:
        return None
    return _Header(end, len(cells), place)


def _under_header(contract: _Contract, header: _Header) -> int | None:
    """The date that fills the same column of the next line; None where the columns differ."""
    end = contract.text.find("\n", header.end + 1)
    end = end if end >= 0 else len(contract.text)
    cells = list(_COLUMN.finditer(contract.text, header.end + 1, end))
    if len(cells) != header.columns:
        return None
    cell = cells[header.place]
    index = contract.mention_after(cell.start(), 0)
    return index if index is not None and contract.starts[index] < cell.end() else None


def _joined(contract: _Contract, hit: Hit, index: int) -> bool:
    """Whether cue and date stand in one statement."""
    gap = contract.text[hit.end : contract.starts[index]]
    if _BREAK.search(gap):
        return False
    if hit.key == "weak":
        return not gap.strip(" \n:(") or len(gap.split()) <= 1
    if hit.key == "label" and "\n" in gap:
        return not gap.strip(" :\n\r\t.*|-")
    return True


def _ends_behind(contract: _Contract, index: int) -> bool:
    """Whether the clause goes on behind a date with a word of an end ("bis zum … befristet")."""
    end = contract.mentions[index].span[1]
    return _any("end_behind", contract.folded[end : end + _first_break(contract.text, end, 40)])


def _opens_span(contract: _Contract, index: int) -> bool:
    """Whether a second date closes a span with this one."""
    if index + 1 >= len(contract.mentions):
        return False
    gap = contract.folded[contract.mentions[index].span[1] : contract.starts[index + 1]]
    return _SPAN_LINK.fullmatch(gap) is not None


_SPAN_LINK = re.compile(
    r"[\s,(]*(?:-|bis|bis zum|bis einschlies{1,2}lich|au|to|until|al|по|till|through)"
    r"\s*(?:zum|the)?\s*"
)


def _score(contract: _Contract, hit: Hit, index: int, which: str) -> float:
    """Base value of the cue, more for a contract as subject, less for another matter."""
    score = _BASE[hit.key]
    mention = contract.mentions[index]
    before = _clause_before(contract, hit.start)
    behind = contract.folded[mention.span[1] : mention.span[1] + 60]
    behind = behind[: _first_break(contract.text, mention.span[1], 60)]
    subject = _any("subject", before) or _any("subject", behind)
    if subject and hit.key != "label":
        score += _SUBJECT
    section = contract.section_at(hit.start)
    if section is not None and section.about_term and hit.key in ("weak", "prose"):
        score += _TERM_SECTION
    if hit.key == "weak" and (
        which == "end" or _any("start_behind", behind) or _performs(contract, hit, before, behind)
    ):
        score += _VERB
    if hit.key in ("prose", "weak"):
        tail = _CLAUSE_END.split(behind[:45], maxsplit=1)[0]
        if _other_matter(before[-70:]) or _other_matter(tail):
            score -= _OTHER_MATTER
    if _amends(before):
        score -= _AMENDMENT
    return min(score, 0.97)


_VERB_REACH = 40


def _performs(contract: _Contract, hit: Hit, before: str, behind: str) -> bool:
    """Whether a party does its part from that day on: "übernimmt ab dem … die Reinigung"."""
    spoken = list(words.finder("contract", "performs").find(contract.folded[hit.start : hit.end]))
    if not any(found.key == "from_on" for found in spoken):
        return False
    clauses = (_CLAUSE_END.split(before[-_VERB_REACH:])[-1], behind)
    return any(
        found.key == "verb"
        for clause in clauses
        for found in words.finder("contract", "performs").find(clause)
    )


def _clause_before(contract: _Contract, position: int) -> str:
    """The folded text from the beginning of the sentence, at most 160 characters."""
    begin = max(0, position - 160)
    section = contract.section_at(position)
    if section is not None and section.body <= position:
        begin = max(begin, section.body)
    last = begin
    for match in _BREAK.finditer(contract.text, begin, position):
        last = match.end()
    return contract.folded[last:position]


def _first_break(text: str, position: int, reach: int) -> int:
    match = _BREAK.search(text, position, min(len(text), position + reach + 2))
    return reach if match is None else match.start() - position


def _any(section: str, folded: str) -> bool:
    return next(words.finder("contract", section).find(folded), None) is not None


def _other_matter(folded: str) -> bool:
    return any(hit.key == "change" for hit in words.finder("contract", "other_matter").find(folded))


def _amends(folded: str) -> bool:
    hits = words.finder("contract", "other_matter").find(folded)
    return any(hit.key == "amendment" for hit in hits)


def _ends_of_spans(contract: _Contract) -> Iterator[_Scored]:
    """The second date of a span whose first date is a start."""
    for start in _by_cues(contract, "start"):
        index = start.index
        if start.score >= _CERTAIN and _opens_span(contract, index):
            yield _Scored(index + 1, start.score, "term.end.span", start.place)


# --- references ----------------------------------------------------------------------------------

_SECTION_REFERENCE = re.compile(
    r"(?:§{1,2}|ziffer|ziff\.|article|artikel|art\.|articolo|section|clause|punkt|nr\.)\s{0,2}"
    r"([0-9]{1,3}(?:\.[0-9]{1,2})?)"
)


def _by_section(contract: _Contract) -> Iterator[_Scored]:
    """ "Beginn: siehe § 2": the only date of the section that the start refers to."""
    for hit in words.finder("contract", "start").find(contract.folded):
        if hit.key not in ("label", "span"):
            continue
        tail = contract.folded[hit.end : hit.end + 70]
        tail = tail[: _first_break(contract.text, hit.end, 70)]
        reference = _SECTION_REFERENCE.search(tail)
        if reference is None:
            continue
        for section in contract.sections:
            if section.number != reference.group(1):
                continue
            inside = range(
                bisect_left(contract.starts, section.start),
                bisect_left(contract.starts, section.end),
            )
            if len(inside) >= 1 and (len(inside) == 1 or _opens_span(contract, inside[0])):
                yield _Scored(inside[0], 0.85, "term.start.section", (hit.start, hit.end))


_VALUE_GAP = re.compile(r"[\s:.\-|*(]{0,8}")
_BLANK_FIELD = re.compile(r"[ \t]*:?[ \t]*(?:_{3,}|\.{4,}|-{2,}|\{\{|\[ ?\]|…)")


def _stated_none(contract: _Contract, which: str) -> TermDate | None:
    """A label whose field says that there is nothing: "Versicherungsbeginn: keine"."""
    for hit in words.finder("contract", which).find(contract.folded):
        if hit.key != "label":
            continue
        blank = _BLANK_FIELD.match(contract.folded, hit.end)
        if blank is not None:
            place = (hit.start, blank.end())
            note = contract.text[slice(*place)].strip()
            return TermDate(TermState.NONE, None, 0.85, place, f"term.{which}.blank", note)
        gap = _VALUE_GAP.match(contract.folded, hit.end)
        begin = gap.end() if gap is not None else hit.end
        word = next(
            words.finder("contract", "none").find(contract.folded[begin : begin + 40]), None
        )
        if word is None or word.start > 0 or not _ends_field(contract.folded, begin + word.end):
            continue
        place = (hit.start, begin + word.end)
        note = contract.text[slice(*place)]
        return TermDate(TermState.NONE, None, 0.95, place, f"term.{which}.stated_none", note)
    return None


def _ends_field(folded: str, position: int) -> bool:
    """Whether a field ends here: line end, punctuation or the next column."""
    tail = folded[position : position + 3]
    return not tail or tail[0] in "\n\r.,;)|*" or tail.startswith(("  ", "\t"))


def _by_event(contract: _Contract) -> TermDate | None:
    """A start bound to the signature or the handover, dated where the text dates that event."""
    for hit in words.finder("contract", "events").find(contract.folded):
        around = _clause_before(contract, hit.start)
        behind = contract.folded[hit.end : hit.end + 80]
        behind = behind[: _first_break(contract.text, hit.end, 80)]
        begins = words.finder("contract", "event_verbs")
        if next(begins.find(around), None) is None and next(begins.find(behind), None) is None:
            continue
        if _other_matter(around[-70:]) and not _any("subject", around[-48:]):
            continue
        place = (hit.start, hit.end)
        note = contract.text[slice(*place)]
        found = _event_dates(contract, hit.key)
        rule = f"term.start.{hit.key}"
        if not found:
            return TermDate(TermState.UNRESOLVED, None, 0.6, place, rule, note)
        latest = max(found, key=lambda mention: mention.value)
        if latest.ambiguous:
            return _ambiguous_reading(latest, "start", rule)
        return TermDate(
            TermState.FOUND,
            latest.value,
            0.8 if len({mention.value for mention in found}) == 1 else 0.76,
            latest.span,
            rule,
            f"{note}: {latest.raw}",
            tuple(sorted({mention.value for mention in found})),
        )
    return None


def _event_dates(contract: _Contract, event: str) -> list[DateMention]:
    """Dates of the event: signatures stand as such or as place and day near the end."""
    if event == "signature":
        tail = int(len(contract.text) * 0.6)
        return [
            mention
            for mention in contract.mentions
            if mention.role is DateRole.SIGNED
            or (
                mention.role is DateRole.ISSUED and mention.span[0] >= tail and "," in mention.label
            )
        ]
    found: list[DateMention] = []
    for hit in words.finder("contract", "event_dates").find(contract.folded):
        index = contract.mention_after(hit.end, 30)
        if hit.key == event and index is not None:
            found.append(contract.mentions[index])
    return found


# --- decision ------------------------------------------------------------------------------------


def _decide(contract: _Contract, scored: list[_Scored], which: str) -> TermDate | None:
    """The one date that stands out, AMBIGUOUS between equals, None when nothing is certain."""
    best: dict[date, _Scored] = {}
    for item in scored:
        value = contract.mentions[item.index].value
        if item.score > 0 and (value not in best or item.score > best[value].score):
            best[value] = item
    ranked = sorted(best.items(), key=lambda pair: -pair[1].score)
    if not ranked or ranked[0][1].score < _CERTAIN:
        return None
    value, top = ranked[0]
    mention = contract.mentions[top.index]
    if mention.ambiguous:
        return _ambiguous_reading(mention, which, top.rule_id)
    peers = [other for other, item in ranked if item.score > top.score - _MARGIN]
    if len(peers) > 1:
        return TermDate(
            TermState.AMBIGUOUS, None, 0.5, None, f"term.{which}.rivals", "", tuple(sorted(peers))
        )
    note = f"{contract.text[slice(*top.place)].strip()} {mention.raw}"
    confidence = round(min(top.score, 0.99), 3)
    return TermDate(TermState.FOUND, value, confidence, mention.span, top.rule_id, note, (value,))


_HINT = 0.6


def _hinted(contract: _Contract, scored: list[_Scored], which: str) -> TermDate | None:
    """Dates that look like the term without enough evidence: a question, not a value."""
    weak = [item for item in scored if item.score >= _HINT]
    if not weak:
        return None
    top = max(weak, key=lambda item: item.score)
    values = sorted({contract.mentions[item.index].value for item in weak})
    mention = contract.mentions[top.index]
    note = f"{contract.text[slice(*top.place)].strip()} {mention.raw}"
    return TermDate(
        TermState.UNRESOLVED, None, 0.5, mention.span, f"term.{which}.weak", note, tuple(values)
    )


def _ambiguous_reading(mention: DateMention, which: str, rule_id: str) -> TermDate:
    readings = {mention.value, mention.other_reading or mention.value}
    return TermDate(
        TermState.AMBIGUOUS,
        None,
        0.4,
        mention.span,
        rule_id,
        f"{which}: {mention.raw}",
        tuple(sorted(readings)),
    )
