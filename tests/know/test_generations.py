"""Generations: readers see a whole one, the writer is single, leftovers go."""

from pathlib import Path

import pytest

from tgv_dagster.know.generations import Generations, NoGeneration, WriterBusy


def build(generations: Generations, content: str) -> Path:
    path = generations.prepare()
    (path / "content").write_text(content)
    return generations.switch(path)


@pytest.fixture
def generations(tmp_path: Path) -> Generations:
    return Generations(tmp_path / "index")


def test_before_the_first_generation_there_is_none(generations: Generations) -> None:
    assert generations.current() is None
    with pytest.raises(NoGeneration):
        generations.hold()


def test_a_prepared_directory_is_not_seen_before_the_switch(generations: Generations) -> None:
    with generations.writing():
        build(generations, "old")
        beside = generations.prepare()
        (beside / "content").write_text("new")
        assert (generations.hold().path / "content").read_text() == "old"
        generations.switch(beside)
        assert (generations.hold().path / "content").read_text() == "new"


def test_a_generation_that_is_read_stays_until_it_is_released(generations: Generations) -> None:
    with generations.writing():
        build(generations, "old")
        held = generations.hold()
        build(generations, "new")
        generations.sweep()
        assert (held.path / "content").read_text() == "old"
        held.release()
        held.release()
        assert generations.sweep() == (held.path.name,)
    assert not held.path.exists()
    assert (generations.hold().path / "content").read_text() == "new"


def test_a_second_writer_is_told_so_and_gets_in_afterwards(generations: Generations) -> None:
    with generations.writing():
        with pytest.raises(WriterBusy), generations.writing():
            pass
        with pytest.raises(WriterBusy), generations.writing(wait_seconds=0.05):
            pass
    with generations.writing():
        pass


def test_a_writer_that_fails_lets_go(generations: Generations) -> None:
    with pytest.raises(ZeroDivisionError), generations.writing():
        build(generations, "old")
        raise ZeroDivisionError
    with generations.writing():
        pass


def test_leftovers_of_a_killed_writer_are_swept_and_the_generation_in_force_stays(
    generations: Generations,
) -> None:
    with generations.writing():
        current = build(generations, "kept")
        generations.prepare()
        half_switched = generations.root / "gen-00000099"
        half_switched.mkdir()
        (generations.root / "current-new-00000099").symlink_to("gen-00000099")
        (generations.root / "trash-gen-00000000").mkdir()
    with generations.writing():
        assert generations.current() == current
        left = {path.name for path in generations.root.iterdir()}
    assert left == {"current", "writer.lock", current.name}


def test_a_discarded_build_leaves_nothing(generations: Generations) -> None:
    with generations.writing():
        build(generations, "kept")
        beside = generations.prepare()
        generations.discard(beside)
        assert not beside.exists()
    assert (generations.hold().path / "content").read_text() == "kept"
