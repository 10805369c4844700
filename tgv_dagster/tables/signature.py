"""The signature of a table: its labels, so that a confirmed schema is found again (TAB-08).

Exact means the same labels in the same order, written the same way: nothing is asked. Near means
the same labels in another order or writing, or at most two added, dropped or renamed: the old
mapping is a proposal. Decisions hang on label names, never on positions (TAB-18).
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from tgv_dagster.tables.lexicon import normal_label
from tgv_dagster.tables.model import RawTable

_NEAR = 2
_RENAMED = 0.75


class Match(StrEnum):
    """How well a table fits a confirmed schema."""

    EXACT = "exact"
    NEAR = "near"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Signature:
    """What a table looks like. `labels` are normalised, in file order."""

    labels: tuple[str, ...]
    delimiter: str
    sheet: str

    @property
    def key(self) -> str:
        """The signature as one word, as memory stores it."""
        told = json.dumps([self.labels, self.delimiter, self.sheet], ensure_ascii=False)
        return hashlib.sha256(told.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison; `renamed` maps old normalised labels to the ones they became."""

    match: Match
    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()


def signature_of(table: RawTable) -> Signature:
    """The signature of a table; a file without labels has none and is always new."""
    return Signature(
        tuple(normal_label(label) or label for label in table.labels),
        table.dialect.delimiter if table.dialect else "",
        normal_label(table.sheet),
    )


def compare(known: Signature, found: Signature) -> Compared:
    """Compare a confirmed signature with one found. Labels like `#1` never match exactly."""
    if any(label.startswith("#") for label in found.labels if label[1:].isdigit()):
        return Compared(Match.NEW)
    if known == found:
        return Compared(Match.EXACT)
    before, now = Counter(known.labels), Counter(found.labels)
    dropped = tuple((before - now).elements())
    added = tuple((now - before).elements())
    renamed, dropped, added = _renamed(dropped, added)
    changes = len(dropped) + len(added) + len(renamed)
    if changes > _NEAR or changes * 2 >= len(known.labels):
        return Compared(Match.NEW)
    return Compared(Match.NEAR, added, dropped, renamed)


def _renamed(
    dropped: tuple[str, ...], added: tuple[str, ...]
) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...], tuple[str, ...]]:
    """Pairs of a dropped and an added label that are nearly the same word."""
    pairs: list[tuple[str, str]] = []
    left = list(added)
    for old in dropped:
        likeness = {new: SequenceMatcher(None, old, new).ratio() for new in left}
        best = max(likeness, key=lambda new: likeness[new], default=None)
        if best is not None and likeness[best] >= _RENAMED:
            pairs.append((old, best))
            left.remove(best)
    gone = tuple(old for old in dropped if old not in {pair[0] for pair in pairs})
    return tuple(pairs), gone, tuple(left)
