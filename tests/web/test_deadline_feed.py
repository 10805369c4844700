"""The calendar feed over HTTP: the reader's walls, and how a calendar program signs in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from icalendar import Calendar
from web_builders import Service, document

DAY = datetime.now(UTC).date() + timedelta(days=30)


def deadline(service: Service, **facts: Any) -> int:
    number = document(service, **facts)
    service.rows(
        "INSERT INTO prf_contracts (document_id, entity, partner, notice_deadline)"
        " SELECT id, entity, 'Altland AG', %s FROM documents WHERE id = %s",
        DAY,
        number,
    )
    return number


def uids(content: str) -> set[str]:
    return {str(entry["UID"]) for entry in Calendar.from_ical(content).walk("VEVENT")}


def test_each_reader_gets_the_calendar_of_what_he_may_see(service: Service) -> None:
    open_to_all = deadline(service)
    closed = deadline(service, level="vertraulich")
    foreign = deadline(service, mandant="sued", entity="haus-sued")
    seen = {who: uids(service.get("/deadlines.ics", who).text) for who in ("vera", "anna", "sven")}
    assert f"notice_deadline.{open_to_all}@tgv-dagster" in seen["vera"] & seen["anna"]
    assert f"notice_deadline.{closed}@tgv-dagster" in seen["anna"] - seen["vera"]
    assert seen["sven"] == {f"notice_deadline.{foreign}@tgv-dagster"}


def test_the_list_says_who_what_when_and_why(service: Service) -> None:
    number = deadline(service)
    (item,) = [
        d for d in service.get("/api/deadlines", "anna").json() if d["document_id"] == number
    ]
    assert (item["partner"], item["what"], item["day"], item["days_left"]) == (
        "Altland AG",
        "notice_deadline",
        DAY.isoformat(),
        30,
    )
    assert item["derivation"] == "stated"


def test_a_calendar_program_sends_the_token_as_a_password(service: Service) -> None:
    deadline(service)
    token = service.headers("anna")["Authorization"].removeprefix("Bearer ")
    answer = service.client.get("/deadlines.ics", auth=("anything", token))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/calendar; charset=utf-8"
    refused = service.client.get("/deadlines.ics", auth=("anna", "tgv_1_wrong"))
    assert (refused.status_code, refused.text) == (401, "")
    assert "Basic" in refused.headers["www-authenticate"]
    assert service.client.get("/api/status", auth=("anything", token)).status_code == 401
