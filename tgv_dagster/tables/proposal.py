"""The proposal for an unknown table: class, target and columns, from words and values (TAB-09).

The labels are looked up in the lexicon of three languages, the values must fit the field; both
together make the score. In doubt a table is working material (TAB-07). A shipped signature settles
names and nothing more. A proposal is checked and never believed (TAB-10).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tgv_dagster.tables import bank_columns, shipped
from tgv_dagster.tables.lexicon import bare_label, lexicon, normal_label, spaced_label
from tgv_dagster.tables.mapping import TableMapping
from tgv_dagster.tables.model import Question, RawTable
from tgv_dagster.tables.reading.columns import Column, ColumnKind
from tgv_dagster.tables.targets import RULES, Target, fits, missing

_CLASS_ONE = 0.6
_EXACT, _BARE, _PART = 1.0, 0.9, 0.6
_HINTS = {
    Target.TIME: ("timetrack", "timesheet", "stunden", "zeiterfassung", "heures", "toggl"),
    Target.TRIPS: ("fahrtenbuch", "logbook", "trajets", "kilomet"),
    Target.BANK: ("umsatz", "umsaetze", "konto", "statement", "bank", "releve"),
}
_HINT = 0.05


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a table probably is. `confidence` 0 to 1; `why` names the evidence in a few words."""

    mapping: TableMapping
    confidence: float
    questions: tuple[Question, ...]
    why: tuple[str, ...]
    shipped: str = ""


def propose(table: RawTable, columns: Sequence[Column], *, hint: str = "") -> Proposal:
    """The best target of a table. `hint`: file name and the sender's intent (TAB-19, TAB-40)."""
    known = shipped.find(table.labels)
    scored = [_score(table, columns, target, hint, known) for target in RULES]
    best = max(scored, key=lambda proposal: proposal.confidence)
    rivals = [p for p in scored if p is not best and p.confidence >= best.confidence - 0.05]
    if best.confidence < _CLASS_ONE or rivals:
        why = best.why if not rivals else ("two targets fit equally",)
        return _proposal(table, columns, Target.WORKING, {}, 1 - best.confidence, why)
    return best


def questions_of(
    table: RawTable, columns: Sequence[Column], mapping: TableMapping
) -> tuple[Question, ...]:
    """What must be asked before this mapping can be used: the file itself, and mapped columns.

    For working material a column that nobody decided stays a text, so only the file is asked.
    """
    used = set(mapping.fields.values())
    asked = tuple(
        column.question
        for column in columns
        if column.question is not None
        and column.label in used
        and column.label not in mapping.readings
    )
    return (*table.questions, *asked)


def _score(
    table: RawTable,
    columns: Sequence[Column],
    target: Target,
    hint: str,
    known: shipped.Shipped | None,
) -> Proposal:
    if known is not None and known.target is target:
        fields = {f: label for f, label in known.fields.items() if label in table.labels}
        return _proposal(table, columns, target, fields, 0.99, (known.name,), known.name)
    fields, strength = _fields(table, columns, target)
    if target is Target.BANK:
        fields = bank_columns.completed(table, fields)
        if worked := _worked(columns):
            return _proposal(table, columns, target, fields, 0.5, (f"{worked} counts work",))
    needs = len(RULES[target].needs)
    met = needs - len(missing(target, frozenset(fields)))
    if met < needs:
        lacking = missing(target, frozenset(fields))
        return _proposal(
            table, columns, target, fields, 0.5 * met / needs, tuple(f"no {x}" for x in lacking)
        )
    hinted = any(word in normal_label(hint) for word in _HINTS[target])
    share = len(fields) / max(1, len([c for c in columns if c.kind is not ColumnKind.EMPTY]))
    confidence = min(0.98, 0.55 + 0.25 * strength + 0.15 * min(1.0, share) + _HINT * hinted)
    why = tuple(f"{field} = {label}" for field, label in fields.items())
    return _proposal(table, columns, target, fields, confidence, why)


def _worked(columns: Sequence[Column]) -> str | None:
    """The column of working time that makes a table with amounts no list of bookings.

    A time of day is none: banks state it beside the day.
    """
    words = lexicon().fields[str(Target.TIME)]
    hours = {*words["hours"], *words["minutes"]}
    known = {
        ColumnKind.TIME: hours,
        ColumnKind.NUMBER: hours | {*words["duration"]},
        ColumnKind.DURATION: hours | {*words["duration"]},
    }
    return next((c.label for c in columns if bare_label(c.label) in known.get(c.kind, ())), None)


def _fields(
    table: RawTable, columns: Sequence[Column], target: Target
) -> tuple[dict[str, str], float]:
    """The best column per field, each column once, and the mean strength of the words.

    Of two labels that say the same the one that stands first among the words of the field wins.
    """
    words = lexicon().fields[str(target)]
    found = sorted(
        (
            (*said, -number, name, column.label)
            for number, column in enumerate(columns)
            for name, known in words.items()
            if (said := _strength(column.label, known)) is not None
            and fits(target, name, column.kind)
            and (target is not Target.BANK or bank_columns.can_hold(table, name, column.label))
        ),
        reverse=True,
    )
    fields: dict[str, str] = {}
    strengths: list[float] = []
    for strength, _, _, name, label in found:
        if name not in fields and label not in fields.values():
            fields[name] = label
            strengths.append(strength)
    return fields, sum(strengths) / len(strengths) if strengths else 0.0


def _strength(label: str, known: Sequence[str]) -> tuple[float, int] | None:
    """How well a label says one of the words, and minus the place of that word among them."""
    for strength, name in ((_EXACT, normal_label), (_BARE, bare_label), (_BARE, spaced_label)):
        said = name(label)
        if said in known:
            return strength, -known.index(said)
    parts = set(bare_label(label).split()) | set(spaced_label(label).split())
    if parts & lexicon().apart:
        return None
    for place, word in enumerate(known):
        if len(word) > 3 and set(word.split()) <= parts:
            return _PART, -place
    return None


def _proposal(
    table: RawTable,
    columns: Sequence[Column],
    target: Target,
    fields: dict[str, str],
    confidence: float,
    why: tuple[str, ...],
    shipped_name: str = "",
) -> Proposal:
    mapping = TableMapping(
        target=target,
        fields=fields,
        dialect=table.dialect,
        encoding=table.encoding or None,
        headless=table.header_line == 0 and table.dialect is not None,
    )
    asked = questions_of(table, columns, mapping)
    return Proposal(mapping, round(confidence, 2), asked, why, shipped_name)
