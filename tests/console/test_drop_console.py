"""`tgv drop`: the same drop as at the page, with a line per file."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tgv_dagster.cli import app
from tgv_dagster.flow import run_until_idle
from tgv_dagster.installation import Installation
from tgv_dagster.settings import load_settings

LETTER = "Werkstattnachrichten. Der Schraubstock steht ab Montag in der Halle bereit.\n"


def drop(installation: Installation, *words: object) -> Result:
    environment = {
        "TGV_HOME": str(installation.settings.home),
        "TGV_DATABASE_URL": installation.database.url,
    }
    load_settings.cache_clear()
    try:
        return CliRunner().invoke(app, ["drop", *map(str, words)], env=environment)
    finally:
        load_settings.cache_clear()


def paper(folder: Path, name: str, text: str = LETTER) -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def rows(installation: Installation, query: str) -> list[tuple[object, ...]]:
    with installation.database.worker() as connection:
        return connection.execute(query.encode()).fetchall()


def test_files_are_dropped_with_all_that_is_known_of_them(
    installation: Installation, tmp_path: Path
) -> None:
    files = (paper(tmp_path, "Brief [1].txt"), paper(tmp_path, "Notiz.txt", LETTER + "Zweitens."))
    done = drop(
        installation, *files, "--intent", "bitte ablegen", "--entity", "nord-gmbh",
        "--level", "vertraulich", "--person", "vera", "--no-verbatim-ok",
        "--copyright-holder", "Atelier Façade", "--as", "emil",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert done.output.splitlines() == ["Brief [1].txt: taken", "Notiz.txt: taken"]
    assert set(
        rows(installation, "SELECT gate, uploader, intent_text, entity_hint FROM arrivals")
    ) == {("drop", "emil", "bitte ablegen", "nord-gmbh")}
    run_until_idle(installation)
    assert rows(
        installation,
        "SELECT count(*), count(circle) FROM documents d WHERE entity = 'nord-gmbh'"
        " AND 2 = (SELECT count(*) FROM document_values v WHERE v.document_id = d.id"
        " AND v.origin = 'human' AND v.set_by = 'emil' AND v.field LIKE 'rights_%'"
        " AND v.value IN ('false', 'Atelier Façade'))",
    ) == [(2, 2)]
    again = drop(installation, files[0], "--as", "anna")
    assert again.exit_code == 0
    assert again.output.startswith("Brief [1].txt: already_here")
    assert rows(installation, "SELECT count(*) FROM documents") == [(2,)]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--as", "vera"), 1),
        (("--as", "nobody"), 1),
        (("--as", "emil", "--entity", "haus-sued"), 1),
        (("--as", "emil", "--person", "niemand"), 1),
        (("--as", "emil", "--visible-from", "gestern"), 2),
    ],
)
def test_a_drop_that_cannot_be_is_told_and_secures_nothing(
    installation: Installation, tmp_path: Path, words: tuple[str, ...], status: int
) -> None:
    done = drop(installation, paper(tmp_path, "Brief.txt"), *words)
    assert done.exit_code == status, done.output
    assert done.output.strip()
    assert "Traceback" not in done.output
    assert rows(installation, "SELECT count(*) FROM arrivals") == [(0,)]
