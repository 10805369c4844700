"""Claims: exclusive, expiring, conditional on the attempt (architecture §1)."""

from __future__ import annotations

import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tgv_dagster.store import ledger
from tgv_dagster.store.db import Database
from tgv_dagster.store.ledger import MAX_ATTEMPTS, Claim, ClaimLost
from tgv_dagster.store.stages import Stage


def claim_all(database: Database, worker: str, limit: int = 100) -> tuple[Claim, ...]:
    with database.worker() as connection:
        return ledger.claim(connection, Stage.EXTRACT, limit=limit, worker=worker)


def enqueue(database: Database, *ids: int, again: bool = False) -> int:
    with database.worker() as connection:
        return ledger.enqueue(connection, Stage.EXTRACT, ids, again=again)


def state_of(database: Database, subject: int) -> tuple[str, int, str | None]:
    with database.worker() as connection:
        row = connection.execute(
            "SELECT state, attempt, reason FROM flow_ledger WHERE stage = 'extract'"
            " AND subject_id = %s",
            (subject,),
        ).fetchone()
    assert row is not None
    return row


def expire(database: Database) -> None:
    with database.worker() as connection:
        connection.execute("UPDATE flow_ledger SET lease_until = now() - interval '1 second'")


def due_now(database: Database) -> None:
    with database.worker() as connection:
        connection.execute("UPDATE flow_ledger SET not_before = now()")


def test_an_item_is_enqueued_once(database: Database) -> None:
    assert enqueue(database, 1, 2, 2) == 2
    assert enqueue(database, 1) == 0


def test_two_workers_never_hold_the_same_item(database: Database) -> None:
    enqueue(database, *range(200))
    held: list[int] = []
    lock = threading.Lock()

    def work(name: str) -> None:
        while claims := claim_all(database, name, limit=7):
            with lock:
                held.extend(c.subject_id for c in claims)

    threads = [threading.Thread(target=work, args=(f"w{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(held) == list(range(200))


def test_an_expired_lease_is_claimed_again_and_the_late_worker_cannot_complete(
    database: Database,
) -> None:
    enqueue(database, 1)
    (late,) = claim_all(database, "late")
    assert claim_all(database, "other") == ()
    expire(database)
    (fresh,) = claim_all(database, "fresh")
    assert fresh.attempt == late.attempt + 1
    with pytest.raises(ClaimLost), database.worker() as connection:
        ledger.complete(connection, late)
    with database.worker() as connection:
        ledger.complete(connection, fresh)
    assert state_of(database, 1)[0] == "done"


def test_renewing_keeps_the_lease(database: Database) -> None:
    enqueue(database, 1)
    claims = claim_all(database, "w")
    expire(database)
    with database.worker() as connection:
        ledger.renew(connection, claims)
    assert claim_all(database, "other") == ()


def test_failures_wait_longer_each_time_and_end_parked(database: Database) -> None:
    enqueue(database, 1)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        due_now(database)
        (claim,) = claim_all(database, "w")
        with database.worker() as connection:
            parked = ledger.fail(connection, claim, reason=f"try {attempt}")
        assert parked is (attempt == MAX_ATTEMPTS)
        assert claim_all(database, "w") == ()  # it waits, or it is parked
    assert state_of(database, 1) == ("parked", MAX_ATTEMPTS, f"try {MAX_ATTEMPTS}")


def test_a_parked_item_does_not_block_the_next_and_can_be_released(database: Database) -> None:
    enqueue(database, 1, 2)
    first, second = claim_all(database, "w")
    with database.worker() as connection:
        ledger.park(connection, first, reason="broken")
        ledger.complete(connection, second)
        assert ledger.release(connection, Stage.EXTRACT, 1)
        assert not ledger.release(connection, Stage.EXTRACT, 2)
    assert [c.subject_id for c in claim_all(database, "w")] == [1]


def test_completion_enqueues_what_follows_even_when_it_was_done_before(
    database: Database,
) -> None:
    enqueue(database, 1)
    for _ in range(2):
        (claim,) = claim_all(database, "w")
        with database.worker() as connection:
            ledger.complete(connection, claim, then=(Stage.TRIAGE,))
            (triage,) = ledger.claim(connection, Stage.TRIAGE, limit=1, worker="w")
            ledger.complete(connection, triage)
        enqueue(database, 1, again=True)


def test_asking_again_takes_a_running_claim_away(database: Database) -> None:
    """Its worker read what was there before; two zombies of equal attempt are told apart."""
    enqueue(database, 1)
    (before,) = claim_all(database, "first")
    enqueue(database, 1, again=True)
    assert state_of(database, 1) == ("pending", 0, None)
    (after,) = claim_all(database, "second")
    assert before.attempt == after.attempt
    for late in (ledger.complete, lambda c, claim: ledger.fail(c, claim, reason="x")):
        with pytest.raises(ClaimLost), database.worker() as connection:
            late(connection, before)
    with database.worker() as connection:
        ledger.give_back(connection, [before])
        ledger.complete(connection, after)
    assert state_of(database, 1)[0] == "done"


def test_what_is_given_back_is_due_at_once_and_costs_no_attempt(database: Database) -> None:
    enqueue(database, 1)
    (claim,) = claim_all(database, "w")
    with database.worker() as connection:
        ledger.give_back(connection, [claim])
    assert state_of(database, 1) == ("pending", 0, None)
    assert [c.attempt for c in claim_all(database, "w")] == [1]


def test_a_generation_beside_the_daily_one_is_work_of_its_own(database: Database) -> None:
    enqueue(database, 1)
    with database.worker() as connection:
        ledger.enqueue(connection, Stage.EXTRACT, [1], generation=7)
        (beside,) = ledger.claim(connection, Stage.EXTRACT, limit=5, worker="w", generation=7)
        ledger.complete(connection, beside)
    assert state_of(database, 1)[0] == "pending"


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["claim", "done", "fail", "park", "expire", "due"]), st.integers(0, 3)
        ),
        max_size=25,
    )
)
def test_no_sequence_of_acts_loses_or_doubles_an_item(
    database: Database, acts: list[tuple[str, int]]
) -> None:
    with database.worker() as connection:
        connection.execute("TRUNCATE flow_ledger")
    enqueue(database, 0, 1, 2)
    held: list[Claim] = []
    finished: list[int] = []
    for act, pick in acts:
        if act == "claim":
            held += claim_all(database, "w", limit=1 + pick)
        elif act == "expire":
            expire(database)
        elif act == "due":
            due_now(database)
        elif held:
            claim = held.pop(pick % len(held))
            try:
                with database.worker() as connection:
                    if act == "done":
                        ledger.complete(connection, claim)
                        finished.append(claim.subject_id)
                    elif act == "fail":
                        ledger.fail(connection, claim, reason="x")
                    else:
                        ledger.park(connection, claim, reason="x")
            except ClaimLost:
                continue
    assert len(finished) == len(set(finished))
    with database.worker() as connection:
        rows = connection.execute("SELECT subject_id, state FROM flow_ledger").fetchall()
    assert sorted(row[0] for row in rows) == [0, 1, 2]
    assert {s for s, state in rows if state == "done"} == set(finished)
