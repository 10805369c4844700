"""When a sensor starts a run: no file waits for ever, none is asked for twice at once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sensors.decide import (
    FIRST_WAIT,
    LONGEST_WAIT,
    Decision,
    LastRun,
    Memory,
    Seen,
    decide,
    digest,
    generation_of,
)

NOW = 1_000_000.0
READY = Seen(("a", "b"), look="look")


def _ask(
    memory: Memory = Memory(), seen: Seen = READY, last: LastRun | None = None, now: float = NOW
) -> Decision:
    return decide("folder", memory, seen, last, now)


def test_something_ready_starts_a_run_with_the_next_generation() -> None:
    decision = _ask(Memory(generation=4))
    assert decision.run_key == f"folder:5:{digest(['a', 'b'])}"
    assert decision.memory.generation == 5


def test_nothing_new_starts_none_and_says_so() -> None:
    decision = _ask(seen=Seen(look="look"))
    assert decision.run_key is None
    assert decision.says == "nothing new"
    assert decision.memory.settled == "look"


def test_what_still_changes_waits_for_the_next_look() -> None:
    decision = _ask(seen=Seen(changing=3, look="look"))
    assert decision.run_key is None
    assert "3 still changing" in decision.says
    assert decision.memory.settled == ""


def test_no_second_run_while_one_is_on_its_way() -> None:
    assert _ask(last=LastRun(7, active=True)).run_key is None


def test_a_tick_repeated_after_a_crash_asks_for_the_same_run() -> None:
    before = Memory(generation=4)
    assert _ask(before).run_key == _ask(before).run_key


def test_a_lost_cursor_goes_on_after_the_newest_run() -> None:
    decision = _ask(Memory(), last=LastRun(41, active=False))
    assert decision.memory.generation == 42


def test_the_same_files_are_asked_for_again_only_after_a_wait() -> None:
    first = _ask()
    at_once = _ask(first.memory, last=LastRun(1, active=False), now=NOW + 1)
    later = _ask(first.memory, last=LastRun(1, active=False), now=NOW + FIRST_WAIT)
    assert at_once.run_key is None
    assert "next try in" in at_once.says
    assert later.run_key is not None
    assert later.run_key != first.run_key


def test_another_file_does_not_wait_for_the_stuck_one() -> None:
    first = _ask()
    more = _ask(first.memory, Seen(("a", "b", "c")), LastRun(1, active=False), NOW + 1)
    assert more.run_key is not None


def test_the_wait_doubles_up_to_the_longest() -> None:
    memory, now, waits = Memory(), NOW, []
    for _ in range(12):
        decision = _ask(memory, now=now)
        assert decision.run_key is not None
        memory = decision.memory
        waits.append(memory.not_before - now)
        now = memory.not_before
    assert waits[:3] == [10, 20, 40]
    assert waits[-1] == LONGEST_WAIT


def test_a_folder_that_became_calm_forgets_its_waits() -> None:
    stuck = _ask().memory
    calm = _ask(stuck, Seen(look="calm")).memory
    assert (calm.attempts, calm.not_before, calm.generation) == (0, 0.0, stuck.generation)


@given(
    st.builds(
        Memory,
        generation=st.integers(0, 10**9),
        asked=st.text(max_size=16),
        attempts=st.integers(0, 50),
        not_before=st.floats(0, 1e12),
        settled=st.text(max_size=16),
    )
)
def test_a_cursor_comes_back_as_it_was(memory: Memory) -> None:
    assert Memory.from_cursor(memory.to_cursor()) == memory


@pytest.mark.parametrize("cursor", [None, "", "not json", "[1]", '{"generation": 3, "new": 1}'])
def test_a_cursor_of_another_version_loses_nothing(cursor: str | None) -> None:
    assert _ask(Memory.from_cursor(cursor)).run_key is not None


@given(st.sets(st.text(), max_size=20))
def test_a_digest_shows_no_key_and_has_one_length(keys: set[str]) -> None:
    assert len(digest(keys)) == 16
    assert digest(sorted(keys)) == digest(sorted(keys, reverse=True))


@pytest.mark.parametrize(
    ("key", "generation"), [("folder:12:abc", 12), (None, 0), ("", 0), ("other", 0), ("a:b:c", 0)]
)
def test_the_generation_stands_in_the_run_key(key: str | None, generation: int) -> None:
    assert generation_of(key) == generation


class Folder(RuleBasedStateMachine):
    """Files come, runs take or fail, ticks repeat, cursors get lost: everything is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: set[str] = set()
        self.memory = Memory()
        self.keys: set[str] = set()
        self.last: LastRun | None = None
        self.now = NOW
        self.number = 0

    @rule()
    def a_file_comes(self) -> None:
        self.number += 1
        self.waiting.add(f"file-{self.number}")

    @rule(seconds=st.floats(1, 700))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(saved=st.booleans())
    def tick(self, saved: bool) -> None:
        """One tick; when its cursor is not saved, the same tick comes again."""
        decision = self._decide()
        if decision.run_key is not None and decision.run_key not in self.keys:
            assert self.last is None or not self.last.active
            self.keys.add(decision.run_key)
            self.last = LastRun(generation_of(decision.run_key), active=True)
        if saved:
            self.memory = decision.memory

    @rule(takes=st.booleans())
    def the_run_ends(self, takes: bool) -> None:
        if self.last is not None and self.last.active:
            self.last = replace(self.last, active=False)
            if takes:
                self.waiting.clear()

    @rule()
    def the_cursor_is_lost(self) -> None:
        self.memory = Memory()

    @invariant()
    def what_waits_is_asked_for_within_the_longest_wait(self) -> None:
        if not self.waiting or (self.last is not None and self.last.active):
            return
        decision = self._decide(self.now + LONGEST_WAIT)
        assert decision.run_key is not None
        assert decision.run_key not in self.keys

    def _decide(self, now: float | None = None) -> Decision:
        seen = Seen(tuple(sorted(self.waiting)), look=digest(self.waiting))
        return decide("folder", self.memory, seen, self.last, self.now if now is None else now)


TestFolder = Folder.TestCase
TestFolder.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
