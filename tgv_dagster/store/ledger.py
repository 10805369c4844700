"""The flow ledger: what is pending for a stage, who holds it, and how it ended.

Work is pulled. A claim is a row update committed before the work; leases expire, completion is
conditional on the same attempt, so a late worker can never overwrite a newer one. After
`MAX_ATTEMPTS` failures an item is parked; it never blocks the next one. An item that was tried
before without an end is claimed alone, so that one that kills its worker is found out. Nothing
here knows what a stage does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from tgv_dagster.store.db import Connection
from tgv_dagster.store.stages import LIVE, Stage

MAX_ATTEMPTS = 5
ALONE_FROM = 2
"""Attempts after which an item is claimed alone."""
LEASE = timedelta(minutes=10)
BACK_OFF = timedelta(seconds=30)
"""Wait before the second attempt; doubled with each further one."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One claimed item; valid while its worker holds it in this attempt."""

    stage: Stage
    subject_id: int
    generation: int
    attempt: int
    worker: str


class ClaimLost(RuntimeError):
    """Somebody else holds the item now; the caller's work must be rolled back."""


def enqueue(
    connection: Connection,
    stage: Stage,
    subjects: Iterable[int],
    *,
    generation: int = LIVE,
    again: bool = False,
) -> int:
    """Make subjects pending for a stage; returns how many became pending.

    An item that already has a row stays as it is, unless `again` asks to redo it. Redoing takes a
    running claim away (its worker gets ClaimLost): that worker read what was there before.
    """
    ids = sorted(set(subjects))
    if not ids:
        return 0
    conflict = (
        "DO UPDATE SET state = 'pending', attempt = 0, not_before = now(), reason = NULL,"
        " gate = NULL, claimed_by = NULL, lease_until = NULL, finished_at = NULL"
        if again
        else "DO NOTHING"
    )
    statement = (
        "INSERT INTO flow_ledger (stage, generation, subject_id) "
        "SELECT %s, %s, unnest(%s::bigint[]) ON CONFLICT (stage, generation, subject_id) "
        + conflict
    )
    result = connection.execute(statement.encode(), (stage, generation, ids))
    return result.rowcount


def claim(
    connection: Connection, stage: Stage, *, limit: int, worker: str, generation: int = LIVE,
    subjects: Sequence[int] | None = None,
) -> tuple[Claim, ...]:  # fmt: skip
    """Claim up to `limit` pending items (or expired leases), oldest first, and commit the claim.

    `subjects` restricts the claim to these ids. Safe for any number of workers (SKIP LOCKED). Items
    of `ALONE_FROM` attempts come one at a time, when no other is due.
    """
    values = {
        "worker": worker,
        "lease": LEASE,
        "stage": stage,
        "generation": generation,
        "limit": limit,
        "subjects": None if subjects is None else list(subjects),
        "least": 0,
        "most": ALONE_FROM - 1,
    }
    with connection.transaction():
        rows = connection.execute(_CLAIM, values).fetchall()
        if not rows:
            alone = {"limit": min(limit, 1), "least": ALONE_FROM, "most": None}
            rows = connection.execute(_CLAIM, values | alone).fetchall()
    return tuple(Claim(stage, row[0], generation, row[1], worker) for row in sorted(rows))


# Materialized: as a plain sub-select the planner may run it once per row, past its LIMIT.
_CLAIM = """
    WITH due AS MATERIALIZED (
        SELECT subject_id FROM flow_ledger
        WHERE stage = %(stage)s AND generation = %(generation)s
          AND state IN ('pending', 'claimed') AND not_before <= now()
          AND (state = 'pending' OR lease_until < now())
          AND (%(subjects)s::bigint[] IS NULL OR subject_id = ANY (%(subjects)s::bigint[]))
          AND attempt BETWEEN %(least)s AND coalesce(%(most)s::integer, attempt)
        ORDER BY not_before, subject_id
        LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    )
    UPDATE flow_ledger l
    SET state = 'claimed', attempt = l.attempt + 1, claimed_by = %(worker)s,
        lease_until = now() + %(lease)s
    FROM due
    WHERE l.stage = %(stage)s AND l.generation = %(generation)s
      AND l.subject_id = due.subject_id
    RETURNING l.subject_id, l.attempt
"""


