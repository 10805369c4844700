"""Deadlines that come up: told in time, as a list, as open cases and as a calendar.

Here belongs which day of which contract is the last safe one seen from a day, and when a person is
told. The days themselves are computed in `deadlines`; a day a person set is never computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from icalendar import Alarm, Calendar, Event

from tgv_dagster.deepen import deadlines
from tgv_dagster.deepen.contract_periods import Period
from tgv_dagster.deepen.deadlines import ContractFacts, DeadlineRule, Derivation
from tgv_dagster.store.cases import CaseKind, NewCase, SubjectKind, close_solved, open_case
from tgv_dagster.store.db import Connection
from tgv_dagster.store.organisation import SERVICE_LOGIN
from tgv_dagster.understand.evidence import Field

TOLD_AT_DAYS = (60, 14)
"""How many days before a deadline a case is opened."""
HORIZON_DAYS = 400
"""How far ahead deadlines are listed."""


@dataclass(frozen=True, slots=True)
class Upcoming:
    """One coming day of a contract: `day` is the last safe one, `what` the field it belongs to.

    `rule` is the rule that computed it, None where it is printed or a person set it. `derivation`
    says from what, for people.
    """

    document_id: int
    mandant_id: int | None
    entity: str | None
    partner: str | None
    level: str | None
    is_test: bool
    what: Field
    day: date
    rule: DeadlineRule | None
    derivation: str

    def days_left(self, today: date) -> int:
        """Days from `today` to the last safe day."""
        return (self.day - today).days

    @property
    def uid(self) -> str:
        """The same for the same deadline for ever: a moved day moves the entry in a calendar."""
        return f"{self.what}.{self.document_id}@tgv-dagster"


@dataclass(frozen=True, slots=True)
class Told:
    """What one look did: deadlines listed, cases opened, cases closed because the day moved."""

    listed: tuple[Upcoming, ...]
    opened: int
    closed: int


_CONTRACTS = """
    SELECT d.id, d.mandant_id, d.entity, p.partner, d.confidentiality_level, d.is_test,
        p.contract_start_date, p.contract_end_date, p.next_renewal_date, p.notice_deadline,
        p.auto_renewal, p.derivation
    FROM prf_contracts p JOIN documents d ON d.id = p.document_id
    WHERE d.state = 'active' ORDER BY d.id
