"""The mailbox gate on a real Dovecot: fetch, secure, enter, stamp, in this order (MAIL-25)."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from datetime import date

import pytest
from dovecot import Dovecot, running_dovecot
from mail_walks import (
    a_minute_later,
    enter,
    events,
    invoice_mail,
    ledger_rows,
    mail,
    on_dovecot,
    parts,
    poll_now,
    sql,
    stamp,
)

from tgv_dagster import flow, mailing
from tgv_dagster.arrive import mail_ledger
from tgv_dagster.arrive.mail_access import SwitchedOff, set_switch
from tgv_dagster.arrive.mail_drop import NotAMail, drop_mails
from tgv_dagster.arrive.mail_ledger import MailOutcome, ThreadHeaders
from tgv_dagster.arrive.mailbox import (
    BackfillRefused,
    PollerBusy,
    PollTooSoon,
    backfill,
    dry_poll,
    poll,
)
from tgv_dagster.arrive.mark_seen import MarkOutcome, NothingNamed
from tgv_dagster.arrive.upload import Drop, DroppedFile
from tgv_dagster.clarify.decisions import dismiss, list_cases
from tgv_dagster.installation import Installation
from tgv_dagster.store.scope import Scope


@pytest.fixture(scope="module")
def server() -> Iterator[Dovecot]:
    with running_dovecot() as dovecot:
        yield dovecot


@pytest.fixture
def dovecot(server: Dovecot) -> Dovecot:
    server.empty()
    return server


@pytest.fixture
def mailroom(installation: Installation, dovecot: Dovecot) -> Installation:
    return on_dovecot(installation, dovecot)


class TestPoll:
    def test_the_order_is_the_contract(self, mailroom: Installation, dovecot: Dovecot):
        raw = invoice_mail(1)
        dovecot.deliver(raw)
        (uid,) = dovecot.uids()
        report = poll_now(mailroom)
        assert (report.total, report.count(MailOutcome.SECURED)) == (1, 1)
        assert ledger_rows(mailroom) == [(uid, "poll", "secured", False)]
        ((bucket, key, kind),) = sql(
            mailroom, "SELECT storage_bucket, raw_key, kind FROM raw_items"
        )
        assert kind == "eml"
        with mailroom.blobs.open(bucket, key) as stored:
            assert stored.read() == raw
        stamp(mailroom)
        assert dovecot.seen() == set()
        enter(mailroom)
        assert dovecot.seen() == set()
        stamp(mailroom)
        assert dovecot.seen() == {uid}
        assert ledger_rows(mailroom) == [(uid, "poll", "entered", True)]

    def test_a_finished_mail_is_not_fetched_again(self, mailroom: Installation, dovecot: Dovecot):
        dovecot.deliver(invoice_mail(1))
        poll_now(mailroom)
        again = poll_now(mailroom)
        assert (again.matching, again.wanted, again.taken) == (1, 0, ())

    def test_polls_are_a_minute_apart(self, mailroom: Installation):
        poll_now(mailroom)
        with pytest.raises(PollTooSoon):
            poll(parts(mailroom))

    def test_a_dry_poll_writes_nothing(self, mailroom: Installation, dovecot: Dovecot):
        dovecot.deliver(invoice_mail(1))
        before = events(mailroom, "mail.switch")
        report = dry_poll(parts(mailroom))
        assert (report.total, report.wanted, report.applied) == (1, 1, False)
        assert ledger_rows(mailroom) == []
        assert sql(mailroom, "SELECT 1 FROM raw_items") == []
        assert sql(mailroom, "SELECT count(*) FROM agent_events WHERE kind LIKE 'mail.%%'") == [
            (before,)
        ]
        poll(parts(mailroom))

    def test_two_pollers_exclude_each_other(self, mailroom: Installation):
        with mail_ledger.one_poller(mailroom.database) as alone:
            assert alone
            with pytest.raises(PollerBusy):
                poll_now(mailroom)
        poll_now(mailroom)

    def test_the_same_bytes_twice_are_one_arrival(self, mailroom: Installation, dovecot: Dovecot):
        dovecot.deliver(invoice_mail(1))
        dovecot.deliver(invoice_mail(1))
        poll_now(mailroom)
        enter(mailroom)
        stamp(mailroom)
        assert len(dovecot.seen()) == 2
        assert sql(mailroom, "SELECT count(*) FROM raw_items WHERE kind = 'eml'") == [(1,)]
        assert sql(mailroom, "SELECT count(*) FROM documents") == [(1,)]

    def test_one_message_id_for_two_mails_keeps_both(
        self, mailroom: Installation, dovecot: Dovecot
    ):
        dovecot.deliver(invoice_mail(1))
        dovecot.deliver(invoice_mail(1, body="Zweite Rechnung."))
        poll_now(mailroom)
        hashes = sql(mailroom, "SELECT DISTINCT raw_sha256 FROM mail_ledger")
        assert len(hashes) == 2

    def test_a_blocked_mail_is_stamped_and_shown_apart(
        self, mailroom: Installation, dovecot: Dovecot
    ):
        sql(
            mailroom,
            "INSERT INTO routing_rules (position, name, action, conditions, created_by)"
            " VALUES (1, 'werbung', 'block', %s, 'test')",
            '{"sender": ["rechnung@example.org"]}',
        )
        dovecot.deliver(invoice_mail(1))
        (uid,) = dovecot.uids()
        poll_now(mailroom)
        enter(mailroom)
        stamp(mailroom)
        assert ledger_rows(mailroom) == [(uid, "poll", "blocked", True)]
        ((rule,),) = sql(mailroom, "SELECT blocked_by FROM mail_ledger")
        assert "werbung" in rule
        assert dovecot.seen() == {uid}

    def test_a_parked_part_keeps_the_mail_unseen_until_a_person_decides(
        self, mailroom: Installation, dovecot: Dovecot
    ):
        dovecot.deliver(mail(1, ("kaputt.pdf", b"%PDF-1.7 broken")))
        dovecot.deliver(invoice_mail(2))
        first, second = dovecot.uids()
        poll_now(mailroom)
        enter(mailroom)
        stamp(mailroom)
        assert dovecot.seen() == {second}
        assert ledger_rows(mailroom)[0] == (first, "poll", "parked", False)
        assert events(mailroom, "mail.attachment_failed") == 1
        stamp(mailroom)
        assert events(mailroom, "mail.attachment_failed") == 1
        chef = Scope.for_principal(mailroom.database, "chef", source="test")
        for case in list_cases(mailroom.database, chef, parked_only=True):
            dismiss(mailroom.database, chef, case.id, reason="no document at all")
        stamp(mailroom)
        assert dovecot.seen() == {first, second}

    def test_a_document_held_by_a_gate_keeps_the_mail_unseen(
        self, mailroom: Installation, dovecot: Dovecot
    ):
        dovecot.deliver(invoice_mail(1))
        poll_now(mailroom)
        enter(mailroom)
        sql(mailroom, "UPDATE documents SET state = 'held', held_gate = 'raw_first',"
            " held_reason = 'the raw bytes are missing'")  # fmt: skip
        stamp(mailroom)
        assert dovecot.seen() == set()
        assert ledger_rows(mailroom)[0][2] == "failed"
        sql(mailroom, "UPDATE documents SET state = 'active', held_gate = NULL,"
            " held_reason = NULL")  # fmt: skip
        stamp(mailroom)
        assert len(dovecot.seen()) == 1

    def test_a_mail_of_text_alone_becomes_a_body_row_with_its_event(
        self, mailroom: Installation, dovecot: Dovecot
    ):
        dovecot.deliver(mail(1, body="Nordlicht Tischlerei GmbH, bitte zahlen Sie 119,00 EUR."))
        poll_now(mailroom)
        enter(mailroom)
        stamp(mailroom)
        assert sql(mailroom, "SELECT file_class FROM documents") == [("mail_body",)]
        assert events(mailroom, "mail.body_row_created") == 1
        assert len(dovecot.seen()) == 1

    def test_an_empty_mail_is_nothing_to_do_and_stamped(
        self, mailroom: Installation, dovecot: Dovecot
    ):
        dovecot.deliver(mail(1, body=""))
        poll_now(mailroom)
        enter(mailroom)
        stamp(mailroom)
        assert ledger_rows(mailroom)[0][1:] == ("poll", "nothing_to_do", True)

    def test_a_mail_above_the_limit_is_parked_with_its_headers(
        self, installation: Installation, dovecot: Dovecot
    ):
        mailroom = on_dovecot(installation, dovecot, mail_max_mb=1)
        dovecot.deliver(mail(1, ("gross.txt", b"x" * 2_000_000)))
        dovecot.deliver(invoice_mail(2))
        report = poll_now(mailroom)
        assert (report.count(MailOutcome.PARKED), report.count(MailOutcome.SECURED)) == (1, 1)
        ((evidence,),) = sql(mailroom, "SELECT evidence FROM cases WHERE subject_kind = 'mail'")
        assert "Message-ID: <m1@example.org>" in evidence["headers"]
        assert poll_now(mailroom).wanted == 0
        with mailroom.database.worker() as connection:
            assert mail_ledger.release(connection, evidence["ledger_id"], by="anna")
        on_dovecot(mailroom, dovecot, mail_max_mb=100)
        assert poll_now(mailroom).count(MailOutcome.SECURED) == 1
        assert sql(mailroom, "SELECT 1 FROM cases WHERE state = 'open'") == []

    def test_a_mail_seen_by_another_client_is_no_longer_polled(
        self, mailroom: Installation, dovecot: Dovecot
    ):
        dovecot.deliver(invoice_mail(1), flags=("\\Seen",))
        assert poll_now(mailroom).matching == 0
        assert mailing.balance(mailroom).missing == 1

    def test_a_mail_deleted_before_its_stamp_ends_the_stamping(
        self, mailroom: Installation, dovecot: Dovecot
    ):
        dovecot.deliver(invoice_mail(1))
        poll_now(mailroom)
        enter(mailroom)
        dovecot.empty()
        assert stamp(mailroom).outcomes["not stamped"] == 1
        assert events(mailroom, "mail.stamp_failed") == 1
        assert stamp(mailroom).claimed == 0

    def test_the_whole_way_by_hand(self, mailroom: Installation, dovecot: Dovecot):
        dovecot.deliver(invoice_mail(1))
        done = mailing.poll(mailroom)
        assert done.gate_closed == ""
        assert done.report.count(MailOutcome.SECURED) == 1
        assert done.stamps is not None
        assert done.stamps.outcomes["stamped"] == 1
        assert len(dovecot.seen()) == 1


class TestRhythm:
    def test_the_step_polls_only_with_a_rhythm(self, mailroom: Installation, dovecot: Dovecot):
        dovecot.deliver(invoice_mail(1))
        assert flow.fetch_mail(mailroom).claimed == 0
        on_dovecot(mailroom, dovecot, mail_intake_poll_sec="300")
        assert flow.fetch_mail(mailroom).outcomes == {"taken": 1}
        dovecot.deliver(invoice_mail(2))
        assert flow.fetch_mail(mailroom).claimed == 0
        a_minute_later(mailroom)
        assert flow.fetch_mail(mailroom).claimed == 1

    @pytest.mark.parametrize("value", ["false", "TRUE", "1", " true", ""])
    def test_only_the_exact_word_switches_on(
        self, mailroom: Installation, dovecot: Dovecot, value: str
    ):
        dovecot.deliver(invoice_mail(1))
        on_dovecot(mailroom, dovecot, mail_intake_poll_sec="60")
        sql(
            mailroom,
            "UPDATE system_config SET value = %s WHERE key = 'use_local_mail_intake'",
            value,
        )
        assert flow.fetch_mail(mailroom).claimed == 0
        with pytest.raises(SwitchedOff):
            mailing.poll(mailroom)

    def test_a_missing_switch_is_off(self, mailroom: Installation):
        sql(mailroom, "DELETE FROM system_config WHERE key = 'use_local_mail_intake'")
        with pytest.raises(SwitchedOff):
            mailing.poll(mailroom, apply=False)


class TestBackfill:
    def test_it_measures_first_and_never_stamps(self, mailroom: Installation, dovecot: Dovecot):
        for number in range(3):
            dovecot.deliver(invoice_mail(number), flags=("\\Seen",) if number else ())
        measured = mailing.backfill(mailroom)
        assert (measured.total, measured.wanted, measured.cut_off) == (3, 3, 2)
        assert ledger_rows(mailroom) == []
        done = mailing.backfill(mailroom, limit=200, apply=True)
        assert done.count(MailOutcome.SECURED) == 3
        enter(mailroom)
        before = dovecot.seen()
        stamp(mailroom)
        assert dovecot.seen() == before
        assert [row[1:3] for row in ledger_rows(mailroom)] == [("backfill", "entered")] * 3

    def test_a_poll_that_finds_it_unseen_takes_over_and_stamps(
        self, mailroom: Installation, dovecot: Dovecot
    ):
        dovecot.deliver(invoice_mail(1))
        mailing.backfill(mailroom, limit=1, apply=True)
        enter(mailroom)
        stamp(mailroom)
        assert dovecot.seen() == set()
        assert poll_now(mailroom).taken == ()
        stamp(mailroom)
        assert len(dovecot.seen()) == 1

    def test_limits_are_refused_and_name_the_way_out(self, mailroom: Installation):
        with pytest.raises(BackfillRefused, match="limit 1"):
            mailing.backfill(mailroom, limit=2)
        with pytest.raises(BackfillRefused, match="seit"):
            mailing.backfill(mailroom, limit=201)
        mailing.backfill(mailroom)
        mailing.backfill(mailroom, limit=200)
        with pytest.raises(BackfillRefused, match="seit"):
            mailing.backfill(mailroom, limit=201, apply=True)

    def test_without_the_switch_it_still_measures(self, mailroom: Installation):
        with mailroom.database.worker() as connection:
            set_switch(connection, on=False, by="test")
        mailing.backfill(mailroom)
        with pytest.raises(SwitchedOff):
            mailing.backfill(mailroom, apply=True)

    @pytest.mark.parametrize(
        ("day", "matching"), [(date.min, 1), (date(1970, 1, 1), 1), (date(2999, 1, 1), 0)]
    )
    def test_any_day_may_be_asked_for(
        self, mailroom: Installation, dovecot: Dovecot, day: date, matching: int
    ):
        dovecot.deliver(invoice_mail(1))
        found = backfill(parts(mailroom), since=day)
        assert (found.total, found.matching) == (1, matching)


class TestDrop:
    def scope(self, mailroom: Installation) -> Scope:
        return Scope.for_principal(mailroom.database, "emil", source="test")

    def drop(self, mailroom: Installation, *raws: bytes):
        files = [DroppedFile(f"{n}.eml", io.BytesIO(raw)) for n, raw in enumerate(raws)]
        return drop_mails(mailroom.database, mailroom.blobs, self.scope(mailroom), Drop(), files)

    def test_a_drop_goes_the_same_way_and_stamps_nothing(
        self, mailroom: Installation, dovecot: Dovecot
    ):
        dovecot.deliver(invoice_mail(1))
        with mailroom.database.worker() as connection:
            set_switch(connection, on=False, by="test")
        (queued,) = self.drop(mailroom, invoice_mail(1))
        assert queued.arrival_id is not None
        enter(mailroom)
        stamp(mailroom)
        assert [row[1:3] for row in ledger_rows(mailroom)] == [("drop", "entered")]
        assert dovecot.seen() == set()
        assert sql(mailroom, "SELECT count(*) FROM documents") == [(1,)]

    def test_the_same_mail_by_drop_and_by_poll_is_one_document(
        self, mailroom: Installation, dovecot: Dovecot
    ):
        dovecot.deliver(invoice_mail(1))
        self.drop(mailroom, invoice_mail(1))
        poll_now(mailroom)
        enter(mailroom)
        stamp(mailroom)
        assert sql(mailroom, "SELECT count(*) FROM documents") == [(1,)]
        assert sql(mailroom, "SELECT count(*) FROM raw_items WHERE kind = 'eml'") == [(1,)]
        assert {row[2] for row in ledger_rows(mailroom)} == {"entered"}
        assert len(dovecot.seen()) == 1

    def test_no_mail_no_drop(self, mailroom: Installation):
        with pytest.raises(NotAMail):
            self.drop(mailroom, invoice_mail(1), b"%PDF-1.7 nothing of a mail")
        assert sql(mailroom, "SELECT 1 FROM raw_items") == []


class TestMarkSeen:
    def test_exactly_what_is_named(self, mailroom: Installation, dovecot: Dovecot):
        for number in range(4):
            dovecot.deliver(invoice_mail(number))
        first, second, _, _ = dovecot.uids()
        report = mailing.mark(
            mailroom.settings,
            uids=(first, 999),
            message_ids=("<m1@example.org>", "<nobody@example.org>"),
        )
        assert [one.outcome for one in report.results] == [
            MarkOutcome.STAMPED,
            MarkOutcome.UNKNOWN_UID,
            MarkOutcome.STAMPED,
            MarkOutcome.UNRESOLVED,
        ]
        assert report.failures == 2
        assert dovecot.seen() == {first, second}

    def test_nothing_named_is_refused(self, mailroom: Installation):
        with pytest.raises(NothingNamed):
            mailing.mark(mailroom.settings, uids=(), message_ids=())


class TestBalance:
    def test_total_is_the_sum_of_the_standings(self, mailroom: Installation, dovecot: Dovecot):
        dovecot.deliver(invoice_mail(1))
        dovecot.deliver(invoice_mail(2), flags=("\\Seen",))
        poll_now(mailroom)
        dovecot.deliver(invoice_mail(3))
        found = mailing.balance(mailroom)
        assert (found.total, found.stored, found.missing, found.waiting) == (3, 1, 1, 1)
        assert not found.holds
        mailing.backfill(mailroom, limit=1)
        mailing.backfill(mailroom, limit=10, apply=True)
        assert mailing.balance(mailroom).holds


class TestThread:
    def test_absent_is_not_unrecorded(self, mailroom: Installation, dovecot: Dovecot):
        reply = "In-Reply-To: <frage@example.com>\r\nReferences: <a@x> <frage@example.com>\r\n"
        dovecot.deliver(invoice_mail(1, extra=reply))
        dovecot.deliver(invoice_mail(2))
        poll_now(mailroom)
        hashes = [
            row[0] for row in sql(mailroom, "SELECT raw_sha256 FROM mail_ledger ORDER BY uid")
        ]
        with mailroom.database.worker() as connection:
            answer, plain = (mail_ledger.thread_of(connection, one) for one in hashes)
            unknown = mail_ledger.thread_of(connection, "0" * 64)
        assert (answer.recorded, answer.in_reply_to) == (
            ThreadHeaders.PRESENT,
            "frage@example.com",
        )
        assert answer.references == ("a@x", "frage@example.com")
        assert plain.recorded is ThreadHeaders.ABSENT
        assert unknown.recorded is ThreadHeaders.NOT_RECORDED


def test_two_claimers_never_hold_the_same_mail(installation: Installation):
    place = mail_ledger.MailPlace("post@example.com", "INBOX", 7)
    won: list[int | None] = []

    def claimer(name: str) -> None:
        for start in range(1, 200, 10):
            with installation.database.worker() as connection:
                claims = mail_ledger.claim(
                    connection,
                    place,
                    range(start, start + 10),
                    route=mail_ledger.Route.POLL,
                    worker=name,
                )
            won.extend(one.uid for one in claims)

    threads = [threading.Thread(target=claimer, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(uid for uid in won if uid) == list(range(1, 201))
