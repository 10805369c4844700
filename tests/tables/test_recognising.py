"""One recogniser for every table: exact, near and new signatures, proposals, projects."""

import pytest

from tgv_dagster.tables.assignment import Finding, Project, ProjectValue, assign
from tgv_dagster.tables.mapping import MappingRefused, TableMapping, check
from tgv_dagster.tables.model import QuestionKind
from tgv_dagster.tables.recognising import Recognised, Schema, recognise_file
from tgv_dagster.tables.rows import project_values, readings_of, target_rows
from tgv_dagster.tables.signature import Match, Signature, compare
from tgv_dagster.tables.targets import Target

TOGGL = "\n".join(
    (
        "User,Email,Client,Project,Task,Description,Billable,"
        "Start date,Start time,End date,End time,Duration,Tags",
        "Anna,a@nord.example,Stadt,Umbau Kita,,Aufmass,No,"
        "2026-01-28,08:00:00,2026-01-28,09:30:00,01:30:00,",
        "Anna,a@nord.example,Stadt,Umbau Kita,Büro,Brief,No,"
        "2026-01-28,23:30:00,2026-01-29,00:30:00,01:00:00,",
        "",
    )
)


def recognised(text: str, schemas: tuple[Schema, ...] = (), hint: str = "") -> Recognised:
    (found,), _ = recognise_file(text.encode(), schemas, hint=hint)
    return found


def confirmed(found: Recognised) -> Schema:
    mapping = found.mapping
    readings = readings_of(found.table, mapping)
    whole = TableMapping(
        mapping.target, mapping.fields, readings, mapping.dialect, mapping.encoding
    )
    return Schema(1, found.signature, whole, {"Umbau Kita": "P-1"})


def rows(found: Recognised) -> list[tuple[object, ...]]:
    made = target_rows(found.table, found.mapping)
    assert made.aside == ()
    return made.frame.drop("position").sort("startzeit").rows()


def turned(text: str, delimiter: str) -> str:
    """The same export with its columns in reverse order and another delimiter."""
    lines = [line.split(",")[::-1] for line in text.splitlines()]
    return "\n".join(delimiter.join(line) for line in lines) + "\n"


def test_a_shipped_signature_settles_the_columns_and_still_is_new() -> None:
    found = recognised(TOGGL)

    assert (found.match, found.mapping.target) == (Match.NEW, Target.TIME)
    assert found.proposal.shipped == "Toggl Track (en)"


def test_an_entry_over_midnight_keeps_its_day_and_minutes() -> None:
    (first, second) = rows(recognised(TOGGL))

    assert [str(x) for x in first[:5]] == ["Anna", "2026-01-28", "08:00:00", "09:30:00", "90"]
    assert [str(x) for x in second[:5]] == ["Anna", "2026-01-28", "23:30:00", "00:30:00", "60"]


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_another_order_and_separator_is_near_and_gives_the_same_rows(delimiter: str) -> None:
    """TAB-21, TAB-37: names decide, not places."""
    schema = confirmed(recognised(TOGGL))

    found = recognised(turned(TOGGL, delimiter), (schema,))

    assert found.match is Match.NEAR
    assert rows(found) == rows(recognised(TOGGL, (schema,)))


def test_an_exact_signature_asks_nothing() -> None:
    found = recognised(TOGGL, (confirmed(recognised(TOGGL)),))

    assert (found.match, found.questions) == (Match.EXACT, ())


def test_what_a_person_settled_once_is_not_asked_again() -> None:
    text = TOGGL.replace("2026-01-28", "01/02/2026").replace("2026-01-29", "02/02/2026")
    first = recognised(text)
    asked = {q.kind for q in first.questions}
    readings = {"Start date": "d/m/Y", "End date": "d/m/Y"}
    mapping = TableMapping(first.mapping.target, first.mapping.fields, readings)

    again = recognised(text, (Schema(1, first.signature, mapping, {}),))

    assert asked == {QuestionKind.DATE_FORMAT}
    assert (again.match, again.questions) == (Match.EXACT, ())
    assert str(target_rows(again.table, again.mapping).frame["datum"][0]) == "2026-02-01"


