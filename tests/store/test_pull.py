"""A batch: begun once, item by item, what cannot be done now stays pending."""

from __future__ import annotations

import pytest

from tgv_dagster.store import ledger
from tgv_dagster.store.db import Database
from tgv_dagster.store.ledger import Claim
from tgv_dagster.store.pull import NotNow, pull
from tgv_dagster.store.stages import Stage


def enqueue(database: Database, *ids: int) -> None:
    with database.worker() as connection:
        ledger.enqueue(connection, Stage.WORDS, ids)


def rows(database: Database) -> list[tuple[int, str, int]]:
    with database.worker() as connection:
        return connection.execute(
            "SELECT subject_id, state, attempt FROM flow_ledger ORDER BY subject_id"
        ).fetchall()


def test_the_batch_is_begun_once_before_its_first_item(database: Database) -> None:
    enqueue(database, 1, 2)
    seen: list[object] = []

    def handle(claim: Claim) -> str:
        seen.append(claim.subject_id)
        with database.worker() as connection:
            ledger.complete(connection, claim)
        return "done"

    report = pull(
        database,
        Stage.WORDS,
        handle,
        limit=5,
        begin=lambda claims: seen.append([c.subject_id for c in claims]),
    )
    assert seen == [[1, 2], 1, 2]
    assert report.outcomes == {"done": 2}


def test_an_item_that_cannot_be_done_now_stays_pending_at_no_cost(database: Database) -> None:
    enqueue(database, 1)

    def handle(claim: Claim) -> str:
        raise NotNow("somebody else writes")

    report = pull(database, Stage.WORDS, handle, limit=5)
    assert report.outcomes == {"waiting": 1}
    assert report.problems[0].reason == "somebody else writes"
    assert rows(database) == [(1, "pending", 0)]


def test_a_batch_that_cannot_begin_is_given_back_whole(database: Database) -> None:
    enqueue(database, 1, 2)

    def begin(claims: tuple[Claim, ...]) -> None:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        pull(database, Stage.WORDS, lambda _: "done", limit=5, begin=begin)
    assert rows(database) == [(1, "pending", 0), (2, "pending", 0)]
