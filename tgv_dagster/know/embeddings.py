"""The seam of embeddings: what a vector space is, what an embedder does, and the cache before it.

Here belong the names of the spaces, the floor of a space with its measurement condition, language
centring and caching by content. What does not belong here: a model (`usem`, `openai_endpoint`),
storing vectors, and the decision which space is active.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tgv_dagster.store.tuning import P_MIN_SCORE

Vectors = NDArray[np.float32]

NO_CENTRING = "none"


class EmbeddingError(Exception):
    """Base of the errors of embedding; its message never holds text or a key."""


class TextNotEmbeddable(EmbeddingError):
    """A text is blank or longer than the model takes; it is said, not cut silently."""


class DimensionMismatch(EmbeddingError):
    """A model answered with vectors of another length than its space has."""


@dataclass(frozen=True, slots=True)
class ScoreFloor:
    """Cosine below which a hit counts as nothing found, and what it was measured on.

    checked: cosine from which a hit counts as checked, None = the floor itself. Between the two a
    hit is shown and labelled, because a floor that cuts nonsense also cuts answers.
    measured_on None = taken over and never measured here; interim_until names what ends it
    (RET-02, VAL-07).
    """

    value: float
    condition: str
    measured_on: date | None = None
    interim_until: str | None = None
    checked: float | None = None

    def is_checked(self, score: float) -> bool:
        """Whether a hit with this score counts as checked."""
        return score >= (self.value if self.checked is None else self.checked)


@dataclass(frozen=True, slots=True)
class EmbeddingSpace:
    """One vector space: vectors of two spaces are never compared (ING-11).

    centring: `NO_CENTRING` or the version of its constants; max_score_floor None = unmeasured, so
    nothing is cut.
    """

    model: str
    version: str
    dimension: int
    centring: str = NO_CENTRING
    max_score_floor: ScoreFloor | None = None

    @property
    def space_id(self) -> str:
        """Names everything a vector depends on."""
        return f"{self.model}@{self.version}/{self.dimension}/{self.centring}"


USE_DENOISED = EmbeddingSpace("use-multilingual-denoised", "3", 512)
E5_SMALL = EmbeddingSpace("multilingual-e5-small-q4", "1", 384)
MISTRAL_EMBED = EmbeddingSpace(
    "mistral-embed",
    "1",
    1024,
    max_score_floor=ScoreFloor(
        P_MIN_SCORE,
        condition="taken over from the former system's corpus of 3,200-character chunks",
        interim_until="a reranker",
    ),
)
KNOWN_SPACES: tuple[EmbeddingSpace, ...] = (USE_DENOISED, E5_SMALL, MISTRAL_EMBED)


class Embedder(Protocol):
    """Turns texts into unit vectors of one space."""

    @property
    def space(self) -> EmbeddingSpace:
        """The space of every vector this embedder yields."""
        ...

    def embed_passages(self, texts: Sequence[str], languages: Sequence[str | None]) -> Vectors:
        """Unit vectors of shape (len(texts), dimension), in order.

        Raises TextNotEmbeddable, DimensionMismatch, or another EmbeddingError.
        """
        ...

    def embed_query(self, text: str, language: str | None) -> Vectors:
        """Unit vector of shape (dimension,). Raises as `embed_passages`."""
        ...


def require_embeddable(texts: Sequence[str], longest: int) -> None:
    """Raise TextNotEmbeddable for a blank text or one of more than `longest` characters."""
    for at, text in enumerate(texts):
        if not text.strip():
            raise TextNotEmbeddable(f"text {at} is blank")
        if len(text) > longest:
            raise TextNotEmbeddable(f"text {at} has {len(text)} characters, at most {longest}")


def unit(vectors: Vectors) -> Vectors:
    """Rows scaled to length one. Raises EmbeddingError for a zero or a non-finite row."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths < 1e-9).any():
        raise EmbeddingError("a vector is zero or not finite")
    return (vectors / lengths).astype(np.float32)


