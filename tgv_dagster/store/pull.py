"""Pull work: claim a bounded batch of a stage and run it item by item.

One failed, held or parked item never stops the next one; only a fault of the installation itself
(database or blob store gone or full) ends the batch, and then everything unfinished goes back to
pending at once. What a killed worker held is taken back by the next one; an item whose worker died
too often is parked. Nothing here knows what a stage does.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tgv_dagster.store import ledger
from tgv_dagster.store.blobs.errors import StoreDenied, StoreFull, StoreReadOnly, StoreUnreachable
from tgv_dagster.store.cases import CaseKind, NewCase, SubjectKind, close_solved, open_case
from tgv_dagster.store.db import Connection, Database, DatabaseFull, DatabaseUnavailable
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.ledger import Claim, ClaimLost
from tgv_dagster.store.organisation import SERVICE_LOGIN
from tgv_dagster.store.presence import has_left, is_dead, leave, worker_name
from tgv_dagster.store.stages import LIVE, STAGES, Stage, Subject

INSTALLATION_FAULTS = (
    DatabaseFull,
    DatabaseUnavailable,
    StoreDenied,
    StoreFull,
    StoreReadOnly,
    StoreUnreachable,
)
"""Faults that hit every item alike: no attempt is counted, the batch ends loudly."""


class HeldByGate(Exception):
    """A gate stops this one item (architecture §4): it is listed, the batch goes on."""

    def __init__(self, gate: str, reason: str) -> None:
        super().__init__(reason)
        self.gate = gate
        self.reason = reason


class Unworkable(Exception):
    """No further attempt can help; the item is parked with this reason."""


class NotNow(Exception):
    """This item cannot be done at the moment through no fault of its own; it stays pending."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One item that did not get through, by id and reason; never text of a document."""

    subject_id: int
    outcome: str
    reason: str


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What one batch did: counts by outcome, problems by item, seconds of wall time."""

    stage: Stage
    claimed: int
    outcomes: dict[str, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    seconds: float = 0.0
    remaining: int = 0

    @property
    def held(self) -> int:
        """Items that a gate stopped."""
        return self.outcomes.get("held", 0)


Handler = Callable[[Claim], str]
"""Does the work of one claim, completes it in its own transaction, returns the outcome's name."""

WAITING = "waiting"
"""Outcome of an item whose handler raised NotNow."""


def pull(
    database: Database,
    stage: Stage,
    handle: Handler,
    *,
    limit: int,
    generation: int = LIVE,
    progress: Callable[[int, int], None] | None = None,
    begin: Callable[[tuple[Claim, ...]], None] | None = None,
) -> BatchReport:
    """Claim up to `limit` items of a stage and handle each; returns what happened.

    `begin` sees the whole batch before the first item: work that is cheaper for many at once is
    done there. Raises the installation's own faults, and whatever `begin` raises, after putting
    unfinished items back to pending.
    """
    started = time.monotonic()
    with database.worker() as connection:
        _take_back(connection, stage, generation)
        claims = ledger.claim(
            connection, stage, limit=limit, worker=worker_name(), generation=generation
        )
    outcomes: Counter[str] = Counter()
    problems: list[Problem] = []
    done = 0
    renewed = started
    try:
        if begin is not None:
            begin(tuple(claim for claim in claims if not _worn_out(claim)))
        for claim in claims:
            if time.monotonic() - renewed > ledger.LEASE.total_seconds() / 4:
                with database.worker() as connection:
                    ledger.renew(connection, claims[done:])
                renewed = time.monotonic()
            outcome, problem = _handle_one(database, handle, claim)
            done += 1
            outcomes[outcome] += 1
            if problem is not None:
                problems.append(problem)
            if progress is not None:
                progress(done, len(claims))
    except BaseException as fault:
        _give_back(database, claims[done:], fault)
        raise
    with database.worker() as connection:
        remaining = ledger.pending_count(connection, stage, generation=generation)
    return BatchReport(
        stage=stage,
        claimed=len(claims),
        outcomes=dict(outcomes),
        problems=tuple(problems),
        seconds=time.monotonic() - started,
        remaining=remaining,
    )


def _handle_one(database: Database, handle: Handler, claim: Claim) -> tuple[str, Problem | None]:
    try:
        if _worn_out(claim):
            raise Unworkable(f"its worker died {ledger.MAX_ATTEMPTS} times before it was done")
        outcome = handle(claim)
    except INSTALLATION_FAULTS:
        raise
    except ClaimLost as lost:
        return "lost", Problem(claim.subject_id, "lost", str(lost))
    except NotNow as wait:
        _give_back(database, (claim,), wait)
        return WAITING, Problem(claim.subject_id, WAITING, str(wait))
    except HeldByGate as held:
        return _set_aside(database, claim, "held", held.reason, gate=held.gate)
    except Unworkable as unworkable:
        return _set_aside(database, claim, "parked", str(unworkable))
    except Exception as error:  # noqa: BLE001 - the boundary: one item's fault is its own
        reason = f"{type(error).__name__}: {error}"
        return _failed(database, claim, reason)
    if claim.attempt > 1:
        with database.worker() as connection:
            close_solved(
                connection,
                subject_kind=_subject_kind(claim.stage),
                subject_key=str(claim.subject_id),
                by=SERVICE_LOGIN,
                kinds=(CaseKind.PARKED,),
            )
    return outcome, None


