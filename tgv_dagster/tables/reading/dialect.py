"""The dialect of a text table: delimiter, quote and escape, by a bounded search with a proof.

A dialect is taken when it is the only one that gives even rows. Where two give even rows with
different cells, the likelier one is suggested and a person is asked (domain notes A1, A2).
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tgv_dagster.tables.model import Dialect

if TYPE_CHECKING:
    from _csv import Reader

DELIMITERS = (";", ",", "\t", "|", ":", "^", "~", "`", "\x1f")
_SECONDARY = frozenset(":^~`\x1f")
SAMPLE_CHARACTERS = 96 * 1024
_SAMPLE_RECORDS = 400
_DEEPER_EVEN = 0.6
_STATED = re.compile(r"\ufeff?sep=(.)\r?\n")
_TYPED = re.compile(
    r"[-−+(]?\s*[€$£]?\s*\d[\d.,'’ \u00a0\u202f]*\s*(?:€|EUR|USD|CHF|%)?\s*[-−)]?"
    r"|\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\.?(?:[ T]\d{1,2}:\d{2}.*)?"
    r"|\d{1,3}:\d{2}(?::\d{2})?(?:\s*[AaPp][Mm])?"
)


@dataclass(frozen=True, slots=True)
class Found:
    """The dialect to read with; `rivals` are others that give even rows with other cells."""

    dialect: Dialect
    rivals: tuple[Dialect, ...] = ()


@dataclass(frozen=True, slots=True)
class _Trial:
    dialect: Dialect
    rows: tuple[tuple[str, ...], ...]
    width: int
    evenness: float
    typed: float
    quoted: int
    first: int


def looks_typed(cell: str) -> bool:
    """Whether a cell has the shape of a number, a date or a time rather than of a label."""
    return _TYPED.fullmatch(cell.strip()) is not None


def stated_delimiter(text: str) -> tuple[str, int] | None:
    """The delimiter of a `sep=` line and the characters that line takes; None without one."""
    match = _STATED.match(text)
    return (match.group(1), match.end()) if match else None


def find_dialect(text: str, *, delimiter: str | None = None) -> Found:
    """Find the dialect of a text; a text in one column comes back with `;`.

    `text` starts behind a `sep=` line, and `delimiter` is what that line states. Only the first
    96 KB are looked at.
    """
    sample = _sample(text)
    delimiters = (delimiter,) if delimiter else DELIMITERS
    trials = [t for d in _candidates(sample, delimiters) if (t := _try(sample, d)) is not None]
    trials = [t for t in trials if t.width > 1 and t.evenness >= 0.5]
    if not trials:
        return Found(replace(_single_column(sample), delimiter=delimiter or ";"))
    trials = [t for t in trials if not any(_cuts_deeper(other, t) for other in trials)]
    best = max(trials, key=_rank)
    rivals = tuple(t.dialect for t in trials if t is not best and _rivals(best, t))
    return Found(_quoted_later(best.dialect, text, len(sample)), rivals)


def strict_reader(lines: Iterable[str], dialect: Dialect) -> Reader:
    """The standard library's reader in this dialect; it raises csv.Error on broken quoting."""
    return csv.reader(
        lines,
        delimiter=dialect.delimiter,
        quotechar=dialect.quote or None,
        quoting=csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
        doublequote=not dialect.escape,
        escapechar=dialect.escape or None,
        strict=True,
    )


def _sample(text: str) -> str:
    if len(text) <= SAMPLE_CHARACTERS:
        return text
    cut = text[:SAMPLE_CHARACTERS]
    return cut[: cut.rfind("\n") + 1] or cut


def _cuts_deeper(other: _Trial, trial: _Trial) -> bool:
    """Whether another delimiter makes values of what this one leaves whole: `01.02.26;-8`."""
    return (
        other.dialect.delimiter != trial.dialect.delimiter
        and other.evenness >= _DEEPER_EVEN
        and other.width > trial.width
        and other.typed >= trial.typed + 0.25
        and other.dialect.delimiter not in _SECONDARY
    )


def _quoted_later(dialect: Dialect, text: str, sampled: int) -> Dialect:
    """Writers that quote only where they must may begin behind the sample."""
    first = text.find('"')
    if dialect.quote or dialect.escape or first < sampled:
        return dialect
    begin = text.rfind("\n", 0, first) + 1
    return (
        replace(dialect, quote='"') if _encloses(text[begin:], '"', dialect.delimiter) else dialect
    )


def _candidates(sample: str, delimiters: tuple[str, ...]) -> list[Dialect]:
    found = []
    for delimiter in delimiters:
        if delimiter not in sample:
            continue
        quotes = [q for q in ('"', "'") if _encloses(sample, q, delimiter)]
        for quote in quotes:
            found.append(Dialect(delimiter, quote))
            if f"\\{quote}" in sample or "\\\\" in sample:
                found.append(Dialect(delimiter, quote, "\\"))
        if '"' not in quotes:
            found.append(Dialect(delimiter, ""))
            if f"\\{delimiter}" in sample or "\\\\" in sample:
                found.append(Dialect(delimiter, "", "\\"))
    return found


