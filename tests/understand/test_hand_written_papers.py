"""Papers by hand: no stated value is wrong, few are left open, each in a listed outcome."""

from __future__ import annotations

from datetime import date

import pytest
from hand_written_papers import PAPERS, Paper
from understanding_papers import VOCABULARY

from tgv_dagster.deepen.specialists import SpecialistInput, specialise
from tgv_dagster.understand.evidence import Finding
from tgv_dagster.understand.triage import TriageInput, triage


def _statements(paper: Paper) -> dict[str, Finding]:
    result = triage(
        TriageInput(pages=(paper.text,), vocabulary=VOCABULARY, media_type="application/pdf")
    )
    asked = frozenset(point.field for point in result.open_points)
    added = specialise(
        SpecialistInput(
            result.doc_type,
            (paper.text,),
            result.findings,
            asked,
            result.language,
            as_of=date(2026, 11, 15),
        )
    )
    return {found.field.value: found for found in (*result.findings, *added.findings)}


def _stored(found: Finding | None) -> str | None:
    if found is None or found.value is None:
        return None
    return str(found.value).lower() if isinstance(found.value, bool) else str(found.value)


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_no_stated_value_is_wrong(paper: Paper) -> None:
    statements = _statements(paper)
    wrong = {
        name: (_stored(statements.get(name)), true)
        for name, true in paper.truth.items()
        if _stored(statements.get(name)) not in (None, "unknown", true)
    }
    assert wrong == {}


def test_at_most_one_in_twenty_truths_is_left_open() -> None:
    truths = [
        (paper.name, name, _stored(_statements(paper).get(name)))
        for paper in PAPERS
        for name, true in paper.truth.items()
        if true is not None
    ]
    left_open = [truth for truth in truths if truth[2] in (None, "unknown")]
    assert len(left_open) * 20 <= len(truths), left_open
