"""What a dead worker held is taken up at once; what kills its worker is found out and parked."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from tgv_dagster.store import ledger, presence
from tgv_dagster.store.db import Connection, Database, DatabaseUnavailable
from tgv_dagster.store.ledger import MAX_ATTEMPTS, Claim
from tgv_dagster.store.pull import BatchReport, pull
from tgv_dagster.store.stages import Stage


def enqueue(database: Database, *ids: int) -> None:
    with database.worker() as connection:
        ledger.enqueue(connection, Stage.FILE, ids)


def rows(database: Database) -> dict[int, tuple[str, int]]:
    with database.worker() as connection:
        found = connection.execute("SELECT subject_id, state, attempt FROM flow_ledger")
        return {subject: (state, attempt) for subject, state, attempt in found}


def completing(database: Database) -> Callable[[Claim], str]:
    def handle(claim: Claim) -> str:
        with database.worker() as connection:
            ledger.complete(connection, claim)
        return "done"

    return handle


def pull_and_die_at(url: str, poison: int, *, limit: int = 100) -> int:
    """A forked worker that is killed as soon as it touches `poison`; returns its exit status."""
    child = os.fork()
    if child == 0:
        database = Database(url, pool_size=2)
        complete = completing(database)

        def handle(claim: Claim) -> str:
            if claim.subject_id == poison:
                os.kill(os.getpid(), signal.SIGKILL)
            return complete(claim)

        try:
            pull(database, Stage.FILE, handle, limit=limit)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_claims_of_a_killed_worker_are_taken_up_by_the_next_pull(database: Database) -> None:
    enqueue(database, *range(6))
    assert pull_and_die_at(database.url, poison=3) == -signal.SIGKILL
    report = pull(database, Stage.FILE, completing(database), limit=100)
    assert report.outcomes == {"done": 3}


def test_claims_of_a_living_worker_stay_his(database: Database) -> None:
    enqueue(database, 1)
    with database.worker() as connection:
        ledger.claim(connection, Stage.FILE, limit=1, worker=presence.worker_name())
    assert pull(database, Stage.FILE, completing(database), limit=100).claimed == 0


def test_a_worker_of_another_machine_is_never_taken_for_dead(database: Database) -> None:
    enqueue(database, 1)
    other = presence.worker_name().replace("/", "-elsewhere/", 1)
    assert not presence.is_dead(other)
    assert not presence.is_dead("anything")


def test_an_item_that_kills_its_worker_is_parked_and_all_others_get_through(
    database: Database,
) -> None:
    enqueue(database, *range(20))
    deaths = 0
    while pull_and_die_at(database.url, poison=7) == -signal.SIGKILL:
        deaths += 1
        assert deaths <= MAX_ATTEMPTS
    assert deaths == MAX_ATTEMPTS
    while pull(database, Stage.FILE, completing(database), limit=100).claimed:
        pass
    states = rows(database)
    assert states.pop(7)[0] == "parked"
    assert {state for state, _ in states.values()} == {"done"}


def test_a_claim_is_never_larger_than_its_limit(database: Database) -> None:
    """Without fresh statistics the planner has every reason to repeat a plain sub-select."""
    enqueue(database, *range(20))
    with database.worker() as connection:
        for limit in (1, 3, 7):
            claims = ledger.claim(connection, Stage.FILE, limit=limit, worker=f"w{limit}")
            assert len(claims) == limit


def cut_off(database: Database, connection: Connection) -> None:
    """End the server's side of this connection, as a stopping server does."""
    with database.owner() as owner:
        owner.execute("SELECT pg_terminate_backend(%s, 5000)", (connection.info.backend_pid,))


def test_a_lost_connection_is_a_fault_of_the_installation_and_counts_for_no_item(
    database: Database,
) -> None:
    enqueue(database, 1, 2, 3)

    def handle(claim: Claim) -> str:
        with database.worker() as connection:
            if claim.subject_id == 2:
                cut_off(database, connection)
            ledger.complete(connection, claim)
        return "done"

    with pytest.raises(DatabaseUnavailable):
        pull(database, Stage.FILE, handle, limit=100)
    report: BatchReport = pull(database, Stage.FILE, completing(database), limit=100)
    assert report.outcomes == {"done": 2}
    assert set(rows(database).values()) == {("done", 1)}


def test_a_pull_that_is_interrupted_gives_back_what_it_did_not_do(database: Database) -> None:
    enqueue(database, 1, 2, 3)

    def handle(claim: Claim) -> str:
        if claim.subject_id == 2:
            raise KeyboardInterrupt
        return completing(database)(claim)

    with pytest.raises(KeyboardInterrupt):
        pull(database, Stage.FILE, handle, limit=100)
    assert rows(database) == {1: ("done", 1), 2: ("pending", 0), 3: ("pending", 0)}
