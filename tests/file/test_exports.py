"""An export holds what its scope may see, copied and compared, and names its strictest level."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgv_dagster.file.exports import (
    DEFAULT_TEMPLATE,
    ExportRefused,
    ExportReport,
    Facts,
    LeftOut,
    check_template,
    export,
    path_of,
)
from tgv_dagster.flow import run_until_idle
from tgv_dagster.installation import Installation
from tgv_dagster.store.levels import Level
from tgv_dagster.store.scope import Scope

TEXT = "Nordlicht Tischlerei GmbH\nHafenweg 1\n20457 Hamburg\n\nNotiz {} zum Umbau Kita\n"


def filled(installation: Installation) -> None:
    """Two papers of the tenant nord, one of them confidential, and one of the tenant sued."""
    for folder, name in (
        ("nord/nord-gmbh", "eins.txt"),
        ("nord/nord-gmbh", "zwei.txt"),
        ("sued/haus-sued", "drei.txt"),
    ):
        place = installation.settings.inbox_path / folder
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(TEXT.format(name))
    run_until_idle(installation)
    with installation.database.worker() as connection:
        connection.execute("UPDATE documents SET confidentiality_level = 'intern'")
        connection.execute(
            "UPDATE documents SET confidentiality_level = 'vertraulich'"
            " WHERE file_name = 'zwei.txt'"
        )


def exported(
    installation: Installation, login: str, target: Path, template: str = DEFAULT_TEMPLATE
) -> ExportReport:
    mandant = "sued" if login == "sven" else "nord"
    scope = Scope.for_principal(installation.database, login, mandant=mandant, source="test")
    return export(installation.database, installation.blobs, scope, target, template=template)


def names(report: ExportReport) -> set[str]:
    return {path.name for path in report.folder.rglob("*.txt")}


def test_each_reader_gets_what_the_walls_allow_and_the_level_is_named(
    installation: Installation, tmp_path: Path
) -> None:
    filled(installation)
    template = "{entity}/{number}/{file_name}"
    anna = exported(installation, "anna", tmp_path, template)
    assert (names(anna), anna.level) == ({"eins.txt", "zwei.txt"}, Level.CONFIDENTIAL)
    assert anna.folder.name.endswith("-vertraulich")
    vera = exported(installation, "vera", tmp_path, template)
    assert (names(vera), vera.level) == ({"eins.txt"}, Level.INTERNAL)
    assert names(exported(installation, "sven", tmp_path, template)) == {"drei.txt"}
    manifest = json.loads((vera.folder / "export.json").read_text(encoding="utf-8"))
    assert (manifest["highest_level"], manifest["made_by"]) == ("intern", "vera")
    assert len(manifest["documents"]) == 1


def test_copies_are_not_the_stored_bytes(installation: Installation, tmp_path: Path) -> None:
    filled(installation)
    made = exported(installation, "vera", tmp_path)
    (copy,) = made.folder.rglob("*.txt")
    assert copy.stat().st_nlink == 1
    copy.write_text("changed by its owner")
    again = exported(installation, "vera", tmp_path)
    (fresh,) = again.folder.rglob("*.txt")
    assert "Notiz" in fresh.read_text()


def test_a_damaged_original_is_left_out_and_named(
    installation: Installation, tmp_path: Path
) -> None:
    filled(installation)
    with installation.database.worker() as connection:
        row = connection.execute(
            "SELECT storage_bucket, raw_key FROM documents WHERE file_name = 'eins.txt'"
        ).fetchone()
    assert row is not None
    stored = installation.settings.home / "blobs" / row[0] / row[1]
    stored.chmod(0o600)
    stored.write_bytes(b"x" + stored.read_bytes()[1:])
    made = exported(installation, "anna", tmp_path)
    assert (made.documents, dict(made.left_out)) == (1, {LeftOut.UNREADABLE: 1})


def test_an_archive_is_left_out_because_of_what_is_in_it(
    installation: Installation, tmp_path: Path
) -> None:
    filled(installation)
    with installation.database.worker() as connection:
        connection.execute(
            "UPDATE arrivals SET parent_id = (SELECT id FROM arrivals WHERE file_name = 'eins.txt')"
            " WHERE file_name = 'drei.txt'"
        )
    made = exported(installation, "vera", tmp_path)
    assert (made.documents, dict(made.left_out)) == (0, {LeftOut.CONTAINER: 1})


@pytest.mark.parametrize(
    "template",
    [
        "{entity}/{file_name}",
        "/{number}",
        "../{number}",
        "{number}//x",
        "{number.__class__}",
        "{number!r}",
        "{number:>10}",
        "{secret}/{number}",
        "{number",
        "{0}/{number}",
    ],
)
def test_a_template_that_could_leave_its_folder_or_overwrite_is_refused(template: str) -> None:
    with pytest.raises(ExportRefused):
        check_template(template)


@given(st.text(max_size=300), st.text(max_size=300))
def test_no_fact_leaves_its_part_of_the_path(name: str, provider: str) -> None:
    facts = Facts(7, "nord", "nord-gmbh", "-", "invoice", provider, name, "2026", "03", "intern")
    path = path_of("{entity}/{provider}/{number}_{file_name}", facts)
    assert len(path.parts) == 3
    assert not path.is_absolute()
    assert not {"..", "."} & set(path.parts)
    assert all(len(part.encode()) <= 255 and "\x00" not in part for part in path.parts)
    assert path.parts[2].startswith("7_")
