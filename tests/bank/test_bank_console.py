"""`tgv bank inspect` says what would happen with a file, and whether it could be booked."""

from __future__ import annotations

from pathlib import Path

import pytest
from bank_files import booking, camt, camt_statement
from typer.testing import CliRunner

from tgv_dagster.console.bank import bank_app

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
