"""The evaluation of understanding: its set is what it claims to be, its figures are true."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tgv_dagster.deepen.evaluation import measure
from tgv_dagster.deepen.evaluation.booking_papers import FAMILIES as BOOKING_FAMILIES
from tgv_dagster.deepen.evaluation.booking_papers import booking_papers
from tgv_dagster.deepen.evaluation.contract_papers import FAMILIES as CONTRACT_FAMILIES
from tgv_dagster.deepen.evaluation.contract_papers import contract_papers
from tgv_dagster.deepen.evaluation.measure import Judged
from tgv_dagster.deepen.evaluation.papers import Part
from tgv_dagster.deepen.evaluation.rates import Rate
from tgv_dagster.deepen.evaluation.run import labelled
from tgv_dagster.understand.evidence import Field

GATED = (
    Field.DOC_TYPE, Field.ENTITY, Field.PROVIDER, Field.INVOICE_NUMBER, Field.INVOICE_DATE,
    Field.DUE_DATE, Field.AMOUNT_NET, Field.AMOUNT_TAX, Field.AMOUNT_GROSS, Field.CURRENCY,
    Field.CONTRACT_START_DATE, Field.CONTRACT_END_DATE, Field.NOTICE_PERIOD_DAYS,
)  # fmt: skip


def test_the_test_part_has_three_hundred_decisions_per_gated_field_and_four_languages() -> None:
    counts = Counter(name for paper in labelled(Part.TEST) for name in paper.truth)
    assert {name: counts[name] for name in GATED if counts[name] < 300} == {}
    assert {paper.language for paper in labelled(Part.TEST)} == {"de", "fr", "en", "it"}


def test_no_layout_family_stands_in_both_parts() -> None:
    for families in (BOOKING_FAMILIES, CONTRACT_FAMILIES):
        assert not set(families[Part.TUNING]) & set(families[Part.TEST])
        functions = [set(made.values()) for made in families.values()]
        assert not functions[0] & functions[1]


def test_the_set_is_the_same_each_time_and_half_of_it_is_nasty() -> None:
    once, again = ([p.text for p in booking_papers(Part.TEST, per_cell=2)] for _ in range(2))
    assert once == again
    halves = Counter(paper.is_nasty for paper in labelled(Part.TEST))
    assert halves[True] == halves[False]


def test_a_wrong_stated_value_is_judged_wrong_and_a_right_one_right() -> None:
    (paper, *_) = booking_papers(Part.TUNING, per_cell=1)
    lie = replace(paper, truth=dict(paper.truth) | {Field.AMOUNT_GROSS: "1.23"})
    told = {d.field: d.judged for d in measure.measure([lie]).decisions}
    assert told[Field.AMOUNT_GROSS] is Judged.WRONG
    assert told[Field.AMOUNT_NET] is Judged.RIGHT
    nothing = replace(paper, truth={Field.AMOUNT_GROSS: None})
    (decision,) = measure.measure([nothing]).decisions
    assert decision.judged is Judged.WRONG


def test_what_is_not_stated_is_asked_or_left_open() -> None:
    (paper, *_) = booking_papers(Part.TUNING, per_cell=1)
    silent = replace(
        paper, text="", truth={Field.DOC_TYPE: "invoice", Field.DUE_DATE: "2026-01-02"}
    )
    ends = {d.field: d.judged for d in measure.measure([silent]).decisions}
    assert ends == {Field.DOC_TYPE: Judged.ASKED, Field.DUE_DATE: Judged.OPEN}


@pytest.mark.parametrize(
    ("events", "trials", "upper"),
    [(0, 300, 0.00994), (3, 300, 0.02566), (0, 10, 0.25887), (10, 10, 1.0)],
)
def test_the_upper_bound_is_that_of_clopper_and_pearson(
    events: int, trials: int, upper: float
) -> None:
    assert Rate(events, trials).upper() == pytest.approx(upper, abs=2e-4)


def test_nothing_measured_is_unmeasured() -> None:
    assert str(Rate(0, 0)) == "unmeasured"
    assert measure.expected_error(()) is None


def test_at_most_one_stated_value_in_a_hundred_is_wrong() -> None:
    """A sample of the test part; the whole is measured by the asset."""
    sample = [*booking_papers(Part.TEST, per_cell=2), *contract_papers(Part.TEST, per_cell=2)]
    measured = measure.measure(sample)
    wrong = measure.silent_wrong(measured.decisions)
    assert wrong.trials > 400
    assert wrong.events * 100 <= wrong.trials
