"""More mails as nobody sent them yet, through the splitter and the whole way: each part has one
end, and nothing that could not be read is shown as text."""

from __future__ import annotations

import base64
import io
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from dovecot import Dovecot, running_dovecot
from mail_walks import enter, ledger_rows, on_dovecot, poll_now, secure, sql, stamp
from mailbuild import PDF, TEXT, base64_part, html, mail, multipart, part

from tgv_dagster.arrive.filetype import Family, sniff
from tgv_dagster.arrive.mails import split_mails
from tgv_dagster.arrive.mime import split, unread_text
from tgv_dagster.arrive.mime_model import DefectKind, Role
from tgv_dagster.installation import Installation

GREEK = (
    "Αγαπητοί κύριοι, σας αποστέλλουμε το τιμολόγιο για την παράδοση των εμπορευμάτων."
    " Παρακαλούμε να πληρώσετε το ποσό εντός τριάντα ημερών."
)
HEBREW = (
    "שלום רב, מצורפת החשבונית עבור המשלוח של חודש מרץ."
    " נא לשלם את הסכום תוך שלושים יום. בברכה, הנהלת חשבונות."
)
RUSSIAN = (
    "Уважаемые дамы и господа, направляем вам счёт за поставку товаров."
    " Просим оплатить сумму в течение тридцати дней."
)
ARABIC = "السادة المحترمون، نرسل إليكم فاتورة تسليم البضائع. يرجى دفع المبلغ خلال ثلاثين يوما."
TURKISH = (
    "Sayın yetkili, malların teslimatı için faturayı gönderiyoruz."
    " Lütfen tutarı otuz gün içinde ödeyiniz. Işığı söndürünüz, şişe."
)
UKRAINIAN = (
    "Шановні панове, надсилаємо вам рахунок за поставку товарів."
    " Просимо сплатити суму протягом тридцяти днів."
)


def undeclared(body: bytes) -> bytes:
    return mail(part("text/plain", body))


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (GREEK, "cp1253"), (GREEK, "iso8859_7"), (HEBREW, "cp1255"), (HEBREW, "iso8859_8"),
        (RUSSIAN, "cp1251"), (RUSSIAN, "koi8_r"), (RUSSIAN, "iso8859_5"), (RUSSIAN, "cp866"),
        (ARABIC, "cp1256"), (ARABIC, "iso8859_6"),
    ],
)  # fmt: skip
def test_an_undeclared_script_is_read_by_the_frequency_of_its_letters(text: str, codec: str):
    found = split(undeclared(text.encode(codec)))
    assert found.body_text == text
    assert unread_text(found) == ""


@pytest.mark.parametrize(
    ("text", "codec"),
    [(TURKISH, "cp1254"), (UKRAINIAN, "koi8_u"), (GREEK[:24], "cp1253"), (HEBREW[:24], "cp1255")],
)
def test_an_undeclared_text_that_fits_several_encodings_is_flagged(text: str, codec: str):
    assert unread_text(split(undeclared(text.encode(codec))))


def yenc(name: str, content: bytes, *, end: bool = True) -> bytes:
    packed = bytes((byte + 42) % 256 for byte in content).replace(b"\r", b"_").replace(b"\n", b"_")
    lines = b"\r\n".join(packed[at : at + 128] for at in range(0, len(packed), 128))
    last = f"=yend size={len(content)} crc32=00000000\r\n".encode() if end else b""
    first = f"=ybegin line=128 size={len(content)} name={name}\r\n".encode()
    return first + lines + b"\r\n" + last


BINARY = bytes(range(256)) * 4


