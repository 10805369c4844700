"""Kill -9 between any two steps: nothing lost, nothing doubled, and the next walk completes.

A warm process forks a worker that opens the same database and the same blob store; the worker
kills itself at a given boundary, or is killed at a random moment. The boundaries are those of the
folder gate, of each write of the blob store, of each transaction, and of each item of each stage.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from flow_walks import (
    Batch,
    batch,
    came_out,
    check_finished,
    check_now,
    fork_walk,
    letter,
    put,
    take_only,
    walk,
    warm_up,
)

from tgv_dagster import flow
from tgv_dagster.installation import Installation

SHORT_KILLS = 8
SOAK_KILLS = 200
SOAK_SEED = random.SystemRandom().randrange(1 << 32)
"""Another one each time; pytest shows it when the proof fails."""


def one_file(number: str) -> Batch:
    """A file with its side-car: the least that passes every boundary of folder intake."""
    path = f"nord/nord-gmbh/{number}-brief.txt"
    return {path: letter(number), f"{path}.intent.txt": b"Ablage"}


def inbox_of(installation: Installation) -> Path:
    return installation.settings.inbox_path


def test_a_kill_at_each_boundary_of_folder_intake(installation: Installation) -> None:
    number = 1
    while True:
        files = one_file(f"{number:05}")
        put(inbox_of(installation), files)
        ended = fork_walk(installation.settings, take_only, kill_at=number)
        check_now(installation, files)
        flow.take_folder(installation)
        check_now(installation, files)
        assert not any((inbox_of(installation) / name).exists() for name in files)
        if not ended.killed:
            break
        number += 1
    assert number - 1 == ended.boundaries >= 25


def kill_and_compare(installation: Installation, chance: random.Random, kills: int) -> None:
    """Rounds of up to three kills and a walk to the end, each compared with a walk without kills.

    Half of the kills hit a boundary, half a moment.
    """
    warm_up(installation)
    files = batch("00000")
    put(inbox_of(installation), files)
    whole = fork_walk(installation.settings, walk)
    check_finished(installation, files)
    expected = came_out(installation, "00000")
    done = number = 0
    while done < kills:
        number += 1
        name = f"{number:05}"
        fresh = batch(name)
        files |= fresh
        put(inbox_of(installation), fresh)
        for _ in range(chance.randint(1, 3)):
            if chance.random() < 0.5:
                at = chance.randint(1, whole.boundaries)
                ended = fork_walk(installation.settings, walk, kill_at=at)
            else:
                moment = chance.uniform(0, whole.seconds)
                ended = fork_walk(installation.settings, walk, kill_after=moment)
            done += ended.killed
            check_now(installation, fresh)
        flow.run_until_idle(installation)
        check_finished(installation, fresh)
        assert came_out(installation, name) == expected
    check_finished(installation, files)


def test_kills_anywhere_in_the_flow(installation: Installation) -> None:
    """FLOW-03, FLOW-08: a stage cut off anywhere is taken up where the ledger stands."""
    kill_and_compare(installation, random.Random(20260302), SHORT_KILLS)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_hundred_kills_anywhere_in_the_flow(installation: Installation) -> None:
    kill_and_compare(installation, random.Random(SOAK_SEED), SOAK_KILLS)
