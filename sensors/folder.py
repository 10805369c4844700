"""The sensor of the watched folder: a file that rests starts a run; one that grows does not."""

from __future__ import annotations

import time
from collections.abc import Callable

from sensors.decide import Seen, digest
from sensors.gate_sensor import Watch, gate_sensor
from tgv_dagster.arrive.folder import Candidate, FolderGate, FolderSettings, look
from tgv_dagster.installation import Installation

SECOND_LOOK_SECONDS = 0.5


def look_at_folder(
    installation: Installation, settled: str, *, sleep: Callable[[float], None] = time.sleep
) -> Seen:
    """One full look, and a second one when every new file is young.

    A file is ready when it has rested for `stable_seconds` or did not change between both looks;
    the gate itself judges again before it takes it. Nothing is written; the database is read once
    per 1,000 files, and not at all when the look equals the last one that found nothing new.
    """
    settings = installation.settings
    root = settings.inbox_path
    root.mkdir(parents=True, exist_ok=True)
    first = look(root)
    whole = digest(candidate.key for candidate in first.candidates)
    if not first.candidates or whole == settled:
        return Seen(look=whole)
    gate = FolderGate(installation.database, installation.blobs, FolderSettings(root))
    fresh = gate.new_candidates(first)
    now = time.time()
    resting = [c for c in fresh if c.age_seconds(now) >= settings.stable_seconds]
    if not fresh or resting:
        return _seen(resting, len(fresh) - len(resting), whole)
    sleep(SECOND_LOOK_SECONDS)
    again = {candidate.key for candidate in look(root).candidates}
    unchanged = [c for c in fresh if c.key in again]
    return _seen(unchanged, len(fresh) - len(unchanged), whole)


def _seen(ready: list[Candidate], changing: int, whole: str) -> Seen:
    return Seen(tuple(candidate.key for candidate in ready), changing, whole)


SENSORS = (
    gate_sensor(
        Watch(
            name="folder_sensor",
            gate="folder",
            says="Looks into the watched folder and starts a run when files rest there.",
            look=look_at_folder,
            job_name="intake",
            every_seconds=2,
        )
    ),
)
