"""Texts of the pages: every key in every language, every key that a template names, every label."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from tgv_dagster.understand.evidence import Field
from tgv_dagster.web import pages
from tgv_dagster.web.texts import LANGUAGES, LOCALES, texts

TEMPLATES = Path(pages.__file__).parent / "templates"
NAMED = re.compile(r"""say\("([a-z0-9_.]+)"[,)]""")
PLACE = re.compile(r"%\((\w+)\)[sd]")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_catalogue_can_be_read_and_has_no_doubtful_entry(language: str) -> None:
    with (LOCALES / f"{language}.po").open("rb") as stream:
        catalogue = read_po(stream, locale=language, abort_invalid=True)
    assert not any(message.fuzzy for message in catalogue if message.id)
    names = [str(message.id) for message in catalogue if message.id]
    raw = (LOCALES / f"{language}.po").read_text(encoding="utf-8")
    assert len(re.findall(r'^msgid "[^"]', raw, re.MULTILINE)) == len(names)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_is_translated_with_the_same_values(language: str) -> None:
    mine, reference = texts(language), texts("en")
    assert set(mine) == set(reference)
    assert [key for key, text in mine.items() if not text.strip()] == []
    for key, text in mine.items():
        assert sorted(PLACE.findall(text)) == sorted(PLACE.findall(reference[key])), key


def test_german_and_french_are_not_copies_of_the_english() -> None:
    english = texts("en")
    for language in ("de", "fr"):
        sentences = [k for k, t in texts(language).items() if t == english[k] and " " in t]
        assert sentences == [], language


def test_every_text_that_a_template_names_exists() -> None:
    named = {key for path in TEMPLATES.glob("*.html") for key in NAMED.findall(path.read_text())}
    assert named - set(texts("en")) == set()
    assert len(named) > 20


def test_every_field_has_a_label() -> None:
    assert [f for f in Field if f"field.{f}" not in texts("en")] == []


def test_a_language_that_is_not_ours_is_refused() -> None:
    with pytest.raises(KeyError):
        texts("../de")
