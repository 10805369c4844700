"""The questions of the evaluation as data: pairs across languages, the chunk study, nonsense."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml


@dataclass(frozen=True, slots=True)
class Wording:
    """A topic in one language: the passage of the document and a question it answers."""

    text: str
    ask: str


@dataclass(frozen=True, slots=True)
class PairKind:
    """Questions in one language for documents in another one."""

    name: str
    asked_in: str
    document_in: str


@dataclass(frozen=True, slots=True)
class Pairs:
    """All topics by id and language, the kinds, and what was expected before the run (EVAL-02).

    control: language of the documents of the control kind (EVAL-25); shares are of pairs found.
    """

    topics: Mapping[str, Mapping[str, Wording]]
    kinds: tuple[PairKind, ...]
    control: str
    control_at_least: float
    each_at_least: float
    open_behind_at_most: float


@dataclass(frozen=True, slots=True)
class StudyQuestion:
    """One question of the chunk study: its answer stands at `depth` (0 to 1) of a long letter, a
    disturber that resembles it in another one (EVAL-15)."""

    id: str
    kind: str
    ask: str
    answer: str
    disturber: str
    depth: float


@dataclass(frozen=True, slots=True)
class Study:
    """The chunk study and the questions that nothing answers.

    filler: sentences the long letters are made of; characters: length of one letter.
    """

    sizes: tuple[int, ...]
    overlaps: tuple[int, ...]
    documents: int
    characters: int
    questions: tuple[StudyQuestion, ...]
    nonsense: tuple[str, ...]
    unanswerable: tuple[str, ...]
    filler: tuple[str, ...]


def _data(name: str) -> dict[str, Any]:
    return yaml.safe_load(
        resources.files("tgv_dagster.know.evaluation").joinpath(name).read_text("utf-8")
    )


@cache
def pairs() -> Pairs:
    """The pairs of `pairs.yaml`."""
    data = _data("pairs.yaml")
    expected = data["expected"]
    return Pairs(
        topics={
            topic["id"]: {
                language: Wording(**wording)
                for language, wording in topic.items()
                if language != "id"
            }
            for topic in data["topics"]
        },
        kinds=tuple(PairKind(**kind) for kind in data["kinds"]),
        control=expected["control"],
        control_at_least=expected["control_at_least"],
        each_at_least=expected["each_kind_at_least"],
        open_behind_at_most=expected["open_languages_behind_french_at_most"],
    )


@cache
def study() -> Study:
    """The study of `study.yaml`."""
    data = _data("study.yaml")
    return Study(
        sizes=tuple(data["sizes"]),
        overlaps=tuple(data["overlaps"]),
        documents=data["documents"],
        characters=data["characters"],
        questions=tuple(
            StudyQuestion(q["id"], q["class"], q["ask"], q["answer"], q["disturber"], q["depth"])
            for q in data["questions"]
        ),
        nonsense=tuple(data["nonsense"]),
        unanswerable=tuple(data["unanswerable"]),
        filler=tuple(data["filler"]),
    )
