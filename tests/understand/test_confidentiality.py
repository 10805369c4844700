"""Levels: tightened by subject, never loosened, closed while the entity is unknown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.store.levels import Level
from tgv_dagster.understand import confidentiality
from tgv_dagster.understand.confidentiality import LevelVerdict
from tgv_dagster.understand.doctypes import DocType
from tgv_dagster.understand.evidence import OpenPointKind


def _level(
    text: str, doc_type: DocType = DocType.LETTER, default: Level | None = Level.INTERNAL
) -> LevelVerdict:
    return confidentiality.level_of(text, doc_type, entity_known=True, entity_default=default)


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("Patientenakte von Frau Kern", Level.STRICT),
        ("certificat médical du salarié", Level.STRICT),
        ("your password is 1234", Level.STRICT),
        ("STRENG VERTRAULICH", Level.STRICT),
        ("Mahnbescheid des Amtsgerichts", Level.CONFIDENTIAL),
        ("personnel et confidentiel", Level.CONFIDENTIAL),
        ("Die Fehlerdiagnose des Geräts", Level.INTERNAL),
        ("Diagnose: Reifen defekt, Behandlung nicht nötig", Level.INTERNAL),
        ("Einladung zum Sommerfest", Level.INTERNAL),
    ],
)
def test_the_subject_decides(text: str, level: Level) -> None:
    assert _level(text).level is level


def test_the_kind_decides() -> None:
    assert _level("", DocType.PAYSLIP).level is Level.STRICT
    assert _level("", DocType.TAX_NOTICE).level is Level.CONFIDENTIAL


def test_just_enough_weak_words_tighten_and_ask() -> None:
    verdict = _level("Der Patient erhielt nach der Diagnose eine Therapie.")
    assert verdict.level is Level.STRICT
    assert verdict.point is not None
    assert verdict.point.kind is OpenPointKind.SENSITIVE
    sure = _level("Patient, Diagnose, Therapie, Klinik, Medikamente")
    assert (sure.level, sure.point) == (Level.STRICT, None)


def test_an_unknown_entity_closes_the_document() -> None:
    verdict = confidentiality.level_of(
        "Newsletter", DocType.NEWSLETTER, entity_known=False, entity_default=None
    )
    assert (verdict.level, verdict.rule_id) == (Level.STRICT, "level.entity_unknown")


def test_an_entity_without_default_is_internal() -> None:
    assert _level("Sommerfest", default=None).level is Level.INTERNAL


@given(st.text(max_size=200), st.sampled_from(list(DocType)), st.sampled_from(list(Level)))
def test_no_text_loosens_the_default(text: str, doc_type: DocType, default: Level) -> None:
    assert _level(text, doc_type, default).level.rank >= default.rank
