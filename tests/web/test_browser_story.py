"""The operator's pages in a real browser: the story of a day in German and French, keys, axe.

axe-core comes from npm for the run of the tests only, as the pinned version with this digest.
"""

from __future__ import annotations

import base64
import hashlib
import io
import itertools
import os
import re
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas
from selenium import webdriver
from selenium.webdriver.chrome.service import Service as ChromeService
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait
from web_builders import (
    PASSWORD,
    Service,
    activate,
    booking,
    document,
    learned_rule,
    parked_arrival,
    question,
)

from tgv_dagster import flow
from tgv_dagster.web.texts import texts

pytestmark = pytest.mark.ui

AXE = "axe-core@4.14.1"
AXE_SHA512 = (
    "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
)
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-quic",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--force-device-scale-factor=1",
)  # fmt: skip
CONTROLS = (
    "a[href], button, input:not([type=hidden]):not([type=radio]):not([readonly]), select,"
    " textarea, summary"
)
WIDTHS = (360, 1440)
SCHEMES = ("light", "dark")
PATIENCE = 30


@dataclass
class Screen:
    """A browser before the pages of a service."""

    service: Service
    driver: webdriver.Chrome

    def open(self, path: str) -> None:
        """Open a page of the service."""
        self.driver.get(self.service.url + path)

    def wait(self, condition: Callable[[], Any]) -> Any:
        """What the condition gives as soon as it gives anything."""
        return WebDriverWait(self.driver, PATIENCE, ignored_exceptions=[Exception]).until(
            lambda _: condition()
        )

    def find(self, css: str) -> WebElement:
        """The first element, as soon as it is there."""
        return self.wait(lambda: self.driver.find_element(By.CSS_SELECTOR, css))

    def says(self, text: str) -> bool:
        """Whether the page says this."""
        return text in self.driver.find_element(By.TAG_NAME, "body").text

    def press(self, *keys: str) -> None:
        """Press keys one after the other, as a person does."""
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def sign_in(self, login: str, language: str) -> None:
        """Choose the language and sign in."""
        self.driver.delete_all_cookies()
        self.open("/login")
        self.find(f"button[name=language][value={language}]").click()
        self.wait(lambda: self.find("html").get_attribute("lang") == language)
        self.find("input[name=login]").send_keys(login)
        self.find("input[name=password]").send_keys(PASSWORD, Keys.ENTER)
        self.find("header nav")

    def look(self, width: int, scheme: str) -> None:
        """A screen of this width and colour scheme."""
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def picture(self, name: str) -> None:
        """Keep what is seen where `TGV_PICTURES` says, if it says anything."""
        folder = os.environ.get("TGV_PICTURES")
        if folder:
            self.driver.save_screenshot(str(Path(folder) / name))


@pytest.fixture(scope="module")
def screen(service: Service) -> Iterator[Screen]:
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options=options, service=ChromeService("/usr/bin/chromedriver"))
        try:
            yield Screen(service, driver)
        finally:
            driver.quit()


def letter(folder: Path, name: str, *lines: str) -> Path:
    """A PDF with a text layer."""
    out = io.BytesIO()
    canvas = Canvas(out)
    for number, line in enumerate(lines):
        canvas.drawString(60, 760 - 18 * number, line)
    canvas.save()
    path = folder / name
    path.write_bytes(out.getvalue())
    return path


def state_of(service: Service, case: int) -> str:
    return str(service.rows("SELECT state FROM cases WHERE id = %s", case)[0][0])


INVOICE = (
    "Holzkontor Altland GmbH", "Nordlicht GmbH", "Hafenweg 1, 20457 Hamburg", "",
    "Rechnung", "Rechnungsnummer {number}", "Rechnungsdatum 02.03.2026",
    "Eichenplatten geschliffen, 12 Stück", "Nettobetrag 100,00 EUR",
    "zzgl. 19 % USt. 19,00 EUR", "Gesamtbetrag 119,00 EUR",
)  # fmt: skip
LETTER = (
    "Werkstattnachrichten", "Sehr geehrte Damen und Herren,",
    "der {word} steht ab Montag in der Halle bereit.", "Mit freundlichen Grüßen",
)  # fmt: skip


