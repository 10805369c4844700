"""Import of a bank file: all of it or nothing, each booking once, and only when the sums hold.

One transaction: faults of the file, accounts, overlap with what is recorded, balances across
statements, then staging and one INSERT. A file that cannot be booked is recorded with its reason
and its case; nothing of it reaches `txn_master` (FIN-07 to FIN-10, DEDUP-10). Not here: reading
formats (`reading`), the comparison (`overlap`), the flow (`flowing`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from enum import StrEnum

from tgv_dagster.bank import accounts, recording
from tgv_dagster.bank.accounts import Account
from tgv_dagster.bank.chain import Point, broken_chain, continued, first_day
from tgv_dagster.bank.frame import BankFile, Kind, Statement, Status, faults
from tgv_dagster.bank.overlap import Overlap, Recorded, Span, candidates, compare
from tgv_dagster.bank.recording import Source, Target
from tgv_dagster.store.cases import CaseKind, NewCase, SubjectKind, close_solved, open_case
from tgv_dagster.store.db import Connection
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.periods import PeriodLocked, within_open_periods


class State(StrEnum):
    """What became of a file."""

    IMPORTED = "imported"
    WAITING = "waiting"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What the import did. `known` counts bookings that were recorded before, `pending` lines that
    the bank has only announced, `vanished` recorded ones that a later statement does not show.

    `repeated`: the same bytes had been imported before, and nothing was done.
    """

    import_id: int
    state: State
    reason: str | None
    entries: int
    inserted: int = 0
    known: int = 0
    pending: int = 0
    vanished: int = 0
    repeated: bool = False


class _Stop(Exception):
    """The file cannot be booked."""

    def __init__(self, state: State, reason: str, kind: CaseKind = CaseKind.CONFLICT) -> None:
        super().__init__(reason)
        self.state = state
        self.reason = reason
        self.kind = kind


def import_bank_file(connection: Connection, file: BankFile, source: Source) -> ImportReport:
    """Book the file in the caller's transaction, or record why it is not booked.

    The same bytes again in the same tenant change nothing. Imports of a tenant wait for each other,
    so that two overlapping files never both count themselves as first.
    """
    connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('bank|' || %s::text, 0))",
        (source.mandant_id,),
    )
    before = _in_force(connection, source)
    if before is not None and before.state is State.IMPORTED:
        known = before.inserted + before.known
        return replace(before, repeated=True, inserted=0, known=known)
    import_id = _open(connection, source, file.variant, file.parser_version)
    kind = CaseKind.CONFLICT
    try:
        # Outside the savepoint: proposals of accounts outlive a booking that is rolled back.
        owners = _accounts(connection, file, source)
        with within_open_periods(), connection.transaction():
            report = _book(connection, file, source, owners, import_id)
    except _Stop as stop:
        report = ImportReport(import_id, stop.state, stop.reason, file.entries)
        kind = stop.kind
    except PeriodLocked as locked:
        report = ImportReport(import_id, State.REFUSED, str(locked), file.entries)
        kind = CaseKind.PERIOD_CLOSED
    _close(connection, report, source, kind)
    return report


def record_unreadable(connection: Connection, source: Source, reason: str) -> ImportReport:
    """A bank file of a format nobody reads, or a broken one: recorded with its reason, not lost."""
    before = _in_force(connection, source)
    if before is not None and before.state is State.IMPORTED:
        return replace(before, repeated=True)
    import_id = _open(connection, source, "unreadable", "none")
    report = ImportReport(import_id, State.REFUSED, reason, 0)
    _close(connection, report, source, CaseKind.CONFLICT)
    return report


def _accounts(connection: Connection, file: BankFile, source: Source) -> list[Account]:
    """The account of each statement. Stops on faults of the file, and on accounts nobody knows."""
    stopping = faults(file)
    if stopping:
        raise _Stop(State.REFUSED, "; ".join(stopping[:5]))
    found: list[Account] = []
    for statement in file.statements:
        if statement.account.key is None:
            raise _Stop(State.REFUSED, "a statement names no account")
        account = accounts.find(connection, source.mandant_id, statement.account)
        found.append(account or _proposed(connection, statement, source))
    waiting = {account.id for account in found if account.proposed or account.entity is None}
    if waiting:
        raise _Stop(
            State.WAITING,
            f"{len(waiting)} accounts wait for a person to confirm them",
            CaseKind.NEW_ACCOUNT,
        )
    for statement, account in zip(file.statements, found, strict=True):
        told = {line.currency for line in statement.lines} | {statement.account.currency}
        if wrong := {currency for currency in told if currency} - {account.currency}:
            raise _Stop(
                State.REFUSED,
                f"movements in {', '.join(sorted(wrong))} on an account in {account.currency}",
            )
    return found