# --- centring ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Centring:
    """Mean vectors by language, versioned with the model: passages and questions apart.

    Subtracting them removes what texts of one language share, so that languages meet.
    """

    version: str
    passages: Mapping[str, Vectors]
    questions: Mapping[str, Vectors]

    def passage(self, vectors: Vectors, languages: Sequence[str | None]) -> Vectors:
        """Centred unit vectors; a language without a mean is left as it is."""
        return _centred(vectors, languages, self.passages)

    def question(self, vector: Vectors, language: str | None) -> Vectors:
        """Centred unit vector of a question; a language without a mean is left as it is."""
        return _centred(vector[None, :], [language], self.questions)[0]


def _centred(
    vectors: Vectors, languages: Sequence[str | None], means: Mapping[str, Vectors]
) -> Vectors:
    shifted = vectors.copy()
    for at, language in enumerate(languages):
        mean = means.get(language) if language else None
        if mean is not None:
            shifted[at] -= mean
    return unit(shifted)


def fit_centring(
    version: str,
    passages: Mapping[str, Vectors],
    questions: Mapping[str, Vectors],
) -> Centring:
    """Means of given unit vectors by language, each of shape (n, dimension) with n >= 1."""
    return Centring(
        version,
        {language: vectors.mean(axis=0) for language, vectors in passages.items()},
        {language: vectors.mean(axis=0) for language, vectors in questions.items()},
    )


# --- cache -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CacheKey:
    """A text under one space and one tenant: tenants never hit each other's entries.

    language is empty unless the space is centred: only then does it change the vector.
    """

    tenant: str
    space_id: str
    text_sha256: str
    language: str = ""


class EmbeddingCache(Protocol):
    """Vectors by key. Entries name the document they were made for, so that an erasure finds
    them."""

    def get_many(self, keys: Sequence[CacheKey]) -> Mapping[CacheKey, Vectors]:
        """The entries that are there; a missing one is simply absent."""
        ...

    def put_many(self, entries: Mapping[CacheKey, Vectors], document_id: int) -> None:
        """Keep entries; one that is there already stays."""
        ...


_KEPT_AT_ONCE = 256


def _in_parts(
    missing: Sequence[tuple[CacheKey, int]],
) -> Iterator[Sequence[tuple[CacheKey, int]]]:
    for start in range(0, len(missing), _KEPT_AT_ONCE):
        yield missing[start : start + _KEPT_AT_ONCE]


@dataclass(frozen=True, slots=True)
class CachedEmbedder:
    """An embedder that asks the cache first, for the passages of one document of one tenant.

    Equal texts of one call are embedded once. Questions are not cached.
    """

    inner: Embedder
    cache: EmbeddingCache
    tenant: str
    document_id: int

    @property
    def space(self) -> EmbeddingSpace:
        """The space of the embedder behind."""
        return self.inner.space

    def embed_passages(self, texts: Sequence[str], languages: Sequence[str | None]) -> Vectors:
        """As `Embedder.embed_passages`; only texts the cache does not know reach the model."""
        keys = [self._key(text, language) for text, language in zip(texts, languages, strict=True)]
        known = dict(self.cache.get_many(list(dict.fromkeys(keys))))
        missing = {key: at for at, key in enumerate(keys) if key not in known}
        for part in _in_parts(list(missing.items())):
            fresh = self.inner.embed_passages(
                [texts[at] for _, at in part], [languages[at] for _, at in part]
            )
            made = dict(zip((key for key, _ in part), fresh, strict=True))
            # Kept part by part: what is paid for survives a failure of the next part.
            self.cache.put_many(made, self.document_id)
            known.update(made)
        if not keys:
            return np.empty((0, self.space.dimension), dtype=np.float32)
        return np.stack([known[key] for key in keys]).astype(np.float32, copy=False)

    def embed_query(self, text: str, language: str | None) -> Vectors:
        """As `Embedder.embed_query`."""
        return self.inner.embed_query(text, language)

    def _key(self, text: str, language: str | None) -> CacheKey:
        centred = self.space.centring != NO_CENTRING
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return CacheKey(
            self.tenant, self.space.space_id, digest, (language or "") if centred else ""
        )