@pytest.mark.parametrize(("language", "word"), [("de", "Zinkenfräser"), ("fr", "Schraubstock")])
def test_a_day_drop_decide_find(
    screen: Screen, service: Service, tmp_path: Path, language: str, word: str
) -> None:
    say = texts(language)
    activate(service, "anna")
    screen.look(1440, "light")
    screen.sign_in("anna", language)

    screen.open("/drop")
    files = (
        letter(
            tmp_path, f"Rechnung-{language}.pdf", *(x.format(number=f"R-{word}") for x in INVOICE)
        ),
        letter(tmp_path, f"Brief-{language}.pdf", *(line.format(word=word) for line in LETTER)),
        letter(tmp_path, f"Irrtum-{language}.pdf", "never sent"),
    )
    chooser = screen.find("#files")
    for path in files:
        chooser.send_keys(str(path))
    screen.wait(lambda: len(screen.driver.find_elements(By.CSS_SELECTOR, "#chosen li")) == 3)
    screen.find("#chosen li:nth-child(3) button").click()
    screen.find("textarea[name=intent]").send_keys("bitte ablegen")
    screen.find("#send").click()
    screen.wait(lambda: screen.find("#chosen").text.count(say["upload.taken"]) == 2)
    screen.wait(lambda: f"Brief-{language}.pdf" in screen.find("#queue").text)
    screen.picture(f"drop-{language}.png")
    assert say["outcome.pending"] in screen.find("#queue").text
    assert f"Irrtum-{language}.pdf" not in screen.find("#queue").text

    flow.run_until_idle(service.installation)
    screen.wait(lambda: screen.find("#queue").text.count(say["outcome.entered"]) >= 2)
    ((case, number),) = service.rows(
        "SELECT c.id, c.document_id FROM cases c JOIN documents d ON d.id = c.document_id"
        " WHERE c.state = 'open' AND d.file_name = %s",
        f"Brief-{language}.pdf",
    )

    screen.open(f"/inbox/{case}")
    picture = screen.find(".sheet img")
    screen.wait(lambda: picture.get_property("naturalWidth") == 1100)
    screen.picture(f"inbox-{language}.png")
    assert screen.says(say["field.entity"])
    screen.press("c")
    focused = screen.driver.switch_to.active_element
    assert focused.get_attribute("name") == "value.entity"
    screen.press("N", Keys.TAB, Keys.TAB, Keys.ENTER)
    screen.wait(
        lambda: service.rows("SELECT state FROM cases WHERE id = %s", case) == [("executed",)]
    )
    assert service.rows(
        "SELECT set_by FROM document_values WHERE document_id = %s AND origin = 'human'", number
    ) == [("anna",)]

    flow.run_until_idle(service.installation)
    screen.open("/search")
    screen.press("/")
    screen.press(*word, Keys.ENTER)
    found = screen.find(f'article a[href="/d/{number}"]')
    screen.picture(f"search-{language}.png")
    found.click()
    screen.wait(lambda: screen.says(f"{say['document.number']} {number}"))
    screen.picture(f"document-{language}.png")
    assert screen.says(say["origin.human"])


PAPER = (
    "{sender}\n\nNordlicht GmbH\nHafenweg 1\n20457 Hamburg\n\nRechnung Nr. RE-{number}\n"
    "Rechnungsdatum: 02.03.2026\nEichenbohlen 480,00 EUR\nNettobetrag 480,00 EUR\n"
    "Umsatzsteuer 19 % 91,20 EUR\nGesamtbetrag 571,20 EUR\nZahlbar bis 16.03.2026.\n"
)


