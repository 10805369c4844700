"""The seam: spaces, centring, and a cache that no tenant shares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from tgv_dagster.know.embeddings import (
    KNOWN_SPACES,
    MISTRAL_EMBED,
    USE_DENOISED,
    CachedEmbedder,
    CacheKey,
    EmbeddingError,
    EmbeddingSpace,
    TextNotEmbeddable,
    Vectors,
    fit_centring,
    require_embeddable,
    unit,
)


@dataclass
class LetterEmbedder:
    """A tiny embedder of its own: counts letters, and counts the texts it was given."""

    space: EmbeddingSpace = field(default_factory=lambda: EmbeddingSpace("letters", "1", 26))
    embedded: list[str] = field(default_factory=list)
    fails_after: int = 10**9

    def embed_passages(self, texts: Sequence[str], languages: Sequence[str | None]) -> Vectors:
        if len(self.embedded) + len(texts) > self.fails_after:
            raise EmbeddingError("no more")
        self.embedded.extend(texts)
        counts = np.array([[t.count(chr(97 + i)) + 0.01 for i in range(26)] for t in texts])
        return unit(counts.astype(np.float32))

    def embed_query(self, text: str, language: str | None) -> Vectors:
        return self.embed_passages([text], [language])[0]


@dataclass
class MemoryCache:
    entries: dict[CacheKey, Vectors] = field(default_factory=dict)
    documents: dict[CacheKey, int] = field(default_factory=dict)

    def get_many(self, keys: Sequence[CacheKey]) -> Mapping[CacheKey, Vectors]:
        return {key: self.entries[key] for key in keys if key in self.entries}

    def put_many(self, entries: Mapping[CacheKey, Vectors], document_id: int) -> None:
        self.entries.update(entries)
        self.documents.update(dict.fromkeys(entries, document_id))


def test_a_space_is_named_by_everything_a_vector_depends_on() -> None:
    names = {
        replace(USE_DENOISED, **changed).space_id
        for changed in ({}, {"version": "4"}, {"dimension": 2}, {"centring": "c1"}, {"model": "m"})
    }
    assert len(names) == 5


def test_only_the_registered_floor_is_a_floor() -> None:
    assert {space.model for space in KNOWN_SPACES if space.max_score_floor} == {"mistral-embed"}
    floor = MISTRAL_EMBED.max_score_floor
    assert floor is not None
    assert (floor.value, floor.measured_on, floor.interim_until) == (0.78, None, "a reranker")


def test_equal_texts_are_embedded_once_and_come_back_in_order() -> None:
    inner, cache = LetterEmbedder(), MemoryCache()
    cached = CachedEmbedder(inner, cache, "nord", 7)
    texts = ["ab", "cd", "ab", "ef"]
    first = cached.embed_passages(texts, [None] * 4)
    again = cached.embed_passages(texts, [None] * 4)
    assert inner.embedded == ["ab", "cd", "ef"]
    assert np.array_equal(first, again)
    assert np.allclose(first, LetterEmbedder().embed_passages(texts, [None] * 4))
    assert set(cache.documents.values()) == {7}
    assert cached.embed_passages([], []).shape == (0, 26)


def test_another_tenant_or_space_never_hits() -> None:
    cache = MemoryCache()
    inner = LetterEmbedder()
    CachedEmbedder(inner, cache, "nord", 1).embed_passages(["ab"], [None])
    CachedEmbedder(inner, cache, "sued", 1).embed_passages(["ab"], [None])
    other = LetterEmbedder(space=EmbeddingSpace("letters", "2", 26))
    CachedEmbedder(other, cache, "nord", 1).embed_passages(["ab"], [None])
    assert (len(inner.embedded), len(other.embedded)) == (2, 1)


def test_the_language_counts_only_in_a_centred_space() -> None:
    plain, centred = LetterEmbedder(), LetterEmbedder(EmbeddingSpace("letters", "1", 26, "c1"))
    for inner, calls in ((plain, 1), (centred, 2)):
        cached = CachedEmbedder(inner, MemoryCache(), "nord", 1)
        cached.embed_passages(["ab", "ab"], ["de", "fr"])
        assert len(inner.embedded) == calls


def test_what_was_embedded_before_a_failure_is_kept() -> None:
    inner, cache = LetterEmbedder(fails_after=300), MemoryCache()
    cached = CachedEmbedder(inner, cache, "nord", 1)
    texts = [f"text {number}" for number in range(600)]
    with pytest.raises(EmbeddingError):
        cached.embed_passages(texts, [None] * 600)
    assert len(cache.entries) == len(inner.embedded) > 0


def test_centring_brings_two_languages_together() -> None:
    rng = np.random.default_rng(7)
    meaning = rng.normal(size=(40, 16))
    accent = {"de": rng.normal(size=16) * 4, "fr": rng.normal(size=16) * 4}
    spoken = {
        language: unit((meaning + shift).astype(np.float32)) for language, shift in accent.items()
    }
    centring = fit_centring("c1", spoken, spoken)
    german = centring.passage(spoken["de"], ["de"] * 40)
    questions = [centring.question(vector, "fr") for vector in spoken["fr"]]
    plain_hits = (spoken["fr"] @ spoken["de"].T).argmax(axis=1) == np.arange(40)
    centred_hits = (np.stack(questions) @ german.T).argmax(axis=1) == np.arange(40)
    assert centred_hits.mean() > plain_hits.mean()
    assert np.allclose(np.linalg.norm(german, axis=1), 1, atol=1e-5)
    assert np.array_equal(centring.passage(spoken["de"], [None] * 40), unit(spoken["de"]))


@pytest.mark.parametrize("texts", [[""], [" \n"], ["fine", "\t"], ["x" * 11]])
def test_what_cannot_be_embedded_is_said(texts: list[str]) -> None:
    with pytest.raises(TextNotEmbeddable):
        require_embeddable(texts, longest=10)


@pytest.mark.parametrize("row", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_a_vector_without_direction_is_an_error(row: list[float]) -> None:
    with pytest.raises(EmbeddingError):
        unit(np.array([[1.0, 0.0], row], dtype=np.float32))
