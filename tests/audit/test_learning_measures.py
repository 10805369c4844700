"""Capture, condensing and reading back of the learning loop: each turns red by itself."""

from __future__ import annotations

from audit_builders import document, measure, sql

from tgv_dagster.audit.verdict import State
from tgv_dagster.clarify import condensing
from tgv_dagster.installation import Installation
from tgv_dagster.understand.evidence import Field
from tgv_dagster.understand.values import set_human_value


def taught(installation: Installation, *, propose: bool = True) -> list[int]:
    """Three documents of one sender, decided alike by a person."""
    numbers = [document(installation) for _ in range(3)]
    for number in numbers:
        sql(
            installation,
            'UPDATE documents SET cues = \'{"provider": "Meier Bau"}\' WHERE id = %s',
            number,
        )
        with installation.database.worker() as connection:
            set_human_value(connection, number, Field.PROVIDER, "Meier Bau GmbH", by="anna")
    if propose:
        with installation.database.worker() as connection:
            assert len(condensing.propose_rules(connection)) == 1
    return numbers


def approved(installation: Installation) -> int:
    """A rule in force and a document understood after it, on which it acted; its number."""
    taught(installation)
    sql(
        installation,
        "UPDATE pattern_rules SET state = 'approved', approved_by = 'anna',"
        " changed_at = now() - interval '1 hour'",
    )
    number = document(installation)
    sql(
        installation,
        'UPDATE documents SET cues = \'{"provider": "MEIER BAU"}\' WHERE id = %s',
        number,
    )
    sql(
        installation,
        "INSERT INTO document_values (document_id, field, value, origin, confidence, rule_id,"
        " set_by, version) SELECT %s, 'provider', 'Meier Bau GmbH', 'rule', 0.9,"
        " 'learned:' || id, 'triage', '1' FROM pattern_rules",
        number,
    )
    return number


def test_every_decision_is_captured(installation: Installation) -> None:
    assert measure(installation, "learning_capture").state is State.UNMEASURED
    numbers = taught(installation)
    assert measure(installation, "learning_capture").state is State.GREEN
    sql(installation, "DELETE FROM learning_events WHERE document_id = %s", numbers[0])
    verdict = measure(installation, "learning_capture")
    assert (verdict.state, verdict.evidence) == (State.RED, (f"document:{numbers[0]}",))


def test_equal_corrections_stand_as_a_rule(installation: Installation) -> None:
    assert measure(installation, "learning_condensed").state is State.UNMEASURED
    taught(installation, propose=False)
    assert measure(installation, "learning_condensed").state is State.RED
    with installation.database.worker() as connection:
        condensing.propose_rules(connection)
    assert measure(installation, "learning_condensed").state is State.GREEN


def test_an_approved_rule_acts_on_what_comes_after_it(installation: Installation) -> None:
    assert measure(installation, "learning_read_back").state is State.UNMEASURED
    number = approved(installation)
    assert measure(installation, "learning_read_back").state is State.GREEN
    sql(
        installation,
        "UPDATE document_values SET origin = 'machine', value = 'Meier Bau', rule_id = 'r'"
        " WHERE document_id = %s AND field = 'provider'",
        number,
    )
    verdict = measure(installation, "learning_read_back")
    assert (verdict.state, verdict.evidence) == (State.RED, (f"document:{number}",))


def test_a_rule_that_cannot_be_read_is_red(installation: Installation) -> None:
    approved(installation)
    sql(installation, 'UPDATE pattern_rules SET condition = \'{"shoe_size": "43"}\'')
    verdict = measure(installation, "learning_read_back")
    assert verdict.state is State.RED
    assert verdict.evidence[0].startswith("rule:")
