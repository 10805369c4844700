"""Deadlines told in time: the list, the cases at 60 and 14 days, the calendar."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from icalendar import Calendar
from psycopg.types.json import Jsonb
from shared_builders import import_test_organisation

from tgv_dagster.deepen import upcoming
from tgv_dagster.deepen.upcoming import HORIZON_DAYS, Upcoming, calendar, tell
from tgv_dagster.store.db import Connection, Database
from tgv_dagster.store.scope import Scope
from tgv_dagster.understand.evidence import Field

DEADLINE = date(2027, 6, 30)
RENEWAL = {
    "rule": "next_renewal",
    "value": "2026-12-01",
    "inputs": {
        "contract_start_date": "2003-12-01", "term": "12 months", "renewal": "12 months",
        "as_of": "2026-06-01",
    },
    "source": "#1",
}  # fmt: skip
BACK = {
    "rule": "end_minus_period",
    "value": "2026-08-31",
    "inputs": {
        "day before next_renewal_date": "2026-11-30",
        "notice_period_days": "90 (3 months)",
    },
    "source": "#1",
}


@pytest.fixture
def organised(database: Database) -> Iterator[Database]:
    import_test_organisation(database)
    yield database


def contract(
    connection: Connection,
    *,
    entity: str = "nord-gmbh",
    level: str = "intern",
    partner: str | None = "Altland Versicherung AG",
    start: date | None = None,
    end: date | None = None,
    notice_deadline: date | None = None,
    renews: bool | None = None,
    derivation: tuple[dict[str, object], ...] = (),
    state: str = "active",
) -> int:
    number = connection.execute(
        "INSERT INTO document_numbers (mandant_id, raw_sha256, part_role, arrival_uid)"
        " SELECT mandant_id, md5(random()::text) || md5(random()::text), 'body',"
        " gen_random_uuid() FROM entities"
        " WHERE slug = %s RETURNING id",
        (entity,),
    ).fetchone()
    assert number is not None
    connection.execute(
        "INSERT INTO documents (id, entity, raw_sha256, storage_bucket, raw_key, part_role,"
        " file_class, file_name, date_received, confidentiality_level, doc_type, state, mandant_id)"
        " SELECT n.id, %s, n.raw_sha256, %s, 'k', 'body', 'mail_body', 'v.eml', %s, %s,"
        " 'contract', %s, n.mandant_id FROM document_numbers n WHERE n.id = %s",
        (entity, entity, datetime(2026, 1, 2, tzinfo=UTC), level, state, number[0]),
    )
    connection.execute(
        "INSERT INTO prf_contracts (document_id, entity, partner, contract_start_date,"
        " contract_end_date, notice_deadline, auto_renewal, derivation)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
        (
            number[0], entity, partner, start, end, notice_deadline, renews,
            Jsonb(list(derivation)),
        ),
    )  # fmt: skip
    return int(number[0])


def reasons(connection: Connection, state: str = "open") -> list[str]:
    rows = connection.execute(
        "SELECT reason FROM cases WHERE kind = 'deadline' AND state = %s ORDER BY id", (state,)
    )
    return [row[0] for row in rows]


def test_a_case_opens_at_sixty_and_at_fourteen_days_and_not_before(organised: Database) -> None:
    with organised.worker() as connection:
        contract(connection, notice_deadline=DEADLINE)
        for days, opened in ((61, 0), (60, 1), (59, 0), (15, 0), (14, 1), (13, 0), (0, 0)):
            assert tell(connection, DEADLINE - timedelta(days=days)).opened == opened
        assert reasons(connection) == [
            "notice_deadline 2027-06-30: 60 days",
            "notice_deadline 2027-06-30: 14 days",
        ]


def test_a_late_document_opens_only_the_nearest_case(organised: Database) -> None:
    with organised.worker() as connection:
        contract(connection, notice_deadline=DEADLINE)
        assert tell(connection, DEADLINE - timedelta(days=3)).opened == 1
        assert reasons(connection) == ["notice_deadline 2027-06-30: 14 days"]


def test_a_case_somebody_closed_stays_closed(organised: Database) -> None:
    with organised.worker() as connection:
        contract(connection, notice_deadline=DEADLINE)
        tell(connection, DEADLINE - timedelta(days=50))
        connection.execute("UPDATE cases SET state = 'not_executed', decided_by = 'anna'")
        assert tell(connection, DEADLINE - timedelta(days=49)).opened == 0


def test_a_moved_deadline_closes_the_case_of_the_old_day(organised: Database) -> None:
    with organised.worker() as connection:
        contract(connection, notice_deadline=DEADLINE)
        tell(connection, DEADLINE - timedelta(days=50))
        connection.execute("UPDATE prf_contracts SET notice_deadline = '2027-06-15'")
        told = tell(connection, date(2027, 5, 20))
        assert (told.opened, told.closed) == (1, 1)
        assert reasons(connection) == ["notice_deadline 2027-06-15: 60 days"]


def test_a_missed_window_of_a_renewing_contract_shows_the_next_one(organised: Database) -> None:
    with organised.worker() as connection:
        contract(
            connection,
            start=date(2003, 12, 1),
            notice_deadline=date(2026, 8, 31),
            renews=True,
            derivation=(BACK, RENEWAL),
        )
        (before,) = upcoming.upcoming(connection, date(2026, 8, 31))
        (after,) = upcoming.upcoming(connection, date(2026, 9, 1))
    assert before.day == date(2026, 8, 31)
    assert (after.day, str(after.rule)) == (date(2027, 8, 31), "end_minus_period")
    assert "2027-11-30" in after.derivation


def test_a_day_a_person_set_is_never_computed_again(organised: Database) -> None:
    with organised.worker() as connection:
        contract(
            connection,
            start=date(2003, 12, 1),
            notice_deadline=date(2026, 7, 31),
            renews=True,
            derivation=(BACK, RENEWAL),
        )
        (item,) = upcoming.upcoming(connection, date(2026, 7, 1))
        assert (item.day, item.rule, item.derivation) == (date(2026, 7, 31), None, "stated")
        assert upcoming.upcoming(connection, date(2026, 8, 1)) == ()


def test_the_end_is_listed_where_no_notice_is_known(organised: Database) -> None:
    with organised.worker() as connection:
        contract(connection, end=date(2027, 3, 31))
        contract(connection, end=date(2027, 3, 31), state="trashed")
        contract(connection)
        (item,) = upcoming.upcoming(connection, date(2027, 1, 1))
        assert (item.what, item.day) == (Field.CONTRACT_END_DATE, date(2027, 3, 31))
        far = date(2027, 3, 31) - timedelta(days=HORIZON_DAYS + 1)
        assert upcoming.upcoming(connection, far) == ()


def test_readers_see_the_deadlines_behind_their_walls_only(organised: Database) -> None:
    with organised.worker() as connection:
        own = contract(connection, notice_deadline=DEADLINE)
        contract(connection, notice_deadline=DEADLINE, level="streng_vertraulich")
        contract(connection, entity="haus-sued", notice_deadline=DEADLINE)
    scope = Scope.for_principal(organised, "vera", mandant="nord", source="test")
    with organised.reading(scope) as connection:
        seen = upcoming.upcoming(connection, date(2027, 6, 1))
    assert [item.document_id for item in seen] == [own]


# --- calendar --------------------------------------------------------------------------------


def item(**changed: object) -> Upcoming:
    facts: dict[str, object] = {
        "document_id": 7, "mandant_id": 1, "entity": "nord-gmbh", "partner": "Müller, Söhne; Co",
        "level": "intern", "is_test": False, "what": Field.NOTICE_DEADLINE, "day": DEADLINE,
        "rule": None, "derivation": "stated",
    }  # fmt: skip
    return Upcoming(**(facts | changed))  # pyright: ignore[reportArgumentType]


def only_entry(content: bytes) -> Any:
    (entry,) = Calendar.from_ical(content.decode()).walk("VEVENT")
    return entry


@pytest.mark.parametrize("language", ["de", "fr", "en", "xx"])
def test_the_calendar_is_read_back_by_another_reader(language: str) -> None:
    content = calendar([item()], language=language, address="http://host/d/")
    entry = only_entry(content)
    assert entry["UID"] == "notice_deadline.7@tgv-dagster"
    assert entry["DTSTART"].dt == DEADLINE
    assert entry["DTEND"].dt == DEADLINE + timedelta(days=1)
    assert "Müller, Söhne; Co" in entry["SUMMARY"]
    assert "#7" in entry["SUMMARY"]
    assert entry["URL"] == "http://host/d/7"
    triggers = [alarm["TRIGGER"].dt for alarm in entry.walk("VALARM")]
    assert triggers == [timedelta(days=-60), timedelta(days=-14)]
    assert all(len(line) <= 75 for line in content.split(b"\r\n"))


def test_a_moved_deadline_keeps_its_identity_and_equal_ones_are_equal_bytes() -> None:
    moved = calendar([item(day=DEADLINE + timedelta(days=5))], language="de", address="")
    same = [calendar([item()], language="de", address="") for _ in range(2)]
    assert same[0] == same[1] != moved
    assert b"UID:notice_deadline.7@tgv-dagster" in moved
    other = calendar([item(what=Field.CONTRACT_END_DATE)], language="de", address="")
    assert b"UID:contract_end_date.7@tgv-dagster" in other


def test_an_empty_calendar_is_a_calendar() -> None:
    assert Calendar.from_ical(calendar([], language="fr", address="").decode()).walk("VEVENT") == []
