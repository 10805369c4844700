"""Amounts: how a printed sum of money is read, and which numbers of a text are sums of money.

Here belong the grammar of numbers in the German, French, Swiss, English and neighbouring ways of
writing, and the search for amounts in running text. Which amount is the total of an invoice
belongs to `totals`; rows of tables belong to the table recogniser, which may use `parse`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from tgv_dagster.understand import words

Offsets = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Hints:
    """What surrounds a number: the decimal mark its column or document proves, if any."""

    decimal_mark: str | None = None


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A number with more than one reading; only evidence from outside may choose."""

    readings: tuple[Decimal, ...]


@dataclass(frozen=True, slots=True)
class AmountMention:
    """A sum of money in a text; `span` are offsets of number and currency mark.

    `other_reading` is set when the writing allows a second value; then nobody may take `value`
    for certain.
    """

    value: Decimal
    currency: str | None
    span: Offsets
    raw: str
    other_reading: Decimal | None = None

    @property
    def ambiguous(self) -> bool:
        """Whether the writing allows a second value."""
        return self.other_reading is not None


NO_HINTS = Hints()
_GROUP_MARK = {"de": ".", "it": ".", "es": ".", "nl": ".", "pt": ".", "en": ","}
_BLANK_GROUPS = frozenset({"fr", "ru", "pl", "cs", "sv", "nb", "fi"})
_HARD_BLANKS = "\u00a0\u202f\u2009\u2007"
_MINUS = str.maketrans(dict.fromkeys("‐‑‒–—−﹣－", "-") | dict.fromkeys("’‘ʼ´`′", "'"))
_BLANKS = str.maketrans(dict.fromkeys(_HARD_BLANKS, " "))


def parse(raw: str, language: str | None, hints: Hints = NO_HINTS) -> Decimal | Ambiguous | None:
    """Read one printed number, with its sign and currency mark, as a whole.

    None when the string is no single number: a part of a longer number is never returned. A lone
    mark before exactly three digits ("1.000") is decided by the column's mark, else by the
    document language where that mark groups thousands, else it stays ambiguous.
    """
    core, negative = _strip_marks(raw.translate(_MINUS).translate(_BLANKS).strip())
    if core is None:
        return None
    settled = _settle(_readings(core), language, hints)
    if negative and isinstance(settled, Decimal):
        return -settled
    if negative and isinstance(settled, Ambiguous):
        return Ambiguous(tuple(-value for value in settled.readings))
    return settled


_NO_CENTS = re.compile(r"(?<=[0-9])\s?[.,]\s?-{1,2}$")
_CORE = re.compile(r"[0-9.,' ]{0,39}[0-9]")


def _strip_marks(text: str) -> tuple[str | None, bool]:
    """The bare number and whether it is negative; None when marks contradict each other."""
    signs: list[bool] = []
    if text.startswith("(") and text.endswith(")"):
        signs.append(True)
        text = text[1:-1].strip()
    text, found = _strip_front(text)
    signs += found
    text, found = _strip_back(text)
    signs += found
    if len(signs) > 1 or not _CORE.fullmatch(text):
        return None, False
    return text, signs == [True]


def _strip_front(text: str) -> tuple[str, list[bool]]:
    signs: list[bool] = []
    for _ in range(3):
        if text[:1] in ("-", "+"):
            signs.append(text[0] == "-")
            text = text[1:].lstrip()
        elif mark := _patterns().front_mark.match(text):
            text = text[mark.end() :].lstrip()
    return text, signs


def _strip_back(text: str) -> tuple[str, list[bool]]:
    signs: list[bool] = []
    for _ in range(3):
        text, dashes = _NO_CENTS.subn("", text)
        if dashes:
            continue
        if text[-1:] in ("-", "+"):
            signs.append(text[-1] == "-")
            text = text[:-1].rstrip()
        elif mark := _patterns().back_mark.search(text):
            text = text[: mark.start()].rstrip()
        elif booked := _patterns().booked.search(text):
            signs.append(booked.lastgroup == "debit")
            text = text[: booked.start()].rstrip()
    return text, signs


@dataclass(frozen=True, slots=True)
class _Reading:
    value: Decimal
    decimal_mark: str | None
    group_mark: str | None


_FRACTION_LIMIT = 6


def _readings(core: str) -> tuple[_Reading, ...]:
    """Every way to read a bare number; each uses all of its characters."""
    marks = [character for character in core if not character.isdigit()]
    found: list[_Reading] = []
    if not marks:
        found.append(_Reading(Decimal(core), None, None))
    elif len(set(marks)) == 1 and _grouped(core, marks[0]):
        found.append(_Reading(Decimal(core.replace(marks[0], "")), None, marks[0]))
    if marks and marks[-1] in ".," and marks.count(marks[-1]) == 1:
        reading = _with_fraction(core, marks[-1])
        if reading is not None:
            found.append(reading)
    return tuple(found)


