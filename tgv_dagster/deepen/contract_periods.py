"""Contract periods: how long a contract runs, how it renews, and the length of its notice.

Here belong lengths of time in contract prose. Start and end dates are read in
`understand.contract_terms`; what is computed from all of them belongs to `deadlines`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from tgv_dagster.understand import words
from tgv_dagster.understand.amounts import Offsets


class Unit(StrEnum):
    """Units of a length of time."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


_DAYS = {Unit.DAY: 1, Unit.WEEK: 7, Unit.MONTH: 30, Unit.YEAR: 365}


@dataclass(frozen=True, slots=True)
class Period:
    """A length of time as a contract states it; months stay months."""

    length: int
    unit: Unit

    @property
    def days(self) -> int:
        """The length in days as the field `notice_period_days` counts (DATE-05): month = 30."""
        return self.length * _DAYS[self.unit]

    @property
    def months(self) -> int | None:
        """The length in months; None for days and weeks, which are no fraction of a month."""
        if self.unit is Unit.MONTH:
            return self.length
        return self.length * 12 if self.unit is Unit.YEAR else None

    def __str__(self) -> str:
        return f"{self.length} {self.unit}{'' if self.length == 1 else 's'}"

    @classmethod
    def parse(cls, text: str) -> Period:
        """The period that `str` wrote. Raises ValueError for anything else."""
        length, _, unit = text.partition(" ")
        return cls(int(length), Unit(unit.removesuffix("s")))


class Anchor(StrEnum):
    """To which day a notice may be given."""

    TERM_END = "term_end"
    MONTH_END = "month_end"
    QUARTER_END = "quarter_end"
    YEAR_END = "year_end"
    ANY_TIME = "any_time"


@dataclass(frozen=True, slots=True)
class FoundPeriod:
    """A length read in a text; `rivals` are the different lengths it states for the same thing."""

    period: Period | None
    span: Offsets | None
    raw: str
    rivals: tuple[Period, ...] = ()


@dataclass(frozen=True, slots=True)
class Notice:
    """The notice of a contract: its length and the day to which it may be given."""

    found: FoundPeriod
    anchor: Anchor
    anchor_is_stated: bool = False


@dataclass(frozen=True, slots=True)
class Renewal:
    """Whether a contract renews by itself; None when it says nothing or both."""

    automatic: bool | None
    period: Period | None
    span: Offsets | None
    raw: str
    contradictory: bool = False


ABSENT = FoundPeriod(None, None, "")


def notice(text: str) -> Notice:
    """The length of ordinary notice; different lengths for the parties are rivals."""
    folded = words.fold(text)
    found: list[tuple[Period, Offsets]] = []
    for period, span in _periods(folded):
        sentence = _sentence(folded, span)
        if not _has("cancel", sentence) or _has("not_notice", sentence):
            continue
        before = folded[max(0, span[0] - 48) : span[0]]
        behind = folded[span[1] : span[1] + 48]
        if _ends_with_cue(before, "notice_cues", "before") or _starts_with_cue(behind):
            found.append((period, span))
    anchors = list(words.finder("contract", "anchors").find(folded)) if found else []
    near = [hit for hit in anchors if abs(hit.start - found[0][1][0]) < 160]
    anchor = Anchor(near[0].key) if near else Anchor.TERM_END
    to_the_end = bool(found) and _starts_with_cue(folded[found[0][1][1] : found[0][1][1] + 48])
    return Notice(_single(text, found), anchor, bool(near) or to_the_end)


def term(text: str) -> FoundPeriod:
    """The fixed or first term of a contract."""
    folded = words.fold(text)
    found = [
        (period, span)
        for period, span in _periods(folded)
        if _ends_with_cue(folded[max(0, span[0] - 44) : span[0]], "term_cues", "before")
        and not _has("cancel", folded[max(0, span[0] - 30) : span[0]])
    ]
    return _single(text, found)


_NOT = re.compile(r"(?<!\w)(?:nicht|keine|ne|pas|not|non|не)(?!\w)")
_CONDITION = re.compile(
    r"(?<!\w)(?:wenn|sofern|falls|soweit|unless|if|sauf|si|a defaut|salvo|qualora|если)(?!\w)"
    r"|[.;]\s|\n\s*\n"
)


