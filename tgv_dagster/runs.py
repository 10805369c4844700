"""Runs: make Dagster's instance ready, start runs, wait for them, link to them, forget old ones.

The console and the HTTP service come here when they want Dagster to work; besides `definitions`
this is the only module of `tgv_dagster` that imports it. What a run does stands in `assets`.
"""

from __future__ import annotations

import fcntl
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dagster as dg
import psutil
import yaml
from dagster import DagsterEventType, DagsterRunStatus, RunsFilter
from dagster._core.storage.dagster_run import FINISHED_STATUSES, IN_PROGRESS_RUN_STATUSES
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import URL, create_engine, inspect, text
from sqlalchemy.pool import NullPool

from tgv_dagster.arrive.gates import TakenStatus
from tgv_dagster.installation import Installation
from tgv_dagster.settings import Settings
from tgv_dagster.store import ledger
from tgv_dagster.store.db import dagster_url, product_url
from tgv_dagster.store.pull import BatchReport
from tgv_dagster.store.stages import Stage
from tgv_dagster.supervisor import Service, answers, supervise

STORAGE_VARIABLE = "TGV_DAGSTER_STORAGE_URL"
"""Names the database of the instance; it may hold a password, so it never stands in a file."""

BROKER_VARIABLE = "TGV_CELERY_BROKER_URL"
RESULTS_VARIABLE = "TGV_CELERY_RESULTS_URL"

TICK_RETENTION = {"skipped": 2, "failure": 30, "success": 30, "started": 30}
"""Days that Dagster keeps the ticks of sensors and schedules; a sensor skips every few seconds."""

_NOWHERE = "http://127.0.0.1:9/"
"""Discard port of this machine, in place of the address that Dagster reports to."""

MAX_PASSES = 200
PROCESS_TAG = "tgv/process"
"""Tag of a run inside the console: host, process and its start, to see when it is gone."""


class UiNotRunning(RuntimeError):
    """A run was to be started and nothing answers; the message names the remedy."""


class RunRefused(RuntimeError):
    """Dagster did not accept the run, for example because of its configuration."""


class Launcher(StrEnum):
    """Where a run executes: in a process of its own, or in the warm worker."""

    PROCESS = "process"
    WARM = "warm"


# --- the instance ------------------------------------------------------------------------------


def ensure_instance(settings: Settings, launcher: Launcher = Launcher.WARM) -> Path:
    """Make Dagster's instance ready and name it to this process and its children.

    Writes `dagster.yaml`, creates or upgrades the instance's own database once (several processes
    may call this at the same time), sets DAGSTER_HOME and the storage variable. Returns the home.
    Raises what opening the database raises.
    """
    home = settings.dagster_home
    home.mkdir(parents=True, exist_ok=True)
    storage = storage_url(dagster_url(settings, product_url(settings)))
    os.environ["DAGSTER_HOME"] = str(home)
    os.environ[STORAGE_VARIABLE] = storage
    celery = celery_settings(storage)
    os.environ["DAGSTER_TELEMETRY_URL"] = _NOWHERE
    os.environ[BROKER_VARIABLE], os.environ[RESULTS_VARIABLE] = celery["broker"], celery["backend"]
    with _alone(home / ".instance.lock"):
        _write_if_changed(
            home / "dagster.yaml", yaml.safe_dump(instance_settings(settings, launcher))
        )
        _upgrade_once(home)
    return home


def storage_url(conninfo: str) -> str:
    """The URL SQLAlchemy needs for a libpq connection string; the driver is named (§4)."""
    parts = {name: str(value) for name, value in conninfo_to_dict(conninfo).items() if value}
    is_socket = parts.get("host", "").startswith("/")
    place = {} if is_socket else {"host": parts.pop("host", None), "port": parts.pop("port", None)}
    url = URL.create(
        "postgresql+psycopg2",
        username=parts.pop("user", None),
        password=parts.pop("password", None),
        host=place.get("host"),
        port=int(port) if (port := place.get("port")) else None,
        database=parts.pop("dbname", None),
        query=parts,
    )
    return url.render_as_string(hide_password=False)


