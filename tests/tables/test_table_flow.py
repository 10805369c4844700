"""From a file to its rows: asked once, then without a question, each row once, exact undo."""

import pytest
from table_flow import (
    MORNING,
    NOON,
    card_of,
    entries,
    entry,
    execute,
    executor,
    export,
    organised,
    rows,
    scope_of,
    states,
    taken,
)

from tgv_dagster.clarify import execution
from tgv_dagster.clarify.cases import CaseNotFound, NotAnswerable
from tgv_dagster.clarify.conversation import propose_for_document
from tgv_dagster.clarify.execution import CardNotFound, Refused
from tgv_dagster.store.db import Database
from tgv_dagster.store.scope import ScopeError
from tgv_dagster.tables.working import WorkingNotFound, working_tables


@pytest.fixture
def office(database: Database) -> Database:
    return organised(database)


def test_the_first_file_of_a_kind_is_asked_and_nothing_is_written(office: Database) -> None:
    """CLAR-09, TAB-06, TAB-42: the first file of a kind shows a card with values."""
    facts = taken(office, export(MORNING))

    assert entries(office) == []
    assert states(office, facts) == [(1, "asked", 0, 0, 0)]
    assert card_of(office, facts)[1] == ["take_over", "working"]


def test_the_case_shows_values_and_not_columns(office: Database) -> None:
    facts = taken(office, export(MORNING))
    ((evidence,),) = rows(
        office, "SELECT evidence FROM cases WHERE document_id = %s", facts.document_id
    )

    assert evidence["probe"][0]["start"] == "08:00:00"
    assert evidence["hit_rate"] == 1.0
    assert evidence["projects"][0]["project"] == "P-1"


def test_one_act_writes_schema_rows_and_document(office: Database) -> None:
    """CLAR-12, TAB-16: rows come from the confirmed schema, all of them or none."""
    facts = taken(office, export(MORNING, NOON))

    outcome = execute(office, facts, "take_over")

    assert outcome.card.result is not None
    assert entries(office) == [
        ("08:00", 90, "P-1", "nord-gmbh"),
        ("12:00", 60, "P-1", "nord-gmbh"),
    ]
    assert states(office, facts) == [(1, "imported", 2, 0, 0)]
    assert rows(office, "SELECT decision_type FROM agent_decisions") == [("import_schema",)]
    assert rows(office, "SELECT field FROM learning_events") == [("table_schema",)]


def test_every_row_says_where_it_comes_from(office: Database) -> None:
    facts = taken(office, export(MORNING))
    execute(office, facts, "take_over")
    ((document_id, status, told),) = rows(
        office, "SELECT document_id, check_status, provenance FROM prf_timetrack"
    )

    assert (document_id, status) == (facts.document_id, "needs_review")
    assert (told["first_line"], told["source_file"], told["file"]) == (2, "toggl.csv", facts.sha256)
    assert told["raw"] == MORNING.split(",")


def test_the_next_file_of_a_confirmed_kind_asks_nothing(office: Database) -> None:
    """TAB-06, LEARN-08: the confirmed kind decides without question."""
    execute(office, taken(office, export(MORNING)), "take_over")

    facts = taken(office, export(NOON))

    assert states(office, facts) == [(1, "imported", 1, 0, 0)]
    assert len(entries(office)) == 2


def test_the_same_rows_again_and_overlapping_files_are_written_once(office: Database) -> None:
    execute(office, taken(office, export(MORNING)), "take_over")

    facts = taken(office, export(MORNING, NOON))

    assert states(office, facts) == [(1, "imported", 1, 1, 0)]
    assert len(entries(office)) == 2


def test_a_row_that_shares_space_with_another_is_reported_and_not_written(office: Database) -> None:
    execute(office, taken(office, export(MORNING)), "take_over")

    facts = taken(office, export(entry("2026-01-28", "09:00:00", "10:00:00", "01:00:00")))

    assert states(office, facts) == [(1, "imported", 0, 0, 1)]
    ((aside,),) = rows(
        office, "SELECT aside_rows FROM table_imports WHERE document_id = %s", facts.document_id
    )
    assert (aside[0]["reason"], aside[0]["first_line"]) == ("interval", 2)


