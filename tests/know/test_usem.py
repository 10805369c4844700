"""The embedded model: unit vectors, the same in any company, and languages that meet."""

import numpy as np
import pytest

from tgv_dagster.know.embeddings import USE_DENOISED, TextNotEmbeddable, fit_centring
from tgv_dagster.know.usem import LONGEST_TEXT, UseEmbedder

PASSAGES = [
    "Der Mieter zahlt die Miete jeden Monat im Voraus.",
    "Le contrat d'assurance prend fin le 31 août.",
    "The dog sleeps under the kitchen table.",
]


def test_vectors_are_of_unit_length_and_do_not_depend_on_their_neighbours() -> None:
    embedder = UseEmbedder()
    together = embedder.embed_passages(PASSAGES, [None] * 3)
    assert together.shape == (3, USE_DENOISED.dimension)
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    for text, vector in zip(PASSAGES, together, strict=True):
        assert np.allclose(embedder.embed_query(text, None), vector, atol=1e-4)


def test_a_question_in_another_language_is_nearest_to_its_passage() -> None:
    embedder = UseEmbedder()
    stock = embedder.embed_passages(PASSAGES, [None] * 3)
    for question, passage in [
        ("Quand le locataire paie-t-il le loyer ?", 0),
        ("Wann endet die Versicherung?", 1),
        ("Wo schläft der Hund?", 2),
    ]:
        assert int((stock @ embedder.embed_query(question, None)).argmax()) == passage


def test_amounts_do_not_move_a_passage() -> None:
    one, other = UseEmbedder().embed_passages(
        ["Die Rechnung beträgt 1.234,56 EUR.", "Die Rechnung beträgt 98,10 EUR."], [None, None]
    )
    assert float(one @ other) > 0.95


def test_wild_texts_are_embedded_and_blank_or_endless_ones_are_refused() -> None:
    embedder = UseEmbedder()
    wild = ["\0", "😀" * 50, "א" * 300, "\ud800 x", "語" * 300]
    assert np.isfinite(embedder.embed_passages(wild, [None] * 5)).all()
    for text in ("", "  ", "a" * (LONGEST_TEXT + 1)):
        with pytest.raises(TextNotEmbeddable):
            embedder.embed_passages([text], [None])
    with pytest.raises(ValueError, match="language"):
        embedder.embed_passages(["a"], [])
    assert embedder.embed_passages([], []).shape == (0, 512)


def test_a_centred_embedder_has_a_space_of_its_own() -> None:
    plain = UseEmbedder()
    vectors = {"de": plain.embed_passages(PASSAGES, [None] * 3)}
    centred = UseEmbedder(fit_centring("c1", vectors, vectors))
    assert centred.space.space_id != plain.space.space_id
    moved = centred.embed_passages(PASSAGES, ["de", "de", None])
    assert not np.allclose(moved[0], vectors["de"][0], atol=1e-3)
    assert np.allclose(moved[2], vectors["de"][2], atol=1e-4)
