"""Dates, amounts and identifiers as terms: "31 août", "31.08." and "31. August" are one (RET-43).

A text is read part by part (split at white space): what a part says on its own, and what several
parts say together ("31 août 2026", "1 234,56", "HRB 102141 B"). What does not belong here: which
value is the date of a document; that is decided with evidence elsewhere.
"""

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain

from stdnum import iban as iban_check

from tgv_dagster.understand import words as lexicon
from tgv_dagster.understand.folding import fold


@dataclass(frozen=True, slots=True)
class IdTerm:
    """One date, amount or identifier.

    exact: any of these tokens is the thing asked for; wide: tokens that count less (a full date
    also looks for its day without a year); more: what an index holds in addition, so that a
    question for the month finds the day.
    """

    exact: tuple[str, ...]
    wide: tuple[str, ...] = ()
    more: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Part:
    """What one stretch without white space says on its own. Never changed once made: it is not
    frozen only because a rebuild makes millions of them.
    """

    compact: str
    digits: int
    terms: tuple[IdTerm, ...] = ()
    is_date: bool = False
    day: int | None = None
    month: int | None = None
    year: int | None = None


@cache
def month_numbers() -> dict[str, int]:
    """Folded month names of every language of the lexicon that dates are read with."""
    return {
        fold(name): month
        for language in lexicon.load("months")["months"].values()
        for month, names in enumerate(language, start=1)
        for name in names
    }


def _date_term(year: int | None, month: int, day: int | None) -> IdTerm | None:
    try:
        dt.date(2000 if year is None else year, month, 1 if day is None else day)
    except ValueError:
        return None
    if day is None:
        return None if year is None else IdTerm((f"m{year:04d}{month:02d}",))
    any_year = f"a{month:02d}{day:02d}"
    if year is None:
        return IdTerm((any_year,))
    return IdTerm((f"d{year:04d}{month:02d}{day:02d}",), (any_year,), (f"m{year:04d}{month:02d}",))


_PIVOT = 70
"""Two-digit years from here on lie in the twentieth century."""


def _full_year(written: str) -> int:
    value = int(written.lstrip("'"))
    if value >= 100:
        return value
    return 1900 + value if value >= _PIVOT else 2000 + value


_NUMERIC_DATE = re.compile(
    r"(?<![\d.,])(?:"
    r"(?P<iso_y>\d{4})(?P<iso_s>[-/.]?)(?P<iso_m>\d{2})(?P=iso_s)(?P<iso_d>\d{2})(?!\d)"
    r"|(?P<d>\d{1,2})(?P<s>[./-])(?P<m>\d{1,2})(?P=s)(?P<y>\d{4}|\d{2})(?!\d)"
    r"|(?P<yl_d>\d{1,2})\.(?P<yl_m>\d{1,2})\.(?!\d)"
    r"|(?P<my_m>\d{1,2})[./-](?P<my_y>(?:19|20)\d{2})(?!\d)"
    r"|(?P<n_d>\d{1,2})[.-]?(?P<n_m>[^\W\d_]{3,12})(?:[.-]{1,2}(?P<n_y>\d{4}|\d{2}))?(?!\w)"
    r")"
)


def _numeric_date(match: re.Match[str]) -> IdTerm | None:
    group = match.group
    if group("iso_y"):
        return _date_term(int(group("iso_y")), int(group("iso_m")), int(group("iso_d")))
    if group("y"):
        first, second, year = int(group("d")), int(group("m")), _full_year(group("y"))
        return _date_term(year, second, first) or _date_term(year, first, second)
    if group("yl_d"):
        return _date_term(None, int(group("yl_m")), int(group("yl_d")))
    if group("my_y"):
        return _date_term(int(group("my_y")), int(group("my_m")), None)
    month = month_numbers().get(group("n_m"))
    if month is None:
        return None
    year = _full_year(group("n_y")) if group("n_y") else None
    return _date_term(year, month, int(group("n_d")))


def _dates_in(part: str) -> tuple[IdTerm, ...]:
    found = (_numeric_date(match) for match in _NUMERIC_DATE.finditer(part))
    return tuple(term for term in found if term is not None)


_NUMBER = re.compile(
    r"[a-z]{0,3}(\d{1,3}(?:[.,']\d{3})+(?:[.,]\d{1,4})?|\d+(?:[.,]\d+)?)[a-z%]{0,3}"
)
_GROUPED_HEAD = re.compile(r"\d{1,3}")
_GROUPED_TAIL = re.compile(r"\d{3}(?:[.,]\d{1,4})?")
_LAST_SEPARATOR = re.compile(r"[.,](?=\d+$)")
_LONGEST_NUMBER = 40