def _failed(database: Database, claim: Claim, reason: str) -> tuple[str, Problem]:
    try:
        with database.worker() as connection:
            parked = ledger.fail(connection, claim, reason=reason)
            if parked:
                _raise_case(connection, claim, reason, gate=None)
    except ClaimLost as lost:
        return "lost", Problem(claim.subject_id, "lost", str(lost))
    outcome = "parked" if parked else "retry"
    return outcome, Problem(claim.subject_id, outcome, reason)


def _set_aside(
    database: Database, claim: Claim, outcome: str, reason: str, *, gate: str | None = None
) -> tuple[str, Problem]:
    try:
        with database.worker() as connection:
            if gate is None:
                ledger.park(connection, claim, reason=reason)
            else:
                ledger.hold(connection, claim, gate=gate, reason=reason)
            _raise_case(connection, claim, reason, gate=gate)
    except ClaimLost as lost:
        return "lost", Problem(claim.subject_id, "lost", str(lost))
    return outcome, Problem(claim.subject_id, outcome, reason)


def _raise_case(connection: Connection, claim: Claim, reason: str, *, gate: str | None) -> None:
    """Open the parking case and, for an arrival or document, show the state on its own row."""
    subject = STAGES[claim.stage].subject
    table = "arrivals" if subject is Subject.ARRIVAL else "documents"
    facts = connection.execute(
        f"SELECT mandant_id, {'entity_hint' if subject is Subject.ARRIVAL else 'entity'},"
        f" {'NULL' if subject is Subject.ARRIVAL else 'confidentiality_level'}, is_test"
        f" FROM {table} WHERE id = %s".encode(),
        (claim.subject_id,),
    ).fetchone()
    mandant_id, entity, level, is_test = facts or (None, None, None, False)
    text = f"{claim.stage}: {reason}" if gate is None else f"gate {gate}: {reason}"
    open_case(
        connection,
        NewCase(
            kind=CaseKind.PARKED,
            subject_kind=_subject_kind(claim.stage),
            subject_key=str(claim.subject_id),
            reason=text[:500],
            author=SERVICE_LOGIN,
            mandant_id=mandant_id,
            entity=entity,
            document_id=claim.subject_id if subject is Subject.DOCUMENT and facts else None,
            arrival_id=claim.subject_id if subject is Subject.ARRIVAL and facts else None,
            confidentiality_level=level,
            evidence={"stage": claim.stage, "attempt": claim.attempt, "gate": gate},
            is_test=is_test,
        ),
    )
    if subject is Subject.ARRIVAL:
        connection.execute(
            "UPDATE arrivals SET outcome = 'parked', outcome_reason = %s"
            " WHERE id = %s AND outcome = 'pending'",
            (text[:500], claim.subject_id),
        )
    elif gate is not None:
        connection.execute(
            "UPDATE documents SET state = 'held', held_gate = %s, held_reason = %s"
            " WHERE id = %s AND state = 'active'",
            (gate, reason[:500], claim.subject_id),
        )
    record(
        connection,
        Event(
            kind="item.held" if gate else "item.parked",
            author=SERVICE_LOGIN,
            object=f"{subject}:{claim.subject_id}",
            reason=f"{claim.stage} did not get through",
            mandant_id=mandant_id,
            payload={"stage": claim.stage, "gate": gate, "reason": reason[:500]},
        ),
    )


def _worn_out(claim: Claim) -> bool:
    """Whether every allowed attempt was made and none came to an end."""
    return claim.attempt > ledger.MAX_ATTEMPTS


def _take_back(connection: Connection, stage: Stage, generation: int) -> None:
    """What workers hold that work no more becomes pending before anything is claimed."""
    holders = ledger.holders(connection, stage, generation=generation)
    left = [name for name in holders if has_left(name)]
    dead = [name for name in holders if is_dead(name) and name not in left]
    ledger.take_back(connection, stage, left, counted=False, generation=generation)
    ledger.take_back(connection, stage, dead, counted=True, generation=generation)


def _give_back(database: Database, claims: tuple[Claim, ...], why: BaseException) -> None:
    """Unfinished items become pending again, without counting the attempt.

    Without a database the next pull of this process does it; the lease is the last resort.
    """
    try:
        if isinstance(why, DatabaseUnavailable):
            raise why
        with database.worker() as connection:
            ledger.give_back(connection, claims)
    except (DatabaseFull, DatabaseUnavailable):
        for claim in claims:
            leave(claim.worker)


def _subject_kind(stage: Stage) -> SubjectKind:
    return SubjectKind(STAGES[stage].subject)