@pytest.mark.parametrize("end", [True, False], ids=["whole", "torn off"])
def test_a_file_in_yenc_is_set_aside_and_its_text_is_read(installation: Installation, end: bool):
    body = b"Guten Tag, anbei das Bild.\r\n\r\n" + yenc("bild.jpg", BINARY, end=end)
    raw = mail(part("text/plain; charset=utf-8", body))
    found = split(raw)
    assert found.body_text == "Guten Tag, anbei das Bild."
    assert unread_text(found) == ""
    (packed,) = found.with_role(Role.UNOPENED)
    assert (packed.filename, DefectKind.YENC in {one.kind for one in found.defects}) == (
        "bild.jpg",
        True,
    )
    secure(installation, raw)
    enter(installation)
    ((reason,),) = sql(installation, "SELECT reason FROM cases WHERE kind = 'parked'")
    assert reason == "unopened (yenc), cannot be opened here"


@pytest.mark.parametrize("kind", ["text/plain", "application/octet-stream; name=bild.jpg"])
def test_a_part_that_is_yenc_alone_is_neither_text_nor_document(kind: str):
    found = split(mail(multipart("mixed", TEXT, part(kind, yenc("bild.jpg", BINARY)))))
    assert [one.role for one in found.leaves] == [Role.BODY, Role.UNOPENED]
    assert "ybegin" not in found.body_text


def test_prose_about_yenc_stays_prose():
    text = "A block begins with =ybegin line=128 size=1 name=x and ends with =yend."
    assert split(undeclared(text.encode())).body_text == text


@pytest.mark.parametrize("body", [bytes(range(256)), b"\0" * 400, b"\xff\xfe" * 90])
def test_a_mail_whose_body_travels_as_bytes_is_a_mail(body: bytes):
    """Nothing in it but the header is text (RFC 3030)."""
    raw = mail(part("application/x-scan", body, "Content-Transfer-Encoding: binary"))
    assert sniff(raw, "scan.eml").family is Family.MAIL
    assert sniff(body + b"\r\n\r\n" + raw, "scan.bin").family is not Family.MAIL