def instance_settings(settings: Settings, launcher: Launcher) -> dict[str, Any]:
    """The content of `dagster.yaml`; secrets stand in the environment, never here.

    Output of steps is not captured: Dagster's storage has no walls, and a library may print what
    it reads (architecture §4). The processes write their own logs below `logs`.
    """
    facts: dict[str, Any] = {
        "storage": {"postgres": {"postgres_url": {"env": STORAGE_VARIABLE}}},
        "compute_logs": {
            "module": "dagster._core.storage.noop_compute_log_manager",
            "class": "NoOpComputeLogManager",
        },
        "local_artifact_storage": {
            "module": "dagster._core.storage.root",
            "class": "LocalArtifactStorage",
            "config": {"base_dir": str(settings.dagster_home / "storage")},
        },
        "run_coordinator": {
            "module": "dagster._core.run_coordinator",
            "class": "DefaultRunCoordinator",
        },
        "run_monitoring": {
            "enabled": True,
            # A run waits for the one before it in the worker; that is no failed start.
            "start_timeout_seconds": 2 * 3600,
            "cancel_timeout_seconds": 60,
            "max_runtime_seconds": 12 * 3600,
            "poll_interval_seconds": 60,
        },
        "retention": {
            "sensor": {"purge_after_days": TICK_RETENTION},
            "schedule": {"purge_after_days": TICK_RETENTION},
        },
        "sensors": {"use_threads": True, "num_workers": 4},
        "schedules": {"use_threads": True, "num_workers": 2},
        "telemetry": {"enabled": False},
        "nux": {"enabled": False},
    }
    if launcher is Launcher.WARM:
        facts["run_launcher"] = {
            "module": "dagster_celery.launcher",
            "class": "CeleryRunLauncher",
            "config": {
                "broker": {"env": BROKER_VARIABLE},
                "backend": {"env": RESULTS_VARIABLE},
                "default_queue": "dagster",
            },
        }
    return facts


def _upgrade_once(home: Path) -> None:
    """Create or upgrade the tables of the instance, once per version of Dagster and database."""
    marker = home / ".ready"
    ready = f"{version('dagster')} {os.environ[STORAGE_VARIABLE].rpartition('/')[2]}"
    if marker.exists() and marker.read_text() == ready:
        return
    with dg.DagsterInstance.get() as instance:
        instance.upgrade()
    marker.write_text(ready)


def _write_if_changed(path: Path, content: str) -> None:
    if path.exists() and path.read_text() == content:
        return
    beside = path.with_suffix(".new")
    beside.write_text(content)
    beside.replace(path)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


# --- the processes of the UI --------------------------------------------------------------------


def ui_processes(settings: Settings, launcher: Launcher = Launcher.WARM) -> tuple[Service, ...]:
    """The processes behind the Dagster UI, in the order of their start; all on loopback only.

    One code server for everybody, the warm worker, the webserver, the daemon with sensors and
    schedules. Call `ensure_instance` with the same launcher first.
    """
    python = sys.executable
    home = settings.dagster_home
    code_port = settings.ui_port + 1
    workspace = home / "workspace.yaml"
    _write_if_changed(
        workspace,
        yaml.safe_dump(
            {
                "load_from": [
                    {
                        "grpc_server": {
                            "host": "127.0.0.1",
                            "port": code_port,
                            "location_name": "tgv_dagster",
                        }
                    }
                ]
            }
        ),
    )
    code_server = Service(
        "code-server",
        (
            python, "-m", "dagster", "api", "grpc", "--host", "127.0.0.1", "--port",
            str(code_port), "--module-name", "tgv_dagster.definitions", "--location-name",
            "tgv_dagster", "--log-level", "warning",
        ),
        port=code_port,
    )  # fmt: skip
    worker = Service(
        "worker",
        (
            python, "-m", "celery", "-A", "resources.worker", "worker", "--pool", "solo",
            "--queues", "dagster", "--loglevel", "WARNING", "--without-gossip",
            "--without-mingle", "--without-heartbeat",
        ),
    )  # fmt: skip
    webserver = Service(
        "webserver",
        (
            python, "-m", "dagster_webserver", "-h", "127.0.0.1", "-p", str(settings.ui_port),
            "-w", str(workspace), "--log-level", "warning", "--dagster-log-level", "warning",
        ),
        port=settings.ui_port,
    )  # fmt: skip
    daemon = Service(
        "daemon",
        (
            python,
            "-m",
            "dagster._daemon",
            "run",
            "-w",
            str(workspace),
            "--log-level",
            "warning",
        ),
    )  # fmt: skip
    middle = (worker,) if launcher is Launcher.WARM else ()
    return (code_server, *middle, webserver, daemon)


