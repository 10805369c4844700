"""The mailbox gate against a server that misbehaves by script: nothing lost, one mail apart."""

from __future__ import annotations

import pytest
from faulty_imap import Script, Stored, faulty_imap
from mail_walks import (
    a_minute_later,
    enter,
    events,
    invoice_mail,
    ledger_rows,
    on_script,
    parts,
    poll_now,
    sql,
    stamp,
)

from tgv_dagster import mailing
from tgv_dagster.arrive.imap_connection import ImapError, SearchRefused
from tgv_dagster.arrive.mail_ledger import MAX_ATTEMPTS, MailOutcome
from tgv_dagster.arrive.mailbox import dry_poll, poll
from tgv_dagster.installation import Installation
from tgv_dagster.store.blobs import StoreFull
from tgv_dagster.store.blobs.local import LocalBlobStore

STUB = (
    b"From: Postmaster\r\nSubject: Retrieval using the IMAP4 protocol failed for the following "
    b"message: 12\r\n\r\nThe server couldn't retrieve the following message:\r\nSubject: x\r\n"
)


def three(**second: object) -> Script:
    """Three mails; the one in the middle is described by the test."""
    return Script(
        [
            Stored(1, invoice_mail(1)),
            Stored(2, **({"raw": invoice_mail(2)} | second)),  # pyright: ignore[reportArgumentType]
            Stored(3, invoice_mail(3)),
        ]
    )


@pytest.mark.parametrize(
    ("second", "outcome"),
    [
        ({"answer": "no"}, "failed"),
        ({"answer": "nil"}, "failed"),
        ({"answer": "silent"}, "failed"),
        ({"raw": STUB}, "parked"),
        ({"uid": 3}, "parked"),
    ],
    ids=str,
)
def test_one_bad_mail_never_stops_the_others(
    installation: Installation, second: dict, outcome: str
):
    script = three()
    for name, value in second.items():
        setattr(script.mails[1], name, value)
    with faulty_imap(script) as server:
        on_script(installation, server)
        poll_now(installation)
        found = {row[0]: row[2] for row in ledger_rows(installation)}
        assert found[1] == "secured"
        assert found.get(2, found[3]) == outcome
        enter(installation)
        stamp(installation)
    seen = {mail.uid for mail in script.mails if mail.seen}
    assert seen == {1, 3} - ({3} if "uid" in second else set())


def test_what_fails_again_and_again_is_parked_and_listed_once(installation: Installation):
    script = three(answer="no")
    with faulty_imap(script) as server:
        on_script(installation, server)
        for _ in range(MAX_ATTEMPTS + 2):
            poll_now(installation)
        assert ledger_rows(installation)[1][2] == "parked"
        assert sql(installation, "SELECT count(*) FROM cases WHERE state = 'open'") == [(1,)]
        before = len(server.named("BODY.PEEK"))
        poll_now(installation)
        assert len(server.named("BODY.PEEK")) == before
        sql(installation, "UPDATE mail_ledger SET code_version = 'older' WHERE outcome = 'parked'")
        script.mails[1].answer = "normal"
        assert poll_now(installation).count(MailOutcome.SECURED) == 1
        assert sql(installation, "SELECT 1 FROM cases WHERE state = 'open'") == []


def test_a_failed_mail_waits_before_its_next_attempt(installation: Installation):
    with faulty_imap(three(answer="no")) as server:
        on_script(installation, server)
        poll_now(installation)
        sql(installation, "UPDATE system_config SET set_at = now() - interval '1 hour'")
        assert poll(parts(installation)).wanted == 0


@pytest.mark.parametrize("answer", ["no", "bad", "garbage", "empty", "silent"])
def test_a_refused_search_raises_and_is_no_empty_mailbox(installation: Installation, answer: str):
    script = three()
    script.search = answer
    with faulty_imap(script) as server:
        on_script(installation, server)
        with pytest.raises(SearchRefused):
            dry_poll(parts(installation))
        with pytest.raises(SearchRefused):
            poll_now(installation)
        with pytest.raises(ImapError):
            mailing.balance(installation)
    assert ledger_rows(installation) == []


def test_breaks_in_the_middle_of_a_body_are_overcome(installation: Installation):
    script = three(drops=1)
    with faulty_imap(script) as server:
        on_script(installation, server)
        assert poll_now(installation).count(MailOutcome.SECURED) == 3


