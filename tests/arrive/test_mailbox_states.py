"""Any order of deliveries, foreign clients, polls, backfills, drops, deaths and full disks.

After every step: no mail lost, nothing doubled, no stamp before every part has its outcome, no
flag on a mail that was not handled. At the end a quiet poll and a backfill bring everything in.
"""

from __future__ import annotations

import hashlib
import io
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

import pytest
from faulty_imap import FaultyImap, Script, Stored, faulty_imap
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from mail_walks import a_minute_later, enter, invoice_mail, mail, on_script, sql, stamp

from tgv_dagster import mailing
from tgv_dagster.arrive.mail_drop import drop_mails
from tgv_dagster.arrive.mailbox import MailboxParts, backfill, poll
from tgv_dagster.arrive.upload import Drop, DroppedFile
from tgv_dagster.installation import Installation
from tgv_dagster.store.blobs import StoreFull, Verified
from tgv_dagster.store.blobs.local import LocalBlobStore, Step
from tgv_dagster.store.db import Connection, Database, DatabaseUnavailable
from tgv_dagster.store.scope import Scope

_numbers = itertools.count(1)


def parts(installation: Installation) -> MailboxParts:
    """One mail after the other, so that the same steps come in the same order each time."""
    return replace(mailing.parts_of(installation), together=1)


class Killed(BaseException):
    """The process ends here: nothing of ours may catch it."""


@dataclass
class Countdown:
    """Raises `fault` at the step with this number, counted from 1; None = never."""

    fault: Callable[[], BaseException]
    at: int | None = None

    def __call__(self, step: object = None) -> None:
        # After the temporary file is gone a put asks nothing more of the disk.
        if self.at is not None and step is not Step.TEMP_REMOVED:
            self.at -= 1
            if self.at == 0:
                self.at = None
                raise self.fault()


@dataclass
class Faults:
    """What can happen to the installation from outside."""

    disk: Countdown = field(default_factory=lambda: Countdown(lambda: OSError(28, "full")))
    database: Countdown = field(
        default_factory=lambda: Countdown(lambda: DatabaseUnavailable("gone"))
    )
    death: Countdown = field(default_factory=lambda: Countdown(Killed))


class MortalDatabase(Database):
    """A database that goes away before a transaction."""

    gone: Countdown

    @contextmanager
    def worker(self) -> Iterator[Connection]:
        self.gone()
        with super().worker() as connection:
            yield connection


