"""TNEF, S/MIME and uuencode inside mails (known faults 67 and 68)."""

from __future__ import annotations

import binascii
import struct
import zlib

import pytest
from asn1crypto import cms, pem
from hypothesis import given, settings
from hypothesis import strategies as st
from mailbuild import (
    PDF,
    PNG,
    TEXT,
    base64_part,
    enveloped,
    mail,
    mapi,
    multipart,
    part,
    rtf_property,
    signed,
    tnef,
    tnef_codepage,
    tnef_embedded,
    tnef_file,
    tnef_message,
    tnef_object,
)

from tgv_dagster.arrive.mime import DefectKind, Leaf, Mail, Role, SignatureState, split
from tgv_dagster.arrive.mime_smime import CmsKind, open_cms
from tgv_dagster.arrive.mime_tnef import open_tnef

HTML, PLAIN8, UNICODE, CODEPAGE = 0x1013, 0x1E, 0x1F, 0x3FDE


def winmail(stream: bytes, kind: str = "application/ms-tnef") -> Mail:
    return split(mail(multipart("mixed", TEXT, base64_part(f"{kind}; name=winmail.dat", stream))))


def leaf(mail_: Mail, path: str) -> Leaf:
    return next(one for one in mail_.leaves if one.path == path)


class TestTnef:
    @pytest.mark.parametrize("kind", ["application/ms-tnef", "application/octet-stream"])
    def test_files_come_out_byte_for_byte(self, kind: str):
        content = PDF + b"\0\0\0"
        found = winmail(tnef(tnef_file(b"a.pdf", content), tnef_file(b"b.bin", b"\0")), kind)
        assert leaf(found, "2").role is Role.TNEF_CONTAINER
        assert leaf(found, "2/1").content == content
        assert leaf(found, "2/2").content == b"\0"
        assert leaf(found, "2/1").filename == "a.pdf"
        assert leaf(found, "2/1").parent_path == "2"

    def test_the_long_unicode_name_and_the_declared_type_are_taken(self):
        properties = mapi(
            (0x3707, UNICODE, "Übersicht 2024.pdf\0".encode("utf-16-le")),
            (0x370E, PLAIN8, b"application/pdf\0"),
        )
        found = winmail(tnef(tnef_file(b"BERSI~1.PDF", PDF, properties)))
        assert leaf(found, "2/1").filename == "Übersicht 2024.pdf"
        assert leaf(found, "2/1").media_type == "application/pdf"

    def test_names_follow_the_code_page(self):
        found = winmail(tnef(tnef_codepage(1251), tnef_file("счёт.pdf".encode("cp1251"), PDF)))
        assert leaf(found, "2/1").filename == "счёт.pdf"

    def test_a_file_kept_in_the_properties_comes_out_byte_for_byte(self):
        properties = mapi((0x3701, 0x0102, b"abc\0\0"))
        stream = tnef_object(2, 0x9002, b"\0" * 14) + tnef_object(2, 0x9005, properties)
        assert leaf(winmail(tnef(stream)), "2/1").content == b"abc\0\0"

    def test_a_body_only_stream_says_so(self):
        body = tnef_message((0x1000, UNICODE, "Grüße aus Outlook\0".encode("utf-16-le")))
        found = split(mail(base64_part("application/ms-tnef", tnef(body))))
        assert found.has_defect(DefectKind.TNEF_BODY_ONLY)
        assert found.body_text == "Grüße aus Outlook"

    def test_the_body_inside_is_an_alternative_when_the_mail_has_one(self):
        found = winmail(
            tnef(tnef_message((0x1000, PLAIN8, b"noch einmal\0")), tnef_file(b"a", b""))
        )
        assert leaf(found, "2/1").role is Role.BODY_ALTERNATIVE
        assert "noch einmal" not in found.body_text

    def test_an_html_body_is_read_by_its_code_page_and_shows_its_images(self):
        body = tnef_message(
            (CODEPAGE, 0x0003, struct.pack("<I", 28605)),
            (HTML, 0x0102, "<p>5 € für alle</p><img src='cid:l@x'>".encode("iso-8859-15")),
        )
        image = tnef_file(b"l.png", PNG, mapi((0x3712, PLAIN8, b"l@x\0")))
        found = split(mail(base64_part("application/ms-tnef", tnef(body, image))))
        assert "5 € für alle" in found.body_text
        assert found.leaves[-1].role is Role.INLINE_REFERENCED

    def test_a_compressed_rtf_body_is_read(self):
        body = tnef_message(rtf_property(rb"{\rtf1\ansi Hallo \'dcbersicht}"))
        found = split(mail(base64_part("application/ms-tnef", tnef(body))))
        assert "Hallo Übersicht" in found.body_text

    def test_escapes_beyond_the_basic_plane_become_storable_text(self):
        body = tnef_message(rtf_property(rb"{\rtf1\ansi Gru\u223?e \u55357?\u56832?\u55357?}"))
        found = split(mail(base64_part("application/ms-tnef", tnef(body))))
        assert "Gruße \U0001f600" in found.body_text
        found.body_text.encode("utf-8")

    def test_an_embedded_message_is_opened_and_reported(self):
        inner = tnef(tnef_message((0x1000, PLAIN8, b"innen\0")), tnef_file(b"tief.pdf", PDF))
        found = winmail(tnef(tnef_embedded(inner)))
        assert found.has_defect(DefectKind.TNEF_EMBEDDED_MESSAGE)
        assert leaf(found, "2/1").content == inner
        assert leaf(found, "2/1/2").content == PDF
        assert leaf(found, "2/1/2").mail_path == "2/1"
        assert "innen" not in found.body_text

    def test_an_empty_stream_is_reported(self):
        assert winmail(tnef()).has_defect(DefectKind.TNEF_EMPTY)

    def test_a_part_that_is_no_tnef_stays_an_attachment(self):
        found = winmail(PDF)
        assert leaf(found, "2").role is Role.ATTACHMENT
        assert found.has_defect(DefectKind.TNEF_UNREADABLE)

    @settings(max_examples=120, deadline=None)
    @given(st.data())
    def test_a_damaged_stream_keeps_what_was_whole(self, data: st.DataObject):
        whole = tnef(tnef_file(b"a.pdf", PDF), tnef_message((0x1000, PLAIN8, b"Text\0")))
        first_file_end = len(tnef(tnef_file(b"a.pdf", PDF)))
        cut = data.draw(st.integers(min_value=first_file_end, max_value=len(whole) - 1))
        noise = data.draw(st.binary(max_size=20))
        assert open_tnef(whole[:cut] + noise).files[0].content == PDF

    @settings(max_examples=200, deadline=None)
    @given(st.lists(st.binary(max_size=40), max_size=6))
    def test_no_bytes_make_it_raise(self, values: list[bytes]):
        numbers = [0x9003, 0x9005, 0x9002, 0x800F, 0x8010, 0x9007]
        objects = [
            tnef_object(1 + number % 2, numbers[number % 6], value)
            for number, value in enumerate(values)
        ]
        open_tnef(tnef(*objects))

    @pytest.mark.parametrize("kind", [0x1003, 0x101E, 0x001E, 0x1002])
    def test_a_count_beyond_the_bytes_ends_at_the_bytes(self, kind: int):
        values = struct.pack("<IHHI", 0xFFFFFFFF, kind, 0x3707, 0xFFFFFFFF) + b"\0" * 4_000
        found = open_tnef(tnef(tnef_object(1, 0x9003, values)))
        assert not found.complete

    @pytest.mark.timeout(30)
    def test_a_stream_of_many_tiny_objects_is_read_in_one_pass(self):
        found = open_tnef(tnef(tnef_object(2, 0x9002, b"") * 500_000))
        assert not found.complete


