"""Walls of the word index: every axis in both directions, and the predicate row by row."""

import datetime as dt
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index_builders import NOW, found, row, terms, wall

from tgv_dagster.know.word_model import (
    AxisDate,
    HitFilters,
    IndexedAxis,
    WallTerms,
    WordRow,
)
from tgv_dagster.know.words import WordIndex
from tgv_dagster.store.scope import Period

LATER = NOW + dt.timedelta(days=1)

ROWS = {
    "plain": {},
    "strict": {"level_rank": 3},
    "strict_named": {"level_rank": 3, "persons": (7, 8)},
    "later": {"visible_from": LATER},
    "later_named": {"visible_from": LATER, "persons": (7,)},
    "released": {"visible_from": NOW},
    "circle": {"circle": (7,)},
    "circle_strict": {"level_rank": 3, "circle": (7, 8)},
    "circle_later": {"visible_from": LATER, "circle": (7,)},
    "circle_of_nobody": {"circle": ()},
    "restricted": {"restricted": True},
    "restricted_named": {"restricted": True, "persons": (7,)},
    "test": {"is_test": True},
    "other_entity": {"entity": "nord-sarl"},
    "project": {"project_code": "P-1"},
    "other_tenant": {"mandant_id": 2, "entity": "haus-sued"},
    "other_tenant_named": {"mandant_id": 2, "entity": "haus-sued", "persons": (7,)},
    "other_source": {"source_type": "mail"},
    "dated": {
        "dates": (
            AxisDate(IndexedAxis.DATE_RECEIVED, dt.date(2026, 6, 1)),
            AxisDate(IndexedAxis.INVOICE_DATE, dt.date(2026, 5, 20)),
        )
    },
}
NAMES = list(ROWS)
OPEN = {"plain", "released", "other_entity", "project", "other_source", "dated"}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WordIndex]:
    opened = WordIndex.create(tmp_path_factory.mktemp("walls") / "index")
    opened.build_beside(
        row(number, "Garage", **changed) for number, changed in enumerate(ROWS.values())
    )
    yield opened
    opened.close()


def seen(index: WordIndex, by: WallTerms, filters: HitFilters | None = None) -> set[str]:
    return {NAMES[chunk] for chunk in found(index, "Garage", by, filters)}


@pytest.mark.parametrize(
    "reader, expected",
    [
        (wall(), OPEN | {"strict", "strict_named"}),
        (wall(max_level_rank=1), OPEN),
        (wall(max_level_rank=0), set()),
        (wall(max_level_rank=-1), set()),
        (
            wall(max_level_rank=1, person=7),
            OPEN | {"strict_named", "later_named", "circle", "circle_strict"},
        ),
        (wall(max_level_rank=-1, person=8), {"strict_named", "circle_strict"}),
        (wall(max_level_rank=1, person=9), OPEN),
        (wall(now=LATER, max_level_rank=1), OPEN | {"later", "later_named"}),
        (wall(now=NOW - dt.timedelta(seconds=1), max_level_rank=1), OPEN - {"released"}),
        (
            wall(now=LATER, max_level_rank=1, person=7, entities=("nord-gmbh",)),
            OPEN - {"other_entity"}
            | {"later", "later_named", "strict_named", "circle", "circle_strict", "circle_later"},
        ),
        (
            wall(max_level_rank=3, is_manager=True),
            OPEN | {name for name in ROWS if name.startswith(("strict", "later", "circle"))},
        ),
        (wall(include_test=True, max_level_rank=1), OPEN | {"test"}),
        (wall(entities=()), set()),
        (wall(entities=("nord-sarl",)), {"other_entity"}),
        (wall(entities=("nord-sarl", "haus-sued"), person=7), {"other_entity"}),
        (wall(entities=("",)), set()),
        (wall(project_code="P-1"), {"project"}),
        (wall(project_code="P-2"), set()),
        (wall(mandant_id=2, person=7), {"other_tenant", "other_tenant_named"}),
        (wall(mandant_id=3), set()),
        (wall(mandant_id=None), set()),
        (wall(mandant_id=None, person=7), set()),
        (
            wall(mandant_id=None, is_super=True),
            OPEN | {"strict", "strict_named", "other_tenant", "other_tenant_named"},
        ),
        (wall(mandant_id=2, is_super=True), {"other_tenant", "other_tenant_named"}),
    ],
)
def test_a_reader_sees_exactly_what_the_walls_leave(
    index: WordIndex, reader: WallTerms, expected: set[str]
) -> None:
    assert seen(index, reader) == expected