def test_a_mail_that_always_breaks_the_connection_fails_alone(installation: Installation):
    script = three(drops=1_000)
    with faulty_imap(script) as server:
        on_script(installation, server)
        report = poll_now(installation)
        assert (report.count(MailOutcome.SECURED), report.count(MailOutcome.FAILED)) == (2, 1)


def test_a_wrong_announced_size_is_noted_and_the_bytes_are_kept(installation: Installation):
    with faulty_imap(three(announced=7)) as server:
        on_script(installation, server)
        assert poll_now(installation).count(MailOutcome.SECURED) == 3
    rows = sql(
        installation, "SELECT size_announced, size_received, outcome_reason FROM mail_ledger"
        " WHERE uid = 2")  # fmt: skip
    assert rows[0][:2] == (7, len(invoice_mail(2)))
    assert "announced 7" in rows[0][2]


def test_a_folder_made_anew_brings_other_mails_under_the_same_uids(installation: Installation):
    script = three()
    with faulty_imap(script) as server:
        on_script(installation, server)
        poll_now(installation)
        script.uidvalidity = [200]
        script.mails = [Stored(1, invoice_mail(9)), Stored(2, invoice_mail(2))]
        poll_now(installation)
        enter(installation)
        stamp(installation)
        assert all(mail.seen for mail in script.mails)
    arrived = sql(installation, "SELECT count(*) FROM arrivals WHERE part_role = 'mail'")
    assert arrived == [(4,)]
    assert sql(installation, "SELECT count(*) FROM documents") == [(4,)]


def test_a_folder_made_anew_before_the_stamp_flags_no_other_mail(installation: Installation):
    script = three()
    with faulty_imap(script) as server:
        on_script(installation, server)
        poll_now(installation)
        enter(installation)
        script.uidvalidity = [200]
        script.mails = [Stored(uid, invoice_mail(uid + 10)) for uid in (1, 2, 3)]
        assert stamp(installation).outcomes["not stamped"] == 3
        assert not any(mail.seen for mail in script.mails)
        assert stamp(installation).claimed == 0


def test_without_uidvalidity_the_hash_decides(installation: Installation):
    script = three()
    script.uidvalidity = [None]
    with faulty_imap(script) as server:
        on_script(installation, server)
        poll_now(installation)
        poll_now(installation)
        assert len(ledger_rows(installation)) == 3
        script.mails[1] = Stored(2, invoice_mail(12))
        enter(installation)
        stamp(installation)
        assert [mail.seen for mail in script.mails] == [True, False, True]
        poll_now(installation)
        enter(installation)
        stamp(installation)
        assert [mail.seen for mail in script.mails] == [True, True, True]
    assert sql(installation, "SELECT count(*) FROM documents") == [(4,)]


@pytest.mark.parametrize("how", ["no", "silent"])
def test_a_refused_stamp_is_an_event_and_is_tried_again(installation: Installation, how: str):
    script = three()
    with faulty_imap(script) as server:
        on_script(installation, server)
        poll_now(installation)
        enter(installation)
        script.store = how
        assert stamp(installation).outcomes["not stamped"] == 3
        assert events(installation, "mail.stamp_failed") == 3
        assert not any(row[3] for row in ledger_rows(installation))
        script.store = "normal"
        assert stamp(installation).outcomes["stamped"] == 3
    assert all(mail.seen for mail in script.mails)


def test_a_server_that_is_gone_at_the_stamp_loses_nothing(installation: Installation):
    script = three()
    with faulty_imap(script) as server:
        on_script(installation, server)
        poll_now(installation)
        enter(installation)
    assert stamp(installation).outcomes["not stamped"] == 3
    assert events(installation, "mail.stamp_failed") == 1
    with faulty_imap(script) as server:
        on_script(installation, server)
        assert stamp(installation).outcomes["stamped"] == 3


def test_a_full_disk_creates_nothing_and_says_so(installation: Installation):
    script = three()
    full = True

    def fault(_step: object) -> None:
        if full:
            raise OSError(28, "No space left on device")

    store = LocalBlobStore(installation.settings.home / "blobs", on_step=fault)
    installation.blobs = store
    with faulty_imap(script) as server:
        on_script(installation, server)
        with pytest.raises(StoreFull):
            poll_now(installation)
        assert ledger_rows(installation) == []
        assert sql(installation, "SELECT 1 FROM raw_items") == []
        assert events(installation, "mail.aborted") == 1
        assert not any(mail.seen for mail in script.mails)
        full = False
        a_minute_later(installation)
        assert poll(parts(installation)).count(MailOutcome.SECURED) == 3
