"""The register of questions about rights that a drop asks, by kind of file (UPL-14 to UPL-16).

Belongs here: which questions there are, of which files they are asked, which of them are switched
on, and the form of an answer. Does not belong here: wording (the catalogues of the pages, by
question and kind), and what an answer brings about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tgv_dagster.arrive.filetype import Family
from tgv_dagster.store import switches
from tgv_dagster.store.db import Connection

MAX_HOLDER_CHARACTERS = 300


class Right(StrEnum):
    """The fields of UPL-15; each answer is a human value of the document under this name."""

    VERBATIM_OK = "rights_verbatim_ok"
    COPYRIGHT_HOLDER = "rights_copyright_holder"
    MODEL_RELEASE = "rights_model_release"
    POST_MORTEM = "rights_post_mortem"


class FileKind(StrEnum):
    """What a file is for these questions; a container may hold every kind."""

    PAPER = "paper"
    PICTURE = "picture"
    VIDEO = "video"
    AUDIO = "audio"
    CONTAINER = "container"


_KINDS = {
    Family.IMAGE: FileKind.PICTURE,
    Family.VIDEO: FileKind.VIDEO,
    Family.AUDIO: FileKind.AUDIO,
    Family.ARCHIVE: FileKind.CONTAINER,
    Family.MAIL: FileKind.CONTAINER,
}
_PERSONS = (FileKind.PICTURE, FileKind.VIDEO, FileKind.AUDIO)


@dataclass(frozen=True, slots=True)
class Question:
    """One question: asked of these kinds; `is_text`: answered by a name, else by yes or no.

    `always`: asked everywhere. The others come from another product and are asked only where the
    owner switched them on (`key` in `system_config`).
    """

    right: Right
    kinds: tuple[FileKind, ...]
    always: bool
    is_text: bool = False

    @property
    def key(self) -> str:
        """Key of the switch in `system_config`."""
        return f"ask:{self.right}"


QUESTIONS: tuple[Question, ...] = (
    Question(Right.VERBATIM_OK, (FileKind.PAPER, FileKind.AUDIO), always=True),
    Question(
        Right.COPYRIGHT_HOLDER,
        (FileKind.PAPER, *_PERSONS),
        always=True,
        is_text=True,
    ),
    Question(Right.MODEL_RELEASE, _PERSONS, always=False),
    Question(Right.POST_MORTEM, _PERSONS, always=False),
)

Answers = Mapping[Right, str]
"""Answers by question: a name, or `true` and `false`; what was not answered is not in it."""


class UnusableAnswer(ValueError):
    """An answer to a question that is not asked here, or of another form."""


def kind_of(family: Family) -> FileKind:
    """What a file of this family is for the questions; everything that is read is paper."""
    return _KINDS.get(family, FileKind.PAPER)


def asked(connection: Connection) -> tuple[Question, ...]:
    """The questions that are asked in this installation."""
    return tuple(q for q in QUESTIONS if q.always or switches.is_on(connection, q.key))


def switch(connection: Connection, right: Right, *, on: bool, by: str) -> None:
    """Ask a question from now on, or no more. Raises UnusableAnswer for one always asked."""
    question = next(q for q in QUESTIONS if q.right is right)
    if question.always:
        raise UnusableAnswer(f"{right} is always asked.")
    switches.turn(
        connection, question.key, on=on, by=by, kind="drop.question_switched", what=str(right)
    )


def checked(answers: Answers, questions: tuple[Question, ...]) -> dict[Right, str]:
    """The answers in their stored form. Raises UnusableAnswer, so that none is lost silently."""
    known = {question.right: question for question in questions}
    found: dict[Right, str] = {}
    for right, text in answers.items():
        question = known.get(right)
        if question is None:
            raise UnusableAnswer(
                f"{right} is not asked here; the owner switches it on with `tgv drop-questions`."
            )
        answer = " ".join(text.split()) if question.is_text else text.strip()
        if question.is_text and not (answer.isprintable() and len(answer) <= MAX_HOLDER_CHARACTERS):
            raise UnusableAnswer(f"{right} has at most {MAX_HOLDER_CHARACTERS} characters.")
        if not question.is_text and answer not in ("", "true", "false"):
            raise UnusableAnswer(f"{right} is true or false.")
        if answer:
            found[right] = answer
    return found


def for_kind(answers: Answers, kind: FileKind) -> dict[str, str]:
    """The answers that are asked of a file of this kind; a container keeps all for its parts."""
    asks = {q.right for q in QUESTIONS if kind is FileKind.CONTAINER or kind in q.kinds}
    return {str(right): answer for right, answer in answers.items() if right in asks}