class TestSmime:
    ENTITY = multipart("mixed", TEXT, base64_part("application/pdf; name=Rechnung.pdf", PDF))

    @pytest.mark.parametrize(
        "kind",
        [
            "application/pkcs7-mime; smime-type=signed-data; name=smime.p7m",
            "application/x-pkcs7-mime; name=smime.p7m",
            "application/pkcs7-mime",
            "application/octet-stream; name=SMIME.P7M",
        ],
    )
    def test_the_invoice_inside_an_opaque_signature_is_reached(self, kind: str):
        found = split(mail(base64_part(kind, signed(self.ENTITY))))
        assert [one.role.value for one in found.leaves] == ["smime_container", "body", "attachment"]
        assert leaf(found, "1/2").content == PDF
        assert leaf(found, "1/2").signature is SignatureState.NOT_VERIFIED
        assert leaf(found, "1").signature is SignatureState.UNSIGNED
        assert found.body_text == "Guten Tag,\nanbei die Rechnung."

    def test_a_file_signed_as_it_is_keeps_its_name(self):
        envelope = base64_part("application/pkcs7-mime; name=Rechnung.pdf.p7m", signed(PDF))
        found = split(mail(multipart("mixed", TEXT, envelope)))
        assert leaf(found, "2/1").filename == "Rechnung.pdf"
        assert leaf(found, "2/1").content == PDF
        assert leaf(found, "2/1").role is Role.ATTACHMENT

    def test_signed_twice_is_opened_twice(self):
        inner = base64_part("application/pkcs7-mime; name=smime.p7m", signed(self.ENTITY))
        found = split(mail(base64_part("application/pkcs7-mime", signed(inner))))
        assert leaf(found, "1/1/2").content == PDF

    def test_a_clear_signed_mail_is_read_and_its_seal_is_no_document(self):
        seal = base64_part("application/pkcs7-signature; name=smime.p7s", signed(None))
        found = split(mail(multipart("signed", self.ENTITY, seal)))
        assert [one.role.value for one in found.leaves] == ["body", "attachment", "signature"]
        assert found.leaves[1].signature is SignatureState.NOT_VERIFIED

    def test_an_encrypted_mail_is_marked_and_kept(self):
        found = split(mail(base64_part("application/pkcs7-mime; name=smime.p7m", enveloped())))
        assert found.leaves[0].role is Role.ENCRYPTED
        assert found.leaves[0].content == enveloped()
        assert found.has_defect(DefectKind.SMIME_ENCRYPTED)

    def test_certificates_alone_are_no_document(self):
        found = split(mail(base64_part("application/pkcs7-mime; name=smime.p7c", signed(None))))
        assert found.leaves[0].role is Role.SIGNATURE

    def test_a_compressed_mail_is_inflated(self):
        packed = cms.ContentInfo(
            {
                "content_type": "compressed_data",
                "content": cms.CompressedData(
                    {
                        "version": "v0",
                        "compression_algorithm": {"algorithm": "zlib"},
                        "encap_content_info": {
                            "content_type": "data",
                            "content": zlib.compress(self.ENTITY),
                        },
                    }
                ),
            }
        ).dump()
        found = split(mail(base64_part("application/pkcs7-mime; name=smime.p7z", packed)))
        assert leaf(found, "1/2").content == PDF
        assert leaf(found, "1/2").signature is SignatureState.UNSIGNED

    def test_pem_is_read_too(self):
        assert open_cms(pem.armor("PKCS7", signed(TEXT))).content == TEXT

    def test_an_unreadable_envelope_stays_an_attachment(self):
        found = split(mail(base64_part("application/pkcs7-mime; name=smime.p7m", b"\x30\x80abc")))
        assert found.leaves[0].role is Role.ATTACHMENT
        assert found.has_defect(DefectKind.SMIME_UNREADABLE)

    @pytest.mark.parametrize("hostile", [b"\x30\x80" * 200_000, b"\x24\x80" * 50_000, b""])
    def test_hostile_asn1_is_unreadable_and_nothing_worse(self, hostile: bytes):
        assert open_cms(hostile).kind is CmsKind.UNREADABLE

    @settings(max_examples=150, deadline=None)
    @given(st.data())
    def test_no_bytes_make_it_raise(self, data: st.DataObject):
        whole = bytearray(signed(self.ENTITY))
        for _ in range(data.draw(st.integers(1, 6))):
            position = data.draw(st.integers(0, len(whole) - 1))
            whole[position] = data.draw(st.integers(0, 255))
        open_cms(bytes(whole))


class TestUuencode:
    def uu(self, name: str, content: bytes) -> bytes:
        rows = [content[i : i + 45] for i in range(0, len(content), 45)]
        lines = b"".join(binascii.b2a_uu(row) for row in rows)
        return f"begin 644 {name}\n".encode() + lines + b"`\nend\n"

    def test_a_file_written_into_the_text_is_found(self):
        text = part("text/plain", b"anbei\n" + self.uu("a.pdf", PDF * 5) + b"Gruss\n")
        found = split(mail(text))
        assert leaf(found, "1/1").content == PDF * 5
        assert leaf(found, "1/1").filename == "a.pdf"
        assert leaf(found, "1/1").role is Role.ATTACHMENT
        assert leaf(found, "1").role is Role.BODY

    def test_a_text_that_only_speaks_of_it_holds_no_file(self):
        text = part("text/plain", b"begin 644 Uhr heute\nwir treffen uns\nend\n")
        assert len(split(mail(text)).leaves) == 1

    def test_as_a_transfer_encoding(self):
        entity = part(
            "application/pdf", self.uu("a.pdf", PDF), "Content-Transfer-Encoding: x-uuencode"
        )
        assert split(mail(entity)).leaves[0].content == PDF
