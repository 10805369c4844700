"""The stages of the flow as data: one register that ledger, assets, status and pages read.

A stage says which room it belongs to, what its subject is and which stages follow when it is done.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Room(StrEnum):
    """Rooms of the flow, in order; also the asset groups and the values of `flow_stage`."""

    ARRIVE = "arrive"
    UNDERSTAND = "understand"
    DEEPEN = "deepen"
    CLARIFY = "clarify"
    FILE = "file"
    KNOW = "know"
    TABLES = "tables"
    BANK = "bank"
    EFFECT = "effect"
    AUDIT = "audit"


class Stage(StrEnum):
    """Units of work. All but `arrive` (gates look outside) have rows in `flow_ledger`."""

    ARRIVE = "arrive"
    SPLIT = "split"
    EXTRACT = "extract"
    TRIAGE = "triage"
    DEEPEN = "deepen"
    FILE = "file"
    CHUNK = "chunk"
    EMBED = "embed"
    WORDS = "words"
    TABLES = "tables"
    BANK = "bank"
    DISPATCH = "dispatch"


class Subject(StrEnum):
    """What the subject id of a stage refers to."""

    ARRIVAL = "arrival"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class StageInfo:
    """Facts of one stage."""

    room: Room
    subject: Subject
    then: tuple[Stage, ...]


STAGES: dict[Stage, StageInfo] = {
    Stage.ARRIVE: StageInfo(Room.ARRIVE, Subject.ARRIVAL, ()),
    Stage.SPLIT: StageInfo(Room.ARRIVE, Subject.ARRIVAL, ()),
    Stage.EXTRACT: StageInfo(Room.UNDERSTAND, Subject.ARRIVAL, (Stage.TRIAGE,)),
    Stage.TRIAGE: StageInfo(Room.UNDERSTAND, Subject.ARRIVAL, ()),
    Stage.DEEPEN: StageInfo(Room.DEEPEN, Subject.DOCUMENT, (Stage.FILE,)),
    Stage.FILE: StageInfo(Room.FILE, Subject.DOCUMENT, (Stage.CHUNK,)),
    Stage.CHUNK: StageInfo(Room.KNOW, Subject.DOCUMENT, (Stage.EMBED, Stage.WORDS)),
    Stage.EMBED: StageInfo(Room.KNOW, Subject.DOCUMENT, (Stage.DISPATCH,)),
    Stage.WORDS: StageInfo(Room.KNOW, Subject.DOCUMENT, ()),
    Stage.TABLES: StageInfo(Room.TABLES, Subject.DOCUMENT, ()),
    Stage.BANK: StageInfo(Room.BANK, Subject.DOCUMENT, ()),
    Stage.DISPATCH: StageInfo(Room.EFFECT, Subject.DOCUMENT, ()),
}

LIVE = 0
"""Generation of the daily flow; other generations are re-computations written beside it."""