@pytest.mark.parametrize(
    ("language", "first", "sender", "right"),
    [
        ("de", 401, "Meier Bau GmbH und Huber Holz GmbH", "Meier Bau GmbH & Co. KG"),
        ("fr", 501, "Lang Dach GmbH und Otto Glas GmbH", "Lang Dach GmbH & Co. KG"),
    ],
)
def test_after_three_corrections_and_one_yes_the_fourth_needs_nobody(
    screen: Screen,
    service: Service,
    tmp_path: Path,
    language: str,
    first: int,
    sender: str,
    right: str,
) -> None:
    """CLAR-11, FLOW-01 at the pages: papers whose head names two firms, until a rule knows them."""
    say = texts(language)
    activate(service, "anna")
    screen.look(1440, "light")
    screen.sign_in("anna", language)

    def dropped(*numbers: int) -> list[int]:
        """Drop papers at the page and let the flow run; their numbers as documents."""
        screen.open("/drop")
        Select(screen.find("select[name=entity]")).select_by_value("nord-gmbh")
        names = [f"Blatt-{language}-{number}.txt" for number in numbers]
        for name, number in zip(names, numbers, strict=True):
            text = PAPER.format(sender=sender, number=number)
            (tmp_path / name).write_text(text, "utf-8")
            screen.find("#files").send_keys(str(tmp_path / name))
        screen.find("#send").click()
        screen.wait(lambda: screen.find("#chosen").text.count(say["upload.taken"]) == len(names))
        flow.run_until_idle(service.installation)
        found = service.rows(
            "SELECT document_id FROM arrivals WHERE file_name = ANY (%s) ORDER BY file_name", names
        )
        return [int(row[0]) for row in found]

    def asked(document_id: int) -> list[int]:
        """The open cases of a document."""
        rows = service.rows(
            "SELECT id FROM cases WHERE document_id = %s AND state = 'open'", document_id
        )
        return [int(row[0]) for row in rows]

    for number in dropped(first, first + 1, first + 2):
        assert proposed(service, right) == []
        (case,) = asked(number)
        screen.open(f"/inbox/{case}")
        screen.press("c")
        assert screen.driver.switch_to.active_element.get_attribute("name") == "value.provider"
        screen.press(*right, Keys.ENTER)
        screen.wait(lambda case=case: state_of(service, case) == "executed")
        flow.run_until_idle(service.installation)

    ((rule, case),) = proposed(service, right)
    screen.open(f"/inbox/{case}")
    assert say["case_kind.rule"] in screen.find("h1").text
    assert screen.find("dl.card").text.count(right) == 1
    assert f"{say['rule.agrees']} 3" in screen.find("dl.card").text
    screen.picture(f"rule-{language}.png")
    screen.press("a")
    screen.wait(lambda: state_of(service, case) == "executed")
    flow.run_until_idle(service.installation)

    (fourth,) = dropped(first + 3)
    assert asked(fourth) == []
    screen.open(f"/d/{fourth}")
    row = screen.driver.find_element(
        By.XPATH, f"//tr[th[normalize-space()='{say['field.provider']}']][not(@class)]"
    )
    assert right in row.text
    assert say["origin.rule"] in row.text
    assert f"learned:{rule}" in row.text


def proposed(service: Service, right: str) -> list[tuple[int, int]]:
    """Learned rules that set this supplier, each with the open case that proposes it."""
    rows = service.rows(
        "SELECT r.id, c.id FROM pattern_rules r JOIN cases c ON c.kind = 'rule'"
        " AND c.state = 'open' AND c.evidence -> 'effect' = r.effect"
        " WHERE r.effect ->> 'provider' = %s",
        right,
    )
    return [(int(rule), int(case)) for rule, case in rows]


