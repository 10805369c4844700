"""The checkpoints of mail intake: green on a real way of a mail, red on purpose, unmeasured."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from audit_builders import RECEIVED, measure, sql

from tgv_dagster import flow
from tgv_dagster.arrive.gates import GateKind, NewArrival, PartRole, RawKind, arrival_key
from tgv_dagster.arrive.mail_ledger import (
    MailPlace,
    Route,
    SecuredMail,
    claim,
    facts_of,
    secured,
)
from tgv_dagster.arrive.raw import save_raw
from tgv_dagster.audit.verdict import State
from tgv_dagster.effect.seen_stamps import settle
from tgv_dagster.installation import Installation
from tgv_dagster.store.events import Event, record
from tgv_dagster.store.organisation import INTAKE_BUCKET

BODY_MAIL = (
    b"From: a@example.org\r\nSubject: Termin\r\nMessage-ID: <b@x>\r\n\r\n"
    b"Nordlicht Tischlerei GmbH, Hafenweg 1, 20457 Hamburg. Wir kommen am Montag.\r\n"
)
FILE_MAIL = (
    b"From: a@example.org\r\nSubject: Rechnung\r\nMessage-ID: <f@x>\r\nMIME-Version: 1.0\r\n"
    b'Content-Type: multipart/mixed; boundary="g"\r\n\r\n--g\r\nContent-Type: text/plain\r\n'
    b'Content-Disposition: attachment; filename="r.txt"\r\n\r\n'
    b"Nordlicht Tischlerei GmbH, DE136695976, Rechnung 4711, 119,00 EUR\r\n--g--\r\n"
)


def take(installation: Installation, raw: bytes, uid: int) -> None:
    """A mail as the poll secures it."""
    place = MailPlace("post@example.com", "INBOX", 100)
    with installation.database.worker() as connection:
        (held,) = claim(connection, place, [uid], route=Route.POLL, worker="w")
    arrival = NewArrival(
        gate=GateKind.MAIL,
        arrival_key=arrival_key(GateKind.MAIL, uid),
        bucket=INTAKE_BUCKET,
        file_name="mail.eml",
        received_at=RECEIVED,
        kind=RawKind.EML,
        part_role=PartRole.MAIL,
    )
    saved = save_raw(installation.database, installation.blobs, arrival, io.BytesIO(raw))
    mail = SecuredMail(saved.raw_item_id, saved.sha256, facts_of(raw), None, len(raw), saved.size)
    with installation.database.worker() as connection:
        secured(connection, held, mail)


@pytest.fixture
def mails(installation: Installation) -> Installation:
    """A stamped mail with a file and a stamped mail of text alone, taken the whole way."""
    take(installation, FILE_MAIL, 1)
    take(installation, BODY_MAIL, 2)
    wanted = ("mail_parts", "extracted_texts", "documents")
    while any(s.run(installation, None).claimed for s in flow.STEPS if s.name in wanted):
        pass
    settle(installation.database)
    sql(installation, "UPDATE mail_ledger SET stamped_at = now()")
    balanced(installation)
    return installation


def balanced(installation: Installation, **changes: int) -> None:
    figures = dict.fromkeys(
        ("total", "stored", "parked", "skipped", "under_way", "failed", "waiting", "missing"), 0
    )
    with installation.database.worker() as connection:
        record(
            connection,
            Event(
                "mail.balance", "t", "mailbox", "counted",
                payload=figures | changes | {"missing_uids": [7] * changes.get("missing", 0)},
            ),
        )  # fmt: skip


NAMES = (
    "mail_raw_first", "stamp_after_entry", "mailbox_balance", "invoice_without_file",
    "body_row_events",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_real_way_of_a_mail_is_green(mails: Installation, name: str) -> None:
    verdict = measure(mails, name)
    assert verdict.state is State.GREEN, verdict
    assert verdict.figures


@pytest.mark.parametrize("name", NAMES)
def test_without_any_mail_nothing_is_said(installation: Installation, name: str) -> None:
    assert measure(installation, name).state is State.UNMEASURED


def _sql(statement: str) -> Callable[[Installation], object]:
    return lambda installation: sql(installation, statement)


RED: list[tuple[str, str, Callable[[Installation], object]]] = [
    ("mail_raw_first", "without EML", _sql("UPDATE mail_ledger SET raw_item_id = NULL")),
    ("mail_raw_first", "other bytes", _sql(
        "UPDATE mail_ledger SET raw_sha256 = repeat('a', 64) WHERE uid = 1")),
    ("mail_raw_first", "EML lost", _sql("UPDATE raw_items SET state = 'missing'")),
    ("mail_raw_first", "size differs", _sql("UPDATE mail_ledger SET size_received = 3")),
    ("mail_raw_first", "no EML kind", _sql("UPDATE raw_items SET kind = 'file'")),
    ("mail_raw_first", "part without mail", _sql(
        "UPDATE arrivals SET parent_id = NULL WHERE part_role <> 'mail'")),
    ("stamp_after_entry", "unfinished", _sql("UPDATE mail_ledger SET outcome = 'secured'")),
    ("stamp_after_entry", "by backfill", _sql("UPDATE mail_ledger SET gate = 'backfill'")),
    ("stamp_after_entry", "part pending", _sql(
        "UPDATE arrivals SET outcome = 'pending' WHERE part_role = 'file'")),
    ("stamp_after_entry", "document gone", _sql(
        "UPDATE arrivals SET document_id = 404 WHERE part_role = 'body'")),
    ("mailbox_balance", "missing", lambda installation: balanced(installation, missing=1)),
    ("mailbox_balance", "failed", lambda installation: balanced(installation, failed=2)),
    ("invoice_without_file", "invoice of a body", _sql(
        "UPDATE documents SET doc_type = 'invoice' WHERE file_class = 'mail_body'")),
    ("invoice_without_file", "neither file nor text", _sql(
        "UPDATE extractions SET characters = 0")),
    ("body_row_events", "told by nobody", _sql(
        "INSERT INTO arrivals (uid, arrival_key, raw_item_id, gate, file_name, received_at,"
        " part_role, origin) SELECT gen_random_uuid(), 'k', raw_item_id, 'mail', 'x', now(),"
        " 'body', '{}' FROM arrivals LIMIT 1")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "damage"), [pytest.param(n, d, id=f"{n}-{case}") for n, case, d in RED]
)
def test_what_is_broken_on_purpose_turns_red(
    mails: Installation, name: str, damage: Callable[[Installation], object]
) -> None:
    damage(mails)
    assert measure(mails, name).state is State.RED


def test_every_one_has_a_red_case() -> None:
    assert {name for name, *_ in RED} == set(NAMES)


def test_an_old_balance_says_nothing(mails: Installation) -> None:
    with mails.database.owner() as connection:
        connection.execute("ALTER TABLE agent_events DISABLE TRIGGER ALL")
        connection.execute("UPDATE agent_events SET created_at = now() - interval '2 days'")
    assert measure(mails, "mailbox_balance").state is State.UNMEASURED


def test_the_count_of_body_rows_stands_with_its_start_date(mails: Installation) -> None:
    figures = measure(mails, "body_row_events").figures
    assert (figures["events"], figures["with_event"]) == (1, 1)
    assert len(str(figures["counted_since"])) == 10
