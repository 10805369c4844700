"""Commands of the operator: run the flow, start and stop, status, rebuild, health."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from tgv_dagster import flow
from tgv_dagster.audit.verdict import State
from tgv_dagster.console import asking
from tgv_dagster.console.common import (
    AS_OPTION,
    MANDANT_OPTION,
    clear_errors,
    err,
    opened,
    out,
    scope_of,
    settings,
    table_of,
)
from tgv_dagster.console.doctor import Health, examine
from tgv_dagster.effect.status import FlowStatus, flow_status
from tgv_dagster.installation import Installation
from tgv_dagster.know.search import search
from tgv_dagster.settings import Settings
from tgv_dagster.store import embedded, organisation

PROJECT = Path(__file__).resolve().parent.parent.parent
SAMPLES = PROJECT / "samples"
ONE_WALK_PATIENCE_SECONDS = 10.0
"""Who names a folder says that it is there now: nobody comes back for a file without its end."""


def run(
    inbox: Path | None = typer.Option(
        None, "--inbox", exists=True, file_okay=False, help="Your folder; its files stay in place."
    ),
    samples: bool = typer.Option(False, "--samples", help="The invented documents of samples/."),
    ask: bool = typer.Option(True, help="Ask two example questions at the end."),
) -> None:
    """Take everything that waits through the whole flow, with progress, and run all checks."""
    with clear_errors():
        chosen = _settings_for(settings(), inbox, samples)
    started = time.monotonic()
    out.print(f"Data folder: {chosen.home}")
    with clear_errors():
        installation = Installation.open(chosen)
        try:
            _organisation_for(installation, inbox, samples)
            went_through = _walk(installation)
            scope = installation.service_scope(source="console")
            show_status(flow_status(installation.database, scope))
            _show_left_lying(installation)
            _show_verdicts(installation)
            if ask:
                _ask_examples(installation, samples)
        finally:
            installation.close()
    out.print(f"\nDone in {time.monotonic() - started:.0f} s. Dagster UI: `make ui`,", end=" ")
    out.print(f"then http://127.0.0.1:{chosen.ui_port}")
    if not went_through:
        raise typer.Exit(1)


def _settings_for(base: Settings, inbox: Path | None, samples: bool) -> Settings:
    folder = SAMPLES / "inbox" if samples else inbox
    if folder is None:
        return base
    return base.model_copy(
        update={
            "inbox": folder.absolute(),
            "move_taken": False,
            "patience_seconds": min(base.patience_seconds, ONE_WALK_PATIENCE_SECONDS),
        }
    )


def _organisation_for(installation: Installation, inbox: Path | None, samples: bool) -> None:
    """Import what the folder brings; without any tenant make a starter for one's own folder."""
    with installation.database.worker() as connection:
        if samples:
            _import(installation, SAMPLES / "organisation.yaml")
            return
        if inbox is not None and (inbox / "organisation.yaml").exists():
            _import(installation, inbox / "organisation.yaml")
        elif inbox is not None and not organisation.has_tenant(connection):
            _starter(installation)
    _single_entity(installation)


def _import(installation: Installation, path: Path) -> None:
    with installation.database.worker() as connection:
        report = organisation.import_organisation(
            connection, organisation.load(path), author=organisation.SERVICE_LOGIN
        )
    out.print("Organisation: " + ", ".join(f"{n} {name}" for name, n in report.counts.items()))


def _starter(installation: Installation) -> None:
    path = installation.settings.home / "organisation.yaml"
    path.write_text(STARTER, encoding="utf-8")
    _import(installation, path)
    out.print(
        f"No organisation yet: a starter with one household was created ({path}). "
        "Put your names, VAT ids and IBANs there with `tgv org edit`."
    )


def _single_entity(installation: Installation) -> None:
    """With exactly one entity, files whose folder names nobody are put down to it."""
    with installation.database.worker() as connection:
        rows = connection.execute(
            "SELECT m.slug, e.slug FROM entities e JOIN mandanten m ON m.id = e.mandant_id"
            " WHERE NOT e.is_test"
        ).fetchall()
    if len(rows) == 1 and installation.settings.inbox_entity is None:
        installation.settings = installation.settings.model_copy(
            update={"inbox_mandant": rows[0][0], "inbox_entity": rows[0][1]}
        )


STARTER = """\
mandanten:
  - {slug: zuhause, name: Zuhause}
entities:
  - slug: haushalt
    mandant: zuhause
    kind: household
    legal_name: Mein Haushalt
    country: DE
    bucket: haushalt
    default_level: intern
"""


