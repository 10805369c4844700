"""Kill -9 at any boundary of a poll against a real Dovecot: nothing lost, doubled or stamped.

A warm process forks a worker that polls, enters and stamps; it kills itself at a boundary of the
blob store, of a transaction, of the gate or of a step. The next walk completes. The worker reads
texts in its own process: what a killed reader leaves behind is proved where readers are.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from dovecot import Dovecot, running_dovecot
from flow_walks import fork_walk
from mail_walks import a_minute_later, enter, invoice_mail, mail, on_dovecot, poll_now, sql, stamp

from tgv_dagster import flow, mailing
from tgv_dagster.arrive.filetype import FileType
from tgv_dagster.arrive.mailbox import poll
from tgv_dagster.installation import Installation
from tgv_dagster.understand import extraction
from tgv_dagster.understand.extracted import Extraction, ExtractionSettings
from tgv_dagster.understand.workers import ExtractionPool

SHORT_KILLS = 20
SOAK_KILLS = 1000
MOST_BOUNDARIES = 400


@pytest.fixture(scope="module")
def server() -> Iterator[Dovecot]:
    with running_dovecot() as dovecot:
        yield dovecot


@pytest.fixture
def mailroom(installation: Installation, server: Dovecot) -> Installation:
    server.empty()
    installation.extraction = OwnProcess(workers=1)
    return on_dovecot(installation, server)


class OwnProcess(ExtractionPool):
    """Reads in the process that asks, with the same readers: no process to start per walk."""

    def extract(
        self, source: Path, file_type: FileType, settings: ExtractionSettings | None = None
    ) -> Extraction:
        return extraction.extract(source, file_type, settings or self.settings)


def walk(installation: Installation, boundary: Callable[[object], None]) -> None:
    """A poll with everything up to the stamp, every boundary told."""
    installation.extraction = OwnProcess(workers=1)
    poll(replace(mailing.parts_of(installation), on_step=boundary))
    boundary("polled")
    enter(installation)
    boundary("entered")
    flow.stamp_mail(installation)


def check_now(installation: Installation, dovecot: Dovecot, expected: int) -> None:
    """What holds at every moment, however the worker ended."""
    finished = {
        row[0]
        for row in sql(
            installation,
            "SELECT uid FROM mail_ledger WHERE outcome IN ('entered', 'nothing_to_do')",
        )
    }
    assert dovecot.seen() <= finished
    assert len(dovecot.uids()) == expected
    doubled = sql(
        installation,
        "SELECT uid FROM mail_ledger GROUP BY uidvalidity, uid HAVING count(*) > 1 UNION ALL"
        " SELECT parent_id FROM arrivals WHERE parent_id IS NOT NULL"
        " GROUP BY parent_id, part_path HAVING count(*) > 1 UNION ALL"
        " SELECT raw_item_id FROM arrivals WHERE part_role = 'mail'"
        " GROUP BY raw_item_id HAVING count(*) > 1",
    )
    assert doubled == []
    lost = sql(
        installation,
        "SELECT l.id FROM mail_ledger l LEFT JOIN raw_items r ON r.id = l.raw_item_id"
        " WHERE l.outcome NOT IN ('claimed', 'failed') AND r.sha256 IS DISTINCT FROM l.raw_sha256",
    )
    assert lost == []


def kill(installation: Installation, dovecot: Dovecot, boundaries: Iterator[int]) -> int:
    """One round per boundary: two mails, a killed walk, a whole one; how many were killed."""
    killed, delivered = 0, len(dovecot.uids())
    for number, boundary in enumerate(boundaries):
        dovecot.deliver(invoice_mail(f"{number}a"))
        dovecot.deliver(mail(f"{number}b", body=f"Nordlicht Tischlerei GmbH, Nummer {number}."))
        delivered += 2
        a_minute_later(installation)
        killed += fork_walk(installation.settings, walk, kill_at=boundary).killed
        check_now(installation, dovecot, delivered)
        poll_now(installation)
        enter(installation)
        stamp(installation)
        check_now(installation, dovecot, delivered)
        assert dovecot.seen() == set(dovecot.uids())
        assert sql(installation, "SELECT count(*) FROM documents") == [(delivered,)]
    return killed


def boundaries_of(installation: Installation, dovecot: Dovecot) -> int:
    """How many boundaries a walk over two mails has."""
    dovecot.deliver(invoice_mail("erste"))
    dovecot.deliver(mail("zweite", body="Nordlicht Tischlerei GmbH."))
    ended = fork_walk(installation.settings, walk)
    assert not ended.killed
    assert 40 <= ended.boundaries <= MOST_BOUNDARIES
    check_now(installation, dovecot, 2)
    return ended.boundaries


def test_a_kill_at_boundaries_all_along_the_way(mailroom: Installation, server: Dovecot) -> None:
    last = boundaries_of(mailroom, server)
    chosen = sorted({1 + round(n * (last - 1) / (SHORT_KILLS + 1)) for n in range(SHORT_KILLS + 2)})
    assert kill(mailroom, server, iter(chosen)) >= SHORT_KILLS


@pytest.mark.soak
def test_a_thousand_kills(mailroom: Installation, server: Dovecot) -> None:
    last = boundaries_of(mailroom, server)
    chance = random.Random(last)
    rounds = (chance.randint(1, last - 1) for _ in range(SOAK_KILLS + SOAK_KILLS // 20))
    assert kill(mailroom, server, rounds) >= SOAK_KILLS
