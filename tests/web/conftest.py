"""One running service per test module; tests add what they need and look only at that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from web_builders import Service, fresh_database, opened, serving


@pytest.fixture(scope="module")
def service(
    server_url: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """The service over a fresh database."""
    home: Path = tmp_path_factory.mktemp("home")
    with (
        fresh_database(server_url, template) as url,
        opened(url, home) as installation,
        serving(installation) as running,
    ):
        yield running