A_PDF = base64_part("application/pdf; name=a.pdf", PDF)
CUT = multipart("mixed", TEXT, A_PDF, boundary="x").partition(b"\r\n\r\n")[2]
FOUND = {
    "behind 3,000 fields": mail(
        multipart("mixed", TEXT, A_PDF), *(f"X-{number}: v" for number in range(3_000))
    ),
    "type with comments": mail(
        b'Content-Type: (a) multipart/mixed (b); (c) boundary="x"\r\n\r\n' + CUT
    ),
    "boundary declared empty": mail(
        multipart("mixed", TEXT, A_PDF, boundary="x").replace(b"--x", b"--").replace(b'"x"', b'""')
    ),
    "hung on behind the end": mail(multipart("mixed", TEXT)) + b"\r\n--gate\r\n" + A_PDF,
    "packed twice": mail(
        multipart(
            "mixed", TEXT, base64_part("application/pdf; name=a.pdf", base64.encodebytes(PDF))
        )
    ),
    "named in pieces out of order": mail(
        multipart(
            "mixed",
            TEXT,
            base64_part(
                "application/pdf", PDF, "Content-Disposition: attachment; filename*1=.pdf;"
                " filename*0*=utf-8''a",
            ),
        )
    ),
    "shown by the text as a picture": mail(
        multipart(
            "related",
            html('Guten Tag,<br>anbei die Rechnung. <img src="cid:p@x">'),
            base64_part("image/png; name=a.pdf", PDF, "Content-ID: <p@x>"),
        )
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", FOUND)
def test_a_document_is_found_in_a_mail_that_is_built_wrongly(kind: str):
    found = split(FOUND[kind])
    (document,) = found.with_role(Role.ATTACHMENT)
    assert (document.filename, document.content) == ("a.pdf", PDF)
    assert found.body_text.startswith("Guten Tag,\nanbei die Rechnung.")


def bomb() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("0.txt", b"0" * 30_000_000)
    return target.getvalue()


def nested(levels: int) -> bytes:
    entity = TEXT
    for level in range(levels):
        entity = multipart("mixed", entity, boundary=f"b{level}")
    return entity


def letters(levels: int) -> bytes:
    raw = mail(TEXT)
    for _ in range(levels):
        raw = mail(part("message/rfc822", raw))
    return raw


INVITATION = b"BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nEND:VCALENDAR\r\n"
SAME = "Message-ID: <same@example.org>"
STRANGE = {
    "nested beyond the bound": mail(nested(100)),
    "letters beyond the bound": letters(80),
    "zip bomb": mail(multipart("mixed", TEXT, base64_part("application/zip; name=b.zip", bomb()))),
    "a part of three": mail(part('message/partial; id="a@b"; number=2; total=3', b"middle")),
    "a body elsewhere": mail(
        multipart("mixed", TEXT, part("message/external-body; access-type=URL", b"\r\n"))
    ),
    "invitation": mail(multipart("alternative", TEXT, part("text/calendar", INVITATION))),
    "10,000 recipients": mail(TEXT, "Cc: " + ",\r\n ".join(f"u{n}@x.org" for n in range(10_000))),
    "headers twice": mail(TEXT, "Subject: a", "Subject: b", "From: b@x.org", "Date: x", "Date: y"),
    "one field of 3 MB": mail(TEXT, "X-Long: " + "a" * 3_000_000),
    "raw bytes in the header": mail(TEXT).replace(b"Anna Muster", b"M\xfcller \xe9\xff"),
    "zeros": mail(TEXT).replace(b"Muster", b"Mus\0ter").replace(b"Tag", b"T\0ag"),
    "only a header": mail(b""),
    "the same id": mail(TEXT, SAME),
    "the same id, another mail": mail(multipart("mixed", TEXT, A_PDF), SAME),
    "ciphertext in a letter": mail(
        part(
            "message/rfc822",
            mail(
                multipart(
                    "encrypted",
                    part("application/pgp-encrypted", b"Version: 1"),
                    part("application/octet-stream", b"-----BEGIN PGP MESSAGE-----\r\nx"),
                )
            ),
        )
    ),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Dovecot]:
    with running_dovecot() as dovecot:
        yield dovecot


def parts_of_all(installation: Installation) -> list[tuple[int, int]]:
    """Of every mail in the order of arrival: its rows of parts, and how many have an outcome."""
    return sql(
        installation,
        "SELECT count(*), count(p.outcome) FROM arrivals a JOIN mail_parts p"
        " ON p.mail_arrival_id = a.id GROUP BY a.id ORDER BY a.id",
    )


def test_strange_mails_of_a_mailbox_all_come_to_an_end(installation: Installation, server: Dovecot):
    mailroom = on_dovecot(installation, server)
    for raw in STRANGE.values():
        server.deliver(raw)
    poll_now(mailroom)
    enter(mailroom)
    stamp(mailroom)
    with server.client() as client:
        client.select_folder("INBOX", readonly=True)
        stored = client.fetch(server.uids(), ["BODY.PEEK[]"])
    raws: list[Any] = [stored[uid][b"BODY[]"] for uid in sorted(stored)]
    leaves = [len(split(raw).leaves) for raw in raws]
    assert parts_of_all(mailroom) == [(count, count) for count in leaves]
    outcomes = [row[2] for row in ledger_rows(mailroom)]
    assert len(outcomes) == len(STRANGE)
    assert set(outcomes) <= {"entered", "nothing_to_do", "parked"}
    assert sql(mailroom, "SELECT count(*) FROM arrivals WHERE outcome = 'pending'") == [(0,)]


def test_every_part_of_strange_mails_that_are_dropped_has_its_row(installation: Installation):
    for raw in STRANGE.values():
        secure(installation, raw)
    split_mails(installation.database, installation.blobs, limit=100)
    leaves = [len(split(raw).leaves) for raw in STRANGE.values()]
    assert parts_of_all(installation) == [(count, count) for count in leaves]