LATE = entry("2026-01-28", "22:00", "24:00", "02:00")


def test_an_entry_until_midnight_ends_with_the_day(office: Database) -> None:
    early = entry("2026-01-29", "00:00", "01:00", "01:00")
    execute(office, taken(office, export(LATE, early)), "take_over")
    inside = entry("2026-01-28", "23:30", "23:45", "00:15")

    facts = taken(office, export(inside))

    assert [(start, minutes) for start, minutes, *_ in entries(office)] == [
        ("22:00", 120),
        ("00:00", 60),
    ]
    assert states(office, facts) == [(1, "imported", 0, 0, 1)]


def test_a_confirmed_kind_reads_midnight_that_it_never_saw(office: Database) -> None:
    execute(office, taken(office, export(MORNING, NOON)), "take_over")

    facts = taken(office, export(LATE, entry("2026-01-30", "00:00", "24:00", "24:00")))

    assert states(office, facts) == [(1, "imported", 2, 0, 0)]
    assert [(start, minutes) for start, minutes, *_ in entries(office)[2:]] == [
        ("22:00", 120),
        ("00:00", 1440),
    ]
    again = taken(office, export(entry("2026-01-30", "23:00", "23:30", "00:30")))
    assert states(office, again) == [(1, "imported", 0, 0, 1)]


def test_an_entry_that_begins_at_24_begins_the_next_day(office: Database) -> None:
    late = "Anna,a@x.example,Stadt,Umbau Kita,,Arbeit,No,2026-01-28,24:00,2026-01-29,01:00,01:00"
    execute(office, taken(office, export(late)), "take_over")

    assert rows(office, "SELECT datum::text, minutes FROM prf_timetrack") == [("2026-01-29", 60)]


def test_two_equal_lines_of_one_person_are_not_both_written(office: Database) -> None:
    facts = taken(office, export(MORNING, MORNING))
    execute(office, facts, "take_over")

    assert len(entries(office)) == 0
    assert states(office, facts) == [(1, "imported", 0, 0, 2)]


def test_an_unknown_project_in_a_confirmed_kind_is_asked_before_anything_is_written(
    office: Database,
) -> None:
    execute(office, taken(office, export(MORNING)), "take_over")
    other = entry("2026-01-30", "08:00:00", "09:00:00", "01:00:00", "Brandneu")

    facts = taken(office, export(NOON, other))

    assert states(office, facts)[0][1] == "asked"
    assert card_of(office, facts)[1] == ["working"]
    assert len(entries(office)) == 1


def test_a_corrected_proposal_answers_what_was_open(office: Database) -> None:
    """TAB-45: a column is corrected on the card."""
    other = entry("2026-01-30", "08:00:00", "09:00:00", "01:00:00", "Brandneu")
    facts = taken(office, export(other))
    anna = scope_of(office, "anna")
    corrected = {
        "target": "prf_timetrack",
        "fields": {
            "person": "Email", "project": "Project", "description": "Description",
            "date": "Start date", "start": "Start time", "end": "End time",
        },
        "projects": {"Brandneu": "P-1"},
    }  # fmt: skip
    card = propose_for_document(
        executor(office), anna, facts.document_id, "confirm_table", corrected
    )

    execution.execute(executor(office), anna, card.id)

    assert entries(office) == [("08:00", 60, "P-1", "nord-gmbh")]
    assert rows(office, "SELECT benutzername FROM prf_timetrack") == [("a@x.example",)]


def test_rows_without_project_stay_without_organisation(office: Database) -> None:
    facts = taken(office, export(entry("2026-01-28", "08:00:00", "09:00:00", "01:00:00", "")))
    execute(office, facts, "take_over")

    assert entries(office) == [("08:00", 60, None, None)]
    for login, mandant, seen in (("chef", None, 1), ("anna", "nord", 0)):
        with office.reading(scope_of(office, login, mandant)) as connection:
            found = connection.execute("SELECT count(*) FROM prf_timetrack").fetchone()
        assert found == (seen,), login