def _with_fraction(core: str, mark: str) -> _Reading | None:
    whole, fraction = core.split(mark)
    group_marks = {character for character in whole if not character.isdigit()}
    if len(fraction) > _FRACTION_LIMIT or len(group_marks) > 1:
        return None
    group_mark = next(iter(group_marks), None)
    if group_mark is not None and not _grouped(whole, group_mark):
        return None
    digits = whole.replace(group_mark, "") if group_mark else whole
    return _Reading(Decimal(f"{digits or '0'}.{fraction}"), mark, group_mark)


def _grouped(text: str, mark: str) -> bool:
    """Whether the digits stand in groups of three, or in the Indian groups of two."""
    first, *rest = text.split(mark)
    if not rest or not first or len(first) > 3 or first == "0" * len(first):
        return False
    if all(len(group) == 3 for group in rest):
        return True
    indian = mark == "," and len(first) <= 2 and len(rest[-1]) == 3
    return indian and len(rest) > 1 and all(len(group) == 2 for group in rest[:-1])


def _settle(
    readings: tuple[_Reading, ...], language: str | None, hints: Hints
) -> Decimal | Ambiguous | None:
    if len(readings) < 2:
        return readings[0].value if readings else None
    grouped, decimal = readings
    if hints.decimal_mark is not None:
        return decimal.value if decimal.decimal_mark == hints.decimal_mark else grouped.value
    if language is not None and _GROUP_MARK.get(language) == grouped.group_mark:
        return grouped.value
    return Ambiguous((grouped.value, decimal.value))


@dataclass(frozen=True, slots=True)
class _Patterns:
    """Patterns built from the word list of money."""

    mark: re.Pattern[str]
    front_mark: re.Pattern[str]
    back_mark: re.Pattern[str]
    booked: re.Pattern[str]
    unit: re.Pattern[str]
    codes: dict[str, str]


@cache
def _patterns() -> _Patterns:
    data = words.load("money")
    codes = {mark: code for code, marks in data["currencies"].items() for mark in marks}
    any_mark = _alternatives(codes)
    lettered = rf"(?<![^\W\d_])(?:{any_mark})(?![^\W\d_])"
    symbols = "|".join(re.escape(m) for m in codes if len(m) == 1 and not m.isalpha())
    mark = rf"(?:{lettered}|{symbols})"
    debit, credit = _alternatives(data["debit"]), _alternatives(data["credit"])
    units = _alternatives(words.fold(unit) for unit in data["units"])
    return _Patterns(
        mark=re.compile(mark),
        front_mark=re.compile(mark),
        back_mark=re.compile(rf"{mark}$"),
        booked=re.compile(rf"\s?(?:(?P<debit>{debit})|(?P<credit>{credit}))$"),
        unit=re.compile(rf"[ ]?(?:{units})(?!\w)"),
        codes=codes,
    )


def _alternatives(marks: Iterable[str]) -> str:
    return "|".join(re.escape(mark) for mark in sorted(marks, key=len, reverse=True))


@dataclass(frozen=True, slots=True)
class _Token:
    """A whole printed number of a line, before anybody knows whether it is money."""

    start: int
    end: int
    core: str
    negative: bool
    alternative: str | None
    no_cents: bool


_SOLID = re.compile(r"[0-9]+(?:[.,'][0-9]+)*")
_NEXT_GROUP = re.compile(
    r"([ \u00a0\u202f\u2009\u2007])([0-9]{3}(?:[.,][0-9]+)?)(?![0-9.,']?[0-9])"
)
_DASHED_CENTS = re.compile(r"[ ]?[.,][ ]?-{1,2}(?![\w-])")
_BOOKED_SUFFIX = re.compile(r"[ \u00a0](S|H)(?!\w)")
_LINE = re.compile(r"[^\n\r\f\v]+")


def find(text: str, language: str | None, hints: Hints | None = None) -> tuple[AmountMention, ...]:
    """Sums of money in a text, in order of appearance.

    A number counts as money when a currency mark stands beside it, or when it has exactly two
    decimals and nothing says otherwise (unit, percent, date, phone, heading number). `hints`
    default to what the text itself proves. Linear in the length of the text.
    """
    plain = text.translate(_MINUS)
    known = hints if hints is not None else hints_of(text)
    return tuple(
        mention
        for line in _LINE.finditer(plain)
        for mention in _line_amounts(text, plain, line.start(), line.end(), language, known)
    )


