"""Tables on a narrow screen: cells are folded, and nothing of them is cut away."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

import tgv_dagster.console
from tgv_dagster.console.common import table_of

ROW = ("17", "DE89370400440532013000", "Geschäftskonto Nordlicht Tischlerei", "nord-gmbh",
       "EUR", "proposed")  # fmt: skip


@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_cell_loses_a_character(width: int):
    table = table_of("id", "account", "name", "entity", "currency", "state")
    table.add_row(*ROW)
    screen = Console(file=io.StringIO(), width=width)
    screen.print(table)
    shown = screen.file.getvalue()  # type: ignore[attr-defined]

    assert "…" not in shown
    columns = [line.split("│")[1:-1] for line in shown.splitlines() if line.startswith("│")]
    cells = ["".join(part.strip() for part in column) for column in zip(*columns, strict=True)]
    assert [cell.replace(" ", "") for cell in cells] == [cell.replace(" ", "") for cell in ROW]


def test_every_table_of_the_console_is_made_this_way():
    folder = Path(tgv_dagster.console.__file__).parent
    users = [path.name for path in folder.glob("*.py") if " Table(" in path.read_text("utf-8")]

    assert users == ["common.py"]