def test_cells_that_contradict_the_confirmed_reading_turn_an_exact_match_into_a_question() -> None:
    first = recognised(TOGGL)
    schema = confirmed(first)
    other = TOGGL.replace("2026-01-28", "28.01.2026").replace("2026-01-29", "29.01.2026")

    assert recognised(other, (schema,)).match is Match.NEAR


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (("datum", "betrag", "text", "konto", "art"), Match.EXACT),
        (("betrag", "datum", "text", "konto", "art"), Match.NEAR),
        (("datum", "betrag", "text", "konto", "art", "neu"), Match.NEAR),
        (("datum", "betraege", "text", "konto", "art"), Match.NEAR),
        (("datum", "a", "b", "c", "art"), Match.NEW),
        (("#1", "#2", "#3", "#4", "#5"), Match.NEW),
    ],
)
def test_how_signatures_compare(labels: tuple[str, ...], match: Match) -> None:
    known = Signature(("datum", "betrag", "text", "konto", "art"), ";", "")

    assert compare(known, Signature(labels, ";", "")).match is match


def test_parts_that_disagree_set_their_row_aside() -> None:
    found = recognised(TOGGL.replace("01:30:00,", "03:30:00,"))
    made = target_rows(found.table, found.mapping)

    assert made.frame.height == 1
    assert [(a.first_line, a.detail) for a in made.aside] == [
        (2, "start, end and duration disagree")
    ]


def test_a_logbook_is_recognised_by_words_and_values_in_french_too() -> None:
    text = (
        "Date;Véhicule;Kilométrage départ;Kilométrage arrivée;Motif;Projet\n"
        "31/01/2026;AB-123-CD;12 000,0;12 034,5;Chantier;P-1\n"
    )
    found = recognised(text)

    assert found.mapping.target is Target.TRIPS
    made = target_rows(found.table, found.mapping).frame
    assert [str(x) for x in made.select("vehicle", "km_start", "km_end").row(0)] == [
        "AB-123-CD",
        "12000.0",
        "12034.5",
    ]


def test_a_table_without_the_needs_of_a_target_is_working_material() -> None:
    assert recognised("Name;Ort;Datum\nA;B;31.01.2026\n").mapping.target is Target.WORKING


def test_no_time_sheet_without_project_column() -> None:
    text = "Datum;Beginn;Ende;Mitarbeiter\n31.01.2026;08:00;09:00;Anna\n"

    assert recognised(text, hint="timetrack.csv").mapping.target is Target.WORKING


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"date": "Datum", "nonsense": "Datum"}, "no field"),
        ({"date": "Gibtsnicht"}, "no column"),
        ({"date": "Datum", "start": "Datum"}, "two fields"),
        ({"date": "Datum"}, "needs"),
    ],
)
def test_a_mapping_is_checked_and_not_believed(fields: dict[str, str], fault: str) -> None:
    with pytest.raises(MappingRefused, match=fault):
        check(TableMapping(Target.TIME, fields), ("Datum", "Start"))


def test_targets_are_a_closed_set() -> None:
    with pytest.raises(MappingRefused, match="no target"):
        TableMapping.from_json({"target": "users"})


PROJECTS = (
    Project("P-1", "Umbau Kita", "nord-gmbh", ("Kita",)),
    Project("007", "Neubau Halle", "nord-gmbh"),
    Project("P-9", "Dach Halle", "nord-sarl"),
)


@pytest.mark.parametrize(
    ("code", "name", "project", "finding"),
    [
        ("", "Umbau Kita", "P-1", Finding.SURE),
        ("", "kita", "P-1", Finding.SURE),
        ("P-1", "", "P-1", Finding.SURE),
        ("7", "Halle Neubau", "007", Finding.SURE),
        ("7", "Garten Meier", None, Finding.OTHER_NAME),
        ("", "Halle", None, Finding.SEVERAL),
        ("", "Kita Anbau West", None, Finding.COMMON_WORD),
        ("", "Garten", None, Finding.NONE),
        ("", "", None, Finding.EMPTY),
    ],
)
def test_values_are_assigned_only_when_nothing_speaks_against_it(
    code: str, name: str, project: str | None, finding: Finding
) -> None:
    (found,) = assign([ProjectValue(code, name, 3)], PROJECTS)

    assert (found.project, found.finding) == (project, finding)


def test_every_value_of_the_whole_file_is_answered() -> None:
    found = recognised(TOGGL.replace("Umbau Kita,Büro", "Garten,Büro"))

    assert [(v.key, v.rows) for v in project_values(found.table, found.mapping)] == [
        ("Umbau Kita", 1),
        ("Garten", 1),
    ]