def hints_of(text: str) -> Hints:
    """The decimal mark that the two-digit fractions of a text prove, if nine in ten agree."""
    counts = {".": 0, ",": 0}
    plain = text.translate(_MINUS)
    for match in _SOLID.finditer(plain):
        core = match.group()
        mark = core[-3:-2]
        if mark not in counts or core.count(mark) != 1 or not core[:-3].strip(".,'"):
            continue
        if _borders_reject(plain, match.start(), match.end()) or plain[match.end() :][:1] == ".":
            continue
        two_marks = any(other in core[:-3] for other in ".,'")
        if mark == "." and not (two_marks or _touches_mark(plain, match.start(), match.end())):
            continue
        counts[mark] += 1
    total = sum(counts.values())
    for mark, count in counts.items():
        if total and count * 10 >= total * 9:
            return Hints(mark)
    return NO_HINTS


def _touches_mark(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - 6) : start].rstrip(" -" + _HARD_BLANKS)
    after = text[end : end + 6].lstrip(" " + _HARD_BLANKS)
    return bool(_patterns().back_mark.search(before) or _patterns().front_mark.match(after))


def _line_amounts(
    text: str, plain: str, start: int, end: int, language: str | None, hints: Hints
) -> Iterator[AmountMention]:
    tokens = list(_tokens(plain, start, end, language))
    if not tokens:
        return
    marks = [(m.start(), m.end()) for m in _patterns().mark.finditer(plain, start, end)]
    owners = _pair_marks(plain, tokens, marks, prefers_front=language in ("en", "nl"))
    for index, token in enumerate(tokens):
        mark = owners.get(index)
        if mark is None and not _money_without_mark(plain, token, start, hints):
            continue
        if mark is not None and _unit_follows(plain, token.end):
            continue
        mention = _mention(text, plain, token, mark, language, hints)
        if mention is not None:
            yield mention


def _tokens(plain: str, start: int, end: int, language: str | None) -> Iterator[_Token]:
    """Whole numbers of one line; digits grouped by blanks are joined."""
    position = start
    while match := _SOLID.search(plain, position, end):
        core, alternative, stop = _join_groups(plain, match, end, language)
        position = stop
        if _borders_reject(plain, match.start(), stop):
            position = _skip_word(plain, stop, end)
            continue
        dash = _DASHED_CENTS.match(plain, stop, end)
        after = plain[stop : min(stop + 2, end)]
        trailing = dash is None and after[:1] == "-" and not after[1:2].isalnum()
        leading = _leading_minus(plain, match.start(), start)
        booked = _BOOKED_SUFFIX.match(plain, stop, end)
        debit = booked is not None and booked.group(1) == "S" and language in ("de", None)
        tail = dash.end() if dash else stop + (1 if trailing else 0)
        yield _Token(
            match.start(), tail, core, leading or trailing or debit, alternative, dash is not None
        )
        position = max(position, tail)


def _join_groups(
    plain: str, match: re.Match[str], end: int, language: str | None
) -> tuple[str, str | None, int]:
    """Number with its blank-separated groups, a second reading if the blanks are doubtful, end.

    A hard blank groups; a soft one groups in languages that group by blanks, and is doubtful
    elsewhere, for two columns of a table look the same.
    """
    core, stop, doubtful = match.group(), match.end(), False
    if not core.isdigit() or len(core) > 3 or core.startswith("0"):
        return core, None, stop
    last = core
    while "." not in last and "," not in last:
        group = _NEXT_GROUP.match(plain, stop, end)
        if group is None:
            break
        doubtful = doubtful or (group.group(1) == " " and language not in _BLANK_GROUPS)
        last = group.group(2)
        core, stop = f"{core} {last}", group.end()
    if stop == match.end() or not doubtful:
        return core, None, stop
    return core, last, stop


def _borders_reject(plain: str, start: int, end: int) -> bool:
    """Whether the digits are part of something longer: a code, a date, a path, a version."""
    before, after = plain[max(0, start - 2) : start], plain[end : end + 2]
    if before[-1:] and (before[-1] in "/:_#@*\\" or before[-1].isdigit()):
        return True
    if before[-1:] in (".", ",", "'", "-") and before[:1].isalnum() and len(before) == 2:
        return not _patterns().back_mark.search(plain[max(0, start - 6) : start].rstrip("-"))
    if before[-1:].isalpha() and not _patterns().back_mark.search(plain[max(0, start - 6) : start]):
        return True
    if after[:1] in ("/", ":", "_", "@", "\\") and after[1:2].isalnum():
        return True
    if after[:1] == "-" and after[1:2].isalnum():
        return True
    if after[:1] in (".", ",", "'") and after[1:2].isdigit():
        return True
    return after[:1].isalpha() and not (
        _patterns().front_mark.match(plain[end : end + 8]) or _unit_follows(plain, end)
    )


def _unit_follows(plain: str, end: int) -> bool:
    """Whether a unit stands behind a number; a capital H is no hour but a credit mark."""
    unit = _patterns().unit.match(words.fold(plain[end : end + 12]))
    return unit is not None and plain[end : end + unit.end()].strip() != "H"