"""


def upcoming(
    connection: Connection, today: date, *, horizon_days: int = HORIZON_DAYS
) -> tuple[Upcoming, ...]:
    """Coming deadlines that this connection may read, nearest first.

    Without a notice deadline the end of a fixed term is listed instead.
    """
    found = [item for row in connection.execute(_CONTRACTS) for item in _of_contract(row, today)]
    last = today + timedelta(days=horizon_days)
    near = (item for item in found if today <= item.day <= last)
    return tuple(sorted(near, key=lambda item: (item.day, item.document_id, item.what)))


def tell(connection: Connection, today: date) -> Told:
    """Open a case for each deadline that is near, once per step of `TOLD_AT_DAYS` (DATE-14).

    A case that somebody closed is not opened again; one whose day has moved is closed.
    """
    listed = upcoming(connection, today)
    opened = closed = 0
    for item in listed:
        steps = [days for days in TOLD_AT_DAYS if item.days_left(today) <= days]
        if not steps:
            continue
        reason = _reason(item, min(steps))
        closed += _close_moved(connection, item)
        if not _was_told(connection, item, reason):
            open_case(connection, _case(item, reason))
            opened += 1
    return Told(listed, opened, closed)


def _of_contract(row: tuple[Any, ...], today: date) -> Iterable[Upcoming]:
    derivations = {entry["rule"]: entry for entry in row[11] or ()}
    notice, end = _notice(row, derivations, today), row[7]
    if notice is not None:
        yield _item(row, Field.NOTICE_DEADLINE, *notice)
    elif end is not None:
        computed = derivations.get(DeadlineRule.TERM_END)
        is_computed = computed is not None and computed["value"] == end.isoformat()
        rule = DeadlineRule.TERM_END if is_computed else None
        told = _told_from(computed) if is_computed else "stated"
        yield _item(row, Field.CONTRACT_END_DATE, end, rule, told)


def _item(
    row: tuple[Any, ...], what: Field, day: date, rule: DeadlineRule | None, derivation: str
) -> Upcoming:
    number, mandant_id, entity, partner, level, is_test = row[:6]
    return Upcoming(
        number, mandant_id, entity, partner, level, is_test, what, day, rule, derivation
    )


def _notice(
    row: tuple[Any, ...], derivations: dict[str, dict[str, Any]], today: date
) -> tuple[date, DeadlineRule | None, str] | None:
    """The last safe day: as stored, or of the next period when a computed window has passed."""
    stored: date | None = row[9]
    if stored is None:
        return None
    computed = next(
        (
            entry
            for entry in derivations.values()
            if entry["value"] == stored.isoformat() and "notice_period_days" in entry["inputs"]
        ),
        None,
    )
    if computed is None:
        return stored, None, "stated"
    if stored < today and (rolled := _rolled(row, derivations, computed, today)) is not None:
        return rolled.value, rolled.rule, str(rolled)
    return stored, DeadlineRule(computed["rule"]), _told_from(computed)


def _rolled(
    row: tuple[Any, ...],
    derivations: dict[str, dict[str, Any]],
    computed: dict[str, Any],
    today: date,
) -> Derivation | None:
    """The deadline of the period that can still be ended, for a contract that renews by itself."""
    renewal = derivations.get(DeadlineRule.NEXT_RENEWAL)
    if renewal is None or row[6] is None:
        return None
    length = computed["inputs"]["notice_period_days"].partition("(")[2].rstrip(")")
    facts = ContractFacts(
        start=row[6],
        notice=Period.parse(length),
        term=Period.parse(renewal["inputs"]["term"]),
        renewal=Period.parse(renewal["inputs"]["renewal"]),
        auto_renewal=row[10],
        source=computed["source"],
    )
    return deadlines.compute(facts, today).notice_deadline


RULES_OF = {
    Field.NOTICE_DEADLINE: frozenset(
        {DeadlineRule.START_PLUS_PERIOD, DeadlineRule.END_MINUS_PERIOD, DeadlineRule.STATUTE}
    ),
    Field.NEXT_RENEWAL_DATE: frozenset({DeadlineRule.NEXT_RENEWAL}),
    Field.CONTRACT_END_DATE: frozenset({DeadlineRule.TERM_END}),
}
"""Rules that compute the days of a contract."""


def derivation_of(stored: Sequence[dict[str, Any]] | None, what: Field, day: date) -> str:
    """How this day was computed, as the contract keeps it; empty where the document states it."""
    rules = RULES_OF.get(what, frozenset())
    fitting = (e for e in stored or () if e["rule"] in rules and e["value"] == day.isoformat())
    entry = next(fitting, None)
    return "" if entry is None else _told_from(entry)


def _told_from(entry: dict[str, Any] | None) -> str:
    if entry is None:
        return "stated"
    return str(
        Derivation(
            DeadlineRule(entry["rule"]),
            date.fromisoformat(entry["value"]),
            tuple(entry["inputs"].items()),
            entry["source"],
        )
    )


# --- cases ---------------------------------------------------------------------------------------


def _reason(item: Upcoming, days: int) -> str:
    return f"{item.what} {item.day.isoformat()}: {days} days"


def _was_told(connection: Connection, item: Upcoming, reason: str) -> bool:
    row = connection.execute(
        "SELECT 1 FROM cases WHERE kind = %s AND document_id = %s AND reason = %s LIMIT 1",
        (CaseKind.DEADLINE, item.document_id, reason),
    ).fetchone()
    return row is not None


def _close_moved(connection: Connection, item: Upcoming) -> int:
    """Close the open cases of a document when they name another day than the present one."""
    row = connection.execute(
        "SELECT count(*) FROM cases WHERE kind = %s AND document_id = %s AND state = 'open'"
        " AND reason NOT LIKE %s",
        (CaseKind.DEADLINE, item.document_id, f"{item.what} {item.day.isoformat()}:%"),
    ).fetchone()
    if row is None or not row[0]:
        return 0
    return close_solved(
        connection,
        subject_kind=SubjectKind.DOCUMENT,
        subject_key=str(item.document_id),
        by=SERVICE_LOGIN,
        kinds=(CaseKind.DEADLINE,),
    )


def _case(item: Upcoming, reason: str) -> NewCase:
    return NewCase(
        kind=CaseKind.DEADLINE,
        subject_kind=SubjectKind.DOCUMENT,
        subject_key=str(item.document_id),
        reason=reason,
        author=SERVICE_LOGIN,
        mandant_id=item.mandant_id,
        entity=item.entity,
        document_id=item.document_id,
        confidentiality_level=item.level,
        evidence={
            "what": item.what,
            "day": item.day.isoformat(),
            "partner": item.partner,
            "derivation": item.derivation,
        },
        is_test=item.is_test,
    )


# --- calendar ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CalendarWords:
    """The words of a calendar in one language; `entry` has the places {partner} and {number}."""

    name: str
    entries: dict[Field, str]
    unknown_partner: str


CALENDAR_WORDS = {
    "de": CalendarWords(
        "Vertragsfristen",
        {
            Field.NOTICE_DEADLINE: "Kündigung spätestens heute: {partner} (#{number})",
            Field.CONTRACT_END_DATE: "Vertrag endet: {partner} (#{number})",
        },
        "Vertrag",
    ),
    "fr": CalendarWords(
        "Échéances des contrats",
        {
            Field.NOTICE_DEADLINE: "Dernier jour de résiliation : {partner} (#{number})",
            Field.CONTRACT_END_DATE: "Fin du contrat : {partner} (#{number})",
        },
        "contrat",
    ),
    "en": CalendarWords(
        "Contract deadlines",
        {
            Field.NOTICE_DEADLINE: "Last day to give notice: {partner} (#{number})",
            Field.CONTRACT_END_DATE: "Contract ends: {partner} (#{number})",
        },
        "contract",
    ),
}


def calendar(items: Iterable[Upcoming], *, language: str, address: str) -> bytes:
    """The deadlines as a calendar (RFC 5545), one all-day entry each, with stable UIDs.

    Equal deadlines give equal bytes: the time stamp is that of the day and not of the reading.
    `address` is where the page of a document stands, before its number.
    """
    said = CALENDAR_WORDS.get(language, CALENDAR_WORDS["en"])
    made = Calendar()
    made.add("prodid", "-//TGV Dagster//deadlines//")
    made.add("version", "2.0")
    made.add("x-wr-calname", said.name)
    for item in items:
        summary = said.entries[item.what].format(
            partner=item.partner or said.unknown_partner, number=item.document_id
        )
        entry = Event()
        entry.add("uid", item.uid)
        entry.add("dtstamp", datetime.combine(item.day, time.min, tzinfo=UTC))
        entry.add("dtstart", item.day)
        entry.add("dtend", item.day + timedelta(days=1))
        entry.add("summary", summary)
        entry.add("description", item.derivation)
        entry.add("url", f"{address}{item.document_id}")
        entry.add("transp", "TRANSPARENT")
        for days in TOLD_AT_DAYS:
            entry.add_component(_alarm(summary, days))
        made.add_component(entry)
    return made.to_ical()


def _alarm(summary: str, days: int) -> Alarm:
    alarm = Alarm()
    alarm.add("action", "DISPLAY")
    alarm.add("description", summary)
    alarm.add("trigger", timedelta(days=-days))
    return alarm
