"""Dispatch runs only while its switch is exactly `true`; what waits goes on afterwards.

Table of MAIL-32 (switch), MAIL-33 (a failure is a field of its own), MAIL-40 (it keeps no mail
unseen: `effect.seen_stamps` never reads it) and MAIL-41 (listed, checked, retried without mailbox).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from audit_builders import document
from mail_walks import enter, invoice_mail, ledger_rows, secure, sql

from tgv_dagster.audit.measures.effects import dispatch_states
from tgv_dagster.audit.verdict import State
from tgv_dagster.effect import dispatching
from tgv_dagster.effect.dispatching import SWITCHED_OFF, dispatch_documents, retry_failed
from tgv_dagster.effect.seen_stamps import stamp_finished
from tgv_dagster.installation import Installation
from tgv_dagster.store import ledger
from tgv_dagster.store.db import Connection
from tgv_dagster.store.stages import Stage


def works(connection: Connection, document_id: int) -> None:
    connection.execute("SELECT 1")


def fails(connection: Connection, document_id: int) -> None:
    raise RuntimeError("the table is locked")


def turn(installation: Installation, value: str | None) -> None:
    sql(installation, "DELETE FROM system_config WHERE key = %s", dispatching.SWITCH)
    if value is not None:
        sql(
            installation,
            "INSERT INTO system_config (key, value, set_by) VALUES (%s, %s, 'test')",
            dispatching.SWITCH,
            value,
        )


def waiting_document(installation: Installation) -> int:
    number = document(installation, doc_type="invoice")
    sql(installation, "UPDATE documents SET dispatch_state = 'pending' WHERE id = %s", number)
    with installation.database.worker() as connection:
        ledger.enqueue(connection, Stage.DISPATCH, [number], again=True)
    return number


def dispatch(installation: Installation, follower: Callable[[Connection, int], None] = works):
    return dict(
        dispatch_documents(
            installation.database, limit=10, followers={"invoice": follower}
        ).outcomes
    )


def state(installation: Installation, number: int) -> tuple[str, str | None]:
    (row,) = sql(
        installation, "SELECT dispatch_state, dispatch_error FROM documents WHERE id = %s", number
    )
    return row


@pytest.mark.parametrize(
    ("value", "follower", "outcome", "ends"),
    [
        ("true", works, "done", ("done", None)),
        ("true", fails, "failed", ("failed", "RuntimeError: the table is locked")),
        *(
            (value, follower, SWITCHED_OFF, ("pending", None))
            for value in (None, "false", "True", "1", "", " true")
            for follower in (works, fails)
        ),
    ],
)
def test_what_the_switch_lets_through(
    installation: Installation,
    value: str | None,
    follower: Callable[[Connection, int], None],
    outcome: str,
    ends: tuple[str, str | None],
) -> None:
    number = waiting_document(installation)
    turn(installation, value)
    assert dispatch(installation, follower) == {outcome: 1}
    assert state(installation, number) == ends
    assert dispatch(installation, follower) == {}


def test_a_fresh_installation_dispatches(installation: Installation) -> None:
    waiting_document(installation)
    assert dispatch(installation) == {"done": 1}


def test_what_waited_goes_on_when_the_switch_is_on_and_only_that(
    installation: Installation,
) -> None:
    done = waiting_document(installation)
    assert dispatch(installation) == {"done": 1}
    with installation.database.worker() as connection:
        assert dispatching.set_switch(connection, on=False, by="chef") == 0
    waits = waiting_document(installation)
    assert dispatch(installation) == {SWITCHED_OFF: 1}
    with installation.database.worker() as connection:
        assert dispatching.set_switch(connection, on=True, by="chef") == 1
    assert dispatch(installation) == {"done": 1}
    assert {state(installation, one)[0] for one in (done, waits)} == {"done"}
    told = sql(installation, "SELECT author, is_human FROM agent_events"
               " WHERE kind = 'dispatch.switch' ORDER BY id")  # fmt: skip
    assert told == [("chef", True), ("chef", True)]


def test_a_failure_is_listed_raises_the_check_and_is_retried_without_the_mailbox(
    installation: Installation,
) -> None:
    number = waiting_document(installation)
    assert dispatch(installation, fails) == {"failed": 1}
    assert dispatch_states(installation).state is State.RED
    assert retry_failed(installation.database) == 1
    assert dispatch(installation) == {"done": 1}
    assert state(installation, number) == ("done", None)
    assert dispatch_states(installation).state is State.GREEN


def test_what_a_person_holds_back_is_counted_and_breaks_nothing(
    installation: Installation,
) -> None:
    number = waiting_document(installation)
    sql(installation, "UPDATE documents SET updated_at = now() - interval '2 days' WHERE id = %s",
        number)  # fmt: skip
    assert dispatch_states(installation).state is State.RED
    turn(installation, "false")
    found = dispatch_states(installation)
    assert (found.state, found.figures["pending_switched_off"]) == (State.GREEN, 1)


@pytest.mark.parametrize(("value", "follower"), [("false", works), ("true", fails)])
def test_neither_the_switch_nor_a_failure_keeps_a_mail_open(
    installation: Installation, value: str, follower: Callable[[Connection, int], None]
) -> None:
    turn(installation, value)
    secure(installation, invoice_mail(1))
    enter(installation)
    dispatch(installation, follower)
    stamp_finished(installation.database, None)
    assert [row[2] for row in ledger_rows(installation)] == ["entered"]
