"""Tuning values: one register, one leading place, and no silent stand-in (VAL-01 to VAL-07)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tgv_dagster.store import tuning
from tgv_dagster.store.db import Database
from tgv_dagster.store.tuning import REGISTER, TuningError


def rows(database: Database, statement: str) -> list[tuple]:
    with database.worker() as connection:
        return connection.execute(statement.encode()).fetchall()


@pytest.fixture
def seeded(database: Database) -> Database:
    with database.worker() as connection:
        tuning.seed(connection)
    return database


def change(database: Database, key: str, text: str, **account: object) -> None:
    with database.worker() as connection:
        tuning.set_value(connection, key, text, by="anna", **account)  # type: ignore[arg-type]


def test_every_value_is_seeded_with_place_owner_and_its_account(seeded: Database) -> None:
    found = rows(seeded, "SELECT key, place, owner, measured_at, measured_note FROM tuning_values")
    assert {row[0] for row in found} == {value.key for value in REGISTER}
    assert all(row[1].endswith(f":{row[0]}") and row[2] for row in found)
    accounts = {row[0]: (row[3] and row[3].date(), row[4]) for row in found}
    assert accounts == {value.key: (value.measured_on, value.measured) for value in REGISTER}
    assert all((day is None) == (note == "never") for day, note in accounts.values())
    interim = rows(seeded, "SELECT key, expires_when FROM tuning_values WHERE interim")
    assert dict(interim) == {v.key: v.expires_when for v in REGISTER if v.expires_when}
    assert ("P_MIN_SCORE", "a reranker") in interim


def test_a_value_that_nobody_set_follows_its_default_and_one_that_somebody_set_stays(
    seeded: Database,
) -> None:
    rows(seeded, "UPDATE tuning_values SET value = '5' WHERE key = 'P_TOP_K' RETURNING 1")
    change(seeded, "GESAMT_MAX", "12", note="own corpus")
    with seeded.worker() as connection:
        tuning.seed(connection)
        assert tuning.deviations(connection) == ("GESAMT_MAX",)
    assert tuning.load(seeded).integer("P_TOP_K") == tuning.P_TOP_K
    assert tuning.load(seeded).integer("GESAMT_MAX") == 12


def test_the_value_of_the_table_leads(seeded: Database) -> None:
    change(seeded, "CHUNK_CHARS", "1200", measured_at=datetime(2026, 11, 1, tzinfo=UTC))
    assert tuning.load(seeded).integer("CHUNK_CHARS") == 1200
    with seeded.worker() as connection:
        tuning.seed(connection)
        assert tuning.deviations(connection) == ("CHUNK_CHARS",)
    assert tuning.load(seeded).integer("CHUNK_CHARS") == 1200


def test_a_stand_in_is_an_event_and_told_once(seeded: Database) -> None:
    with seeded.worker() as connection:
        connection.execute("DELETE FROM tuning_values WHERE key = 'GESAMT_MAX'")
        connection.execute("UPDATE tuning_values SET value = 'six' WHERE key = 'P_TOP_K'")
    for _ in range(3):
        loaded = tuning.load(seeded)
        assert set(loaded.fallbacks) == {"GESAMT_MAX", "P_TOP_K"}
        assert loaded.integer("P_TOP_K") == 6
    told = rows(seeded, "SELECT object FROM agent_events WHERE kind = 'tuning.fallback'")
    assert sorted(row[0] for row in told) == ["tuning:GESAMT_MAX", "tuning:P_TOP_K"]
    change(seeded, "P_TOP_K", "7")
    assert tuning.load(seeded).fallbacks == ("GESAMT_MAX",)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("CHUNK_CHARS", "0"),
        ("CHUNK_CHARS", "3200.5"),
        ("P_MIN_SCORE", "nan"),
        ("P_MIN_SCORE", "2"),
        ("WORDS_FIRST", "maybe"),
        ("NO_SUCH_KEY", "1"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(seeded: Database, key: str, text: str) -> None:
    with pytest.raises(TuningError):
        change(seeded, key, text)


def test_a_floor_of_a_space_stands_beside_the_register_with_its_account(seeded: Database) -> None:
    key = "P_MIN_SCORE:use@3/512/none"
    assert tuning.load(seeded).measured(key) is None
    change(seeded, key, "0.41", note="own corpus", expires_when="the next evaluation")
    floor = tuning.load(seeded).measured(key)
    assert floor is not None
    assert (floor.value, floor.note) == (0.41, "own corpus")
    assert floor.expires_when == "the next evaluation"


def test_kinds_are_kept_apart() -> None:
    loaded = tuning.defaults()
    assert loaded.switch("WORDS_FIRST") is False
    assert loaded.number("P_MIN_SCORE") == pytest.approx(0.78)
    with pytest.raises(TuningError):
        loaded.integer("WORDS_FIRST")
    with pytest.raises(TuningError):
        loaded.integer("UNKNOWN")