def test_one_file_can_concern_several_tenants_of_one_manager(office: Database) -> None:
    west = entry("2026-01-28", "14:00:00", "15:00:00", "01:00:00", "Chantier Ouest")
    facts = taken(office, export(MORNING, west))
    execute(office, facts, "take_over")

    assert {row[3] for row in entries(office)} == {"nord-gmbh", "west-sarl"}
    for login, mandant, seen in (
        ("anna", "nord", 1),
        ("anna", "west", 1),
        ("nils", "nord", 1),
        ("sven", "sued", 0),
        ("vera", "nord", 0),
    ):
        with office.reading(scope_of(office, login, mandant)) as connection:
            found = connection.execute("SELECT count(*) FROM prf_timetrack").fetchone()
        assert found == (seen,), (login, mandant)


def test_who_manages_one_tenant_only_may_not_write_into_the_other(office: Database) -> None:
    west = entry("2026-01-28", "14:00:00", "15:00:00", "01:00:00", "Chantier Ouest")
    facts = taken(office, export(west))

    with pytest.raises(NotAnswerable, match="TAB-26"):
        execute(office, facts, "take_over", login="nils")

    assert entries(office) == []


def test_a_foreign_tenant_with_the_same_labels_gets_not_one_row(office: Database) -> None:
    execute(office, taken(office, export(MORNING)), "take_over")

    facts = taken(office, export(NOON), entity="haus-sued")

    assert states(office, facts)[0][1] == "asked"
    assert card_of(office, facts)[1] == ["working"]
    assert len(entries(office)) == 1


def test_a_viewer_decides_nothing(office: Database) -> None:
    """A viewer is refused the act, a stranger does not even find the card."""
    facts = taken(office, export(MORNING))

    with pytest.raises((ScopeError, CardNotFound)):
        execute(office, facts, "take_over", login="vera")
    with pytest.raises((CardNotFound, CaseNotFound)):
        execute(office, facts, "take_over", login="sven", mandant="sued")


def test_rows_are_read_by_the_managers_of_their_tenant_and_by_nobody_else(
    office: Database,
) -> None:
    """TAB-31: a viewer and a stranger see no row."""
    execute(office, taken(office, export(MORNING)), "take_over")

    def seen(login: str, mandant: str) -> int:
        with office.reading(scope_of(office, login, mandant)) as connection:
            return len(connection.execute("SELECT id FROM prf_timetrack").fetchall())

    assert (seen("anna", "nord"), seen("nils", "nord")) == (1, 1)
    assert (seen("vera", "nord"), seen("sven", "sued"), seen("anna", "west")) == (0, 0, 0)


def test_a_withdrawal_takes_out_exactly_the_rows_of_that_document(office: Database) -> None:
    first = taken(office, export(MORNING))
    done = execute(office, first, "take_over")
    taken(office, export(NOON))

    execution.withdraw(
        executor(office), scope_of(office, "anna"), done.card.id, reason="falsche Datei"
    )

    assert entries(office) == [("12:00", 60, "P-1", "nord-gmbh")]
    assert states(office, first)[0][1] == "undone"


def test_a_withdrawn_import_comes_again_as_the_next_generation(office: Database) -> None:
    facts = taken(office, export(MORNING))
    done = execute(office, facts, "take_over")
    execution.withdraw(executor(office), scope_of(office, "anna"), done.card.id, reason="Probe")

    taken(office, export(MORNING), facts)
    execute(office, facts, "take_over")

    assert [row[:2] for row in states(office, facts)] == [(1, "undone"), (2, "imported")]
    assert len(entries(office)) == 1


def test_rows_somebody_released_stay_and_are_named(office: Database) -> None:
    facts = taken(office, export(MORNING, NOON))
    done = execute(office, facts, "take_over")
    with office.owner() as connection:
        connection.execute(
            "UPDATE prf_timetrack SET check_status = 'released' WHERE startzeit = '08:00'"
        )

    outcome = execution.withdraw(
        executor(office), scope_of(office, "anna"), done.card.id, reason="Probe"
    )

    assert [row[0] for row in entries(office)] == ["08:00"]
    assert "it is released" in str(outcome.card.result)