def logs_path(settings: Settings) -> Path:
    """Where the processes of the UI write their logs.

    Never `logs` below the home of the instance: what lies there, Dagster sends to its maker, even
    with telemetry switched off.
    """
    return settings.home / "logs"


def start_ui(
    settings: Settings,
    *,
    on_ready: Callable[[], None],
    until: Callable[[], bool] = lambda: False,
    launcher: Launcher = Launcher.WARM,
) -> None:
    """Run the UI until Ctrl-C: webserver, daemon with its sensors, worker, and the HTTP service.

    The HTTP service is where the UI's links to documents lead; it is left out when something
    answers on its port already. Raises what `ensure_instance` and `supervise` raise.
    """
    ensure_instance(settings, launcher)
    with dg.DagsterInstance.get() as instance:
        close_ghosts(instance, workers_gone=True)
    services = ui_processes(settings, launcher)
    if not answers(settings.http_port):
        serve = (sys.executable, "-c", "from tgv_dagster.cli import main; main()", "serve")
        services = (*services, Service("http", serve, settings.http_port))
    supervise(services, logs_path(settings), on_ready=on_ready, until=until)


def celery_settings(storage: str) -> dict[str, Any]:
    """Broker and results in the instance's own database, so that nothing else has to run."""
    return {
        "broker": f"sqla+{storage}",
        "backend": f"db+{storage}",
        "config_source": {
            "broker_connection_retry_on_startup": True,
            "broker_transport_options": {},
            "worker_prefetch_multiplier": 1,
            "result_expires": 86400,
        },
    }


# --- runs in this process ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FlowStep:
    """How one asset or check of a run ended; `materialized` is False for a skipped one."""

    name: str
    materialized: bool


@dataclass(frozen=True, slots=True)
class FlowResult:
    """How a walk through the flow ended.

    `stopped` names the steps that failed; `faults` are the errors behind them, with their
    remedies, for the console only. `reports` are those of all passes, in order.
    """

    run_ids: tuple[str, ...]
    steps: tuple[FlowStep, ...]
    stopped: tuple[str, ...]
    faults: tuple[Exception, ...]
    reports: tuple[BatchReport, ...]

    @property
    def went_through(self) -> bool:
        """Whether no step failed."""
        return not self.stopped


def materialize_flow(
    installation: Installation,
    progress: Callable[[str, int, int], None] | None = None,
    *,
    audit: bool = True,
) -> FlowResult:
    """Walk the whole flow in this process until nothing is due, then measure every invariant.

    `progress` is called with (step, done, total). Each pass is one run of `daily_flow`, seen in
    the Dagster UI like any other. Stops after a pass that failed or found nothing to do.
    """
    ensure_instance(installation.settings)
    walk = _Walk(installation, progress)
    with dg.DagsterInstance.get() as instance:
        close_ghosts(instance)
        for _ in range(MAX_PASSES):
            walk.run("daily_flow", instance)
            if walk.stopped or not walk.moved or not (walk.took or _is_due(installation)):
                break
        if audit:
            walk.run("audit", instance)
    return walk.result()