@pytest.mark.parametrize(
    ("language", "word", "holder"),
    [("de", "Drehleier", "Holzkontor & Söhne"), ("fr", "Zimbalom", "Atelier Façade")],
)
def test_a_drop_for_certain_persons_with_what_is_known_of_rights(
    screen: Screen, service: Service, tmp_path: Path, language: str, word: str, holder: str
) -> None:
    say = texts(language)
    activate(service, "emil")
    screen.look(360, "dark")
    screen.sign_in("emil", language)
    screen.open("/drop")
    assert not screen.find(".rights[data-kind=paper]").is_displayed(), "nothing waits yet"
    picture = tmp_path / f"Werkbank-{language}.png"
    Image.new("RGB", (40, 30), (90, len(word), 7)).save(picture)
    paper = letter(tmp_path, f"Brief-{word}.pdf", *(line.format(word=word) for line in LETTER))
    for path in (paper, picture):
        screen.find("#files").send_keys(str(path))
    screen.wait(lambda: screen.find(".rights[data-kind=picture]").is_displayed())
    assert not screen.find(".rights[data-kind=audio]").is_displayed()
    assert screen.says(say["drop.rights_verbatim_ok.paper"])
    assert screen.says(say["drop.rights_copyright_holder.picture"])
    screen.find("#chosen li:nth-child(2) button").click()
    screen.wait(lambda: not screen.find(".rights[data-kind=picture]").is_displayed())

    screen.find(".names summary").click()
    screen.find("input[name=persons][value=vera]").click()
    Select(screen.find("[name='paper:rights_verbatim_ok']")).select_by_visible_text(
        say["yes_or_no.false"]
    )
    screen.find("[name='paper:rights_copyright_holder']").send_keys(holder)
    screen.find("textarea[name=intent]").send_keys(f"nur für Vera: {word}")
    for width, scheme in ((360, "dark"), (1440, "light")):
        screen.look(width, scheme)
        screen.picture(f"drop-answers-{language}-{width}-{scheme}.png")
    screen.find("#send").click()
    screen.wait(lambda: say["upload.taken"] in screen.find("#chosen").text)
    assert not screen.find("input[name=persons][value=vera]").is_selected(), "the next is another"
    screen.wait(lambda: f"nur für Vera: {word}" in screen.find("#queue").text)

    flow.run_until_idle(service.installation)
    ((number,),) = service.rows(
        "SELECT id FROM documents WHERE file_name = %s", f"Brief-{word}.pdf"
    )
    screen.open(f"/d/{number}")
    assert screen.says(say["document.circle"] % {"persons": "Emil, Vera"})
    assert screen.says(say["field.rights_verbatim_ok"])
    assert screen.says(holder)
    screen.picture(f"document-circle-{language}.png")
    people = ("anna", "emil", "vera", "eva")
    seen = {p for p in people if service.get(f"/d/{number}", p).status_code == 200}
    assert seen == {"anna", "emil", "vera"}
    screen.open("/drop")
    screen.find("#files").send_keys(str(paper))
    Select(screen.find("select[name=level]")).select_by_index(2)
    screen.find("#send").click()
    screen.wait(lambda: say["upload.already_here"] in screen.find("#chosen").text)
    assert say["drop.rest"] in screen.find("#chosen").text