def test_working_material_writes_no_booking_and_keeps_its_wall(office: Database) -> None:
    facts = taken(office, export(MORNING))
    execute(office, facts, "working")

    assert entries(office) == []
    (found,) = working_tables(office, scope_of(office, "vera"), facts.document_id)
    assert found.frame.get_column("Start date").to_list()[0].isoformat() == "2026-01-28"
    with pytest.raises(WorkingNotFound):
        working_tables(office, scope_of(office, "sven", "sued"), facts.document_id)


def test_no_one_above_the_ceiling_reads_working_material(office: Database) -> None:
    facts = taken(office, export(MORNING))
    execute(office, facts, "working")
    with office.worker() as connection:
        connection.execute(
            "UPDATE documents SET confidentiality_level = 'vertraulich' WHERE id = %s",
            (facts.document_id,),
        )

    assert working_tables(office, scope_of(office, "vera")) == ()
    assert len(working_tables(office, scope_of(office, "anna"))) == 1


def test_open_formats_are_choices_and_the_answer_is_remembered(office: Database) -> None:
    lines = entry("03/02/2026", "08:00:00", "09:30:00", "01:30:00")
    facts = taken(office, export(lines))

    assert card_of(office, facts)[1] == ["take_over:d/m/Y", "take_over:m/d/Y", "working"]
    execute(office, facts, "take_over:d/m/Y")
    again = taken(office, export(entry("04/02/2026", "08:00:00", "09:30:00", "01:30:00")))

    assert states(office, again) == [(1, "imported", 1, 0, 0)]
    days = rows(office, "SELECT datum::text FROM prf_timetrack ORDER BY datum")
    assert days == [("2026-02-03",), ("2026-02-04",)]


def test_how_a_file_is_written_can_be_said_and_then_it_is_read_so(office: Database) -> None:
    content = b'Name;Ort\nA;"B"\nC;D\n'
    facts = taken(office, content, name="liste.csv")
    card, choices = card_of(office, facts)

    assert choices[:2] == ["0", "1"]
    execution.execute(executor(office), scope_of(office, "anna"), card, choice="1")
    taken(office, content, facts)

    assert card_of(office, facts)[1] == ["working"]


def test_what_no_reader_understands_is_recorded_with_its_reason(office: Database) -> None:
    facts = taken(office, b"\x00\x01\x02" * 500, name="kaputt.xls")

    assert rows(
        office, "SELECT state, reason FROM table_imports WHERE document_id = %s", facts.document_id
    ) == [("unreadable", "no reader for this binary format")]


def test_a_failing_import_leaves_everything_as_before(office: Database) -> None:
    facts = taken(office, export(MORNING))
    card, _ = card_of(office, facts)
    with office.owner() as connection:
        connection.execute(
            "ALTER TABLE prf_timetrack ADD CONSTRAINT refuse_all CHECK (minutes < 0) NOT VALID"
        )

    with pytest.raises(Exception, match="refuse_all"):
        execute(office, facts, "take_over")

    assert states(office, facts) == [(1, "asked", 0, 0, 0)]
    assert rows(office, "SELECT count(*) FROM import_schema") == [(0,)]
    assert card_of(office, facts)[0] == card


def test_a_decided_table_is_not_decided_again(office: Database) -> None:
    facts = taken(office, export(MORNING))
    anna = scope_of(office, "anna")
    told = {"target": "working"}
    second = propose_for_document(executor(office), anna, facts.document_id, "confirm_table", told)
    execute_first = rows(
        office,
        "SELECT k.id FROM cards k JOIN cases c ON c.id = k.case_id WHERE c.kind = 'new_schema'",
    )[0][0]
    execution.execute(executor(office), anna, execute_first, choice="take_over")

    with pytest.raises((Refused, execution.CardStale)):
        execution.execute(executor(office), anna, second.id)

    assert states(office, facts)[0][1] == "imported"
