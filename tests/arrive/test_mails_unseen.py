"""Mails as senders get them wrong, through the whole way: nothing lost, nothing called complete
that could not be read."""

from __future__ import annotations

import base64
import binascii
import io
from datetime import UTC, datetime

import pytest
from mail_walks import enter, events, secure, sql
from mailbuild import PDF, TEXT, base64_part, html, mail, multipart, part

from tgv_dagster.arrive.gates import GateKind, NewArrival, PartRole, RawKind
from tgv_dagster.arrive.mime import split, unread_text
from tgv_dagster.arrive.mime_model import DefectKind, Role
from tgv_dagster.arrive.raw import save_raw
from tgv_dagster.clarify.decisions import dismiss, list_cases
from tgv_dagster.installation import Installation
from tgv_dagster.store.organisation import INTAKE_BUCKET
from tgv_dagster.store.scope import Scope

JAPANESE = "請求書の件、よろしくお願いします。"
CHINESE = "发票号码：12345，请查收附件，谢谢。"
GERMAN = "Grüße aus Köln, Rechnung über 5 €"
CZECH = "Příliš žluťoučký kůň úpěl ďábelské ódy a účet"


def plain(body: bytes, charset: str = "") -> bytes:
    return mail(part(f"text/plain; charset={charset}" if charset else "text/plain", body))


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        (JAPANESE, "iso2022_jp"),
        (CHINESE, "gb18030"),
        ("發票號碼請查收附件謝謝您的合作", "big5"),
        ("세금계산서 번호 다섯입니다", "cp949"),
        (GERMAN, "utf-7"),
        (GERMAN, "cp1252"),
        (GERMAN, "utf-8"),
    ],
)
@pytest.mark.parametrize("label", ["", "utf-8", "own"])
def test_text_is_read_whatever_the_label_says(text: str, codec: str, label: str):
    if codec == "utf-7" and label:  # under another label its signs are what they seem
        label = "own"
    found = split(plain(text.encode(codec), codec if label == "own" else label))
    assert found.body_text == text
    assert unread_text(found) == ""


@pytest.mark.parametrize(
    "body", [CZECH.encode("cp1250"), ("Счёт " * 3).encode("koi8-r"), bytes(range(0x81, 0xA0)) * 3]
)
def test_what_cannot_be_read_for_certain_is_never_called_complete(
    installation: Installation, body: bytes
):
    secure(installation, plain(body))
    enter(installation)
    ((status, reason),) = sql(installation, "SELECT status, reason FROM extractions")
    assert (status, "encoding" in reason) == ("truncated", True)


def uuencoded(content: bytes) -> bytes:
    lines = (binascii.b2a_uu(content[at : at + 45]) for at in range(0, len(content), 45))
    return b"begin 644 rechnung.pdf\n" + b"".join(lines) + b"`\nend\n"


LONG_PDF = PDF + b"% " + b"x" * 200

