"""Dependencies: each one is declared, used and explained."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def names(requirements: list[str]) -> list[str]:
    return [re.split(r"[<>=\[ ]", requirement)[0] for requirement in requirements]


def test_every_dependency_has_its_reason_in_the_docs() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text()
    wanted = names(PROJECT["project"]["dependencies"]) + names(PROJECT["dependency-groups"]["dev"])
    assert [n for n in wanted if not re.search(rf"(?<![\w-]){re.escape(n)}(?![\w-])", page)] == []


def test_every_system_package_has_its_reason_in_the_docs() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text()
    lines = [
        line.strip()
        for name in ("packages.txt", "packages-test.txt", "packages-ui.txt")
        for line in (ROOT / name).read_text().splitlines()
    ]
    packages = [line for line in lines if line and not line.startswith("#")]
    assert [p for p in packages if p not in page and not p.startswith("tesseract-ocr-")] == []


def test_no_test_imports_a_conftest() -> None:
    """Several folders have one, so which of them `conftest` names depends on the run."""
    importing = re.compile(r"^\s*(from conftest import|import conftest)", re.MULTILINE)
    files = (ROOT / "tests").rglob("*.py")
    assert [p.name for p in files if importing.search(p.read_text())] == []


def test_every_test_file_has_a_name_of_its_own() -> None:
    """Without packages two files of one name are one module, and the second is not collected."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