def _walk(installation: Installation) -> bool:
    from tgv_dagster.runs import materialize_flow

    with _progress() as seen:
        result = materialize_flow(installation, seen)
    for fault in result.faults:
        err.print(f"[red]{escape(str(fault))}[/red]")
    if result.stopped:
        err.print(f"[red]Stopped: {', '.join(result.stopped)}. Nothing is lost; run again.[/red]")
    return result.went_through


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """Bars on a terminal; in a log one line per step every few seconds."""
    if not out.is_terminal:
        logged = _LoggedProgress()
        yield logged
        logged.close()
        return
    columns = (
        TextColumn("{task.description:22}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=out) as progress:
        tasks: dict[str, TaskID] = {}

        def seen(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = progress.add_task(step, total=None)
            if total:  # an idle pass over a step says nothing new
                progress.update(tasks[step], completed=done, total=max(total, done))

        yield seen


class _LoggedProgress:
    """Progress for a log file: one line every `EVERY` seconds and one at the end of a step."""

    EVERY = 5.0

    def __init__(self) -> None:
        self._step, self._line, self._told = "", "", 0.0

    def __call__(self, step: str, done: int, total: int) -> None:
        if not total:
            return
        if step != self._step and self._line:
            out.print(self._line)
        now = time.monotonic()
        self._step, self._line = step, f"{step}: {done} of {total}"
        if now - self._told >= self.EVERY:
            out.print(self._line)
            self._told, self._line = now, ""

    def close(self) -> None:
        """Print what is left to say."""
        if self._line:
            out.print(self._line)


_NAMES_SHOWN = 5


def _show_left_lying(installation: Installation) -> None:
    """What lies in the watched folder and did not arrive, with the reason."""
    if not installation.settings.inbox_path.is_dir():
        return
    left = flow.folder_gate(installation).left_lying()
    if left:
        out.print(f"Left in the folder: {sum(len(lying.names) for lying in left)}")
    for lying in left:
        more = len(lying.names) - _NAMES_SHOWN
        shown = ", ".join(_visible(name) for name in lying.names[:_NAMES_SHOWN])
        names = shown + (f" and {more} more" if more > 0 else "")
        out.print(f"  {len(lying.names)} {escape(lying.reason)}: {escape(names)}")


def _visible(name: str) -> str:
    """A file name without what would steer a terminal or turn its writing round."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in name)


def _show_verdicts(installation: Installation) -> None:
    from tgv_dagster.audit import ledger

    with installation.database.worker() as connection:
        latest = ledger.latest(connection)
    counts = Counter(entry.verdict.state for entry in latest)
    out.print(
        f"Checks: [green]{counts[State.GREEN]} green[/green], "
        f"[red]{counts[State.RED]} red[/red], {counts[State.UNMEASURED]} unmeasured"
    )
    for entry in latest:
        if entry.verdict.state is State.RED:
            out.print(f"  [red]{entry.checkpoint.id}[/red]: {escape(entry.verdict.reason)}")


def _ask_examples(installation: Installation, samples: bool) -> None:
    scope = installation.service_scope(source="console")
    questions = (
        asking.demo_questions(SAMPLES) if samples else asking.own_questions(installation, scope)
    )
    parts = asking.parts_of(installation)
    for question in questions:
        reader = (
            scope
            if question.login is None
            else scope_of(installation.database, question.login, question.mandant)
        )
        out.print()
        answer = search(parts, reader, question.text, limit=3, language=question.language)
        asking.show(installation, answer, question.language)


def status(login: str = AS_OPTION, mandant: str | None = MANDANT_OPTION) -> None:
    """Where everything stands: arrivals, stages, parked, failed, unmeasured."""
    with opened() as installation:
        scope = scope_of(installation.database, login, mandant)
        show_status(flow_status(installation.database, scope))
        if scope.is_owner:
            _show_left_lying(installation)
            _show_verdicts(installation)


def show_status(found: FlowStatus) -> None:
    """Print a snapshot; the sums show that nothing is lost."""
    title = f"status at {found.at:%Y-%m-%d %H:%M:%S} UTC"
    table = table_of("what", "count", "of which", title=title)
    table.add_row("arrivals", str(found.arrived), _listed(found.arrivals))
    table.add_row("documents", str(sum(found.states.values())), _listed(found.states))
    table.add_row("  by flow stage", "", _listed(found.documents))
    if found.finance:
        table.add_row("  by finance stage", "", _listed(found.finance))
    table.add_row("  dispatch", "", _listed(found.dispatch))
    if found.unindexed:
        table.add_row("  not indexed", str(sum(found.unindexed.values())), _listed(found.unindexed))
    table.add_row("chunks", str(found.chunks), "")
    table.add_row("open cases", str(sum(found.open_cases.values())), _listed(found.open_cases))
    for work in found.work or ():
        table.add_row(
            f"work: {work.stage}", str(work.items), f"{work.state} since {work.oldest:%H:%M:%S}"
        )
    out.print(table)


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "-"


def up() -> None:
    """Start the database, bring schema and rights up to date."""
    with opened() as installation:
        out.print(f"Up: {re.sub(r'password=[^ ]+', 'password=…', installation.database.url)}")


def down() -> None:
    """Stop the embedded database."""
    with clear_errors():
        stopped = embedded.stop(settings().postgres_path)
    out.print("Stopped." if stopped else "It was not running.")


def doctor() -> None:
    """Say what this machine and installation lack, with the remedy."""
    colours = {Health.GOOD: "green", Health.MISSING: "red", Health.UNKNOWN: "yellow"}
    bad = False
    for found in examine(settings()):
        bad = bad or found.health is Health.MISSING
        out.print(
            f"[{colours[found.health]}]{found.health:8}[/] {found.name}: {escape(found.detail)}"
        )
        if found.remedy:
            out.print(f"         → {escape(found.remedy)}")
    raise typer.Exit(1 if bad else 0)


def ui() -> None:
    """Start the Dagster UI, the daemon with its sensors and the worker, on this machine only."""
    from tgv_dagster.runs import start_ui

    with clear_errors():
        chosen = settings()
        Installation.open(chosen).close()
        start_ui(
            chosen,
            on_ready=lambda: out.print(
                f"Dagster UI: http://127.0.0.1:{chosen.ui_port} (Ctrl-C stops everything)"
            ),
        )


def serve() -> None:
    """Start the HTTP service."""
    from tgv_dagster.web.app import serve as start

    with opened() as installation:
        start(installation)