def _plain_number(whole: str, fraction: str) -> str:
    digits = whole.lstrip("0") or "0"
    tail = fraction.rstrip("0")
    return f"n{digits}.{tail}" if tail else f"n{digits}"


def _readings(number: str) -> tuple[str, ...]:
    """Every number a written one may mean: "1.234" is 1234 in German and 1.234 in English."""
    compact = number.replace("'", "")
    split = _LAST_SEPARATOR.search(compact)
    if split is None:
        return (_plain_number(compact, ""),)
    head, fraction = compact[: split.start()], compact[split.end() :]
    grouped = _plain_number(compact.replace(".", "").replace(",", ""), "")
    if compact[split.start()] in head:
        return (grouped,)
    decimal = _plain_number(head.replace(".", "").replace(",", ""), fraction)
    if len(fraction) == 3 and head.isdigit() and len(head) <= 3 and head != "0":
        return (grouped, decimal)
    return (decimal,)


_NOT_IN_ID = re.compile(r"[^a-z0-9]+")
_SHORTEST_ID, _LONGEST_ID, _LONGEST_ID_HEAD = 4, 40, 4
_LONG_NUMBER = 7
_ACCOUNT_HEAD = re.compile(r"[a-z]{2}\d{2}(?:$|[a-z0-9]{11})")


def _number_terms(written: str) -> tuple[IdTerm, ...]:
    if len(written) > _LONGEST_NUMBER:
        return ()
    if not written.isdigit():
        return (IdTerm(_readings(written)),)
    if len(written) < 3:
        return ()
    token = _plain_number(written, "")
    if written[0] == "0" or len(written) >= _LONG_NUMBER:
        return (IdTerm((f"x{written}", token)),)
    return (IdTerm((token,)),)


def _id_term(compact: str) -> tuple[IdTerm, ...]:
    if _SHORTEST_ID <= len(compact) <= _LONGEST_ID:
        return (IdTerm((f"x{compact}",)),)
    return ()


_PUNCTUATED_DIGITS = re.compile(r"\d+[./-][\d./-]+")
_DIGIT = re.compile(r"\d")
_EDGE = "()[]{}<>\"'.,;:!?*|=€$£-_/\\#"
_DAY = re.compile(r"(\d{1,2})(?:\.|er|re|o|st|nd|rd|th)?,?")
_LONGEST_DAY, _LONGEST_YEAR = 6, 8
_YEAR = re.compile(r"((?:19|20)\d{2}|'\d{2})[.,;:)?!\"']*")


def read_part(part: str) -> Part | None:
    """What one folded stretch without white space says, None when it is a plain word."""
    core = part.strip(_EDGE)
    digits = len(_DIGIT.findall(core))
    if not digits:
        month = month_numbers().get(core)
        return None if month is None else Part(core, 0, month=month)
    compact = _NOT_IN_ID.sub("", core)
    dates = _dates_in(part.lstrip(_EDGE))
    if dates:
        # "RE-20260831" is a number as well as a day.
        also = () if _PUNCTUATED_DIGITS.fullmatch(core) else _id_term(compact)
        return Part(compact, digits, dates + also, is_date=True)
    day = _DAY.fullmatch(part) if len(part) <= _LONGEST_DAY else None
    day_number = int(day.group(1)) if day else None
    number = _NUMBER.fullmatch(core)
    if number is None:
        return Part(compact, digits, _id_term(compact), day=day_number)
    terms = _number_terms(number.group(1))
    if not compact.isdigit():
        return Part(compact, digits, terms + _id_term(compact), day=day_number)
    year = _YEAR.fullmatch(part) if len(part) <= _LONGEST_YEAR else None
    year_number = _full_year(year.group(1)) if year else None
    return Part(compact, digits, terms, day=day_number, year=year_number)


_LINKS = frozenset(("de", "del", "di", "of", "do", "d'"))