def _proposed(connection: Connection, statement: Statement, source: Source) -> Account:
    return accounts.propose(
        connection,
        statement.account,
        mandant_id=source.mandant_id,
        document_id=source.document_id,
        entity_hint=source.entity_hint,
        is_test=source.is_test,
        author=source.author,
    )


@dataclass(slots=True)
class _Totals:
    inserted: int = 0
    known: int = 0
    pending: int = 0
    vanished: set[int] = field(default_factory=set)


def _book(
    connection: Connection, file: BankFile, source: Source, owners: list[Account], import_id: int
) -> ImportReport:
    totals = _Totals()
    for account in {owner.id: owner for owner in owners}.values():
        own = [
            s for s, owner in zip(file.statements, owners, strict=True) if owner.id == account.id
        ]
        _book_account(Target(connection, file, source, account, import_id), own, totals)
    return ImportReport(
        import_id=import_id,
        state=State.IMPORTED,
        reason=None,
        entries=file.entries,
        inserted=totals.inserted,
        known=totals.known,
        pending=totals.pending,
        vanished=len(totals.vanished),
    )


def _book_account(target: Target, statements: list[Statement], totals: _Totals) -> None:
    """Book the statements of one account one after the other, oldest first."""
    booking = [s for s in statements if _books(s, target.account)]
    days = [line.booking_date for s in booking for line in s.booked]
    known = recording.recorded(target, min(days), max(days)) if days else []
    points = recording.points(target)
    for statement in sorted(booking, key=lambda s: first_day(s) or date.min):
        name = f"statement {statement.number or '?'}"
        contradiction = broken_chain(statement, points)
        if contradiction and not target.source.trust_balances:
            raise _Stop(State.REFUSED, f"{name}: {contradiction}")
        before = continued(statement, points, _moved_since(known, first_day(statement)))
        pool = [row for row in known if row.statement not in before]
        lines = statement.booked
        verdict = compare(
            candidates(lines, target.file.format), pool, _span(statement), target.source.decision
        )
        _stop_when_unclear(name, verdict)
        statement_id = recording.write_statement(target, statement)
        points += _point(statement_id, statement)
        new = [lines[number] for number in verdict.new]
        known += recording.insert_lines(target, new, statement_id)
        recording.note_sightings(target, [txn for _, txn in verdict.known])
        totals.inserted += len(new)
        totals.known += len(verdict.known)
        totals.vanished |= set(verdict.vanished)
    totals.pending += _announce(target, statements, booking)


def _moved_since(rows: Sequence[Recorded], begin: date | None) -> dict[int, Decimal]:
    """What each recorded statement booked from this day on."""
    sums: dict[int, Decimal] = defaultdict(Decimal)
    for row in rows:
        if row.statement is not None and (begin is None or row.day >= begin):
            sums[row.statement] += row.amount
    return sums


def _books(statement: Statement, account: Account) -> bool:
    """A statement books; a report only where the bank offers nothing else; a notice never."""
    if statement.kind is Kind.REPORT:
        return account.books_reports
    return statement.kind is Kind.STATEMENT


def _announce(target: Target, statements: list[Statement], booking: list[Statement]) -> int:
    """What is only announced: reports of the day, and pending lines of statements."""
    booked = {id(statement) for statement in booking}
    for statement in statements:
        if id(statement) not in booked:
            recording.write_statement(target, statement)
    announced = [
        line
        for statement in statements
        for line in statement.lines
        if statement.kind is not Kind.NOTIFICATION
        and (id(statement) not in booked or line.status is Status.PENDING)
    ]
    recording.replace_pending(target, announced)
    recording.drop_booked_pending(target)
    return recording.pending_of(target)


def _span(statement: Statement) -> Span | None:
    days = [line.booking_date for line in statement.booked]
    first = statement.first_day or min(days, default=None)
    last = statement.last_day or max(days, default=None)
    return None if first is None or last is None else Span(first, last)


