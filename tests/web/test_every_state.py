"""Every checkpoint in every state, as its three readers show it: Dagster, page and graph.

`docs/states.md` is the table of what was seen here; with `TGV_WRITE_STATES=1` it is written anew.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from uuid import uuid4

import dagster as dg
import pytest
from dagster._core.storage.asset_check_execution_record import (
    AssetCheckExecutionResolvedStatus as Shown,
)
from surface_builders import QUIET, Ran, definitions
from web_builders import Browser, Service, browser

from resources.door import Door
from tgv_dagster.audit import ledger
from tgv_dagster.audit.register import CHECKPOINTS, NOT_NAMED, Checkpoint
from tgv_dagster.audit.verdict import State, Verdict, green, red, unmeasured
from tgv_dagster.definitions import Overrides, build_definitions
from tgv_dagster.web.chain import SHAPES

ROOT = Path(__file__).resolve().parents[2]
VERDICTS = {
    State.GREEN: green("fine"),
    State.RED: red("broken", evidence=("document:1",)),
    State.UNMEASURED: unmeasured("nobody looked"),
}
DAGSTER = {
    State.GREEN: Shown.SUCCEEDED,
    State.RED: Shown.FAILED,
    State.UNMEASURED: Shown.SKIPPED,
}
Cell = tuple[str, str, str]
"""What Dagster, the page and the graph show."""


@pytest.fixture(scope="module")
def seen(service: Service) -> Mapping[State, Mapping[str, Cell]]:
    with browser(service, "anna") as reader:
        return {state: dict(cells(service, reader, state)) for state in State}


def cells(service: Service, reader: Browser, state: State) -> Iterator[tuple[str, Cell]]:
    """Run every check of a run in which each checkpoint was found in this state, then look."""
    with dg.DagsterInstance.ephemeral() as instance:
        whole = build_definitions(Overrides(Door(opens=lambda: service.installation)))
        audit = run_with(service, instance, whole.resolve_job_def("audit"), VERDICTS[state])
        short = definitions(service.installation).resolve_job_def("intake")
        intake = run_with(service, instance, short, VERDICTS[state])
        answer = service.post(
            "/api/skill/system-graph", "anna", mandant="nord", json={"ansicht": "prozess"}
        )
        nodes = {node["id"]: node for node in answer.json()["nodes"]}
        page = reader.get("/chain").text
        for which in CHECKPOINTS:
            job = intake if which.gate else audit
            node = nodes[f"checkpoint:{which.id}"]
            yield (
                which.id,
                (
                    job.status(which.found_at.asset, which.id).value.lower(),
                    on_page(page, which),
                    f"{node['shape']}, {node['word']}",
                ),
            )


def run_with(
    service: Service, instance: dg.DagsterInstance, job: dg.JobDefinition, verdict: Verdict
) -> Ran:
    """A run that finds each checkpoint measured already: one run measures once."""
    run_id = str(uuid4())
    with service.installation.database.worker() as connection:
        for which in CHECKPOINTS:
            ledger.keep(connection, which, verdict, run_id=run_id)
    result = job.execute_in_process(
        instance=instance, raise_on_error=False, run_config=QUIET, run_id=run_id
    )
    return Ran(result, instance)


def on_page(page: str, which: Checkpoint) -> str:
    """Shape and word before the statement, as the page draws them."""
    statement = escape(which.statement.en, quote=False).replace("'", "&#39;").replace('"', "&#34;")
    summary = page.split(f"</strong> {statement}")[0].rpartition("<summary>")[2]
    shapes = re.findall(r'<(circle|path d="M\d+ 2[hl])', summary)
    word = summary.rpartition("<strong>")[2]
    names = {"e": "circle", "h": "square", "l": "triangle"}
    return f"{names[shapes[-1][-1]]}, {word}"


@pytest.mark.parametrize("state", State)
def test_three_readers_show_each_checkpoint_in_this_state(
    seen: Mapping[State, Mapping[str, Cell]], state: State
) -> None:
    drawn = f"{SHAPES[state]}, {state}"
    expected = {which.id: (DAGSTER[state].value.lower(), drawn, drawn) for which in CHECKPOINTS}
    assert seen[state] == expected


PRODUCED = ("tests/audit", "tests/bank", "tests/tables", "tests/rebuild")
"""Where measurements are made green and red on purpose, by damage to data."""


def produced(which: Checkpoint) -> str:
    """The test module in which this checkpoint is measured on good and on damaged data."""
    named = f'"{which.id.partition("columns_")[2] or which.id}"'
    found = [
        path
        for folder in PRODUCED
        for path in sorted((ROOT / folder).glob("test_*.py"))
        if named in (text := path.read_text(encoding="utf-8"))
        and "State.RED" in text
        and "State.GREEN" in text
    ]
    assert found, f"no test shows {which.id} green and red"
    return f"`{found[0].relative_to(ROOT)}`"


HEAD = """\
# Every checkpoint in every state

Written by `tests/web/test_every_state.py` from what it saw: a run in which each checkpoint was
found in a state, and what Dagster, the page `/chain` and the graph showed. The last column is the
test that measures the checkpoint on good data and on data damaged on purpose. Unmeasured is shown
there, too, where data lacks; every measurement that breaks or grows old is unmeasured as well
(`tests/audit/test_broken_measures.py`).

| Checkpoint | Green: Dagster · page · graph | Red | Unmeasured | Produced on purpose by |
|---|---|---|---|---|
"""


def test_the_table_in_the_docs_is_what_was_seen(
    seen: Mapping[State, Mapping[str, Cell]],
) -> None:
    lines = []
    for which in CHECKPOINTS:
        shown = " | ".join(" · ".join(seen[state][which.id]) for state in State)
        lost = which.id.startswith("lost_ops_feature_")
        where = f"never but unmeasured: {NOT_NAMED}" if lost else produced(which)
        lines.append(f"| `{which.id}` | {shown} | {where} |\n")
    table = HEAD + "".join(lines)
    page = ROOT / "docs" / "states.md"
    if os.environ.get("TGV_WRITE_STATES"):
        page.write_text(table, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == table