class _Walk:
    """The runs of one call of `materialize_flow`, and what they added up to."""

    def __init__(
        self, installation: Installation, progress: Callable[[str, int, int], None] | None
    ) -> None:
        from resources.door import Door
        from tgv_dagster.definitions import Overrides, build_definitions

        self._door = Door(opens=lambda: installation)
        if progress is not None:
            self._door.on_progress = lambda seen: progress(seen.step, seen.done, seen.total)
        self._definitions = build_definitions(Overrides(door=self._door))
        self._run_ids: list[str] = []
        self._steps: dict[str, bool] = {}
        self._reports: list[BatchReport] = []
        self._door.on_report = self._reports.append
        self.stopped: list[str] = []
        self.moved = self.took = False

    def run(self, job: str, instance: dg.DagsterInstance) -> None:
        """One run. Sets `moved` when a step got an item through and `took` when a gate did."""
        before = len(self._reports)
        done = self._definitions.resolve_job_def(job).execute_in_process(
            instance=instance,
            raise_on_error=False,
            tags={PROCESS_TAG: _this_process()},
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        )
        self._run_ids.append(done.run_id)
        for event in done.all_events:
            name = event.step_key or ""
            if event.event_type is DagsterEventType.STEP_START:
                self._steps.setdefault(name, False)
            elif event.event_type is DagsterEventType.ASSET_MATERIALIZATION:
                self._steps[name] = True
            elif event.event_type is DagsterEventType.STEP_FAILURE:
                self.stopped.append(name)
        fresh = self._reports[before:]
        self.took = any(TakenStatus.TAKEN in report.outcomes for report in fresh)
        self.moved = self.took or any(
            report.claimed for report in fresh if report.stage is not Stage.ARRIVE
        )

    def result(self) -> FlowResult:
        """The sum of all runs."""
        return FlowResult(
            run_ids=tuple(self._run_ids),
            steps=tuple(FlowStep(name, made) for name, made in self._steps.items()),
            stopped=tuple(dict.fromkeys(self.stopped)),
            faults=tuple(self._door.faults),
            reports=tuple(self._reports),
        )


def _is_due(installation: Installation) -> bool:
    with installation.database.worker() as connection:
        return ledger.any_due(connection)