def _encloses(sample: str, quote: str, delimiter: str) -> bool:
    """Whether some cell begins and some cell ends with the quote."""
    mark, bar = re.escape(quote), re.escape(delimiter)
    opens = re.search(rf"(?:^|{bar}){mark}", sample, re.MULTILINE)
    shuts = re.search(rf"{mark}\r?(?:$|{bar})", sample, re.MULTILINE)
    return bool(opens and shuts)


def _try(sample: str, dialect: Dialect) -> _Trial | None:
    rows = _leading_rows(sample, dialect)
    body = [row for row in rows if any(cell.strip() for cell in row)]
    if not body:
        return None
    widths = Counter(len(row) for row in body)
    width = max(widths, key=lambda w: (widths[w] * min(w, 4), w))
    even = [row for row in body if len(row) == width]
    cells = [cell.strip() for row in even[1:] or even for cell in row]
    full = [cell for cell in cells if cell]
    typed = sum(map(looks_typed, full)) / max(1, len(full))
    # A preamble is short and stands at the top: lines before the first even row count little.
    first = next(i for i, row in enumerate(body) if len(row) == width)
    below = body[first:]
    evenness = widths[width] / (len(below) + 0.2 * min(first, len(below)))
    quoted = sample.count(dialect.quote) if dialect.quote else 0
    return _Trial(dialect, tuple(map(tuple, body)), width, evenness, typed, quoted, first)


def _leading_rows(sample: str, dialect: Dialect) -> list[list[str]]:
    """Rows up to the first broken record; a sample cut inside a cell is no fault."""
    rows: list[list[str]] = []
    reader = strict_reader(io.StringIO(sample, newline=""), dialect)
    try:
        for row in reader:
            rows.append(row)
            if len(rows) >= _SAMPLE_RECORDS:
                break
    except csv.Error:
        lines = max(1, sample.count("\n"))
        # Broken early: the rule of this dialect is not the rule of the file.
        return rows if reader.line_num > 0.9 * lines and len(rows) > 20 else []
    return rows


def _rank(trial: _Trial) -> tuple[float, ...]:
    usual = trial.dialect.delimiter not in _SECONDARY
    return (
        trial.evenness >= 0.9,
        usual,
        bool(trial.dialect.quote) and trial.quoted > 0,
        not trial.dialect.escape,
        round(trial.evenness, 1),
        round(trial.typed, 1),
        trial.dialect.delimiter == ";",
        trial.width,
    )


def _rivals(best: _Trial, other: _Trial) -> bool:
    """Whether the other dialect is a reading that the file does not rule out."""
    if _begins_above(other, best):
        return True
    if other.evenness < min(1.0, best.evenness) or other.rows == best.rows:
        return False
    if other.dialect.delimiter == best.dialect.delimiter:
        return _other_quoting(best, other)
    if other.dialect.delimiter in _SECONDARY and best.dialect.delimiter not in _SECONDARY:
        return False
    if best.dialect.quote and not other.dialect.quote and best.evenness >= 0.9:
        return False
    return not _torn(other, best)


def _begins_above(other: _Trial, best: _Trial) -> bool:
    """Whether what the best reading takes for a preamble carries labels in the other one."""
    return (
        other.dialect.delimiter != best.dialect.delimiter
        and other.dialect.delimiter not in _SECONDARY
        and other.first < best.first
        and other.typed >= best.typed - 0.2
    )


def _other_quoting(best: _Trial, other: _Trial) -> bool:
    """Same delimiter: a reading that leaves quotes standing around whole cells is none."""
    if not other.dialect.quote and not other.dialect.escape:
        return False
    return best.width == other.width or other.evenness >= best.evenness


def _torn(other: _Trial, best: _Trial) -> bool:
    """Whether the other delimiter only cuts through cells of the best reading.

    It does when the row that carries the labels is not as wide as the rows below it, or when
    fewer of its pieces look like values.
    """
    first = next((row for row in other.rows if len(row) == other.width), ())
    labels_torn = any(map(looks_typed, first))
    best_first = next((row for row in best.rows if len(row) == best.width), ())
    best_labels = not any(map(looks_typed, best_first))
    if labels_torn and best_labels:
        return True
    header_at = other.rows.index(first) if first else 0
    best_at = best.rows.index(best_first) if best_first else 0
    if header_at > best_at and len(best.rows) > header_at:
        return True
    return other.typed < best.typed - 0.2


def _single_column(sample: str) -> Dialect:
    return Dialect(";", '"' if sample.lstrip("\ufeff").startswith('"') else "")
