"""A mail inside a mail: its text is a document of its own unless it brings one (MAIL-66)."""

from __future__ import annotations

import pytest
from mail_walks import LETTER, enter, invoice_mail, mail, secure, sql

from tgv_dagster.installation import Installation

TEXT = "Nordlicht Tischlerei GmbH, die Tueren kommen am Dienstag."

CARRIED = b"<carried>"


def around(*inner: bytes, attachment: bool, line: bytes = b"aussen") -> bytes:
    """A mail that carries others, with an invoice of its own or without."""
    own = (
        b"--aussen\r\nContent-Type: text/plain\r\nContent-Disposition: attachment;"
        b' filename="rechnung.txt"\r\n\r\n' + LETTER.format(number=1).encode() + b"\r\n"
    )
    head = (
        b"From: b@example.org\r\nSubject: Weiter\r\nMessage-ID: <aussen@example.org>\r\n"
        b'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="aussen"\r\n\r\n'
        b"--aussen\r\nContent-Type: text/plain\r\n\r\nZur Kenntnis.\r\n"
    )
    carried = b"".join(
        b"--" + line + b"\r\nContent-Type: message/rfc822\r\n\r\n" + one + b"\r\n" for one in inner
    )
    whole = head + (own if attachment else b"") + CARRIED + b"--aussen--\r\n"
    return whole.replace(b"aussen", line).replace(CARRIED, carried)


def entered(installation: Installation) -> tuple[int, int]:
    """Documents, and those whose text holds the letter of the mail inside."""
    (row,) = sql(
        installation,
        "SELECT count(*), count(*) FILTER (WHERE e.result::text LIKE '%%am Dienstag%%')"
        " FROM documents d JOIN extractions e ON e.raw_sha256 = d.raw_sha256"
        " AND e.part_role = d.part_role WHERE d.is_test = %s",
        False,
    )
    return row


@pytest.mark.parametrize(
    ("inner", "attachment", "documents", "letters"),
    [
        ((mail(2, body=TEXT),), True, 2, 1),
        ((mail(2, body=TEXT),), False, 1, 1),
        ((mail(2, body=TEXT), mail(3, body=TEXT + " Gruss.")), True, 3, 2),
        ((invoice_mail(2),), True, 2, 0),
        ((around(mail(4, body=TEXT), attachment=False, line=b"innen"),), True, 3, 1),
        ((mail(2, body=" "),), True, 1, 0),
    ],
)
def test_the_letter_inside_is_found(
    installation: Installation,
    inner: tuple[bytes, ...],
    attachment: bool,
    documents: int,
    letters: int,
):
    secure(installation, around(*inner, attachment=attachment))
    enter(installation)
    assert entered(installation) == (documents, letters)


def test_the_letter_inside_is_a_mail_under_its_own_subject(installation: Installation):
    """Neither a digest nor the mail around it names what a person reads."""
    inner = mail(2, body=TEXT)
    secure(installation, around(inner, attachment=True))
    enter(installation)
    found = sql(
        installation,
        "SELECT file_name, doc_type, mail_subject, mail_from FROM documents"
        " WHERE file_name LIKE %s",
        "%.eml",
    )
    assert found == [("Rechnung 2.eml", "mail_body", "Rechnung 2", "rechnung@example.org")]
