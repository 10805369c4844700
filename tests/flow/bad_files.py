"""Builders of files that programs choke on; each small and made here."""

from __future__ import annotations

import ctypes
import io
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage

import pikepdf
from reportlab.pdfgen.canvas import Canvas

UMLAUTS = "ä" * 150
"""300 bytes in UTF-8: longer than any file name of this system may be."""


def pdf(*lines: str) -> bytes:
    """A one-page PDF with a text layer."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer)
    for number, line in enumerate(lines):
        canvas.drawString(72, 760 - 16 * number, line)
    canvas.save()
    return buffer.getvalue()


def encrypted_pdf(*lines: str) -> bytes:
    """The same behind a password nobody knows."""
    buffer = io.BytesIO()
    with pikepdf.open(io.BytesIO(pdf(*lines))) as opened:
        opened.save(buffer, encryption=pikepdf.Encryption(user="nobody knows", owner="neither"))
    return buffer.getvalue()


def broken_pdf() -> bytes:
    """Head and end of a PDF with rubble between them."""
    return b"%PDF-1.7\n" + bytes(range(1, 256)) * 40 + b"\nstartxref\n99999\n%%EOF\n"


_CMAP = """/CIDInit /ProcSet findresource begin 12 dict begin begincmap
/CMapName /X def /CMapType 2 def 1 begincodespacerange <00> <FF> endcodespacerange
1 beginbfrange <21> <7E> <0021> endbfrange 1 beginbfchar <20> <0000> endbfchar
endcmap CMapName currentdict /CMap defineresource pop end end"""


def pdf_with_nul(text: str) -> bytes:
    """A PDF whose text layer has NUL where the page shows a space, as some generators write."""
    document = pikepdf.new()
    document.add_blank_page(page_size=(595, 842))
    page = document.pages[0]
    font = pikepdf.Dictionary(
        Type=pikepdf.Name.Font,
        Subtype=pikepdf.Name.Type1,
        BaseFont=pikepdf.Name.Helvetica,
        ToUnicode=document.make_stream(_CMAP.encode()),
    )
    page.obj.Resources = pikepdf.Dictionary(
        Font=pikepdf.Dictionary(F1=document.make_indirect(font))
    )
    page.obj.Contents = document.make_stream(f"BT /F1 14 Tf 72 700 Td ({text}) Tj ET".encode())
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def vast_image(pixels: int = 20_000) -> bytes:
    """A PNG of that many white pixels on each side, small on disk."""
    head = struct.pack(">IIBBBBB", pixels, pixels, 1, 0, 0, 0, 0)
    row = b"\0" + b"\xff" * ((pixels + 7) // 8)
    packer = zlib.compressobj(1)
    body = b"".join(packer.compress(row * 500) for _ in range(pixels // 500)) + packer.flush()
    chunks = ((b"IHDR", head), (b"IDAT", body), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


def zipped(members: dict[str, bytes]) -> bytes:
    """A ZIP whose member names are taken as they are."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members.items():
            opened.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def zip_bomb(megabytes: int = 100) -> bytes:
    """One member of zeros that is a thousand times its packed size."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as opened,
        opened.open("nullen.bin", "w", force_zip64=True) as member,
    ):
        for _ in range(megabytes):
            member.write(bytes(1 << 20))
    return buffer.getvalue()


def nested_zip(depth: int, innermost: bytes) -> bytes:
    """A ZIP in a ZIP in a ZIP, a text file at the bottom."""
    content, name = innermost, "innen.txt"
    for level in range(depth):
        content, name = zipped({name: content}), f"ebene-{level}.zip"
    return content


def nested_mail(depth: int, attachment: bytes) -> bytes:
    """A mail that forwards a mail that forwards a mail, a file in the innermost."""
    message = _mail("innen")
    message.add_attachment(attachment, "text", "plain", filename="innen.txt")
    for level in range(depth):
        outer = _mail(f"Weiterleitung {level}")
        outer.add_attachment(message)
        message = outer
    return message.as_bytes()


def mail_with_names(names: dict[str, bytes]) -> bytes:
    """A mail whose attachments carry these names, percent-encoded as RFC 2231 has it."""
    head = (
        b"From: a@b.example\r\nTo: c@d.example\r\nSubject: Namen\r\nMIME-Version: 1.0\r\n"
        b'Content-Type: multipart/mixed; boundary="grenze"\r\n\r\n'
    )
    parts = [b"--grenze\r\nContent-Type: text/plain\r\n\r\nAnbei.\r\n"]
    for name, content in names.items():
        coded = "".join(f"%{byte:02X}" for byte in name.encode()).encode()
        parts.append(
            b"--grenze\r\nContent-Type: application/octet-stream\r\n"
            b"Content-Disposition: attachment; filename*=utf-8''" + coded + b"\r\n\r\n" + content
        )
    return head + b"\r\n".join(parts) + b"\r\n--grenze--\r\n"


def _mail(subject: str) -> EmailMessage:
    message = EmailMessage()
    message["From"] = "a@b.example"
    message["To"] = "c@d.example"
    message["Subject"] = subject
    message["Date"] = "Mon, 02 Mar 2026 10:00:00 +0100"
    message.set_content(f"Text von {subject}")
    return message


class _Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]  # the form ctypes asks for


class _Data(ctypes.Structure):
    _fields_ = [
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    ]


_VERSION_3 = 0x20080522
_OVERRIDE = (1 << 1) | (1 << 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


@contextmanager
def permissions_count() -> Iterator[None]:
    """File permissions hold for this thread even when it runs as root."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, before = _Header(_VERSION_3, 0), (_Data * 2)()
    _must(libc.capget(ctypes.byref(header), before))
    without = (_Data * 2)(*before)
    without[0].effective &= ~_OVERRIDE
    _must(libc.capset(ctypes.byref(header), without))
    try:
        yield
    finally:
        _must(libc.capset(ctypes.byref(header), before))


def _must(result: int) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