def arrivals_of(connection: Connection, documents: Iterable[int]) -> list[int]:
    """The arrivals that brought these documents: the subjects of the stages before a document."""
    rows = connection.execute(
        "SELECT a.id FROM document_numbers n JOIN arrivals a ON a.uid = n.arrival_uid"
        " WHERE n.id = ANY (%s) ORDER BY a.id",
        (list(documents),),
    ).fetchall()
    return [row[0] for row in rows]


def holders(connection: Connection, stage: Stage, *, generation: int = LIVE) -> tuple[str, ...]:
    """Names of the workers that hold claims of a stage."""
    rows = connection.execute(
        "SELECT DISTINCT claimed_by FROM flow_ledger"
        " WHERE stage = %s AND generation = %s AND state = 'claimed' AND claimed_by IS NOT NULL",
        (stage, generation),
    ).fetchall()
    return tuple(row[0] for row in rows)


def take_back(
    connection: Connection,
    stage: Stage,
    workers: Sequence[str],
    *,
    counted: bool,
    generation: int = LIVE,
) -> None:
    """Make all claims of these workers pending at once, whatever is left of their leases.

    `counted` keeps the attempt on the account of the item: it may be what its worker died of.
    """
    if not workers:
        return
    connection.execute(
        "UPDATE flow_ledger SET state = 'pending', claimed_by = NULL, lease_until = NULL,"
        " attempt = attempt - %s"
        " WHERE stage = %s AND generation = %s AND state = 'claimed' AND claimed_by = ANY (%s)",
        (0 if counted else 1, stage, generation, list(workers)),
    )


def renew(connection: Connection, claims: Iterable[Claim]) -> None:
    """Prolong the leases of work that is still running."""
    held = list(claims)
    if not held:
        return
    connection.execute(
        """
        UPDATE flow_ledger l SET lease_until = now() + %s
        FROM unnest(%s::bigint[], %s::integer[]) AS c (subject_id, attempt)
        WHERE l.stage = %s AND l.generation = %s AND l.subject_id = c.subject_id
          AND l.attempt = c.attempt AND l.claimed_by = %s
        """,
        (
            LEASE,
            [c.subject_id for c in held],
            [c.attempt for c in held],
            held[0].stage,
            held[0].generation,
            held[0].worker,
        ),
    )


def complete(
    connection: Connection,
    claim: Claim,
    *,
    then: Sequence[Stage] = (),
    next_subject: int | None = None,
    fingerprint: str | None = None,
) -> None:
    """Finish an item in the caller's transaction and enqueue what follows.

    `next_subject` is the subject of the following stages when it differs (an arrival became a
    document). A following stage that was finished before is done again. Raises ClaimLost.
    """
    _finish(connection, claim, "done", reason=None, gate=None, fingerprint=fingerprint)
    for stage in then:
        subject = claim.subject_id if next_subject is None else next_subject
        enqueue(connection, stage, [subject], generation=claim.generation, again=True)


def complete_all(connection: Connection, claims: Sequence[Claim]) -> None:
    """Finish many items of one stage after which nothing follows. Raises ClaimLost for any."""
    if not claims:
        return
    first = claims[0]
    done = connection.execute(
        """
        UPDATE flow_ledger l SET state = 'done', reason = NULL, gate = NULL, fingerprint = NULL,
            claimed_by = NULL, lease_until = NULL, finished_at = now()
        FROM unnest(%s::bigint[], %s::integer[], %s::text[]) AS c (subject_id, attempt, worker)
        WHERE l.stage = %s AND l.generation = %s AND l.subject_id = c.subject_id
          AND l.attempt = c.attempt AND l.claimed_by = c.worker
        """,
        (
            [claim.subject_id for claim in claims],
            [claim.attempt for claim in claims],
            [claim.worker for claim in claims],
            first.stage,
            first.generation,
        ),
    ).rowcount
    if done != len(claims):
        raise ClaimLost(
            f"{len(claims) - done} of {len(claims)} items of {first.stage} are held by somebody"
            " else now"
        )


def hold(connection: Connection, claim: Claim, *, gate: str, reason: str) -> None:
    """A gate stops this item: it is neither entered further nor stamped. Raises ClaimLost."""
    _finish(connection, claim, "held", reason=reason, gate=gate)


