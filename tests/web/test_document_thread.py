"""The reply thread of a document: a mail without the headers, and one nobody looked at, differ.

MAIL-59 (both headers reach the document), MAIL-60 (absent and not recorded are two displays),
MAIL-61 (the mail around a mail is no reply thread).
"""

from __future__ import annotations

from typing import Any

import pytest
from mail_walks import enter, invoice_mail, secure, sql
from web_builders import serving

from tgv_dagster.installation import Installation

REPLY = "In-Reply-To: <frage@example.org>\r\n"
REFERENCES = "References: <erste@example.org>\r\n <frage@example.org>\r\n"
ABSENT = "does not say what it answers"
NOT_RECORDED = "Not recorded whether"


def shown(installation: Installation, document_id: int) -> tuple[dict[str, Any], str]:
    """The thread as JSON, and the page in English."""
    with serving(installation) as service:
        told = service.get(f"/api/documents/{document_id}", "chef")
        assert told.status_code == 200, told.text
        service.client.cookies.clear()
        headers = {"Accept-Language": "en", "Accept": "text/html"}
        page = service.get(f"/d/{document_id}", "chef", headers=headers)
        assert page.status_code == 200, page.text
    return told.json()["thread"], page.text


def the_document(installation: Installation, raw: bytes) -> int:
    secure(installation, raw)
    enter(installation)
    ((number,),) = sql(installation, "SELECT id FROM documents")
    return number


@pytest.mark.parametrize(
    ("extra", "reply", "answers", "references"),
    [
        ("", "absent", None, []),
        (REPLY, "present", "frage@example.org", []),
        (REFERENCES, "present", None, ["erste@example.org", "frage@example.org"]),
        (REPLY + REFERENCES, "present", "frage@example.org",
         ["erste@example.org", "frage@example.org"]),
    ],
)  # fmt: skip
def test_what_a_mail_says_about_its_thread_is_shown(
    installation: Installation,
    extra: str,
    reply: str,
    answers: str | None,
    references: list[str],
) -> None:
    number = the_document(installation, invoice_mail(1, extra=extra))
    thread, page = shown(installation, number)
    assert (thread["reply"], thread["in_reply_to"]) == (reply, answers)
    assert thread["references"] == references
    assert (ABSENT in page, NOT_RECORDED in page) == (reply == "absent", False)
    assert all(one in page for one in references)


def test_what_nobody_wrote_down_is_not_called_absent(installation: Installation) -> None:
    number = the_document(installation, invoice_mail(2))
    sql(installation, "UPDATE arrivals SET origin = origin - 'thread_headers'")
    thread, page = shown(installation, number)
    assert thread["reply"] == "not_recorded"
    assert (ABSENT in page, NOT_RECORDED in page) == (False, True)


def test_the_mail_around_a_mail_is_no_reply_thread(installation: Installation) -> None:
    outer = (
        b"From: b@example.org\r\nSubject: Weiter\r\nMessage-ID: <aussen@example.org>\r\n"
        b"In-Reply-To: <anderes@example.org>\r\nMIME-Version: 1.0\r\n"
        b'Content-Type: multipart/mixed; boundary="aussen"\r\n\r\n--aussen\r\n'
        b"Content-Type: message/rfc822\r\n\r\n" + invoice_mail(3) + b"\r\n--aussen--\r\n"
    )
    thread, _ = shown(installation, the_document(installation, outer))
    assert thread["message_id"] == "m3@example.org"
    assert thread["parent_message_id"] == "aussen@example.org"
    assert (thread["reply"], thread["in_reply_to"], thread["references"]) == ("absent", None, [])


@pytest.mark.parametrize(
    ("raw", "forwarded"),
    [
        (invoice_mail(4), False),
        (invoice_mail(4).replace(b"Subject: ", b"Subject: WG: "), True),
        (invoice_mail(4, extra="Resent-From: c@example.org\r\n"), True),
    ],
)
def test_the_metadata_of_a_mail_are_the_six_facts(
    installation: Installation, raw: bytes, forwarded: bool
) -> None:
    number = the_document(installation, raw)
    with serving(installation) as service:
        told = service.get(f"/api/documents/{number}", "chef").json()["mail"]
    subject = "WG: Rechnung 4" if b"WG:" in raw else "Rechnung 4"
    assert told == {
        "from": "rechnung@example.org",
        "subject": subject,
        "date": "2026-03-02T08:00:00Z",
        "message_id": "m4@example.org",
        "is_forwarded": forwarded,
        "entity_hint": None,
    }
