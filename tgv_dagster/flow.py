"""The daily flow as one list of steps, in order; console, Dagster and tests run the same list.

A step pulls what is pending for its stage and returns a report. The order is the lineage: each
step names the steps it follows. What a step does stands in its room, not here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tgv_dagster.installation import Installation
from tgv_dagster.store.pull import BatchReport
from tgv_dagster.store.stages import Room

Progress = Callable[[int, int], None]
"""Called with (done, total) of the running batch."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its name is the name of its asset; `after` names the steps upstream of it."""

    name: str
    room: Room
    says: str
    after: tuple[str, ...]
    run: Callable[[Installation, Progress | None], BatchReport]