def test_a_lost_connection_and_an_ended_session_lose_nothing(
    screen: Screen, service: Service, tmp_path: Path
) -> None:
    activate(service, "emil")
    screen.sign_in("emil", "de")
    case = question(service, document(service), "provider")
    screen.open(f"/inbox/{case}")
    typed = screen.find("input[name='value.provider'][maxlength]")
    typed.send_keys("Holzkontor Altland")
    network = {"latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    screen.driver.execute_cdp_cmd("Network.enable", {})
    screen.driver.execute_cdp_cmd("Network.emulateNetworkConditions", network | {"offline": True})
    screen.find("#answer button").click()
    screen.wait(lambda: texts("de")["page.lost"] in screen.find("#notice").text)
    assert typed.get_attribute("value") == "Holzkontor Altland"
    online = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    screen.driver.execute_cdp_cmd("Network.emulateNetworkConditions", online)
    service.rows("UPDATE web_sessions SET ended_at = now() WHERE ended_at IS NULL")
    screen.find("#answer button").click()
    screen.wait(lambda: texts("de")["page.expired"] in screen.find("#notice").text)
    assert typed.get_attribute("value") == "Holzkontor Altland"
    assert state_of(service, case) == "open"

    screen.sign_in("emil", "de")
    screen.open("/drop")
    screen.find("#files").send_keys(str(letter(tmp_path, "unterwegs.pdf", "Verbindung weg")))
    screen.driver.execute_cdp_cmd("Network.emulateNetworkConditions", network | {"offline": True})
    screen.find("#send").click()
    screen.wait(lambda: texts("de")["drop.again"] in screen.find("#chosen").text)
    screen.driver.execute_cdp_cmd("Network.emulateNetworkConditions", online)
    screen.find("#send").click()
    screen.wait(lambda: texts("de")["upload.taken"] in screen.find("#chosen").text)
    assert service.rows("SELECT count(*) FROM arrivals WHERE file_name = 'unterwegs.pdf'") == [(1,)]


def test_a_second_click_and_a_stale_card_are_told(screen: Screen, service: Service) -> None:
    activate(service, "emil")
    screen.sign_in("emil", "de")
    number = document(service)
    case = question(service, number, "provider")
    screen.open(f"/inbox/{case}")
    screen.find("input[name='value.provider'][maxlength]").send_keys("Holzkontor")
    done = service.post(
        f"/api/cases/{case}/answer", "anna", mandant="nord", json={"values": {"provider": "Anders"}}
    )
    assert done.status_code == 200
    screen.find("#answer button").click()
    screen.wait(lambda: texts("de")["error.409.title"] in screen.find("#notice").text)
    assert service.rows(
        "SELECT value FROM document_values WHERE document_id = %s AND origin = 'human'", number
    ) == [("Anders",)]
    other = question(service, document(service), "provider")
    screen.open(f"/inbox/{other}")
    screen.find("input[name='value.provider'][maxlength]").send_keys("Holzkontor")
    ActionChains(screen.driver).double_click(screen.find("#answer button")).perform()
    screen.wait(
        lambda: service.rows("SELECT state FROM cases WHERE id = %s", other) == [("executed",)]
    )


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The checker of accessibility, as published under its version."""
    folder = tmp_path_factory.mktemp("axe")
    subprocess.run(["npm", "pack", AXE, "--silent"], cwd=folder, check=True, capture_output=True)
    (packed,) = folder.glob("*.tgz")
    content = packed.read_bytes()
    assert base64.b64encode(hashlib.sha512(content).digest()).decode() == AXE_SHA512
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        member = archive.extractfile("package/axe.min.js")
        assert member is not None
        return member.read().decode()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_page_fits_every_screen_and_axe_finds_nothing_serious(
    screen: Screen, service: Service, axe: str, scheme: str
) -> None:
    activate(service, "anna")
    screen.look(1440, "light")
    screen.sign_in("anna", "de")
    number = document(service, title="Rechnung Holzkontor")
    case = question(service, number, "due_date", "provider", "entity")
    service.rows("UPDATE documents SET due_date = '2090-01-01' WHERE id = %s", number)
    others = (waiting_photograph(service), *proposing_cases(service))
    places = (
        *("/inbox", f"/inbox/{case}", f"/d/{number}", "/search", "/search?q=Holzkontor"),
        *(f"/inbox/{one}" for one in others),
        *("/drop", "/deadlines", "/unmatched", "/parked", "/settings", "/nothing/here", "/login"),
    )
    paid_twice(service, number)
    parked_arrival(service)
    serious = looked_at(screen, axe, scheme, places)
    activate(service, "chef")
    screen.look(1440, "light")
    screen.sign_in("chef", "fr")
    serious += looked_at(screen, axe, scheme, ("/settings/thresholds", "/settings", "/chain"))
    screen.open("/settings/thresholds")
    screen.find("form[action$=simulation] button").click()
    screen.find("section.notice")
    serious += looked_at(screen, axe, scheme, (None,))
    assert serious == []


def waiting_photograph(service: Service) -> int:
    """A case about a photograph that waits and is no document."""
    out = io.BytesIO()
    Image.new("RGB", (1200, 900), (90, 70, next(_shades))).save(out, "PNG")
    case = parked_arrival(service, content=out.getvalue(), file_name="Werkbank.png")
    service.rows(
        "UPDATE raw_items r SET media_type = 'image/png' FROM arrivals a JOIN cases c"
        " ON c.arrival_id = a.id WHERE c.id = %s AND r.id = a.raw_item_id",
        case,
    )
    return case


def proposing_cases(service: Service) -> list[int]:
    """The case of a rule that is proposed now."""
    rows = service.rows("SELECT case_id FROM pattern_rules WHERE id = %s", learned_rule(service))
    return [int(row[0]) for row in rows]


_shades = itertools.count()


def looked_at(screen: Screen, axe: str, scheme: str, places: tuple[str | None, ...]) -> list[str]:
    """What axe finds serious on each page; None is the page that is open."""
    serious: list[str] = []
    for place in places:
        name = re.sub(r"\W+", "-", place or "simulation").strip("-")
        for width in WIDTHS:
            screen.look(width, scheme)
            if place is not None:
                screen.open(place)
            across = screen.driver.execute_script("return document.documentElement.scrollWidth")
            assert across <= width, (place, width)
            screen.picture(f"{name}-{scheme}-{width}.png")
            screen.driver.execute_script(axe)
            found = screen.driver.execute_async_script(
                "const done = arguments[0]; axe.run(document).then((r) => done(r.violations));"
            )
            serious += [
                f"{place} {scheme} {width}: {v['id']} {v['nodes'][0]['html'][:120]}"
                for v in found
                if v["impact"] in ("serious", "critical")
            ]
    screen.look(1440, "light")
    return serious


def paid_twice(service: Service, number: int) -> tuple[int, int, int]:
    """A receipt with a proposed booking and one without; the proposal and both bookings."""
    service.rows(
        "UPDATE documents SET doc_type = 'invoice', amount_gross = 1190, currency = 'EUR',"
        " invoice_date = '2026-03-02', provider = 'Holzkontor' WHERE id = %s",
        number,
    )
    one = booking(service, number, "intern", amount="-1000.00", purpose="Holzkontor RE-4711 Teil 1")
    two = booking(service, number, "intern", amount="-190.00", purpose="Holzkontor RE-4711 Rest")
    ((proposal,),) = service.rows(
        "INSERT INTO txn_document_links (txn_id, document_id, amount, set_by)"
        " VALUES (%s, %s, 1000, 'tgv') RETURNING id",
        one,
        number,
    )
    return proposal, one, two


@pytest.mark.parametrize("language", ["de", "fr"])
def test_money_is_matched_by_keyboard(screen: Screen, service: Service, language: str) -> None:
    activate(service, "anna")
    screen.look(1440, "light")
    screen.sign_in("anna", language)
    number = document(service, title="Rechnung Holzkontor")
    proposal, one, two = paid_twice(service, number)
    confirmed = "SELECT txn_id, amount::int FROM txn_document_links WHERE document_id = %s" \
        " AND state = 'confirmed' ORDER BY txn_id"  # fmt: skip
    screen.open("/unmatched?from=2026-03-01&to=2026-03-31")
    waits = screen.find(f"form[action='/unmatched/link/{proposal}/confirm'] button")
    waits.send_keys(Keys.ENTER)
    screen.wait(lambda: service.rows(confirmed, number) == [(one, 1000)])
    screen.wait(lambda: not screen.driver.find_elements(By.ID, f"booking-{one}"))
    field = screen.find(f"#booking-{two} input[name=document]")
    screen.press("l")
    assert screen.driver.switch_to.active_element.get_attribute("name") == "document"
    screen.press(Keys.ESCAPE)
    field.send_keys("999999999", Keys.ENTER)
    screen.wait(
        lambda: texts(language)["error.link_not_found.title"] in screen.find("#notice").text
    )
    field = screen.find(f"#booking-{two} input[name=document]")
    assert field.get_attribute("value") == "999999999"
    field.clear()
    field.send_keys(str(number), Keys.ENTER)
    screen.wait(lambda: service.rows(confirmed, number) == [(one, 1000), (two, 190)])
    screen.wait(lambda: not screen.driver.find_elements(By.ID, f"booking-{two}"))


def test_everything_on_a_page_is_reached_by_keyboard(screen: Screen, service: Service) -> None:
    activate(service, "anna")
    screen.look(1440, "light")
    screen.sign_in("anna", "de")
    case = question(service, document(service), "due_date", "provider")
    paid_twice(service, document(service))
    places = (
        f"/inbox/{case}",
        "/drop",
        "/search",
        "/settings",
        "/unmatched",
        "/deadlines",
        "/chain",
    )
    for place in places:
        screen.open(place)
        wanted = screen.driver.execute_script(
            f"return [...document.querySelectorAll('{CONTROLS}')]"
            ".filter((e) => e.checkVisibility()).length"
        )
        reached: set[str] = set()
        for _ in range(2 * wanted + 20):  # regions that scroll are stops too
            screen.press(Keys.TAB)
            reached.add(screen.driver.switch_to.active_element.id)
        left = screen.driver.execute_script(
            "const seen = new Set(arguments[0]); return [...document.querySelectorAll("
            f"'{CONTROLS}')]"
            ".filter((e) => e.checkVisibility() && !seen.has(e)).map((e) => e.outerHTML)",
            [screen.driver.create_web_element(name) for name in reached],
        )
        assert left == [], place


def test_no_page_breaks_its_own_policy(screen: Screen, service: Service) -> None:
    activate(service, "anna")
    screen.sign_in("anna", "de")
    number = document(service, media_type="text/html", content=b"<script>alert(1)</script>hello")
    screen.driver.get_log("browser")
    for place in (
        "/inbox",
        f"/d/{number}",
        "/search",
        "/drop",
        "/deadlines",
        "/unmatched",
        "/chain",
        "/parked",
        "/settings",
    ):
        screen.open(place)
        time.sleep(0.3)
    told = [entry["message"] for entry in screen.driver.get_log("browser")]
    assert [line for line in told if "Content Security Policy" in line] == []
