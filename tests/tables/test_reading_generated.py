"""Random tables in random dialects come back exactly or with a question; never silently wrong."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from table_generator import make
from table_judge import ASKED, EXACT, WRONG, judge

SEEDS = st.integers(min_value=0, max_value=2**48)


@given(SEEDS)
@settings(max_examples=120, deadline=None)
def test_no_table_in_any_dialect_is_silently_wrong(seed: int) -> None:
    found = judge(make(random.Random(seed), plain=False))

    assert found.verdict != WRONG, found.why


@given(SEEDS)
@settings(max_examples=80, deadline=None)
def test_no_usual_table_is_silently_wrong(seed: int) -> None:
    found = judge(make(random.Random(seed), plain=True))

    assert found.verdict != WRONG, found.why


def test_tables_that_are_unambiguous_by_construction_are_hardly_ever_asked_about() -> None:
    found = [judge(make(random.Random(seed), plain=True)) for seed in range(100)]

    asked = [f.why for f in found if f.verdict == ASKED]
    assert len(asked) <= 5, asked
    assert sum(f.verdict == EXACT for f in found) >= 95


def test_the_judge_itself_finds_a_wrong_value() -> None:
    made = make(random.Random(4), plain=True)
    spoiled = made.data.decode(made.layout.encoding)
    for before, after in (("1", "2"), ("3", "4")):
        spoiled = spoiled.replace(before, after)
    broken = type(made)(
        spoiled.encode(made.layout.encoding),
        made.labels,
        made.kinds,
        made.columns,
        made.layout,
        plain=True,
    )

    assert judge(broken).verdict != EXACT
