"""The documentation and the product name the same settings, commands, routes and packages."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import typer
from fastapi.routing import APIRoute

from tgv_dagster.cli import app
from tgv_dagster.settings import Settings
from tgv_dagster.web.app import ROUTERS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
TOLD = [
    path
    for path in sorted((ROOT / "tgv_dagster").rglob("*"))
    if path.suffix in {".py", ".yaml", ".po", ".html", ".md"}
]
COMMAND = re.compile(r"`(?:\.venv/bin/)?tgv ([a-z][^`]*)`")
WORD = re.compile(r"[a-z][a-z-]*")


def rows(page: Path) -> list[list[str]]:
    """The cells of every row of every table of a page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    return [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]


def variables(page: Path) -> dict[str, str]:
    """Each variable that has a row in a table of settings, with the whole row."""
    return {
        name: " | ".join(cells)
        for cells in rows(page)
        for name in re.findall(r"`TGV_(\w+)`", cells[0])
    }


def test_the_tables_of_settings_are_the_fields_of_the_settings() -> None:
    told = variables(DOCS / "operating.md") | variables(DOCS / "mail.md")
    assert {name.lower() for name in told} == set(Settings.model_fields)


def test_the_tables_of_settings_state_the_defaults() -> None:
    told = variables(DOCS / "operating.md") | variables(DOCS / "mail.md")
    wrong = []
    for name, field in Settings.model_fields.items():
        default = field.default
        if default is None or default == "":
            continue
        shown = f"{default:g}" if isinstance(default, float) else str(default)
        shown = shown.lower() if isinstance(default, bool) else shown
        if not re.search(rf"(?<![\w.]){re.escape(shown)}(?![\w.])", told[name.upper()]):
            wrong.append(f"{name}: {shown}")
    assert wrong == []


def test_the_readme_leads_to_every_page() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [p.name for p in PAGES[1:] if f"](docs/{p.name})" not in readme] == []


@functools.cache
def tgv():
    """The whole tree of commands; building it takes a moment."""
    return typer.main.get_command(app)


def unknown_part(words: list[str]) -> str | None:
    """The first word or option of a `tgv` command that does not exist; None = all do."""
    command = tgv()
    while words and words[0] in (known := getattr(command, "commands", {})):
        command, words = known[words[0]], words[1:]
    if getattr(command, "commands", {}) and words and WORD.fullmatch(words[0]):
        return words[0]
    options = {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
    return next((w for w in words if w.startswith("--") and w not in options), None)


def named_commands(page: Path) -> Iterator[str]:
    """Every `tgv` command a text names; a line break inside one is a blank."""
    text = re.sub(r'"?\n\s*"?', " ", page.read_text(encoding="utf-8"))
    yield from COMMAND.findall(text)


def test_every_command_that_is_named_exists_with_its_options() -> None:
    wrong = []
    for page in (*PAGES, *TOLD):
        for told in named_commands(page):
            found = unknown_part(told.replace("[", " ").split())
            if found is not None:
                wrong.append(f"{page.relative_to(ROOT)}: tgv {told}: {found}")
    assert wrong == []


def nameless(path: str) -> str:
    """A route without the names of its parameters."""
    return re.sub(r"\{[^}]*\}", "{}", path)


def test_every_route_for_programs_has_its_row_and_no_row_is_invented() -> None:
    routes = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    served = {(m, nameless(r.path)) for r in routes for m in r.methods or ()}
    cells = [cell for page in ("http.md", "mail.md") for row in rows(DOCS / page) for cell in row]
    told = {
        (method, nameless(path))
        for cell in cells
        for method, path in re.findall(r"`(GET|POST|PUT|DELETE) (/[^`]+)`", cell)
    }
    assert {one for one in served if one[1].startswith("/api/")} - told == set()
    assert told - served == set()


def test_every_package_in_the_docs_is_a_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = [project["project"]["dependencies"], *project["dependency-groups"].values()]
    declared = {re.split(r"[<>=\[ ]", needed)[0] for group in groups for needed in group}
    listed = {
        name.strip()
        for cells in rows(DOCS / "dependencies.md")
        if cells[0] != "Package"
        for name in re.sub(r"\([^)]*\)", "", cells[0]).split(",")
    }
    assert listed == declared