def _skip_word(plain: str, position: int, end: int) -> int:
    """Past the rest of a rejected word, so that no part of it is taken for a number."""
    while position < end and (plain[position].isalnum() or plain[position] in ".,'/:_-@\\"):
        position += 1
    return position


def _leading_minus(plain: str, start: int, line_start: int) -> bool:
    before = plain[max(line_start, start - 8) : start]
    stripped = before.rstrip(" " + _HARD_BLANKS)
    mark = _patterns().back_mark.search(stripped)
    if mark is not None:
        front = stripped[: mark.start()].rstrip()
        return front.endswith("-") and not front[:-1][-1:].isalnum()
    return before.endswith("-") and not before[:-1][-1:].isalnum()


def _pair_marks(
    plain: str, tokens: list[_Token], marks: list[Offsets], *, prefers_front: bool
) -> dict[int, Offsets]:
    """Which currency mark belongs to which number of a line.

    A mark between two numbers goes to the one it touches, else to the side on which the line's
    other marks stand, else to the side usual in the language.
    """
    starts = [token.start for token in tokens]
    sides = {mark: _neighbours(plain, tokens, starts, mark) for mark in marks}
    front = sum(1 for left, right in sides.values() if left is None and right is not None)
    back = sum(1 for left, right in sides.values() if right is None and left is not None)
    front_style = front > back or (front == back and prefers_front)
    owners: dict[int, Offsets] = {}
    for mark, (left, right) in sides.items():
        owner = _owner(plain, tokens, mark, left, right, front_style=front_style)
        if owner is not None:
            owners.setdefault(owner, mark)
    return owners


def _neighbours(
    plain: str, tokens: list[_Token], starts: list[int], mark: Offsets
) -> tuple[int | None, int | None]:
    """Indices of the numbers directly before and behind a mark."""
    following = bisect_left(starts, mark[1])
    left = bisect_left(starts, mark[0]) - 1
    has_left = left >= 0 and _blank(plain, tokens[left].end, mark[0])
    has_right = following < len(tokens) and _blank(plain, mark[1], tokens[following].start)
    return left if has_left else None, following if has_right else None


def _blank(plain: str, start: int, end: int) -> bool:
    return 0 <= end - start <= 4 and not plain[start:end].rstrip("-+").strip(" \t:" + _HARD_BLANKS)


def _owner(
    plain: str,
    tokens: list[_Token],
    mark: Offsets,
    left: int | None,
    right: int | None,
    *,
    front_style: bool,
) -> int | None:
    if left is None or right is None:
        return left if right is None else right
    touches_left = tokens[left].end == mark[0]
    touches_right = tokens[right].start == mark[1] or plain[mark[1]] in "-+"
    if touches_left != touches_right:
        return left if touches_left else right
    return right if front_style else left


_HEADING = re.compile(r"\s*\d{1,2}\.\d{1,2}\s+[^\W\d_]")
_PHONE = re.compile(r"(?:tel|fon|fax|phone|mobil|portable)[^\n]{0,20}$")


def _money_without_mark(plain: str, token: _Token, line_start: int, hints: Hints) -> bool:
    """Whether a number without currency mark still is a sum of money."""
    if token.no_cents:
        return True
    mark = token.core[-3:-2]
    if mark not in (".", ",") or not token.core[-2:].isdigit():
        return False
    if hints.decimal_mark is not None and mark != hints.decimal_mark:
        return False
    if mark == "." and plain[token.end : token.end + 1] == ".":
        return False
    if _unit_follows(plain, token.end):
        return False
    if mark == "." and token.start - line_start < 8 and _HEADING.match(plain, line_start):
        return False
    before = words.fold(plain[max(line_start, token.start - 30) : token.start])
    return not _PHONE.search(before) and not before.rstrip().endswith(
        ("§", "art.", "ziffer", "nr.")
    )


def _mention(
    text: str, plain: str, token: _Token, mark: Offsets | None, language: str | None, hints: Hints
) -> AmountMention | None:
    readings = parse(token.core, language, hints)
    if readings is None and token.alternative is not None:
        return None
    if isinstance(readings, Ambiguous):
        value, other = readings.readings[0], readings.readings[1]
    elif isinstance(readings, Decimal):
        second = parse(token.alternative, language, hints) if token.alternative else None
        value, other = readings, second if isinstance(second, Decimal) else None
    else:
        return None
    if token.negative:
        value, other = -value, None if other is None else -other
    start = min(token.start, mark[0]) if mark else token.start
    end = max(token.end, mark[1]) if mark else token.end
    if token.negative and start > 0 and plain[start - 1] == "-":
        start -= 1
    currency = _patterns().codes[plain[mark[0] : mark[1]]] if mark else None
    return AmountMention(value, currency, (start, end), text[start:end], other)
