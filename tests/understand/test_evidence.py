"""Evidence: places survive the joining of pages, and "checked, none" differs from silence."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.understand.evidence import Field, Finding, Origin, PageMap, Span


def test_a_place_in_the_joined_text_is_a_place_on_its_page() -> None:
    pages = PageMap(("abc", "", "defg"))
    assert pages.text == "abc\n\ndefg"
    assert pages.span(0, 3) == Span(1, 0, 3)
    assert pages.span(5, 9) == Span(3, 0, 4)
    assert pages.span(1, 8) == Span(1, 1, 3)
    assert PageMap(()).span(0, 1) is None


@given(st.lists(st.text(max_size=20), min_size=1, max_size=6), st.data())
def test_the_text_at_a_span_is_the_text_on_the_page(texts: list[str], data: st.DataObject) -> None:
    pages = PageMap(tuple(texts))
    index = data.draw(st.integers(0, len(texts) - 1))
    start = data.draw(st.integers(0, len(texts[index])))
    end = data.draw(st.integers(start, len(texts[index])))
    base = sum(len(text) + 1 for text in texts[:index])
    span = pages.span(base + start, base + end)
    assert span == Span(index + 1, start, end)
    assert pages.text[base + start : base + end] == texts[index][start:end]


def test_checked_none_is_a_statement() -> None:
    found = Finding(Field.CONTRACT_START_DATE, None, Origin.MACHINE, 0.9, None, "rule")
    assert found.checked_none
    stated = Finding(Field.AUTO_RENEWAL, False, Origin.MACHINE, 0.9, None, "rule")
    assert not stated.checked_none
