"""The own stock: questions somebody wrote for it, asked where they are asked every day.

Reads only, behind the walls of the reader who asks. The file names documents by their numbers; it
is the owner's and stays with him. What does not belong here: the shipped questions (`questions`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tgv_dagster.know.evaluation.measures import Floor, Quality, floor_at, quality
from tgv_dagster.know.evaluation.ways import askable, ways_in
from tgv_dagster.know.search import SearchParts, search
from tgv_dagster.store.scope import Scope

RECALL = 0.95
LEAST_QUESTIONS = 20
"""With fewer answered questions a floor at this recall says nothing."""


class OwnQuestionsUnusable(ValueError):
    """The file of questions cannot be read as one; the message says where."""


class OwnQuestion(BaseModel):
    """One question: any of the documents answers it. kind groups the report."""

    model_config = ConfigDict(extra="forbid")

    ask: str = Field(min_length=1, max_length=4000)
    documents: list[int] = Field(min_length=1)
    kind: str = Field(default="all", max_length=60)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    questions: list[OwnQuestion] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class OwnResult:
    """Quality by kind on the cards of the whole search, and the floor the own stock would have.

    floor None: fewer than LEAST_QUESTIONS questions had their document among the nearest.
    """

    space_id: str
    quality: Mapping[str, Quality]
    floor: Floor | None
    found: int


def load(path: Path) -> tuple[OwnQuestion, ...]:
    """The questions of a YAML file `questions: [{ask, documents, kind}]`.

    Raises OwnQuestionsUnusable, OSError.
    """
    try:
        parsed = _File.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (yaml.YAMLError, UnicodeDecodeError, ValidationError) as error:
        raise OwnQuestionsUnusable(f"{path.name}: {error}") from error
    silent = [number for number, q in enumerate(parsed.questions, 1) if not askable(q.ask)]
    if silent:
        raise OwnQuestionsUnusable(f"{path.name}: nothing to look up in question {silent[0]}")
    return tuple(parsed.questions)


def measure(
    parts: SearchParts,
    scope: Scope,
    questions: Sequence[OwnQuestion],
    nonsense: Sequence[str],
    unanswerable: Sequence[str],
) -> OwnResult:
    """Ask every question; nothing is written."""
    ranks: dict[str, list[int | None]] = {}
    scores: list[float] = []
    space_id = ""
    for question in questions:
        answer = search(parts, scope, question.ask)
        space_id = answer.trace.space_id
        places = [
            place
            for place, document in enumerate(
                dict.fromkeys(card.document_id for card in answer.cards), 1
            )
            if document in question.documents
        ]
        ranks.setdefault(question.kind, []).append(places[0] if places else None)
        near = ways_in(parts, scope, question.ask).vector
        scores += [hit.score for hit in near if hit.document_id in question.documents][:1]
    others = [[_best(parts, scope, text) for text in texts] for texts in (nonsense, unanswerable)]
    enough = len(scores) >= LEAST_QUESTIONS
    return OwnResult(
        space_id,
        {kind: quality(found) for kind, found in ranks.items()},
        floor_at(RECALL, scores, *others) if enough else None,
        len(scores),
    )


def _best(parts: SearchParts, scope: Scope, question: str) -> float:
    near = ways_in(parts, scope, question).vector
    return near[0].score if near else -1.0
