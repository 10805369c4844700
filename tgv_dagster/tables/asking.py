"""The card of a table: proposal, preview, and what may be chosen (TAB-11, TAB-12).

A choice carries everything its execution needs. "Take over" is offered only when every question of
the file and every value of its projects has one answer per choice; otherwise the case says what is
missing, and a corrected proposal answers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from tgv_dagster.store.actions import Action
from tgv_dagster.store.cards import Choice, NewCard
from tgv_dagster.tables.assignment import Assigned, Finding
from tgv_dagster.tables.importing import is_importable
from tgv_dagster.tables.model import Dialect, Question, QuestionKind
from tgv_dagster.tables.recognising import Recognised
from tgv_dagster.tables.rows import readings_of
from tgv_dagster.tables.targets import Target

AUTHOR = "tables"
_MOST_CHOICES = 8
_OF_FILE = frozenset(
    (QuestionKind.DIALECT, QuestionKind.ENCODING, QuestionKind.HEADER, QuestionKind.HIDDEN_ROWS)
)


def cards_of(
    found: Recognised, document_id: int, assigned: Sequence[Assigned], basis: dict[str, Any]
) -> tuple[NewCard, ...]:
    """The cards of one table: how to read the file where that is open, else what to do with it."""
    of_file = [q for q in found.questions if q.kind in _OF_FILE]
    if of_file:
        return tuple(_reading_card(question, found, document_id) for question in of_file)
    shared = {"document_id": document_id, "sheet": found.table.sheet}
    choices = [*_takeovers(found, shared, assigned)]
    working = {**shared, "target": str(Target.WORKING)}
    choices.append(Choice("working", "Nur Arbeitsmaterial / working material only", working))
    return (NewCard(Action.CONFIRM_TABLE, shared, AUTHOR, basis, tuple(choices)),)


def evidence_of(found: Recognised, assigned: Sequence[Assigned]) -> dict[str, Any]:
    """What the case shows: class, target, columns, five rows as values, questions, projects."""
    mapping = found.mapping
    return {
        "sheet": found.table.sheet,
        "match": str(found.match),
        "class": mapping.target.table_class,
        "target": str(mapping.target),
        "confidence": found.proposal.confidence,
        "why": list(found.proposal.why),
        "labels": list(found.table.labels),
        "fields": dict(mapping.fields),
        "rows": found.table.height,
        "set_aside": len(found.table.aside),
        "remarks": list(found.table.remarks),
        "probe": list(found.probe()) if mapping.fields else _first_rows(found),
        "questions": [_told(question) for question in found.questions],
        "projects": [
            {
                "value": one.value.key,
                "rows": one.value.rows,
                "project": one.project,
                "finding": str(one.finding),
                "candidates": list(one.candidates),
            }
            for one in assigned
        ],
        "hit_rate": hit_rate(assigned),
    }


def hit_rate(assigned: Sequence[Assigned]) -> float | None:
    """Share of rows whose project is sure, measured by us (TAB-34); None without rows."""
    rows = sum(one.value.rows for one in assigned)
    sure = sum(one.value.rows for one in assigned if one.finding is Finding.SURE)
    return round(sure / rows, 3) if rows else None


def open_values(assigned: Sequence[Assigned]) -> tuple[Assigned, ...]:
    """Values that a person has to answer (TAB-33)."""
    return tuple(a for a in assigned if a.finding not in (Finding.SURE, Finding.EMPTY))


def _takeovers(
    found: Recognised, shared: dict[str, Any], assigned: Sequence[Assigned]
) -> list[Choice]:
    mapping = found.mapping
    if not is_importable(mapping.target) or open_values(assigned):
        return []
    told = shared | {
        "target": str(mapping.target),
        "fields": dict(mapping.fields),
        "projects": {one.value.key: one.project for one in assigned},
    }
    known = readings_of(found.table, mapping)
    answers = _answers(found.questions)
    if len(answers) > _MOST_CHOICES:
        return []
    return [
        Choice(
            ":".join(("take_over", *dict.fromkeys(answer.values()))),
            "Übernehmen / take over" + "".join(f", {x}" for x in dict.fromkeys(answer.values())),
            told | {"readings": known | answer},
        )
        for answer in answers
    ]


def _answers(questions: Sequence[Question]) -> list[dict[str, str]]:
    """Every way to answer the open columns; columns with the same choices share one answer."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for question in questions:
        keys = tuple(sorted(choice.key for choice in question.choices))
        groups.setdefault(keys, []).append(question.column)
    return [
        {
            column: key
            for key, columns in zip(chosen, groups.values(), strict=True)
            for column in columns
        }
        for chosen in product(*groups)
    ]


def _reading_card(question: Question, found: Recognised, document_id: int) -> NewCard:
    dialect = found.table.dialect
    settled: dict[str, Any] = {"document_id": document_id, "sheet": found.table.sheet}
    if dialect is not None:
        settled |= {
            "delimiter": dialect.delimiter,
            "quote": dialect.quote,
            "escape": dialect.escape,
            "encoding": found.table.encoding,
        }
    if found.table.header_line:
        settled["header"] = found.table.header_line
    return NewCard(
        Action.READ_TABLE,
        settled,
        AUTHOR,
        choices=tuple(
            Choice(
                choice.key,
                "; ".join(f"{a} {b}".strip() for a, b in choice.samples)[:300] or choice.key,
                settled | _settles(question, choice.key),
            )
            for choice in question.choices
        ),
    )


def _settles(question: Question, key: str) -> dict[str, Any]:
    match question.kind:
        case QuestionKind.ENCODING:
            return {"encoding": key}
        case QuestionKind.HEADER:
            return {"header": int(key)}
        case QuestionKind.HIDDEN_ROWS:
            return {"hidden": key}
        case _:
            dialect = Dialect.of_key(key)
            return {
                "delimiter": dialect.delimiter,
                "quote": dialect.quote,
                "escape": dialect.escape,
            }


def _told(question: Question) -> dict[str, Any]:
    return {
        "kind": str(question.kind),
        "column": question.column,
        "choices": [{"key": c.key, "samples": list(c.samples)} for c in question.choices],
        "suggested": question.suggested,
    }


def _first_rows(found: Recognised) -> list[dict[str, str]]:
    table = found.table
    return [
        dict(zip(table.labels, table.raw_row(row), strict=True))
        for row in range(min(5, table.height))
    ]
