"""A gate that is red or long unmeasured is told once per episode, and the message can be off."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from audit_builders import sql

from tgv_dagster.audit import ledger
from tgv_dagster.audit.alerts import PATIENCE, SEVERITIES, SWITCH, tell
from tgv_dagster.audit.register import CHECKPOINTS, Checkpoint, Severity, checkpoint
from tgv_dagster.audit.verdict import State, Verdict, green, red, unmeasured
from tgv_dagster.installation import Installation

GATE = checkpoint("raw_first")


class Post:
    """Stands where the network is: keeps what was sent, or refuses."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.sent: list[Mapping[str, Any]] = []
        self.refuses = refuses

    def __call__(self, address: str, message: Mapping[str, Any]) -> None:
        if self.refuses:
            raise httpx.ConnectError("nobody answers")
        self.sent.append({"to": address, **message})


@pytest.fixture
def told(installation: Installation) -> Installation:
    """An installation with an address for alerts."""
    installation.settings = installation.settings.model_copy(
        update={"alert_url": "https://alerts.example.eu/hook"}
    )
    return installation


def keep(installation: Installation, verdict: Verdict, which: Checkpoint = GATE) -> None:
    with installation.database.worker() as connection:
        ledger.keep(connection, which, verdict)


def set_value(installation: Installation, key: str, value: str) -> None:
    sql(installation, "INSERT INTO system_config (key, value, set_by) VALUES (%s, %s, 'anna')",
        key, value)  # fmt: skip


def in_hours(hours: float) -> datetime:
    return datetime.now(UTC) + timedelta(hours=hours)


def test_a_red_gate_is_told_once_and_again_in_its_next_episode(told: Installation) -> None:
    post = Post()
    keep(told, red("a row came around", systemic=True))
    keep(told, red("a row came around", systemic=True))
    assert [alert.checkpoint for alert in tell(told, send=post)] == [GATE]
    assert tell(told, send=post) == ()
    keep(told, green("fine"))
    assert tell(told, send=post) == ()
    keep(told, red("again", systemic=True))
    assert len(tell(told, send=post)) == 1
    assert [message["state"] for message in post.sent] == ["red", "red"]
    assert sql(told, "SELECT count(*) FROM agent_events WHERE kind = 'gate.red'") == [(2,)]


def test_a_gate_is_told_when_it_stays_unmeasured_for_too_long(told: Installation) -> None:
    post = Post()
    keep(told, unmeasured("the store did not answer"))
    assert tell(told, send=post, now=in_hours(1)) == ()
    (alert,) = tell(told, send=post, now=in_hours(40))
    assert alert.state is State.UNMEASURED
    assert tell(told, send=post, now=in_hours(50)) == ()


def test_a_green_measurement_that_grew_old_counts_from_its_clock(told: Installation) -> None:
    keep(told, green("fine"))
    hours = GATE.stale_after.total_seconds() / 3600
    assert tell(told, send=Post(), now=in_hours(hours + 1)) == ()
    (alert,) = tell(told, send=Post(), now=in_hours(hours + 40))
    assert (alert.state, alert.reason) == (State.UNMEASURED, ledger.STALE)


def test_patience_and_message_are_settings(told: Installation) -> None:
    post = Post()
    set_value(told, PATIENCE, "1")
    set_value(told, SWITCH, "false")
    keep(told, unmeasured("the store did not answer"))
    assert len(tell(told, send=post, now=in_hours(2))) == 1
    assert post.sent == []


def test_without_an_address_the_event_alone_stands(installation: Installation) -> None:
    keep(installation, red("a row came around", systemic=True))
    post = Post()
    assert len(tell(installation, send=post)) == 1
    assert post.sent == []


def test_a_message_that_does_not_get_through_is_an_event(told: Installation) -> None:
    keep(told, red("a row came around", systemic=True))
    assert len(tell(told, send=Post(refuses=True))) == 1
    assert sql(told, "SELECT reason FROM agent_events WHERE kind = 'alert.failed'") == [
        ("ConnectError",)
    ]


def test_every_red_of_severity_loss_is_told_gate_or_not_and_no_other(told: Installation) -> None:
    for which in CHECKPOINTS:
        keep(told, red("it is so"), which)
    post = Post()

    due = {alert.checkpoint.id for alert in tell(told, send=post)}

    assert due == {one.id for one in CHECKPOINTS if one.gate or one.severity is Severity.LOSS}
    assert {message["checkpoint"] for message in post.sent} == due
    assert any(not message["gate"] for message in post.sent)
    assert tell(told, send=post) == ()


@pytest.mark.parametrize(
    ("chosen", "severities"),
    [
        ("none", set()),
        ("notice", {"notice"}),
        ("loss, fault", {"loss", "fault"}),
        ("everything", {"loss"}),
        ("", {"loss"}),
    ],
)
def test_the_severities_told_are_a_setting(
    told: Installation, chosen: str, severities: set[str]
) -> None:
    set_value(told, SEVERITIES, chosen)
    for which in CHECKPOINTS:
        keep(told, red("it is so"), which)

    due = {alert.checkpoint.id for alert in tell(told, send=Post())}

    assert due == {one.id for one in CHECKPOINTS if one.gate or str(one.severity) in severities}


def test_what_never_said_anything_is_no_alarm_and_what_fell_silent_is(told: Installation) -> None:
    silent, fell_silent = checkpoint("mailbox_balance"), checkpoint("backups_restorable")
    keep(told, green("whole"), fell_silent)
    for which in (silent, fell_silent):
        keep(told, unmeasured("nobody answers"), which)

    assert [a.checkpoint for a in tell(told, send=Post(), now=in_hours(40))] == [fell_silent]
