"""Dagster storages for the tests of the surface."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from tgv_dagster import runs
from tgv_dagster.installation import Installation


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A storage in memory, for one test."""
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture
def home(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Home of the instance of this installation, whose storage is on the product's server."""
    for variable in (
        "DAGSTER_HOME", "DAGSTER_TELEMETRY_URL", runs.STORAGE_VARIABLE, runs.BROKER_VARIABLE,
        runs.RESULTS_VARIABLE,
    ):  # fmt: skip
        monkeypatch.setenv(variable, "restored after the test")
    return runs.ensure_instance(installation.settings)


@pytest.fixture
def stored(home: Path) -> Iterator[dg.DagsterInstance]:
    """The instance of this installation, open."""
    with dg.DagsterInstance.get() as opened:
        yield opened
