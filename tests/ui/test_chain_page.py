"""The intake chain in a real browser: light and dark, narrow and wide, by keyboard, contrast AA."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service as ChromeService
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from shared_builders import fresh_database, import_test_organisation

from tgv_dagster.audit import ledger
from tgv_dagster.audit.chain import read_chain
from tgv_dagster.audit.register import Station, checkpoint
from tgv_dagster.audit.verdict import green, red, unmeasured
from tgv_dagster.installation import Installation
from tgv_dagster.settings import Settings
from tgv_dagster.web.chain import standalone

pytestmark = pytest.mark.ui
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
         "--disable-background-networking", "--force-device-scale-factor=1")  # fmt: skip
WIDE, NARROW = (1280, 1000), (500, 1000)
AA_TEXT, AA_SHAPE = 4.5, 3.0
"""Least contrast of text and of shapes (WCAG 2.2, 1.4.3 and 1.4.11)."""


@dataclass(frozen=True)
class Screen:
    """A browser on the page, and where its pictures go."""

    browser: webdriver.Chrome
    pictures: Path

    def look(self, *, dark: bool, size: tuple[int, int]) -> None:
        """Show the page as a reader with this preference and width sees it."""
        self.browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]},
        )
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False},
        )
        self.browser.refresh()

    def colour(self, css: str, name: str) -> tuple[float, float, float]:
        """A computed colour of the first element."""
        element = self.browser.find_element(By.CSS_SELECTOR, css)
        value = element.value_of_css_property(name)
        return tuple(float(part) for part in re.findall(r"[\d.]+", value)[:3])  # pyright: ignore[reportReturnType]


def contrast(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    """Contrast of two colours (WCAG 2.2, relative luminance)."""

    def luminance(colour: tuple[float, float, float]) -> float:
        parts = [c / 255 for c in colour]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.fixture(scope="module")
def screen(
    server_url: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Screen]:
    """The page with a green, a red and an unmeasured checkpoint of one station."""
    folder = tmp_path_factory.mktemp("chain")
    with fresh_database(server_url, template) as url:
        settings = Settings(home=folder / "home", database_url=url)  # pyright: ignore[reportArgumentType]
        installation = Installation.open(settings)
        import_test_organisation(installation.database)
        with installation.database.worker() as connection:
            for name, verdict in (
                ("raw_first", green("every document row points to secured bytes")),
                ("bytes_hash_to_name", red("stored bytes are missing")),
                ("storage_region", unmeasured("no region is declared")),
                ("text_for_every_document", green("every document has a text")),
            ):
                ledger.keep(connection, checkpoint(name), green("before"))
                ledger.keep(connection, checkpoint(name), verdict)
        chain = read_chain(installation, installation.service_scope(source="test"))
        page = folder / "chain.html"
        page.write_text(standalone(chain, "de"), encoding="utf-8")
        installation.close()
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=ChromeService("/usr/bin/chromedriver"))
    try:
        driver.get(page.as_uri())
        yield Screen(driver, folder)
    finally:
        driver.quit()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_chain_fits_and_can_be_read(screen: Screen, dark: bool, size: tuple[int, int]) -> None:
    screen.look(dark=dark, size=size)
    inside = screen.browser.execute_script(
        "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    assert inside
    stations = screen.browser.find_elements(By.CSS_SELECTOR, ".chain li")
    assert len(stations) == len(Station)
    paper = screen.colour("body", "background-color")
    card = screen.colour(".chain li", "background-color")
    for text in ("h1", ".quiet", ".checkpoint summary", ".checkpoint dd"):
        ground = card if text.startswith(".checkpoint") else paper
        assert contrast(screen.colour(text, "color"), ground) >= AA_TEXT, text
    for state, name in (("green", "fill"), ("red", "fill"), ("unmeasured", "stroke")):
        assert contrast(screen.colour(f".checkpoint svg.{state}", name), card) >= AA_SHAPE, state
    assert screen.browser.save_screenshot(
        str(screen.pictures / f"chain-{'dark' if dark else 'light'}-{size[0]}.png")
    )


def test_each_state_has_word_shape_and_colour_of_its_own(screen: Screen) -> None:
    screen.look(dark=False, size=WIDE)
    seen = set()
    for state, word in (("green", "grün"), ("red", "rot"), ("unmeasured", "nicht gemessen")):
        mark = screen.browser.find_element(By.CSS_SELECTOR, f".checkpoint summary svg.{state}")
        assert mark.get_attribute("aria-label") == word
        summary = mark.find_element(By.XPATH, "..")
        assert summary.text.startswith(word)
        form = mark.find_element(By.CSS_SELECTOR, "*").get_attribute("outerHTML")
        seen.add((form, mark.value_of_css_property("fill")))
    assert len(seen) == 3


def test_the_keyboard_alone_reaches_and_opens_everything(screen: Screen) -> None:
    screen.look(dark=False, size=WIDE)
    body = screen.browser.find_element(By.TAG_NAME, "body")
    reached: list[str] = []
    for _ in range(len(Station) + 3):
        body.send_keys(Keys.TAB)
        active = screen.browser.switch_to.active_element
        reached.append(f"{active.tag_name}:{active.get_attribute('href') or ''}")
        outline = active.value_of_css_property("outline-style")
        assert outline != "none", reached
    assert sum(1 for place in reached if place.startswith("a:")) == len(Station)
    summary = screen.browser.switch_to.active_element
    assert summary.tag_name == "summary"
    before = summary.find_element(By.XPATH, "..").get_attribute("open")
    summary.send_keys(Keys.ENTER)
    assert summary.find_element(By.XPATH, "..").get_attribute("open") != before
