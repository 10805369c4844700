"""Titles in file properties: what a program filled in names no document."""

from __future__ import annotations

import pytest

from tgv_dagster.understand.titles import telling_title


@pytest.mark.parametrize(
    "title",
    [
        *("", " ", "untitled", "(anonymous)", "Unbenannt", "Sans titre 2", "Dokument1", "Mappe1"),
        *("Document", "scan_0001", "image.jpg", "20260314-0815", "Microsoft Word - Dokument1"),
    ],
)
def test_what_a_program_filled_in_is_no_title(title: str) -> None:
    assert telling_title(title) == ""


@pytest.mark.parametrize(
    ("title", "told"),
    [
        ("Wartungsvertrag Aufzug", "Wartungsvertrag Aufzug"),
        ("Microsoft Word - Angebot Halle 3.doc", "Angebot Halle 3.doc"),
        ("Document unique de prévention", "Document unique de prévention"),
        ("Scan der Bauakte", "Scan der Bauakte"),
        ("Titel I: Allgemeines", "Titel I: Allgemeines"),
    ],
)
def test_what_somebody_wrote_is_kept(title: str, told: str) -> None:
    assert telling_title(title) == told