def renewal(text: str) -> Renewal:
    """Whether the contract renews by itself, and for how long each time."""
    folded = words.fold(text)
    renews: list[Offsets] = []
    ends: list[Offsets] = []
    for hit in words.finder("contract", "renewal").find(folded):
        denied = _NOT.search(_statement(folded, hit.end)) is not None
        ended = hit.key == "ends" or denied
        (ends if ended else renews).append((hit.start, hit.end))
    if not renews and not ends:
        return Renewal(None, None, None, "")
    if renews and ends:
        place = renews[0]
        return Renewal(None, None, place, text[slice(*place)], contradictory=True)
    place = (renews or ends)[0]
    period = _renewal_period(folded, place) if renews else None
    return Renewal(bool(renews), period, place, text[slice(*place)])


def _statement(folded: str, position: int) -> str:
    """What follows a place up to the condition or the end of the sentence."""
    behind = folded[position : position + 100]
    end = _CONDITION.search(behind)
    return behind if end is None else behind[: end.start()]


def _renewal_period(folded: str, place: Offsets) -> Period | None:
    behind = _statement(folded, place[1])
    first = next(_periods(behind), None)
    if first is not None:
        return first[0]
    yearly = next(words.finder("contract", "yearly").find(behind), None)
    return None if yearly is None else Period(1, Unit.YEAR)


# --- reading -------------------------------------------------------------------------------------


@cache
def _period_pattern() -> tuple[re.Pattern[str], dict[str, int], dict[str, Unit]]:
    data = words.load("contract")
    numbers = {
        spelled: int(value)
        for value, names in data["numbers"].items()
        for name in names
        for spelled in words.spellings(name)
    }
    units = {
        spelled: Unit(unit)
        for unit, names in data["units"].items()
        for name in names
        for spelled in words.spellings(name)
    }
    number = "|".join(sorted(map(re.escape, numbers), key=len, reverse=True))
    unit = "|".join(sorted(map(re.escape, units), key=len, reverse=True))
    pattern = re.compile(
        rf"(?<![\w.,])(?P<number>[0-9]{{1,3}}|{number})(?:\s?\((?P<figure>[0-9]{{1,3}}|{number})\))?"
        rf"(?:\s|-){{1,3}}(?:(?:volle[nr]?|ganze[nr]?|weitere[nr]?|calendar|full|further|clear"
        rf"|kalender|autres|ulteriori)\s)?(?P<unit>{unit})(?!\w)"
    )
    return pattern, numbers, units


def _periods(folded: str) -> Iterator[tuple[Period, Offsets]]:
    """Every length of time of a text; linear in its length."""
    pattern, numbers, units = _period_pattern()
    for match in pattern.finditer(folded):
        written = match["figure"] or match["number"]
        length = int(written) if written.isdigit() else numbers[written]
        if length > 0:
            yield Period(length, units[match["unit"]]), match.span()


_SENTENCE = re.compile(r"[.;!?]\s+(?=[a-zа-я(§]|[0-9]{1,2}[.)])|\n\s*\n")
_REACH = 220


def _sentence(folded: str, span: Offsets) -> str:
    """The sentence around a place, at most `_REACH` characters to each side."""
    begin, end = max(0, span[0] - _REACH), min(len(folded), span[1] + _REACH)
    before = [match.end() for match in _SENTENCE.finditer(folded, begin, span[0])]
    behind = _SENTENCE.search(folded, span[1], end)
    return folded[before[-1] if before else begin : behind.start() if behind else end]


def _has(section: str, folded: str) -> bool:
    return next(words.finder("contract", section).find(folded), None) is not None


def _ends_with_cue(before: str, section: str, key: str) -> bool:
    """Whether a cue stands close in front, with only filler words behind it."""
    cues = [h for h in words.finder("contract", section).find(before) if h.key == key]
    if not cues:
        return False
    gap = before[cues[-1].end :]
    return len(gap.split()) <= 3 and not re.search(r"[.;]\s|[0-9]", gap)


def _starts_with_cue(behind: str) -> bool:
    hit = next(_behind_cues().find(behind), None)
    if hit is None:
        return False
    gap = behind[: hit.start]
    return len(gap.split()) <= 4 and not re.search(r"[.:;\n0-9]", gap)


@cache
def _behind_cues() -> words.PhraseFinder:
    """The cues behind a length; some of them are cues in front of one, too ("notice")."""
    return words.PhraseFinder({"behind": words.phrases_by_key("contract", "notice_cues")["behind"]})


def _single(text: str, found: list[tuple[Period, Offsets]]) -> FoundPeriod:
    if not found:
        return ABSENT
    different = tuple(dict.fromkeys(period for period, _ in found))
    period, span = found[0]
    raw = text[slice(*span)]
    if len(different) > 1:
        return FoundPeriod(None, span, raw, different)
    return FoundPeriod(period, span, raw)