def _point(statement_id: int, statement: Statement) -> Sequence[Point]:
    opening, closing = statement.opening, statement.closing
    if opening is None or closing is None:
        return ()
    return (
        Point(
            statement_id, statement.number, opening.amount, opening.day, closing.amount, closing.day
        ),
    )


def _stop_when_unclear(name: str, verdict: Overlap) -> None:
    if verdict.unclear:
        raise _Stop(
            State.WAITING,
            f"{name}: {len(verdict.unclear)} lines look like bookings that came in another format;"
            " say whether they are the same",
            CaseKind.DUPLICATE,
        )
    if verdict.contradicted:
        days = ", ".join(str(day) for day in verdict.contradicted[:5])
        raise _Stop(
            State.WAITING,
            f"{name}: on {days} it shows other bookings than are recorded",
            CaseKind.DUPLICATE,
        )


def _in_force(connection: Connection, source: Source) -> ImportReport | None:
    row = connection.execute(
        "SELECT id, state, reason, entries, inserted, known, pending, vanished FROM bank_imports"
        " WHERE mandant_id = %s AND raw_sha256 = %s AND state <> 'undone'",
        (source.mandant_id, source.sha256),
    ).fetchone()
    return None if row is None else ImportReport(row[0], State(row[1]), *row[2:])


def _open(connection: Connection, source: Source, variant: str, parser_version: str) -> int:
    """The import in force of these bytes, or a new one of the next generation."""
    row = connection.execute(
        """
        INSERT INTO bank_imports (mandant_id, document_id, raw_sha256, generation, variant,
            parser_version, state, reason, created_by, is_test)
        SELECT %(tenant)s, %(document)s, %(sha)s, coalesce(max(generation), 0) + 1, %(variant)s,
            %(parser)s, 'waiting', 'running', %(author)s, %(test)s
        FROM bank_imports WHERE mandant_id = %(tenant)s AND raw_sha256 = %(sha)s
        ON CONFLICT (mandant_id, raw_sha256) WHERE state <> 'undone' DO UPDATE
            SET variant = excluded.variant, parser_version = excluded.parser_version,
                document_id = coalesce(excluded.document_id, bank_imports.document_id)
        RETURNING id
        """,
        {
            "tenant": source.mandant_id,
            "document": source.document_id,
            "sha": source.sha256,
            "variant": variant,
            "parser": parser_version,
            "author": source.author,
            "test": source.is_test,
        },
    ).fetchone()
    assert row is not None
    return int(row[0])


def _close(connection: Connection, report: ImportReport, source: Source, kind: CaseKind) -> None:
    """Write the outcome, close or open the case of the file, record the event."""
    connection.execute(
        "UPDATE bank_imports SET state = %s, reason = %s, entries = %s, inserted = %s, known = %s,"
        " pending = %s, vanished = %s WHERE id = %s",
        (
            report.state, report.reason, report.entries, report.inserted, report.known,
            report.pending, report.vanished, report.import_id,
        ),
    )  # fmt: skip
    _settle_case(connection, report, source, kind)
    record(
        connection,
        Event(
            kind=f"bank.{report.state}",
            author=source.author,
            object=f"bank_import:{report.import_id}",
            reason=report.reason or "every sum of the file holds",
            mandant_id=source.mandant_id,
            payload={"inserted": report.inserted, "known": report.known},
        ),
    )


def _settle_case(
    connection: Connection, report: ImportReport, source: Source, kind: CaseKind
) -> None:
    subject = str(source.document_id or report.import_id)
    subject_kind = SubjectKind.DOCUMENT if source.document_id else SubjectKind.FILE
    if report.state is State.IMPORTED:
        close_solved(
            connection,
            subject_kind=subject_kind,
            subject_key=subject,
            by=source.author,
            kinds=(CaseKind.CONFLICT, CaseKind.DUPLICATE, CaseKind.PERIOD_CLOSED),
        )
    elif kind is not CaseKind.NEW_ACCOUNT:  # that one has a case of its own, about the account
        open_case(
            connection,
            NewCase(
                kind=kind,
                subject_kind=subject_kind,
                subject_key=subject,
                reason=f"Bank: {report.reason}"[:500],
                author=source.author,
                mandant_id=source.mandant_id,
                entity=source.entity_hint,
                document_id=source.document_id,
                confidentiality_level=source.confidentiality_level,
                is_test=source.is_test,
            ),
        )
