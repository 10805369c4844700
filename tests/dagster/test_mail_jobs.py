"""The three jobs of the mailbox against a real Dovecot, as Dagster runs them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

import dagster as dg
import pytest
from dovecot import Dovecot, running_dovecot
from mail_walks import a_minute_later, invoice_mail, ledger_rows, on_dovecot, sql
from surface_builders import QUIET, definitions

from tgv_dagster.installation import Installation


@pytest.fixture(scope="module")
def server() -> Iterator[Dovecot]:
    with running_dovecot() as dovecot:
        yield dovecot


@pytest.fixture
def mailroom(installation: Installation, server: Dovecot) -> Installation:
    server.empty()
    return on_dovecot(installation, server)


def run_job(
    installation: Installation, instance: dg.DagsterInstance, name: str, config: Any = None
) -> dg.ExecuteInProcessResult:
    job = definitions(installation).resolve_job_def(name)
    return job.execute_in_process(
        instance=instance, raise_on_error=False, run_config={**QUIET, **(config or {})}
    )


def backfill_config(**options: Any) -> dict[str, Any]:
    return {"ops": {"backfill_mailbox": {"config": options}}}


def test_a_poll_enters_and_stamps(
    mailroom: Installation, server: Dovecot, instance: dg.DagsterInstance
) -> None:
    server.deliver(invoice_mail(1))
    a_minute_later(mailroom)
    assert run_job(mailroom, instance, "mail_poll").success
    assert [row[1:] for row in ledger_rows(mailroom)] == [("poll", "entered", True)]
    assert server.seen() == set(server.uids())


def test_a_backfill_measures_or_secures_and_never_stamps(
    mailroom: Installation, server: Dovecot, instance: dg.DagsterInstance
) -> None:
    server.deliver(invoice_mail(2))
    today = backfill_config(seit=date.today().isoformat(), limit=5, apply=True)
    assert run_job(mailroom, instance, "mail_backfill").success
    assert ledger_rows(mailroom) == []
    assert run_job(mailroom, instance, "mail_backfill", today).success
    assert [row[1:] for row in ledger_rows(mailroom)] == [("backfill", "secured", False)]
    assert server.seen() == set()


def test_a_backfill_that_is_refused_fails_its_run(
    mailroom: Installation, instance: dg.DagsterInstance
) -> None:
    result = run_job(mailroom, instance, "mail_backfill", backfill_config(limit=201))
    assert not result.success


def test_the_balance_is_kept_and_without_a_mailbox_nothing_is_measured(
    mailroom: Installation, server: Dovecot, instance: dg.DagsterInstance
) -> None:
    server.deliver(invoice_mail(3))
    assert run_job(mailroom, instance, "mail_balance").success
    kept = sql(mailroom, "SELECT count(*) FROM agent_events WHERE kind = 'mail.balance'")
    assert kept == [(1,)]
    mailroom.settings = mailroom.settings.model_copy(update={"mail_host": None})
    assert run_job(mailroom, instance, "mail_balance").success
    kept_now = sql(mailroom, "SELECT count(*) FROM agent_events WHERE kind = 'mail.balance'")
    assert kept_now == kept
