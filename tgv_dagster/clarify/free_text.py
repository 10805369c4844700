"""Reading a person's words as an answer: pure, without a model, and only where nothing is in doubt.

What is read becomes a proposal (a card), never a value by itself; what is not read is asked again
with its choices (CLAR-07, ACT-16). Two readings of one field are no reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tgv_dagster.clarify.answer_values import fault_of
from tgv_dagster.store.levels import Level
from tgv_dagster.understand import amounts, civil_dates, words
from tgv_dagster.understand.doctypes import DocType
from tgv_dagster.understand.evidence import Field

_NOTHING = re.compile(
    r"\s*(?:none|there is none|keine?[rs]?|gibt es nicht|aucune?|il n'y en a pas|néant)\s*[.!]?\s*",
    re.IGNORECASE,
)
_DATES = frozenset(f for f in Field if f.endswith("_date")) | {Field.NOTICE_DEADLINE}
_AMOUNTS = frozenset(f for f in Field if f.startswith("amount_"))
_SPOKEN = frozenset(
    {
        Field.PROVIDER,
        Field.INVOICE_NUMBER,
        Field.CUSTOMER_NUMBER,
        Field.CONTRACT_NUMBER,
        Field.ORDER_NUMBER,
        Field.CONTRACT_TYPE,
    }
)
"""Fields whose value is a wording: with one such question open, the whole line is the answer."""


@dataclass(frozen=True, slots=True)
class Question:
    """One open point: its field and the values the document supports."""

    field: Field
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """What the person may assign: names per entity slug and per project code."""

    entities: Mapping[str, tuple[str, ...]]
    projects: Mapping[str, tuple[str, ...]]


def read(
    text: str, questions: Sequence[Question], known: Known, *, language: str | None
) -> dict[Field, str | None]:
    """The values a text states for the open questions; a field in doubt is left out.

    `language` is the reader's, and orders day and month and the marks of amounts.
    """
    if not text.strip() or not questions:
        return {}
    if _NOTHING.fullmatch(text):
        return {questions[0].field: None} if len(questions) == 1 else {}
    found: dict[Field, str | None] = {}
    for question in questions:
        values = set(_values(text, question, questions, known, language))
        if len(values) == 1:
            value = values.pop()
            if fault_of(question.field, value) is None:
                found[question.field] = value
    return found


def _values(
    text: str,
    question: Question,
    questions: Sequence[Question],
    known: Known,
    language: str | None,
) -> Iterator[str]:
    field = question.field
    if field in _SPOKEN:
        yield from _spoken(text, question, questions)
        return
    named = [choice for choice in question.choices if _says(text, choice)]
    if named:
        yield from named
    elif field is Field.ENTITY:
        yield from _named(text, known.entities)
    elif field is Field.PROJECT_CODE:
        yield from _named(text, known.projects)
    elif field is Field.DOC_TYPE:
        yield from (t for t in DocType if _says(text, t) or _says(text, t.label_de))
    elif field is Field.CONFIDENTIALITY_LEVEL:
        yield from (level for level in Level if _says(text, level))
    elif field in _DATES and _alone(questions, _DATES):
        reads = civil_dates.parse_all(text, language, None)
        yield from (r.value.isoformat() for r in reads if r.other is None)
    elif field in _AMOUNTS and _alone(questions, _AMOUNTS):
        mentions = amounts.find(text, language)
        yield from (format(m.value, "f") for m in mentions if not m.ambiguous)
        if any(m.ambiguous for m in mentions):
            yield from ("", "in doubt")


def _spoken(text: str, question: Question, questions: Sequence[Question]) -> Iterator[str]:
    """A wording is the whole line; a choice within a longer name is not that choice."""
    line = text.strip()
    same = [choice for choice in question.choices if words.fold(choice) == words.fold(line)]
    if same:
        yield from same
    elif len(questions) == 1 and "\n" not in line:
        yield line


def _alone(questions: Sequence[Question], kind: frozenset[Field]) -> bool:
    return sum(question.field in kind for question in questions) == 1


def _named(text: str, names: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for key, others in names.items():
        if any(_says(text, name) for name in (key, *others)):
            yield key


def _says(text: str, name: str) -> bool:
    """Whether a name stands in a text as a whole wording."""
    wanted = words.fold(name).strip()
    if not wanted:
        return False
    return re.search(rf"(?<![\w-]){re.escape(wanted)}(?![\w-])", words.fold(text)) is not None