class _Reader:
    """Walks the parts of one text once and remembers which of them a date has used up."""

    def __init__(self, parts: Sequence[str], read: Sequence[Part | None]) -> None:
        self._parts = parts
        self._read = read
        self._marked = [at for at, part in enumerate(read) if part is not None]
        self._used: set[int] = set()

    def terms(self) -> Iterator[IdTerm]:
        for at in self._marked:
            part = self._read[at]
            if part is not None and part.month is not None:
                yield from self._named_date(at, part.month)
        for low, high in self._runs():
            yield from self._run(low, high)

    def _at(self, at: int) -> Part | None:
        return self._read[at] if 0 <= at < len(self._read) and at not in self._used else None

    def _step(self, at: int, direction: int) -> int:
        at += direction
        linked = 0 <= at < len(self._parts) and self._parts[at] in _LINKS
        return at + direction if linked else at

    def _named_date(self, at: int, month: int) -> Iterator[IdTerm]:
        before, after = self._step(at, -1), self._step(at, 1)
        day_at, year_at = before, after
        day = self._at(before)
        if day is None or day.day is None:
            day, day_at, year_at = self._at(after), after, self._step(after, 1)
            if day is None or day.day is None:
                day, year_at = None, after
        year = self._at(year_at)
        year_number = year.year if year is not None else None
        term = _date_term(year_number, month, day.day if day is not None else None)
        if term is None:
            return
        self._used.add(at)
        if day is not None:
            self._used.add(day_at)
        if year_number is not None:
            self._used.add(year_at)
        yield term

    def _runs(self) -> Iterator[tuple[int, int]]:
        """Stretches [low, high) of neighbouring parts with digits that no date has used."""
        low = high = -1
        for at in self._marked:
            part = self._at(at)
            if part is None or not part.digits:
                continue
            if at != high:
                if low >= 0:
                    yield low, high
                low = at
            high = at + 1
        if low >= 0:
            yield low, high

    def _run(self, low: int, high: int) -> Iterator[IdTerm]:
        parts = [part for part in self._read[low:high] if part is not None]
        if len(parts) > 1:
            spaced = self._spaced_date(low, high)
            if spaced:
                yield from spaced
                return
            yield from self._spaced_number(low, high)
        for part in parts:
            yield from part.terms
        if not any(part.is_date for part in parts):
            yield from self._spaced_id(low, high, "".join(part.compact for part in parts))

    def _spaced_date(self, low: int, high: int) -> tuple[IdTerm, ...]:
        """ "31. 08. 2026": parts that are a date only together."""
        if not 2 <= high - low <= 3 or not self._parts[low].endswith("."):
            return ()
        return _dates_in("".join(self._parts[low:high]))

    def _spaced_number(self, low: int, high: int) -> Iterator[IdTerm]:
        """Groups of three as one number; "2 234,56" may be two figures, so its parts stay too."""
        at = low
        while at < high - 1:
            end = at + 1
            if _GROUPED_HEAD.fullmatch(self._core(at)):
                while end < high and _GROUPED_TAIL.fullmatch(self._core(end)):
                    end += 1
                if end > at + 1:
                    yield from _number_terms("".join(map(self._core, range(at, end))))
            at = end

    def _core(self, at: int) -> str:
        return self._parts[at].strip(_EDGE)

    def _spaced_id(self, low: int, high: int, joined: str) -> Iterator[IdTerm]:
        if _ACCOUNT_HEAD.match(self._parts[low]):
            account = self._account(low)
            if account:
                yield IdTerm((f"x{account}",))
                return
        if high - low > 1:
            yield from _id_term(joined)
        before = self._letters(low - 1, _LONGEST_ID_HEAD)
        after = self._letters(high, 1)
        if before and len(joined) >= _SHORTEST_ID - 1:
            yield from _id_term(before + joined)
        if after and len(joined) >= _SHORTEST_ID - 1:
            yield from _id_term(before + joined + after)

    def _letters(self, at: int, at_most: int) -> str:
        """The neighbouring part if it is a short run of letters, like the HRB of HRB 102141 B."""
        if not 0 <= at < len(self._parts) or len(self._parts[at]) > at_most + 2:
            return ""
        core = self._core(at)
        return core if core.isascii() and core.isalpha() and len(core) <= at_most else ""

    def _account(self, low: int) -> str | None:
        """The IBAN that starts with this part, however it is spaced."""
        compact = _NOT_IN_ID.sub("", "".join(self._parts[low : low + 10]))
        for length in range(min(34, len(compact)), 14, -1):
            if iban_check.is_valid(compact[:length]):
                return compact[:length]
        return None


def terms_of(parts: Sequence[str], read: Sequence[Part | None]) -> Iterator[IdTerm]:
    """Terms of folded parts in order, `read` being what `read_part` says of each."""
    return _Reader(parts, read).terms()


def id_terms(folded: str) -> tuple[IdTerm, ...]:
    """Dates, amounts and identifiers of an already folded text, in order, without repeats.

    Day comes before month unless only the other order is a date; a number that is no date
    (31.02.) is none. Numbers below 100 without a fraction are left to the words.
    """
    parts = folded.split()
    return tuple(dict.fromkeys(terms_of(parts, [read_part(part) for part in parts])))


def held(terms: Iterable[IdTerm]) -> Iterable[str]:
    """Every different token an index holds for these terms."""
    return dict.fromkeys(
        token for term in terms for token in chain(term.exact, term.wide, term.more)
    )


def id_tokens(folded: str) -> tuple[str, ...]:
    """Every different token an index holds for an already folded text."""
    return tuple(held(id_terms(folded)))
