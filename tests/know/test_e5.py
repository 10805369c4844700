"""The second embedded model: unit vectors, languages that meet, and nothing cut silently."""

import numpy as np
import pytest

from tgv_dagster.know import spaces
from tgv_dagster.know.e5 import LONGEST_TEXT, E5Embedder
from tgv_dagster.know.embeddings import E5_SMALL, TextNotEmbeddable
from tgv_dagster.store.db import Database

PASSAGES = [
    "Der Mieter zahlt die Miete jeden Monat im Voraus.",
    "Le contrat d'assurance prend fin le 31 août.",
]


def test_a_question_in_its_language_is_nearest_to_its_passage() -> None:
    embedder = E5Embedder()
    stock = embedder.embed_passages(PASSAGES, [None, None])
    assert stock.shape == (2, E5_SMALL.dimension)
    assert np.allclose(np.linalg.norm(stock, axis=1), 1, atol=1e-4)
    for question, passage in (("Wann ist die Miete fällig?", 0), ("Quand finit l'assurance ?", 1)):
        assert int((stock @ embedder.embed_query(question, None)).argmax()) == passage


def test_wild_texts_are_embedded_whole_and_blank_or_endless_ones_are_refused() -> None:
    embedder = E5Embedder()
    wild = ["\0 Miete", "😀" * 50, "א" * 300, "\ud800 x", "語" * 300]
    assert np.isfinite(embedder.embed_passages(wild, [None] * 5)).all()
    after_nul = embedder.embed_query("\0 Miete im Voraus", None)
    assert np.allclose(after_nul, embedder.embed_query("  Miete im Voraus", None), atol=1e-4)
    for text in ("", "  ", "a" * (LONGEST_TEXT + 1)):
        with pytest.raises(TextNotEmbeddable):
            embedder.embed_passages([text], [None])
    assert embedder.embed_passages([], []).shape == (0, E5_SMALL.dimension)


def test_it_is_a_registered_space_that_runs_without_an_endpoint(database: Database) -> None:
    spaces.ensure_spaces(database)
    with database.worker() as connection:
        space = spaces.space_named(connection, E5_SMALL.space_id)
        with pytest.raises(spaces.UnknownSpace):
            spaces.space_named(connection, "no such space")
    assert isinstance(spaces.embedder_of(database, space), E5Embedder)
