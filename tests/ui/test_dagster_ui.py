"""The Dagster UI in a real browser: the lineage, an asset's metadata, a failed gate's reason."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from audit_builders import bypass_the_gate, document
from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.chrome.service import Service as ChromeService
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from shared_builders import fresh_database, import_test_organisation

from tgv_dagster import runs
from tgv_dagster.flow import STEPS
from tgv_dagster.installation import Installation
from tgv_dagster.settings import Settings
from tgv_dagster.store.stages import Room

pytestmark = pytest.mark.ui
ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 180.0
"""Seconds for a page to say what it should, on a machine that does other work."""

BROWSER_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--window-size=1680,1050", "--force-device-scale-factor=1",
)  # fmt: skip


@dataclass(frozen=True)
class Ui:
    """A running UI over an installation whose gate was gone around."""

    url: str
    browser: webdriver.Chrome
    pictures: Path

    def see(self, path: str, *texts: str) -> None:
        """Open a page and wait until it says all of this."""
        self.browser.get(self.url + path)
        self.wait_for(*texts)
        time.sleep(3)  # the graph is laid out after its text is there

    def wait_for(self, *texts: str) -> None:
        """Wait until the page says all of this; whatever is missing is named."""
        missing = set(texts)

        def is_said(browser: webdriver.Chrome) -> bool:
            said = browser.find_element(By.TAG_NAME, "body").text
            missing.difference_update(text for text in texts if text in said)
            return not missing

        try:
            WebDriverWait(self.browser, PATIENCE).until(is_said)
        except TimeoutException:
            raise AssertionError(f"{sorted(missing)} not said by: {self.says()}") from None

    def says(self) -> str:
        """The words of the page."""
        return self.browser.find_element(By.TAG_NAME, "body").text

    def picture(self, name: str) -> Path:
        """Save what is seen."""
        path = self.pictures / name
        self.browser.save_screenshot(str(path))
        return path


def free_ports() -> int:
    """The first of two free ports in a row."""
    for port in range(41000, 42000, 7):
        with socket.socket() as one, socket.socket() as two:
            if one.connect_ex(("127.0.0.1", port)) and two.connect_ex(("127.0.0.1", port + 1)):
                return port
    raise AssertionError("no free ports")


def await_port(port: int) -> None:
    """Wait until something answers there."""
    for _ in range(240):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.5)
    raise AssertionError(f"nothing answers on {port}")


@pytest.fixture(scope="module")
def ui(server_url: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    home = tmp_path_factory.mktemp("ui-home")
    with fresh_database(server_url, template) as url:
        settings = Settings(home=home, database_url=url, ui_port=free_ports(), stable_seconds=0)  # pyright: ignore[reportArgumentType]
        installation = Installation.open(settings)
        import_test_organisation(installation.database)
        document(installation)
        runs.materialize_flow(installation)
        bypass_the_gate(installation)
        runs.materialize_flow(installation)
        installation.close()
        services = [s for s in runs.ui_processes(settings, runs.Launcher.PROCESS) if s.port]
        processes = []
        for service in services:
            environment = {**os.environ, **service.environment}
            processes.append(subprocess.Popen(service.command, env=environment, cwd=ROOT))
            await_port(service.port or 0)
        with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            options = webdriver.ChromeOptions()
            options.binary_location = "/usr/bin/chromium"
            for flag in (*BROWSER_FLAGS, f"--user-data-dir={profile}"):
                options.add_argument(flag)
            driver = ChromeService("/usr/bin/chromedriver")
            browser = webdriver.Chrome(options=options, service=driver)
            try:
                pictures = Path(os.environ.get("TGV_PICTURES", str(home)))
                yield Ui(f"http://127.0.0.1:{settings.ui_port}", browser, pictures)
            finally:
                browser.quit()
                for process in processes:
                    process.terminate()
                for process in processes:
                    process.wait(PATIENCE)


def test_the_lineage_shows_the_stages_as_groups(ui: Ui) -> None:
    ui.see("/asset-groups", *map(str, Room))
    assert ui.picture("lineage-groups.png").stat().st_size > 10_000


@pytest.mark.parametrize("room", [*Room])
def test_every_step_stands_in_its_stage(ui: Ui, room: Room) -> None:
    steps = [step.name for step in STEPS if step.room is room]
    ui.see(f"/locations/tgv_dagster/asset-groups/{room}/list", str(room), *steps)


def test_an_asset_shows_counts_and_the_gate_that_stops_it(ui: Ui) -> None:
    ui.see("/assets/documents?view=checks", "raw_first")
    ui.see("/assets/documents?view=overview", "documents", "understand", "outcomes")
    said = ui.says()
    for word in ("outcomes", "taken", "waiting", "seconds", "Owners\ntgv"):
        assert word in said, word
    ui.picture("asset.png")


def test_the_register_shows_every_checkpoint_with_its_state(ui: Ui) -> None:
    ui.see("/assets/verdicts?view=overview", "verdicts", "register", "green", "unmeasured")
    ui.picture("verdicts.png")


def test_a_failed_gate_shows_its_reason(ui: Ui) -> None:
    ui.see("/assets/documents?view=checks&checkDetail=raw_first", "raw_first", "Failed")
    said = ui.says()
    assert "This is a blocking asset check" in said
    assert "they came around the gate" in said
    ui.picture("failed-gate.png")


def test_an_unmeasured_check_is_neither_failed_nor_passed(ui: Ui) -> None:
    ui.see(
        "/assets/raw_items?view=checks&checkDetail=backups_restorable",
        "backups_restorable", "Skipped", "A skipped check is unmeasured",
    )  # fmt: skip
    result = ui.says().split("Latest execution", 1)[1]
    assert "Skipped" in result
    assert "Failed" not in result
    assert "Succeeded" not in result
    ui.picture("unmeasured.png")
