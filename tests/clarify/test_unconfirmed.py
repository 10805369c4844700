"""Known fault 110: what no person confirmed teaches nothing, however often a machine says it."""

from __future__ import annotations

from clarify_builders import document, machine_value, person, proposed, rows

from tgv_dagster import vollzug
from tgv_dagster.clarify.condensing import ENOUGH, propose_rules
from tgv_dagster.installation import Installation

CUES = '{"provider": "Holzkontor", "doc_type": "invoice"}'


def _papers(installation: Installation, count: int) -> list[int]:
    numbers = [document(installation) for _ in range(count)]
    for number in numbers:
        machine_value(installation, number, "provider", "Holzkontor GmbH")
        rows(installation, "UPDATE documents SET cues = %s::jsonb WHERE id = %s", CUES, number)
    return numbers


def _rules(installation: Installation) -> int:
    """Rules that stand after every lesson was looked at."""
    with installation.database.worker() as connection:
        propose_rules(connection)
    ((count,),) = rows(installation, "SELECT count(*) FROM pattern_rules WHERE origin ? 'lessons'")
    return count


def test_seventeen_documents_that_nobody_confirmed_teach_nothing(
    installation: Installation,
) -> None:
    numbers = _papers(installation, 17)
    assert rows(installation, "SELECT count(*) FROM learning_events") == [(0,)]
    assert _rules(installation) == 0
    anna = person(installation, "anna")
    for told, number in enumerate(numbers[:ENOUGH], start=1):
        card = proposed(installation, number, "answer", values={"provider": "Holzkontor Nord"})
        vollzug.execute(installation, anna, card.id)
        assert _rules(installation) == (told == ENOUGH)
    ((lessons, state),) = rows(
        installation,
        "SELECT jsonb_array_length(origin -> 'lessons'), state FROM pattern_rules"
        " WHERE origin ? 'lessons'",
    )
    assert (lessons, state) == (ENOUGH, "proposed")
