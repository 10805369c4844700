"""Chunks: cores partition, windows cover, nothing is lost, structure is respected."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.know.chunks import PAGE_SEPARATOR, Chunk, ChunkSettings, cut, document_text

CONTRACT = ChunkSettings(size=3_200, overlap=400, window=300)
SMALL = ChunkSettings(size=120, overlap=30, window=40)


@dataclass(frozen=True)
class Page:
    number: int
    text: str


def pages(*texts: str) -> list[Page]:
    return [Page(number, text) for number, text in enumerate(texts, start=1)]


def assert_exact(chunks: tuple[Chunk, ...], text: str, settings: ChunkSettings) -> None:
    assert "".join(text[c.core_start : c.core_end] for c in chunks) == text
    assert [c.no for c in chunks] == list(range(len(chunks)))
    for before, chunk in zip((None, *chunks), chunks, strict=False):
        assert chunk.core_start == (before.core_end if before else 0)
        assert chunk.core_start < chunk.core_end == chunk.span_end
        assert chunk.core_start - settings.overlap <= chunk.span_start <= chunk.core_start
        assert chunk.span_end - chunk.span_start <= settings.size
        assert chunk.text == text[chunk.span_start : chunk.span_end]
        assert_windows_cover(chunk, text, settings)


def assert_windows_cover(chunk: Chunk, text: str, settings: ChunkSettings) -> None:
    at = chunk.span_start
    for low, high in (*chunk.windows, (chunk.span_end, chunk.span_end)):
        assert not text[at:low].strip()
        assert low >= at and high - low <= settings.window
        at = high


WILD_TEXT = st.text(
    alphabet=st.one_of(st.sampled_from(" \n\t.!?;|#aAéß§1\u0301\u200d👩👧אب。語"), st.characters()),
    max_size=900,
)


@given(
    st.lists(WILD_TEXT, min_size=1, max_size=4),
    st.integers(2, 400).flatmap(
        lambda size: st.builds(
            ChunkSettings, st.just(size), st.integers(0, size - 1), st.integers(1, 320)
        )
    ),
)
def test_any_text_is_cut_without_losing_a_character(
    texts: list[str], settings: ChunkSettings
) -> None:
    document = pages(*texts)
    text = document_text(document)
    chunks = cut(document, settings)
    if text.strip():
        assert_exact(chunks, text, settings)
    else:
        assert chunks == ()
    assert cut(document, settings) == chunks


@pytest.mark.parametrize(
    "text",
    [
        "a" * 200_000,
        "שלום עולם " * 20_000,
        "👨‍👩‍👧‍👦" * 20_000,
        "Wort " * 40_000,
        "語" * 100_000,
        "x" + "\n" * 50_000 + "y",
        "A\u0301" * 60_000,
    ],
    ids=["no_spaces", "right_to_left", "emoji", "one_line", "han", "blank_lines", "marks"],
)
def test_extreme_texts_give_the_number_of_chunks_their_length_asks_for(text: str) -> None:
    chunks = cut(pages(text), CONTRACT)
    assert_exact(chunks, text, CONTRACT)
    fewest = 1 + (len(text) - CONTRACT.size) / (CONTRACT.size - CONTRACT.overlap)
    assert fewest <= len(chunks) <= 4 * fewest


@pytest.mark.parametrize("texts", [[], [""], [" \n\t "], ["", "\n"]])
def test_a_text_without_signs_has_no_chunks(texts: list[str]) -> None:
    assert cut(pages(*texts), CONTRACT) == ()


def test_a_short_document_is_one_chunk_with_one_window() -> None:
    (chunk,) = cut(pages("Mietvertrag über eine Garage."), CONTRACT)
    assert (chunk.core_start, chunk.core_end, chunk.windows) == (0, 29, ((0, 29),))
    assert chunk.language is None


def test_pages_are_named_by_their_own_numbers() -> None:
    document = [Page(7, "Erste Seite. " * 6), Page(9, "Zweite Seite. " * 6)]
    chunks = cut(document, SMALL)
    assert (chunks[0].page_from, chunks[0].page_to) == (7, 7)
    assert (chunks[-1].page_from, chunks[-1].page_to) == (7, 9)
    first_of_second = len(document[0].text) + len(PAGE_SEPARATOR)
    assert any(c.core_start == first_of_second for c in chunks)


def test_a_core_starts_at_a_heading_rather_than_in_the_middle_of_a_paragraph() -> None:
    filler = "Der Vermieter übergibt die Räume in gutem Zustand. " * 5
    text = f"§ 1 Mietsache\n{filler}\n§ 2 Mietzins\n{filler}\n§ 3 Kündigung\n{filler}\n"
    cores = [text[c.core_start : c.core_end] for c in cut(pages(text), ChunkSettings(450, 60))]
    assert [core[:3] for core in cores] == ["§ 1", "§ 2", "§ 3"]


def test_a_table_is_cut_between_rows() -> None:
    rows = "".join(f"{n}\tArtikel Nummer {n}\t{n},50 EUR\n" for n in range(80))
    for chunk in cut(pages(rows), ChunkSettings(400, 50)):
        assert chunk.core_start == 0 or rows[chunk.core_start - 1] == "\n"


def test_prose_is_cut_after_a_sentence() -> None:
    text = "Ein Satz über die Frist von drei Monaten. " * 40
    for chunk in cut(pages(text), ChunkSettings(400, 50))[:-1]:
        assert text[: chunk.core_end].rstrip().endswith(".")


def test_the_overlap_starts_at_a_word_and_keeps_most_of_its_length() -> None:
    text = "Ein Satz über die Frist von drei Monaten. " * 200
    for chunk in cut(pages(text), CONTRACT)[1:]:
        assert text[chunk.span_start - 1] == " "
        assert chunk.core_start - chunk.span_start >= 0.7 * CONTRACT.overlap


@pytest.mark.parametrize(
    "size, overlap, window", [(100, 100, 10), (0, 0, 10), (10, -1, 5), (9, 1, 0)]
)
def test_settings_that_cannot_cut_are_refused(size: int, overlap: int, window: int) -> None:
    with pytest.raises(ValueError, match="overlap"):
        ChunkSettings(size, overlap, window)