def period(axis: IndexedAxis, first: dt.date | None, last: dt.date | None) -> HitFilters:
    return HitFilters(period=Period(axis, first, last))


@pytest.mark.parametrize(
    "filters, expected",
    [
        (HitFilters(document_id=NAMES.index("plain")), {"plain"}),
        (HitFilters(document_id=NAMES.index("other_tenant")), set()),
        (HitFilters(document_id=-1), set()),
        (HitFilters(source_types=("mail",)), {"other_source"}),
        (HitFilters(source_types=()), set()),
        (period(IndexedAxis.DATE_RECEIVED, dt.date(2026, 6, 1), dt.date(2026, 6, 1)), {"dated"}),
        (period(IndexedAxis.DATE_RECEIVED, dt.date(2026, 6, 2), None), set()),
        (period(IndexedAxis.DATE_RECEIVED, None, dt.date(2026, 5, 31)), set()),
        (period(IndexedAxis.DATE_RECEIVED, None, None), {"dated"}),
        (period(IndexedAxis.INVOICE_DATE, None, dt.date(2026, 5, 31)), {"dated"}),
        (period(IndexedAxis.INVOICE_DATE, dt.date(2026, 6, 1), dt.date(2026, 5, 1)), set()),
    ],
)
def test_filters_narrow_inside_the_walls(
    index: WordIndex, filters: HitFilters, expected: set[str]
) -> None:
    assert seen(index, wall(), filters) == expected


def test_an_unknown_axis_is_an_error_and_not_an_empty_result(index: WordIndex) -> None:
    with pytest.raises(ValueError, match="renewal"):
        seen(index, wall(), HitFilters(period=Period("renewal", None, None)))


def test_walls_and_filters_do_not_move_the_order_or_the_score(index: WordIndex) -> None:
    wide = index.search(terms("Garage"), wall(mandant_id=None, is_super=True, include_test=True))
    narrow = index.search(terms("Garage"), wall(project_code="P-1", entities=("nord-gmbh",)))
    assert {hit.score for hit in narrow} <= {hit.score for hit in wide}


def allowed(one: WordRow, reader: WallTerms) -> bool:
    """The read predicate of `store.walls`, written out for one row."""
    named = reader.person is not None and reader.person in one.persons
    inside = reader.person in (one.circle or ())
    return (
        ((reader.is_super and reader.mandant_id is None) or one.mandant_id == reader.mandant_id)
        and (reader.entities is None or one.entity in reader.entities)
        and (reader.project_code is None or one.project_code == reader.project_code)
        and (one.level_rank <= reader.max_level_rank or named or inside)
        and (
            one.visible_from is None or one.visible_from <= reader.now or named or reader.is_manager
        )
        and (one.circle is None or inside or reader.is_manager)
        and not one.restricted
        and (not one.is_test or reader.include_test)
    )


READERS = st.builds(
    wall,
    mandant_id=st.sampled_from([None, 1, 2]),
    entities=st.none() | st.lists(st.sampled_from(["nord-gmbh", "nord-sarl"])).map(tuple),
    project_code=st.sampled_from([None, "P-1"]),
    max_level_rank=st.integers(-1, 3),
    person=st.sampled_from([None, 7, 8, 9]),
    include_test=st.booleans(),
    now=st.sampled_from([NOW, LATER]),
    is_super=st.booleans(),
    is_manager=st.booleans(),
)


@settings(max_examples=200, deadline=None)
@given(READERS)
def test_the_terms_are_the_predicate(index: WordIndex, reader: WallTerms) -> None:
    expected = {
        name for name, changed in ROWS.items() if allowed(row(0, "Garage", **changed), reader)
    }
    assert seen(index, reader) == expected
