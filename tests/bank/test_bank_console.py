"""The bank on the console: what would happen with a file, and links a person decides or makes."""

from __future__ import annotations

from pathlib import Path

import pytest
from bank_files import booking, camt, camt_statement
from bank_walks import add_account, bring, invoice, number
from shared_builders import import_test_organisation
from typer.testing import CliRunner, Result

from tgv_dagster.bank import matching
from tgv_dagster.cli import app
from tgv_dagster.console.bank import bank_app
from tgv_dagster.settings import load_settings
from tgv_dagster.store.db import Database

GOOD = camt(camt_statement([booking("2026-03-02", "-10.00", "Gebuehr")]))


@pytest.mark.parametrize(
    ("content", "status", "told"),
    [
        (GOOD, 0, "1 entries, 1 lines"),
        (GOOD.replace(b">10.00<", b">11.00<"), 1, "is not the closing balance"),
        (b"!Type:Bank\nD01/02/2026\n", 1, "QIF"),
        (b"Sehr geehrte Damen und Herren", 1, "no bank file"),
    ],
)
def test_inspecting_a_file(tmp_path: Path, content: bytes, status: int, told: str) -> None:
    path = tmp_path / "auszug"
    path.write_bytes(content)
    result = CliRunner().invoke(bank_app, ["inspect", str(path)])
    assert result.exit_code == status
    assert told in " ".join(result.output.split())


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    result = CliRunner().invoke(bank_app, ["inspect", str(tmp_path / "none.xml")])
    assert result.exit_code == 1
    assert "none.xml" in "".join(result.output.split())


def tgv_bank(database: Database, home: Path, *words: object) -> Result:
    environment = {"TGV_HOME": str(home), "TGV_DATABASE_URL": database.url}
    load_settings.cache_clear()
    try:
        return CliRunner().invoke(app, ["bank", *map(str, words)], env=environment)
    finally:
        load_settings.cache_clear()


@pytest.fixture
def proposal(database: Database) -> tuple[Database, int]:
    """A firm with a proposed link of a booking and an invoice over 25.00."""
    import_test_organisation(database)
    add_account(database)
    invoice(database, "25.00", "RE-4711")
    bring(database, camt(camt_statement([booking("2026-03-02", "-25.00", "Rechnung RE-4711")])))
    with database.worker() as connection:
        matching.propose_links(connection)
        return database, number(connection, "SELECT id FROM txn_document_links")


def links(database: Database) -> list[tuple[str, str]]:
    """State and amount of every link."""
    with database.worker() as connection:
        return connection.execute(
            "SELECT state, amount::text FROM txn_document_links ORDER BY id"
        ).fetchall()


@pytest.mark.parametrize(
    ("word", "told", "left"),
    [("confirm", "confirmed", [("confirmed", "25.00")]), ("reject", "rejected", [])],
)
def test_a_proposed_link_is_decided(
    proposal: tuple[Database, int],
    tmp_path: Path,
    word: str,
    told: str,
    left: list[tuple[str, str]],
) -> None:
    database, link = proposal
    listed = tgv_bank(database, tmp_path, "links", "--as", "anna").output
    assert "25.00" in listed
    done = tgv_bank(database, tmp_path, "decide", "link", link, f"--{word}", "--as", "anna")
    assert (done.exit_code, done.output.strip()) == (0, told)
    assert links(database) == left
    again = tgv_bank(database, tmp_path, "decide", "link", link, f"--{word}", "--as", "anna")
    assert again.exit_code == 1
    assert str(link) in again.output


@pytest.mark.parametrize(
    ("login", "told"), [("vera", "mandant_admin"), ("emil", "mandant_admin"), ("sven", "may see")]
)
def test_who_may_not_decide_about_money_is_told_and_changes_nothing(
    proposal: tuple[Database, int], tmp_path: Path, login: str, told: str
) -> None:
    database, link = proposal
    before = links(database)
    for words in (("decide", "link", link, "--confirm"), ("link", 1, 1)):
        done = tgv_bank(database, tmp_path, *words, "--as", login)
        assert done.exit_code == 1
        assert told in done.output
    assert links(database) == before


def test_a_link_by_hand_explains_what_is_open_and_no_more(
    database: Database, tmp_path: Path
) -> None:
    import_test_organisation(database)
    add_account(database)
    paper = invoice(database, "200.00", "RE-4713")
    bring(database, camt(camt_statement([booking("2026-03-03", "-150.00", "ohne Nummer")])))
    with database.worker() as connection:
        txn = number(connection, "SELECT id FROM txn_master")
    made = tgv_bank(database, tmp_path, "link", txn, paper, "--as", "anna")
    assert (made.exit_code, links(database)) == (0, [("confirmed", "150.00")])
    assert "explains 150" in made.output
    again = tgv_bank(database, tmp_path, "link", txn, paper, "--as", "anna")
    assert again.exit_code == 1
    assert "whole amount" in again.output
    missing = tgv_bank(database, tmp_path, "link", 999_999, paper, "--as", "anna")
    assert missing.exit_code == 1
    assert len(links(database)) == 1
