"""Builders for tests of the mailbox gate: an installation on a mailbox, mails, and the way."""

from __future__ import annotations

import io
from typing import Any

from dovecot import PASSWORD, USER, Dovecot
from faulty_imap import HOST, FaultyImap
from pydantic import SecretStr

from tgv_dagster import flow, mailing
from tgv_dagster.arrive.mail_access import set_switch
from tgv_dagster.arrive.mail_drop import drop_mails
from tgv_dagster.arrive.mail_ledger import LAST_POLL
from tgv_dagster.arrive.mailbox import MailboxParts, MailReport, poll
from tgv_dagster.arrive.upload import Drop, DroppedFile
from tgv_dagster.installation import Installation
from tgv_dagster.store.pull import BatchReport
from tgv_dagster.store.scope import Scope

Rows = list[tuple[Any, ...]]

LETTER = (
    "Nordlicht Tischlerei GmbH\r\nHafenweg 1, 20457 Hamburg\r\n\r\nRechnung {number}\r\n"
    "USt-IdNr. DE136695976\r\nRechnungsdatum: 02.03.2026\r\nGesamtbetrag: 119,00 EUR\r\n"
)


def mail(
    number: int | str, *files: tuple[str, bytes], body: str = "Anbei.", extra: str = ""
) -> bytes:
    """A mail with text attachments; every number gives other bytes."""
    head = (
        f"From: Lieferant <rechnung@example.org>\r\nTo: post@example.com\r\n"
        f"Subject: Rechnung {number}\r\nMessage-ID: <m{number}@example.org>\r\n"
        f"Date: Mon, 02 Mar 2026 09:00:00 +0100\r\n{extra}MIME-Version: 1.0\r\n"
        'Content-Type: multipart/mixed; boundary="grenze"\r\n\r\n'
    ).encode()
    parts = [b"--grenze\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n" + body.encode()]
    parts += [
        b"--grenze\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Disposition: attachment;"
        + f' filename="{name}"'.encode()
        + b"\r\n\r\n"
        + content
        for name, content in files
    ]
    return head + b"\r\n".join(parts) + b"\r\n--grenze--\r\n"


def invoice_mail(number: int | str, **extra: str) -> bytes:
    """A mail with one invoice as a text file."""
    return mail(number, (f"rechnung-{number}.txt", LETTER.format(number=number).encode()), **extra)


def on_dovecot(installation: Installation, server: Dovecot, **changes: Any) -> Installation:
    """Point the installation at the test's Dovecot and switch mail intake on."""
    return _on(installation, "127.0.0.1", server.port, USER, PASSWORD, changes)


def on_script(installation: Installation, server: FaultyImap, **changes: Any) -> Installation:
    """Point the installation at a scripted server and switch mail intake on."""
    return _on(installation, HOST, server.port, USER, PASSWORD, changes)


def _on(
    installation: Installation, host: str, port: int, user: str, password: str, changes: Any
) -> Installation:
    installation.settings = installation.settings.model_copy(
        update={
            "mail_host": host,
            "mail_port": port,
            "mail_user": user,
            "mail_password": SecretStr(password),
            "mail_tls": "none",
            **changes,
        }
    )
    with installation.database.worker() as connection:
        set_switch(connection, on=True, by="test")
    return installation


def parts(installation: Installation) -> MailboxParts:
    return mailing.parts_of(installation)


def a_minute_later(installation: Installation) -> None:
    """Let the last poll, and every wait after a failure, lie in the past."""
    sql(installation, "UPDATE system_config SET set_at = now() - interval '1 hour' WHERE key = %s",
        LAST_POLL)  # fmt: skip
    sql(installation, "UPDATE mail_ledger SET lease_until = now() WHERE outcome = 'failed'")


def poll_now(installation: Installation, **options: Any) -> MailReport:
    a_minute_later(installation)
    return poll(parts(installation), **options)


def enter(installation: Installation) -> None:
    """Run the stages up to the document rows until nothing is left."""
    wanted = ("mail_parts", "extracted_texts", "documents")
    while any(step.run(installation, None).claimed for step in flow.STEPS if step.name in wanted):
        pass


def stamp(installation: Installation) -> BatchReport:
    return flow.stamp_mail(installation)


def sql(installation: Installation, statement: str, *values: object) -> Rows:
    with installation.database.worker() as connection:
        cursor = connection.execute(statement.encode(), values or None)
        return cursor.fetchall() if cursor.description else []


def ledger_rows(installation: Installation) -> Rows:
    """(uid, gate, outcome, stamped) of every mail in the ledger."""
    return sql(
        installation,
        "SELECT uid, gate, outcome, stamped_at IS NOT NULL FROM mail_ledger ORDER BY uid, id",
    )


def events(installation: Installation, kind: str) -> int:
    return sql(installation, "SELECT count(*) FROM agent_events WHERE kind = %s", kind)[0][0]


def secure(installation: Installation, raw: bytes, *, login: str = "emil") -> None:
    """A mail as a drop of this person secures it, without any mailbox."""
    scope = Scope.for_principal(installation.database, login, source="test")
    files = [DroppedFile("a.eml", io.BytesIO(raw))]
    drop_mails(installation.database, installation.blobs, scope, Drop(), files)
