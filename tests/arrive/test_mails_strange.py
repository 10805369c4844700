"""More mails as nobody sent them yet, through the splitter and the whole way: each part has one
end, and nothing that could not be read is shown as text."""

from __future__ import annotations

import pytest
from mail_walks import enter, secure, sql
from mailbuild import TEXT, mail, multipart, part

from tgv_dagster.arrive.filetype import Family, sniff
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
