"""Vocabulary: identifiers first, whole names, nobody else's name."""

from __future__ import annotations

import pytest
from understanding_papers import ALPHA, VOCABULARY

from tgv_dagster.understand import identifiers, vocabulary
from tgv_dagster.understand.vocabulary import EntityEntry, MatchKind, Vocabulary


def _matches(text: str, known: Vocabulary = VOCABULARY) -> list[tuple[str, str, bool]]:
    found = vocabulary.find_matches(known, text, identifiers.find(text))
    return [(match.slug, match.kind.value, match.embedded) for match in found]


@pytest.mark.parametrize(
    ("text", "slug", "kind"),
    [
        ("USt-IdNr. DE 136 695 976", "alpha", MatchKind.VAT_ID),
        ("IBAN DE02 1203 0000 0000 2020 51", "alpha", MatchKind.IBAN),
        ("Registergericht Köln, HRB 12345", "alpha", MatchKind.REGISTER_NO),
        ("HRB 12345", "alpha", MatchKind.REGISTER_NO),
        ("RCS Lyon 421 938 861", "beta", MatchKind.SIREN),
        ("SIRET 421 938 861 00034", "beta", MatchKind.SIREN),
        ("ALPHA WERKSTATT GMBH", "alpha", MatchKind.LEGAL_NAME),
        ("Alpha  Werkstatt", "alpha", MatchKind.ALIAS),
        ("post@mail.alpha.example", "alpha", MatchKind.EMAIL_DOMAIN),
        ("Hafenweg 3\n50667 Köln", "alpha", MatchKind.ADDRESS),
        ("Familie Gamma", "gamma", MatchKind.ALIAS),
    ],
)
def test_an_entity_is_recognised(text: str, slug: str, kind: MatchKind) -> None:
    assert (slug, kind.value, False) in _matches(text)


@pytest.mark.parametrize(
    "text",
    [
        "Steuerberater GmbH",
        "Alphabet Werkstatt GmbH",
        "USt-IdNr. DE136695977",
        "Amtsgericht Bonn HRB 12345",
        "Hafenweg 3 in 10115 Berlin",
        "alpha.example.org",
        "",
    ],
)
def test_nobody_else_is_taken_for_an_entity(text: str) -> None:
    assert _matches(text) == []


def test_a_name_inside_another_companys_name_is_marked() -> None:
    assert _matches("Alpha Werkstatt Bau GmbH") == [("alpha", "alias", True)]
    assert ("alpha", "legal_name", True) in _matches("Neue Alpha Werkstatt GmbH")


def test_words_of_address_do_not_make_a_name_foreign() -> None:
    for text in ("Firma Alpha Werkstatt GmbH", "An Alpha Werkstatt GmbH", "Herrn Karl Gamma"):
        assert all(not embedded for _, _, embedded in _matches(text))


def test_a_known_number_without_check_digits_counts() -> None:
    known = Vocabulary((EntityEntry("x", 1, "one", "company", "X Y Z", vat_ids=("DE999100018",)),))
    assert _matches("DE 999 100 018", known) == [("x", "vat_id", False)]


def test_a_shared_name_belongs_to_every_entity_that_carries_it() -> None:
    twin = EntityEntry("twin", 2, "two", "company", "Alpha Werkstatt GmbH")
    found = _matches("Alpha Werkstatt GmbH", Vocabulary((ALPHA, twin)))
    assert {slug for slug, _, _ in found} == {"alpha", "twin"}


def test_the_longer_name_wins() -> None:
    holding = EntityEntry("holding", 1, "one", "company", "Alpha Werkstatt Holding GmbH")
    found = _matches("Alpha Werkstatt Holding GmbH", Vocabulary((ALPHA, holding)))
    assert found == [("holding", "legal_name", False)]


def test_projects_are_found_by_code_and_name() -> None:
    text = "Projekt P-2026-01, Baustelle Schulneubau Nord"
    assert [code for code, _ in vocabulary.match_projects(VOCABULARY, text)] == [
        "P-2026-01",
        "P-2026-01",
    ]


def test_a_tenant_sees_only_its_own_entities() -> None:
    narrowed = VOCABULARY.narrowed(2)
    assert [entry.slug for entry in narrowed.entities] == ["gamma"]
    assert narrowed.entity("alpha") is None
    assert narrowed.projects == ()


def test_a_long_text_is_searched() -> None:
    assert len(_matches("DE136695976 Alpha Werkstatt GmbH " * 2000)) >= 4000
