"""The one resource of the code location: the door to the installation.

Here belongs opening the installation late and once per process, so that the code location loads
on a machine without a database. What the installation holds belongs to `tgv_dagster.installation`.
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tgv_dagster.audit.discreet import StepStopped, fault_code
from tgv_dagster.installation import Installation
from tgv_dagster.settings import load_settings
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.organisation import SERVICE_LOGIN
from tgv_dagster.store.pull import BatchReport

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StepProgress:
    """How far one step of a run is; `total` 0 means it has just begun."""

    step: str
    done: int
    total: int


OnProgress = Callable[[StepProgress], None]


OnReport = Callable[[BatchReport], None]


def _nobody_watches(_seen: object) -> None:
    return


def _open_installation() -> Installation:
    return Installation.open(load_settings())


@dataclass
class Door:
    """Opens the installation at the first use and keeps it open for the life of the process.

    A warm worker therefore keeps its connections, its reader processes and its embedding model
    from one run to the next. `faults` collects what stopped a step, for the console that started
    the run; Dagster gets codes only.
    """

    opens: Callable[[], Installation] = _open_installation
    on_progress: OnProgress = _nobody_watches
    on_report: OnReport = _nobody_watches
    faults: list[Exception] = field(default_factory=list)
    _opened: Installation | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def installation(self) -> Installation:
        """The open installation. Raises what `Installation.open` raises."""
        with self._lock:
            if self._opened is None:
                self._opened = self.opens()
            return self._opened

    @contextmanager
    def discreetly(self, what: str) -> Iterator[None]:
        """Run something whose faults may quote a document: Dagster is told a code, never the words.

        The fault itself is recorded as an event behind the walls. Raises StepStopped.
        """
        try:
            yield
        except StepStopped:
            raise
        except Exception as error:  # noqa: BLE001 - the boundary to a storage without walls
            self.faults.append(error)
            self._tell(what, error)
            raise StepStopped(f"{what} stopped: {fault_code(error)}") from None

    def _tell(self, what: str, error: Exception) -> None:
        """Record the fault behind the walls; when even that fails, the log keeps its code."""
        logger.error("%s stopped: %s", what, fault_code(error))
        if self._opened is None:
            return
        try:
            with self._opened.database.worker() as connection:
                record(
                    connection,
                    Event(
                        kind="step.stopped",
                        author=SERVICE_LOGIN,
                        object=f"step:{what}",
                        reason=fault_code(error),
                        payload={
                            "message": str(error)[:2000].replace("\x00", ""),
                            "trace": "".join(traceback.format_exception(error))[-8000:].replace(
                                "\x00", ""
                            ),
                        },
                    ),
                )
        except Exception as second:  # noqa: BLE001 - the first fault must reach the caller
            logger.error("the fault of %s could not be recorded: %s", what, fault_code(second))