# --- runs in the UI's processes ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunLink:
    """A run and where it can be watched."""

    run_id: str
    url: str


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended; `finished` is False when the wait was over first."""

    status: str
    finished: bool

    @property
    def succeeded(self) -> bool:
        """Whether the run went through."""
        return self.status == DagsterRunStatus.SUCCESS.value


def run_link(settings: Settings, run_id: str) -> RunLink:
    """Where a run is shown."""
    return RunLink(run_id, f"{settings.ui_at('127.0.0.1')}/runs/{run_id}")


def submit_job(
    settings: Settings,
    name: str,
    run_config: dict[str, Any] | None = None,
    *,
    tags: dict[str, str] | None = None,
) -> RunLink:
    """Have the running UI start a job. Raises UiNotRunning or RunRefused."""
    from dagster_graphql import DagsterGraphQLClient, DagsterGraphQLClientError

    try:
        client = DagsterGraphQLClient("127.0.0.1", port_number=settings.ui_port, timeout=30)
        run_id = client.submit_job_execution(name, run_config=run_config or {}, tags=tags)
    except DagsterGraphQLClientError as error:
        if _is_connection_error(error):
            raise UiNotRunning(
                f"Nothing answers on port {settings.ui_port}. Start it with `tgv ui`."
            ) from error
        raise RunRefused(f"Dagster did not start {name}: {error}") from error
    return run_link(settings, run_id)


def _is_connection_error(error: Exception) -> bool:
    return "Error when connecting" in str(error) or "onnection" in repr(error.__cause__)


def wait_for(settings: Settings, run_id: str, *, seconds: float, every: float = 0.5) -> RunEnd:
    """Wait for the end of a run, at most `seconds`. Raises KeyError for an unknown run."""
    ensure_instance(settings)
    deadline = time.monotonic() + seconds
    with dg.DagsterInstance.get() as instance:
        while True:
            run = instance.get_run_by_id(run_id)
            if run is None:
                raise KeyError(run_id)
            finished = run.status in FINISHED_STATUSES
            if finished or time.monotonic() >= deadline:
                return RunEnd(run.status.value, finished)
            time.sleep(every)


# --- ghosts ------------------------------------------------------------------------------------


def close_ghosts(instance: dg.DagsterInstance, *, workers_gone: bool = False) -> tuple[str, ...]:
    """Mark runs as failed whose process is gone, so that nobody waits for them; returns their ids.

    A killed process cannot say so itself. Runs of this machine's console are known by their
    process. `workers_gone`: the caller is about to start the only worker, so what a worker was
    doing before has ended, too. What a ghost had claimed becomes due again when its lease expires.
    """
    from dagster_celery.tags import DAGSTER_CELERY_TASK_ID_TAG

    going = instance.get_runs(RunsFilter(statuses=list(IN_PROGRESS_RUN_STATUSES)))
    ghosts = [
        run
        for run in going
        if _is_gone(run.tags.get(PROCESS_TAG))
        or (workers_gone and DAGSTER_CELERY_TASK_ID_TAG in run.tags)
    ]
    for run in ghosts:
        instance.report_run_failed(run, "The process of this run is gone.")
    return tuple(run.run_id for run in ghosts)


def _this_process() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{psutil.Process().create_time():.0f}"


def _is_gone(process: str | None) -> bool:
    """Whether a process of this machine is gone; numbers are used again, so its start counts."""
    host, _, rest = (process or "").partition(":")
    number, _, started = rest.partition(":")
    if host != socket.gethostname() or not number.isdigit():
        return False
    try:
        return f"{psutil.Process(int(number)).create_time():.0f}" != started
    except psutil.NoSuchProcess:
        return True


# --- forgetting --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was deleted: runs with their events, and messages of the worker's queue.

    `ticks` counts the sensors and schedules whose old ticks were purged.
    """

    runs: int
    ticks: int
    messages: int


def prune(instance: dg.DagsterInstance, keep_days: int, *, now: datetime | None = None) -> Pruned:
    """Delete finished runs older than this with their events, old ticks and spent messages.

    A run that made the newest materialization of an asset stays, so that the UI goes on showing
    it. Going runs stay.
    """
    before = (now or datetime.now(UTC)) - timedelta(days=keep_days)
    assets = list(instance.all_asset_keys())
    newest = {
        event.run_id
        for event in instance.get_latest_materialization_events(assets).values()
        if event is not None
    }
    old = instance.get_runs(RunsFilter(statuses=list(FINISHED_STATUSES), created_before=before))
    doomed = [run.run_id for run in old if run.run_id not in newest]
    for run_id in doomed:
        instance.delete_run(run_id)
    states = instance.all_instigator_state()
    for state in states:
        instance.purge_ticks(
            state.instigator_origin_id, state.selector_id, before=before.timestamp()
        )
    return Pruned(len(doomed), len(states), _prune_queue(before))


_SPENT = (
    ("kombu_message", "NOT visible AND timestamp < :before"),
    ("celery_taskmeta", "date_done < :before"),
)
"""What the worker's queue leaves behind in the database of the instance, with its age."""


def _prune_queue(before: datetime) -> int:
    storage = os.environ.get(STORAGE_VARIABLE)
    if storage is None:
        return 0
    engine = create_engine(storage, poolclass=NullPool)
    with engine.begin() as connection:
        tables = set(inspect(connection).get_table_names())
        return sum(
            connection.execute(
                text(f"DELETE FROM {table} WHERE {spent}"), {"before": before.replace(tzinfo=None)}
            ).rowcount
            for table, spent in _SPENT
            if table in tables
        )