def park(connection: Connection, claim: Claim, *, reason: str) -> None:
    """Set the item aside until a person releases it. Raises ClaimLost."""
    _finish(connection, claim, "parked", reason=reason, gate=None)


def fail(connection: Connection, claim: Claim, *, reason: str, permanent: bool = False) -> bool:
    """Record a failed attempt; True when the item is parked now (permanent, or too many attempts).

    Otherwise it becomes pending again after a doubling wait. Raises ClaimLost.
    """
    if permanent or claim.attempt >= MAX_ATTEMPTS:
        park(connection, claim, reason=reason)
        return True
    result = connection.execute(
        """
        UPDATE flow_ledger SET state = 'pending', reason = %s, claimed_by = NULL,
            lease_until = NULL, not_before = now() + %s
        WHERE stage = %s AND generation = %s AND subject_id = %s AND attempt = %s
          AND claimed_by = %s
        """,
        (
            reason[:2000],
            BACK_OFF * 2 ** (claim.attempt - 1),
            claim.stage,
            claim.generation,
            claim.subject_id,
            claim.attempt,
            claim.worker,
        ),
    )
    if result.rowcount != 1:
        raise ClaimLost(f"{claim.stage} of {claim.subject_id} is held by somebody else now")
    return False


def give_back(connection: Connection, claims: Iterable[Claim]) -> None:
    """Unfinished items become pending at once, without counting the attempt.

    Whatever somebody else holds by now is left alone.
    """
    for claim in claims:
        connection.execute(
            "UPDATE flow_ledger SET state = 'pending', attempt = attempt - 1, claimed_by = NULL,"
            " lease_until = NULL WHERE stage = %s AND generation = %s AND subject_id = %s"
            " AND attempt = %s AND claimed_by = %s",
            (claim.stage, claim.generation, claim.subject_id, claim.attempt, claim.worker),
        )


def release(connection: Connection, stage: Stage, subject_id: int) -> bool:
    """Put a parked or held item back to pending; False when it was neither."""
    result = connection.execute(
        """
        UPDATE flow_ledger SET state = 'pending', attempt = 0, reason = NULL, gate = NULL,
            not_before = now(), finished_at = NULL
        WHERE stage = %s AND generation = %s AND subject_id = %s AND state IN ('parked', 'held')
        """,
        (stage, LIVE, subject_id),
    )
    return result.rowcount == 1


def pending_count(connection: Connection, stage: Stage, *, generation: int = LIVE) -> int:
    """How many items could be claimed right now (one indexed read)."""
    row = connection.execute(
        """
        SELECT count(*) FROM flow_ledger
        WHERE stage = %s AND generation = %s AND state IN ('pending', 'claimed')
          AND not_before <= now() AND (state = 'pending' OR lease_until < now())
        """,
        (stage, generation),
    ).fetchone()
    assert row is not None
    return int(row[0])


def any_due(connection: Connection) -> bool:
    """Whether any stage of the daily flow has claimable work (one indexed read)."""
    row = connection.execute(
        """
        SELECT EXISTS (
            SELECT 1 FROM flow_ledger
            WHERE generation = %s AND state IN ('pending', 'claimed') AND not_before <= now()
              AND (state = 'pending' OR lease_until < now()))
        """,
        (LIVE,),
    ).fetchone()
    assert row is not None
    return bool(row[0])


def _finish(
    connection: Connection, claim: Claim, state: str, *, reason: str | None, gate: str | None,
    fingerprint: str | None = None,
) -> None:  # fmt: skip
    result = connection.execute(
        """
        UPDATE flow_ledger SET state = %s, reason = %s, gate = %s, fingerprint = %s,
            claimed_by = NULL, lease_until = NULL, finished_at = now()
        WHERE stage = %s AND generation = %s AND subject_id = %s AND attempt = %s
          AND claimed_by = %s
        """,
        (
            state,
            None if reason is None else reason[:2000],
            gate,
            fingerprint,
            claim.stage,
            claim.generation,
            claim.subject_id,
            claim.attempt,
            claim.worker,
        ),
    )
    if result.rowcount != 1:
        raise ClaimLost(f"{claim.stage} of {claim.subject_id} is held by somebody else now")
