"""Tuning values on the console: what was measured is shown, and only the owner sets one."""

from __future__ import annotations

from pathlib import Path

import pytest
from shared_builders import import_test_organisation
from typer.testing import CliRunner, Result

from tgv_dagster.cli import app
from tgv_dagster.settings import load_settings
from tgv_dagster.store import tuning
from tgv_dagster.store.db import Database


@pytest.fixture
def organised(database: Database) -> Database:
    import_test_organisation(database)
    return database


def tgv(database: Database, home: Path, *words: str) -> Result:
    environment = {"TGV_HOME": str(home), "TGV_DATABASE_URL": database.url}
    load_settings.cache_clear()
    try:
        return CliRunner().invoke(app, ["tuning", *words], env=environment)
    finally:
        load_settings.cache_clear()


def test_a_value_is_set_with_its_account_and_shown_with_it(
    organised: Database, tmp_path: Path
) -> None:
    said = ("--measured", "own corpus, 40 questions", "--until", "spring", "--as", "chef")
    assert tgv(organised, tmp_path, "set", "P_MIN_SCORE:some-space", "0.31", *said).exit_code == 0
    found = tuning.load(organised).measured("P_MIN_SCORE:some-space")
    assert found is not None
    assert (found.value, found.note, found.expires_when) == (
        0.31,
        "own corpus, 40 questions",
        "spring",
    )
    assert found.measured_at is not None
    listed = tgv(organised, tmp_path, "list").output
    assert "P_MIN_SCORE:some-space = 0.31 (chef)" in listed
    assert "own corpus, 40 questions" in listed


@pytest.mark.parametrize(
    "words",
    [
        ("set", "NO_SUCH_KEY", "1", "--as", "chef"),
        ("set", "P_TOP_K", "many", "--as", "chef"),
        ("set", "P_TOP_K", "7", "--as", "anna"),
        ("set", "P_TOP_K", "7", "--as", "nobody"),
    ],
)
def test_what_does_not_fit_or_is_nobody_s_to_set_changes_nothing(
    organised: Database, tmp_path: Path, words: tuple[str, ...]
) -> None:
    answer = tgv(organised, tmp_path, *words)
    assert answer.exit_code == 1
    assert "Traceback" not in answer.output
    assert "database" not in answer.output
    assert tuning.load(organised).integer("P_TOP_K") == tuning.P_TOP_K