class Mailroom(RuleBasedStateMachine):
    """One mailbox of its own per example, in one installation for all."""

    installation: Installation
    faults: Faults
    server: FaultyImap
    script: Script

    @initialize()
    def open(self) -> None:
        self.script.mails, self.script.uidvalidity = [], [next(_numbers) + 1000]
        self.account = f"post{next(_numbers)}@example.com"
        on_script(self.installation, self.server, mail_user=self.account)
        self.foreign: set[int] = set()
        self.gone: list[Stored] = []  # kept, so that no id in `foreign` is given out again
        self.next_uid = 1
        self.dropped: list[bytes] = []

    # --- the world outside

    @rule(kind=st.sampled_from(["file", "body", "empty", "broken", "again"]))
    def deliver(self, kind: str) -> None:
        number = next(_numbers)
        raws = {
            "file": invoice_mail(number),
            "body": mail(number, body="Nordlicht Tischlerei GmbH, DE136695976, danke."),
            "empty": mail(number, body=""),
            "broken": mail(number, ("kaputt.pdf", b"%PDF-1.7 nothing")),
        }
        raw = raws.get(kind) or (
            self.script.mails[-1].raw if self.script.mails else invoice_mail(number)
        )
        self.script.mails.append(Stored(self.next_uid, raw))
        self.next_uid += 1

    @precondition(lambda self: self.script.mails)
    @rule(data=st.data())
    def another_client_reads_one(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(range(len(self.script.mails))))
        self.script.mails[one].seen = True
        self.foreign.add(id(self.script.mails[one]))

    @precondition(lambda self: self.script.mails)
    @rule(data=st.data())
    def expunge(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(range(len(self.script.mails))))
        kept = list(self.script.mails)
        self.gone.append(kept.pop(one))
        self.script.mails = kept

    @rule()
    def the_folder_is_made_anew(self) -> None:
        self.script.uidvalidity = [self.script.uidvalidity[0] + 1]  # pyright: ignore[reportOptionalOperand]
        fresh = [replace(one, uid=number) for number, one in enumerate(self.script.mails, start=1)]
        self.foreign |= {id(one) for one in fresh if one.seen}
        self.gone += self.script.mails
        self.script.mails = fresh
        self.next_uid = len(fresh) + 1

    # --- what we do

    @rule()
    def poll(self) -> None:
        a_minute_later(self.installation)
        poll(parts(self.installation))

    @rule(at=st.integers(1, 25))
    def poll_and_die(self, at: int) -> None:
        self.dying(at, self.poll_watched)

    @rule(at=st.integers(1, 25))
    def backfill_and_die(self, at: int) -> None:
        self.dying(at, self.backfill_watched)

    @rule()
    def backfill(self) -> None:
        a_minute_later(self.installation)
        backfill(parts(self.installation), limit=200, apply=True)

    @rule(at=st.integers(1, 12))
    def poll_on_a_full_disk(self, at: int) -> None:
        a_minute_later(self.installation)
        self.faults.disk.at = at
        with suppress(StoreFull):
            poll(parts(self.installation))
        self.faults.disk.at = None

    @rule(at=st.integers(1, 12))
    def poll_without_a_database(self, at: int) -> None:
        a_minute_later(self.installation)
        self.faults.database.at = at
        with suppress(DatabaseUnavailable):
            poll(parts(self.installation))
        self.faults.database.at = None

    @rule(new=st.booleans())
    def drop(self, new: bool) -> None:
        raw = invoice_mail(next(_numbers))
        if not new and self.script.mails:
            raw = self.script.mails[0].raw
        scope = Scope.for_principal(self.installation.database, "emil", source="test")
        files = [DroppedFile("a.eml", io.BytesIO(raw))]
        drop_mails(self.installation.database, self.installation.blobs, scope, Drop(), files)
        self.dropped.append(raw)

    @rule()
    def enter(self) -> None:
        enter(self.installation)

    @rule()
    def stamp(self) -> None:
        stamp(self.installation)

    def dying(self, at: int, act: Callable[[], None]) -> None:
        a_minute_later(self.installation)
        self.faults.death.at = at
        with suppress(Killed):
            act()
        self.faults.death.at = None

    def poll_watched(self) -> None:
        poll(replace(parts(self.installation), on_step=self.faults.death))

    def backfill_watched(self) -> None:
        watched = replace(parts(self.installation), on_step=self.faults.death)
        backfill(watched, limit=200, apply=True)

    # --- what always holds

    def row_of(self, uid: int) -> tuple[str | None, str, bool, int] | None:
        found = sql(
            self.installation,
            "SELECT raw_sha256, outcome, stamped_at IS NOT NULL, id FROM mail_ledger"
            " WHERE account = %s AND uidvalidity = %s AND uid = %s",
            self.account,
            self.script.uidvalidity[0],
            uid,
        )
        assert len(found) <= 1
        return found[0] if found else None  # pyright: ignore[reportReturnType]

    @invariant()
    def what_is_secured_is_the_mail_itself(self) -> None:
        for one in self.script.mails:
            row = self.row_of(one.uid)
            if row is None or row[0] is None:
                continue
            assert row[0] == hashlib.sha256(one.raw).hexdigest()
            ((bucket, key),) = sql(
                self.installation,
                "SELECT storage_bucket, raw_key FROM raw_items WHERE sha256 = %s AND kind = 'eml'",
                row[0],
            )
            assert isinstance(self.installation.blobs.verify(bucket, key), Verified)

    @invariant()
    def no_flag_without_every_part(self) -> None:
        for one in self.script.mails:
            if not one.seen or id(one) in self.foreign:
                continue
            row = self.row_of(one.uid)
            assert row is not None
            assert row[1] in ("entered", "blocked", "nothing_to_do")
            open_parts = sql(
                self.installation,
                """
                WITH RECURSIVE tree AS (
                    SELECT a.id, a.outcome, a.document_id FROM arrivals a JOIN raw_items r
                      ON r.id = a.raw_item_id
                    WHERE r.sha256 = %s AND a.part_role = 'mail' AND a.gate = 'mail'
                    UNION ALL
                    SELECT c.id, c.outcome, c.document_id FROM tree t JOIN arrivals c
                      ON c.parent_id = t.id)
                SELECT t.id FROM tree t LEFT JOIN documents d ON d.id = t.document_id
                WHERE t.outcome IN ('pending', 'parked')
                   OR (t.outcome IN ('entered', 'already_here') AND d.id IS NULL)
                """,
                row[0],
            )
            assert open_parts == []

    @invariant()
    def nothing_is_doubled(self) -> None:
        for statement in (
            "SELECT parent_id, part_path FROM arrivals WHERE parent_id IS NOT NULL"
            " GROUP BY 1, 2 HAVING count(*) > 1",
            "SELECT mandant_id, raw_sha256, part_role FROM documents"
            " GROUP BY 1, 2, 3 HAVING count(*) > 1",
            "SELECT raw_item_id, origin ->> 'account' FROM arrivals"
            " WHERE part_role = 'mail' AND gate = 'mail' GROUP BY 1, 2 HAVING count(*) > 1",
        ):
            assert sql(self.installation, statement) == []

    @invariant()
    def the_sum_of_the_balance_is_the_mailbox(self) -> None:
        found = mailing.balance(self.installation)
        known = (found.stored, found.parked, found.skipped, found.under_way, found.failed)
        assert sum(known) + found.waiting + found.missing == found.total
        assert found.total == len(self.script.mails)

    def teardown(self) -> None:
        """A quiet end: everything that still lies in the mailbox comes in."""
        if not hasattr(self, "account"):
            return
        self.poll()
        self.backfill()
        enter(self.installation)
        stamp(self.installation)
        self.no_flag_without_every_part()
        self.what_is_secured_is_the_mail_itself()
        assert mailing.balance(self.installation).holds
        for raw in self.dropped:
            arrived = sql(
                self.installation,
                "SELECT 1 FROM mail_ledger WHERE gate = 'drop' AND raw_sha256 = %s",
                hashlib.sha256(raw).hexdigest(),
            )
            assert arrived


def run_states(installation: Installation, *, examples: int, steps: int) -> None:
    faults = Faults()
    url = installation.settings.database_url
    assert url is not None
    database = MortalDatabase(url.get_secret_value(), pool_size=4)
    database.gone = faults.database
    store = LocalBlobStore(installation.settings.home / "blobs", on_step=faults.disk)
    script = Script()
    with faulty_imap(script) as server:
        mortal = Installation(installation.settings, database, store)
        on_script(mortal, server)
        mailing.backfill(mortal)

        class Here(Mailroom):
            pass

        Here.installation, Here.faults, Here.server, Here.script = mortal, faults, server, script
        run_state_machine_as_test(
            Here,
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                deadline=None,
                database=None,
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
            ),
        )
        mortal.close()


def test_any_order_keeps_every_promise(installation: Installation) -> None:
    run_states(installation, examples=10, steps=14)


@pytest.mark.soak
def test_any_long_order_keeps_every_promise(installation: Installation) -> None:
    run_states(installation, examples=300, steps=40)
