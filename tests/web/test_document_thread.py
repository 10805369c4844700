"""The reply thread of a document: a mail without the headers, and one nobody looked at, differ.

MAIL-59 (both headers reach the document), MAIL-60 (absent and not recorded are two displays),
MAIL-61 (the mail around a mail is no reply thread).
"""

from __future__ import annotations

import re
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


def answering(number: int, answered: int | None, *earlier: int) -> bytes:
    """A mail that answers another, and names earlier ones."""
    extra = "" if answered is None else f"In-Reply-To: <m{answered}@example.org>\r\n"
    named = " ".join(f"<m{one}@example.org>" for one in earlier)
    return invoice_mail(number, extra=extra + (f"References: {named}\r\n" if named else ""))


def mails_of(page: str) -> list[str]:
    """The mails that the page lists as the thread, in order."""
    listed = page.partition("<h3>Mails of this thread</h3>")[2].partition("</ol>")[0]
    return re.findall(r">(Rechnung \d+)<", listed)


def test_the_whole_thread_is_shown_on_the_page_of_each_of_its_mails(
    installation: Installation,
) -> None:
    """A question, its answer, two answers to that; one more that names a mail nobody has."""
    for number, answered, earlier in (
        (11, None, ()), (12, 11, ()), (13, 12, ()), (14, 12, ()), (15, 99, (11, 99)), (16, 15, ()),
        (21, None, ()), (22, 21, ()),
    ):  # fmt: skip
        secure(installation, answering(number, answered, *earlier))
    enter(installation)
    papers = dict(
        sql(
            installation, "SELECT split_part(message_id, '@', 1), max(id) FROM documents GROUP BY 1"
        )
    )
    assert mails_of(shown(installation, papers["m16"])[1]) == [
        f"Rechnung {number}" for number in (11, 12, 13, 14, 15, 16)
    ]
    assert mails_of(shown(installation, papers["m12"])[1]) == [
        f"Rechnung {number}" for number in (11, 12, 13, 14)
    ]
    assert mails_of(shown(installation, papers["m22"])[1]) == ["Rechnung 21", "Rechnung 22"]
