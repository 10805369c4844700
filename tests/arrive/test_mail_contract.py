"""What the contract of the mailbox says about its order and its traffic, from what is recorded."""

from __future__ import annotations

import json

from dovecot import running_dovecot
from faulty_imap import FaultyImap, Script, Stored, faulty_imap
from mail_walks import (
    LETTER,
    enter,
    invoice_mail,
    mail,
    on_dovecot,
    on_script,
    poll_now,
    sql,
    stamp,
)

from tgv_dagster import mailing
from tgv_dagster.arrive.mail_ledger import MailOutcome
from tgv_dagster.installation import Installation


def bodies(server: FaultyImap) -> list[bytes]:
    """The commands since the last look that ask for bytes of a mail."""
    asked = [one for one in server.named("FETCH") if b"BODY" in one.upper() or b"RFC822" in one]
    server.commands.clear()
    return asked


def test_a_second_poll_and_a_second_balance_fetch_no_body(installation: Installation):
    script = Script([Stored(uid, invoice_mail(uid)) for uid in range(1, 8)])
    with faulty_imap(script) as server:
        room = on_script(installation, server)
        assert poll_now(room).count(MailOutcome.SECURED) == 7
        assert len(bodies(server)) >= 7  # what is counted can be counted
        assert poll_now(room).taken == ()
        assert mailing.balance(room).stored == 7
        assert mailing.balance(room).stored == 7
        assert bodies(server) == []
        script.mails.append(Stored(9, invoice_mail(9)))
        poll_now(room)
        assert {one.split()[3] for one in bodies(server)} == {b"9"}


def test_what_failed_alone_is_fetched_alone(installation: Installation):
    script = Script(
        [Stored(1, invoice_mail(1)), Stored(2, invoice_mail(2), answer="no"),
         Stored(3, invoice_mail(3))]
    )  # fmt: skip
    with faulty_imap(script) as server:
        room = on_script(installation, server)
        poll_now(room)
        bodies(server)
        script.mails[1].answer = "normal"
        assert [one.uid for one in poll_now(room).taken] == [2]
        assert {one.split()[3] for one in bodies(server)} == {b"2"}


RULES = (
    ("werbung", "block", {"name_glob": "*prospekt*"}, {}),
    ("miete", "assign", {"name_glob": "*miete*"}, {"entity": "haus-sued"}),
)


def test_rules_come_before_triage_and_the_vocabulary_before_the_row(installation: Installation):
    """MAIL-25, MAIL-30: each step's record tells that the one before had its say."""
    for position, (name, action, conditions, assign) in enumerate(RULES):
        sql(
            installation,
            "INSERT INTO routing_rules (position, name, action, conditions, assign, created_by)"
            " VALUES (%s, %s, %s, %s, %s, 'test')",
            position, name, action, json.dumps(conditions), json.dumps(assign),
        )  # fmt: skip
    known = LETTER.format(number=4)
    raw = mail(
        1,
        ("prospekt.txt", f"{known}\r\nAn: Nordlicht GmbH".encode()),
        ("miete.txt", b"Nordlicht GmbH\r\nMietvertrag vom 01.03.2026, Miete 900,00 EUR"),
        ("fremd.txt", b"An die Weltfirma Unbekannt AG\r\nRechnung 5\r\nGesamt 10,00 EUR"),
    )
    with running_dovecot() as server:
        room = on_dovecot(installation, server)
        server.deliver(raw)
        poll_now(room)
        enter(room)
        stamp(room)
    documents = {
        name: (entity, origin)
        for name, entity, origin in sql(
            room, "SELECT file_name, entity, entity_quelle FROM documents"
        )
    }
    # A block leaves nothing for triage: neither number nor value nor question.
    assert "prospekt.txt" not in documents
    assert sql(room, "SELECT count(*) FROM document_numbers") == [(2,)]
    ((reason,),) = sql(room, "SELECT outcome_reason FROM arrivals WHERE file_name = 'prospekt.txt'")
    assert "werbung" in reason
    # What a rule said, triage of the text did not overrule.
    assert documents["miete.txt"] == ("haus-sued", "structural_rule")
    # What triage read stands in the row only if the vocabulary has it.
    assert documents["fremd.txt"][0] is None


def test_each_step_is_recorded_after_the_one_before(installation: Installation):
    with running_dovecot() as server:
        room = on_dovecot(installation, server)
        server.deliver(invoice_mail(1))
        poll_now(room)
        enter(room)
        stamp(room)
    (moments,) = sql(
        room,
        """
        SELECT (SELECT min(r.created_at) FROM raw_items r WHERE r.kind = 'eml'),
            (SELECT min(r.created_at) FROM raw_items r WHERE r.kind = 'part'),
            (SELECT min(e.created_at) FROM extractions e),
            (SELECT n.created_at FROM document_numbers n),
            (SELECT d.created_at FROM documents d),
            (SELECT l.stamped_at FROM mail_ledger l)
        """,
    )
    assert list(moments) == sorted(set(moments))
