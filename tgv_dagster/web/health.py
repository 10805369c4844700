"""Liveness and readiness: whether the process answers, and whether what it needs does.

Readiness has three states per part. A part that does not answer in time was not measured; that is
neither good nor bad (OBS-03). No answer names an address or a path.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NoAnswer
from enum import StrEnum
from threading import Lock
from typing import Self

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from tgv_dagster.installation import Installation
from tgv_dagster.know.word_model import IndexMissing
from tgv_dagster.know.words import WordIndex
from tgv_dagster.store.blobs import blob_key
from tgv_dagster.store.organisation import INTAKE_BUCKET

PATIENCE_SECONDS = 2.0
_NO_SUCH_BLOB = blob_key("0" * 64)

logger = logging.getLogger(__name__)
router = APIRouter(tags=["health"])


class Readiness(StrEnum):
    """What an examination says."""

    READY = "ready"
    FAILED = "failed"
    UNMEASURED = "unmeasured"


_WORST_FIRST = (Readiness.FAILED, Readiness.UNMEASURED, Readiness.READY)


class PartOut(BaseModel):
    """One part the service needs."""

    state: Readiness
    reason: str


class ReadyOut(BaseModel):
    """The parts, and the worst of them as `state`."""

    state: Readiness
    parts: dict[str, PartOut]


class AliveOut(BaseModel):
    """The process answers."""

    status: str = "alive"


class Probes:
    """Examinations that run beside the requests; each at most once at a time."""

    def __init__(self, parts: Mapping[str, Callable[[], PartOut]]) -> None:
        self._parts = parts
        self._pool = ThreadPoolExecutor(len(self._parts), thread_name_prefix="tgv-probe")
        self._running: dict[str, Future[PartOut]] = {}
        self._lock = Lock()

    @classmethod
    def of(cls, installation: Installation) -> Self:
        """The parts of an installation."""
        return cls(
            {
                "database": lambda: _database(installation),
                "store": lambda: _store(installation),
                "index": lambda: _index(installation),
            }
        )

    def examine(self, patience: float = PATIENCE_SECONDS) -> ReadyOut:
        """Every part; one that does not answer within `patience` seconds is unmeasured."""
        with self._lock:
            for name, examine in self._parts.items():
                if name not in self._running or self._running[name].done():
                    self._running[name] = self._pool.submit(examine)
            running = dict(self._running)
        until = time.monotonic() + patience
        parts = {name: _outcome(name, future, until) for name, future in running.items()}
        states = {part.state for part in parts.values()}
        worst = next(state for state in _WORST_FIRST if state in states)
        return ReadyOut(state=worst, parts=parts)

    def close(self) -> None:
        """Let the threads end by themselves."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _outcome(name: str, future: Future[PartOut], until: float) -> PartOut:
    try:
        return future.result(max(0.0, until - time.monotonic()))
    except NoAnswer:
        return PartOut(state=Readiness.UNMEASURED, reason="no answer in time")
    except Exception as error:  # noqa: BLE001 - the boundary: the fault is the finding
        logger.warning("readiness of %s: %s", name, error)
        return PartOut(state=Readiness.FAILED, reason=type(error).__name__)


def _database(installation: Installation) -> PartOut:
    with installation.database.worker() as connection:
        connection.execute("SELECT 1")
    return PartOut(state=Readiness.READY, reason="answers")


def _store(installation: Installation) -> PartOut:
    installation.blobs.exists(INTAKE_BUCKET, _NO_SUCH_BLOB)
    return PartOut(state=Readiness.READY, reason="answers")


def _index(installation: Installation) -> PartOut:
    """Opened beside the one that searches, because asking that one would build a missing index."""
    try:
        index = WordIndex.open(installation.settings.index_path)
    except IndexMissing:
        return PartOut(state=Readiness.UNMEASURED, reason="nothing has been indexed yet")
    try:
        index.count()
    finally:
        index.close()
    return PartOut(state=Readiness.READY, reason="answers")


@router.get("/healthz", summary="Is the process alive", response_model=AliveOut)
async def healthz() -> AliveOut:
    """Alive, without looking at anything else."""
    return AliveOut()


@router.get(
    "/readyz",
    summary="Is what the service needs there",
    response_model=ReadyOut,
    responses={503: {"model": ReadyOut, "description": "a part failed"}},
)
def readyz(request: Request, response: Response) -> ReadyOut:
    """Database, store and index, three states each; 503 when one failed."""
    probes: Probes = request.app.state.probes
    ready = probes.examine()
    if ready.state is Readiness.FAILED:
        response.status_code = 503
    return ready
