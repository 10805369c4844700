"""Which project each value of a table means: candidates by code and by words, and findings.

Pure matching over the values of the whole file (TAB-32, TAB-33). A number that fits under another
name is a finding, never an assignment; what has no certain candidate waits for a person. Which
projects are allowed at all stands in `projects`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tgv_dagster.tables.lexicon import normal_label

_SHORT = 3
_STOP = frozenset(("projekt", "project", "projet", "intern", "und", "and", "der", "die", "das"))


@dataclass(frozen=True, slots=True)
class Project:
    """A project a row may go to, with its entity."""

    code: str
    name: str
    entity: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProjectValue:
    """One distinct value of the file: what stands in its code and name columns, and how often."""

    code: str
    name: str
    rows: int

    @property
    def key(self) -> str:
        """The value as memory and cards name it."""
        return f"{self.code} | {self.name}" if self.code and self.name else self.code or self.name


class Finding(StrEnum):
    """Why a value is not assigned by itself."""

    SURE = "sure"
    OTHER_NAME = "same number, other name"
    SEVERAL = "several projects fit"
    COMMON_WORD = "one common word only"
    NONE = "no project fits"
    EMPTY = "no project given"


@dataclass(frozen=True, slots=True)
class Assigned:
    """The proposal for one value; `project` is set only when the match is sure."""

    value: ProjectValue
    project: str | None
    finding: Finding
    candidates: tuple[str, ...] = ()


def assign(values: Sequence[ProjectValue], projects: Sequence[Project]) -> tuple[Assigned, ...]:
    """Propose a project for every value of the file."""
    return tuple(_assign(value, projects) for value in values)


def bare_code(code: str) -> str:
    """A project number for comparison: no signs, no leading zeros, lower case."""
    return "".join(sign for sign in code.lower() if sign.isalnum()).lstrip("0")


def _assign(value: ProjectValue, projects: Sequence[Project]) -> Assigned:
    if not value.key.strip():
        return Assigned(value, None, Finding.EMPTY)
    by_code = [p for p in projects if _code_fits(value, p)]
    by_name = [p for p in projects if _name_fits(value, p)]
    by_word = [p for p in projects if _words(value.name) & _words_of(p)]
    if len(by_code) == 1 and (not value.name or by_code[0] in (*by_name, *by_word)):
        return Assigned(value, by_code[0].code, Finding.SURE, (by_code[0].code,))
    if by_code:
        finding = Finding.OTHER_NAME if len(by_code) == 1 else Finding.SEVERAL
        return Assigned(value, None, finding, _codes(by_code, by_name, by_word))
    if len(by_name) == 1 and not value.code:
        return Assigned(value, by_name[0].code, Finding.SURE, (by_name[0].code,))
    found = _codes(by_name, by_word)
    if not found:
        return Assigned(value, None, Finding.NONE)
    finding = Finding.COMMON_WORD if len(found) == 1 else Finding.SEVERAL
    return Assigned(value, None, finding, found)


def _codes(*groups: Sequence[Project]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(project.code for group in groups for project in group))


def _code_fits(value: ProjectValue, project: Project) -> bool:
    wanted = bare_code(project.code)
    if value.code:
        return bare_code(value.code) == wanted
    first = value.name.split(maxsplit=1)[0] if value.name.split() else ""
    return bare_code(value.name) == wanted or (bool(first) and bare_code(first) == wanted)


def _name_fits(value: ProjectValue, project: Project) -> bool:
    name = normal_label(value.name)
    return bool(name) and name in {normal_label(x) for x in (project.name, *project.aliases)}


def _words(text: str) -> frozenset[str]:
    words = normal_label(text).split()
    return frozenset(w for w in words if len(w) >= _SHORT and w not in _STOP and "#" not in w)


def _words_of(project: Project) -> frozenset[str]:
    return _words(" ".join((project.name, *project.aliases)))
