"""The same bytes at the same moment, by every door: one document, no error (MAIL-45, DEDUP-06).

Nobody is told of a document that is not his to see; who may see it is told it is here already.
"""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import httpx
import pytest
from web_builders import Service

from tgv_dagster import flow

SENDERS = 6
UPLOAD = "/api/upload"
DROP = "/api/skills/mail-drop"
WAYS = ("mail_parts", "extracted_texts", "documents")
_numbers = itertools.count(1)


def a_mail() -> bytes:
    """Bytes that no other test sends."""
    number = next(_numbers)
    return (
        f"From: a@example.org\r\nTo: post@example.com\r\nSubject: Angebot {number}\r\n"
        f"Message-ID: <angebot-{number}@example.org>\r\n\r\nNordlicht GmbH, Angebot {number}.\r\n"
    ).encode()


def send_at_once(service: Service, raw: bytes, doors: tuple[str, ...]) -> list[httpx.Response]:
    """The same file by several people at one moment, each by one of the doors in turn."""
    together = Barrier(SENDERS)
    for login in ("emil", "anna"):
        service.token(login)

    def send(place: int) -> httpx.Response:
        together.wait()
        login = ("emil", "anna")[place % 2]
        files = [("files", ("angebot.eml", raw))]
        return service.ask("POST", doors[place % len(doors)], login, files=files)

    with ThreadPoolExecutor(SENDERS) as pool:
        return list(pool.map(send, range(SENDERS)))


def enter_at_once(service: Service) -> None:
    """Two workers of the flow on the same arrivals."""
    steps = [step for step in flow.STEPS if step.name in WAYS]

    def work(_: int) -> None:
        while any(step.run(service.installation, None).claimed for step in steps):
            pass

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(2)))


@pytest.mark.parametrize("doors", [(DROP,), (UPLOAD,), (DROP, UPLOAD)])
def test_the_same_mail_at_once_is_one_document(service: Service, doors: tuple[str, ...]) -> None:
    raw = a_mail()
    before = service.rows("SELECT coalesce(max(id), 0) FROM arrivals")[0][0]
    answers = send_at_once(service, raw, doors)
    assert {answer.status_code for answer in answers} == {202}, [a.text for a in answers]
    for _ in range(3):  # whose owner was still on its way is claimed again
        enter_at_once(service)
    found = service.rows(
        "SELECT a.outcome, count(*), count(DISTINCT a.document_id) FROM arrivals a"
        " WHERE a.parent_id > %s AND a.part_role = 'body' GROUP BY a.outcome ORDER BY a.outcome",
        before,
    )
    assert found == [("already_here", SENDERS - 1, 1), ("entered", 1, 1)]
    assert service.rows("SELECT count(*) FROM cases WHERE kind = 'parked'") == [(0,)]
    again = service.ask("POST", doors[0], "emil", files=[("files", ("angebot.eml", raw))])
    (told,) = again.json()["files"]
    assert (again.status_code, told["status"]) == (202, "already_here")