DOCUMENTS = {
    "base64 that does not say so": part("application/pdf; name=a.pdf", base64.encodebytes(PDF)),
    "uuencode torn off in the middle": part("text/plain", b"Hallo\n\n" + uuencoded(LONG_PDF)[:-40]),
    "uuencode with the mail going on behind": part(
        "text/plain", b"Hallo\n" + uuencoded(LONG_PDF)[:-40] + b"\nGr\xfc\xdfe, Anna\n"
    ),
    "base64 without its padding": part(
        "application/pdf; name=a.pdf",
        base64.b64encode(PDF * 5)[:-3],
        "Content-Transfer-Encoding: base64",
    ),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_found_however_it_was_packed(name: str):
    found = split(mail(multipart("mixed", TEXT, DOCUMENTS[name])))
    (document,) = [one for one in found.leaves if one.role is Role.ATTACHMENT]
    assert document.content.startswith(b"%PDF-")
    assert DefectKind.BAD_TRANSFER_ENCODING in {one.kind for one in found.defects}


def test_prose_that_begins_like_a_packed_file_stays_prose():
    text = b"begin 644 times\nMore of this, and so on, until the very end of it all.\n"
    assert [one.role for one in split(plain(text)).leaves] == [Role.BODY]


def test_of_two_content_types_the_one_that_fits_the_body_counts():
    first = multipart("mixed", TEXT, base64_part("application/pdf; name=a.pdf", PDF))
    found = split(mail(b"Content-Type: text/plain\r\n" + first))
    assert [one.role for one in found.leaves] == [Role.BODY, Role.ATTACHMENT]


@pytest.mark.parametrize(
    ("kind", "lines", "read"),
    [
        ("flowed", "Ein langer \r\nSatz.\r\n> Ein \r\n> Zitat\r\n-- \r\nAnna",
         "Ein langer Satz.\n> Ein Zitat\n-- \nAnna"),
        ("flowed; delsp=yes", "DE8937040 \r\n0440532013000\r\n", "DE89370400440532013000"),
        ("fixed", "Ein \r\nSatz", "Ein \nSatz"),
    ],
)  # fmt: skip
def test_flowed_text_is_read_in_its_paragraphs(kind: str, lines: str, read: str):
    body = part(f"text/plain; charset=utf-8; format={kind}", lines.encode())
    assert split(mail(body)).body_text == read


INVITE = (
    b"BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nSUMMARY:Abnahme Haus 5\r\nEND:VEVENT\r\n"
)
BOUNCE = (
    b"Reporting-MTA: dns; mx\r\n\r\nFinal-Recipient: rfc822; a@example.org\r\nAction: failed\r\n"
)


@pytest.mark.parametrize(
    ("entity", "said", "kind"),
    [
        (part("text/calendar; method=REQUEST", INVITE), "Abnahme Haus 5", "file"),
        (multipart("report", part("message/delivery-status", BOUNCE)), "failed", "mail_body"),
    ],
)
def test_an_invitation_or_report_alone_is_a_document(
    installation: Installation, entity: bytes, said: str, kind: str
):
    secure(installation, mail(entity))
    enter(installation)
    ((result,),) = sql(installation, "SELECT result FROM extractions")
    assert said in result
    assert events(installation, "mail.body_row_created") == (kind == "mail_body")
    assert sql(installation, "SELECT file_class FROM documents") == [(kind,)]


ARMOURED = part(
    "text/plain", b"-----BEGIN PGP MESSAGE-----\n\nhQEMA\n=abcd\n-----END PGP MESSAGE-----\n"
)


def test_many_parts_that_cannot_be_opened_are_one_case(installation: Installation):
    """A person is asked once about a mail, not once for each of its 60 attachments."""
    secure(installation, mail(multipart("mixed", TEXT, *([ARMOURED] * 60))))
    enter(installation)
    chef = Scope.for_principal(installation.database, "chef", source="test")
    (case,) = list_cases(installation.database, chef, parked_only=True)
    ((reason, evidence),) = sql(
        installation, "SELECT reason, evidence FROM cases WHERE kind = 'parked'"
    )
    assert reason.startswith("60 ×")
    assert len({one["part_path"] for one in evidence["parts"]}) == 60
    assert sql(installation, "SELECT count(*) FROM mail_parts WHERE outcome = 'parked'") == [(60,)]
    dismiss(installation.database, chef, case.id, reason="nobody has the key")
    assert list_cases(installation.database, chef, parked_only=True) == ()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\r\n\r\n",
        b"\0" * 500,
        mail(multipart("mixed", *[html("x")] * 300)),
        mail(multipart("mixed", multipart("signed", TEXT, part("application/pgp-signature", b"x")),
                       part("text/plain", b"Fuss der Liste"))),
    ],
    ids=["empty", "blank", "zeros", "300 bodies", "signed with a footer"],
)  # fmt: skip
def test_every_leaf_of_a_strange_mail_has_one_outcome(installation: Installation, raw: bytes):
    secure_any(installation, raw)
    enter(installation)
    leaves = len(split(raw).leaves)
    assert sql(installation, "SELECT count(*) FROM mail_parts") == [(leaves,)]
    assert sql(installation, "SELECT outcome FROM arrivals WHERE part_role = 'mail'") == [
        ("split",)
    ]


def secure_any(installation: Installation, raw: bytes) -> None:
    """As the mailbox takes it, which asks of no mail whether it looks like one."""
    arrival = NewArrival(
        gate=GateKind.MAIL, arrival_key="mail:strange", bucket=INTAKE_BUCKET, file_name="a.eml",
        received_at=datetime.now(UTC), kind=RawKind.EML, part_role=PartRole.MAIL,
        media_type="message/rfc822",
    )  # fmt: skip
    save_raw(installation.database, installation.blobs, arrival, io.BytesIO(raw))
