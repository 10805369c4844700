"""Confidentiality: the level a document gets when it enters, never looser than its entity's.

Here belong the subjects that make a document stricter (SPEC-03) and what happens while the entity
is unknown. Who may read a level belongs to the walls of the store; loosening is a person's act.
"""

from __future__ import annotations

from dataclasses import dataclass

from tgv_dagster.store.levels import Level
from tgv_dagster.understand import words
from tgv_dagster.understand.amounts import Offsets
from tgv_dagster.understand.doctypes import DocType
from tgv_dagster.understand.evidence import Field, OpenPoint, OpenPointKind

_WITHOUT_DEFAULT = Level.INTERNAL
_WEAK_NEEDED = 3


@dataclass(frozen=True, slots=True)
class LevelVerdict:
    """The level with the subject that asked for it; `point` when one weak sign asks for more."""

    level: Level
    confidence: float
    span: Offsets | None
    rule_id: str
    note: str = ""
    point: OpenPoint | None = None


def level_of(
    text: str, doc_type: DocType, *, entity_known: bool, entity_default: Level | None
) -> LevelVerdict:
    """The level on subject grounds, at least the entity's default.

    While the entity is unknown nobody's default applies and the document is closed (fail-closed).
    """
    if not entity_known:
        note = "closed until its entity is known"
        return LevelVerdict(Level.STRICT, 0.99, None, "level.entity_unknown", note)
    floor = entity_default or _WITHOUT_DEFAULT
    candidates = [LevelVerdict(floor, 0.95, None, "level.entity_default", "entity default")]
    data = words.load("sensitive")
    by_type = data["doc_types"].get(doc_type.value)
    if by_type is not None:
        level = Level(by_type)
        candidates.append(LevelVerdict(level, 0.95, None, f"level.kind.{doc_type}", doc_type.value))
    folded = words.fold(text)
    levels = {subject: Level(level) for subject, level in data["levels"].items()}
    candidates += _strong(folded, text, levels)
    best = max(candidates, key=lambda verdict: verdict.level.rank)
    return _with_weak_signs(best, folded, levels)


def _strong(folded: str, text: str, levels: dict[str, Level]) -> list[LevelVerdict]:
    found: dict[str, LevelVerdict] = {}
    for hit in words.finder("sensitive", "strong").find(folded):
        if hit.key not in found:
            span = (hit.start, hit.end)
            found[hit.key] = LevelVerdict(
                levels[hit.key], 0.9, span, f"level.{hit.key}", text[slice(*span)]
            )
    return list(found.values())


def _with_weak_signs(best: LevelVerdict, folded: str, levels: dict[str, Level]) -> LevelVerdict:
    """Several different weak words of a subject tighten; just enough of them are confirmed."""
    by_subject: dict[str, dict[str, Offsets]] = {}
    for hit in words.finder("sensitive", "weak").find(folded):
        phrases = by_subject.setdefault(hit.key, {})
        phrases.setdefault(folded[hit.start : hit.end], (hit.start, hit.end))
    for subject, phrases in by_subject.items():
        level = levels[subject]
        if len(phrases) >= _WEAK_NEEDED and level.rank > best.level.rank:
            named = ", ".join(sorted(phrases)[:3])
            surely = len(phrases) > _WEAK_NEEDED
            point = OpenPoint(
                OpenPointKind.SENSITIVE,
                Field.CONFIDENTIALITY_LEVEL,
                f"words of {subject}: {named}",
                (level.value, best.level.value),
            )
            best = LevelVerdict(
                level,
                0.85 if surely else 0.7,
                next(iter(phrases.values())),
                f"level.{subject}.words",
                named,
                None if surely else point,
            )
    return best
