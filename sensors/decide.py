"""When a sensor starts a run: a pure decision over what was seen, what was asked, what runs.

Here belong the cursor and the rule. What is looked at belongs to each gate's own sensor, and
nothing here knows Dagster. A run key contains a generation, because Dagster keeps run keys for
ever: the generation goes up with every run that is asked for, so the same files can be asked for
again, and a tick that is repeated after a crash asks for the same run and starts none (§4).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

FIRST_WAIT = 10.0
LONGEST_WAIT = 600.0
"""Seconds before the same things are asked for again; doubled each time up to the longest."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The cursor: the newest generation, what it was asked for, and when to ask again.

    `settled` is the digest of a look in which nothing was new, so that an unchanged gate costs no
    read of the database.
    """

    generation: int = 0
    asked: str = ""
    attempts: int = 0
    not_before: float = 0.0
    settled: str = ""

    @classmethod
    def from_cursor(cls, cursor: str | None) -> Memory:
        """The memory of a cursor; an unreadable or older one starts anew and loses nothing."""
        try:
            facts = json.loads(cursor or "{}")
            known = {name: facts[name] for name in cls.__dataclass_fields__ if name in facts}
            return cls(**known)
        except (ValueError, TypeError):
            return cls()

    def to_cursor(self) -> str:
        """The text Dagster keeps between two ticks."""
        return json.dumps(asdict(self), sort_keys=True)


@dataclass(frozen=True, slots=True)
class Seen:
    """One look: keys of what is ready, how many are still changing, digest of the whole look."""

    ready: tuple[str, ...] = ()
    changing: int = 0
    look: str = ""


@dataclass(frozen=True, slots=True)
class LastRun:
    """The newest run of this gate: the generation in its key, and whether it is still going."""

    generation: int
    active: bool


@dataclass(frozen=True, slots=True)
class Decision:
    """What a tick does: start a run with this key, or none; `says` is shown either way."""

    run_key: str | None
    says: str
    memory: Memory


def decide(gate: str, memory: Memory, seen: Seen, last: LastRun | None, now: float) -> Decision:
    """Decide one tick. `now` is in seconds; times of the cursor are compared with it."""
    if not seen.ready:
        says = (
            f"{seen.changing} still changing; the next look decides"
            if seen.changing
            else "nothing new"
        )
        calm = memory if seen.changing else replace(memory, asked="", attempts=0, not_before=0.0)
        return Decision(None, says, replace(calm, settled="" if seen.changing else seen.look))
    memory = replace(memory, settled="")
    if last is not None:
        memory = replace(memory, generation=max(memory.generation, last.generation))
        if last.active:
            return Decision(None, f"{len(seen.ready)} waiting; a run is on its way", memory)
    asked = digest(seen.ready)
    again = asked == memory.asked
    if again and now < memory.not_before:
        left = int(memory.not_before - now) + 1
        return Decision(
            None, f"{len(seen.ready)} were not taken by the last run; next try in {left} s", memory
        )
    attempts = memory.attempts + 1 if again else 1
    wait = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempts - 1))
    following = Memory(memory.generation + 1, asked, attempts, now + wait)
    return Decision(f"{gate}:{following.generation}:{asked}", f"{len(seen.ready)} ready", following)


def generation_of(run_key: str | None) -> int:
    """The generation in a run key of `decide`; 0 for a key of somebody else."""
    parts = (run_key or "").split(":")
    return int(parts[1]) if len(parts) == 3 and parts[1].isdigit() else 0


def digest(keys: Iterable[str]) -> str:
    """A short name for a set of keys, whatever their order; the keys themselves do not show."""
    joined = "\x1f".join(sorted(keys))
    return hashlib.sha256(joined.encode("utf-8", "surrogateescape")).hexdigest()[:16]
